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
	const struct tsct_recording *rec = in->info.rec;

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
		if (s->nr && in->info.rec->complete &&
		    s->clock_epoch == in->info.rec->epoch &&
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
	if ((!tsct_recording_has_samples(in->info.rec) && !in->nr_series) ||
	    in->info.rec->counter.mult)
		return;
	in->foreign_samples = find_foreign(in);
	for (i = 0; i < in->nr_series; i++) {
		s = &in->series[i];
		if (series_contradicts(s, in->hz)) {
			in->contradictory = true;
			s->nr = 0;
		}
	}
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

/* First tick of the input's straight clock: the first one of its last epoch */
static __u64 line_begin(const struct merge_in *in)
{
	const __u64 base = in->info.rec->real.base_cycles;

	return merge_was_disrupted(in->info.rec) && base > in->begin && base < in->end ?
		base : in->begin;
}

/* Returns the bound of an input's straight clock in its own ticks, ns. */
static double line_error_ns(const struct merge_in *in)
{
	const struct tsct_clock_params *real = &in->info.rec->real;

	return fmax((double)tsct_clock_params_error_ps(real, line_begin(in)),
		    (double)tsct_clock_params_error_ps(real, in->end)) * 1e-3 + 1 +
		(double)tsct_recording_uncertainty_ns(in->info.rec);
}

/* Returns the growth of the bound of an input's clock where the clock is not read, ppb. */
static double line_growth_ppb(const struct merge_in *in)
{
	const struct tsct_clock_params *real = &in->info.rec->real;

	return fmax((double)tsct_growth_ppb(real->mult, real->holdover_growth), DRIFT_PPB);
}

/* Returns the time of @b minus that of @a at a tick of their counter, ns. */
static double apart_ns(const struct merge_in *a, const struct merge_in *b, __u64 tick)
{
	return (double)((tsct_s128)merge_own_ns(b, tick) - merge_own_ns(a, tick));
}

/*
 * Returns true if the clocks of two recordings of one boot leave no time possible. @a begins
 * first. At a tick that both have, the two lines are apart by no more than their bounds; in
 * the last second of @a, in which its clock may not have been read, by no more than a slew
 * explains, too. Between recordings that do not overlap, CLOCK_REALTIME goes from one line to
 * the other, where both bounds grow.
 */
static bool contradict(const struct merge_in *a, const struct merge_in *b)
{
	const __u64 begin = line_begin(b), end = a->end < b->end ? a->end : b->end;
	const double first = apart_ns(a, b, begin), last = apart_ns(a, b, end);
	const double gap_ns = (double)(__s64)(begin - end) / fmin(a->hz, b->hz) * 1e9;
	const double unread_ns = UNREAD_NS + fmax(gap_ns, 0);
	const double error_ns = line_error_ns(a) + line_error_ns(b);
	const double slewed_ns = error_ns +
		unread_ns * (line_growth_ppb(a) + line_growth_ppb(b)) * 1e-9 +
		fmin(unread_ns * SLEW_PPB * 1e-9, SLEW_MAX_NS);

	if (gap_ns > 0)
		return first * last > 0 && fmin(fabs(first), fabs(last)) > slewed_ns;
	return fabs(first) > (gap_ns < -UNREAD_NS ? error_ns : slewed_ns) ||
		fabs(last) > slewed_ns;
}

/* Orders recordings by their counter: boot and source. 0: both have the same */
static int compare_counters(const struct merge_in *a, const struct merge_in *b)
{
	const struct tsct_recording *x = a->info.rec, *y = b->info.rec;
	const int boots = memcmp(x->nodes[0].boot_id, y->nodes[0].boot_id, 16);

	return boots ? boots : (x->source > y->source) - (x->source < y->source);
}

static int by_counter_and_line_begin(const void *a, const void *b)
{
	const struct merge_in *x = *(const struct merge_in *const *)a;
	const struct merge_in *y = *(const struct merge_in *const *)b;
	const __u64 i = line_begin(x), j = line_begin(y);
	const int counters = compare_counters(x, y);

	return counters ? counters : (i > j) - (i < j);
}

int merge_check_boots(const struct tsct_merge *m, char *why, size_t size)
{
	const struct merge_in **all = calloc(m->nr, sizeof(*all)), *last;
	unsigned int i, nr = 0;
	int err = 0;

	if (!all)
		return -ENOMEM;
	for (i = 0; i < m->nr; i++)
		if (!m->in[i].info.rec->merged && !m->in[i].info.rec->counter.mult)
			all[nr++] = &m->in[i];
	qsort(all, nr, sizeof(*all), by_counter_and_line_begin);
	/* Each is compared with the one that ends last of those of its counter that begin
	 * before: nearest to it, so that the bounds have grown least. */
	for (i = 1, last = all[0]; i < nr && !err; i++) {
		if (compare_counters(last, all[i])) {
			last = all[i];
			continue;
		}
		if (contradict(last, all[i])) {
			snprintf(why, size, "%s and %s are of the same boot, but their clocks"
				 " contradict each other: CLOCK_REALTIME was set between them, or slewed"
				 " by more than 500 ppm, or they are of two machines that were"
				 " restored from one snapshot",
				 last->info.path, all[i]->info.path);
			err = -EINVAL;
		}
		if (all[i]->end > last->end)
			last = all[i];
	}
	free(all);
	return err;
}
