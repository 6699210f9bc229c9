// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "packet_clock.h"
#include "lib/client/gettime.h"

/* What CLOCK_REALTIME may be off the line beyond its bound: time that we were
 * held up for between reading the one and the other. */
#define SET_NS		100000

void packet_clock_init(struct packet_clock *c, const struct timekeeper *keeper,
		   const struct platform *real)
{
	*c = (struct packet_clock) { .keeper = keeper, .real = real };
	c->clock.forever = true;
}

__u64 packet_clock_now(const struct packet_clock *c)
{
	return timekeeper_cycles(c->keeper);
}

bool packet_clock_real(const struct packet_clock *c, __u64 ticks, __s64 *ret_ns,
		   __u64 *ret_error_ns)
{
	struct tsct_time time;

	if (!c->clock.head.page ||
	    tsct_clock_cycles_to_time(&c->clock.head, ticks, &time) ||
	    time.status == TSCT_STATUS_DISRUPTED)
		return false;
	*ret_ns = time.ns;
	*ret_error_ns = time.error_ns;
	return true;
}

/* The file may have been made anew, and stamps may count something else. */
static void look_at_page(struct packet_clock *c)
{
	const struct clock_file *file = &c->real->publisher.file;

	c->clock.head.page = file->page;
	c->clock.head.source = timekeeper_state(c->keeper)->source;
	c->clock.area.page = file->page;
	c->clock.area.nr_cpus = file->nr_cpus;
}

void packet_clock_round(struct packet_clock *c)
{
	__s64 kernel_ns, ns;
	struct timespec ts;
	__u64 error_ns;

	look_at_page(c);
	c->hz = tsct_rate_hz(&c->keeper->est, NULL);
	c->usable = false;
	tsct_gettime(CLOCK_REALTIME, &ts);
	kernel_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	if (packet_clock_real(c, packet_clock_now(c), &ns, &error_ns))
		c->usable = llabs(ns - kernel_ns) <=
			(__s64)(error_ns < NS_PER_S ? error_ns : 0) + SET_NS;
}

__s64 packet_clock_cycles(const struct packet_clock *c, __s64 ns)
{
	return (__s64)((double)ns * (c->hz > 0 ? c->hz / 1e9 : 1));
}

struct tsct_packet_time packet_clock_kernel(const struct packet_clock *c,
				  const struct timespec *ts, __u64 after,
				  __u64 before, __u64 fallback)
{
	struct tsct_packet_time stamp = { .ticks = fallback };
	uint64_t ticks;
	__u64 error_ns;
	__s64 ns, slack;

	if (!c->usable || !ts->tv_sec ||
	    tsct_clock_time_to_cycles(&c->clock.head,
				ts->tv_sec * NS_PER_S + ts->tv_nsec, &ticks) ||
	    !packet_clock_real(c, ticks, &ns, &error_ns) || error_ns >= NS_PER_S)
		return stamp;
	slack = packet_clock_cycles(c, (__s64)error_ns) + 1;
	if ((__s64)(ticks - after) < -slack || (__s64)(ticks - before) > slack ||
	    slack > UINT32_MAX)
		return stamp;
	stamp.ticks = ticks;
	stamp.error = (__u32)slack;
	stamp.kernel = true;
	return stamp;
}
