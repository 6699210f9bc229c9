// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * How the lines of the past are kept in bounded memory. The copy that is
 * written may be read meanwhile by somebody who was overtaken: see words.h.
 */
#include "segment_history.h"
#include "clock_params.h"

#define PS_PER_NS	1000

static void store_segment(struct tsct_clock_copy *copy, __u32 i,
			  const struct tsct_clock_segment *segment)
{
	tsct_store_relaxed(&copy->segments[i], segment,
			 TSCT_WORDS(struct tsct_clock_segment));
}

/* ---- bounded memory ----------------------------------------------------- */

static void count_dropped(struct tsct_clock_copy *copy, __u32 nr)
{
	__u32 dropped = READ_ONCE(copy->dropped);

	if (nr)
		WRITE_ONCE(copy->dropped, dropped > ~0U - nr ? ~0U :
			   dropped + nr);
}

/* Segments from @from on move to @to, which is before it. */
static void close_gap(struct tsct_clock_copy *copy, __u32 to, __u32 from)
{
	__u32 nr = tsct_segments_nr(copy);

	for (; from < nr; to++, from++)
		tsct_store_relaxed(&copy->segments[to], &copy->segments[from],
			    TSCT_WORDS(struct tsct_clock_segment));
	WRITE_ONCE(copy->nr_segments, to);
}

static bool joined(const struct tsct_clock_segment *a, const struct tsct_clock_segment *b)
{
	return a->epoch == b->epoch && a->until_cycles == b->base_cycles;
}

/* What is the less of two claims? */
static __u32 weaker(__u32 a, __u32 b)
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

static __u64 apart(__s64 a, __s64 b)
{
	return a > b ? (__u64)a - (__u64)b : (__u64)b - (__u64)a;
}

/*
 * The rate from one point to another. It differs from those of both by what
 * ends are rounded by; where they are so near to each other that this is much,
 * a rate still has to be one.
 */
static __u64 chord(const struct tsct_clock_segment *a, const struct tsct_clock_segment *b,
		   __s64 end_ns)
{
	__u64 len = b->until_cycles - a->base_cycles;
	__u64 ns = end_ns > a->base_ns ? apart(end_ns, a->base_ns) : 0;
	__u64 low = a->mult < b->mult ? a->mult : b->mult;
	__u64 high = a->mult < b->mult ? b->mult : a->mult;
	bool rest;
	__u64 mult = tsct_divide((tsct_u128)ns << TSCT_CLOCK_SHIFT, len, &rest);

	/* Up: at the end it must be where the next one begins, not before. */
	mult = tsct_add_saturating(mult, rest);
	low -= low / 8;
	high = tsct_add_saturating(high, high / 8);
	mult = mult < low ? low : mult;
	return mult < high ? mult : high;
}

/*
 * One straight line instead of two. It is furthest from them at the knee or at
 * the end, and by 1 ns more in between, since all of them are rounded.
 */
static struct tsct_clock_segment join(const struct tsct_clock_segment *a,
				const struct tsct_clock_segment *b)
{
	__s64 end_ns = tsct_clock_segment_ns(b, b->until_cycles);
	struct tsct_clock_segment both = *a;
	__u64 off, off_end;

	both.until_cycles = b->until_cycles;
	both.mult = chord(a, b, end_ns);
	off = apart(tsct_clock_segment_ns(&both, b->base_cycles), b->base_ns);
	off_end = apart(tsct_clock_segment_ns(&both, b->until_cycles), end_ns);
	off = tsct_add_saturating(off > off_end ? off : off_end, 1);
	both.error_ps = a->error_ps > b->error_ps ? a->error_ps : b->error_ps;
	both.error_ps = off > ~0ULL / PS_PER_NS ? ~0ULL :
		tsct_add_saturating(both.error_ps, off * PS_PER_NS);
	both.status = weaker(a->status, b->status);
	return both;
}

/*
 * What joining two costs: their length, and 2^30 ticks, some tenths of a
 * second, for each nanosecond that the knee between them is away from a straight
 * line, at most.
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
 * The cheapest for its age. Ages are counted from the end of the newest
 * segment, so that it has none. It is left alone: programs are at work in it,
 * and what they were told must not change by the nanosecond.
 */
static __u32 find_join(const struct tsct_clock_copy *copy)
{
	__u32 nr = tsct_segments_nr(copy), best = nr, i;
	__u64 best_cost = 0, best_age = 0, newest;
	struct tsct_clock_segment a, b;

	a = tsct_segment_load(copy, nr - 1);
	newest = a.until_cycles;
	a = tsct_segment_load(copy, 0);
	for (i = 0; i + 1 < nr; i++, a = b) {
		__u64 cost, age;

		b = tsct_segment_load(copy, i + 1);
		age = newest - b.until_cycles;
		if (!age || !joined(&a, &b))
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

static void make_room(struct tsct_clock_copy *copy)
{
	struct tsct_clock_segment a, b;
	__u32 i;

	while (tsct_segments_nr(copy) >= TSCT_SEGMENTS_MAX) {
		i = find_join(copy);
		if (i >= tsct_segments_nr(copy)) {
			close_gap(copy, 0, 1);
			count_dropped(copy, 1);
			continue;
		}
		a = tsct_segment_load(copy, i);
		b = tsct_segment_load(copy, i + 1);
		a = join(&a, &b);
		store_segment(copy, i, &a);
		close_gap(copy, i + 1, i + 2);
	}
}

static void append(struct tsct_clock_copy *copy,
		   const struct tsct_clock_segment *segment)
{
	__u32 nr;

	make_room(copy);
	nr = tsct_segments_nr(copy);
	store_segment(copy, nr, segment);
	WRITE_ONCE(copy->nr_segments, nr + 1);
}

/* ---- one line follows another ------------------------------------------- */

/*
 * No line of the past holds behind @end. Those that begin there or later cannot
 * be told from what comes (a counter that began anew): they are gone. Those of
 * them that held nowhere had not begun yet, and are no loss.
 */
static void cut(struct tsct_clock_copy *copy, __u64 end)
{
	__u32 nr = tsct_segments_nr(copy), lost = 0;
	struct tsct_clock_segment last;

	for (; nr && tsct_segment_begin(copy, nr - 1, end) >= 0; nr--) {
		last = tsct_segment_load(copy, nr - 1);
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

/*
 * The line of @last up to @until becomes history: what was slewed, and what
 * came after that.
 */
static void retire(struct tsct_clock_copy *copy,
		   const struct tsct_clock_state *last, __u64 until,
		   __u64 error_ps)
{
	const struct tsct_clock_params *pair = &last->real;
	bool slewed = pair->slew_cycles && pair->slew_mult != pair->mult;
	struct tsct_clock_segment segment = {
		.base_cycles = pair->base_cycles,
		.until_cycles = until,
		.mult = slewed ? pair->slew_mult : pair->mult,
		.base_ns = pair->base_ns,
		.error_ps = error_ps,
		.epoch = last->epoch,
		.status = last->status,
		.cause = last->cause,
	};
	__u64 slew_end = pair->base_cycles + pair->slew_cycles;

	if (!slewed || (__s64)(until - slew_end) <= 0) {
		append(copy, &segment);
		return;
	}
	segment.until_cycles = slew_end;
	append(copy, &segment);
	segment.base_ns = tsct_clock_params_ns(pair, slew_end);
	segment.base_cycles = slew_end;
	segment.until_cycles = until;
	segment.mult = pair->mult;
	append(copy, &segment);
}

/*
 * Between its last sample and its end nobody had looked at a line when it was
 * followed. The first one who did looked at the line that followed it, and has
 * told now what it found.
 */
static void raise_last(struct tsct_clock_copy *copy, __u64 until,
		       __u64 error_ps)
{
	__u32 nr = tsct_segments_nr(copy);
	struct tsct_clock_segment segment;

	if (!nr)
		return;
	segment = tsct_segment_load(copy, nr - 1);
	if (segment.until_cycles != until || segment.error_ps >= error_ps)
		return;
	segment.error_ps = error_ps;
	store_segment(copy, nr - 1, &segment);
}

/* Followed in its epoch: it was right to its end, or so says who goes on. */
static void continue_line(struct tsct_clock_copy *copy,
			  const struct tsct_clock_state *last,
			  const struct tsct_clock_state *next)
{
	__u64 error_ps = last->real.past_error_ps;

	if (error_ps < next->closing_error_ps)
		error_ps = next->closing_error_ps;
	raise_last(copy, last->real.base_cycles, error_ps);
	retire(copy, last, next->real.base_cycles, error_ps);
}

/*
 * Somebody looked at the line and goes on with it: see raise_last(). Where that
 * was before its beginning, the line before still holds up to there.
 */
static void confirm_line(struct tsct_clock_copy *copy,
			 const struct tsct_clock_state *next)
{
	const struct tsct_clock_params *pair = &next->real;
	__u64 error_ps = tsct_clock_params_error_ps(pair, pair->base_cycles);

	if (error_ps < pair->past_error_ps)
		error_ps = pair->past_error_ps;
	raise_last(copy, pair->base_cycles, error_ps);
}

/* Where nobody looked behind @end, nothing holds. */
static void shorten(struct tsct_clock_copy *copy, __u64 end)
{
	__u32 i;

	for (i = tsct_segments_nr(copy); i-- > 0; ) {
		struct tsct_clock_segment segment = tsct_segment_load(copy, i);

		if ((__s64)(segment.until_cycles - end) <= 0)
			break;
		segment.until_cycles = (__s64)(segment.base_cycles - end) > 0 ?
			segment.base_cycles - 1 : end;
		store_segment(copy, i, &segment);
	}
}

/*
 * Nobody looked after as_of_cycles. A line that had not been looked at itself
 * holds nowhere, and the one before it no longer than that; but both are kept,
 * so that stamps find out that they were disrupted.
 */
static void end_line(struct tsct_clock_copy *copy,
		     const struct tsct_clock_state *last)
{
	const struct tsct_clock_params *pair = &last->real;
	__u64 until = pair->as_of_cycles;

	if ((__s64)(until - pair->base_cycles) < 0) {
		shorten(copy, until);
		until = pair->base_cycles - 1;
	}
	retire(copy, last, until, pair->past_error_ps);
}

/* Stamps count something else from now on: no line of the past is theirs. */
static void forget(struct tsct_clock_copy *copy)
{
	count_dropped(copy, tsct_segments_nr(copy) + !!copy->state.real.mult);
	WRITE_ONCE(copy->nr_segments, 0);
}

/* Does segment @i still come before what is at @anchor, and in @epoch? */
static bool comparable(const struct tsct_clock_copy *copy, __u32 i,
		       __u64 anchor, __u32 epoch)
{
	__s64 begin = tsct_segment_begin(copy, i, anchor);

	return begin < 0 && begin > -(1LL << 62) &&
		(__s32)(epoch - READ_ONCE(copy->segments[i].epoch)) >= 0;
}

/*
 * Stamps and epochs go round. What is so old that it would come out as new goes:
 * readers refuse all of a copy that is not in order. A writer who jumps far may
 * make that so, and the next one could not get rid of it.
 */
static void drop_far(struct tsct_clock_copy *copy, __u64 anchor, __u32 epoch)
{
	__u32 nr = tsct_segments_nr(copy), far = 0;

	while (far < nr && !comparable(copy, far, anchor, epoch))
		far++;
	if (far)
		close_gap(copy, 0, far);
	count_dropped(copy, far);
}

void tsct_segments_succeed(struct tsct_clock_copy *copy,
			   const struct tsct_clock_state *next)
{
	bool later = READ_ONCE(copy->state.epoch) != next->epoch;
	struct tsct_clock_state last;

	tsct_load_relaxed(&last, &copy->state, TSCT_WORDS(struct tsct_clock_state));
	WRITE_ONCE(copy->nr_segments, tsct_segments_nr(copy));
	if (last.source != next->source)
		forget(copy);
	else if (last.real.mult && later)
		end_line(copy, &last);
	else if (last.real.mult && !tsct_same_line(&last.real, &next->real))
		continue_line(copy, &last, next);
	else if (last.real.mult)
		confirm_line(copy, next);
	/* Without a line, that is what stamps are put in order by. */
	if (next->epoch_cycles && (later || !next->real.mult))
		cut(copy, next->epoch_cycles);
	if (next->real.mult)
		cut(copy, next->real.base_cycles);
	tsct_store_relaxed(&copy->state, next, TSCT_WORDS(struct tsct_clock_state));
	drop_far(copy, tsct_segments_anchor(copy), next->epoch);
}
