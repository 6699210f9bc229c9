// SPDX-License-Identifier: MIT
/*
 * Another thread may be writing a struct tsct_clock_copy that is read here, and the copy may
 * be invalid: so each word of the copy is loaded once (tsct_load_relaxed()), and then
 * checked. A slow reader may still be reading a copy that is being written here.
 *
 * Counter values are ordered by their signed distance from an anchor, a value
 * near the newest counter values. So the order is total for any content of a
 * copy, even if the counter has wrapped.
 */
#include "clock_segments.h"
#include "clock_params.h"

#define PS_PER_NS	1000

static bool is_same_params(const struct tsct_clock_params *a,
			   const struct tsct_clock_params *b)
{
	return a->base_cycles == b->base_cycles && a->base_ns == b->base_ns &&
		a->slew_mult == b->slew_mult && a->slew_cycles == b->slew_cycles &&
		a->mult == b->mult;
}

static __u32 nr_segments(const struct tsct_clock_copy *copy)
{
	__u32 nr = READ_ONCE(copy->nr_segments);

	return nr < TSCT_SEGMENTS_MAX ? nr : TSCT_SEGMENTS_MAX;
}

static struct tsct_clock_segment load_segment(const struct tsct_clock_copy *copy,
					      __u32 i)
{
	struct tsct_clock_segment segment;

	tsct_load_relaxed(&segment, &copy->segments[i],
			  TSCT_WORDS(struct tsct_clock_segment));
	return segment;
}

static void store_segment(struct tsct_clock_copy *copy, __u32 i,
			  const struct tsct_clock_segment *segment)
{
	tsct_store_relaxed(&copy->segments[i], segment,
			   TSCT_WORDS(struct tsct_clock_segment));
}

/* Returns the start of segment @i minus @anchor, cycles. */
static __s64 segment_begin(const struct tsct_clock_copy *copy, __u32 i, __u64 anchor)
{
	return (__s64)(READ_ONCE(copy->segments[i].base_cycles) - anchor);
}

/* Fields of a struct tsct_clock_copy that a lookup needs, except the segments */
struct lookup_state {
	struct tsct_clock_params real;
	__u64 epoch_cycles;
	__u32 status;
	__u32 epoch;
	__u32 nr;		/* number of segments in the tsct_clock_copy */
	__u32 dropped;
};

static void load_lookup_state(const struct tsct_clock_copy *copy,
			      struct lookup_state *ret)
{
	tsct_load_relaxed(&ret->real, &copy->state.real,
			  offsetof(struct tsct_clock_params, reserved) /
			  sizeof(tsct_word));
	ret->epoch_cycles = READ_ONCE(copy->state.epoch_cycles);
	ret->status = READ_ONCE(copy->state.status);
	ret->epoch = READ_ONCE(copy->state.epoch);
	ret->nr = nr_segments(copy);
	ret->dropped = READ_ONCE(copy->dropped);
}

/*
 * Returns the anchor, a counter value near the newest values. Counter values
 * are ordered by their signed distance from the anchor.
 */
static __u64 find_anchor(const struct tsct_clock_copy *copy,
			 const struct lookup_state *lookup)
{
	if (lookup->real.mult)
		return lookup->real.base_cycles;
	if (lookup->epoch_cycles || !lookup->nr)
		return lookup->epoch_cycles;
	/*
	 * Returns a counter value after start and end of every segment. The last segment
	 * may be empty, that is, end one cycle before its start: so adds 2 to its end.
	 */
	return READ_ONCE(copy->segments[lookup->nr - 1].until_cycles) + 2;
}

/* ---- check of a state against the one before it --------------------------- */

/* Returns 0 if @new equals @old or continues @old within the same epoch; else -ETIME or
 * -EINVAL, see tsct_segments_check(). */
static int check_params(const struct tsct_clock_params *old,
			const struct tsct_clock_params *new, __u64 now)
{
	if (!old->mult || is_same_params(old, new))
		return 0;
	if (!new->mult)
		return -EINVAL;
	if ((__s64)(new->base_cycles - now) <= 0)
		return -ETIME;
	if ((__s64)(new->base_cycles - old->base_cycles) <= 0 ||
	    new->base_ns != tsct_clock_params_ns(old, new->base_cycles))
		return -EINVAL;
	return 0;
}

/*
 * Returns true if next->cluster_prev is the last linear part of last->cluster
 * or, if both states have the same cluster params, equals last->cluster_prev.
 */
static bool cluster_prev_follows(const struct tsct_clock_state *last,
				 const struct tsct_clock_state *next)
{
	const struct tsct_clock_prev_params *new = &next->cluster_prev;
	struct tsct_clock_prev_params old = last->cluster_prev;

	if (!last->cluster.mult || !new->mult)
		return true;
	if (!is_same_params(&last->cluster, &next->cluster))
		old = tsct_clock_params_prev(&last->cluster, next->cluster.base_cycles);
	return new->base_cycles == old.base_cycles && new->base_ns == old.base_ns &&
		new->mult == old.mult && new->error_ps >= old.error_ps;
}

int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now)
{
	__s32 epochs = (__s32)(next->epoch - last->epoch);
	__s32 cluster_epochs = (__s32)(next->cluster_epoch - last->cluster_epoch);
	int err = 0;

	if (epochs < 0 || (!epochs && next->source != last->source))
		return -ESTALE;
	if (!epochs)
		err = check_params(&last->real, &next->real, now);
	if (err || cluster_epochs > 0)
		return err;
	if (cluster_epochs < 0)
		return -ESTALE;
	/* Params of one source do not apply to counter values of another source. */
	if (last->cluster.mult && next->source != last->source)
		return -EINVAL;
	err = check_params(&last->cluster, &next->cluster, now);
	if (!err && !cluster_prev_follows(last, next))
		err = -EINVAL;
	return err;
}

/* ---- joining and dropping segments -------------------------------------- */

static void count_dropped(struct tsct_clock_copy *copy, __u32 nr)
{
	__u32 dropped = READ_ONCE(copy->dropped);

	if (nr)
		WRITE_ONCE(copy->dropped, dropped > ~0U - nr ? ~0U :
			   dropped + nr);
}

/* Removes the segments with indexes @to to @from - 1: moves later segments down. */
static void move_segments(struct tsct_clock_copy *copy, __u32 to, __u32 from)
{
	__u32 nr = nr_segments(copy);

	for (; from < nr; to++, from++)
		tsct_store_relaxed(&copy->segments[to], &copy->segments[from],
				   TSCT_WORDS(struct tsct_clock_segment));
	WRITE_ONCE(copy->nr_segments, to);
}

/*
 * Returns the less trusted of two statuses. From least to most trusted: DISRUPTED,
 * CALIBRATING, HOLDOVER, SYNCHRONIZED.
 */
static __u32 weaker_status(__u32 a, __u32 b)
{
	static const __u8 strength[TSCT_STATUS_NR] = {
		[TSCT_STATUS_CALIBRATING] = 1,
		[TSCT_STATUS_HOLDOVER] = 2,
		[TSCT_STATUS_SYNCHRONIZED] = 3,
	};

	if (a >= TSCT_STATUS_NR || b >= TSCT_STATUS_NR)
		return TSCT_STATUS_DISRUPTED;
	return strength[a] < strength[b] ? a : b;
}

static __u64 distance_ns(__s64 a, __s64 b)
{
	return a > b ? (__u64)a - (__u64)b : (__u64)b - (__u64)a;
}

/*
 * Returns the mean rate from the beginning of segment @a to the end of segment @b.
 * As both ends are rounded, the mean may be outside of the range of the two
 * rates. Limits the excess to an eighth of a rate.
 */
static __u64 chord_mult(const struct tsct_clock_segment *a,
			const struct tsct_clock_segment *b, __s64 end_ns)
{
	__u64 len = b->until_cycles - a->base_cycles;
	__u64 ns = end_ns > a->base_ns ? distance_ns(end_ns, a->base_ns) : 0;
	__u64 low = a->mult < b->mult ? a->mult : b->mult;
	__u64 high = a->mult < b->mult ? b->mult : a->mult;
	bool rest;
	__u64 mult = tsct_divide((tsct_u128)ns << TSCT_CLOCK_SHIFT, len, &rest);

	/* The rate is rounded up, so that the time at the end of the joined segment is
	 * not before the time at which the next segment begins. */
	mult = tsct_add_saturating(mult, rest);
	low -= low / 8;
	high = tsct_add_saturating(high, high / 8);
	mult = mult < low ? low : mult;
	return mult < high ? mult : high;
}

/*
 * Joins two segments to one linear segment. Adds to the error bound 1 ns, as times are
 * rounded, and the largest distance between the new segment and the two old ones,
 * which occurs where these meet, or at the end.
 */
static struct tsct_clock_segment join_segments(const struct tsct_clock_segment *a,
					       const struct tsct_clock_segment *b)
{
	__s64 end_ns = tsct_clock_segment_ns(b, b->until_cycles);
	struct tsct_clock_segment both = *a;
	__u64 off, off_end;

	both.until_cycles = b->until_cycles;
	both.mult = chord_mult(a, b, end_ns);
	off = distance_ns(tsct_clock_segment_ns(&both, b->base_cycles), b->base_ns);
	off_end = distance_ns(tsct_clock_segment_ns(&both, b->until_cycles), end_ns);
	off = tsct_add_saturating(off > off_end ? off : off_end, 1);
	both.error_ps = a->error_ps > b->error_ps ? a->error_ps : b->error_ps;
	both.error_ps = off > ~0ULL / PS_PER_NS ? ~0ULL :
		tsct_add_saturating(both.error_ps, off * PS_PER_NS);
	both.status = weaker_status(a->status, b->status);
	return both;
}

/*
 * Returns the cost of joining two segments: their length in cycles, plus 2^30 cycles
 * (a few tenths of a second) per ns of distance between the joined segment and
 * the point where the two meet.
 */
static __u64 join_cost(const struct tsct_clock_segment *a,
		       const struct tsct_clock_segment *b)
{
	__u64 first = a->until_cycles - a->base_cycles;
	__u64 second = b->until_cycles - b->base_cycles;
	__u64 bend = a->mult < b->mult ? b->mult - a->mult : a->mult - b->mult;
	tsct_u128 off = (tsct_u128)bend * (first < second ? first : second) >>
		TSCT_CLOCK_SHIFT;

	off = (off << 30) + first + second;
	return off >> 64 ? ~0ULL : (__u64)off;
}

/*
 * Returns the index of the first of the two adjacent segments to join. They are the
 * two with the least quotient of join_cost() and age. Age is the number of cycles
 * from the end of the two to the end of the newest segment. The newest segment itself
 * is never joined: programs still convert with it, and two conversions must not
 * give different times. Returns the number of segments if no two can be joined.
 */
static __u32 find_join(const struct tsct_clock_copy *copy)
{
	__u32 nr = nr_segments(copy), best = nr, i;
	__u64 best_cost = 0, best_age = 0, newest;
	struct tsct_clock_segment a, b;

	a = load_segment(copy, nr - 1);
	newest = a.until_cycles;
	a = load_segment(copy, 0);
	for (i = 0; i + 1 < nr; i++, a = b) {
		__u64 cost, age;

		b = load_segment(copy, i + 1);
		age = newest - b.until_cycles;
		if (!age || a.epoch != b.epoch || a.until_cycles != b.base_cycles)
			continue;
		cost = join_cost(&a, &b);
		if (best == nr || (tsct_u128)cost * best_age <
		    (tsct_u128)best_cost * age) {
			best = i;
			best_cost = cost;
			best_age = age;
		}
	}
	return best;
}

static void append_segment(struct tsct_clock_copy *copy,
			   const struct tsct_clock_segment *segment)
{
	struct tsct_clock_segment a, b;
	__u32 nr, i;

	while ((nr = nr_segments(copy)) >= TSCT_SEGMENTS_MAX) {
		i = find_join(copy);
		if (i >= nr) {
			move_segments(copy, 0, 1);
			count_dropped(copy, 1);
			continue;
		}
		a = load_segment(copy, i);
		b = load_segment(copy, i + 1);
		a = join_segments(&a, &b);
		store_segment(copy, i, &a);
		move_segments(copy, i + 1, i + 2);
	}
	store_segment(copy, nr, segment);
	WRITE_ONCE(copy->nr_segments, nr + 1);
}

/* ---- replacing a state: former params become segments ---------------------- */

/*
 * Makes all segments end at the counter value @end at the latest. Drops
 * segments that begin at @end or later: as the counter was reset, the dropped
 * segments' counter values may occur again. Adds the number of dropped segments
 * to copy->dropped, but does not count empty segments (until_cycles is
 * base_cycles - 1), which are valid at no counter value.
 */
static void cut_segments(struct tsct_clock_copy *copy, __u64 end)
{
	__u32 nr = nr_segments(copy), lost = 0;
	struct tsct_clock_segment last;

	for (; nr && segment_begin(copy, nr - 1, end) >= 0; nr--) {
		last = load_segment(copy, nr - 1);
		lost += (__s64)(last.until_cycles - last.base_cycles) >= 0;
	}
	WRITE_ONCE(copy->nr_segments, nr);
	count_dropped(copy, lost);
	while (nr-- > 0) {
		if ((__s64)(READ_ONCE(copy->segments[nr].until_cycles) - end) <= 0)
			break;
		WRITE_ONCE(copy->segments[nr].until_cycles, end);
	}
}

unsigned int tsct_clock_params_segments(const struct tsct_clock_state *state,
					__u64 until, __u64 error_ps,
					struct tsct_clock_segment ret[2])
{
	const struct tsct_clock_params *params = &state->real;
	bool slewed = params->slew_cycles && params->slew_mult != params->mult;
	__u64 slew_end = params->base_cycles + params->slew_cycles;

	ret[0] = (struct tsct_clock_segment) {
		.base_cycles = params->base_cycles,
		.until_cycles = until,
		.mult = slewed ? params->slew_mult : params->mult,
		.base_ns = params->base_ns,
		.error_ps = error_ps,
		.epoch = state->epoch,
		.status = state->status,
		.cause = state->cause,
	};
	if (!slewed || (__s64)(until - slew_end) <= 0)
		return 1;
	ret[1] = ret[0];
	ret[0].until_cycles = slew_end;
	ret[1].base_cycles = slew_end;
	ret[1].base_ns = tsct_clock_params_ns(params, slew_end);
	ret[1].mult = params->mult;
	return 2;
}

static void retire_params(struct tsct_clock_copy *copy,
			  const struct tsct_clock_state *last, __u64 until,
			  __u64 error_ps)
{
	struct tsct_clock_segment segments[2];
	unsigned int nr = tsct_clock_params_segments(last, until, error_ps, segments);

	append_segment(copy, &segments[0]);
	if (nr > 1)
		append_segment(copy, &segments[1]);
}

/*
 * Updates the segments when @next, a state of the same epoch, replaces the state @last.
 * If their params differ, last->real becomes a segment that ends where next->real
 * begins.
 *
 * If a segment ends where last->real begins, raises the segment's error bound
 * to that of last->real at this point, if the latter is larger: the segment was
 * made before any sample at or after the segment's end.
 */
static void continue_params(struct tsct_clock_copy *copy,
			    const struct tsct_clock_state *last,
			    const struct tsct_clock_state *next)
{
	bool confirmed = is_same_params(&last->real, &next->real);
	const struct tsct_clock_params *params = confirmed ? &next->real : &last->real;
	__u64 error_ps = confirmed ?
		tsct_clock_params_error_ps(params, params->base_cycles) :
		next->closing_error_ps;
	__u32 nr = nr_segments(copy);
	struct tsct_clock_segment before;

	error_ps = max(error_ps, params->past_error_ps);
	if (nr) {
		before = load_segment(copy, nr - 1);
		if (before.until_cycles == params->base_cycles &&
		    before.error_ps < error_ps) {
			before.error_ps = error_ps;
			store_segment(copy, nr - 1, &before);
		}
	}
	if (!confirmed)
		retire_params(copy, last, next->real.base_cycles, error_ps);
}

/*
 * Ends the params of *last at as_of_cycles, their last sample, as a disruption may have come
 * right after it. Params that begin later become an empty segment, and earlier segments are cut
 * at as_of_cycles. Keeps empty segments: cycles after their start have the status DISRUPTED.
 */
static void end_params(struct tsct_clock_copy *copy,
		       const struct tsct_clock_state *last)
{
	const struct tsct_clock_params *params = &last->real;
	__u64 end = params->as_of_cycles;
	struct tsct_clock_segment segment;
	__u32 i;

	if ((__s64)(end - params->base_cycles) >= 0) {
		retire_params(copy, last, end, params->past_error_ps);
		return;
	}
	for (i = nr_segments(copy); i-- > 0; ) {
		segment = load_segment(copy, i);
		if ((__s64)(segment.until_cycles - end) <= 0)
			break;
		segment.until_cycles = (__s64)(segment.base_cycles - end) > 0 ?
			segment.base_cycles - 1 : end;
		store_segment(copy, i, &segment);
	}
	retire_params(copy, last, params->base_cycles - 1, params->past_error_ps);
}

/*
 * Drops the oldest segments that begin at or after the present state, or 2^62 cycles or more
 * before it (after a far jump of the counter), or have a later epoch. As the counter and the
 * epoch wrap, such segments may compare as the newest. Readers reject a copy whose segments are
 * out of order, and later states would not correct the order.
 */
static void drop_incomparable(struct tsct_clock_copy *copy, __u32 epoch)
{
	__u32 nr = nr_segments(copy), far = 0;
	struct lookup_state lookup;
	__u64 anchor;
	__s64 begin;

	load_lookup_state(copy, &lookup);
	anchor = find_anchor(copy, &lookup);
	for (; far < nr; far++) {
		begin = segment_begin(copy, far, anchor);
		if (begin < 0 && begin > -(1LL << 62) &&
		    (__s32)(epoch - READ_ONCE(copy->segments[far].epoch)) >= 0)
			break;
	}
	if (far)
		move_segments(copy, 0, far);
	count_dropped(copy, far);
}

void tsct_segments_succeed(struct tsct_clock_copy *copy,
			   const struct tsct_clock_state *next)
{
	bool later = READ_ONCE(copy->state.epoch) != next->epoch;
	struct tsct_clock_state last;

	tsct_load_relaxed(&last, &copy->state, TSCT_WORDS(struct tsct_clock_state));
	WRITE_ONCE(copy->nr_segments, nr_segments(copy));
	if (last.source != next->source) {
		/* Former params do not apply to counter values of another source. */
		count_dropped(copy, nr_segments(copy) + !!last.real.mult);
		WRITE_ONCE(copy->nr_segments, 0);
	} else if (last.real.mult && later) {
		end_params(copy, &last);
	} else if (last.real.mult) {
		continue_params(copy, &last, next);
	}
	/* Without params, segments are ordered by distance from epoch_cycles. */
	if (next->epoch_cycles && (later || !next->real.mult))
		cut_segments(copy, next->epoch_cycles);
	if (next->real.mult)
		cut_segments(copy, next->real.base_cycles);
	tsct_store_relaxed(&copy->state, next, TSCT_WORDS(struct tsct_clock_state));
	drop_incomparable(copy, next->epoch);
}

/* ---- lookup ---------------------------------------------------------------- */

static int read_params(const struct tsct_clock_params *params, __u32 status,
		       __u32 epoch, __u64 cycles, struct tsct_clock_time *ret)
{
	if ((__s64)(cycles - params->base_cycles) >
	    (__s64)(params->void_after_cycles - params->base_cycles))
		return -ESTALE;
	ret->ns = tsct_clock_params_ns(params, cycles);
	ret->error_ps = tsct_clock_params_error_ps(params, cycles);
	ret->status = tsct_clock_params_status(params, status, cycles);
	ret->epoch = epoch;
	return 0;
}

/*
 * Computes a time before all segments: extends the oldest segment backwards, or the params
 * in force if there is no segment.
 */
static int read_before(const struct tsct_clock_copy *copy,
		       const struct lookup_state *lookup, __u64 cycles,
		       struct tsct_clock_time *ret)
{
	struct tsct_clock_segment segment = {
		.base_cycles = lookup->real.base_cycles,
		.mult = lookup->real.mult,
		.base_ns = lookup->real.base_ns,
		.epoch = lookup->epoch,
		.status = lookup->status,
	};
	struct tsct_clock_params grown;

	if (lookup->dropped)
		return -ERANGE;
	if (lookup->nr)
		segment = load_segment(copy, 0);
	else
		segment.error_ps = tsct_clock_params_error_ps(&lookup->real,
							      segment.base_cycles);
	/* The error bound grows with the distance from @cycles to the segment's start. */
	grown = (struct tsct_clock_params) {
		.as_of_cycles = cycles,
		.error_ps = segment.error_ps,
		.growth = tsct_growth(segment.mult, TSCT_BEFORE_PPB),
		.holdover_after_cycles = cycles,
	};
	grown.holdover_growth = grown.growth;
	ret->ns = tsct_clock_segment_ns(&segment, cycles);
	ret->error_ps = tsct_clock_params_error_ps(&grown, segment.base_cycles);
	ret->status = tsct_status_has_time(segment.status) ?
		TSCT_STATUS_CALIBRATING : segment.status;
	ret->epoch = segment.epoch;
	return 0;
}

/* Returns the index of the last segment that begins at or before @cycles, plus one. */
static __u32 find_segment(const struct tsct_clock_copy *copy, __u32 nr,
			  __u64 cycles, __u64 anchor)
{
	__s64 at = (__s64)(cycles - anchor);
	__u32 low = 0, high = nr, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (segment_begin(copy, middle, anchor) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 cycles,
			 struct tsct_clock_time *ret_time)
{
	struct tsct_clock_segment segment;
	struct lookup_state lookup;
	__u64 anchor;
	bool holds;
	__u32 i;

	load_lookup_state(copy, &lookup);
	anchor = find_anchor(copy, &lookup);
	if (lookup.real.mult) {
		if ((__s64)(cycles - anchor) >= 0)
			return read_params(&lookup.real, lookup.status, lookup.epoch,
					   cycles, ret_time);
	} else {
		if (!lookup.nr && !lookup.dropped)
			return -EAGAIN;
		if (!lookup.nr || (__s64)(cycles - anchor) > 0)
			return -ESTALE;
	}
	i = find_segment(copy, lookup.nr, cycles, anchor);
	if (!i)
		return read_before(copy, &lookup, cycles, ret_time);
	segment = load_segment(copy, i - 1);
	holds = (__s64)(cycles - segment.base_cycles) <=
		(__s64)(segment.until_cycles - segment.base_cycles);
	ret_time->ns = tsct_clock_segment_ns(&segment, cycles);
	ret_time->error_ps = segment.error_ps;
	ret_time->status = holds ? segment.status : TSCT_STATUS_DISRUPTED;
	ret_time->epoch = segment.epoch;
	return 0;
}

int tsct_clock_cluster_lookup(const struct tsct_clock_state *state, __u64 cycles,
			      struct tsct_clock_time *ret_time)
{
	const struct tsct_clock_prev_params *prev = &state->cluster_prev;
	const struct tsct_clock_params *params = &state->cluster;

	if (!params->mult)
		return state->cluster_status == TSCT_STATUS_DISRUPTED ?
			-ESTALE : -EAGAIN;
	if ((__s64)(cycles - params->base_cycles) >= 0)
		return read_params(params, state->cluster_status,
				   state->cluster_epoch, cycles, ret_time);
	if (!prev->mult || (__s64)(cycles - prev->base_cycles) < 0)
		return -ERANGE;
	ret_time->ns = tsct_clock_prev_ns(prev, cycles);
	ret_time->error_ps = prev->error_ps;
	ret_time->status = state->cluster_status;
	ret_time->epoch = state->cluster_epoch;
	return 0;
}

/* ---- validity of a copy ----------------------------------------------------- */

/*
 * Returns true if a segment may have the rate @mult. The rate of a slew or of a
 * joined segment may be up to a factor of two outside of the limits that
 * tsct_clock_params_check() sets for mult.
 */
static bool is_rate_possible(__u64 mult, __u32 source)
{
	tsct_u128 one = (tsct_u128)1 << TSCT_CLOCK_SHIFT;

	if (source == TSCT_SOURCE_TSC)
		return mult <= one * 200 && (tsct_u128)mult * 200 >= one;
	return mult <= one * 2 && (tsct_u128)mult * 2 >= one;
}

/*
 * Returns true if @segment is valid and before @next, and both begin within the 2^62 cycles
 * before the counter value @anchor, see find_anchor().
 */
static bool is_segment_possible(const struct tsct_clock_segment *segment,
				const struct tsct_clock_segment *next, __u64 anchor)
{
	__s64 length = (__s64)(segment->until_cycles - segment->base_cycles);
	__s64 first = (__s64)(segment->base_cycles - anchor);
	__s64 second = (__s64)(next->base_cycles - anchor);

	/* A length of -1 means an empty segment, which is valid at no counter value. */
	return length >= -1 && length <= 1LL << 62 &&
		segment->status < TSCT_STATUS_NR &&
		segment->cause < TSCT_CAUSE_NR && !segment->reserved0 &&
		!segment->reserved &&
		first > -(1LL << 62) && second > first && second <= 0 &&
		(__s64)(segment->until_cycles - next->base_cycles) <= 0 &&
		(__s32)(next->epoch - segment->epoch) >= 0;
}

int tsct_segments_valid(const struct tsct_clock_copy *copy)
{
	const struct tsct_clock_state *state = &copy->state;
	struct tsct_clock_segment segment, next = {
		.epoch = state->epoch,
	};
	struct lookup_state lookup;
	__u64 any = 0, anchor;
	__u32 i;

	for (i = 0; i < sizeof(copy->reserved) / sizeof(copy->reserved[0]); i++)
		any |= copy->reserved[i];
	if (any || copy->nr_segments > TSCT_SEGMENTS_MAX ||
	    tsct_clock_state_check(state))
		return -EINVAL;
	load_lookup_state(copy, &lookup);
	anchor = find_anchor(copy, &lookup);
	next.base_cycles = anchor;
	for (i = lookup.nr; i-- > 0; next = segment) {
		segment = load_segment(copy, i);
		if (!is_rate_possible(segment.mult, state->source) ||
		    !is_segment_possible(&segment, &next, anchor))
			return -EINVAL;
	}
	return 0;
}
