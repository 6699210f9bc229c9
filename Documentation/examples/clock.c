/* SPDX-License-Identifier: MIT */
/*
 * What time it is, what time it was, and how long it took: by the counter of
 * the processor, each with a bound.
 *
 *	cc clock.c -ltsctrace && ./a.out
 */
#define _POSIX_C_SOURCE 200809L	/* for -std=c11 and the like */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#define POINTS	5

static void print_time(const char *what, const struct tsct_time *t)
{
	time_t seconds = t->ns / 1000000000;
	struct tm tm;
	char text[32];

	strftime(text, sizeof(text), "%F %T", gmtime_r(&seconds, &tm));
	printf("%-8s %s.%09" PRId64 " UTC, within %" PRIu64 " ns, %s\n", what,
	       text, t->ns % 1000000000, t->error_ns,
	       tsct_status_name(t->status));
}

/* What strerror() has for these is about files. */
static const char *why_not(int err)
{
	switch (err) {
	case -EAGAIN:
		return "the clock was not published yet; try again";
	case -ESTALE:
		return "nobody looked after the clock; is tsctraced running?";
	case -EXDEV:
		return "the counters of the CPUs are apart; see trace-ctl check";
	default:
		return strerror(-err);
	}
}

static void work(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

int main(void)
{
	struct tsct_clock *clock = tsct_clock_default();
	struct tsct_time_point points[POINTS];
	struct tsct_interval took;
	struct tsct_time t;
	int i, err;

	printf("clock    %s: %s\n", tsct_clock_origin(clock),
	       tsct_clock_reason(clock));
	err = tsct_clock_now(clock, &t);
	if (err) {
		fprintf(stderr, "no time: %s\n", why_not(err));
		return 1;
	}
	print_time("now", &t);

	/* Stamps cost next to nothing. What they mean can wait. */
	for (i = 0; i < POINTS; i++) {
		tsct_clock_time_point(clock, &points[i]);
		work();
	}
	for (i = 0; i < POINTS; i++)
		if (!tsct_clock_cycles_to_time_on(clock, points[i].cycles,
					   points[i].cpu, &t))
			print_time("stamp", &t);
	for (i = 1; i < POINTS; i++)
		if (!tsct_clock_interval(clock, &points[i - 1], &points[i],
					 &took))
			printf("took     %" PRId64 " ns, within %" PRIu64
			       " ns%s\n", took.ns, took.error_ns,
			       took.flags ? ", and that is doubtful" : "");
	printf("tick     1 ms is %" PRId64 " of them\n",
	       tsct_clock_ns_to_delta(clock, 1000000));
	return 0;
}
