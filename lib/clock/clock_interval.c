// SPDX-License-Identifier: MIT
/*
 * Intervals between two readings of the counter, by the counter's rate alone: steps and
 * slews of CLOCK_REALTIME have no effect.
 */
#include <errno.h>

#include "clock_private.h"
#include "lib/core/latch.h"
#include "lib/core/clock_params.h"

#define PPT		1000000000000ULL

static __u64 rate_of(const struct tsct_clock_full *clock,
		     const struct tsct_clock_head *head)
{
	/*
	 * The publisher changed to another source: the rate in the page is not that of
	 * the source that this clock was opened with.
	 */
	if (head->source != clock->head.source)
		return clock->rate_mult;
	if (head->rate_mult)
		return head->rate_mult;
	return head->mult ? head->mult : clock->rate_mult;
}

static __u64 rate_mult(const struct tsct_clock *head)
{
	struct tsct_clock_head now;

	return tsct_clock_head(head->page, &now) ? tsct_clock_full(head)->rate_mult :
		rate_of(tsct_clock_full(head), &now);
}

int64_t tsct_clock_delta_to_ns(const struct tsct_clock *clock, int64_t cycles)
{
	return tsct_cycles_ns(rate_mult(clock), cycles);
}

int64_t tsct_clock_ns_to_delta(const struct tsct_clock *clock, int64_t ns)
{
	return tsct_ns_cycles(rate_mult(clock), ns);
}

/* ---- disruptions between two readings ----------------------------------- */

/* True if the counter neither stops nor changes its rate in a disruption by @cause. */
static bool keeps_counting(__u32 cause)
{
	return cause == TSCT_CAUSE_NONE || cause == TSCT_CAUSE_STEP ||
		cause == TSCT_CAUSE_FAKE;
}

/*
 * True if an epoch began in (from, to] whose cause affects the counter. All segments of
 * an epoch hold its cause.
 */
static bool counter_disrupted(const struct tsct_clock_copy *copy, __u64 from,
			      __u64 to)
{
	__u32 nr = READ_ONCE(copy->nr_segments), i;

	if (!keeps_counting(READ_ONCE(copy->state.cause)) &&
	    (__s64)(READ_ONCE(copy->state.epoch_cycles) - from) > 0 &&
	    (__s64)(READ_ONCE(copy->state.epoch_cycles) - to) <= 0)
		return true;
	if (nr > TSCT_SEGMENTS_MAX)
		nr = TSCT_SEGMENTS_MAX;
	for (i = 1; i < nr; i++) {
		const struct tsct_clock_segment *s = &copy->segments[i];
		__u64 base = READ_ONCE(s->base_cycles);

		if (READ_ONCE(s->epoch) != READ_ONCE(s[-1].epoch) &&
		    !keeps_counting(READ_ONCE(s->cause)) &&
		    (__s64)(base - from) > 0 && (__s64)(base - to) <= 0)
			return true;
	}
	return false;
}

static __u32 flags_between(const struct tsct_clock_page *page,
			   const struct tsct_clock_head *head, __u64 from,
			   __u64 to)
{
	struct tsct_clock_time a, b;
	__u32 flags = 0;

	/* The cycles are older or newer than the stored history. */
	if (tsct_latch_lookup(page, from, &a) ||
	    tsct_latch_lookup(page, to, &b))
		return TSCT_INTERVAL_EPOCHS | TSCT_INTERVAL_DISRUPTED;
	if (a.epoch != b.epoch)
		flags |= TSCT_INTERVAL_EPOCHS;
	if (a.status == TSCT_STATUS_DISRUPTED ||
	    b.status == TSCT_STATUS_DISRUPTED ||
	    counter_disrupted(&page->copy[head->seq & 1], from, to))
		flags |= TSCT_INTERVAL_DISRUPTED;
	return flags;
}

/* ---- skewed counters ---------------------------------------------------- */

/*
 * Returns the cycles to add to an interval from CPU @from to CPU @to, as if both ends
 * were read on the reference CPU
 * @ret_error: error bound, cycles
 */
static __s64 skew_correction(const struct tsct_clock_full *clock, __u32 from,
			     __u32 to, bool skewed, __u64 *ret_error)
{
	__s64 skew_from, skew_to;
	__u64 error_from, error_to;

	*ret_error = 0;
	if (from == to && from != TSCT_CPU_ANY)
		return 0;
	if (!tsct_clock_skew(clock, from, &skew_from, &error_from) &&
	    !tsct_clock_skew(clock, to, &skew_to, &error_to)) {
		*ret_error = error_from + error_to;
		if (*ret_error < error_from)
			*ret_error = UINT64_MAX;
		return (__s64)((__u64)skew_from - (__u64)skew_to);
	}
	*ret_error = skewed ? UINT64_MAX : tsct_clock_skew_span(clock);
	return 0;
}

int tsct_clock_interval(const struct tsct_clock *clock,
			const struct tsct_time_point *from,
			const struct tsct_time_point *to,
			struct tsct_interval *ret_interval)
{
	const struct tsct_clock_full *full = tsct_clock_full(clock);
	__s64 cycles = (__s64)(to->cycles - from->cycles);
	struct tsct_interval interval = { 0 };
	__u64 mult, error, correction, length;
	struct tsct_clock_head head;
	tsct_u128 bound;
	bool skewed;
	int tries;

	if (full->inprocess)
		tsct_clock_inprocess_refine(full->inprocess, to->cycles);
	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		if (tsct_clock_head(clock->page, &head) ||
		    head.status == TSCT_STATUS_UNKNOWN)
			return -EAGAIN;
		if (head.source != clock->source)
			return -ESTALE;
		interval.flags = cycles >= 0 ?
			flags_between(clock->page, &head, from->cycles, to->cycles) :
			flags_between(clock->page, &head, to->cycles, from->cycles);
		skewed = head.flags & TSCT_CLOCK_SKEWED;
		correction = (__u64)skew_correction(full, from->cpu, to->cpu, skewed, &error);
		if (tsct_clock_same(clock->page, &head))
			break;
	}
	if (tries == TSCT_OVERTAKEN_MAX)
		return -EAGAIN;
	mult = rate_of(full, &head);
	interval.ns = tsct_cycles_ns(mult, (__s64)((__u64)cycles + correction));
	length = interval.ns < 0 ? 0 - (__u64)interval.ns : (__u64)interval.ns;
	/* The error of the rate, rounded up, and 1 ns for truncation */
	bound = (tsct_u128)length * head.rate_error_ppt;
	bound = bound / PPT + !!(bound % PPT) + 1;
	if (error)
		bound += ((tsct_u128)error * mult >> TSCT_CLOCK_SHIFT) + 1;
	interval.error_ns = bound > UINT64_MAX ? UINT64_MAX : (__u64)bound;
	if (skewed && (from->cpu != to->cpu || from->cpu == TSCT_CPU_ANY))
		interval.flags |= TSCT_INTERVAL_SKEWED;
	if (!head.rate_mult) {
		interval.flags |= TSCT_INTERVAL_GUESSED;
		interval.error_ns = UINT64_MAX;
	}
	*ret_interval = interval;
	return 0;
}
