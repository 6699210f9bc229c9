// SPDX-License-Identifier: MIT
/* Sync samples: writing and reading them, their series, and fits of series */
#include "samples_world.h"

TEST(test_round_trip)
{
	struct tsct_sync_sample s;
	struct tsct_recorded_sync sync;
	unsigned int i;

	make_small(100);
	read_small(&sync);
	ck_assert_uint_eq(reports, 0);
	ck_assert_uint_eq(nr_samples, 100);
	seed_with(0);
	for (i = 0; i < nr_samples; i++) {
		make_sample(i, i < 25 ? 5 : i >= 75 ? 6 : 0, &s);
		ck_assert_mem_eq(&s, &samples[i], sizeof(s));
	}
	ck_assert_str_eq(sync.fit, "spline");
	ck_assert_uint_eq(sync.node, ~0ULL);
	ck_assert_uint_eq(sync.end.state, TSCT_SESSION_FAILED);
	ck_assert_uint_eq(sync.end.end, 400);
	ck_assert_mem_eq(&sync.params, &rec.real, sizeof(rec.real));
	drop_small();
}

/* By default, sync samples are not returned as events, and are not included in event
 * counts. */
TEST(test_samples_are_not_events)
{
	struct tsct_trace_event e;
	struct tsct_balance balance;
	struct tsct_trace *trace;
	char why[256];

	make_small(20);
	ck_assert_int_eq(tsct_trace_open(dir_name, report, NULL, &trace, why,
					 sizeof(why)), 0);
	ck_assert_int_eq(tsct_trace_next(trace, &e), 0);
	tsct_recording_balance(tsct_trace_recording(trace), -1, &balance);
	ck_assert_uint_eq(balance.recorded, 0);
	tsct_trace_close(trace);
	ck_assert_int_eq(tsct_trace_open(dir_name, report, NULL, &trace, why,
					 sizeof(why)), 0);
	tsct_trace_select(trace, TSCT_TRACE_EVENTS | TSCT_TRACE_SAMPLES);
	ck_assert_int_eq(tsct_trace_next(trace, &e), 1);
	ck_assert_uint_eq(e.stream, rec.nr_streams);
	ck_assert_str_eq(e.def->name, TSCT_SAMPLE_EVENT);
	tsct_trace_close(trace);
	drop_small();
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
	drop_small();
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
