// SPDX-License-Identifier: MIT
/*
 * made DIR [many | long]: writes a recording of kernel events with known values to
 * DIR. One tick is 1 ns; cycles 0 is 2026-01-01 00:00:00 UTC. many: a merged
 * recording of three nodes. long: a recording that is longer than 2^52 ns.
 */
#include "one.h"

#define S	1000000000ULL
#define MS	1000000ULL

static void put(__u32 cpu, __u64 stamp, __u32 tid, __u32 id,
		const void *payload, __u32 len)
{
	put_at(stamp, 0, cpu, tid, id, payload, len);
}

static void call(__u32 cpu, __u64 stamp, __u32 tid, __u32 id, __s64 number)
{
	__s64 payload[2] = { number, 0 };

	put(cpu, stamp, tid, id, payload, sizeof(payload));
}

static void switch_to(__u64 stamp, __s32 tid, const char *comm)
{
	struct { char comm[16]; __s32 tid; } to = { "", tid };

	snprintf(to.comm, sizeof(to.comm), "%s", comm);
	put(1, stamp, 0, 18, &to, sizeof(to));
}

static void describe_node(struct tsct_recorded_node *node, const char *host)
{
	node->host = strdup(host);
	node->kernel = strdup("6.1");
	node->command = strdup("make");
	node->provider = strdup("module");
}

static void describe(void)
{
	rec.clock_origin = strdup("module");
	rec.begin = 10 * S;
	rec.end = 20 * S;
	rec.real.base_ns = 1767225600 * (__s64)S;
	rec.real.mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.slew_mult = rec.real.mult;
	rec.real.as_of_cycles = 20 * S;
	rec.real.holdover_after_cycles = 25 * S;
	rec.real.void_after_cycles = 1000 * S;
	rec.real.past_error_ps = 1500000;
	rec.real.error_ps = 500000;
	rec.status = TSCT_STATUS_HOLDOVER;
	rec.rate_error_ppb = 12;
	rec.epoch_first = 1;
	rec.epoch = rec.real_epoch = 2;
	rec.has_real_epoch = 1;
	if (tsct_recording_add_stream(&rec, "kernel"))
		abort();
	rec.streams[0].kernel = 1;
	define(0, 16, "sys_enter", 0, "id:s64/syscall,arg0:u64/x");
	define(0, 17, "sys_exit", 0, "id:s64/syscall,ret:s64");
	define(0, 18, "sched_switch", 0, "next_comm:chars[16],next_tid:s32");
	define(0, 19, "never", TSCT_KIND_COUNTER, "n:u8");
}

static void make_one(void)
{
	tsct_recording_make(&rec, 1);
	tsct_recording_locate(&rec, 4);
	describe_node(&rec.nodes[0], "node\033");
	tsct_recorded_utc_add(&rec.nodes[0], 10 * S, 2000000, TSCT_UTC_KERNEL);
	tsct_recorded_utc_add(&rec.nodes[0], 12 * S, 3000000, TSCT_UTC_CLOCKBOUND);
	describe();
	rec.streams[0].lost_no_ring = 2;
}

static void write_one(void)
{
	/* Thread 3 exits a system call that it entered before the recording began.
	 * Thread 4 enters a system call that does not end in the recording. */
	call(0, 10 * S, 3, 17, 3);
	call(0, 11 * S, 1, 16, 0);
	call(0, 11 * S + 1 * MS, 1, 17, 0);
	/* a call of write() that begins on CPU 0 and ends on CPU 1 */
	call(0, 12 * S, 2, 16, 1);
	call(0, 13 * S, 1, 16, 0);
	call(0, 13 * S + 3 * MS, 1, 17, 0);
	call(0, 15 * S, 4, 16, 202);
	switch_to(13 * S, 11, "one");
	switch_to(13 * S, 12, "former");
	call(1, 14 * S, 2, 17, 1);
	switch_to(16 * S, 12, "two\a");
	/* Events are lost behind all that are in the file. */
	if (tsct_recording_writer_flush(writer))
		abort();
	rec.streams[0].loss[1].cause[TSCT_LOSS_FULL] = 7;
}

static void correct(struct tsct_recorded_node *node, const char *fit,
		    __u64 error_ns)
{
	struct tsct_recorded_correction *c = &node->correction;

	strcpy(c->fit, fit);
	c->nr_bounds = 1;
	c->bounds[0] = (struct tsct_recorded_bound) { 10 * S, error_ns };
}

/* The last node has a CPU without events, and no clock correction. */
static void make_many(void)
{
	static const struct tsct_location locations[] = {
		{ 0, 0 }, { 0, 1 }, { 1, 0 }, { 2, 0 },
	};

	tsct_recording_make(&rec, 3);
	tsct_recording_locate(&rec, 4);
	memcpy(rec.locations, locations, sizeof(locations));
	rec.merged = 1;
	rec.timeline.hz = S;
	rec.compared = TSCT_COMPARED_UTC;
	describe_node(&rec.nodes[0], "one");
	describe_node(&rec.nodes[1], "two");
	describe_node(&rec.nodes[2], "three");
	correct(&rec.nodes[0], "auto", 100);
	correct(&rec.nodes[1], "spline", 7000);
	/* Node 0 has no fit residual, as in recordings of older formats. */
	rec.nodes[1].correction.residual_ps = 40260;
	rec.nodes[1].correction.has_residual = 1;
	describe();
	rec.streams[0].loss[2].cause[TSCT_LOSS_FULL] = 5;
}

/* The first argument of call() is a location; with one node, a location is a CPU. */
static void write_many(void)
{
	call(0, 11 * S, 7, 16, 0);
	call(0, 12 * S, 7, 16, 1);
	call(2, 13 * S, 7, 17, 1);
	call(1, 14 * S, 7, 16, 2);
	call(2, 15 * S, 7, 17, 2);
}

/*
 * Writes two events on one tick, then two on the tick 2^51 after the recording's begin,
 * where the 51-bit tick of unique stamps wraps to 0, then one after the second wrap.
 */
static void write_long(void)
{
	call(0, 11 * S, 1, 16, 0);
	call(0, 11 * S, 1, 17, 0);
	call(0, 10 * S + (1ULL << 51), 1, 16, 0);
	call(0, 10 * S + (1ULL << 51), 1, 17, 0);
	call(1, 10 * S + (1ULL << 52) + 5, 1, 16, 1);
}

static void lengthen(void)
{
	rec.end = 20 * S + (1ULL << 52);
	rec.real.as_of_cycles = rec.end;
	rec.real.holdover_after_cycles = rec.end;
	rec.real.void_after_cycles = 2 * rec.end;
}

int main(int argc, char **argv)
{
	const bool many = argc == 3 && !strcmp(argv[2], "many");
	const bool is_long = argc == 3 && !strcmp(argv[2], "long");

	if (argc != 2 + (many || is_long))
		return 2;
	if (many)
		make_many();
	else
		make_one();
	if (is_long)
		lengthen();
	begin_writing(argv[1]);
	if (many)
		write_many();
	else if (is_long)
		write_long();
	else
		write_one();
	end_writing();
	return 0;
}
