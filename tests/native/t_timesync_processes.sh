#!/bin/bash
# SPDX-License-Identifier: MIT
# tsct_timesync() on a master (alpha), its child (beta), and a child of that child (gamma),
# with several processes on each node that called tsct_timesync_join(): all wait for the
# last process; timeouts name node and pid; nobody waits for a process that has ended.
# test-timeout: 500
# test-wing: collective
. "$(dirname "$0")/sync.sh"
all="alpha beta gamma"

# Each part of the test has nodes of its own.
start_nodes() {
	local i host=100
	net $all
	printf 'name alpha\nsync-max-duration 0.001\nchild beta 10.77.6.2\n' >"$work/alpha/conf"
	printf 'name beta\nmaster 10.77.6.1 minpoll -3 maxpoll -2\nsync-max-duration 0.001
child gamma 10.77.7.2\n' >"$work/beta/conf"
	# gamma polls so rarely that only poll requests make it report its processes in time.
	printf 'name gamma\nmaster 10.77.7.1 minpoll 4 maxpoll 4\n' >"$work/gamma/conf"
	join alpha 10.77.6.1/24 beta 10.77.6.2/24
	join beta 10.77.7.1/24 gamma 10.77.7.2/24
	for i in $all; do start $i $((++host)); done
	for i in beta gamma; do wait_for "$i is synchronized" synced $i; done
}

# Starts timesync on NODE in the background, with its output in $work/NODE.N and its pid
# in pid_of[NODE.N].
declare -A pid_of=()
run() {		# NODE.N ARGUMENT...
	rm -f "$work/$1"
	TSCTRACE_RUN_DIR=$work/${1%.*} "$helpers/timesync" "${@:2}" >"$work/$1" &
	pid_of[$1]=$!
}
is_joined() { grep -qs '^joined$' "$work/$1"; }
has_called() { grep -qs '^called at' "$work/$1"; }
all_joined() { local i; for i; do wait_for "$i has joined" is_joined $i; done; }	# NODE.N...
all_called() { local i; for i; do wait_for "$i has called" has_called $i; done; }	# NODE.N...
# Fails unless all returned after the call of LATE.
returned_after() {	# LATE NODE.N...
	local i
	for i in "${@:2}"; do
		[ "$(at at $i)" -ge "$(at 'called at' $1)" ] || fail "$i returned before $1 called"
	done
}
end() {		# NODE.N...: waits for these programs, which need not succeed
	local i
	for i in "$@"; do wait "${pid_of[$i]}" || true; done 2>/dev/null
}
result() { sed -n '/^done$\|^E[A-Z]*:/p' "$work/$1"; }
done_all() {	# NODE.N...: true if all these calls succeeded
	local i
	for i in "$@"; do
		[ "$(result "$i")" = done ] || { why="$i: $(cat "$work/$i")"; return 1; }
	done
}
# REASON NODE.N...: true if all these calls timed out, for that reason
timed_out() {
	local i
	for i in "${@:2}"; do
		[ "$(result "$i")" = "ETIMEDOUT: not all nodes have called tsct_timesync(): $1" ] || {
			why="$i: $(result "$i"), not $1"
			return 1
		}
	done
}
at() { sed -n "s/^$1 \([0-9]*\)$/\1/p" "$work/$2"; }	# "at" or "called at" NODE.N
twos() { local i; for i in "$@"; do echo "$i.1 $i.2"; done; }

# --- timeouts name the missing processes ----------------------------------------------
# PROCESS has joined and does not call; the calls of all OTHERs fail with WORDS, in which
# PID is that of PROCESS.
missing_one() {	# PROCESS WORDS OTHER...
	local late=$1 words=$2 i
	shift 2
	run $late 60000 1 2 late
	wait_for "$late has joined" is_joined $late
	for i; do run $i 3000 1 2; done
	end "$@"
	kill ${pid_of[$late]}
	end $late
	timed_out "${words/PID/${pid_of[$late]}}" "$@"
}

# Nobody calls on two of the nodes: the daemons report for them nevertheless. beta
# declared a process that does not come.
missing_all() {
	for i in $(twos gamma) beta.1; do
		run $i 60000 1 2 late
		wait_for "$i has joined" is_joined $i
	done
	for i in $(twos alpha); do run $i 3000 1 2; done
	end $(twos alpha)
	for i in $(twos gamma) beta.1; do kill ${pid_of[$i]}; end $i; done
	timed_out "beta: 2 of 2 processes (pid ${pid_of[beta.1]}; 1 not joined), gamma: \
2 of 2 processes (pid ${pid_of[gamma.1]} ${pid_of[gamma.2]}) (below beta) are missing" \
		$(twos alpha)
}

# True if $others wait for a node again, whose processes have ended
waited_for_again() {	# NODE
	sleep 2		# waits until no node counts as a caller any more
	for i in $others; do run $i 1500 1 2; done
	end $others
	for i in $others; do
		why=$(cat "$work/$i")
		grep -q "^ETIMEDOUT: .* $1\( (below beta)\)\? is missing$" "$work/$i" || return 1
	done
}

refused() {	# PROCESSES REASON
	! in_dir beta "$helpers/timesync" 100 1 "$1" >"$work/out" || fail "join $1 is accepted"
	shows "^EINVAL: $2"
}

waiting() {
	start_nodes
	# --- two processes per node, one of them late ---------------------------------------
	# The others return after the call of the late one, wherever that is.
	for late in alpha.2 beta.2 gamma.2; do
		for i in $(twos $all); do
			[ $i = $late ] && run $i 60000 1 2 late || run $i 60000 1 2
		done
		all_joined $(twos $all)
		for i in $(twos $all); do [ $i = $late ] || wait_for "$i has called" has_called $i; done
		sleep 0.5
		kill -USR1 ${pid_of[$late]}
		# shellcheck disable=SC2046
		end $(twos $all)
		done_all $(twos $all) || fail "$late is late: $why"
		returned_after $late $(twos $all)
	done
	echo "# all returned after the late one"

	# --- no process calls for another one --------------------------------------------------
	# Requests with the ids of all participants of alpha do not release the others.
	for i in $(twos $all); do
		[ $i = alpha.2 ] && run $i 60000 1 2 late || run $i 60000 1 2
	done
	all_joined $(twos $all)
	for i in $(twos $all); do [ $i = alpha.2 ] || wait_for "$i has called" has_called $i; done
	python3 - "$work/alpha/control.sock" >"$work/forged" <<'END'
import socket, sys

for participant in range(1, 60):
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(sys.argv[1])
        control.sendall(b"timesync 0 %d 1\n" % participant)
        print(control.makefile().read().strip())
END
	[ "$(sort -u "$work/forged")" = "unknown 0" ] || fail "$(sort -u "$work/forged")"
	sleep 0.5
	! done_all alpha.1 || fail "a call for alpha.2 was forged"
	kill -USR1 ${pid_of[alpha.2]}
	# shellcheck disable=SC2046
	end $(twos $all)
	done_all $(twos $all) || fail "after forged calls: $why"

	# --- each process makes the same number of calls ------------------------------------
	# A call that counted twice, or that was released twice, leaves others behind.
	for i in $(twos $all); do run $i 60000 30 2; done
	end $(twos $all)
	for i in $(twos $all); do
		grep -q '^after 30$' "$work/$i" || fail "30 calls: $i: $(cat "$work/$i")"
	done

	steadily missing_one gamma.2 "gamma: 1 of 2 processes (pid PID) (below beta) is missing" \
		$(twos alpha beta) gamma.1 || fail "$why"
	result alpha.1 | sed 's/^/# /'
	steadily missing_all || fail "$why"
	result alpha.1 | sed 's/^/# /'
	# The same on the master
	steadily missing_one alpha.2 "alpha: 1 of 2 processes (pid PID) is missing" \
		$(twos beta gamma) alpha.1 || fail "$why"
}

ending() {
	start_nodes
	# --- processes that end -----------------------------------------------------------------
	# One that has not called yet, then one that waits: the others do not wait for it.
	for victim in alpha.2 beta.2 gamma.2; do
		for call in late ''; do
			others=$(twos $all | tr ' ' '\n' | grep -v $victim)
			run $victim 60000 1 2 $call
			for i in $others; do run $i 60000 1 2 late; done
			all_joined $victim $others
			for i in $others; do
				[ $i = beta.1 ] || kill -USR1 ${pid_of[$i]}
			done
			[ -n "$call" ] || wait_for "$victim has called" has_called $victim
			[ -z "$call" ] || kill -USR1 ${pid_of[beta.1]}
			sleep 0.5
			! done_all alpha.1 || fail "alpha.1 did not wait"
			kill -9 ${pid_of[$victim]}
			[ -n "$call" ] || kill -USR1 ${pid_of[beta.1]}
			end $victim $others
			done_all $others || fail "without $victim, which ended: $why"
		done
	done
	# All of a node, in a collective: the others wait for the node no longer. Afterwards they
	# wait for it again.
	for node in gamma beta alpha; do
		gone=$(twos $node)
		others=$(twos ${all/$node/})
		for i in $gone; do run $i 60000 1 2 late; done
		all_joined $gone
		for i in $others; do run $i 60000 1 2; done
		all_called $others
		sleep 0.5
		for i in $others; do
			! done_all $i || fail "$i did not wait for $node"
		done
		for i in $gone; do kill -9 ${pid_of[$i]}; done
		end $gone $others
		done_all $others || fail "without processes of $node, which ended: $why"
		logged $node 'no process that had joined is left' || fail "$node logged nothing"
		steadily waited_for_again "$node" || fail "after the end of $node: $why"
	done
	echo "# processes that ended were not waited for"
}

declaring() {
	local host=200
	start_nodes
	# --- nodes that declare nothing ----------------------------------------------------------
	# Processes of alpha and gamma do not join: any one of them arrives for its node.
	run beta.2 60000 1 2 late
	run beta.1 60000 1 2
	wait_for "beta.2 has joined" is_joined beta.2
	run alpha.1 60000
	run gamma.1 60000
	# A caller on beta that did not join is not waited for, and does not arrive for beta.
	run beta.3 60000
	all_called beta.1 alpha.1 gamma.1 beta.3
	sleep 0.5
	kill -USR1 ${pid_of[beta.2]}
	end $(twos beta) alpha.1 gamma.1 beta.3
	done_all $(twos beta) alpha.1 gamma.1 beta.3 || fail "some declared nothing: $why"
	returned_after beta.2 alpha.1 gamma.1 beta.1 beta.3

	# --- bad declarations ------------------------------------------------------------------
	run beta.1 60000 1 2 late
	wait_for "beta.1 has joined" is_joined beta.1
	refused 3 '3 processes: other processes of this node declared 2; declare the same number'
	refused 0 'the number of processes is not known; pass it to tsct_timesync_join(), or set TSCTRACE_TIMESYNC_PROCESSES'
	kill ${pid_of[beta.1]}
	end beta.1
	refused 513 '513 processes: not a number from 1 to 512'
	run beta.1 60000 1 1 late
	wait_for "beta.1 has joined" is_joined beta.1
	refused 1 '1 of 1 processes of this node have joined already; declare a larger number'
	kill ${pid_of[beta.1]}
	end beta.1

	# --- misuse of the control socket ---------------------------------------------------------
	# A participant that sends data has left; more connections than participants are refused;
	# participants that flood the daemon, and leave, do not keep others from joining.
	python3 - "$work/beta/control.sock" <<'END' || fail "misuse of the control socket"
import socket, sys, time
def send(line, wait=True):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(line.encode() + b"\n")
    return s, s.recv(4096).decode() if wait else ""
def expect(line, start):
    answer = send(line)[1]
    assert answer.startswith(start), (line, answer)
for line in "join", "join ", "join x", "join -1", "join 2 2", "join 4294967298", "join 0":
    expect(line, "error: " if line == "join" else "refused: ")
for line in "1 2", "1 2 3 4", "1 2 ", "1  2 3", "1 2 x", "4294967296 1 1":
    expect("timesync " + line, "error: timesync ")
expect("timesync 0 4242 1", "unknown 0")
s, answer = send("join 1")
assert answer.startswith("joined "), answer
number = answer.split()[1]
expect("join 1", "refused: 1 of 1 processes of this node have joined")
s.sendall(b"x")
try:
    assert s.recv(1) == b"", "a participant that sends data stays"
except ConnectionResetError:
    pass
expect("timesync 0 %s 1" % number, "unknown 0")
for i in range(600):
    send("join 512", wait=False)[0].close()
held = [send("join 512") for i in range(512)]
assert all(answer.startswith("joined ") for s, answer in held)
expect("join 512", "refused: 512 of 512")
expect("peers", "{")
for s, answer in held:
    s.close()
for i in range(300):
    if send("join 3")[1].startswith("joined "):
        break
    time.sleep(0.1)
else:
    sys.exit("participants stay after their connections were closed")
END

	# --- the environment declares ------------------------------------------------------------
	export TSCTRACE_TIMESYNC_PROCESSES=2
	for i in $(twos alpha beta) gamma.1; do run $i 60000; done
	all_called $(twos alpha beta) gamma.1
	sleep 0.5
	run gamma.2 60000
	end $(twos $all)
	done_all $(twos $all) || fail "by the environment: $why"
	returned_after gamma.2 $(twos $all)
	unset TSCTRACE_TIMESYNC_PROCESSES

	# --- daemons that are restarted while processes wait -----------------------------------------
	# The daemon of gamma polls a restarted beta soon.
	sed -i 's/minpoll 4 maxpoll 4/minpoll -3 maxpoll -2/' "$work/gamma/conf"
	reload gamma
	# beta.1 calls while there is no daemon.
	for node in gamma beta; do
		others=$(twos $all | tr ' ' '\n' | grep -v "$node.2")
		late=$node.2
		[ $node = gamma ] || late+=" beta.1"
		for i in $(twos $all); do
			[[ " $late " = *" $i "* ]] && run $i 60000 1 2 late || run $i 60000 1 2
		done
		all_joined $node.2 $others
		slay $node
		if [ $node = beta ]; then
			kill -USR1 ${pid_of[beta.1]}
			wait_for "beta.1 has called" has_called beta.1
			sleep 0.2
		fi
		start $node $((++host))
		wait_for "$node is synchronized again" synced $node
		wait_for "gamma is synchronized again" synced gamma
		kill -USR1 ${pid_of[$node.2]}
		end $node.2 $others
		done_all $node.2 $others || fail "the daemon of $node was restarted: $why"
		returned_after $node.2 $others
	done
}

together waiting ending declaring
