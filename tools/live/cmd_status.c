// SPDX-License-Identifier: MIT
/* trace-ctl status: shows the providers, the clock and the channels, and which parts are missing */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/error.h"
#include "tools/common/options.h"
#include "tools/common/view.h"
#include "lib/clock/clock_source.h"
#include "tools/common/prerequisites.h"
#include "tools/common/cmd.h"
#include "tools/common/channel_view.h"
#include "tools/common/control.h"
#include "tools/common/json.h"

struct status_report {
	bool json, metrics, per_cpu;	/* command line options */
	struct channel_list channels;
	const char *chosen;		/* provider that a program uses if it starts now */
	char chosen_why[256];		/* reason why no provider is usable, or "" */
	/* name of the counter that time stamps are read from, and the reason for its use */
	char source_why[256];
	/* reasons why kernel events are unavailable, or are recorded without the module; or NULL */
	const char *kernel_why, *module_why;
	/* path of the socket of a recorder that has a flight recorder of kernel events, or "" */
	char recorder[512];
	const char *clock_origin;
	const char *clock_why;		/* reason why this clock is used */
	bool clock_known;
	struct tsct_clock_state clock;	/* state of the clock, valid if clock_known */
	struct tsct_time now;		/* the current time, valid if now_error is 0 */
	int now_error;
	struct tsct_utc utc;		/* bound of CLOCK_REALTIME to UTC */
	int utc_error;			/* result of tsct_clock_utc() */
};

/* ---- text -------------------------------------------------------------- */

static void print_provider(const char *name, const struct provider_connection *p)
{
	const char *error = provider_error(p);
	char now[16], max[16], user[16];

	if (!p->answers) {
		printf("%-14s no: %s\n", name,
		       *error ? error : "no answer");
		return;
	}
	printf("%-14s yes, version %s%s; channels use %s of %s, at most %s per user\n", name,
	       p->info.version, p->info.features & TSCT_FEATURE_KFUNC ? ", kfunc" : "",
	       channel_view_bytes(p->info.bytes, now, sizeof(now)),
	       channel_view_bytes(p->info.bytes_max, max, sizeof(max)),
	       channel_view_bytes(p->info.bytes_user_max, user, sizeof(user)));
}

static void print_clock(const struct status_report *s)
{
	char utc[128];

	printf("%-14s ", "clock");
	if (!s->clock_known) {
		printf("no clock params published yet");
	} else {
		printf("%s, epoch %u", tsct_status_name(s->clock.status),
		       s->clock.epoch);
		if (s->clock.cause != TSCT_CAUSE_NONE)
			printf(" (after %s)", tsct_cause_name(s->clock.cause));
		if (s->now_error)
			printf("; no current time");
		else
			printf(", source %s, +- %" PRIu64 " ns",
			       tsct_source_name(s->clock.source), s->now.error_ns);
	}
	printf("; from %s (%s)\n", s->clock_origin, s->clock_why);
	view_utc_text(&s->utc, s->utc_error, utc, sizeof(utc));
	printf("%-14s %s\n", "utc", utc);
}

static void print_text(struct status_report *s)
{
	const struct provider_connection *providers = s->channels.providers;
	json_t *channels;

	print_provider("module", &providers[CHANNEL_PROVIDER_MODULE]);
	print_provider("daemon", &providers[CHANNEL_PROVIDER_DAEMON]);
	if (providers[CHANNEL_PROVIDER_EMBEDDED].answers)
		print_provider("embedded", &providers[CHANNEL_PROVIDER_EMBEDDED]);
	else
		printf("%-14s yes: programs started by 'trace-ctl record'"
		       " need neither module nor daemon\n", "embedded");
	printf("%-14s %s%s%s\n", "programs use", s->chosen,
	       *s->chosen_why ? ": " : "", s->chosen_why);
	printf("%-14s %s\n", "time stamps", s->source_why);
	print_clock(s);
	printf("%-14s %s%s\n", "kernel events", s->kernel_why ? "no: " :
	       s->module_why ? "yes, without the module: " : "yes, by the module",
	       s->kernel_why ?: s->module_why ?: "");
	if (*s->recorder)
		printf("%-14s has kernel events, in rings of its own at %s; 'trace-ctl snapshot'"
		       " copies them\n", "record -f", s->recorder);
	if (!s->channels.nr) {
		printf("%-14s none\n", "channels");
		return;
	}
	putchar('\n');
	channels = channel_view_list(&s->channels, true);
	channel_view_print(channels, !s->per_cpu);
	json_decref(channels);
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_provider(const struct provider_connection *p)
{
	if (!p->answers)
		return json_pack("{s:b, s:o}", "present", 0, "why",
				 ctl_json_text(provider_error(p)));
	return json_pack("{s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:s}",
		"present", 1, "version", ctl_json_text(p->info.version),
		"features", p->info.features & TSCT_FEATURE_KFUNC ?
		json_pack("[s]", "kfunc") : json_array(),
		"channels", (json_int_t)p->info.channels,
		"bytes", (json_int_t)p->info.bytes,
		"bytes_max", (json_int_t)p->info.bytes_max,
		"bytes_user_max", (json_int_t)p->info.bytes_user_max,
		"source", tsct_source_name(p->info.source));
}

static json_t *json_clock(const struct status_report *s)
{
	json_t *json = json_pack("{s:s, s:o, s:b}", "origin", s->clock_origin,
		"why", ctl_json_text(s->clock_why),
		"published", s->clock_known);

	view_json_utc(json, &s->utc);
	if (!s->clock_known)
		return json;
	json_object_update_new(json, json_pack("{s:s, s:I, s:s, s:s}",
		"status", tsct_status_name(s->clock.status),
		"epoch", (json_int_t)s->clock.epoch,
		"cause", tsct_cause_name(s->clock.cause),
		"source", tsct_source_name(s->clock.source)));
	if (!s->now_error)
		json_object_set_new(json, "error_ns", json_integer(
				(json_int_t)s->now.error_ns));
	return json;
}

static json_t *make_json(struct status_report *s)
{
	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:{s:b, s:s, s:o}, s:o}",
		"version", tsct_version(),
		"module", json_provider(&s->channels.providers[CHANNEL_PROVIDER_MODULE]),
		"daemon", json_provider(&s->channels.providers[CHANNEL_PROVIDER_DAEMON]),
		"programs_use", s->chosen,
		"programs_use_why", ctl_json_text(s->chosen_why),
		"stamps", ctl_json_text(s->source_why),
		"clock", json_clock(s),
		"kernel_events", "available", !s->kernel_why,
			"why", s->kernel_why ?: s->module_why ?: "",
			"recorder", *s->recorder ? ctl_json_text(s->recorder) : json_null(),
		"channels", channel_view_list(&s->channels, true));
}

/* ---- reading ----------------------------------------------------------- */

static void read_status(struct status_report *s, const struct tsct_clock *clock)
{
	const char *only = getenv("TSCTRACE_PROVIDER");
	int provider;

	channel_list_open(&s->channels, true);
	channel_list_read(&s->channels);
	tsct_source_choose(s->source_why, sizeof(s->source_why));
	channel_find_recorders(s->recorder, sizeof(s->recorder));
	s->kernel_why = prerequisites_check ? prerequisites_check() : TSCT_WING_MISSING("kernel");
	s->module_why = s->kernel_why ? NULL : prerequisites_check_module(NULL, 0);
	s->clock_origin = tsct_clock_origin(clock);
	s->clock_why = tsct_clock_reason(clock);
	s->clock_known = !tsct_clock_snapshot(clock, &s->clock);
	s->now_error = tsct_clock_cycles_to_time(clock, tsct_clock_cycles(clock),
					  &s->now);
	s->utc_error = tsct_clock_utc(clock, &s->utc);
	provider = channel_list_default(&s->channels);
	s->chosen = provider < 0 ? "none" : channel_provider_names[provider];
	if (provider < 0 && only && *only)
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "$TSCTRACE_PROVIDER is '%s', which is not available;"
			 " unset it", only);
	else if (provider < 0)
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "no module and no daemon; start tsctraced, or run "
			 "programs under trace-ctl record");
}

/* ---- command line ------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "json", OPTION_FLAG(struct status_report, json), NULL, 0, "print JSON", 0 },
	{ "per-cpu", 'p', NULL, 0, "show each CPU's ring below its channel "
	  "(default: only CPUs that lost events)", 0 },
	{ "metrics", OPTION_FLAG(struct status_report, metrics), NULL, 0,
	  "print the daemon's metrics in the format of Prometheus", 0 },
	{ 0 }
};

static error_t parse(int key, char *, struct argp_state *state)
{
	struct status_report *s = state->input;

	switch (key) {
	case 'p': s->per_cpu = true; break;
	case ARGP_KEY_END:
		if (s->json && s->metrics)
			argp_error(state, "--metrics and --json exclude each "
				   "other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show module, daemon, clock and channels, and what is missing."
	"\vRoot sees the channels of all users, others only their own.",
};

static int cmd_status(int argc, char **argv)
{
	struct status_report s = { 0 };
	struct tsct_clock *clock;
	int ret = EXIT_DONE, err;
	char *metrics;
	size_t len;

	options_parse(&argp, argc, argv, 0, &s);
	/* The daemon's answer to "metrics" already has the format of Prometheus. */
	if (s.metrics) {
		if (control_call("metrics", &metrics, &len))
			return EXIT_FAILED;
		fwrite(metrics, 1, len, stdout);
		free(metrics);
		return EXIT_DONE;
	}
	err = tsct_clock_open(&clock);
	if (err)
		return ctl_fail(EXIT_FAILED, "%s", strerror(-err));
	read_status(&s, clock);
	if (s.json)
		ret = ctl_json_print(make_json(&s));
	else
		print_text(&s);
	channel_list_close(&s.channels);
	tsct_clock_close(clock);
	return ret;
}

COMMAND(10, status,
	"show module, daemon, clock and channels, and what is missing");
