# SPDX-License-Identifier: MIT
# Files of wings that use nothing of tools/. Tests link their objects beside the library, as
# objects: the library refers to them weakly, which takes nothing from an archive. A folder that
# was removed is left out.
-include $(TOP)/tools/wings/strace/symbols.mk
WING_SRCS := $(wildcard $(addprefix $(TOP)/tools/wings/,strace/syscall_text.c))
