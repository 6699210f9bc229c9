# SPDX-License-Identifier: MIT
# Flags and rules that every user-space folder shares. Set TOP before the
# include. Objects go to $(O), never beside the sources.
# An empty O would be the root of the file system.
override O := $(or $(O),$(abspath $(TOP)/build))

CC ?= cc
# Links get CFLAGS, too: with -flto, the link generates the code.
CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes \
	-Wpointer-arith -Wvla -Wformat=2 -Wundef -Werror=implicit-function-declaration
WERROR ?=
CPPFLAGS += -I$(TOP)/kmod/uapi -I$(TOP)/lib/include -I$(TOP) -D_GNU_SOURCE
# gcc would join the loads of two neighbouring members into one, which waits for the cache if both
# were just stored one by one.
TSCT_CFLAGS := -std=gnu11 $(WARN) $(WERROR) -fPIC -fvisibility=hidden -pthread \
	-fno-tree-slp-vectorize
SANITIZE ?=
ifneq ($(SANITIZE),)
TSCT_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer
LDFLAGS += -fsanitize=$(SANITIZE)
endif
# Debian has bpftool in /usr/sbin. Ubuntu 24.04 has a script there, which runs the one of the
# running kernel; any that is installed will do.
BPFTOOL ?= $(or $(lastword $(wildcard /usr/lib/linux-tools/*/bpftool)),\
	$(shell PATH="$$PATH:/usr/sbin" command -v bpftool),bpftool)
VERSION := $(shell $(TOP)/tools/packaging/release.sh version)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

# $(call objects,src.c ...): their objects, by path below TOP
objects = $(patsubst %.c,$(O)/%.o,$(patsubst $(abspath $(TOP))/%,%,$(abspath $(1))))

$(O)/%.o: $(TOP)/%.c
	$(say) CC $*.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(TSCT_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
