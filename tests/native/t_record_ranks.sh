#!/bin/bash
# SPDX-License-Identifier: MIT
# record --ranks: the ranks of one host in one recording. Processes get the environment of
# Open MPI's, MPICH's or Slurm's ranks; where mpirun is installed, it starts them, too.
# test-wing: mpi
. "$(dirname "$0")/record.sh"
host=$(uname -n)

# Starts a rank in the background.
rank() {	# LAUNCHER LOCAL-RANK SIZE ARGUMENT...
	local vars=()
	case $1 in
	openmpi) vars=("OMPI_COMM_WORLD_LOCAL_RANK=$2" "OMPI_COMM_WORLD_LOCAL_SIZE=$3") ;;
	mpich) vars=("MPI_LOCALRANKID=$2" "MPI_LOCALNRANKS=$3") ;;
	slurm) vars=("SLURM_LOCALID=$2" SLURM_NODEID=1 "SLURM_STEP_TASKS_PER_NODE=9,$3") ;;
	esac
	env "${vars[@]}" timeout 300 "$ctl" record --ranks "${@:4}" >"$work/out.$2" 2>"$work/err.$2" &
	ranks[$2]=$!
}
wait_rank() {	# NUMBER
	local got=0
	wait "${ranks[$1]}" || got=$?
	cp "$work/err.$1" "$work/err"
	return $got
}
# Waits for all ranks. Each must exit with the status at its place.
ended() {	# STATUS...
	local i=0 want
	for want; do exits "$want" wait_rank $((i++)); done
}
ranks=()
is_complete() { [[ $("$ctl" stat --json "$1" 2>/dev/null) = *'"complete": true'* ]]; }

for launcher in openmpi mpich slurm; do
	# The lowest rank, which records, begins last, and its command ends first.
	for i in 2 1 0; do
		rank $launcher $i 3 -q -o "$work/$launcher" -- sh -c "sleep 0.$((3 * i)); exec $emit 10$i"
		sleep 0.1
	done
	ended 0 0 0
	run 0 stat --json "$work/$launcher/$host"
	[ "$(number events "$work/out")" = $((3 + 100 + 101 + 102)) ] ||
		fail "$launcher: $(number events "$work/out") events"
done

# The statuses of the commands are those of the ranks.
for i in 0 1; do rank openmpi $i 2 -q -o "$work/status" -- sh -c "exit $((i + 4))"; done
ended 4 5

# Kernel events of all ranks
if TSCTRACE_PROVIDER=embedded "$ctl" record -q -e sched_switch -o "$work/probe" -- true 2>/dev/null; then
	for i in 0 1; do
		rank openmpi $i 2 -q -e sys_enter -o "$work/kernel" -- sh -c "sleep 0.2; exec dd if=/dev/zero of=/dev/null bs=1000$i count=50 status=none"
	done
	ended 0 0
	for i in 0 1; do
		"$ctl" dump "$work/kernel/$host" >"$work/text"
		[ "$(grep -c "write.*1000$i\|sys_enter.*1000$i" "$work/text")" -ge 50 ] ||
			fail "system calls of rank $i are missing: $(head -n 5 "$work/text")"
	done
fi

# --- failures -----------------------------------------------------------------------
for i in 0 1; do rank openmpi $i 2 -q -o "$work/openmpi" -- touch "$work/touched"; done
ended 1 1
grep -q "openmpi/$host is not empty" "$work/err.0" || fail "no error of a second run: $(cat "$work/err.0")"
grep -q 'lowest rank of this host' "$work/err.1" || fail "no error of rank 1: $(cat "$work/err.1")"
[ ! -e "$work/touched" ] || fail "a command was started"
run_says 1 'neither mpirun nor srun started this process' record --ranks -o "$work/no" -- true
run_says 2 '--ranks needs a command and -o DIR' record --ranks -- true
[ ! -e "$work/no" ] || fail "a directory was made"

# --- real launchers ----------------------------------------------------------------------
for i in "mpirun.openmpi --allow-run-as-root --oversubscribe" mpirun.mpich; do
	command -v "${i%% *}" >/dev/null || continue
	echo "with ${i%% *}"
	rm -rf "$work/real"
	# shellcheck disable=SC2086
	timeout 300 $i -n 4 "$ctl" record --ranks -q -o "$work/real" -- "$emit" 100 \
		>"$work/out" 2>"$work/err" || fail "$i"
	run 0 stat --json "$work/real/$host"
	[ "$(number events "$work/out")" = 404 ] || fail "$i: $(number events "$work/out") events"

	# A job that ends early: the launcher kills the ranks. All that they published is kept,
	# and stat says in which call each rank was. A rank may be killed before it receives the
	# last message.
	mpi=${i%% *}
	mpi=${mpi#mpirun.}
	[ -e "$out/lib/libtsctrace-mpi-$mpi.so" ] || continue
	for end in "" exit "kill 0" "exit 0"; do
		rm -rf "$work/real"
		# shellcheck disable=SC2086
		timeout 300 $i -n 4 "$ctl" record --ranks --mpi=$mpi -q -o "$work/real" -- \
			"$helpers/$mpi/program" abort $end >"$work/out" 2>"$work/err" || true
		wait_for "$i: abort $end: the recording is complete" is_complete "$work/real/$host"
		OPEN=1 python3 "$here/mpi_check.py" "$work/real/$host" >"$work/counts" 2>"$work/err" ||
			fail "$i: abort $end: events"
		if ! grep -qx "messages 400" "$work/counts" ||
		   ! grep -qx "received \(399\|400\)" "$work/counts"; then
			fail "$i: abort $end: $(cat "$work/counts")"
		fi
		[ -n "$end" ] || grep -qx "MPI_Abort 1" "$work/counts" || fail "$i: no MPI_Abort"
		run 0 stat --json "$work/real/$host"
		python3 -c '
import json, sys
left = {r["rank"]: r["call"] for r in json.load(sys.stdin)["mpi_unfinished"]}
ended = sys.argv[1].split()
at = int(ended[1]) if len(ended) > 1 else 3
if sorted(left) != [0, 1, 2, 3] or left[at] != (None if ended else "MPI_Abort"):
    sys.exit(f"ranks without MPI_Finalize: {left}")' "$end" <"$work/out" 2>"$work/err" ||
			fail "$i: abort $end: stat"
	done
done
