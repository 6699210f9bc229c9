// SPDX-License-Identifier: MIT
/* A time source: its window of exchanges, its fit, and the time that results */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "cluster_private.h"

#define HOLDOVER_MIN_S	5.0	/* least time without exchange until holdover, s */

/* A fit is due when the newest exchange is REFIT_S later than the last fit, or when one in
 * REFIT_PART exchanges is new. In a burst, most exchanges do not cause a fit. */
#define REFIT_S		1.5
#define REFIT_PART	32

/* Number of consecutive exchanges that must contradict the fit until the source's time is
 * taken to have changed. A shorter run may be due to wrong packet times. */
#define CONTRADICTIONS_MAX	3
/*
 * An offset from the fit is unexplained if it is within the fit's error bound, but
 * larger than packet delays and UNEXPLAINED_SD standard deviations of the fit explain.
 * After UNEXPLAINED_MAX consecutive unexplained offsets of the same sign, the source's
 * time is taken to have changed. A fit of fewer than UNEXPLAINED_KEPT_MIN exchanges is
 * not compared: its standard deviation is not known well enough.
 */
#define UNEXPLAINED_MAX		5
#define UNEXPLAINED_SD		4
#define UNEXPLAINED_KEPT_MIN	8

void tsct_sync_source_forget(struct tsct_sync_source *source,
			     const char *reason)
{
	source->nr = 0;
	source->has_est = false;
	source->has_fit = false;
	source->contradictions = 0;
	source->unexplained = 0;
	source->extra_error_ns = 0;
	snprintf(source->reason, sizeof(source->reason), "%s",
		 reason ? reason : "");
}

void tsct_sync_source_free(struct tsct_sync_source *source)
{
	free(source->x);
	free(source->keep);
	tsct_fit_free(&source->fit);
	memset(source, 0, sizeof(*source));
}

/* ---- the window of exchanges --------------------------------------------- */

static const struct tsct_exchange *newest_exchange(const struct tsct_sync_source *source)
{
	return &source->x[source->nr - 1];
}

static void remove_exchange(struct tsct_sync_source *source, unsigned int at)
{
	memmove(&source->x[at], &source->x[at + 1],
		(source->nr - at - 1) * sizeof(source->x[0]));
	source->nr--;
}

static void remove_oldest(struct tsct_sync_source *source, unsigned int nr)
{
	source->nr -= nr;
	memmove(source->x, &source->x[nr], source->nr * sizeof(source->x[0]));
}

/*
 * Makes room in the window for an exchange. If the window is full, drops half
 * of the exchanges in its older half: of every two neighbours, the one with the
 * longer round trip. Returns false if out of memory.
 */
static bool reserve_exchange(struct tsct_sync_source *source)
{
	const bool full = source->nr == TSCT_WINDOW_MAX;
	const struct tsct_exchange *x = source->x;
	unsigned int i;

	for (i = 0; full && i < TSCT_WINDOW_MAX / 4; i++)
		remove_exchange(source, tsct_exchange_rtt(&x[i], 1) >
				tsct_exchange_rtt(&x[i + 1], 1) ? i : i + 1);
	return tsct_array_next(&source->x, source->nr, sizeof(*x)) &&
		tsct_array_next(&source->keep, source->nr, sizeof(*source->keep));
}

/*
 * Updates the poll intervals. Short intervals in a session are temporary, so the
 * maximum decays slowly, by 1/16 of each interval. A long interval raises the maximum
 * only if the next interval is as long: one long interval may be due to a lost
 * exchange, or to an outage. An exchange shortly after another exchange belongs to the
 * same poll.
 */
static void note_interval(struct tsct_sync_source *source,
			  const struct tsct_cluster_options *options,
			  const struct tsct_exchange *x)
{
	__u64 interval = x->t1 - source->last_poll, twice, decayed;

	if (source->nr &&
	    (double)interval * TSCT_HOLDOVER_POLLS < HOLDOVER_MIN_S * options->hz)
		return;
	source->last_poll = x->t1;
	if (!source->nr)
		return;
	twice = source->last_interval && source->last_interval < interval ?
		source->last_interval : interval;
	decayed = source->max_interval - (interval / 16 < source->max_interval ?
					  interval / 16 : source->max_interval);
	source->max_interval = twice > decayed ? twice : decayed;
	source->last_interval = interval;
}

__u64 tsct_sync_source_holdover_cycles(const struct tsct_sync_source *source,
				       const struct tsct_cluster_options *options)
{
	double cycles = TSCT_HOLDOVER_POLLS * (double)source->max_interval;

	if (options->hold_s > 0)
		return (__u64)(options->hold_s * options->hz);
	return (__u64)tsct_larger(cycles, HOLDOVER_MIN_S * options->hz);
}

/* ---- the estimate of the time -------------------------------------------- */

/* Returns the rate of the source's counter, ns per count. */
static double remote_rate(const struct tsct_sync_source *source)
{
	return tsct_mult_rate(source->remote.params.mult);
}

double tsct_source_params_bound_ns(const struct tsct_source_params *est,
				   __u64 cycles)
{
	double d = tsct_magnitude(
		(double)(__s64)(cycles - est->time.point.cycles));

	return est->time.point.half_ns + est->growth * d +
		tsct_smaller(est->wander * d, est->phi) * d;
}

/* Cluster time at @remote + @frac counts of the source's counter, by the source's clock
 * params; computed in 128 bits, saturated. Sets ns and frac_ns of *ret. */
static void remote_time(const struct tsct_remote_params *params, __u64 remote,
			double frac, struct tsct_offset_interval *ret)
{
	tsct_s128 product = (tsct_s128)(__s64)(remote - params->base) *
		params->mult;
	__u64 rest = (__u64)product & ((1ULL << TSCT_CLOCK_SHIFT) - 1);
	double ns = (double)rest * 0x1p-56 + frac * tsct_mult_rate(params->mult);
	double whole = (double)(__s64)ns;

	product = (product >> TSCT_CLOCK_SHIFT) + params->base_ns +
		(__s64)whole;
	ret->ns = product > INT64_MAX ? INT64_MAX :
		product < INT64_MIN ? INT64_MIN : (__s64)product;
	ret->frac_ns = ns - whole;
}

/* Error bound of the source's own time at a count of its counter, ns */
static double remote_error_ns(const struct tsct_remote_params *params,
			      __u64 remote)
{
	double age = (double)(__s64)(remote - params->as_of);
	double ps = (double)params->error_ps;

	if (age > 0)
		ps += age * (double)params->growth * 0x1p-32;
	return ps * 1e-3;
}

/*
 * Returns the rate within @error of @fitted that is nearest to the rates of most crystals.
 * Few exchanges with long delays allow rates that no crystal has, and a time of such a rate
 * would run away until the next exchange.
 */
static double plausible_rate(double fitted, double error, double nominal)
{
	double usual = TSCT_SYNC_SOURCE_USUAL_PPB * TSCT_PPB * nominal;
	double rate = tsct_larger(nominal - usual, tsct_smaller(fitted, nominal + usual));

	return tsct_larger(fitted - error, tsct_smaller(rate, fitted + error));
}

/* Sets the estimate to the tangent of the fit at the point where the fit's bound is
 * smallest, with a plausible rate. */
static void update_estimate(struct tsct_sync_source *source,
			    const struct tsct_cluster_options *options)
{
	const struct tsct_remote_params *params = &source->remote.params;
	const struct tsct_fit *fit = &source->fit;
	struct tsct_source_params *est = &source->est;
	struct tsct_offset_interval *point = &est->time.point;
	double nominal = 1e9 / options->hz, ns = remote_rate(source);
	double rate, fitted, rate_error, frac, error, off;
	__u64 remote;

	source->has_est = false;
	if (!source->has_fit)
		return;
	point->cycles = fit->at;
	remote = tsct_fit_at(fit, fit->at, &frac, &error);
	remote_time(params, remote, frac, point);
	point->half_ns = error * ns + source->extra_error_ns +
		remote_error_ns(params, remote);
	fitted = tsct_fit_rate(fit, fit->at) * ns;
	rate_error = fit->rate_error * ns;
	rate = plausible_rate(fitted, rate_error, nominal);
	est->time.rate = rate;
	est->time.resolution_ns = 1 + rate;
	est->sd_ns = fit->sd * ns;
	est->growth = rate_error + tsct_magnitude(rate - fitted) +
		rate / ns * (double)params->growth * 0x1p-32 * 1e-3;
	est->wander = fit->wander * ns;
	est->phi = TSCT_SYNC_SOURCE_PHI_PPB * TSCT_PPB * rate;
	if (!(tsct_magnitude(rate / nominal - 1) <= TSCT_SYNC_SOURCE_RATE_PPB * TSCT_PPB)) {
		off = (fitted / nominal - 1) / TSCT_PPB;
		snprintf(source->reason, sizeof(source->reason),
			 "the source's time runs %.0f ppm %s, which is more than "
			 "any crystal does", tsct_magnitude(off) / 1000,
			 off > 0 ? "fast" : "slow");
		return;
	}
	/* The limits, 2^62 ns for the time and 1e18 ns for its error bound, leave room
	 * for later arithmetic in 64 bits. The form !(a < b) also rejects NaN. */
	if (point->ns < 0 || point->ns > 1LL << 62 ||
	    !(point->half_ns < 1e18 && est->growth < rate)) {
		snprintf(source->reason, sizeof(source->reason),
			 "the source's time or its error bound is out of range");
		return;
	}
	source->has_est = true;
}

/* ---- making fits --------------------------------------------------------- */

static void update_fit(struct tsct_sync_source *source,
		       const struct tsct_cluster_options *options)
{
	struct tsct_fit_options fit = options->fit;
	double remote_hz = 1e9 / remote_rate(source);
	int err;

	fit.hz = options->hz;
	if (!fit.wander_ppb && !source->remote.has_params)
		fit.wander_ppb = TSCT_SYNC_SOURCE_STEERED_PPB;
	for (;;) {
		tsct_fit_free(&source->fit);
		err = tsct_fit_make(source->x, source->nr, &fit, remote_hz,
				    &source->fit, source->keep);
		if (err != -ERANGE || source->nr <= 1)
			break;
		/* The older exchanges contradict the newest one, and are dropped. */
		remove_oldest(source, source->nr - 1);
	}
	source->has_fit = !err;
	if (err)
		snprintf(source->reason, sizeof(source->reason), "no fit: %s",
			 tsct_fit_error(err));
	else
		source->reason[0] = '\0';
}

/* ---- changes of the source's time ---------------------------------------- */

/*
 * Returns true if a packet of exchange @x arrived before it was sent, by the fit and by
 * more than the fit's error bound: the source's counter may have changed. *ret_off:
 * largest possible change, counts: the larger of the distances of t2 from the fit at t1
 * and of t3 from the fit at t4.
 */
static bool contradicts_fit(const struct tsct_sync_source *source,
			    const struct tsct_exchange *x, double *ret_off)
{
	double frac, error, late, early, slack;
	__u64 at;

	slack = x->remote_error + x->local_error *
		tsct_fit_rate(&source->fit, x->t1) + 1;
	at = tsct_fit_at(&source->fit, x->t1, &frac, &error);
	early = (double)(__s64)(at - x->t2) + frac;
	slack += error;
	at = tsct_fit_at(&source->fit, x->t4, &frac, &error);
	late = (double)(__s64)(x->t3 - at) - frac;
	slack = error > slack ? error : slack;
	*ret_off = tsct_larger(tsct_magnitude(early), tsct_magnitude(late));
	return early > slack || late > slack;
}

/*
 * Returns the offset of the middle of exchange @x from the fit, in counts of the
 * source's counter, or 0 if a queueing delay explains the offset. A queueing delay is
 * the round-trip time of @x minus the shortest one in the fit, and moves the middle by
 * at most half of the delay. A larger offset means that the source's time has changed,
 * even if the offset is within the error bound.
 */
static double unexplained_offset(const struct tsct_sync_source *source,
				 const struct tsct_cluster_options *options,
				 const struct tsct_exchange *x)
{
	const struct tsct_fit *fit = &source->fit;
	double rate = tsct_fit_rate(fit, x->t4), frac, error, off, allowed;
	__u64 at = tsct_fit_at(fit, x->t1 + (x->t4 - x->t1) / 2, &frac, &error);

	if (fit->nr_kept < UNEXPLAINED_KEPT_MIN)
		return 0;
	off = (double)(__s64)(x->t2 + (x->t3 - x->t2) / 2 - at) - frac -
		options->fit.asymmetry * rate / 2;
	allowed = tsct_larger(0, tsct_exchange_rtt(x, rate) - fit->rtt_min) *
		rate / 2 + UNEXPLAINED_SD * fit->sd +
		tsct_larger(0, error - fit->error) +
		x->remote_error + x->local_error * rate + 2;
	return tsct_magnitude(off) > allowed ? off : 0;
}

static void widen_bound(struct tsct_sync_source *source, double counts)
{
	source->extra_error_ns = tsct_larger(source->extra_error_ns,
		tsct_magnitude(counts) * remote_rate(source));
}

static void clear_pending(struct tsct_sync_source *source)
{
	source->contradictions = 0;
	source->unexplained = 0;
	source->extra_error_ns = 0;
}

/* Drops all but the last @nr exchanges: the source's time changed before these @nr. */
static void restart_window(struct tsct_sync_source *source, unsigned int nr)
{
	remove_oldest(source, source->nr - nr);
	clear_pending(source);
	source->has_fit = false;
}

/* Counts an offset that no delay explains. Returns true while such offsets in a
 * row are too few to confirm that the source's time has changed. */
static bool note_unexplained(struct tsct_sync_source *source, double off)
{
	if (off > 0)
		source->unexplained = source->unexplained > 0 ?
			source->unexplained + 1 : 1;
	else
		source->unexplained = source->unexplained < 0 ?
			source->unexplained - 1 : -1;
	widen_bound(source, off);
	if (source->unexplained < UNEXPLAINED_MAX &&
	    source->unexplained > -UNEXPLAINED_MAX)
		return true;
	restart_window(source, UNEXPLAINED_MAX);
	return false;
}

/*
 * Returns true if the newest exchange contradicts the exchanges before it. Such
 * an exchange widens the bound, and does not enter the fit. If the next
 * exchanges also contradict the older exchanges, the source's time has changed.
 * A longer route or congestion is not a contradiction.
 */
static bool change_is_pending(struct tsct_sync_source *source,
			      const struct tsct_cluster_options *options)
{
	double off;

	if (!source->has_fit)
		return false;
	if (contradicts_fit(source, newest_exchange(source), &off)) {
		source->unexplained = 0;
		widen_bound(source, off);
		if (++source->contradictions < CONTRADICTIONS_MAX)
			return true;
		restart_window(source, source->contradictions);
		return false;
	}
	for (; source->contradictions; source->contradictions--)
		remove_exchange(source, source->nr - 2);
	off = unexplained_offset(source, options, newest_exchange(source));
	if (off)
		return note_unexplained(source, off);
	clear_pending(source);
	return false;
}

/* ---- adding an exchange -------------------------------------------------- */

/* Returns NULL, or the reason why a source in this state cannot be used. */
static const char *refusal(const struct tsct_remote *remote)
{
	if (remote->has_params ? !tsct_status_has_time(remote->status) :
	    remote->node != 0)
		return "the source does not have the cluster's time";
	if (remote->depth >= TSCT_CLUSTER_DEPTH_MAX)
		return "too many hops to the master: a loop of sources";
	if (!remote->params.mult)
		return "the source does not report the rate of its counter";
	return NULL;
}

/* Returns a text about the change of a source from @old to @new if it makes earlier exchanges
 * invalid; else NULL. @remote: present remote counter */
static const char *change_of_remote(const struct tsct_remote *old,
				    const struct tsct_remote *new, __u64 remote)
{
	struct tsct_offset_interval a, b;
	double error;

	if (old->node != new->node || old->has_params != new->has_params)
		return "another node answers at this address now";
	if (old->master != new->master)
		return "the source follows another master now";
	if (new->has_params && old->epoch != new->epoch)
		return "the source's timeline began another epoch";
	if (!new->has_params)
		return NULL;
	remote_time(&old->params, remote, 0, &a);
	remote_time(&new->params, remote, 0, &b);
	error = remote_error_ns(&old->params, remote) +
		remote_error_ns(&new->params, remote);
	/* `error` is the sum of the error bounds of the times a.ns and b.ns. 1000 ns
	 * are added, the resolution of a double near 2^63 ns. */
	return tsct_magnitude((double)a.ns - (double)b.ns) > error + 1000 ?
		"the source's counter or time jumped" : NULL;
}

enum tsct_sync_source_event
tsct_sync_source_add(struct tsct_sync_source *source,
		     const struct tsct_cluster_options *options,
		     const struct tsct_exchange *x,
		     const struct tsct_remote *remote)
{
	double window = options->window_s * options->hz;
	const char *reason = refusal(remote);
	bool refused = reason, had_est = source->has_est;
	unsigned int nr_fitted = source->fit.nr_kept + source->fit.nr_dropped;
	unsigned int expired = 0;

	if (!reason && source->has_remote)
		reason = change_of_remote(&source->remote, remote, x->t3);
	source->has_remote = !refused;
	source->remote = *remote;
	if (reason) {
		tsct_sync_source_forget(source, reason);
		return had_est ? TSCT_SYNC_SOURCE_LOST : TSCT_SYNC_SOURCE_SAME;
	}
	if ((__s64)(x->t4 - x->t1) < 0 || (__s64)(x->t3 - x->t2) < 0 ||
	    (source->nr && (__s64)(x->t1 - newest_exchange(source)->t1) <= 0) ||
	    !reserve_exchange(source))
		return TSCT_SYNC_SOURCE_SAME;
	note_interval(source, options, x);
	source->keep[source->nr] = true;
	source->x[source->nr++] = *x;
	if (change_is_pending(source, options)) {
		update_estimate(source, options);
		return TSCT_SYNC_SOURCE_NEW;
	}
	while ((double)(x->t1 - source->x[expired].t1) > window)
		expired++;
	if (expired)
		remove_oldest(source, expired);
	if (source->has_fit && source->nr >= nr_fitted &&
	    (source->nr - nr_fitted) * REFIT_PART < nr_fitted &&
	    (double)(x->t4 - source->fit.at) <= REFIT_S * options->hz)
		return TSCT_SYNC_SOURCE_SAME;
	update_fit(source, options);
	update_estimate(source, options);
	if (source->has_est)
		return TSCT_SYNC_SOURCE_NEW;
	return had_est ? TSCT_SYNC_SOURCE_LOST : TSCT_SYNC_SOURCE_SAME;
}
