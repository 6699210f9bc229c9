# SPDX-License-Identifier: MIT
# What compiles and links with libtsctexport.a, with what is made from the system's headers
include $(TOP)/lib/syscalls/syscalls.mk
EXPORT_CPPFLAGS := -I$(O)/gen $(shell pkg-config --cflags jansson)
EXPORT_LIBS := $(shell pkg-config --libs jansson) -lm
EXPORT_GEN := $(SYSCALLS_GEN)
