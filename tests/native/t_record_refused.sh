#!/bin/bash
# SPDX-License-Identifier: MIT
# Errors that record reports before it starts: no directory is created, no program run.
# test-fast: yes
. "$(dirname "$0")/record.sh"

cd "$work"
nothing() {
	[ ! -e "$work/x" ] || fail "a directory was made"
	[ ! -e "$work/ran" ] || fail "the program was run"
}

refused() {	# STATUS PATTERN ARGUMENT...
	run_says "$1" "$2" record "${@:3}"
	says '^trace-ctl record: '
	nothing
}

refused 1 'record: no-such: command not found; check' -o x -- no-such
refused 1 "''" -o x -- ''
refused 1 './none: No such file or directory; check the path' -o x -- ./none
touch plain && printf '#!/nonexistent\n' >script && chmod +x script
refused 1 "./plain: Permission denied; make it executable" -o x -- ./plain
refused 1 "$work: Is a directory; name a program" -o x -- "$work"
refused 1 './script: .*check that its interpreter exists' -o x -- ./script
PATH=$work exits 1 "$ctl" record -o x -- plain 2>err
says 'record: plain: Permission denied'
nothing

# Each limit of open files up to one that suffices is named, and how to raise it.
status=1
for ((n = 5; status; n++)); do
	status=0
	(ulimit -n $n && exec "$ctl" record -q -o x -- touch ran) 2>err || status=$?
	[ $status = 0 ] || grep -q "raise .*'ulimit -n'" err || fail "ulimit -n $n: $(cat err)"
	rm -rf x ran
done

refused 1 'record: x/y: directory x does not exist; create it' -o x/y -- touch ran
refused 1 'plain: not a directory' -o plain -- touch ran
mkdir full && touch full/file
refused 1 'output directory full is not empty; use a new one' -o full -- touch ran
[ "$(ls full)" = file ] || fail "the directory full was changed"
refused 1 "''" -o '' -- touch ran
ln -s nowhere dangling
refused 1 'dangling: dangling symbolic link; remove it' -o dangling -- touch ran
[ -L dangling ] && [ ! -e nowhere ] || fail "the link dangling was changed"
if [ "$(id -u)" = 0 ]; then
	mkdir locked && chmod 755 "$work" locked
	exits 1 "${nobody[@]}" "$ctl" record -o locked/x -- touch ran >out 2>err
	says 'locked/x: cannot write to locked: Permission denied; use another'
	exits 1 "${nobody[@]}" "$ctl" record -o locked -- touch ran >out 2>err
	says 'locked: cannot write to locked: Permission denied'
	(cd locked && exits 1 "${nobody[@]}" "$ctl" record -- touch ran) >out 2>err || exit 1
	says "record: tsctrace-2[-0-9]*: cannot write to $work/locked: Permission denied; use another"
	nothing
fi

if has_wing kernel; then
	refused 1 'e nonesuch: no such event; use one of:' -e nonesuch -o x -- touch ran
	says '^user '
	says '^sched_switch '
	refused 2 "cpu: this machine has no CPU 4095; the last one is CPU " -e sched --cpu 0,4095 -o x -- touch ran
fi
refused 2 'is not a power of two' --blocks=many -o x -- touch ran
refused 2 'is not a power of two' --blocks=-1 -o x -- touch ran
refused 2 "blocks: '0' is not a power of two from 2 to 65536" --blocks=0 -o x -- touch ran
refused 2 "blocks: '1' is not a power of two from 2 to" --blocks=1 -o x -- touch ran
refused 2 "blocks: '65537' is not a power of two from 2 to" --blocks=65537 -o x -- touch ran
refused 2 "block-size: '0' is not a power of two from 4096 to 65536" --block-size=0 -o x -- touch ran
refused 2 'is not a power of two from 4096' --block-size=99999999999999999999 -o x -- touch ran
refused 2 "blocks: '65' is not a power of two" --blocks=65 -o x -- touch ran
refused 2 "block-size: '5000' is not a power of two" --block-size=5000 -o x -- touch ran
refused 2 'invalid ring size: 65536 blocks of 65536 bytes' --block-size=65536 --blocks=65536 -o x -- touch ran
refused 2 "invalid channel name 'a/b'" -c a/b -o x -- touch ran
refused 2 "events: invalid patterns 'a;b'; use event names" --events 'a;b' -o x -- touch ran
export TSCTRACE_EVENTS=a,-
refused 2 "TSCTRACE_EVENTS: invalid patterns 'a,-'" -o x -- touch ran
unset TSCTRACE_EVENTS
refused 2 "invalid channel name '.a'" -c .a -o x -- touch ran
refused 2 "invalid channel name ''" -c '' -o x -- touch ran
refused 2 "duration: '0' is not a number of seconds from 0.001 to 1000000000" --duration=0 -o x -- touch ran
refused 2 "duration: 'nan' is not" --duration=nan -o x -- touch ran
refused 2 'unrecognized option' --nonsense -o x -- touch ran
TSCTRACE_CHANNEL=a/b refused 2 'TSCTRACE_CHANNEL' -o x -- touch ran
TSCTRACE_PROVIDER=none refused 1 'TSCTRACE_PROVIDER=none' -o x -- touch ran
TSCTRACE_PROVIDER=daemon refused 1 'start tsctraced' -o x -- touch ran
TSCTRACE_PROVIDER=nobody refused 1 'TSCTRACE_PROVIDER=nobody' -o x -- touch ran
if [ ! -e /dev/tsctrace ]; then
	refused 1 'nothing to record: no command, daemon or module (.*); name a command, start tsctraced or load' \
		-o x
	refused 1 'nothing to record: no command' --duration 1 -o x
	TSCTRACE_PROVIDER=embedded refused 1 'nothing to record: no command' -o x
fi
if has_wing kernel; then
	[ -e /dev/tsctrace ] || TSCTRACE_PROVIDER=module \
		refused 1 'record: kernel events: .*module is not loaded' -e sched -o x -- touch ran
	run_shows 0 '^sched_switch ' record -e list
else
	refused 1 'record: sched: .* built without tools/wings/kernel' -e sched -o x -- touch ran
fi
# -e user selects the events of programs, which are recorded without the option, too.
run 0 record -e user -o y -- "$emit" 10
[ "$("$ctl" dump y | wc -l)" = 11 ] || fail "-e user: other events"
