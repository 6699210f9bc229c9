# SPDX-License-Identifier: MIT
# Names of the x86-64 system calls, for ctf/recording.c: one initializer each, such as
# [0] = "read", from the distribution's header. To be included after the first target.
$(O)/gen/syscalls.inc:
	$(say) GEN $(@F)
	@mkdir -p $(@D)
	$(Q)printf '#include <asm/unistd_64.h>\n' | $(CC) -E -dM - | \
		sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$$/[\2] = "\1",/p' | \
		sort -t'[' -k2 -n > $@.$$$$ && test -s $@.$$$$ && mv $@.$$$$ $@
