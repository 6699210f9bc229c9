// SPDX-License-Identifier: MIT
/* Sync samples with damaged or hostile contents */
#include "samples_world.h"

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
	size_t len;

	make_small(12);
	for (len = 0; len < file_len; len++) {
		store_file(dirfd_, "sync_0", file, len);
		read_small(NULL);
		ck_assert_uint_ge(nr_samples, last);
		ck_assert_uint_le(nr_samples, 12);
		ck_assert_uint_ge(reports, 1);
		ck_assert_ptr_nonnull(strstr(reported, "stream sync_0: "));
		last = nr_samples;
	}
	drop_small();
}

LOOP_TEST(test_random_changes, 0, 4)
{
	unsigned int i, k;

	make_small(24);
	for (i = 0; i < 400; i++) {
		memcpy(bad, file, file_len);
		for (k = 0; k <= any(3); k++)
			bad[any(file_len)] ^= 1U << any(8);
		store_file(dirfd_, "sync_0", bad, file_len);
		read_small(NULL);
		use_samples();
	}
	drop_small();
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

#define NR_IMPOSSIBLE (sizeof(impossible) / sizeof(impossible[0]))

LOOP_TEST(test_impossible_samples, 0, NR_IMPOSSIBLE)
{
	struct tsct_sync_sample s;
	struct tsct_recording_writer *writer;
	char wanted[256];
	unsigned int i;

	begin_recording();
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &writer), 0);
	for (i = 0; i < 3; i++) {
		make_sample(i, 0, &s);
		if (i == 1)
			impossible[_i].change(&s);
		ck_assert_int_eq(write_sample(writer, &s), 0);
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
	drop_small();
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

#define NR_METADATA (sizeof(metadata) / sizeof(metadata[0]))

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
	drop_small();
}
