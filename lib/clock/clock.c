// SPDX-License-Identifier: MIT
/*
 * Clocks. Three origins, one page: the module's, the daemon's, or one of our
 * own that nobody else reads.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock_private.h"
#include "lib/core/latch.h"
#include "clock_sample.h"
#include "clock_source.h"
#include "tsc_check.h"

/* What is read where there is no memory for a page: it says nothing. */
static const struct tsct_clock_page nothing __attribute__((aligned(64)));

__attribute__((format(printf, 2, 3)))
static void explain(struct tsct_clock_full *clock, const char *format, ...)
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

/* Takes a mapped page, unless its stamps cannot be taken here. */
static void adopt(struct tsct_clock_full *clock, enum origin origin)
{
	struct tsct_check check = { .nr = 0 };
	struct tsct_clock_head head;

	clock->origin = origin;
	clock->head.page = clock->area.page;
	if (tsct_clock_head(clock->head.page, &head))
		head.source = TSCT_SOURCE_MONOTONIC_RAW;
	clock->head.source = head.source;
	tsct_source_clocksource(&check);
	explain(clock, "source %s, as %s publishes it (the kernel's"
		" clocksource: %s)", tsct_source_name(clock->head.source),
		origin == ORIGIN_MODULE ? "the module" : "tsctraced",
		*check.clocksource ? check.clocksource : "not known");
}

static void keep_own(struct tsct_clock_full *clock)
{
	char source_why[256];

	clock->origin = ORIGIN_PROCESS;
	clock->head.source = (__u32)tsct_source_choose(NULL, source_why,
						       sizeof(source_why));
	explain(clock, "source %s", source_why);
	clock->own = tsct_clock_inprocess_open(clock->head.source,
		tsct_clock_ops_real(clock->head.source));
	clock->head.page = clock->own ? tsct_clock_inprocess_page(clock->own) :
		&nothing;
	if (!clock->own)
		explain(clock, "no memory for a clock");
}

static bool find_page(struct tsct_clock_full *clock)
{
	char why[256];

	if (!tsct_clock_area_map_module(&clock->area, why, sizeof(why))) {
		adopt(clock, ORIGIN_MODULE);
		return true;
	}
	explain(clock, "%s", why);
	if (!tsct_clock_area_map_file(tsct_run_dir(), &clock->area, why,
				 sizeof(why))) {
		adopt(clock, ORIGIN_DAEMON);
		return true;
	}
	explain(clock, "%s", why);
	return false;
}

void tsct_clock_init(struct tsct_clock_full *clock)
{
	struct tsct_clock_head head;

	if (!find_page(clock))
		keep_own(clock);
	/* Right for all sources but the TSC, which nobody reads then */
	clock->rate_mult = 1ULL << TSCT_CLOCK_SHIFT;
	if (tsct_clock_head(clock->head.page, &head))
		return;
	if (head.rate_mult || head.mult)
		clock->rate_mult = head.rate_mult ? head.rate_mult : head.mult;
}

void tsct_clock_fini(struct tsct_clock_full *clock)
{
	if (clock->origin != ORIGIN_PROCESS)
		tsct_clock_area_unmap(&clock->area);
	else if (clock->own)
		tsct_clock_inprocess_close(clock->own);
}

int tsct_clock_open(struct tsct_clock **ret_clock)
{
	struct tsct_clock_full *clock = calloc(1, sizeof(*clock));

	if (!clock)
		return -ENOMEM;
	tsct_clock_init(clock);
	if (clock->origin == ORIGIN_PROCESS && !clock->own) {
		free(clock);
		return -ENOMEM;
	}
	*ret_clock = &clock->head;
	return 0;
}

void tsct_clock_close(struct tsct_clock *head)
{
	struct tsct_clock_full *clock = tsct_clock_full(head);

	if (!clock || clock->forever)
		return;
	tsct_clock_fini(clock);
	free(clock);
}

const char *tsct_clock_origin(const struct tsct_clock *clock)
{
	switch (tsct_clock_full(clock)->origin) {
	case ORIGIN_MODULE:
		return "module";
	case ORIGIN_DAEMON:
		return "daemon";
	default:
		return "in-process";
	}
}

const char *tsct_clock_reason(const struct tsct_clock *clock)
{
	return tsct_clock_full(clock)->why;
}

uint64_t tsct_clock_cycles(const struct tsct_clock *clock)
{
	return tsct_cycles_read(clock->source);
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
