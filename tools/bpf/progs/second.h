/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Programs that are attached twice. A program that runs for a thread may be preempted, where the
 * kernel is preemptible. Until the thread runs again, the kernel does not run that program for
 * other threads of the CPU. Meanwhile the second program records their events: it runs after the
 * first one, which marks the thread, and records the event if the thread has no mark.
 */
#ifndef TSCT_BPF_SECOND_H
#define TSCT_BPF_SECOND_H

#include "kernel.h"

/* Set by the loader before the programs are attached: second programs are attached. */
bool preemptible;

/* Set by the loader while both programs of all pairs are attached. At other times, a second program
 * may run alone although the first one missed nothing. */
bool both_attached;

/* Marks of a thread: the first program was run, but the second program was not run yet */
enum { FIRST_ENTER = 1, FIRST_EXIT = 2, FIRST_NET = 4 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct first_runs);
} first_runs SEC(".maps");

/* Returns the current thread's marks FIRST_*, or NULL. Only this thread's programs change them. */
static __always_inline u8 *runs_of_thread(void)
{
	__u32 tid = bpf_get_current_pid_tgid(), key = tid / FIRST_RUNS_TIDS;
	struct first_runs *runs = bpf_map_lookup_elem(&first_runs, &key);

	return runs ? &runs->of_tid[tid % FIRST_RUNS_TIDS] : NULL;
}

/* Stores that the first program of an event runs. @program: FIRST_*. Returns true. */
static __always_inline bool first_run(u8 program)
{
	u8 *runs = preemptible ? runs_of_thread() : NULL;

	if (runs)
		*runs |= program;
	return true;
}

/* Returns true, and counts it in *count, if the first program was not run for the event. */
static __always_inline bool second_run(u8 program, u64 *count)
{
	u8 *runs = runs_of_thread();

	if (!runs)
		return false;
	if (*runs & program) {
		*runs &= ~program;
		return false;
	}
	if (both_attached)
		__sync_fetch_and_add(count, 1);
	return true;
}

#endif /* TSCT_BPF_SECOND_H */
