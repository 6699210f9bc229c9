// SPDX-License-Identifier: MIT
/* trace-ctl clock: the time, its error bound and the clock's state */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#include "lib/base/json.h"
#include "lib/base/table.h"
#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_source.h"
#include "lib/clockpage/clock_params.h"
#include "tools/common/cmd.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/view.h"

#define WAIT_S		60		/* default timeout of --wait-synced, s */
#define POLL_NS		50000000	/* time between readings of --wait-synced, ns */

struct clock_reading {
	const struct tsct_clock *clock;
	uint64_t cycles;
	struct tsct_clock_state state;
	struct tsct_time time;
	int error;		/* 0; or -errno: `time` could not be computed */
	/* frequency of the counter, cycles per us of CLOCK_MONOTONIC_RAW; 0: unknown */
	double mhz;
	struct tsct_utc utc;	/* bound of CLOCK_REALTIME to UTC */
	int utc_error;		/* result of tsct_clock_utc() */
	struct tsct_time cluster;	/* reading of cluster time */
	int cluster_error;		/* 0; or -errno: `cluster` could not be computed */
};

/* ---- reading ----------------------------------------------------------- */

/* Reads the clock. Returns 0, or -EAGAIN if no clock params were published yet. */
static int clock_read(const struct tsct_clock *clock, struct clock_reading *r)
{
	struct tsct_time_point point;
	uint64_t mult;
	int ret;

	memset(r, 0, sizeof(*r));
	r->clock = clock;
	ret = tsct_clock_snapshot(clock, &r->state);
	if (ret)
		return ret;
	tsct_clock_time_point(clock, &point);
	r->cycles = point.cycles;
	r->error = tsct_clock_cycles_to_time_on(clock, point.cycles, point.cpu,
					 &r->time);
	r->cluster_error = tsct_clock_cycles_to_cluster_time_on(clock, point.cycles,
						point.cpu, &r->cluster);
	r->utc_error = tsct_clock_utc(clock, &r->utc);
	mult = r->state.rate_mult ?: r->state.real.mult;
	r->mhz = mult ? (double)(1ULL << TSCT_CLOCK_SHIFT) * 1e3 / (double)mult : 0;
	return 0;
}

/* Returns true if the time is valid; otherwise clock_problem() returns the reason. */
static bool clock_usable(const struct clock_reading *r)
{
	return !r->error && r->time.status != TSCT_STATUS_DISRUPTED &&
	       r->time.status != TSCT_STATUS_UNKNOWN;
}

static const char *clock_problem(const struct clock_reading *r)
{
	if (r->error == -EXDEV)
		return "the CPUs' counters are skewed, and the skew of this CPU is "
			"unknown; see 'trace-ctl check'";
	if (r->error == -ESTALE || r->error == -EAGAIN)
		return "the clock was disrupted, no time is available; wait until "
			"the daemon has recalibrated it";
	if (r->error)
		return strerror(-r->error);
	return "the clock was disrupted, these times are not valid; wait until "
		"the daemon has recalibrated it";
}

/* ---- JSON -------------------------------------------------------------- */

/* Adds a time, as text such as "2026-08-01T12:34:56.123456789Z" and as ns since 1970. */
static void add_time(json_t *json, const char *text_key, const char *ns_key, int64_t ns)
{
	__s64 rest;
	time_t t = view_split_ns(ns, &rest);
	char date[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%FT%T", &tm);
	json_object_set_new(json, text_key, json_sprintf("%s.%09lldZ", date, (long long)rest));
	json_object_set_new(json, ns_key, json_integer(ns));
}

/* timeout of the request for the origin of cluster time, ns */
#define ORIGIN_TIMEOUT_NS	500000000LL

/* Returns the origin of cluster time: "master"; or, if the clock area has no master, by the node's
 * role, which is requested from the daemon: "ntp" (NTP servers) or "synced-cluster" (each node's
 * CLOCK_REALTIME); null: the daemon does not answer. */
static json_t *cluster_origin(const struct clock_reading *r)
{
	json_t *peers, *origin;
	const char *role;
	char *answer;

	if (r->state.cluster_master)
		return json_string("master");
	if (tsct_control_request(control_path(), "peers", tsct_monotonic_ns() + ORIGIN_TIMEOUT_NS,
				 &answer, NULL, NULL))
		return json_null();
	peers = json_loads(answer, 0, NULL);
	role = ctl_json_string(peers, "role");
	origin = !*role ? json_null() :
		json_string(strcmp(role, "synced-cluster") ? "ntp" : "synced-cluster");
	json_decref(peers);
	free(answer);
	return origin;
}

/* Returns the state of cluster time; JSON null if it was never published on this node. */
static json_t *cluster_json(const struct clock_reading *r)
{
	const struct tsct_clock_state *state = &r->state;
	json_t *json;

	if (state->cluster_status == TSCT_STATUS_UNKNOWN && !state->cluster.mult)
		return json_null();
	json = json_pack("{ss sI so sI so}",
			 "status", tsct_status_name(r->cluster_error ? state->cluster_status :
						    r->cluster.status),
			 "epoch", (json_int_t)state->cluster_epoch,
			 "master", !state->cluster_master ? json_null() :
			 json_sprintf("%016llx", (unsigned long long)state->cluster_master),
			 "timeline", (json_int_t)state->cluster_timeline,
			 "origin", cluster_origin(r));
	if (!json || r->cluster_error)
		return json;
	add_time(json, "time", "time_ns", r->cluster.ns);
	json_object_set_new(json, "error_ns", json_integer((json_int_t)r->cluster.error_ns));
	/* Cluster time minus CLOCK_REALTIME */
	if (!r->error)
		json_object_set_new(json, "offset_ns", json_integer((json_int_t)
				((uint64_t)r->cluster.ns - (uint64_t)r->time.ns)));
	return json;
}

static double seconds_since(const struct clock_reading *r, uint64_t cycles)
{
	return r->mhz ? (double)(int64_t)(r->cycles - cycles) / r->mhz / 1e6 : 0;
}

/* Adds the time at which the clock's current epoch began, and the epoch's age. */
static void add_epoch(json_t *json, const struct clock_reading *r)
{
	const double age_s = seconds_since(r, r->state.epoch_cycles);
	const int64_t now_ns = r->error ? tsct_gettime_ns(CLOCK_REALTIME) : r->time.ns;

	if (!r->state.epoch_cycles || !r->mhz || age_s < 0)
		return;
	add_time(json, "epoch_began", "epoch_began_ns", now_ns - (int64_t)(age_s * 1e9));
	json_object_set_new(json, "epoch_age_s", json_real(age_s));
}

/* Returns the growth of the time's error bound, ns/s: `growth` or, if an update of the clock params
 * is overdue, `holdover_growth`. */
static double growth_ppb(const struct clock_reading *r)
{
	const struct tsct_clock_params *real = &r->state.real;

	return (double)tsct_growth_ppb(real->mult, tsct_clock_params_status(real,
			TSCT_STATUS_SYNCHRONIZED, r->cycles) == TSCT_STATUS_SYNCHRONIZED ?
			real->growth : real->holdover_growth);
}

static json_t *clock_json(const struct clock_reading *r)
{
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX + 2];
	int nr = tsct_clock_segments(r->clock, segments, TSCT_SEGMENTS_MAX + 2);
	const bool has_params = r->state.real.mult;
	struct tsct_check check = { .nr = 0 };
	json_t *json;

	tsct_source_clocksource(&check);
	check.clocksource[sizeof(check.clocksource) - 1] = '\0';
	json = json_pack("{sI ss so sb ss sb sI ss so sf sf sf sf sI sf ss so so}",
		"stamp", (json_int_t)r->cycles,
		"source", tsct_source_name(r->state.source),
		"clocksource", ctl_json_text(check.clocksource),
		"skewed", !!(r->state.flags & TSCT_CLOCK_SKEWED),
		/* status of the time or, if the time could not be computed, of the clock */
		"status", tsct_status_name(r->error ? r->state.status : r->time.status),
		"usable", clock_usable(r),
		"epoch", (json_int_t)r->state.epoch,
		"cause", tsct_cause_name(r->state.cause),
		"disruptions", tsct_json_count(r->state.disruptions),
		"rate_mhz", r->mhz,
		"rate_error_ppb", (double)r->state.rate_error_ppt / 1e3,
		"error_growth_ppb", has_params ? growth_ppb(r) : 0,
		"age_s", has_params ? seconds_since(r, r->state.real.as_of_cycles) : 0,
		"segments", (json_int_t)(nr > 0 ? nr : 0),
		"segments_s", nr > 0 ? seconds_since(r, segments[0].base_cycles) : 0,
		"origin", tsct_clock_origin(r->clock),
		"why", ctl_json_text(tsct_clock_reason(r->clock)),
		"cluster", cluster_json(r));
	if (!json)
		return NULL;
	view_json_utc(json, &r->utc);
	add_epoch(json, r);
	if (r->error)
		return json;
	add_time(json, "time", "time_ns", r->time.ns);
	json_object_set_new(json, "error_ns", json_integer((json_int_t)r->time.error_ns));
	return json;
}

/* ---- text -------------------------------------------------------------- */

/* Formats an age, such as "12.3 s", "5 min", "3 h" or "4 d". Returns @text. */
static const char *format_age(double s, char *text, size_t size)
{
	if (s < 100)
		snprintf(text, size, "%.1f s", s);
	else if (s < 6000)
		snprintf(text, size, "%.0f min", s / 60);
	else if (s < 360000)
		snprintf(text, size, "%.0f h", s / 3600);
	else
		snprintf(text, size, "%.0f d", s / 86400);
	return text;
}

static json_int_t integer(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

static void print_cluster(FILE *to, const json_t *cluster)
{
	const char *origin = ctl_json_string(cluster, "origin");

	fprintf(to, "cluster   ");
	if (json_object_get(cluster, "time"))
		fprintf(to, "%s +- %lld ns, ", ctl_json_string(cluster, "time"),
			integer(cluster, "error_ns"));
	fprintf(to, "%s, epoch %lld", ctl_json_string(cluster, "status"),
		integer(cluster, "epoch"));
	if (!strcmp(origin, "master"))
		fprintf(to, ", master %s, timeline %lld", ctl_json_string(cluster, "master"),
			integer(cluster, "timeline"));
	else
		fputs(!*origin ? ", without a master" : !strcmp(origin, "ntp") ?
		      ", from NTP servers" :
		      ", CLOCK_REALTIME of each node (synced-cluster)", to);
	if (json_object_get(cluster, "offset_ns"))
		fprintf(to, "; offset from CLOCK_REALTIME %+lld ns",
			integer(cluster, "offset_ns"));
	fprintf(to, "\n");
}

static void clock_print_text(FILE *to, const struct clock_reading *r)
{
	json_t *json = clock_json(r), *cluster = json_object_get(json, "cluster");
	const char *source = ctl_json_string(json, "clocksource");
	const char *began = ctl_json_string(json, "epoch_began");
	char age[32], utc[128];

	fprintf(to, "cycles    %llu\n", (unsigned long long)r->cycles);
	if (!r->error)
		fprintf(to, "time      %s +- %llu ns\n", ctl_json_string(json, "time"),
			(unsigned long long)r->time.error_ns);
	view_utc_text(&r->utc, r->utc_error, utc, sizeof(utc));
	fprintf(to, "utc       %s\n", utc);
	fprintf(to, "source    %s%s; the kernel's clocksource is %s\n",
		ctl_json_string(json, "source"), r->state.flags & TSCT_CLOCK_SKEWED ?
		", corrected per CPU because the counters are skewed" : "",
		*source ? source : "unknown");
	fprintf(to, "status    %s\n", ctl_json_string(json, "status"));
	if (r->mhz > 0)
		fprintf(to, "rate      %.6f MHz +- %.3f ppb\n", r->mhz,
			ctl_json_number(json, "rate_error_ppb"));
	if (r->state.real.mult)
		fprintf(to, "age       %.3f s since the last sample, error bound grows by"
			" %.0f ns/s\n", ctl_json_number(json, "age_s"),
			ctl_json_number(json, "error_growth_ppb"));
	if (r->state.cause == TSCT_CAUSE_NONE)
		fprintf(to, "epoch     %u, the first", r->state.epoch);
	else
		fprintf(to, "epoch     %u, after %s", r->state.epoch,
			tsct_cause_name(r->state.cause));
	if (*began)
		/* Print whole seconds: the time of a disruption is known only to a second. */
		fprintf(to, ", since %.*sZ (%s)", (int)strcspn(began, "."), began,
			format_age(ctl_json_number(json, "epoch_age_s"), age, sizeof(age)));
	fprintf(to, "\n");
	if (json_is_object(cluster))
		print_cluster(to, cluster);
	if (integer(json, "segments"))
		fprintf(to, "segments  %lld, the oldest begins %s ago\n",
			integer(json, "segments"),
			format_age(ctl_json_number(json, "segments_s"), age, sizeof(age)));
	fprintf(to, "origin    %s (%s)\n", tsct_clock_origin(r->clock),
		tsct_clock_reason(r->clock));
	json_decref(json);
}

static const struct tsct_column columns[] = {
	TSCT_COLUMN("time", "time", -30), TSCT_COLUMN("+- ns", "error_ns", 12),
	TSCT_COLUMN("status", "status", -13), TSCT_COLUMN("epoch", "epoch", 5),
	TSCT_COLUMN("cause", "cause", -11), TSCT_COLUMN("MHz", "rate_mhz", 12, .decimals = 6),
	TSCT_COLUMN("+- ppb", "rate_error_ppb", 10, .decimals = 3),
	TSCT_COLUMN("age s", "age_s", 8, .decimals = 3), TSCT_COLUMN("origin", "origin", 0),
};

/* ---- the command -------------------------------------------------------- */

struct clock_options {
	bool json;
	/* time between lines of --watch, s; 0: print the clock once */
	double watch_s;
	bool fake;		/* option --fake-disruption */
	bool wait;		/* option --wait-synced */
	double wait_s;		/* timeout of --wait-synced, s */
	__u64 max_error_ns;	/* value of --max-error, ns; 0: no limit */
};

static void pause_ns(__s64 ns)
{
	const struct timespec pause = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	nanosleep(&pause, NULL);
}

/*
 * Prints the clock once, or one line of --watch. Opens the clock anew for each line,
 * because a daemon may have started or ended since the previous line.
 */
static int print_clock(const struct clock_options *o)
{
	const struct tsct_table table = TSCT_TABLE(stdout, columns);
	struct tsct_clock *clock;
	struct clock_reading r;
	int ret = tsct_clock_open(&clock);
	json_t *json;

	if (ret)
		return ctl_fail(EXIT_FAILED, "%s", strerror(-ret));
	if (clock_read(clock, &r)) {
		ctl_error("%s: no clock params published yet; try"
			" again in a second", tsct_clock_origin(clock));
		ret = o->watch_s ? EXIT_DONE : EXIT_FAILED;
	} else if (o->watch_s) {
		json = clock_json(&r);
		if (o->json)
			ctl_json_print_as(json_incref(json), TSCT_JSON_LINE);
		else
			tsct_table_row(&table, json);
		json_decref(json);
	} else {
		if (o->json)
			ret = ctl_json_print(clock_json(&r));
		else
			clock_print_text(stdout, &r);
		if (!clock_usable(&r))
			ret = ctl_fail(EXIT_FAILED, "%s", clock_problem(&r));
	}
	tsct_clock_close(clock);
	return ret;
}

/* Reads the clock into @r. Returns NULL, or the reason why the clock is not synchronized. */
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

/* Waits until the clock is synchronized. Opens the clock anew for each reading, because a daemon
 * may have started or ended since the previous one. */
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
			return ctl_fail(EXIT_FAILED, "%s", strerror(-ret));
		r = (struct clock_reading) { .clock = clock };
		why = check_synced(o, &r);
		if (!why && o->json)
			ret = ctl_json_print(clock_json(&r));
		if (why && left <= 0) {
			ctl_error("clock not synchronized within %g"
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
	view_print_escaped(stdout, "tsctraced simulates a disruption of the clock: ", answer,
			   "; the daemon recalibrates the clock\n");
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
	  "make tsctraced behave as if the clock had been disrupted (for tests; only for "
	  "root and the user who runs it)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct clock_options *o = state->input;

	switch (key) {
	case OPTION_WAIT:
		o->wait = true;
		o->wait_s = arg ? option_seconds(state, "--wait-synced", arg, 0, WAIT_MAX) :
			WAIT_S;
		break;
	case OPTION_MAX_ERROR:
		if (!tsct_digits_read_all(arg, UINT64_MAX, &o->max_error_ns) || !o->max_error_ns)
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
	const struct tsct_table table = TSCT_TABLE(stdout, columns);
	struct clock_options o = { 0 };

	options_parse(&argp, argc, argv, 0, &o);
	if (o.fake)
		return fake_disruption();
	if (o.wait)
		return wait_synced(&o);
	if (!o.watch_s)
		return print_clock(&o);
	if (!o.json)
		tsct_table_head(&table);
	while (!print_clock(&o) && !fflush(stdout))
		pause_ns((__s64)(o.watch_s * 1e9));
	return EXIT_FAILED;
}

COMMAND(80, clock, "show the time, its error bound and the clock's state");
