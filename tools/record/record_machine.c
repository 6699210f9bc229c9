// SPDX-License-Identifier: MIT
/* The machine that is recorded on: its CPUs, as its kernel tells them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"
#include "lib/clock/sysfs_read.h"

#define CPUS	"/sys/devices/system/cpu"

static bool read_number(__u32 cpu, const char *name, __u32 *ret)
{
	char path[96], text[32], *end;
	unsigned long n;

	snprintf(path, sizeof(path), CPUS "/cpu%u/%s", cpu, name);
	if (tsct_sysfs_read_line(path, text, sizeof(text)) <= 0)
		return false;
	n = strtoul(text, &end, 10);
	if (end == text || n > UINT32_MAX)
		return false;
	*ret = n;
	return true;
}

/* The CPU's folder has a link "node0" to that of its memory. */
static __u32 memory_node(__u32 cpu)
{
	struct dirent *e;
	char path[64];
	__u32 node = 0;
	DIR *d;

	snprintf(path, sizeof(path), CPUS "/cpu%u", cpu);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (sscanf(e->d_name, "node%u", &node) == 1)
			break;
	if (d)
		closedir(d);
	return node;
}

/* Without a file "online" it cannot be taken offline. */
static bool look(__u32 nr, struct tsct_recorded_cpu *cpu)
{
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), CPUS "/cpu%u", nr);
	d = opendir(path);
	if (!d)
		return false;
	closedir(d);
	*cpu = (struct tsct_recorded_cpu) { .cpu = nr, .online = 1 };
	read_number(nr, "online", &cpu->online);
	cpu->online = cpu->online &&
		read_number(nr, "topology/physical_package_id", &cpu->package) &&
		read_number(nr, "topology/core_id", &cpu->core);
	cpu->memory_node = memory_node(nr);
	return true;
}

static char *cpu_model(void)
{
	FILE *from = fopen("/proc/cpuinfo", "re");
	char line[256], *model = NULL, *at;

	while (from && !model && fgets(line, sizeof(line), from)) {
		if (strncmp(line, "model name", 10))
			continue;
		at = strchr(line, ':');
		line[strcspn(line, "\n")] = '\0';
		if (at)
			model = strdup(at + 1 + strspn(at + 1, " "));
	}
	if (from)
		fclose(from);
	return model;
}

int record_machine(struct tsct_recorded_node *node, __u32 nr_cpus)
{
	struct tsct_recorded_cpu cpu;
	__u32 i;
	int err = 0;

	node->cpu_model = cpu_model();
	for (i = 0; !err && i < nr_cpus; i++)
		if (look(i, &cpu))
			err = tsct_recording_add_cpu(node, &cpu);
	return err;
}
