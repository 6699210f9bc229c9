// SPDX-License-Identifier: MIT
/*
 * trace-ctl report sync: writes a page that shows, for each source of time, the exchanges,
 * the fit and the error bound of the fit. The data is the daemon's answer to the request
 * "exchanges"; sync samples of a recording are first converted to the form of this answer.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/fit/tangent.h"
#include "tools/common/json.h"
#include "tools/common/sync_samples.h"
#include "report.h"

#define CURVE_POINTS	64
/* largest number of exchanges in a chart: the marks of more exchanges would overlap */
#define MARKS_MAX	4096

/* ---- sync samples of a recording ---------------------------------------------- */

/* A series of sync samples. Offsets are relative to the fit's tangent in the middle. */
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

/* Returns points of the fitted function as JSON, at equal distances from the
 * first exchange to the last one. Computes a separate fit for each point. */
static json_t *show_curve(const struct window *w, enum tsct_fit_kind kind)
{
	const __u64 from = w->series->x[0].t1;
	const __u64 to = w->series->x[w->series->nr - 1].t4;
	json_t *curve = json_array();
	double frac, error;
	struct tsct_fit fit;
	__u64 at, remote;
	unsigned int i;

	for (i = 0; i <= CURVE_POINTS; i++) {
		at = from + (to - from) / CURVE_POINTS * i;
		if (tsct_series_near(w->series, kind, sync_samples_hz(w->read->rec), at,
				     &fit))
			continue;
		remote = tsct_fit_at(&fit, at, &frac, &error);
		json_array_append_new(curve, json_pack("[f,f,f]", seconds(w, at),
			tsct_tangent_beyond(&w->tangent, at, remote, frac),
			error * w->tangent.ns));
		tsct_fit_free(&fit);
	}
	return curve;
}

static json_t *show_fit(const struct window *w, const struct sync_figures *f)
{
	const struct tsct_fit *fit = &f->fit;
	const struct tsct_tangent *t = &w->tangent;
	const double tick_ns = t->rate * t->ns;

	return json_pack("{s:s,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"kind", tsct_fit_name(fit->kind), "kept", (int)f->kept,
		"dropped", (int)(w->series->nr - f->kept),
		"rtt_min_ns", tsct_json_real(fit->rtt_min * tick_ns),
		"rtt_median_ns", tsct_json_real(fit->rtt_median * tick_ns),
		"residual_ns", tsct_json_real(fit->residual * t->ns),
		"sd_ns", tsct_json_real(fit->sd * t->ns),
		"doubt_ns", tsct_json_real(fit->disagreement * t->ns),
		"error_ns", tsct_json_real(f->bound_ns),
		"rate_error_ppb", tsct_json_real(fit->rate_error / t->rate * 1e9));
}

static json_t *show_series(const struct sync_samples *r, unsigned int i,
			   enum tsct_fit_kind kind)
{
	const struct tsct_series *s = &r->series[i];
	const unsigned int step = (s->nr + MARKS_MAX - 1) / MARKS_MAX;
	bool *keep = calloc(s->nr, sizeof(*keep));
	struct window w = { .read = r, .series = s };
	const struct tsct_tangent *t = &w.tangent;
	json_t *shown = NULL, *exchanges;
	struct sync_figures f;
	double beyond;
	char name[128];
	__u64 local;
	unsigned int k;

	if (!keep)
		return NULL;
	sync_samples_figures(r, i, kind, &f, keep);
	snprintf(name, sizeof(name), "%s, node %016llx, timeline %u", s->source,
		 (unsigned long long)s->node, s->timeline);
	if (f.err) {
		shown = json_pack("{s:o,s:s}", "name", ctl_json_text(name), "why",
				  tsct_fit_error(f.err));
		goto out;
	}
	tsct_tangent_make(&f.fit, tsct_series_ns(s), &w.tangent);
	exchanges = json_array();
	for (k = 0; k < s->nr; k += step) {
		beyond = tsct_tangent_exchange(t, &s->x[k], &local);
		json_array_append_new(exchanges, json_pack("[f,f,f,b]",
			seconds(&w, local), beyond,
			tsct_exchange_rtt(&s->x[k], t->rate) * t->rate * t->ns,
			(int)keep[k]));
	}
	shown = json_pack("{s:o,s:o,s:o,s:o}", "name", ctl_json_text(name),
			  "exchanges", exchanges,
			  "fit", show_fit(&w, &f), "curve", show_curve(&w, kind));
out:
	tsct_fit_free(&f.fit);
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

/* ---- numbers to draw for a source ---------------------------------------------- */

/* Points of the two charts of one source of time: the exchanges with the
 * source, and the curve that is fitted to these exchanges. Units: x and curve_x
 * (chart of offsets): s; offset, rtt, residual, curve, low, high: ns */
struct series {
	unsigned int nr, nr_curve;
	double *x, *offset, *rtt, *residual;	/* arrays: one element per exchange */
	bool *kept;
	/* arrays: one element per curve point */
	double *curve_x, *curve, *low, *high;
};

static double read_element(const json_t *row, unsigned int i)
{
	const json_t *value = json_array_get(row, i);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* Returns the curve's value at time @x, s, interpolated between the curve's points. */
static double curve_at(const struct series *s, double x)
{
	unsigned int i = 0;
	double part;

	if (s->nr_curve < 2)
		return s->nr_curve ? s->curve[0] : 0;
	/* The distances of the points differ where a point could not be computed. */
	while (i + 2 < s->nr_curve && x > s->curve_x[i + 1])
		i++;
	if (!(s->curve_x[i + 1] > s->curve_x[i]))
		return s->curve[i];
	part = (x - s->curve_x[i]) / (s->curve_x[i + 1] - s->curve_x[i]);
	part = fmin(fmax(part, 0), 1);
	return s->curve[i] * (1 - part) + s->curve[i + 1] * part;
}

/* Reads the exchanges and the fitted curve of a source into @s. The caller frees s->x and
 * s->kept. Returns 0 or -ENOMEM. */
static int read_series(const json_t *source, struct series *s)
{
	const json_t *exchanges = json_object_get(source, "exchanges");
	const json_t *curve = json_object_get(source, "curve"), *row;
	const size_t nr = json_array_size(exchanges), nr_curve = json_array_size(curve);
	unsigned int i;

	s->nr = (unsigned int)nr;
	s->nr_curve = (unsigned int)nr_curve;
	s->x = calloc(4 * (nr + nr_curve) + 1, sizeof(*s->x));
	s->kept = calloc(nr + 1, sizeof(*s->kept));
	if (!s->x || !s->kept) {
		free(s->x);
		free(s->kept);
		return -ENOMEM;
	}
	s->offset = s->x + nr;
	s->rtt = s->offset + nr;
	s->residual = s->rtt + nr;
	s->curve_x = s->residual + nr;
	s->curve = s->curve_x + nr_curve;
	s->low = s->curve + nr_curve;
	s->high = s->low + nr_curve;
	for (i = 0; i < nr_curve; i++) {
		row = json_array_get(curve, i);
		s->curve_x[i] = read_element(row, 0);
		s->curve[i] = read_element(row, 1);
		s->low[i] = s->curve[i] - read_element(row, 2);
		s->high[i] = s->curve[i] + read_element(row, 2);
	}
	for (i = 0; i < nr; i++) {
		row = json_array_get(exchanges, i);
		s->x[i] = read_element(row, 0);
		s->offset[i] = read_element(row, 1);
		s->rtt[i] = read_element(row, 2);
		s->kept[i] = json_is_true(json_array_get(row, 3));
		s->residual[i] = s->offset[i] - curve_at(s, s->x[i]);
	}
	return 0;
}

/* ---- drawing --------------------------------------------------------------- */

static void widen_chart(const double *v, unsigned int nr, const bool *only,
			double *min, double *max)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!isfinite(v[i]) || (only && !only[i]))
			continue;
		*min = fmin(*min, v[i]);
		*max = fmax(*max, v[i]);
	}
}

/* Returns the number of marks that are outside the chart. */
static unsigned int draw_marks(const struct chart *chart, const struct series *s,
			       const double *x, const double *y)
{
	unsigned int i, outside = 0;
	char hint[128];

	for (i = 0; i < s->nr; i++) {
		outside += !(x[i] >= chart->x_min && x[i] <= chart->x_max &&
			     y[i] >= chart->y_min && y[i] <= chart->y_max);
		snprintf(hint, sizeof(hint), "%.1f ns, round trip %.1f us%s",
			 y[i], s->rtt[i] / 1e3, s->kept[i] ? "" : ", dropped");
		chart_mark(chart, x[i], y[i], s->kept[i] ? "kept" : "dropped",
			   hint);
	}
	return outside;
}

static void print_outside(FILE *to, unsigned int outside)
{
	if (outside)
		fprintf(to, "<p class=\"note\">%u exchanges are outside the chart.</p>\n",
			outside);
}

static void draw_offsets(FILE *to, const struct series *s, const char *x_title)
{
	struct chart chart = {
		.to = to, .title = "Offset over time",
		.x_title = x_title,
		.y_title = "offset, ns", .x_min = INFINITY,
		.x_max = -INFINITY, .y_min = INFINITY, .y_max = -INFINITY,
	};
	/* The y axis covers the error bound of only the curve's last point: earlier points
	 * may have much larger bounds, with which the offsets would be invisibly small. */
	const unsigned int late = s->nr_curve ? s->nr_curve - 1 : 0;
	unsigned int outside;

	widen_chart(s->x, s->nr, NULL, &chart.x_min, &chart.x_max);
	widen_chart(s->offset, s->nr, s->kept, &chart.y_min, &chart.y_max);
	widen_chart(s->low + late, s->nr_curve - late, NULL, &chart.y_min,
		    &chart.y_max);
	widen_chart(s->high + late, s->nr_curve - late, NULL, &chart.y_min,
		    &chart.y_max);
	chart_pad(&chart.x_min, &chart.x_max);
	chart_pad(&chart.y_min, &chart.y_max);
	chart_begin(&chart);
	chart_band(&chart, s->curve_x, s->low, s->high, s->nr_curve, "bound");
	outside = draw_marks(&chart, s, s->x, s->offset);
	chart_line(&chart, s->curve_x, s->curve, s->nr_curve, "fit");
	chart_end(&chart);
	print_outside(to, outside);
}

static void draw_residuals(FILE *to, const struct series *s)
{
	struct chart chart = {
		.to = to, .title = "Residual by round trip",
		.x_title = "round trip, ns", .y_title = "residual, ns",
		.x_min = INFINITY, .x_max = -INFINITY, .y_min = INFINITY,
		.y_max = -INFINITY,
	};
	unsigned int outside;

	widen_chart(s->rtt, s->nr, s->kept, &chart.x_min, &chart.x_max);
	widen_chart(s->residual, s->nr, s->kept, &chart.y_min, &chart.y_max);
	chart_pad(&chart.x_min, &chart.x_max);
	chart_pad(&chart.y_min, &chart.y_max);
	chart_begin(&chart);
	outside = draw_marks(&chart, s, s->rtt, s->residual);
	chart_end(&chart);
	print_outside(to, outside);
}

static void print_fit(FILE *to, const json_t *fit)
{
	static const struct { const char *name, *key, *unit; } figures[] = {
		{ "Exchanges kept", "kept", "" }, { "Exchanges dropped", "dropped", "" },
		{ "Error bound of the offset", "error_ns", "ns" },
		{ "Likely error (1 &sigma;)", "sd_ns", "ns" },
		{ "Difference of candidates", "doubt_ns", "ns" },
		{ "Residuals of the kept exchanges, RMS", "residual_ns", "ns" },
		{ "Round trip, shortest", "rtt_min_ns", "ns" },
		{ "Round trip, median", "rtt_median_ns", "ns" },
		{ "Bound of the rate's error", "rate_error_ppb", "ppb" },
	};
	const json_t *kind = json_object_get(fit, "kind");
	double value;
	size_t i;

	report_print(to, "<table>\n<tr><th>Fit</th><td>%s</td></tr>\n",
		     json_is_string(kind) ? json_string_value(kind) : "?");
	for (i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		value = ctl_json_number(fit, figures[i].key);
		if (isfinite(value))
			fprintf(to, "<tr><th>%s</th><td>%.6g %s</td></tr>\n",
				figures[i].name, value, figures[i].unit);
	}
	fputs("</table>\n", to);
}

static const char *text_of(const json_t *object, const char *key,
			   const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}

static int print_source(FILE *to, const json_t *source, const char *x_title)
{
	struct series s;

	report_print(to, "<section>\n<h2>%s</h2>\n", text_of(source, "name", "?"));
	if (!json_array_size(json_object_get(source, "exchanges"))) {
		fprintf(to, "<p>%s.</p>\n</section>\n",
			text_of(source, "why", "No exchanges yet"));
		return 0;
	}
	if (read_series(source, &s))
		return -ENOMEM;
	print_fit(to, json_object_get(source, "fit"));
	draw_offsets(to, &s, x_title);
	draw_residuals(to, &s);
	free(s.x);
	free(s.kept);
	fputs("</section>\n", to);
	return 0;
}

int report_sync_sections(FILE *to, const json_t *window)
{
	const json_t *sources = json_object_get(window, "sources");
	const bool recorded = json_is_true(json_object_get(window, "recorded"));
	const char *x_title = text_of(window, "x_title",
				      "seconds before the last exchange");
	size_t i;
	int err = 0;

	fprintf(to, "<p>An offset is the value of the other node's counter minus the value that the"
	      " tangent of the fit %s gives for it; <span class='kept'>&#9679;"
	      "</span> kept, <span class='dropped'>&#9675;</span> dropped. The band"
	      " is the error bound: it contains the true offset for any delays in"
	      " the two directions.</p>\n", recorded ? "in the middle of the recording" :
	      "at its end");
	for (i = 0; i < json_array_size(sources) && !err; i++)
		err = print_source(to, json_array_get(sources, i), x_title);
	if (!json_array_size(sources))
		fputs(recorded ? "<p>The recording has no sync samples: its node is"
		      " the master, or in no cluster.</p>\n" :
		      "<p>This node polls no source: it is the master, or no source is"
		      " configured.</p>\n", to);
	return err;
}

int report_sync(FILE *to, const json_t *window)
{
	int err;

	report_begin(to, "Offsets from other nodes", text_of(window, "name", "?"), false);
	err = report_sync_sections(to, window);
	report_end(to, false);
	return err;
}
