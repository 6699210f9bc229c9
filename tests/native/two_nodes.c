// SPDX-License-Identifier: MIT
/*
 * two_nodes DIR BOUND_ONE BOUND_TWO - write a merged recording of the nodes `one` and `two`; or, if
 * BOUND_TWO is "-", a recording of node `one`, with two CPUs
 *
 * Each line of standard input is an event, US NODE TID NAME NUMBER...: its time in microseconds,
 * the node, 0 or 1, of one CPU, or the CPU; and its thread. BOUND: bound of the node's times, ns. Events:
 * switch NEXT STATE; wake TID; move TID CPU, from that CPU; call NUMBER ARGUMENT and return; begin and end of a span; put and
 * got, a program's message NUMBER; send and receive, a packet NUMBER; resent, the last packet. The
 * threads are named x, or those of node two y if TWO_NODES_NAMES is set.
 */
#include "lib/statedump/statedump.h"
#include "one.h"

#define US	1000ULL
#define BEGIN	(10000000 * US)
#define THREADS	1000	/* each node has the threads 1 to THREADS - 1 */

enum { KERNEL, APP };	/* streams */

enum {	/* IDs of the events of each stream */
	SWITCH = TSCT_ID_FIRST, WAKE, MOVE, CALL, RETURN, SEND, RECEIVE, RESENT,
	SPAN = TSCT_ID_FIRST, SPAN_END, PUT, GOT,
};

static const struct {
	const char *name;
	__u32 stream, id;
} events[] = {
	{ "switch", KERNEL, SWITCH }, { "wake", KERNEL, WAKE }, { "move", KERNEL, MOVE },
	{ "call", KERNEL, CALL },
	{ "return", KERNEL, RETURN }, { "send", KERNEL, SEND }, { "receive", KERNEL, RECEIVE },
	{ "resent", KERNEL, RESENT }, { "begin", APP, SPAN }, { "end", APP, SPAN_END },
	{ "put", APP, PUT }, { "got", APP, GOT },
};

static void describe(char **bounds)
{
	static const char *const names[] = { "one", "two" };
	struct tsct_recorded_correction *c;
	const bool merged = strcmp(bounds[1], "-");

	tsct_recording_make(&rec, 1 + merged);
	tsct_recording_locate(&rec, 2);
	rec.merged = merged;
	rec.timeline.hz = merged ? 1000000000 : 0;
	rec.clock_origin = strdup("module");
	rec.begin = BEGIN;
	rec.end = 2 * BEGIN;
	rec.real.base_ns = 1767225600000000000LL;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.as_of_cycles = rec.end;
	rec.real.holdover_after_cycles = rec.end;
	rec.real.void_after_cycles = 1000 * BEGIN;
	rec.compared = merged ? TSCT_COMPARED_UTC : rec.compared;
	for (int i = 0; i < 1 + merged; i++) {
		rec.locations[i].node = (__u32)i;
		rec.locations[i].cpu = 0;
		rec.nodes[i].host = strdup(names[i]);
		rec.nodes[i].kernel = strdup(getenv("TWO_NODES_KERNEL") ?: "6.1");
		rec.nodes[i].command = strdup("x");
		rec.nodes[i].provider = strdup("module");
		if (!merged)
			continue;
		c = &rec.nodes[i].correction;
		strcpy(c->fit, "auto");
		c->nr_bounds = 1;
		c->bounds[0].tick = BEGIN;
		c->bounds[0].error_ns = strtoull(bounds[i], NULL, 10);
	}
	if (tsct_recording_add_stream(&rec, "kernel") != KERNEL ||
	    tsct_recording_add_stream(&rec, "app") != APP ||
	    tsct_statedump_add(&rec))
		abort();
	rec.streams[KERNEL].kernel = 1;
	define(KERNEL, SWITCH, "sched_switch", TSCT_KIND_INSTANT, "prev_comm:chars[4],prev_tid:s64,"
	       "next_comm:chars[4],next_tid:s64,prev_state:s64");
	define(KERNEL, WAKE, "sched_waking", TSCT_KIND_INSTANT, "comm:chars[4],tid:s64");
	define(KERNEL, MOVE, "sched_migrate_task", TSCT_KIND_INSTANT, "tid:s64,orig_cpu:s64");
	define(KERNEL, CALL, "sys_enter", TSCT_KIND_INSTANT, "id:s64/syscall,arg0:u64/x");
	define(KERNEL, RETURN, "sys_exit", TSCT_KIND_INSTANT, "id:s64/syscall,ret:s64");
	define(KERNEL, SEND, "net_send", TSCT_KIND_SEND, "message:u64");
	define(KERNEL, RECEIVE, "net_receive", TSCT_KIND_RECEIVE, "message:u64");
	define(KERNEL, RESENT, "tcp_retransmit_skb", TSCT_KIND_INSTANT, "");
	define(APP, SPAN, "work", TSCT_KIND_BEGIN, "number:u64");
	define(APP, SPAN_END, "work", TSCT_KIND_END, "number:u64");
	define(APP, PUT, "put", TSCT_KIND_SEND, "number:u64");
	define(APP, GOT, "put", TSCT_KIND_RECEIVE, "number:u64");
}

static void put_threads(__u32 node)
{
	const bool other = node && getenv("TWO_NODES_NAMES");
	struct tsct_statedump_thread t = { .name = { other ? 'y' : 'x' }, .selected = 1 };

	for (t.tid = t.tgid = 1; t.tid < THREADS; t.tid++, t.tgid++) {
		t.start_ns = t.tid;
		put_at(BEGIN, rec.statedump, node, 0, TSCT_STATEDUMP_THREAD, &t, sizeof(t));
	}
}

static void put_event(__u64 tick, __u32 node, __u32 tid, __u32 stream, __u32 id, __s64 first,
		      __s64 second)
{
	const struct { char prev[4]; __s64 prev_tid; char next[4]; __s64 tid, state; }
		__attribute__((packed)) to = { "x", tid, "x", first, second };
	const struct { char comm[4]; __s64 tid; } __attribute__((packed)) woken = { "x", first };
	const __s64 numbers[2] = { first, second };

	if (stream == KERNEL && id == SWITCH)
		put_at(tick, stream, node, tid, id, &to, sizeof(to));
	else if (stream == KERNEL && id == WAKE)
		put_at(tick, stream, node, tid, id, &woken, sizeof(woken));
	else
		put_at(tick, stream, node, tid, id, numbers, stream == APP || id >= SEND ?
		       id == RESENT && stream == KERNEL ? 0 : 8 : 16);
}

int main(int argc, char **argv)
{
	char line[128], name[16];
	__s64 first, second;
	unsigned int node, tid, i;
	double us;

	if (argc != 4)
		return 2;
	describe(argv + 2);
	begin_writing(argv[1]);
	put_threads(0);
	if (rec.merged)
		put_threads(1);
	while (fgets(line, sizeof(line), stdin)) {
		first = second = 0;
		if (sscanf(line, "%lf %u %u %15s %lli %lli", &us, &node, &tid, name, &first,
			   &second) < 4)
			errx(1, "%s", line);
		for (i = 0; i < sizeof(events) / sizeof(events[0]); i++)
			if (!strcmp(events[i].name, name))
				break;
		if (i == sizeof(events) / sizeof(events[0]))
			errx(1, "%s", line);
		put_event(BEGIN + (__u64)(us * US), node, tid, events[i].stream, events[i].id,
			  first, second);
	}
	end_writing();
	return 0;
}
