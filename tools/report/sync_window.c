// SPDX-License-Identifier: MIT
/*
 * Samples of a recording in the form of the daemon's answer to "exchanges", for
 * the page that draws both. Offsets are relative to the tangent of the fit in
 * the middle.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tools/common/json.h"
#include "report.h"
#include "lib/sync/fit.h"
#include "tools/common/sync_samples.h"

#define CURVE_POINTS	64
#define MARKS_MAX	4096	/* more would overlap, and make a page heavy */

struct window {
	const struct sync_samples *read;
	const struct tsct_series *series;
	struct tsct_tangent tangent;
};

static double seconds(const struct window *w, __u64 local)
{
	return (double)(__s64)(local - w->read->rec->begin) /
		sync_samples_hz(w->read->rec);
}

static json_t *show_exchange(const struct window *w,
			     const struct tsct_exchange *x, bool kept)
{
	const struct tsct_tangent *t = &w->tangent;
	__u64 local;
	const double beyond = tsct_tangent_exchange(t, x, &local);

	return json_pack("[f,f,f,b]", seconds(w, local), beyond,
			 tsct_exchange_rtt(x, t->rate) * t->rate * t->ns,
			 (int)kept);
}

static json_t *show_exchanges(const struct window *w, const bool *keep)
{
	const unsigned int nr = w->series->nr;
	const unsigned int step = (nr + MARKS_MAX - 1) / MARKS_MAX;
	json_t *rows = json_array();
	unsigned int i;

	for (i = 0; i < nr; i += step)
		json_array_append_new(rows, show_exchange(w, &w->series->x[i],
							  keep[i]));
	return rows;
}

static json_t *show_point(const struct window *w, enum tsct_fit_kind kind,
			  __u64 at)
{
	double frac, error;
	struct tsct_fit fit;
	__u64 remote;

	if (tsct_series_near(w->series, kind, sync_samples_hz(w->read->rec), at,
			     &fit))
		return NULL;
	remote = tsct_fit_at(&fit, at, &frac, &error);
	return json_pack("[f,f,f]", seconds(w, at),
			 tsct_tangent_beyond(&w->tangent, at, remote, frac),
			 error * w->tangent.ns);
}

/* The fit from the first exchange to the last, made anew for each point */
static json_t *show_curve(const struct window *w, enum tsct_fit_kind kind)
{
	const __u64 from = w->series->x[0].t1;
	const __u64 to = w->series->x[w->series->nr - 1].t4;
	json_t *curve = json_array(), *point;
	unsigned int i;

	for (i = 0; i <= CURVE_POINTS; i++) {
		point = show_point(w, kind, from + (to - from) / CURVE_POINTS * i);
		if (point)
			json_array_append_new(curve, point);
	}
	return curve;
}

static json_t *show_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *show_fit(const struct window *w, const struct sync_figures *f)
{
	const struct tsct_fit *fit = &f->fit;
	const struct tsct_tangent *t = &w->tangent;
	const double tick_ns = t->rate * t->ns;

	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"kind", tsct_fit_name(fit->kind), "kept", (int)f->kept,
		"dropped", (int)(w->series->nr - f->kept),
		"rtt_min_ns", show_number(fit->rtt_min * tick_ns),
		"rtt_median_ns", show_number(fit->rtt_median * tick_ns),
		"residual_ns", show_number(fit->residual * t->ns),
		"sd_ns", show_number(fit->sd * t->ns),
		"doubt_ns", show_number(fit->disagreement * t->ns),
		"error_ns", show_number(f->bound_ns),
		"rate_error_ppb", show_number(fit->rate_error / t->rate * 1e9));
}

static json_t *show_name(const struct tsct_series *s)
{
	char name[128];

	snprintf(name, sizeof(name), "%s, node %016llx, timeline %u", s->source,
		 (unsigned long long)s->node, s->timeline);
	return ctl_json_text(name);
}

static json_t *show_series(const struct sync_samples *r, unsigned int i,
			   enum tsct_fit_kind kind)
{
	const struct tsct_series *s = &r->series[i];
	bool *keep = calloc(s->nr, sizeof(*keep));
	struct window w = { .read = r, .series = s };
	struct sync_figures f;
	json_t *shown;

	if (!keep || sync_samples_figures(r, i, kind, &f)) {
		free(keep);
		return NULL;
	}
	if (f.err) {
		free(keep);
		return json_pack("{s:o,s:s}", "name", show_name(s), "why",
				 tsct_fit_error(f.err));
	}
	tsct_tangent_make(&f.fit, tsct_series_ns(s), &w.tangent);
	tsct_series_fit(s, kind, sync_samples_hz(r->rec), 0, UINT64_MAX,
			f.fit.at, &f.fit, keep);
	shown = json_pack("{s:o,s:o,s:o,s:o}", "name", show_name(s),
			  "exchanges", show_exchanges(&w, keep),
			  "fit", show_fit(&w, &f), "curve", show_curve(&w, kind));
	free(keep);
	return shown;
}

json_t *report_recording(const struct sync_samples *r, int kind)
{
	json_t *sources = json_array(), *source;
	unsigned int i;

	for (i = 0; i < r->nr_series; i++) {
		source = show_series(r, i, kind < 0 ? sync_samples_fit_kind(r->rec) :
				     (enum tsct_fit_kind)kind);
		if (!source) {
			json_decref(sources);
			return NULL;
		}
		json_array_append_new(sources, source);
	}
	return json_pack("{s:o,s:s,s:b,s:o}", "name", ctl_json_text(
			 r->rec->nodes[0].sync.on && *r->rec->nodes[0].sync.name ?
			 r->rec->nodes[0].sync.name : r->rec->nodes[0].host),
			 "x_title", "seconds since the recording began",
			 "recorded", 1, "sources", sources);
}
