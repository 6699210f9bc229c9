// SPDX-License-Identifier: MIT
/*
 * bench_lttng_flood SECONDS: two threads emit as many events as they can
 * through LTTng-UST, as tests/native/flood.c does through tsctrace. Prints
 * "tried N".
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng_tp.h"

#include <pthread.h>

#include "bench.h"

#define THREADS	2
#define BURST	10000	/* events between reads of the clock */

static double end_ns;

static void *work(void *arg)
{
	unsigned long *tried = arg, i;

	while (bench_now_ns() < end_ns) {
		for (i = 0; i < BURST; i++)
			lttng_ust_tracepoint(tsct_bench, event, *tried + i);
		*tried += BURST;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long tried[THREADS] = { 0 }, sum = 0;
	pthread_t threads[THREADS];
	unsigned int i;

	if (argc < 2 || !lttng_ust_tracepoint_enabled(tsct_bench, event))
		return 1;
	end_ns = bench_now_ns() + atof(argv[1]) * 1e9;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &tried[i]))
			return 1;
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += tried[i];
	}
	printf("tried %lu\n", sum);
	return 0;
}
