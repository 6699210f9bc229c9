// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "core/offset.h"
#include "core/scale.h"
#include "path.h"

#define FIRST_ROOM	32
#define WINDOW_S	1000.0
#define HOLD_GAPS	8
#define HOLD_MIN_S	5.0

/* One exchange may be anything; as many that agree on it are a new time. */
#define STRANGE_MAX	3
/* ... and as many that do not contradict it, but that no delay explains */
#define ODD_MAX		5
#define ODD_SD		4
#define ODD_FITS	8

/* While a session is under way, a fit for each of so many exchanges is enough. */
#define REFIT_S		0.5
#define REFIT_PART	64

static const struct tsct_exchange *newest(const struct tsct_path *path)
{
	return &path->x[path->nr - 1];
}

void tsct_path_forget(struct tsct_path *path, const char *why)
{
	path->nr = 0;
	path->known = false;
	path->fitted = false;
	path->strange = 0;
	path->odd = 0;
	path->doubt_ns = 0;
	snprintf(path->why, sizeof(path->why), "%s", why ? why : "");
}

void tsct_path_free(struct tsct_path *path)
{
	free(path->x);
	free(path->keep);
	memset(path, 0, sizeof(*path));
}

/* ---- the window ---------------------------------------------------------- */

static void remove_at(struct tsct_path *path, unsigned int at)
{
	memmove(&path->x[at], &path->x[at + 1],
		(path->nr - at - 1) * sizeof(path->x[0]));
	path->nr--;
}

static void cut(struct tsct_path *path, unsigned int first)
{
	path->nr -= first;
	memmove(path->x, &path->x[first], path->nr * sizeof(path->x[0]));
}

/* Of each two neighbours in the older half the slower one goes. */
static void thin(struct tsct_path *path)
{
	unsigned int i;

	for (i = 0; i < TSCT_WINDOW_MAX / 4; i++)
		remove_at(path, tsct_exchange_rtt(&path->x[i], 1) >
			  tsct_exchange_rtt(&path->x[i + 1], 1) ? i : i + 1);
}

/* False: no memory, which is as if the exchange had been lost. */
static bool make_room(struct tsct_path *path)
{
	unsigned int room = path->room ? path->room * 2 : FIRST_ROOM;
	struct tsct_exchange *x;
	bool *keep;

	if (path->nr == TSCT_WINDOW_MAX)
		thin(path);
	if (path->nr < path->room)
		return true;
	x = realloc(path->x, room * sizeof(*x));
	if (!x)
		return false;
	path->x = x;
	keep = realloc(path->keep, room * sizeof(*keep));
	if (!keep)
		return false;
	path->keep = keep;
	path->room = room;
	return true;
}

static void forget_old(struct tsct_path *path,
		       const struct tsct_cluster_options *options)
{
	double span = (options->window_s > 0 ? options->window_s : WINDOW_S) *
		options->hz;
	unsigned int first = 0;

	while ((double)(newest(path)->t1 - path->x[first].t1) > span)
		first++;
	if (first)
		cut(path, first);
}

/*
 * How far exchanges lie apart. A session is no reason to expect as many from now
 * on, so it fades slowly; and one that was missed, or an hour of them, is no
 * reason to expect few, so it takes two.
 */
static void note_gap(struct tsct_path *path, const struct tsct_exchange *x)
{
	__u64 step, twice, faded;

	if (!path->nr)
		return;
	step = x->t1 - newest(path)->t1;
	twice = path->step && path->step < step ? path->step : step;
	faded = path->gap - (step / 16 < path->gap ? step / 16 : path->gap);
	path->gap = twice > faded ? twice : faded;
	path->step = step;
}

__u64 tsct_path_hold(const struct tsct_path *path,
		     const struct tsct_cluster_options *options)
{
	double hold = HOLD_GAPS * (double)path->gap;

	if (options->hold_s > 0)
		return (__u64)(options->hold_s * options->hz);
	return (__u64)tsct_larger(hold, HOLD_MIN_S * options->hz);
}

/* ---- estimates ------------------------------------------------------------- */

static double ns_per_count(const struct tsct_path *path)
{
	return tsct_mult_rate(path->remote.line.mult);
}

double tsct_estimate_off(const struct tsct_estimate *est,
			 const struct tsct_pair *pair, __u64 tsc)
{
	double ran = (double)(__s64)(tsc - est->at) * est->rate;
	double whole = (double)(__s64)ran;
	__s64 ns = (__s64)((__u64)est->ns + (__u64)(__s64)whole -
			   (__u64)tsct_pair_ns(pair, tsc));

	return (double)ns + est->frac_ns + (ran - whole);
}

double tsct_estimate_bound(const struct tsct_estimate *est, __u64 tsc)
{
	double d = tsct_magnitude((double)(__s64)(tsc - est->at));

	return est->error_ns + est->growth * d +
		tsct_smaller(est->wander * d, est->hold) * d;
}

/* Cluster time of their counter: its line, in 128 bits */
static void put_line_on_top(const struct tsct_remote_line *line, __u64 remote,
			    double frac, struct tsct_estimate *est)
{
	tsct_s128 product = (tsct_s128)(__s64)(remote - line->base) *
		line->mult;
	__u64 rest = (__u64)product & ((1ULL << TSCT_CLOCK_SHIFT) - 1);
	double ns = (double)rest * 0x1p-56 + frac * tsct_mult_rate(line->mult);
	double whole = (double)(__s64)ns;

	product = (product >> TSCT_CLOCK_SHIFT) + line->base_ns +
		(__s64)whole;
	est->ns = product > INT64_MAX ? INT64_MAX :
		product < INT64_MIN ? INT64_MIN : (__s64)product;
	est->frac_ns = ns - whole;
}

/* What the source itself does not know of the time, there and per count */
static double remote_error_ns(const struct tsct_remote_line *line, __u64 remote)
{
	double age = (double)(__s64)(remote - line->as_of);
	double ps = (double)line->error_ps;

	if (age > 0)
		ps += age * (double)line->growth * 0x1p-32;
	return ps * 1e-3;
}

static void set_errors(struct tsct_path *path, double fit_error, __u64 remote)
{
	const struct tsct_fit *fit = &path->fit;
	struct tsct_estimate *est = &path->est;
	double ns = ns_per_count(path);
	double counts = est->rate / ns;

	est->sd_ns = fit->sd * ns;
	est->error_ns = fit_error * ns + path->doubt_ns +
		remote_error_ns(&path->remote.line, remote);
	est->growth = fit->rate_error * ns + counts *
		(double)path->remote.line.growth * 0x1p-32 * 1e-3;
	est->wander = fit->wander * ns;
	est->hold = TSCT_PATH_HOLD_PPB * TSCT_PPB * est->rate;
}

/* As the fit has it where it is best, and straight on from there */
static void estimate(struct tsct_path *path,
		     const struct tsct_cluster_options *options)
{
	struct tsct_estimate *est = &path->est;
	double nominal = 1e9 / options->hz, frac, error, off;
	__u64 remote;

	path->known = false;
	if (!path->fitted)
		return;
	est->at = path->fit.at;
	remote = tsct_fit_at(&path->fit, est->at, &frac, &error);
	put_line_on_top(&path->remote.line, remote, frac, est);
	est->rate = tsct_fit_rate(&path->fit, est->at) * ns_per_count(path);
	set_errors(path, error, remote);
	off = (est->rate / nominal - 1) / TSCT_PPB;
	if (!(tsct_magnitude(off) <= TSCT_PATH_RATE_PPB)) {
		snprintf(path->why, sizeof(path->why), "its time runs %.0f ppm "
			 "%s: no crystal does", tsct_magnitude(off) / 1000,
			 off > 0 ? "fast" : "slow");
		return;
	}
	/* Multiplication has to have room, and a bound to be a number. */
	if (est->ns < 0 || est->ns > 1LL << 62 ||
	    !(est->error_ns < 1e18 && est->growth < est->rate)) {
		snprintf(path->why, sizeof(path->why),
			 "its line, or its bound, cannot be true");
		return;
	}
	path->known = true;
}

/* ---- fits -------------------------------------------------------------------- */

static int fit_once(struct tsct_path *path,
		    const struct tsct_cluster_options *options)
{
	struct tsct_fit_options how = options->fit;
	double remote_hz = 1e9 / ns_per_count(path);

	how.hz = options->hz;
	if (!how.wander_ppb && !path->remote.has_line)
		how.wander_ppb = TSCT_PATH_STEERED_PPB;
	return tsct_fit_make(path->x, path->nr, &how, remote_hz, &path->fit,
			     path->keep);
}

static void fit(struct tsct_path *path,
		const struct tsct_cluster_options *options)
{
	int err = fit_once(path, options);

	while (err == -E2BIG && path->nr > 1) {
		cut(path, path->nr / 2);
		err = fit_once(path, options);
	}
	/* Whatever those before said: it does not go with this one. */
	if (err == -ERANGE && path->nr > 1) {
		cut(path, path->nr - 1);
		err = fit_once(path, options);
	}
	path->fitted = !err;
	if (err)
		snprintf(path->why, sizeof(path->why), "no fit: %s",
			 err == -ERANGE ? "its counter runs at another rate than "
			 "it says" : err == -ENODATA ? "no exchange was possible" :
			 strerror(-err));
	else
		path->why[0] = '\0';
}

static bool is_refit_due(const struct tsct_path *path,
			 const struct tsct_cluster_options *options)
{
	unsigned int nr = path->fit.nr_kept + path->fit.nr_dropped;
	__u64 since = newest(path)->t4 - path->fit.at;

	return !path->fitted || path->nr < nr ||
		(path->nr - nr) * REFIT_PART >= nr ||
		(double)since > REFIT_S * options->hz;
}

/* ---- what is new --------------------------------------------------------------- */

static bool is_possible(const struct tsct_path *path,
			const struct tsct_exchange *x)
{
	if ((__s64)(x->t4 - x->t1) < 0 || (__s64)(x->t3 - x->t2) < 0)
		return false;
	return !path->nr || (__s64)(x->t1 - newest(path)->t1) > 0;
}

static const char *refuse(const struct tsct_remote *remote)
{
	if (remote->has_line ? !tsct_status_claims(remote->status) :
	    remote->node != 0)
		return "it does not know the cluster's time";
	if (remote->depth >= TSCT_CLUSTER_DEPTH_MAX)
		return "too far from the master: sources go round in circles";
	if (!remote->line.mult)
		return "it says nothing of its counter";
	return NULL;
}

/* Two lines of one counter that contradict each other: it is not one counter. */
static bool is_line_torn(const struct tsct_remote_line *a,
			 const struct tsct_remote_line *b, __u64 remote)
{
	struct tsct_estimate ea, eb;
	double apart, error;

	put_line_on_top(a, remote, 0, &ea);
	put_line_on_top(b, remote, 0, &eb);
	apart = (double)ea.ns - (double)eb.ns;
	error = remote_error_ns(a, remote) + remote_error_ns(b, remote);
	/* Ends of the range of times are where doubles are coarse. */
	return tsct_magnitude(apart) > error + 1000;
}

static const char *compare(const struct tsct_remote *old,
			   const struct tsct_remote *new, __u64 remote)
{
	if (old->node != new->node || old->has_line != new->has_line)
		return "another node answers there now";
	if (old->master != new->master)
		return "it follows another master now";
	if (new->has_line && old->epoch != new->epoch)
		return "its timeline began another epoch";
	if (new->has_line && is_line_torn(&old->line, &new->line, remote))
		return "its counter jumped, or its time did";
	return NULL;
}

/*
 * Whatever the way there and back took: is it against what was fitted? By no more
 * than *ret_off can the source's counter have moved since, in counts.
 */
static bool is_strange(const struct tsct_path *path,
		       const struct tsct_exchange *x, double *ret_off)
{
	double frac, error, late, early, slack;
	__u64 at;

	slack = x->remote_error + x->local_error *
		tsct_fit_rate(&path->fit, x->t1) + 1;
	at = tsct_fit_at(&path->fit, x->t1, &frac, &error);
	early = (double)(__s64)(at - x->t2) + frac;
	slack += error;
	at = tsct_fit_at(&path->fit, x->t4, &frac, &error);
	late = (double)(__s64)(x->t3 - at) - frac;
	slack = error > slack ? error : slack;
	*ret_off = tsct_larger(tsct_magnitude(early), tsct_magnitude(late));
	return early > slack || late > slack;
}

/*
 * A delay moves the middle of an exchange by half of itself, at most. Moved by
 * more than the round trip is longer than the shortest: it is the time that moved,
 * though by so little that nothing contradicts it. Returns by how much, in
 * counts; 0: all is as it should be.
 */
static double surprise(const struct tsct_path *path,
		       const struct tsct_cluster_options *options,
		       const struct tsct_exchange *x)
{
	const struct tsct_fit *fit = &path->fit;
	double rate = tsct_fit_rate(fit, x->t4), frac, error, off, allowed;
	__u64 at = tsct_fit_at(fit, x->t1 + (x->t4 - x->t1) / 2, &frac, &error);

	if (fit->nr_kept < ODD_FITS)
		return 0;
	off = (double)(__s64)(x->t2 + (x->t3 - x->t2) / 2 - at) - frac -
		options->fit.asymmetry * rate / 2;
	allowed = tsct_larger(0, tsct_exchange_rtt(x, rate) - fit->rtt_min) *
		rate / 2 + ODD_SD * fit->sd + tsct_larger(0, error - fit->error) +
		x->remote_error + x->local_error * rate + 2;
	return tsct_magnitude(off) > allowed ? off : 0;
}

static void doubt(struct tsct_path *path, double counts)
{
	path->doubt_ns = tsct_larger(path->doubt_ns, tsct_magnitude(counts) *
				     ns_per_count(path));
}

static void trust(struct tsct_path *path)
{
	path->strange = 0;
	path->odd = 0;
	path->doubt_ns = 0;
}

/* The time changed when the last @nr exchanges began: they alone count. */
static void start_over(struct tsct_path *path, unsigned int nr)
{
	cut(path, path->nr - nr);
	trust(path);
	path->fitted = false;
}

static bool wait_for_more(struct tsct_path *path, double off)
{
	if (off > 0)
		path->odd = path->odd > 0 ? path->odd + 1 : 1;
	else
		path->odd = path->odd < 0 ? path->odd - 1 : -1;
	doubt(path, off);
	if (path->odd < ODD_MAX && path->odd > -ODD_MAX)
		return true;
	start_over(path, ODD_MAX);
	return false;
}

/*
 * One that contradicts all before it puts the bound in doubt, and does not bend
 * the fit. If the next ones do, too, the source's time did change; what a
 * path does, a detour, or congestion one way, contradicts nothing.
 */
static bool wait_and_see(struct tsct_path *path,
			 const struct tsct_cluster_options *options)
{
	double off;

	if (!path->fitted)
		return false;
	if (is_strange(path, newest(path), &off)) {
		path->odd = 0;
		doubt(path, off);
		if (++path->strange < STRANGE_MAX)
			return true;
		start_over(path, path->strange);
		return false;
	}
	for (; path->strange; path->strange--)
		remove_at(path, path->nr - 2);
	off = surprise(path, options, newest(path));
	if (off)
		return wait_for_more(path, off);
	trust(path);
	return false;
}

/* True: the exchange is of what the remote is now. */
static bool meet(struct tsct_path *path, const struct tsct_exchange *x,
		 const struct tsct_remote *remote, enum tsct_path_event *ret)
{
	const char *why = refuse(remote);
	bool had = path->known;

	if (!why && path->met)
		why = compare(&path->remote, remote, x->t3);
	path->met = !refuse(remote);
	path->remote = *remote;
	if (why)
		tsct_path_forget(path, why);
	*ret = had && why ? TSCT_PATH_LOST : TSCT_PATH_SAME;
	return !why;
}

enum tsct_path_event tsct_path_feed(struct tsct_path *path,
				    const struct tsct_cluster_options *options,
				    const struct tsct_exchange *x,
				    const struct tsct_remote *remote)
{
	enum tsct_path_event event;
	bool had = path->known;

	if (!meet(path, x, remote, &event))
		return event;
	if (!is_possible(path, x) || !make_room(path))
		return event;
	note_gap(path, x);
	path->keep[path->nr] = true;
	path->x[path->nr++] = *x;
	if (wait_and_see(path, options)) {
		estimate(path, options);
		return TSCT_PATH_NEW;
	}
	forget_old(path, options);
	if (!is_refit_due(path, options))
		return TSCT_PATH_SAME;
	fit(path, options);
	estimate(path, options);
	if (path->known)
		return TSCT_PATH_NEW;
	return had ? TSCT_PATH_LOST : TSCT_PATH_SAME;
}
