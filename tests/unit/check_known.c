// SPDX-License-Identifier: MIT
/* test-wing: threads */
/* Times in which filters, limits and losses hide who runs on a CPU, or the end of a slice */
#include "lib/export/known.h"
#include "recordings.h"

#define SWITCH	17	/* IDs of the events in stream 1, kernel */
#define ENTER	16

static struct tsct_recording rec;
static struct tsct_known known;
static struct tsct_known_change change;

/* Threads of node 0: 10 and 11 are selected, 20 is not; 12 gets another name at tick 500. The recorder
 * of location 1, if that is another one, selects 11 and 20. */
static struct tsct_identity_thread threads[] = {
	{ .state = { .tid = 10, .selected = 1 }, .name = "ten", .until = UINT64_MAX },
	{ .state = { .tid = 11, .selected = 1 }, .name = "eleven", .until = UINT64_MAX, .location = 1 },
	{ .state = { .tid = 12, .selected = 1 }, .name = "ten", .until = UINT64_MAX },
	{ .state = { .tid = 12, .selected = 1 }, .name = "other", .until = UINT64_MAX, .tick = 500 },
	{ .state = { .tid = 20 }, .name = "twenty", .until = UINT64_MAX },
	{ .state = { .tid = 20, .selected = 1 }, .name = "twenty", .until = UINT64_MAX, .location = 1,
	  .tick = 9000 },
};
static const struct tsct_identity identity = { .threads = threads, .nr_threads = ROWS(threads) };

static void begin(void)
{
	make_recording(&rec, 2);
	define(&rec, 1, SWITCH, "sched_switch", TSCT_KIND_INSTANT,
	       "prev_tid:s32,next_comm:chars[16],next_tid:s32");
	rec.complete = 1;
	rec.nodes[0].requests[TSCT_REQUEST_PROCESSES] = strdup("the command");
}

static void end(void)
{
	tsct_known_free(&known);
	tsct_recording_free(&rec);
}

static void request(enum tsct_requested which, const char *text)
{
	free(rec.nodes[0].requests[which]);
	rec.nodes[0].requests[which] = strdup(text);
}

static void start(void)
{
	known = (struct tsct_known) { .rec = &rec, .identity = &identity };
	ck_assert_int_eq(tsct_known_init(&known, NULL), 0);
}

static void lose(const struct tsct_loss_time *losses, __u32 nr)
{
	known.losses = calloc(nr, sizeof(*losses));
	memcpy(known.losses, losses, nr * sizeof(*losses));
	known.nr_losses = nr;
}

static void note(__u64 tick, __u32 cpu, __u32 id, __u32 tid, const void *payload, __u32 len)
{
	struct tsct_trace_event e = {
		.tick = tick, .stream = 1, .location = cpu, .cpu = cpu, .tid = tid,
		.def = tsct_recording_def(&rec, 1, id), .payload = payload, .len = len,
	};

	while (tsct_known_pass(&known, tick))
		;
	tsct_known_run(&known, &e, id == SWITCH, &change);
}

static void note_switch(__u64 tick, __u32 cpu, __s32 prev, __s32 next, const char *comm)
{
	struct { __s32 prev; char comm[16]; __s32 next; } __attribute__((packed)) payload = {
		.prev = prev, .next = next,
	};

	memcpy(payload.comm, comm, strlen(comm));
	note(tick, cpu, SWITCH, (__u32)prev, &payload, sizeof(payload));
}

static void note_call(__u64 tick, __u32 cpu, __u32 tid)
{
	static const __u64 payload[2];

	note(tick, cpu, ENTER, tid, payload, sizeof(payload));
}

#define EXPECT_BEGIN(wanted_tid, by_switch) do {				\
	ck_assert(change.began && change.switched == (by_switch));		\
	ck_assert_uint_eq(change.tid, wanted_tid);				\
} while (0)
#define EXPECT_END(wanted_until, by_switch) do {				\
	ck_assert(change.ended && change.away == (by_switch));			\
	ck_assert_uint_eq(change.until, wanted_until);				\
} while (0)

CASE("running", begin, end);

/* A thread that is not selected is not known to run, nor is the idle thread. */
TEST(test_selected_threads)
{
	start();
	note_switch(100, 0, 20, 10, "ten");
	ck_assert(!change.ended);
	EXPECT_BEGIN(10, true);
	note_switch(200, 0, 10, 20, "twenty");
	EXPECT_END(200, true);
	ck_assert(!change.began);
	note_switch(300, 0, 20, 11, "eleven");
	ck_assert(!change.ended);
	EXPECT_BEGIN(11, true);
	note_switch(400, 0, 11, 0, "swapper/0");
	EXPECT_END(400, true);
	ck_assert(!change.began);
	ck_assert_uint_eq(tsct_known_run_end(&known, 1), UINT64_MAX);
	ck_assert(!known.runs[0].on && !known.runs[1].on);
}

/* A thread that ran before the first switch is known to run from its first event on. */
TEST(test_first_event)
{
	start();
	note_call(50, 0, 10);
	EXPECT_BEGIN(10, false);
	note_call(60, 0, 10);
	ck_assert(!change.began && !change.ended);
	note_switch(100, 0, 10, 20, "twenty");
	EXPECT_END(100, true);
}

/* Events of another thread without a switch: the first one is known to run until its last. */
TEST(test_switch_is_missing)
{
	start();
	note_switch(100, 0, 20, 10, "ten");
	note_call(150, 0, 10);
	note_call(200, 0, 11);
	EXPECT_END(150, false);
	EXPECT_BEGIN(11, false);
	note_switch(300, 0, 10, 20, "twenty");
	EXPECT_END(200, false);
}

TEST(test_all_processes)
{
	request(TSCT_REQUEST_PROCESSES, "all");
	start();
	note_switch(100, 0, 10, 0, "swapper/0");
	EXPECT_BEGIN(0, true);
	note_switch(200, 0, 0, 20, "twenty");	/* as the recorder, not selected */
	EXPECT_END(200, true);
	ck_assert(!change.began);
	ck_assert(!tsct_known_filtered(&rec, 0));
}

/* Nothing is known where switches may be hidden. */
static const struct { enum tsct_requested which; const char *text; __u64 limited; bool hides; }
hiding[] = {
	{ TSCT_REQUEST_WHERE, "next_tid == 10", 0, true },
	{ TSCT_REQUEST_WHERE, "ret < 0", 0, false },
	{ TSCT_REQUEST_RATE_LIMIT, "50", 7, true },
	{ TSCT_REQUEST_RATE_LIMIT, "50", 0, false },
	{ TSCT_REQUEST_CPUS, "0", 0, false },
};

LOOP_TEST(test_hidden_switches, 0, ROWS(hiding))
{
	request(TSCT_REQUEST_PROCESSES, "all");
	request(hiding[_i].which, hiding[_i].text);
	rec.nodes[0].limited = hiding[_i].limited;
	start();
	note_switch(100, 0, 20, 10, "ten");
	ck_assert(change.began != hiding[_i].hides);
	note_call(150, 0, 11);
	ck_assert(change.began != hiding[_i].hides);
	ck_assert(tsct_known_filtered(&rec, 0) == (hiding[_i].limited || _i != 3));
}

TEST(test_names)
{
	const struct tsct_identity_end *hidden;

	request(TSCT_REQUEST_COMM, "ten");
	start();
	note_switch(100, 0, 10, 11, "eleven");
	ck_assert(!change.began);
	note_switch(200, 0, 11, 10, "ten");
	EXPECT_BEGIN(10, true);
	ck_assert_ptr_null(tsct_known_hide(&known, 500));
	hidden = tsct_known_hide(&known, 501);
	ck_assert(hidden && hidden->tid == 12 && hidden->tick == 500);
	ck_assert_ptr_null(tsct_known_hide(&known, UINT64_MAX));
}

/* With --cgroup, only switches from threads of the cgroup are recorded. */
TEST(test_cgroups)
{
	request(TSCT_REQUEST_CGROUP, "/a");
	start();
	note_switch(100, 0, 10, 11, "eleven");
	EXPECT_BEGIN(11, true);
	note_switch(200, 0, 11, 10, "ten");
	EXPECT_END(200, true);
	EXPECT_BEGIN(10, true);
	note_switch(300, 0, 11, 20, "twenty");	/* 10 is not in the cgroup */
	EXPECT_END(200, false);
	ck_assert(!change.began);
	note_switch(400, 0, 11, 10, "ten");
	ck_assert_uint_eq(tsct_known_run_end(&known, 0), 400);
}

TEST(test_killed_recorder)
{
	rec.complete = 0;
	start();
	note_switch(100, 0, 20, 10, "ten");
	note_call(150, 0, 10);
	ck_assert_uint_eq(tsct_known_run_end(&known, 0), 150);
}

/* A thread whose new name --comm does not select runs on, until an unknown time. */
TEST(test_renamed_while_running)
{
	request(TSCT_REQUEST_COMM, "ten");
	start();
	note_switch(100, 0, 20, 12, "ten");
	EXPECT_BEGIN(12, true);
	ck_assert_ptr_nonnull(tsct_known_hide(&known, 501));
	note_call(600, 0, 10);
	EXPECT_END(500, false);
}

/* Two recordings of one node, with a location each */
static void begin_merged(void)
{
	memset(&rec, 0, sizeof(rec));
	ck_assert_int_eq(tsct_recording_make(&rec, 2), 0);
	ck_assert_int_eq(tsct_recording_locate(&rec, 2), 0);
	rec.locations[1] = (struct tsct_location) { .node = 1 };
	rec.nodes[1].same = 1;
	ck_assert_int_eq(tsct_recording_add_stream(&rec, "default"), 0);
	ck_assert_int_eq(tsct_recording_add_stream(&rec, "kernel"), 1);
	rec.streams[1].kernel = rec.merged = rec.complete = 1;
	define(&rec, 1, ENTER, "sys_enter", TSCT_KIND_INSTANT, "id:s64");
	define(&rec, 1, SWITCH, "sched_switch", TSCT_KIND_INSTANT,
	       "prev_tid:s32,next_comm:chars[16],next_tid:s32");
	for (__u32 i = 0; i < 2; i++)
		rec.nodes[i].requests[TSCT_REQUEST_PROCESSES] = strdup("all");
}

CASE("merged", begin_merged, end);

/* Each recorder states which threads it selects. */
TEST(test_other_processes)
{
	request(TSCT_REQUEST_PROCESSES, "10");
	start();
	note_switch(100, 0, 20, 11, "eleven");
	ck_assert(!change.began);
	note_switch(100, 1, 20, 11, "eleven");
	EXPECT_BEGIN(11, true);
	note_switch(200, 0, 11, 10, "ten");
	EXPECT_BEGIN(10, true);
	note_switch(300, 0, 10, 20, "twenty");
	ck_assert(!change.began);
	note_switch(300, 1, 11, 20, "twenty");
	EXPECT_BEGIN(20, true);
	note_switch(400, 1, 20, 10, "ten");
	ck_assert(!change.began);
}

/* The recorder of location 1 may have recorded no switches: only the other one's are known. */
TEST(test_recorder_without_switches)
{
	start();
	note_switch(100, 0, 20, 10, "ten");
	EXPECT_BEGIN(10, true);
	note_call(150, 1, 11);
	ck_assert(!change.began);
	note_switch(200, 0, 10, 20, "twenty");
	EXPECT_END(200, true);
	ck_assert(!change.began && !known.runs[1].on);
	note_switch(300, 1, 20, 0, "swapper/0");
	EXPECT_BEGIN(0, true);
	note_call(400, 1, 11);
	EXPECT_BEGIN(11, false);
}

TEST(test_name_of_another_recorder)
{
	const struct tsct_identity_end *hidden;

	rec.nodes[1].requests[TSCT_REQUEST_COMM] = strdup("ten");
	start();
	hidden = tsct_known_hide(&known, 501);
	ck_assert(hidden && hidden->tid == 12 && hidden->tick == 500);
}

CASE("losses", begin, end);

TEST(test_losses)
{
	struct tsct_trace_event e = { .stream = 1, .tid = 10 };

	start();
	lose(&(struct tsct_loss_time) { .stream = 1, .from = 200, .until = 400, .events = 7 }, 1);
	note_switch(100, 0, 20, 10, "ten");
	note_switch(100, 1, 20, 11, "eleven");
	e.tick = 200;
	ck_assert(tsct_known_end(&known, &e));
	note_call(300, 0, 10);
	EXPECT_END(200, false);
	ck_assert(!change.began);
	e.tick = 300;
	ck_assert(!tsct_known_end(&known, &e));
	note_switch(350, 0, 10, 11, "eleven");
	ck_assert(!change.began && !change.ended);
	note_call(400, 0, 11);
	EXPECT_BEGIN(11, false);
	e.tick = 400;
	ck_assert(tsct_known_end(&known, &e));
	note_switch(450, 1, 11, 20, "twenty");	/* no loss on this CPU */
	EXPECT_END(450, true);
}

/* With --comm, switches to a thread with another name are hidden, also if it has got its name back. */
TEST(test_switches_of_renamed)
{
	request(TSCT_REQUEST_COMM, "ten");
	start();
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
	ck_assert(!tsct_known_switches(&known, 0, &threads[1]));
	ck_assert(!tsct_known_switches(&known, 0, &threads[2]));
	ck_assert(!tsct_known_switches(&known, 0, &threads[3]));
}

/* A loss, or a file without its end, hides how often threads of its node were switched to. */
TEST(test_lost_switches)
{
	start();
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
	lose(&(struct tsct_loss_time) { .stream = 0, .from = 200, .until = 400, .events = 7 }, 1);
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
	known.losses[0].stream = 1;
	ck_assert(!tsct_known_switches(&known, 0, &threads[0]));
	/* behind the end of a file */
	known.losses[0].events = 0;
	ck_assert(!tsct_known_switches(&known, 0, &threads[0]));
	rec.complete = 0;
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
}

/* A merged snapshot: of the overwritten switches, and of those that its recorder hid, nothing is known. */
TEST(test_merged_snapshot)
{
	rec.nodes[0].snapshot = 1;
	start();
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
	tsct_known_free(&known);
	rec.streams[1].ring[0].published_begin = 1;
	start();
	ck_assert(!tsct_known_switches(&known, 0, &threads[0]));
	tsct_known_free(&known);
	rec.streams[1].ring[0].published_begin = 0;
	free(rec.nodes[0].requests[TSCT_REQUEST_PROCESSES]);
	rec.nodes[0].requests[TSCT_REQUEST_PROCESSES] = NULL;
	start();
	ck_assert(!tsct_known_switches(&known, 0, &threads[0]));
	tsct_known_free(&known);
	rec.nodes[0].snapshot = 0;
	request(TSCT_REQUEST_COPIED, "with filters");
	start();
	ck_assert(!tsct_known_switches(&known, 0, &threads[0]));
}

/* After the end of one of the recorders of a merged recording, nothing is known of what it recorded. */
TEST(test_ended_recorder)
{
	struct tsct_location locations[] = { { .node = 0 }, { .node = 1 } };
	struct tsct_spans spans = { .size = sizeof(struct tsct_span), .several = true };
	struct tsct_trace_event e = { .tick = 100 };
	const struct tsct_loss_time *over;

	start();
	lose(&(struct tsct_loss_time) { .stream = 1, .from = 200, .until = UINT64_MAX, .over = true }, 1);
	ck_assert(tsct_known_switches(&known, 0, &threads[0]));
	note_switch(100, 0, 20, 10, "ten");
	EXPECT_BEGIN(10, true);
	ck_assert_ptr_null(tsct_known_pass(&known, 200));
	over = tsct_known_pass(&known, 300);
	ck_assert_ptr_eq(over, &known.losses[0]);
	ck_assert_uint_eq(tsct_known_run_end(&known, 0), 200);
	/* Spans by the other recorder have their ends. */
	known.rec = &(struct tsct_recording) { .locations = locations };
	e.location = 1;
	ck_assert_int_eq(tsct_spans_begin(&spans, 0, 1, &e), 0);
	ck_assert(!tsct_known_hides(&known, over, tsct_span_last(&spans, 0)));
	e.location = 0;
	ck_assert_int_eq(tsct_spans_begin(&spans, 0, 1, &e), 0);
	ck_assert(tsct_known_hides(&known, over, tsct_span_last(&spans, 0)));
	tsct_spans_free(&spans);
	known.rec = &rec;
}

/* Losses and names that hide events pass in the order of their times. */
TEST(test_names_between_losses)
{
	request(TSCT_REQUEST_COMM, "ten");
	start();
	lose((struct tsct_loss_time[]) { { .stream = 1, .from = 500, .until = 550 },
					 { .stream = 1, .from = 501, .until = 550 } }, 2);
	ck_assert_ptr_null(tsct_known_hide(&known, 600));
	ck_assert_ptr_eq(tsct_known_pass(&known, 600), &known.losses[0]);
	ck_assert_ptr_null(tsct_known_pass(&known, 600));
	ck_assert_ptr_nonnull(tsct_known_hide(&known, 600));
	ck_assert_ptr_eq(tsct_known_pass(&known, 600), &known.losses[1]);
	ck_assert_ptr_null(tsct_known_hide(&known, 600));
}

/* With --cpu, a call ends elsewhere, unless its thread stays. */
TEST(test_calls_elsewhere)
{
	struct tsct_trace_event e = { .tick = 100, .stream = 1, .tid = 10 };

	request(TSCT_REQUEST_CPUS, "0");
	start();
	ck_assert(!tsct_known_end(&known, &e));
	note_switch(100, 0, 20, 10, "ten");
	ck_assert(tsct_known_end(&known, &e));
	note_switch(200, 0, 10, 20, "twenty");
	ck_assert(!tsct_known_end(&known, &e));
	e.stream = 0;	/* not an event of the kernel */
	ck_assert(tsct_known_end(&known, &e));
}
