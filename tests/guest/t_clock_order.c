// SPDX-License-Identifier: MIT
/*
 * Readers on all CPUs while params are published as fast as possible, each with
 * another rate: no reader sees parts of two states, or a time earlier than one
 * that another reader has returned before.
 * guest-test: timeout=60 parallel=yes boot=default,unstable rt=yes
 */
#include <pthread.h>
#include <stdatomic.h>

#include "../unit/seed.h"
#include "clock.h"

#define READERS	2
#define FAST	(ONE + ONE / 10)

static int fd;
static uint32_t source;
static const struct tsct_clock_page *page;
static atomic_int stop;
static _Atomic int64_t latest;

struct reader {
	pthread_t thread;
	unsigned int cpu;
	uint64_t reads, failed, torn, backwards;
	int64_t most;
};

/* Returns true if the fields of the state read from the clock area were written by
 * different calls: state n has n in two fields, and the rate FAST if n is odd. */
static bool torn(void)
{
	struct tsct_clock_state state = clk_state(page);

	return state.epoch_cycles != state.rate_error_ppt ||
		state.real.mult != (state.epoch_cycles & 1 ? FAST : ONE);
}

/*
 * Reads the time. `latest` is read before the counter, so the time must not be earlier
 * than `latest`. This test's params have an error bound below 1 ns. A larger bound
 * means that the thread slept after it read the counter, until the params for these
 * cycles were joined with other params to one segment; such a read counts as failed.
 */
static void read_once(struct reader *r)
{
	int64_t before = atomic_load(&latest);
	struct tsct_clock_time t;
	int err = tsct_latch_lookup(page, clk_cycles(source), &t);

	r->reads++;
	if (err || t.error_ps >= 1000) {
		r->failed++;
		return;
	}
	if (t.ns < before) {
		r->backwards++;
		if (before - t.ns > r->most)
			r->most = before - t.ns;
		atomic_store(&latest, t.ns);
		return;
	}
	while (t.ns > before &&
	       !atomic_compare_exchange_weak(&latest, &before, t.ns))
		;
	if (r->reads % 16 == 0 && t.epoch)
		r->torn += torn();
}

static void *read_all(void *arg)
{
	struct reader *r = arg;

	dev_pin(r->cpu);
	while (!stop)
		read_once(r);
	return NULL;
}

/* Counts of clock params: accepted, rejected as late, and accepted although their
 * begin had passed when the request returned */
struct counts {
	unsigned int nr, late, doubtful;
};

/* Returns the shortest duration of TSCT_IOC_CLOCK_SET, the ioctl that stores params, in
 * cycles. The duration differs by a factor of 100 between kernels. */
static uint64_t request_cost(const struct tsct_clock_set *set)
{
	uint64_t least = SECOND, begin, cost;

	for (int i = 0; i < 100; i++) {
		begin = clk_cycles(source);
		t_check(!clk_set(fd, set), "%m");
		cost = clk_cycles(source) - begin;
		if (cost < least)
			least = cost;
	}
	return least;
}

/*
 * Publishes clock params for $TSCT_CLOCK_SECONDS (2; all: 5). Their rate alternates between 1 ns per cycle (ONE)
 * and 1.1 (FAST), so that time goes backwards for readers if params are stored after
 * their begin. The module rejects late params, but emulation may stop a CPU between
 * that check and the store. So params that had begun when TSCT_IOC_CLOCK_SET returned
 * are counted as doubtful: each reader may see one backward step for each of these.
 */
static void publish_all(struct counts *counts)
{
	struct tsct_clock_set set = clk_params(source, 1), last;
	double end = t_now() + t_repeats("TSCT_CLOCK_SECONDS", 2, 5);
	uint64_t n = 0, cost;

	set.state.rate_error_ppt = 0;
	set.state.real.error_ps = 0;
	set.state.real.past_error_ps = 0;
	t_check(!clk_set(fd, &set), "%m");
	cost = request_cost(&set);
	while (t_now() < end) {
		last = set;
		clk_continue(&set, cost / 2 + any64() % (cost * 40),
			     ++n & 1 ? FAST : ONE);
		set.state.rate_error_ppt = n;
		set.state.epoch_cycles = n;
		if (!clk_set(fd, &set)) {
			counts->nr++;
			counts->doubtful += clk_cycles(source) >=
				set.state.real.base_cycles;
			continue;
		}
		t_check(errno == ETIME, "%m");
		counts->late++;
		set = last;
		n--;
	}
}

int main(void)
{
	struct reader readers[READERS] = { { .cpu = 0 }, { .cpu = 1 } };
	struct counts counts = { 0 };
	uint64_t backwards = 0;

	print_seed();
	seed_with(0);
	fd = dev_open();
	source = dev_info(fd).source;
	page = clk_map(fd);
	for (int i = 0; i < READERS; i++)
		t_check(!pthread_create(&readers[i].thread, NULL, read_all,
					&readers[i]));
	publish_all(&counts);
	stop = 1;
	for (int i = 0; i < READERS; i++) {
		struct reader *r = &readers[i];

		pthread_join(r->thread, NULL);
		printf("reader %d: %lu reads, %lu of them failed, %lu backwards by up to %ld ns\n",
		       i, r->reads, r->failed, r->backwards, r->most);
		backwards += r->backwards;
		t_check(r->torn == 0, "%lu", r->torn);
		t_check(r->reads - r->failed > 100);
	}
	printf("%u params, %u rejected as late, %u doubtful\n", counts.nr,
	       counts.late, counts.doubtful);
	t_check(counts.nr > 100 && counts.late > 0);
	t_check(counts.doubtful < counts.nr / 20);
	t_check(backwards <= READERS * counts.doubtful, "%lu", backwards);
	t_check(clk_valid(page));
	return t_status();
}
