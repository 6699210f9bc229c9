// SPDX-License-Identifier: MIT
/* trace-ctl clock: what time is it by the counter, and how sure are we? */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock_view.h"
#include "tools/common/cmd.h"
#include "control.h"
#include "tools/common/json.h"
#include "lib/client/gettime.h"
#include "tools/common/view.h"

#define WAIT_S		60	/* unless another timeout is given */
#define POLL_NS		50000000

struct options {
	bool json;
	double watch_s;		/* 0: once */
	bool fake;
	bool wait;
	double wait_s;
	unsigned long long max_error_ns;	/* 0: any */
	bool has_max_error;
};

static void pause_ns(__s64 ns)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	nanosleep(&pause, NULL);
}

static int complain(const char *what)
{
	fprintf(stderr, "trace-ctl clock: %s\n", what);
	return EXIT_FAILED;
}

static int nothing(const struct tsct_clock *clock)
{
	fprintf(stderr, "trace-ctl clock: %s: nothing was published yet; try "
		"again in a second\n", tsct_clock_origin(clock));
	return EXIT_FAILED;
}

/* ---- once, or again and again -------------------------------------------- */

static int show(const struct options *o)
{
	struct tsct_clock *clock;
	struct clock_reading r;
	int ret = tsct_clock_open(&clock);

	if (ret)
		return complain(strerror(-ret));
	if (clock_read(clock, &r)) {
		ret = nothing(clock);
		goto close_clock;
	}
	if (o->json)
		ret = ctl_json_print("clock", clock_json(&r));
	else
		clock_print_text(stdout, &r);
	if (!clock_usable(&r))
		ret = complain(clock_trouble(&r));
close_clock:
	tsct_clock_close(clock);
	return ret;
}

/* One line; the clock is opened anew: a daemon may have come or gone. */
static int watch_once(const struct options *o)
{
	struct tsct_clock *clock;
	struct clock_reading r;
	int error = tsct_clock_open(&clock);

	if (error)
		return complain(strerror(-error));
	if (clock_read(clock, &r))
		nothing(clock);
	else if (o->json)
		ctl_json_print_line("clock", clock_json(&r));
	else
		clock_print_row(&r);
	tsct_clock_close(clock);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}

/* Until somebody stops it, or nobody reads it any more. */
static int watch(const struct options *o)
{
	if (!o->json)
		clock_print_header();
	while (!watch_once(o))
		pause_ns((__s64)(o->watch_s * 1e9));
	return EXIT_FAILED;
}

/* ---- waiting --------------------------------------------------------------- */

/*
 * A clock that each program calibrates for itself is nothing to wait for: the
 * one who waits gets to know it, and the one who comes next starts over.
 */
static bool is_kept(const struct tsct_clock *clock)
{
	return strcmp(tsct_clock_origin(clock), "in-process");
}

/* NULL: it is synchronized; else why it is not. */
static const char *look(const struct options *o, struct clock_reading *r)
{
	static char why[128];

	if (clock_read(r->clock, r))
		return "nothing was published yet";
	if (!clock_usable(r))
		return clock_trouble(r);
	if (!is_kept(r->clock))
		return "no daemon keeps a clock; start tsctraced";
	if (r->time.status != TSCT_STATUS_SYNCHRONIZED) {
		snprintf(why, sizeof(why), "the clock is %s",
			 tsct_status_name(r->time.status));
		return why;
	}
	if (!o->has_max_error || r->time.error_ns <= o->max_error_ns)
		return NULL;
	snprintf(why, sizeof(why), "the time is known to %llu ns, not %llu ns",
		 (unsigned long long)r->time.error_ns, o->max_error_ns);
	return why;
}

static int give_up(const struct options *o, const struct clock_reading *r,
		   const char *why)
{
	fprintf(stderr, "trace-ctl clock: not synchronized within %g s: %s\n",
		o->wait_s, why);
	if (r->state.epoch || r->state.status)
		clock_print_text(stderr, r);
	return EXIT_FAILED;
}

/* Opened anew each time, as by --watch. */
static int wait_once(const struct options *o, bool last, bool *ret_done)
{
	struct clock_reading r = { 0 };
	struct tsct_clock *clock;
	const char *why;
	int ret = tsct_clock_open(&clock);

	*ret_done = true;
	if (ret)
		return complain(strerror(-ret));
	r.clock = clock;
	why = look(o, &r);
	if (!why)
		ret = o->json ? ctl_json_print("clock", clock_json(&r)) :
			EXIT_DONE;
	else if (last)
		ret = give_up(o, &r, why);
	else
		*ret_done = false;
	tsct_clock_close(clock);
	return ret;
}

static int wait_synced(const struct options *o)
{
	__s64 until = tsct_monotonic_ns() + (__s64)(o->wait_s * 1e9);
	bool done = false;
	int ret = EXIT_DONE;

	for (;;) {
		__s64 left = until - tsct_monotonic_ns();

		ret = wait_once(o, left <= 0, &done);
		if (done)
			return ret;
		pause_ns(left < POLL_NS && left > 0 ? left : POLL_NS);
	}
}

/* ---- disruption on request --------------------------------------------------- */

static int fake(void)
{
	char *answer;
	size_t len;

	if (ctl_control_ask("clock", "fake-disruption", &answer, &len))
		return EXIT_FAILED;
	answer[strcspn(answer, "\n")] = '\0';
	printf("tsctraced took the clock for disrupted, as asked: ");
	view_print_plain(stdout, answer);
	printf("; it calibrates anew\n");
	free(answer);
	return EXIT_DONE;
}

/* ---- command line ---------------------------------------------------------- */

enum { OPTION_JSON = 0x100, OPTION_WAIT, OPTION_MAX_ERROR, OPTION_FAKE };

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0,
	  "Print JSON; with --watch, one object per line", 0 },
	{ "watch", 'w', "SEC", OPTION_ARG_OPTIONAL,
	  "Print a line every SEC seconds (1), until interrupted", 0 },
	{ "wait-synced", OPTION_WAIT, "TIMEOUT", OPTION_ARG_OPTIONAL,
	  "Wait until the clock is synchronized, for TIMEOUT seconds (60) at "
	  "most, and print nothing", 0 },
	{ "max-error", OPTION_MAX_ERROR, "NS", 0,
	  "With --wait-synced: and knows the time to NS nanoseconds", 0 },
	{ "fake-disruption", OPTION_FAKE, NULL, 0,
	  "Have tsctraced behave as if the clock had been disrupted; for tests, "
	  "and for root", 0 },
	{ 0 }
};

static double take_seconds(struct argp_state *state, const char *arg,
			   double min)
{
	char *end;
	double s = strtod(arg, &end);

	if (end == arg || *end || !(s >= min) || s > 86400)
		argp_error(state, "%s: not a time between %g and 86400 seconds",
			   arg, min);
	return s;
}

static void take_max_error(struct argp_state *state, const char *arg,
			   struct options *o)
{
	char *end;

	errno = 0;
	o->max_error_ns = strtoull(arg, &end, 10);
	o->has_max_error = true;
	if (errno || *arg < '0' || *arg > '9' || *end || !o->max_error_ns)
		argp_error(state, "%s: not a number of nanoseconds above 0",
			   arg);
}

static void check(struct argp_state *state, const struct options *o)
{
	if (o->has_max_error && !o->wait)
		argp_error(state, "--max-error is for --wait-synced");
	if (o->wait && o->watch_s)
		argp_error(state, "--wait-synced ends, and --watch does not: "
			   "give one of them");
	if (o->fake && (o->wait || o->watch_s || o->json))
		argp_error(state, "--fake-disruption goes alone");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_FAKE:
		o->fake = true;
		return 0;
	case OPTION_WAIT:
		o->wait = true;
		o->wait_s = arg ? take_seconds(state, arg, 0) : WAIT_S;
		return 0;
	case OPTION_MAX_ERROR:
		take_max_error(state, arg, o);
		return 0;
	case 'w':
		o->watch_s = arg ? take_seconds(state, arg, 0.01) : 1;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: there are no arguments (--watch=SEC and "
			   "--wait-synced=TIMEOUT want the =)", arg);
		return 0;
	case ARGP_KEY_END:
		check(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show what the counter says about the time of day, and how far "
	"off it can be."
	"\vExit status: 0: the time holds within its bound (--wait-synced: and "
	"is synchronized); 1: the clock says nothing, or was disrupted (not "
	"synchronized in time); 2: usage.",
};

int cmd_clock(int argc, char **argv)
{
	struct options o = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.fake)
		return fake();
	if (o.wait)
		return wait_synced(&o);
	if (o.watch_s)
		return watch(&o);
	return show(&o);
}
