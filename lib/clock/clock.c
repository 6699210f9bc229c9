// SPDX-License-Identifier: MIT
/*
 * Clocks: their origin, and readings of the counter. A clock uses the clock page of the
 * module, or that of the daemon, or else one that this process maintains.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_private.h"
#include "lib/client/gettime.h"
#include "lib/core/latch.h"
#include "clock_sample.h"
#include "clock_source.h"

/* Interval at which tsct_clock_wait_synced() checks the status */
#define POLL_NS		10000000
/* Number of status checks in tsct_clock_wait_synced() between two samples */
#define SAMPLE_POLLS	10

/* Clock page of a clock for which there was no memory: status UNKNOWN */
static const struct tsct_clock_page empty_page __attribute__((aligned(64)));

__attribute__((format(printf, 2, 3)))
static void add_reason(struct tsct_clock_full *clock, const char *format, ...)
{
	char *end = clock->why + strlen(clock->why);
	size_t room = sizeof(clock->why) - (size_t)(end - clock->why);
	va_list args;
	int n = 0;

	if (end > clock->why)
		n = snprintf(end, room, "; ");
	if (n < 0 || (size_t)n >= room)
		return;
	va_start(args, format);
	vsnprintf(end + n, room - (size_t)n, format, args);
	va_end(args);
}

static void use_mapped_page(struct tsct_clock_full *clock)
{
	struct tsct_check check = { .nr = 0 };
	struct tsct_clock_head head;

	clock->head.page = clock->area.page;
	if (tsct_clock_head(clock->head.page, &head))
		head.source = TSCT_SOURCE_MONOTONIC_RAW;
	clock->head.source = head.source;
	tsct_source_clocksource(&check);
	add_reason(clock, "source %s, as published by %s (the kernel's "
		   "clocksource: %s)", tsct_source_name(clock->head.source),
		   clock->origin == ORIGIN_MODULE ? "the module" : "tsctraced",
		   *check.clocksource ? check.clocksource : "unknown");
}

/*
 * The rate is 1 ns per cycle until the clock page states the counter's rate. This is
 * correct for kernel clocks. If the page cannot be read, the counter is a kernel clock.
 */
static void set_rate(struct tsct_clock_full *clock)
{
	struct tsct_clock_head head;

	clock->rate_mult = 1ULL << TSCT_CLOCK_SHIFT;
	if (tsct_clock_head(clock->head.page, &head))
		return;
	if (head.rate_mult || head.mult)
		clock->rate_mult = head.rate_mult ? head.rate_mult : head.mult;
}

void tsct_clock_init(struct tsct_clock_full *clock)
{
	char why[256];

	clock->origin = ORIGIN_MODULE;
	if (tsct_clock_area_map_module(&clock->area, why, sizeof(why))) {
		add_reason(clock, "%s", why);
		clock->origin = ORIGIN_DAEMON;
		if (tsct_clock_area_map_file(tsct_run_dir(), &clock->area, why,
					     sizeof(why))) {
			add_reason(clock, "%s", why);
			clock->origin = ORIGIN_PROCESS;
		}
	}
	if (clock->origin != ORIGIN_PROCESS) {
		use_mapped_page(clock);
	} else {
		clock->head.source = (__u32)tsct_source_choose(why, sizeof(why));
		add_reason(clock, "source %s", why);
		clock->inprocess = tsct_clock_inprocess_open(clock->head.source,
			tsct_clock_ops_real(clock->head.source));
		clock->head.page = clock->inprocess ?
			tsct_clock_inprocess_page(clock->inprocess) : &empty_page;
		if (!clock->inprocess)
			add_reason(clock, "in-process clock: out of memory");
	}
	set_rate(clock);
}

int tsct_clock_open(struct tsct_clock **ret_clock)
{
	struct tsct_clock_full *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	tsct_clock_init(clock);
	if (clock->origin == ORIGIN_PROCESS && !clock->inprocess) {
		free(clock);
		return -ENOMEM;
	}
	*ret_clock = &clock->head;
	return 0;
}

int tsct_clock_open_stopped(const struct tsct_clock_page *page, __u64 cycles,
			    struct tsct_clock **ret_clock)
{
	struct tsct_clock_full *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	clock->origin = ORIGIN_MODULE;
	clock->area = (struct tsct_clock_area) {
		.page = page, .size = page->size, .nr_cpus = page->nr_cpus,
	};
	clock->stopped_cycles = cycles;
	use_mapped_page(clock);
	set_rate(clock);
	*ret_clock = &clock->head;
	return 0;
}

void tsct_clock_close(struct tsct_clock *head)
{
	struct tsct_clock_full *clock = tsct_clock_full(head);

	if (!clock || clock->forever)
		return;
	if (clock->origin != ORIGIN_PROCESS)
		tsct_clock_area_unmap(&clock->area);
	else if (clock->inprocess)
		tsct_clock_inprocess_close(clock->inprocess);
	free(clock);
}

const char *tsct_clock_origin(const struct tsct_clock *clock)
{
	static const char *const names[] = { "module", "daemon", "in-process" };

	return names[tsct_clock_full(clock)->origin];
}

const char *tsct_clock_reason(const struct tsct_clock *clock)
{
	return tsct_clock_full(clock)->why;
}

uint64_t tsct_clock_cycles(const struct tsct_clock *clock)
{
	const __u64 stopped = tsct_clock_full(clock)->stopped_cycles;

	return unlikely(stopped) ? stopped : tsct_cycles_read(clock->source);
}

void tsct_clock_time_point(const struct tsct_clock *clock,
			   struct tsct_time_point *ret_point)
{
	ret_point->reserved = 0;
	ret_point->cpu = TSCT_CPU_ANY;
	if (clock->source == TSCT_SOURCE_TSC)
		ret_point->cycles = tsct_tsc_read_cpu(&ret_point->cpu);
	else
		ret_point->cycles = tsct_cycles_read(clock->source);
}

static bool is_synced(const struct tsct_clock *clock, uint64_t max_error_ns)
{
	struct tsct_time now;

	return !tsct_clock_now(clock, &now) &&
		now.status == TSCT_STATUS_SYNCHRONIZED &&
		(!max_error_ns || now.error_ns <= max_error_ns);
}

int tsct_clock_wait_synced(const struct tsct_clock *clock, int timeout_ms,
			   uint64_t max_error_ns)
{
	__s64 until = tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct tsct_clock_inprocess *inprocess =
		tsct_clock_full(clock)->inprocess;
	unsigned int polls = 0;

	while (!is_synced(clock, max_error_ns)) {
		struct timespec pause = { .tv_nsec = POLL_NS };
		__s64 left = until - tsct_monotonic_ns();

		if (timeout_ms >= 0 && left <= 0)
			return -ETIMEDOUT;
		if (timeout_ms >= 0 && left < POLL_NS)
			pause.tv_nsec = left;
		if (nanosleep(&pause, NULL))
			return -errno;
		/*
		 * Conversions with an in-process clock take a sample once a second;
		 * this loop waits for synchronization, and takes samples more often.
		 */
		if (inprocess && ++polls % SAMPLE_POLLS == 0)
			tsct_clock_inprocess_sample(inprocess);
	}
	return 0;
}
