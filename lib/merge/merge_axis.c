// SPDX-License-Identifier: MIT
/*
 * Chooses the time of the merged recording, the axis to which all nodes are mapped, and
 * the function from the axis to global ticks. Recordings have a common time if all are
 * on the same timeline, that of one master in one epoch; or if none belongs to a
 * cluster, and each has a clock with a bound.
 */
#include <inttypes.h>
#include <math.h>

#include "lib/ctf/ticks.h"
#include "merge_private.h"

#define GIGA	1000000000ULL

/* ---- the timeline of an input -------------------------------------------- */

static bool is_on(const struct tsct_series *s, __u64 master, __u32 timeline)
{
	/* Without a master, all nodes are on the time of NTP servers. */
	return s->nr && s->master == master && s->timeline == timeline &&
		(s->has_params || !master);
}

bool merge_is_of(const struct tsct_merge *m, const struct tsct_series *s)
{
	return is_on(s, m->master, m->timeline);
}

/*
 * Returns NULL if the input's ticks can be mapped to its cluster's timeline, else the
 * reason why not; "" if no mapping is needed: the node is in no cluster, or its
 * CLOCK_REALTIME is the cluster's time (synced-cluster in tsctraced.conf).
 */
static const char *why_none(const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);
	bool found = false, other = false;
	const struct tsct_series *s;
	unsigned int i;

	for (i = 0; i < in->nr_series; i++) {
		s = &in->series[i];
		if (is_on(s, sync->master, sync->timeline))
			found = true;
		else if (s->nr && s->x[s->nr - 1].t4 >= in->begin &&
			 s->x[0].t1 <= in->end)
			/* During the recording, the node also took samples of a
			 * timeline that is not sync->timeline. */
			other = true;
	}
	if (in->info.rec->merged)
		return in->info.rec->timeline.on ? NULL :
			"was merged without a common timeline, by each node's own clock";
	if (!sync->on || sync->role == TSCT_SYNC_SHARED)
		return "";
	if (in->info.rec->counter.mult)
		return "has times of the system clock, not of the synchronized"
			" counter; record with other --timestamps";
	if (in->foreign_samples)
		return in->foreign_samples;
	if (sync->epoch_first != sync->epoch &&
	    (sync->role == TSCT_SYNC_MASTER || other))
		return "the cluster's timeline ended during the recording, and another began";
	if (sync->role == TSCT_SYNC_MASTER)
		return sync->params.mult && sync->node == sync->master ? NULL :
			"is uncalibrated: the master's time was not yet known";
	return found ? NULL : in->contradictory ?
		"has sync samples that contradict each other, or its clock" :
		"is uncalibrated: it has no sync samples of its timeline; record with --cluster";
}

/* ---- the time of the result ---------------------------------------------- */

/* Returns true if the node's tsctraced.conf has synced-cluster: CLOCK_REALTIME is then
 * the cluster's time. */
static bool has_agreed(const struct tsct_recorded_sync *sync)
{
	return sync->on && sync->role == TSCT_SYNC_SHARED;
}

/*
 * Sets m->master and m->timeline, if all inputs are on one timeline. Else returns
 * -EINVAL with the reason.
 */
static int find_timeline(struct tsct_merge *m, char *why, size_t size)
{
	const struct tsct_recording *rec;
	const struct merge_in *in;
	const char *what;
	__u64 master;
	__u32 number;

	for (in = m->in; in < m->in + m->nr; in++) {
		rec = in->info.rec;
		what = why_none(in);
		if (what && !*what)
			what = has_agreed(merge_sync(in)) ?
				"uses CLOCK_REALTIME (synced-cluster), but other inputs use sync samples" :
				"has no sync samples, but other inputs have";
		if (what) {
			snprintf(why, size, "%s: %s", in->info.path, what);
			return -EINVAL;
		}
		master = rec->merged ? rec->timeline.master : merge_sync(in)->master;
		number = rec->merged ? rec->timeline.number : merge_sync(in)->timeline;
		if (in == m->in) {
			m->master = master;
			m->timeline = number;
		} else if (master != m->master || number != m->timeline) {
			snprintf(why, size, "%s: is on timeline %u of node %016"
				 PRIx64 ", but %s on timeline %u of node %016"
				 PRIx64, in->info.path, number,
				 (uint64_t)master, m->in[0].info.path,
				 m->timeline, (uint64_t)m->master);
			return -EINVAL;
		}
	}
	return 0;
}

/* Returns true if no input belongs to a cluster. */
static bool are_all_by_themselves(const struct tsct_merge *m)
{
	const struct merge_in *in;
	const char *what;

	for (in = m->in; in < m->in + m->nr; in++) {
		what = why_none(in);
		if (!what || (*what && !in->info.rec->merged))
			return false;
	}
	return true;
}

/* ---- comparison of nodes by their own clocks ------------------------------ */

static bool is_one_boot(const struct tsct_merge *m)
{
	const __u8 *first = m->in[0].info.rec->nodes[0].boot_id;
	const struct tsct_recording *rec;
	unsigned int i;
	__u32 node;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		/* The nodes of a merged input that were never compared are of several
		 * machines, or of one machine with contradicting clocks. */
		if (rec->merged && rec->compared != TSCT_COMPARED_CLOCK)
			return false;
		for (node = 0; node < rec->nr_nodes; node++)
			if (memcmp(rec->nodes[node].boot_id, first, 16))
				return false;
	}
	return true;
}

/* Returns true if the tsctraced.conf of each node has synced-cluster. */
static bool is_synced_cluster(const struct tsct_merge *m)
{
	const struct tsct_recording *rec;
	unsigned int i;
	__u32 node;

	for (i = 0; i < m->nr; i++) {
		rec = m->in[i].info.rec;
		for (node = 0; node < rec->nr_nodes; node++)
			if (!has_agreed(&rec->nodes[node].sync))
				return false;
	}
	return true;
}

/*
 * Returns true if the recording's clock was not compared with CLOCK_REALTIME at the end:
 * CLOCK_REALTIME may have been set since, and is then not the clock of the recording.
 */
static bool is_in_holdover(const struct tsct_recording *rec)
{
	return !rec->merged && rec->status == TSCT_STATUS_HOLDOVER;
}

/*
 * Returns a node whose CLOCK_REALTIME has no bound to UTC during a part of the node's
 * recording, or NULL. @ret_in: input with the node; @ret_worst_ns: if all nodes have a
 * bound, the largest
 */
static const struct tsct_recorded_node *
find_without_utc(const struct tsct_merge *m, const struct merge_in **ret_in,
		 __u64 *ret_worst_ns)
{
	const struct tsct_recording *rec;
	const struct merge_in *in;
	__u32 node, source;
	__u64 ns;

	*ret_worst_ns = 0;
	for (in = m->in; in < m->in + m->nr; in++) {
		rec = in->info.rec;
		*ret_in = in;
		for (node = 0; node < rec->nr_nodes; node++) {
			ns = tsct_recording_worst_utc_ns(&rec->nodes[node], &source);
			/* The cluster's time, by which a merged input may be, has no
			 * bound to UTC. */
			if (ns == UINT64_MAX || is_in_holdover(rec) || (rec->merged &&
			    (rec->compared == TSCT_COMPARED_UNKNOWN || rec->timeline.on)))
				return &rec->nodes[node];
			if (ns > *ret_worst_ns)
				*ret_worst_ns = ns;
		}
	}
	return NULL;
}

/*
 * Sets m->compared: how the times of nodes compare that are by each node's own clock.
 * Nodes that were never compared are refused, unless options.force is set.
 */
static int compare_nodes(struct tsct_merge *m)
{
	const struct tsct_recorded_node *node;
	char why[MERGE_WHY_MAX / 2];
	const struct merge_in *in;
	__u64 worst_ns;
	int err;

	err = merge_check_boots(m, why, sizeof(why));
	if (err == -ENOMEM)
		return merge_fail_errno(m, err);
	if (err && !m->options.force)
		return merge_fail(m, err, "%s; use --force to merge them without error bounds",
				  why);
	if (err) {
		merge_note(m, "%s; each node's own clock is used, without error bounds", why);
		return 0;
	}
	if (is_one_boot(m)) {
		m->compared = TSCT_COMPARED_CLOCK;
		return 0;
	}
	node = find_without_utc(m, &in, &worst_ns);
	if (!node) {
		m->compared = TSCT_COMPARED_UTC;
		merge_note(m, "no common timeline: each node's own clock is used, which its"
			   " kernel or ClockBound states to be within %.3f us of UTC or better",
			   (double)worst_ns / 1e3);
		return 0;
	}
	snprintf(why, sizeof(why), "%s: node %s was never compared with the other nodes, and no"
		 " bound of its %s to UTC is known", in->info.path,
		 node->sync.on && *node->sync.name ? node->sync.name : node->host,
		 is_in_holdover(in->info.rec) ? "clock, which was in holdover," :
		 in->info.rec->timeline.on ? "cluster's time" : "CLOCK_REALTIME");
	if (!m->options.force && !is_synced_cluster(m))
		return merge_fail(m, -EINVAL, "%s; synchronize the nodes by tsctraced (master in"
				  " tsctraced.conf) or NTP and record again, or use --force to"
				  " merge them without error bounds", why);
	merge_note(m, "%s; each node's own clock is used, without error bounds%s", why,
		   is_synced_cluster(m) ? ", although tsctraced.conf has synced-cluster" : "");
	return 0;
}

static int take_own(struct tsct_merge *m)
{
	const struct tsct_recording *rec;
	const struct merge_in *in;

	m->time = TSCT_MERGE_OWN;
	m->compared = TSCT_COMPARED_UNKNOWN;
	for (in = m->in; in < m->in + m->nr; in++) {
		rec = in->info.rec;
		if (merge_was_disrupted(rec))
			merge_note(m, "%s: its clock was disrupted while it was recorded;"
				   " its times are by the clock after the disruption, also those"
				   " before the disruption",
				   in->info.path);
		if (rec->merged || tsct_status_has_time(rec->status) || m->options.force)
			continue;
		return merge_fail(m, -EINVAL, "%s: is uncalibrated: its clock had no"
				  " time (%s); record while tsctraced runs, or use"
				  " --force", in->info.path,
				  rec->status == TSCT_STATUS_DISRUPTED ?
				  "disrupted" : "unknown");
	}
	return compare_nodes(m);
}

/*
 * Finds the timeline of all inputs: by the daemons' samples, or else by sessions over MPI,
 * which are not needed where all inputs have one counter. @ret_by_themselves: no input
 * belongs to a daemon's cluster. Returns 0; -EINVAL with the reason; or another -errno
 * after merge_fail().
 */
static int find_any_timeline(struct tsct_merge *m, bool *ret_by_themselves, char *why,
			     size_t size)
{
	int err = find_timeline(m, why, size);

	*ret_by_themselves = err && are_all_by_themselves(m);
	if (!err || (*ret_by_themselves && is_one_boot(m)))
		return err;
	err = merge_use_mpi(m);
	if (err < 0)
		return err;
	return err ? find_timeline(m, why, size) : -EINVAL;
}

int merge_choose_time(struct tsct_merge *m)
{
	char why[MERGE_WHY_MAX / 2];
	const struct merge_in *in;
	bool by_themselves;
	int err;

	m->time = TSCT_MERGE_CLUSTER;
	m->compared = TSCT_COMPARED_SAMPLES;
	err = find_any_timeline(m, &by_themselves, why, sizeof(why));
	if (m->error)
		return m->error;
	if (err) {
		if (by_themselves)
			return take_own(m);
		if (!m->options.force)
			return merge_fail(m, -EINVAL, "%s; use --force to take"
					  " each node's own clock", why);
		merge_note(m, "%s", why);
		return take_own(m);
	}
	/* Sync samples taken before a disruption apply only to times before
	 * the disruption. */
	for (in = m->in; in < m->in + m->nr; in++)
		if (merge_was_disrupted(in->info.rec))
			merge_note(m, "%s: the clock was disrupted during the"
				   " recording (a step, a suspend); times before the"
				   " disruption use the samples taken before the"
				   " disruption, if there are any", in->info.path);
	return 0;
}

/* ---- positions on the axis ----------------------------------------------- */

double merge_axis_ns(const struct merge_axis *axis)
{
	return ldexp((double)axis->mult, -TSCT_CLOCK_SHIFT);
}

/* Returns @value rounded towards zero; 0 if the result does not fit in 64 bits, as can
 * happen with sync samples of a counter that no input recorded. */
__s64 merge_whole(double value)
{
	return value > -9e18 && value < 9e18 ? (__s64)value : 0;
}

void merge_add_frac(struct merge_place *place, double frac)
{
	double whole = floor(frac);

	place->count += (__u64)merge_whole(whole);
	place->frac = frac - whole < 1 ? frac - whole : nextafter(1, 0);
}

void merge_axis_place(const struct merge_axis *axis, __s64 ns, double frac_ns,
		      struct merge_place *ret)
{
	tsct_s128 size = ((tsct_s128)ns - axis->base_ns) *
		((tsct_s128)1 << TSCT_CLOCK_SHIFT);
	tsct_s128 count = size / axis->mult, rest = size % axis->mult;

	if (rest < 0) {
		rest += axis->mult;
		count--;
	}
	ret->count = axis->base + (__u64)count;
	merge_add_frac(ret, (double)rest / (double)axis->mult +
		    frac_ns / merge_axis_ns(axis));
}

/* Returns the cluster time of position @count on an axis, ns, rounded down. */
static __s64 time_of(const struct merge_axis *axis, __u64 count)
{
	return axis->base_ns +
		tsct_cycles_ns(axis->mult, (__s64)(count - axis->base));
}

/* ---- merged inputs ------------------------------------------------------- */

static struct merge_axis axis_of(const struct tsct_recorded_timeline *t)
{
	return (struct merge_axis) {
		.base = t->base, .base_ns = t->base_ns, .mult = t->mult,
	};
}

static struct tsct_axis frame_of(const struct tsct_recorded_timeline *t)
{
	return (struct tsct_axis) {
		.remote = t->remote, .global = t->global, .num = t->num,
		.den = t->den, .hz = t->hz,
	};
}

static bool is_same_axis(const struct merge_axis *a, const struct merge_axis *b)
{
	return a->mult == b->mult && time_of(a, b->base) == b->base_ns;
}

bool merge_is_same_frame(const struct tsct_merge *m,
			 const struct tsct_recording *rec)
{
	struct merge_axis axis = axis_of(&rec->timeline);
	struct tsct_axis frame = frame_of(&rec->timeline);

	return !memcmp(&frame, &m->frame, sizeof(frame)) &&
		is_same_axis(&axis, &m->axis);
}

void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret)
{
	const struct merge_axis from = axis_of(&rec->timeline);
	const struct tsct_axis frame = frame_of(&rec->timeline);
	const bool before = rec->begin < frame.global;
	tsct_u128 product = (tsct_u128)(before ? frame.global - rec->begin :
					rec->begin - frame.global) * frame.den;
	const __u64 whole = (__u64)(product / frame.num);
	const double frac = (double)(__u64)(product % frame.num) / (double)frame.num;
	struct merge_place place;
	double ns;

	/* Position of tick rec->begin on the input's axis, in whole counts and a
	 * fraction. Tick frame.global is at count frame.remote; a tick has den / num
	 * counts. */
	place.count = before ? frame.remote - whole : frame.remote + whole;
	merge_add_frac(&place, before ? -frac : frac);
	place.rate = (double)frame.den / (double)frame.num;
	if (!is_same_axis(&from, &m->axis)) {
		ns = place.frac * merge_axis_ns(&from);
		place.rate *= merge_axis_ns(&from) / merge_axis_ns(&m->axis);
		merge_axis_place(&m->axis, time_of(&from, place.count), ns,
				 &place);
	}
	memset(ret, 0, sizeof(*ret));
	*tsct_fit_reserve(ret, 1) = (struct tsct_cubic) {
		.from = rec->begin, .base = place.count,
		.c = { place.frac, place.rate },
	};
}

/* ---- the axis ----------------------------------------------------------------- */

static bool is_master(const struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);

	return !in->info.rec->merged && sync->role == TSCT_SYNC_MASTER &&
		sync->node == m->master;
}

/* Returns a series of sync samples that was measured on the result's timeline, or NULL.
 * @by_master: accept only exchanges with the master that have its clock params */
static const struct tsct_series *find_series(const struct tsct_merge *m,
					     bool by_master)
{
	const struct tsct_series *s;
	unsigned int i, k;

	for (i = 0; i < m->nr; i++)
		for (k = 0; k < m->in[i].nr_series; k++) {
			s = &m->in[i].series[k];
			if (merge_is_of(m, s) &&
			    (!by_master || (s->has_params && s->node == m->master)))
				return s;
		}
	return NULL;
}

static void choose_axis(struct tsct_merge *m)
{
	const struct tsct_clock_params *params;
	const struct tsct_remote_params *sent;
	const struct tsct_series *s;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		if (!is_master(m, &m->in[i]))
			continue;
		params = &merge_sync(&m->in[i])->params;
		m->axis.base = params->base_cycles + params->slew_cycles;
		m->axis.base_ns = tsct_clock_params_ns(params, m->axis.base);
		m->axis.mult = params->mult;
		return;
	}
	/* There is no recording of the master: the axis is made from the master's clock
	 * params in a child's sync samples. */
	s = find_series(m, true);
	if (s) {
		sent = &s->params[s->nr - 1];
		m->axis = (struct merge_axis) { sent->base, sent->base_ns, sent->mult };
		return;
	}
	/*
	 * The master's counter is unknown: the axis is ns of cluster time. Its base is
	 * the base time in the last clock params of a series of sync samples.
	 */
	m->axis = (struct merge_axis) { .mult = TSCT_NS_MULT };
	s = find_series(m, false);
	if (s) {
		m->axis.base_ns = s->params[s->nr - 1].base_ns;
		m->axis.base = (__u64)m->axis.base_ns;
	}
}

/* ---- global ticks -------------------------------------------------------- */

static __u64 wanted_hz(const struct tsct_merge *m)
{
	return m->options.hz ? m->options.hz : GIGA;
}

int merge_frame_from_params(struct tsct_axis *ret, __u64 base, __s64 base_ns,
			    __u64 mult, __u64 hz)
{
	int err = tsct_axis_from_params(ret, base, base_ns, mult);
	__u64 num = hz, den = GIGA;
	bool rest;

	if (err)
		return err;
	ret->hz = hz;
	ret->global = tsct_divide((tsct_u128)ret->global * hz, GIGA, &rest);
	tsct_reduce(&num, &den);
	if (__builtin_mul_overflow(ret->num, num, &ret->num) ||
	    __builtin_mul_overflow(ret->den, den, &ret->den) ||
	    ret->global == ~0ULL)
		return -ERANGE;
	return 0;
}

/*
 * Sets the rate of global ticks so that the master's whole recording lasts as long as
 * by the master's wall clock. A recording of less than 1 s is extended to 1 s: from its
 * length in whole ns, the rate would be too coarse for the events of the other nodes.
 */
static int frame_by_master(struct tsct_merge *m)
{
	const struct merge_in *first = NULL, *last = NULL, *in;
	__u64 end;

	for (in = m->in; in < m->in + m->nr; in++) {
		if (!is_master(m, in))
			continue;
		if (!first || in->begin < first->begin)
			first = in;
		if (!last || in->end > last->end)
			last = in;
	}
	if (!first)
		return -ENOENT;
	end = last->end;
	if ((double)(end - first->begin) < last->hz)
		end = first->begin + (__u64)last->hz;
	return tsct_axis_from_run(&m->frame, first->begin, end,
			      (__u64)merge_own_ns(first, first->begin),
			      (__u64)merge_own_ns(last, end), 0, wanted_hz(m));
}

/* Without a recording of the master, global ticks have the rate of cluster time. */
static int frame_by_cluster(struct tsct_merge *m)
{
	const struct merge_axis *axis = &m->axis;
	__u64 hour = (__u64)merge_whole(3600e9 / merge_axis_ns(axis));

	if (!merge_frame_from_params(&m->frame, axis->base, axis->base_ns,
				     axis->mult, wanted_hz(m)))
		return 0;
	return tsct_axis_from_run(&m->frame, axis->base, axis->base + hour,
			      (__u64)axis->base_ns,
			      (__u64)time_of(axis, axis->base + hour), 0,
			      wanted_hz(m));
}

int merge_find_axis(struct tsct_merge *m)
{
	const struct tsct_recording *merged = NULL;
	unsigned int i;
	int err;

	for (i = 0; i < m->nr && !merged; i++)
		if (m->in[i].info.rec->merged)
			merged = m->in[i].info.rec;
	if (m->time == TSCT_MERGE_OWN) {
		/* There is no common axis: each node has its own clock. Of m->axis and
		 * m->frame, only m->frame.hz, the rate of global ticks, is used. */
		m->axis = (struct merge_axis) { .mult = TSCT_NS_MULT };
		m->frame = (struct tsct_axis) { 0, 0, 1, 1, wanted_hz(m) };
		if (merged && !m->options.hz)
			m->frame.hz = merged->timeline.hz;
		return 0;
	}
	if (merged) {
		m->axis = axis_of(&merged->timeline);
		m->frame = frame_of(&merged->timeline);
		if (!m->options.hz || m->options.hz == m->frame.hz)
			return 0;
		return merge_fail(m, -EINVAL, "%s: its ticks are 1/%" PRIu64
				  " s already; remove --resolution, or merge the"
				  " recordings that it was made from",
				  m->in[i - 1].info.path, (uint64_t)m->frame.hz);
	}
	choose_axis(m);
	err = frame_by_master(m);
	if (err == -ENOENT)
		err = frame_by_cluster(m);
	if (err == -ERANGE)
		return merge_fail(m, -EINVAL, "--resolution %" PRIu64
				  ": too many ticks since the Unix epoch, or too"
				  " odd a ratio to the master's counter; use a"
				  " rounder or smaller number",
				  (uint64_t)wanted_hz(m));
	return !err ? 0 :
		merge_fail(m, -EINVAL, "the wall clock of the master did not run"
			   " forward; use --force to take each node's own clock");
}
