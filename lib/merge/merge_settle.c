// SPDX-License-Identifier: MIT
/*
 * Maps each input's ticks to the axis: chooses samples of the input, and fits these samples.
 * Samples around a tick give an estimate and its bound; cubic pieces run through estimates at
 * knots. An input whose node polled another input is mapped after that input.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "merge_map.h"

/* Knots of the mapping: one per second, but at most KNOTS_MAX, as each knot takes a
 * fit; the piece after the last knot is straight */
#define KNOTS_MAX	255
#define KNOT_S		1.0

const char *const tsct_merge_how_names[TSCT_MERGE_HOW_NR] = {
	"own", "master", "child", "via", "told", "merged",
};

/* Returns the straight piece that has the position and the rate of @place at tick
 * @from. */
static struct tsct_cubic straight_from(__u64 from, const struct merge_place *place)
{
	return (struct tsct_cubic) {
		.from = from, .base = place->count,
		.c = { place->frac, place->rate },
	};
}

/* Sets the pieces to cubics that pass through estimated positions. A short range of ticks
 * gets one straight line: two estimates that are so close together determine no rate. */
static int run_through(struct tsct_merge *m, const struct merge_in *in,
		       struct merge_segment *s, __u64 from, __u64 to)
{
	const double knots = floor((double)(to - from) / in->hz / KNOT_S) + 1;
	const unsigned int nr = knots < KNOTS_MAX ? (unsigned int)knots : KNOTS_MAX;
	struct tsct_cubic *piece = tsct_fit_reserve(&s->fit, nr);
	struct merge_place a, b;
	__u64 at, a_at = nr > 1 ? from : from + (to - from) / 2;
	double h, rise;
	unsigned int k;
	int err;

	err = piece ? merge_estimate(m, in, s, a_at, &a) : -ENOMEM;
	for (k = 1; k < nr && !err; k++) {
		if (merge_is_stopped(m))
			return -EINTR;
		at = from + (__u64)((tsct_u128)(to - from) * k / (nr - 1));
		err = merge_estimate(m, in, s, at, &b);
		if (err)
			break;
		/* Cubic between two knots, with the values and rates of both */
		h = (double)(at - a_at);
		rise = ((double)(__s64)(b.count - a.count) + b.frac - a.frac) / h;
		*piece = straight_from(a_at, &a);
		piece->c[2] = (3 * (rise - a.rate) - (b.rate - a.rate)) / h;
		piece->c[3] = ((b.rate - a.rate) - 2 * (rise - a.rate)) / (h * h);
		piece++;
		a = b;
		a_at = at;
	}
	if (!err)
		*piece = straight_from(a_at, &a);
	return err;
}

/* Sets the segment's cubics: to the cubics of the fit, if it is a reference fit to the
 * master's counter; else to cubics that pass through estimated positions. Returns 0 or
 * an error of merge_estimate(). */
static int trace_pieces(struct tsct_merge *m, const struct merge_in *in,
			struct merge_segment *s)
{
	__u64 to = s->end < in->end ? s->end : in->end;

	to = max(to, s->begin);
	tsct_fit_free(&s->fit);
	if (s->how == TSCT_MERGE_AS_CHILD && tsct_fit_is_reference(in->fit))
		return tsct_series_fit(merge_series(in, s), in->fit, in->hz, 0, UINT64_MAX,
				       s->begin + (to - s->begin) / 2, &s->fit,
				       NULL);
	return run_through(m, in, s, s->begin, to);
}

/* ---- segments ----------------------------------------------------------------------- */

/* Adds a segment of the whole input, which maps ticks to themselves. */
static struct merge_segment *add_segment(struct tsct_merge *m,
					 struct merge_in *in)
{
	const struct merge_place same = { .count = in->begin, .rate = 1 };
	struct merge_segment *s = tsct_array_next(&in->segment, in->nr_segments, sizeof(*s));

	if (!s) {
		merge_fail_errno(m, -ENOMEM);
		return NULL;
	}
	*s = (struct merge_segment) {
		.begin = in->begin, .end = in->limit, .series = MERGE_NOBODY,
		.parent = MERGE_NOBODY,
	};
	*tsct_fit_reserve(&s->fit, 1) = straight_from(in->begin, &same);
	in->nr_segments++;
	return s;
}

static int refuse_fit(struct tsct_merge *m, const struct merge_in *in, int err)
{
	if (err == -ENOMEM || err == -EINTR)
		return merge_fail_errno(m, err);
	return merge_fail(m, -EINVAL, "%s: its sync samples give no time with --fit"
			  " %s: %s; use another fit, or leave this recording out",
			  in->info.path, tsct_fit_name(in->fit),
			  tsct_fit_error(err));
}

int merge_make_correct(struct tsct_merge *m, struct merge_in *in,
		       struct merge_segment *s)
{
	struct tsct_mapping_curve *curve = realloc(s->correct.curve,
						   s->fit.nr_pieces * sizeof(*curve));
	int err;

	if (!curve)
		return merge_fail_errno(m, -ENOMEM);
	s->correct.curve = curve;
	err = tsct_mapping_build(&s->correct, tsct_fit_pieces(&s->fit),
				 s->fit.nr_pieces, &in->frame, s->begin, s->end);
	if (!err)
		return 0;
	return merge_fail(m, -EINVAL, "%s: its ticks cannot be mapped to global"
			  " ticks: %s", in->info.path, err == -ERANGE ?
			  "by its sync samples or clock params, time would decrease or"
			  " be out of range" :
			  "its clock params are invalid");
}

/* ---- mapping by sync samples ----------------------------------------------- */

/* Returns the index of the input that was recorded on the node that @s polled, or MERGE_NOBODY; if
 * there are several, the input that was recorded during most samples of @s. */
static __u32 find_parent(const struct tsct_merge *m, const struct merge_in *in,
			 const struct tsct_series *s)
{
	unsigned int nr, most = 0, k;
	const struct merge_peer *other;
	__u32 i, best = MERGE_NOBODY;

	for (i = 0; i < m->options.nr && s->has_params; i++) {
		other = &m->peer[i];
		if (i == in->index || !other->is_pollable || other->node != s->node)
			continue;
		/* Number of samples that were taken while both nodes were recorded */
		for (k = nr = 0; k < s->nr; k++)
			nr += s->x[k].t1 >= in->begin && s->x[k].t4 <= in->end &&
				s->x[k].t2 >= other->begin && s->x[k].t3 <= other->end;
		if (nr > most) {
			most = nr;
			best = i;
		}
	}
	return best;
}

static bool is_by_master(const struct tsct_merge *m, const struct tsct_series *s)
{
	return s->has_params && s->node == m->axis.master && m->axis.master;
}

/* Returns true if input @parent is mapped before input @child, whose node polled the node
 * of @parent. Nodes that polled each other in a circle, and nodes that depend on such
 * nodes, have no round: their inputs are mapped last, in the order of inputs. */
static bool is_before(const struct tsct_merge *m, __u32 parent, __u32 child)
{
	if (m->peer[parent].round != m->peer[child].round)
		return m->peer[parent].round < m->peer[child].round;
	return m->peer[parent].round == MERGE_NOBODY && parent < child;
}

/* Best mapping of an epoch: the one with the smallest bound in the middle of the epoch */
struct choice {
	struct merge_segment best;
	double error;		/* error bound of the mapping `best` at tick `at`, in
				 * counts of the axis */
	__u64 at;		/* tick in the middle of the epoch, in ticks of the
				 * input */
	int err;		/* -errno of the last mapping that failed */
};

static void try_way(const struct tsct_merge *m, const struct merge_in *in,
		    __u32 series, enum tsct_merge_how how,
		    __u32 parent, struct choice *c)
{
	const struct merge_segment way = {
		.series = series, .how = how, .parent = parent,
	};
	struct merge_place place;
	int err = merge_estimate(m, in, &way, c->at, &place);

	if (err) {
		c->err = err;
	} else if (c->best.series == MERGE_NOBODY || place.error < c->error) {
		c->best = way;
		c->error = place.error;
	}
}

/* Replaces @c, the best mapping of @in so far, if the sync samples of one polled node
 * give a better mapping. */
static void try_series(const struct tsct_merge *m, const struct merge_in *in,
		       __u32 at, struct choice *c)
{
	const struct tsct_series *series = &in->series[at];
	__u32 parent;

	if (is_by_master(m, series)) {
		try_way(m, in, at, TSCT_MERGE_AS_CHILD, MERGE_NOBODY, c);
		return;
	}
	parent = find_parent(m, in, series);
	if (parent != MERGE_NOBODY && is_before(m, parent, in->index))
		try_way(m, in, at, TSCT_MERGE_VIA, parent, c);
	try_way(m, in, at, TSCT_MERGE_BY_PARAMS, MERGE_NOBODY, c);
}

static int choose_series(const struct tsct_merge *m, const struct merge_in *in,
			 struct merge_segment *s)
{
	const __u64 end = s->end < in->end ? s->end : in->end;
	struct choice c = { .best.series = MERGE_NOBODY, .err = -ENODATA };
	unsigned int k;

	c.at = s->begin + (end > s->begin ? end - s->begin : 0) / 2;
	for (k = 0; k < in->nr_series; k++)
		if (merge_is_of(m, &in->series[k]) &&
		    in->series[k].clock_epoch == s->epoch)
			try_series(m, in, k, &c);
	if (c.best.series == MERGE_NOBODY)
		return c.err;
	s->series = c.best.series;
	s->how = c.best.how;
	s->parent = c.best.parent;
	return 0;
}

/* Returns the last tick that is known to belong to an epoch. The disruption that ended
 * the epoch came later, at an unknown tick. */
static __u64 end_of_epoch(const struct tsct_merge *m, const struct merge_in *in,
			  __u32 epoch)
{
	const struct tsct_recording *rec = in->rec;
	const struct tsct_clock_segment *c;
	const struct tsct_series *s;
	__u64 last = 0, next = UINT64_MAX;
	__u32 i;

	/* An epoch's last clock segment may end after its last sync sample: a node
	 * reads its own clocks more often than it polls peers. The later end is
	 * returned. */
	for (i = 0; i < rec->nr_segments; i++) {
		c = &rec->segments[i];
		if (c->epoch == epoch && c->until_cycles > last &&
		    c->until_cycles >= c->base_cycles)
			last = c->until_cycles;
		if (c->epoch > epoch && c->base_cycles < next)
			next = c->base_cycles;
	}
	if (last >= next)
		last = 0;
	for (i = 0; i < in->nr_series; i++) {
		s = &in->series[i];
		if (merge_is_of(m, s) && s->clock_epoch == epoch &&
		    s->x[s->nr - 1].t4 > last)
			last = s->x[s->nr - 1].t4;
	}
	return last;
}

/* Sets *@epoch to the counter's next epoch with sync samples: if @any, the lowest epoch above
 * *@epoch, else the lowest of all. Returns false, and sets 0, if there is none. */
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

/* Cuts an input into segments, one per epoch. The segments get their mappings later. */
static int cut_segments(struct tsct_merge *m, struct merge_in *in)
{
	__u64 from = in->begin, last;
	__u32 epoch = 0, next;
	struct merge_segment *s;
	bool more = next_epoch(m, in, false, &epoch);

	while (more) {
		next = epoch;
		more = next_epoch(m, in, true, &next);
		last = end_of_epoch(m, in, epoch);
		/* An epoch that ended before the segment begins is skipped. */
		if (!more || last >= from) {
			s = add_segment(m, in);
			if (!s)
				return -ENOMEM;
			s->epoch = epoch;
			s->begin = from;
			s->end = more && last < in->limit ? last : in->limit;
			from = s->end + 1;
			if (s->end == in->limit)
				break;
		}
		epoch = next;
	}
	return 0;
}

static int settle_child(struct tsct_merge *m, struct merge_in *in)
{
	struct merge_segment *s;
	int err = 0;

	for (s = in->segment; s < in->segment + in->nr_segments && !err; s++) {
		err = choose_series(m, in, s);
		if (err)
			return refuse_fit(m, in, err);
	}
	for (s = in->segment; s < in->segment + in->nr_segments && !err; s++) {
		err = trace_pieces(m, in, s);
		if (err)
			return refuse_fit(m, in, err);
		err = merge_make_correct(m, in, s);
	}
	in->how = in->segment[in->nr_segments - 1].how;
	return err;
}

/* Returns the input by whose clock the ticks of @in are mapped: @in itself, or, if both
 * overlap, the first recording of the same machine, so that events of both are in the
 * order of their common counter. */
static const struct merge_peer *clock_of(const struct tsct_merge *m, const struct merge_in *in)
{
	const struct merge_peer *own = &m->peer[in->index], *p = m->peer;

	while (p < own && p->first_node != m->same[in->info.first_node])
		p++;
	return p->has_clock && own->has_clock && p->begin <= own->end && own->begin <= p->end ?
		p : own;
}

static int settle_by_clock(struct tsct_merge *m, struct merge_in *in)
{
	const struct tsct_recording *rec = in->rec;
	const struct merge_peer *clock = clock_of(m, in);
	const struct tsct_clock_params *real = &clock->real;
	const bool own = m->time == TSCT_MERGE_OWN;
	struct merge_segment *s = add_segment(m, in);
	const __u64 hz = m->frame.hz;
	__u64 end = clock->end;

	if (!s)
		return -ENOMEM;
	in->how = s->how = rec->merged ? TSCT_MERGE_AS_MERGED :
		own ? TSCT_MERGE_AS_OWN : TSCT_MERGE_AS_MASTER;
	if (rec->merged && (own ? rec->timeline.hz == hz : merge_is_same_frame(m, rec))) {
		in->frame = (struct tsct_axis) { rec->begin, rec->begin, 1, 1, hz };
	} else if (rec->merged && !own) {
		merge_axis_back(m, rec, &s->fit);
	} else if (own && (real->slew_cycles ||
			   tsct_axis_from_params(&in->frame, real->base_cycles,
						 real->base_ns, real->mult, hz))) {
		/* Sets the rate of global ticks so that the recording lasts as long in
		 * global ticks as by its own clock. */
		if ((double)(end - clock->begin) < in->hz)
			end = clock->begin + (__u64)in->hz;
		if (tsct_axis_from_run(&in->frame, clock->begin, end,
				       (__u64)tsct_clock_params_ns(real, clock->begin),
				       (__u64)tsct_clock_params_ns(real, end), hz))
			return merge_fail(m, -EINVAL, "%s: its times cannot be"
					  " converted to ticks of 1/%" PRIu64
					  " s since the Unix epoch;"
					  " use another --resolution", in->info.path,
					  (uint64_t)hz);
	}
	return merge_make_correct(m, in, s);
}

/* ---- the order of mapping ---------------------------------------------------------- */

static bool is_child(const struct tsct_merge *m, const struct merge_in *in)
{
	return m->time != TSCT_MERGE_OWN && !in->merged &&
		merge_sync(in)->role != TSCT_SYNC_MASTER;
}

/* Indices of two inputs: the node of `child` polled the node of `parent`. Sorted by `child` */
struct poll {
	__u32 child, parent;
};

/* Cuts a child's input into segments, and lists the inputs whose nodes the child polled. */
int merge_list_polls(struct tsct_merge *m, struct merge_in *in)
{
	const bool own = in->index - m->first < m->nr;
	struct poll poll = { .child = in->index };
	const struct merge_segment *s;
	unsigned int k;
	int err;

	if (!is_child(m, in))
		return 0;
	err = cut_segments(m, in);
	for (s = in->segment; s < in->segment + in->nr_segments && own; s++) {
		for (k = 0; k < in->nr_series && !err; k++) {
			if (!merge_is_of(m, &in->series[k]) ||
			    in->series[k].clock_epoch != s->epoch ||
			    is_by_master(m, &in->series[k]))
				continue;
			poll.parent = find_parent(m, in, &in->series[k]);
			if (poll.parent != MERGE_NOBODY)
				err = merge_list_add(m, MERGE_POLLS, &poll, sizeof(poll));
		}
	}
	return err;
}

/* Sets the round of each input: 0 if it polled no other input; else one more than the
 * highest round of the inputs that it polled. @first to @end: all polls, by input */
static void order_inputs(struct tsct_merge *m, const struct poll *first, const struct poll *end)
{
	struct merge_peer *peer = m->peer;
	const struct poll *poll, *of;
	__u32 round = 0, nr;

	for (poll = first; poll < end; poll++)
		peer[poll->child].round = MERGE_NOBODY;
	do {
		nr = 0;
		round++;
		for (poll = first; poll < end; poll = of) {
			/* An input is in this round if all inputs that it polled are in
			 * earlier rounds. */
			for (of = poll; of < end && of->child == poll->child; of++)
				if (peer[of->parent].round >= round)
					break;
			if (peer[poll->child].round == MERGE_NOBODY &&
			    (of == end || of->child != poll->child)) {
				peer[poll->child].round = round;
				nr++;
			}
			while (of < end && of->child == poll->child)
				of++;
		}
	} while (nr);
}

/* ---- all inputs ---------------------------------------------------------- */

static bool is_needed(const struct tsct_merge *m, const __u8 *needed, const struct poll *p)
{
	return (p->child - m->first < m->nr || needed[p->child]) && !needed[p->parent] &&
		is_before(m, p->parent, p->child);
}

/* Opens an input by which an input of this part is mapped; it may belong to another part. */
static int open_parent(struct tsct_merge *m, __u32 index)
{
	struct merge_in *in = merge_input_at(m, index);
	int err;

	if (!in)
		in = merge_add_foreign(m, index);
	if (!in)
		return -ENOMEM;
	err = merge_use(m, in, MERGE_SAMPLES);
	return !err && index - m->first >= m->nr ? merge_list_polls(m, in) : err;
}

/* Opens the inputs by which inputs of this part are mapped, directly or through other
 * inputs. These inputs stay open. */
static int open_parents(struct tsct_merge *m, const struct poll *first, const struct poll *end)
{
	__u8 *needed = calloc(m->options.nr + 1, sizeof(*needed));
	const struct poll *p;
	bool more = needed;
	int err = needed ? 0 : merge_fail_errno(m, -ENOMEM);

	while (more && !err) {
		more = false;
		for (p = first; p < end && !err; p++) {
			if (!is_needed(m, needed, p))
				continue;
			needed[p->parent] = more = true;
			err = open_parent(m, p->parent);
		}
	}
	free(needed);
	return err;
}

static int settle_input(struct tsct_merge *m, struct merge_in *in)
{
	int err = merge_is_stopped(m) ? -EINTR : merge_use(m, in, MERGE_SAMPLES);

	if (err)
		return err;
	in->frame = m->frame;
	err = is_child(m, in) ? settle_child(m, in) : settle_by_clock(m, in);
	if (!err && in->index - m->first < m->nr)
		err = merge_bound_first(m, in);
	merge_leave(m, in);
	return err;
}

/* Returns the next round of mapping after @round, MERGE_NOBODY if there is none. */
static __u32 next_round(const struct tsct_merge *m, __u32 round)
{
	__u32 next = MERGE_NOBODY, i;

	for (i = 0; i < m->options.nr; i++)
		if (m->peer[i].round > round && m->peer[i].round < next)
			next = m->peer[i].round;
	return next;
}

/* Maps the inputs of a round, in the order of inputs: those of this part, and those by
 * which they are mapped. */
static int settle_round(struct tsct_merge *m, __u32 round)
{
	struct merge_in *in;
	__u32 i;
	int err = 0;

	for (i = 0; i < m->options.nr && !err; i++) {
		if (m->peer[i].round != round)
			continue;
		in = merge_input_at(m, i);
		if (in)
			err = settle_input(m, in);
	}
	return err;
}

int merge_settle(struct tsct_merge *m)
{
	const struct tsct_blob *list = &m->list[MERGE_POLLS];
	const struct poll *first = (const struct poll *)list->data;
	const struct poll *end = first + list->size / sizeof(*first);
	__u32 round = 0;
	int err;

	order_inputs(m, first, end);
	err = open_parents(m, first, end);
	while (!err) {
		err = settle_round(m, round);
		if (round == MERGE_NOBODY)
			break;
		round = next_round(m, round);
	}
	return err;
}
