// SPDX-License-Identifier: MIT
/*
 * Samples of a recording in the form in which the daemon answers "exchanges", for the
 * page that draws both. Offsets are against the tangent of the fit in the middle.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "json.h"
#include "report.h"
#include "sync_read.h"

#define CURVE_POINTS	64
#define MARKS_MAX	4096	/* more cannot be told apart, and make a page heavy */

struct tangent {
	const struct sync_read *read;
	const struct tsct_series *series;
	const struct tsct_fit *fit;	/* best at `at` */
	__u64 at, base;
	double frac, rate;		/* theirs, per tick of ours */
	double ns;			/* per count of theirs */
};

/* Their counter beyond the tangent's at ours, in ns */
static double beyond(const struct tangent *t, __u64 local, __u64 remote,
		     double frac)
{
	return ((double)(__s64)(remote - t->base) + frac - t->frac -
		(double)(__s64)(local - t->at) * t->rate) * t->ns;
}

static double seconds(const struct tangent *t, __u64 local)
{
	return (double)(__s64)(local - t->read->rec->begin) /
		sync_read_hz(t->read->rec);
}

static json_t *show_exchange(const struct tangent *t,
			     const struct tsct_exchange *x, bool kept)
{
	const __u64 local = x->t1 + (x->t4 - x->t1) / 2;
	const __u64 remote = x->t2 + (x->t3 - x->t2) / 2;
	const double halves = (double)((x->t3 - x->t2) & 1) / 2 -
		(double)((x->t4 - x->t1) & 1) / 2 * t->rate;

	return json_pack("[f,f,f,b]", seconds(t, local),
			 beyond(t, local, remote, halves),
			 tsct_exchange_rtt(x, t->rate) * t->rate * t->ns,
			 (int)kept);
}

static json_t *show_exchanges(const struct tangent *t, const bool *keep)
{
	const unsigned int nr = t->series->nr;
	const unsigned int step = (nr + MARKS_MAX - 1) / MARKS_MAX;
	json_t *rows = json_array();
	unsigned int i;

	for (i = 0; i < nr; i += step)
		json_array_append_new(rows, show_exchange(t, &t->series->x[i],
							  keep[i]));
	return rows;
}

static json_t *show_point(const struct tangent *t, enum tsct_fit_kind kind,
			  __u64 at)
{
	double frac, error;
	struct tsct_fit fit;
	__u64 remote;

	if (tsct_series_near(t->series, kind, sync_read_hz(t->read->rec), at,
			     &fit))
		return NULL;
	remote = tsct_fit_at(&fit, at, &frac, &error);
	return json_pack("[f,f,f]", seconds(t, at), beyond(t, at, remote, frac),
			 error * t->ns);
}

/* From the first exchange to the last: each point as well as it can be known */
static json_t *show_curve(const struct tangent *t, enum tsct_fit_kind kind)
{
	const __u64 from = t->series->x[0].t1;
	const __u64 to = t->series->x[t->series->nr - 1].t4;
	json_t *curve = json_array(), *point;
	unsigned int i;

	for (i = 0; i <= CURVE_POINTS; i++) {
		point = show_point(t, kind, from + (to - from) / CURVE_POINTS * i);
		if (point)
			json_array_append_new(curve, point);
	}
	return curve;
}

static json_t *show_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *show_fit(const struct tangent *t, const struct sync_figures *f)
{
	const struct tsct_fit *fit = &f->fit;
	const double tick_ns = t->rate * t->ns;

	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"kind", tsct_fit_name(fit->kind), "kept", (int)f->kept,
		"dropped", (int)(t->series->nr - f->kept),
		"rtt_min_ns", show_number(fit->rtt_min * tick_ns),
		"rtt_median_ns", show_number(fit->rtt_median * tick_ns),
		"residual_ns", show_number(fit->residual * t->ns),
		"sd_ns", show_number(fit->sd * t->ns),
		"doubt_ns", show_number(fit->doubt * t->ns),
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

static json_t *show_series(const struct sync_read *r, unsigned int i,
			   enum tsct_fit_kind kind)
{
	const struct tsct_series *s = &r->series[i];
	bool *keep = calloc(s->nr, sizeof(*keep));
	struct tangent t = { .read = r, .series = s };
	struct sync_figures f;
	json_t *shown;

	if (!keep || sync_read_figures(r, i, kind, &f)) {
		free(keep);
		return NULL;
	}
	if (f.err) {
		free(keep);
		return json_pack("{s:o,s:s}", "name", show_name(s), "why",
				 sync_read_why(f.err));
	}
	t.fit = &f.fit;
	t.at = f.fit.at;
	t.base = tsct_fit_at(&f.fit, t.at, &t.frac, NULL);
	t.rate = tsct_fit_rate(&f.fit, t.at);
	t.ns = tsct_series_ns(s);
	tsct_series_fit(s, kind, sync_read_hz(r->rec), 0, UINT64_MAX, t.at,
			&f.fit, keep);
	shown = json_pack("{s:o,s:o,s:o,s:o}", "name", show_name(s),
			  "exchanges", show_exchanges(&t, keep),
			  "fit", show_fit(&t, &f), "curve", show_curve(&t, kind));
	free(keep);
	return shown;
}

json_t *report_recording(const struct sync_read *r, int kind)
{
	json_t *sources = json_array(), *source;
	unsigned int i;

	for (i = 0; i < r->nr_series; i++) {
		source = show_series(r, i, kind < 0 ? sync_read_kind(r->rec) :
				     (enum tsct_fit_kind)kind);
		if (!source) {
			json_decref(sources);
			return NULL;
		}
		json_array_append_new(sources, source);
	}
	return json_pack("{s:o,s:s,s:b,s:o}", "name", ctl_json_text(
			 r->rec->sync.on && *r->rec->sync.name ?
			 r->rec->sync.name : r->rec->host),
			 "x_title", "seconds since the recording began",
			 "recorded", 1, "sources", sources);
}
