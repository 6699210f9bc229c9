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
#include "tools/common/json.h"
#include "lib/client/gettime.h"
#include "tools/common/view.h"

#define WAIT_S		60	/* default timeout of --wait-synced */
#define POLL_NS		50000000	/* between readings of --wait-synced */

struct clock_options {
	bool json;
	double watch_s;		/* 0: print once */
	bool fake;		/* --fake-disruption */
	bool wait;		/* --wait-synced, for wait_s */
	double wait_s;
	unsigned long long max_error_ns;	/* if has_max_error */
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

static int print_error(const char *text)
{
	fprintf(stderr, "trace-ctl clock: %s\n", text);
	return EXIT_FAILED;
}

static int print_unpublished(const struct tsct_clock *clock)
{
	fprintf(stderr, "trace-ctl clock: %s: nothing published yet; try again in "
		"a second\n", tsct_clock_origin(clock));
	return EXIT_FAILED;
}

/* ---- once and --watch ---------------------------------------------------- */

static int print_once(const struct clock_options *o)
{
	struct tsct_clock *clock;
	struct clock_reading r;
	int ret = tsct_clock_open(&clock);

	if (ret)
		return print_error(strerror(-ret));
	if (clock_read(clock, &r)) {
		ret = print_unpublished(clock);
		goto close_clock;
	}
	if (o->json)
		ret = ctl_json_print("clock", clock_json(&r));
	else
		clock_print_text(stdout, &r);
	if (!clock_usable(&r))
		ret = print_error(clock_problem(&r));
close_clock:
	tsct_clock_close(clock);
	return ret;
}

/* Opens the clock for each line, because a daemon may have started or ended. */
static int watch_once(const struct clock_options *o)
{
	struct tsct_clock *clock;
	struct clock_reading r;
	int error = tsct_clock_open(&clock);

	if (error)
		return print_error(strerror(-error));
	if (clock_read(clock, &r))
		print_unpublished(clock);
	else if (o->json)
		ctl_json_print_flags("clock", clock_json(&r),
				     JSON_COMPACT | JSON_REAL_PRECISION(15));
	else
		clock_print_row(&r);
	tsct_clock_close(clock);
	return fflush(stdout) ? EXIT_FAILED : EXIT_DONE;
}

/* Returns if standard output fails, otherwise never. */
static int watch(const struct clock_options *o)
{
	if (!o->json)
		clock_print_header();
	while (!watch_once(o))
		pause_ns((__s64)(o->watch_s * 1e9));
	return EXIT_FAILED;
}

/* ---- --wait-synced --------------------------------------------------------- */

/* Reads the clock into @r. Returns NULL if it is synchronized, else the reason. */
static const char *check_synced(const struct clock_options *o,
				struct clock_reading *r)
{
	static char why[128];

	if (clock_read(r->clock, r))
		return "nothing published yet";
	if (!clock_usable(r))
		return clock_problem(r);
	/* Only this process would benefit from waiting for an in-process clock. */
	if (!strcmp(tsct_clock_origin(r->clock), "in-process"))
		return "no daemon maintains a clock; start tsctraced";
	if (r->time.status != TSCT_STATUS_SYNCHRONIZED) {
		snprintf(why, sizeof(why), "the clock is %s",
			 tsct_status_name(r->time.status));
		return why;
	}
	if (!o->has_max_error || r->time.error_ns <= o->max_error_ns)
		return NULL;
	snprintf(why, sizeof(why), "the error bound is %llu ns, not %llu ns",
		 (unsigned long long)r->time.error_ns, o->max_error_ns);
	return why;
}

static int print_timeout(const struct clock_options *o,
			 const struct clock_reading *r, const char *why)
{
	fprintf(stderr, "trace-ctl clock: not synchronized within %g s: %s\n",
		o->wait_s, why);
	if (r->state.epoch || r->state.status)
		clock_print_text(stderr, r);
	return EXIT_FAILED;
}

/* Opens the clock anew, as --watch does. @last: time is up */
static int wait_once(const struct clock_options *o, bool last, bool *ret_done)
{
	struct clock_reading r = { 0 };
	struct tsct_clock *clock;
	const char *why;
	int ret = tsct_clock_open(&clock);

	*ret_done = true;
	if (ret)
		return print_error(strerror(-ret));
	r.clock = clock;
	why = check_synced(o, &r);
	if (!why)
		ret = o->json ? ctl_json_print("clock", clock_json(&r)) :
			EXIT_DONE;
	else if (last)
		ret = print_timeout(o, &r, why);
	else
		*ret_done = false;
	tsct_clock_close(clock);
	return ret;
}

static int wait_synced(const struct clock_options *o)
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

/* ---- --fake-disruption ------------------------------------------------------- */

static int fake_disruption(void)
{
	char *answer;
	size_t len;

	if (control_call("clock", "fake-disruption", &answer, &len))
		return EXIT_FAILED;
	answer[strcspn(answer, "\n")] = '\0';
	printf("tsctraced simulates a disruption of the clock: ");
	view_print_escaped(stdout, answer);
	printf("; it recalibrates the clock\n");
	free(answer);
	return EXIT_DONE;
}

/* ---- command line ---------------------------------------------------------- */

enum { OPTION_JSON = 0x100, OPTION_WAIT, OPTION_MAX_ERROR, OPTION_FAKE };

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0,
	  "print JSON; with --watch, one object per line", 0 },
	{ "watch", 'w', "SEC", OPTION_ARG_OPTIONAL,
	  "print a line every SEC seconds (default: 1), until interrupted", 0 },
	{ "wait-synced", OPTION_WAIT, "TIMEOUT", OPTION_ARG_OPTIONAL,
	  "wait up to TIMEOUT seconds (default: 60) until the clock is "
	  "synchronized, and print nothing", 0 },
	{ "max-error", OPTION_MAX_ERROR, "NS", 0,
	  "with --wait-synced: wait also for an error bound of up to NS "
	  "nanoseconds", 0 },
	{ "fake-disruption", OPTION_FAKE, NULL, 0,
	  "make tsctraced behave as if the clock had been disrupted (for tests; "
	  "root only)", 0 },
	{ 0 }
};

static double parse_seconds(struct argp_state *state, const char *arg,
			    double min)
{
	char *end;
	double s = strtod(arg, &end);

	if (end == arg || *end || !(s >= min) || s > 86400)
		argp_error(state, "'%s' is not a number of seconds from %g to"
			   " 86400", arg, min);
	return s;
}

static void parse_max_error(struct argp_state *state, const char *arg,
			    struct clock_options *o)
{
	char *end;

	errno = 0;
	o->max_error_ns = strtoull(arg, &end, 10);
	o->has_max_error = true;
	if (errno || *arg < '0' || *arg > '9' || *end || !o->max_error_ns)
		argp_error(state, "--max-error: '%s' is not a number of nanoseconds"
			   " above 0", arg);
}

static void check_options(struct argp_state *state, const struct clock_options *o)
{
	if (o->has_max_error && !o->wait)
		argp_error(state, "--max-error needs --wait-synced");
	if (o->wait && o->watch_s)
		argp_error(state, "--wait-synced and --watch exclude each other");
	if (o->fake && (o->wait || o->watch_s || o->json))
		argp_error(state, "--fake-disruption excludes all other options");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct clock_options *o = state->input;

	switch (key) {
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_FAKE:
		o->fake = true;
		return 0;
	case OPTION_WAIT:
		o->wait = true;
		o->wait_s = arg ? parse_seconds(state, arg, 0) : WAIT_S;
		return 0;
	case OPTION_MAX_ERROR:
		parse_max_error(state, arg, o);
		return 0;
	case 'w':
		o->watch_s = arg ? parse_seconds(state, arg, 0.01) : 1;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s' (--watch=SEC and"
			   " --wait-synced=TIMEOUT need the =)", arg);
		return 0;
	case ARGP_KEY_END:
		check_options(state, o);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show the time of day by the counter, its error bound and the "
	"clock's state."
	"\vExit status: 0: the time is valid (--wait-synced: and synchronized); "
	"1: no time, or the clock was disrupted (--wait-synced: timeout); 2: "
	"usage.",
};

int cmd_clock(int argc, char **argv)
{
	struct clock_options o = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.fake)
		return fake_disruption();
	if (o.wait)
		return wait_synced(&o);
	if (o.watch_s)
		return watch(&o);
	return print_once(&o);
}
