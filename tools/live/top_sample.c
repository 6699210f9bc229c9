// SPDX-License-Identifier: MIT
/* What all channels count, twice: how fast it grows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/client/gettime.h"
#include "top.h"

const char *const top_keys[TOP_KEYS] = {
	"events", "bytes", "unread", "lost", "name", "id",
};

/* ---- one look ------------------------------------------------------------ */

static struct top_row *add(struct top_sample *sample)
{
	struct top_row *more = sample->at;

	if (!(sample->nr & (sample->nr - 1)))
		more = reallocarray(more, sample->nr ? 2 * sample->nr : 1,
				    sizeof(*more));
	if (!more)
		return NULL;
	sample->at = more;
	more += sample->nr++;
	memset(more, 0, sizeof(*more));
	return more;
}

static double percent(const struct tsct_channel_info *info, __u64 unread)
{
	double size = (double)info->block_size * info->blocks;

	if (info->policy != TSCT_POLICY_DISCARD)
		return -1;
	return size > 0 ? 100 * unread / size : 0;
}

static struct top_row *add_channel(struct top_sample *sample,
				   const struct listed *c)
{
	struct top_row *row = add(sample);

	if (!row)
		return NULL;
	row->channel = *c;
	row->cpu = -1;
	row->events = c->info.events;
	row->written = c->info.written;
	memcpy(row->lost, c->info.lost, sizeof(row->lost));
	row->unread_percent = percent(&c->info, 0);
	return row;
}

static int add_cpu(struct top_sample *sample, const struct listed *c,
		   const struct tsct_channel_cpu *cpu)
{
	struct top_row *row = add(sample);

	if (!row)
		return -ENOMEM;
	row->channel = *c;
	row->cpu = cpu->cpu;
	row->events = cpu->events;
	row->written = cpu->written;
	memcpy(row->lost, cpu->lost, sizeof(row->lost));
	row->unread_percent = percent(&c->info, cpu->unread);
	return 0;
}

/*
 * A channel is as full as its fullest ring, which CPUs have to be asked for; a
 * channel with nothing unread has none.
 */
static int take(struct top_sample *sample, struct channels *all,
		const struct listed *c, bool cpus)
{
	const size_t at = sample->nr;
	struct tsct_channel_cpu cpu;
	double fill, most;
	__u32 i;

	if (!add_channel(sample, c))
		return -ENOMEM;
	if (!cpus && !c->info.unread)
		return 0;
	most = sample->at[at].unread_percent;
	for (i = 0; i < channels_cpus(all, c); i++) {
		if (channels_ask_cpu(all, c, i, &cpu) ||
		    cpu.state != TSCT_CPU_READY)
			continue;
		fill = percent(&c->info, cpu.unread);
		most = fill > most ? fill : most;
		if (cpus && add_cpu(sample, c, &cpu))
			return -ENOMEM;
	}
	sample->at[at].unread_percent = most;
	return 0;
}

int top_sample_take(struct top_sample *sample, bool cpus)
{
	struct channels all;
	int error, from;
	size_t i;

	memset(sample, 0, sizeof(*sample));
	/* Anew each time: a daemon may come, go, and come again. */
	channels_open(&all, false);
	sample->time_ns = tsct_monotonic_ns();
	error = channels_list(&all, "top");
	for (from = 0; from < CHANNELS_FROM; from++)
		sample->answer += all.from[from].answers;
	for (i = 0; !error && i < all.nr; i++)
		error = take(sample, &all, &all.at[i], cpus);
	channels_close(&all);
	return error;
}

void top_sample_free(struct top_sample *sample)
{
	free(sample->at);
	memset(sample, 0, sizeof(*sample));
}

/* ---- two looks ----------------------------------------------------------- */

static int compare_place(const struct top_row *a, const struct top_row *b)
{
	if (a->channel.from != b->channel.from)
		return a->channel.from < b->channel.from ? -1 : 1;
	if (a->channel.info.id != b->channel.info.id)
		return a->channel.info.id < b->channel.info.id ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Counters lie in memory that clients write: one may run backwards. */
static double rate(__u64 before, __u64 now, double seconds)
{
	return now > before && seconds > 0 ? (now - before) / seconds : 0;
}

static void set_rates(const struct top_row *before, struct top_row *now,
		      double seconds)
{
	int i;

	now->known = true;
	now->events_per_s = rate(before->events, now->events, seconds);
	now->bytes_per_s = rate(before->written, now->written, seconds);
	for (i = 0; i < TSCT_LOST_NR; i++)
		now->lost_per_s[i] = rate(before->lost[i], now->lost[i],
					  seconds);
}

void top_sample_rates(const struct top_sample *before, struct top_sample *now)
{
	size_t i, j = 0;

	now->seconds = (now->time_ns - before->time_ns) / 1e9;
	for (i = 0; i < now->nr; i++) {
		while (j < before->nr &&
		       compare_place(&before->at[j], &now->at[i]) < 0)
			j++;
		if (j < before->nr &&
		    !compare_place(&before->at[j], &now->at[i]))
			set_rates(&before->at[j], &now->at[i], now->seconds);
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

/* ---- order --------------------------------------------------------------- */

static double value(const struct top_row *row, enum top_key key)
{
	switch (key) {
	case TOP_EVENTS: return row->events_per_s;
	case TOP_BYTES: return row->bytes_per_s;
	case TOP_UNREAD: return row->unread_percent;
	case TOP_LOST: return top_row_lost_per_s(row);
	default: return 0;
	}
}

/* qsort_r's: rows of whole channels. */
static int compare(const void *left, const void *right, void *arg)
{
	const struct top_row *a = *(const struct top_row *const *)left;
	const struct top_row *b = *(const struct top_row *const *)right;
	const enum top_key key = *(const enum top_key *)arg;
	const double va = value(a, key), vb = value(b, key);
	int order = 0;

	if (va != vb)
		return va > vb ? -1 : 1;
	if (key == TOP_ID)
		return compare_place(a, b);
	/* Among those that are idle, the busiest so far. */
	if (key != TOP_NAME && a->events != b->events)
		return a->events > b->events ? -1 : 1;
	order = strcmp(a->channel.info.name, b->channel.info.name);
	return order ? order : compare_place(a, b);
}

int top_sample_sort(struct top_sample *sample, enum top_key key)
{
	const size_t nr = sample->nr ? sample->nr : 1;
	struct top_row **heads = calloc(nr, sizeof(*heads)), *row;
	struct top_row *sorted = calloc(nr, sizeof(*sorted));
	size_t i, nr_heads = 0, at = 0;

	if (!heads || !sorted) {
		free(heads);
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < sample->nr; i++)
		if (sample->at[i].cpu < 0)
			heads[nr_heads++] = &sample->at[i];
	qsort_r(heads, nr_heads, sizeof(*heads), compare, &key);
	for (i = 0; i < nr_heads; i++) {
		row = heads[i];
		do
			sorted[at++] = *row++;
		while (row < sample->at + sample->nr && row->cpu >= 0);
	}
	free(heads);
	free(sample->at);
	sample->at = sorted;
	return 0;
}
