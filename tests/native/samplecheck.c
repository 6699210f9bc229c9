// SPDX-License-Identifier: MIT
/*
 * samplecheck DIR - checks all kinds of fits over a recording's sync samples
 *
 * Nodes of one machine share a counter, so every fit must map a node's cycles to the same
 * cycles, within its bound, from the beginning of the recording to its end. Prints the
 * largest error and bound of each kind. Exit status 1: an error is beyond its bound, a
 * bound is 1 ms or more, or there are no samples.
 */
#include <math.h>

#include "lib/query/series.h"
#include "helper.h"

#define POINTS	100

static int bad;

static void report(void *arg, const char *sentence)
{
	printf("%s\n", sentence);
	bad = 1;
}

static void check(const struct tsct_recording *rec,
		  const struct tsct_series *s, enum tsct_fit_kind kind)
{
	const double hz = 0x1p56 / (double)rec->real.mult * 1e9;
	double frac, error, off, worst = 0, bound = 0;
	struct tsct_fit fit;
	__u64 at, remote;
	int err;

	for (unsigned int i = 0; i <= POINTS; i++) {
		at = rec->begin + (rec->end - rec->begin) / POINTS * i;
		err = tsct_series_near(s, kind, hz, at, &fit);
		if (err == -EOPNOTSUPP)
			return;		/* a reference fit, in a core build */
		if (err) {
			printf("%s: no fit\n", tsct_fit_name(kind));
			bad = 1;
			return;
		}
		remote = tsct_fit_at(&fit, at, &frac, &error);
		off = fabs((double)(__s64)(remote - at) + frac);
		worst = fmax(worst, off);
		bound = fmax(bound, error);
		if (!(off <= error))
			bad = 1;
		tsct_fit_free(&fit);
	}
	printf("%s %s: %u exchanges, off by %.0f ns, bound %.0f ns\n", s->source,
	       tsct_fit_name(kind), s->nr, worst / hz * 1e9, bound / hz * 1e9);
	/* A fit with a bound of 1 ms or more is a failure: it would prove nothing. */
	if (!(bound < hz / 1e3))
		bad = 1;
}

int main(int argc, char **argv)
{
	struct tsct_sync_sample *samples = NULL;
	struct tsct_series *series = NULL;
	unsigned int nr = 0, nr_series = 0, i, k;
	struct tsct_trace *trace;
	char why[256];

	if (argc != 2 || tsct_trace_open(argv[1], report, NULL, &trace, why,
					 sizeof(why))) {
		printf("%s\n", argc == 2 ? why : "usage: samplecheck DIR");
		return 1;
	}
	if (tsct_samples_read(trace, &samples, &nr) ||
	    tsct_series_make(samples, nr, &series, &nr_series) || !nr)
		bad = 1;
	printf("%u samples, %u series\n", nr, nr_series);
	for (i = 0; i < nr_series; i++)
		for (k = 0; k < TSCT_FIT_NR; k++)
			check(tsct_trace_recording(trace), &series[i], k);
	tsct_series_free(series, nr_series);
	free(samples);
	tsct_trace_close(trace);
	return bad;
}
