/* SPDX-License-Identifier: MIT */
/*
 * Present times, past times and durations by the processor's counter, each with its
 * error bound.
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

static void print_time(const char *label, const struct tsct_time *t)
{
	time_t seconds = t->ns / 1000000000;
	struct tm tm;
	char text[32];

	strftime(text, sizeof(text), "%F %T", gmtime_r(&seconds, &tm));
	printf("%-8s %s.%09" PRId64 " UTC, within %" PRIu64 " ns, %s\n", label,
	       text, t->ns % 1000000000, t->error_ns,
	       tsct_status_name(t->status));
}

/* strerror() describes these for files. */
static const char *clock_error(int err)
{
	switch (err) {
	case -EAGAIN:
		return "no clock is published yet; try again";
	case -ESTALE:
		return "the clock is no longer maintained; is tsctraced running?";
	case -EXDEV:
		return "the counters of the CPUs differ; see trace-ctl check";
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
		fprintf(stderr, "no time: %s\n", clock_error(err));
		return 1;
	}
	print_time("now", &t);

	/* Reading the counter is cheap. It is converted later. */
	for (i = 0; i < POINTS; i++) {
		tsct_clock_time_point(clock, &points[i]);
		work();
	}
	for (i = 0; i < POINTS; i++)
		if (!tsct_clock_cycles_to_time_on(clock, points[i].cycles,
					   points[i].cpu, &t))
			print_time("then", &t);
	for (i = 1; i < POINTS; i++)
		if (!tsct_clock_interval(clock, &points[i - 1], &points[i],
					 &took))
			printf("took     %" PRId64 " ns, within %" PRIu64
			       " ns%s\n", took.ns, took.error_ns,
			       took.flags ? ", but doubtful" : "");
	printf("counter  1 ms is %" PRId64 " cycles\n",
	       tsct_clock_ns_to_delta(clock, 1000000));
	return 0;
}
