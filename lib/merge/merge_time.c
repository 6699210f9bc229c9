// SPDX-License-Identifier: MIT
/*
 * Chooses the time of the result. Recordings have a common time if all are on
 * the same timeline, that of one master in one epoch; or if none belongs to a
 * cluster, and each has a clock with a bound.
 */
#include <inttypes.h>

#include "lib/core/clock_params.h"
#include "merge_private.h"

bool merge_is_of(const struct tsct_merge *m, const struct tsct_series *s)
{
	/* Without a master, it is on the time of NTP servers: all nodes share it. */
	return s->nr && s->master == m->master &&
		s->timeline == m->timeline && (s->has_line || !m->master);
}

/* ---- the timeline of an input -------------------------------------------- */

/* True if the span of the series' samples overlaps the recording */
static bool is_within(const struct merge_in *in, const struct tsct_series *s)
{
	return s->nr && s->x[s->nr - 1].t4 >= in->begin && s->x[0].t1 <= in->end;
}

static bool is_series_of(const struct tsct_recorded_sync *sync,
			 const struct tsct_series *s)
{
	return s->nr && s->master == sync->master &&
		s->timeline == sync->timeline && (s->has_line || !sync->master);
}

/* True if master or epoch changed during the recording */
static bool has_changed(const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);
	unsigned int k;

	if (sync->epoch_first == sync->epoch)
		return false;
	if (sync->role == TSCT_SYNC_MASTER)
		return true;
	for (k = 0; k < in->nr_series; k++)
		if (!is_series_of(sync, &in->series[k]) &&
		    is_within(in, &in->series[k]))
			return true;
	return false;
}

static bool has_series(const struct merge_in *in)
{
	unsigned int k;

	for (k = 0; k < in->nr_series; k++)
		if (is_series_of(merge_sync(in), &in->series[k]))
			return true;
	return false;
}

/*
 * NULL: the input is on a timeline. Else the reason; "" if it belongs to no
 * cluster, or has synced-cluster, so that there is nothing to correct.
 */
static const char *look(const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);

	if (in->info.rec->merged)
		return in->info.rec->timeline.on ? NULL :
			"was merged by each node's own clock";
	if (!sync->on || sync->role == TSCT_SYNC_SHARED)
		return "";
	if (in->info.rec->counter.mult)
		return "has times of the system clock, not of the synchronized"
			" counter; record with other --timestamps";
	if (has_changed(in))
		return "the timeline of its cluster ended while it was recorded, and another began";
	if (sync->role == TSCT_SYNC_MASTER)
		return sync->params.mult && sync->node == sync->master ? NULL :
			"is uncalibrated: the master's time was not yet known";
	return has_series(in) ? NULL :
		"is uncalibrated: it has no sync samples of its timeline; record with --cluster";
}

static void timeline_of(const struct merge_in *in, __u64 *ret_master,
			__u32 *ret_number)
{
	const struct tsct_recording *rec = in->info.rec;

	*ret_master = rec->merged ? rec->timeline.master : merge_sync(in)->master;
	*ret_number = rec->merged ? rec->timeline.number :
		merge_sync(in)->timeline;
}

/* ---- all inputs ---------------------------------------------------------- */

#define WAY_OUT	"; use --force to take each node's own clock"

/* True with synced-cluster: CLOCK_REALTIME is the cluster's time. */
static bool has_agreed(const struct tsct_recorded_sync *sync)
{
	return sync->on && sync->role == TSCT_SYNC_SHARED;
}

/* The reason for an input without a timeline, beside some with one */
static const char *why_none(const struct merge_in *in)
{
	return has_agreed(merge_sync(in)) ?
		"uses CLOCK_REALTIME (synced-cluster), others use sync samples" :
		"has no sync samples, others have";
}

/* NULL: all are on one timeline, m->master's. Else the reason, as a sentence. */
static int find_timeline(struct tsct_merge *m, char *why, size_t size)
{
	__u64 master = 0;
	__u32 number = 0;
	const char *what;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		what = look(&m->in[i]);
		if (what) {
			snprintf(why, size, "%s: %s", m->in[i].info.path, *what ?
				 what : why_none(&m->in[i]));
			return -EINVAL;
		}
		timeline_of(&m->in[i], &master, &number);
		if (!i) {
			m->master = master;
			m->timeline = number;
		} else if (master != m->master || number != m->timeline) {
			snprintf(why, size, "%s: is on timeline %u of node %016"
				 PRIx64 ", but %s on timeline %u of node %016"
				 PRIx64, m->in[i].info.path, number,
				 (uint64_t)master, m->in[0].info.path,
				 m->timeline, (uint64_t)m->master);
			return -EINVAL;
		}
	}
	return 0;
}

/* True if no input belongs to a cluster */
static bool are_all_by_themselves(const struct tsct_merge *m)
{
	const char *what;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		what = look(&m->in[i]);
		if (!what || (*what && !m->in[i].info.rec->merged))
			return false;
	}
	return true;
}

/* True if all are of one boot, so that they have one clock */
static bool is_one_machine(const struct tsct_merge *m)
{
	const __u8 *first = m->in[0].info.rec->nodes[0].boot_id;
	const struct tsct_recording *rec;
	unsigned int i;
	__u32 k;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		for (k = 0; k < rec->nr_nodes; k++)
			if (memcmp(rec->nodes[k].boot_id, first, 16))
				return false;
	}
	return true;
}

static bool is_shared(const struct tsct_merge *m)
{
	const struct tsct_recording *rec;
	unsigned int i;
	__u32 k;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		for (k = 0; k < rec->nr_nodes; k++)
			if (!has_agreed(&rec->nodes[k].sync))
				return false;
	}
	return true;
}

/* Reports the largest distance of two inputs by their own clocks. */
static void warn(struct tsct_merge *m)
{
	__u64 worst[2] = { 0, 0 }, error, begin;
	const struct tsct_recording *rec;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		error = tsct_clock_params_error_ps(&rec->real, m->in[i].end);
		begin = tsct_clock_params_error_ps(&rec->real, m->in[i].begin);
		error = begin > error ? begin : error;
		if (error > worst[0]) {
			worst[1] = worst[0];
			worst[0] = error;
		} else if (error > worst[1]) {
			worst[1] = error;
		}
	}
	merge_note(m, "no common timeline: each node's own clock is used; the"
		   " times of two nodes may differ by %.3f us, if"
		   " CLOCK_REALTIME is the same on all", ((double)worst[0] + (double)worst[1]) / 1e6);
}

static int check_own(struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recording *rec = in->info.rec;

	if (merge_was_disrupted(rec))
		merge_note(m, "%s: its clock was disrupted while it was recorded;"
			   " times before the disruption follow the clock after it",
			   in->info.path);
	if (tsct_status_has_time(rec->status) || m->options.force)
		return 0;
	return merge_fail(m, -EINVAL, "%s: is uncalibrated, its clock had no"
			  " time (%s); record while tsctraced runs, or use"
			  " --force", in->info.path,
			  rec->status == TSCT_STATUS_DISRUPTED ? "disrupted" :
			  "unknown");
}

static int take_own(struct tsct_merge *m)
{
	unsigned int i;
	int err;

	m->time = TSCT_MERGE_OWN;
	for (i = 0; i < m->nr; i++) {
		err = check_own(m, &m->in[i]);
		if (err)
			return err;
	}
	if (!is_one_machine(m) && !is_shared(m))
		warn(m);
	return 0;
}

/* Each epoch has its own samples, if there are any. */
static int take_cluster(struct tsct_merge *m)
{
	const struct merge_in *in;

	for (in = m->in; in < m->in + m->nr; in++)
		if (merge_was_disrupted(in->info.rec))
			merge_note(m, "%s: its clock was disrupted while it was"
				   " recorded (a step, a suspend); times before it"
				   " use the samples from before it, if there are"
				   " any", in->info.path);
	return 0;
}

int merge_choose_time(struct tsct_merge *m)
{
	char why[MERGE_WHY_MAX / 2];

	m->time = TSCT_MERGE_CLUSTER;
	if (!find_timeline(m, why, sizeof(why)))
		return take_cluster(m);
	if (are_all_by_themselves(m))
		return take_own(m);
	if (!m->options.force)
		return merge_fail(m, -EINVAL, "%s" WAY_OUT, why);
	merge_note(m, "%s", why);
	return take_own(m);
}
