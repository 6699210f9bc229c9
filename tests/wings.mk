# SPDX-License-Identifier: MIT
# Files of wings that use nothing of tools/. Tests link their objects beside the library, as
# objects: the library refers to them weakly, which takes nothing from an archive. A folder that
# was removed is left out.
-include $(TOP)/tools/wings/strace/symbols.mk
WING_SRCS := $(wildcard $(addprefix $(TOP)/tools/wings/,\
	mpi/mpi_*.c stacks/code_file.c stacks/perf_map.c \
	stacks/symbolize*.c strace/syscall_text.c))
