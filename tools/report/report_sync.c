// SPDX-License-Identifier: MIT
/*
 * trace-ctl report sync: a page of the exchanges with each source, the fit, and
 * its bound.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "tools/common/json.h"
#include "report.h"

/*
 * Columns of a source's numbers; x is in s before the fit's end, the others in
 * ns
 */
struct series {
	unsigned int nr, nr_curve;
	double *x, *offset, *rtt, *left;	/* of exchanges; left: residual */
	bool *kept;
	double *curve_x, *curve, *low, *high;
};

static double *make_column(unsigned int nr)
{
	return calloc(nr ? nr : 1, sizeof(double));
}

static void free_series(struct series *s)
{
	free(s->x);
	free(s->offset);
	free(s->rtt);
	free(s->left);
	free(s->kept);
	free(s->curve_x);
	free(s->curve);
	free(s->low);
	free(s->high);
}

static double element(const json_t *row, unsigned int i)
{
	const json_t *value = json_array_get(row, i);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The curve between its equidistant points */
static double curve_at(const struct series *s, double x)
{
	double pos, part;
	unsigned int i;

	if (s->nr_curve < 2 || !(s->curve_x[s->nr_curve - 1] > s->curve_x[0]))
		return s->nr_curve ? s->curve[0] : 0;
	pos = (x - s->curve_x[0]) / (s->curve_x[s->nr_curve - 1] -
				     s->curve_x[0]) * (s->nr_curve - 1);
	pos = fmin(fmax(pos, 0), s->nr_curve - 1.000001);
	i = (unsigned int)pos;
	part = pos - i;
	return s->curve[i] * (1 - part) + s->curve[i + 1] * part;
}

static void read_rows(struct series *s, const json_t *exchanges,
		      const json_t *curve)
{
	const json_t *row;
	unsigned int i;

	for (i = 0; i < s->nr_curve; i++) {
		row = json_array_get(curve, i);
		s->curve_x[i] = element(row, 0);
		s->curve[i] = element(row, 1);
		s->low[i] = s->curve[i] - element(row, 2);
		s->high[i] = s->curve[i] + element(row, 2);
	}
	for (i = 0; i < s->nr; i++) {
		row = json_array_get(exchanges, i);
		s->x[i] = element(row, 0);
		s->offset[i] = element(row, 1);
		s->rtt[i] = element(row, 2);
		s->kept[i] = json_is_true(json_array_get(row, 3));
		s->left[i] = s->offset[i] - curve_at(s, s->x[i]);
	}
}

static int read_series(const json_t *source, struct series *s)
{
	const json_t *exchanges = json_object_get(source, "exchanges");
	const json_t *curve = json_object_get(source, "curve");

	memset(s, 0, sizeof(*s));
	s->nr = (unsigned int)json_array_size(exchanges);
	s->nr_curve = (unsigned int)json_array_size(curve);
	s->x = make_column(s->nr);
	s->offset = make_column(s->nr);
	s->rtt = make_column(s->nr);
	s->left = make_column(s->nr);
	s->kept = calloc(s->nr ? s->nr : 1, sizeof(*s->kept));
	s->curve_x = make_column(s->nr_curve);
	s->curve = make_column(s->nr_curve);
	s->low = make_column(s->nr_curve);
	s->high = make_column(s->nr_curve);
	if (!s->x || !s->offset || !s->rtt || !s->left || !s->kept ||
	    !s->curve_x || !s->curve || !s->low || !s->high) {
		free_series(s);
		return -ENOMEM;
	}
	read_rows(s, exchanges, curve);
	return 0;
}

/* ---- drawing --------------------------------------------------------------- */

static void widen(const double *v, unsigned int nr, const bool *only,
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

static void draw_marks(const struct chart *chart, const struct series *s,
		       const double *x, const double *y)
{
	char hint[128];
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		snprintf(hint, sizeof(hint), "%.1f ns, round trip %.1f us%s",
			 y[i], s->rtt[i] / 1e3, s->kept[i] ? "" : ", dropped");
		chart_mark(chart, x[i], y[i], s->kept[i] ? "kept" : "dropped",
			   hint);
	}
}

static void draw_offsets(FILE *to, const struct series *s, const char *x_title)
{
	struct chart chart = {
		.to = to, .title = "Offset over time",
		.x_title = x_title,
		.y_title = "offset, ns", .x_min = INFINITY,
		.x_max = -INFINITY, .y_min = INFINITY, .y_max = -INFINITY,
	};
	/*
	 * The bound where it matters: further back it would dwarf everything
	 * else.
	 */
	const unsigned int late = s->nr_curve ? s->nr_curve - 1 : 0;

	widen(s->x, s->nr, NULL, &chart.x_min, &chart.x_max);
	widen(s->offset, s->nr, s->kept, &chart.y_min, &chart.y_max);
	widen(s->low + late, s->nr_curve - late, NULL, &chart.y_min,
	      &chart.y_max);
	widen(s->high + late, s->nr_curve - late, NULL, &chart.y_min,
	      &chart.y_max);
	chart_pad(&chart.x_min, &chart.x_max);
	chart_pad(&chart.y_min, &chart.y_max);
	chart_begin(&chart);
	chart_band(&chart, s->curve_x, s->low, s->high, s->nr_curve, "bound");
	draw_marks(&chart, s, s->x, s->offset);
	chart_line(&chart, s->curve_x, s->curve, s->nr_curve, "fit");
	chart_end(&chart);
}

static void draw_residuals(FILE *to, const struct series *s)
{
	struct chart chart = {
		.to = to, .title = "Residual by round trip",
		.x_title = "round trip, ns", .y_title = "residual, ns",
		.x_min = INFINITY, .x_max = -INFINITY, .y_min = INFINITY,
		.y_max = -INFINITY,
	};

	widen(s->rtt, s->nr, s->kept, &chart.x_min, &chart.x_max);
	widen(s->left, s->nr, s->kept, &chart.y_min, &chart.y_max);
	chart_pad(&chart.x_min, &chart.x_max);
	chart_pad(&chart.y_min, &chart.y_max);
	chart_begin(&chart);
	draw_marks(&chart, s, s->rtt, s->left);
	chart_end(&chart);
}

static void print_figure(FILE *to, const char *name, double value,
			 const char *unit)
{
	if (isfinite(value))
		fprintf(to, "<tr><th>%s</th><td>%.6g %s</td></tr>\n", name,
			value, unit);
}

static void print_fit(FILE *to, const json_t *fit)
{
	const json_t *kind = json_object_get(fit, "kind");

	fputs("<table>\n<tr><th>Fit</th><td>", to);
	report_text(to, json_is_string(kind) ? json_string_value(kind) : "?");
	fputs("</td></tr>\n", to);
	print_figure(to, "Exchanges kept", ctl_json_number(fit, "kept"), "");
	print_figure(to, "Exchanges dropped", ctl_json_number(fit, "dropped"), "");
	print_figure(to, "Bound of the error", ctl_json_number(fit, "error_ns"),
		     "ns");
	print_figure(to, "Likely error (1 &sigma;)", ctl_json_number(fit, "sd_ns"),
		     "ns");
	print_figure(to, "Difference of candidates",
		     ctl_json_number(fit, "doubt_ns"), "ns");
	print_figure(to, "Residuals, RMS of kept",
		     ctl_json_number(fit, "residual_ns"), "ns");
	print_figure(to, "Round trip, shortest", ctl_json_number(fit, "rtt_min_ns"),
		     "ns");
	print_figure(to, "Round trip, median",
		     ctl_json_number(fit, "rtt_median_ns"), "ns");
	print_figure(to, "Bound of the rate's error",
		     ctl_json_number(fit, "rate_error_ppb"), "ppb");
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

	fputs("<section>\n<h2>", to);
	report_text(to, text_of(source, "name", "?"));
	fputs("</h2>\n", to);
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
	free_series(&s);
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

	fprintf(to, "<p>Offsets are those of the other's counter to this node's, relative to"
	      " the tangent of the fit %s; <span class='kept'>&#9679;"
	      "</span> kept, <span class='dropped'>&#9675;</span> dropped. The band"
	      " is the bound: it contains the true offset, whatever the delays of"
	      " the two directions.</p>\n", recorded ? "in the middle of the recording" :
	      "at its end");
	for (i = 0; i < json_array_size(sources) && !err; i++)
		err = print_source(to, json_array_get(sources, i), x_title);
	if (!json_array_size(sources))
		fputs(recorded ? "<p>The recording has no sync samples: it is the"
		      " master's, or of no cluster.</p>\n" :
		      "<p>This node polls no source: it is the master, or no source is"
		      " configured.</p>\n", to);
	return err;
}

int report_sync(FILE *to, const json_t *window)
{
	int err;

	report_begin(to, "Time by other nodes", text_of(window, "name", "?"), false);
	err = report_sync_sections(to, window);
	report_end(to, false);
	return err;
}
