/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What all nodes have in common: which global tick a tick of the master's is. One
 * fraction of integers.
 */
#ifndef TSCT_CORE_FRAME_H
#define TSCT_CORE_FRAME_H

#include "port.h"

/* global = this->global + (remote - this->remote) * num / den */
struct tsct_axis {
	__u64 remote;
	__u64 global;
	__u64 num, den;
	__u64 hz;		/* global ticks per second */
};

#define TSCT_AXIS_HZ_MIN	1000000000ULL

/* tsct_reduce - a ratio in lowest terms; not 0 : 0 */
void tsct_reduce(__u64 *a, __u64 *b);

/*
 * tsct_axis_from_run - the run takes exactly as long as the master's wall clock says
 * @begin @end: of the master's counter
 * @begin_ns @end_ns: of its wall clock, at these
 * @origin_ns: when global ticks begin to count; 0: with the Unix epoch
 * @hz: global ticks per second
 *
 * The begin is at the tick in which it falls, the end as much later as the wall
 * clock says. Returns 0; -EINVAL: a clock does not run, hz is below
 * TSCT_AXIS_HZ_MIN, or begin_ns before the origin; -ERANGE: too many ticks (at
 * 1 GHz since the Unix epoch there is room up to the year 2554, at 10 GHz up to
 * 2028), or numbers so odd that their ratio takes more than 64 bits.
 */
int tsct_axis_from_run(struct tsct_axis *ret_frame, __u64 begin, __u64 end,
		   __u64 begin_ns, __u64 end_ns, __u64 origin_ns, __u64 hz);

/*
 * tsct_axis_from_params - as a calibration has it: @mult * 2^-56 ns per tick, @base_ns
 * at @base. A 1 GHz one, since the Unix epoch. Returns 0 or -EINVAL.
 */
int tsct_axis_from_params(struct tsct_axis *ret_frame, __u64 base, __s64 base_ns,
		    __u64 mult);

#endif /* TSCT_CORE_FRAME_H */
