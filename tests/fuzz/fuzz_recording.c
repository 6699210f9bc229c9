// SPDX-License-Identifier: MIT
/*
 * Fuzzer of all readers of recordings, for libFuzzer (Makefile) and for
 * check_fuzz_recording, which replays the corpus. recording_box.h describes the input.
 *
 * Checked for any contents of a recording's directory:
 *   - An unreadable recording gives an error with a text.
 *   - Metadata that was read is written as text that parses to the same metadata.
 *   - Each event has a definition and fits it, lies at its reported offset of its file,
 *     and is in order. The slow path of the reader returns the same events.
 *   - The count of damaged places equals the number of reports of damage. Events are
 *     missing if and only if there is damage.
 *   - Fits, times and messages can be computed from the results.
 *   - Merging gives either a recording for which all this holds, with all events in
 *     order, or an error with a text.
 */
#include <math.h>

#include "lib/core/event_def.h"
#include "lib/clockpage/clock_params.h"
#include "fuzz.h"
#include "lib/query/message_match.h"
#include "lib/ctf/samples.h"
#include "lib/ctf/ticks.h"
#include "recording_box.c"
#include "lib/query/series.h"

#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			report_failure(#condition, __LINE__); \
	} while (0)

static char report_text[512];		/* text of the last error or report of damage */

__attribute__((noreturn))
static void report_failure(const char *what, int line)
{
	fprintf(stderr, "fuzz_recording:%d: does not hold: %s; last report: %s\n",
		line, what, report_text);
	abort();
}

static void count_report(void *arg, const char *sentence)
{
	HOLDS(!strncmp(sentence, "stream ", 7) && strlen(sentence) > 20);
	snprintf(report_text, sizeof(report_text), "%s", sentence);
	++*(__u64 *)arg;
}

/* ---- metadata ------------------------------------------------------------ */

static char *as_text(const struct tsct_recording *rec, size_t *ret_len)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, ret_len);

	HOLDS(to && !tsct_meta_write(rec, to) && !fclose(to));
	return text;
}

/* Metadata that was read is written as text that must parse to the same metadata. */
static void check_metadata(const struct tsct_recording *rec)
{
	struct tsct_ctf_clock clock;
	struct tsct_recording again;
	size_t len, len_again;
	char *text, *text_again;

	if (tsct_ctf_clock(rec, &clock))
		return;
	HOLDS(clock.freq && clock.offset < clock.freq && clock.precision);
	text = as_text(rec, &len);
	HOLDS(!tsct_meta_parse(text, len, &again, report_text, sizeof(report_text)));
	text_again = as_text(&again, &len_again);
	HOLDS(len == len_again && !memcmp(text, text_again, len));
	tsct_recording_free(&again);
	free(text);
	free(text_again);
}

static void check_times(const struct tsct_recording *rec)
{
	const __u64 stamps[] = { 0, rec->begin, rec->real.as_of_cycles, rec->end,
				 UINT64_MAX };
	struct tsct_error_cursor cursor = { .piece = 0 };
	struct tsct_ctf_clock clock;
	struct tsct_balance balance;
	struct tsct_loss loss;

	for (unsigned int i = 0; i < 5; i++) {
		tsct_clock_params_ns(&rec->real, stamps[i]);
		tsct_clock_params_error_ps(&rec->real, stamps[i]);
		HOLDS(tsct_recording_error_at(rec, &cursor, rec->nr_nodes - 1, stamps[i]) ==
		      tsct_recording_error_ns(rec, rec->nr_nodes - 1, stamps[i]));
		if (!tsct_ctf_clock(rec, &clock))
			tsct_ctf_clock_ns(&clock, stamps[i]);
	}
	tsct_recording_balance(rec, -1, &balance);
	tsct_recording_loss(rec, -1, &loss);
	tsct_recording_lossy(rec);
	tsct_recording_max_per_tick(rec);
	HOLDS(tsct_recording_last_cpu(rec) < TSCT_CPUS_MAX);
	HOLDS(!tsct_recording_is_whole(rec) || rec->complete);
	for (unsigned int i = 0; i < rec->nr_nodes; i++) {
		HOLDS(tsct_recording_node_name(rec, i));
		HOLDS(tsct_recording_error_ns(rec, i, rec->end) <=
		      tsct_recording_worst_ns(rec, rec->end));
	}
}

#include "recording_events.c"
#include "recording_merge.c"

/* ---- clock samples ------------------------------------------------------- */

static void check_fit(const struct tsct_series *s, enum tsct_fit_kind kind,
		      __u64 at)
{
	double frac, error;
	static struct tsct_fit fit;

	if (tsct_series_near(s, kind, 2.6e9, at, &fit))
		return;
	HOLDS(fit.nr_pieces && fit.nr_pieces <= s->nr + 1);
	HOLDS(fit.nr_kept && fit.kind != TSCT_FIT_AUTO);
	tsct_fit_at(&fit, at, &frac, &error);
	HOLDS(frac >= 0 && frac < 1 && error >= 0);
	tsct_series_time(s, &fit, at, &frac, &error);
	HOLDS(frac >= 0 && frac < 1 && error >= 0);
	tsct_fit_free(&fit);
}

static void check_series(const struct tsct_series *s)
{
	enum tsct_fit_kind kind;

	HOLDS(s->nr && s->nr_kept <= s->nr && s->nr_sessions <= s->nr);
	/* Times of successive samples increase, modulo 2^64. */
	for (unsigned int i = 1; i < s->nr; i++)
		HOLDS(s->x[i - 1].t1 - s->x[0].t1 < s->x[i].t1 - s->x[0].t1);
	for (kind = 0; kind < TSCT_FIT_NR; kind++)
		check_fit(s, kind, s->x[s->nr / 2].t4);
}

static void check_samples(const struct box *box)
{
	struct tsct_sync_sample *samples = NULL;
	struct tsct_series *series = NULL;
	unsigned int nr = 0, nr_series = 0, sum = 0, i;
	struct tsct_trace *trace;
	__u64 reports = 0;
	char why[512];

	HOLDS(!tsct_trace_open(box->dir, count_report, &reports, &trace, why,
			       sizeof(why)));
	HOLDS(!tsct_samples_read(trace, &samples, &nr));
	HOLDS(reports == tsct_trace_corrupt_count(trace));
	if (!tsct_series_make(samples, nr, &series, &nr_series)) {
		for (i = 0; i < nr_series; i++) {
			check_series(&series[i]);
			sum += series[i].nr;
		}
		HOLDS(sum <= nr && !nr == !nr_series);
		tsct_series_free(series, nr_series);
	}
	free(samples);
	tsct_trace_close(trace);
}

/* ---- messages ---------------------------------------------------------------- */

static void put_message(struct tsct_message_matcher *m,
			const struct tsct_recording *rec,
			const struct tsct_trace_event *e)
{
	const bool is_send = e->def->kind == TSCT_KIND_SEND;
	const __u64 pool = tsct_message_pool(e->def->name, 1U << TSCT_KIND_SEND |
					     1U << TSCT_KIND_RECEIVE);
	const struct tsct_message_end end = {
		.tick = e->tick, .node = e->node,
		.error = tsct_recording_error_ns(rec, e->node, e->tick),
		.own_ns = tsct_clock_params_ns(&rec->real, e->tick),
	};
	const __u64 key = tsct_message_key(e, pool);

	if (!tsct_message_is_end(e->def))
		return;
	if (!key)
		tsct_message_unnumbered(m, is_send);
	else if (is_send)
		tsct_message_sent(m, key, &end);
	else
		tsct_message_received(m, key, &end);
}

static void check_messages(const struct box *box)
{
	const struct tsct_messages_options options = { .room = 16 };
	struct tsct_message_stats result = { 0 };
	struct tsct_message_matcher *m;
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	char why[512];

	HOLDS(!tsct_message_matcher_new(&options, &m));
	HOLDS(!tsct_trace_open(box->dir, NULL, NULL, &trace, why, sizeof(why)));
	while (tsct_trace_next(trace, &e) == 1)
		put_message(m, tsct_trace_recording(trace), &e);
	tsct_message_finish(m, &result);
	HOLDS(result.all.matched + result.unmatched_sends == result.sends);
	HOLDS(result.all.matched + result.unmatched_receives ==
	      result.receives);
	HOLDS(result.all.within + result.all.beyond <= result.all.matched);
	free(result.pairs);
	tsct_message_matcher_free(m);
	tsct_trace_close(trace);
}

/* ---- one recording ------------------------------------------------------- */

static bool has_messages(const struct tsct_recording *rec)
{
	for (__u32 i = 0; i < rec->nr_streams; i++)
		for (__u32 j = 0; j < rec->streams[i].nr_defs; j++)
			if (rec->streams[i].defs[j] &&
			    tsct_message_is_end(rec->streams[i].defs[j]))
				return true;
	return false;
}

static void check_recording(const struct box *box)
{
	struct tsct_trace *trace;
	__u64 reports = 0;
	char why[512] = "";
	int err;

	err = tsct_trace_open(box->dir, count_report, &reports, &trace, why,
			      sizeof(why));
	if (err) {
		HOLDS(err == -ENOMSG || err == -EINVAL);
		HOLDS(strlen(why) > 10);
		return;
	}
	HOLDS(box->known && !reports);
	check_metadata(&box->rec);
	check_times(&box->rec);
	check_trace(box, trace, &reports);
	check_lines(box, box->bytes % (TSCT_EVENT_TEXT_UNIQUE + 1));
	if (!box->rec.complete)
		check_followed(box);
	if (tsct_recording_has_samples(&box->rec))
		check_samples(box);
	if (has_messages(&box->rec))
		check_messages(box);
	tsct_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	unsigned int options, nr = make_boxes(bytes, size, &options), i;

	report_text[0] = '\0';
	for (i = 0; i < nr; i++)
		check_recording(&boxes[i]);
	if (options & MERGE)
		check_merge(nr, options);
	drop_boxes(nr);
	return 0;
}
