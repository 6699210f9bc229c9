// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Which line a stamp belongs to. The copy that is read may be written
 * meanwhile, or be no copy at all: each word is read once (see words.h), and
 * then looked at.
 */
#include "segment_history.h"
#include "clock_params.h"

/* ---- may it follow? ----------------------------------------------------- */

/* In the same epoch: the same line, or one that goes on where that one is. */
static int line_check(const struct tsct_clock_params *old, const struct tsct_clock_params *new,
		      __u64 now)
{
	if (!old->mult || tsct_same_line(old, new))
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

/* What is said of the line before is what was said by itself. */
static bool before_follows(const struct tsct_clock_state *last,
			   const struct tsct_clock_state *next)
{
	const struct tsct_clock_prev_params *new = &next->cluster_prev;
	struct tsct_clock_prev_params old = last->cluster_prev;

	if (!last->cluster.mult || !new->mult)
		return true;
	if (!tsct_same_line(&last->cluster, &next->cluster))
		old = tsct_clock_params_prev(&last->cluster, next->cluster.base_cycles);
	return new->base_cycles == old.base_cycles && new->base_ns == old.base_ns &&
		new->mult == old.mult && new->error_ps >= old.error_ps;
}

static int cluster_check(const struct tsct_clock_state *last,
			 const struct tsct_clock_state *next, __u64 now)
{
	__s32 epochs = (__s32)(next->cluster_epoch - last->cluster_epoch);
	int err;

	if (epochs > 0)
		return 0;
	if (epochs < 0)
		return -ESTALE;
	/* Its stamps mean nothing any more. */
	if (last->cluster.mult && next->source != last->source)
		return -EINVAL;
	err = line_check(&last->cluster, &next->cluster, now);
	if (!err && !before_follows(last, next))
		err = -EINVAL;
	return err;
}

int tsct_segments_check(const struct tsct_clock_state *last,
			const struct tsct_clock_state *next, __u64 now)
{
	__s32 epochs = (__s32)(next->epoch - last->epoch);
	int err = 0;

	if (epochs < 0 || (!epochs && next->source != last->source))
		return -ESTALE;
	if (!epochs)
		err = line_check(&last->real, &next->real, now);
	return err ? err : cluster_check(last, next, now);
}

/* ---- what time was it? -------------------------------------------------- */

/* What of a state a reading rests on */
struct head {
	struct tsct_clock_params real;
	__u64 epoch_cycles;
	__u32 status;
	__u32 epoch;
	__u32 nr;		/* of segments */
	__u32 dropped;
};

static void load_head(const struct tsct_clock_copy *copy, struct head *ret)
{
	tsct_load_relaxed(&ret->real, &copy->state.real,
			offsetof(struct tsct_clock_params, reserved) /
			sizeof(tsct_word));
	ret->epoch_cycles = READ_ONCE(copy->state.epoch_cycles);
	ret->status = READ_ONCE(copy->state.status);
	ret->epoch = READ_ONCE(copy->state.epoch);
	ret->nr = tsct_segments_nr(copy);
	ret->dropped = READ_ONCE(copy->dropped);
}

/* @stamp is at the line's beginning or behind it. */
static int read_line(const struct tsct_clock_params *pair, __u32 status, __u32 epoch,
		     __u64 stamp, struct tsct_clock_time *ret)
{
	__s64 d = (__s64)(stamp - pair->base_cycles);

	if (d > (__s64)(pair->void_after_cycles - pair->base_cycles))
		return -ESTALE;
	ret->ns = tsct_clock_params_ns(pair, stamp);
	ret->error_ps = tsct_clock_params_error_ps(pair, stamp);
	ret->status = status;
	ret->epoch = epoch;
	if (tsct_status_has_time(ret->status) &&
	    d > (__s64)(pair->holdover_after_cycles - pair->base_cycles))
		ret->status = TSCT_STATUS_HOLDOVER;
	return 0;
}

/* @stamp is at the segment's beginning or behind it. */
static void read_segment(const struct tsct_clock_segment *segment, __u64 stamp,
			 struct tsct_clock_time *ret)
{
	bool holds = (__s64)(stamp - segment->base_cycles) <=
		(__s64)(segment->until_cycles - segment->base_cycles);

	ret->ns = tsct_clock_segment_ns(segment, stamp);
	ret->error_ps = segment->error_ps;
	ret->status = holds ? segment->status : TSCT_STATUS_DISRUPTED;
	ret->epoch = segment->epoch;
}

/* The oldest line that is known, as if it had been that one before, too */
static struct tsct_clock_segment oldest(const struct tsct_clock_copy *copy,
				  const struct head *head)
{
	struct tsct_clock_segment line = {
		.base_cycles = head->real.base_cycles,
		.mult = head->real.mult,
		.base_ns = head->real.base_ns,
		.epoch = head->epoch,
		.status = head->status,
	};

	if (head->nr)
		return tsct_segment_load(copy, 0);
	line.error_ps = tsct_clock_params_error_ps(&head->real, line.base_cycles);
	return line;
}

static int read_before(const struct tsct_clock_copy *copy,
		       const struct head *head, __u64 stamp,
		       struct tsct_clock_time *ret)
{
	struct tsct_clock_segment line;
	struct tsct_clock_params grown;

	if (head->dropped)
		return -ERANGE;
	line = oldest(copy, head);
	/* Distances are the same in both directions. */
	grown = (struct tsct_clock_params) {
		.as_of_cycles = stamp,
		.error_ps = line.error_ps,
		.growth = tsct_growth(line.mult, TSCT_BEFORE_PPB),
		.holdover_after_cycles = stamp,
	};
	grown.holdover_growth = grown.growth;
	ret->ns = tsct_clock_segment_ns(&line, stamp);
	ret->error_ps = tsct_clock_params_error_ps(&grown, line.base_cycles);
	ret->status = tsct_status_has_time(line.status) ? TSCT_STATUS_CALIBRATING :
		line.status;
	ret->epoch = line.epoch;
	return 0;
}

/* The last segment that begins at @stamp or before it, plus one */
static __u32 find(const struct tsct_clock_copy *copy, __u32 nr, __u64 stamp,
		  __u64 anchor)
{
	__s64 at = (__s64)(stamp - anchor);
	__u32 low = 0, high = nr, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (tsct_segment_begin(copy, middle, anchor) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What the order of stamps is counted from */
static __u64 find_anchor(const struct tsct_clock_copy *copy,
			 const struct head *head)
{
	if (head->real.mult)
		return head->real.base_cycles;
	if (head->epoch_cycles || !head->nr)
		return head->epoch_cycles;
	/* Behind all segments, also one that holds nowhere: its length is -1. */
	return READ_ONCE(copy->segments[head->nr - 1].until_cycles) + 2;
}

__u64 tsct_segments_anchor(const struct tsct_clock_copy *copy)
{
	struct head head;

	load_head(copy, &head);
	return find_anchor(copy, &head);
}

int tsct_segments_lookup(const struct tsct_clock_copy *copy, __u64 stamp,
			 struct tsct_clock_time *ret_reading)
{
	struct tsct_clock_segment segment;
	struct head head;
	__u64 anchor;
	__u32 i;

	load_head(copy, &head);
	anchor = find_anchor(copy, &head);
	if (head.real.mult) {
		if ((__s64)(stamp - anchor) >= 0)
			return read_line(&head.real, head.status, head.epoch,
					 stamp, ret_reading);
	} else {
		if (!head.nr && !head.dropped)
			return -EAGAIN;
		if (!head.nr || (__s64)(stamp - anchor) > 0)
			return -ESTALE;
	}
	i = find(copy, head.nr, stamp, anchor);
	if (!i)
		return read_before(copy, &head, stamp, ret_reading);
	segment = tsct_segment_load(copy, i - 1);
	read_segment(&segment, stamp, ret_reading);
	return 0;
}

int tsct_clock_cluster_lookup(const struct tsct_clock_state *state, __u64 stamp,
			  struct tsct_clock_time *ret_reading)
{
	const struct tsct_clock_prev_params *piece = &state->cluster_prev;
	const struct tsct_clock_params *pair = &state->cluster;

	if (!pair->mult)
		return state->cluster_status == TSCT_STATUS_DISRUPTED ?
			-ESTALE : -EAGAIN;
	if ((__s64)(stamp - pair->base_cycles) >= 0)
		return read_line(pair, state->cluster_status,
				 state->cluster_epoch, stamp, ret_reading);
	if (!piece->mult || (__s64)(stamp - piece->base_cycles) < 0)
		return -ERANGE;
	ret_reading->ns = tsct_clock_prev_ns(piece, stamp);
	ret_reading->error_ps = piece->error_ps;
	ret_reading->status = state->cluster_status;
	ret_reading->epoch = state->cluster_epoch;
	return 0;
}

/* ---- could it be true? -------------------------------------------------- */

/*
 * Slewing and joining make rates that no pair may have; they remain within two
 * times of one that may.
 */
static bool rate_possible(__u64 mult, __u32 source)
{
	tsct_u128 one = (tsct_u128)1 << TSCT_CLOCK_SHIFT;

	if (source == TSCT_SOURCE_TSC)
		return mult <= one * 200 && (tsct_u128)mult * 200 >= one;
	return mult <= one * 2 && (tsct_u128)mult * 2 >= one;
}

static bool segment_possible(const struct tsct_clock_segment *segment)
{
	__s64 length = (__s64)(segment->until_cycles - segment->base_cycles);

	/* -1: one that held nowhere */
	return length >= -1 && length <= 1LL << 62 &&
		segment->status < TSCT_STATUS_NR &&
		segment->cause < TSCT_CAUSE_NR && !segment->reserved0 &&
		!segment->reserved;
}

/* @a before @b, and both not absurdly far from the newest */
static bool in_order(const struct tsct_clock_segment *a, const struct tsct_clock_segment *b,
		     __u64 anchor)
{
	__s64 first = (__s64)(a->base_cycles - anchor);
	__s64 second = (__s64)(b->base_cycles - anchor);

	return first > -(1LL << 62) && second > first && second <= 0 &&
		(__s64)(a->until_cycles - b->base_cycles) <= 0 &&
		(__s32)(b->epoch - a->epoch) >= 0;
}

int tsct_segments_valid(const struct tsct_clock_copy *copy)
{
	const struct tsct_clock_state *state = &copy->state;
	struct tsct_clock_segment segment, next = {
		.epoch = state->epoch,
	};
	struct head head;
	__u64 any = 0, anchor;
	__u32 i;

	for (i = 0; i < sizeof(copy->reserved) / sizeof(copy->reserved[0]); i++)
		any |= copy->reserved[i];
	if (any || copy->nr_segments > TSCT_SEGMENTS_MAX ||
	    tsct_clock_state_check(state))
		return -EINVAL;
	load_head(copy, &head);
	anchor = find_anchor(copy, &head);
	next.base_cycles = anchor;
	for (i = head.nr; i-- > 0; next = segment) {
		segment = tsct_segment_load(copy, i);
		if (!segment_possible(&segment) ||
		    !rate_possible(segment.mult, state->source) ||
		    !in_order(&segment, &next, anchor))
			return -EINVAL;
	}
	return 0;
}
