// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "channel_view.h"
#include "tools/common/json.h"

static const char *const lost_names[TSCT_LOST_NR] = {
	[TSCT_LOST_FULL] = "full",
	[TSCT_LOST_TOO_BIG] = "too big",
	[TSCT_LOST_NESTED] = "nested",
	[TSCT_LOST_ABORTED] = "aborted",
	[TSCT_LOST_REFUSED] = "refused",
};

static const char *const lost_keys[TSCT_LOST_NR] = {
	[TSCT_LOST_FULL] = "full",
	[TSCT_LOST_TOO_BIG] = "too_big",
	[TSCT_LOST_NESTED] = "nested",
	[TSCT_LOST_ABORTED] = "aborted",
	[TSCT_LOST_REFUSED] = "refused",
};

/* ---- fields -------------------------------------------------------------- */

const char *channel_view_bytes(__u64 bytes, char *text, size_t size)
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

const char *channel_view_policy_name(__u32 policy)
{
	return policy == TSCT_POLICY_OVERWRITE ? "overwrite" : "discard";
}

const char *channel_view_policy(const struct tsct_channel_info *info,
				char *text, size_t size)
{
	snprintf(text, size, "%s%s%s%s", channel_view_policy_name(info->policy),
		 info->flags & TSCT_CHANNEL_KERNEL ? ",kernel" : "",
		 info->flags & TSCT_CHANNEL_KEEP ? ",kept" : "",
		 info->flags & TSCT_CHANNEL_RESERVED ? ",reserved" : "");
	return text;
}

const char *channel_view_lost(const __u64 *lost, __u64 no_ring, char *text,
			      size_t size)
{
	size_t used = 0;
	unsigned int i;

	snprintf(text, size, "0");
	for (i = 0; i < TSCT_LOST_NR && used < size; i++)
		if (lost[i])
			used += snprintf(text + used, size - used, "%s%s %llu",
					 used ? ", " : "", lost_names[i],
					 (unsigned long long)lost[i]);
	if (no_ring && used < size)
		snprintf(text + used, size - used, "%swithout a ring %llu",
			 used ? ", " : "", (unsigned long long)no_ring);
	return text;
}

__u64 channel_view_lost_sum(const __u64 *lost)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < TSCT_LOST_NR; i++)
		sum += lost[i];
	return sum;
}

/* ---- table --------------------------------------------------------------- */

void channel_view_header(FILE *to)
{
	fprintf(to, "%4s %-16s %-8s %-10s %-21s %10s %7s %10s %14s  %s\n", "id",
		"channel", "provider", "owner", "policy", "memory", "holders",
		"unread", "events", "lost");
}

void channel_view_row(FILE *to, const struct listed_channel *c)
{
	const struct tsct_channel_info *info = &c->info;
	char owner[64], size[16], unread[16] = "-", lost[160], policy[32];

	if (info->policy == TSCT_POLICY_DISCARD)
		channel_view_bytes(info->unread, unread, sizeof(unread));
	fprintf(to, "%4u %-16s %-8s %-10s %-21s %10s %7u %10s %14llu  %s\n",
		info->id, info->name, channel_provider_names[c->provider],
		channel_owner_name(info->uid, owner, sizeof(owner)),
		channel_view_policy(info, policy, sizeof(policy)),
		channel_view_bytes(info->bytes, size, sizeof(size)),
		info->holders, unread, (unsigned long long)info->events,
		channel_view_lost(info->lost, info->lost_no_ring, lost,
				  sizeof(lost)));
}

void channel_view_cpus(FILE *to, struct channel_list *all, const struct listed_channel *c,
		       bool lossy_only)
{
	struct tsct_channel_cpu cpu;
	char unread[16], lost[160];
	__u32 nr = 0;

	if (lossy_only && !channel_view_lost_sum(c->info.lost))
		return;
	while (channel_list_next_cpu(all, c, &nr, &cpu)) {
		if (lossy_only && !channel_view_lost_sum(cpu.lost))
			continue;
		fprintf(to, "       CPU %-4u events %" PRIu64 ", blocks %" PRIu64, cpu.cpu,
			(uint64_t)cpu.events,
			(uint64_t)(cpu.written / (c->info.block_size ?: 1)));
		if (c->info.policy == TSCT_POLICY_DISCARD)
			fprintf(to, ", unread %s", channel_view_bytes(cpu.unread,
						unread, sizeof(unread)));
		else
			fprintf(to, ", overwritten %" PRIu64,
				(uint64_t)cpu.overwritten);
		fprintf(to, ", lost %s\n", channel_view_lost(cpu.lost, 0, lost,
							     sizeof(lost)));
	}
}

/* ---- JSON ---------------------------------------------------------------- */

json_t *channel_view_lost_json(const __u64 *lost)
{
	json_t *json = json_object();
	unsigned int i;

	for (i = 0; i < TSCT_LOST_NR; i++)
		json_object_set_new(json, lost_keys[i], json_integer(
					(json_int_t)lost[i]));
	return json;
}

static json_t *json_cpus(struct channel_list *all, const struct listed_channel *c)
{
	json_t *cpus = json_array();
	struct tsct_channel_cpu cpu;
	__u32 nr = 0;

	while (channel_list_next_cpu(all, c, &nr, &cpu))
		json_array_append_new(cpus, json_pack(
			"{s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			"cpu", (json_int_t)cpu.cpu, "events", (json_int_t)cpu.events,
			"block", (json_int_t)(cpu.written / (c->info.block_size ?: 1)),
			"written", (json_int_t)cpu.written,
			"unread", (json_int_t)cpu.unread,
			"overwritten", (json_int_t)cpu.overwritten,
			"lost", channel_view_lost_json(cpu.lost)));
	return cpus;
}

json_t *channel_view_json(struct channel_list *all, const struct listed_channel *c)
{
	const struct tsct_channel_info *info = &c->info;
	json_t *lost = channel_view_lost_json(info->lost);

	json_object_set_new(lost, "no_ring", json_integer(
				(json_int_t)info->lost_no_ring));
	return json_pack("{s:I, s:o, s:s, s:I, s:s, s:b, s:b, s:b, s:s, s:I,"
			 " s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
		"id", (json_int_t)info->id, "name", ctl_json_text(info->name),
		"provider", channel_provider_names[c->provider],
		"uid", (json_int_t)info->uid,
		"policy", channel_view_policy_name(info->policy),
		"kernel", !!(info->flags & TSCT_CHANNEL_KERNEL),
		"kept", !!(info->flags & TSCT_CHANNEL_KEEP),
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
		"unread", (json_int_t)info->unread,
		"lost", lost, "cpus", json_cpus(all, c));
}
