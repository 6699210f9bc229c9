# SPDX-License-Identifier: MIT
# The system calls' names, for ctf/syscalls.c. Include it after the first
# target. One initialiser per x86-64 system call, from the
# distribution's own header: [0] = "read",
$(O)/gen/syscalls.inc:
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)printf '#include <asm/unistd_64.h>\n' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' | \
		sort -t'[' -k2 -n > $@.$$$$ && test -s $@.$$$$ && mv $@.$$$$ $@
