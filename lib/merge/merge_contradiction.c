// SPDX-License-Identifier: MIT
/*
 * Finds sync samples that contradict each other, or the clock of the recording that
 * they are in: a fit of such samples has a bound that does not hold.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/ctf/ticks.h"
#include "merge_private.h"

/* Up to 1 / OUTLIERS of the exchanges may contradict a fit: packets with wrong times are normal,
 * and fits drop their exchanges. If more exchanges contradict a fit, a counter changed. */
#define OUTLIERS	20
/* Largest ratio between two rates of a counter, one by the samples and one by the
 * recording's clock: both clocks may be slewed by 10 % (adjtimex(2), tick). */
#define RATE_RATIO	1.25
/* Longest time by which a sample may be after the end of its session or recording, s */
#define LATE_S		1

/* Returns true if, by a fit, a packet of an exchange arrived before it was sent, by more than
 * the fit's error bound. An exchange with a negative round trip contradicts itself, not the
 * other exchanges: fits ignore such an exchange. */
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

/* Fits exchanges @from to @from + @nr - 1 of a series, and returns true if too many
 * of them contradict the fit, or the fit contradicts the rate of the recording's
 * clock. The fit of kind hull has the bound that follows from causality alone. */
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
		return false;	/* the merge will report that no fit is possible */
	/* A fit over a short time gives the rate only within +- rate_error. */
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

/* Returns true if a sample was taken in @session. Each successful session of a child with a
 * master has samples. */
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

/* Returns true if no sample of the recording is missing: a killed recorder did not write
 * the last samples, and a damaged file lacks some samples. */
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
	/* sync->end.end is after the last event: the last session ended at this tick, or,
	 * without sessions, the last samples were fetched. */
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
		return "has no samples of its sync sessions: its sync samples are of"
			" another recording";
	return NULL;
}

void merge_find_contradiction(struct merge_in *in)
{
	struct tsct_series *s;
	unsigned int i;

	/* With --timestamps system, samples are not in ticks of the recording: such a
	 * recording is not mapped by its samples. */
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
