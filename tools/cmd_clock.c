// SPDX-License-Identifier: MIT
/* trace-ctl clock: what time is it by the counter, and how sure are we? */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "json.h"
#include "state.h"
#include "view.h"

struct options {
	bool json;
	double watch_s;		/* 0: once */
};

/* One look at the clock. */
struct reading {
	__u64 stamp;
	struct tsct_clock_state state;
	struct tsct_time time;
	int error;		/* why `time` says nothing; 0: it does */
	double mhz;		/* ticks per us, 0: not known */
	double age_s;		/* since the state was measured */
};

/* ---- reading ----------------------------------------------------------- */

/* Returns 0, or -EAGAIN: nothing was published yet. */
static int take(const struct tsct_clock *clock, struct reading *r)
{
	const struct tsct_pair *real = &r->state.real;
	int error = tsct_clock_snapshot(clock, &r->state);

	if (error)
		return error;
	r->stamp = tsct_clock_stamp(clock);
	r->error = tsct_clock_convert(clock, r->stamp, &r->time);
	r->mhz = 0;
	r->age_s = 0;
	if (!real->mult)
		return 0;
	r->mhz = (double)(1ULL << real->shift) * 1e3 / real->mult;
	r->age_s = (__s64)(r->stamp - real->as_of_tsc) / r->mhz / 1e6;
	return 0;
}

static bool usable(const struct reading *r)
{
	return !r->error && r->state.status != TSCT_STATUS_DISRUPTED &&
	       r->state.status != TSCT_STATUS_UNKNOWN;
}

static const char *trouble(const struct reading *r)
{
	if (r->error == -ESTALE)
		return "the clock was disrupted, and says nothing about now; "
			"it takes the daemon a moment to start over";
	if (r->error)
		return strerror(-r->error);
	return "do not use these times: the clock was disrupted";
}

/* ---- showing ----------------------------------------------------------- */

/* "2026-08-01T12:34:56.123456789Z" */
static void format_utc(__s64 ns, char *text, size_t size)
{
	__s64 rest;
	time_t t = view_second(ns, &rest);
	char date[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%FT%T", &tm);
	snprintf(text, size, "%s.%09lldZ", date, (long long)rest);
}

static void print_text(const struct tsct_clock *clock, const struct reading *r)
{
	char utc[64];

	printf("stamp   %llu\n", (unsigned long long)r->stamp);
	if (!r->error) {
		format_utc(r->time.ns, utc, sizeof(utc));
		printf("time    %s +- %llu ns\n", utc,
		       (unsigned long long)r->time.error_ns);
	}
	printf("source  %s\n", tsct_source_name(r->state.source));
	printf("status  %s\n", tsct_status_name(r->state.status));
	if (r->mhz > 0)
		printf("rate    %.6f MHz +- %u ppb\n"
		       "age     %.3f s\n", r->mhz, r->state.rate_error_ppb,
		       r->age_s);
	printf("epoch   %u\n", r->state.epoch);
	printf("origin  %s (%s)\n", tsct_clock_origin(clock),
	       tsct_clock_why(clock));
}

static void print_header(void)
{
	printf("%-30s %12s %-13s %5s %12s %9s %8s %s\n", "time", "+- ns",
	       "status", "epoch", "MHz", "+- ppb", "age s", "origin");
}

static void print_row(const struct tsct_clock *clock, const struct reading *r)
{
	char utc[64] = "-", bound[24] = "-";

	if (!r->error) {
		format_utc(r->time.ns, utc, sizeof(utc));
		snprintf(bound, sizeof(bound), "%llu",
			 (unsigned long long)r->time.error_ns);
	}
	printf("%-30s %12s %-13s %5u %12.6f %9u %8.3f %s\n", utc, bound,
	       tsct_status_name(r->state.status), r->state.epoch, r->mhz,
	       r->state.rate_error_ppb, r->age_s, tsct_clock_origin(clock));
}

static json_t *to_json(const struct tsct_clock *clock, const struct reading *r)
{
	char utc[64];
	json_t *json = json_pack(
		"{s:I, s:s, s:s, s:b, s:I, s:f, s:I, s:f, s:s, s:o}",
		"stamp", (json_int_t)r->stamp,
		"source", tsct_source_name(r->state.source),
		"status", tsct_status_name(r->state.status),
		"usable", usable(r),
		"epoch", (json_int_t)r->state.epoch,
		"rate_mhz", r->mhz,
		"rate_error_ppb", (json_int_t)r->state.rate_error_ppb,
		"age_s", r->age_s,
		"origin", tsct_clock_origin(clock),
		"why", ctl_json_text(tsct_clock_why(clock)));

	if (!json || r->error)
		return json;
	format_utc(r->time.ns, utc, sizeof(utc));
	json_object_set_new(json, "time", json_string(utc));
	json_object_set_new(json, "time_ns", json_integer(r->time.ns));
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->time.error_ns));
	return json;
}

/* ---- running ----------------------------------------------------------- */

static int nothing(const struct tsct_clock *clock)
{
	fprintf(stderr, "trace-ctl clock: %s: nothing was published yet; try "
		"again in a second\n", tsct_clock_origin(clock));
	return EXIT_FAILED;
}

static int show(const struct tsct_clock *clock, const struct options *o)
{
	struct reading r;
	int ret = EXIT_DONE;

	if (take(clock, &r))
		return nothing(clock);
	if (o->json)
		ret = ctl_json_print("clock", to_json(clock, &r));
	else
		print_text(clock, &r);
	if (usable(&r))
		return ret;
	fprintf(stderr, "trace-ctl clock: %s\n", trouble(&r));
	return EXIT_FAILED;
}

/* One line; the clock is opened anew: a daemon may have come or gone. */
static int watch_once(const struct options *o)
{
	struct tsct_clock *clock;
	struct reading r;
	int error = tsct_clock_open(&clock);

	if (error) {
		fprintf(stderr, "trace-ctl clock: %s\n", strerror(-error));
		return EXIT_FAILED;
	}
	if (take(clock, &r))
		nothing(clock);
	else if (o->json)
		ctl_json_print_line("clock", to_json(clock, &r));
	else
		print_row(clock, &r);
	tsct_clock_close(clock);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}

/* Until somebody stops it, or nobody reads it any more. */
static int watch(const struct options *o)
{
	const struct timespec pause = {
		.tv_sec = (time_t)o->watch_s,
		.tv_nsec = (long)((o->watch_s - (time_t)o->watch_s) * 1e9),
	};

	if (!o->json)
		print_header();
	while (!watch_once(o))
		nanosleep(&pause, NULL);
	return EXIT_FAILED;
}

enum { OPTION_JSON = 0x100 };

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0,
	  "Print JSON; with --watch, one object per line", 0 },
	{ "watch", 'w', "SEC", OPTION_ARG_OPTIONAL,
	  "Print a line every SEC seconds (1), until interrupted", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end;

	switch (key) {
	case OPTION_JSON:
		o->json = true;
		return 0;
	case 'w':
		o->watch_s = arg ? strtod(arg, &end) : 1;
		if (arg && (end == arg || *end || !(o->watch_s >= 0.01) ||
			    o->watch_s > 86400))
			argp_error(state, "%s: not a time between 0.01 and "
				   "86400 seconds", arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments (--watch=SEC "
			   "wants the =)", arg);
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show what the counter says about the time of day, and how far "
	"off it can be."
	"\vExit status: 0: the time holds within its bound; 1: the clock says "
	"nothing, or was disrupted; 2: usage.",
};

int cmd_clock(int argc, char **argv)
{
	struct options o = { 0 };
	struct tsct_clock *clock;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.watch_s)
		return watch(&o);
	ret = tsct_clock_open(&clock);
	if (ret) {
		fprintf(stderr, "trace-ctl clock: %s\n", strerror(-ret));
		return EXIT_FAILED;
	}
	ret = show(clock, &o);
	tsct_clock_close(clock);
	return ret;
}
