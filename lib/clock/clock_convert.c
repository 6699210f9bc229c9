// SPDX-License-Identifier: MIT
/* What stamps mean, now and in the past. */
#include <errno.h>

#include "clock_fast.h"
#include "clock_private.h"
#include "lib/core/latch.h"
#include "lib/core/clock_params.h"
#include "lib/client/gettime.h"
#include "clock_sample.h"

#define SKEW_UNKNOWN	(~0ULL)

/* ---- the page, word by word -------------------------------------------- */

int tsct_clock_head(const struct tsct_clock_page *page,
		    struct tsct_clock_head *ret_head)
{
	const struct tsct_clock_state *state;
	int tries;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		/* Pairs with the writer's release: the copy is whole. */
		ret_head->seq = smp_load_acquire(&page->seq);
		state = &page->copy[ret_head->seq & 1].state;
		ret_head->status = READ_ONCE(state->status);
		ret_head->epoch = READ_ONCE(state->epoch);
		ret_head->source = READ_ONCE(state->source);
		ret_head->cause = READ_ONCE(state->cause);
		ret_head->flags = READ_ONCE(state->flags);
		ret_head->as_of_cycles = READ_ONCE(state->real.as_of_cycles);
		ret_head->mult = READ_ONCE(state->real.mult);
		ret_head->rate_mult = READ_ONCE(state->rate_mult);
		ret_head->rate_error_ppt = READ_ONCE(state->rate_error_ppt);
		if (tsct_clock_same(page, ret_head))
			return 0;
	}
	return -EAGAIN;
}

int tsct_clock_skew(const struct tsct_clock_full *clock, __u32 cpu,
		    __s64 *ret_skew, __u64 *ret_error)
{
	const struct tsct_clock_cpu *cpus;

	/* As many as were mapped, whatever the page says by now */
	if (cpu >= clock->area.nr_cpus)
		return -EXDEV;
	cpus = (const void *)((const char *)clock->area.page +
			      TSCT_CLOCK_CPUS_OFFSET);
	*ret_skew = READ_ONCE(cpus[cpu].skew_cycles);
	*ret_error = READ_ONCE(cpus[cpu].error_cycles);
	return *ret_error == SKEW_UNKNOWN ? -EXDEV : 0;
}

__u64 tsct_clock_skew_max(const struct tsct_clock_full *clock)
{
	__u64 max = 0, error;
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < clock->area.nr_cpus; cpu++) {
		tsct_u128 off;

		if (tsct_clock_skew(clock, cpu, &skew, &error))
			continue;
		off = skew < 0 ? -(tsct_s128)skew : (tsct_s128)skew;
		off += error;
		if (off > max)
			max = off > UINT64_MAX ? UINT64_MAX : (__u64)off;
	}
	return max;
}

/* ---- convert ----------------------------------------------------------- */

/*
 * Counters that are apart: the table belongs to the epoch in force. What is of
 * an earlier one may be off by as much as any CPU is.
 */
static int lookup_on(const struct tsct_clock_full *clock,
		     const struct tsct_clock_head *head, __u64 stamp, __u32 cpu,
		     struct tsct_clock_time *reading)
{
	const struct tsct_clock_page *page = clock->head.page;
	__u64 error = 0;
	__s64 skew = 0;
	int err = tsct_latch_lookup(page, stamp, reading);

	if (err)
		return err;
	if (reading->epoch != head->epoch) {
		error = tsct_clock_skew_max(clock);
		goto widen;
	}
	err = tsct_clock_skew(clock, cpu, &skew, &error);
	if (!err)
		err = tsct_latch_lookup(page, stamp - (__u64)skew, reading);
	if (err)
		return err;
widen:
	reading->error_ps = tsct_add_saturating(reading->error_ps,
					tsct_clock_ticks_ps(head->mult, error));
	return 0;
}

static int lookup(const struct tsct_clock_full *clock, __u64 stamp, __u32 cpu,
		  struct tsct_clock_time *reading)
{
	const struct tsct_clock_page *page = clock->head.page;
	struct tsct_clock_head head;
	int tries, err;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		if (tsct_clock_head(page, &head) ||
		    head.status == TSCT_STATUS_UNKNOWN)
			return -EAGAIN;
		if (head.source != clock->head.source)
			return -ESTALE;
		if (head.flags & TSCT_CLOCK_SKEWED)
			err = lookup_on(clock, &head, stamp, cpu, reading);
		else
			err = tsct_latch_lookup(page, stamp, reading);
		/* Else head and reading may be of different states. */
		if (tsct_clock_same(page, &head))
			return err;
	}
	return -EAGAIN;
}

int tsct_clock_cycles_to_time_on(const struct tsct_clock *head, uint64_t stamp,
			  uint32_t cpu, struct tsct_time *ret_time)
{
	const struct tsct_clock_full *clock = tsct_clock_full(head);
	struct tsct_clock_time reading;
	struct tsct_time time;
	int err;

	if (likely(tsct_clock_cycles_to_time_fast(head, stamp, LINE_REAL, &time))) {
		*ret_time = time;
		return 0;
	}
	if (clock->own)
		tsct_clock_inprocess_refine(clock->own, stamp);
	err = lookup(clock, stamp, cpu, &reading);
	if (err)
		return err;
	tsct_clock_time_to_public(&reading, ret_time);
	return 0;
}

int tsct_clock_cycles_to_time(const struct tsct_clock *clock, uint64_t stamp,
		       struct tsct_time *ret_time)
{
	return tsct_clock_cycles_to_time_on(clock, stamp, TSCT_CPU_ANY, ret_time);
}

static int stamp_and_convert(const struct tsct_clock *clock,
			     struct tsct_time *time)
{
	struct tsct_time_point now;

	tsct_clock_time_point(clock, &now);
	return tsct_clock_cycles_to_time_on(clock, now.cycles, now.cpu, time);
}

/*
 * Where our own clock finds out by this very call that it was disrupted, the
 * new epoch begins behind the stamp, and one that is taken now is in it.
 */
int tsct_clock_now(const struct tsct_clock *clock, struct tsct_time *ret_time)
{
	struct tsct_time time = { .status = TSCT_STATUS_UNKNOWN };
	int err = stamp_and_convert(clock, &time);

	if (tsct_clock_full(clock)->own &&
	    (err || time.status == TSCT_STATUS_DISRUPTED))
		err = stamp_and_convert(clock, &time);
	if (!err)
		*ret_time = time;
	return err;
}

/* ---- behind the short cuts --------------------------------------------- */

int64_t tsct_clock_now_slow(const struct tsct_clock *clock)
{
	struct tsct_time now;
	struct timespec ts;

	if (!tsct_clock_now(clock, &now) &&
	    now.status != TSCT_STATUS_DISRUPTED)
		return now.ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t stamp,
		       int64_t *ret_ns)
{
	struct tsct_time time;
	int err = tsct_clock_cycles_to_time(clock, stamp, &time);

	if (err)
		return err;
	if (time.status == TSCT_STATUS_DISRUPTED)
		return -ESTALE;
	*ret_ns = time.ns;
	return 0;
}

/* ---- what is published ------------------------------------------------- */

static __u32 status_at(const struct tsct_clock_state *state, __u64 stamp)
{
	if ((__s64)(stamp - state->real.void_after_cycles) > 0)
		return TSCT_STATUS_UNKNOWN;
	/* A state that nobody refreshed cannot know how old it is. */
	if (tsct_status_has_time(state->status) &&
	    (__s64)(stamp - state->real.holdover_after_cycles) > 0)
		return TSCT_STATUS_HOLDOVER;
	return state->status;
}

int tsct_clock_snapshot(const struct tsct_clock *head,
			struct tsct_clock_state *ret_state)
{
	const struct tsct_clock_full *clock = tsct_clock_full(head);
	__u64 now = tsct_clock_cycles(head);
	struct tsct_clock_state state;

	if (clock->own)
		tsct_clock_inprocess_refine(clock->own, now);
	if (tsct_latch_read(head->page, &state) ||
	    state.status == TSCT_STATUS_UNKNOWN)
		return -EAGAIN;
	if (state.source == head->source && state.real.mult)
		state.status = status_at(&state, now);
	*ret_state = state;
	return 0;
}
