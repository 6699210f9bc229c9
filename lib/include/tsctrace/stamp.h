/* SPDX-License-Identifier: MIT */
/*
 * Unique stamps: a clock tick, and the number of the event within that tick.
 *
 *	63                                      13 12           0
 *	+-----------------------------------------+--------------+
 *	|            clock tick: 51 bits          | event counter|
 *	+-----------------------------------------+--------------+
 *
 * The tick counts increments of the time source since the stamps' origin, which the
 * caller chooses, such as the start of the program. The event counter is incremented
 * for each stamp on the same tick as the stamp before. If the event counter overflows,
 * the tick is incremented artificially. So the stamps of one location strictly
 * increase, whatever the resolution of the location's clock.
 *
 * A segment has 2^51 ticks: 26 days with ticks of 1 ns. In the next segment,
 * ticks begin with 0 again, so only stamps of the same segment compare.
 *
 * All functions are pure: no clock is read. They are thread safe (a struct tsct_stamper
 * is for one thread at a time), signal safe, and safe on any input.
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

/* A stamp is a struct, so that the compiler rejects raw counter values as stamps. */
struct tsct_stamp {
	uint64_t bits;		/* tick and event counter in 64 bits; stamps order by this number */
};

/* tsct_stamp_make - a stamp of the low 51 bits of @tick and the low 13 of @event */
static inline struct tsct_stamp tsct_stamp_make(uint64_t tick, uint32_t event)
{
	struct tsct_stamp stamp;

	stamp.bits = tick << TSCT_STAMP_EVENT_BITS |
		(event & TSCT_STAMP_EVENT_MAX);
	return stamp;
}

/* tsct_stamp_tick - the clock tick, 51 bits */
static inline uint64_t tsct_stamp_tick(struct tsct_stamp stamp)
{
	return stamp.bits >> TSCT_STAMP_EVENT_BITS;
}

/* tsct_stamp_event - the event counter, 13 bits */
static inline uint32_t tsct_stamp_event(struct tsct_stamp stamp)
{
	return (uint32_t)stamp.bits & TSCT_STAMP_EVENT_MAX;
}

/* ---- generation ---------------------------------------------------------- */

/*
 * Generates the stamps of one location, whose ticks are passed in order. Callers may
 * read max_events and moved; all other members are private.
 */
struct tsct_stamper {
	uint64_t origin;	/* tick of the source that becomes the stamps' tick 0 */
	uint64_t tick;		/* ticks from `origin` to the last stamp: the low 51
				 * bits are the stamp's tick, the rest the number of its
				 * 2^51-tick segment */
	uint64_t max_events;	/* largest number of stamps on one tick of the source,
				 * minus 1; if not 0, the source's resolution was too
				 * low to distinguish all events */
	uint64_t moved;		/* number of stamps whose tick was incremented artificially */
	uint64_t seen;		/* source tick of the last event, minus `origin` */
	/* number of events on the source tick of the last event, minus 1 */
	uint64_t events;
	uint32_t event;		/* event counter of the last stamp */
	uint32_t reserved;
};

/* tsct_stamper_init - make the source's tick @origin tick 0 of segment 0 */
static inline void tsct_stamper_init(struct tsct_stamper *stamper,
				     uint64_t origin)
{
	stamper->origin = origin;
	stamper->tick = 0;
	stamper->max_events = 0;
	stamper->moved = 0;
	stamper->seen = 0;
	/* `events` and `event` start at -1, as a first event on tick 0 increments them. */
	stamper->events = UINT64_MAX;
	stamper->event = UINT32_MAX;
	stamper->reserved = 0;
}

/* tsct_stamper_segment - number of the last stamp's segment; the first segment is 0 */
static inline uint64_t tsct_stamper_segment(const struct tsct_stamper *stamper)
{
	return stamper->tick >> TSCT_STAMP_TICK_BITS;
}

/*
 * tsct_stamper_next - the stamp of the next event
 * @source_tick: the source's tick of the event
 *
 * Returns 0; 1: this stamp is the first of a new segment, so it does not
 * compare with earlier stamps, and tsct_stamper_segment() has to be stored with
 * it; -EINVAL, without any change: @source_tick is before the last tick or the
 * origin, or 2^63 or more after the origin.
 *
 * After an overflow of the event counter, the stamp's tick is ahead of the source: the
 * tick stays, and the counter increments, until the source has passed that tick.
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

/* ---- conversion of stamps to seconds ------------------------------------- */

/*
 * tsct_stamp_period - the nominal clock period in seconds, as in a trace's header: the
 * period of a tick (1 / @hz) divided by 2^13
 */
static inline double tsct_stamp_period(double hz)
{
	return 1 / hz / (1U << TSCT_STAMP_EVENT_BITS);
}

/*
 * tsct_stamp_seconds - the time from the start of the segment to the stamp's tick, s;
 * the stamp's event counter is ignored
 * @period: the result of tsct_stamp_period(): the period of a tick, divided by 2^13, s
 */
static inline double tsct_stamp_seconds(struct tsct_stamp stamp, double period)
{
	return (double)(int64_t)tsct_stamp_tick(stamp) *
		(period * (1U << TSCT_STAMP_EVENT_BITS));
}

/*
 * tsct_stamp_seconds_legacy - seconds as computed by applications that do not
 * know the event counter: the whole stamp, as a number, times the nominal @period
 *
 * Exact if the event counter is 0, else too large by less than a tick.
 */
static inline double tsct_stamp_seconds_legacy(struct tsct_stamp stamp, double period)
{
	return (double)stamp.bits * period;
}

/*
 * tsct_stamp_at_seconds - the first stamp of the tick closest to @seconds
 *
 * If @seconds is before the segment, or a NaN, returns the first stamp of the segment; if
 * it is after the segment, the first stamp of the segment's last tick.
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

/* ---- exact conversion of stamps to nanoseconds ----------------------------- */

/* Rate of a clock: `ticks` ticks take `ns` nanoseconds. For a frequency in Hz: ns =
 * 1000000000, ticks = frequency; for clock params: ns = mult, ticks = 2^56 */
struct tsct_stamp_rate {
	uint64_t ns;
	uint64_t ticks;
};

/*
 * tsct_stamp_ns - accurate ns since the stamps' origin, rounded down
 * @segment: segment of the stamp; the first segment is 0
 *
 * Saturates at UINT64_MAX; also returns UINT64_MAX if rate->ticks is 0.
 */
uint64_t tsct_stamp_ns(uint64_t segment, struct tsct_stamp stamp,
		       const struct tsct_stamp_rate *rate);

/*
 * tsct_stamp_ns_legacy - ns since the stamps' origin, rounded down, with the stamp's
 * event number as a fraction of a tick, in 2^-13 ticks
 */
uint64_t tsct_stamp_ns_legacy(uint64_t segment, struct tsct_stamp stamp,
			      const struct tsct_stamp_rate *rate);

/*
 * tsct_stamp_at_ns - the first stamp whose time is @ns or later, and its segment
 *
 * Returns 0; -ERANGE: the time is beyond the last segment; -EINVAL: rate->ns or
 * rate->ticks is 0.
 */
int tsct_stamp_at_ns(uint64_t ns, const struct tsct_stamp_rate *rate,
		     uint64_t *ret_segment, struct tsct_stamp *ret_stamp);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_STAMP_H */
