// SPDX-License-Identifier: MIT
/*
 * align_world DIR SEED [step | other]: two nodes whose times are known. Writes the history of node K to
 * DIR/K/history, with lines that are off by less than their bounds, and prints readings of the
 * clocks: "NODE TRUE-NS MONOTONIC BOOTTIME RAW REALTIME CYCLES", for many moments. step: CLOCK_REALTIME of
 * node 1 is set in the middle, and nothing is recorded around it. other: node 1 is on another
 * timeline of the cluster's master.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/history/history.h"

#define BEGIN_NS	1790000000000000000LL
#define LENGTH_NS	90000000000LL
#define STEP_NS		45000000000LL
#define STEP_BY_NS	25000000LL
#define MOMENTS		3000
#define PIECES		30

/* Times are relative to BEGIN_NS, ns: long double has 64 bits. */
typedef long double ns_t;

struct node {
	long double hz, c0;		/* cycles */
	ns_t off[PIECES + 1];		/* CLOCK_REALTIME - true time, at the ends of pieces */
	ns_t mono;			/* MONOTONIC at BEGIN_NS of CLOCK_REALTIME */
	ns_t boot, raw;			/* BOOTTIME - MONOTONIC; RAW at a counter of 0 */
	long double raw_rate;		/* ns per cycle */
	__u32 timeline;
	int step;			/* piece after which CLOCK_REALTIME is set; -1 */
	FILE *file;
};

static long double any(long double lo, long double hi)
{
	return lo + (hi - lo) * (long double)random() / RAND_MAX;
}

static long double cycles_at(const struct node *n, ns_t t)
{
	return n->c0 + t * n->hz / 1e9L;
}

static ns_t real_at(const struct node *n, ns_t t)
{
	const ns_t piece = (ns_t)LENGTH_NS / PIECES;
	int i = (int)(t / piece);

	i = i > PIECES - 1 ? PIECES - 1 : i;
	return t + n->off[i] + (n->off[i + 1] - n->off[i]) * (t - piece * i) / piece +
		(n->step >= 0 && i > n->step ? STEP_BY_NS : 0);
}

static void put(struct node *n, struct tsct_history_record *record, unsigned int kind, __u32 epoch)
{
	tsct_history_seal(record, kind, epoch);
	fwrite(record, sizeof(*record), 1, n->file);
}

/* Writes a line from @from to @to, which is off by less than @error_ns at both ends. */
static void put_line(struct node *n, unsigned int kind, ns_t from, ns_t to, __u32 epoch,
		     ns_t y0, ns_t y1, long double error_ns)
{
	const long double c0 = ceill(cycles_at(n, from)), c1 = floorl(cycles_at(n, to));
	struct tsct_history_record record = { .segment = {
		.base_cycles = (__u64)c0, .until_cycles = (__u64)c1,
		.error_ps = (__u64)(error_ns * 1000),
		.epoch = epoch,
	} };

	if (kind == TSCT_HISTORY_CLUSTER) {
		record.segment.cause = epoch;		/* each node has its own number */
		record.segment.reserved = 77;
		record.segment.reserved0 = n->timeline;
	}

	y0 += any(-error_ns, error_ns) * 0.98L;
	y1 += any(-error_ns, error_ns) * 0.98L;
	record.segment.base_ns = BEGIN_NS + (__s64)roundl(y0);
	record.segment.mult = (__u64)((y1 - y0) / (c1 - c0) * 0x1p56L);
	put(n, &record, kind, epoch);
}

static void put_pairing(struct node *n, ns_t t, __u32 epoch)
{
	/* REALTIME - MONOTONIC */
	const __s64 real = BEGIN_NS - (__s64)n->mono +
		(n->step >= 0 && t >= STEP_NS ? STEP_BY_NS : 0);
	struct tsct_history_record record = { .pairing = {
		.raw_before = (__u64)cycles_at(n, t) - 20, .raw_after = (__u64)cycles_at(n, t) + 20,
		.raw_ns = (__s64)(n->raw + cycles_at(n, t) * n->raw_rate),
		.rate_mult = (__u64)(n->raw_rate * 0x1p56L), .rate_error_ppt = 10, .has_raw = 1,
		.real_min_ns = real - 9, .real_max_ns = real + 12,
		.boot_min_ns = (__s64)n->boot - 5, .boot_max_ns = (__s64)n->boot + 3,
		.utc_error_ns = 40000000,
	} };

	put(n, &record, TSCT_HISTORY_PAIRING, epoch);
}

static void put_history(struct node *n)
{
	const ns_t piece = (ns_t)LENGTH_NS / PIECES, gap = n->step >= 0 ? 300000000 : 0;
	ns_t t = 0, next;
	__u32 epoch = 5;

	for (int i = 0; i < PIECES; i++) {
		const bool last = n->step == i, first = n->step >= 0 && n->step == i - 1;
		const ns_t from = piece * i + (first ? gap : 0), to = piece * (i + 1) - (last ? gap : 0);

		put_line(n, TSCT_HISTORY_REAL, from, to, epoch, real_at(n, from),
			 real_at(n, to - 1) + 1, 180);
		if (last || i == PIECES - 1) {
			put_pairing(n, to - 1000, epoch);
			epoch++;
		}
	}
	/* The cluster's time, whose lines have ends of their own */
	for (; t < LENGTH_NS; t = next) {
		next = t + any(2e9L, 9e9L);
		next = next > LENGTH_NS ? LENGTH_NS : next;
		put_line(n, TSCT_HISTORY_CLUSTER, t, next, (__u32)(n->boot + 3), t, next, 400);
	}
}

static void begin(struct node *n, const char *dir, int number, const char *what)
{
	struct tsct_history_record header = { .header = {
		.magic = TSCT_HISTORY_MAGIC, .version = TSCT_HISTORY_VERSION,
		.record_size = sizeof(header), .source = 1,
	} };
	char path[4096];

	*n = (struct node) {
		.hz = any(1.1e9L, 3.9e9L), .c0 = any(1e12L, 9e12L), .mono = any(5e11L, 9e13L),
		.boot = number ? any(1e9L, 5e11L) : 0, .raw = any(1e9L, 1e12L),
		.timeline = number && !strcmp(what, "other") ? 10 : 9,
		.step = number && !strcmp(what, "step") ? (int)(STEP_NS * PIECES / LENGTH_NS) - 1 : -1,
	};
	n->raw_rate = 1e9L / n->hz * (1 + any(-4e-5L, 4e-5L));
	n->off[0] = any(-2e7L, 2e7L);
	for (int i = 0; i < PIECES; i++)
		n->off[i + 1] = n->off[i] + any(-2e-5L, 2e-5L) * LENGTH_NS / PIECES;
	snprintf(path, sizeof(path), "%s/%d", dir, number);
	mkdir(path, 0700);
	strcat(path, "/history");
	mkdir(path, 0700);
	sprintf(path + strlen(path), "/%032x.1", 0xb007 + number);
	n->file = fopen(path, "w");
	if (!n->file) {
		perror(path);
		exit(1);
	}
	memset(header.header.boot_id, 0, 16);
	header.header.boot_id[14] = 0xb0;
	header.header.boot_id[15] = (__u8)(0x07 + number);
	put(n, &header, TSCT_HISTORY_HEADER, 0);
	put_history(n);
	if (fclose(n->file)) {
		perror(path);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct node nodes[2];

	if (argc < 3)
		return 2;
	srandom((unsigned int)atoi(argv[2]));
	for (int i = 0; i < 2; i++)
		begin(&nodes[i], argv[1], i, argc > 3 ? argv[3] : "");
	for (int k = 0; k < MOMENTS; k++)
		for (int i = 0; i < 2; i++) {
			const ns_t t = floorl(any(0.1e9L, LENGTH_NS - 0.1e9L));
			const ns_t real = real_at(&nodes[i], t);
			/* CLOCK_MONOTONIC runs on where CLOCK_REALTIME is set. */
			const ns_t mono = real - (nodes[i].step >= 0 && t >= STEP_NS ? STEP_BY_NS : 0) +
				nodes[i].mono;

			printf("%d %lld %lld %lld %lld %lld %lld\n", i, BEGIN_NS + (__s64)t, (__s64)mono,
			       (__s64)(mono + nodes[i].boot),
			       (__s64)(nodes[i].raw + cycles_at(&nodes[i], t) * nodes[i].raw_rate),
			       BEGIN_NS + (__s64)real, (__s64)cycles_at(&nodes[i], t));
		}
	return 0;
}
