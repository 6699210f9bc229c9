#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh [KERNEL] - record a real program on a real kernel, and show it
#
# Boots a guest with two CPUs, records sqlite3 and an instrumented program in
# it, brings the recording out and reads it on this machine. KERNEL: as for
# tests/guest/kernel.sh; default: the newest of its list.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
guest=$top/tests/guest
build=${O:-$top/build}
demo=$build/demo
unset MAKEFLAGS MFLAGS MAKELEVEL

die() { echo >&2; echo "demo: $*" >&2; exit 1; }

started=$SECONDS
progress() {
	local text
	text=$(printf '%3d s  %s' $((SECONDS - started)) "$1")
	if [ -t 2 ]; then printf '\r\033[K%s' "$text" >&2; else echo "$text" >&2; fi
}
end_progress() { [ ! -t 2 ] || printf '\r\033[K' >&2; }
title() { printf '\n== %s\n' "$*"; }

kernel=${1:-$("$guest/kernel.sh" list | tail -n 1)}
[ -n "${1:-}" ] || kernel=$("$guest/kernel.sh" default)
progress "getting the guest's kernel ($kernel)"
dir=$("$guest/kernel.sh" get "$kernel")
release=$(cat "$dir/release")
mkdir -p "$demo"
rm -rf "${demo:?}"/*

progress "building the module for $release"
make -C "$top/kmod" KDIR="$dir/build" O="$build" >"$demo/module.log" 2>&1 ||
	{ tail -n 20 "$demo/module.log"; die "the module does not build"; }
make -C "$guest" O="$build" >"$demo/guest.log" 2>&1 ||
	{ tail -n 20 "$demo/guest.log"; die "the guest's programs do not build"; }

progress "packing the guest"
cat >"$demo/plan" <<PLAN
module /lib/modules/tsctrace.ko
test demo 240 module,live sh /tests/guest.sh
PLAN
"$guest/mkinitrd.sh" "$demo/initrd" \
	"$build/tests/guest/init=/init" "$build/tests/guest/out=/usr/bin/out" \
	"$build/module/$release/tsctrace.ko=/lib/modules/tsctrace.ko" \
	"$build/daemon/tsctraced=/usr/bin/tsctraced" \
	"$build/tools/trace-ctl=/usr/bin/trace-ctl" \
	"$build/examples/jobs=/usr/bin/jobs" \
	"$(type -P sqlite3)=/usr/bin/sqlite3" \
	"$here/guest.sh=/tests/guest.sh" "$here/workload.sql=/tests/workload.sql" \
	"$demo/plan=/tests/plan"

# --- boot -------------------------------------------------------------------

started=$SECONDS
progress "booting $release on two virtual CPUs"
while IFS= read -r line; do
	case $line in
	"stage: "*) progress "${line#stage: }" ;;
	*) echo "$line" >>"$demo/results" ;;
	esac
done < <("$guest/boot.sh" --smp 2 --time 280 --console "$demo/console" \
	--out "$demo/out.tar.gz" "$dir" "$demo/initrd" 2>&1)
end_progress
if ! grep -q '^ok 1 - demo' "$demo/results" || [ ! -s "$demo/out.tar.gz" ]; then
	cat "$demo/results"
	tail -n 20 "$demo/console" | tr -d '\r'
	die "the guest did not get through (console: $demo/console)"
fi
tar -xzf "$demo/out.tar.gz" -C "$demo"
rm -f "$demo/initrd" "$demo/out.tar.gz"

# --- show -------------------------------------------------------------------

ctl=$build/tools/trace-ctl
rec=$demo/recording

title "Can the counters be trusted? (trace-ctl check, in the guest)"
cat "$demo/check"
title "What does a stamp mean? (tsctraced's calibration)"
cat "$demo/tsctraced.log" "$demo/clock"
title "The workload's own output"
cat "$demo/record.out"
title "The recording (trace-ctl record)"
cat "$demo/record.log"
title "What is in it (trace-ctl stat)"
"$ctl" stat "$rec"
title "Its first events (trace-ctl dump)"
"$ctl" dump -n 12 "$rec"
title "The instrumented program's own"
"$ctl" dump --event job --event queue_depth -n 6 "$rec" >"$demo/own"
[ -s "$demo/own" ] || die "no event of the example program"
cat "$demo/own"

title "Read by somebody else (babeltrace2)"
babeltrace2 "$rec" >"$demo/babeltrace2.txt" 2>"$demo/babeltrace2.log" ||
	{ cat "$demo/babeltrace2.log"; die "babeltrace2 cannot read it"; }
[ ! -s "$demo/babeltrace2.log" ] ||
	{ cat "$demo/babeltrace2.log"; die "babeltrace2 has something to say"; }
theirs=$(wc -l <"$demo/babeltrace2.txt")
# The outermost "events": those of a CPU stand deeper.
ours=$("$ctl" stat --json "$rec" | sed -n 's/^  "events": \([0-9]*\),*$/\1/p')
[ -n "$ours" ] || die "trace-ctl stat --json gives no count of events"
echo "babeltrace2 decodes $theirs events without a warning; trace-ctl stat counts $ours"
[ "$theirs" -eq "$ours" ] || die "the two counts differ"
rm -f "$demo/babeltrace2.txt"

printf '\nThe recording is in %s; it took %d s from the boot on.\n' \
	"${rec#"$PWD"/}" $((SECONDS - started))
