#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs with MPI synchronize the clocks of a master and its child in MPI_Init and
# MPI_Finalize: two ranks on each node, each with a recorder, and their recordings merged.
# Without one of the daemons, no rank waits. With daemons of two clusters, the ranks compare
# the clocks over MPI, and a merge takes these exchanges.
# test-wing: mpi
. "$(dirname "$0")/sync.sh"
for mpi in openmpi mpich; do
	[ ! -e "$out/lib/libtsctrace-mpi-$mpi.so" ] || break
	[ $mpi = openmpi ] || skip "no libtsctrace-mpi: install libmpich-dev"
done
cp "$helpers/$mpi/program" "$work/program"

net alpha beta
echo 'name alpha
sync-max-duration 0.001
child beta 10.77.6.2' >"$work/alpha/conf"
echo 'name beta
master 10.77.6.1 minpoll -3 maxpoll -2' >"$work/beta/conf"
join alpha 10.77.6.1/24 beta 10.77.6.2/24
start alpha 101
start beta 102
wait_for "beta is synchronized" synced beta

# Ranks 0 and 1 run on alpha, 2 and 3 on beta.
cat >"$work/rank" <<EOF
r=\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}
node=alpha
[ \$r -lt 2 ] || node=beta
export TEST_NODE=\$((r / 2)) TSCTRACE_RUN_DIR=$work/\$node TSCTRACE_TIMESYNC_PROCESSES=2
exec "$ctl" record -q --mpi=$mpi -c rank\$r -o "$work/rec-\$r" -- "$work/program" ring 20
EOF
run_ranks() {
	rm -rf "$work"/rec-*
	timeout 300 mpirun.$mpi -n 4 sh "$work/rank" >"$work/log" 2>&1 ||
		fail "mpirun: $(cat "$work/log")"
	for i in 0 1 2 3; do
		"$ctl" dump --event mpi_timesync/end "$work/rec-$i"
	done >"$work/ends"
	[ "$(wc -l <"$work/ends")" = 8 ] || fail "not two in each rank: $(cat "$work/ends")"
}

run_ranks
[ "$(grep -c 'result=""' "$work/ends")" = 8 ] || fail "not synchronized: $(cat "$work/ends")"

slay beta
run_ranks
[ "$(grep -c 'no daemon' "$work/ends")" = 4 ] || fail "beta has a daemon: $(cat "$work/ends")"
[ "$(grep -c 'another process cannot take part' "$work/ends")" = 4 ] ||
	fail "alpha: $(cat "$work/ends")"

slay alpha
for i in alpha beta; do
	printf 'name %s\nserve\nallow all\n' $i >"$work/$i/conf"
done
start alpha 101
start beta 102
wait_for "alpha is a master" synced alpha
wait_for "beta is a master" synced beta
LD_PRELOAD=$helpers/$mpi/split.so run_ranks
[ "$(grep -c 'the daemons have no timeline in common" by="MPI"' "$work/ends")" = 8 ] ||
	fail "two clusters: $(cat "$work/ends")"
"$ctl" merge -o "$work/rec-all" "$work"/rec-[0-3] 2>"$work/log" ||
	fail "merge of two clusters: $(cat "$work/log")"
# Both have one counter.
python3 "$here/mpi_sessions_check.py" "$work/rec-all" "$work"/rec-{0,1,2,3}=0 ||
	fail "two clusters: times: $(cat "$work/log")"
echo "$mpi: two ranks on each of two nodes"
