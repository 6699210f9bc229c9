// SPDX-License-Identifier: MIT
/*
 * The daemon is stopped (SIGSTOP) while readers go on. The machine suspends, CLOCK_REALTIME
 * is set, a snapshot is restored, the clocksource changes: from then on no reader gets a
 * time with a bound, until the daemon runs again. $TSCT_STALE times (2; all: 10) for each.
 * Readers: the functions with a bound, and the short ones without; a clock that was open
 * before the module was loaded; a process that cannot open the module's page.
 * guest-test: module=no timeout=240
 * guest-test: files=build/daemon/tsctraced
 */
#include "clock.h"
#include "lib.h"
#include "vmfork.h"

#define SOURCES	"/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define READERS	2

static pid_t daemon_pid;
static struct tsct_clock *clk;
static atomic_int stop;
static atomic_ulong readings, valid, wrong;

/* A reading with a bound must hold, whatever happens, unless a disruption came between the
 * readings that it is compared with. */
static void try_reading(const struct tsct_disruption_page *page)
{
	uint64_t count = clk_count(page);
	struct tsct_time time;
	int64_t before, after;
	int err;

	before = t_ns(CLOCK_REALTIME);
	err = tsct_clock_now(clk, &time);
	after = t_ns(CLOCK_REALTIME);
	readings++;
	if (err || !lib_has_bound(&time) || clk_count(page) != count)
		return;
	valid++;
	if (time.ns + (int64_t)time.error_ns >= before &&
	    time.ns - (int64_t)time.error_ns <= after)
		return;
	if (wrong++ < 10)
		printf("%lld +- %llu, not from %lld to %lld\n", (long long)time.ns,
		       (unsigned long long)time.error_ns, (long long)before,
		       (long long)after);
}

/* The short functions: a time within a second of CLOCK_REALTIME, which is theirs. */
static void try_short(const struct tsct_disruption_page *page)
{
	uint64_t count = clk_count(page);
	int64_t before = t_ns(CLOCK_REALTIME), ns = tsct_clock_now_ns(clk), after = t_ns(CLOCK_REALTIME);

	if (clk_count(page) == count && (ns < before - 1000000 || ns > after + 1000000))
		wrong++;
}

static void *read_clock(void *arg)
{
	while (!stop) {
		try_reading(arg);
		try_short(arg);
	}
	return NULL;
}

/* ---- disruptions ----------------------------------------------------------- */

static void sleep_lightly(void)
{
	dev_set("/sys/power/pm_test", "platform");
	dev_set("/sys/power/state", "freeze");
}

static void step(void)
{
	clk_step(100000000);
}

static void change_clocksource(void)
{
	t_check(dev_put(SOURCES, "hpet") || dev_put(SOURCES, "acpi_pm"), "%m");
	dev_set(SOURCES, "tsc");
}

static const struct {
	const char *name;
	void (*happen)(void);
} disruptions[] = {
	{ "suspend to memory", vmfork_sleep },
	{ "step", step },
	{ "suspend to idle", sleep_lightly },
	{ "restored snapshot", vmfork_report },
	{ "clocksource", change_clocksource },
};

static void stop_daemon(void)
{
	int status;

	t_check(!kill(daemon_pid, SIGSTOP), "%m");
	t_check(waitpid(daemon_pid, &status, WUNTRACED) == daemon_pid && WIFSTOPPED(status),
		"%m");
}

/* No time is known until the daemon goes on, by a clock that was opened meanwhile, either. */
static void try_disruption(unsigned int i, const struct tsct_disruption_page *page)
{
	struct tsct_clock_state state;
	const unsigned long valid_before = valid;
	struct tsct_clock *new;
	struct tsct_time time;
	uint64_t past;
	int64_t ns;

	t_until(lib_is_synchronized(clk));
	t_until(valid > valid_before);
	stop_daemon();
	t_check(!tsct_clock_snapshot(clk, &state));
	past = state.real.as_of_cycles;		/* the last sample */
	t_check(!tsct_clock_now(clk, &time) && lib_has_bound(&time), "%s", disruptions[i].name);
	disruptions[i].happen();
	t_check(!(clk_count(page) & TSCT_DISRUPTIONS_PENDING));
	t_check(tsct_clock_now(clk, &time) || time.status == TSCT_STATUS_DISRUPTED,
		"%s: status %u", disruptions[i].name, time.status);
	t_check(tsct_clock_cycles_to_ns(clk, tsct_clock_cycles(clk), &ns) == -ESTALE,
		"%s", disruptions[i].name);
	t_check(!tsct_clock_snapshot(clk, &state) && state.status == TSCT_STATUS_DISRUPTED);
	t_check(!tsct_clock_open(&new));
	t_check(!strcmp(tsct_clock_origin(new), "daemon"), "%s: %s", disruptions[i].name,
		tsct_clock_reason(new));
	t_check(tsct_clock_now(new, &time) || time.status == TSCT_STATUS_DISRUPTED,
		"%s: status %u", disruptions[i].name, time.status);
	/* Cycles that the last sample has covered keep their time. */
	t_check(!tsct_clock_cycles_to_time(clk, past, &time) &&
		time.status != TSCT_STATUS_DISRUPTED, "%s: status %u of the past",
		disruptions[i].name, time.status);
	kill(daemon_pid, SIGCONT);
	t_until(lib_is_synchronized(clk));
	t_until(lib_is_synchronized(new));
	tsct_clock_close(new);
}

/* Nobody will renew the params: a new clock calibrates by itself. */
static void try_dead_daemon(void)
{
	struct tsct_clock *own;

	t_until(lib_is_synchronized(clk));
	kill(daemon_pid, SIGKILL);
	waitpid(daemon_pid, NULL, 0);
	step();
	t_check(!tsct_clock_open(&own));
	t_check(!strcmp(tsct_clock_origin(own), "in-process") &&
		strstr(tsct_clock_reason(own), "from before a disruption"), "%s",
		tsct_clock_reason(own));
	tsct_clock_close(own);
}

/* ---- processes without the page -------------------------------------------- */

/* The daemon's clock has the module's count, which this process cannot see. */
static void try_without_page(void)
{
	struct tsct_clock *own;

	t_check(!rename(TSCT_DISRUPTIONS_PATH, "/dev/hidden"), "%m");
	t_check(!tsct_clock_open(&own));
	t_check(!strcmp(tsct_clock_origin(own), "in-process"), "%s", tsct_clock_origin(own));
	t_check(strstr(tsct_clock_reason(own), TSCT_DISRUPTIONS_PATH " cannot be opened"),
		"%s", tsct_clock_reason(own));
	tsct_clock_close(own);
	t_check(!rename("/dev/hidden", TSCT_DISRUPTIONS_PATH), "%m");
}

static bool has_count(void)
{
	struct tsct_clock_state state;

	return !tsct_clock_snapshot(clk, &state) && state.disruptions;
}

int main(void)
{
	const int turns = (int)t_repeats("TSCT_STALE", 2, 10);
	const struct tsct_disruption_page *page;
	pthread_t threads[READERS];

	/* The clock is opened without the module, and then follows the module's count. */
	daemon_pid = lib_start_daemon("200");
	t_until(lib_open_clock(&clk));
	t_until(lib_is_synchronized(clk));
	t_check(!has_count());
	mod_load("/lib/modules/tsctrace.ko", "");
	t_until(has_count());
	t_until(lib_is_synchronized(clk));
	try_without_page();
	page = clk_map();
	t_check(dev_put("/sys/module/suspend/parameters/pm_test_delay", "0"), "%m");
	for (int i = 0; i < READERS; i++)
		t_check(!pthread_create(&threads[i], NULL, read_clock, (void *)page));
	for (int turn = 0; turn < turns; turn++)
		for (unsigned int i = 0; i < sizeof(disruptions) / sizeof(disruptions[0]); i++)
			try_disruption(i, page);
	stop = 1;
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	t_check(!wrong, "%lu of %lu readings", wrong, readings);
	printf("%lu readings, %lu with a bound, %lu wrong\n", readings, valid, wrong);
	try_dead_daemon();
	tsct_clock_close(clk);
	munmap((void *)page, TSCT_PAGE_SIZE);
	t_check(!mod_unload("tsctrace"), "%m");
	return t_status();
}
