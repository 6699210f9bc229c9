# SPDX-License-Identifier: MIT
# Files of wings that use nothing of tools/ but wings and a worker's status. Tests link their
# objects beside the library, as objects: the library refers to them weakly, which takes nothing
# from an archive.
# What a folder that was removed would need is left out.
WINGS := $(if $(CORE),none,$(TOP)/tools/wings)
-include $(WINGS)/strace/symbols.mk
WING_SRCS := $(wildcard $(addprefix $(WINGS)/,formats/export_*.c mpi/mpi_*.c mpi/rank_*.c \
	otf2/export_*.c otf2/otf2_*.c previous/previous_boot.c stacks/code_file.c \
	stacks/perf_map.c stacks/symbolize*.c strace/syscall_text.c) \
	$(WINGS:%/wings=%/shared/worker_status.c))
WING_PKGS := $(foreach wing,otf2:otf2 stacks:libdw,\
	$(if $(wildcard $(WINGS)/$(firstword $(subst :, ,$(wing)))),\
	$(lastword $(subst :, ,$(wing)))))
WING_CPPFLAGS := -I$(O)/gen $(if $(WING_PKGS),$(shell pkg-config --cflags $(WING_PKGS)))
WING_LIBS := $(if $(WING_PKGS),$(shell pkg-config --libs $(WING_PKGS)))
