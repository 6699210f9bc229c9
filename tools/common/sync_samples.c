// SPDX-License-Identifier: MIT
/* Sync samples (exchanges with other nodes) of a recording, and a fit per source and epoch */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "sync_samples.h"
#include "view.h"

/* Number of equal parts of a fit's time range. The fit's error bound is computed at their ends. */
#define BOUND_INTERVALS	32

/* ---- reading ---------------------------------------------------------------- */

int sync_samples_open(const char *dir, struct sync_samples *r)
{
	struct tsct_sync_sample *samples = NULL;
	int err;

	memset(r, 0, sizeof(*r));
	err = view_open(dir, &r->trace);
	if (err)
		return err;
	r->rec = tsct_trace_recording(r->trace);
	err = tsct_samples_read(r->trace, &samples, &r->nr);
	if (!err) {
		r->end = r->rec->end;
		/* A killed recorder did not write the end of the recording to the
		 * metadata: if the last sync sample is later than rec->end, use the
		 * sample's stamp. */
		if (!r->rec->complete && r->nr && samples[r->nr - 1].stamp > r->end)
			r->end = samples[r->nr - 1].stamp;
		err = tsct_series_make(samples, r->nr, &r->series,
				       &r->nr_series);
	}
	free(samples);
	if (!err) {
		tsct_series_set_run(r->series, r->nr_series, r->rec);
		return 0;
	}
	if (err == -E2BIG)
		ctl_error("%s: the sync samples have more than %d pairs of a source and an"
			  " epoch: the recording is corrupt", dir, TSCT_SERIES_MAX);
	else
		ctl_error("%s: %s", dir, strerror(-err));
	sync_samples_close(r);
	return err;
}

void sync_samples_close(struct sync_samples *r)
{
	tsct_series_free(r->series, r->nr_series);
	tsct_trace_close(r->trace);
	memset(r, 0, sizeof(*r));
}

/* ---- fits ------------------------------------------------------------------- */

enum tsct_fit_kind sync_samples_fit_kind(const struct tsct_recording *rec)
{
	int kind = tsct_fit_kind_of(rec->nodes[0].sync.fit);

	return kind < 0 ? TSCT_FIT_AUTO : (enum tsct_fit_kind)kind;
}

double sync_samples_hz(const struct tsct_recording *rec)
{
	return 0x1p56 / (double)rec->real.mult * 1e9;
}

/* Gets the part of the recording, in cycles, for which series @i is used: the whole recording
 * unless the source has other series, one per epoch. */
static void get_span(const struct sync_samples *r, unsigned int i, __u64 *ret_from,
		     __u64 *ret_to)
{
	const struct tsct_series *s = &r->series[i];
	unsigned int k;

	*ret_from = r->rec->begin;
	*ret_to = r->end;
	/* If the source has series of earlier epochs, the range begins with the first sample of
	 * series i; if the source has series of later epochs, it ends with the last sample. */
	for (k = 0; k < r->nr_series; k++) {
		if (k == i || strcmp(s->source, r->series[k].source))
			continue;
		if (k < i && s->x[0].t1 > *ret_from)
			*ret_from = s->x[0].t1;
		if (k > i && s->x[s->nr - 1].t4 < *ret_to)
			*ret_to = s->x[s->nr - 1].t4;
	}
	if (*ret_to < *ret_from)
		*ret_to = *ret_from;
}

void sync_samples_figures(const struct sync_samples *r, unsigned int i,
			  enum tsct_fit_kind kind, struct sync_figures *ret,
			  bool *keep)
{
	const struct tsct_series *s = &r->series[i];
	const double hz = sync_samples_hz(r->rec);
	__u64 from, to, at;
	struct tsct_fit fit;
	unsigned int k;
	double error;

	memset(ret, 0, sizeof(*ret));
	get_span(r, i, &from, &to);
	ret->err = tsct_series_fit(s, kind, hz, 0, UINT64_MAX,
				   from + (to - from) / 2, &ret->fit, keep);
	if (ret->err)
		return;
	ret->kept = ret->fit.nr_kept;
	ret->drift_ppm = (1e9 / (tsct_fit_rate(&ret->fit, ret->fit.at) *
				 tsct_series_ns(s) * hz) - 1) * 1e6;
	for (k = 0; k <= BOUND_INTERVALS; k++) {
		at = from + (to - from) / BOUND_INTERVALS * k;
		ret->err = tsct_series_near(s, kind, hz, at, &fit);
		if (ret->err)
			return;
		tsct_series_time(s, &fit, at, NULL, &error);
		tsct_fit_free(&fit);
		ret->bound_ns = fmax(ret->bound_ns, error);
	}
}
