/* SPDX-License-Identifier: MIT */
/* Draws a chart as SVG in an HTML page: axes with round numbers, marks, lines, bands */
#ifndef CHART_H
#define CHART_H

#include <stdio.h>

struct chart {
	FILE *to;
	double x_min, x_max, y_min, y_max;	/* ranges of x and y that are visible */
	const char *title, *x_title, *y_title;
};

/* Begins an empty chart; later elements are drawn on top of earlier ones. */
void chart_begin(const struct chart *chart);
void chart_end(const struct chart *chart);

/*
 * Draw marks, lines and bands. Marks outside the visible ranges are not drawn; lines
 * and bands are clipped.
 * @style: CSS class in the page's style sheet
 * @hint: text that the browser shows when the pointer is at the mark
 */
void chart_mark(const struct chart *chart, double x, double y,
		const char *style, const char *hint);
void chart_line(const struct chart *chart, const double *x, const double *y,
		unsigned int nr, const char *style);
void chart_band(const struct chart *chart, const double *x, const double *low,
		const double *high, unsigned int nr, const char *style);

/* Widens a range by 5 % at both ends, or by 1 if it is empty. */
void chart_pad(double *min, double *max);

#endif /* CHART_H */
