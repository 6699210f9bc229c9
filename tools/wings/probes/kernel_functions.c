// SPDX-License-Identifier: MIT
/* Finds functions of the kernel that match a pattern and can be probed */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs.h>

#include "lib/base/array.h"
#include "probe.h"

/* Names of functions, in the kernel's order until keep_unique() sorts them */
struct names {
	char (*all)[512];	/* KSYM_NAME_LEN */
	unsigned int nr;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Reads the names that match @pattern. Returns 0 or -ENOMEM. */
static int read_names(FILE *file, const char *pattern, struct names *names)
{
	char line[512];

	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, " \t\n")] = '\0';	/* a module's name may follow */
		if (strlen(line) >= sizeof(*names->all) || fnmatch(pattern, line, 0))
			continue;
		if (!tsct_array_next(&names->all, names->nr, sizeof(*names->all)))
			return -ENOMEM;
		strcpy(names->all[names->nr++], line);
	}
	return 0;
}

/* Sorts the names, and omits names that several functions have. */
static void keep_unique(struct names *names)
{
	unsigned int i, next, kept = 0;

	if (names->nr)
		qsort(names->all, names->nr, sizeof(*names->all), by_name);
	for (i = 0; i < names->nr; i = next) {
		for (next = i + 1; next < names->nr &&
		     !strcmp(names->all[i], names->all[next]); next++)
			;
		if (next == i + 1)
			memmove(names->all[kept++], names->all[i], sizeof(*names->all));
	}
	names->nr = kept;
}

static int find_names(const char *pattern, struct names *names)
{
	char *path = tracefs_get_tracing_file("available_filter_functions");
	FILE *file = path ? fopen(path, "re") : NULL;
	int err;

	tracefs_put_tracing_file(path);
	if (!file)
		return bpf_errors_fail(-EACCES, "%s: cannot read the kernel's functions: %s; run as"
				       " root, with tracefs mounted, or name one function", pattern,
				       strerror(errno));
	err = read_names(file, pattern, names);
	fclose(file);
	if (err)
		return bpf_errors_fail(err, "out of memory");
	keep_unique(names);
	if (names->nr && names->nr <= PROBE_FUNCTIONS_MAX)
		return 0;
	if (names->nr)
		return bpf_errors_fail(-E2BIG, "%s: %u functions match, at most %d can be"
				       " recorded; use a narrower pattern", pattern, names->nr,
				       PROBE_FUNCTIONS_MAX);
	return bpf_errors_fail(-ENOENT, "%s: this kernel has no matching function that can be"
			       " probed", pattern);
}

int probe_functions_find(const char *pattern, struct probe **ret_probes)
{
	struct names names = { .nr = 0 };
	struct probe *probes = NULL;
	int ret = find_names(pattern, &names);
	unsigned int i;

	if (!ret) {
		probes = calloc(names.nr, sizeof(*probes));
		ret = probes ? (int)names.nr : -ENOMEM;
	}
	for (i = 0; probes && i < names.nr; i++)
		strcpy(probes[i].name, names.all[i]);
	free(names.all);
	*ret_probes = probes;
	return ret;
}

int probe_functions_check(void)
{
	char *path = tracefs_get_tracing_file("kprobe_events");
	const bool usable = !access("/sys/bus/event_source/devices/kprobe", F_OK) ||
		(path && !access(path, F_OK));

	tracefs_put_tracing_file(path);
	if (usable)
		return 0;
	return bpf_errors_fail(-EOPNOTSUPP, "this kernel has no kprobes; boot one built with"
			       " CONFIG_KPROBES=y and CONFIG_KPROBE_EVENTS=y, or record"
			       " tracepoints");
}
