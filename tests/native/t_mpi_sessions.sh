#!/bin/bash
# SPDX-License-Identifier: MIT
# Without daemons, programs with MPI compare the clocks of three nodes over MPI itself, and
# their recordings are merged: 4 ranks, with a recorder each, on nodes whose counters have
# known offsets. Each merged time is within its bound, and no message is
# received before it was sent. Without the sessions, the merge is refused.
# test-wing: mpi
. "$(dirname "$0")/record.sh"
need mount umount unshare

[ "$(id -u)" = 0 ] || skip "namespaces need root"

# The counter is MONOTONIC_RAW, which a preloaded library shifts, as the TSC is taken for
# unstable: the kernel does not list it. The recorder of each node sees a boot id of its
# own. With Open MPI the program does, too; MPICH's transport depends on the boot id.
shifts=(0 1000 5000)
for i in 0 1 2; do
	echo "52f733df-285c-483c-9be6-01000000000$i" >"$work/boot-$i"
done
echo hpet >"$work/clocksources"
cat >"$work/node" <<EOF
sources=/sys/devices/system/clocksource/clocksource0 boot=/proc/sys/kernel/random/boot_id
mount --bind "$work/clocksources" \$sources/available_clocksource
mount --bind "$work/clocksources" \$sources/current_clocksource
mount --bind "$work/boot-\$TEST_NODE" \$boot
hostname node\$TEST_NODE
[ \$mpi = openmpi ] || before="umount \$boot;"
# One recorder for each rank, or for each host
to="-c rank\$r -o $work/rank-\$r"
[ -z "\$by_host" ] || to="--ranks -o $work/host-\$TEST_NODE"
export OMPI_COMM_WORLD_LOCAL_RANK=\$((r == 2)) OMPI_COMM_WORLD_LOCAL_SIZE=\$((1 + TEST_NODE % 2))
export FAKE_COUNTER_S=\$shift_s
LD_PRELOAD=$helpers/\$mpi/split.so:$helpers/fakeclock.so exec "$ctl" record -q --mpi=\$mpi \$to -- \\
	sh -c "\$before exec $work/program \$arguments"
EOF
cat >"$work/each" <<EOF
export r=\${OMPI_COMM_WORLD_RANK-\$PMI_RANK}
export TEST_NODE=\$(((r + 1) / 2))
export shift_s=\$(echo ${shifts[*]} | cut -d' ' -f\$((TEST_NODE + 1)))
exec unshare -m -u sh "$work/node"
EOF

run_ranks() {	# ARGUMENT...: records the program on 4 ranks of 3 nodes
	rm -rf "$work"/rank-* "$work"/host-* "$work/rec"
	arguments="$*" by_host=${by_host:-} timeout 300 nice mpirun.$mpi -n 4 sh "$work/each" >"$work/out" \
		2>"$work/err" || fail "$mpi: record of $*"
}

# Merges recordings, and checks each event's time. SHIFT: s, as of its counter
check_times() {	# RECORDING=SHIFT...
	rm -rf "$work/rec"
	"$ctl" merge -o "$work/rec" "${@%=*}" 2>"$work/err" || fail "$mpi: merge"
	python3 "$here/mpi_sessions_check.py" "$work/rec" "$@" \
		>"$work/times" 2>>"$work/err" || fail "$mpi: times"
}
ranks=() hosts=()
for i in 0 1 2 3; do
	ranks+=("$work/rank-$i=${shifts[(i + 1) / 2]}")
	[ "$i" = 3 ] || hosts+=("$work/host-$i/node$i=${shifts[i]}")
done

nr=0
export mpi
for mpi in openmpi mpich; do
	[ -e "$out/lib/libtsctrace-mpi-$mpi.so" ] || continue
	nr=$((nr + 1))
	cp "$helpers/$mpi/program" "$work/program"

	run_ranks ring 50
	for i in 0 1 2 3; do
		"$ctl" dump --event mpi_timesync/end "$work/rank-$i" >"$work/out"
		[ "$(grep -c 'no daemon.* by="MPI"' "$work/out")" = 2 ] || fail "$mpi: rank $i"
	done
	# Ranks 1 and 2 are on one node, and both have its exchanges.
	for i in 1 2; do
		"$ctl" dump --event mpi_exchange "$work/rank-$i" >"$work/exchanges-$i"
	done
	diff <(sed 's/.*t1=/t1=/' "$work/exchanges-1") <(sed 's/.*t1=/t1=/' "$work/exchanges-2") ||
		fail "$mpi: exchanges differ"
	[ "$(wc -l <"$work/exchanges-1")" -ge 8 ] || fail "$mpi: few exchanges"

	check_times "${ranks[@]}"
	says 'node 0: node0 (master)'
	says 'node 3: node2 (child, '
	says '^trace-ctl merge: 200 messages.*(0 of them by more than the error bounds)'
	echo "$mpi: $(cat "$work/times")"
	# Merged by 3 ranks, it is the same.
	rm -rf "$work/again"
	timeout 300 nice mpirun.$mpi -n 3 "$out/tools/trace-ctl-merge-mpi-$mpi" -q \
		-o "$work/again" "${ranks[@]%=*}" 2>"$work/err" || fail "$mpi: merge by ranks"
	diff -r "$work/rec" "$work/again" >"$work/out" || fail "$mpi: another result by ranks"
	# A merged recording is on that timeline, too.
	rm -rf "$work/part" "$work/again"
	"$ctl" merge -q -o "$work/part" "$work/rank-0" "$work/rank-1" 2>"$work/err" ||
		fail "$mpi: merge of a part"
	"$ctl" merge -q -o "$work/again" "$work/part" "$work/rank-3" 2>"$work/err" ||
		fail "$mpi: merge of a merged recording"
	# Without the master's recording, its counter is known from the exchanges.
	rm -rf "$work/part"
	"$ctl" merge -q -o "$work/part" "$work/rank-1" "$work/rank-3" 2>"$work/err" ||
		fail "$mpi: merge without the master"

	TSCTRACE_MPI_SYNC=no run_ranks ring 50
	! "$ctl" merge -q -o "$work/rec" "$work"/rank-* 2>"$work/err" ||
		fail "$mpi: a merge of clocks that were never compared"
	says 'was never compared'
done
[ $nr -gt 0 ] || skip "no libtsctrace-mpi: install libopenmpi-dev or libmpich-dev"

# One recorder for each host: both ranks of node 1 record its exchanges, which count once.
if [ -e "$out/lib/libtsctrace-mpi-openmpi.so" ]; then
	mpi=openmpi
	cp "$helpers/$mpi/program" "$work/program"
	by_host=1 run_ranks ring 50
	check_times "${hosts[@]}"
	says 'node 1: node1 (child, [a-z]* of \(1[0-2]\)\{0,1\}[0-9]\{1,2\} samples'
	echo "$mpi, a recorder for each host: $(cat "$work/times")"
fi

# From Fortran, and over MPI only, as is requested
if command -v gfortran >/dev/null && command -v mpif90.$mpi >/dev/null; then
	mpif90.$mpi -o "$work/program" "$here/mpi_fortran.f90"
	TSCTRACE_MPI_SYNC=mpi run_ranks
	check_times "${ranks[@]}"
	"$ctl" dump --event mpi_timesync/end "$work/rec" >"$work/out"
	[ "$(grep -c 'result="" by="MPI"' "$work/out")" = 8 ] || fail "Fortran: sessions"
	echo "$mpi, Fortran: $(cat "$work/times")"
fi
