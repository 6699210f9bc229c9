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
#include "merge_map.h"

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
	return is_on(s, m->axis.master, m->axis.number);
}

/* Returns NULL if the input's ticks can be mapped to its cluster's timeline, else the
 * reason why not; "" if no mapping is needed: the node is in no cluster, or its
 * CLOCK_REALTIME is the cluster's time (synced-cluster in tsctraced.conf). */
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
	if (in->rec->merged)
		return in->rec->timeline.on ? NULL :
			"was merged without a common timeline, by each node's own clock";
	if (!sync->on || sync->role == TSCT_SYNC_SHARED)
		return "";
	if (in->rec->counter.mult)
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
		"has sync samples that contradict each other, or contradict its clock" :
		"is uncalibrated: it has no sync samples of its timeline; record with --cluster";
}

/* ---- the timelines of all inputs ------------------------------------------ */

struct axis_timeline {
	__u64 master;
	__u32 number;
};

/* Facts about some adjacent inputs: whether all of them are on the first input's timeline */
struct axis_timelines {
	struct axis_timeline first;
	__u32 first_input;
	bool by_themselves;	/* flag: no input belongs to a cluster */
	/* other_input: first input that is not on timeline `first`, MERGE_NOBODY: none; other: its
	 * timeline; why: reason why the input is on no timeline, "": it is on timeline `other` */
	__u32 other_input;
	struct axis_timeline other;
	char why[MERGE_WHY_MAX / 4];
};

/* Returns true if the node's tsctraced.conf has synced-cluster: CLOCK_REALTIME is then
 * the cluster's time. */
static bool has_agreed(const struct tsct_recorded_sync *sync)
{
	return sync->on && sync->role == TSCT_SYNC_SHARED;
}

static bool is_same_timeline(const struct axis_timeline *a, const struct axis_timeline *b)
{
	return a->master == b->master && a->number == b->number;
}

/* Extends @left, facts about some inputs, by @right, facts about the inputs that follow these. */
int merge_combine_timelines(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct axis_timelines *a = (struct axis_timelines *)left->data;
	const struct axis_timelines *b = (const struct axis_timelines *)right->data;

	a->by_themselves &= b->by_themselves;
	if (a->other_input != MERGE_NOBODY)
		return 0;
	a->other_input = b->other_input;
	a->other = b->other;
	memcpy(a->why, b->why, sizeof(a->why));
	if (!is_same_timeline(&a->first, &b->first) &&
	    (b->other_input != b->first_input || !*b->why)) {
		a->other_input = b->first_input;
		a->other = b->first;
		*a->why = '\0';
	}
	return 0;
}

static int list_timeline(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	const struct tsct_recorded_sync *sync = merge_sync(in);
	const char *why = why_none(in);
	struct axis_timelines t = {
		.first = {
			.master = rec->merged ? rec->timeline.master : sync->master,
			.number = rec->merged ? rec->timeline.number : sync->timeline,
		},
		.first_input = in->index, .other_input = why ? in->index : MERGE_NOBODY,
		.by_themselves = why && (!*why || rec->merged),
	};

	t.other = t.first;
	if (why && !*why)
		why = has_agreed(sync) ?
			"uses CLOCK_REALTIME (synced-cluster), but other inputs use sync samples" :
			"has no sync samples, but other inputs have";
	if (why)
		snprintf(t.why, sizeof(t.why), "%s", why);
	return merge_list_extend(m, MERGE_TIMELINES, &t, sizeof(t));
}

/* Sets @why to the reason why the inputs are not on one timeline; "": they are. */
static void compare_timelines(const struct tsct_merge *m, char why[MERGE_WHY_MAX / 2])
{
	const struct axis_timelines *t =
		(const struct axis_timelines *)m->list[MERGE_TIMELINES].data;
	const char *path;

	*why = '\0';
	if (t->other_input == MERGE_NOBODY)
		return;
	path = m->options.name[t->other_input];
	if (*t->why)
		snprintf(why, MERGE_WHY_MAX / 2, "%s: %s", path, t->why);
	else
		snprintf(why, MERGE_WHY_MAX / 2, "%s: is on timeline %u of node %016"
			 PRIx64 ", but %s is on timeline %u of node %016" PRIx64,
			 path, t->other.number, (uint64_t)t->other.master, m->options.name[0],
			 t->first.number, (uint64_t)t->first.master);
}

/* ---- comparison of nodes by their own clocks ------------------------------ */

/* Returns true if, at the end of the recording, its clock was no longer compared with
 * CLOCK_REALTIME: the two differ if CLOCK_REALTIME was set since the last comparison. */
static bool is_in_holdover(const struct tsct_recording *rec)
{
	return !rec->merged && rec->status == TSCT_STATUS_HOLDOVER;
}

/* Facts about the nodes of some inputs. A flag is set if its statement holds for all nodes */
struct clocks {
	__u8 boot_id[16];	/* boot id of the first node */
	bool one_boot;
	bool synced_cluster;	/* flag: tsctraced.conf of each node has synced-cluster */
	/* reason why CLOCK_REALTIME of a node has no bound relative to UTC, for the first
	 * such node; "": all nodes have such a bound */
	char no_utc[MERGE_WHY_MAX / 2];
	__u64 worst_utc_ns;	/* largest bound relative to UTC of all nodes that have one */
};

static void compare_utc(const struct merge_in *in, struct clocks *c)
{
	const struct tsct_recording *rec = in->rec;
	const struct tsct_recorded_node *node;
	__u32 source;
	__u64 ns;

	for (node = rec->nodes; node < rec->nodes + rec->nr_nodes && !*c->no_utc; node++) {
		ns = tsct_recording_worst_utc_ns(node, &source);
		/* A merged input may have the cluster's time: its bound relative to UTC is
		 * unknown. */
		if (ns == UINT64_MAX || is_in_holdover(rec) || (rec->merged &&
		    (rec->compared == TSCT_COMPARED_UNKNOWN || rec->timeline.on)))
			snprintf(c->no_utc, sizeof(c->no_utc), "%s: node %s was never"
				 " compared with the other nodes, and the distance of its %s"
				 " from UTC is unknown", in->info.path,
				 node->sync.on && *node->sync.name ? node->sync.name :
				 node->host, is_in_holdover(rec) ?
				 "clock, which was in holdover," : rec->timeline.on ?
				 "cluster's time" : "CLOCK_REALTIME");
		else if (ns > c->worst_utc_ns)
			c->worst_utc_ns = ns;
	}
}

int merge_combine_clocks(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct clocks *a = (struct clocks *)left->data;
	const struct clocks *b = (const struct clocks *)right->data;

	a->one_boot &= b->one_boot && !memcmp(a->boot_id, b->boot_id, 16);
	a->synced_cluster &= b->synced_cluster;
	if (!*a->no_utc)
		memcpy(a->no_utc, b->no_utc, sizeof(a->no_utc));
	a->worst_utc_ns = max(a->worst_utc_ns, b->worst_utc_ns);
	return 0;
}

int merge_list_clocks(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	/* If the nodes of a merged input were never compared, they are of
	 * several machines, or of one machine with contradicting clocks. */
	struct clocks c = {
		.one_boot = !rec->merged || rec->compared == TSCT_COMPARED_CLOCK,
		.synced_cluster = true,
	};
	__u32 node;
	int err = list_timeline(m, in);

	memcpy(c.boot_id, rec->nodes[0].boot_id, sizeof(c.boot_id));
	compare_utc(in, &c);
	for (node = 0; node < rec->nr_nodes; node++) {
		c.one_boot &= !memcmp(rec->nodes[node].boot_id, c.boot_id, 16);
		c.synced_cluster &= has_agreed(&rec->nodes[node].sync);
	}
	return err ? err : merge_list_extend(m, MERGE_CLOCKS, &c, sizeof(c));
}

/* Sets m->compared: how times of two nodes can be compared if each node's own clock is
 * used. Refuses nodes that were never compared, unless options.force is set. */
static int compare_nodes(struct tsct_merge *m)
{
	const struct clocks *c = (const struct clocks *)m->list[MERGE_CLOCKS].data;
	char why[MERGE_WHY_MAX / 2] = "";

	merge_check_boots(m, why, sizeof(why));
	if (*why && !m->options.force)
		return merge_fail(m, -EINVAL, "%s; use --force to merge them without error"
				  " bounds", why);
	if (*why) {
		merge_note_once(m, "%s; each node's own clock is used, without error bounds", why);
		return 0;
	}
	if (c->one_boot) {
		m->compared = TSCT_COMPARED_CLOCK;
		return 0;
	}
	if (!*c->no_utc) {
		m->compared = TSCT_COMPARED_UTC;
		merge_note_once(m, "no common timeline: each node's own clock is used; kernels or"
			  " ClockBound state that each is within %.3f us of UTC",
			  (double)c->worst_utc_ns / 1e3);
		return 0;
	}
	if (!m->options.force && !c->synced_cluster)
		return merge_fail(m, -EINVAL, "%s; synchronize the nodes by tsctraced (master in"
				  " tsctraced.conf) or NTP and record again, or use --force to"
				  " merge them without error bounds", c->no_utc);
	merge_note_once(m, "%s; each node's own clock is used, without error bounds%s", c->no_utc,
		  c->synced_cluster ? ", although tsctraced.conf has synced-cluster" : "");
	return 0;
}

static int check_own(struct tsct_merge *m, const struct merge_in *in)
{
	if (in->was_disrupted)
		merge_note(m, "%s: its clock was disrupted during the recording;"
			   " all times of the recording, even those before the disruption,"
			   " are by the clock after the disruption", in->info.path);
	if (in->merged || tsct_status_has_time(in->status) || m->options.force)
		return 0;
	return merge_fail(m, -EINVAL, "%s: is uncalibrated: its clock had no"
			  " known time (status: %s); record while tsctraced runs,"
			  " or use --force", in->info.path,
			  in->status == TSCT_STATUS_DISRUPTED ?
			  "disrupted" : "unknown");
}

static int take_own(struct tsct_merge *m)
{
	const struct merge_in *in;
	int err = 0;

	m->time = TSCT_MERGE_OWN;
	m->compared = TSCT_COMPARED_UNKNOWN;
	for (in = m->in; in < m->in + m->nr && !err; in++)
		err = check_own(m, in);
	err = merge_agree(m, err);
	return err ? err : compare_nodes(m);
}

/* Uses sessions over MPI as samples, as the daemons' samples give no common timeline. Sets
 * @why anew; "": the inputs now have a common timeline. Returns 0 or -errno. */
static int try_mpi(struct tsct_merge *m, char why[MERGE_WHY_MAX / 2])
{
	static const struct merge_step compare_again = {
		.input = list_timeline, .lists = 1U << MERGE_TIMELINES,
	};
	int err;

	if (!merge_use_mpi) {
		merge_note_once(m, "sessions over MPI, if there are any, are not used: "
				TSCT_WING_MISSING("mpi"));
		return 0;
	}
	err = merge_use_mpi(m);
	if (err <= 0)
		return err;
	tsct_blob_free(&m->list[MERGE_TIMELINES]);
	err = merge_do(m, &compare_again);
	if (!err)
		compare_timelines(m, why);
	return err;
}

int merge_choose_time(struct tsct_merge *m)
{
	const struct clocks *c = (const struct clocks *)m->list[MERGE_CLOCKS].data;
	const struct axis_timelines *t =
		(const struct axis_timelines *)m->list[MERGE_TIMELINES].data;
	const bool by_themselves = t->by_themselves;
	char why[MERGE_WHY_MAX / 2];
	const struct merge_in *in;
	int err = 0;

	compare_timelines(m, why);
	/* Inputs of one boot have the same counter, and need no samples. */
	if (*why && !(by_themselves && c->one_boot))
		err = try_mpi(m, why);
	if (err)
		return err;
	t = (const struct axis_timelines *)m->list[MERGE_TIMELINES].data;
	m->time = TSCT_MERGE_CLUSTER;
	m->compared = TSCT_COMPARED_SAMPLES;
	m->axis.master = t->first.master;
	m->axis.number = t->first.number;
	if (*why && by_themselves)
		return take_own(m);
	if (*why && !m->options.force)
		return merge_fail(m, -EINVAL, "%s; use --force to take"
				  " each node's own clock", why);
	if (*why) {
		merge_note_once(m, "%s", why);
		return take_own(m);
	}
	/* Sync samples taken before a disruption apply only to times before
	 * the disruption. */
	for (in = m->in; in < m->in + m->nr; in++)
		if (in->was_disrupted)
			merge_note(m, "%s: the clock was disrupted during the"
				   " recording (a step, a suspend); times before the"
				   " disruption use the samples taken before the"
				   " disruption, if there are any", in->info.path);
	return 0;
}

/* ---- positions on the axis ----------------------------------------------- */

double merge_axis_ns(const struct tsct_recorded_timeline *axis)
{
	return ldexp((double)axis->mult, -TSCT_CLOCK_SHIFT);
}

/* Returns @value rounded towards zero; 0 if the result does not fit in 64 bits, as can
 * happen with sync samples of a counter that no input recorded. */
static __s64 whole_of(double value)
{
	return value > -9e18 && value < 9e18 ? (__s64)value : 0;
}

void merge_add_frac(struct merge_place *place, double frac)
{
	double whole = floor(frac);

	place->count += (__u64)whole_of(whole);
	place->frac = frac - whole < 1 ? frac - whole : nextafter(1, 0);
}

void merge_axis_place(const struct tsct_recorded_timeline *axis, __s64 ns, double frac_ns,
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
static __s64 time_of(const struct tsct_recorded_timeline *axis, __u64 count)
{
	return axis->base_ns +
		tsct_cycles_ns(axis->mult, (__s64)(count - axis->base));
}

/* ---- merged inputs ------------------------------------------------------- */

static struct tsct_axis frame_of(const struct tsct_recorded_timeline *t)
{
	return (struct tsct_axis) {
		.remote = t->remote, .global = t->global, .num = t->num,
		.den = t->den, .hz = t->hz,
	};
}

static bool is_same_axis(const struct tsct_recorded_timeline *a,
			 const struct tsct_recorded_timeline *b)
{
	return a->mult == b->mult && time_of(a, b->base) == b->base_ns;
}

bool merge_is_same_frame(const struct tsct_merge *m,
			 const struct tsct_recording *rec)
{
	struct tsct_axis frame = frame_of(&rec->timeline);

	return !memcmp(&frame, &m->frame, sizeof(frame)) &&
		is_same_axis(&rec->timeline, &m->axis);
}

void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret)
{
	const struct tsct_recorded_timeline *from = &rec->timeline;
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
	if (!is_same_axis(from, &m->axis)) {
		ns = place.frac * merge_axis_ns(from);
		place.rate *= merge_axis_ns(from) / merge_axis_ns(&m->axis);
		merge_axis_place(&m->axis, time_of(from, place.count), ns,
				 &place);
	}
	memset(ret, 0, sizeof(*ret));
	*tsct_fit_reserve(ret, 1) = (struct tsct_cubic) {
		.from = rec->begin, .base = place.count,
		.c = { place.frac, place.rate },
	};
}

/* ---- the axis ----------------------------------------------------------------- */

/* Candidates of some adjacent inputs for the axis and the rate of global ticks. Each
 * candidate is of the first input that has a candidate of the same kind. */
struct axis_candidates {
	__u32 merged;		/* flag: `timeline` is the timeline of merged input `input` */
	__u32 input;
	struct tsct_recorded_timeline timeline;
	/* axis[0]: from the master's recording; axis[1]: from the master's clock params in
	 * a child's sync samples; axis[2]: from any clock params of cluster time; mult 0:
	 * none */
	struct tsct_recorded_timeline axis[3];
	/* first, last: the master's recording that starts first, and the one that ends
	 * last; hz 0: the master has no recording */
	struct master_run {
		__u64 begin, end;
		double hz;
		struct tsct_clock_params real;
	} first, last;
};

static bool is_master(const struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);

	return !in->rec->merged && sync->role == TSCT_SYNC_MASTER &&
		sync->node == m->axis.master;
}

/* Sets a candidate for the axis, unless it was set before. */
static void set_axis(struct tsct_recorded_timeline *axis, __u64 base, __s64 base_ns, __u64 mult)
{
	if (axis->mult)
		return;
	axis->base = base;
	axis->base_ns = base_ns;
	axis->mult = mult;
}

static void find_series(const struct tsct_merge *m, const struct merge_in *in,
			struct axis_candidates *c)
{
	const struct tsct_remote_params *sent;
	const struct tsct_series *s;

	for (s = in->series; s < in->series + in->nr_series; s++) {
		if (!merge_is_of(m, s))
			continue;
		sent = &s->params[s->nr - 1];
		if (s->has_params && s->node == m->axis.master)
			set_axis(&c->axis[1], sent->base, sent->base_ns, sent->mult);
		/* Candidate if the master's counter is unknown: the axis is then ns of cluster
		 * time, from the base time in the last clock params of a series of sync samples. */
		set_axis(&c->axis[2], (__u64)sent->base_ns, sent->base_ns, TSCT_NS_MULT);
	}
}

static void find_master(const struct tsct_merge *m, const struct merge_in *in,
			struct axis_candidates *c)
{
	const struct tsct_clock_params *params = &merge_sync(in)->params;
	const __u64 base = params->base_cycles + params->slew_cycles;

	if (!is_master(m, in))
		return;
	set_axis(&c->axis[0], base, tsct_clock_params_ns(params, base), params->mult);
	c->first = c->last = (struct master_run) { in->begin, in->end, in->hz, in->rec->real };
}

/* Extends @left, the candidates of some inputs, by @right, those of the inputs that follow. */
int merge_combine_candidates(struct tsct_blob *left, const struct tsct_blob *right)
{
	struct axis_candidates *a = (struct axis_candidates *)left->data;
	const struct axis_candidates *b = (const struct axis_candidates *)right->data;
	int i;

	if (!a->merged && b->merged) {
		a->merged = 1;
		a->input = b->input;
		a->timeline = b->timeline;
	}
	for (i = 0; i < 3; i++)
		if (!a->axis[i].mult)
			a->axis[i] = b->axis[i];
	if (b->first.hz && (!a->first.hz || b->first.begin < a->first.begin))
		a->first = b->first;
	if (b->last.hz && (!a->last.hz || b->last.end > a->last.end))
		a->last = b->last;
	return 0;
}

int merge_list_candidates(struct tsct_merge *m, struct merge_in *in)
{
	struct axis_candidates c = {
		.merged = in->merged, .input = in->index, .timeline = in->rec->timeline,
		.axis = { m->axis, m->axis, m->axis },
	};

	if (m->time == TSCT_MERGE_CLUSTER) {
		find_master(m, in, &c);
		find_series(m, in, &c);
	}
	return merge_list_extend(m, MERGE_CANDIDATES, &c, sizeof(c));
}

static void choose_axis(struct tsct_merge *m, const struct axis_candidates *c)
{
	int i = 0;

	while (i < 2 && !c->axis[i].mult)
		i++;
	m->axis = c->axis[i];
	if (!m->axis.mult)
		m->axis.mult = TSCT_NS_MULT;
}

/* ---- global ticks -------------------------------------------------------- */

static __u64 wanted_hz(const struct tsct_merge *m)
{
	return m->options.hz ? m->options.hz : GIGA;
}

/* Sets the rate of global ticks so that the master's whole recording lasts as long as by the
 * master's wall clock. A recording of less than 1 s is extended to 1 s: a rate from a shorter
 * length, in whole ns, would be too coarse for the events of the other nodes. */
static int frame_by_master(struct tsct_merge *m, const struct axis_candidates *c)
{
	const struct master_run *first = &c->first, *last = &c->last;
	__u64 end = last->end;

	if (!first->hz)
		return -ENOENT;
	if ((double)(end - first->begin) < last->hz)
		end = first->begin + (__u64)last->hz;
	return tsct_axis_from_run(&m->frame, first->begin, end,
			(__u64)tsct_clock_params_ns(&first->real, first->begin),
			(__u64)tsct_clock_params_ns(&last->real, end), wanted_hz(m));
}

/* Without a recording of the master, global ticks have the rate of cluster time. */
static int frame_by_cluster(struct tsct_merge *m)
{
	const struct tsct_recorded_timeline *axis = &m->axis;
	__u64 hour = (__u64)whole_of(3600e9 / merge_axis_ns(axis));

	if (!tsct_axis_from_params(&m->frame, axis->base, axis->base_ns, axis->mult,
				   wanted_hz(m)))
		return 0;
	return tsct_axis_from_run(&m->frame, axis->base, axis->base + hour,
			      (__u64)axis->base_ns,
			      (__u64)time_of(axis, axis->base + hour), wanted_hz(m));
}

int merge_find_axis(struct tsct_merge *m)
{
	const struct axis_candidates *c =
		(const struct axis_candidates *)m->list[MERGE_CANDIDATES].data;
	int err;

	if (m->time == TSCT_MERGE_OWN) {
		/* There is no common axis: each node has its own clock. Of m->axis and
		 * m->frame, only m->frame.hz, the rate of global ticks, is used. */
		m->axis.mult = TSCT_NS_MULT;
		m->frame = (struct tsct_axis) { 0, 0, 1, 1, wanted_hz(m) };
		if (c->merged && !m->options.hz)
			m->frame.hz = c->timeline.hz;
		return 0;
	}
	if (c->merged) {
		m->axis = c->timeline;
		m->frame = frame_of(&c->timeline);
		if (!m->options.hz || m->options.hz == m->frame.hz)
			return 0;
		return merge_fail(m, -EINVAL, "%s: its ticks are 1/%" PRIu64
				  " s already; remove --resolution, or merge the"
				  " recordings that it was made from",
				  m->options.name[c->input], (uint64_t)m->frame.hz);
	}
	choose_axis(m, c);
	err = frame_by_master(m, c);
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
