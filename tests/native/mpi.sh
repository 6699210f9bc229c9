# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For tests with MPI: Open MPI runs as root, and more ranks than there are CPUs, which give
# their CPU away while they wait. The variables are of Open MPI 4; PRTE_ is of Open MPI 5.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
