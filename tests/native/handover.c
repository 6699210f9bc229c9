// SPDX-License-Identifier: MIT
/*
 * Two threads pass a token to and fro. The thread that has it reads the counter and
 * the time; neither may be less than the other thread's last reading: the clock's
 * default read is ordered, and successive clock params are continuous.
 *
 *   handover READS [unordered]
 *
 * With `unordered`, it only counts how often the unordered read of the TSC, which is
 * never the default, goes backwards. Other counters have none.
 */
#include <tsctrace/tsctrace.h>

#include "helper.h"

#define SPINS	2000

struct token {
	/* turn number: written after the other fields, with release order */
	_Alignas(64) uint64_t turn;
	uint64_t stamp;
	int64_t ns;
	uint32_t epoch;
};

struct tally {
	uint64_t reads, stamps_back, times_back;
	uint64_t worst_ticks;
	int64_t worst_ns;
};

static struct token token;
static const struct tsct_clock *clk;
static uint64_t reads_wanted;
static bool unordered;

static void await(uint64_t turn)
{
	unsigned int spins = 0;

	/* The acquire here pairs with the release in pass(). */
	while (__atomic_load_n(&token.turn, __ATOMIC_ACQUIRE) != turn)
		if (++spins % SPINS == 0)
			sched_yield();
}

static void pass(uint64_t turn)
{
	__atomic_store_n(&token.turn, turn, __ATOMIC_RELEASE);
}

static uint64_t read_stamp(void)
{
	return unordered && clk->source == TSCT_SOURCE_TSC ?
		tsct_tsc_read_unordered() : tsct_clock_cycles(clk);
}

static void note(struct tally *tally, uint64_t stamp, int64_t ns)
{
	tally->reads++;
	if ((int64_t)(stamp - token.stamp) < 0) {
		tally->stamps_back++;
		if (token.stamp - stamp > tally->worst_ticks)
			tally->worst_ticks = token.stamp - stamp;
	}
	if (ns < token.ns) {
		tally->times_back++;
		if (token.ns - ns > tally->worst_ns)
			tally->worst_ns = token.ns - ns;
	}
	token.stamp = stamp;
	token.ns = ns;
}

/* Turn numbers are even for the first thread and odd for the second. */
static void *run(void *arg)
{
	struct tally *tally = arg;
	uint64_t turn = tally->reads;

	for (tally->reads = 0; turn < reads_wanted; turn += 2) {
		int64_t ns = 0;
		uint64_t stamp;

		await(turn);
		stamp = read_stamp();
		if (tsct_clock_cycles_to_ns(clk, stamp, &ns)) {
			fprintf(stderr, "cycles cannot be converted to a time\n");
			exit(1);
		}
		note(tally, stamp, ns);
		pass(turn + 1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct tally tallies[2] = { { .reads = 0 }, { .reads = 1 } };
	struct tsct_time before, after;
	pthread_t thread;
	int bad = 0;

	reads_wanted = argc > 1 ? strtoull(argv[1], NULL, 10) & ~1ULL : 0;
	unordered = argc > 2 && !strcmp(argv[2], "unordered");
	clk = tsct_clock_default();
	if (!reads_wanted || !clk || tsct_clock_now(clk, &before) ||
	    pthread_create(&thread, NULL, run, &tallies[1]))
		return 2;
	run(&tallies[0]);
	pthread_join(thread, NULL);
	tsct_clock_now(clk, &after);
	for (unsigned int i = 0; i < 2; i++) {
		printf("thread %u: %llu reads; stamps back %llu, worst %llu "
		       "ticks; times back %llu, worst %lld ns\n", i,
		       (unsigned long long)tallies[i].reads,
		       (unsigned long long)tallies[i].stamps_back,
		       (unsigned long long)tallies[i].worst_ticks,
		       (unsigned long long)tallies[i].times_back,
		       (long long)tallies[i].worst_ns);
		bad |= tallies[i].stamps_back || tallies[i].times_back;
	}
	printf("clock: %s, %s, epochs %u to %u, %.1f s\n",
	       tsct_clock_origin(clk), tsct_source_name(clk->source),
	       before.epoch, after.epoch, (double)(after.ns - before.ns) / 1e9);
	if (before.epoch != after.epoch) {
		printf("the clock was set meanwhile: times may have gone back\n");
		bad = tallies[0].stamps_back || tallies[1].stamps_back;
	}
	return bad && !unordered;
}
