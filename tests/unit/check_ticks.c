// SPDX-License-Identifier: MIT
/* Recordings of all tick resolutions: events are read as they were written, at the
 * precision of the ticks. Also tests the calls of fsync(). */
#include "lib/clockpage/clock_segments.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/ticks.h"
#include "lib/query/unique_stamps.h"
#include "one_recording.h"

#define CPUS	2
#define EVENTS	3000

static struct sent sent[EVENTS];
static unsigned int nr_sent;

static void begin(__u32 timestamps, __u64 every)
{
	make_in_dir(CPUS);
	rec.timestamps = timestamps;
	rec.sync_every.events = every;
	nr_sent = 0;
	open_writer();
}

static void end(void)
{
	ck_assert_int_eq(finish(writer), 0);
}

static void send_one(__u64 stamp, __u32 id)
{
	struct sent *s = &sent[nr_sent++];

	s->stamp = stamp;
	s->cpu = any(CPUS);
	s->tid = any(4) ? 1000 : any(1 << 22);
	s->id = id;
	ck_assert_int_eq(write_sent(s), 0);
}

/* Returns a random distance between two events, in source ticks: 0, below 40, below
 * 70000, or rarely up to 2^34. So the ticks in event headers have 1, 2, 4 or 8
 * bytes. */
static __u64 step(void)
{
	switch (any(4)) {
	case 0: return 0;
	case 1: return any(40);
	case 2: return any(70000);
	default: return any(50) ? any(1000) : any64() >> 30;
	}
}

static void send_many(unsigned int nr)
{
	__u64 stamp = rec.begin;

	while (nr--) {
		stamp += step();
		send_one(stamp, (__u32[]) { 16, 17, 40 }[any(3)]);
	}
	if (stamp > rec.end)
		rec.end = stamp;
}

/* Returns the next event written on this CPU, in the order of its file. */
static const struct sent *next_of(__u32 cpu, unsigned int *at)
{
	while (at[cpu] < nr_sent && sent[at[cpu]].cpu != cpu)
		at[cpu]++;
	ck_assert_uint_lt(at[cpu], nr_sent);
	return &sent[at[cpu]++];
}

/* Checks an event's time at the precision of ticks, without functions of ticks.c. */
static void check_time(const struct tsct_recording *read, __u64 stamp,
		       const struct tsct_trace_event *e)
{
	static const unsigned int per_tick[] = {
		[TSCT_TIMESTAMPS_TSC] = 1, [TSCT_TIMESTAMPS_TSC_16] = 16,
		[TSCT_TIMESTAMPS_TSC_256] = 256, [TSCT_TIMESTAMPS_SYSTEM] = 1,
		[TSCT_TIMESTAMPS_SYSTEM_16] = 16, [TSCT_TIMESTAMPS_SYSTEM_256] = 256,
	};
	const __u64 system = tsct_clock_params_ns(&rec.real, stamp);
	unsigned int counts;

	switch (read->timestamps) {
	case TSCT_TIMESTAMPS_TSC:
	case TSCT_TIMESTAMPS_TSC_16:
	case TSCT_TIMESTAMPS_TSC_256:
		counts = per_tick[read->timestamps];
		ck_assert_uint_eq(e->tick, stamp / counts * counts);
		ck_assert_uint_eq(e->file_tick, stamp / counts);
		break;
	case TSCT_TIMESTAMPS_INTERPOLATED:
		ck_assert_uint_ge(e->file_tick, stamp * 8);
		ck_assert_uint_eq(e->tick, e->file_tick / 8);
		break;
	case TSCT_TIMESTAMPS_SYSTEM:
	case TSCT_TIMESTAMPS_SYSTEM_16:
	case TSCT_TIMESTAMPS_SYSTEM_256:
		counts = per_tick[read->timestamps];
		ck_assert_uint_eq(e->tick, system / counts * counts);
		ck_assert_uint_eq(e->file_tick, system / counts);
		break;
	case TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED:
		ck_assert_uint_ge(e->file_tick, system * 8);
		ck_assert_uint_eq(e->tick, e->file_tick / 8);
		break;
	default:
		ck_assert_uint_le(e->tick, stamp);
		ck_assert_uint_lt(stamp - e->tick, tsct_recording_uncertainty(read));
	}
}

static void check_same(const struct tsct_recording *read, const struct sent *s,
		       const struct tsct_trace_event *e)
{
	check_time(read, s->stamp, e);
	ck_assert_uint_eq(e->tid, s->tid);
	ck_assert_uint_eq(e->def->id, s->id);
	ck_assert_uint_eq(e->len, s->len);
	ck_assert_mem_eq(e->payload, s->payload, s->len);
}

static void check_read(void)
{
	unsigned int at[CPUS] = { 0 }, nr = 0;
	struct tsct_trace *trace = open_trace(no_report);
	const struct tsct_recording *read = tsct_trace_recording(trace);
	struct tsct_trace_event e;
	__u64 last[CPUS] = { 0 };

	while (tsct_trace_next(trace, &e) == 1) {
		check_same(read, next_of(e.cpu, at), &e);
		if (read->timestamps == TSCT_TIMESTAMPS_INTERPOLATED ||
		    read->timestamps == TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED)
			ck_assert_uint_gt(e.file_tick, last[e.cpu]);
		last[e.cpu] = e.file_tick;
		nr++;
	}
	ck_assert_uint_eq(nr, nr_sent);
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), 0);
	tsct_trace_close(trace);
}

/* Returns the expected value of the metadata's max_per_tick. */
static __u64 most_on_tick(unsigned int bits)
{
	__u64 last[CPUS] = { 0 }, same[CPUS] = { 0 }, most = 0;

	for (unsigned int i = 0; i < nr_sent; i++) {
		__u64 tick = sent[i].stamp >> bits;
		__u32 cpu = sent[i].cpu;

		same[cpu] = tick == last[cpu] ? same[cpu] + 1 : 0;
		last[cpu] = tick;
		if (same[cpu] > most)
			most = same[cpu];
	}
	return most;
}

CASE("ticks", NULL, drop_recording);

LOOP_TEST(test_round_trip, 0, 4 * TSCT_TIMESTAMPS_NR)
{
	const __u32 timestamps = _i % TSCT_TIMESTAMPS_NR;

	begin(timestamps, any(2) ? 0 : 1ULL << any(9));
	send_many(EVENTS);
	end();
	check_read();
	if (timestamps <= TSCT_TIMESTAMPS_TSC_256)
		ck_assert_uint_eq(tsct_recording_max_per_tick(&rec), most_on_tick(
				  -tsct_timestamps_bits(timestamps)));
	if (timestamps >= TSCT_TIMESTAMPS_INTERPOLATED &&
	    !tsct_timestamps_system(timestamps))
		ck_assert_uint_eq(tsct_recording_max_per_tick(&rec), 0);
}

/* A packet ends after the requested number of events. */
LOOP_TEST(test_events_per_packet, 0, 11)
{
	unsigned int i, in_file[CPUS] = { 0 };
	const __u64 every = 1ULL << _i;

	begin(TSCT_TIMESTAMPS_TSC, every);
	send_many(1000);
	end();
	for (i = 0; i < nr_sent; i++)
		in_file[sent[i].cpu]++;
	for (i = 0; i < CPUS; i++)
		ck_assert_uint_eq(rec.streams[0].counts[i].packets,
				  1 + (in_file[i] + every - 1) / every);
	check_read();
}

/* Writes @nr events without a payload to CPU 0, @gap cycles apart, the first at @at.
 * Returns the time at which the next event would follow. */
static __u64 send_plain(__u64 at, unsigned int nr, __u64 gap)
{
	struct tsct_event event = { .cycles = at, .tid = 7, .id = 16 };

	for (; nr--; event.cycles += gap)
		ck_assert_int_eq(tsct_recording_writer_event(writer, 0, &event), 0);
	return rec.end = event.cycles;
}

/* A packet ends when it reaches the requested size, or 64 KiB. The first event has a
 * header of 8 bytes, as it has a thread, and each other event one of 2 bytes. */
LOOP_TEST(test_bytes_per_packet, 0, 8)
{
	static const __u64 limits[] = { 256, 257, 258, 1000, 65535, 65536, 0, 1 << 20 };
	const __u64 limit = limits[_i], full = limit && limit < 65536 ? limit : 65536;
	const __u64 events = 1 + (full - 80 - 8 + 1) / 2;

	make_in_dir(CPUS);
	rec.sync_every.bytes = limit;
	open_writer();
	send_plain(rec.begin, 3 * events + 1, 10);
	end();
	ck_assert_uint_eq(rec.streams[0].counts[0].packets, 1 + 3 + 1);
}

/* The first event that is the requested time after the first event of its packet begins
 * a packet; a flush in between, too. */
LOOP_TEST(test_time_per_packet, 0, TSCT_TIMESTAMPS_NR)
{
	const __u32 timestamps = _i;
	__u64 span, at;

	make_in_dir(CPUS);
	rec.timestamps = timestamps;
	rec.sync_every.ns = 1000000;
	open_writer();
	span = tsct_ns_cycles(rec.real.mult, 1000000);
	/* 10 gaps are `span` or more, and 9 gaps less: a packet has 10 events. */
	at = send_plain(rec.begin, 35, span / 10 + 1);
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	send_plain(at, 15, span / 10 + 1);
	end();
	ck_assert_uint_eq(rec.streams[0].counts[0].packets, 1 + 4 + 2);
	ck_assert_uint_eq(rec.streams[0].counts[0].events, 50);
}

/* ---- reading with other programs ----------------------------------------- */

/* Returns the number of events that the program @reader prints. It must print nothing
 * else. */
static unsigned int count_lines(const char *reader)
{
	char command[256], line[65536];
	unsigned int nr = 0;
	FILE *from;

	snprintf(command, sizeof(command), "%s %s 2>&1", reader, dir_name);
	from = popen(command, "r");
	ck_assert_ptr_nonnull(from);
	while (fgets(line, sizeof(line), from)) {
		ck_assert_msg(strstr(line, "plain: ") != NULL, "%s", line);
		nr++;
	}
	ck_assert_msg(!pclose(from), "%s failed (is it installed?)", reader);
	return nr;
}

LOOP_TEST(test_other_readers, 0, TSCT_TIMESTAMPS_NR)
{
	__u64 stamp;
	int i;

	begin(_i, 64);
	for (stamp = rec.begin, i = 0; i < 500; i++) {
		stamp += step();
		send_one(stamp, 16);
	}
	rec.end = stamp;
	end();
	ck_assert_uint_eq(count_lines("babeltrace2"), nr_sent);
	ck_assert_uint_eq(count_lines("babeltrace"), nr_sent);
}

/* babeltrace2 prints the same times as the library's reader, within their precision. */
LOOP_TEST(test_times_of_babeltrace, 0, TSCT_TIMESTAMPS_NR)
{
	const int bits = tsct_timestamps_bits(_i);
	struct tsct_ctf_clock clock;
	__u64 i, stamp, tick, left;
	__s64 apart;

	make_recording(&rec, 1);
	rec.timestamps = _i;
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), 0);
	for (i = 0; i <= 1000; i++) {
		stamp = rec.begin + (rec.end - rec.begin) / 1000 * i;
		tick = bits < 0 ? stamp >> -bits : stamp << bits;
		apart = tsct_ctf_clock_ns(&clock, tick) -
			tsct_clock_params_ns(&rec.real, stamp);
		left = tsct_clock_params_error_ps(&rec.real, stamp) / 1000 +
			tsct_recording_uncertainty_ns(&rec);
		ck_assert_uint_le((__u64)llabs(apart) + left, (__u64)
				  ((double)clock.precision * 1e9 /
				   (double)clock.freq + 1) +
				  tsct_recording_uncertainty_ns(&rec));
	}
	tsct_recording_free(&rec);
}

/* ---- truncated recordings ------------------------------------------------ */

#define ROOM	(1U << 16)

static __u8 file[ROOM];

/* Reads a truncated recording. The events must be the first ones that were written.
 * Returns the number of events. */
static unsigned int read_prefix(void)
{
	struct tsct_trace *trace = open_trace(report);
	unsigned int at[CPUS] = { 0 }, nr = 0;
	struct tsct_trace_event e;

	while (tsct_trace_next(trace, &e) == 1) {
		check_same(tsct_trace_recording(trace), next_of(e.cpu, at), &e);
		nr += e.cpu == 0;
	}
	tsct_trace_close(trace);
	return nr;
}

/* If a recorder is killed after any byte, all events that are complete before that byte
 * can be read. */
LOOP_TEST(test_truncated_anywhere, 0, TSCT_TIMESTAMPS_NR)
{
	unsigned int nr, before = 0;
	size_t len, at;

	begin(_i, 8);
	send_many(60);
	end();
	len = load_file(dirfd_, "default_0", file, ROOM);
	for (at = 0; at <= len; at++) {
		store_file(dirfd_, "default_0", file, at);
		nr = read_prefix();
		ck_assert_uint_ge(nr, before);
		ck_assert_uint_le(nr, before + 1);
		ck_assert_uint_eq(!reports, at == len);
		before = nr;
	}
}

/* ---- ticks of the system time -------------------------------------------- */

/* If new clock params give earlier times, the recorded time does not decrease. */
TEST(test_system_time_does_not_decrease)
{
	struct tsct_clock_copy clock = { .nr_segments = 0 };
	struct tsct_trace *trace;
	struct tsct_trace_event e;
	const struct tsct_recording *read;
	__u64 stamp, last = 0, nr = 0;

	begin(TSCT_TIMESTAMPS_SYSTEM, 0);
	clock.state.real = rec.real;
	for (int i = 0; i < 2000; i++) {
		stamp = rec.begin + i * 1000000ULL;
		if (i % 500 == 499) {
			clock.state.real.base_ns -= 700;
			tsct_recording_writer_follow(writer, &clock);
		}
		send_one(stamp, 16);
	}
	rec.end = stamp;
	end();
	trace = open_trace(no_report);
	read = tsct_trace_recording(trace);
	ck_assert_uint_eq(read->source, TSCT_SOURCE_REALTIME);
	ck_assert_uint_eq(read->counter_source, TSCT_SOURCE_TSC);
	ck_assert_mem_eq(&read->counter, &rec.real, sizeof(rec.real));
	while (tsct_trace_next(trace, &e) == 1) {
		ck_assert_uint_ge(e.tick, last);
		last = e.tick;
		ck_assert_int_eq(tsct_clock_params_ns(&read->real, e.tick), e.tick);
		nr++;
	}
	ck_assert_uint_eq(nr, nr_sent);
	/* The error that the recording states includes the largest error of all clock
	 * params in force. */
	ck_assert_uint_ge(tsct_recording_error_ns(read, 0, read->end),
			  rec.real.past_error_ps / 1000);
	tsct_trace_close(trace);
}

static void begin_clock(struct tsct_clock_copy *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->state.real = rec.real;
	clock->state.status = TSCT_STATUS_SYNCHRONIZED;
	clock->state.source = TSCT_SOURCE_TSC;
	clock->state.epoch = 1;
}

/* Publishes params that run faster by 500 ppm, from @cycles after the begin of the last ones on. */
static void change_rate(struct tsct_clock_copy *clock, __u64 cycles)
{
	struct tsct_clock_state next = clock->state;

	next.real.base_cycles += cycles;
	next.real.base_ns = tsct_clock_params_ns(&clock->state.real, next.real.base_cycles);
	next.real.as_of_cycles = next.real.base_cycles;
	next.real.mult += next.real.mult / 2000;
	next.real.slew_mult = next.real.mult;
	next.real.slew_cycles = 0;
	tsct_segments_succeed(clock, &next);
}

/* CLOCK_REALTIME is set forward or, if @ns is negative, back: the epoch ends at @end, its last
 * sample. */
static void set_clock(struct tsct_clock_copy *clock, __u64 end, __s64 ns)
{
	struct tsct_clock_state next;

	clock->state.real.as_of_cycles = end;
	next = clock->state;
	next.epoch++;
	next.real.base_cycles = next.epoch_cycles = end + 3000000000;
	next.real.base_ns = tsct_clock_params_ns(&clock->state.real, next.real.base_cycles) + ns;
	next.real.as_of_cycles = next.real.base_cycles;
	tsct_segments_succeed(clock, &next);
}

/* An event that is recorded after new clock params began has the time by those of its moment. */
TEST(test_system_time_of_older_events)
{
	struct tsct_tick_encoder encoder;
	struct tsct_clock_copy clock;
	struct tsct_clock_params first;
	__u64 event, ns;

	make_recording(&rec, CPUS);
	rec.timestamps = TSCT_TIMESTAMPS_SYSTEM;
	tsct_tick_encoder_init(&encoder, &rec);
	first = rec.real;
	event = first.base_cycles + 3000000000;
	ns = tsct_tick_encoder_system(&encoder, event, 0);
	begin_clock(&clock);
	change_rate(&clock, 4000000000);
	change_rate(&clock, 4000000000);
	change_rate(&clock, 4000000000);
	tsct_tick_encoder_follow(&encoder, &clock);
	ck_assert_uint_eq(tsct_tick_encoder_system(&encoder, event, 0), ns);
	event = clock.state.real.base_cycles + 1000000000;
	ck_assert_uint_eq(tsct_tick_encoder_system(&encoder, event, 0),
			  (__u64)tsct_clock_params_ns(&clock.state.real, event));
	tsct_recording_free(&rec);
}

/* Prepares a recording of system time that follows @clock from its start on. */
static void begin_system(struct tsct_tick_encoder *encoder, struct tsct_clock_copy *clock)
{
	make_recording(&rec, CPUS);
	rec.timestamps = TSCT_TIMESTAMPS_SYSTEM;
	begin_clock(clock);
	tsct_tick_encoder_init(encoder, &rec);
	tsct_tick_encoder_follow(encoder, clock);
}

static __u64 stated_error(const struct tsct_tick_encoder *encoder)
{
	struct tsct_tick_figures figures;

	tsct_tick_encoder_describe(encoder, &rec, &figures);
	return figures.rec.real.error_ps;
}

/* A recorder that notices new params late has converted events of their time by the old ones, with
 * the bound of these. */
TEST(test_system_time_of_a_late_reader)
{
	struct tsct_tick_encoder encoder;
	struct tsct_clock_copy clock;
	__u64 event, bound;

	begin_system(&encoder, &clock);
	rec.end = rec.begin;
	event = rec.real.as_of_cycles + 90000000000;
	bound = tsct_clock_params_error_ps(&rec.real, event);
	ck_assert_uint_gt(bound, rec.real.past_error_ps);
	tsct_tick_encoder_system(&encoder, event, 0);
	change_rate(&clock, 4000000000);
	tsct_tick_encoder_follow(&encoder, &clock);
	ck_assert_uint_ge(stated_error(&encoder), bound);
	tsct_recording_free(&rec);
}

/* Prepares a snapshot that begins 1 s after @clock does, in the epoch before the present one. */
static void begin_snapshot(struct tsct_tick_encoder *encoder, struct tsct_clock_copy *clock,
			   __s64 set_by_ns)
{
	make_recording(&rec, CPUS);
	rec.timestamps = TSCT_TIMESTAMPS_SYSTEM;
	begin_clock(clock);
	rec.begin = clock->state.real.base_cycles + 1000000000;
	set_clock(clock, rec.begin + 2000000000, set_by_ns);
	rec.real = clock->state.real;
	rec.end = rec.real.base_cycles + 1000000000;
	tsct_tick_encoder_init(encoder, &rec);
	tsct_tick_encoder_follow(encoder, clock);
}

/* A snapshot has events of earlier epochs: the error bound is unknown. The events of the present
 * epoch have their times, also in files that begin before it, and if the clock was set back. */
LOOP_TEST(test_system_time_of_earlier_epochs, 0, 2)
{
	const __s64 by_ns = _i ? 7000000000 : -7000000000;
	struct tsct_tick_encoder encoder;
	struct tsct_clock_copy clock;
	__u64 first, event;

	begin_snapshot(&encoder, &clock, by_ns);
	/* Samples of the time before the recording have no part in its bound. */
	tsct_tick_encoder_system(&encoder, rec.begin - 1000, 0);
	ck_assert_uint_le(stated_error(&encoder), rec.real.past_error_ps + 100000000);
	first = tsct_tick_encoder_system(&encoder, rec.begin, 0);
	ck_assert_uint_eq(first, (__u64)tsct_clock_params_ns(&rec.real, rec.begin));
	ck_assert_uint_eq(encoder.begin, first);
	ck_assert_uint_eq(stated_error(&encoder), UINT64_MAX);
	event = rec.real.base_cycles + 500000000;
	ck_assert_uint_eq(tsct_tick_encoder_system(&encoder, event, encoder.begin),
			  (__u64)tsct_clock_params_ns(&rec.real, event));
	ck_assert_uint_eq(encoder.stopped_ns, 0);
	tsct_recording_free(&rec);
}

/* Params of another epoch do not follow, as times could go back: the bound is unknown then. */
LOOP_TEST(test_system_time_after_a_disruption, 0, 2)
{
	struct tsct_tick_encoder encoder;
	struct tsct_clock_copy clock;
	const struct tsct_clock_params *real = &rec.real;
	__u64 event;

	begin_system(&encoder, &clock);
	ck_assert_uint_lt(stated_error(&encoder), UINT64_MAX);
	event = real->base_cycles + 4000000000;
	set_clock(&clock, event, -7000000000);
	if (_i)		/* the clock has no params since the disruption */
		clock.state.real.mult = 0;
	ck_assert(tsct_tick_encoder_follow(&encoder, &clock));
	ck_assert(!tsct_tick_encoder_follow(&encoder, &clock));
	event += 4000000000;
	ck_assert_uint_eq(tsct_tick_encoder_system(&encoder, event, 0),
			  (__u64)tsct_clock_params_ns(real, event));
	ck_assert_uint_eq(stated_error(&encoder), UINT64_MAX);
	tsct_recording_free(&rec);
}

/* The error that a recording in system time states includes the skew of the CPUs once: the
 * clock's params include it, unless it is corrected when they are used. */
TEST(test_system_time_with_skew)
{
	struct tsct_tick_encoder encoder;
	struct tsct_tick_figures figures;
	__u64 without, with;

	make_recording(&rec, CPUS);
	rec.timestamps = TSCT_TIMESTAMPS_SYSTEM;
	tsct_tick_encoder_init(&encoder, &rec);
	tsct_tick_encoder_describe(&encoder, &rec, &figures);
	without = tsct_recording_error_ns(&figures.rec, 0, figures.rec.end);
	rec.skew_ns = 340;
	tsct_tick_encoder_describe(&encoder, &rec, &figures);
	ck_assert_uint_eq(tsct_recording_error_ns(&figures.rec, 0, figures.rec.end), without);
	rec.skew_apart = 1;
	tsct_tick_encoder_describe(&encoder, &rec, &figures);
	with = tsct_recording_error_ns(&figures.rec, 0, figures.rec.end);
	ck_assert_uint_eq(with, without + 340);
	tsct_recording_free(&rec);
}

/* Counter values in sync samples convert to the same times as those of events. */
TEST(test_system_time_of_samples)
{
	struct tsct_sync_sample s = {
		.number = 1, .line = { .mult = 1ULL << TSCT_CLOCK_SHIFT },
		.source = "10.0.0.1", .x = { .local_error = 26 },
	}, *read;
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = { .id = TSCT_ID_FIRST, .payload = payload };
	struct tsct_trace *trace;
	unsigned int nr;

	make_in_dir(1);
	rec.timestamps = TSCT_TIMESTAMPS_SYSTEM;
	ck_assert_int_eq(tsct_recording_add_samples(&rec), 0);
	rec.nodes[0].sync.name = strdup("a");
	strcpy(rec.nodes[0].sync.fit, "auto");
	rec.nodes[0].sync.start = (struct tsct_recorded_session) {
		TSCT_SESSION_DONE, rec.begin, rec.begin + 2596123456,
	};
	rec.nodes[0].sync.params = rec.real;
	open_writer();
	s.x.t1 = rec.begin + 1000;
	s.x.t4 = event.cycles = rec.begin + 2596123456;
	event.len = tsct_sample_encode(&s, payload);
	ck_assert_int_eq(tsct_recording_writer_event(writer, rec.nr_streams, &event), 0);
	end();
	trace = open_trace(no_report);
	ck_assert_int_eq(tsct_samples_read(trace, &read, &nr), 0);
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(read->x.t1, tsct_clock_params_ns(&rec.real, s.x.t1));
	ck_assert_uint_eq(read->x.t4, tsct_clock_params_ns(&rec.real, s.x.t4));
	ck_assert_uint_ge(read->x.local_error, 11);
	ck_assert_uint_le(read->x.local_error, 13);
	free(read);
	{
		const struct tsct_recorded_sync *sync =
			&tsct_trace_recording(trace)->nodes[0].sync;
		__s64 apart = tsct_clock_params_ns(&sync->params, sync->start.end) -
			(__s64)sync->start.end;

		ck_assert_uint_eq(sync->start.end,
				  tsct_clock_params_ns(&rec.real, event.cycles));
		ck_assert_int_le(llabs(apart), 2);
	}
	tsct_trace_close(trace);
}

/* ---- unique stamps past 2^51 --------------------------------------------- */

TEST(test_stamps_past_segment_end)
{
	static const struct { __u64 after; unsigned int segment, event; } want[] = {
		{ 0, 0, 0 }, { 0, 0, 1 }, { (1ULL << 51) - 1, 0, 0 },
		{ 1ULL << 51, 1, 0 }, { 1ULL << 51, 1, 1 },
		{ (1ULL << 53) + 5, 4, 0 }, { (1ULL << 53) + 5, 4, 1 },
	};
	struct tsct_unique_stamps unique;
	struct tsct_unique_stamps_item u;
	struct tsct_trace *trace;
	struct tsct_trace_event e;
	unsigned int i, last = 0;

	make_in_dir(CPUS);
	rec.end = rec.begin + (1ULL << 54);
	rec.real.void_after_cycles = rec.real.base_cycles + (1ULL << 60);
	nr_sent = 0;
	open_writer();
	for (i = 0; i < ROWS(want); i++) {
		struct tsct_event event = {
			.cycles = rec.begin + want[i].after, .id = 16,
		};

		ck_assert_int_eq(tsct_recording_writer_event(writer, 0, &event), 0);
	}
	end();
	trace = open_trace(no_report);
	ck_assert_int_eq(tsct_unique_stamps_init(&unique, tsct_trace_recording(trace)),
			 0);
	for (i = 0; tsct_trace_next(trace, &e) == 1; i++) {
		tsct_unique_stamps_next(&unique, &e, &u);
		ck_assert(u.known);
		ck_assert_uint_eq(u.segment, want[i].segment);
		ck_assert_uint_eq(u.begins, want[i].segment != last);
		ck_assert_uint_eq(tsct_stamp_event(u.stamp), want[i].event);
		ck_assert_uint_eq(tsct_stamp_tick(u.stamp),
				  want[i].after % (1ULL << 51));
		ck_assert_uint_eq(u.ns, (__u64)(((tsct_u128)want[i].after *
				  rec.real.mult) >> TSCT_CLOCK_SHIFT));
		last = want[i].segment;
	}
	ck_assert_uint_eq(i, ROWS(want));
	tsct_unique_stamps_free(&unique);
	tsct_trace_close(trace);
}

/* ---- writing to disk ----------------------------------------------------- */

/* Replaces the library's calls of fsync() by a counter. */
static unsigned int fsyncs;

int fsync(int)
{
	fsyncs++;
	return 0;
}

LOOP_TEST(test_fsync_policy, 0, TSCT_FSYNC_NR)
{
	unsigned int meta;

	make_in_dir(CPUS);
	rec.fsync = _i;
	rec.sync_every.events = 16;
	nr_sent = fsyncs = 0;
	open_writer();
	meta = fsyncs;
	send_many(320);
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	if (_i == TSCT_FSYNC_PACKET)
		/* fsync() is called for the metadata, the directory, each packet, and
		 * the directory entry of each new file. */
		ck_assert_uint_ge(fsyncs, 2 + 20 + CPUS);
	else
		ck_assert_uint_eq(fsyncs, meta);
	end();
	if (_i == TSCT_FSYNC_NEVER)
		ck_assert_uint_eq(fsyncs, 0);
	else
		ck_assert_uint_ge(fsyncs, meta + CPUS + 2);
	check_read();
}
