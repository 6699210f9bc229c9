// SPDX-License-Identifier: MIT
/* A progress bar on standard error */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/client/gettime.h"
#include "lib/core/port.h"
#include "progress.h"

#define FIRST_NS	NS_PER_S	/* time before a bar is shown, ns */
#define EVERY_NS	(NS_PER_S / 5)	/* time between updates of the bar, ns */
#define WIDTH_MAX	40		/* largest width of the bar, columns */

void progress_begin(struct progress *p, bool quiet)
{
	memset(p, 0, sizeof(*p));
	p->on = !quiet && isatty(STDERR_FILENO);
	p->begin_ns = p->last_ns = tsct_monotonic_ns();
}

static void format_time_left(double seconds, char *text, size_t size)
{
	unsigned int s = seconds < 360000 ? seconds + 0.5 : 360000;

	if (s >= 3600)
		snprintf(text, size, "%u h %02u min left", s / 3600,
			 s / 60 % 60);
	else if (s >= 60)
		snprintf(text, size, "%u min %02u s left", s / 60, s % 60);
	else
		snprintf(text, size, "%u s left", s);
}

void progress_show(struct progress *p, double done, uint64_t count)
{
	struct winsize size;
	char text[96], left[40] = "";
	uint64_t now;
	double took;
	int i, width = 80;

	if (!p->on)
		return;
	now = tsct_monotonic_ns();
	took = (double)(now - p->begin_ns) / NS_PER_S;
	if (now - p->begin_ns < FIRST_NS || now - p->last_ns < EVERY_NS)
		return;
	p->last_ns = now;
	p->shown = true;
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	if (done > 0.001)
		format_time_left(took / done - took, left, sizeof(left));
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	width -= 4 + snprintf(text, sizeof(text), "%3.0f %%  %.2f M events/s  %s",
			      done * 100, count / took / 1e6, left);
	if (width > WIDTH_MAX)
		width = WIDTH_MAX;
	fputs("\r[", stderr);
	for (i = 0; i < width; i++)
		putc(i < done * width ? '#' : ' ', stderr);
	fprintf(stderr, "] %s\033[K", text);
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
