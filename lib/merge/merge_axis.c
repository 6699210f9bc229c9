// SPDX-License-Identifier: MIT
/* The axis that all nodes are mapped to, and its fraction of global ticks. */
#include <inttypes.h>
#include <math.h>

#include "lib/core/clock_params.h"
#include "merge_private.h"

#define GIGA	1000000000ULL

double merge_axis_ns(const struct merge_axis *axis)
{
	return ldexp((double)axis->mult, -TSCT_CLOCK_SHIFT);
}

/* Rounds down. Counters that no node has reported may give any value. */
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

/* Cluster time of an axis count, rounded down */
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
	const struct tsct_recorded_timeline *t = &rec->timeline;
	struct merge_axis axis = axis_of(t);
	struct tsct_axis frame = frame_of(t);

	return !memcmp(&frame, &m->frame, sizeof(frame)) &&
		is_same_axis(&axis, &m->axis);
}

/*
 * Inverts an axis: remote + (tick - global) * den / num, with the fraction of a
 * count
 */
static void take_back(const struct tsct_axis *frame, __u64 tick,
		      struct merge_place *place)
{
	__u64 size = tick < frame->global ? frame->global - tick :
		tick - frame->global;
	tsct_u128 product = (tsct_u128)size * frame->den;
	__u64 whole = (__u64)(product / frame->num);
	double frac = (double)(__u64)(product % frame->num) /
		(double)frame->num;

	if (tick < frame->global) {
		place->count = frame->remote - whole;
		merge_add_frac(place, -frac);
	} else {
		place->count = frame->remote + whole;
		merge_add_frac(place, frac);
	}
	place->rate = (double)frame->den / (double)frame->num;
}

void merge_axis_back(const struct tsct_merge *m, const struct tsct_recording *rec,
		     struct tsct_fit *ret)
{
	const struct merge_axis from = axis_of(&rec->timeline);
	struct tsct_axis frame = frame_of(&rec->timeline);
	struct merge_place place;
	double ns;

	take_back(&frame, rec->begin, &place);
	if (!is_same_axis(&from, &m->axis)) {
		ns = place.frac * merge_axis_ns(&from);
		place.rate *= merge_axis_ns(&from) / merge_axis_ns(&m->axis);
		merge_axis_place(&m->axis, time_of(&from, place.count), ns,
				 &place);
	}
	memset(ret, 0, sizeof(*ret));
	ret->nr_pieces = 1;
	ret->piece[0] = (struct tsct_cubic) {
		.from = rec->begin, .base = place.count,
		.c = { place.frac, place.rate },
	};
}

/* ---- the axis ----------------------------------------------------------------- */

static const struct merge_in *find_merged(const struct tsct_merge *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		if (m->in[i].info.rec->merged)
			return &m->in[i];
	return NULL;
}

static bool is_master(const struct tsct_merge *m, const struct merge_in *in)
{
	const struct tsct_recorded_sync *sync = merge_sync(in);

	return !in->info.rec->merged && sync->role == TSCT_SYNC_MASTER &&
		sync->node == m->master;
}

static bool take_masters(struct tsct_merge *m)
{
	const struct tsct_clock_params *line;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		if (!is_master(m, &m->in[i]))
			continue;
		line = &merge_sync(&m->in[i])->line;
		m->axis.base = line->base_cycles + line->slew_cycles;
		m->axis.base_ns = tsct_clock_params_ns(line, m->axis.base);
		m->axis.mult = line->mult;
		return true;
	}
	return false;
}

/* Takes the master's clock params as it sent them to a child. */
static bool take_sent_params(struct tsct_merge *m)
{
	const struct tsct_remote_params *line;
	const struct tsct_series *s;
	unsigned int i, k;

	for (i = 0; i < m->nr; i++) {
		for (k = 0; k < m->in[i].nr_series; k++) {
			s = &m->in[i].series[k];
			if (!s->has_params || !merge_is_of(m, s) ||
			    s->node != m->master)
				continue;
			line = &s->params[s->nr - 1];
			m->axis = (struct merge_axis) {
				line->base, line->base_ns, line->mult };
			return true;
		}
	}
	return false;
}

/*
 * The master's counter is unknown: uses ns of cluster time, from about the
 * first report on.
 */
static void take_ns(struct tsct_merge *m)
{
	const struct tsct_series *s;
	unsigned int i, k;

	m->axis = (struct merge_axis) { .mult = TSCT_NS_MULT };
	for (i = 0; i < m->nr; i++) {
		for (k = 0; k < m->in[i].nr_series; k++) {
			s = &m->in[i].series[k];
			if (merge_is_of(m, s)) {
				m->axis.base_ns = s->params[s->nr - 1].base_ns;
				m->axis.base = (__u64)m->axis.base_ns;
				return;
			}
		}
	}
}

/* ---- global ticks -------------------------------------------------------- */

static __u64 wanted_hz(const struct tsct_merge *m)
{
	return m->options.hz ? m->options.hz : GIGA;
}

static int no_frame(struct tsct_merge *m, int err)
{
	if (err == -ERANGE)
		return merge_fail(m, -EINVAL, "--resolution %" PRIu64
				  ": too many ticks since the Unix epoch, or too"
				  " odd a ratio to the master's counter; use a"
				  " rounder or smaller number",
				  (uint64_t)wanted_hz(m));
	return merge_fail(m, -EINVAL, "the wall clock of the master did not run"
			  " forward; use --force to take each node's own clock");
}

int merge_frame_pair(struct tsct_axis *ret, __u64 base, __s64 base_ns,
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

static __s64 real_ns(const struct merge_in *in, __u64 stamp)
{
	return tsct_clock_params_ns(&in->info.rec->real, stamp);
}

/*
 * The run lasts as long as on the master's wall clock, over its whole
 * recording. For a recording of less than a second, whole nanoseconds would
 * make too coarse a rate for the events of others.
 */
static int frame_by_master(struct tsct_merge *m)
{
	const struct merge_in *first = NULL, *last = NULL, *in;
	unsigned int i;
	__u64 end;

	for (i = 0; i < m->nr; i++) {
		in = &m->in[i];
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
			      (__u64)real_ns(first, first->begin),
			      (__u64)real_ns(last, end), 0, wanted_hz(m));
}

/* Uses the rate of cluster time instead. */
static int frame_by_line(struct tsct_merge *m)
{
	const struct merge_axis *axis = &m->axis;
	__u64 hour = (__u64)merge_whole(3600e9 / merge_axis_ns(axis));

	if (!merge_frame_pair(&m->frame, axis->base, axis->base_ns, axis->mult,
			      wanted_hz(m)))
		return 0;
	return tsct_axis_from_run(&m->frame, axis->base, axis->base + hour,
			      (__u64)axis->base_ns,
			      (__u64)time_of(axis, axis->base + hour), 0,
			      wanted_hz(m));
}

static int take_merged(struct tsct_merge *m, const struct merge_in *in)
{
	m->axis = axis_of(&in->info.rec->timeline);
	m->frame = frame_of(&in->info.rec->timeline);
	if (m->options.hz && m->options.hz != m->frame.hz)
		return merge_fail(m, -EINVAL, "%s: its ticks are 1/%" PRIu64
				  " s already; remove --resolution, or merge the"
				  " recordings that it was made from", in->info.path,
				  (uint64_t)m->frame.hz);
	return 0;
}

/* Each node has an axis of its own then; this one only provides hz. */
static int find_own(struct tsct_merge *m)
{
	const struct merge_in *in = find_merged(m);

	m->axis = (struct merge_axis) { .mult = TSCT_NS_MULT };
	m->frame = (struct tsct_axis) { 0, 0, 1, 1, wanted_hz(m) };
	if (in && !m->options.hz)
		m->frame.hz = in->info.rec->timeline.hz;
	return 0;
}

int merge_find_axis(struct tsct_merge *m)
{
	const struct merge_in *merged = find_merged(m);
	int err;

	if (m->time == TSCT_MERGE_OWN)
		return find_own(m);
	if (merged)
		return take_merged(m, merged);
	if (!take_masters(m) && !take_sent_params(m))
		take_ns(m);
	err = frame_by_master(m);
	if (err == -ENOENT)
		err = frame_by_line(m);
	return err ? no_frame(m, err) : 0;
}
