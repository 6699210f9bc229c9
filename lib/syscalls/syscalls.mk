# SPDX-License-Identifier: MIT
# What is made from the system's headers for lib/syscalls: the list of 32-bit system calls
SYSCALLS_GEN := $(O)/gen/syscall_list_32.h

# CALL(number, name) of each system call of 32-bit programs. The headers may be older than
# syscall_list.h: from 424 on, these calls have the numbers of the 64-bit calls.
$(O)/gen/syscall_list_32.h: $(TOP)/lib/syscalls/syscall_list.h $(TOP)/lib/syscalls/syscalls.mk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd_32.h>' | $(CC) $(CPPFLAGS) -E -dM -x c - | cat - $< | \
		sed -nE -e 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/CALL(\2, \1)/p' \
		-e 's/^SYSCALL\((42[4-9]|4[3-9].|[5-9]..), ([a-z0-9_]+),.*/CALL(\1, \2)/p' | \
		sort -u > $@.new
	$(Q)grep -q '^CALL(4, write)' $@.new && mv $@.new $@
