#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [KERNEL] - record a cluster of three real kernels, and show it
#
# Boots three guests on a network of their own, alpha, beta and gamma, whose
# clocks differ. Clients on two of them talk to a redis server on the third one,
# each packet is recorded at both ends, and the three recordings become one.
# Another recording shows one machine: sqlite3 and an
# instrumented program. KERNEL: as for tests/guest/kernel.sh; default: the newest
# of its list.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
guest=$top/tests/guest
build=${O:-$top/build}
demo=$build/demo
ctl=$build/tools/trace-ctl
nodes="alpha beta gamma"
unset MAKEFLAGS MFLAGS MAKELEVEL

die() { end_progress; echo "demo: $*" >&2; exit 1; }

cables=$(mktemp -d)
boots=()
# Ends the virtual machines: boots[] has the process ids of the running boot.sh, and
# their child processes run QEMU.
cleanup() {
	local pid child
	for pid in "${boots[@]}"; do
		for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do
			kill "$child" 2>/dev/null || true
		done
	done
	rm -rf "$cables"
}
trap cleanup EXIT

started=$SECONDS
progress() {
	local text
	text=$(printf '%3d s  %s' $((SECONDS - started)) "$1")
	if [ -t 2 ]; then printf '\r\033[K%s' "$text" >&2; else echo "$text" >&2; fi
}
end_progress() { [ ! -t 2 ] || printf '\r\033[K' >&2; }
title() { printf '\n== %s\n' "$*"; }

# --- set up -------------------------------------------------------------------

kernel=${1:-}
[ -n "$kernel" ] || kernel=$("$guest/kernel.sh" default)
progress "getting the guests' kernel ($kernel)"
dir=$("$guest/kernel.sh" get "$kernel")
release=$(cat "$dir/release")
[ -s "$dir/drivers/order" ] ||
	die "$kernel has no network drivers: use one of Debian's kernels"
mkdir -p "$demo"
rm -rf "${demo:?}"/*

progress "building the module for $release"
make -C "$top/kmod" KDIR="$dir/build" O="$build" >"$demo/module.log" 2>&1 ||
	{ tail -n 20 "$demo/module.log"; die "building the module failed"; }
make -C "$guest" O="$build" >"$demo/guest.log" 2>&1 ||
	{ tail -n 20 "$demo/guest.log"; die "building the guests' programs failed"; }

progress "packing the guests"
random_key() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
(umask 077; printf '%d AES128 HEX:%s\n' 1 "$(random_key)" 2 "$(random_key)" \
	>"$demo/keys")
cat >"$demo/plan" <<PLAN
module /lib/modules/tsctrace.ko
test demo 210 module,live sh /tests/node.sh
PLAN
program() {	# NAME: prints the path of this machine's program NAME
	type -P "$1" || die "$1 is missing: install redis-tools and sqlite3"
}
"$guest/mkinitrd.sh" "$demo/initrd" \
	"$build/tests/guest/init=/init" "$build/tests/guest/out=/usr/bin/out" \
	"$build/module/$release/tsctrace.ko=/lib/modules/tsctrace.ko" \
	"$dir/drivers=/lib/drivers" \
	"$build/daemon/tsctraced=/usr/bin/tsctraced" \
	"$ctl=/usr/bin/trace-ctl" "$build/examples/jobs=/usr/bin/jobs" \
	"$(program sqlite3)=/usr/bin/sqlite3" \
	"$(program redis-check-rdb)=/usr/bin/redis-check-rdb" \
	"$(program redis-cli)=/usr/bin/redis-cli" \
	"$(program redis-benchmark)=/usr/bin/redis-benchmark" \
	"$here/node.sh=/tests/node.sh" "$here/alpha.sh=/tests/alpha.sh" \
	"$here/client.sh=/tests/beta.sh" "$here/client.sh=/tests/gamma.sh" \
	"$here/single.sh=/tests/single.sh" \
	"$here/workload.sql=/tests/workload.sql" \
	"$demo/keys=/tests/keys" "$demo/plan=/tests/plan"
rm -f "$demo/keys"

# --- boot ---------------------------------------------------------------------

# A node's counter is this machine's TSC minus its value when QEMU started: the
# emulator can make it begin elsewhere, but not run at another rate. The rate that a
# kernel assumes can differ: beta and gamma are given wrong ones, and
# have nothing to compare them with. Their time of day is wrong, too. (Alpha is given
# the right one: measured in a guest of a busy machine it may be far off.)
khz=$("$ctl" clock --json | awk -F'[:,]' '/"rate_mhz"/ { printf "%d", $2 * 1000 + 0.5 }')
[ "${khz:-0}" -gt 100000 ] || die "trace-ctl clock reports no rate of the TSC"
believes() {	# PPM
	echo "tsc_early_khz=$((khz + khz * $1 / 1000000)) hpet=disable pmtmr=0"
}
rtc_in() { date -u -d "$1 seconds" +base=%Y-%m-%dT%H:%M:%S; }	# SECONDS

# NUMBER END: prints QEMU's options for one end of a virtual cable, a Unix socket. END
# is QEMU's option `server`: `on` for alpha, which listens, `off` for beta and gamma
cable() {
	echo "-netdev stream,id=net$1,server=$2,addr.type=unix,addr.path=$cables/$1" \
		"-device virtio-net-pci,netdev=net$1,mac=52:54:00:77:0$1:0${#2},romfile="
}
boot() {	# NODE CPUS APPEND QEMU-OPTION...
	local node=$1 cpus=$2 append=$3 line
	shift 3
	"$guest/boot.sh" --smp "$cpus" --mem 512 --time 240 --out-mb 64 \
		--console "$demo/$node.console" --out "$demo/$node.tar.gz" \
		--append "demo.node=$node $append" "$dir" "$demo/initrd" -- "$@" \
		>"$demo/$node.results" 2>&1 &
	boots+=($!)
}
# shellcheck disable=SC2046
boot_all() {
	local tries=0
	boot alpha 2 "$(believes 0)" $(cable 1 on) $(cable 2 on)
	until [ -S "$cables/1" ] && [ -S "$cables/2" ]; do
		[ $((tries++)) -lt 100 ] || die "alpha: $(cat "$demo/alpha.results")"
		sleep 0.1
	done
	sleep 1
	boot beta 1 "$(believes 40)" -rtc "$(rtc_in 7)" $(cable 1 off)
	sleep 2
	boot gamma 1 "$(believes -60)" -rtc "$(rtc_in -4)" $(cable 2 off)
}

run_all() {
	local stage shown=
	boots=()
	rm -f "$cables"/*
	progress "booting three guests with $release"
	boot_all
	while [ -n "$(jobs -rp)" ]; do
		sleep 0.5
		stage=$(sed -s -n '/^stage: /h; ${x; s/^stage: //p}' "$demo"/*.results |
			paste -sd '|' | sed 's/|/ | /g')
		[ "$stage" = "$shown" ] || progress "$stage"
		shown=$stage
	done
	end_progress
}
got_through() {	# NODE
	grep -q '^ok 1 - demo' "$demo/$1.results" && [ -s "$demo/$1.tar.gz" ]
}
# A bug of QEMU 7.2: when it interrupts the guest, it may set the guest's EFLAGS to an
# address. The kernel then reports a single step (a WARNING of exc_debug_kernel), with
# bits of EFLAGS set that no processor has: bit 22 or above.
failed_to_emulate() {	# NODE
	grep -q 'WARNING: .*exc_debug_kernel' "$demo/$1.results" &&
		grep -qE 'EFLAGS: (00[4-9a-f]|0[1-9a-f]|[1-9a-f])' "$demo/$1.results"
}

started=$SECONDS
run_all
for node in $nodes; do
	if ! got_through $node && failed_to_emulate $node; then
		progress "the emulator failed on $node: its EFLAGS cannot be; once more"
		run_all
		break
	fi
done
for node in $nodes; do
	if ! got_through $node; then
		cat "$demo/$node.results"
		tail -n 20 "$demo/$node.console" | tr -d '\r'
		die "$node: boot or recording failed (console: $demo/$node.console)"
	fi
	mkdir "$demo/of-$node"
	tar -xmzf "$demo/$node.tar.gz" -C "$demo/of-$node"
	mv "$demo/of-$node/$node" "$demo/$node"
	rm -f "$demo/$node.tar.gz"
done
mv "$demo/of-alpha/recording" "$demo/recording"
rm -f "$demo/initrd"

# --- differences --------------------------------------------------------------

clock_field() { sed -n "s/^ *\"$2\": *\"\?\([^\",]*\).*/\1/p" "$demo/of-$1/clock.json" | head -n 1; }
title "Three clocks (tsctraced's, as each recording ended)"
printf '%-6s %18s %16s  %s\n' node counter "assumed MHz" "time of day"
for node in $nodes; do
	printf '%-6s %18s %16.6f  %s\n' "$node" "$(clock_field $node stamp)" \
		"$(clock_field $node rate_mhz)" "$(told $node time)"
done
cat <<'TEXT'
All counters are this machine's, which began at 0 when a guest was started, and
run at one rate: the emulator has no other. What the kernels believe of that rate
is 40 and -60 ppm off on beta and gamma, and so is how fast their clocks run;
their time of day was 7 s ahead and 4 s behind.
TEXT
title "How the others know alpha's time (trace-ctl peers)"
for node in beta gamma; do cat "$demo/of-$node/peers"; done
title "The conversation (redis-benchmark on beta and gamma, the server on alpha)"
for node in beta gamma alpha; do sed "s/^/$node: /" "$demo/of-$node/$node.out"; done
title "What each node recorded of it (trace-ctl record --cluster)"
for node in $nodes; do
	sed "s|/tmp/demo/||; /^  channel default/d" "$demo/of-$node/$node.log"
done

# --- one recording ------------------------------------------------------------

title "One recording (trace-ctl merge)"
"$ctl" merge -o "$demo/merged" "$demo/alpha" "$demo/beta" "$demo/gamma" \
	2>"$demo/merge.log" ||
	{ cat "$demo/merge.log"; die "merging the recordings failed"; }
sed "s|^trace-ctl merge: ||; s|$demo/||" "$demo/merge.log"
"$ctl" stat --json "$demo/merged" >"$demo/stat.json"
# Prints the value of member $1 of the object "messages" in stat.json.
of_messages() {
	sed -n "/^  \"messages\"/,\$ s/^    \"$1\": \([0-9]*\),*$/\1/p" "$demo/stat.json"
}
before=$(of_messages violations_before)
within=$(of_messages violations_within)
beyond=$(of_messages violations_beyond)
echo "causality violated: $before times before, $((within + beyond)) times after"
if [ "$(of_messages matched)" -lt 1000 ] || [ "$before" = 0 ] ||
   [ "$beyond" != 0 ]; then
	die "unexpected violations: see $demo/stat.json"
fi
title "What is in it (trace-ctl stat)"
"$ctl" stat "$demo/merged"
title "A moment of it (trace-ctl dump)"
"$ctl" dump --event net_send --event net_receive "$demo/merged" |
	sed -n '1001,1012p'

title "What did a client on beta wait for? (trace-ctl explain)"
"$ctl" explain --slowest epoll_wait --node beta --comm redis-benchmark -n 20 "$demo/merged" \
	>"$demo/explained"
sed -n '3,/^$/p' "$demo/explained"
grep -q 'until a message of thread [0-9]* (redis-server) on alpha; until it came:$' \
	"$demo/explained" || die "no wait of a client ends by a message: see $demo/explained"

title "For other viewers (trace-ctl export)"
for format in perfetto ctf otf2; do
	"$ctl" export -q -f $format "$demo/merged"
done
du -sh "$demo/merged" "$demo"/merged.* | sed "s|$PWD/||"
"$ctl" report -q "$demo/report.html" "$demo/merged"

# --- one machine --------------------------------------------------------------

rec=$demo/recording
alpha=$demo/of-alpha
title "Can the counters be trusted? (trace-ctl check, on alpha)"
cat "$alpha/check"
title "What does a stamp mean? (tsctraced's calibration)"
cat "$alpha/clock"
title "Another workload on alpha, and its own output"
cat "$alpha/record.out"
title "The recording (trace-ctl record)"
cat "$alpha/record.log"
title "What is in it (trace-ctl stat)"
"$ctl" stat "$rec"
title "Its first events (trace-ctl dump)"
"$ctl" dump -n 12 "$rec"
title "The instrumented program's own"
"$ctl" dump --event job --event queue_depth -n 6 "$rec" >"$demo/own"
[ -s "$demo/own" ] || die "no event of the example program"
cat "$demo/own"

# --- an independent reader ------------------------------------------------------

# Fails if babeltrace2 reads the recording with an error or a warning; prints the number
# of events by babeltrace2 and by trace-ctl, without those that the recorder itself wrote.
read_by_others() {	# RECORDING
	local theirs ours
	babeltrace2 "$1" 2>"$demo/babeltrace2.log" |
		{ grep -aEv ' (thread|exec|cgroup|frame|stack): \{' || true; } |
		wc -l >"$demo/theirs" ||
		{ cat "$demo/babeltrace2.log"; die "babeltrace2 failed to read it"; }
	[ ! -s "$demo/babeltrace2.log" ] ||
		{ cat "$demo/babeltrace2.log"; die "babeltrace2 printed a warning"; }
	theirs=$(cat "$demo/theirs")
	# Reads the outermost "events" of the JSON text: the number of events on all CPUs.
	# The numbers of single CPUs, also "events", are indented further.
	ours=$("$ctl" stat --json "$1" | sed -n 's/^  "events": \([0-9]*\),*$/\1/p')
	[ -n "$ours" ] || die "trace-ctl stat --json: no count of events"
	echo "${1##*/}: babeltrace2 decodes $theirs events without a warning," \
		"trace-ctl stat counts $ours"
}
title "Read by babeltrace2"
read_by_others "$rec"
read_by_others "$demo/merged"
rm -f "$demo/theirs" "$demo/own"

printf '\nIt took %d s from the boot on. The recordings, the merged one and its exports\n' \
	$((SECONDS - started))
printf 'are in %s; open %s in a browser.\n' "${demo#"$PWD"/}" \
	"${demo#"$PWD"/}/report.html"
