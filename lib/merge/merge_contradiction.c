// SPDX-License-Identifier: MIT
/*
 * Finds sync samples that contradict each other, or the clock of the recording that
 * they are in: a fit of such samples has a bound that does not hold. Finds recordings of
 * one boot whose clocks contradict each other.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/ctf/ticks.h"
#include "merge_private.h"

/*
 * Largest part of the exchanges that may contradict a fit, 1 / OUTLIERS: fits drop up
 * to that many as single wrong packet times. Where more contradict, a counter
 * changed.
 */
#define OUTLIERS	20
/*
 * Largest ratio of the rate of a counter by the samples to its rate by the recording's
 * clock, or the other way round: both clocks may be slewed by 10 % (adjtimex(2), tick).
 */
#define RATE_RATIO	1.25
/* Time by which a sample may be after the end of its session or recording, s */
#define LATE_S		1

/*
 * Returns true if a packet of an exchange arrived before it was sent, by a fit and by
 * more than the fit's error bound. An exchange with a negative round trip contradicts
 * itself, not the other exchanges: fits ignore such an exchange.
 */
static bool contradicts(const struct tsct_fit *fit, const struct tsct_exchange *x)
{
	const double rate = tsct_fit_rate(fit, x->t1);
	const double slack = x->remote_error + x->local_error * rate + 1;
	double frac, error;
	__u64 at = tsct_fit_at(fit, x->t1, &frac, &error);

	if (tsct_exchange_rtt(x, rate) * rate < -2 * slack)
		return false;
	if ((double)(__s64)(at - x->t2) + frac > error + slack)
		return true;
	at = tsct_fit_at(fit, x->t4, &frac, &error);
	return (double)(__s64)(x->t3 - at) - frac > error + slack;
}

/*
 * Fits exchanges @from to @from + @nr - 1 of a series, and returns true if too many
 * of them contradict the fit, or the fit contradicts the rate of the recording's
 * clock. The fit of kind hull has the bound that follows from causality alone.
 */
static bool window_contradicts(const struct tsct_series *s, double hz,
			       unsigned int from, unsigned int nr)
{
	const struct tsct_exchange *x = s->x + from;
	unsigned int i, outliers = 0;
	double ratio, rate_error;
	struct tsct_fit fit;
	bool wrong_rate;

	if (tsct_series_fit(s, TSCT_FIT_HULL, hz, x[0].t1, x[nr - 1].t1,
			    x[nr / 2].t1, &fit, NULL))
		return false;	/* the fit of the merge fails, too */
	/* A fit over a short time may have any rate within its error. */
	ratio = tsct_fit_rate(&fit, fit.at) * tsct_series_ns(s) * hz * 1e-9;
	rate_error = fit.rate_error * tsct_series_ns(s) * hz * 1e-9;
	wrong_rate = ratio - rate_error > RATE_RATIO || ratio + rate_error < 1 / RATE_RATIO;
	for (i = 0; i < nr && !wrong_rate; i++)
		outliers += contradicts(&fit, &x[i]);
	tsct_fit_free(&fit);
	return wrong_rate || outliers > (nr < 4 ? 0 : nr / OUTLIERS + 1);
}

/* Examines windows that overlap by half: a change of a counter is in the inner part of
 * one of two windows. */
static bool series_contradicts(const struct tsct_series *s, double hz)
{
	const unsigned int step = TSCT_SERIES_NEAR / 2;
	unsigned int from = 0;

	for (; s->nr > from + TSCT_SERIES_NEAR; from += step)
		if (window_contradicts(s, hz, from, TSCT_SERIES_NEAR))
			return true;
	return s->nr && window_contradicts(s, hz, from, s->nr - from);
}

/* Returns true if a session of the recording has a sample, as each successful session
 * of a child with a master has. */
static bool has_sample_of(const struct merge_in *in,
			  const struct tsct_recorded_session *session)
{
	const __u64 late = (__u64)(LATE_S * in->hz);
	const struct tsct_series *s;
	unsigned int i, k;

	for (k = 0; k < in->nr_series; k++) {
		s = &in->series[k];
		for (i = 0; i < s->nr; i++)
			if ((__s64)(s->x[i].t4 - session->begin) >= 0 &&
			    (__s64)(session->end + late - s->x[i].t1) >= 0)
				return true;
	}
	return false;
}

/* Returns true if the samples are all that the recording ever had: a killed recorder did
 * not write the last samples, and a damaged file lacks some. */
static bool has_all_samples(const struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;

	return rec->complete && !tsct_recording_samples_lost(rec) &&
		in->nr_samples == tsct_recording_samples_class(rec)->counts[0].events;
}

static const char *find_foreign(const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);
	const __u64 late = (__u64)(LATE_S * in->hz);
	/* The session at the end, or the last request for samples without one, is after
	 * the last event. */
	const __u64 end = sync->end.end > in->end ? sync->end.end : in->end;
	const struct tsct_series *s;
	unsigned int i;

	for (i = 0; i < in->nr_series; i++) {
		s = &in->series[i];
		/* In an earlier epoch, the counter may have had higher values. */
		if (s->nr && in->rec->complete &&
		    s->clock_epoch == in->rec->epoch &&
		    (__s64)(s->x[s->nr - 1].t4 - end - late) > 0)
			return "has sync samples of a time after its end: they are of"
				" another recording";
	}
	if (sync->role == TSCT_SYNC_CHILD && sync->master && !in->mpi_sync.on &&
	    has_all_samples(in) &&
	    ((sync->start.state == TSCT_SESSION_DONE &&
	      !has_sample_of(in, &sync->start)) ||
	     (sync->end.state == TSCT_SESSION_DONE && !has_sample_of(in, &sync->end))))
		return "has no sync samples of its sessions: they are of another"
			" recording";
	return NULL;
}

void merge_find_contradiction(struct merge_in *in)
{
	struct tsct_series *s;
	unsigned int i;

	/* With --timestamps system, samples have other ticks than the recording, which
	 * is refused. */
	if ((!tsct_recording_has_samples(in->rec) && !in->nr_series) ||
	    in->rec->counter.mult)
		return;
	in->foreign_samples = find_foreign(in);
	for (i = 0; i < in->nr_series; i++) {
		s = &in->series[i];
		if (series_contradicts(s, in->hz)) {
			in->contradictory = true;
			in->emptied[i] = true;
			s->nr = 0;
		}
	}
}

void merge_drop_contradiction(struct merge_in *in)
{
	unsigned int i;

	for (i = 0; i < in->nr_series; i++)
		if (in->emptied[i])
			in->series[i].nr = 0;
}

/* ---- the clocks of recordings of one boot ----------------------------------------- */

/* Growth of the bound of a clock that is not read, ppb, if the recording states less: PHI
 * of RFC 5905 */
#define DRIFT_PPB	15000
/*
 * Between two recordings, an NTP daemon may have removed an offset of CLOCK_REALTIME. It
 * slews by at most 500 ppm, which may begin after the first recording, or end before the
 * second one, so the lines of both may be off by that: 1000 ppm. It steps the clock if the
 * offset is above 128 ms (STEPT of RFC 5905).
 */
#define SLEW_PPB	1000000
#define SLEW_MAX_NS	128e6
/* Time before the end of a recording in which its clock may not have been read, ns */
#define UNREAD_NS	1e9

/* The straight clock of a recording */
struct straight_clock {
	__u8 boot_id[16];
	__u32 source;		/* counter of the clock, TSCT_SOURCE_* */
	__u32 input;
	__u64 begin;		/* first tick: the first one of the recording's last epoch */
	__u64 end;
	double hz;
	double error_ns;	/* bound of the clock in these ticks */
	double growth_ppb;	/* growth of the bound where the clock is not read */
	struct tsct_clock_params real;
};

static __u64 line_begin(const struct merge_in *in)
{
	const __u64 base = in->rec->real.base_cycles;

	return merge_was_disrupted(in->rec) && base > in->begin && base < in->end ?
		base : in->begin;
}

static int list_line(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_clock_params *real = &in->rec->real;
	struct straight_clock line = {
		.source = in->rec->source, .input = in->index, .begin = line_begin(in),
		.end = in->end, .hz = in->hz, .real = *real,
		.growth_ppb = fmax((double)tsct_growth_ppb(real->mult, real->holdover_growth),
				   DRIFT_PPB),
	};

	if (in->rec->merged || in->rec->counter.mult)
		return 0;
	memcpy(line.boot_id, in->rec->nodes[0].boot_id, sizeof(line.boot_id));
	line.error_ns = fmax((double)tsct_clock_params_error_ps(real, line.begin),
			     (double)tsct_clock_params_error_ps(real, line.end)) * 1e-3 + 1 +
		(double)tsct_recording_uncertainty_ns(in->rec);
	return merge_list_add(m, MERGE_LINES, &line, sizeof(line));
}

/* Returns the time of @b minus that of @a at a tick of their counter, ns. */
static double apart_ns(const struct straight_clock *a, const struct straight_clock *b, __u64 tick)
{
	return (double)((tsct_s128)tsct_clock_params_ns(&b->real, tick) -
			tsct_clock_params_ns(&a->real, tick));
}

/*
 * Returns true if the clocks of two recordings of one boot leave no time possible. @a begins
 * first. At a tick that both have, the two lines are apart by no more than their bounds; in
 * the last second of @a, in which its clock may not have been read, by no more than a slew
 * explains, too. Between recordings that do not overlap, CLOCK_REALTIME goes from one line to
 * the other, where both bounds grow.
 */
static bool contradict(const struct straight_clock *a, const struct straight_clock *b)
{
	const __u64 begin = b->begin, end = a->end < b->end ? a->end : b->end;
	const double first = apart_ns(a, b, begin), last = apart_ns(a, b, end);
	const double gap_ns = (double)(__s64)(begin - end) / fmin(a->hz, b->hz) * 1e9;
	const double unread_ns = UNREAD_NS + fmax(gap_ns, 0);
	const double error_ns = a->error_ns + b->error_ns;
	const double slewed_ns = error_ns +
		unread_ns * (a->growth_ppb + b->growth_ppb) * 1e-9 +
		fmin(unread_ns * SLEW_PPB * 1e-9, SLEW_MAX_NS);

	if (gap_ns > 0)
		return first * last > 0 && fmin(fabs(first), fabs(last)) > slewed_ns;
	return fabs(first) > (gap_ns < -UNREAD_NS ? error_ns : slewed_ns) ||
		fabs(last) > slewed_ns;
}

/* Orders recordings by their counter: boot and source. 0: both have the same */
static int compare_counters(const struct straight_clock *x, const struct straight_clock *y)
{
	const int boots = memcmp(x->boot_id, y->boot_id, 16);

	return boots ? boots : (x->source > y->source) - (x->source < y->source);
}

static int by_counter_and_begin(const void *a, const void *b)
{
	const struct straight_clock *x = a, *y = b;
	const int counters = compare_counters(x, y);

	if (counters)
		return counters;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->input > y->input) - (x->input < y->input);
}

/*
 * Finds recordings of one boot whose clocks contradict each other
 *
 * Either CLOCK_REALTIME was set between them, or a virtual machine's snapshot was restored,
 * so that two machines have the boot id. Merged inputs are not examined: their counters are
 * not known. Nor are recordings of different sources of cycles, or with --timestamps system.
 * @why: the reason, if there are such; else not changed. Returns 0 or -errno.
 */
int merge_check_boots(struct tsct_merge *m, char *why, size_t size)
{
	static const struct merge_step list_lines = {
		.input = list_line, .lists = 1U << MERGE_LINES,
	};
	struct straight_clock *line, *last, *l;
	size_t nr;
	int err = merge_do(m, &list_lines);

	last = line = (struct straight_clock *)m->list[MERGE_LINES].data;
	nr = m->list[MERGE_LINES].size / sizeof(*line);
	if (nr && !err)
		qsort(line, nr, sizeof(*line), by_counter_and_begin);
	/* Each is compared with the one that ends last of those of its counter that begin
	 * before: nearest to it, so that the bounds have grown least. */
	for (l = line; l < line + nr && !err; l++) {
		if (compare_counters(last, l)) {
			last = l;
		} else if (l != last && contradict(last, l)) {
			snprintf(why, size, "%s and %s are of the same boot, but their clocks"
				 " contradict each other: CLOCK_REALTIME was set between them, or slewed"
				 " by more than 500 ppm, or they are of two machines that were"
				 " restored from one snapshot",
				 m->options.path[last->input], m->options.path[l->input]);
			break;
		} else if (l->end > last->end) {
			last = l;
		}
	}
	tsct_blob_free(&m->list[MERGE_LINES]);
	return err;
}
