// SPDX-License-Identifier: MIT
#include <math.h>

#include "chart.h"

#define WIDTH	900
#define HEIGHT	300
#define LEFT	80
#define RIGHT	20
#define TOP	30
#define BOTTOM	45
#define TICKS	8

static double at_x(const struct chart *c, double x)
{
	return LEFT + (x - c->x_min) / (c->x_max - c->x_min) *
		(WIDTH - LEFT - RIGHT);
}

static double at_y(const struct chart *c, double y)
{
	return HEIGHT - BOTTOM - (y - c->y_min) / (c->y_max - c->y_min) *
		(HEIGHT - TOP - BOTTOM);
}

static double within(double value, double min, double max)
{
	return value < min ? min : value > max ? max : value;
}

/* Step between axis labels: 1, 2 or 5 times a power of ten, for about TICKS labels */
static double round_step(double range)
{
	double raw = range / TICKS, power = pow(10, floor(log10(raw)));

	return power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 :
			raw / power <= 5 ? 5 : 10);
}

static double show_number(double value, double step)
{
	/* avoids axis labels such as -0 or 1e-17 */
	return fabs(value) < step / 2 ? 0 : value;
}

void chart_begin(const struct chart *c)
{
	double step = round_step(c->x_max - c->x_min), v;
	int i;

	fprintf(c->to, "<svg viewBox='0 0 %d %d' role='img'><title>%s</title>\n"
		"<text class='title' x='%d' y='18'>%s</text>\n"
		"<text class='name' x='%d' y='%d' text-anchor='middle'>%s</text>\n"
		"<text class='name' transform='translate(14 %d) rotate(-90)' "
		"text-anchor='middle'>%s</text>\n", WIDTH, HEIGHT, c->title,
		LEFT, c->title, (WIDTH + LEFT) / 2, HEIGHT - 8, c->x_title,
		(HEIGHT - BOTTOM + TOP) / 2, c->y_title);
	v = ceil(c->x_min / step) * step;
	for (i = 0; i < 2 * TICKS && v <= c->x_max; i++, v += step)
		fprintf(c->to, "<path class='grid' d='M%.1f %dV%d'/>"
			"<text class='tick' x='%.1f' y='%d' text-anchor='middle'>"
			"%g</text>\n", at_x(c, v), TOP, HEIGHT - BOTTOM,
			at_x(c, v), HEIGHT - BOTTOM + 15, show_number(v, step));
	step = round_step(c->y_max - c->y_min);
	v = ceil(c->y_min / step) * step;
	for (i = 0; i < 2 * TICKS && v <= c->y_max; i++, v += step)
		fprintf(c->to, "<path class='grid' d='M%d %.1fH%d'/>"
			"<text class='tick' x='%d' y='%.1f' text-anchor='end'>"
			"%g</text>\n", LEFT, at_y(c, v), WIDTH - RIGHT,
			LEFT - 6, at_y(c, v) + 4, show_number(v, step));
}

void chart_end(const struct chart *c)
{
	fprintf(c->to, "<path class='frame' d='M%d %dH%dV%dH%dZ'/>\n</svg>\n",
		LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM, LEFT);
}

void chart_mark(const struct chart *c, double x, double y, const char *style,
		const char *hint)
{
	if (!(x >= c->x_min && x <= c->x_max && y >= c->y_min && y <= c->y_max))
		return;
	fprintf(c->to, "<circle class='%s' cx='%.1f' cy='%.1f' r='2.5'>"
		"<title>%s</title></circle>\n", style, at_x(c, x), at_y(c, y),
		hint);
}

static void draw_path(const struct chart *c, const double *x, const double *y,
		      unsigned int from, unsigned int to, const char *first)
{
	int way = from <= to ? 1 : -1;
	unsigned int i;

	for (i = from; ; i += (unsigned int)way) {
		fprintf(c->to, "%s%.1f %.1f", i == from ? first : "L",
			at_x(c, within(x[i], c->x_min, c->x_max)),
			at_y(c, within(y[i], c->y_min, c->y_max)));
		if (i == to)
			break;
	}
}

void chart_line(const struct chart *c, const double *x, const double *y,
		unsigned int nr, const char *style)
{
	if (!nr)
		return;
	fprintf(c->to, "<path class='%s' d='", style);
	draw_path(c, x, y, 0, nr - 1, "M");
	fputs("'/>\n", c->to);
}

void chart_band(const struct chart *c, const double *x, const double *low,
		const double *high, unsigned int nr, const char *style)
{
	if (!nr)
		return;
	fprintf(c->to, "<path class='%s' d='", style);
	draw_path(c, x, low, 0, nr - 1, "M");
	draw_path(c, x, high, nr - 1, 0, "L");
	fputs("Z'/>\n", c->to);
}

void chart_pad(double *min, double *max)
{
	double more = (*max - *min) / 20;

	if (!(more > 0))
		more = 1;
	*min -= more;
	*max += more;
}
