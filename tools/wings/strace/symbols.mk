# SPDX-License-Identifier: MIT
# Tables of the names of constants, made from the system's headers
SYMBOL_OBJS := $(patsubst $(TOP)/tools/wings/strace/%.table,$(O)/gen/%.o,\
	$(wildcard $(TOP)/tools/wings/strace/symbols_*.table))

$(O)/gen/symbols_%.c: $(TOP)/tools/wings/strace/symbols_%.table \
		$(TOP)/tools/wings/strace/symbols.awk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)grep '^#include' $< | $(CC) $(CPPFLAGS) -E -P -dD -x c - > $@.headers
	$(Q)awk -f $(TOP)/tools/wings/strace/symbols.awk $@.headers $< > $@.new && mv $@.new $@
.SECONDARY: $(SYMBOL_OBJS:.o=.c)

$(SYMBOL_OBJS): $(O)/gen/%.o: $(O)/gen/%.c $(TOP)/lib/syscalls/syscalls.h
	$(say) CC gen/$*.o
	$(Q)$(CC) $(CPPFLAGS) $(TSCT_CFLAGS) $(CFLAGS) -c -o $@ $<
