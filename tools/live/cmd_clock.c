// SPDX-License-Identifier: MIT
/* trace-ctl clock: the time, its error bound and the clock's state */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_view.h"
#include "tools/common/cmd.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "lib/client/gettime.h"
#include "tools/common/view.h"

#define WAIT_S		60		/* default timeout of --wait-synced, s */
#define POLL_NS		50000000	/* time between readings of --wait-synced, ns */

struct clock_options {
	bool json;
	/* s between lines of --watch; 0: print the clock once */
	double watch_s;
	bool fake;		/* option --fake-disruption */
	bool wait;		/* option --wait-synced */
	double wait_s;		/* timeout of --wait-synced, s */
	unsigned long long max_error_ns;	/* --max-error, ns; 0: any error */
};

static void pause_ns(__s64 ns)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	nanosleep(&pause, NULL);
}

static int print_error(const char *text)
{
	ctl_error("%s", text);
	return EXIT_FAILED;
}

/*
 * Prints the clock once, or one line of --watch. Opens the clock for each line, because
 * a daemon may have started or ended since the line before.
 */
static int print_clock(const struct clock_options *o)
{
	struct tsct_clock *clock;
	struct clock_reading r;
	int ret = tsct_clock_open(&clock);

	if (ret)
		return print_error(strerror(-ret));
	if (clock_read(clock, &r)) {
		ctl_error("%s: no clock params published yet; try"
			" again in a second", tsct_clock_origin(clock));
		ret = o->watch_s ? EXIT_DONE : EXIT_FAILED;
	} else if (o->watch_s) {
		if (o->json)
			ctl_json_print_as(clock_json(&r), TSCT_JSON_LINE);
		else
			clock_print_row(&r);
	} else {
		if (o->json)
			ret = ctl_json_print(clock_json(&r));
		else
			clock_print_text(stdout, &r);
		if (!clock_usable(&r))
			ret = print_error(clock_problem(&r));
	}
	tsct_clock_close(clock);
	return ret;
}

/* Reads the clock into @r. Returns the reason why it is not synchronized, or NULL. */
static const char *check_synced(const struct clock_options *o,
				struct clock_reading *r)
{
	static char why[128];

	if (clock_read(r->clock, r))
		return "no clock params published yet";
	if (!clock_usable(r))
		return clock_problem(r);
	/* This process maintains an in-process clock only for itself. Users wait for
	 * the clock of tsctraced, so an in-process clock counts as not synchronized. */
	if (!strcmp(tsct_clock_origin(r->clock), "in-process"))
		return "no daemon maintains a clock; start tsctraced";
	if (r->time.status != TSCT_STATUS_SYNCHRONIZED) {
		snprintf(why, sizeof(why), "the clock is %s",
			 tsct_status_name(r->time.status));
		return why;
	}
	if (!o->max_error_ns || r->time.error_ns <= o->max_error_ns)
		return NULL;
	snprintf(why, sizeof(why), "the error bound is %llu ns, above --max-error %llu",
		 (unsigned long long)r->time.error_ns, o->max_error_ns);
	return why;
}

/* Waits until the clock is synchronized. Opens the clock for each reading, because a
 * daemon may have started or ended since the last reading. */
static int wait_synced(const struct clock_options *o)
{
	const __s64 until = tsct_monotonic_ns() + (__s64)(o->wait_s * 1e9);
	struct tsct_clock *clock;
	struct clock_reading r;
	const char *why;
	__s64 left;
	int ret;

	for (;;) {
		left = until - tsct_monotonic_ns();
		ret = tsct_clock_open(&clock);
		if (ret)
			return print_error(strerror(-ret));
		r = (struct clock_reading) { .clock = clock };
		why = check_synced(o, &r);
		if (!why && o->json)
			ret = ctl_json_print(clock_json(&r));
		if (why && left <= 0) {
			ctl_error("not synchronized within %g"
				" s: %s", o->wait_s, why);
			if (r.state.epoch || r.state.status)
				clock_print_text(stderr, &r);
			ret = EXIT_FAILED;
		}
		tsct_clock_close(clock);
		if (!why || left <= 0)
			return ret;
		pause_ns(left < POLL_NS ? left : POLL_NS);
	}
}

static int fake_disruption(void)
{
	char *answer;
	size_t len;

	if (control_call("fake-disruption", &answer, &len))
		return EXIT_FAILED;
	answer[strcspn(answer, "\n")] = '\0';
	printf("tsctraced simulates a disruption of the clock: ");
	view_print_escaped(stdout, answer);
	printf("; the daemon recalibrates the clock\n");
	free(answer);
	return EXIT_DONE;
}

/* ---- command line ---------------------------------------------------------- */

enum { OPTION_WAIT = 0x100, OPTION_MAX_ERROR };

static const struct argp_option options[] = {
	{ "json", OPTION_FLAG(struct clock_options, json), NULL, 0,
	  "print JSON; with --watch, one object per line", 0 },
	{ "watch", 'w', "SEC", OPTION_ARG_OPTIONAL,
	  "print a line every SEC seconds (default: 1), until interrupted", 0 },
	{ "wait-synced", OPTION_WAIT, "TIMEOUT", OPTION_ARG_OPTIONAL,
	  "wait up to TIMEOUT seconds (default: 60) until the clock is "
	  "synchronized, and print nothing", 0 },
	{ "max-error", OPTION_MAX_ERROR, "NS", 0,
	  "with --wait-synced: wait also for an error bound of up to NS "
	  "nanoseconds", 0 },
	{ "fake-disruption", OPTION_FLAG(struct clock_options, fake), NULL, 0,
	  "make tsctraced behave as if the clock had been disrupted (for tests; "
	  "root only)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct clock_options *o = state->input;
	char *end;

	switch (key) {
	case OPTION_WAIT:
		o->wait = true;
		o->wait_s = arg ? option_seconds(state, "--wait-synced", arg, 0, WAIT_MAX) :
			WAIT_S;
		break;
	case OPTION_MAX_ERROR:
		errno = 0;
		o->max_error_ns = strtoull(arg, &end, 10);
		if (errno || *arg < '0' || *arg > '9' || *end || !o->max_error_ns)
			argp_error(state, "--max-error: '%s' is not a number of"
				   " nanoseconds above 0", arg);
		break;
	case 'w':
		o->watch_s = arg ? option_seconds(state, "--watch", arg, 0.01, WAIT_MAX) : 1;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s' (--watch=SEC and"
			   " --wait-synced=TIMEOUT need the =)", arg);
		break;
	case ARGP_KEY_END:
		if (o->max_error_ns && !o->wait)
			argp_error(state, "--max-error needs --wait-synced");
		if (o->wait && o->watch_s)
			argp_error(state, "--wait-synced and --watch exclude each other");
		if (o->fake && (o->wait || o->watch_s || o->json))
			argp_error(state, "--fake-disruption excludes all other options");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show the time of day, converted from the counter, its error bound and "
	"the clock's state."
	"\vExit status: 0: the time is valid (--wait-synced: and synchronized); "
	"1: no time, or the clock was disrupted (--wait-synced: timeout); 2: "
	"usage error.",
};

static int cmd_clock(int argc, char **argv)
{
	struct clock_options o = { 0 };

	options_parse(&argp, argc, argv, 0, &o);
	if (o.fake)
		return fake_disruption();
	if (o.wait)
		return wait_synced(&o);
	if (!o.watch_s)
		return print_clock(&o);
	if (!o.json)
		clock_print_header();
	while (!print_clock(&o) && !fflush(stdout))
		pause_ns((__s64)(o.watch_s * 1e9));
	return EXIT_FAILED;
}

COMMAND(80, clock, "show the time, its error bound and the clock's state");
