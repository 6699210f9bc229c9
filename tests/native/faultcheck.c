// SPDX-License-Identifier: MIT
/*
 * faultcheck DIR NR: compares the stated order of events with the true one, in cases
 * of faulty clocks (faults.c). DIR/I/plain is what merge made of case I, if merge
 * accepted the case; DIR/I/forced is the result with --force; DIR/order has the
 * events of the LTTng traces in the order in which babeltrace2 prints them, a line
 * "CASE NODE EVENT" each.
 *
 * Prints a table with a row per fault. Exit status 1 if two events with disjoint
 * bounds are in the wrong order, or if a case that has to be merged with known bounds
 * was not.
 */
#include <tsctrace/trace.h>

#include "helper.h"

#define NODES	3
#define EVENTS	1024		/* largest number of events of a node */
#define FAULTS	64

/* An event: its true time, and the interval in which a result states that it is */
struct event {
	bool used, found, known;
	int64_t ps;
	__s64 from_ns, to_ns;
	size_t rank;		/* position in babeltrace2's order, from 1; 0: none */
};

/* Pairs of events of different nodes */
struct pairs {
	uint64_t unknown, overlapping, right, wrong;
};

struct row {
	char fault[36];
	unsigned int cases, refused, known, refused_forced;
	uint64_t babeltrace_pairs, babeltrace_wrong;
	struct pairs plain, forced;
};

static struct event events[NODES][EVENTS];
static struct row rows[FAULTS], sum;
static unsigned int nr_rows, nr_failures, nr_owed;
static bool all_known;

static void clear(void)
{
	memset(events, 0, sizeof(events));
}

static void forget(void)
{
	struct event *e;

	for (e = events[0]; e < events[0] + NODES * EVENTS; e++)
		e->found = e->known = false;
}

static struct row *row_of(const char *fault)
{
	for (unsigned int i = 0; i < nr_rows; i++)
		if (!strcmp(rows[i].fault, fault))
			return &rows[i];
	if (nr_rows == FAULTS)
		exit(2);
	snprintf(rows[nr_rows].fault, sizeof(rows[0].fault), "%s", fault);
	return &rows[nr_rows++];
}

static uint64_t field(const struct tsct_trace_event *e, const char *name)
{
	struct tsct_value value;

	return tsct_value_find(e, name, &value) ? (uint64_t)tsct_value_integer(&value) :
		UINT64_MAX;
}

/* Reads a merged recording. Returns false if there is none. */
static bool read_result(const char *dir)
{
	struct tsct_trace_event at;
	struct tsct_trace *trace;
	uint64_t node, number;
	struct event *e;
	__u64 error_ns;
	char why[512];

	if (access(dir, F_OK))
		return false;
	forget();
	all_known = true;
	if (tsct_trace_open(dir, NULL, NULL, &trace, why, sizeof(why))) {
		printf("%s: %s\n", dir, why);
		exit(2);
	}
	while (tsct_trace_next(trace, &at) == 1) {
		node = field(&at, "number");
		number = field(&at, "event");
		if (node >= NODES || number >= EVENTS || !events[node][number].used) {
			printf("%s: unknown event\n", dir);
			exit(2);
		}
		e = &events[node][number];
		error_ns = tsct_trace_error_ns(trace, at.node, at.tick);
		e->found = true;
		e->known = error_ns <= INT64_MAX / 4;
		all_known &= e->known;
		e->from_ns = tsct_trace_ns(trace, at.tick) - (__s64)(e->known ? error_ns : 0);
		e->to_ns = tsct_trace_ns(trace, at.tick) + (__s64)(e->known ? error_ns : 0);
	}
	tsct_trace_close(trace);
	return true;
}

/* ---- pairs of events ----------------------------------------------------- */

static void compare(const struct event *a, const struct event *b, struct pairs *p)
{
	if (!a->known || !b->known)
		p->unknown++;
	else if (a->to_ns >= b->from_ns && b->to_ns >= a->from_ns)
		p->overlapping++;
	else if ((a->to_ns < b->from_ns) == (a->ps <= b->ps))
		p->right++;
	else
		p->wrong++;
}

static void compare_all(struct pairs *p, struct row *babeltrace)
{
	const struct event *a, *b, *end = events[0] + NODES * EVENTS;

	for (a = events[0]; a < end; a++) {
		if (!a->used)
			continue;
		/* the first event of the next node */
		b = events[(a - events[0]) / EVENTS + 1];
		for (; b < end; b++) {
			if (babeltrace && b->used && a->rank && b->rank) {
				babeltrace->babeltrace_pairs++;
				babeltrace->babeltrace_wrong += a->ps != b->ps &&
					(a->rank < b->rank) != (a->ps < b->ps);
			}
			if (p && b->used && a->found && b->found)
				compare(a, b, p);
		}
	}
}

static void add(struct pairs *to, const struct pairs *from)
{
	to->unknown += from->unknown;
	to->overlapping += from->overlapping;
	to->right += from->right;
	to->wrong += from->wrong;
}

/* ---- cases --------------------------------------------------------------- */

static struct printed { uint64_t number, node, event; } *order;
static size_t nr_order;

/* Reads the lines of babeltrace2, which may mix the events of several cases. */
static void read_order(const char *dir)
{
	char path[4096];
	struct printed p;
	FILE *from;

	snprintf(path, sizeof(path), "%s/order", dir);
	from = fopen(path, "r");
	if (!from)
		exit(2);
	while (fscanf(from, "%lu %lu %lu\n", &p.number, &p.node, &p.event) == 3) {
		if (!(nr_order & (nr_order - 1)))
			order = realloc(order, (2 * nr_order + 1) * sizeof(*order));
		if (!order || p.node >= NODES || p.event >= EVENTS)
			exit(2);
		order[nr_order++] = p;
	}
	fclose(from);
}

static void rank_events(uint64_t number)
{
	for (size_t i = 0; i < nr_order; i++)
		if (order[i].number == number)
			events[order[i].node][order[i].event].rank = i + 1;
}

static void check_case(const char *dir, uint64_t number)
{
	char path[4096], fault[36], relation[32];
	struct pairs plain = { 0 }, forced = { 0 };
	unsigned int must, belied, nr, node, event;
	struct row *row;
	FILE *from;
	long ps;

	snprintf(path, sizeof(path), "%s/%lu/truth", dir, number);
	from = fopen(path, "r");
	if (!from || fscanf(from, "%31s %31s %u %u %u\n", fault, relation, &must, &belied,
			    &nr) != 5)
		exit(2);
	clear();
	while (fscanf(from, "%u %u %ld\n", &node, &event, &ps) == 3)
		events[node % NODES][event % EVENTS] = (struct event) {
			.used = true, .ps = ps };
	fclose(from);
	/* where a kernel's statement is false, no bound is right */
	if (belied)
		strcat(fault, " *");
	row = row_of(fault);
	row->cases++;
	rank_events(number);
	compare_all(NULL, row);

	snprintf(path, sizeof(path), "%s/%lu/plain", dir, number);
	if (read_result(path)) {
		compare_all(&plain, NULL);
		row->known += all_known;
	} else {
		row->refused++;
		all_known = false;
	}
	if (must && !all_known) {
		printf("case %lu (%s, %s): not merged with known bounds\n", number, fault,
		       relation);
		nr_owed++;
	}
	snprintf(path, sizeof(path), "%s/%lu/forced", dir, number);
	if (read_result(path))
		compare_all(&forced, NULL);
	else
		row->refused_forced++;
	if (plain.wrong || forced.wrong) {
		printf("case %lu (%s, %s): %lu pairs in the wrong order, %lu with --force\n",
		       number, fault, relation, plain.wrong, forced.wrong);
		nr_failures += !belied;
	}
	add(&row->plain, &plain);
	add(&row->forced, &forced);
}

/* ---- the table ----------------------------------------------------------- */

static void print_row(const struct row *r)
{
	printf("%-16s %5u %4u %5u | %8lu %8lu %8lu %6lu | %8lu %8lu %8lu %6lu | %8lu\n",
	       r->fault, r->cases, r->refused, r->known,
	       r->plain.unknown, r->plain.overlapping, r->plain.right, r->plain.wrong,
	       r->forced.unknown, r->forced.overlapping, r->forced.right, r->forced.wrong,
	       r->babeltrace_wrong);
}

static void print_table(void)
{
	const struct row *r;

	printf("                                      merge: pairs of events       |"
	       "         merge --force               | babeltrace2\n");
	printf("%-16s %5s %4s %5s | %8s %8s %8s %6s | %8s %8s %8s %6s | %8s\n", "fault",
	       "cases", "ref.", "known", "unknown", "overlap", "right", "WRONG", "unknown",
	       "overlap", "right", "WRONG", "WRONG");
	strcpy(sum.fault, "sum");
	for (r = rows; r < rows + nr_rows; r++) {
		print_row(r);
		sum.cases += r->cases;
		sum.refused += r->refused;
		sum.known += r->known;
		sum.babeltrace_pairs += r->babeltrace_pairs;
		sum.babeltrace_wrong += r->babeltrace_wrong;
		add(&sum.plain, &r->plain);
		add(&sum.forced, &r->forced);
	}
	print_row(&sum);
	printf("* a kernel states an error to UTC that is smaller than the true one; wrong"
	       " orders of these cases are no failures\n");
}

int main(int argc, char **argv)
{
	uint64_t i, nr;

	if (argc != 3)
		return 2;
	nr = strtoull(argv[2], NULL, 10);
	read_order(argv[1]);
	for (i = 0; i < nr; i++)
		check_case(argv[1], i);
	print_table();
	printf("known %u of %u\n", sum.known, sum.cases);
	return nr_failures || nr_owed ? 1 : 0;
}
