// SPDX-License-Identifier: MIT
/*
 * synccheck SECONDS DIR|- DIR... - do daemons of one machine agree on the cluster's
 * time, within their bounds? "-": of each with CLOCK_REALTIME, as it has that.
 *
 * They share one counter, so the same stamp has to have the same time everywhere:
 * what differs from the first DIR is error. Prints a line for each of the others.
 * Exit status 1: an error is beyond the bounds of the two, or there is no time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tsctrace/tsctrace.h>

#include "clockpage.h"
#include "core/latch.h"
#include "core/scale.h"

#define NODES_MAX	16
#define SAMPLES_MAX	100000
#define PAUSE_NS	1000000

struct node {
	const char *dir;
	struct tsct_clockpage area;
	double error[SAMPLES_MAX];	/* ns */
	double bound_min, bound_max;
	unsigned int nr, beyond, unknown;
	unsigned int status;
};

static struct node nodes[NODES_MAX];

static int read_at(const struct node *node, __u64 stamp, __s64 *ret_ns,
		   double *ret_bound, unsigned int *ret_status)
{
	struct tsct_clock_state state;
	const struct tsct_pair *pair = &state.cluster;
	const struct tsct_clock_before *before = &state.cluster_before;

	if (tsct_latch_read(node->area.page, &state) || !pair->mult)
		return -1;
	*ret_status = state.cluster_status;
	if ((__s64)(stamp - pair->base_tsc) >= 0) {
		*ret_ns = tsct_pair_ns(pair, stamp);
		*ret_bound = (double)tsct_pair_error_ps(pair, stamp) / 1e3;
		return 0;
	}
	if (!before->mult || (__s64)(stamp - before->base_tsc) < 0)
		return -1;
	*ret_ns = before->base_ns +
		tsct_ticks_ns(before->mult, (__s64)(stamp - before->base_tsc));
	*ret_bound = (double)before->error_ps / 1e3;
	return 0;
}

static void compare(struct node *node, __u64 stamp, __s64 truth_ns,
		    double truth_bound)
{
	double bound, error;
	__s64 ns;

	if (node->nr == SAMPLES_MAX)
		return;
	if (read_at(node, stamp, &ns, &bound, &node->status)) {
		node->unknown++;
		return;
	}
	error = (double)(ns - truth_ns);
	/* Two roundings */
	if (fabs(error) > bound + truth_bound + 2)
		node->beyond++;
	if (!node->nr || bound < node->bound_min)
		node->bound_min = bound;
	if (!node->nr || bound > node->bound_max)
		node->bound_max = bound;
	node->error[node->nr++] = error;
}

static int real_at(const struct node *node, __u64 stamp, __s64 *ret_ns,
		   double *ret_bound)
{
	struct tsct_clock_state state;

	if (tsct_latch_read(node->area.page, &state) || !state.real.mult ||
	    (__s64)(stamp - state.real.base_tsc) < 0)
		return -1;
	*ret_ns = tsct_pair_ns(&state.real, stamp);
	*ret_bound = (double)tsct_pair_error_ps(&state.real, stamp) / 1e3;
	return 0;
}

static void look(unsigned int nr)
{
	__u64 stamp = tsct_tsc_read();
	unsigned int i, status;
	double bound;
	__s64 ns;

	if (!nodes[0].area.page) {
		for (i = 1; i < nr; i++)
			if (!real_at(&nodes[i], stamp, &ns, &bound))
				compare(&nodes[i], stamp, ns, bound);
		return;
	}
	if (read_at(&nodes[0], stamp, &ns, &bound, &status)) {
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

static int report(struct node *node)
{
	qsort(node->error, node->nr, sizeof(node->error[0]), by_size);
	printf("%s: %s, %u readings, %u without a time, %u beyond their bound; "
	       "off zero by", node->dir, tsct_status_name(node->status), node->nr,
	       node->unknown, node->beyond);
	if (node->nr)
		printf(" median %.0f ns, p90 %.0f ns, p99 %.0f ns, max %.0f ns; "
		       "bound %.0f to %.0f ns\n",
		       fabs(node->error[node->nr / 2]),
		       fabs(node->error[node->nr / 10 * 9]),
		       fabs(node->error[node->nr / 100 * 99]),
		       fabs(node->error[node->nr - 1]), node->bound_min,
		       node->bound_max);
	else
		printf(" nobody knows what\n");
	return !node->nr || node->unknown || node->beyond;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	unsigned int i, nr = 0;
	struct timespec now;
	int bad = 0, turns;
	char why[256];

	if (argc < 4 || argc > NODES_MAX + 2) {
		fprintf(stderr, "usage: synccheck SECONDS DIR DIR...\n");
		return 2;
	}
	for (i = 2; i < (unsigned int)argc; i++, nr++) {
		nodes[nr].dir = argv[i];
		if (!nr && !strcmp(argv[i], "-"))
			continue;
		if (tsct_clockpage_file(argv[i], &nodes[nr].area, why,
					sizeof(why))) {
			fprintf(stderr, "%s: %s\n", argv[i], why);
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec += atoi(argv[1]);
	for (turns = 0; ; turns++) {
		struct timespec at;

		look(nr);
		nanosleep(&pause, NULL);
		clock_gettime(CLOCK_MONOTONIC, &at);
		if (at.tv_sec > now.tv_sec || (at.tv_sec == now.tv_sec &&
					       at.tv_nsec > now.tv_nsec))
			break;
	}
	if (nodes[0].unknown) {
		printf("%s: %u of %d readings without a time\n", nodes[0].dir,
		       nodes[0].unknown, turns + 1);
		bad = 1;
	}
	for (i = 1; i < nr; i++)
		bad |= report(&nodes[i]);
	return bad;
}
