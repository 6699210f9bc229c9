#!/bin/bash
# SPDX-License-Identifier: MIT
# explain: waits for another node or a disk, of recordings whose events are written down here, so that each
# cause and length is known. Thread 100 of node one has the span, thread 200 of node two answers.
# test-wing: explain
. "$(dirname "$0")/record.sh"

# Explains the span of the events on standard input, which two_nodes reads. Each PART is the longest
# one of the time before it: STATE-OR-CALL NS BOUND_NS; "-": unknown, as it is below the bound.
because() {	# BOUND_ONE BOUND_TWO PART...
	rm -rf "$work/two"
	mkdir "$work/two"
	"$helpers/two_nodes" "$work/two" "$1" "$2" || fail two_nodes
	run 0 explain --span work --json "$work/two"
	python3 -c '
import json, sys
(span,) = json.load(sys.stdin)["spans"]
def check(whole):
    known = [p["ns"] for p in whole["parts"]]
    assert not known or None in known or whole["ns"] is None or sum(known) == whole["ns"], whole
    for p in whole["parts"]:
        check(p)
check(span)
whole = span
for want in sys.argv[1:]:
    whole = whole["parts"][0]
    part = [whole["call"] or whole["state"], whole["ns"], whole["bound_ns"]]
    assert [str(v) for v in part] == want.replace("-", "None").rsplit(None, 2), (part, want)
' "${@:3}" <"$work/out" || fail "other causes than ${*:3}: $(cat "$work/out")"
}

# A request goes to node two, whose thread sleeps before it answers.
request() {
	cat <<END
0 0 0 switch 100 0
0 1 0 switch 200 0
10 1 200 call 45 3
20 1 200 switch 0 1
1000 0 100 begin 7
1100 0 100 call 44 5
1110 0 100 send 1
1120 0 100 return 44
1200 0 100 call 45 5
1210 0 100 switch 0 1
END
}
answer() {	# US SLEEP: when node two receives the request, and how long it sleeps, us
	python3 - "$1" "$2" <<'END'
import sys
at, sleep = map(int, sys.argv[1:])
def put(us, event):
    print(at + us, event)
put(0, "1 0 receive 1" if at < 100000 else "1 0 receive 3")
put(5, "1 0 wake 200")
put(10, "1 0 switch 200 0")
put(20, "1 200 return 45")
if sleep:
    put(30, "1 200 call 230 0")
    put(40, "1 200 switch 0 1")
    put(40 + sleep, "1 0 wake 200")
    put(45 + sleep, "1 0 switch 200 0")
    put(50 + sleep, "1 200 return 230")
at += sleep
put(60, "1 200 call 44 3")
put(70, "1 200 send 2")
put(80, "1 200 return 44")
put(90, "1 200 call 45 3")
put(95, "1 200 switch 0 1")
put(400, "0 0 receive 2")
put(405, "0 0 wake 100")
put(410, "0 0 switch 100 0")
put(420, "0 100 return 45")
put(500, "0 100 end 7")
END
}

# The peer is slow: it sleeps.
slow() { request; answer 1400 8000; }
slow | because 1000 2000 'recvfrom 8595000 0' 'clock_nanosleep 8000000 0'
run_shows 0 'blocked in recvfrom of fd 5, until a message of thread 200 (x) on two; until' \
	explain --span work "$work/two"
shows '0\.335 ms .* %   in flight from two, +- 0\.003 ms$'
shows '0\.195 ms .* %     in flight from one, +- 0\.003 ms$'
# The page draws the same, unless its filter leaves out the messages, which it states.
run 0 report -q -o "$work/page.html" "$work/two"
grep -q '<summary>work, thread 100 (x) on one: 8\.[0-9]* ms<' "$work/page.html" || fail "no graph"
grep -q 'until a message of thread 200 (x) on two: 8\.595 ms' "$work/page.html" || fail "no message"
! grep -q 'The filter leaves out messages' "$work/page.html" || fail "no filter"
run 0 report -q --event 'work' -o "$work/page.html" "$work/two"
grep -q 'The filter leaves out messages' "$work/page.html" || fail "a filter that is not stated"
! grep -q 'until a message of' "$work/page.html" || fail "a message that is left out"
# By worse clocks, the time in flight is unknown, and the sleep is known, as it has one clock.
slow | because 200000 200000 'recvfrom 8595000 0' 'clock_nanosleep 8000000 0'
run_shows 0 'unknown *in flight from two, less than the bound of 0\.400 ms$' \
	explain --span work -a "$work/two"
# The peer answers at once, but the network is slow.
{ request; answer 9000 0; } | because 1000 2000 'recvfrom 8195000 0' \
	'recvfrom 7795000 3000' 'in flight 7795000 3000'
{ request; answer 9000 0; } | because 5000000 3000000 'recvfrom 8195000 0' 'recvfrom - 8000000'
# The request is lost, and sent again after 200 ms.
{
	request
	echo 201110 0 0 send 3
	echo 201112 0 0 resent
	answer 201400 0
} | because 1000 1000 'recvfrom 200595000 0' 'recvfrom 200195000 2000' 'resending 199900000 0'
# Packets between two processes of one node, as in two network namespaces, have no other bounds.
{ request; answer 9000 0; } | because 0 - 'recvfrom 8195000 0' 'recvfrom 7795000 0' \
	'in flight 7795000 0'
{
	request
	echo 201110 0 0 send 3
	echo 201112 0 0 resent
	answer 201400 0
} | because 0 - 'recvfrom 200595000 0' 'recvfrom 200195000 0' 'resending 199900000 0'
run_shows 0 'lost or late: sent again by one$' explain --span work "$work/two"
# The packet is sent by an interrupt of a thread that waits for another process.
{
	request
	cat <<END
1310 1 0 switch 300 0
1320 1 300 call 61 0
2310 1 300 send 2
2320 0 0 receive 2
2350 0 0 wake 100
2360 0 0 switch 100 0
2370 0 100 return 45
2450 0 100 end 7
END
} | because 1000 1000 'recvfrom 1140000 0' 'sending 1100000 2000'
# An interrupt sends a packet, and is not said to send it again.
{
	request
	echo 201110 0 0 send 3
	echo 311112 0 0 resent	# another one, without data, of which no sending is recorded
	answer 321400 0
} | because 0 - 'recvfrom 320595000 0' 'recvfrom 320195000 0' 'sending 199900000 0'
# The clock of node two is ahead: by it, the answer is received before it was sent.
because 10000 10000 'blocked 195000 0' 'running 195000 20000' <<'END'
0 0 0 switch 100 0
0 1 0 switch 200 0
1200 0 100 begin 7
1210 0 100 switch 0 1
1405 0 0 wake 100
1410 0 0 switch 100 0
1420 0 100 got 2
1424 1 200 put 2
1500 0 100 end 7
END

# The kernel of a guest may hide a switch: until its waking, the thread was blocked all the same.
because 0 - 'clock_nanosleep 2000000 0' <<'END'
0 0 0 switch 100 0
1000 0 100 begin 7
1100 0 100 call 230 0
1110 0 100 switch 300 1
3110 0 300 wake 100
3300 0 100 return 230
3400 0 100 end 7
END
run_shows 0 '0\.190 ms .* % unknown' explain --span work "$work/two"

# Of many short waits of one call, and a longer one of another call, the longer one is printed.
rm -rf "$work/two"
mkdir "$work/two"
{
	echo 0 0 0 switch 100 0
	echo 1000 0 100 begin 7
	for i in 0 1 2 3 4 5 6 7 8 9; do
		at=$((1000 + i * 400))
		printf '%s\n' "$((at + 10)) 0 100 call 45 5" "$((at + 20)) 0 100 switch $((300 + i)) 1" \
			"$((at + 320)) 0 $((300 + i)) wake 100" \
			"$((at + 330)) 0 $((300 + i)) switch 100 1" "$((at + 340)) 0 100 return 45"
	done
	printf '%s\n' '5000 0 100 call 230 0' '5010 0 100 switch 0 1' '7010 0 0 wake 100' \
		'7015 0 0 switch 100 0' '7020 0 100 return 230' '7100 0 100 end 7'
} | "$helpers/two_nodes" "$work/two" 100 -
run_shows 0 ' 2\.000 ms .* % blocked in clock_nanosleep' explain --span work "$work/two"
[ "$(grep -c 'blocked in recvfrom' "$work/out")" -ge 6 ] || fail "too few parts: $(cat "$work/out")"

# Messages that a program states: the thread that waited receives them when it runs.
stated() {	# EVENT: before the thread of the span waits; '': none
	grep . <<END
0 0 0 switch 100 0
0 1 0 switch 200 0
10 1 200 switch 0 1
1000 0 100 begin 7
1110 0 100 put 1
$1
1210 0 100 switch 0 1
1405 1 0 wake 200
1410 1 0 switch 200 0
1420 1 200 got 1
7470 1 200 put 2
7510 1 200 switch 0 1
7905 0 0 wake 100
7910 0 0 switch 100 0
7920 0 100 got 2
8000 0 100 end 7
END
}
stated '' | because 1000 1000 'blocked 6695000 0' 'running 6060000 0'
# No message ends the wait for a lock, or for a timer: one that came meanwhile is received later.
stated '1200 0 100 call 202 4096' | because 1000 1000 'futex 6695000 0'
run 0 explain --span work "$work/two"
! grep -q 'message' "$work/out" || fail "a futex that waits for a message: $(cat "$work/out")"
# A packet for another thread comes before a thread wakes the waiting one.
{
	request
	cat <<END
2300 0 0 switch 300 0
2310 1 200 send 2
2320 0 300 receive 2
2330 0 300 call 1 4
2340 0 300 wake 100
2350 0 300 return 1
2360 0 300 switch 100 1
2370 0 100 return 45
2400 0 100 end 7
END
} | because 1000 1000 'recvfrom 1130000 0'
run_shows 0 'blocked in recvfrom of fd 5, woken by thread 300 (x) or an interrupt' \
	explain --span work "$work/two"

# A thread receives the packet in an interrupt. Before it wakes the waiting thread, it loses the CPU.
interrupted() {	# STATE US: how it leaves the CPU, and when the waking is
	request
	cat <<END
2300 0 0 switch 300 0
2305 0 300 call 1 4
2310 1 200 send 2
2320 0 300 receive 2
2330 0 300 switch 400 $1
2340 0 400 switch 300 1
$2 0 300 wake 100
$(($2 + 10)) 0 300 switch 100 1
$(($2 + 20)) 0 100 return 45
$(($2 + 100)) 0 100 end 7
END
}
# Without PREEMPT_RT, a switch shows that the interrupt was over.
interrupted 256 2350 | because 1000 1000 'recvfrom 1140000 0'
run_shows 0 'woken by thread 300 (x) or an interrupt' explain --span work "$work/two"
export TWO_NODES_KERNEL=6.1-rt
for state in 256 2; do	# another thread takes the CPU; a lock of the kernel
	interrupted $state 2350 | because 1000 1000 'recvfrom 1140000 0' 'unknown 1100000 2000'
	run_shows 0 'until a message of thread 200 (x) on two' explain --span work "$work/two"
done
# It slept, so the interrupt had ended; or another interrupt comes much later.
interrupted 1 2350 | because 1000 1000 'recvfrom 1140000 0'
run_shows 0 'woken by thread 300 (x) or an interrupt' explain --span work "$work/two"
interrupted 256 112400 | because 1000 1000 'recvfrom 111190000 0'
run_shows 0 'woken by thread 300 (x) or an interrupt' explain --span work "$work/two"
# Soon after a packet that is not for it, a thread's wait ends by a disk or the time limit of poll(). A
# poll() that finds a descriptor waited for the packet.
ends() {	# SED CALL WORDS
	interrupted 256 2350 | sed "$1" | because 1000 1000 "$2 1140000 0"
	run_shows 0 "$3" explain --span work "$work/two"
}
ends 's/1210 0 100 switch 0 1/1210 0 100 switch 0 2/' recvfrom 'woken by thread 300'
ends 's/100 call 45/100 call 7/; s/return 45/return 7 0/' poll 'until its timeout expired'
ends 's/100 call 45/100 call 7/; s/return 45/return 7 1/' poll 'until a message of thread 200'
# No time limit ends a wait for a lock of the kernel, and a restarted futex returns 0 when it is woken.
ends 's/1210 0 100 switch 0 1/1210 0 100 switch 0 2/; s/100 call 45/100 call 232/; s/return 45/return 232 0/' \
	epoll_wait 'uninterruptible, woken by thread 300'
ends 's/100 call 45/100 call 219/; s/return 45/return 219 0/' restart_syscall 'woken by thread 300'
unset TWO_NODES_KERNEL

# After a packet that ends no wait, the interrupt of a timer or of a disk ends one on the idle CPU,
# or a thread does, whose system calls are not recorded.
after_packet() {	# BEGIN-CALL STATE WAKER END-CALL
	grep . <<END
0 0 0 switch 100 0
1000 0 100 begin 7
$1
1020 0 100 switch $3 $2
1500 1 200 send 2
1510 0 $3 receive 2
7020 0 $3 wake 100
7025 0 $3 switch 100 0
$4
7100 0 100 end 7
END
}
after_packet '1010 0 100 call 7 4096' 1 0 '7030 0 100 return 7 0' |
	because 1000 1000 'poll 6000000 0'
run_shows 0 'blocked in poll, until its timeout expired$' explain --span work "$work/two"
after_packet '1010 0 100 call 7 4096' 1 0 '7030 0 100 return 7 1' | because 1000 1000 \
	'poll 6000000 0' 'in flight 5520000 2000'
after_packet '1010 0 100 call 0 9' 2 0 '7030 0 100 return 0 512' |
	because 1000 1000 'read 6000000 0'
run_shows 0 'of fd 9, uninterruptible, woken by an interrupt$' explain --span work "$work/two"
after_packet '' 1 300 '' | because 1000 1000 'blocked 6000000 0'
run_shows 0 'blocked, woken by thread 300 (x) or an interrupt' explain --span work "$work/two"

# A thread hands a span over to another one, and sleeps. The other one's time is split.
cat >"$work/handed" <<END
0 0 0 switch 100 0
0 1 0 switch 200 0
1000 0 100 put 7
1010 0 100 call 230 0
1020 0 100 switch 0 1
5000 1 200 call 7 4096
5010 1 200 switch 0 1
8010 1 0 wake 200
8015 1 0 switch 200 0
8020 1 200 return 7 1
9000 1 200 got 7
END
rm -rf "$work/two"; mkdir "$work/two"
"$helpers/two_nodes" "$work/two" 1000 2000 <"$work/handed" || fail two_nodes
ended='thread 100 (x) on one, ended by thread 200 (x) on two, +- 0.003 ms; that thread:'
run_shows 0 ": 8.000 ms from .*, $ended\$" \
	explain --pair put/send:put/receive:number --slowest 'put*' -a "$work/two"
shows '^ *4\.99. ms .* % on CPU (2 times), +- 0\.003 ms$'
shows '^ *3\.000 ms .* % blocked in poll, woken by an interrupt$'
! grep -q clock_nanosleep "$work/out" || fail "what the other thread did: $(cat "$work/out")"

# A disk: no signal ends the wait, the interrupt of the device does.
because 1000 1000 'fsync 900000 0' <<'END'
0 0 0 switch 100 0
1000 0 100 begin 7
1010 0 100 call 74 9
1020 0 100 switch 0 2
1920 0 0 wake 100
1930 0 0 switch 100 0
1940 0 100 return 74
1950 0 100 end 7
END
run_shows 0 'blocked in fsync of fd 9, uninterruptible, woken by an interrupt$' \
	explain --span work "$work/two"

# A thread waits for one CPU, and is moved to another one, for which it waits again.
because 0 - 'runnable 6000000 0' 'behind 5000000 0' <<'END'
0 0 0 switch 100 0
0 1 0 switch 400 0
1000 0 100 begin 7
1010 0 100 switch 300 0
6010 1 400 move 100 0
7010 1 400 switch 100 0
7100 1 100 end 7
END
run_shows 0 ' 5\.000 ms .* %   behind thread 300 (x)$' explain --span work "$work/two"
shows ' 1\.000 ms .* %   behind thread 400 (x)$'

# The scheduler does not run a thread, though its CPU is idle; or a thread that is not recorded runs.
for i in '0 while its CPU was idle, at least at first' '1500 behind thread 1500 at first, then unknown'; do
	because 0 - 'runnable 5000000 0' 'behind 5000000 0' <<-END
		0 0 0 switch 100 0
		1000 0 100 begin 7
		1010 0 100 switch ${i%% *} 0
		6010 0 ${i%% *} switch 100 0
		7100 0 100 end 7
	END
	run_shows 0 " 5\\.000 ms .* %   ${i#* }\$" explain --span work "$work/two"
done

# A span that waits on 40,000 descriptors, on one of them twice.
python3 - <<'END' | because 0 - 'running 379996000 0'
print("0 0 0 switch 100 0\n1 0 100 begin 7")
for at, fd in zip(range(10, 500000, 10), [*range(40000), 7]):
    print(f"{at} 0 100 call 45 {fd}\n{at + 1} 0 100 switch 0 1\n{at + 3} 0 0 wake 100\n"
          f"{at + 4} 0 0 switch 100 0\n{at + 5} 0 100 return 45")
print("500000 0 100 end 7")
END
holds "$work/out" "len(j['spans'][0]['parts']) == 40002 and
	[(p['ns'], p['pieces']) for p in j['spans'][0]['parts'] if p['object'] == 'fd 7'] == [(4000, 2)]"
