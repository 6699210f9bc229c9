// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "cluster_private.h"
#include "lib/core/offset_estimator.h"
#include "lib/core/clock_params.h"

/* An offset within the bounds may take as many times TSCT_CLUSTER_SLEW_MAX_NS. */
#define PATIENCE	6

/* Figures from so few exchanges are first figures. */
#define FEW_EXCHANGES	4

struct tsct_cluster *tsct_cluster_new(const struct tsct_cluster_options *options,
				      unsigned int nr_sources)
{
	struct tsct_cluster *cluster = calloc(1, sizeof(*cluster));

	if (!cluster)
		return NULL;
	if (nr_sources > TSCT_SOURCES_MAX)
		nr_sources = TSCT_SOURCES_MAX;
	cluster->sources = calloc(nr_sources + 1, sizeof(cluster->sources[0]));
	if (!cluster->sources) {
		free(cluster);
		return NULL;
	}
	cluster->options = *options;
	if (!(options->hz > 0))
		cluster->options.hz = 1e9;
	cluster->nr = nr_sources;
	cluster->used = -1;
	cluster->epoch = options->epoch ? options->epoch : 1;
	return cluster;
}

void tsct_cluster_free(struct tsct_cluster *cluster)
{
	unsigned int i;

	if (!cluster)
		return;
	for (i = 0; i < cluster->nr; i++)
		tsct_sync_source_free(&cluster->sources[i]);
	free(cluster->sources);
	free(cluster);
}

/* ---- epochs ---------------------------------------------------------------- */

static void begin_epoch(struct tsct_cluster *cluster)
{
	cluster->epoch++;
	memset(&cluster->params, 0, sizeof(cluster->params));
	memset(&cluster->prev_params, 0, sizeof(cluster->prev_params));
}

void tsct_cluster_resume_epoch(struct tsct_cluster *cluster, __u32 epoch)
{
	if ((__s32)(epoch - cluster->epoch) < 0)
		return;
	cluster->epoch = epoch;
	begin_epoch(cluster);
}

void tsct_cluster_disrupt(struct tsct_cluster *cluster)
{
	unsigned int i;

	for (i = 0; i < cluster->nr; i++)
		tsct_sync_source_forget(&cluster->sources[i], "our counter was disrupted");
	cluster->used = -1;
	cluster->is_master = false;
	cluster->disrupted = true;
	begin_epoch(cluster);
}

/* ---- exchanges --------------------------------------------------------------- */

/*
 * What our bound allowed for all along is mended with more patience than what
 * shows that something happened.
 */
static bool is_too_far_off(const struct tsct_cluster *cluster,
			   const struct tsct_source_params *est)
{
	double limit = TSCT_CLUSTER_SLEW_PPB * TSCT_PPB * TSCT_CLUSTER_SLEW_MAX_NS;
	const struct tsct_clock_params *pair = &cluster->params;
	__u64 now = cluster->now;
	double off, bound;

	if (!pair->mult)
		return false;
	off = tsct_magnitude(tsct_source_params_offset_ns(est, pair, now));
	bound = (double)tsct_clock_params_error_ps(pair, now) * 1e-3 +
		tsct_source_params_bound_ns(est, now);
	return off > (off > bound ? limit : PATIENCE * limit);
}

/* Somewhere else than until now: true. */
static bool move(struct tsct_cluster *cluster, __u64 master, __u32 timeline)
{
	bool moved = cluster->at_timeline && (cluster->master != master ||
					      cluster->timeline != timeline);

	cluster->master = master;
	cluster->timeline = timeline;
	cluster->at_timeline = true;
	return moved;
}

static enum tsct_cluster_event elect(struct tsct_cluster *cluster)
{
	struct tsct_cluster_selection choice = tsct_cluster_select(cluster);
	struct tsct_source_params est;
	bool moved;

	cluster->used = choice.used;
	cluster->extra_ns = choice.extra_ns;
	if (!tsct_cluster_estimate(cluster, &est))
		return TSCT_CLUSTER_OK;
	cluster->depth = cluster->sources[cluster->used].remote.depth + 1;
	moved = move(cluster, choice.master, choice.timeline);
	if (!moved && !is_too_far_off(cluster, &est))
		return TSCT_CLUSTER_NEW;
	begin_epoch(cluster);
	return TSCT_CLUSTER_EPOCH;
}

enum tsct_cluster_event
tsct_cluster_feed(struct tsct_cluster *cluster, unsigned int source,
		  const struct tsct_exchange *x,
		  const struct tsct_remote *remote)
{
	enum tsct_sync_source_event event;

	if (source >= cluster->nr)
		return TSCT_CLUSTER_OK;
	if (!cluster->now || (__s64)(x->t4 - cluster->now) > 0)
		cluster->now = x->t4;
	event = tsct_sync_source_add(&cluster->sources[source], &cluster->options, x,
			       remote);
	if (event == TSCT_SYNC_SOURCE_SAME || cluster->is_master)
		return TSCT_CLUSTER_OK;
	return elect(cluster);
}

void tsct_cluster_reset_source(struct tsct_cluster *cluster, unsigned int source)
{
	if (source >= cluster->nr)
		return;
	tsct_sync_source_forget(&cluster->sources[source], NULL);
	cluster->sources[source].met = false;
	cluster->sources[source].liar = false;
	if (!cluster->is_master)
		elect(cluster);
}

void tsct_cluster_master(struct tsct_cluster *cluster, __u64 node,
			 const struct tsct_remote_params *line, __u32 epoch)
{
	bool moved = move(cluster, node, epoch);

	if (!moved && cluster->is_master &&
	    !memcmp(line, &cluster->line, sizeof(*line)))
		return;
	if (moved || cluster->params.mult)
		begin_epoch(cluster);
	cluster->is_master = true;
	cluster->line = *line;
	cluster->depth = 0;
	cluster->used = -1;
}

/* ---- what is published --------------------------------------------------------- */

bool tsct_cluster_estimate(const struct tsct_cluster *cluster,
			   struct tsct_source_params *ret_est)
{
	if (cluster->used < 0 || cluster->is_master)
		return false;
	*ret_est = cluster->sources[cluster->used].est;
	ret_est->error_ns += cluster->extra_ns;
	return true;
}

static __u32 status_of(const struct tsct_cluster *cluster,
		       const struct tsct_clock_params *pair, __u64 at)
{
	const struct tsct_sync_source *path;

	if (!pair->mult)
		return cluster->disrupted ? TSCT_STATUS_DISRUPTED :
			TSCT_STATUS_UNKNOWN;
	if ((__s64)(at - pair->holdover_after_cycles) > 0)
		return TSCT_STATUS_HOLDOVER;
	if (cluster->is_master)
		return TSCT_STATUS_SYNCHRONIZED;
	if (cluster->used < 0)
		return TSCT_STATUS_HOLDOVER;
	path = &cluster->sources[cluster->used];
	/* Fresh, but of somebody who is not himself. */
	if (path->remote.has_line &&
	    path->remote.status != TSCT_STATUS_SYNCHRONIZED)
		return path->remote.status;
	return path->fit.nr_kept < FEW_EXCHANGES ? TSCT_STATUS_CALIBRATING :
		TSCT_STATUS_SYNCHRONIZED;
}

__u32 tsct_cluster_compose(const struct tsct_cluster *cluster, __u64 begin_cycles,
			   struct tsct_clock_params *ret_pair)
{
	struct tsct_source_params est;
	bool known = tsct_cluster_estimate(cluster, &est);

	tsct_cluster_servo_compose(cluster, known ? &est : NULL, begin_cycles, ret_pair);
	return status_of(cluster, ret_pair, begin_cycles);
}

void tsct_cluster_fill(const struct tsct_cluster *cluster, __u64 begin_cycles,
		       struct tsct_clock_state *state)
{
	struct tsct_clock_params *pair = &state->cluster;
	const struct tsct_clock_params *old = &cluster->params;

	state->cluster_status = tsct_cluster_compose(cluster, begin_cycles, pair);
	/* What came from elsewhere must not keep REALTIME from being published. */
	if (tsct_clock_params_check(pair, state->source)) {
		memset(pair, 0, sizeof(*pair));
		state->cluster_status = TSCT_STATUS_UNKNOWN;
	}
	/* Once nothing is known there is nothing to go on from. */
	state->cluster_epoch = cluster->epoch + (old->mult && !pair->mult);
	state->cluster_master = cluster->at_timeline ? cluster->master : 0;
	state->cluster_timeline = cluster->at_timeline ? cluster->timeline : 0;
	state->cluster_prev = cluster->prev_params;
	if (old->mult && pair->base_cycles != old->base_cycles)
		state->cluster_prev = tsct_clock_params_prev(old, pair->base_cycles);
	if (!pair->mult)
		memset(&state->cluster_prev, 0, sizeof(state->cluster_prev));
	/* The short cut asks for neither. */
	if (state->flags & TSCT_CLOCK_SKEWED ||
	    state->source != TSCT_SOURCE_TSC)
		pair->fast_cycles = 0;
}

void tsct_cluster_published(struct tsct_cluster *cluster,
			    const struct tsct_clock_params *pair)
{
	const struct tsct_clock_params *old = &cluster->params;

	if (!pair->mult) {
		if (old->mult)
			begin_epoch(cluster);
		return;
	}
	if (old->mult && pair->base_cycles != old->base_cycles)
		cluster->prev_params = tsct_clock_params_prev(old, pair->base_cycles);
	cluster->params = *pair;
	cluster->disrupted = false;
}

/* ---- questions --------------------------------------------------------------- */

__u32 tsct_cluster_epoch(const struct tsct_cluster *cluster)
{
	return cluster->epoch;
}

static __u64 as_growth(double ns_per_count)
{
	return tsct_round_up(ns_per_count * 0x1p32 * 1e3);
}

/* The line that ours is slewed to */
static void tell_estimate(const struct tsct_cluster *cluster,
			  const struct tsct_source_params *est,
			  struct tsct_remote_params *line)
{
	double hold = (double)tsct_sync_source_holdover_cycles(&cluster->sources[cluster->used],
					     &cluster->options);

	*line = (struct tsct_remote_params) {
		.base = est->at,
		.base_ns = est->ns,
		.mult = (__u64)(est->rate * 0x1p56 + 0.5),
		.as_of = est->at,
		.error_ps = tsct_round_up((est->error_ns + 1) * 1e3),
		.growth = as_growth(est->growth +
				    tsct_smaller(est->wander * hold, est->phi)),
	};
}

/* Nobody refreshes it: all there is is the line in force. */
static void tell_pair(const struct tsct_clock_params *pair, __u64 now,
		      struct tsct_remote_params *line)
{
	__u64 base = pair->base_cycles;

	if (pair->slew_mult != pair->mult)
		base += pair->slew_cycles;
	*line = (struct tsct_remote_params) {
		.base = base,
		.base_ns = tsct_clock_params_ns(pair, base),
		.mult = pair->mult,
		.as_of = now,
		.error_ps = tsct_clock_params_error_ps(pair, now),
		.growth = pair->holdover_growth,
	};
}

__u32 tsct_cluster_timeline(const struct tsct_cluster *cluster, __u64 now,
			    __u64 *ret_master, __u32 *ret_epoch,
			    __u16 *ret_depth, struct tsct_remote_params *ret_line)
{
	struct tsct_source_params est;
	struct tsct_clock_params pair;
	__u32 status;

	memset(ret_line, 0, sizeof(*ret_line));
	*ret_master = cluster->at_timeline ? cluster->master : 0;
	*ret_epoch = cluster->at_timeline ? cluster->timeline : 0;
	*ret_depth = cluster->depth;
	if (cluster->is_master) {
		*ret_line = cluster->line;
		return TSCT_STATUS_SYNCHRONIZED;
	}
	status = tsct_cluster_compose(cluster, now, &pair);
	if (!pair.mult)
		return status;
	if (tsct_cluster_estimate(cluster, &est))
		tell_estimate(cluster, &est, ret_line);
	else
		tell_pair(&pair, now, ret_line);
	return status;
}

static void describe_fit(const struct tsct_cluster *cluster,
			 const struct tsct_sync_source *path, __u64 now,
			 struct tsct_source_state *ret)
{
	double ns_per_tick = 1e9 / cluster->options.hz;

	ret->kept = path->fit.nr_kept;
	ret->dropped = path->fit.nr_dropped;
	ret->rtt_min_ns = path->fit.rtt_min * ns_per_tick;
	ret->rtt_median_ns = path->fit.rtt_median * ns_per_tick;
	if (!path->known)
		return;
	ret->drift_ppm = (ns_per_tick / path->est.rate - 1) * 1e6;
	ret->error_ns = tsct_source_params_bound_ns(&path->est, now);
	ret->known = cluster->params.mult;
	if (ret->known)
		ret->offset_ns = -tsct_source_params_offset_ns(&path->est, &cluster->params,
						    now);
}

void tsct_cluster_source(const struct tsct_cluster *cluster,
			 unsigned int source, __u64 now,
			 struct tsct_source_state *ret)
{
	const struct tsct_sync_source *path;

	memset(ret, 0, sizeof(*ret));
	if (source >= cluster->nr)
		return;
	path = &cluster->sources[source];
	ret->used = (int)source == cluster->used;
	ret->liar = path->liar;
	snprintf(ret->why, sizeof(ret->why), "%s",
		 path->liar ? path->liar_why : path->why);
	if (path->fitted)
		describe_fit(cluster, path, now, ret);
}

unsigned int tsct_cluster_window(const struct tsct_cluster *cluster,
				 unsigned int source,
				 const struct tsct_exchange **ret_x,
				 const bool **ret_kept,
				 const struct tsct_fit **ret_fit)
{
	const struct tsct_sync_source *path;

	if (source >= cluster->nr || !cluster->sources[source].fitted)
		return 0;
	path = &cluster->sources[source];
	*ret_x = path->x;
	*ret_kept = path->keep;
	*ret_fit = &path->fit;
	return path->nr;
}
