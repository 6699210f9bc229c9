// SPDX-License-Identifier: MIT
/*
 * No daemon runs. CLOCK_REALTIME is set, or the kernel's clocksource changes: the module
 * begins an epoch at once, so that no reader converts by the published params. A changed
 * offset of TAI, and a step below the error bound, change nothing.
 * guest-test: timeout=60
 */
#include <sys/timex.h>

#include "clock.h"

#define SOURCES	"/sys/devices/system/clocksource/clocksource0/"

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

/* Waits for the next epoch, up to 2 s. */
static void expect_epoch(uint32_t epoch, uint32_t cause)
{
	struct tsct_clock_state state = { 0 };
	int i;

	for (i = 0; i < 400 && state.epoch < epoch; i++) {
		usleep(5000);
		state = clk_state(page);
	}
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

static void set_clocksource(const char *name)
{
	FILE *file = fopen(SOURCES "current_clocksource", "w");

	t_check(file && fputs(name, file) >= 0 && !fclose(file), "%s: %m", name);
}

static void try_clocksource(uint32_t epoch)
{
	char names[256] = "";
	FILE *file = fopen(SOURCES "available_clocksource", "r");

	t_check(file && fgets(names, sizeof(names), file));
	fclose(file);
	publish(epoch);
	expect_no_epoch(epoch);
	set_clocksource(strstr(names, "hpet") ? "hpet" : "acpi_pm");
	usleep(500000);
	t_check(clk_state(page).epoch > epoch, "no epoch after a change of clocksource");
	t_check(clk_state(page).cause == TSCT_CAUSE_CLOCKSOURCE, "%u",
		clk_state(page).cause);
	t_check(!clk_state(page).real.mult);
	set_clocksource("tsc");
	usleep(500000);
	t_check(clk_state(page).source == TSCT_SOURCE_TSC);
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
