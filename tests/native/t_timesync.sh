#!/bin/bash
# SPDX-License-Identifier: MIT
# Repeated calls of tsct_timesync() without a pause, on a master and two children, with
# sessions of at most 1 ms. Each success needs a call on every node: if one node makes 8
# calls, at most 8 calls succeed on each other node.
# test-wing: collective
. "$(dirname "$0")/sync.sh"

# --- configuration -------------------------------------------------------------
net alpha beta gamma
echo 'name alpha
sync-max-duration 0.001
child beta 10.77.6.2
child gamma 10.77.7.2' >"$work/alpha/conf"
for i in beta:6 gamma:7; do
	printf 'name %s\nmaster 10.77.%d.1 minpoll -3 maxpoll -2\n' ${i/:/ } \
		>"$work/${i%:*}/conf"
done
join alpha 10.77.6.1/24 beta 10.77.6.2/24
join alpha 10.77.7.1/24 gamma 10.77.7.2/24

# --- the master has never answered ------------------------------------------------
for i in beta gamma; do start $i; done
wait_for "beta has a clock" logged beta 'clock synchronized'
lacks_master() {
	! in_dir beta "$helpers/timesync" 1000 >"$work/out" ||
		fail "a collective succeeds without a master"
	grep -q '^ETIMEDOUT: .*10.77.6.1, which does not answer' "$work/out"
}
steadily lacks_master || fail "without a master: $(cat "$work/out")"
for i in -1 +1 -18446744073709551615 4294967296 1e3 ' 1' ''; do
	python3 - "$work/beta/control.sock" "timesync $i" <<-'END' ||
		import socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(sys.argv[2].encode() + b"\n")
		sys.exit(not s.recv(4096).startswith(b"error: timesync "))
	END
		fail "timesync '$i' is accepted"
done
start alpha
for i in beta gamma; do wait_for "$i is synchronized" synced $i; done

# --- some nodes call more often than others ---------------------------------------
calls() {	# NAME TIMES FILE: runs timesync on the node in the background
	in_dir "$1" "$helpers/timesync" 3000 "$2" >"$work/$3" & waits+=($!)
}
called() { sed -n 's/^after \([0-9]*\).*/\1/p' "$work/$1"; }
unequal() {
	local i
	waits=()
	calls alpha 8 a
	calls beta 16 b
	calls gamma 16 c
	for i in "${waits[@]}"; do wait "$i" || true; done
	for i in a b c; do
		[ "$(called $i)" = 8 ] || return
	done
	for i in b c; do
		grep -q '^ETIMEDOUT: not all nodes have called tsct_timesync(): alpha is missing$' \
			"$work/$i" || return
	done
}
steadily unequal || fail "$(head "$work/a" "$work/b" "$work/c")"

# --- two callers on each node: one of them is always a little late -------------------
two_callers() {
	local i j
	sleep 1.5	# waits until the daemons have forgotten the last callers
	waits=()
	for i in alpha beta gamma; do
		for j in 1 2; do calls $i 12 $i$j; done
	done
	for i in "${waits[@]}"; do wait "$i" || true; done
	for i in "$work"/{alpha,beta,gamma}1; do
		# On each node, at least one of two timesync programs makes 12 successful calls.
		# The other program's last calls may time out, as the programs of the other nodes
		# have ended, but ECONNRESET, as after a restart of a daemon, is an error.
		! grep -H ECONNRESET "$i" "${i%1}2" ||
			fail "a late caller gets ECONNRESET, as after a restart of a daemon"
		grep -q '^after 12' "$i" "${i%1}2" || return
	done
}
steadily two_callers || fail "$(head "$work"/{alpha,beta,gamma}[12])"
