// SPDX-License-Identifier: MIT
/* The running kernel: its version and largest thread ID, and its count of the events that BPF
 * programs missed */
#include <stdio.h>
#include <sys/utsname.h>

#include <bpf/bpf.h>

#include "tools/bpf/progs/bpf_open.h"

bool bpf_kernel_since(unsigned int major, unsigned int minor)
{
	unsigned int a = 0, b = 0;
	struct utsname name;

	return !uname(&name) && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
		(a > major || (a == major && b >= minor));
}

unsigned long bpf_program_missed(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

unsigned long bpf_object_missed(const struct bpf_object *object)
{
	struct bpf_program *program;
	unsigned long missed = 0;

	bpf_object__for_each_program(program, object)
		missed += bpf_program_missed(program);
	return missed;
}

unsigned long bpf_both_missed(unsigned long of_first, unsigned long of_second, uint64_t recorded)
{
	if (recorded > of_first)
		return 0;
	return of_first - recorded < of_second ? of_first - recorded : of_second;
}

/* Returns a number above all present thread IDs. */
static unsigned int read_pid_max(void)
{
	FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned int max;

	if (!file || fscanf(file, "%u", &max) != 1)
		max = 1 << 22;	/* PID_MAX_LIMIT */
	if (file)
		fclose(file);
	return max;
}

int bpf_size_first_runs(struct bpf_map *map)
{
	return bpf_map__set_max_entries(map, read_pid_max() / FIRST_RUNS_TIDS + 1);
}
