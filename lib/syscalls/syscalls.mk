# SPDX-License-Identifier: MIT
# Lists of system calls for lib/syscalls
SYSCALLS_GEN := $(O)/gen/syscall_list.h $(O)/gen/syscall_list_32.h

# List of SYSCALL(number, name, result, arguments), one for each line of the table. The file that
# includes the list defines the macros SYSCALL, A(type, name, class) for an argument, and NO_ARGS.
$(O)/gen/syscall_list.h: $(TOP)/lib/syscalls/syscalls.table $(TOP)/lib/syscalls/syscalls.mk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)sed -z 's/\n\t/ /g' $< | awk 'BEGIN { class["ptr"] = "PTR"; class["string"] = "PATH" } \
		/^[0-9]/ { args = ""; \
			for (i = 4; i < NF; i += 2) { \
				split($$(i + 1), part, /[:,]/); \
				args = args " A(" $$i ", " part[1] ", " \
					(part[2] ? part[2] : class[$$i] ? class[$$i] : "INT") ")" \
			} \
			print "SYSCALL(" $$1 ", " $$2 ", " $$3 "," (args ? args : " NO_ARGS") ")" \
		}' > $@.new && mv $@.new $@

# List of CALL(number, name), one for each system call of 32-bit programs, from the headers and,
# as these may be old, from the table: from 424 on, 32-bit and 64-bit calls have equal numbers.
$(O)/gen/syscall_list_32.h: $(TOP)/lib/syscalls/syscalls.table $(TOP)/lib/syscalls/syscalls.mk
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd_32.h>' | $(CC) $(CPPFLAGS) -E -dM -x c - | cat - $< | \
		sed -nE -e 's/^#define __NR_([a-z0-9_]+) ([0-9]+)$$/CALL(\2, \1)/p' \
		-e 's/^(42[4-9]|4[3-9].|[5-9]..) ([a-z0-9_]+) .*/CALL(\1, \2)/p' | \
		sort -u > $@.new
	$(Q)grep -q '^CALL(4, write)' $@.new && mv $@.new $@
