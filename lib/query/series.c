// SPDX-License-Identifier: MIT
#include "lib/base/array.h"
#include "series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Assumed frequency change of a server that sends no clock params, ppb per second */
#define STEERED_PPB	100

/* ---- grouping ------------------------------------------------------------- */

static bool belongs_to(const struct tsct_series *s,
		  const struct tsct_sync_sample *sample)
{
	return s->node == sample->node && s->master == sample->master &&
		s->timeline == sample->timeline &&
		s->has_params == sample->has_line &&
		s->clock_epoch == sample->clock_epoch &&
		!strcmp(s->source, sample->source);
}

/* Counts the samples of each series. */
static int count_series(const struct tsct_sync_sample *samples, unsigned int nr,
		 struct tsct_series **all, unsigned int *ret_nr)
{
	const struct tsct_sync_sample *sample;
	struct tsct_series *more;
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		sample = &samples[i];
		/* Searches for the sample's series, from the series that was added last:
		 * most samples belong to the same epoch as the previous sample. */
		for (k = *ret_nr; k && !belongs_to(&(*all)[k - 1], sample); k--)
			;
		if (k) {
			(*all)[k - 1].nr++;
			continue;
		}
		if (*ret_nr == TSCT_SERIES_MAX)
			return -E2BIG;
		more = tsct_array_next(all, *ret_nr, sizeof(*more));
		if (!more)
			return -ENOMEM;
		++*ret_nr;
		*more = (struct tsct_series) {
			.node = sample->node, .host = sample->host,
			.master = sample->master, .timeline = sample->timeline,
			.clock_epoch = sample->clock_epoch,
			.has_params = sample->has_line, .nr = 1,
		};
		memcpy(more->source, sample->source, sizeof(more->source));
		more->source[sizeof(more->source) - 1] = '\0';
	}
	return 0;
}

/* ---- sorting ----------------------------------------------------------------- */

/* A sample, and its rank in the order of local send times: t1 of the sample minus t1 of
 * the series' first sample, cycles; signed, as t1 may wrap around */
struct ranked_sample {
	const struct tsct_sync_sample *sample;
	__s64 rank;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked_sample *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	/* Samples with equal t1 stay in recorded order, to be deterministic. */
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int fill_series(struct tsct_series *s, const struct tsct_sync_sample *samples,
		unsigned int nr, struct ranked_sample *ranked)
{
	const struct tsct_sync_sample *sample;
	unsigned int i, n = 0;

	s->x = calloc(s->nr, sizeof(*s->x));
	s->kept = calloc(s->nr, sizeof(*s->kept));
	s->params = calloc(s->nr, sizeof(*s->params));
	if (!s->x || !s->kept || !s->params)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		if (!belongs_to(s, &samples[i]))
			continue;
		ranked[n].sample = &samples[i];
		ranked[n].rank = (__s64)(samples[i].x.t1 - ranked[0].sample->x.t1);
		n++;
	}
	qsort(ranked, n, sizeof(*ranked), compare_ranks);
	for (i = 0, s->nr = 0; i < n; i++) {
		sample = ranked[i].sample;
		if (s->nr && s->x[s->nr - 1].t1 == sample->x.t1)
			continue;
		s->x[s->nr] = sample->x;
		s->kept[s->nr] = sample->fitted && sample->kept;
		s->params[s->nr] = sample->line;
		s->nr_kept += s->kept[s->nr];
		if (sample->x.session &&
		    (!s->nr || s->x[s->nr - 1].session != sample->x.session))
			s->nr_sessions++;
		s->status = sample->status;
		s->depth = sample->depth;
		s->nr++;
	}
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
		free(series[i].params);
	}
	free(series);
}

void tsct_series_set_run(struct tsct_series *series, unsigned int nr,
			 const struct tsct_recording *rec)
{
	const __u64 session = rec->nodes[0].sync.start.begin;

	while (nr--)
		series[nr].run_begin = session ? session : rec->begin;
}

/* ---- functions -------------------------------------------------------------- */

double tsct_series_ns(const struct tsct_series *s)
{
	return ldexp((double)s->params[s->nr - 1].mult, -TSCT_CLOCK_SHIFT);
}

int tsct_series_near(const struct tsct_series *s, enum tsct_fit_kind kind,
		     double hz, __u64 at, struct tsct_fit *ret_fit)
{
	unsigned int from = 0, last = s->nr - 1;

	if (!s->nr || tsct_fit_is_reference(kind))
		return tsct_series_fit(s, kind, hz, 0, UINT64_MAX, at, ret_fit,
				       NULL);
	while (last - from >= TSCT_SERIES_NEAR) {
		if ((__s64)(at - s->x[from].t1) > (__s64)(s->x[last].t1 - at))
			from++;
		else
			last--;
	}
	return tsct_series_fit(s, kind, hz, s->x[from].t1, s->x[last].t1, at,
			       ret_fit, NULL);
}

static bool has_session_since(const struct tsct_series *s, __u64 since)
{
	unsigned int i;

	for (i = s->nr; i && s->x[i - 1].t1 >= since; i--)
		if (s->x[i - 1].session)
			return true;
	return false;
}

int tsct_series_fit(const struct tsct_series *s, enum tsct_fit_kind kind,
		    double hz, __u64 from, __u64 to, __u64 at,
		    struct tsct_fit *ret_fit, bool *keep)
{
	struct tsct_fit_options options = {
		.kind = kind, .hz = hz, .at = at,
		.wander_ppb = s->has_params ? 0 : STEERED_PPB,
	};
	unsigned int first = 0, end = s->nr;
	int err;

	if (kind == TSCT_FIT_ITC && has_session_since(s, s->run_begin))
		from = from > s->run_begin ? from : s->run_begin;
	else if (kind == TSCT_FIT_ITC)
		options.kind = TSCT_FIT_LINEAR;
	while (first < s->nr && s->x[first].t1 < from)
		first++;
	while (end > first && s->x[end - 1].t1 > to)
		end--;
	if (keep)
		memset(keep, 0, s->nr * sizeof(*keep));
	if (first == end)
		return -ENODATA;
	err = tsct_fit_make(s->x + first, end - first, &options, 1e9 / tsct_series_ns(s),
			    ret_fit, keep ? keep + first : NULL);
	if (!err && kind == TSCT_FIT_ITC)
		ret_fit->kind = kind;
	return err;
}

__s64 tsct_series_time(const struct tsct_series *s, const struct tsct_fit *fit,
		       __u64 local, double *ret_frac_ns, double *ret_error_ns)
{
	const struct tsct_remote_params *params;
	double frac, error, ns, whole, age, per_count;
	__u64 remote = tsct_fit_at(fit, local, &frac, &error);
	unsigned int low = 0, high = s->nr - 1, middle;
	tsct_s128 product;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((__s64)(s->x[middle].t4 - local) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	params = &s->params[low];
	product = (tsct_s128)(__s64)(remote - params->base) * params->mult;
	per_count = ldexp((double)params->mult, -TSCT_CLOCK_SHIFT);
	ns = ldexp((double)((__u64)product & ((1ULL << TSCT_CLOCK_SHIFT) - 1)),
		   -TSCT_CLOCK_SHIFT) + frac * per_count;
	whole = floor(ns);
	product = (product >> TSCT_CLOCK_SHIFT) + params->base_ns + (__s64)whole;
	age = fmax((double)(__s64)(remote - params->as_of), 0);
	if (ret_frac_ns)
		*ret_frac_ns = ns - whole;
	if (ret_error_ns)
		*ret_error_ns = error * per_count +
			((double)params->error_ps +
			 age * ldexp((double)params->growth, -32)) * 1e-3;
	return product > INT64_MAX ? INT64_MAX :
		product < INT64_MIN ? INT64_MIN : (__s64)product;
}
