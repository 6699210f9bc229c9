# SPDX-License-Identifier: MIT
# libtsctrace-mpi-NAME.so for each MPI that is installed for developers: calls of MPI as
# events. Open MPI and MPICH have different handles, so each has a library of its own.
include $(TOP)/lib/mpi/mpi_found.mk
MPI_MISSING := $(filter-out $(MPI_FOUND),openmpi mpich)
MPI_LIBS := $(patsubst %,$(O)/lib/libtsctrace-mpi-%.so,$(MPI_FOUND))
MPI_SRCS := $(wildcard mpi/*.c) base/hash.c base/index.c
MPI_HEADERS := $(wildcard mpi/*.h)

mpi: $(MPI_LIBS)
ifneq ($(MPI_MISSING),)
	@echo "  without libtsctrace-mpi-*.so of: $(MPI_MISSING)" \
		"($(foreach m,$(MPI_MISSING),$(MPICC_$(m))) finds no mpi.h; set MPICC_NAME)"
endif

# $(1): name of the MPI
define mpi_library
$(O)/gen/mpi-$(1)-declared: mpi/calls.table mpi/mpi.mk
	@mkdir -p $$(@D)
	$(Q)tr -s ' \t\n' ' ' < $(O)/gen/mpi-$(1).i | \
		grep -o '\<\(int\|double\) PMPI_[A-Za-z_0-9]* *([^()]*)' | \
		sed 's/ P/ /; s/ *(/(/' | sort -u > $$@.new
	$(Q)grep -q '^int MPI_Init(' $$@.new && mv $$@.new $$@

$(O)/gen/mpi-$(1)-calls.c: $(O)/gen/mpi-$(1)-declared mpi/calls.awk mpi/calls.table
	$(say) GEN $$(@F)
	$(Q)awk -f mpi/calls.awk $$< mpi/calls.table > $$@.new && mv $$@.new $$@

$(O)/lib/mpi-$(1)/%.o: %.c $(MPI_HEADERS)
	$(say) CC lib/mpi-$(1)/$$*.o
	@mkdir -p $$(@D)
	$(Q)$(MPICC_$(1)) $(CPPFLAGS) $(TSCT_CFLAGS) $(CFLAGS) -c -o $$@ $$<

$(O)/lib/mpi-$(1)/calls.o: $(O)/gen/mpi-$(1)-calls.c $(MPI_HEADERS)
	$(say) CC lib/mpi-$(1)/calls.o
	@mkdir -p $$(@D)
	$(Q)$(MPICC_$(1)) $(CPPFLAGS) $(filter-out $(WARN) -fvisibility=hidden,$(TSCT_CFLAGS)) \
		-Wno-deprecated-declarations $(CFLAGS) -c -o $$@ $$<

# The runpath of this library names its own directory, which has libtsctrace.so. RUNPATH=no:
# the system finds libtsctrace.so.
$(O)/lib/libtsctrace-mpi-$(1).so: $(patsubst %.c,$(O)/lib/mpi-$(1)/%.o,$(MPI_SRCS)) \
		$(O)/lib/mpi-$(1)/calls.o $(O)/lib/$(SONAME)
	$(say) LD $$(@F)
	$(Q)$(MPICC_$(1)) -shared -Wl,-soname,$$(@F) \
		$(if $(filter no,$(RUNPATH)),,-Wl,-rpath,'$$$$ORIGIN') $(CFLAGS) $(LDFLAGS) \
		-o $$@ $$(filter %.o,$$^) -L$(O)/lib -l:$(SONAME) -pthread
endef
$(foreach m,$(MPI_FOUND),$(eval $(call mpi_library,$(m))))
