// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/live/channel_view.h"
#include "tools/common/json.h"
#include "tools/common/view.h"
#include "tools/shared/top.h"

#define LINE_MAX	512

/* ---- text ---------------------------------------------------------------- */

static void format_row(const struct top_row *row, char *line, size_t size)
{
	const struct tsct_channel_info *info = &row->channel.info;
	char id[16] = "", name[48], holders[16] = "", lost[160], policy[32] = "";
	char events[16], bytes[16] = "-", unread[16] = "-", lost_rate[16];

	if (row->cpu < 0) {
		snprintf(id, sizeof(id), "%u", info->id);
		snprintf(name, sizeof(name), "%s", info->name);
		snprintf(holders, sizeof(holders), "%u", info->holders);
		channel_view_policy(info, policy, sizeof(policy));
	} else {
		snprintf(name, sizeof(name), "  CPU %lld", (long long)row->cpu);
	}
	if (row->has_rates)
		snprintf(bytes, sizeof(bytes), row->bytes_per_s < 999999e6 ?
			 "%.1f" : "%.1e", row->bytes_per_s / 1e6);
	if (row->unread_percent >= 0)
		snprintf(unread, sizeof(unread), "%.0f%%", row->unread_percent);
	channel_view_lost(row->lost, row->cpu < 0 ? info->lost_no_ring : 0, lost,
			  sizeof(lost));
	snprintf(line, size, "%4s %-16s %8s %7s %6s %7s %7s  %-26s %-8s %s", id,
		 name, view_format_rate(row->events_per_s, row->has_rates, events,
				   sizeof(events)), bytes, unread,
		 view_format_rate(top_row_lost_per_s(row), row->has_rates, lost_rate,
			     sizeof(lost_rate)), holders, lost,
		 row->cpu < 0 ? channel_provider_names[row->channel.provider] : "",
		 policy);
}

static void format_sums(const struct top_sample *sample, char *line, size_t size)
{
	char events[16], lost[16], clock[16];
	struct top_sums sums;

	top_sample_sums(sample, &sums);
	snprintf(line, size, "%s  %u channel%s, %s events/s, %.1f MB/s, %s"
		 " lost/s%s", view_format_clock(clock, sizeof(clock)), sums.channels,
		 sums.channels == 1 ? "" : "s",
		 view_format_rate(sums.events_per_s, true, events, sizeof(events)),
		 sums.bytes_per_s / 1e6,
		 view_format_rate(sums.lost_per_s, true, lost, sizeof(lost)),
		 sample->providers ? "" : "; no provider of channels: load the"
		 " module or start tsctraced");
}

void top_view_print(FILE *to, const struct top_sample *sample, int width,
		    int height)
{
	size_t i, room = height > 3 ? (size_t)height - 3 : 1;
	char line[LINE_MAX];

	format_sums(sample, line, sizeof(line));
	view_print_line(to, line, width);
	snprintf(line, sizeof(line), "%4s %-16s %8s %7s %6s %7s %7s  %-26s %-8s"
		 " %s", "id", "channel", "events/s", "MB/s", "unread", "lost/s",
		 "holders", "lost", "provider", "policy");
	view_print_line(to, line, width);
	for (i = 0; i < sample->nr && (!height || i < room); i++) {
		format_row(&sample->at[i], line, sizeof(line));
		view_print_line(to, line, width);
	}
	if (i == sample->nr)
		return;
	snprintf(line, sizeof(line), "  ... %zu more line%s", sample->nr - i,
		 sample->nr - i == 1 ? "" : "s");
	view_print_line(to, line, width);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_rate(const struct top_row *row, double rate)
{
	return row->has_rates ? json_real(rate) : json_null();
}

static json_t *json_lost_rates(const struct top_row *row)
{
	json_t *json;
	const char *key;
	json_t *value;
	int i = 0;
	void *at;

	if (!row->has_rates)
		return json_null();
	/* The JSON keys, causes of loss, have the order of the array lost_per_s. */
	json = channel_view_lost_json(row->lost);
	json_object_foreach_safe(json, at, key, value)
		json_object_set_new(json, key, json_real(row->lost_per_s[i++]));
	return json;
}

static json_t *json_figures(const struct top_row *row)
{
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
		"events", (json_int_t)row->events,
		"written", (json_int_t)row->written,
		"events_per_s", json_rate(row, row->events_per_s),
		"bytes_per_s", json_rate(row, row->bytes_per_s),
		"unread_percent", row->unread_percent < 0 ? json_null() :
			json_real(row->unread_percent),
		"lost", channel_view_lost_json(row->lost),
		"lost_per_s", json_lost_rates(row));
}

json_t *top_view_json(const struct top_sample *sample)
{
	json_t *channels = json_array(), *cpus = NULL, *json, *last = NULL;
	const struct tsct_channel_info *info;
	const struct top_row *row;
	struct timespec now;

	for (row = sample->at; row < sample->at + sample->nr; row++) {
		json = json_figures(row);
		if (row->cpu >= 0) {
			if (!cpus) {
				cpus = json_array();
				json_object_set_new(last, "cpus", cpus);
			}
			json_object_set_new(json, "cpu", json_integer(row->cpu));
			json_array_append_new(cpus, json);
			continue;
		}
		info = &row->channel.info;
		json_object_set_new(json_object_get(json, "lost"), "no_ring",
				    json_integer((json_int_t)info->lost_no_ring));
		json_object_update_new(json, json_pack(
			"{s:I, s:o, s:s, s:I, s:s, s:b, s:b, s:I}",
			"id", (json_int_t)info->id,
			"name", ctl_json_text(info->name), "provider",
			channel_provider_names[row->channel.provider],
			"uid", (json_int_t)info->uid,
			"policy", channel_view_policy_name(info->policy),
			"kernel", !!(info->flags & TSCT_CHANNEL_KERNEL),
			"kept", !!(info->flags & TSCT_CHANNEL_KEEP),
			"holders", (json_int_t)info->holders));
		json_array_append_new(channels, json);
		last = json;
		cpus = NULL;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	return json_pack("{s:I, s:f, s:I, s:o}",
		"time_ns", (json_int_t)now.tv_sec * 1000000000 + now.tv_nsec,
		"seconds", sample->seconds,
		"providers", (json_int_t)sample->providers,
		"channels", channels);
}
