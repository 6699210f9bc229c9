#!/bin/bash
# SPDX-License-Identifier: MIT
# libtsctrace-mpi records each call of MPI, and both ends of each message with one number:
# programs with known counts on 4 ranks, under each MPI that is installed, compared with a
# counter of the test.
# test-timeout: 900
# test-wing: mpi
. "$(dirname "$0")/record.sh"
need otf2-print

export MPI_COUNTS=$work/counts

# Records $work/program on 4 ranks, with the counter.
record_program() {	# ARGUMENT...
	rm -rf "$work/rec" "$MPI_COUNTS"
	mkdir "$MPI_COUNTS"
	LD_PRELOAD=$helpers/$mpi/counter.so timeout 300 "$ctl" record -q --mpi=$mpi \
		-o "$work/rec" -- nice mpirun.$mpi -n 4 "$work/program" "$@" \
		>"$work/out" 2>"$work/err" || fail "$mpi: record of $*"
}

check_program() {	# ARGUMENT-OF-mpi_check...
	python3 "$here/mpi_check.py" "$work/rec" "$@" >"$work/counts.txt" \
		2>"$work/err" || fail "$mpi: counts"
}

# Checks a count, which is the program's own.
counts() {	# "NAME COUNT"...
	local line
	for line in "$@"; do
		grep -qx "$line" "$work/counts.txt" ||
			fail "$mpi: not $line: $(cat "$work/counts.txt")"
	done
}

otf2_of() {
	rm -rf "$work/otf2"
	"$ctl" export -q -f otf2 -o "$work/otf2" "$work/rec"
	otf2-print "$work"/otf2/*.otf2 >"$work/otf2.txt" 2>"$work/otf2.err"
	otf2-print -G "$work"/otf2/*.otf2 >"$work/defs.txt" 2>>"$work/otf2.err"
	[ ! -s "$work/otf2.err" ] || fail "$mpi: otf2-print: $(head -3 "$work/otf2.err")"
}

# A reader that pairs messages by their order pairs them as they were.
pairs() {	# COUNT INCOMPLETE-SENDS
	/usr/bin/python3 "$here/otf2_fifo.py" "$work/otf2/traces.otf2" >"$work/out" \
		2>"$work/err" || fail "$mpi: pairs of OTF2: $(cat "$work/out")"
	shows "^pairs $1 unequal 0 incomplete $2 "
}

has_known_waits() {	# MODE WANTED
	record_program "$1" 2000000
	"$ctl" stat --json "$work/rec" | python3 -c '
import json, sys
waits = json.load(sys.stdin)["mpi_waits"]
long = sorted((w["rank"], w["call"], w["for"]) for w in waits if w["max_ns"] > 1e9)
wanted = sorted(eval(f"({sys.argv[1]})"))
for w in waits:
    if w["max_ns"] > 20e9 or w["unknown"]:
        sys.exit(f"{w}: not 2 s")
sys.exit(long != wanted and f"waits: {long}, not {wanted}")' "$2" 2>"$work/err"
}
waits_of_calls='[(1, "MPI_Recv", "late sender"), (2, "MPI_Ssend", "late receiver")] +
		[(r, "MPI_Barrier", "barrier") for r in (0, 1, 3)] +
		[(r, "MPI_Allreduce", "collective") for r in (0, 2, 3)]'
late_waits='[(0, "MPI_Wait", "late receiver"), (2, "MPI_Probe", "late sender"),
	     (2, "MPI_Mprobe", "late sender")] +
	    [(r, "MPI_Barrier", "barrier") for r in (0, 1)] +
	    [(r, "MPI_Waitall", "barrier") for r in (1, 2, 3)] +
	    [(r, "MPI_Waitall", "collective") for r in (0, 2, 3)]'

nr=0
for mpi in openmpi mpich; do
	[ -e "$out/lib/libtsctrace-mpi-$mpi.so" ] || continue
	nr=$((nr + 1))
	cp "$helpers/$mpi/program" "$work/program"

	record_program calls
	check_program "$MPI_COUNTS"
	# Each of 4 ranks: 41 blocking, 31 nonblocking, 10 persistent, 12 probed
	counts "messages 376" "received 376" "MPI_Bsend 40" "MPI_Sendrecv 44" \
		"MPI_Barrier 8" "MPI_Mrecv 16" "MPI_Imrecv 16" "MPI_Put 4"
	# 53 sends, 2 collective calls
	counts "completed 220" "not completed 0" "posted only 0"
	otf2_of
	[ "$(grep -c '^MPI_I\?SEND ' "$work/otf2.txt")" = 376 ] || fail "$mpi: sends of OTF2"
	[ "$(grep -c '^MPI_I\?RECV ' "$work/otf2.txt")" = 376 ] || fail "$mpi: receives of OTF2"
	pairs 376 0
	shows "'MpiIrecvRequest'"
	[ "$(grep -c '^MPI_ISEND_COMPLETE ' "$work/otf2.txt")" = 212 ] ||
		fail "$mpi: completed sends of OTF2"
	# 17 blocking collective calls, and the last barrier
	[ "$(grep -c ^MPI_COLLECTIVE_END "$work/otf2.txt")" = 68 ] ||
		fail "$mpi: collective calls of OTF2"
	grep -q '^COMM .*"MPI_COMM_WORLD"' "$work/defs.txt" || fail "$mpi: no communicator"
	[ "$(grep -c '^LOCATION_GROUP .*"MPI Rank [0-3]"' "$work/defs.txt")" = 4 ] ||
		fail "$mpi: ranks of OTF2"

	"$ctl" export -q -f json -o "$work/trace.json" "$work/rec"
	grep -q '"process_name","args":{"name":"rank 3: program"}' "$work/trace.json" ||
		fail "$mpi: no rank in JSON"

	# A recorder for each rank, and their recordings merged
	rm -rf "$work"/rec "$work"/rank-*
	cat >"$work/each" <<-EOF
		r=\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}
		exec "$ctl" record -q --mpi=$mpi -c rank\$r -o "$work/rank-\$r" -- \
			"$work/program" ring 50
	EOF
	timeout 300 nice mpirun.$mpi -n 4 sh "$work/each" >"$work/out" 2>"$work/err" ||
		fail "$mpi: a recorder for each rank"
	"$ctl" merge -q -o "$work/rec" "$work"/rank-* 2>"$work/err" || fail "$mpi: merge"
	check_program
	counts "messages 200" "received 200" "MPI_Barrier 4"
	"$ctl" merge -o "$work/some" "$work"/rank-[01] 2>"$work/err" || fail "$mpi: merge of two"
	grep -q '^trace-ctl merge: 50 sends and 50 receives were not matched$' \
		"$work/err" || fail "$mpi: messages with one end"
	rm -r "$work/some"
	"$ctl" stat -a "$work/rec" >"$work/out"
	grep -qE '^[0-3] +MPI_Recv +late sender ' "$work/out" || fail "$mpi: no late sender"

	# One recorder for all ranks of this host
	rm -rf "$work/rec" "$work/ranks"
	timeout 300 nice mpirun.$mpi -n 4 "$ctl" record --ranks --mpi=$mpi -q -o "$work/ranks" -- \
		"$work/program" ring 50 >"$work/out" 2>"$work/err" || fail "$mpi: record --ranks"
	mv "$work/ranks/$(uname -n)" "$work/rec"
	check_program
	counts "messages 200" "received 200"

	record_program groups
	check_program "$MPI_COUNTS"
	# 9 communicators with 3 messages of each rank, and 5 to the other group
	counts "messages 128" "received 128" "sent by MPI_Bcast 12" "received by MPI_Bcast 24" \
		"sent by MPI_Gatherv 8" "received by MPI_Gatherv 8" \
		"sent by MPI_Reduce_scatter 32" "sent by MPI_Neighbor_allgather 128"
	otf2_of
	grep -q '^COMM .*"copy".*Parent: "MPI_COMM_WORLD"' "$work/defs.txt" ||
		fail "$mpi: no name"

	# Known waits of 2 s: in the right rank and call, and in no other. Load adds up to 1 s.
	steadily has_known_waits waits "$waits_of_calls" || fail "$mpi: waits"
	steadily has_known_waits late "$late_waits" || fail "$mpi: waits of nonblocking calls"

	# The time inside the calls of a loop is one wait, and not longer than what the program
	# measures around them.
	rm -f "$work"/polled-*
	record_program polls "$work"
	"$ctl" stat --json "$work/rec" | python3 -c '
import json, re, sys
waits = {w["call"]: w for w in json.load(sys.stdin)["mpi_waits"] if w["rank"] == 1}
for ns, call in re.findall(r"polled (\d+) ns in (\w+)", open(sys.argv[1]).read()):
    w = waits.pop(call)
    assert w["for"] == "late sender" and w["waits"] == 1 and w["unknown"] == 0, w
    assert 0 < w["total_ns"] <= int(ns) + 1, (w, ns)
assert not {"MPI_Recv", "MPI_Test", "MPI_Iprobe"} & waits.keys(), waits' "$work/out" \
		2>"$work/err" || fail "$mpi: waits of loops"

	# A send that is freed does not complete.
	record_program requests
	check_program "$MPI_COUNTS"
	counts "messages 32" "completed 36" "not completed 4" "completed in MPI_Wait 16" \
		"completed in MPI_Waitany 4" "completed in MPI_Waitsome 4" \
		"completed in MPI_Testany 4" "completed in MPI_Waitall 8"
	otf2_of
	pairs 32 4
	shows "'MpiIsendComplete': 28"

	# A receive that is freed has no message, as its completion is unknown.
	record_program freed
	OPEN=1 check_program "$MPI_COUNTS"
	counts "messages 4" "posted only 4"

	# A message that is longer than the buffer of its receive has its number, and so have those
	# after it; MPICH does not say how long it was.
	record_program truncated
	TRUNCATED=1 check_program "$MPI_COUNTS"
	counts "messages 28" "received 28" "completed 8" "not completed 0" "posted only 0"
	otf2_of
	[ $mpi = mpich ] || pairs 28 0
	[ "$("$ctl" stat --json "$work/rec" | python3 -c 'import json, sys
print(json.load(sys.stdin)["mpi_mismatched"])')" = $([ $mpi = mpich ] && echo 12 || echo 0) ] ||
		fail "$mpi: mismatched messages"

	record_program order
	check_program "$MPI_COUNTS"
	counts "messages 182" "received 182"
	otf2_of
	pairs 182 0
	grep -qxE 'late [1-9][0-9]*' "$work/counts.txt" || fail "$mpi: nothing was late"

	if mpicc.$mpi -E - <<<'#include <mpi.h>
version MPI_VERSION' | grep -q '^version [4-9]'; then
		# Each of 4 ranks: 2 or 4 in each of 10 turns. Partitioned messages have no number.
		if timeout 300 mpirun.$mpi -n 1 "$work/program" status 2>"$work/err"; then
			record_program four isendrecv
			check_program "$MPI_COUNTS"
			counts "messages 160" "received 160" "MPI_Isendrecv 40"
		else
			record_program four without
			check_program "$MPI_COUNTS"
			counts "messages 80" "received 80"
		fi
		counts "MPI_Isend_c 40" "MPI_Sendrecv_c 40" "MPI_Pready_range 4" \
			"MPI_Allgatherv_c 4" "MPI_Session_init 4" "MPI_Psend_init 4"
		timeout 300 nice mpirun.$mpi -n 4 env \
			LD_PRELOAD="$out/lib/libtsctrace-mpi-$mpi.so" "$work/program" session \
			2>"$work/err" || fail "$mpi: a session without MPI_Init"
	fi

	record_program threads
	check_program "$MPI_COUNTS"
	counts "messages 9600" "received 9600"

	# A rank that has not loaded the library: after a limit, the others name it and go on.
	for lacks in 2 0; do
		rm -rf "$work/rec"
		cat >"$work/each" <<-EOF
			r=\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}
			[ \$r = $lacks ] || export LD_PRELOAD="$out/lib/libtsctrace-mpi-$mpi.so"
			exec "$work/program" groups
		EOF
		TSCTRACE_MPI_SYNC=2 timeout 100 "$ctl" record -q -o "$work/rec" -- \
			nice mpirun.$mpi -n 4 sh "$work/each" >"$work/out" 2>"$work/err" ||
			fail "$mpi: rank $lacks without the library"
		grep -q "MPI_Init: of 4 ranks, these have not loaded this library.*: [0-3,-]*$lacks[,;]" \
			"$work/err" || fail "$mpi: rank $lacks is not named"
		"$ctl" dump "$work/rec" >"$work/text"
		[ "$(grep -c 'MPI_Finalize.*end' "$work/text")" = 3 ] ||
			fail "$mpi: rank $lacks without the library: others are missing"
		grep -q 'mpi_timesync.*not all ranks have loaded' "$work/text" ||
			fail "$mpi: no reason for the missing session"
	done

	# The class of an error, MPI_ERR_RANK, has the same number in both
	record_program error
	"$ctl" dump "$work/rec" >"$work/text"
	[ "$(grep -ci 'mpi_error.*error=6.*rank' "$work/text")" = 12 ] ||
		fail "$mpi: $(grep mpi_error "$work/text")"
	otf2_of
	pairs "$(grep -c mpi_message/receive "$work/text")" 0
	# A send that fails is no message, or at least not that of the receive.
	python3 - "$work/text" <<'END' || fail "$mpi: sends that failed: $(grep mpi_message "$work/text")"
import re, sys
lines = [re.search(r"(mpi_not_sent)|mpi_message/(\w+) .*tag=(\d) ", l) for l in open(sys.argv[1])]
found = [l.groups() for l in lines if l]
failed, *nr = [found.count(g) for g in (("mpi_not_sent", None, None), (None, "send", "1"),
	       (None, "receive", "1"), (None, "send", "2"), (None, "receive", "2"))]
# 12 of no type, or of one that is not committed, failed; of those with tag 2, as many as MPI says
assert nr[:3] == [16, 4, 12] and nr[3] in (4, 12) and failed == 24 - nr[3], (failed, nr)
END
	run 0 merge --json -o "$work/failed" "$work/rec"
	python3 - "$work/out" "$work/text" <<'END' || fail "$mpi: messages of sends that failed"
import json, sys
m = json.load(open(sys.argv[1]))["messages"]
failed = sum("mpi_not_sent" in l for l in open(sys.argv[2]))
assert (m["matched"], m["unmatched_sends"], m["unmatched_receives"]) == (28 - failed, failed, 0), m
END
	rm -rf "$work/failed"

	# A process that is spawned without the library, and communicates with those that have it
	if timeout 60 mpirun.$mpi -n 4 "$work/program" spawn 2>"$work/err"; then
		record_program spawn
		"$ctl" dump "$work/rec" >"$work/text"
		[ "$(grep -c 'MPI_Intercomm_create.*end' "$work/text")" = 4 ] ||
			fail "$mpi: intercommunicators with a spawned process"
	else
		echo "$mpi: cannot spawn processes here: $(tail -n 1 "$work/err")"
	fi

	# Threads that share a tag: where two messages have each other's number, no verb
	# takes their ends for one message, and stat counts them.
	record_program sharing
	"$ctl" export -q -f json -o "$work/trace.json" "$work/rec"
	"$ctl" stat --json "$work/rec" >"$work/stat.json"
	python3 "$here/mpi_sharing_check.py" "$work/rec" "$work/stat.json" "$work/trace.json" \
		2>"$work/err" || fail "$mpi: threads that share a tag"

	# 100 times around, then the end of one rank; all is there up to then. The first rank
	# may be killed before it receives the last message.
	record_program abort
	OPEN=1 check_program
	counts "messages 400" "received \(399\|400\)" "MPI_Abort 1"
	record_program abort kill
	OPEN=1 check_program
	counts "messages 400" "received \(399\|400\)"

	if command -v gfortran >/dev/null && command -v mpif90.$mpi >/dev/null; then
		mpif90.$mpi -o "$work/program" "$here/mpi_fortran.f90"
		record_program
		check_program
		# The binding of MPI_Allgatherv calls PMPI_Comm_size.
		counts "messages 40" "received 40" "MPI_Waitall 20" "MPI_Allreduce 4" \
			"MPI_Allgatherv 4" "MPI_Comm_size 4"
	fi
	echo "$mpi: all calls and messages"
done
if [ $nr = 2 ]; then
	! LD_PRELOAD=$out/lib/libtsctrace-mpi-openmpi.so "$work/program" ring 1 \
		2>"$work/err" || fail "a program of another MPI runs"
	says 'uses another MPI library; load libtsctrace-mpi-mpich.so'
fi
[ $nr -gt 0 ] || skip "no libtsctrace-mpi: install libopenmpi-dev or libmpich-dev"
