# SPDX-License-Identifier: MIT
# trace-ctl-merge-mpi-NAME for each MPI that is installed for developers, and the script
# that runs the one whose launcher started it. lib/mpi/mpi_found.mk sets MPI_FOUND.
-include $(TOP)/lib/mpi/mpi_found.mk
SRCS := $(filter-out wings/mpi/merge_mpi.c,$(SRCS))
MERGE_MPI := $(MPI_FOUND:%=$(O)/tools/trace-ctl-merge-mpi-%)
MERGE_OBJS := $(call objects,$(wildcard common/*.c merge/*.c) wings/mpi/mpi_sessions.c \
	wings/mpi/rank_trades.c)

# $(1): name of the MPI
define merge_mpi
$(O)/tools/merge_mpi-$(1)/%.o: wings/mpi/%.c $(wildcard merge/*.h) $(wildcard $(TOP)/lib/merge/*.h)
	$(say) CC tools/merge_mpi-$(1)/$$*.o
	@mkdir -p $$(@D)
	$(Q)$(MPICC_$(1)) $(CPPFLAGS) $(TSCT_CFLAGS) $(CFLAGS) -c -o $$@ $$<

$(O)/tools/trace-ctl-merge-mpi-$(1): $(O)/tools/merge_mpi-$(1)/merge_mpi.o $(MERGE_OBJS) \
		$(ARCHIVES) $(O)/tools/trace-ctl-merge-mpi
	$(say) LD $$(@F)
	$(Q)$(MPICC_$(1)) $(CFLAGS) $(LDFLAGS) -pthread -o $$@ $$(filter %.o,$$^) \
		-Wl,--as-needed $(LIBS)
endef
$(foreach m,$(MPI_FOUND),$(eval $(call merge_mpi,$(m))))

$(O)/tools/trace-ctl-merge-mpi: wings/mpi/trace-ctl-merge-mpi.sh
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@

all: $(MERGE_MPI)
install: install-merge-mpi
install-merge-mpi:
	install -d "$(DESTDIR)$(BINDIR)"
	for program in $(MERGE_MPI) $(if $(MERGE_MPI),$(O)/tools/trace-ctl-merge-mpi); do \
		install -m 755 $$program "$(DESTDIR)$(BINDIR)" || exit 1; \
	done
.PHONY: install-merge-mpi
