// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/core/port.h"
#include "cpus.h"
#include "sysfs_read.h"

#define CPU_DIR		"/sys/devices/system/cpu/"

/* Removes one range from the front of a CPU list. Returns false at the list's end. */
static bool next_range(char **list, unsigned long *first, unsigned long *last)
{
	char *end;

	*first = *last = strtoul(*list, &end, 10);
	if (end == *list)
		return false;
	if (*end == '-')
		*last = strtoul(end + 1, &end, 10);
	*list = *end == ',' ? end + 1 : end;
	return true;
}

__u32 tsct_cpus_possible(void)
{
	unsigned long first, last = 0, highest = 0;
	char list[4096], *at = list;

	if (tsct_sysfs_read_line(CPU_DIR "possible", list, sizeof(list)) <= 0)
		return sysconf(_SC_NPROCESSORS_CONF);
	while (next_range(&at, &first, &last))
		highest = max(highest, last);
	return highest + 1;
}

void tsct_cpus_usable(bool by_process, cpu_set_t *ret_cpus)
{
	unsigned long first, last;
	char list[4096], *at = list;
	cpu_set_t own;

	CPU_ZERO(ret_cpus);
	if (tsct_sysfs_read_line(CPU_DIR "online", list, sizeof(list)) <= 0)
		snprintf(list, sizeof(list), "0-%d", CPU_SETSIZE - 1);
	while (next_range(&at, &first, &last))
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, ret_cpus);
	if (by_process && !sched_getaffinity(0, sizeof(own), &own))
		CPU_AND(ret_cpus, ret_cpus, &own);
}
