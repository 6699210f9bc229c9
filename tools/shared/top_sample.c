// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/client/gettime.h"
#include "top.h"

const char *const top_keys[TOP_KEYS] = {
	"events", "bytes", "unread", "lost", "name", "id",
};

/* ---- one sample ---------------------------------------------------------- */

static struct top_row *append_row(struct top_sample *sample,
				  const struct listed_channel *c)
{
	struct top_row *more = tsct_array_next(&sample->at, sample->nr, sizeof(*more));

	if (!more)
		return NULL;
	sample->nr++;
	memset(more, 0, sizeof(*more));
	more->channel = *c;
	return more;
}

static double unread_percent(const struct tsct_channel_info *info, __u64 unread)
{
	double size = (double)info->block_size * info->blocks;

	if (info->policy != TSCT_POLICY_DISCARD)
		return -1;
	return size > 0 ? 100 * unread / size : 0;
}

/* Adds the row of a channel, with the fill of its fullest ring, and the rows of its CPUs. */
static int read_channel(struct top_sample *sample, struct channel_list *all,
			const struct listed_channel *c, bool cpus)
{
	struct top_row *row = append_row(sample, c);
	struct tsct_channel_cpu cpu;
	const size_t at = sample->nr - 1;
	double fill, max;
	__u32 nr = 0;

	if (!row)
		return -ENOMEM;
	row->cpu = -1;
	row->events = c->info.events;
	row->written = c->info.written;
	memcpy(row->lost, c->info.lost, sizeof(row->lost));
	row->unread_percent = max = unread_percent(&c->info, 0);
	if (!cpus && !c->info.unread)
		return 0;
	while (channel_list_next_cpu(all, c, &nr, &cpu)) {
		fill = unread_percent(&c->info, cpu.unread);
		max = fill > max ? fill : max;
		if (!cpus)
			continue;
		row = append_row(sample, c);
		if (!row)
			return -ENOMEM;
		row->cpu = cpu.cpu;
		row->events = cpu.events;
		row->written = cpu.written;
		memcpy(row->lost, cpu.lost, sizeof(row->lost));
		row->unread_percent = fill;
	}
	sample->at[at].unread_percent = max;
	return 0;
}

int top_sample_read(struct top_sample *sample, bool cpus)
{
	struct channel_list all;
	int error, provider;
	__s64 begin;
	size_t i;

	memset(sample, 0, sizeof(*sample));
	/* Connect to providers for each sample, because a daemon may start or end. */
	channel_list_open(&all, false);
	begin = tsct_monotonic_ns();
	error = channel_list_read(&all);
	/* A provider may take long to answer: use the middle between request and answer. */
	sample->time_ns = begin + (tsct_monotonic_ns() - begin) / 2;
	for (provider = 0; provider < CHANNEL_PROVIDERS; provider++)
		sample->providers += all.providers[provider].answers;
	for (i = 0; !error && i < all.nr; i++)
		error = read_channel(sample, &all, &all.at[i], cpus);
	channel_list_close(&all);
	return error;
}

void top_sample_free(struct top_sample *sample)
{
	free(sample->at);
	memset(sample, 0, sizeof(*sample));
}

/* ---- rates --------------------------------------------------------------- */

/* Compares two rows by provider, channel id and CPU. */
static int compare_ids(const struct top_row *a, const struct top_row *b)
{
	if (a->channel.provider != b->channel.provider)
		return a->channel.provider < b->channel.provider ? -1 : 1;
	if (a->channel.info.id != b->channel.info.id)
		return a->channel.info.id < b->channel.info.id ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Returns a counter's increase per second; 0 if the counter, which programs can write to,
 * decreased. */
static double counter_rate(__u64 before, __u64 now, double seconds)
{
	return now > before && seconds > 0 ? (now - before) / seconds : 0;
}

void top_sample_rates(const struct top_sample *before, struct top_sample *now)
{
	const struct top_row *old = before->at, *end = old + before->nr;
	struct top_row *row;
	int i;

	now->seconds = (now->time_ns - before->time_ns) / 1e9;
	for (row = now->at; row < now->at + now->nr; row++) {
		while (old < end && compare_ids(old, row) < 0)
			old++;
		if (old == end || compare_ids(old, row))
			continue;
		row->has_rates = true;
		row->events_per_s = counter_rate(old->events, row->events, now->seconds);
		row->bytes_per_s = counter_rate(old->written, row->written, now->seconds);
		for (i = 0; i < TSCT_LOST_NR; i++)
			row->lost_per_s[i] = counter_rate(old->lost[i], row->lost[i],
							  now->seconds);
	}
}

double top_row_lost_per_s(const struct top_row *row)
{
	double sum = 0;
	int i;

	for (i = 0; i < TSCT_LOST_NR; i++)
		sum += row->lost_per_s[i];
	return sum;
}

void top_sample_sums(const struct top_sample *sample, struct top_sums *ret)
{
	const struct top_row *row;
	int i;

	*ret = (struct top_sums){ .unread_percent = -1 };
	for (row = sample->at; row < sample->at + sample->nr; row++) {
		if (row->cpu >= 0)
			continue;
		ret->channels++;
		ret->events += row->events;
		ret->written += row->written;
		ret->lost += row->channel.info.lost_no_ring;
		for (i = 0; i < TSCT_LOST_NR; i++)
			ret->lost += row->lost[i];
		ret->events_per_s += row->events_per_s;
		ret->bytes_per_s += row->bytes_per_s;
		ret->lost_per_s += top_row_lost_per_s(row);
		if (row->unread_percent > ret->unread_percent)
			ret->unread_percent = row->unread_percent;
	}
}

/* ---- sorting ------------------------------------------------------------- */

static double sort_value(const struct top_row *row, enum top_key key)
{
	switch (key) {
	case TOP_EVENTS: return row->events_per_s;
	case TOP_BYTES: return row->bytes_per_s;
	case TOP_UNREAD: return row->unread_percent;
	case TOP_LOST: return top_row_lost_per_s(row);
	default: return 0;
	}
}

/* Compares rows of channels, given as pointers to pointers, for qsort_r(). */
static int compare_rows(const void *left, const void *right, void *arg)
{
	const struct top_row *a = *(const struct top_row *const *)left;
	const struct top_row *b = *(const struct top_row *const *)right;
	const enum top_key key = *(const enum top_key *)arg;
	const double va = sort_value(a, key), vb = sort_value(b, key);
	int order = 0;

	if (va != vb)
		return va > vb ? -1 : 1;
	if (key == TOP_ID)
		return compare_ids(a, b);
	/* Among channels with equal rates, those with more events come first. */
	if (key != TOP_NAME && a->events != b->events)
		return a->events > b->events ? -1 : 1;
	order = strcmp(a->channel.info.name, b->channel.info.name);
	return order ? order : compare_ids(a, b);
}

int top_sample_sort(const struct top_sample *sample, enum top_key key,
		    struct top_sample *ret)
{
	const size_t nr = sample->nr ? sample->nr : 1;
	const struct top_row **heads = calloc(nr, sizeof(*heads)), *row;
	struct top_row *sorted = calloc(nr, sizeof(*sorted));
	size_t i, nr_heads = 0;

	*ret = *sample;
	ret->at = sorted;
	if (!heads || !sorted) {
		free(heads);
		return -ENOMEM;
	}
	for (i = 0; i < sample->nr; i++)
		if (sample->at[i].cpu < 0)
			heads[nr_heads++] = &sample->at[i];
	qsort_r(heads, nr_heads, sizeof(*heads), compare_rows, &key);
	for (i = 0; i < nr_heads; i++) {
		row = heads[i];
		do
			*sorted++ = *row++;
		while (row < sample->at + sample->nr && row->cpu >= 0);
	}
	free(heads);
	return 0;
}
