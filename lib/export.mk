# SPDX-License-Identifier: MIT
# Options to compile and link with libtsctexport.a, and files made from the system's headers
include $(TOP)/lib/syscalls/syscalls.mk
EXPORT_CPPFLAGS := -I$(O)/gen $(shell pkg-config --cflags jansson)
EXPORT_GEN := $(if $(CORE),,$(SYSCALLS_GEN))
# -u: weak references, as the core's to lib/syscalls are, take nothing from an archive.
EXPORT_LIBS := $(if $(CORE),,-u tsct_syscall_of) $(shell pkg-config --libs jansson) -lm
