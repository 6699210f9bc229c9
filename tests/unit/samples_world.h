/* SPDX-License-Identifier: MIT */
/* Makes a recording with sync samples, and reads it. */
#ifndef TESTS_SAMPLES_WORLD_H
#define TESTS_SAMPLES_WORLD_H

#include "recordings.h"
#include "lib/ctf/samples.h"
#include "lib/query/series.h"

#define ROOM	(1U << 18)
#define HZ	2596123456.0

static struct tsct_recording rec;
static int dirfd_ = -1;
static __u8 file[ROOM];
static size_t file_len;

/* Counter of the other node: 10 ppm fast, with a large offset */
static inline __u64 truth(__u64 local)
{
	return 77000000000000ULL + local + local / 100000;
}

static inline void make_sample(unsigned int i, unsigned int session,
			struct tsct_sync_sample *s)
{
	const __u64 t = rec.begin + i * 26000000ULL;

	*s = (struct tsct_sync_sample) {
		.number = i + 1, .stamp = t + 200000,
		.x = { .t1 = t, .t2 = truth(t + 20000 + any(9000)),
		       .t4 = t + 60000, .local_error = 100,
		       .remote_error = 100, .session = session,
		       .flags = TSCT_EXCHANGE_T1_KERNEL },
		.fitted = 1, .kept = i % 7 != 0, .node = 0xfedcba9876543210,
		.host = 5, .master = 0xfedcba9876543210, .timeline = 9,
		.status = TSCT_STATUS_SYNCHRONIZED, .has_line = 1,
		.line = { .base = truth(rec.begin), .base_ns = 1000000000,
			  .mult = rec.real.mult, .as_of = truth(rec.begin) },
		.clock_epoch = 1, .cluster_epoch = 2,
	};
	s->x.t3 = truth(t + 32000 + any(9000));
	strcpy(s->source, "10.0.0.1");
}

static inline int write_sample(struct tsct_recording_writer *writer,
			const struct tsct_sync_sample *s)
{
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = {
		.cycles = s->stamp, .id = TSCT_ID_FIRST, .payload = payload,
		.len = tsct_sample_encode(s, payload),
	};

	return tsct_recording_writer_event(writer, rec.nr_streams, &event);
}

static inline void begin_recording(void)
{
	dirfd_ = make_dir();
	make_recording(&rec, 2);
	ck_assert_int_eq(tsct_recording_add_samples(&rec), 0);
	ck_assert_uint_eq(rec.nr_streams, 2);
	rec.nodes[0].sync.name = strdup("beta \"7\"");
	strcpy(rec.nodes[0].sync.fit, "spline");
	rec.nodes[0].sync.role = TSCT_SYNC_CHILD;
	rec.nodes[0].sync.node = ~0ULL;
	rec.nodes[0].sync.timeline = 9;
	rec.nodes[0].sync.start = (struct tsct_recorded_session) {
		TSCT_SESSION_DONE, 100, 200 };
	rec.nodes[0].sync.end = (struct tsct_recorded_session) {
		TSCT_SESSION_FAILED, 300, 400 };
	rec.nodes[0].sync.params = rec.real;
}

/* Writes a small recording with samples: two sessions, and single exchanges between
 * them. */
static inline void make_small(unsigned int nr)
{
	struct tsct_sync_sample s;
	struct tsct_recording_writer *writer;
	unsigned int i;

	begin_recording();
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &writer), 0);
	for (i = 0; i < nr; i++) {
		make_sample(i, i < nr / 4 ? 5 : i >= nr - nr / 4 ? 6 : 0, &s);
		ck_assert_int_eq(write_sample(writer, &s), 0);
		if (i % 8 == 7)
			ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	file_len = load_file(dirfd_, "sync_0", file, ROOM);
}

static inline void drop_small(void)
{
	tsct_recording_free(&rec);
	drop_dir(dirfd_);
	dirfd_ = -1;
}

static struct tsct_sync_sample *samples;
static unsigned int nr_samples, reports;
static char reported[256];

static inline void report(void *arg, const char *sentence)
{
	(void)arg;
	if (!reports++)
		snprintf(reported, sizeof(reported), "%s", sentence);
}

static inline void read_small(struct tsct_recorded_sync *ret_sync)
{
	struct tsct_trace *trace;
	char why[256];

	reports = 0;
	reported[0] = '\0';
	free(samples);
	samples = NULL;
	ck_assert_msg(!tsct_trace_open(dir_name, report, NULL, &trace, why,
				       sizeof(why)), "%s", why);
	ck_assert_int_eq(tsct_samples_read(trace, &samples, &nr_samples), 0);
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), reports);
	if (ret_sync)
		*ret_sync = tsct_trace_recording(trace)->nodes[0].sync;
	tsct_trace_close(trace);
}

#endif /* TESTS_SAMPLES_WORLD_H */
