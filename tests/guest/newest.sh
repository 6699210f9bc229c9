#!/bin/bash
# SPDX-License-Identifier: MIT
#
# newest.sh - run the guest suite on the newest kernel that Debian offers
#
# Run as root by `make check-newest`. Makes a root with Debian sid, its newest kernel
# and headers, the compiler that they want, and the packages of tests/deps.sh, in
# ${XDG_CACHE_HOME:-~/.cache}/tsctrace/newest-RELEASE: three minutes, 1.6 GiB. In that
# root, it builds everything, and runs the tests native/t_kbuild.sh, packages/dkms.sh and
# run.sh guest. The output is in build/newest. On this machine, nothing is installed or
# changed.
#
# TEST=GLOB picks tests; MIRROR= is the archive (http://deb.debian.org/debian).
#
# Exit status: 0 passed, 1 failed.
set -euo pipefail
shopt -s inherit_errexit

mirror=${MIRROR:-http://deb.debian.org/debian}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${O:-$top/build}")/newest
cache=${XDG_CACHE_HOME:-${HOME:?set HOME or XDG_CACHE_HOME}/.cache}/tsctrace
unset MAKEFLAGS MFLAGS MAKELEVEL

log() { echo "newest.sh: $*" >&2; }
die() { log "$*"; exit 1; }

[ "$(id -u)" -eq 0 ] || die "run this as root: it makes a root of Debian sid"
command -v mmdebstrap >/dev/null ||
	die "mmdebstrap is missing: run tests/deps.sh --newest"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- the archive --------------------------------------------------------------

# apt on lists of its own, beside those of this machine
sid() {
	"$1" -o Dir::Etc::SourceList="$work/sid.sources" -o Dir::Etc::SourceParts=- \
		-o Dir::State="$work" -o Dir::State::Status="$work/status" \
		-o Dir::Cache="$work" -o Acquire::Languages=none \
		-o Acquire::Check-Valid-Until=false -o APT::Update::Error-Mode=any \
		-o APT::Sandbox::User=root -o APT::Architecture=amd64 "${@:2}"
}

read_archive() {
	mkdir -p "$work/lists/partial" "$work/archives/partial"
	: >"$work/status"
	cat >"$work/sid.sources" <<-END
		Types: deb
		URIs: $mirror
		Suites: sid
		Components: main
		Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
	END
	sid apt-get -q update >"$work/apt.log" 2>&1 || {
		cat "$work/apt.log" >&2
		die "cannot read the package lists of sid from $mirror: is the network down?"
	}
}

# Prints the release of the newest kernel. linux-image-amd64 depends on its image.
offered_release() {
	sid apt-cache depends linux-image-amd64 |
		sed -n 's/^ *Depends: linux-image-\([0-9].*\)$/\1/p'
}

# Prints the packages of the root. Those of an image install a boot loader's files and
# an initrd; what the tests need of it is in linux-binary and linux-modules.
packages() {
	"$top/tests/deps.sh" --list | sed 's/[ /|].*//'
	printf '%s\n' dkms mount "linux-headers-$1" "linux-binary-$1" "linux-modules-$1"
}

# --- the root -----------------------------------------------------------------

make_root() {	# RELEASE DIR
	local list
	list=$(packages "$1" | sort -u)
	[ "$(cat "$2/packages" 2>/dev/null)" != "$list" ] || return 0
	log "making a root with sid and kernel $1 in $2"
	rm -rf --one-file-system "$cache"/newest-*
	mkdir -p "$2"
	mmdebstrap --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' \
		--include="$(paste -sd, <<<"$list")" sid "$2/root" "$work/sid.sources" \
		>"$2/log" 2>&1 || {
		tail -n 20 "$2/log" >&2
		die "mmdebstrap failed: $2/log"
	}
	echo "$list" >"$2/packages"
}

# Runs a command in the root, with the source tree at /src, read-only, and build/newest
# at /build. The mounts end with the command.
in_root() {	# ROOT COMMAND...
	mkdir -p "$1/src" "$1/build" "$out"
	unshare --mount --propagation private bash -euc '
		root=$1 top=$2 out=$3
		# dkms.sh needs a root that is a mount point.
		mount --bind "$root" "$root"
		mount --bind "$top" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount --bind "$out" "$root/build"
		mount -t tmpfs tmpfs "$root/tmp"
		for dir in proc sys dev; do mount --rbind "/$dir" "$root/$dir"; done
		exec chroot "$root" env -i HOME=/root O=/build TERM="${TERM:-dumb}" \
			TEST="${TEST:-}" SEED="${SEED:-}" \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:4}"
	' - "$1" "$top" "$out" "${@:2}"
}

read_archive
release=$(offered_release)
[ -n "$release" ] || die "$mirror: sid has no linux-image-amd64"
mkdir -p "$cache"
exec 9>"$cache/.newest-lock"
flock 9
make_root "$release" "$cache/newest-$release"
root=$cache/newest-$release/root

log "kernel $release; $(in_root "$root" gcc --version | head -n 1)"
in_root "$root" make -C /src -j"$(nproc)" all
in_root "$root" env KERNEL="$release" /src/tests/native/t_kbuild.sh ||
	die "kernel $release: the module does not build"
in_root "$root" /src/tests/packages/dkms.sh "$release" || die "kernel $release: DKMS"
status=0
in_root "$root" /src/tests/run.py guest "$release" || status=$?
if grep -q '^ok .*SKIP the module has no BTF' "$out/test-log/guest.log"; then
	log "the module has no BTF: $out/guest/$release/module.log"
	status=1
fi
[ "$status" -eq 0 ] || die "kernel $release: failed"
log "kernel $release: passed"
