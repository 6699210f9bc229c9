// SPDX-License-Identifier: MIT
/*
 * synccheck SECONDS DIR|- DIR... - compare the cluster time of daemons of one machine
 *
 * The daemons share one counter, so the same cycles must give the same time everywhere:
 * a difference from the first DIR is an error. With "-", each daemon's cluster time is
 * compared with its own estimate of CLOCK_REALTIME. Prints a line for each other DIR.
 * Exit status 1: an error is beyond the sum of both bounds, or a time is missing.
 *
 * synccheck --watch DIR DIR... - the same until SIGTERM, but a time may be missing for a
 * while. Within an epoch the time must not step, nor deviate in rate by more than a
 * slew. Prints "watching" after the first reading, each state and epoch when it begins, and
 * the sequence of them at the end.
 */
#include <math.h>

#include <tsctrace/tsctrace.h>

#include "lib/clock/clock_page.h"
#include "lib/clock/clock_sample.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "helper.h"

#define NODES_MAX	16
#define EVENTS_MAX	256
#define SAMPLES_MAX	100000
#define PAUSE_NS	1000000

struct node {
	const char *dir;
	struct tsct_clock_area area;
	/* errors of the last readings of a daemon's cluster time, ns */
	double error[SAMPLES_MAX];
	double bound_min, bound_max;
	unsigned int nr, beyond, unknown;
	unsigned int status;
	/* the daemon's last reading: epoch, cluster time, true time in ns
	 * (0: the cluster time was unknown) */
	__u32 epoch;
	__s64 ns, truth_ns;
	/* number of steps of the cluster time within an epoch */
	unsigned int steps;
	/* status and epoch at the first reading, and after each change of either */
	struct {
		unsigned int status;
		__u32 epoch;
	} event[EVENTS_MAX];
	unsigned int nr_events;
};

#define SLEW_MAX	1e-3	/* largest deviation of the rate of the cluster time
				 * from 1: a slew has 500 ppm, a rate that is not known
				 * yet 200 ppm */
#define ROUNDED_NS	5

static struct node nodes[NODES_MAX];
static bool watches;
static volatile sig_atomic_t stop;

static int read_at(const struct node *node, __u64 stamp, __s64 *ret_ns,
		   double *ret_bound, unsigned int *ret_status,
		   __u32 *ret_epoch)
{
	struct tsct_clock_state state;
	const struct tsct_clock_params *pair = &state.cluster;
	const struct tsct_clock_prev_params *before = &state.cluster_prev;

	*ret_status = TSCT_STATUS_UNKNOWN;
	if (tsct_latch_read(node->area.page, &state))
		return -1;
	*ret_status = tsct_clock_params_status(pair, state.cluster_status, stamp);
	*ret_epoch = state.cluster_epoch;
	if (!pair->mult)
		return -1;
	if ((__s64)(stamp - pair->base_cycles) >= 0) {
		*ret_ns = tsct_clock_params_ns(pair, stamp);
		*ret_bound = (double)tsct_clock_params_error_ps(pair, stamp) / 1e3;
		return 0;
	}
	if (!before->mult || (__s64)(stamp - before->base_cycles) < 0)
		return -1;
	*ret_ns = before->base_ns +
		tsct_cycles_ns(before->mult, (__s64)(stamp - before->base_cycles));
	*ret_bound = (double)before->error_ps / 1e3;
	return 0;
}

static void note_event(struct node *node, __u32 epoch)
{
	/* the last element is that of the last event */
	unsigned int n = node->nr_events < EVENTS_MAX ? node->nr_events : EVENTS_MAX;

	if (n && node->event[n - 1].status == node->status &&
	    node->event[n - 1].epoch == epoch)
		return;
	n = n < EVENTS_MAX ? n : EVENTS_MAX - 1;
	node->event[n].status = node->status;
	node->event[n].epoch = epoch;
	node->nr_events++;
	if (watches)
		printf("%s: %s in epoch %u\n", node->dir, tsct_status_name(node->status), epoch);
}

/* Compares the cluster time since the epoch's last reading with the true duration. */
static void look_for_step(struct node *node, __u32 epoch, __s64 ns,
			  __s64 truth_ns)
{
	double passed = (double)(truth_ns - node->truth_ns);

	if (node->truth_ns && node->epoch == epoch &&
	    fabs((double)(ns - node->ns) - passed) >
	    passed * SLEW_MAX + ROUNDED_NS)
		node->steps++;
	node->epoch = epoch;
	node->ns = ns;
	node->truth_ns = truth_ns;
}

static void compare(struct node *node, __u64 stamp, __s64 truth_ns,
		    double truth_bound)
{
	double bound, error;
	__u32 epoch = 0;
	__s64 ns;
	int err;

	err = read_at(node, stamp, &ns, &bound, &node->status, &epoch);
	note_event(node, epoch);
	if (err) {
		node->unknown++;
		node->truth_ns = 0;
		return;
	}
	look_for_step(node, epoch, ns, truth_ns);
	error = (double)(ns - truth_ns);
	/* 2 ns: the cluster time and the true time are both rounded to ns. */
	if (fabs(error) > bound + truth_bound + 2)
		node->beyond++;
	if (!node->nr || bound < node->bound_min)
		node->bound_min = bound;
	if (!node->nr || bound > node->bound_max)
		node->bound_max = bound;
	node->error[node->nr++ % SAMPLES_MAX] = error;
}

static int real_at(const struct node *node, __u64 stamp, __s64 *ret_ns,
		   double *ret_bound)
{
	struct tsct_clock_state state;

	if (tsct_latch_read(node->area.page, &state) || !state.real.mult ||
	    (__s64)(stamp - state.real.base_cycles) < 0)
		return -1;
	*ret_ns = tsct_clock_params_ns(&state.real, stamp);
	*ret_bound = (double)tsct_clock_params_error_ps(&state.real, stamp) / 1e3;
	return 0;
}

/* Source of the cycles of all daemons: on one machine it is the same */
static unsigned int common_source(unsigned int nr)
{
	struct tsct_clock_state state;

	return tsct_latch_read(nodes[nr - 1].area.page, &state) ?
		TSCT_SOURCE_TSC : state.source;
}

static void look(unsigned int nr)
{
	__u64 stamp = tsct_cycles_read(common_source(nr));
	unsigned int i, status;
	double bound;
	__u32 epoch;
	__s64 ns;

	if (!nodes[0].area.page) {
		for (i = 1; i < nr; i++)
			if (!real_at(&nodes[i], stamp, &ns, &bound))
				compare(&nodes[i], stamp, ns, bound);
		return;
	}
	if (read_at(&nodes[0], stamp, &ns, &bound, &status, &epoch)) {
		nodes[0].unknown++;
		return;
	}
	for (i = 1; i < nr; i++)
		compare(&nodes[i], stamp, ns, bound);
}

static int by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return x < y ? -1 : x > y;
}

static void print_events(const struct node *node)
{
	unsigned int i;

	printf("%s:", node->dir);
	for (i = 0; i < node->nr_events && i < EVENTS_MAX; i++)
		printf("%s %s in epoch %u", i ? "," : "",
		       tsct_status_name(node->event[i].status),
		       node->event[i].epoch);
	printf("%s; %u steps within one\n", i < node->nr_events ? ", ..." : "",
	       node->steps);
}

static int report(struct node *node)
{
	const unsigned int kept = node->nr < SAMPLES_MAX ? node->nr : SAMPLES_MAX;

	qsort(node->error, kept, sizeof(node->error[0]), by_size);
	printf("%s: %s, %u readings, %u without a time, %u beyond their bound; "
	       "off zero by", node->dir, tsct_status_name(node->status), node->nr,
	       node->unknown, node->beyond);
	if (node->nr)
		printf(" median %.0f ns, p90 %.0f ns, p99 %.0f ns, max %.0f ns; "
		       "bound %.0f to %.0f ns\n",
		       fabs(node->error[kept / 2]),
		       fabs(node->error[kept / 10 * 9]),
		       fabs(node->error[kept / 100 * 99]),
		       fabs(node->error[kept - 1]), node->bound_min,
		       node->bound_max);
	else
		printf(" unknown\n");
	if (watches)
		print_events(node);
	return !node->nr || node->beyond || node->steps ||
		(node->unknown && !watches);
}

static void on_signal(int number)
{
	stop = 1;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	unsigned int i, nr = 0;
	struct timespec now;
	int bad = 0, turns;
	char why[256];

	watches = argc > 1 && !strcmp(argv[1], "--watch");
	if (argc < 4 || argc > NODES_MAX + 2) {
		fprintf(stderr, "usage: synccheck --watch|SECONDS DIR DIR...\n");
		return 2;
	}
	signal(SIGTERM, on_signal);
	for (i = 2; i < (unsigned int)argc; i++, nr++) {
		nodes[nr].dir = argv[i];
		if (!nr && !strcmp(argv[i], "-"))
			continue;
		if (tsct_clock_area_map_file(argv[i], &nodes[nr].area, why,
					sizeof(why))) {
			fprintf(stderr, "%s: %s\n", argv[i], why);
			return 1;
		}
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec += watches ? 1 << 30 : atoi(argv[1]);
	for (turns = 0; ; turns++) {
		struct timespec at;

		look(nr);
		if (watches && !turns)
			puts("watching");
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &at);
		if (stop || at.tv_sec > now.tv_sec || (at.tv_sec == now.tv_sec &&
					       at.tv_nsec > now.tv_nsec))
			break;
	}
	if (nodes[0].unknown) {
		printf("%s: %u of %d readings without a time\n", nodes[0].dir,
		       nodes[0].unknown, turns + 1);
		bad = !watches;
	}
	for (i = 1; i < nr; i++)
		bad |= report(&nodes[i]);
	return bad;
}
