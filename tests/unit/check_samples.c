// SPDX-License-Identifier: MIT
/* Sync samples: writing and reading them, their series, and fits of series */
#include "lib/ctf/samples.h"
#include "lib/query/series.h"
#include "one_recording.h"

/* ---- a recording with sync samples ---------------------------------------- */

#define ROOM	(1U << 18)
#define HZ	2596123456.0

static __u8 file[ROOM];
static size_t file_len;

/* Counter of the other node: 10 ppm fast, with a large offset */
static __u64 truth(__u64 local)
{
	return 77000000000000ULL + local + local / 100000;
}

static void make_sample(unsigned int i, unsigned int session,
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

static void write_sample(const struct tsct_sync_sample *s)
{
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = {
		.cycles = s->stamp, .id = TSCT_ID_FIRST, .payload = payload,
		.len = tsct_sample_encode(s, payload),
	};

	ck_assert_int_eq(tsct_recording_writer_event(writer, rec.nr_streams, &event), 0);
}

static void begin_recording(void)
{
	make_in_dir(2);
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
	open_writer();
}

/* Writes a small recording with samples: two sessions, and single exchanges between
 * them. */
static void make_small(unsigned int nr)
{
	struct tsct_sync_sample s;

	begin_recording();
	for (unsigned int i = 0; i < nr; i++) {
		make_sample(i, i < nr / 4 ? 5 : i >= nr - nr / 4 ? 6 : 0, &s);
		write_sample(&s);
		if (i % 8 == 7)
			ck_assert_int_eq(tsct_recording_writer_flush(writer), 0);
	}
	ck_assert_int_eq(finish(writer), 0);
	file_len = load_file(dirfd_, "sync_0", file, ROOM);
}

static struct tsct_sync_sample *samples;
static unsigned int nr_samples;


static void read_small(struct tsct_recorded_sync *ret_sync)
{
	struct tsct_trace *trace;
	free(samples);
	samples = NULL;
	trace = open_trace(report);
	ck_assert_int_eq(tsct_samples_read(trace, &samples, &nr_samples), 0);
	ck_assert_uint_eq(tsct_trace_corrupt_count(trace), reports);
	if (ret_sync)
		*ret_sync = tsct_trace_recording(trace)->nodes[0].sync;
	tsct_trace_close(trace);
}

CASE("samples", NULL, drop_recording);

TEST(test_round_trip)
{
	struct tsct_sync_sample s;
	struct tsct_recorded_sync sync;

	make_small(100);
	read_small(&sync);
	ck_assert_uint_eq(reports, 0);
	ck_assert_uint_eq(nr_samples, 100);
	seed_with(0);
	for (unsigned int i = 0; i < nr_samples; i++) {
		make_sample(i, i < 25 ? 5 : i >= 75 ? 6 : 0, &s);
		ck_assert_mem_eq(&s, &samples[i], sizeof(s));
	}
	ck_assert_str_eq(sync.fit, "spline");
	ck_assert_uint_eq(sync.node, ~0ULL);
	ck_assert_uint_eq(sync.end.state, TSCT_SESSION_FAILED);
	ck_assert_uint_eq(sync.end.end, 400);
	ck_assert_mem_eq(&sync.params, &rec.real, sizeof(rec.real));
}

/* By default, sync samples are not returned as events, and are not included in event
 * counts. */
TEST(test_samples_are_not_events)
{
	struct tsct_trace_event e;
	struct tsct_balance balance;
	struct tsct_trace *trace;

	make_small(20);
	trace = open_trace(report);
	ck_assert_int_eq(tsct_trace_next(trace, &e), 0);
	tsct_recording_balance(tsct_trace_recording(trace), -1, &balance);
	ck_assert_uint_eq(balance.recorded, 0);
	tsct_trace_close(trace);
	trace = open_trace(report);
	tsct_trace_select(trace, TSCT_TRACE_EVENTS | TSCT_TRACE_SAMPLES);
	ck_assert_int_eq(tsct_trace_next(trace, &e), 1);
	ck_assert_uint_eq(e.stream, rec.nr_streams);
	ck_assert_str_eq(e.def->name, TSCT_SAMPLE_EVENT);
	tsct_trace_close(trace);
}

TEST(test_stream_name)
{
	struct tsct_recording r = { .complete = 0 };

	ck_assert_int_eq(tsct_recording_make(&r, 1), 0);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "early"), -EINVAL);
	ck_assert_int_eq(tsct_recording_locate(&r, 1), 0);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "sync"), 0);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "sync__"), 1);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "sync_"), 2);
	ck_assert_int_eq(tsct_recording_add_samples(&r), 0);
	ck_assert_str_eq(r.streams[3].name, "sync___");
	ck_assert_int_eq(tsct_recording_add_stream(&r, "late"), -EINVAL);
	ck_assert_int_eq(tsct_recording_add_samples(&r), -EINVAL);
	tsct_recording_drop_sync(&r);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "late"), 3);
	tsct_recording_free(&r);
}

/* ---- fits of series ------------------------------------------------------ */

static void check_fit(const struct tsct_series *s, enum tsct_fit_kind kind)
{
	__u64 local = rec.begin, step = 26000000ULL * 12;
	double frac, error, off, error_ns;
	struct tsct_fit fit;
	__u64 remote;
	__s64 ns;

	for (; local <= s->x[s->nr - 1].t4; local += step) {
		ck_assert_int_eq(tsct_series_near(s, kind, HZ, local, &fit), 0);
		remote = tsct_fit_at(&fit, local, &frac, &error);
		off = (double)(__s64)(remote - truth(local)) + frac;
		ck_assert_double_le(off, error);
		ck_assert_double_ge(off, -error);
		ck_assert_double_le(error, 60000);
		/* The reference time is 1 s at the begin of the recording, and runs at
		 * the local counter's rate. */
		ns = tsct_series_time(s, &fit, local, NULL, &error_ns);
		off = (double)(ns - 1000000000) - (double)(__s64)
			(truth(local) - truth(rec.begin)) / HZ * 1e9;
		ck_assert_double_le(off, error_ns + 2);
		ck_assert_double_ge(off, -error_ns - 2);
		tsct_fit_free(&fit);
	}
}

TEST(test_series_fit)
{
	struct tsct_series *series;
	bool keep[100];
	unsigned int nr, k;
	struct tsct_fit fit;

	make_small(100);
	read_small(NULL);
	ck_assert_int_eq(tsct_series_make(samples, nr_samples, &series, &nr), 0);
	ck_assert_uint_eq(nr, 1);
	ck_assert_uint_eq(series->nr, 100);
	ck_assert_uint_eq(series->nr_sessions, 2);
	ck_assert_uint_eq(series->nr_kept, 85);
	for (k = 0; k < TSCT_FIT_NR; k++)
		check_fit(series, k);
	/* A fit of a part of a series: the exchanges that the fit used are reported. */
	ck_assert_int_eq(tsct_series_fit(series, TSCT_FIT_LINEAR, HZ,
					 series->x[10].t1, series->x[49].t1, 0,
					 &fit, keep), 0);
	ck_assert_uint_eq(fit.nr_kept + fit.nr_dropped, 40);
	ck_assert(!keep[9] && !keep[50]);
	for (k = 10, nr = 0; k < 50; k++)
		nr += keep[k];
	ck_assert_uint_eq(nr, fit.nr_kept);
	ck_assert_int_eq(tsct_series_fit(series, TSCT_FIT_AUTO, HZ, 1, 2, 0,
					 &fit, keep), -ENODATA);
	tsct_series_free(series, 1);
}

/* Fit itc uses the sessions since the run began; without one it is linear. Spline uses all. */
TEST(test_series_of_a_run)
{
	struct tsct_series *series;
	unsigned int i, nr, used;
	struct tsct_fit fit;
	bool keep[100];

	make_small(100);
	read_small(NULL);
	ck_assert_int_eq(tsct_series_make(samples, nr_samples, &series, &nr), 0);
	for (i = 0; i < 100; i++)
		series->x[i].session = i / 20 + 1;
	rec.nodes[0].sync.start.begin = series->x[60].t1;
	tsct_series_set_run(series, nr, &rec);
	ck_assert_int_eq(tsct_series_fit(series, TSCT_FIT_ITC, HZ, 0, UINT64_MAX, 0, &fit,
					 keep), 0);
	for (i = used = 0; i < 100; i++) {
		ck_assert(i >= 60 || !keep[i]);
		used += keep[i];
	}
	/* Two sessions of 20, each without a tenth; through two sessions, a straight line */
	ck_assert_uint_eq(used, 36);
	ck_assert_uint_eq(fit.nr_pieces, 1);
	tsct_fit_free(&fit);
	ck_assert_int_eq(tsct_series_near(series, TSCT_FIT_SPLINE, HZ, 0, &fit), 0);
	ck_assert_uint_eq(fit.nr_kept, 90);
	ck_assert_uint_eq(fit.nr_pieces, 6);
	tsct_fit_free(&fit);
	series->run_begin = series->x[99].t1 + 1;
	ck_assert_int_eq(tsct_series_fit(series, TSCT_FIT_ITC, HZ, 0, UINT64_MAX, 0, &fit,
					 keep), 0);
	ck_assert_uint_eq(fit.nr_kept, 90);
	ck_assert_uint_eq(fit.nr_pieces, 1);
	ck_assert_int_eq(fit.kind, TSCT_FIT_ITC);
	tsct_fit_free(&fit);
	tsct_series_free(series, nr);
}

/* Samples of each epoch, node and address form a separate series, in order and without
 * duplicates. */
TEST(test_series_are_separate)
{
	struct tsct_sync_sample s[60];
	struct tsct_series *series;
	unsigned int i, nr;

	make_recording(&rec, 1);
	for (i = 0; i < 60; i++) {
		make_sample(i / 2, 0, &s[i]);
		s[i].node += i % 2;
		s[i].timeline += i >= 40;
	}
	s[7] = s[5];		/* sample 7 duplicates sample 5 */
	s[8].clock_epoch = 2;
	strcpy(s[9].source, "fe80::1");
	ck_assert_int_eq(tsct_series_make(s, 60, &series, &nr), 0);
	ck_assert_uint_eq(nr, 6);
	ck_assert_uint_eq(series[0].nr, 19);
	ck_assert_uint_eq(series[1].nr, 18);
	ck_assert_uint_eq(series[2].nr, 1);
	ck_assert_uint_eq(series[3].nr, 1);
	ck_assert_str_eq(series[3].source, "fe80::1");
	ck_assert_uint_eq(series[4].nr, 10);
	ck_assert_uint_eq(series[5].timeline, 10);
	for (i = 1; i < series[0].nr; i++)
		ck_assert_uint_gt(series[0].x[i].t1, series[0].x[i - 1].t1);
	tsct_series_free(series, nr);
	ck_assert_int_eq(tsct_series_make(NULL, 0, &series, &nr), 0);
	ck_assert_uint_eq(nr, 0);
	tsct_series_free(series, nr);
	tsct_recording_free(&rec);
}

/* ---- hostile samples --------------------------------------------------- */

static __u8 bad[ROOM];

/* Computes fits and times from all samples that were read, for the sanitizers. */
static void use_samples(void)
{
	static struct tsct_fit fit;
	struct tsct_series *series;
	unsigned int i, nr, k;
	double error;

	ck_assert_int_eq(tsct_series_make(samples, nr_samples, &series, &nr), 0);
	for (i = 0; i < nr; i++)
		for (k = 0; k < TSCT_FIT_NR; k++)
			if (!tsct_series_near(&series[i], k, HZ, rec.begin,
					      &fit)) {
				tsct_series_time(&series[i], &fit, rec.end,
						 NULL, &error);
				tsct_fit_free(&fit);
			}
	tsct_series_free(series, nr);
}

TEST(test_truncated_samples)
{
	unsigned int last = 0;

	make_small(12);
	for (size_t len = 0; len < file_len; len++) {
		store_file(dirfd_, "sync_0", file, len);
		read_small(NULL);
		ck_assert_uint_ge(nr_samples, last);
		ck_assert_uint_le(nr_samples, 12);
		ck_assert_uint_ge(reports, 1);
		ck_assert_ptr_nonnull(strstr(reported, "stream sync_0: "));
		last = nr_samples;
	}
}

LOOP_TEST(test_random_changes, 0, 4)
{
	make_small(24);
	for (unsigned int i = 0; i < 400; i++) {
		memcpy(bad, file, file_len);
		for (unsigned int k = 0; k <= any(3); k++)
			bad[any(file_len)] ^= 1U << any(8);
		store_file(dirfd_, "sync_0", bad, file_len);
		read_small(NULL);
		use_samples();
	}
}

/* Functions that make well-formed samples with impossible values */
static void answered_early(struct tsct_sync_sample *s) { s->x.t4 = s->x.t1 - 1; }
static void sent_early(struct tsct_sync_sample *s) { s->x.t3 = s->x.t2 - 1; }
static void no_flag(struct tsct_sync_sample *s) { s->kept = 2; }
static void no_status(struct tsct_sync_sample *s) { s->status = TSCT_STATUS_NR; }
static void too_deep(struct tsct_sync_sample *s) { s->depth = 16; }
static void no_rate(struct tsct_sync_sample *s) { s->line.mult = 0; }
static void too_fast(struct tsct_sync_sample *s) { s->line.mult = TSCT_NS_MULT / 101; }
static void too_slow(struct tsct_sync_sample *s) { s->line.mult = TSCT_NS_MULT * 101; }
static void no_bound(struct tsct_sync_sample *s) { s->line.growth = ~0ULL; }
static void negative(struct tsct_sync_sample *s) { s->line.mult = (__u64)-1; }
static void no_name(struct tsct_sync_sample *s) { s->source[0] = '\0'; }

static const struct {
	const char *what;
	void (*change)(struct tsct_sync_sample *s);
} impossible[] = {
	{ "answer received before its request was sent", answered_early },
	{ "request answered before it was received", sent_early },
	{ "value of fitted, kept or has_line is neither 0 nor 1", no_flag },
	{ "unknown status", no_status },
	{ "too many hops from the master", too_deep },
	{ "counter of rate 0", no_rate },
	{ "impossible rate of the counter", too_fast },
	{ "impossible rate of the counter", too_slow },
	{ "impossible rate of the counter", negative },
	{ "error bound grows too fast", no_bound },
	{ "source without a valid name", no_name },
};

#define NR_IMPOSSIBLE ROWS(impossible)

LOOP_TEST(test_impossible_samples, 0, NR_IMPOSSIBLE)
{
	struct tsct_sync_sample s;
	char wanted[256];

	begin_recording();
	for (unsigned int i = 0; i < 3; i++) {
		make_sample(i, 0, &s);
		if (i == 1)
			impossible[_i].change(&s);
		write_sample(&s);
	}
	ck_assert_int_eq(finish(writer), 0);
	read_small(NULL);
	/* The position reported for the bad sample: after an empty packet, a packet
	 * header and a sample */
	snprintf(wanted, sizeof(wanted), "stream sync_0: event at byte %zu: %s;"
		 " skipped", 2 * 80 + 8 + (size_t)tsct_sample_encode(
		 &s, bad), impossible[_i].what);
	ck_assert_str_eq(reported, wanted);
	ck_assert_uint_eq(reports, 1);
	ck_assert_uint_eq(nr_samples, 2);
}

/* Each sample has another source. With more than TSCT_SERIES_MAX sources, grouping
 * would take too long, and fails. */
TEST(test_too_many_sources)
{
	static struct tsct_sync_sample s[TSCT_SERIES_MAX + 1];
	struct tsct_series *series;
	unsigned int i, nr;

	make_recording(&rec, 1);
	for (i = 0; i <= TSCT_SERIES_MAX; i++) {
		make_sample(i, 0, &s[i]);
		s[i].node = i + 1;
	}
	ck_assert_int_eq(tsct_series_make(s, TSCT_SERIES_MAX, &series, &nr), 0);
	ck_assert_uint_eq(nr, TSCT_SERIES_MAX);
	tsct_series_free(series, nr);
	ck_assert_int_eq(tsct_series_make(s, TSCT_SERIES_MAX + 1, &series, &nr),
			 -E2BIG);
	ck_assert_ptr_null(series);
	tsct_recording_free(&rec);
}

/* ---- samples in metadata ------------------------------------------------- */

static const struct {
	const char *from, *to, *why;
} metadata[] = {
	{ "sync_stream = \"sync\"", "sync_stream = \"../sync\"",
	  "sync_stream: malformed" },
	{ "sync_stream = \"sync\"", "sync_strean = \"sync\"", "out of order" },
	{ "sync_fields = \"number:u64", "sync_fields = \"number:u32",
	  "another version" },
	{ "sync_fit = \"spline\"", "sync_fit = \"a-very-long-name-of-it\"",
	  "sync_fit: malformed" },
	{ "sync_state = \"role=0", "sync_state = \"role=3", "malformed" },
	{ "sync_start = \"state=1", "sync_start = \"state=4", "malformed" },
	{ "begin=300 end=400", "begin=400 end=300", "sync_end: impossible value" },
	{ "sync_holds = \"lost=0", "sync_holds = \"lost=-1", "malformed" },
	{ "clock_cluster = \"base_ns=", "clock_cluster = \"base_nr=",
	  "malformed" },
	{ "\tsync_fields = ", "\tsync_felds = ", "sync_fields is missing" },
	{ "\tclock_cluster = \"", "\tclock_cluster = \"base_ns=0 base_tsc=0"
	  " mult=1 slew_mult=0 slew_tsc=0 as_of_tsc=0 error_ps=0 growth=0"
	  " past_error_ps=0 hold_after_tsc=0 hold_growth=0 void_after_tsc=0\";\n"
	  "\tsync_x = \"",
	  "clock_cluster: impossible value" },
};

#define NR_METADATA ROWS(metadata)

LOOP_TEST(test_metadata, 0, NR_METADATA)
{
	struct tsct_trace *trace;
	char *text = (char *)bad, *at, why[256] = "";
	size_t len, rest;

	make_small(4);
	len = load_file(dirfd_, "metadata", file, ROOM);
	file[len] = '\0';
	at = strstr((char *)file, metadata[_i].from);
	ck_assert_ptr_nonnull(at);
	rest = (size_t)(at - (char *)file);
	snprintf(text, ROOM, "%.*s%s%s", (int)rest, (char *)file,
		 metadata[_i].to, at + strlen(metadata[_i].from));
	store_file(dirfd_, "metadata", bad, strlen(text));
	ck_assert_int_eq(tsct_trace_open(dir_name, report, NULL, &trace, why,
					 sizeof(why)), -EINVAL);
	ck_assert_msg(strstr(why, metadata[_i].why), "%s", why);
}
