#!/bin/bash
# SPDX-License-Identifier: MIT
# Which function of which file a probe means: default versions, IFUNCs, several functions of one
# name, addresses, files without symbols, replaced files, paths with colons; each refusal has its
# reason and a way out, and comes before the command runs.
# test-fast: yes
# test-wing: probes
. "$(dirname "$0")/record.sh"
need_first_pid_namespace

export TSCTRACE_PROVIDER=embedded
cd "$work"

refuse() {	# PATTERN PROBE [OPTION...]
	run_says 1 "kernel events: .*$1" record -e "$2" "${@:3}" -o refused -- touch ran
	[ ! -e refused ] && [ ! -e ran ] || fail "$2: the command was run"
}

# Records the program while PROBES are set, and checks the number of its events.
counts() {	# EVENTS PROBE...
	local probe args=()
	for probe in "${@:2}"; do args+=(-e "$probe"); done
	rm -rf rec
	run 0 record "${args[@]}" -o rec -- "$program"
	n=$("$ctl" dump rec | wc -l)
	[ "$n" = "$1" ] || fail "${*:2}: $n events, not $1"
}

cp "$helpers"/traced/{places,gopher} .
program=./places

# --- errors that do not depend on the kernel's events ---------------------------

run_says 2 "foo: no such command; see 'trace-ctl help'" help foo
run_says 2 "dmp: no such command; did you mean 'dump'" help dmp
run_says 1 'shced: no such event' record -e shced -o refused -- true
run_says 1 'no such tracepoint' record -e sched:sched_swich -o refused -- true

needs_kernel_events

run_says 1 'the events of -e have no such field; there are .*prev_comm' \
	record -e sched_switch --where 'foo == 1' -o refused -- true
run_says 1 'no such field; there are .*, \.\.\.$' \
	record -e sched_switch -e syscalls --where 'foo == 1' -o refused -- true

# Programs of fentry are refused by some kernels that load others: no limit is the reason.
"$ctl" record -e net -o net -- true 2>err || {
	grep -q 'refuses fentry and fexit programs' err && ! grep -q ulimit err ||
		fail "-e net: $(cat err)"
}
if [ ! -e /sys/bus/event_source/devices/kprobe ] && [ ! -e /sys/kernel/tracing/kprobe_events ]; then
	refuse 'this kernel has no kprobes; .*CONFIG_KPROBES' kprobe:vfs_read
	refuse 'this kernel has no kprobes; .*CONFIG_KPROBES' 'kretprobe:vfs_*'
	run_says 1 'this kernel has no kprobes; .*CONFIG_KPROBES' list 'kprobe:vfs_*'
fi

# --- names ----------------------------------------------------------------------

# Without uprobes, only the errors can be tested.
[ -e /sys/bus/event_source/devices/uprobe ] || skip "this kernel has no uprobes"

counts 5 "uprobe:$program:plain"
refuse "./places: 2 functions are named 'helper'; use one of helper@0x[0-9a-f]*, helper@0x[0-9a-f]*" \
	"uprobe:$program:helper"
"$ctl" list "uprobe:$program:helper" >list
[ "$(grep -c '^uprobe:./places:helper@0x[0-9a-f]*$' list)" = 2 ] || fail "list: $(cat list)"
address=$(sed -n '1s/.*@//p' list)
counts 3 "uprobe:$program:helper@$address"
counts 6 "uprobe:$program:$address" "uretprobe:$program:$address"
counts 3 "uprobe:$program:$address(n=arg1:u8)"
refuse 'no instruction is at the address 0x1000000000' "uprobe:$program:0x1000000000"
refuse "the compiler made made.constprop.0 of it" "uprobe:$program:made"
refuse "'chosen' is an IFUNC: .*uprobe:FILE:0xADDRESS" "uprobe:$program:chosen"
refuse "'number' is data, not a function" "uprobe:$program:number"
refuse "'read' is only called here; name the library" "uprobe:$program:read"
refuse "no function 'plaim'; did you mean 'plain'" "uprobe:$program:plaim"
refuse "no USDT probe 'jobs:start'" "usdt:$program:jobs:start"
refuse "no function 'plain@0x0'" "uprobe:$program:plain@0x0"
# Registers have other values at the other end of a function.
refuse "'n': not a field; .* arguments at its begin" "uretprobe:$program:plain(n=arg1)"
refuse "'n': not a field; .* arguments at its begin" "uprobe:$program:plain(n=ret:s32)"
refuse "'n': not a field; .* arguments at its begin" "uretprobe:$program:plain(n=+8(arg1):u8)"

# Each line of list is accepted.
"$ctl" list "uprobe:$program" >list
mapfile -t all <list
args=()
for line in "${all[@]}"; do args+=(-e "$line"); done
run 0 record "${args[@]}" -o every -- "$program"
grep -q 'chosen' list && fail "list has an IFUNC that cannot be recorded"

# A library's default version, which is an IFUNC: the function that this machine uses
libc=$(ldd "$program" | sed -n 's/.*libc.so.6 => \([^ ]*\) .*/\1/p')
for name in memcpy strlen; do
	run 0 record -e "uprobe:$libc:$name" -o "$name" -- "$program"
	n=$("$ctl" dump "$name" | wc -l)
	[ "$n" -ge 100 ] || fail "$name: $n events, not 100"
done

# --- files ------------------------------------------------------------------------

mkdir a:b
cp "$program" a:b/c:d
program=./a:b/c:d
counts 5 "uprobe:$program:plain"
run_shows 0 '^uprobe:./a:b/c:d:plain$' list "uprobe:$program:plai*"
if command -v strip >/dev/null; then
	strip -o stripped places
	refuse "./stripped: .*'helper' can be found: the file is stripped, .*0xADDRESS" \
		uprobe:./stripped:helper
	program=./stripped
	counts 3 "uprobe:$program:$address"
fi
refuse './gopher: a Go program, which a uretprobe would end' uretprobe:./gopher:main
run 0 record -e uprobe:./gopher:main -o gopher.rec -- ./gopher

# A program whose file was replaced while it runs
mkfifo go
./places wait <go & track old
exec 3>go
wait_for "places runs" is_named "$old" places
cp places new
mv new places
refuse "process $old runs another (deleted) file .*use FILE=/proc/$old/exe" \
	"uprobe:$work/places:plain" -p "$old"
"$ctl" record -q -p "$old" -e "uprobe:/proc/$old/exe:plain" -o replaced 2>err 3>&- & track recorder
# The probe is set when there are files.
wait_for "it records" [ -e replaced/metadata ]
bytes=0
feed() { bytes=$((bytes + 1)); echo >&3; has_on_disk replaced 0; }
wait_for "events of a replaced file" feed
exec 3>&-
wait "$old" || fail "the program"
end_by INT "$recorder" "the recorder:" err
n=$("$ctl" dump replaced | wc -l)
[ "$n" = $((bytes * 5)) ] || fail "a replaced file: $n events, not 5 for each of $bytes bytes"
