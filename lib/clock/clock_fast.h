/* SPDX-License-Identifier: MIT */
/* The short cut from stamps to times, with all that a time has. */
#ifndef TSCT_CLOCK_FAST_H
#define TSCT_CLOCK_FAST_H

#include "clock_private.h"
#include "lib/core/clock_params.h"
#include "lib/core/clock_segments.h"

/* Which line of a state */
enum line_of {
	LINE_REAL,
	LINE_CLUSTER,
};

static inline __u64 tsct_clock_error_ns(__u64 error_ps)
{
	/* Up, and one more for what is cut off of ns */
	return error_ps / 1000 + !!(error_ps % 1000) + 1;
}

/* As programs are told it */
static inline void tsct_clock_time_to_public(const struct tsct_clock_time *reading,
				     struct tsct_time *ret_time)
{
	ret_time->ns = reading->ns;
	ret_time->error_ns = tsct_clock_error_ns(reading->error_ps);
	ret_time->status = reading->status;
	ret_time->epoch = reading->epoch;
}

/* What so many ticks are at most; @mult as that of a pair */
static inline __u64 tsct_clock_ticks_ps(__u64 mult, __u64 ticks)
{
	__s64 ns = tsct_cycles_ns(mult, ticks > INT64_MAX ? INT64_MAX :
				 (__s64)ticks);

	return ns >= INT64_MAX / 1000 ? UINT64_MAX : ((__u64)ns + 1) * 1000;
}

/*
 * The short cut of section 4 of tsctrace/abi_clock.h. Where it holds, no CPU needs
 * to be known, nothing is in holdover and, as our own page has it end there, no
 * sample is due. Whatever the page holds, products of two words fit.
 */
static inline bool tsct_clock_cycles_to_time_fast(const struct tsct_clock *clock,
					   __u64 stamp, enum line_of which,
					   struct tsct_time *time)
{
	const struct tsct_clock_page *page = clock->page;
	__u64 seq = smp_load_acquire(&page->seq);
	const struct tsct_clock_state *state = &page->copy[seq & 1].state;
	const struct tsct_clock_params *pair = which == LINE_REAL ? &state->real :
		&state->cluster;
	__u64 d = stamp - READ_ONCE(pair->base_cycles);
	__u64 age = stamp - READ_ONCE(pair->as_of_cycles);
	__u64 error_ps = READ_ONCE(pair->error_ps);
	tsct_u128 grown = (tsct_u128)age * READ_ONCE(pair->growth);

	if (d >= READ_ONCE(pair->fast_cycles))
		return false;
	time->ns = (__s64)((__u64)READ_ONCE(pair->base_ns) +
		(__u64)(((tsct_u128)d * READ_ONCE(pair->slew_mult)) >>
			TSCT_CLOCK_SHIFT));
	grown = error_ps + ((grown + 0xffffffff) >> 32);
	error_ps = grown > UINT64_MAX ? UINT64_MAX : (__u64)grown;
	if ((__s64)age <= 0)
		error_ps = READ_ONCE(pair->past_error_ps);
	time->error_ns = tsct_clock_error_ns(error_ps);
	time->status = which == LINE_REAL ? READ_ONCE(state->status) :
		READ_ONCE(state->cluster_status);
	time->epoch = which == LINE_REAL ? READ_ONCE(state->epoch) :
		READ_ONCE(state->cluster_epoch);
	if (READ_ONCE(state->source) != clock->source)
		return false;
	/* Pairs with the writer's fence: else what was read may be torn. */
	smp_rmb();
	return READ_ONCE(page->seq) == seq;
}

#endif /* TSCT_CLOCK_FAST_H */
