#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tsctraced as a service: installed, started, watched and hardened by systemd, in a
# container with its own Debian. Run by `make check-service`, not by `make check`: it
# takes a minute, and needs a machine that can boot containers.
#
# DEBS=DIR installs the Debian packages in this folder, rather than what build/ has;
# `make check-packages` does so. Then the packages are also purged in the end.
#
# Its packages are downloaded and unpacked below ${XDG_CACHE_HOME:-~/.cache}/tsctrace,
# never installed.
# test-timeout: 600
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${O:-$top/build}")
debs=${DEBS:+$(realpath "$DEBS")}
[ "$(id -u)" = 0 ] || { echo "run this as root: it boots a container"; exit 1; }

work=$(mktemp -d) nspawn=
cleanup() {
	[ -z "$nspawn" ] || { kill "$nspawn" && wait "$nspawn"; } 2>/dev/null || true
	umount "$work/root" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
fail() {
	echo "FAILED: $*"
	inside journalctl -u tsctraced --no-pager 2>/dev/null | tail -n 40 || true
	[ ! -s "$work/console" ] || tail -n 20 "$work/console"
	exit 1
}

# --- the container -----------------------------------------------------------

# Prints the packages of the libraries that our programs are linked with.
libraries() {
	local daemon=$out/daemon/tsctraced tool=$out/tools/trace-ctl
	if [ "$debs" ]; then
		mkdir "$work/files"
		dpkg-deb -x "$debs"/tsctrace_*.deb "$work/files"
		daemon=$work/files/usr/sbin/tsctraced tool=$work/files/usr/bin/trace-ctl
	fi
	ldd "$daemon" "$tool" |
		sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | xargs -n 1 realpath |
		sort -u | sed 's|^/usr||' | while read -r file; do
		dpkg -S "*$file" 2>/dev/null | cut -d: -f1
	done | sort -u | paste -sd,
}

packages=$(libraries)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tsctrace/service-$(
	sha256sum <<<"$packages" | cut -c 1-12)

fetch() {
	[ ! -e "$cache/ready" ] || return 0
	command -v mmdebstrap >/dev/null || { echo "install mmdebstrap"; exit 1; }
	rm -rf "$cache"
	mkdir -p "$cache/tool"
	(cd "$cache/tool" && apt-get download -qq systemd-container &&
		dpkg -x systemd-container_*.deb .)
	mmdebstrap --quiet --variant=apt \
		--include="systemd,systemd-sysv,$packages" bookworm "$cache/root"
	touch "$cache/ready"
}

inside() { nsenter --all --target "$(cat "$work/init")" "$@"; }
as_nobody() { inside setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
show() { inside systemctl show tsctraced --value -p "$1"; }

install_files() {
	if [ "$debs" ]; then
		cp "$debs"/tsctrace_*.deb "$work/root/root/tsctrace.deb"
		chroot "$work/root" dpkg -i /root/tsctrace.deb
	else
		make -C "$top" O="$out" PREFIX=/usr DESTDIR="$work/root" install
	fi
}

boot() {
	mkdir "$work/upper" "$work/scratch" "$work/root"
	mount -t overlay overlay -o "lowerdir=$cache/root,upperdir=$work/upper,workdir=$work/scratch" \
		"$work/root"
	install_files >"$work/install" 2>&1 || { tail "$work/install"; exit 1; }
	"$cache/tool/usr/bin/systemd-nspawn" -D "$work/root" --boot --register=no \
		--keep-unit --private-network --console=pipe </dev/null \
		>"$work/console" 2>&1 &
	nspawn=$!
	for ((i = 0; i < 300; i++)); do
		pgrep -P "$nspawn" >"$work/init" && inside systemctl is-system-running \
			>"$work/state" 2>/dev/null || true
		grep -qs 'running\|degraded' "$work/state" && break
		kill -0 "$nspawn" 2>/dev/null || break
		sleep 0.2
	done
	grep -qs 'running\|degraded' "$work/state" ||
		fail "the container does not boot"
	# nspawn mounts a different boot id, which a service with a private /proc does
	# not see. A real machine has only one boot id.
	inside umount /proc/sys/kernel/random/boot_id 2>/dev/null || true
}

wait_for() {	# SECONDS MESSAGE COMMAND...: MESSAGE is for a timeout
	local until=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || fail "$what"
		sleep 0.2
	done
}
is_active() { [ "$(show ActiveState)" = active ]; }
was_restarted() { [ "$(show NRestarts)" -ge 1 ] && is_active; }

fetch
boot

# --- runs as user tsctrace with minimal privileges ------------------------------

# The package enables it, so it was started at boot.
[ "$debs" ] || inside systemctl enable --now tsctraced 2>"$work/err" ||
	fail "$(cat "$work/err")"
is_active || fail "the service is not active"
pid=$(show MainPID)
[ "$(inside stat -c %U "/proc/$pid")" = tsctrace ] ||
	fail "the daemon does not run as user tsctrace"
caps=$(inside sed -n 's/^CapBnd:\t//p' "/proc/$pid/status")
[ "$((0x$caps & ~(1 << 10 | 1 << 25)))" = 0 ] || fail "capabilities: $caps"
inside grep -q '^NoNewPrivs:.1' "/proc/$pid/status" || fail "NoNewPrivs is not set"
inside grep -q '^Seccomp:.2' "/proc/$pid/status" || fail "no seccomp filter"

# --- other users read its clock and create channels ----------------------------

as_nobody trace-ctl clock --wait-synced=20 >"$work/clock" 2>&1 ||
	fail "$(cat "$work/clock")"
as_nobody trace-ctl clock --json >"$work/clock"
grep -q '"origin": "daemon"' "$work/clock" || fail "$(cat "$work/clock")"
as_nobody env TSCTRACE_PROVIDER=daemon trace-ctl channel create kept \
	>"$work/channel" 2>&1 || fail "$(cat "$work/channel")"
epoch=$(sed -n 's/.*"epoch": \([0-9]*\).*/\1/p' "$work/clock" | head -n 1)

# --- the watchdog -----------------------------------------------------------------

inside sh -c "kill -STOP $pid"
wait_for 30 "a stopped daemon is not restarted" was_restarted
grep -qi 'watchdog timeout' < <(inside journalctl -u tsctraced --no-pager) ||
	fail "the watchdog did not restart the daemon"
[ "$(show MainPID)" != "$pid" ] || fail "the pid has not changed"
as_nobody trace-ctl clock --wait-synced=20 --json >"$work/clock" ||
	fail "no clock after the restart"
again=$(sed -n 's/.*"epoch": \([0-9]*\).*/\1/p' "$work/clock" | head -n 1)
[ "$again" = "$epoch" ] || fail "the clock did not continue: epoch $epoch became $again"

# --- configuration -------------------------------------------------------------------

mkdir -p "$work/root/etc/tsctrace"
echo "no such thing" >"$work/root/etc/tsctrace/tsctraced.conf"
pid=$(show MainPID)
inside systemctl reload tsctraced || fail "systemctl reload fails"
wait_for 10 "no error for an invalid file" eval \
	'grep -q "tsctraced.conf:1" < <(inside journalctl -u tsctraced --no-pager)'
is_active && [ "$(show MainPID)" = "$pid" ] || fail "a reload of an invalid file ended the daemon"
! inside systemctl restart tsctraced 2>/dev/null || fail "the daemon starts with an invalid file"
printf "serve\nallow 127.0.0.1\n" >"$work/root/etc/tsctrace/tsctraced.conf"
inside systemctl reset-failed tsctraced
inside systemctl start tsctraced || fail "the daemon does not start with a server at port 123"
inside grep -q ':007B ' /proc/net/udp6 /proc/net/udp || fail "no socket at port 123"
exposure=$(inside systemd-analyze security --offline=true "$(show FragmentPath)" 2>/dev/null |
	sed -n 's/.*exposure level for tsctraced.service: \([0-9.]*\) .*/\1/p') || true
echo "exposure: $exposure"
grep -q "rates it $exposure of 10" "$top/SECURITY.md" ||
	fail "systemd-analyze: exposed by '$exposure' of 10, not as in SECURITY.md"
if [ "$debs" ]; then
	pid=$(show MainPID)
	inside dpkg -i /root/tsctrace.deb >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	is_active && [ "$(show MainPID)" != "$pid" ] || fail "dpkg -i does not restart the daemon"
	inside grep -q '^allow 127' /etc/tsctrace/tsctraced.conf || fail "the configuration is lost"
fi
inside systemctl stop tsctraced || fail "systemctl stop fails"
[ -s "$work/root/run/tsctrace/clock" ] || inside test -s /run/tsctrace/clock ||
	fail "the clock area was removed with the daemon"
if [ "$debs" ]; then
	inside systemctl start tsctraced || fail "systemctl start fails"
	pid=$(show MainPID)
	inside dpkg --purge tsctrace >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	! is_active || fail "the daemon runs after the purge"
	! inside test -e "/proc/$pid" || fail "the daemon runs after the purge"
	[ "$(show LoadState)" = not-found ] || fail "the unit is left: $(show FragmentPath)"
	[ ! -e "$work/root/etc/tsctrace" ] || fail "/etc/tsctrace is left"
fi
echo "ok"
