# SPDX-License-Identifier: MIT
# The MPIs that are installed for developers, and their compilers
MPICC_openmpi ?= mpicc.openmpi
MPICC_mpich ?= mpicc.mpich
# Several makes may run this at the same time, so each uses temporary files of its own.
mpi_has = $(shell mkdir -p $(O)/gen && cd $(O)/gen && own=mpi-$(1).$$$$ && \
	printf '\043include <mpi.h>' > $$own.c && \
	$(MPICC_$(1)) -E $$own.c > $$own.i 2>&1 && mv $$own.i mpi-$(1).i && echo $(1); \
	rm -f $$own.c $$own.i)
MPI_FOUND := $(foreach m,openmpi mpich,$(call mpi_has,$(m)))
