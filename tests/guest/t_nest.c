// SPDX-License-Identifier: MIT
/*
 * Threads, tasklets, interrupts and NMIs write into one kernel channel, on CPUs
 * that run at the same time.
 * guest-test: parallel=yes timeout=90 rt=yes
 */
#include "nest.h"

int main(void)
{
	nest_discard("");
	nest_overwrite("");
	t_check(dev_info(dev_open()).bytes == 0);
	return t_status();
}
