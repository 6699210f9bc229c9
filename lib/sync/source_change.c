// SPDX-License-Identifier: MIT
/* Did a source's time change, or was it only the way there? */
#include "lib/core/servo.h"
#include "source_private.h"

/* One exchange may be anything; as many that agree on it are a new time. */
#define STRANGE_MAX	3
/* ... and as many that do not contradict it, but that no delay explains */
#define ODD_MAX		5
#define ODD_SD		4
#define ODD_FITS	8

/*
 * Whatever the way there and back took: is it against what was fitted? By no more
 * than *ret_off can the source's counter have moved since, in counts.
 */
static bool is_strange(const struct tsct_sync_source *path,
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
static double surprise(const struct tsct_sync_source *path,
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

static void doubt(struct tsct_sync_source *path, double counts)
{
	path->doubt_ns = tsct_larger(path->doubt_ns, tsct_magnitude(counts) *
				     tsct_sync_source_ns_per_count(path));
}

static void trust(struct tsct_sync_source *path)
{
	path->strange = 0;
	path->odd = 0;
	path->doubt_ns = 0;
}

/* The time changed when the last @nr exchanges began: they alone count. */
static void start_over(struct tsct_sync_source *path, unsigned int nr)
{
	tsct_sync_source_cut(path, path->nr - nr);
	trust(path);
	path->fitted = false;
}

static bool wait_for_more(struct tsct_sync_source *path, double off)
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
bool tsct_sync_source_wait(struct tsct_sync_source *path,
		    const struct tsct_cluster_options *options)
{
	double off;

	if (!path->fitted)
		return false;
	if (is_strange(path, tsct_sync_source_newest(path), &off)) {
		path->odd = 0;
		doubt(path, off);
		if (++path->strange < STRANGE_MAX)
			return true;
		start_over(path, path->strange);
		return false;
	}
	for (; path->strange; path->strange--)
		tsct_sync_source_remove(path, path->nr - 2);
	off = surprise(path, options, tsct_sync_source_newest(path));
	if (off)
		return wait_for_more(path, off);
	trust(path);
	return false;
}
