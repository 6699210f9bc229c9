// SPDX-License-Identifier: MIT
/* The cluster's time of stamps. */
#include <errno.h>

#include "clock_fast.h"
#include "lib/core/latch.h"

/*
 * Where counters are apart, the line is that of the CPU that the others are
 * compared with. The piece of the line before may be of another table.
 */
static int lookup_on(const struct tsct_clock_full *clock,
		     const struct tsct_clock_state *state, __u64 stamp,
		     __u32 cpu, struct tsct_clock_time *reading)
{
	__u64 mult = state->cluster.mult, error;
	__s64 skew;
	int err;

	if (!mult)
		return tsct_clock_cluster_lookup(state, stamp, reading);
	err = tsct_clock_skew(clock, cpu, &skew, &error);
	if (!err)
		err = tsct_clock_cluster_lookup(state, stamp - (__u64)skew, reading);
	if (!err)
		reading->error_ps = tsct_add_saturating(reading->error_ps,
						tsct_clock_ticks_ps(mult, error));
	return err;
}

static int lookup(const struct tsct_clock *clock, __u64 stamp, __u32 cpu,
		  struct tsct_clock_time *reading)
{
	struct tsct_clock_state state;
	struct tsct_clock_head head;
	int tries, err;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		if (tsct_clock_head(clock->page, &head) ||
		    tsct_latch_read(clock->page, &state))
			return -EAGAIN;
		if (state.source != clock->source)
			return -ESTALE;
		if (state.flags & TSCT_CLOCK_SKEWED)
			err = lookup_on(tsct_clock_full(clock), &state, stamp,
					cpu, reading);
		else
			err = tsct_clock_cluster_lookup(&state, stamp, reading);
		/* Else the table of CPUs may be of another state. */
		if (tsct_clock_same(clock->page, &head))
			return err;
	}
	return -EAGAIN;
}

int tsct_clock_cycles_to_cluster_time_on(const struct tsct_clock *clock, uint64_t stamp,
				  uint32_t cpu, struct tsct_time *ret_time)
{
	struct tsct_clock_time reading;
	struct tsct_time time;
	int err;

	if (likely(tsct_clock_cycles_to_time_fast(clock, stamp, LINE_CLUSTER, &time))) {
		*ret_time = time;
		return 0;
	}
	err = lookup(clock, stamp, cpu, &reading);
	if (err)
		return err;
	tsct_clock_time_to_public(&reading, ret_time);
	return 0;
}

int tsct_clock_cycles_to_cluster_time(const struct tsct_clock *clock, uint64_t stamp,
			       struct tsct_time *ret_time)
{
	return tsct_clock_cycles_to_cluster_time_on(clock, stamp, TSCT_CPU_ANY,
					     ret_time);
}

int tsct_clock_now_cluster(const struct tsct_clock *clock,
			   struct tsct_time *ret_time)
{
	struct tsct_time_point now;

	tsct_clock_time_point(clock, &now);
	return tsct_clock_cycles_to_cluster_time_on(clock, now.cycles, now.cpu,
					     ret_time);
}

/* ---- behind the short cuts --------------------------------------------- */

static int only_ns(int err, const struct tsct_time *time, int64_t *ret_ns)
{
	if (err)
		return err;
	if (!tsct_status_has_time(time->status))
		return -ESTALE;
	*ret_ns = time->ns;
	return 0;
}

int tsct_clock_now_cluster_slow(const struct tsct_clock *clock, int64_t *ret_ns)
{
	struct tsct_time time = { 0 };

	return only_ns(tsct_clock_now_cluster(clock, &time), &time, ret_ns);
}

int tsct_clock_cycles_to_cluster_ns_slow(const struct tsct_clock *clock, uint64_t stamp,
			       int64_t *ret_ns)
{
	struct tsct_time time = { 0 };
	int err = tsct_clock_cycles_to_cluster_time(clock, stamp, &time);

	return only_ns(err, &time, ret_ns);
}
