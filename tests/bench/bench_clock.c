// SPDX-License-Identifier: MIT
/*
 * Cost of a time: converted from given cycles, read from the clock, and read while the
 * clock params are published a thousand times a second; compared with a read of the
 * counter and with the C library's clock.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <tsctrace/tsctrace.h>

#include "bench.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"

#define STAMPS		1024
#define UPDATE_NS	1000000
#define THROUGHPUT_NS	500000000
#define THROUGHPUT_RUNS	5

static struct tsct_clock *clk;
static uint64_t stamps[STAMPS];
static volatile int64_t sink;

/* Fills stamps[] with present counter values, so that the conversions measured below
 * use the current clock params, and not older clock segments. */
static void take_stamps(void)
{
	for (unsigned int i = 0; i < STAMPS; i++)
		stamps[i] = tsct_clock_cycles(clk);
}

static void counter(unsigned int turns)
{
	uint64_t sum = 0;

	while (turns--)
		sum += tsct_tsc_read();
	sink = (int64_t)sum;
}

static void now(unsigned int turns)
{
	int64_t sum = 0;

	while (turns--)
		sum += tsct_clock_now_ns(clk);
	sink = sum;
}

static void now_bounded(unsigned int turns)
{
	struct tsct_time time = { 0 };
	int64_t sum = 0;

	while (turns--) {
		tsct_clock_now(clk, &time);
		sum += time.ns + (int64_t)time.error_ns;
	}
	sink = sum;
}

/* A page with clock params of a cluster that are valid for some minutes */
static struct tsct_clock_page *cluster_page;
static struct tsct_clock cluster;

static void begin_cluster(void)
{
	struct tsct_clock_state state = { .source = TSCT_SOURCE_TSC };
	const __u8 no_id[16] = { 0 };

	if (tsct_clock_snapshot(clk, &state))
		return;
	state.cluster = state.real;
	state.cluster_status = TSCT_STATUS_SYNCHRONIZED;
	state.cluster.base_cycles = tsct_tsc_read();
	state.cluster.slew_mult = state.cluster.mult;
	state.cluster.fast_cycles = 1ULL << 40;
	if (!cluster_page)
		cluster_page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(0));
	tsct_latch_init(cluster_page, no_id, TSCT_SOURCE_TSC, 0);
	tsct_latch_write(cluster_page, &state);
	cluster.page = cluster_page;
	cluster.disruptions = (uint64_t *)&cluster_page->copy[1].state.disruptions;
	cluster.source = TSCT_SOURCE_TSC;
}

static void now_cluster(unsigned int turns)
{
	int64_t ns = 0, sum = 0;

	while (turns--) {
		tsct_clock_now_cluster_ns(&cluster, &ns);
		sum += ns;
	}
	sink = sum;
}

static void now_cluster_bounded(unsigned int turns)
{
	struct tsct_time time = { 0 };
	int64_t sum = 0;

	while (turns--) {
		tsct_clock_cycles_to_cluster_time(&cluster, tsct_clock_cycles(clk),
					   &time);
		sum += time.ns + (int64_t)time.error_ns;
	}
	sink = sum;
}

static void convert(unsigned int turns)
{
	int64_t ns = 0, sum = 0;

	while (turns--) {
		tsct_clock_cycles_to_ns(clk, stamps[turns % STAMPS], &ns);
		sum += ns;
	}
	sink = sum;
}

static void convert_bounded(unsigned int turns)
{
	struct tsct_time time = { 0 };
	int64_t sum = 0;

	while (turns--) {
		tsct_clock_cycles_to_time(clk, stamps[turns % STAMPS], &time);
		sum += time.ns + (int64_t)time.error_ns;
	}
	sink = sum;
}

static void vdso(unsigned int turns)
{
	struct timespec time;
	int64_t sum = 0;

	while (turns--) {
		clock_gettime(CLOCK_REALTIME, &time);
		sum += time.tv_sec * 1000000000LL + time.tv_nsec;
	}
	sink = sum;
}

enum { COUNTER, NOW, NOW_CLUSTER, NR_BENCHES = 8 };

static struct bench benches[NR_BENCHES] = {
	[COUNTER] = { .name = "counter_ns", .run = counter },
	[NOW] = { .name = "now_ns", .run = now },
	[NOW_CLUSTER] = { .name = "now_cluster_ns", .prepare = begin_cluster,
			  .run = now_cluster },
	{ .name = "now_bounded_ns", .run = now_bounded },
	{ .name = "now_cluster_bounded_ns", .prepare = begin_cluster,
	  .run = now_cluster_bounded },
	{ .name = "convert_ns", .prepare = take_stamps, .run = convert },
	{ .name = "convert_bounded_ns", .prepare = take_stamps,
	  .run = convert_bounded },
	{ .name = "vdso_ns", .run = vdso },
};

/* Returns the median cost of a function per iteration, less the cost of the counter
 * read in the adjacent run, ns. */
static double minus_counter(unsigned int which)
{
	static double apart[BENCH_RUNS];

	for (unsigned int i = 0; i < BENCH_RUNS; i++)
		apart[i] = benches[which].ns[i] - benches[COUNTER].ns[i];
	return bench_quantile(apart, BENCH_RUNS, 0.5);
}

/* ---- readers while the page is written --------------------------------- */

static struct tsct_clock_page *page;
static bool stop;

/* Publishes the clock params with a new base: a full update, which adds a segment. */
static void update(void)
{
	struct tsct_clock_state state;

	tsct_latch_read(page, &state);
	state.real.as_of_cycles = tsct_tsc_read();
	state.real.base_ns = tsct_clock_params_ns(&state.real,
					  state.real.as_of_cycles + 50000);
	state.real.base_cycles = state.real.as_of_cycles + 50000;
	state.real.as_of_cycles = state.real.base_cycles;
	tsct_latch_write(page, &state);
}

static void *update_all_the_time(void *)
{
	const struct timespec pause = { .tv_nsec = UPDATE_NS };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		update();
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static double reads_per_s(void)
{
	struct tsct_clock_time reading = { 0 };
	const struct tsct_clock here = {
		.page = page,
		.disruptions = (uint64_t *)&page->copy[1].state.disruptions,
	};
	double start = bench_now_ns(), took;
	uint64_t reads = 0, stamp;
	int64_t sum = 0, ns = 0;

	do {
		stamp = tsct_tsc_read();
		if (tsct_clock_fast_ns(&here, stamp, &ns))
			sum += ns;
		else if (!tsct_latch_lookup(page, stamp, &reading))
			sum += reading.ns;
		took = ++reads % 10000 ? 0 : bench_now_ns() - start;
	} while (took < THROUGHPUT_NS);
	sink = sum;
	return (double)reads / took * 1e9;
}

static int compare_throughput(void)
{
	double quiet[THROUGHPUT_RUNS], busy[THROUGHPUT_RUNS];
	struct tsct_clock_state state;
	const __u8 no_id[16] = { 0 };
	pthread_t thread;

	page = aligned_alloc(TSCT_PAGE_SIZE, TSCT_CLOCK_SIZE(0));
	if (!page || tsct_clock_snapshot(clk, &state))
		return -1;
	tsct_latch_init(page, no_id, TSCT_SOURCE_TSC, 0);
	tsct_latch_write(page, &state);
	for (unsigned int i = 0; i < THROUGHPUT_RUNS; i++) {
		update();
		quiet[i] = reads_per_s();
		__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
		if (pthread_create(&thread, NULL, update_all_the_time, NULL))
			return -1;
		busy[i] = reads_per_s();
		__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
	}
	printf("reads_quiet %.1f M/s\nreads_with_1000_updates %.1f M/s\n",
	       bench_quantile(quiet, THROUGHPUT_RUNS, 0.5) / 1e6,
	       bench_quantile(busy, THROUGHPUT_RUNS, 0.5) / 1e6);
	return 0;
}

int main(void)
{
	if (tsct_clock_open(&clk))
		return 1;
	printf("# clock: %s (%s)\n", tsct_clock_origin(clk),
	       tsct_clock_reason(clk));
	if (clk->source != TSCT_SOURCE_TSC) {
		fprintf(stderr, "bench_clock: the clock's source is not the TSC: "
			"nothing to measure\n");
		return 1;
	}
	if (compare_throughput())
		return 1;
	bench_pin(sched_getcpu());
	bench_all(benches, NR_BENCHES);
	printf("now_minus_counter_ns %.2f ns\n", minus_counter(NOW));
	printf("now_cluster_minus_counter_ns %.2f ns\n",
	       minus_counter(NOW_CLUSTER));
	printf("now_vs_vdso %.3f ratio\n", bench_median(&benches[NOW]) /
	       bench_median(&benches[NR_BENCHES - 1]));
	tsct_clock_close(clk);
	return 0;
}
