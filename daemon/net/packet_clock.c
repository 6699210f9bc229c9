// SPDX-License-Identifier: MIT
/* Counter values of packets, from the kernel's CLOCK_REALTIME timestamps */
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "packet_clock.h"
#include "lib/client/gettime.h"

/* Tolerance of the comparison of CLOCK_REALTIME with the clock page, beyond the bound,
 * ns, because the thread may be interrupted between the two readings. */
#define TOLERANCE_NS	100000

bool packet_clock_real(const struct packet_clock *c, __u64 cycles, __s64 *ret_ns,
		       __u64 *ret_error_ns)
{
	struct tsct_time time;

	if (!c->clock.head.page ||
	    tsct_clock_cycles_to_time(&c->clock.head, cycles, &time) ||
	    time.status == TSCT_STATUS_DISRUPTED)
		return false;
	*ret_ns = time.ns;
	*ret_error_ns = time.error_ns;
	return true;
}

/* Returns the largest difference between the counter of any CPU and that by which the
 * clock params were made, cycles. */
static __u32 largest_skew(const struct packet_clock *c)
{
	const struct tsct_rate_estimator *est = &c->timekeeper->est;
	__u64 cycles = est->state.flags & TSCT_CLOCK_SKEWED && c->clock.area.page ?
		tsct_clock_skew_max(&c->clock) : est->skew_cycles;

	return cycles < UINT32_MAX ? (__u32)cycles : UINT32_MAX;
}

void packet_clock_refresh(struct packet_clock *c)
{
	const struct clock_file *file = &c->platform->file;
	__s64 kernel_ns, ns;
	struct timespec ts;
	__u64 error_ns;

	/* The clock file and the source may have changed since the last call. */
	c->clock.head.page = file->page;
	c->clock.head.source = c->timekeeper->est.state.source;
	c->clock.area.page = file->page;
	c->clock.area.nr_cpus = file->nr_cpus;
	c->hz = tsct_rate_hz(&c->timekeeper->est, NULL);
	c->skew_cycles = largest_skew(c);
	c->usable = false;
	tsct_gettime(CLOCK_REALTIME, &ts);
	kernel_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	if (packet_clock_real(c, timekeeper_cycles(c->timekeeper), &ns, &error_ns))
		c->usable = llabs(ns - kernel_ns) <=
			(__s64)(error_ns < NS_PER_S ? error_ns : 0) +
			TOLERANCE_NS;
}

__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns)
{
	return (__s64)((double)ns * (c->hz > 0 ? c->hz / 1e9 : 1));
}

__s64 packet_clock_estimate_ns(const struct packet_clock *c, __u64 cycles)
{
	double hz = (double)packet_clock_cycles(c, NS_PER_S);
	struct timespec ts;
	__u64 error_ns, now;
	__s64 ns;

	if (packet_clock_real(c, cycles, &ns, &error_ns))
		return ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	now = timekeeper_cycles(c->timekeeper);
	ns = (__s64)((double)(__s64)(now - cycles) * (double)NS_PER_S / hz);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec - ns;
}

struct tsct_packet_time packet_clock_kernel(const struct packet_clock *c,
					    const struct timespec *ts,
					    __u64 after, __u64 before,
					    __u64 fallback)
{
	struct tsct_packet_time ret = {
		.cycles = fallback, .error = c->skew_cycles,
	};
	uint64_t cycles;
	__u64 error_ns;
	__s64 ns, error;

	/* Converting time to cycles yields no bound, so the bound is that of converting
	 * the resulting cycles back to a time. */
	if (!c->usable || !ts->tv_sec ||
	    tsct_clock_time_to_cycles(&c->clock.head,
				ts->tv_sec * NS_PER_S + ts->tv_nsec, &cycles) ||
	    !packet_clock_real(c, cycles, &ns, &error_ns) || error_ns >= NS_PER_S)
		return ret;
	error = packet_clock_cycles(c, (__s64)error_ns) + 1;
	if ((__s64)(cycles - after) < -error ||
	    (__s64)(cycles - before) > error ||
	    error > UINT32_MAX)
		return ret;
	ret.cycles = cycles;
	ret.error = (__u32)error;
	ret.kernel = true;
	return ret;
}
