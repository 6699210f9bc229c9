// SPDX-License-Identifier: MIT
/* Reads how much memory this process may use */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "lib/base/sysfs_read.h"
#include "lib/base/text.h"
#include "lib/core/port.h"
#include "ring_size.h"

#define CAP_IPC_LOCK	14	/* with this capability, RLIMIT_MEMLOCK does not apply */
/* Version 1 shows "no limit" as the largest multiple of the page size below 2^63. */
#define CGROUP_NO_LIMIT	(1ULL << 62)

/* Mount points of memory cgroups, and the names of their files with limits.
 * controller: as in /proc/self/cgroup; "": version 2 */
static const struct {
	const char *root, *controller, *files[2];
} hierarchies[] = {
	{ "/sys/fs/cgroup", "", { "memory.max", "memory.high" } },
	{ "/sys/fs/cgroup/unified", "", { "memory.max", "memory.high" } },
	{ "/sys/fs/cgroup/memory", "memory", { "memory.limit_in_bytes" } },
};

/* Returns the number after @name in a file such as /proc/meminfo, in the file's unit;
 * UINT64_MAX: there is none. */
static __u64 read_field(const char *path, const char *name, int base)
{
	FILE *file = fopen(path, "re");
	__u64 value = UINT64_MAX;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name))) {
			value = strtoull(line + strlen(name), NULL, base);
			break;
		}
	if (file)
		fclose(file);
	return value;
}

/* Lowers *limit to the limit in file @name of the cgroup directory @dir. */
static void take_limit(const char *dir, const char *name, struct tsct_memory_limit *limit)
{
	char file[4500], text[32];
	__u64 bytes;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	if (tsct_sysfs_read_line(file, text, sizeof(text)) <= 0)
		return;
	if (!tsct_digits_read_all(text, CGROUP_NO_LIMIT - 1, &bytes) || bytes >= limit->bytes)
		return;
	limit->bytes = bytes;
	snprintf(limit->name, sizeof(limit->name), "memory cgroup limit %.290s", file);
}

/* Reads the limits of the cgroup @path and of the cgroups above it, up to the mount point. */
static void walk_up(unsigned int hierarchy, const char *path, struct tsct_memory_limit *limit)
{
	const char *root = hierarchies[hierarchy].root;
	char dir[4300];
	unsigned int i;

	/* In a container, the mount point may be the container's own cgroup,
	 * whose name outside of the container is the first part of @path. */
	for (;;) {
		snprintf(dir, sizeof(dir), "%s%s", root, path);
		if (!*path || !access(dir, X_OK))
			break;
		path = strchrnul(path + 1, '/');
	}
	for (;;) {
		for (i = 0; i < 2 && hierarchies[hierarchy].files[i]; i++)
			take_limit(dir, hierarchies[hierarchy].files[i], limit);
		if (strlen(dir) <= strlen(root))
			return;
		*strrchr(dir, '/') = '\0';
	}
}

/* Returns true if the comma-separated @list has @word or, for @word "", if @list is empty. */
static bool in_list(const char *list, const char *word)
{
	const size_t len = strlen(word);

	if (!len)
		return !*list;
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && !strncmp(list, word, len))
			return true;
	return false;
}

static void read_cgroups(struct tsct_memory_limit *limit)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4200], *controllers, *path;
	unsigned int i;

	/* Each line is "NUMBER:CONTROLLERS:PATH". */
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		controllers = strchr(line, ':');
		path = controllers ? strchr(++controllers, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		/* A path that begins with "/.." is outside of the cgroup namespace. */
		if (!strcmp(path, "/") || !strncmp(path, "/..", 3))
			path = "";
		for (i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
			if (in_list(controllers, hierarchies[i].controller))
				walk_up(i, path, limit);
	}
	if (file)
		fclose(file);
}

/* Locked memory is the only sign that a process has called mlockall(MCL_FUTURE). */
static void read_locked(struct tsct_memory_limit *limit)
{
	const __u64 locked = read_field("/proc/self/status", "VmLck:", 10);
	const __u64 capabilities = read_field("/proc/self/status", "CapEff:", 16);
	struct rlimit most;

	if (!locked || locked == UINT64_MAX || capabilities & 1ULL << CAP_IPC_LOCK ||
	    getrlimit(RLIMIT_MEMLOCK, &most) || most.rlim_cur == RLIM_INFINITY)
		return;
	limit->bytes = most.rlim_cur > locked * 1024 ? most.rlim_cur - locked * 1024 : 0;
}

/* Returns a field of /proc/meminfo, bytes; UINT64_MAX: there is none. */
static __u64 read_memory(const char *name)
{
	const __u64 kib = read_field("/proc/meminfo", name, 10);

	return kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
}

void tsct_memory_limits_read(struct tsct_memory_limits *ret_limits)
{
	static const char *const names[TSCT_LIMIT_NR] = {
		"installed memory", "available memory (MemAvailable)", "memory cgroup limit",
		"lockable memory (RLIMIT_MEMLOCK)",
	};
	struct sysinfo memory;
	unsigned int i;

	for (i = 0; i < TSCT_LIMIT_NR; i++) {
		ret_limits->at[i].bytes = UINT64_MAX;
		strcpy(ret_limits->at[i].name, names[i]);
	}
	/* If a seccomp filter rejects sysinfo(), sysconf(_SC_PHYS_PAGES) returns a wrong number. */
	ret_limits->at[TSCT_LIMIT_INSTALLED].bytes = sysinfo(&memory) ? read_memory("MemTotal:") :
		(__u64)memory.totalram * memory.mem_unit;
	ret_limits->at[TSCT_LIMIT_AVAILABLE].bytes = read_memory("MemAvailable:");
	read_cgroups(&ret_limits->at[TSCT_LIMIT_CGROUP]);
	read_locked(&ret_limits->at[TSCT_LIMIT_LOCKED]);
}

__u64 tsct_memory_usable(void)
{
	struct tsct_memory_limits limits;
	__u64 installed, cgroup;

	tsct_memory_limits_read(&limits);
	installed = limits.at[TSCT_LIMIT_INSTALLED].bytes;
	cgroup = limits.at[TSCT_LIMIT_CGROUP].bytes;
	return cgroup < installed ? cgroup : installed;
}
