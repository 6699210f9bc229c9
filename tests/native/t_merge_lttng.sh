#!/bin/bash
# SPDX-License-Identifier: MIT
# One time for the traces of four tracers on two nodes: programs emit events of tsctrace, of
# LTTng-UST, of ftrace's text, and entries of journald by turns. The nodes are synchronized daemons
# that share the counter; the clocks of beta, but for CLOCK_REALTIME, are shifted by a time
# namespace. Merged and aligned, each event is within its bound of the master's time of the cycles
# before and after it, and events whose bounds are disjoint are in their order.
# test-wing: ctf align time formats
. "$(dirname "$0")/sync.sh"
need babeltrace2 lttng lttng-sessiond journalctl unshare
journald=/usr/lib/systemd/systemd-journald
[ -x $journald ] || fail "no $journald; install systemd"
# shellcheck disable=SC2086
${CC:-cc} -I"$here/lttng" -I"$top/lib/include" -I"$top/kmod/uapi" -o "$work/program" \
	"$here/lttng/program.c" "$out/lib/libtsctrace.a" -pthread -llttng-ust -ldl
unshare -T true 2>/dev/null || skip "time namespaces: not permitted"
echo 1..5

# --- two nodes ------------------------------------------------------------------------------
# A node is a process whose namespaces others enter. Our programs would subtract the offsets of a
# time namespace, which /proc has for each process; here, its clocks are those of a host.
printf 'monotonic 0 0\nboottime 0 0\n' >"$work/offsets"
# shellcheck disable=SC2016
as_host=(sh -c 'mount --bind "$0" /proc/$$/timens_offsets && exec "$@"' "$work/offsets")
enters() {	# NAME: sets: enter
	enter=(nsenter -t "$(cat "$work/$1/holder")" -r -w -n -m -u -T
		env HOME="$work/$1/home" LTTNG_HOME="$work/$1/home" TSCTRACE_RUN_DIR="$work/$1"
		"${as_host[@]}")
}
on() { enters "$1"; "${enter[@]}" "${@:2}"; }		# NAME COMMAND...
in_net() { enters "$1"; "${enter[@]}" "${@:2}" & track pid; }	# also for start
node() {	# NAME BOOT [OPTION of unshare...]
	printf '%s\n' "$2" >"$work/$1/boot"
	mkdir "$work/$1/home"
	nsenter --net="/run/netns/$net_id$1" unshare -m -u "${@:3}" --fork --kill-child sh -c '
		set -e
		mount -t tmpfs none /run
		mkdir -p /run/systemd/journald.conf.d /run/log/journal /run/systemd/journal
		printf "%s\n" "[Journal]" Storage=volatile RateLimitIntervalSec=0 RuntimeMaxUse=1G \
			RuntimeMaxFileSize=1G ReadKMsg=no Audit=no ForwardToWall=no \
			>/run/systemd/journald.conf.d/test.conf
		mount --bind "$1/boot" /proc/sys/kernel/random/boot_id
		hostname "$2"
		echo $$ >"$1/holder.new"
		mv "$1/holder.new" "$1/holder"
		exec sleep infinity' sh "$work/$1" "$1" & track pid
	wait_for "node $1" test -e "$work/$1/holder"
	in_net "$1" lttng-sessiond --no-kernel >"$work/$1/sessiond.log" 2>&1
	sessionds+=("$pid")
	in_net "$1" $journald >"$work/$1/journald.log" 2>&1
	wait_for "LTTng's daemon of $1 answers" on "$1" lttng -n list >"$work/out" 2>&1
	wait_for "journald of $1 is there" on "$1" test -S /run/systemd/journal/socket
}
net alpha beta
join alpha 10.77.6.1/24 beta 10.77.6.2/24
node alpha a1fac111-5555-4666-8777-000000000001
node beta be7a0000-5555-4666-8777-000000000002 -T --monotonic 100000 --boottime 300000
printf 'name alpha\nhistory 2\nchild beta 10.77.6.2\n' >"$work/alpha/conf"
printf 'name beta\nhistory 2\nmaster 10.77.6.1 minpoll -3 maxpoll -2\n' >"$work/beta/conf"
start alpha a1 --interval-ms 100
start beta b1 --interval-ms 100
wait_for "alpha has a clock" logged alpha 'clock synchronized'
wait_for "beta is synchronized" synced beta

session() {	# NODE NAME EVENTS SUBBUFFERS [FTRACE]: traces and records the program
	on "$1" lttng -n create "$2" --output="$work/$1/$2.lttng"
	on "$1" lttng -n enable-channel -u chan --subbuf-size=16k --num-subbuf="$4"
	on "$1" lttng -n enable-event -u -c chan test_program:step
	on "$1" lttng -n add-context -u -t vpid -t vtid -t procname
	on "$1" lttng -n start
	on "$1" "$ctl" record -q -o "$work/$1/$2.rec" -- "${as_host[@]}" "$work/program" "$3" "${@:5}" \
		>"$work/$1/$2.times"
	[ "$(wc -l <"$work/$1/$2.times")" = "$3" ] || fail "the program on $1: $(cat "$work/$1/err")"
	[ "$2" = all ] || {
		on "$1" lttng -n rotate
		on "$1" "$work/program" "$3" >"$work/out"
	}
	on "$1" lttng -n stop
	on "$1" lttng -n destroy "$2"
}
merges() {
	rm -rf "$work/$1"
	"$ctl" merge --history "$work/alpha" --history "$work/beta" -o "$work/$1" "${@:2}" \
		>"$work/out" 2>"$work/err"
}
sessions=()
for i in alpha beta; do
	session $i all 50000 256 "$work/$i/ftrace" >"$work/$i/out" 2>"$work/$i/err" & sessions+=($!)
done
for i in "${sessions[@]}"; do wait "$i" || fail "a session: $(tail -n 5 "$work"/*/{err,out})"; done
wait_for "the histories have the time" merges m "$work"/{alpha,beta}/all.{rec,lttng}
for i in alpha beta; do
	"$ctl" dump --json "$work/m" | grep "\"node\": *\"$i\"" | grep '"channel": *"chan"' |
		/usr/bin/python3 "$here/ctf_check.py" "$work/$i/all.lttng" >"$work/out" || fail "fields"
	grep -q '^12500 events' "$work/out" || fail "number of events"
done
ok "events and fields are those that babeltrace2 reads"

# --- all four -------------------------------------------------------------------------------
boots=("$(tr -d - <"$work/alpha/boot")" "$(tr -d - <"$work/beta/boot")")
master_time() {	# COLUMN: cycles in it become the master's time
	"$ctl" time --dir "$work/alpha" --boot "${boots[0]}" --clock tsc --to cluster --column "$1" - 2>"$work/err"
}
# Both nodes read one TSC. Without it, beta's counter is CLOCK_MONOTONIC_RAW of its time namespace.
to_alpha() {	# NODE: counter values of the node become alpha's
	python3 -c 'import sys
for nr, *cycles in map(str.split, sys.stdin):
	print(nr, *(int(c) - int(sys.argv[1] or 0) for c in cycles))' "$(ahead "$1")"
}
ahead() {	# NODE
	[ "$1" = alpha ] || on "$1" "$ctl" clock | grep '^source *tsc' >/dev/null ||
		echo 100000000000000
}
journal_is_whole() {	# NODE
	on "$1" journalctl -q -o json -D /run/log/journal _COMM=program >"$work/$1/journal"
	[ "$(wc -l <"$work/$1/journal")" = 12500 ]
}
for i in alpha beta; do
	wait_for "journald of $i has written all entries" journal_is_whole $i
	to_alpha $i <"$work/$i/all.times" | master_time 2 | master_time 3 >"$work/$i/true" || fail "time of the master"
done
"$ctl" dump --json --error=common "$work/m" >"$work/dump"
"$ctl" export -q -f json -o "$work/m.json" "$work/m"
aligns() {
	"$ctl" align -o "$work/all.tar" --node alpha="$work/alpha,${boots[0]}" --node beta="$work/beta" \
		"$work/m.json" "$work"/{alpha,beta}/journal --clock monotonic "$work/alpha/ftrace@alpha" \
		"$work/beta/ftrace@beta" >"$work/out" 2>"$work/err"
}
wait_for "the histories have the time" aligns
python3 "$here/align_check.py" truth "$work/all.tar" "$work/dump" alpha="$work/alpha/true" \
	beta="$work/beta/true" >"$work/out" || fail "times"
ok "four tracers by turns on two nodes: $(tr '\n' ';' <"$work/out")"

# journald's text, of which trace-ctl time rewrites the time
on beta journalctl -q -o short-monotonic -D /run/log/journal _COMM=program |
	"$ctl" time --dir "$work/beta" --to cluster --boot "${boots[1]}" - >"$work/text" 2>"$work/err" ||
	fail "journald's text"
bound=$(sed -n 's/.*12500 numbers converted, within \([0-9]*\) ns of the cluster.*/\1/p' "$work/err")
python3 "$here/align_check.py" stream "$work/beta/true" "$bound" <"$work/text" >"$work/out" || fail "times"
ok "journald's text: $(cat "$work/out")"

# --- losses ---------------------------------------------------------------------------------
# A rotated trace has several directories, and one count of losses.
session beta small 100000 2 >"$work/out" 2>"$work/err"
[ "$(find "$work/beta/small.lttng" -name metadata | wc -l)" = 2 ] || fail "not rotated"
wait_for "the history has the time" merges s "$work/beta/small.lttng"
{ "$ctl" dump --json "$work/s" 2>"$work/dump.err" || [ $? = 3 ]; } >"$work/dump"
/usr/bin/python3 "$here/ctf_check.py" "$work/beta/small.lttng" <"$work/dump" >"$work/out" || fail "fields"
lost=$(sed -n 's/.*events, \([0-9]*\) lost/\1/p' "$work/out")
[ "$lost" = 0 ] || grep -q "^trace-ctl dump: $lost events were lost" "$work/dump.err" ||
	fail "$lost events were lost"
ok "small buffers, a rotated trace: $(cat "$work/out")"

# --- buffers of each process, two channels, all types of fields, more contexts ------------------
on alpha lttng -n create pids --output="$work/alpha/pids.lttng" >"$work/out"
for i in step types; do
	on alpha lttng -n enable-channel -u --buffers-pid --subbuf-size=256k --num-subbuf=8 "of_$i"
	on alpha lttng -n enable-event -u -c "of_$i" "test_program:$i"
	on alpha lttng -n add-context -u -c "of_$i" -t vpid -t vtid -t procname -t pthread_id -t ip \
		-t cgroup_ns -t vuid
done >"$work/out" 2>"$work/err" || fail "a session: $(cat "$work/out" "$work/err")"
on alpha lttng -n start >"$work/out"
for i in 1 2; do
	on alpha "$ctl" record -q -o "$work/alpha/pids$i.rec" -- "$work/program" 4000 >"$work/out"
done
on alpha lttng -n destroy pids >"$work/out"
[ "$(find "$work/alpha/pids.lttng" -name metadata | wc -l)" = 2 ] || fail "not a trace per process"
wait_for "the history has the time" merges p "$work"/alpha/pids{1.rec,2.rec,.lttng}
"$ctl" dump --json "$work/p" | grep '"channel": *"of_' |
	/usr/bin/python3 "$here/ctf_check.py" "$work/alpha/pids.lttng" >"$work/out" || fail "fields"
grep -q '^8000 events, 0 lost' "$work/out" || fail "events"
kill "${sessionds[@]}"
wait "${sessionds[@]}" || true
ok "a trace per process, two channels: $(cat "$work/out")"
