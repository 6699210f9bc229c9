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

#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/core/clock_params.h"
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
	/* cycles of the counter per us of CLOCK_MONOTONIC_RAW; 0: unknown */
	double mhz;
	double error_ppb;	/* error bound of mhz, parts per billion */
	double growth_ppb;	/* growth of the time's error bound, ns/s */
	double age_s;		/* time since the clock's last sample, s */
	double epoch_age_s;	/* time since the epoch began, s; negative: unknown */
	int64_t epoch_ns;	/* time when the clock's current epoch began, in ns
				 * since 1970-01-01 00:00 UTC */
	unsigned int segments;	/* number of clock segments, past and present */
	double segments_s;	/* time since the oldest clock segment began, s */
	char clocksource[32];	/* name of the kernel's clocksource; "": unknown */
	struct tsct_utc utc;	/* bound of CLOCK_REALTIME to UTC */
	int utc_error;		/* result of tsct_clock_utc() */
	struct tsct_time cluster;	/* reading of cluster time */
	int cluster_error;		/* 0; or -errno: `cluster` could not be computed */
};

/* ---- reading ----------------------------------------------------------- */

static double seconds_since(const struct clock_reading *r, uint64_t cycles)
{
	return (double)(int64_t)(r->cycles - cycles) / r->mhz / 1e6;
}

static void read_rate(struct clock_reading *r)
{
	const struct tsct_clock_state *state = &r->state;
	const struct tsct_clock_params *real = &state->real;
	uint64_t mult = state->rate_mult ? state->rate_mult : real->mult;
	bool holdover;

	r->mhz = mult ? (double)(1ULL << TSCT_CLOCK_SHIFT) * 1e3 /
		(double)mult : 0;
	r->error_ppb = (double)state->rate_error_ppt / 1e3;
	if (!real->mult)
		return;
	/* Holdover: the clock params are overdue for an update. */
	holdover = (int64_t)(r->cycles - real->holdover_after_cycles) > 0;
	r->growth_ppb = (double)tsct_growth_ppb(real->mult, holdover ?
			real->holdover_growth : real->growth);
	r->age_s = seconds_since(r, real->as_of_cycles);
}

/* Reads the clock. Returns 0, or -EAGAIN if no clock params were published yet. */
static int clock_read(const struct tsct_clock *clock, struct clock_reading *r)
{
	struct tsct_clock_segment segments[TSCT_SEGMENTS_MAX + 2];
	struct tsct_check check = { .nr = 0 };
	struct tsct_time_point point;
	struct timespec now;
	int64_t now_ns;
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
	read_rate(r);
	r->epoch_age_s = -1;
	if (r->state.epoch_cycles && r->mhz) {
		clock_gettime(CLOCK_REALTIME, &now);
		now_ns = r->error ? now.tv_sec * 1000000000LL + now.tv_nsec : r->time.ns;
		r->epoch_age_s = seconds_since(r, r->state.epoch_cycles);
		r->epoch_ns = now_ns - (int64_t)(r->epoch_age_s * 1e9);
	}
	ret = tsct_clock_segments(clock, segments, TSCT_SEGMENTS_MAX + 2);
	if (ret > 0) {
		r->segments = ret;
		r->segments_s = r->mhz ? seconds_since(r, segments[0].base_cycles) : 0;
	}
	tsct_source_clocksource(&check);
	memcpy(r->clocksource, check.clocksource, sizeof(r->clocksource));
	r->clocksource[sizeof(r->clocksource) - 1] = '\0';
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

/* ---- text -------------------------------------------------------------- */

/* Formats a time, such as "2026-08-01T12:34:56.123456789Z". */
static void format_utc(int64_t ns, char *text, size_t size)
{
	__s64 rest;
	time_t t = view_split_ns(ns, &rest);
	char date[40] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(date, sizeof(date), "%FT%T", &tm);
	snprintf(text, size, "%s.%09lldZ", date, (long long)rest);
}

/* Formats an age, such as "12.3 s", "5 min", "3 h" or "4 d". */
static void format_age(double s, char *text, size_t size)
{
	if (s < 100)
		snprintf(text, size, "%.1f s", s);
	else if (s < 6000)
		snprintf(text, size, "%.0f min", s / 60);
	else if (s < 360000)
		snprintf(text, size, "%.0f h", s / 3600);
	else
		snprintf(text, size, "%.0f d", s / 86400);
}

/* Returns true if cluster time was ever published on this node. */
static bool has_cluster(const struct clock_reading *r)
{
	return r->state.cluster_status != TSCT_STATUS_UNKNOWN ||
		r->state.cluster.mult;
}

/* Returns the status of the time or, if the time could not be computed, of the clock. */
static const char *time_status(const struct clock_reading *r)
{
	return tsct_status_name(r->error ? r->state.status : r->time.status);
}

static const char *cluster_status(const struct clock_reading *r)
{
	return tsct_status_name(r->cluster_error ? r->state.cluster_status :
				r->cluster.status);
}

/* Origin of cluster time */
enum cluster_origin {
	CLUSTER_UNKNOWN,	/* no master, and the daemon does not answer */
	CLUSTER_MASTER,
	CLUSTER_NTP,		/* NTP servers */
	CLUSTER_SYNCED,		/* each node's CLOCK_REALTIME (role synced-cluster) */
};

/* timeout of the request for the origin of cluster time, ns */
#define ORIGIN_TIMEOUT_NS	500000000LL

/* Returns the origin of cluster time. The clock area has only the master's id: if that is 0,
 * this function requests the node's role from the daemon. */
static enum cluster_origin cluster_origin(const struct clock_reading *r)
{
	enum cluster_origin origin = CLUSTER_UNKNOWN;
	const char *role;
	char *answer;
	json_t *peers;
	size_t len;

	if (r->state.cluster_master)
		return CLUSTER_MASTER;
	if (tsct_control_request_until(control_path(), "peers", tsct_monotonic_ns() +
				       ORIGIN_TIMEOUT_NS, &answer, &len))
		return CLUSTER_UNKNOWN;
	peers = json_loads(answer, 0, NULL);
	role = ctl_json_string(peers, "role");
	if (!strcmp(role, "synced-cluster"))
		origin = CLUSTER_SYNCED;
	else if (*role)
		origin = CLUSTER_NTP;
	json_decref(peers);
	free(answer);
	return origin;
}

/* Returns cluster time minus CLOCK_REALTIME, ns. */
static int64_t cluster_offset_ns(const struct clock_reading *r)
{
	return (int64_t)((uint64_t)r->cluster.ns - (uint64_t)r->time.ns);
}

static void print_cluster(FILE *to, const struct clock_reading *r)
{
	static const char *const origins[] = {
		[CLUSTER_UNKNOWN] = ", without a master",
		[CLUSTER_NTP] = ", from NTP servers",
		[CLUSTER_SYNCED] = ", CLOCK_REALTIME of each node (synced-cluster)",
	};
	char utc[64];

	fprintf(to, "cluster   ");
	if (!r->cluster_error) {
		format_utc(r->cluster.ns, utc, sizeof(utc));
		fprintf(to, "%s +- %llu ns, ", utc,
			(unsigned long long)r->cluster.error_ns);
	}
	fprintf(to, "%s, epoch %u", cluster_status(r), r->state.cluster_epoch);
	if (r->state.cluster_master)
		fprintf(to, ", master %016llx, timeline %u",
			(unsigned long long)r->state.cluster_master,
			r->state.cluster_timeline);
	else
		fputs(origins[cluster_origin(r)], to);
	if (!r->cluster_error && !r->error)
		fprintf(to, "; offset from CLOCK_REALTIME %+lld ns",
			(long long)cluster_offset_ns(r));
	fprintf(to, "\n");
}

static void clock_print_text(FILE *to, const struct clock_reading *r)
{
	char text[64], age[32], utc[128];

	fprintf(to, "cycles    %llu\n", (unsigned long long)r->cycles);
	if (!r->error) {
		format_utc(r->time.ns, text, sizeof(text));
		fprintf(to, "time      %s +- %llu ns\n", text,
			(unsigned long long)r->time.error_ns);
	}
	view_utc_text(&r->utc, r->utc_error, utc, sizeof(utc));
	fprintf(to, "utc       %s\n", utc);
	fprintf(to, "source    %s%s; the kernel's clocksource is %s\n",
		tsct_source_name(r->state.source),
		r->state.flags & TSCT_CLOCK_SKEWED ?
		", corrected per CPU because the counters are skewed" : "",
		*r->clocksource ? r->clocksource : "unknown");
	fprintf(to, "status    %s\n", time_status(r));
	if (r->mhz > 0)
		fprintf(to, "rate      %.6f MHz +- %.3f ppb\n", r->mhz,
			r->error_ppb);
	if (r->state.real.mult)
		fprintf(to, "age       %.3f s since the last sample, error bound grows by"
			" %.0f ns/s\n",
			r->age_s, r->growth_ppb);
	if (r->state.cause == TSCT_CAUSE_NONE)
		fprintf(to, "epoch     %u, the first", r->state.epoch);
	else
		fprintf(to, "epoch     %u, after %s", r->state.epoch,
			tsct_cause_name(r->state.cause));
	if (r->epoch_age_s >= 0) {
		/* Print whole seconds: the time of a disruption is not known more exactly. */
		format_utc(r->epoch_ns, text, sizeof(text));
		format_age(r->epoch_age_s, age, sizeof(age));
		fprintf(to, ", since %.*sZ (%s)", (int)strcspn(text, "."), text, age);
	}
	fprintf(to, "\n");
	if (has_cluster(r))
		print_cluster(to, r);
	if (r->segments) {
		format_age(r->segments_s, age, sizeof(age));
		fprintf(to, "segments  %u, the oldest begins %s ago\n", r->segments,
			age);
	}
	fprintf(to, "origin    %s (%s)\n", tsct_clock_origin(r->clock),
		tsct_clock_reason(r->clock));
}

static void clock_print_header(void)
{
	printf("%-30s %12s %-13s %5s %-11s %12s %10s %8s %s\n", "time", "+- ns",
	       "status", "epoch", "cause", "MHz", "+- ppb", "age s", "origin");
}

static void clock_print_row(const struct clock_reading *r)
{
	char utc[64] = "-", bound[24] = "-";

	if (!r->error) {
		format_utc(r->time.ns, utc, sizeof(utc));
		snprintf(bound, sizeof(bound), "%llu",
			 (unsigned long long)r->time.error_ns);
	}
	printf("%-30s %12s %-13s %5u %-11s %12.6f %10.3f %8.3f %s\n", utc,
	       bound, time_status(r), r->state.epoch,
	       tsct_cause_name(r->state.cause), r->mhz, r->error_ppb, r->age_s,
	       tsct_clock_origin(r->clock));
}

/* ---- JSON -------------------------------------------------------------- */

static void add_time(json_t *json, const char *text_key, const char *ns_key,
		     int64_t ns)
{
	char utc[64];

	format_utc(ns, utc, sizeof(utc));
	json_object_set_new(json, text_key, json_string(utc));
	json_object_set_new(json, ns_key, json_integer(ns));
}

/* Names of the origins of cluster time in JSON; NULL: JSON null */
static const char *const origin_names[] = {
	[CLUSTER_MASTER] = "master", [CLUSTER_NTP] = "ntp",
	[CLUSTER_SYNCED] = "synced-cluster",
};

/* Returns the state of cluster time; JSON null if it was never published on this node. */
static json_t *cluster_json(const struct clock_reading *r)
{
	char master[24];
	json_t *json;

	if (!has_cluster(r))
		return json_null();
	snprintf(master, sizeof(master), "%016llx",
		 (unsigned long long)r->state.cluster_master);
	json = json_pack("{s:s, s:I, s:s?, s:I, s:s?}",
			 "status", cluster_status(r),
			 "epoch", (json_int_t)r->state.cluster_epoch,
			 "master", r->state.cluster_master ? master : NULL,
			 "timeline", (json_int_t)r->state.cluster_timeline,
			 "origin", origin_names[cluster_origin(r)]);
	if (!json || r->cluster_error)
		return json;
	add_time(json, "time", "time_ns", r->cluster.ns);
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->cluster.error_ns));
	if (!r->error)
		json_object_set_new(json, "offset_ns",
				    json_integer(cluster_offset_ns(r)));
	return json;
}

static json_t *clock_json(const struct clock_reading *r)
{
	json_t *json = json_pack(
		"{s:I, s:s, s:o, s:b, s:s, s:b, s:I, s:s, s:f, s:f, s:f, s:f,"
		" s:I, s:f, s:s, s:o, s:o}",
		"stamp", (json_int_t)r->cycles,
		"source", tsct_source_name(r->state.source),
		"clocksource", ctl_json_text(r->clocksource),
		"skewed", !!(r->state.flags & TSCT_CLOCK_SKEWED),
		"status", time_status(r),
		"usable", clock_usable(r),
		"epoch", (json_int_t)r->state.epoch,
		"cause", tsct_cause_name(r->state.cause),
		"rate_mhz", r->mhz,
		"rate_error_ppb", r->error_ppb,
		"error_growth_ppb", r->growth_ppb,
		"age_s", r->age_s,
		"segments", (json_int_t)r->segments,
		"segments_s", r->segments_s,
		"origin", tsct_clock_origin(r->clock),
		"why", ctl_json_text(tsct_clock_reason(r->clock)),
		"cluster", cluster_json(r));

	if (!json)
		return NULL;
	view_json_utc(json, &r->utc);
	if (r->epoch_age_s >= 0) {
		add_time(json, "epoch_began", "epoch_began_ns", r->epoch_ns);
		json_object_set_new(json, "epoch_age_s",
				    json_real(r->epoch_age_s));
	}
	if (r->error)
		return json;
	add_time(json, "time", "time_ns", r->time.ns);
	json_object_set_new(json, "error_ns",
			    json_integer((json_int_t)r->time.error_ns));
	return json;
}

/* ---- the command -------------------------------------------------------- */

struct clock_options {
	bool json;
	/* time between lines of --watch, s; 0: print the clock once */
	double watch_s;
	bool fake;		/* option --fake-disruption */
	bool wait;		/* option --wait-synced */
	double wait_s;		/* timeout of --wait-synced, s */
	unsigned long long max_error_ns;	/* value of --max-error, ns; 0: any */
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
