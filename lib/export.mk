# SPDX-License-Identifier: MIT
# What compiles and links with libtsctexport.a, with what is made from the system's headers
include $(TOP)/lib/syscalls/syscalls.mk
EXPORT_CPPFLAGS := -I$(O)/gen $(shell pkg-config --cflags jansson)
EXPORT_GEN := $(if $(CORE),,$(SYSCALLS_GEN))
# -u: the core refers to lib/syscalls weakly, which takes nothing from an archive.
EXPORT_LIBS := $(if $(CORE),,-u tsct_syscall_of) $(shell pkg-config --libs jansson) -lm
