/* SPDX-License-Identifier: MIT */
/* A chart as SVG in a page of HTML: axes with round numbers, marks, lines, bands */
#ifndef CHART_H
#define CHART_H

#include <stdio.h>

struct chart {
	FILE *to;
	double x_min, x_max, y_min, y_max;	/* visible ranges of the axes */
	const char *title, *x_title, *y_title;
};

/* Begins an empty chart; later elements are drawn on top of earlier ones. */
void chart_begin(const struct chart *chart);
void chart_end(const struct chart *chart);

/*
 * @style: a class of the page's style sheet
 * @hint: text that the browser shows at the mark
 * Marks outside of the visible ranges are not drawn; lines and bands are clipped.
 */
void chart_mark(const struct chart *chart, double x, double y,
		const char *style, const char *hint);
void chart_line(const struct chart *chart, const double *x, const double *y,
		unsigned int nr, const char *style);
void chart_band(const struct chart *chart, const double *x, const double *low,
		const double *high, unsigned int nr, const char *style);

/* Widens a range by 5 % on both sides, an empty range by 1. */
void chart_pad(double *min, double *max);

#endif /* CHART_H */
