// SPDX-License-Identifier: MIT
/*
 * spans DIR EVENTS SEED [nodes|unknown|slow|nested]: writes a recording with random spans of 20
 * threads on 4 CPUs to DIR, or a merged one of two nodes with half of the threads and CPUs each,
 * whose times are within 100 and 7000 ns, or those of the second one within an unknown bound. One
 * tick is 1 ns; all takes twice as long if `slow`. Spans of kind begin and end: job, which overlap
 * and have equal fields n; loop, which nest; request, which have ids. System calls. Pairs of
 * instants: query_start and query_done, which match by their fields id, in any threads; and
 * stage_in and stage_out, which match in a thread. Some begins have no end, and some ends no begin.
 * If `nested`: only spans loop, two deep, of two threads that stay on their CPUs and run in turns,
 * 4096 events each.
 */
#include "one.h"
#include "tests/world/random.h"

enum { JOB_BEGIN = 16, JOB_END, LOOP_BEGIN, LOOP_END, REQUEST_BEGIN, REQUEST_END, QUERY_START,
       QUERY_DONE, STAGE_IN, STAGE_OUT };
enum { ENTER = 16, EXIT };

#define THREADS	20
#define OPEN	6
#define START	1000000000ULL

static struct random dice;
static __u64 now = START, number;
static bool two_nodes, unknown;

static unsigned int any(unsigned int below)
{
	return (unsigned int)random_below(&dice, below);
}

static void describe_node(struct tsct_recorded_node *node, const char *host, __u64 error_ns)
{
	node->host = strdup(host);
	node->kernel = strdup("6.1");
	node->command = strdup("make");
	node->provider = strdup("module");
	if (!two_nodes || (unknown && error_ns > 100))
		return;
	strcpy(node->correction.fit, "auto");
	node->correction.nr_bounds = 1;
	node->correction.bounds[0] = (struct tsct_recorded_bound) { START, error_ns };
}

static void describe(void)
{
	static const struct tsct_location locations[] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } };

	tsct_recording_make(&rec, two_nodes ? 2 : 1);
	tsct_recording_locate(&rec, 4);
	describe_node(&rec.nodes[0], "one", 100);
	if (two_nodes) {
		describe_node(&rec.nodes[1], "two", 7000);
		memcpy(rec.locations, locations, sizeof(locations));
		rec.merged = 1;
		rec.timeline.hz = START;
		rec.compared = TSCT_COMPARED_UTC;
	}
	rec.clock_origin = strdup("module");
	rec.begin = rec.end = START;
	rec.real.as_of_cycles = START;
	rec.real.holdover_after_cycles = 1ULL << 60;
	rec.real.base_ns = 1767225600000000000LL;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.void_after_cycles = 1ULL << 60;
	rec.real.error_ps = 500000;
	if (tsct_recording_add_stream(&rec, "default") || tsct_recording_add_stream(&rec, "kernel") != 1)
		abort();
	rec.streams[1].kernel = 1;
	define(0, JOB_BEGIN, "job", TSCT_KIND_BEGIN, "n:u64,kind:string");
	define(0, JOB_END, "job", TSCT_KIND_END, "n:u64,status:s32");
	define(0, LOOP_BEGIN, "loop", TSCT_KIND_BEGIN, "round:u64");
	define(0, LOOP_END, "loop", TSCT_KIND_END, "");
	define(0, REQUEST_BEGIN, "request", TSCT_KIND_BEGIN, "tsct_span:u32,size:u32");
	define(0, REQUEST_END, "request", TSCT_KIND_END, "tsct_span:u32");
	define(0, QUERY_START, "query_start", 0, "id:u64,db:u8");
	define(0, QUERY_DONE, "query_done", 0, "rows:u16,id:u64");
	define(0, STAGE_IN, "stage_in", 0, "n:u64");
	define(0, STAGE_OUT, "stage_out", 0, "");
	define(1, ENTER, "sys_enter", 0, "id:s64/syscall,arg0:u64/x");
	define(1, EXIT, "sys_exit", 0, "id:s64/syscall,ret:s64");
}

static void put(__u32 stream, __u32 thread, __u32 id, const void *payload, __u32 len)
{
	const __u32 cpu = two_nodes ? thread * 2 / THREADS * 2 + any(2) : any(4);

	put_at(now, stream, cpu, 100 + thread, id, payload, len);
}

static void put_number(__u32 thread, __u32 id, __u64 n)
{
	put(0, thread, id, &n, id == LOOP_END || id == STAGE_OUT ? 0 : sizeof(n));
}

/* Numbers of open spans; takes any of them, or 0 */
struct open {
	__u64 n[OPEN];
	unsigned int nr;
};

static __u64 take(struct open *open)
{
	const unsigned int at = open->nr ? any(open->nr) : 0;
	const __u64 n = open->nr ? open->n[at] : 0;

	if (open->nr)
		open->n[at] = open->n[--open->nr];
	return n;
}

/* Returns the number of a new span; 0: as many are open as may be */
static __u64 add(struct open *open)
{
	return open->nr < OPEN ? open->n[open->nr++] = ++number : 0;
}

static void edge_of_job(__u32 thread, struct open *open, bool begin)
{
	struct { __u64 n; char rest[8]; } __attribute__((packed)) payload = { .rest = "" };
	const __s32 status = any(3) - 1;

	payload.n = begin ? add(open) : take(open);
	snprintf(payload.rest, sizeof(payload.rest), "%s", any(3) ? "fast" : "slow");
	if (!begin)
		memcpy(payload.rest, &status, sizeof(status));
	if (payload.n || !begin)
		put(0, thread, begin ? JOB_BEGIN : JOB_END, &payload,
		    begin ? sizeof(payload.n) + 5 : sizeof(payload.n) + 4);
}

static void edge_of_request(__u32 thread, struct open *open, bool begin)
{
	const __u32 payload[2] = { begin ? add(open) : take(open), any(100) };

	if (payload[0] || !begin)
		put(0, thread, begin ? REQUEST_BEGIN : REQUEST_END, payload, begin ? 8 : 4);
}

static void edge_of_query(__u32 thread, struct open *open, bool begin)
{
	struct { __u64 id; __u8 db; } __attribute__((packed)) start = { .db = any(3) };
	struct { __u16 rows; __u64 id; } __attribute__((packed)) done = { .rows = any(9) };

	start.id = done.id = begin ? add(open) : take(open);
	if (begin && start.id)
		put(0, thread, QUERY_START, &start, sizeof(start));
	else if (!begin)
		put(0, thread, QUERY_DONE, &done, sizeof(done));
}

static void edge_of_call(__u32 thread, __s64 *call, bool begin)
{
	const __s64 payload[2] = { begin ? (__s64)any(4) : *call, any(10) };

	/* Some ends are missing, and some begins. */
	if ((begin == (*call < 0)) || !any(50))
		put(1, thread, begin ? ENTER : EXIT, (const __s64[]) {
			payload[0] < 0 ? 3 : payload[0], payload[1] }, sizeof(payload));
	else
		return;
	*call = begin ? payload[0] : -1;
}

static void write_nested(__u64 events)
{
	__u32 cpu;
	__u64 i;

	for (i = 0; i < events; i++) {
		now += 30 + any(64);
		cpu = i >> 12 & 1;
		put_at(now, 0, cpu, 100 + cpu, i & 2 ? LOOP_END : LOOP_BEGIN, &i, i & 2 ? 0 : 8);
	}
}

int main(int argc, char **argv)
{
	static struct { struct open jobs, loops, requests, stages; __s64 call; } threads[THREADS];
	static struct open queries;
	__u64 events = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
	const char *mode = argc > 4 ? argv[4] : "";
	const bool slow = !strcmp(mode, "slow");
	__u32 thread, i;
	bool begin;

	unknown = !strcmp(mode, "unknown");
	two_nodes = unknown || !strcmp(mode, "nodes");
	dice.state = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	describe();
	begin_writing(argv[1]);
	for (i = 0; i < THREADS; i++)
		threads[i].call = -1;
	if (!strcmp(mode, "nested")) {
		write_nested(events);
		events = 0;
	}
	while (events--) {
		now += (1 + any(any(20) ? 2000 : 2000000)) << slow;
		thread = any(THREADS);
		begin = any(2);
		switch (any(6)) {
		case 0: edge_of_job(thread, &threads[thread].jobs, begin); break;
		case 1: edge_of_request(thread, &threads[thread].requests, begin); break;
		case 2: edge_of_query(thread, &queries, begin); break;
		case 3:
			if (!begin)
				take(&threads[thread].loops);
			if (!begin || add(&threads[thread].loops))
				put_number(thread, begin ? LOOP_BEGIN : LOOP_END, number);
			break;
		case 4:
			if (!begin)
				take(&threads[thread].stages);
			if (!begin || add(&threads[thread].stages))
				put_number(thread, begin ? STAGE_IN : STAGE_OUT, number);
			break;
		default: edge_of_call(thread, &threads[thread].call, begin);
		}
	}
	rec.end = now;
	end_writing();
	return 0;
}
