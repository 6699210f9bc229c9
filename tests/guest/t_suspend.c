// SPDX-License-Identifier: MIT
/*
 * Suspend disrupts the clock: after resume, the clock area is in a new epoch, without
 * clock params until new ones are set; cycles before the suspend are converted as
 * before. Rings accept events as before. $TSCT_SUSPENDS times (2; all: 3) the machine suspends while
 * programs write and read, and no event is lost. Needs a kernel that can test suspend
 * (CONFIG_PM_DEBUG).
 * guest-test: timeout=60 rt=yes
 */
#include "busy.h"
#include "clock.h"

static void write_file(const char *path, const char *text)
{
	if (!dev_put(path, text))
		t_skip("this kernel cannot test suspend: %s: %m", path);
}

/* Checks the clock after the suspend; @before: a copy of the earlier clock area. */
static void try_after(const struct tsct_clock_page *page,
		      const struct tsct_clock_set *before)
{
	const struct tsct_clock_params *params = &before->state.real;
	struct tsct_clock_state state = clk_state(page);
	struct tsct_clock_time r;

	/* one epoch begins at suspend, one at resume */
	t_check(state.epoch == before->state.epoch + 2, "%u", state.epoch);
	t_check(state.status == TSCT_STATUS_DISRUPTED, "%u", state.status);
	t_check(state.cause == TSCT_CAUSE_SUSPEND, "%u", state.cause);
	t_check(state.real.mult == 0);
	t_check(state.rate_mult == before->state.rate_mult);
	t_check(state.epoch_cycles > params->as_of_cycles &&
		state.epoch_cycles < clk_cycles(TSCT_SOURCE_TSC));

	r = clk_lookup(page, params->base_cycles + 5);
	t_check(r.epoch == before->state.epoch, "%u", r.epoch);
	t_check(r.status == TSCT_STATUS_SYNCHRONIZED, "%d", (int)r.status);
	t_check(r.ns == params->base_ns + 5, "%lld", r.ns);
	r = clk_lookup(page, params->as_of_cycles + 1);
	t_check(r.status == TSCT_STATUS_DISRUPTED, "%d", (int)r.status);
	r = clk_lookup(page, clk_cycles(TSCT_SOURCE_TSC));
	t_check((int)r.status == -ESTALE, "%d", (int)r.status);
	t_check(clk_valid(page));
}

/* Two epochs begin at each suspend. */
static void try_under_load(const struct tsct_clock_page *page)
{
	const int turns = (int)t_repeats("TSCT_SUSPENDS", 2, 3);
	const uint32_t epoch = clk_state(page).epoch;
	struct busy busy = { 0 };

	busy_begin(&busy);
	write_file("/sys/power/pm_test", "platform");	/* the last level that freeze has */
	for (int i = 0; i < turns; i++) {
		t_check(dev_put("/sys/power/state", "freeze"), "%m");
		usleep(20000);
		busy_drain(&busy);
	}
	busy_end(&busy);
	t_check(clk_state(page).epoch == epoch + 2 * (uint32_t)turns, "%u",
		clk_state(page).epoch - epoch);
	printf("%d suspends\n", turns);
}

int main(void)
{
	struct ring_reader r = { .cpu = 1 };
	struct tsct_clock_set set;
	const struct tsct_clock_page *page;
	unsigned char payload[40];
	int fd = dev_new("suspend");
	struct dev_maps m = dev_map(fd);

	r.maps = &m;
	page = clk_map(fd);
	set = clk_params(TSCT_SOURCE_TSC, 9);
	t_check(!clk_set(fd, &set), "%m");
	set.state.real.as_of_cycles = clk_cycles(TSCT_SOURCE_TSC);
	t_check(!clk_set(fd, &set), "%m");
	dev_pin(1);
	pattern_fill(payload, sizeof(payload), 1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	dev_pin(0);

	write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	write_file("/sys/power/pm_test", "processors");
	write_file("/sys/power/state", "mem");

	try_after(page, &set);
	dev_pin(1);
	t_check(!dev_write(fd, 16, payload, sizeof(payload)), "%m");
	ring_drain(&r);
	t_check(r.records == 2 && r.wrong == 0);
	t_errno(clk_set(fd, &set), ESTALE);
	set = clk_params(TSCT_SOURCE_TSC, 11);
	t_check(!clk_set(fd, &set), "%m");
	t_check(clk_lookup(page, clk_cycles(TSCT_SOURCE_TSC)).epoch == 11);
	try_under_load(page);
	return t_status();
}
