// SPDX-License-Identifier: MIT
#include "series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frequency change of a server whose clock is steered, ppb per second */
#define STEERED_PPB	100

/* ---- grouping ------------------------------------------------------------- */

static bool belongs_to(const struct tsct_series *s,
		  const struct tsct_sync_sample *sample)
{
	return s->node == sample->node && s->master == sample->master &&
		s->timeline == sample->timeline &&
		s->has_line == sample->has_line &&
		s->clock_epoch == sample->clock_epoch &&
		!strcmp(s->source, sample->source);
}

static int begin_series(struct tsct_series **all, unsigned int *nr,
		 const struct tsct_sync_sample *sample)
{
	struct tsct_series *s;

	if (*nr == TSCT_SERIES_MAX)
		return -E2BIG;
	s = realloc(*all, (*nr + 1) * sizeof(*s));
	if (!s)
		return -ENOMEM;
	*all = s;
	s += (*nr)++;
	*s = (struct tsct_series) {
		.node = sample->node, .host = sample->host,
		.master = sample->master, .timeline = sample->timeline,
		.clock_epoch = sample->clock_epoch,
		.has_line = sample->has_line,
	};
	memcpy(s->source, sample->source, sizeof(s->source));
	s->source[sizeof(s->source) - 1] = '\0';
	return 0;
}

/* The newest is searched first, as a later epoch is likely. NULL: none yet */
static struct tsct_series *find_series(struct tsct_series *all, unsigned int nr,
				const struct tsct_sync_sample *sample)
{
	while (nr--)
		if (belongs_to(&all[nr], sample))
			return &all[nr];
	return NULL;
}

static int count_series(const struct tsct_sync_sample *samples, unsigned int nr,
		 struct tsct_series **all, unsigned int *ret_nr)
{
	struct tsct_series *s;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++) {
		s = find_series(*all, *ret_nr, &samples[i]);
		if (!s) {
			err = begin_series(all, ret_nr, &samples[i]);
			if (err)
				return err;
			s = &(*all)[*ret_nr - 1];
		}
		s->nr++;
	}
	return 0;
}

/* ---- sorting ----------------------------------------------------------------- */

/* @rank: t1 relative to the first sample of the series, which may wrap */
struct ranked_sample {
	const struct tsct_sync_sample *sample;
	__s64 rank;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked_sample *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* In recorded order, to be deterministic */
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static void add_exchange(struct tsct_series *s, const struct tsct_sync_sample *sample)
{
	if (s->nr && s->x[s->nr - 1].t1 == sample->x.t1)
		return;
	s->x[s->nr] = sample->x;
	s->kept[s->nr] = sample->fitted && sample->kept;
	s->line[s->nr] = sample->line;
	s->nr_kept += s->kept[s->nr];
	if (sample->x.session &&
	    (!s->nr || s->x[s->nr - 1].session != sample->x.session))
		s->nr_sessions++;
	s->status = sample->status;
	s->depth = sample->depth;
	s->nr++;
}

static int fill_series(struct tsct_series *s, const struct tsct_sync_sample *samples,
		unsigned int nr, struct ranked_sample *ranked)
{
	unsigned int i, n = 0;
	__u64 first = 0;

	s->x = calloc(s->nr, sizeof(*s->x));
	s->kept = calloc(s->nr, sizeof(*s->kept));
	s->line = calloc(s->nr, sizeof(*s->line));
	if (!s->x || !s->kept || !s->line)
		return -ENOMEM;
	s->nr = 0;
	for (i = 0; i < nr; i++) {
		if (!belongs_to(s, &samples[i]))
			continue;
		if (!n)
			first = samples[i].x.t1;
		ranked[n].rank = (__s64)(samples[i].x.t1 - first);
		ranked[n++].sample = &samples[i];
	}
	qsort(ranked, n, sizeof(*ranked), compare_ranks);
	for (i = 0; i < n; i++)
		add_exchange(s, ranked[i].sample);
	return 0;
}

int tsct_series_make(const struct tsct_sync_sample *samples, unsigned int nr,
		     struct tsct_series **ret, unsigned int *ret_nr)
{
	struct ranked_sample *ranked = calloc((size_t)nr + 1, sizeof(*ranked));
	unsigned int i;
	int err;

	*ret = NULL;
	*ret_nr = 0;
	err = ranked ? count_series(samples, nr, ret, ret_nr) : -ENOMEM;
	for (i = 0; i < *ret_nr && !err; i++)
		err = fill_series(&(*ret)[i], samples, nr, ranked);
	free(ranked);
	if (!err)
		return 0;
	tsct_series_free(*ret, *ret_nr);
	*ret = NULL;
	*ret_nr = 0;
	return err;
}

void tsct_series_free(struct tsct_series *series, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		free(series[i].x);
		free(series[i].kept);
		free(series[i].line);
	}
	free(series);
}

/* ---- functions -------------------------------------------------------------- */

double tsct_series_ns(const struct tsct_series *s)
{
	return ldexp((double)s->line[s->nr - 1].mult, -TSCT_CLOCK_SHIFT);
}

static bool is_reference(enum tsct_fit_kind kind)
{
	return kind == TSCT_FIT_LINEAR || kind == TSCT_FIT_SPLINE;
}

/* Index of the first of the TSCT_SERIES_NEAR exchanges nearest to @at */
static unsigned int nearest(const struct tsct_series *s, __u64 at)
{
	unsigned int from = 0, left = s->nr;

	for (; left > TSCT_SERIES_NEAR; left--)
		if ((__s64)(at - s->x[from].t1) >
		    (__s64)(s->x[from + left - 1].t1 - at))
			from++;
	return from;
}

int tsct_series_near(const struct tsct_series *s, enum tsct_fit_kind kind,
		     double hz, __u64 at, struct tsct_fit *ret_fit)
{
	unsigned int from, last;

	if (!s->nr || is_reference(kind))
		return tsct_series_fit(s, kind, hz, 0, UINT64_MAX, at, ret_fit,
				       NULL);
	from = nearest(s, at);
	last = s->nr - from > TSCT_SERIES_NEAR ? from + TSCT_SERIES_NEAR - 1 :
		s->nr - 1;
	return tsct_series_fit(s, kind, hz, s->x[from].t1, s->x[last].t1, at,
			       ret_fit, NULL);
}

/* The range of exchanges with t1 in [@from, @to] */
static void find_range(const struct tsct_series *s, __u64 from, __u64 to,
		unsigned int *ret_from, unsigned int *ret_nr)
{
	unsigned int i = 0, end = s->nr;

	while (i < s->nr && s->x[i].t1 < from)
		i++;
	while (end > i && s->x[end - 1].t1 > to)
		end--;
	*ret_from = i;
	*ret_nr = end - i;
}

int tsct_series_fit(const struct tsct_series *s, enum tsct_fit_kind kind,
		    double hz, __u64 from, __u64 to, __u64 at,
		    struct tsct_fit *ret_fit, bool *keep)
{
	const struct tsct_fit_options options = {
		.kind = kind, .hz = hz, .at = at,
		.wander_ppb = s->has_line ? 0 : STEERED_PPB,
	};
	unsigned int first, nr;

	find_range(s, from, to, &first, &nr);
	if (keep)
		memset(keep, 0, s->nr * sizeof(*keep));
	if (!nr)
		return -ENODATA;
	return tsct_fit_make(s->x + first, nr, &options,
			     1e9 / tsct_series_ns(s), ret_fit,
			     keep ? keep + first : NULL);
}

/* The parameters that were received nearest to a value of our counter */
static const struct tsct_remote_params *line_at(const struct tsct_series *s,
					      __u64 local)
{
	unsigned int low = 0, high = s->nr - 1, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((__s64)(s->x[middle].t4 - local) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return &s->line[low];
}

__s64 tsct_series_time(const struct tsct_series *s, const struct tsct_fit *fit,
		       __u64 local, double *ret_frac_ns, double *ret_error_ns)
{
	const struct tsct_remote_params *line = line_at(s, local);
	double frac, error, ns, whole, age;
	__u64 remote = tsct_fit_at(fit, local, &frac, &error);
	tsct_s128 product = (tsct_s128)(__s64)(remote - line->base) *
		line->mult;
	const double per_count = ldexp((double)line->mult, -TSCT_CLOCK_SHIFT);

	ns = ldexp((double)((__u64)product & ((1ULL << TSCT_CLOCK_SHIFT) - 1)),
		   -TSCT_CLOCK_SHIFT) + frac * per_count;
	whole = floor(ns);
	product = (product >> TSCT_CLOCK_SHIFT) + line->base_ns +
		(__s64)whole;
	age = fmax((double)(__s64)(remote - line->as_of), 0);
	if (ret_frac_ns)
		*ret_frac_ns = ns - whole;
	if (ret_error_ns)
		*ret_error_ns = error * per_count +
			((double)line->error_ps +
			 age * ldexp((double)line->growth, -32)) * 1e-3;
	return product > INT64_MAX ? INT64_MAX :
		product < INT64_MIN ? INT64_MIN : (__s64)product;
}
