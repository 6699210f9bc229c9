// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "lib/client/gettime.h"
#include "tools/common/channel_view.h"
#include "tools/common/json.h"
#include "top.h"

static __u64 count(const json_t *row, const char *key)
{
	return (__u64)json_integer_value(json_object_get(row, key));
}

/* Returns a counter's increase per second; 0: the counter decreased, because a program overwrote
 * it; null: the earlier sample does not have the row. */
static json_t *rate(const json_t *old, const json_t *row, const char *key, double seconds)
{
	const __u64 before = count(old, key), now = count(row, key);

	return !old || seconds <= 0 ? json_null() :
		json_real(now > before ? (double)(now - before) / seconds : 0);
}

/* Adds the rates of a channel or a CPU, and the fill of its ring. @unread_percent: below 0:
 * the ring overwrites, so the fill is null */
static void add_figures(json_t *row, const json_t *old, double seconds, double unread_percent)
{
	json_t *rates = old ? json_object() : json_null(), *value;
	const json_t *lost = json_object_get(row, "lost");
	const char *cause;

	json_object_foreach((json_t *)lost, cause, value)
		json_object_set_new(rates, cause, rate(json_object_get(old, "lost"), lost, cause,
						       seconds));
	json_object_update_new(row, json_pack("{so so so so}",
		"events_per_s", rate(old, row, "events", seconds),
		"bytes_per_s", rate(old, row, "written", seconds), "lost_per_s", rates,
		"unread_percent", unread_percent < 0 ? json_null() : json_real(unread_percent)));
}

/* Finds the row of the same channel or CPU in an earlier sample. @at: the row's likely index */
static const json_t *find_old(const json_t *rows, size_t at, const json_t *row, const char *id)
{
	size_t i, nr = json_array_size(rows);
	const json_t *old;

	for (i = 0; i < nr; i++) {
		old = json_array_get(rows, (at + i) % nr);
		if (count(old, id) == count(row, id) &&
		    !strcmp(ctl_json_string(old, "provider"), ctl_json_string(row, "provider")))
			return old;
	}
	return NULL;
}

/* Returns the row of a channel, with the fill of its fullest ring. */
static json_t *read_channel(struct channel_list *all, size_t at, const struct top_sample *before,
			    double seconds, bool cpus)
{
	const struct listed_channel *c = &all->at[at];
	const double size = (double)c->info.block_size * c->info.blocks;
	json_t *row = channel_view_json(all, c, cpus || c->info.unread), *cpu;
	const json_t *old = find_old(before->channels, at, row, "id"), *old_cpus;
	double max = c->info.policy == TSCT_POLICY_DISCARD ? 0 : -1, fill;
	size_t i;

	old_cpus = json_object_get(old, "cpus");
	json_array_foreach(json_object_get(row, "cpus"), i, cpu) {
		fill = max < 0 || size <= 0 ? max : 100 * (double)count(cpu, "unread") / size;
		max = fill > max ? fill : max;
		if (cpus)
			add_figures(cpu, find_old(old_cpus, i, cpu, "cpu"), seconds, fill);
	}
	if (!cpus)
		json_object_del(row, "cpus");
	add_figures(row, old, seconds, max);
	return row;
}

int top_sample_read(const struct top_sample *before, struct top_sample *sample, bool cpus)
{
	struct channel_list all;
	int error, provider;
	__s64 begin;
	size_t i;

	*sample = (struct top_sample) { .channels = json_array() };
	/* Connect to the providers anew for each sample, because a daemon may start or end. */
	channel_list_open(&all, false);
	begin = tsct_monotonic_ns();
	error = channel_list_read(&all);
	/* Providers may answer late: the sample's time is halfway from request to answers. */
	sample->time_ns = begin + (tsct_monotonic_ns() - begin) / 2;
	if (before->time_ns)
		sample->seconds = (double)(sample->time_ns - before->time_ns) / 1e9;
	for (provider = 0; provider < CHANNEL_PROVIDERS; provider++)
		sample->providers += all.providers[provider].answers;
	for (i = 0; !error && i < all.nr; i++)
		if (json_array_append_new(sample->channels, read_channel(&all, i, before,
								sample->seconds, cpus)))
			error = -ENOMEM;
	channel_list_close(&all);
	return error;
}

void top_sample_free(struct top_sample *sample)
{
	json_decref(sample->channels);
	*sample = (struct top_sample) { 0 };
}
