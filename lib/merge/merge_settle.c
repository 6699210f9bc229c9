// SPDX-License-Identifier: MIT
/*
 * Maps each input's ticks to the axis: chooses its samples and fits them. A
 * node that polled another input waits until that one is settled.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "merge_private.h"

const char *const tsct_merge_how_names[TSCT_MERGE_HOW_NR] = {
	"own", "master", "child", "via", "told", "merged",
};

__u64 merge_global(const struct merge_in *in, __u64 local)
{
	const struct merge_segment *s = merge_segment_of(in, local);
	struct tsct_mapping_line line;

	if (local < s->begin)
		local = s->begin;
	if (local > s->end)
		local = s->end;
	if (tsct_mapping_find_line(s->correct, local, &line))
		return 0;
	return tsct_mapping_line_at(&line, local);
}

/* ---- segments ----------------------------------------------------------------------- */

static struct merge_segment *add_segment(struct tsct_merge *m,
					 struct merge_in *in)
{
	struct merge_segment *s = realloc(in->segment, (in->nr_segments + 1) *
					  sizeof(*s));

	if (!s) {
		merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));
		return NULL;
	}
	in->segment = s;
	s += in->nr_segments;
	memset(s, 0, sizeof(*s));
	s->correct = malloc(sizeof(*s->correct));
	if (!s->correct) {
		merge_fail(m, -ENOMEM, "%s", strerror(ENOMEM));
		return NULL;
	}
	s->begin = in->begin;
	s->end = in->limit;
	s->parent = MERGE_NOBODY;
	in->nr_segments++;
	return s;
}

static int refuse_fit(struct tsct_merge *m, const struct merge_in *in, int err)
{
	if (err == -ENOMEM || err == -EINTR)
		return merge_fail(m, err, "%s", strerror(-err));
	return merge_fail(m, -EINVAL, "%s: its sync samples give no time with --fit"
			  " %s: %s; use another fit, or --force to take its own"
			  " clock beside inputs without a common timeline",
			  in->info.path, tsct_fit_name(in->fit),
			  merge_fit_why(err));
}

int merge_make_correct(struct tsct_merge *m, struct merge_in *in,
		       struct merge_segment *s)
{
	int err = tsct_mapping_build(s->correct, s->fit.piece, s->fit.nr_pieces, &in->frame, s->begin,
				   s->end);

	if (!err)
		return 0;
	return merge_fail(m, -EINVAL, "%s: its ticks cannot be mapped to global ones: %s",
			  in->info.path, err == -ERANGE ?
			  "by its samples or its clock, time does not run forward, or is out of range" :
			  "its clock's figures are impossible");
}

/* ---- by the node's own clock --------------------------------------------- */

static void same(struct tsct_fit *fit, __u64 from)
{
	memset(fit, 0, sizeof(*fit));
	fit->nr_pieces = 1;
	fit->piece[0] = (struct tsct_cubic) {
		.from = from, .base = from, .c = { 0, 1 },
	};
}

static struct tsct_axis unchanged(const struct tsct_recording *rec, __u64 hz)
{
	return (struct tsct_axis) { rec->begin, rec->begin, 1, 1, hz };
}

/*
 * Sets the frame in which the recording, from begin to end, lasts as long as by
 * its own clock.
 */
static int frame_own(const struct merge_in *in, __u64 hz,
		     struct tsct_axis *ret)
{
	const struct tsct_recording *rec = in->info.rec;
	const struct tsct_clock_params *real = &rec->real;
	__u64 end = in->end;

	if (rec->merged && rec->timeline.hz == hz) {
		*ret = unchanged(rec, hz);
		return 0;
	}
	if (!real->slew_cycles && !merge_frame_pair(ret, real->base_cycles,
						 real->base_ns, real->mult, hz))
		return 0;
	if ((double)(end - in->begin) < in->hz)
		end = in->begin + (__u64)in->hz;
	return tsct_axis_from_run(ret, in->begin, end,
			      (__u64)tsct_clock_params_ns(real, in->begin),
			      (__u64)tsct_clock_params_ns(real, end), 0, hz);
}

static int settle_own(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_segment *s = add_segment(m, in);
	int err;

	if (!s)
		return -ENOMEM;
	err = frame_own(in, m->frame.hz, &in->frame);
	if (err)
		return merge_fail(m, -EINVAL, "%s: its clock gives no ticks of"
				  " 1/%" PRIu64 " s since the Unix epoch;"
				  " use another --resolution", in->info.path,
				  (uint64_t)m->frame.hz);
	in->how = in->info.rec->merged ? TSCT_MERGE_AS_MERGED : TSCT_MERGE_AS_OWN;
	s->how = in->how;
	same(&s->fit, in->begin);
	return merge_make_correct(m, in, s);
}

/* ---- on the timeline ----------------------------------------------------------------- */

static int settle_master(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_segment *s = add_segment(m, in);

	if (!s)
		return -ENOMEM;
	in->how = s->how = TSCT_MERGE_AS_MASTER;
	same(&s->fit, in->begin);
	return merge_make_correct(m, in, s);
}

static int settle_merged(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_segment *s = add_segment(m, in);

	if (!s)
		return -ENOMEM;
	in->how = s->how = TSCT_MERGE_AS_MERGED;
	if (merge_is_same_frame(m, in->info.rec)) {
		in->frame = unchanged(in->info.rec, m->frame.hz);
		same(&s->fit, in->begin);
	} else {
		merge_axis_back(m, in->info.rec, &s->fit);
	}
	return merge_make_correct(m, in, s);
}

/* Number of samples of @s that were taken while both nodes were recorded */
static unsigned int count_common(const struct merge_in *in,
				 const struct tsct_series *s,
				 const struct merge_in *other)
{
	unsigned int i, nr = 0;

	for (i = 0; i < s->nr; i++)
		nr += s->x[i].t1 >= in->begin && s->x[i].t4 <= in->end &&
			s->x[i].t2 >= other->begin && s->x[i].t3 <= other->end;
	return nr;
}

/* The input of that node; of several, the one with most samples in common */
static __u32 find_parent(const struct tsct_merge *m, const struct merge_in *in,
			 const struct tsct_series *s)
{
	unsigned int nr, most = 0;
	const struct merge_in *other;
	__u32 i, best = MERGE_NOBODY;

	for (i = 0; i < m->nr; i++) {
		other = &m->in[i];
		if (other == in || other->info.rec->merged || !s->has_line ||
		    !merge_sync(other)->on || merge_sync(other)->node != s->node)
			continue;
		nr = count_common(in, s, other);
		if (nr > most) {
			most = nr;
			best = i;
		}
	}
	return best;
}

/*
 * For one epoch of the node's counter: the way with the least bound in its
 * middle
 */
struct choice {
	struct merge_segment best;
	double error;
	__u64 at;
	int err;		/* of the last way that failed */
};

static void try_way(const struct tsct_merge *m, const struct merge_in *in,
		    const struct tsct_series *series, enum tsct_merge_how how,
		    __u32 parent, struct choice *c)
{
	const struct merge_segment way = {
		.series = series, .how = how, .parent = parent,
	};
	struct merge_place place;
	int err = merge_estimate(m, in, &way, c->at, &place);

	if (err) {
		c->err = err;
	} else if (!c->best.series || place.error < c->error) {
		c->best = way;
		c->error = place.error;
	}
}

/* Returns -EAGAIN if the other node has to be settled before. */
static int try_series(const struct tsct_merge *m, const struct merge_in *in,
		      const struct tsct_series *series, bool wait,
		      struct choice *c)
{
	__u32 parent;

	if (series->has_line && series->node == m->master && m->master) {
		try_way(m, in, series, TSCT_MERGE_AS_CHILD, MERGE_NOBODY, c);
		return 0;
	}
	parent = find_parent(m, in, series);
	/* In a circle of nodes, each would wait: see merge_settle(). */
	if (parent != MERGE_NOBODY && !m->in[parent].settled && wait)
		return -EAGAIN;
	if (parent != MERGE_NOBODY && m->in[parent].settled)
		try_way(m, in, series, TSCT_MERGE_VIA, parent, c);
	try_way(m, in, series, TSCT_MERGE_BY_PARAMS, MERGE_NOBODY, c);
	return 0;
}

static int choose_series(const struct tsct_merge *m, const struct merge_in *in,
			 __u32 epoch, bool wait, struct merge_segment *s)
{
	const __u64 end = s->end < in->end ? s->end : in->end;
	struct choice c = { .err = -ENODATA };
	unsigned int k;
	int err;

	c.at = s->begin + (end > s->begin ? end - s->begin : 0) / 2;
	for (k = 0; k < in->nr_series; k++) {
		if (!merge_is_of(m, &in->series[k]) ||
		    in->series[k].clock_epoch != epoch)
			continue;
		err = try_series(m, in, &in->series[k], wait, &c);
		if (err)
			return err;
	}
	if (!c.best.series)
		return c.err;
	s->series = c.best.series;
	s->how = c.best.how;
	s->parent = c.best.parent;
	return 0;
}

/*
 * The node's clock saw the epoch last then: it is sampled more often than
 * peers.
 */
static __u64 last_seen(const struct tsct_recording *rec, __u32 epoch)
{
	const struct tsct_clock_segment *line;
	__u64 last = 0, next = UINT64_MAX;
	__u32 i;

	for (i = 0; i < rec->nr_segments; i++) {
		line = &rec->segments[i];
		if (line->epoch == epoch && line->until_cycles > last &&
		    line->until_cycles >= line->base_cycles)
			last = line->until_cycles;
		if (line->epoch > epoch && line->base_cycles < next)
			next = line->base_cycles;
	}
	return last < next ? last : 0;
}

/* The end of the epoch: a disruption of the counter came later. */
static __u64 last_of(const struct tsct_merge *m, const struct merge_in *in,
		     __u32 epoch)
{
	__u64 last = last_seen(in->info.rec, epoch);
	unsigned int k;

	for (k = 0; k < in->nr_series; k++) {
		const struct tsct_series *s = &in->series[k];

		if (merge_is_of(m, s) && s->clock_epoch == epoch &&
		    s->x[s->nr - 1].t4 > last)
			last = s->x[s->nr - 1].t4;
	}
	return last;
}

/* The next epoch of the counter that has samples */
static bool next_epoch(const struct tsct_merge *m, const struct merge_in *in,
		       bool any, __u32 *epoch)
{
	__u32 least = 0;
	bool found = false;
	unsigned int k;

	for (k = 0; k < in->nr_series; k++) {
		const struct tsct_series *s = &in->series[k];

		if (!merge_is_of(m, s) || (any && s->clock_epoch <= *epoch) ||
		    (found && s->clock_epoch >= least))
			continue;
		least = s->clock_epoch;
		found = true;
	}
	*epoch = least;
	return found;
}

/* Returns -EAGAIN if another node has to be settled before. */
static int cut_segments(struct tsct_merge *m, struct merge_in *in, bool wait)
{
	__u64 from = in->begin, last;
	__u32 epoch = 0, next;
	struct merge_segment *s;
	bool more = next_epoch(m, in, false, &epoch);
	int err = 0;

	while (more && !err) {
		next = epoch;
		more = next_epoch(m, in, true, &next);
		last = last_of(m, in, epoch);
		/* Skip an epoch that ended before the segment begins. */
		if (!more || last >= from) {
			if (in->nr_segments == MERGE_SEGMENTS_MAX)
				return -E2BIG;
			s = add_segment(m, in);
			if (!s)
				return -ENOMEM;
			s->begin = from;
			s->end = more && last < in->limit ? last : in->limit;
			err = choose_series(m, in, epoch, wait, s);
			from = s->end + 1;
			if (s->end == in->limit)
				break;
		}
		epoch = next;
	}
	return err;
}

static void drop_segments(struct merge_in *in)
{
	while (in->nr_segments)
		free(in->segment[--in->nr_segments].correct);
}

static int settle_child(struct tsct_merge *m, struct merge_in *in, bool wait)
{
	unsigned int k;
	int err = cut_segments(m, in, wait);

	if (err == -EAGAIN)
		drop_segments(in);
	if (err)
		return err == -EAGAIN ? err : refuse_fit(m, in, err);
	for (k = 0; k < in->nr_segments && !err; k++) {
		err = merge_trace_pieces(m, in, &in->segment[k]);
		if (err)
			return refuse_fit(m, in, err);
		err = merge_make_correct(m, in, &in->segment[k]);
	}
	in->how = in->segment[in->nr_segments - 1].how;
	return err;
}

static int settle_one(struct tsct_merge *m, struct merge_in *in, bool wait)
{
	in->frame = m->frame;
	if (m->time == TSCT_MERGE_OWN)
		return settle_own(m, in);
	if (in->info.rec->merged)
		return settle_merged(m, in);
	if (merge_sync(in)->role == TSCT_SYNC_MASTER)
		return settle_master(m, in);
	return settle_child(m, in, wait);
}

/* ---- all inputs ---------------------------------------------------------- */

/* Settles what can be settled; returns the number of inputs, or -errno. */
static int settle_round(struct tsct_merge *m, bool wait)
{
	int err, nr = 0;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		if (m->in[i].settled)
			continue;
		if (merge_is_stopped(m))
			return -EINTR;
		err = settle_one(m, &m->in[i], wait);
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		m->in[i].settled = true;
		nr++;
	}
	return nr;
}

/*
 * The last tick that an event may have; an incomplete recording does not state
 * it.
 */
static void find_limits(struct merge_in *in)
{
	in->limit = tsct_add_saturating(in->end, (__u64)in->hz);
	if (!in->info.rec->complete && merge_cut_off(in) > in->limit)
		in->limit = merge_cut_off(in);
}

int merge_settle(struct tsct_merge *m)
{
	unsigned int i;
	int nr;

	for (i = 0; i < m->nr; i++)
		find_limits(&m->in[i]);
	do {
		nr = settle_round(m, true);
	} while (nr > 0);
	/* Nodes that only have each other use cluster time as it was sent. */
	if (!nr)
		nr = settle_round(m, false);
	return nr < 0 ? nr : 0;
}
