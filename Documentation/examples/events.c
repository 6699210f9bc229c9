/* SPDX-License-Identifier: MIT */
/*
 * Counts each event of a recording that trace-ctl recorded or merged, and prints the
 * mean time from one to the next.
 *
 *	cc events.c -ltsctrace && ./a.out recording
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tsctrace/trace.h>

#define KINDS_MAX	256

static struct {
	const struct tsct_event_def *def;
	uint64_t count;
	int64_t last_ns, sum_ns;
} kinds[KINDS_MAX];

static void count(const struct tsct_trace *trace,
		  const struct tsct_trace_event *event)
{
	int64_t ns = tsct_trace_ns(trace, event->tick);
	int i;

	/* A definition keeps its address as long as the recording is open. */
	for (i = 0; i < KINDS_MAX && kinds[i].def; i++)
		if (kinds[i].def == event->def)
			break;
	if (i == KINDS_MAX)
		return;
	if (kinds[i].count++)
		kinds[i].sum_ns += ns - kinds[i].last_ns;
	kinds[i].def = event->def;
	kinds[i].last_ns = ns;
}

static void report(void *arg, const char *sentence)
{
	(void)arg;
	fprintf(stderr, "%s\n", sentence);
}

int main(int argc, char **argv)
{
	struct tsct_trace_event event;
	struct tsct_trace *trace;
	char why[256];
	int i, ret;

	if (argc != 2) {
		fprintf(stderr, "usage: %s RECORDING\n", argv[0]);
		return 2;
	}
	if (tsct_trace_open(argv[1], report, NULL, &trace, why, sizeof(why))) {
		fprintf(stderr, "%s: %s\n", argv[1], why);
		return 1;
	}
	while ((ret = tsct_trace_next(trace, &event)) == 1)
		count(trace, &event);
	if (ret < 0)
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-ret));
	for (i = 0; i < KINDS_MAX && kinds[i].def; i++)
		printf("%-24s %10" PRIu64 " %14.3f us apart\n",
		       kinds[i].def->name, kinds[i].count, kinds[i].count < 2 ?
		       0 : kinds[i].sum_ns / 1e3 / (kinds[i].count - 1));
	printf("%u nodes, %" PRIu64 " events are missing\n",
	       (unsigned int)tsct_trace_nodes(trace),
	       (uint64_t)tsct_trace_lost(trace));
	tsct_trace_close(trace);
	return ret < 0;
}
