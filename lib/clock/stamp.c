// SPDX-License-Identifier: MIT
/* Unique stamps: conversion to and from ns, in integers */
#include <tsctrace/stamp.h>

#include "lib/clockpage/clock_params.h"

/* Limit of segment numbers: a segment number and the 51 bits of a tick must fit in 63 bits */
#define SEGMENTS_MAX	(1ULL << (63 - TSCT_STAMP_TICK_BITS))

/* Computes the number of ticks since segment 0 began. Returns false if it exceeds 63 bits. */
static bool run_ticks(uint64_t segment, struct tsct_stamp stamp, uint64_t *ret)
{
	*ret = segment << TSCT_STAMP_TICK_BITS | tsct_stamp_tick(stamp);
	return segment < SEGMENTS_MAX;
}

/*
 * Converts @tick ticks to ns: sets *ret to @tick * rate->ns / rate->ticks, rounded
 * down, and *ret_left to the remainder. Returns false if *ret would overflow.
 */
static bool ticks_to_ns(uint64_t tick, const struct tsct_stamp_rate *rate,
			uint64_t *ret, uint64_t *ret_left)
{
	tsct_u128 product = (tsct_u128)tick * rate->ns;
	bool rest;

	if (product >> 64 >= rate->ticks)
		return false;
	*ret = tsct_divide(product, rate->ticks, &rest);
	*ret_left = (uint64_t)product - *ret * rate->ticks;
	return true;
}

uint64_t tsct_stamp_ns(uint64_t segment, struct tsct_stamp stamp,
		       const struct tsct_stamp_rate *rate)
{
	uint64_t tick, ns, left;

	if (!run_ticks(segment, stamp, &tick) || !ticks_to_ns(tick, rate, &ns, &left))
		return UINT64_MAX;
	return ns;
}

/*
 * Returns (tick + event / 2^13) * rate->ns / rate->ticks, ns, where event is the event
 * number of the stamp. With tick * rate->ns = whole * rate->ticks + left, the result is
 * whole + (left + event * rate->ns / 2^13) / rate->ticks.
 */
uint64_t tsct_stamp_ns_legacy(uint64_t segment, struct tsct_stamp stamp,
			      const struct tsct_stamp_rate *rate)
{
	uint64_t tick, whole, left;
	tsct_u128 part;
	bool rest;

	if (!run_ticks(segment, stamp, &tick) ||
	    !ticks_to_ns(tick, rate, &whole, &left))
		return UINT64_MAX;
	part = left + ((tsct_u128)rate->ns * tsct_stamp_event(stamp) >>
		       TSCT_STAMP_EVENT_BITS);
	return tsct_add_saturating(whole, tsct_divide(part, rate->ticks, &rest));
}

int tsct_stamp_at_ns(uint64_t ns, const struct tsct_stamp_rate *rate,
		     uint64_t *ret_segment, struct tsct_stamp *ret_stamp)
{
	uint64_t tick;
	bool rest;

	if (!rate->ns || !rate->ticks)
		return -EINVAL;
	tick = tsct_divide((tsct_u128)ns * rate->ticks, rate->ns, &rest);
	tick = tsct_add_saturating(tick, rest);
	if (tick >> 63)
		return -ERANGE;
	*ret_segment = tick >> TSCT_STAMP_TICK_BITS;
	*ret_stamp = tsct_stamp_make(tick, 0);
	return 0;
}
