// SPDX-License-Identifier: MIT
/*
 * Like t_nest, and with debug exceptions: a hardware breakpoint on the payload
 * is hit inside the writer each time it copies the payload, and its handler
 * writes, too: the writer keeps the handler's event. Setting the breakpoint patches the kernel's
 * code, so not parallel.
 * guest-test: timeout=90 rt=yes
 */
#include "nest.h"

static void check_hits(void)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		const struct mod_nest *c = &reported[cpu][MOD_CONTEXTS - 1];

		/* Only those are lost which meet an NMI's event. */
		t_check(c->written > 100 && c->nested < c->tried / 10, "cpu %u: %lu %lu",
			cpu, c->written, c->nested);
	}
}

int main(void)
{
	nest_discard("breakpoints=1");
	check_hits();
	nest_overwrite("breakpoints=1");
	check_hits();
	t_check(dev_info(dev_open()).bytes == 0);
	return t_status();
}
