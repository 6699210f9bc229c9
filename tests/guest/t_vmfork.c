// SPDX-License-Identifier: MIT
/*
 * A restore of the virtual machine, which VM Generation ID reports, while no daemon
 * runs: the module counts it, so that no reader converts by params from before it. The kernel's
 * bound to UTC is unknown to programs until an NTP daemon has renewed it.
 * guest-test: timeout=60 rt=yes
 */
#include <tsctrace/tsctrace.h>

#include "clock.h"
#include "vmfork.h"

static struct tsct_clock_snapshot snapshot(int fd)
{
	struct tsct_clock_snapshot s;

	memset(&s, 0xff, sizeof(s));
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
	return s;
}

/* @begin: before the restore, s */
static void try_count(int fd, uint64_t seq, double begin)
{
	struct tsct_clock_snapshot s, later;

	s = snapshot(fd);
	t_check(s.restore_seq == seq, "%llu", s.restore_seq);
	t_check((double)s.since_restore_ns < (t_now() - begin) * SECOND, "%llu",
		s.since_restore_ns);
	sleep(1);
	later = snapshot(fd);
	t_check(later.restore_seq == seq, "%llu", later.restore_seq);
	/* The coarse clock is behind by up to a timer interrupt. */
	t_check(later.since_restore_ns > s.since_restore_ns + SECOND / 2);
}

static int read_utc(struct tsct_utc *utc)
{
	struct tsct_clock *clock;
	int err;

	t_check(!tsct_clock_open(&clock));
	err = tsct_clock_utc(clock, utc);
	tsct_clock_close(clock);
	return err;
}

/*
 * After a restore, with no update by an NTP daemon since; then such an update. Each step
 * of 500 us needs a second: the update to 500 us proves itself after 4 s.
 */
static void try_utc(void)
{
	struct tsct_utc utc;
	double begin;

	t_check(read_utc(&utc) == -ESTALE && utc.error_ns == UINT64_MAX);
	sleep(6);
	t_check(read_utc(&utc) == -ESTALE, "known without an update");
	begin = t_now();
	vmfork_update_kernel(500);
	t_check(!read_utc(&utc), "unknown after an update");
	/* The kernel adds 500 us a second. */
	t_check(utc.error_ns >= 500000 &&
		(double)utc.error_ns <= 1500000 + (t_now() - begin) * 500000, "%llu",
		(unsigned long long)utc.error_ns);
}

int main(void)
{
	const struct tsct_disruption_page *page = clk_map();
	int fd = dev_open();
	struct tsct_clock_snapshot s = snapshot(fd);
	uint64_t count = clk_count(page);
	struct tsct_utc utc;
	double begin;

	t_check(!s.restore_seq && !s.since_restore_ns);
	vmfork_update_kernel(500);
	t_check(!read_utc(&utc) && utc.source == TSCT_UTC_KERNEL);
	for (uint64_t seq = 1; seq <= 2; seq++) {
		begin = t_now();
		vmfork_report();
		count = clk_expect(page, count, TSCT_DISRUPTIONS_COUNTER, TSCT_CAUSE_MIGRATION);
		try_count(fd, seq, begin);
	}
	try_utc();
	return t_status();
}
