// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "channel_view.h"
#include "tools/common/json.h"
#include "status_view.h"

static const struct {
	const char *name;
	__u64 bit;
} features[] = {
	{ "kfunc", TSCT_FEATURE_KFUNC },
};
#define NR_FEATURES	(sizeof(features) / sizeof(features[0]))

/* ---- text -------------------------------------------------------------- */

static void print_provider(const char *name, const struct state_provider *p)
{
	const char *error = state_provider_error(p);
	char now[16], max[16], user[16];
	size_t i;

	if (!p->answers) {
		printf("%-14s no: %s\n", name,
		       *error ? error : "it does not answer");
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

static void print_clock_state(const struct status *s)
{
	printf("%s, epoch %u", tsct_status_name(s->clock.status),
	       s->clock.epoch);
	if (s->clock.cause != TSCT_CAUSE_NONE)
		printf(" (after %s)", tsct_cause_name(s->clock.cause));
	if (s->now_error)
		printf("; says nothing about now");
	else
		printf(", source %s, +- %" PRIu64 " ns",
		       tsct_source_name(s->clock.source), s->now.error_ns);
}

static void print_clock(const struct status *s)
{
	printf("%-14s ", "clock");
	if (!s->clock_known)
		printf("nothing published yet");
	else
		print_clock_state(s);
	printf("; from %s (%s)\n", s->clock_origin, s->clock_why);
}

void status_print_text(struct status *s)
{
	size_t i;

	print_provider("module", &s->channels.from[CHANNELS_MODULE]);
	print_provider("daemon", &s->channels.from[CHANNELS_DAEMON]);
	if (s->channels.from[CHANNELS_EMBEDDED].answers)
		print_provider("embedded",
			       &s->channels.from[CHANNELS_EMBEDDED]);
	else
		printf("%-14s yes: under trace-ctl record, with nothing else"
		       " there\n", "embedded");
	printf("%-14s %s%s%s\n", "programs use", tsct_provider_name(s->chosen),
	       *s->chosen_why ? ": " : "", s->chosen_why);
	printf("%-14s %s\n", "stamps", s->source_why);
	print_clock(s);
	printf("%-14s %s%s\n", "kernel events", *s->kernel_why ? "no: " : "yes",
	       s->kernel_why);
	if (!s->channels.nr) {
		printf("%-14s none\n", "channels");
		return;
	}
	putchar('\n');
	channel_view_head(stdout);
	for (i = 0; i < s->channels.nr; i++) {
		channel_view_line(stdout, &s->channels.at[i]);
		channel_view_cpus(stdout, &s->channels, &s->channels.at[i],
				  !s->per_cpu);
	}
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_provider(const struct state_provider *p)
{
	json_t *list;
	size_t i;

	if (!p->answers)
		return json_pack("{s:b, s:o}", "present", 0, "why",
				 ctl_json_text(state_provider_error(p)));
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

static json_t *json_clock(const struct status *s)
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

json_t *status_json(struct status *s)
{
	json_t *channels = json_array();
	size_t i;

	for (i = 0; i < s->channels.nr; i++)
		json_array_append_new(channels, channel_view_json(&s->channels,
						&s->channels.at[i]));
	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:{s:b, s:s}, s:o}",
		"version", tsct_version(),
		"module", json_provider(&s->channels.from[CHANNELS_MODULE]),
		"daemon", json_provider(&s->channels.from[CHANNELS_DAEMON]),
		"programs_use", tsct_provider_name(s->chosen),
		"programs_use_why", ctl_json_text(s->chosen_why),
		"stamps", ctl_json_text(s->source_why),
		"clock", json_clock(s),
		"kernel_events", "available", !*s->kernel_why,
			"why", s->kernel_why,
		"channels", channels);
}
