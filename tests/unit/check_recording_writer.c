// SPDX-License-Identifier: MIT
/* Writes recordings and reads them back, with the library's reader and babeltrace2. */
#include "lib/ctf/recording.h"
#include "lib/ctf/ticks.h"
#include "one_recording.h"

#include <sys/mount.h>
#include <sys/resource.h>

#define CPUS		3
#define EVENTS_MAX	64000	/* number of events that fills the disk even if they
				 * have no payload */
#define EVENTS_ROUND	8000

static struct sent *sent;
static unsigned int nr_sent;

static void begin(void)
{
	make_in_dir(CPUS);
	sent = calloc(EVENTS_MAX, sizeof(*sent));
	nr_sent = 0;
	open_writer();
}

static void end(void)
{
	free(sent);
	sent = NULL;
	drop_recording();
}

static const struct { __u32 stream, id; } kinds[] = {
	{ 0, 16 }, { 0, 17 }, { 0, 40 }, { 1, 16 },
};

static int send_one(__u64 stamp)
{
	struct sent *s = &sent[nr_sent++];
	unsigned int kind = any(4);

	s->stamp = stamp;
	s->cpu = any(CPUS);
	s->tid = any(100000);
	s->stream = kinds[kind].stream;
	s->id = kinds[kind].id;
	return write_sent(s);
}

static void send_many(unsigned int nr)
{
	__u64 stamp = rec.begin;

	while (nr--) {
		stamp += any(3) ? any(1000000) : 0;
		ck_assert_int_eq(send_one(stamp), 0);
		if (!any(200))
			ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	}
}

/* Returns whether the event that was read was also written, and was not read before. */
static bool take(const struct tsct_trace_event *e)
{
	struct sent *s;

	for (unsigned int i = 0; i < nr_sent; i++) {
		s = &sent[i];
		if (!s->seen && s->stamp == e->tick && s->cpu == e->cpu &&
		    s->tid == e->tid && s->stream == e->stream &&
		    s->id == e->def->id && s->len == e->len &&
		    !memcmp(s->payload, e->payload, e->len))
			return s->seen = true;
	}
	return false;
}

static unsigned int read_all(bool compare)
{
	struct tsct_trace *trace = open_trace(no_report);
	struct tsct_trace_event e;
	unsigned int nr = 0;
	__u64 last = 0;

	while (tsct_trace_next(trace, &e) == 1) {
		nr++;
		ck_assert_uint_ge(e.tick, last);
		last = e.tick;
		ck_assert(!compare || take(&e));
	}
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), 0);
	tsct_trace_close(trace);
	return nr;
}

/* Returns the number of events that babeltrace2 reads. @quiet: babeltrace2 must print
 * no messages */
static unsigned int babeltrace(bool quiet)
{
	char command[512];
	unsigned int nr = 0;
	struct stat st;
	FILE *from;

	snprintf(command, sizeof(command), "exec 2>%s.err; babeltrace2 %s"
		 " >/dev/null && babeltrace2 %s -c sink.utils.counter",
		 dir_name, dir_name, dir_name);
	from = popen(command, "r");
	ck_assert_ptr_nonnull(from);
	while (fgets(command, sizeof(command), from))
		if (strstr(command, " Event message"))
			nr = atoi(command);
	ck_assert_msg(pclose(from) == 0, "babeltrace2 failed (is it installed?)");
	snprintf(command, sizeof(command), "%s.err", dir_name);
	ck_assert_int_eq(stat(command, &st), 0);
	if (quiet)
		ck_assert_msg(st.st_size == 0, "babeltrace2 printed messages to stderr");
	unlink(command);
	return nr;
}

CASE("recording_writer", NULL, end);

/* The library's reader and babeltrace2 read as many events as were written. */
LOOP_TEST(test_round_trip, 0, 12)
{
	unsigned int nr;

	begin();
	nr = any(_i < 3 ? 20 : EVENTS_ROUND);
	send_many(nr);
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(read_all(true), nr);
	ck_assert_uint_eq(babeltrace(true), nr);
	ck_assert(!tsct_recording_lossy(&rec));
}

static char *metadata_text(const struct tsct_recording *r, size_t *len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, len);

	ck_assert_int_eq(tsct_meta_write(r, to), 0);
	fclose(to);
	return text;
}

/* Metadata that was parsed is written as the same text again. */
TEST(test_metadata_round_trip)
{
	struct tsct_recording again;
	size_t len, len2;
	char *text, *text2, why[256] = "";

	make_recording(&rec, CPUS);
	for (int i = 0; i < TSCT_LOSS_NR; i++)
		rec.streams[i % 2].loss[i % CPUS].cause[i] = 1ULL << (3 * i);
	rec.complete = 1;
	rec.nodes[0].provider_gone = 1;
	rec.nodes[0].statedump_lost = 90;
	rec.nodes[0].untracked = 91;
	rec.nodes[0].missed = 92;
	rec.nodes[0].unmoved = 1;
	rec.epoch = 7;
	rec.streams[0].lost_no_ring = 9;
	rec.streams[1].counts[2] = (struct tsct_file_counts) { 3, 12345, 2 };
	rec.streams[1].ring[2] = (struct tsct_ring_figures) { 1ULL << 60,
		(1ULL << 60) + 12345, 17 };
	rec.snapshot = 1;
	rec.skew_ns = 345;
	rec.timestamps = TSCT_TIMESTAMPS_TSC_256;
	rec.fsync = TSCT_FSYNC_PACKET;
	rec.sync_every = (struct tsct_packet_limits) { 1024, 4096, 5000000 };
	rec.counter = rec.real;
	rec.nodes[0].cpu_model = strdup("Some CPU (R) \"x\"");
	for (int i = 0; i < TSCT_REQUEST_NR; i += 2)
		ck_assert_int_gt(asprintf(&rec.nodes[0].requests[i], "%.*s 'a \"b'", i,
					  "events"), 0);
	rec.nodes[0].limited = 85350;
	rec.nodes[0].limited_events = strdup("sys_read/begin 85350");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(tsct_recording_add_cpu(&rec.nodes[0], &(struct
				 tsct_recorded_cpu) { 2 * i, i != 1, 1, 2, 3 }), 0);
		ck_assert_int_eq(tsct_recording_add_segment(&rec, &(struct
				 tsct_clock_segment) { .base_cycles = i, .mult = 7,
				 .base_ns = -i, .epoch = 3 }), 0);
	}
	ck_assert_int_eq(tsct_recording_add_cpu(&rec.nodes[0], &(struct
			 tsct_recorded_cpu) { 4, 1, 0, 0, 0 }), -EINVAL);
	text = metadata_text(&rec, &len);
	ck_assert_msg(!tsct_meta_parse(text, len, &again, why, sizeof(why)),
		      "%s", why);
	ck_assert_str_eq(again.nodes[0].command, rec.nodes[0].command);
	ck_assert_uint_eq(again.nodes[0].statedump_lost, 90);
	ck_assert_uint_eq(again.nodes[0].untracked, 91);
	ck_assert_uint_eq(again.nodes[0].missed, 92);
	ck_assert_uint_eq(again.nodes[0].unmoved, 1);
	ck_assert_uint_eq(again.snapshot, 1);
	ck_assert_uint_eq(again.skew_ns, 345);
	ck_assert_uint_eq(again.timestamps, TSCT_TIMESTAMPS_TSC_256);
	ck_assert_uint_eq(again.fsync, TSCT_FSYNC_PACKET);
	ck_assert_mem_eq(&again.sync_every, &rec.sync_every, sizeof(rec.sync_every));
	ck_assert_str_eq(again.nodes[0].cpu_model, rec.nodes[0].cpu_model);
	for (int i = 0; i < TSCT_REQUEST_NR; i++) {
		if (i % 2)
			ck_assert_ptr_null(again.nodes[0].requests[i]);
		else
			ck_assert_str_eq(again.nodes[0].requests[i], rec.nodes[0].requests[i]);
	}
	ck_assert_uint_eq(again.nodes[0].limited, 85350);
	ck_assert_str_eq(again.nodes[0].limited_events, "sys_read/begin 85350");
	ck_assert_uint_eq(again.nodes[0].nr_cpus, 3);
	ck_assert_uint_eq(again.nodes[0].cpus[1].online, 0);
	ck_assert_mem_eq(&again.nodes[0].cpus[2], &rec.nodes[0].cpus[2],
			 sizeof(struct tsct_recorded_cpu));
	ck_assert_uint_eq(again.nr_segments, 3);
	ck_assert_mem_eq(&again.segments[2], &rec.segments[2],
			 sizeof(struct tsct_clock_segment));
	ck_assert_mem_eq(&again.streams[1].ring[2], &rec.streams[1].ring[2],
			 sizeof(struct tsct_ring_figures));
	ck_assert(tsct_recording_lossy(&again));
	text2 = metadata_text(&again, &len2);
	ck_assert_str_eq(text, text2);
	free(text);
	free(text2);
	tsct_recording_free(&again);
	tsct_recording_free(&rec);
}

/* Host names that contain any bytes */
LOOP_TEST(test_hostile_names, 0, 6)
{
	char name[64];

	seed_with(1000 + _i);
	begin();
	for (int i = 0; i < 63; i++)
		name[i] = _i % 2 ? (char)(any(255) + 1) :
			"\"\\\n}{;*/ \t\r?%"[any(13)];
	name[63] = '\0';
	free(rec.nodes[0].host);
	rec.nodes[0].host = strdup(name);
	tsct_recording_writer_touch(writer);
	send_many(5);
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(read_all(true), 5);
	ck_assert_uint_eq(babeltrace(true), 5);
}

/* The clock that the CTF metadata defines gives the calibrated time within the
 * precision that it states. */
LOOP_TEST(test_clock_of_tsc, 0, 50)
{
	struct tsct_ctf_clock clock;
	__s64 apart;
	__u64 at, i;

	make_recording(&rec, 1);
	rec.real.mult += _i * 12345;
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), 0);
	ck_assert_uint_lt(clock.offset, clock.freq);
	for (i = 0; i <= 100; i++) {
		at = rec.begin + (rec.end - rec.begin) / 100 * i;
		apart = tsct_ctf_clock_ns(&clock, at) -
			tsct_clock_params_ns(&rec.real, at);
		ck_assert_uint_le(llabs(apart) * 2.6, clock.precision);
	}
	at = rec.real.as_of_cycles;
	apart = tsct_ctf_clock_ns(&clock, at) - tsct_clock_params_ns(&rec.real, at);
	ck_assert_int_le(llabs(apart), 1);
	/* A clock frequency that is rounded by half a Hz causes an error of at most 2
	 * ns after 10 s, within the bound. */
	ck_assert_uint_lt(clock.precision, 2.6 * 1600);
	tsct_recording_free(&rec);
}

/* For a source in ns, the clock frequency in the metadata is 1 GHz if that adds at most
 * 1 us to the error bound. */
TEST(test_clock_in_ns)
{
	struct tsct_ctf_clock clock;

	make_recording(&rec, 1);
	rec.source = TSCT_SOURCE_MONOTONIC_RAW;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), 0);
	ck_assert_uint_eq(clock.freq, 1000000000);
	/* A rate error of 40 ppm causes an error of a millisecond after 26 s, which is
	 * too inaccurate. */
	rec.real.mult += (1ULL << TSCT_CLOCK_SHIFT) / 25000;
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), 0);
	ck_assert_uint_ne(clock.freq, 1000000000);
	ck_assert_uint_lt(clock.precision, 4000);
	rec.real.mult = 0;
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), -EINVAL);
	tsct_recording_free(&rec);
}

static int send_raw(__u32 id, __u64 stamp, const void *payload, __u32 len)
{
	struct tsct_event event = {
		.cycles = stamp, .id = id, .len = len, .payload = payload,
	};

	return tsct_recording_writer_event(writer, 0, &event);
}

/* Invalid events are counted by cause, and do not affect other events. */
TEST(test_refuses_invalid_events)
{
	const __u64 *cause = NULL;
	__u8 payload[65520];

	memset(payload, 'x', sizeof(payload));
	begin();
	cause = rec.streams[0].loss[0].cause;
	ck_assert_int_eq(send_raw(16, rec.begin - 2600, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_DISORDER], 1);
	ck_assert_int_eq(send_raw(16, rec.begin + 10, "", 0), 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 10 - 2600, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_DISORDER], 2);
	ck_assert_int_eq(send_raw(16, rec.begin + 11, "x", 1), 0);
	ck_assert_int_eq(send_raw(40, rec.begin + 11, payload, 65512), 0);
	ck_assert_int_eq(send_raw(40, rec.begin + 11, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_MALFORMED], 3);
	ck_assert_int_eq(send_raw(15, rec.begin + 11, "", 0), 0);
	ck_assert_int_eq(send_raw(0, rec.begin + 11, "", 0), 0);
	ck_assert_int_eq(send_raw(65535, rec.begin + 11, "", 0), 0);
	ck_assert_int_eq(send_raw(18, rec.begin + 11, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_UNDEFINED], 4);
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(read_all(false), 1);
	ck_assert_uint_eq(babeltrace(false), 1);
	ck_assert(tsct_recording_lossy(&rec));
}

/* Events that are late by less than 1 us get the time of the event before them. */
TEST(test_late_events_are_raised)
{
	struct tsct_trace_event event;
	struct tsct_trace *trace;
	const __u64 *cause;

	begin();
	cause = rec.streams[0].loss[0].cause;
	ck_assert_int_eq(send_raw(16, rec.begin - 2590, "", 0), 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 10000, "", 0), 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 7410, "", 0), 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 9999, "", 0), 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 10001, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_DISORDER], 0);
	ck_assert_int_eq(send_raw(16, rec.begin + 7400, "", 0), 0);
	ck_assert_uint_eq(cause[TSCT_LOSS_DISORDER], 1);
	ck_assert_int_eq(finish(writer), 0);
	trace = open_trace(NULL);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 1);
	ck_assert_uint_eq(event.tick, rec.begin);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 1);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 1);
	ck_assert_uint_eq(event.tick, rec.begin + 10000);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 1);
	ck_assert_uint_eq(event.tick, rec.begin + 10000);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 1);
	ck_assert_int_eq(tsct_trace_next(trace, &event), 0);
	tsct_trace_close(trace);
}

/* Writes the largest record that fits a ring, between smaller records. */
TEST(test_largest_record)
{
	__u8 payload[65512];

	memset(payload, 'x', sizeof(payload));
	payload[sizeof(payload) - 1] = '\0';
	begin();
	define(&rec, 0, 50, "large", TSCT_KIND_INSTANT, "text:string");
	tsct_recording_writer_touch(writer);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(send_raw(16, rec.begin + i, "", 0), 0);
		ck_assert_int_eq(send_raw(50, rec.begin + i, payload,
					  sizeof(payload)), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(read_all(false), 20);
	ck_assert_uint_eq(babeltrace(true), 20);
}

/* At any moment, the metadata on disk defines every event on disk. */
TEST(test_definitions_before_events)
{
	char name[16];

	begin();
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "late_%d", i);
		define(&rec, 0, 100 + i, name, TSCT_KIND_INSTANT, "");
		tsct_recording_writer_touch(writer);
		ck_assert_int_eq(send_raw(100 + i, rec.begin + i, "", 0), 0);
		ck_assert_uint_eq(read_all(false), i);
		ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
		ck_assert_uint_eq(read_all(false), i + 1);
	}
	ck_assert_int_eq(finish(writer), 0);
}

/* On a full disk, earlier packets stay complete, and other events count as lost. */
static void fill_disk(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	__u64 stamp = rec.begin, total;
	struct tsct_loss loss;
	unsigned int kept;
	int err = 0, err2;

	while (!err && nr_sent < EVENTS_MAX - 1)
		err = send_one(stamp += 100);
	send_one(stamp + 1);
	/* No assertion before this line, because libcheck would write it to a file, and
	 * exceed the file size limit. */
	err2 = finish(writer);
	setrlimit(RLIMIT_FSIZE, &unlimited);
	ck_assert_int_ne(err, 0);
	ck_assert_int_eq(err2, err);
	kept = read_all(true);
	ck_assert_uint_gt(kept, 0);
	tsct_recording_loss(&rec, -1, &loss);
	total = kept + loss.cause[TSCT_LOSS_UNWRITTEN];
	ck_assert_uint_eq(total, nr_sent);
	ck_assert_uint_eq(babeltrace(false), kept);
}

TEST(test_file_size_limit)
{
	struct rlimit limit = { 100000, RLIM_INFINITY };

	signal(SIGXFSZ, SIG_IGN);
	begin();
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill_disk();
}

TEST(test_full_disk)
{
	char command[128];

	begin();
	ck_assert_int_eq(finish(writer), 0);
	if (mount("none", dir_name, "tmpfs", 0, "size=300k")) {
		/* Without root privilege no tmpfs can be mounted.
		 * test_file_size_limit() also lets writes of the recording fail. */
		ck_assert_int_eq(errno, EPERM);
		return;
	}
	close(dirfd_);
	dirfd_ = open(dir_name, O_RDONLY | O_DIRECTORY);
	rec.complete = 0;
	open_writer();
	fill_disk();
	close(dirfd_);
	snprintf(command, sizeof(command), "%s", dir_name);
	ck_assert_int_eq(umount(command), 0);
	dirfd_ = open(dir_name, O_RDONLY | O_DIRECTORY);
}

/* Metadata that cannot be written loses nothing, unless it must precede an event. */
TEST(test_metadata_that_fails)
{
	begin();
	for (unsigned int i = 1; i <= 20; i++) {
		ck_assert_int_eq(send_one(rec.begin + i * 10000), 0);
		if (i != 10)
			continue;
		ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
		ck_assert_int_eq(mkdirat(dirfd_, ".metadata.tmp", 0700), 0);
		tsct_recording_writer_touch(writer);
		rec.streams[0].loss[0].cause[TSCT_LOSS_FULL] = 1;
		ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
		ck_assert_int_eq(unlinkat(dirfd_, ".metadata.tmp", AT_REMOVEDIR), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(read_all(true), 20);
}

/* Losses after the last event are recorded in packets without events. */
TEST(test_losses_after_last_event)
{
	struct tsct_trace_event e;
	struct tsct_trace *trace;

	begin();
	ck_assert_int_eq(send_raw(16, rec.begin + 10, "", 0), 0);
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	rec.streams[0].loss[0].cause[TSCT_LOSS_FULL] = 41;
	rec.streams[1].loss[2].cause[TSCT_LOSS_NESTED] = 1;
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	/* The recording is not finished, as if its recorder had been killed. */
	trace = open_trace(no_report);
	ck_assert_int_eq(tsct_trace_recording(trace)->complete, 0);
	while (tsct_trace_next(trace, &e) == 1)
		;
	ck_assert_uint_eq(tsct_trace_discarded(trace), 42);
	tsct_trace_close(trace);
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_uint_eq(babeltrace(false), 1);
	/* A missing stream file is detected even if it contained no events. */
	ck_assert_int_eq(unlinkat(dirfd_, "kernel_2", 0), 0);
	trace = open_trace(NULL);
	while (tsct_trace_next(trace, &e) == 1)
		;
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), 1);
	tsct_trace_close(trace);
}

/* If a recorder is killed, the last metadata that it wrote is valid, and the recording
 * ends with the last event in its files. CTF readers that do not know our metadata keys
 * use the clock's `precision` as the error bound. This bound holds until the time at
 * which the next metadata was due. */
LOOP_TEST(test_killed_recorder, 0, TSCT_TIMESTAMPS_NR)
{
	struct tsct_ctf_clock clock;
	struct tsct_trace *trace;
	const struct tsct_recording *r;
	__u64 last, worst;

	begin();
	rec.end = rec.begin;
	rec.timestamps = _i;
	tsct_recording_writer_close(writer);
	open_writer();
	rec.real.as_of_cycles = rec.end = rec.begin + 1000;
	rec.real.holdover_after_cycles = rec.end;
	rec.until = rec.end + 26000000000ULL;
	tsct_recording_writer_renew(writer);
	send_many(5000);
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	tsct_recording_writer_close(writer);
	last = sent[nr_sent - 1].stamp;
	ck_assert_uint_lt(last, rec.until);
	trace = open_trace(no_report);
	r = tsct_trace_recording(trace);
	ck_assert_int_eq(r->complete, 0);
	if (!tsct_timestamps_system(_i)) {
		ck_assert_uint_eq(r->real.as_of_cycles, rec.real.as_of_cycles);
		ck_assert_uint_le(r->end, last);
		ck_assert_uint_ge(r->end + 255, last);
	}
	worst = tsct_recording_worst_ns(r, r->end);
	ck_assert_uint_gt(worst, tsct_recording_error_ns(r, 0, r->begin));
	tsct_trace_close(trace);
	ck_assert_int_eq(tsct_ctf_clock(&rec, &clock), 0);
	ck_assert_uint_ge(clock.precision * 1000000000.0 / clock.freq,
			  tsct_clock_params_error_ps(&rec.real, rec.until) / 1000);
}

/* A damaged end time in a packet does not extend the recording. */
TEST(test_killed_recorder_damaged_packet)
{
	struct tsct_packet head;
	struct tsct_trace *trace;
	int fd;

	begin();
	ck_assert_int_eq(send_raw(16, rec.begin + 10, "", 0), 0);
	ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	tsct_recording_writer_close(writer);
	fd = openat(dirfd_, "default_0", O_RDWR);
	ck_assert_int_eq(pread(fd, &head, sizeof(head), sizeof(head)),
			 sizeof(head));
	head.end |= 1ULL << 60;
	ck_assert_int_eq(pwrite(fd, &head, sizeof(head), sizeof(head)),
			 sizeof(head));
	close(fd);
	trace = open_trace(NULL);
	ck_assert_uint_eq(tsct_trace_recording(trace)->end, rec.end);
	tsct_trace_close(trace);
}

/* If writing fails at any byte of the metadata, the error is returned. */
LOOP_TEST(test_metadata_write_errors, 0, 2)
{
	static char buffer[1 << 16];
	FILE *to = fopen("/dev/full", "w");

	begin();
	ck_assert_ptr_nonnull(to);
	setvbuf(to, buffer, _IOFBF, _i ? 100 : sizeof(buffer));
	ck_assert_int_eq(tsct_meta_write(&rec, to), _i ? -ENOSPC : 0);
	fclose(to);
	ck_assert_int_eq(finish(writer), 0);
}
