// SPDX-License-Identifier: MIT
/*
 * Suspend disrupts the clock: after resume, the clock area is in a new epoch, without
 * clock params until new ones are set; cycles before the suspend are converted as
 * before. Rings accept events as before. $TSCT_SUSPENDS times (3) the machine suspends while
 * programs write and read, and no event is lost. Needs a kernel that can test suspend
 * (CONFIG_PM_DEBUG).
 * guest-test: timeout=60
 */
#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "ring.h"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		t_skip("this kernel cannot test suspend: %s: %m", path);
	close(fd);
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

static int writer;
static atomic_int stop;
static atomic_ulong accepted, refused;

static void *write_events(void *unused)
{
	unsigned char payload[40];
	uint64_t nr;

	(void)unused;
	for (nr = 0; !stop; nr++) {
		pattern_fill(payload, sizeof(payload), nr);
		if (!dev_write(writer, 16, payload, sizeof(payload)))
			accepted++;
		else
			refused++;
	}
	return NULL;
}

/* Two epochs begin at each suspend. All events that were accepted are read. */
static void try_under_load(const struct tsct_clock_page *page)
{
	const int turns = atoi(getenv("TSCT_SUSPENDS") ?: "3");
	struct tsct_channel_create arg = dev_request("busy");
	struct ring_reader r[2] = { { .cpu = 0 }, { .cpu = 1 } };
	const uint32_t epoch = clk_state(page).epoch;
	pthread_t threads[2];
	struct dev_maps m;
	int i;

	arg.blocks = 1024;
	writer = dev_create(&arg);
	m = dev_map(writer);
	r[0].maps = r[1].maps = &m;
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, write_events, NULL);
	write_file("/sys/power/pm_test", "platform");	/* the last level that freeze has */
	write_file("/sys/module/suspend/parameters/pm_test_delay", "0");
	for (i = 0; i < turns; i++) {
		t_check(dev_put("/sys/power/state", "freeze"), "%m");
		usleep(20000);
		ring_drain(&r[0]);
		ring_drain(&r[1]);
	}
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ring_drain(&r[0]);
	ring_drain(&r[1]);
	t_check(clk_state(page).epoch == epoch + 2 * (uint32_t)turns, "%u",
		clk_state(page).epoch - epoch);
	t_check(r[0].wrong + r[1].wrong == 0);
	t_check(r[0].records + r[1].records == accepted && accepted, "%lu %lu of %lu",
		r[0].records, r[1].records, accepted);
	t_check(dev_producer(&m, 0)->lost[0] + dev_producer(&m, 1)->lost[0] == refused);
	printf("%d suspends: %lu written, %lu lost\n", turns, accepted, refused);
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
