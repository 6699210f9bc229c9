// SPDX-License-Identifier: MIT
/* test-wing: threads */
/*
 * States of threads, against a simple model of a scheduler: threads run, are preempted, wait and
 * are woken at random; some wakings come before the switch away, or none where a signal was
 * pending. The model keeps the state of each thread at each tick. Filters and losses hide events.
 */
#include "lib/export/thread_state.h"
#include "recordings.h"
#include "seed.h"

#define SWITCH	17	/* IDs of the events in stream 1, kernel */
#define WAKING	18
#define READ	19
#define READ_END 20

#define THREADS	7	/* tids 1 to 7; 0 is idle */
#define CPUS	3
#define TICKS	4000
#define NR_READ	0	/* number of the system call read() */

/* Truth: the thread runs on a CPU, is ready, waits, or is ready although it was switched away in a
 * state that waits. */
enum { RUNS, READY, WAITS, STALE };

static struct tsct_recording rec;
static struct tsct_states states;
static struct tsct_identity_thread threads[THREADS];
static struct tsct_identity identity;

static struct truth {
	__u8 state, cpu, call;
	__u8 waker;	/* READY: the last waker, plus 1; 0: not woken */
	bool last;	/* READY: no waking since the switch away: preempted */
} truth[THREADS + 1][TICKS], now[THREADS + 1];
static __u32 running[CPUS];	/* tid; 0: idle */
static __u64 tick;

/* Events that the recorder hides */
static enum { ALL, PROCESSES, COMM, CGROUP, ONE_CPU, SNAPSHOT, NO_WAKINGS, WHERE, MODES } mode;
static bool selected[THREADS + 1];
static struct tsct_loss_time losses[3];
static __u32 nr_losses;

/* Results of the states */
static __u64 said_until[THREADS + 1];
static __u64 known[TSCT_STATES], off_cpu_of_stale;
static bool any_call;

static void advance(__u64 ticks)
{
	for (; ticks && tick < TICKS; ticks--, tick++)
		for (__u32 i = 1; i <= THREADS; i++)
			truth[i][tick] = now[i];
}

/* ---- the recorder ----------------------------------------------------------------- */

static bool is_lost(__u32 cpu)
{
	for (__u32 i = 0; i < nr_losses; i++)
		if (losses[i].location == cpu && tick > losses[i].from && tick < losses[i].until)
			return true;
	return false;
}

/* Records an event of the thread @tid that names @other. @target: of a waking */
static void record(__u32 cpu, __u32 id, __u32 tid, __u32 other, __u32 target, const void *payload,
		   __u32 len)
{
	const struct tsct_trace_event e = {
		.tick = tick, .stream = 1, .location = cpu, .cpu = cpu, .tid = tid,
		.def = tsct_recording_def(&rec, 1, id), .payload = payload, .len = len,
	};

	if ((mode == PROCESSES || mode == COMM) && !selected[tid] && !selected[other])
		return;
	/* The ring of a CPU has overwritten more events than others. */
	if (mode == SNAPSHOT && cpu == 1 && tick < TICKS / 2)
		return;
	if ((mode == CGROUP && !selected[tid]) || (mode == ONE_CPU && cpu) ||
	    (id == WAKING && (mode == NO_WAKINGS || (mode == WHERE && target))) || is_lost(cpu))
		return;
	ck_assert_int_eq(tsct_states_add(&states, &e), 0);
}

static void name(char comm[16], __u32 tid)
{
	memset(comm, 0, 16);
	strcpy(comm, !tid ? "swapper" : selected[tid] ? "chosen" : "other");
}

static void record_switch(__u32 cpu, __u32 prev, __s64 state, __u32 next)
{
	struct {
		char prev_comm[16];
		__s32 prev;
		__s64 state;
		char next_comm[16];
		__s32 next;
	} __attribute__((packed)) e = { .prev = (__s32)prev, .state = state, .next = (__s32)next };

	name(e.prev_comm, prev);
	name(e.next_comm, next);
	record(cpu, SWITCH, prev, next, 0, &e, sizeof(e));
}

static void record_waking(__u32 cpu, __u32 tid)
{
	struct { char comm[16]; __s32 tid; __s32 target_cpu; } __attribute__((packed)) e = {
		.tid = (__s32)tid, .target_cpu = (__s32)any(2),
	};

	name(e.comm, tid);
	record(cpu, WAKING, running[cpu], tid, (__u32)e.target_cpu, &e, sizeof(e));
}

/* ---- the scheduler ---------------------------------------------------------------- */

static __u32 any_in(__u8 state)
{
	__u32 at = any(THREADS), i, tid;

	for (i = 0; i < THREADS; i++) {
		tid = (at + i) % THREADS + 1;
		if (now[tid].state == state || (state == READY && now[tid].state == STALE))
			return tid;
	}
	return 0;
}

static void schedule(__u32 cpu)
{
	const __u32 prev = running[cpu], next = any(5) ? any_in(READY) : 0;
	const __u32 how = any(8);
	__s64 state = how < 2 ? 0x100 : how == 2 ? 0 : how < 4 ? 1 : 1 + (__s64)any(2);

	if (prev == next)
		return;
	if (prev && how == 4) {		/* woken before the switch is recorded */
		record_waking((cpu + 1) % CPUS, prev);
		advance(1);
	}
	/* With 3, a signal is pending. */
	now[prev].state = how < 3 ? READY : how < 5 ? STALE : WAITS;
	now[prev].waker = 0;
	record_switch(cpu, prev, state, next);
	running[cpu] = next;
	if (next) {
		now[next].state = RUNS;
		now[next].cpu = (__u8)cpu;
	}
}

static void call(__u32 cpu)
{
	static const __u8 payload[24];
	const __u32 tid = running[cpu];

	if (!tid)
		return;
	now[tid].call = !now[tid].call;
	record(cpu, now[tid].call ? READ : READ_END, tid, tid, 0, payload, now[tid].call ? 20 : 8);
}

static void step(void)
{
	const __u32 cpu = any(CPUS), what = any(10);
	__u32 tid;

	advance(1 + any(4));
	if (what < 5) {
		schedule(cpu);
	} else if (what < 8) {
		tid = any_in(WAITS);
		if (!tid)
			return;
		record_waking(cpu, tid);
		now[tid].state = READY;
		now[tid].waker = (__u8)(running[cpu] + 1);
	} else if (what == 8) {		/* woken while it was about to wait, and runs on */
		tid = any_in(RUNS);
		if (tid)
			record_waking(cpu, tid);
	} else {
		call(cpu);
	}
}

/* ---- what is said ------------------------------------------------------------------ */

static bool may_be(const struct tsct_state_time *time, const struct truth *t)
{
	switch (time->state) {
	case TSCT_STATE_RUNNING:
		return t->state == RUNS && t->cpu == time->location;
	case TSCT_STATE_RUNNABLE:
		return (t->state == READY || t->state == STALE) &&
			(time->woken ? t->waker == time->waker + 1 : t->state != READY || !t->waker);
	case TSCT_STATE_BLOCKED:
		return t->state == WAITS;
	case TSCT_STATE_OFF_CPU:
		return t->state != RUNS;
	default:
		return true;
	}
}

static int closed(void *, const struct tsct_state_time *time)
{
	const __u32 tid = time->thread->tid;
	const struct truth *t = truth[tid];

	ck_assert(tid >= 1 && tid <= THREADS && time->from <= time->until && time->until <= TICKS);
	ck_assert_uint_eq(time->from, said_until[tid]);
	said_until[tid] = time->until;
	known[time->state] += time->until - time->from;
	for (__u64 i = time->from; i < time->until; i++)
		ck_assert_msg(may_be(time, &t[i]), "thread %u tick %llu: %s, but %d", tid,
			      (unsigned long long)i, tsct_state_names[time->state], t[i].state);
	if (time->switched && time->state == TSCT_STATE_RUNNING)
		ck_assert(!time->from || t[time->from - 1].state != RUNS);
	if (time->call >= 0) {
		ck_assert_int_eq(time->call, NR_READ);
		ck_assert(t[time->from].call);
		any_call = true;
	}
	if (time->state == TSCT_STATE_OFF_CPU && t[time->from].state == STALE)
		off_cpu_of_stale++;
	/* At the end, a signal that was pending may have made it runnable. */
	else if (mode == ALL && !nr_losses && time->until < TICKS)
		ck_assert_int_ne(time->state, TSCT_STATE_OFF_CPU);
	/* Where nothing is hidden, all is known after the first switch. */
	if (mode == ALL && !nr_losses && time->from)
		ck_assert_int_ne(time->state, TSCT_STATE_UNKNOWN);
	return 0;
}

static void request(enum tsct_requested which, const char *text)
{
	free(rec.nodes[0].requests[which]);
	rec.nodes[0].requests[which] = strdup(text);
}

static void make(void)
{
	make_recording(&rec, CPUS);
	define(&rec, 1, SWITCH, "sched_switch", TSCT_KIND_INSTANT, "prev_comm:chars[16],"
	       "prev_tid:s32,prev_state:s64/x,next_comm:chars[16],next_tid:s32");
	if (mode != NO_WAKINGS)
		define(&rec, 1, WAKING, "sched_waking", TSCT_KIND_INSTANT,
		       "comm:chars[16],tid:s32,target_cpu:s32");
	define(&rec, 1, READ, "sys_read", TSCT_KIND_BEGIN, "fd:u32,buf:u64/x,count:u64");
	define(&rec, 1, READ_END, "sys_read", TSCT_KIND_END, "ret:s64");
	rec.complete = 1;
	rec.begin = 0;
	rec.snapshot = mode == SNAPSHOT;
	rec.streams[1].ring[1].published_begin = 9;
	request(TSCT_REQUEST_PROCESSES, mode == PROCESSES ? "the command" : "all");
	if (mode == COMM)
		request(TSCT_REQUEST_COMM, "chosen");
	if (mode == CGROUP)
		request(TSCT_REQUEST_CGROUP, "/a");
	if (mode == ONE_CPU)
		request(TSCT_REQUEST_CPUS, "0");
	if (mode == WHERE)
		request(TSCT_REQUEST_WHERE, "target_cpu == 0");
	for (__u32 i = 1; i <= THREADS; i++) {
		selected[i] = mode == ALL || mode >= ONE_CPU || i < 5;
		threads[i - 1] = (struct tsct_identity_thread) {
			.state = { .tid = i, .selected = mode != PROCESSES || selected[i] },
			.generation = 1, .until = UINT64_MAX,
		};
		name(threads[i - 1].name, i);
		now[i] = (struct truth) { .state = WAITS };
	}
	identity = (struct tsct_identity) { .threads = threads, .nr_threads = THREADS };
	states = (struct tsct_states) { .closed = closed };
	ck_assert_int_eq(tsct_states_init(&states, &rec, &identity, NULL), 0);
}

static void make_losses(void)
{
	__u64 at = any(TICKS / 4);

	for (nr_losses = 0; nr_losses < (__u32)ROWS(losses); nr_losses++) {
		losses[nr_losses] = (struct tsct_loss_time) {
			.stream = 1, .location = any(CPUS), .from = at,
			.until = at + 2 + any(200), .events = 7,
		};
		at += any(TICKS / 3);
	}
	losses[2].until = any(3) ? losses[2].until : UINT64_MAX;
	states.known.losses = malloc(sizeof(losses));
	memcpy(states.known.losses, losses, sizeof(losses));
	states.known.nr_losses = nr_losses;
}

static void end(void)
{
	advance(TICKS);
	ck_assert_int_eq(tsct_states_finish(&states, TICKS), 0);
	for (__u32 i = 0; i < states.nr_rows; i++)
		ck_assert_uint_eq(said_until[states.threads.all[i]->tid], TICKS);
	tsct_states_free(&states);
	tsct_recording_free(&rec);
}

static void run(bool lossy)
{
	make();
	if (lossy)
		make_losses();
	while (tick < TICKS - 10)
		step();
	end();
	ck_assert_uint_ne(known[TSCT_STATE_RUNNING], 0);
	if (mode == CGROUP || mode == ONE_CPU || mode == SNAPSHOT)	/* the next switch may be hidden */
		ck_assert_uint_eq(known[TSCT_STATE_BLOCKED] + known[TSCT_STATE_RUNNABLE] +
				  known[TSCT_STATE_OFF_CPU], 0);
	else
		ck_assert(known[TSCT_STATE_RUNNABLE]);
	if (mode == NO_WAKINGS)
		ck_assert_uint_eq(known[TSCT_STATE_BLOCKED], 0);
	if (!lossy && mode < CGROUP)
		ck_assert(any_call && known[TSCT_STATE_BLOCKED] && off_cpu_of_stale);
}

RANDOM_TEST(test_whole, MODES * 20)
{
	mode = _i % MODES;
	run(false);
}

RANDOM_TEST(test_losses, MODES * 20)
{
	mode = _i % MODES;
	run(true);
}
