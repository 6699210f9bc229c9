// SPDX-License-Identifier: MIT
/*
 * The cluster's part of what the keeper publishes. It has epochs of its own: who
 * sets CLOCK_REALTIME does not touch it, what touches the counter does.
 */
#include <errno.h>
#include <string.h>

#include "lib/core/clock_params.h"
#include "timekeeper.h"

static void say_nothing(const struct timekeeper *k, struct tsct_clock_state *state)
{
	memset(&state->cluster, 0, sizeof(state->cluster));
	memset(&state->cluster_prev, 0, sizeof(state->cluster_prev));
	state->cluster_status = TSCT_STATUS_UNKNOWN;
	state->cluster_epoch = k->cluster_epoch;
	state->cluster_master = 0;
	state->cluster_timeline = 0;
}

/* The line in force has yet to begin: nothing can go on from it. */
static bool is_pending(const struct timekeeper *k)
{
	const struct tsct_clock_state *old = &k->est.state;

	return old->cluster.mult &&
		old->cluster_epoch == tsct_cluster_epoch(k->cluster) &&
		(__s64)(old->cluster.base_cycles - timekeeper_cycles(k)) > 0;
}

static void keep(const struct tsct_clock_state *old,
		 struct tsct_clock_state *state)
{
	state->cluster = old->cluster;
	state->cluster_prev = old->cluster_prev;
	state->cluster_status = old->cluster_status;
	state->cluster_epoch = old->cluster_epoch;
	state->cluster_master = old->cluster_master;
	state->cluster_timeline = old->cluster_timeline;
}

void timekeeper_add_cluster(const struct timekeeper *k, __u64 begin_cycles,
			struct tsct_clock_state *state)
{
	if (!k->cluster)
		say_nothing(k, state);
	else if (is_pending(k))
		keep(&k->est.state, state);
	else
		tsct_cluster_fill(k->cluster, begin_cycles, state);
}

void timekeeper_note_cluster(struct timekeeper *k, const struct tsct_clock_state *state)
{
	k->cluster_epoch = state->cluster_epoch;
	if (k->cluster)
		tsct_cluster_published(k->cluster, &state->cluster);
}

void timekeeper_join_cluster(struct timekeeper *k, const struct tsct_clock_state *last)
{
	__u32 epoch = last->cluster_epoch + !!last->cluster.mult;

	if ((__s32)(epoch - k->cluster_epoch) > 0)
		k->cluster_epoch = epoch;
	if (k->cluster)
		tsct_cluster_resume_epoch(k->cluster, last->cluster_epoch);
}

void timekeeper_drop_cluster(struct timekeeper *k)
{
	if (k->cluster)
		tsct_cluster_disrupt(k->cluster);
}

void timekeeper_use_cluster(struct timekeeper *k, struct tsct_cluster *cluster)
{
	k->cluster_epoch += !!k->est.state.cluster.mult;
	k->cluster = cluster;
	if (cluster)
		tsct_cluster_resume_epoch(cluster, k->cluster_epoch);
}

static int tell_once(struct timekeeper *k, __s64 lead_ns)
{
	struct tsct_clock_state state = k->est.state;
	int err;

	timekeeper_add_cluster(k, timekeeper_begin_cycles(k, lead_ns), &state);
	err = k->env->publish(k->env->ctx, &state);
	if (err)
		return err;
	timekeeper_note_cluster(k, &state);
	keep(&state, &k->est.state);
	return 0;
}

int timekeeper_publish_cluster(struct timekeeper *k)
{
	__s64 lead_ns = timekeeper_lead_ns(k);
	int err;

	if (!k->cluster || k->lost || k->stopping || k->hold_ns ||
	    !timekeeper_has_params(&k->est.state))
		return 0;
	do {
		err = tell_once(k, lead_ns);
		lead_ns *= 4;
	} while (err == -ETIME && lead_ns <= TIMEKEEPER_LEAD_MAX_NS);
	/* What is in force is not what we think. */
	if (err == -ESTALE || err == -EXDEV || err == -ETIMEDOUT)
		return timekeeper_publish(k);
	return err == -EPERM ? err : 0;
}
