// SPDX-License-Identifier: MIT
/* Finds the descendants of processes that run already */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf_errors.h"
#include "kernel_source.h"

/*
 * Adds a process. Its start time 0 (unknown) is not that of the process: the entry is not
 * deleted when the process is freed, but when a new process gets the same number.
 */
static int add(int map, __u32 tgid)
{
	const __u64 start = 0;

	if (!bpf_map_update_elem(map, &tgid, &start, BPF_NOEXIST) || errno == EEXIST)
		return 0;
	return -errno;
}

static bool has(int map, __u32 tgid)
{
	__u64 start;

	return !bpf_map_lookup_elem(map, &tgid, &start);
}

/* Returns the parent of a process, or 0 if it has ended. */
static __u32 parent_of(const char *pid)
{
	char path[64], line[512] = "";
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	/* The name in parentheses may contain any characters. */
	at = strrchr(line, ')');
	return at && strlen(at) > 4 ? (__u32)strtoul(at + 4, NULL, 10) : 0;
}

/* Adds the children of tracked processes. Returns their number or -errno. */
static int add_children(int map)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int nr = 0, err = 0;
	__u32 parent;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    has(map, (__u32)atoi(entry->d_name)))
			continue;
		parent = parent_of(entry->d_name);
		if (!parent || !has(map, parent))
			continue;
		err = add(map, (__u32)atoi(entry->d_name));
		nr++;
	}
	closedir(dir);
	return err ? err : nr;
}

int tracked_add(int map, const pid_t *roots, unsigned int nr, char *why, size_t size)
{
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		if (kill(roots[i], 0) && errno == ESRCH)
			return bpf_errors_fail(-ESRCH, why, size,
					       "there is no process %d", roots[i]);
		err = add(map, (__u32)roots[i]);
		if (err)
			return bpf_errors_fail(err, why, size, "cannot trace process %d "
					       "and its children: %s", roots[i],
					       strerror(-err));
	}
	/* A process may get children while /proc is read: so until there are no more. */
	do
		err = add_children(map);
	while (err > 0);
	return err ? bpf_errors_fail(err, why, size, "cannot find the children of "
				     "processes: %s", strerror(-err)) : 0;
}
