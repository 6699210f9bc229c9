// SPDX-License-Identifier: MIT
/*
 * hidden CASE DIR - write a recording in which it is unknown how long a call or a slice was
 *
 * One tick is 1 ns; cycles 0 is 2026-01-01 00:00:00 UTC. Times are seconds after the recording's
 * begin. Thread 1 begins what is unknown on CPU 0, at second 1, and ends something at second 4.
 */
#include "lib/statedump/statedump.h"
#include "one.h"

#define S	1000000000ULL
#define KERNEL	0	/* stream */

enum {	/* IDs of the events */
	ENTER = TSCT_ID_FIRST, EXIT, SWITCH, READ, READ_END, CLONE, CLONE_END, TRAMPOLINE,
	SIGRETURN_END, WORK, WORK_END,
};

static void put(unsigned int second, __u32 cpu, __u32 tid, __u32 id)
{
	static const char payload[24];
	const struct tsct_event_def *def = tsct_recording_def(&rec, KERNEL, id);
	__u32 len = 0;

	while (tsct_event_def_check_payload(def, payload, len))
		len++;
	put_at((10 + second) * S, KERNEL, cpu, tid, id, payload, len);
}

static void switch_to(unsigned int second, __u32 cpu, __u32 prev, __s32 next)
{
	const struct { __s32 prev; char comm[16]; __s32 next; } payload = { (__s32)prev, "x", next };

	put_at((10 + second) * S, KERNEL, cpu, prev, SWITCH, &payload, sizeof(payload));
}

static void flush(void)
{
	if (tsct_recording_writer_flush(writer))
		abort();
}

static void put_thread(unsigned int second, __u64 start_ns, char name)
{
	struct tsct_statedump_thread t = {
		.tid = 1, .tgid = 1, .start_ns = start_ns, .name = { name }, .selected = 1,
	};

	put_at((10 + second) * S, rec.statedump, 0, 0, TSCT_STATEDUMP_THREAD, &t, sizeof(t));
}

/* Events of CPU 1 are lost between seconds 2 and 3; the thread may have been there. */
static void write_lost(void)
{
	put(2, 1, 9, ENTER);
	put(1, 0, 1, READ);
	flush();
	rec.streams[KERNEL].loss[1].cause[TSCT_LOSS_FULL] = 7;
	put(3, 1, 9, EXIT);
	flush();
	put(4, 0, 1, READ_END);
}

/* The same, but CPU 1's file ends at second 2 after it has been cut off, see the test. */
static void write_cut(void)
{
	put(1, 1, 9, ENTER);
	put(1, 0, 1, READ);
	flush();
	put(3, 1, 9, EXIT);
	put(4, 0, 1, READ_END);
}

/* Only CPU 0 is recorded; the thread is elsewhere from second 2 to second 3. */
static void write_cpu(void)
{
	put(1, 0, 1, READ);
	switch_to(2, 0, 1, 9);
	switch_to(3, 0, 9, 1);
	put(4, 0, 1, READ_END);
}

/* 5,000 threads, the first of which is the one of its CPU before each of the others. */
static void write_cpu_many(void)
{
	for (__u32 tid = 1; tid <= 5000; tid++)
		switch_to(1, 0, tid, 0);
}

/* The rate limit drops events of sys_enter, sys_exit and probes each by itself. */
static void write_limit(void)
{
	put(1, 0, 1, ENTER);
	put(2, 0, 1, WORK);
	put(3, 0, 1, WORK_END);
	put(4, 0, 1, EXIT);
}

/* A snapshot of a flight recorder that had filters: the call that ends is another one. */
static void write_snapshot(void)
{
	rec.snapshot = 1;
	rec.nodes[0].requests[TSCT_REQUEST_COPIED] = strdup("with filters");
	put(1, 0, 1, READ);
	switch_to(3, 0, 9, 1);
	put(4, 0, 1, READ_END);
}

/* The thread ends its call on CPU 1, and begins another one there. */
static void write_moved(void)
{
	put(1, 0, 1, READ);
	put(2, 1, 1, READ_END);
	put(3, 1, 1, READ);
	put(4, 0, 1, READ_END);
}

/* The thread ends in its call; its number is that of another thread from second 3 on. */
static void write_reused(void)
{
	const __u32 tid = 1;

	put_thread(0, 5 * S, 'x');
	put(1, 0, 1, CLONE);
	put_at(12 * S, rec.statedump, 0, 0, TSCT_STATEDUMP_THREAD_END, &tid, sizeof(tid));
	put_thread(3, 13 * S, 'x');
	put(4, 0, 1, CLONE_END);
}

/* Only threads with the name x are recorded. The thread has another one for a while, from its
 * last event on, as the end of the call is not. */
static void write_renamed(void)
{
	rec.nodes[0].requests[TSCT_REQUEST_PROCESSES] = strdup("all");
	put_thread(0, 5 * S, 'x');
	switch_to(0, 0, 9, 1);
	put(1, 0, 1, READ);
	put_thread(2, 5 * S, 'y');
	put_thread(3, 5 * S, 'x');
}

/* The thread's state was read after it ended, as it was not reaped yet. */
static void write_zombie(void)
{
	const struct tsct_statedump_last_pid last = { .boottime_ns = 4 * S };
	const __u32 tid = 1;

	put_at(10 * S, rec.statedump, 0, 0, TSCT_STATEDUMP_LAST_PID, &last, sizeof(last));
	put_at(11 * S, rec.statedump, 0, 0, TSCT_STATEDUMP_THREAD_END, &tid, sizeof(tid));
	put_thread(2, 5 * S, 'x');
}

/* The thread gets another name between the events. Truncated to 32 bits, the tick is negative. */
static void write_named(void)
{
	put_thread(0, 5 * S, 'x');
	put(0, 0, 1, WORK);
	put(0, 0, 1, WORK_END);
	put_thread(1, 5 * S, 'y');
	put(2, 0, 1, WORK);
}

/* The kernel gives the end of uretprobe() the number of rt_sigreturn(). */
static void write_sigreturn(void)
{
	put(1, 0, 1, TRAMPOLINE);
	put(4, 0, 1, SIGRETURN_END);
}

static const struct {
	const char *name;
	void (*write)(void);
	enum tsct_requested which;	/* what the recorder was asked for, if there is a text */
	const char *text;
	__u64 limited, untracked, missed;
} cases[] = {
	{ .name = "lost", .write = write_lost },
	{ .name = "cut", .write = write_cut },
	{ .name = "cpu", .write = write_cpu, .which = TSCT_REQUEST_CPUS,
	  .text = "0" },
	{ .name = "cpu_many", .write = write_cpu_many, .which = TSCT_REQUEST_CPUS,
	  .text = "0" },
	{ .name = "limit", .write = write_limit, .which = TSCT_REQUEST_RATE_LIMIT,
	  .text = "1", .limited = 7 },
	{ .name = "where", .write = write_limit, .which = TSCT_REQUEST_WHERE,
	  .text = "id == 0" },
	{ .name = "snapshot", .write = write_snapshot },
	{ .name = "moved", .write = write_moved },
	{ .name = "reused", .write = write_reused },
	{ .name = "renamed", .write = write_renamed, .which = TSCT_REQUEST_COMM, .text = "x" },
	{ .name = "zombie", .write = write_zombie, .which = TSCT_REQUEST_PROCESSES, .text = "all" },
	{ .name = "named", .write = write_named },
	{ .name = "sigreturn", .write = write_sigreturn },
	{ .name = "untracked", .write = write_limit, .untracked = 3, .missed = 5 },
};

static void make(void)
{
	tsct_recording_make(&rec, 1);
	tsct_recording_locate(&rec, 2);
	rec.nodes[0].host = strdup("node");
	rec.begin = 10 * S;
	rec.end = 20 * S;
	rec.real.base_ns = 1767225600 * (__s64)S;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.as_of_cycles = 20 * S;
	rec.real.holdover_after_cycles = 25 * S;
	rec.real.void_after_cycles = 1000 * S;
	if (tsct_recording_add_stream(&rec, "kernel") || tsct_statedump_add(&rec))
		abort();
	rec.streams[KERNEL].kernel = 1;
	define(KERNEL, ENTER, "sys_enter", TSCT_KIND_INSTANT, "id:s64/syscall,arg0:u64/x");
	define(KERNEL, EXIT, "sys_exit", TSCT_KIND_INSTANT, "id:s64/syscall,ret:s64");
	define(KERNEL, SWITCH, "sched_switch", TSCT_KIND_INSTANT,
	       "prev_tid:s32,next_comm:chars[16],next_tid:s32");
	define(KERNEL, READ, "sys_read", TSCT_KIND_BEGIN, "fd:u32,buf:u64/x,count:u64");
	define(KERNEL, READ_END, "sys_read", TSCT_KIND_END, "ret:s64");
	define(KERNEL, CLONE, "sys_clone3", TSCT_KIND_BEGIN, "uargs:u64/x,size:u64");
	define(KERNEL, CLONE_END, "sys_clone3", TSCT_KIND_END, "ret:s64");
	define(KERNEL, TRAMPOLINE, "sys_uretprobe", TSCT_KIND_BEGIN, "");
	define(KERNEL, SIGRETURN_END, "sys_rt_sigreturn", TSCT_KIND_END, "ret:s64");
	define(KERNEL, WORK, "work", TSCT_KIND_BEGIN, "n:s32");
	define(KERNEL, WORK_END, "work", TSCT_KIND_END, "m:s32");
}

int main(int argc, char **argv)
{
	for (unsigned int i = 0; argc == 3 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(argv[1], cases[i].name))
			continue;
		make();
		if (cases[i].text)
			rec.nodes[0].requests[cases[i].which] = strdup(cases[i].text);
		rec.nodes[0].limited = cases[i].limited;
		rec.nodes[0].untracked = cases[i].untracked;
		rec.nodes[0].missed = cases[i].missed;
		begin_writing(argv[2]);
		cases[i].write();
		end_writing();
		return 0;
	}
	return 2;
}
