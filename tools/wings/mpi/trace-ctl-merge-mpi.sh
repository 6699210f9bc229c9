#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the program that was built for the MPI library whose launcher started this rank.
set -eu
dir=$(dirname "$(readlink -f "$0")")
if [ -n "${OMPI_COMM_WORLD_SIZE-}${PMIX_RANK-}" ]; then
	mpi=openmpi
elif [ -n "${PMI_RANK-}${PMI_SIZE-}" ]; then
	mpi=mpich
else
	for mpi in openmpi mpich; do
		[ ! -x "$dir/trace-ctl-merge-mpi-$mpi" ] || break
	done
fi
if [ ! -x "$dir/trace-ctl-merge-mpi-$mpi" ]; then
	echo "trace-ctl-merge-mpi: not built for $mpi; use the launcher of another MPI library" >&2
	exit 1
fi
exec "$dir/trace-ctl-merge-mpi-$mpi" "$@"
