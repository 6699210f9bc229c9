// SPDX-License-Identifier: MIT
/* The exchanges with a source that are remembered. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/core/offset_estimator.h"
#include "lib/core/clock_params.h"
#include "source_private.h"

#define FIRST_ROOM	32
#define WINDOW_S	1000.0
#define HOLD_GAPS	8
#define HOLD_MIN_S	5.0

void tsct_sync_source_forget(struct tsct_sync_source *path, const char *why)
{
	path->nr = 0;
	path->known = false;
	path->fitted = false;
	path->strange = 0;
	path->odd = 0;
	path->doubt_ns = 0;
	snprintf(path->why, sizeof(path->why), "%s", why ? why : "");
}

void tsct_sync_source_free(struct tsct_sync_source *path)
{
	free(path->x);
	free(path->keep);
	memset(path, 0, sizeof(*path));
}

/* ---- the window ---------------------------------------------------------- */

void tsct_sync_source_remove(struct tsct_sync_source *path, unsigned int at)
{
	memmove(&path->x[at], &path->x[at + 1],
		(path->nr - at - 1) * sizeof(path->x[0]));
	path->nr--;
}

void tsct_sync_source_cut(struct tsct_sync_source *path, unsigned int first)
{
	path->nr -= first;
	memmove(path->x, &path->x[first], path->nr * sizeof(path->x[0]));
}

/* Of each two neighbours in the older half the slower one goes. */
static void thin(struct tsct_sync_source *path)
{
	unsigned int i;

	for (i = 0; i < TSCT_WINDOW_MAX / 4; i++)
		tsct_sync_source_remove(path, tsct_exchange_rtt(&path->x[i], 1) >
				 tsct_exchange_rtt(&path->x[i + 1], 1) ?
				 i : i + 1);
}

/* False: no memory, which is as if the exchange had been lost. */
static bool make_room(struct tsct_sync_source *path)
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

static void forget_old(struct tsct_sync_source *path,
		       const struct tsct_cluster_options *options)
{
	double span = (options->window_s > 0 ? options->window_s : WINDOW_S) *
		options->hz;
	unsigned int first = 0;

	while ((double)(tsct_sync_source_newest(path)->t1 - path->x[first].t1) > span)
		first++;
	if (first)
		tsct_sync_source_cut(path, first);
}

/*
 * How far exchanges lie apart. A session is no reason to expect as many from now
 * on, so it fades slowly; and one that was missed, or an hour of them, is no
 * reason to expect few, so it takes two. What comes shortly after another one belongs
 * to the same poll.
 */
static void note_gap(struct tsct_sync_source *path,
		     const struct tsct_cluster_options *options,
		     const struct tsct_exchange *x)
{
	__u64 step = x->t1 - path->poll, twice, faded;

	if (path->nr && (double)step * HOLD_GAPS < HOLD_MIN_S * options->hz)
		return;
	path->poll = x->t1;
	if (!path->nr)
		return;
	twice = path->last_interval && path->last_interval < step ? path->last_interval : step;
	faded = path->max_interval - (step / 16 < path->max_interval ? step / 16 : path->max_interval);
	path->max_interval = twice > faded ? twice : faded;
	path->last_interval = step;
}

__u64 tsct_sync_source_holdover_cycles(const struct tsct_sync_source *path,
		     const struct tsct_cluster_options *options)
{
	double hold = HOLD_GAPS * (double)path->max_interval;

	if (options->hold_s > 0)
		return (__u64)(options->hold_s * options->hz);
	return (__u64)tsct_larger(hold, HOLD_MIN_S * options->hz);
}

/* ---- what is new --------------------------------------------------------- */

static bool is_possible(const struct tsct_sync_source *path,
			const struct tsct_exchange *x)
{
	if ((__s64)(x->t4 - x->t1) < 0 || (__s64)(x->t3 - x->t2) < 0)
		return false;
	return !path->nr || (__s64)(x->t1 - tsct_sync_source_newest(path)->t1) > 0;
}

static const char *refuse(const struct tsct_remote *remote)
{
	if (remote->has_line ? !tsct_status_has_time(remote->status) :
	    remote->node != 0)
		return "it does not know the cluster's time";
	if (remote->depth >= TSCT_CLUSTER_DEPTH_MAX)
		return "too far from the master: sources go round in circles";
	if (!remote->line.mult)
		return "it says nothing of its counter";
	return NULL;
}

/* Two lines of one counter that contradict each other: it is not one counter. */
static bool is_line_torn(const struct tsct_remote_params *a,
			 const struct tsct_remote_params *b, __u64 remote)
{
	struct tsct_source_params ea, eb;
	double apart, error;

	tsct_sync_source_line(a, remote, 0, &ea);
	tsct_sync_source_line(b, remote, 0, &eb);
	apart = (double)ea.ns - (double)eb.ns;
	error = tsct_sync_source_line_error(a, remote) + tsct_sync_source_line_error(b, remote);
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

/* True: the exchange is of what the remote is now. */
static bool meet(struct tsct_sync_source *path, const struct tsct_exchange *x,
		 const struct tsct_remote *remote, enum tsct_sync_source_event *ret)
{
	const char *why = refuse(remote);
	bool had = path->known;

	if (!why && path->met)
		why = compare(&path->remote, remote, x->t3);
	path->met = !refuse(remote);
	path->remote = *remote;
	if (why)
		tsct_sync_source_forget(path, why);
	*ret = had && why ? TSCT_SYNC_SOURCE_LOST : TSCT_SYNC_SOURCE_SAME;
	return !why;
}

enum tsct_sync_source_event tsct_sync_source_add(struct tsct_sync_source *path,
				    const struct tsct_cluster_options *options,
				    const struct tsct_exchange *x,
				    const struct tsct_remote *remote)
{
	enum tsct_sync_source_event event;
	bool had = path->known;

	if (!meet(path, x, remote, &event))
		return event;
	if (!is_possible(path, x) || !make_room(path))
		return event;
	note_gap(path, options, x);
	path->keep[path->nr] = true;
	path->x[path->nr++] = *x;
	if (tsct_sync_source_wait(path, options)) {
		tsct_sync_source_estimate(path, options);
		return TSCT_SYNC_SOURCE_NEW;
	}
	forget_old(path, options);
	if (!tsct_sync_source_refit_due(path, options))
		return TSCT_SYNC_SOURCE_SAME;
	tsct_sync_source_fit(path, options);
	tsct_sync_source_estimate(path, options);
	if (path->known)
		return TSCT_SYNC_SOURCE_NEW;
	return had ? TSCT_SYNC_SOURCE_LOST : TSCT_SYNC_SOURCE_SAME;
}
