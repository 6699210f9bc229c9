// SPDX-License-Identifier: MIT
/*
 * bench_lttng_flood SECONDS [RATE]: two threads emit RATE events per second together
 * through LTTng-UST, in bursts of 1 ms, or with RATE 0 as many as they can, as
 * tests/native/flood.c does through tsctrace. Prints "tried N".
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench_lttng_tp.h"

#include <pthread.h>

#include "bench.h"

#define THREADS	2
#define BURST	10000	/* events between reads of the clock */

static double begin_ns, end_ns;
static double rate;	/* rate of one thread, events per ns; 0: no limit */

static void *work(void *arg)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	unsigned long *tried = arg, due;
	double now;

	while ((now = bench_now_ns()) < end_ns) {
		due = rate ? (now - begin_ns) * rate : *tried + BURST;
		for (; *tried < due; (*tried)++)
			lttng_ust_tracepoint(tsct_bench, event, *tried);
		if (rate)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long tried[THREADS] = { 0 }, sum = 0;
	pthread_t threads[THREADS];

	if (argc < 2 || !lttng_ust_tracepoint_enabled(tsct_bench, event))
		return 1;
	begin_ns = bench_now_ns();
	end_ns = begin_ns + atof(argv[1]) * 1e9;
	rate = argc > 2 ? atof(argv[2]) / THREADS / 1e9 : 0;
	for (unsigned int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &tried[i]))
			return 1;
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += tried[i];
	}
	printf("tried %lu\n", sum);
	return 0;
}
