// SPDX-License-Identifier: MIT
/*
 * The cluster's part of what the keeper publishes. It has epochs of its own: who
 * sets CLOCK_REALTIME does not touch it, what touches the counter does.
 */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"

static void say_nothing(const struct keeper *k, struct tsct_clock_state *state)
{
	memset(&state->cluster, 0, sizeof(state->cluster));
	memset(&state->cluster_before, 0, sizeof(state->cluster_before));
	state->cluster_status = TSCT_STATUS_UNKNOWN;
	state->cluster_epoch = k->cluster_epoch;
	state->cluster_master = 0;
	state->cluster_timeline = 0;
}

/* The line in force has yet to begin: nothing can go on from it. */
static bool is_pending(const struct keeper *k)
{
	const struct tsct_clock_state *old = &k->est.state;

	return old->cluster.mult &&
		old->cluster_epoch == tsct_cluster_epoch(k->cluster) &&
		(__s64)(old->cluster.base_tsc - keeper_stamp(k)) > 0;
}

static void keep(const struct tsct_clock_state *old,
		 struct tsct_clock_state *state)
{
	state->cluster = old->cluster;
	state->cluster_before = old->cluster_before;
	state->cluster_status = old->cluster_status;
	state->cluster_epoch = old->cluster_epoch;
	state->cluster_master = old->cluster_master;
	state->cluster_timeline = old->cluster_timeline;
}

void keeper_add_cluster(const struct keeper *k, __u64 begin_tsc,
			struct tsct_clock_state *state)
{
	if (!k->cluster)
		say_nothing(k, state);
	else if (is_pending(k))
		keep(&k->est.state, state);
	else
		tsct_cluster_fill(k->cluster, begin_tsc, state);
}

void keeper_note_cluster(struct keeper *k, const struct tsct_clock_state *state)
{
	k->cluster_epoch = state->cluster_epoch;
	if (k->cluster)
		tsct_cluster_published(k->cluster, &state->cluster);
}

void keeper_join_cluster(struct keeper *k, const struct tsct_clock_state *last)
{
	__u32 epoch = last->cluster_epoch + !!last->cluster.mult;

	if ((__s32)(epoch - k->cluster_epoch) > 0)
		k->cluster_epoch = epoch;
	if (k->cluster)
		tsct_cluster_join(k->cluster, last->cluster_epoch);
}

void keeper_drop_cluster(struct keeper *k)
{
	if (k->cluster)
		tsct_cluster_drop(k->cluster);
}

void keeper_use_cluster(struct keeper *k, struct tsct_cluster *cluster)
{
	k->cluster_epoch += !!k->est.state.cluster.mult;
	k->cluster = cluster;
	if (cluster)
		tsct_cluster_join(cluster, k->cluster_epoch);
}

static int tell_once(struct keeper *k, __s64 lead_ns)
{
	struct tsct_clock_state state = k->est.state;
	int err;

	keeper_add_cluster(k, keeper_begin(k, lead_ns), &state);
	err = k->env->publish(k->env->ctx, &state);
	if (err)
		return err;
	keeper_note_cluster(k, &state);
	keep(&state, &k->est.state);
	return 0;
}

int keeper_tell_cluster(struct keeper *k)
{
	__s64 lead_ns = keeper_lead_ns(k);
	int err;

	if (!k->cluster || k->lost || k->stopping || k->hold_ns ||
	    !keeper_has_line(&k->est.state))
		return 0;
	do {
		err = tell_once(k, lead_ns);
		lead_ns *= 4;
	} while (err == -ETIME && lead_ns <= KEEPER_LEAD_MAX_NS);
	/* What is in force is not what we think. */
	if (err == -ESTALE || err == -EXDEV || err == -ETIMEDOUT)
		return keeper_publish(k);
	return err == -EPERM ? err : 0;
}
