// SPDX-License-Identifier: MIT
/* The trace reader on live recordings: an event is returned as soon as its order is
 * certain. */
#include "drains.h"

#define CPUS	3
#define NEW	18	/* id of an event that is defined while the recording runs */

static struct tsct_trace *trace;
static struct tsct_event event;
static __u8 payload[512];
static char why[256];
static unsigned int reports;

static void report(void *, const char *)
{
	reports++;
}

static void begin_writing(void)
{
	dirfd_ = make_dir();
	make_recording(&rec, CPUS);
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &out), 0);
	event = (struct tsct_event) { .tid = 7, .id = 16, .payload = payload };
	reports = 0;
}

static void open_trace(bool follow)
{
	ck_assert_msg(!tsct_trace_open(dir_name, report, NULL, &trace, why,
				       sizeof(why)), "%s", why);
	if (follow)
		ck_assert_int_eq(tsct_trace_follow(trace, dir_name), 0);
}

static void end_all(void)
{
	tsct_trace_close(trace);
	tsct_recording_writer_close(out);
	tsct_recording_free(&rec);
	drop_dir(dirfd_);
	trace = NULL;
	out = NULL;
}

static void put(__u32 cpu, __u64 after)
{
	event.cpu = cpu;
	event.cycles = rec.begin + after;
	event.len = make_payload(tsct_recording_def(&rec, 0, event.id), payload);
	ck_assert_int_eq(tsct_recording_writer_event(out, 0, &event), 0);
}

static void flush_at(__u64 after)
{
	tsct_recording_writer_settle(out, rec.begin + after);
	ck_assert_int_eq(tsct_recording_writer_flush(out), 0);
}

static int await(void)
{
	sigset_t none;
	int ret;

	sigemptyset(&none);
	ret = tsct_trace_wait(trace, &none, why, sizeof(why));
	ck_assert_msg(ret >= 0, "%d %s", ret, why);
	return ret;
}

/* The events until then are recorded, and reach the reader. */
static void arrive_at(__u64 after)
{
	flush_at(after);
	await();
}

static void expect_event(__u32 cpu, __u64 after)
{
	struct tsct_trace_event e;

	ck_assert_int_eq(tsct_trace_next(trace, &e), 1);
	ck_assert_uint_eq(e.cpu, cpu);
	ck_assert_uint_eq(e.tick, rec.begin + after);
}

static void expect_no_event(int ret)
{
	struct tsct_trace_event e;

	ck_assert_int_eq(tsct_trace_next(trace, &e), ret);
	ck_assert_int_eq(tsct_trace_next(trace, &e), ret);
}

/* ---- order of events ----------------------------------------------------- */

CASE("trace_follow", begin_writing, end_all);

TEST(test_only_settled_events)
{
	open_trace(true);
	expect_no_event(-EAGAIN);
	put(0, 100);
	put(0, 200);
	put(1, 150);
	ck_assert_int_eq(tsct_recording_writer_flush(out), 0);
	expect_no_event(-EAGAIN);		/* no event is returned yet: another
						 * CPU may have earlier events */
	arrive_at(200);
	expect_event(0, 100);
	expect_event(1, 150);
	expect_no_event(-EAGAIN);		/* event at tick 200 is not returned
						 * yet: others may be on that tick */
	put(2, 300);
	put(1, 250);
	arrive_at(251);
	expect_event(0, 200);
	expect_event(1, 250);
	expect_no_event(-EAGAIN);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	ck_assert_int_eq(await(), 1);
	expect_event(2, 300);
	expect_no_event(0);
	ck_assert(tsct_trace_recording(trace)->complete);
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), 0);
	ck_assert_int_eq(faccessat(dirfd_, TSCT_PROGRESS_FILE, F_OK, 0), -1);
}

/* A reader that does not sleep, and a recorder that publishes its progress without events:
 * the reader of several nodes sees that a silent one has passed a time. */
TEST(test_progress_of_idle)
{
	open_trace(true);
	expect_no_event(-EAGAIN);
	put(0, 100);
	flush_at(150);
	ck_assert_int_ge(tsct_trace_poll(trace, why, sizeof(why)), 0);
	expect_event(0, 100);
	expect_no_event(-EAGAIN);
	ck_assert_uint_eq(tsct_trace_settled(trace), rec.begin + 150);
	flush_at(250);
	ck_assert_int_eq(tsct_trace_poll(trace, why, sizeof(why)), -EAGAIN);
	ck_assert_uint_eq(tsct_trace_settled(trace), rec.begin + 150);
	tsct_recording_writer_idle_progress(out);
	flush_at(350);
	ck_assert_int_ge(tsct_trace_poll(trace, why, sizeof(why)), 0);
	ck_assert_uint_eq(tsct_trace_settled(trace), rec.begin + 350);
	ck_assert_int_eq(tsct_trace_poll(trace, why, sizeof(why)), -EAGAIN);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	ck_assert_int_eq(tsct_trace_poll(trace, why, sizeof(why)), 1);
	ck_assert_uint_eq(tsct_trace_settled(trace), UINT64_MAX);
	expect_no_event(0);
}

/* Metadata that is read again adds event definitions. Events returned before that
 * remain valid. */
TEST(test_new_definition)
{
	struct tsct_trace_event first, e;

	open_trace(true);
	put(0, 100);
	arrive_at(150);
	ck_assert_int_eq(tsct_trace_next(trace, &first), 1);
	define(&rec, 0, NEW, "new", TSCT_KIND_SEND, "n:u64");
	tsct_recording_writer_touch(out);
	event.id = NEW;
	put(1, 200);
	flush_at(250);
	ck_assert_int_eq(await(), 1);
	ck_assert_str_eq(first.def->name, "plain");
	ck_assert_int_eq(tsct_trace_next(trace, &e), 1);
	ck_assert_str_eq(e.def->name, "new");
	ck_assert_ptr_eq(e.def, tsct_recording_def(tsct_trace_recording(trace), 0,
						   NEW));
	ck_assert_ptr_eq(first.def, tsct_recording_def(
				 tsct_trace_recording(trace), 0, 16));
	ck_assert_uint_eq(reports, 0);
}

/* ---- end of a recording ------------------------------------------------------ */

/* After the recorder of a recording has died, the remaining events are returned, and
 * then the end. */
TEST(test_dead_recorder)
{
	open_trace(true);
	put(0, 100);
	put(1, 50);
	arrive_at(60);
	expect_event(1, 50);
	expect_no_event(-EAGAIN);
	ck_assert(tsct_trace_is_live(trace));
	tsct_recording_writer_close(out);
	out = NULL;
	await();
	ck_assert(!tsct_trace_is_live(trace));
	expect_event(0, 100);
	expect_no_event(0);
	ck_assert(!tsct_trace_recording(trace)->complete);
	/* A reader that opens the recording later returns the same events. */
	tsct_trace_close(trace);
	open_trace(true);
	expect_no_event(-EAGAIN);
	await();
	expect_event(1, 50);
	expect_event(0, 100);
	expect_no_event(0);
}

/* A partial packet at the end of a live recording is no damage. */
LOOP_TEST(test_partial_packet, 0, 10)
{
	static __u8 file[1 << 20];
	size_t len, whole;

	put(0, 100);
	flush_at(150);
	whole = load_file(dirfd_, "default_0", file, sizeof(file));
	put(0, 160);
	flush_at(200);
	len = load_file(dirfd_, "default_0", file, sizeof(file));
	ck_assert_uint_gt(len, whole + 1);
	store_file(dirfd_, "default_0", file, whole + 1 + any(len - whole - 1));
	open_trace(true);
	await();
	expect_event(0, 100);
	expect_no_event(-EAGAIN);
	ck_assert_uint_eq(reports, 0);
	store_file(dirfd_, "default_0", file, len);
	put(1, 210);
	arrive_at(220);
	expect_event(0, 160);
	expect_event(1, 210);
	ck_assert_uint_eq(reports, 0);
}

/* Invalid bytes after the last packet: reported once; valid packets replace them. */
TEST(test_invalid_bytes_at_end)
{
	static __u8 file[1 << 20];
	size_t len, i;

	put(0, 100);
	put(1, 100);
	flush_at(150);
	len = load_file(dirfd_, "default_0", file, sizeof(file));
	for (i = 0; i < 200; i++)
		file[len + i] = i % 7 ? 0 : any(256);
	store_file(dirfd_, "default_0", file, len + 200);
	open_trace(true);
	await();
	expect_event(0, 100);
	expect_event(1, 100);
	expect_no_event(-EAGAIN);
	put(1, 160);
	arrive_at(200);
	expect_event(1, 160);
	expect_no_event(-EAGAIN);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	await();
	expect_no_event(0);
	ck_assert_uint_ge(reports, 1);
	ck_assert_uint_le(reports, 2);
}

/* ---- random order of writing --------------------------------------------- */

#define MANY	3000

static struct event_copy {
	__u64 stamp;
	__u32 cpu, id;
} followed[MANY];
static unsigned int nr_followed;

static void take_all(__u64 settled)
{
	struct tsct_trace_event e;
	int ret;

	while ((ret = tsct_trace_next(trace, &e)) == 1) {
		ck_assert_uint_lt(e.tick, settled);
		ck_assert_uint_lt(nr_followed, MANY);
		followed[nr_followed++] = (struct event_copy) {
			e.tick, e.cpu, e.def->id
		};
	}
	ck_assert_int_eq(ret, settled == UINT64_MAX ? 0 : -EAGAIN);
}

static void check_whole(void)
{
	struct tsct_trace_event e;
	unsigned int i = 0;

	tsct_trace_close(trace);
	open_trace(false);
	for (; tsct_trace_next(trace, &e) == 1; i++) {
		ck_assert_uint_lt(i, nr_followed);
		ck_assert_uint_eq(e.tick, followed[i].stamp);
		ck_assert_uint_eq(e.cpu, followed[i].cpu);
		ck_assert_uint_eq(e.def->id, followed[i].id);
	}
	ck_assert_uint_eq(i, nr_followed);
	ck_assert_uint_eq(reports, 0);
}

/* Streams in random order: events are returned once their order is certain. */
LOOP_TEST(test_random_order, 0, 5)
{
	__u64 at[CPUS] = { 0 }, settled, last_settled = 0;
	unsigned int n, cpu;

	open_trace(true);
	nr_followed = 0;
	for (n = 0; n < MANY; n++) {
		cpu = any(CPUS);
		at[cpu] += any(50);
		event.id = n > MANY / 2 && !any(3) ? NEW : 16;
		if (n == MANY / 2) {
			define(&rec, 0, NEW, "new", TSCT_KIND_SEND, "n:string");
			tsct_recording_writer_touch(out);
		}
		put(cpu, at[cpu]);
		if (any(40))
			continue;
		settled = at[0];
		for (cpu = 1; cpu < CPUS; cpu++)
			settled = at[cpu] < settled ? at[cpu] : settled;
		flush_at(settled);
		if (settled > last_settled)
			await();
		last_settled = settled;
		take_all(rec.begin + settled);
	}
	ck_assert_uint_gt(nr_followed, MANY / 2);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	await();
	take_all(UINT64_MAX);
	ck_assert_uint_eq(nr_followed, MANY);
	check_whole();
}

/* ---- settled time: the time up to which rings were read completely ------- */

CASE("rings", open_rings, teardown);

TEST(test_settled_time_of_rings)
{
	__u64 now, tick = 0;

	begin();
	ck_assert_int_eq(emit(1), 0);
	pass(UINT64_MAX);
	now = tsct_clock_cycles(clock_);
	/* The rings are empty, so all events are known up to now minus the longest time
	 * that a writer needs to publish, which is 100 ms. */
	ck_assert_uint_lt(tsct_drain_settled(drain), now -
			  (__u64)tsct_clock_ns_to_delta(clock_, 90000000));
	usleep(150000);
	pass(UINT64_MAX);
	ck_assert_uint_ge(tsct_drain_settled(drain), now);
	ck_assert_uint_lt(tsct_drain_settled(drain), tsct_clock_cycles(clock_));
	/* A flush writes the time up to which the recording is complete, for live
	 * readers, if that has grown and an event was recorded since. */
	tsct_recording_writer_settle(out, tsct_drain_settled(drain));
	ck_assert_int_eq(tsct_recording_writer_flush(out), 0);
	ck_assert_int_eq(tsct_trace_progress(dirfd_, &tick), TSCT_PROGRESS_LIVE);
	ck_assert_uint_eq(tick, tsct_drain_settled(drain));
	pass(tsct_clock_cycles(clock_));
	ck_assert_int_eq(emit(2), 0);
	pass(now);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	ck_assert_int_eq(tsct_trace_progress(dirfd_, &tick), TSCT_PROGRESS_NONE);
}
