// SPDX-License-Identifier: MIT
/*
 * worldcheck MERGED TRUTH MASTER: compares a merged recording of a world
 * (world.c) with the truth. MASTER is the recording of the node whose clock is used.
 * Prints "NAME VALUE" lines, and each difference; exit status 1 if there is one.
 * worldcheck ticks MERGED: prints "NODE CPU NUMBER TICK" of all events.
 *
 * The true time of an event has to be within the node's bound and one tick of
 * the recorded one. All times are exact integers, 2^-56 ns.
 */
#include <stdarg.h>

#include "lib/ctf/trace_reader.h"
#include "helper.h"

struct event {
	bool found;
	uint32_t node, cpu, kind;
	uint64_t number, local, global;
	tsct_s128 truth, at, bound;
};

static struct event *events;
static size_t nr_events;
static unsigned int nr_failures;

#define NS(n)	((tsct_s128)(n) << TSCT_CLOCK_SHIFT)

static void fail_check(const char *format, ...)
{
	va_list args;

	if (nr_failures++ > 10)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static double ns_of(tsct_s128 time)
{
	return (double)time / 0x1p56;
}

static struct tsct_trace *open_trace(const char *dir)
{
	struct tsct_trace *trace;
	char why[512];

	if (!tsct_trace_open(dir, NULL, NULL, &trace, why, sizeof(why)))
		return trace;
	printf("%s: %s\n", dir, why);
	exit(1);
}

static tsct_s128 time_of(const struct tsct_clock_params *pair, uint64_t tick,
			 uint64_t frac)
{
	return NS(pair->base_ns) +
		(tsct_s128)(int64_t)(tick - pair->base_cycles) * (tsct_s128)pair->mult +
		(tsct_s128)((tsct_u128)frac * pair->mult >> 64);
}

static void read_truth(const char *path, const char *master)
{
	struct tsct_trace *trace = open_trace(master);
	const struct tsct_clock_params *real = &tsct_trace_recording(trace)->real;
	FILE *from = fopen(path, "r");
	uint64_t m, frac;
	struct event e;
	size_t i;

	if (!from)
		exit(2);
	while (fscanf(from, "%zu %u %u %u %lu %lu %lu %lu", &i, &e.node, &e.cpu,
		      &e.kind, &e.number, &e.local, &m, &frac) == 8) {
		events = realloc(events, (i + 1) * sizeof(*events));
		memset(events + nr_events, 0, (i - nr_events) * sizeof(*events));
		e.truth = time_of(real, m, frac);
		e.found = false;
		events[i] = e;
		nr_events = i + 1;
	}
	fclose(from);
	tsct_trace_close(trace);
}

/* Returns the error bound of correction @c at @tick, ns. Between two ticks for which @c
 * has bounds, the larger of the two bounds applies. */
static uint64_t bound_of(const struct tsct_recorded_correction *c,
			 uint64_t tick)
{
	uint64_t bound = 0;

	for (uint32_t i = 0; i < c->nr_bounds; i++) {
		if (c->bounds[i].tick <= tick)
			bound = c->bounds[i].error_ns;
		else if (!i || c->bounds[i].error_ns > bound)
			return c->bounds[i].error_ns;
		else
			return bound;
	}
	return bound;
}

static uint64_t number_of(const struct tsct_trace_event *e)
{
	uint64_t payload[2];

	if (e->len != sizeof(payload))
		exit(1);
	memcpy(payload, e->payload, sizeof(payload));
	return payload[1];
}

static void check_event(const struct tsct_recording *rec,
			const struct tsct_trace_event *t)
{
	const uint64_t i = number_of(t);
	struct event *e = &events[i];

	if (i >= nr_events || e->found || e->kind != t->def->id - (__u32)TSCT_ID_FIRST ||
	    e->node != t->node || e->cpu != t->cpu) {
		fail_check("unknown event %lu", i);
		return;
	}
	e->found = true;
	e->global = t->tick;
	e->at = time_of(&rec->real, t->tick, 0);
	e->bound = NS(bound_of(&rec->nodes[t->node].correction, t->tick)) +
		(tsct_s128)rec->real.mult;
}

/* The inputs have the same definitions, so ids are equal. */
static void read_merged(const char *dir)
{
	struct tsct_trace *trace = open_trace(dir);
	const struct tsct_recording *rec = tsct_trace_recording(trace);
	struct tsct_trace_event e;
	uint64_t nr = 0, last = 0;

	for (; tsct_trace_next(trace, &e) == 1; last = e.tick, nr++) {
		if (e.tick < last)
			fail_check("event %lu: ticks decrease", number_of(&e));
		check_event(rec, &e);
	}
	if (tsct_trace_corrupt_count(trace))
		fail_check("it is damaged");
	printf("events %lu\n", nr);
	tsct_trace_close(trace);
}

/* ---- requirements --------------------------------------------------------- */

static void check_bounds(void)
{
	tsct_s128 error, worst[16] = { 0 }, widest[16] = { 0 };
	const struct event *e;

	for (e = events; e < events + nr_events; e++) {
		if (!e->local)
			continue;	/* an event number that no event uses */
		if (!e->found) {
			fail_check("event %zu is missing", e - events);
			continue;
		}
		error = e->at > e->truth ? e->at - e->truth : e->truth - e->at;
		if (error > e->bound)
			fail_check("event %zu of node %u is off by %.1f ns, and was to"
				 " be within %.1f ns", e - events, e->node,
				 ns_of(error), ns_of(e->bound));
		if (error > worst[e->node])
			worst[e->node] = error;
		if (e->bound > widest[e->node])
			widest[e->node] = e->bound;
	}
	for (uint32_t i = 0; i < 16; i++)
		if (widest[i])
			printf("error_%u %.0f\nbound_%u %.0f\n", i,
			       ns_of(worst[i]), i, ns_of(widest[i]));
}

/* Checks each location: in the order of true time (the order of events[]), merged ticks
 * do not decrease, and increase if the recorded ticks increase. */
static void check_strict(void)
{
	const struct event *last[16][16] = { 0 }, *e, *l;

	for (e = events; e < events + nr_events; e++) {
		if (!e->found)
			continue;
		l = last[e->node % 16][e->cpu % 16];
		if (l && e->local > l->local && e->global <= l->global)
			fail_check("events %zu and %zu are on one tick",
				 l - events, e - events);
		if (l && e->global < l->global)
			fail_check("events %zu and %zu are in reverse order",
				 l - events, e - events);
		last[e->node % 16][e->cpu % 16] = e;
	}
}

static int by_end(const void *a, const void *b)
{
	const struct event *x = *(void *const *)a, *y = *(void *const *)b;
	const tsct_s128 p = x->at + x->bound, q = y->at + y->bound;

	return (p > q) - (p < q);
}

static int by_begin(const void *a, const void *b)
{
	const struct event *x = *(void *const *)a, *y = *(void *const *)b;
	const tsct_s128 p = x->at - x->bound, q = y->at - y->bound;

	return (p > q) - (p < q);
}

/* Two events whose times differ by more than the sum of their error bounds must be in
 * their true order. */
static void check_order(void)
{
	struct event **ends = calloc(2 * nr_events, sizeof(*ends));
	struct event **begins = ends + nr_events;
	tsct_s128 latest = 0;
	size_t nr = 0, i, k = 0;

	for (i = 0; i < nr_events; i++)
		if (events[i].found)
			ends[nr] = begins[nr] = &events[i], nr++;
	qsort(ends, nr, sizeof(*ends), by_end);
	qsort(begins, nr, sizeof(*begins), by_begin);
	for (i = 0; i < nr; i++) {
		for (; k < nr && ends[k]->at + ends[k]->bound <
		     begins[i]->at - begins[i]->bound; k++)
			if (ends[k]->truth > latest)
				latest = ends[k]->truth;
		if (begins[i]->truth < latest)
			fail_check("event %zu is placed after a later one",
				 begins[i] - events);
	}
	free(ends);
}

/*
 * Matches sends and receives by message number, as messages.rst says. A send belongs to
 * the first receive with its number. If the recorded time of that receive is before the
 * send, and that of a later receive is not, the send belongs to the later receive.
 */
static void check_messages(void)
{
	uint64_t matched = 0, within = 0, beyond = 0, sends = 0, receives = 0;
	const struct event *e, *s, **sent, **early;

	sent = calloc(2 * (nr_events + 1), sizeof(*sent));
	early = sent + nr_events + 1;
	for (e = events; e < events + nr_events; e++) {
		if (!e->found || !e->kind || e->number >= nr_events)
			continue;
		sends += e->kind == 1;
		receives += e->kind == 2;
		if (e->kind == 1) {
			sent[e->number] = e;
			continue;
		}
		s = early[e->number];
		if (s && e->at >= s->at) {
			within--;
			early[e->number] = NULL;
		}
		s = sent[e->number];
		if (!s)
			continue;
		matched++;
		sent[e->number] = NULL;
		if (e->at >= s->at)
			continue;
		within++;
		beyond += s->at - e->at > s->bound + e->bound;
		early[e->number] = s;
	}
	free(sent);
	if (beyond)
		fail_check("%lu messages violate causality", beyond);
	printf("matched %lu\nunmatched_sends %lu\nunmatched_receives %lu\n"
	       "after %lu\n", matched, sends - matched, receives - matched, within);
}

static int print_ticks(const char *dir)
{
	struct tsct_trace *trace = open_trace(dir);
	struct tsct_trace_event e;

	while (tsct_trace_next(trace, &e) == 1)
		printf("%u %u %lu %llu\n", e.node, e.cpu, number_of(&e),
		       (unsigned long long)e.tick);
	tsct_trace_close(trace);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return print_ticks(argv[2]);
	if (argc != 4)
		return 2;
	read_truth(argv[2], argv[3]);
	read_merged(argv[1]);
	check_bounds();
	check_strict();
	check_order();
	check_messages();
	return nr_failures ? 1 : 0;
}
