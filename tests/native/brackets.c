// SPDX-License-Identifier: MIT
/*
 * brackets NR: calls getppid(2) NR times, with an event before and one after each call
 * brackets check DIR: checks a recording of it with the system calls: the times of each
 * call's begin and end lie between those of its two events, within the error bounds of
 * both. Prints the number of calls, and the largest excess over the events' times, ns.
 */
#include <tsctrace/event.h>
#include <tsctrace/trace.h>

#include "helper.h"

TSCT_EVENT(bracket_open, TSCT_KIND_INSTANT, TSCT_U32(nr));
TSCT_EVENT(bracket_close, TSCT_KIND_INSTANT, TSCT_U32(nr));

/* An event's time, and how far off it can be */
struct when {
	int64_t ns;
	uint64_t error_ns;
};

enum { OPEN, ENTER, EXIT, CLOSE, NR_SERIES };

static struct when *series[NR_SERIES];
static size_t nr[NR_SERIES], room;

static void call(unsigned int calls)
{
	struct tsct_channel *channel;

	if (tsct_channel_open(NULL, &channel) ||
	    tsct_events_enable(channel, NULL) != 2)
		errx(1, "%s", tsct_channel_error(channel));
	for (unsigned int i = 0; i < calls; i++) {
		bracket_open_emit(i);
		syscall(SYS_getppid);
		bracket_close_emit(i);
	}
	if (tsct_channel_dropped(channel))
		errx(1, "events were dropped");
	tsct_channel_close(channel);
}

/* Returns the series of an event, or -1. */
static int series_of(const struct tsct_trace_event *event)
{
	if (!strcmp(event->def->name, "bracket_open"))
		return OPEN;
	if (!strcmp(event->def->name, "bracket_close"))
		return CLOSE;
	if (strcmp(event->def->name, "sys_getppid"))
		return -1;
	return event->def->kind == TSCT_KIND_BEGIN ? ENTER : EXIT;
}

static void keep(const struct tsct_trace *trace, const struct tsct_trace_event *event)
{
	int of = series_of(event), i;

	if (of < 0)
		return;
	if (nr[of] == room) {
		room = room ? 2 * room : 1024;
		for (i = 0; i < NR_SERIES; i++)
			series[i] = realloc(series[i], room * sizeof(**series));
	}
	series[of][nr[of]++] = (struct when) {
		tsct_trace_ns(trace, event->tick),
		tsct_trace_error_of(trace, TSCT_ERROR_CLOCK, 0, event->tick),
	};
}

/* Checks that @early is not later than @late. Returns the ns by which it seems so. */
static int64_t in_order(const struct when *early, const struct when *late, size_t i)
{
	const int64_t excess = early->ns - late->ns;

	if (excess > (int64_t)(early->error_ns + late->error_ns))
		errx(1, "call %zu: %lld ns out of order, bounds are %llu and %llu ns", i,
		     (long long)excess, (unsigned long long)early->error_ns,
		     (unsigned long long)late->error_ns);
	return excess;
}

static void check(const char *dir)
{
	struct tsct_trace_event event;
	struct tsct_trace *trace;
	int64_t excess = 0, one;
	uint64_t error = 0;
	char why[256];

	if (tsct_trace_open(dir, NULL, NULL, &trace, why, sizeof(why)))
		errx(1, "%s: %s", dir, why);
	while (tsct_trace_next(trace, &event) == 1)
		keep(trace, &event);
	if (!nr[OPEN] || nr[ENTER] != nr[OPEN] || nr[EXIT] != nr[OPEN] ||
	    nr[CLOSE] != nr[OPEN])
		errx(1, "%zu, %zu, %zu and %zu events", nr[OPEN], nr[ENTER], nr[EXIT],
		     nr[CLOSE]);
	for (size_t i = 0; i < nr[OPEN]; i++)
		for (int of = OPEN; of < CLOSE; of++) {
			one = in_order(&series[of][i], &series[of + 1][i], i);
			excess = one > excess ? one : excess;
			if (series[of][i].error_ns > error)
				error = series[of][i].error_ns;
		}
	printf("%zu calls, largest excess %lld ns, largest bound %llu ns\n", nr[OPEN],
	       (long long)excess, (unsigned long long)error);
	tsct_trace_close(trace);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "check"))
		check(argv[2]);
	else if (argc == 2)
		call(strtoul(argv[1], NULL, 0));
	else
		errx(2, "usage: brackets NR | brackets check DIR");
	return 0;
}
