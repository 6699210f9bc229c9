// SPDX-License-Identifier: MIT
/*
 * No daemon runs. CLOCK_REALTIME is set, or the kernel's clocksource changes: the module
 * begins an epoch at once, so that no reader converts by the published params. A changed
 * offset of TAI, and a step below the error bound, change nothing. After a change of the
 * clocksource, the module's next check of the CPUs chooses the source of channels created
 * later; existing channels keep their source.
 * guest-test: timeout=60 rt=yes
 */
#include <sys/timex.h>

#include "clock.h"

#define SOURCES	"/sys/devices/system/clocksource/clocksource0/current_clocksource"

static int fd;
static const struct tsct_clock_page *page;

/* Publishes params that agree with CLOCK_REALTIME within 100 us. */
static uint32_t publish(uint32_t epoch)
{
	struct tsct_clock_set set = clk_params(TSCT_SOURCE_TSC, epoch);
	struct tsct_clock_params *real = &set.state.real;
	struct tsct_check check = { .nr = 0 };
	struct tsct_clock_snapshot s;

	t_check(!ioctl(fd, TSCT_IOC_CHECK, &check), "%m");
	t_check(!ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &s), "%m");
	real->base_cycles = real->as_of_cycles = s.cycles;
	real->base_ns = s.real_ns;
	real->mult = real->slew_mult =
		(uint64_t)(((unsigned __int128)1000000 << 56) / check.tsc_khz);
	real->error_ps = real->past_error_ps = 100000000;
	/* 500 ppm: the emulated clocks' rates are not known better. */
	real->growth = real->holdover_growth = (uint64_t)(0.5 * 4294967296.0);
	set.state.rate_mult = real->mult;
	t_check(!clk_set(fd, &set), "%m");
	return epoch;
}

static void step_by(long us)
{
	struct timex timex = {
		.modes = ADJ_SETOFFSET, .time.tv_sec = us < 0 ? -1 : 0,
		.time.tv_usec = us < 0 ? us + 1000000 : us,
	};

	t_check(adjtimex(&timex) >= 0, "%m");
}

static void set_tai(int offset)
{
	struct timex timex = { .modes = ADJ_TAI, .constant = offset };

	t_check(adjtimex(&timex) >= 0, "%m");
}

static void expect_epoch(uint32_t epoch, uint32_t cause)
{
	struct tsct_clock_state state;

	t_until(clk_state(page).epoch >= epoch);
	state = clk_state(page);
	t_check(state.epoch == epoch && state.cause == cause, "epoch %u, cause %u",
		state.epoch, state.cause);
	t_check(state.status == TSCT_STATUS_DISRUPTED && !state.real.mult);
	t_check((int)clk_lookup(page, clk_cycles(TSCT_SOURCE_TSC)).status == -ESTALE);
	t_check(clk_valid(page));
}

static void expect_no_epoch(uint32_t epoch)
{
	usleep(300000);
	t_check(clk_state(page).epoch == epoch, "epoch %u, cause %u",
		clk_state(page).epoch, clk_state(page).cause);
	t_check(clk_state(page).real.mult);
}

/* ---- clocksources ---------------------------------------------------------- */

static uint32_t run_check(void)
{
	struct tsct_check check = { 0 };

	t_check(!ioctl(fd, TSCT_IOC_CHECK_RUN, &check), "%m");
	t_check(check.source == dev_info(fd).source);
	return check.source;
}

/* Checks that the channel's header states @source, and that a new record's cycles are a
 * reading of @source. */
static void try_stamp(int channel, uint32_t source)
{
	struct dev_maps m = dev_map(channel);
	const struct tsct_record *rec = (const void *)(dev_data(&m, 1) + 32);
	uint64_t payload = 0, before, after;

	t_check(m.header->source == source, "%u", m.header->source);
	dev_pin(1);
	before = clk_cycles(source);
	t_check(!dev_write(channel, 16, &payload, 8), "%m");
	after = clk_cycles(source);
	t_check(rec->cycles >= before && rec->cycles <= after, "%lu %llu %lu",
		before, rec->cycles, after);
	dev_unmap(&m);
}

/* The module notices the change, begins an epoch, checks the CPUs, and begins another epoch
 * for the new source. */
static void try_clocksource(uint32_t epoch)
{
	struct tsct_clock_set set = { .state = { .epoch = epoch, .source = TSCT_SOURCE_TSC } };
	const struct tsct_clock_state *state = &page->copy[0].state;
	struct tsct_clock_snapshot snapshot;
	int old = dev_new("old"), new;

	publish(epoch);
	expect_no_epoch(epoch);
	t_check(dev_put(SOURCES, "hpet") || dev_put(SOURCES, "acpi_pm"), "%m");
	t_until(dev_info(fd).source == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(run_check() == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(state->epoch == epoch + 2, "%u", state->epoch);
	t_check(state->source == TSCT_SOURCE_MONOTONIC_RAW);
	t_check(state->cause == TSCT_CAUSE_CLOCKSOURCE, "%u", state->cause);
	t_check(!state->real.mult);
	t_errno(clk_set(fd, &set), ESTALE);
	t_errno(ioctl(fd, TSCT_IOC_CLOCK_SNAPSHOT, &snapshot), EOPNOTSUPP);
	new = dev_new("new");
	try_stamp(old, TSCT_SOURCE_TSC);
	try_stamp(new, TSCT_SOURCE_MONOTONIC_RAW);

	dev_set(SOURCES, "tsc");
	t_until(dev_info(fd).source == TSCT_SOURCE_TSC);
	t_check(run_check() == TSCT_SOURCE_TSC);
	t_check(state->epoch == epoch + 4, "%u", state->epoch);
	t_check(state->source == TSCT_SOURCE_TSC);
	set.state.epoch = epoch + 3;
	t_errno(clk_set(fd, &set), ESTALE);
	set.state.epoch = epoch + 4;
	t_check(!clk_set(fd, &set), "%m");
}

int main(void)
{
	uint32_t epoch = 0;

	fd = dev_open();
	page = clk_map(fd);
	epoch = clk_state(page).epoch;
	publish(epoch);
	expect_no_epoch(epoch);
	set_tai(37);
	expect_no_epoch(epoch);
	step_by(20);
	expect_no_epoch(epoch);
	step_by(2000);
	expect_epoch(++epoch, TSCT_CAUSE_STEP);
	step_by(900000);	/* nothing is published: no further epoch */
	usleep(300000);
	t_check(clk_state(page).epoch == epoch);
	publish(epoch);
	expect_no_epoch(epoch);
	step_by(-900000);
	expect_epoch(++epoch, TSCT_CAUSE_STEP);
	try_clocksource(epoch);
	set_tai(0);
	return t_status();
}
