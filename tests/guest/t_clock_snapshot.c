// SPDX-License-Identifier: MIT
/*
 * TSCT_IOC_CLOCK_SNAPSHOT: order against other readings of the clocks, and rate.
 * guest-test: timeout=60 boot=default,unstable rt=yes
 */
#include "clock.h"

static int fd;

/* The snapshot's time lies between two readings of each clock. */
static void try_one(void)
{
	struct tsct_clock_snapshot s;
	int64_t real = t_ns(CLOCK_REALTIME), real_after;
	int64_t raw = t_ns(CLOCK_MONOTONIC_RAW), raw_after;
	uint64_t cycles = clk_cycles(TSCT_SOURCE_TSC), tsc_after;

	memset(&s, 0xff, sizeof(s));
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
	tsc_after = clk_cycles(TSCT_SOURCE_TSC);
	raw_after = t_ns(CLOCK_MONOTONIC_RAW);
	real_after = t_ns(CLOCK_REALTIME);
	t_check(s.cycles >= cycles && s.cycles <= tsc_after, "%lu %llu %lu", cycles, s.cycles,
		tsc_after);
	t_check(s.raw_ns >= raw && s.raw_ns <= raw_after, "%ld %lld %ld", raw,
		s.raw_ns, raw_after);
	t_check(s.real_ns >= real && s.real_ns <= real_after, "%ld %lld %ld",
		real, s.real_ns, real_after);
	t_check(!s.restore_seq && !s.since_restore_ns);
	t_check(!s.reserved && !s.reserved0);
}

/*
 * MONOTONIC_RAW and the counter have a constant ratio to the nanosecond: three
 * snapshots at any times lie on a straight line.
 */
static void try_line(void)
{
	struct tsct_clock_snapshot s[3];
	double rate, off;

	for (int i = 0; i < 3; i++) {
		t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s[i]), "%m");
		usleep(100000);
	}
	rate = (double)(s[2].raw_ns - s[0].raw_ns) /
		(double)(s[2].cycles - s[0].cycles);
	off = (double)(s[1].cycles - s[0].cycles) * rate -
		(double)(s[1].raw_ns - s[0].raw_ns);
	printf("%.9f ns per cycle, the middle snapshot is %.3f ns off\n", rate, off);
	t_check(off > -3 && off < 3, "%f", off);
}

static void try_step(void)
{
	struct tsct_clock_snapshot before, after;

	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &before), "%m");
	clk_step(3600000000);
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &after), "%m");
	t_check(after.disruptions == before.disruptions + TSCT_DISRUPTIONS_STEP, "%#llx",
		after.disruptions);
	t_check(!after.reserved);
	t_check(after.real_ns - before.real_ns > 3600 * SECOND);
	t_check(after.raw_ns - before.raw_ns < 60 * SECOND);
	clk_step(-3600000000);
}

static void as_user(void *unused)
{
	struct tsct_clock_snapshot s;

	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
}

int main(void)
{
	struct tsct_clock_snapshot s;

	fd = dev_open();
	if (clk_wait_for_source(fd) != TSCT_SOURCE_TSC) {
		t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), EOPNOTSUPP);
		return t_status();
	}
	for (int i = 0; i < 2000; i++)
		try_one();
	try_line();
	try_step();
	dev_as_user(1000, as_user, NULL);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, (void *)8), EFAULT);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, NULL), EFAULT);
	return t_status();
}
