/* SPDX-License-Identifier: MIT */
/*
 * Stamps that are unique: a clock tick, and which event of that tick it is.
 *
 *	63                                      13 12           0
 *	+-----------------------------------------+--------------+
 *	|            clock tick: 51 bits          | event counter|
 *	+-----------------------------------------+--------------+
 *
 * The tick counts how often the time source incremented since the run began, the
 * counter is incremented for each stamp on the same tick as the one before. Where
 * the counter overflows, the tick is incremented artificially. So stamps of one
 * location strictly increase, whatever the resolution of its clock.
 *
 * 2^51 ticks of a nanosecond are 26 days. A run that is longer goes on in another
 * segment, in which ticks begin with 0 again: stamps compare within a segment.
 *
 * All is pure: no clock is read here. Safe on any input.
 */
#ifndef TSCTRACE_STAMP_H
#define TSCTRACE_STAMP_H

#include <errno.h>
#include <stdint.h>

#include <tsctrace/tsctrace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define TSCT_STAMP_EVENT_BITS	13
#define TSCT_STAMP_TICK_BITS	51
#define TSCT_STAMP_EVENT_MAX	((1U << TSCT_STAMP_EVENT_BITS) - 1)
#define TSCT_STAMP_TICK_MAX	((UINT64_C(1) << TSCT_STAMP_TICK_BITS) - 1)

/* A struct, so that the compiler does not take raw counter values for stamps. */
struct tsct_stamp {
	uint64_t bits;		/* as drawn above; stamps order as these do */
};

/* tsct_stamp_make - from the low 51 bits of @tick and the low 13 of @event */
static inline struct tsct_stamp tsct_stamp_make(uint64_t tick, uint32_t event)
{
	struct tsct_stamp stamp;

	stamp.bits = tick << TSCT_STAMP_EVENT_BITS |
		(event & TSCT_STAMP_EVENT_MAX);
	return stamp;
}

static inline uint64_t tsct_stamp_tick(struct tsct_stamp stamp)
{
	return stamp.bits >> TSCT_STAMP_EVENT_BITS;
}

static inline uint32_t tsct_stamp_event(struct tsct_stamp stamp)
{
	return (uint32_t)stamp.bits & TSCT_STAMP_EVENT_MAX;
}

/* ---- making them --------------------------------------------------------- */

/* One location's: ticks go in in order. What is not said to be read is its own. */
struct tsct_stamper {
	uint64_t origin;	/* the source's tick that is tick 0 */
	uint64_t tick;		/* of the last stamp, segments included */
	uint64_t max_events;	/* to read: the highest number of stamps that
				 * followed another one on a tick of the source;
				 * not 0: its resolution was too low to tell all
				 * events apart */
	uint64_t moved;		/* to read: stamps whose tick was incremented
				 * artificially */
	uint64_t seen;		/* the source's last tick, since origin */
	uint64_t events;	/* stamps that followed another one on it */
	uint32_t event;		/* counter of the last stamp */
	uint32_t reserved;
};

/* tsct_stamper_init - the run begins at @origin, a tick of the source */
static inline void tsct_stamper_init(struct tsct_stamper *stamper,
				     uint64_t origin)
{
	stamper->origin = origin;
	stamper->tick = 0;
	stamper->max_events = 0;
	stamper->moved = 0;
	stamper->seen = 0;
	/* As if something had been one before the first stamp of tick 0 */
	stamper->events = UINT64_MAX;
	stamper->event = UINT32_MAX;
	stamper->reserved = 0;
}

/* tsct_stamper_segment - the segment of the last stamp; the first is 0 */
static inline uint64_t tsct_stamper_segment(const struct tsct_stamper *stamper)
{
	return stamper->tick >> TSCT_STAMP_TICK_BITS;
}

/*
 * tsct_stamper_next - the stamp of the next event
 * @source_tick: when it happened
 *
 * Returns 0; 1 if another segment than before begins with this stamp: stamps of
 * it compare with none from before, and whoever stores them has to store
 * tsct_stamper_segment(), too; -EINVAL, and nothing changes: the tick is before
 * the last one, or before the origin, or 2^63 or more after it.
 *
 * After an overflow the tick is ahead of the source: it stays, and the counter
 * goes on, until the source is past it.
 */
static inline int tsct_stamper_next(struct tsct_stamper *stamper,
				    uint64_t source_tick,
				    struct tsct_stamp *ret_stamp)
{
	uint64_t tick = source_tick - stamper->origin;
	uint64_t segment = tsct_stamper_segment(stamper);

	if (__builtin_expect(tick < stamper->seen || tick >> 63, 0))
		return -EINVAL;
	if (tick > stamper->tick) {
		stamper->tick = tick;
		stamper->event = 0;
	} else if (++stamper->event > TSCT_STAMP_EVENT_MAX) {
		stamper->tick++;
		stamper->event = 0;
	}
	stamper->moved += stamper->tick != tick;
	stamper->events = tick == stamper->seen ? stamper->events + 1 : 0;
	if (stamper->events > stamper->max_events)
		stamper->max_events = stamper->events;
	stamper->seen = tick;
	*ret_stamp = tsct_stamp_make(stamper->tick, stamper->event);
	return tsct_stamper_segment(stamper) != segment;
}

/* ---- what they mean: seconds --------------------------------------------- */

/*
 * tsct_stamp_period - the nominal clock period, in seconds
 *
 * It is that of a stamp as a number, as a trace's header has it: a tick of a
 * clock of @hz divided by 2^13.
 */
static inline double tsct_stamp_period(double hz)
{
	return 1 / hz / (1U << TSCT_STAMP_EVENT_BITS);
}

/*
 * tsct_stamp_seconds - accurate: the counter is shifted away, the tick multiplied
 * by the nominal period and 2^13. From the beginning of the segment.
 */
static inline double tsct_stamp_seconds(struct tsct_stamp stamp, double period)
{
	return (double)(int64_t)tsct_stamp_tick(stamp) *
		(period * (1U << TSCT_STAMP_EVENT_BITS));
}

/*
 * tsct_stamp_seconds_legacy - what applications do that know of no counter: the
 * stamp multiplied by the nominal period. If the counter is 0 that is as good, else
 * less than a tick too much.
 */
static inline double tsct_stamp_seconds_legacy(struct tsct_stamp stamp, double period)
{
	return (double)stamp.bits * period;
}

/*
 * tsct_stamp_at_seconds - the first stamp of the tick that is closest
 * Of what is before the segment, or no number, the first of all; of what is past
 * it the first of its last tick.
 */
static inline struct tsct_stamp tsct_stamp_at_seconds(double seconds, double period)
{
	double tick = seconds / (period * (1U << TSCT_STAMP_EVENT_BITS)) + 0.5;

	if (!(tick > 0))
		return tsct_stamp_make(0, 0);
	if (!(tick < (double)TSCT_STAMP_TICK_MAX))
		return tsct_stamp_make(TSCT_STAMP_TICK_MAX, 0);
	return tsct_stamp_make((uint64_t)tick, 0);
}

/* ---- what they mean: nanoseconds, exactly --------------------------------- */

/* So many ticks take so many ns: {1000000000, hz}, or {mult, 1 << 56} */
struct tsct_stamp_rate {
	uint64_t ns;
	uint64_t ticks;
};

/*
 * tsct_stamp_ns - accurate, since the run began, rounded down
 * @segment: that of the stamp, 0 is the first
 * Saturates at UINT64_MAX; so it does where rate->ticks is 0.
 */
uint64_t tsct_stamp_ns(uint64_t segment, struct tsct_stamp stamp,
		       const struct tsct_stamp_rate *rate);

/* tsct_stamp_ns_legacy - the same of all 64 bits: the counter is a fraction */
uint64_t tsct_stamp_ns_legacy(uint64_t segment, struct tsct_stamp stamp,
			      const struct tsct_stamp_rate *rate);

/*
 * tsct_stamp_at_ns - the first stamp whose time is @ns or later, and its segment
 * Returns 0; -ERANGE: no run gets that far; -EINVAL: the rate has a 0.
 */
int tsct_stamp_at_ns(uint64_t ns, const struct tsct_stamp_rate *rate,
		     uint64_t *ret_segment, struct tsct_stamp *ret_stamp);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_STAMP_H */
