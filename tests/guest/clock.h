/* SPDX-License-Identifier: MIT */
/* Helpers of the tests t_*.c that set or read the module's clock area. */
#ifndef TSCT_TEST_CLOCK_H
#define TSCT_TEST_CLOCK_H

#include <time.h>

#include "lib/core/latch.h"
#include "lib/core/clock_params.h"
#include "device.h"

/* one second, in ns and in cycles: clk_params() makes one cycle one ns */
#define SECOND	1000000000LL
#define ONE	(1ULL << TSCT_CLOCK_SHIFT)

T_FN uint64_t clk_cycles(uint32_t source)
{
	uint32_t low, high;
	struct timespec t;

	if (source == TSCT_SOURCE_TSC) {
		asm volatile("lfence\n\trdtsc"
			     : "=a"(low), "=d"(high) : : "memory");
		return (uint64_t)high << 32 | low;
	}
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

/* Maps the whole clock area. */
T_FN const struct tsct_clock_page *clk_map(int fd)
{
	const size_t size = TSCT_CLOCK_SIZE(dev_info(fd).nr_cpus);
	void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd,
			  (off_t)TSCT_CLOCK_OFFSET);

	if (page == MAP_FAILED)
		t_die("mmap of the clock");
	return page;
}

T_FN struct tsct_clock_state clk_state(const struct tsct_clock_page *page)
{
	struct tsct_clock_state state = { 0 };

	t_check(!tsct_latch_read(page, &state));
	return state;
}

/*
 * A valid state with params that begin now. One cycle is one nanosecond, which
 * is a permitted rate of every source.
 */
T_FN struct tsct_clock_set clk_params(uint32_t source, uint32_t epoch)
{
	uint64_t now = clk_cycles(source);

	return (struct tsct_clock_set) { .state = {
		.real = {
			.base_cycles = now,
			.base_ns = 1700000000 * SECOND,
			.slew_mult = ONE,
			.mult = ONE,
			.as_of_cycles = now,
			.holdover_after_cycles = now + 5000 * SECOND,
			.void_after_cycles = now + 5000 * SECOND,
			.error_ps = 1000,
			.past_error_ps = 1000,
			.growth = 1000,
			.holdover_growth = 1000,
		},
		.status = TSCT_STATUS_SYNCHRONIZED,
		.epoch = epoch,
		.source = source,
		.rate_mult = ONE,
		.rate_error_ppt = 10000,
	} };
}

/* Replaces the clock params in @set by params of rate @mult that begin @lead cycles
 * from now. At that begin, the old and the new params give the same time. */
T_FN void clk_continue(struct tsct_clock_set *set, uint64_t lead, uint64_t mult)
{
	struct tsct_clock_params *real = &set->state.real;
	uint64_t now = clk_cycles(set->state.source), base = now + lead;

	if ((int64_t)lead > 0 && base <= real->base_cycles)
		base = real->base_cycles + 1;
	real->base_ns = tsct_clock_params_ns(real, base);
	real->base_cycles = base;
	real->as_of_cycles = now;
	real->mult = real->slew_mult = mult;
	real->slew_cycles = 0;
	real->holdover_after_cycles = real->void_after_cycles = now + 5000 * SECOND;
}

T_FN int clk_set(int fd, const struct tsct_clock_set *set)
{
	return ioctl(fd, TSCT_IOC_CLOCK_SET, set);
}

/* Converts cycles to a time; on failure the time's status is -errno. */
T_FN struct tsct_clock_time clk_lookup(const struct tsct_clock_page *page,
					 uint64_t cycles)
{
	struct tsct_clock_time time = { 0 };
	int err = tsct_latch_lookup(page, cycles, &time);

	if (err)
		time.status = (uint32_t)err;
	return time;
}

T_FN bool clk_valid(const struct tsct_clock_page *page)
{
	static struct tsct_clock_copy copy;

	return !tsct_latch_read_copy(page, &copy) && !tsct_segments_valid(&copy);
}

#endif
