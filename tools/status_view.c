// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "status_view.h"

static const char *const lost_names[TSCT_LOST_NR] = {
	[TSCT_LOST_FULL] = "full",
	[TSCT_LOST_TOO_BIG] = "too big",
	[TSCT_LOST_NESTED] = "nested",
	[TSCT_LOST_ABORTED] = "aborted",
};

static const struct {
	const char *name;
	__u64 bit;
} features[] = {
	{ "kfunc", TSCT_FEATURE_KFUNC },
};
#define NR_FEATURES	(sizeof(features) / sizeof(features[0]))

/* ---- text -------------------------------------------------------------- */

static const char *human(__u64 bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;
	double value = bytes;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	snprintf(text, size, unit && value < 100 ? "%.1f %s" : "%.0f %s", value,
		 units[unit]);
	return text;
}

static void print_provider(const char *name, const struct state_provider *p)
{
	char now[16], max[16], user[16];
	size_t i;

	if (!p->answers) {
		printf("%-14s no: %s\n", name,
		       *p->t.why ? p->t.why : "it does not answer");
		return;
	}
	printf("%-14s yes, version %s", name, p->info.version);
	for (i = 0; i < NR_FEATURES; i++)
		if (p->info.features & features[i].bit)
			printf(", %s", features[i].name);
	printf("; %s of %s in use, %s per user\n",
	       human(p->info.bytes, now, sizeof(now)),
	       human(p->info.bytes_max, max, sizeof(max)),
	       human(p->info.bytes_user_max, user, sizeof(user)));
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

static const char *owner(__u32 uid, char *text, size_t size)
{
	const struct passwd *pw = getpwuid(uid);

	if (pw)
		snprintf(text, size, "%s", pw->pw_name);
	else
		snprintf(text, size, "%u", uid);
	return text;
}

/* "0", or "full 12, nested 1" */
static void format_lost(const struct tsct_channel_info *info, char *text,
			size_t size)
{
	size_t used = 0;
	unsigned int i;

	snprintf(text, size, "0");
	for (i = 0; i < TSCT_LOST_NR && used < size; i++)
		if (info->lost[i])
			used += snprintf(text + used, size - used,
					 "%s%s %llu", used ? ", " : "",
					 lost_names[i],
					 (unsigned long long)info->lost[i]);
	if (info->lost_no_ring && used < size)
		snprintf(text + used, size - used, "%sno ring %llu",
			 used ? ", " : "",
			 (unsigned long long)info->lost_no_ring);
}

static const char *policy_name(__u32 policy)
{
	return policy == TSCT_POLICY_OVERWRITE ? "overwrite" : "discard";
}

static void print_channel(const struct listed *c)
{
	const struct tsct_channel_info *info = &c->info;
	char who[24], size[16], unread[16] = "-", lost[160];

	if (info->policy == TSCT_POLICY_DISCARD)
		human(info->unread, unread, sizeof(unread));
	format_lost(info, lost, sizeof(lost));
	printf("%4u %-16s %-8s %-10s %-9s%s %10s %7u %10s  %s\n", info->id,
	       info->name, c->provider, owner(info->uid, who, sizeof(who)),
	       policy_name(info->policy),
	       info->flags & TSCT_CHANNEL_KERNEL ? " kernel" : "       ",
	       human(info->bytes, size, sizeof(size)), info->holders, unread,
	       lost);
}

void status_print_text(const struct status *s)
{
	size_t i;

	print_provider("module", &s->module);
	print_provider("daemon", &s->daemon);
	printf("%-14s yes: under trace-ctl record, with nothing else there\n",
	       "embedded");
	printf("%-14s %s%s%s\n", "programs use", tsct_provider_name(s->chosen),
	       *s->chosen_why ? ": " : "", s->chosen_why);
	printf("%-14s %s\n", "stamps", s->source_why);
	print_clock(s);
	printf("%-14s %s%s\n", "kernel events", *s->kernel_why ? "no: " : "yes",
	       s->kernel_why);
	if (!s->nr_channels) {
		printf("%-14s none\n", "channels");
		return;
	}
	printf("\n%4s %-16s %-8s %-10s %-16s %10s %7s %10s  %s\n", "id",
	       "channel", "provider", "owner", "policy", "memory", "holders",
	       "unread", "lost");
	for (i = 0; i < s->nr_channels; i++)
		print_channel(&s->channels[i]);
}

/* ---- JSON -------------------------------------------------------------- */

static json_t *json_provider(const struct state_provider *p)
{
	json_t *list;
	size_t i;

	if (!p->answers)
		return json_pack("{s:b, s:o}", "present", 0, "why",
				 ctl_json_text(p->t.why));
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

static json_t *json_lost(const struct tsct_channel_info *info)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}",
		"full", (json_int_t)info->lost[TSCT_LOST_FULL],
		"too_big", (json_int_t)info->lost[TSCT_LOST_TOO_BIG],
		"nested", (json_int_t)info->lost[TSCT_LOST_NESTED],
		"aborted", (json_int_t)info->lost[TSCT_LOST_ABORTED],
		"no_ring", (json_int_t)info->lost_no_ring);
}

static json_t *json_channel(const struct listed *c)
{
	const struct tsct_channel_info *info = &c->info;

	return json_pack("{s:I, s:o, s:s, s:I, s:s, s:b, s:s, s:I, s:I, s:I,"
			 " s:I, s:I, s:I, s:I, s:I, s:o}",
		"id", (json_int_t)info->id, "name", ctl_json_text(info->name),
		"provider", c->provider, "uid", (json_int_t)info->uid,
		"policy", policy_name(info->policy),
		"kernel", !!(info->flags & TSCT_CHANNEL_KERNEL),
		"source", tsct_source_name(info->source),
		"block_size", (json_int_t)info->block_size,
		"blocks", (json_int_t)info->blocks,
		"cpus_ready", (json_int_t)info->nr_cpus_ready,
		"holders", (json_int_t)info->holders,
		"consumers", (json_int_t)info->consumers,
		"bytes", (json_int_t)info->bytes,
		"written", (json_int_t)info->written,
		"unread", (json_int_t)info->unread,
		"lost", json_lost(info));
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

json_t *status_json(const struct status *s)
{
	json_t *channels = json_array();
	size_t i;

	for (i = 0; i < s->nr_channels; i++)
		json_array_append_new(channels, json_channel(&s->channels[i]));
	return json_pack(
		"{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:{s:b, s:s}, s:o}",
		"version", tsct_version(),
		"module", json_provider(&s->module),
		"daemon", json_provider(&s->daemon),
		"programs_use", tsct_provider_name(s->chosen),
		"programs_use_why", ctl_json_text(s->chosen_why),
		"stamps", ctl_json_text(s->source_why),
		"clock", json_clock(s),
		"kernel_events", "available", !*s->kernel_why,
			"why", s->kernel_why,
		"channels", channels);
}
