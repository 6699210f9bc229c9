# SPDX-License-Identifier: MIT
# What compiles and links with libtsctexport.a: libraries of the formats, the messages of
# one of them, made from their description, and the constants and calls of the system's
# headers.
EXPORT_PKGS := otf2 libprotobuf-c jansson libdw
EXPORT_CPPFLAGS := -I$(O)/gen $(shell pkg-config --cflags $(EXPORT_PKGS))
EXPORT_LIBS := $(shell pkg-config --libs $(EXPORT_PKGS)) -lm
SYMBOL_OBJS := $(patsubst $(TOP)/lib/syscalls/%.table,$(O)/gen/%.o,\
	$(wildcard $(TOP)/lib/syscalls/symbols_*.table))
EXPORT_GEN := $(O)/gen/export_perfetto.pb-c.h $(O)/gen/syscall_list_32.h
EXPORT_GEN_OBJS := $(O)/gen/export_perfetto.pb-c.o $(SYMBOL_OBJS)

$(O)/gen/%.pb-c.c $(O)/gen/%.pb-c.h &: $(TOP)/lib/export/%.proto
	$(say) PROTO $*
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(TOP)/lib/export --c_out=$(O)/gen $<

$(O)/gen/symbols_%.c: $(TOP)/lib/syscalls/symbols_%.table $(TOP)/lib/syscalls/symbols.awk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)grep '^#include' $< | $(CC) $(CPPFLAGS) -E -P -dD -x c - > $@.headers
	$(Q)awk -f $(TOP)/lib/syscalls/symbols.awk $@.headers $< > $@.new && mv $@.new $@
$(SYMBOL_OBJS): $(TOP)/lib/syscalls/syscalls.h
.SECONDARY: $(SYMBOL_OBJS:.o=.c)

# CALL(number, name) of each system call of 32-bit programs. The headers may be older than
# syscall_list.h: from 424 on, these calls have the numbers of the 64-bit calls.
$(O)/gen/syscall_list_32.h: $(TOP)/lib/syscalls/syscall_list.h $(TOP)/lib/export/export.mk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd_32.h>' | $(CC) $(CPPFLAGS) -E -dM -x c - | cat - $< | \
		sed -nE -e 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/CALL(\2, \1)/p' \
		-e 's/^SYSCALL\((42[4-9]|4[3-9].|[5-9]..), ([a-z0-9_]+),.*/CALL(\1, \2)/p' | \
		sort -u > $@.new
	$(Q)grep -q '^CALL(4, write)' $@.new && mv $@.new $@

# Not ours to warn about
$(O)/gen/%.o: $(O)/gen/%.c
	$(say) CC gen/$*.o
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 -fPIC -fvisibility=hidden $(CFLAGS) \
		$(if $(SANITIZE),-fsanitize=$(SANITIZE)) -c -o $@ $<
