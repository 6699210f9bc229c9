// SPDX-License-Identifier: MIT
/*
 * Threads that use all functions of the in-process clock concurrently. Half of them
 * also take samples without a pause, so that clock params change as often as
 * possible: there must be no data race, and no thread may see time run backwards.
 *
 *	hammer SECONDS
 */
#include "lib/clock/clock_private.h"
#include "helper.h"

#define THREADS	4

static struct tsct_clock *own;
static bool stop;

struct tally {
	bool samples;
	uint64_t turns, back;
	int64_t worst_ns;
	uint32_t epoch;
	int64_t last_ns;
};

static void note(struct tally *tally)
{
	struct tsct_time now;

	if (tsct_clock_now(own, &now))
		return;
	if (now.epoch == tally->epoch && now.ns < tally->last_ns) {
		tally->back++;
		if (tally->last_ns - now.ns > tally->worst_ns)
			tally->worst_ns = tally->last_ns - now.ns;
	}
	tally->epoch = now.epoch;
	tally->last_ns = now.ns;
	tally->turns++;
}

static void *hammer(void *arg)
{
	struct tally *tally = arg;
	struct tsct_time_point from, to;
	struct tsct_interval interval;
	struct tsct_clock_state state;
	struct tsct_clock_segment lines[4];
	uint64_t stamp;
	int64_t ns;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		note(tally);
		if (tally->samples)
			tsct_clock_inprocess_sample(tsct_clock_full(own)->inprocess);
		tsct_clock_time_point(own, &from);
		tsct_clock_cycles_to_ns(own, from.cycles - 100000000, &ns);
		tsct_clock_time_to_cycles(own, tsct_clock_now_ns(own), &stamp);
		tsct_clock_snapshot(own, &state);
		tsct_clock_segments(own, lines, 4);
		tsct_clock_time_point(own, &to);
		tsct_clock_interval(own, &from, &to, &interval);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec time = { .tv_sec = argc > 1 ? atoi(argv[1]) : 1 };
	struct tally tallies[THREADS] = { 0 };
	pthread_t threads[THREADS];
	int i, bad = 0;

	own = tsct_clock_default();
	if (!tsct_clock_full(own)->inprocess)
		return 2;
	for (i = 0; i < THREADS; i++) {
		tallies[i].samples = i & 1;
		if (pthread_create(&threads[i], NULL, hammer, &tallies[i]))
			return 2;
	}
	nanosleep(&time, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		printf("%llu turns, time ran back %llu times, worst %lld ns,"
		       " epoch %u\n", (unsigned long long)tallies[i].turns,
		       (unsigned long long)tallies[i].back,
		       (long long)tallies[i].worst_ns, tallies[i].epoch);
		bad |= tallies[i].back || !tallies[i].turns;
	}
	return bad;
}
