#!/bin/bash
# SPDX-License-Identifier: MIT
# trace-ctl events and emit: typed events of running programs are listed and switched, by
# their user and root alone; events from a shell, with the types of their values.
# test-fast: yes
# test-wing: events

# In a network namespace of their own, programs and commands do not find those of other tests, which
# may run at the same time.
if [ -z "${own_network:-}" ] && unshare -n true 2>/dev/null; then
	own_network=yes exec unshare -n "$0"
fi
. "$(dirname "$0")/record.sh"

live=$helpers/live
# Runs trace-ctl events; again if a program did not answer within 2 s: the machine may stop it.
run_events() {	# WANTED-STATUS ARGUMENT...
	wait_for "the programs answer in time" is_answered "$@"
}
is_answered() {
	local got=0
	timeout 300 "$ctl" events "${@:2}" >"$work/out" 2>"$work/err" || got=$?
	grep -q 'no answer; is the process stopped' "$work/err" && return 1
	[ $got = "$1" ] || fail "exit status $got, not $1: events ${*:2}"
}
events_say() { run_events "$1" "${@:3}"; says "$2"; }	# WANTED-STATUS PATTERN ARGUMENT...
events_show() { run_events "$1" "${@:3}"; shows "$2"; }
# Records until an event of this name is on disk, from now on.
record_event() {	# NAME DIR [OPTION...]
	"$ctl" record -q -o "${@:2}" 2>"$work/record.err" & track recorder
	wait_for "an event $1 is on disk" has_event "$1" "$2"
	end_by INT "$recorder" "the recorder:" "$work/record.err"
}
has_event() {
	"$ctl" dump --event "$1" "$2" >"$work/events" 2>/dev/null || true
	[ -s "$work/events" ]
}
launch() {	# FILE COMMAND...: starts a program; sets program
	"${@:2}" >"$1" & track program
	until_in "$1" started
}

# --- invalid arguments -----------------------------------------------------------
run_says 2 'missing subcommand: list, enable, disable or attach' events
run_says 2 "invalid subcommand 'frob'" events frob
run_says 2 'enable: missing event name or pattern' events enable
run_says 2 "invalid pattern 'a-b'" events enable 'a-b'
run_says 2 "'x' is not a process id" events -p x list
run_says 2 'missing event name' emit
run_says 2 "invalid kind 'send'" emit --kind send a
run_says 2 "unexpected argument 'a'" emit --stdin a
run_says 2 'invalid channel name' emit -c 'a/b' a
TSCTRACE_PROVIDER=daemon run 1 emit a
says "tsctraced.sock: no such socket; start tsctraced"

# --- programs that send anything ------------------------------------------------------
# Nothing of an answer reaches the terminal as it is, and no answer takes long.
if unshare -n true 2>/dev/null; then
	cat >"$work/answers.py" <<'END'
import os, socket, subprocess, sys, threading, time
ctl, dir_ = sys.argv[1:]
def serve(s, answer, drip):
    while True:
        c = s.accept()[0]
        try:
            while c.recv(4096):
                c.send(answer)
                while drip:
                    time.sleep(.1)
                    c.send(b"x")
                break
        except OSError:
            pass
        c.close()
answers = [b"on x y\n", b"on\n", b"\ton\n", b"\x1bc\tcount\tch\tbad_state\t\n",
           b"on\t\x1b[2J\xff\tch\tbad_kind\t\non\tinstant\t\xff\tfair\tn:\xff\n", b"\0" * 100]
for i, answer in enumerate(answers + [b"x"]):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(b"\0tsctrace/program/%d.%d" % (os.getpid(), i))
    s.listen()
    threading.Thread(target=serve, args=(s, answer, i == len(answers)), daemon=True).start()
def run(*args, wanted=(0, 1)):
    p = subprocess.run([ctl, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert p.returncode in wanted, p
    assert not any(c < 32 and c != 10 or c == 0xff for c in p.stdout), p.stdout
    return p.stdout
for args in ["list"], ["--json", "list"]:
    end = time.monotonic() + 300
    out = b""
    # The answers may be late.
    while b"fair" not in out and time.monotonic() < end:
        out = run("events", *args)
        assert b"bad_" not in out, out
    assert b"fair" in out, out
os.environ["TSCTRACE_PROVIDER"] = "daemon"
assert b"no events: no program wrote" in run("record", "--duration", "0.1", "-o", dir_, wanted=(0,))
END
	start_daemon
	unshare -n python3 "$work/answers.py" "$ctl" "$work/answers" >"$work/got" 2>&1 ||
		fail "$(tail -n 5 "$work/got")"
	stop_daemon

	# A pattern that switched events matches, even if the program does not list them, or ends.
	cat >"$work/ends.py" <<'END'
import os, socket, subprocess, sys, threading
def program(lists, *args):
    s, kept = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET), []
    s.bind(b"\0tsctrace/program/%d.0" % os.getpid())
    s.listen()
    def serve():
        while s.fileno() >= 0:
            c = s.accept()[0]
            request = c.recv(4096)
            if request == b"list" and not lists:
                kept.append(c)
                continue
            if request != b"list":
                s.close()
            c.send(b"3" if request != b"list" else b"on\tinstant\tch\tdb_open\t\n")
            c.close()
    threading.Thread(target=serve, daemon=True).start()
    p = subprocess.run([sys.argv[1], "events", "enable", *args], capture_output=True, timeout=300)
    s.close()
    assert p.stdout == b"3 events enabled in 1 program\n", p
    return p.returncode, p.stderr
assert program(True, "db_*") == program(True, "db_*", "*open") == (0, b"")
assert program(False, "db_*") == (0, b"")
status, err = program(False, "db_*", "nosuch")
assert status == 1 and b"'nosuch': it is unknown whether an event matches: 1 program did" in err, err
END
	unshare -n python3 "$work/ends.py" "$ctl" >"$work/got" 2>&1 || fail "$(tail -n 5 "$work/got")"
fi

# --- list and switch ---------------------------------------------------------------
export TSCTRACE_PROVIDER=daemon
launch "$work/early" "$live"
run_events 0 list -p $program live_tick
shows "^ *$program live  *none  live_tick  *instant -  *nr:u64,process:u32/x\$"
events_say 1 'no event that matches is in a channel: no provider serves the program' -p $program enable 'live_*'
start_daemon
is_on() {
	run_events 0 list -p $program
	grep -q ' on  *live_tick' "$work/out"
}
wait_for "the program has attached" is_on
shows "^ *$program live  *on  *live_text  *instant default  *text:string\$"
events_show 0 '^1 event disabled in 1 program$' -p $program disable 'live_t*k'
run_events 0 -p $program list --json
holds "$work/out" '{("live_tick", "off"), ("live_text", "on")} <= {(e["name"], e["state"]) for e in j}' \
	'[e["fields"] for e in j if e["name"] == "live_tick"] == ["nr:u64,process:u32/x"]'
events_show 0 '^2 events disabled in 1 program$' -p $program disable live_tick live_text
record_event raw_tick "$work/off"
run_events 0 -p $program enable 'live_*'
record_event live_text "$work/on"
run 0 dump "$work/off"
! grep -q live_ "$work/out" || fail "events that are off"
events_say 1 "no event matches 'nothing\*' in" -p $program list 'nothing*'
for action in list disable enable; do
	events_say 1 "no event matches 'nosuch' in 1 program" -p $program $action 'live_*' nosuch
	! grep -q "'live_" "$work/err" || fail "$action: names a pattern that matches"
	shows 'live_tick\|^2 events [a-z]*d in 1 program$'
done
run_says 1 'process 999999999: no such process' events -p 999999999 list
run_says 1 "process $$: no program that answers: it does not use tsctrace" events -p $$ list
suspend "$program"
run_says 1 'no answer; is the process stopped' events -p $program list
kill -CONT "$program"

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$live" "$TSCTRACE_RUN_DIR"
	for action in 'disable live_tick' list; do
		# shellcheck disable=SC2086
		! timeout 300 "${nobody[@]}" "$ctl" events -p $program $action \
			>"$work/out" 2>"$work/err" || fail "nobody may $action"
		says "process $program: belongs to another user"
	done
	events_show 0 ' on  *live_tick' list -p $program
	own=$program
	launch "$work/theirs" "${nobody[@]}" "$live"
	events_show 0 '^2 events disabled' -p $program disable '*'
	enables_own() {
		timeout 300 "${nobody[@]}" "$ctl" events enable 'live_*' >"$work/out" 2>"$work/err" || return
		grep -q '^2 events enabled in 1 program$' "$work/out"
	}
	wait_for "a user enables the events of the own program" enables_own
	# Root records another user's channel, by id, and by name if root has none of it.
	id=$("$ctl" channel list | awk '$2 == "default" && $4 == "nobody" { print $1 }')
	record_event live_text "$work/id" -c "$id"
	run_shows 0 '^default  *live_text ' stat "$work/id"
	end_by TERM "$program" "their program"
	program=$own
fi
end_by TERM "$program" "the program"
grep -q ' failed 0 .* provider daemon ' "$work/early" || fail "$(cat "$work/early")"

# --- emit ---------------------------------------------------------------------------
run 1 emit lonely a=1
says 'channel default: neither kept nor open in another process, so the event is gone'
run 0 channel create shell
export TSCTRACE_CHANNEL=shell
run 0 emit hello a=1 b=-2 c=2.5 d=0x1f e='a "text"' f= g=18446744073709551615 h=1e3 i=-
run 0 emit typed a:string=12 b:f64=1 c:u64=3 d:s64=-4
run 0 emit --kind counter queue length=3
for wrong in 'a b' 'a.b x=1' 'a x:u64=-1' 'a x:u8=1' 'a x:s64=y' 'a 1=2' 'a x=1 x=2' \
		"$(printf '%064d' 0 | tr 0 a)"; do
	# shellcheck disable=SC2086
	run_says 1 '^trace-ctl emit: ' emit $wrong
done
printf '%s\n' '@begin span n=1' 'in s="two words \"quoted\" \\"' '@end span' '' 'bad line' \
	'@what x' 'last k=v' >"$work/lines"
run_says 1 "^trace-ctl emit: line 5: 'line': use KEY=VALUE" emit --stdin <"$work/lines"
says "^trace-ctl emit: line 6: invalid kind '@what'"
seq 5000 | sed 's/.*/many nr=&/' >"$work/lines"
run 0 emit --stdin <"$work/lines"
for i in 1 2 3; do
	"$ctl" emit loop i=$i || fail "emit in a loop"
done
run 0 record --unread -c shell -o "$work/shell" --duration 0.1
"$ctl" dump "$work/shell" | sed 's/^[^ ]* \[[0-9]*\] *[0-9]* //; s/  */ /g' >"$work/got"
head -n 6 "$work/got" >"$work/first"
diff "$work/first" - <<'END' || fail "the events differ"
hello a=1 b=-2 c=2.5 d=0x1f e="a \"text\"" f="" g=18446744073709551615 h=1000 i="-"
typed a="12" b=1 c=3 d=-4
queue/counter length=3
span/begin n=1
in s="two words \"quoted\" \\"
span/end
END
[ "$(grep -c '^many ' "$work/got")" = 5000 ] || fail "not all lines"
[ "$(grep -c '^loop ' "$work/got")" = 3 ] || fail "not all of the loop"
run 0 channel remove shell
run 0 channel create small --block-size 4096 --blocks 2
TSCTRACE_CHANNEL=small run 3 emit --stdin <"$work/lines"
says '[0-9]* events lost: the ring was full'
run 0 channel remove small
unset TSCTRACE_CHANNEL

# --- definitions that do not fit --------------------------------------------------------
# Each event is recorded, or counted as refused by the program and by the recorder.
seq 2000 | sed 's/.*/ev& n=&/' >"$work/lines"
export TSCTRACE_PROVIDER=embedded
run 3 record -o "$work/types" -- sh -c "head -n 1000 $work/lines | $ctl emit --stdin &&
	$here/fill_definitions.py $out/lib/libtsctrace.so && $ctl emit --stdin <$work/lines"
says 'sh exited with status 3'
refused=$(sed -n 's/^trace-ctl emit: \([0-9]*\) events refused: the definitions .* do not fit.*/\1/p' \
	"$work/err")
[ "${refused:-0}" -gt 0 ] || fail "refused: $(cat "$work/err")"
says "LOST: refused $refused\$"
says "not recorded: the channel has no room for their definitions, .*; use fewer event types"
[ "$refused" = 1000 ] || fail "$refused of 1000 refused"
says " 2000 published = 2000 recorded + 0 lost; $refused events were never"
grep -q "refused_0_[0-9]* = [0-9]" "$work/types/metadata" || fail "the metadata has no refused events"
run 3 stat --json "$work/types"
[ "$(number never_published "$work/out")" = "$refused" ] || fail "stat has other refused events"
# Events of a program that cannot map the rings are refused, too.
run_says 3 'LOST: refused 100$' record --block-size 65536 --blocks 512 -o "$work/unmapped" -- \
	sh -c "ulimit -v 30000; exec $helpers/account $work/counts user events=100"
says 'channel default: not enough memory for its rings, or for mapping them; use fewer blocks'
# So are those of a program without a descriptor for a connection, or for the rings.
for limit in 4 5; do
	run_says 3 'LOST: refused 100$' record -o "$work/unreached$limit" -- \
		sh -c "ulimit -n $limit; exec $helpers/account $work/counts user events=100"
	says "no descriptor left; raise its 'ulimit -n'"
done
# 100,000 types: their definitions need more than 64 KiB, and their ids more than 16 bits.
seq 100000 | sed 's/.*/ev& n=&/' >"$work/lines"
run_says 0 '100000 published = 100000 recorded + 0 lost$' record -o "$work/wide" -- \
	"$ctl" emit --stdin <"$work/lines"
run_shows 0 '^sum .* 100000 recorded + 0 lost' stat "$work/wide"
"$ctl" dump "$work/wide" | sed 's/^[^ ]* \[[0-9]*\] *[0-9]* //; s/  */ /g' | cmp - "$work/lines" ||
	fail "the events of 100000 types differ"
export TSCTRACE_PROVIDER=daemon
kill "$server"
echo "events and emit: fine"
