// SPDX-License-Identifier: MIT
/* trace-ctl status: providers, clock and channels, and what is missing */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_view.h"
#include "lib/clock/clock_sample.h"
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "tools/bpf/kernel_source.h"
#include "tools/common/cmd.h"
#include "tools/common/channels.h"
#include "tools/common/control.h"
#include "tools/common/json.h"

struct status_report {
	struct channel_list channels;
	bool per_cpu;
	enum tsct_provider chosen;	/* for a program that starts now */
	char chosen_why[256];		/* if none: the reason; else "" */
	char source_why[256];		/* "tsc: the kernel keeps time by it" */
	char kernel_why[512];		/* no kernel events: the reason; else "" */
	const char *clock_origin;
	const char *clock_why;
	bool clock_known;
	struct tsct_clock_state clock;	/* if clock_known */
	struct tsct_time now;		/* if not now_error */
	int now_error;
};

static const struct {
	const char *name;
	__u64 bit;
} features[] = {
	{ "kfunc", TSCT_FEATURE_KFUNC },
};
#define NR_FEATURES	(sizeof(features) / sizeof(features[0]))

/* ---- text -------------------------------------------------------------- */

static void print_provider(const char *name, const struct provider_connection *p)
{
	const char *error = provider_error(p);
	char now[16], max[16], user[16];
	size_t i;

	if (!p->answers) {
		printf("%-14s no: %s\n", name,
		       *error ? error : "no answer");
		return;
	}
	printf("%-14s yes, version %s", name, p->info.version);
	for (i = 0; i < NR_FEATURES; i++)
		if (p->info.features & features[i].bit)
			printf(", %s", features[i].name);
	printf("; %s of %s in use, %s per user\n",
	       channel_view_bytes(p->info.bytes, now, sizeof(now)),
	       channel_view_bytes(p->info.bytes_max, max, sizeof(max)),
	       channel_view_bytes(p->info.bytes_user_max, user, sizeof(user)));
}

static void print_clock_state(const struct status_report *s)
{
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

static void print_clock(const struct status_report *s)
{
	printf("%-14s ", "clock");
	if (!s->clock_known)
		printf("nothing published yet");
	else
		print_clock_state(s);
	printf("; from %s (%s)\n", s->clock_origin, s->clock_why);
}

static void print_text(struct status_report *s)
{
	size_t i;

	print_provider("module", &s->channels.providers[CHANNEL_PROVIDER_MODULE]);
	print_provider("daemon", &s->channels.providers[CHANNEL_PROVIDER_DAEMON]);
	if (s->channels.providers[CHANNEL_PROVIDER_EMBEDDED].answers)
		print_provider("embedded",
			       &s->channels.providers[CHANNEL_PROVIDER_EMBEDDED]);
	else
		printf("%-14s yes: in trace-ctl record, without module and"
		       " daemon\n", "embedded");
	printf("%-14s %s%s%s\n", "programs use", tsct_provider_name(s->chosen),
	       *s->chosen_why ? ": " : "", s->chosen_why);
	printf("%-14s %s\n", "time stamps", s->source_why);
	print_clock(s);
	printf("%-14s %s%s\n", "kernel events", *s->kernel_why ? "no: " : "yes",
	       s->kernel_why);
	if (!s->channels.nr) {
		printf("%-14s none\n", "channels");
		return;
	}
	putchar('\n');
	channel_view_header(stdout);
	for (i = 0; i < s->channels.nr; i++) {
		channel_view_row(stdout, &s->channels.at[i]);
		channel_view_cpus(stdout, &s->channels, &s->channels.at[i],
				  !s->per_cpu);
	}
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_provider(const struct provider_connection *p)
{
	json_t *list;
	size_t i;

	if (!p->answers)
		return json_pack("{s:b, s:o}", "present", 0, "why",
				 ctl_json_text(provider_error(p)));
	list = json_array();
	for (i = 0; i < NR_FEATURES; i++)
		if (p->info.features & features[i].bit)
			json_array_append_new(list,
					      json_string(features[i].name));
	return json_pack("{s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:s}",
		"present", 1, "version", ctl_json_text(p->info.version),
		"features", list, "channels", (json_int_t)p->info.channels,
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

	if (!json || !s->clock_known)
		return json;
	json_object_set_new(json, "status",
			json_string(tsct_status_name(s->clock.status)));
	json_object_set_new(json, "epoch", json_integer(s->clock.epoch));
	json_object_set_new(json, "cause",
			json_string(tsct_cause_name(s->clock.cause)));
	json_object_set_new(json, "source",
			json_string(tsct_source_name(s->clock.source)));
	if (!s->now_error)
		json_object_set_new(json, "error_ns", json_integer(
				(json_int_t)s->now.error_ns));
	return json;
}

static json_t *make_json(struct status_report *s)
{
	json_t *channels = json_array();
	size_t i;

	for (i = 0; i < s->channels.nr; i++)
		json_array_append_new(channels, channel_view_json(&s->channels,
						&s->channels.at[i]));
	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:{s:b, s:s}, s:o}",
		"version", tsct_version(),
		"module", json_provider(&s->channels.providers[CHANNEL_PROVIDER_MODULE]),
		"daemon", json_provider(&s->channels.providers[CHANNEL_PROVIDER_DAEMON]),
		"programs_use", tsct_provider_name(s->chosen),
		"programs_use_why", ctl_json_text(s->chosen_why),
		"stamps", ctl_json_text(s->source_why),
		"clock", json_clock(s),
		"kernel_events", "available", !*s->kernel_why,
			"why", s->kernel_why,
		"channels", channels);
}

/* ---- reading ----------------------------------------------------------- */

static void read_clock(struct status_report *s, const struct tsct_clock *clock)
{
	s->clock_origin = tsct_clock_origin(clock);
	s->clock_why = tsct_clock_reason(clock);
	s->clock_known = !tsct_clock_snapshot(clock, &s->clock);
	s->now_error = tsct_clock_cycles_to_time(clock, tsct_clock_cycles(clock),
					  &s->now);
}

static enum tsct_provider default_provider(const struct status_report *s)
{
	static const enum tsct_provider providers[] = {
		[CHANNEL_PROVIDER_EMBEDDED] = TSCT_PROVIDER_EMBEDDED,
		[CHANNEL_PROVIDER_MODULE] = TSCT_PROVIDER_MODULE,
		[CHANNEL_PROVIDER_DAEMON] = TSCT_PROVIDER_DAEMON,
	};
	const int first = channel_list_default(&s->channels);

	return first < 0 ? TSCT_PROVIDER_NONE : providers[first];
}

static void read_default_provider(struct status_report *s)
{
	const char *only = getenv("TSCTRACE_PROVIDER");

	s->chosen = default_provider(s);
	if (s->chosen != TSCT_PROVIDER_NONE)
		return;
	if (only && *only)
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "$TSCTRACE_PROVIDER is '%s'; unset it", only);
	else
		snprintf(s->chosen_why, sizeof(s->chosen_why),
			 "no module and no daemon; start tsctraced, or run "
			 "programs under trace-ctl record");
}

static void read_status(struct status_report *s, const struct tsct_clock *clock)
{
	channel_list_open(&s->channels, true);
	channel_list_read(&s->channels, "status");
	tsct_source_choose(tsct_tsc_check_run, s->source_why, sizeof(s->source_why));
	kernel_source_ready(s->kernel_why, sizeof(s->kernel_why));
	read_clock(s, clock);
	read_default_provider(s);
}

/* ---- metrics ----------------------------------------------------------- */

/* The daemon's answer is already in the format of Prometheus. */
static int print_metrics(void)
{
	char *text;
	size_t len;

	if (control_call("status", "metrics", &text, &len))
		return EXIT_FAILED;
	fwrite(text, 1, len, stdout);
	free(text);
	return EXIT_DONE;
}

/* ---- command line ------------------------------------------------------ */

enum { OPTION_JSON = 0x100, OPTION_METRICS };

struct status_options {
	bool json;
	bool metrics;
	bool per_cpu;
};

static const struct argp_option options[] = {
	{ "json", OPTION_JSON, NULL, 0, "print JSON", 0 },
	{ "per-cpu", 'p', NULL, 0, "show each CPU's ring below its channel "
	  "(default: only CPUs that lost events)", 0 },
	{ "metrics", OPTION_METRICS, NULL, 0,
	  "print the daemon's metrics in the format of Prometheus", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct status_options *wanted = state->input;

	switch (key) {
	case OPTION_JSON:
		wanted->json = true;
		return 0;
	case 'p':
		wanted->per_cpu = true;
		return 0;
	case OPTION_METRICS:
		wanted->metrics = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (wanted->json && wanted->metrics)
			argp_error(state, "--metrics and --json exclude each "
				   "other");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Show the providers of channels (module, daemon), the channels and "
	"the clock, and what is missing for the rest."
	"\vRoot sees the channels of all users, others only their own.",
};

static int print_status(bool json, bool per_cpu)
{
	struct status_report s = { .per_cpu = per_cpu };
	struct tsct_clock *clock;
	int ret = tsct_clock_open(&clock);

	if (ret) {
		fprintf(stderr, "trace-ctl status: %s\n", strerror(-ret));
		return EXIT_FAILED;
	}
	read_status(&s, clock);
	ret = EXIT_DONE;
	if (json)
		ret = ctl_json_print("status", make_json(&s));
	else
		print_text(&s);
	channel_list_close(&s.channels);
	tsct_clock_close(clock);
	return ret;
}

int cmd_status(int argc, char **argv)
{
	struct status_options wanted = { 0 };

	argp_parse(&argp, argc, argv, 0, NULL, &wanted);
	return wanted.metrics ? print_metrics() : print_status(wanted.json, wanted.per_cpu);
}
