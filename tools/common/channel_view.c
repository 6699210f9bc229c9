// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel_view.h"
#include "tools/common/json.h"

/* ---- JSON ---------------------------------------------------------------- */

static json_t *json_lost(const __u64 *lost)
{
	return json_pack("{sI sI sI sI sI}", "full", (json_int_t)lost[TSCT_LOST_FULL],
			 "too_big", (json_int_t)lost[TSCT_LOST_TOO_BIG],
			 "nested", (json_int_t)lost[TSCT_LOST_NESTED],
			 "aborted", (json_int_t)lost[TSCT_LOST_ABORTED],
			 "refused", (json_int_t)lost[TSCT_LOST_REFUSED]);
}

static json_t *json_cpus(struct channel_list *all, const struct listed_channel *c)
{
	json_t *cpus = json_array();
	struct tsct_channel_cpu cpu;
	__u32 nr = 0;

	while (channel_list_next_cpu(all, c, &nr, &cpu))
		json_array_append_new(cpus, json_pack("{sI sI sI sI sI sI so}",
			"cpu", (json_int_t)cpu.cpu, "events", (json_int_t)cpu.events,
			"block", (json_int_t)(cpu.written / (c->info.block_size ?: 1)),
			"written", (json_int_t)cpu.written,
			"unread", (json_int_t)cpu.unread,
			"overwritten", (json_int_t)cpu.overwritten,
			"lost", json_lost(cpu.lost)));
	return cpus;
}

json_t *channel_view_identity(const struct tsct_channel_info *info)
{
	return json_pack("{sI so sI ss sb sb}",
		"id", (json_int_t)info->id, "name", ctl_json_text(info->name),
		"uid", (json_int_t)info->uid,
		"policy", info->policy == TSCT_POLICY_OVERWRITE ? "overwrite" : "discard",
		"kernel", !!(info->flags & TSCT_CHANNEL_KERNEL),
		"kept", !!(info->flags & TSCT_CHANNEL_KEEP));
}

json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c, bool cpus)
{
	const struct tsct_channel_info *info = &c->info;
	json_t *json = channel_view_identity(info), *lost = json_lost(info->lost);

	json_object_set_new(lost, "no_ring", json_integer((json_int_t)info->lost_no_ring));
	json_object_update_new(json, json_pack("{ss sb ss sI sI sI sI sI sI sI sI sI so}",
		"provider", channel_provider_names[c->provider],
		"reserved", !!(info->flags & TSCT_CHANNEL_RESERVED),
		"source", tsct_source_name(info->source),
		"block_size", (json_int_t)info->block_size,
		"blocks", (json_int_t)info->blocks,
		"cpus_ready", (json_int_t)info->nr_cpus_ready,
		"holders", (json_int_t)info->holders,
		"consumers", (json_int_t)info->consumers,
		"bytes", (json_int_t)info->bytes,
		"events", (json_int_t)info->events,
		"written", (json_int_t)info->written,
		"unread", (json_int_t)info->unread, "lost", lost));
	if (cpus)
		json_object_set_new(json, "cpus", json_cpus(all, c));
	return json;
}

json_t *channel_view_list(struct channel_list *all, bool cpus)
{
	json_t *json = json_array();
	size_t i;

	for (i = 0; i < all->nr; i++)
		json_array_append_new(json, channel_view_json(all, &all->at[i], cpus));
	return json;
}

/* ---- text ---------------------------------------------------------------- */

const char *channel_view_bytes(double bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned int unit = 0;

	for (; bytes >= 1024 && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, size, unit && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

void channel_view_policy(const json_t *row, struct tsct_text *cell)
{
	static const char *const flags[] = { "kernel", "kept", "reserved" };
	unsigned int i;

	tsct_text_print(cell, "%s", ctl_json_string(row, "policy"));
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (json_is_true(json_object_get(row, flags[i])))
			tsct_text_print(cell, ",%s", flags[i]);
}

void channel_view_lost(const json_t *row, struct tsct_text *cell)
{
	const char *cause, *gap = " ";
	json_t *nr;

	json_object_foreach(json_object_get(row, "lost"), cause, nr) {
		if (!json_integer_value(nr))
			continue;
		tsct_text_print(cell, "%s%s %llu", gap, !strcmp(cause, "no_ring") ?
				"without a ring" : !strcmp(cause, "too_big") ? "too big" : cause,
				(unsigned long long)json_integer_value(nr));
		gap = ", ";
	}
	if (*gap == ' ')
		tsct_text_print(cell, " 0");
}

static void put_owner(const json_t *row, struct tsct_text *cell)
{
	char owner[64];

	tsct_text_print(cell, "%s", channel_owner_name((__u32)json_integer_value(
				json_object_get(row, "uid")), owner, sizeof(owner)));
}

static bool is_discard(const json_t *channel)
{
	return !strcmp(ctl_json_string(channel, "policy"), "discard");
}

/* Appends the size of unread data, or "-" for a flight recorder, which overwrites unread data */
static void put_unread(const json_t *row, struct tsct_text *cell)
{
	char text[16] = "-";

	if (is_discard(row))
		channel_view_bytes(ctl_json_number(row, "unread"), text, sizeof(text));
	tsct_text_print(cell, "%s", text);
}

static __u64 count(const json_t *row, const char *key)
{
	return (__u64)json_integer_value(json_object_get(row, key));
}

static void print_cpu(const json_t *channel, const json_t *cpu)
{
	struct tsct_text lost = { 0 };
	char unread[16];

	channel_view_lost(cpu, &lost);
	printf("       CPU %-4llu events %llu, blocks %llu", count(cpu, "cpu"),
	       count(cpu, "events"), count(cpu, "block"));
	if (is_discard(channel))
		printf(", unread %s", channel_view_bytes(ctl_json_number(cpu, "unread"), unread,
							 sizeof(unread)));
	else
		printf(", overwritten %llu", count(cpu, "overwritten"));
	printf(", lost%.*s\n", (int)lost.len, lost.at);
	free(lost.at);
}

static bool has_losses(const json_t *row)
{
	const char *cause;
	bool found = false;
	json_t *nr;

	json_object_foreach(json_object_get(row, "lost"), cause, nr)
		found |= json_integer_value(nr) != 0;
	return found;
}

void channel_view_print(const json_t *channels, bool lossy_only)
{
	static const struct tsct_column columns[] = {
		TSCT_COLUMN("id", "id", 4), TSCT_COLUMN("channel", "name", -16),
		TSCT_COLUMN("provider", "provider", -8),
		TSCT_COLUMN("owner", NULL, -10, .text = put_owner),
		TSCT_COLUMN("policy", NULL, -21, .text = channel_view_policy),
		TSCT_COLUMN("memory", "bytes", 10, .show = channel_view_bytes),
		TSCT_COLUMN("holders", "holders", 7),
		TSCT_COLUMN("unread", NULL, 10, .text = put_unread),
		TSCT_COLUMN("events", "events", 14),
		TSCT_COLUMN(" lost", NULL, 0, .text = channel_view_lost),
	};
	const struct tsct_table t = TSCT_TABLE(stdout, columns);
	const json_t *channel, *cpu;
	size_t i, j;

	tsct_table_head(&t);
	json_array_foreach(channels, i, channel) {
		tsct_table_row(&t, channel);
		json_array_foreach(json_object_get(channel, "cpus"), j, cpu)
			if (!lossy_only || has_losses(cpu))
				print_cpu(channel, cpu);
	}
}
