// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report.h"
#include "report_page_made.h"
#include "lib/query/value_text.h"

/* ---- escaped text ------------------------------------------------------------ */

static void put_character(FILE *to, __u32 c, const char *at, size_t len)
{
	/* Ranges of characters that are invisible or change the text's direction */
	static const __u32 ranges[][2] = {
		{ 0, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180e, 0x180e },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};
	size_t i;

	switch (c) {
	case '<': fputs("&lt;", to); return;
	case '>': fputs("&gt;", to); return;
	case '&': fputs("&amp;", to); return;
	case '\'': fputs("&#39;", to); return;
	case '"': fputs("&quot;", to); return;
	}
	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1]) {
			fprintf(to, "\\u{%x}", c);
			return;
		}
	fwrite(at, 1, len, to);
}

void report_text(FILE *to, const char *text)
{
	size_t left = strlen(text), len;
	__u32 code;

	while (left) {
		len = tsct_utf8_decode(text, left, &code);
		if (len)
			put_character(to, code, text, len);
		else
			fputs("\357\277\275", to);	/* U+FFFD for invalid UTF-8 */
		len = len ? len : 1;
		text += len;
		left -= len;
	}
}

/* Writes a number with thin spaces between groups of three digits: 1 234 567 */
static void put_count(FILE *to, unsigned long long n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", n), i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			fputs("&#8239;", to);
		putc(digits[i], to);
	}
}

void report_print(FILE *to, const char *format, ...)
{
	const char *mark;
	va_list args;
	int precision;
	size_t len;

	va_start(args, format);
	for (; (mark = strchr(format, '%')); format = mark + len) {
		fwrite(format, 1, (size_t)(mark - format), to);
		len = strcspn(mark, "sufg") + 1;
		precision = mark[1] == '.' ? mark[2] - '0' : 6;
		switch (mark[len - 1]) {
		case 's': report_text(to, va_arg(args, const char *)); break;
		case 'f': fprintf(to, "%.*f", precision, va_arg(args, double)); break;
		case 'g': fprintf(to, "%.*g", precision, va_arg(args, double)); break;
		default:
			if (mark[1] == '\'')
				put_count(to, va_arg(args, unsigned long long));
			else if (mark[1] == 'l')
				fprintf(to, "%llu", va_arg(args, unsigned long long));
			else
				fprintf(to, "%u", va_arg(args, unsigned int));
		}
	}
	va_end(args);
	fputs(format, to);
}

/* ---- head and foot of a page -------------------------------------------------- */

void report_begin(FILE *to, const char *title, const char *of, bool script)
{
	char when[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	      "<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
	      "<meta name=\"referrer\" content=\"no-referrer\"/>\n", to);
	fprintf(to, "<meta http-equiv=\"Content-Security-Policy\" content=\""
		"default-src 'none'; style-src '%s'; %s%s%sbase-uri 'none'; "
		"form-action 'none'\"/>\n<title>%s: ", REPORT_STYLE_HASH,
		script ? "script-src '" : "", script ? REPORT_SCRIPT_HASH : "",
		script ? "'; " : "", title);
	report_print(to, "%s</title>\n<style>", of);
	fputs(report_style, to);
	report_print(to, "</style>\n</head>\n<body>\n<h1>%s: %s</h1>\n<p class=\"sub\">Made by"
		     " trace-ctl report, %s</p>\n", title, of, when);
}

void report_canvases(FILE *to)
{
	fputs(report_html, to);
}

void report_end(FILE *to, bool script)
{
	if (script)
		fprintf(to, "<script>%s</script>\n", report_script);
	fputs("</body>\n</html>\n", to);
}

/* ---- charts ------------------------------------------------------------------ */

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

/* Returns the step of about TICKS axis labels: 1, 2 or 5 times a power of ten. */
static double round_step(double range)
{
	double raw = range / TICKS, power = pow(10, floor(log10(raw)));

	return power * (raw / power <= 1 ? 1 : raw / power <= 2 ? 2 :
			raw / power <= 5 ? 5 : 10);
}

static double show_number(double value, double step)
{
	/* Replaces a tiny rounding error by 0, to avoid axis labels such as -0 or 1e-17. */
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
