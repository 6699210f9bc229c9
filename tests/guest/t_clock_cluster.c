// SPDX-License-Identifier: MIT
/*
 * Cluster time in the clock area: states that are rejected, params that continue
 * the previous ones, ends of its epochs, and conversion by the library.
 * guest-test: timeout=60
 */
#include "../unit/seed.h"
#include "clock.h"

#include <tsctrace/clock.h>

static int fd;
static uint32_t source;
static const struct tsct_clock_page *page;

/* Returns clk_params() with cluster params: a copy of `real`, but cluster time is an
 * hour ahead of CLOCK_REALTIME. */
static struct tsct_clock_set both(uint32_t epoch, uint32_t cluster_epoch)
{
	struct tsct_clock_set set = clk_params(source, epoch);
	struct tsct_clock_state *s = &set.state;

	s->cluster = s->real;
	s->cluster.base_ns += 3600 * SECOND;
	s->cluster_status = TSCT_STATUS_SYNCHRONIZED;
	s->cluster_epoch = cluster_epoch;
	s->cluster_master = 0x1234;
	s->cluster_timeline = 77;
	return set;
}

/* Replaces s->cluster by params that begin in @lead cycles, with the rate @mult. The
 * params until then are kept in s->cluster_prev. */
static void continue_cluster(struct tsct_clock_state *s, int64_t lead, uint64_t mult)
{
	struct tsct_clock_params *pair = &s->cluster, old = *pair;
	uint64_t now = clk_cycles(source);

	pair->base_cycles = now + (uint64_t)lead;
	pair->base_ns = tsct_clock_params_ns(&old, pair->base_cycles);
	pair->mult = pair->slew_mult = mult;
	pair->slew_cycles = 0;
	pair->as_of_cycles = now;
	pair->holdover_after_cycles = pair->void_after_cycles = now + 5000 * SECOND;
	s->cluster_prev = tsct_clock_params_prev(&old, pair->base_cycles);
}

static void drop_piece(struct tsct_clock_state *s)
{
	memset(&s->cluster_prev, 0, sizeof(s->cluster_prev));
}

#define refuses(spoil) do {						\
	struct tsct_clock_set set_ = both(5, 1);			\
	struct tsct_clock_state *s = &set_.state;			\
	spoil;								\
	t_errno(clk_set(fd, &set_), EINVAL);				\
} while (0)

static void try_refused(void)
{
	refuses(s->cluster_status = TSCT_STATUS_NR);
	refuses(s->cluster_status = ~0U);
	refuses(s->cluster.reserved[2] = 1);
	refuses(s->cluster.mult = 1);
	refuses(s->cluster.slew_mult = ONE / 2);
	refuses(s->cluster.growth = ~0ULL);
	refuses(s->cluster.base_cycles += 60 * SECOND * 10);
	refuses(s->cluster.as_of_cycles = s->cluster.holdover_after_cycles + 1);
	refuses((s->cluster.fast_cycles = 1, s->flags = TSCT_CLOCK_SKEWED));
	refuses((s->cluster.fast_cycles = 1, s->cluster_status = 0));
	refuses((s->cluster.fast_cycles = 1ULL << 55));
	refuses(memset(&s->cluster, 0, sizeof(s->cluster)));
	/* cluster_prev that differs from the previous params */
	refuses(s->cluster_prev.mult = ONE);
	refuses((s->cluster_prev.mult = ONE,
		 s->cluster_prev.base_cycles = s->cluster.base_cycles - 1000,
		 s->cluster_prev.base_ns = s->cluster.base_ns - 999));
	refuses((s->cluster_prev.mult = 2 * ONE,
		 s->cluster_prev.base_cycles = s->cluster.base_cycles - 1000,
		 s->cluster_prev.base_ns = s->cluster.base_ns - 2000));
	refuses(s->cluster_prev.error_ps = 1);
	t_check(page->seq == 0, "a state was published");
}

#define will_not(want, ...) do {					\
	struct tsct_clock_state before = clk_state(page), after;	\
	struct tsct_clock_set set_ = *set;				\
	struct tsct_clock_state *s = &set_.state;			\
	__VA_ARGS__;							\
	t_errno(clk_set(fd, &set_), want);				\
	after = clk_state(page);					\
	t_check(!memcmp(&before, &after, sizeof(after)), "line %d",	\
		__LINE__);						\
} while (0)

static void try_wrong_successors(const struct tsct_clock_set *set)
{
	will_not(ETIME, drop_piece(s), s->cluster.base_ns++);
	will_not(EINVAL, continue_cluster(s, SECOND / 10, ONE), s->cluster.base_ns++,
		 s->cluster_prev.base_ns++);
	will_not(EINVAL, continue_cluster(s, SECOND / 10, ONE), s->cluster.base_ns--,
		 s->cluster_prev.base_ns--);
	will_not(ETIME, continue_cluster(s, 0, ONE));
	will_not(ETIME, continue_cluster(s, 1, ONE));
	will_not(EINVAL, memset(&s->cluster, 0, sizeof(s->cluster)),
		 drop_piece(s),
		 s->cluster_status = TSCT_STATUS_UNKNOWN);
	will_not(ESTALE, s->cluster_epoch--);
	/* a cluster_prev that was never published */
	will_not(EINVAL, continue_cluster(s, SECOND / 10, ONE),
		 s->cluster_prev.error_ps--);
	will_not(EINVAL, continue_cluster(s, SECOND / 10, ONE),
		 s->cluster_prev.base_cycles--, s->cluster_prev.base_ns--);
	/* A new epoch of CLOCK_REALTIME does not permit a step of cluster time. */
	will_not(EINVAL, s->epoch++, continue_cluster(s, SECOND / 10, ONE),
		 s->cluster.base_ns += 5, s->cluster_prev.base_ns += 5);
	will_not(ETIME, drop_piece(s), s->epoch++, s->cluster.base_ns += 5);
}

static void try_succession(void)
{
	struct tsct_clock_set set = both(5, 1);
	struct tsct_clock_time r;
	uint64_t first = set.state.cluster.base_cycles;

	t_check(!clk_set(fd, &set), "%m");
	try_wrong_successors(&set);
	set.state.cluster.as_of_cycles = clk_cycles(source);
	t_check(!clk_set(fd, &set), "%m");
	continue_cluster(&set.state, SECOND / 50, ONE + ONE / 1000);
	t_check(!clk_set(fd, &set), "%m");
	/* The previous cluster params convert cycles from their own begin to the begin
	 * of the new cluster params. Earlier cycles have no cluster time. */
	t_check(!tsct_clock_cluster_lookup(&set.state, first + 7, &r));
	t_check(r.ns == 1700000000 * SECOND + 3600 * SECOND + 7, "%lld", r.ns);
	t_check(tsct_clock_cluster_lookup(&set.state, first - 1, &r) == -ERANGE);
	usleep(30000);
	try_wrong_successors(&set);
	/* CLOCK_REALTIME steps, cluster time continues. */
	set.state.epoch = 6;
	set.state.cause = TSCT_CAUSE_STEP;
	set.state.real.base_ns += 3600 * SECOND;
	t_check(!clk_set(fd, &set), "%m");
	/* In a new epoch, cluster time may jump, here back by an hour. */
	set.state.cluster_epoch = 2;
	set.state.cluster.base_ns -= 3600 * SECOND;
	drop_piece(&set.state);
	t_check(!clk_set(fd, &set), "%m");
	t_check(clk_valid(page));
}

/* The library returns the module's cluster time. */
static void try_library(void)
{
	struct tsct_clock_set set = both(7, 3);
	struct tsct_clock *clock;
	struct tsct_time t;
	int64_t ns = 0;

	if (source == TSCT_SOURCE_TSC)
		set.state.cluster.fast_cycles = 1000 * SECOND;
	t_check(!clk_set(fd, &set), "%m");
	t_check(!tsct_clock_open(&clock));
	t_check(!strcmp(tsct_clock_origin(clock), "module"), "%s",
		tsct_clock_reason(clock));
	t_check(!tsct_clock_now_cluster(clock, &t));
	t_check(t.epoch == 3 && t.status == TSCT_STATUS_SYNCHRONIZED);
	t_check(!tsct_clock_now_cluster_ns(clock, &ns) && ns >= t.ns,
		"%lld", (long long)ns);
	t_check(!tsct_clock_cycles_to_cluster_time(clock, set.state.cluster.base_cycles,
						   &t));
	t_check(t.ns == set.state.cluster.base_ns, "%lld", (long long)t.ns);
	tsct_clock_close(clock);
}

/* A disruption of the counter ends the epoch: a CPU goes down and up. */
static void try_disruption(void)
{
	struct tsct_clock_state state;
	struct tsct_clock *clock;
	int64_t ns = 42;

	t_check(!tsct_clock_open(&clock));
	dev_online(false);
	dev_online(true);
	t_until(clk_state(page).epoch > 7);
	state = clk_state(page);
	t_check(state.epoch > 7 && state.status == TSCT_STATUS_DISRUPTED,
		"%u", state.epoch);
	t_check(state.cluster_status == TSCT_STATUS_DISRUPTED);
	t_check(state.cluster_epoch == 4, "%u", state.cluster_epoch);
	t_check(!state.cluster.mult && !state.cluster_prev.mult);
	t_check(state.cluster_master == 0x1234 && state.cluster_timeline == 77);
	t_check(tsct_clock_now_cluster_ns(clock, &ns) == -ESTALE && ns == 42);
	tsct_clock_close(clock);
}

/* Of random states those that are accepted are consistent and continuous. */
static void try_noise(void)
{
	unsigned int seed, taken = 0, i, j;

	print_seed();
	seed = first_seed;
	for (i = 0; i < 5000; i++) {
		struct tsct_clock_state old = clk_state(page);
		struct tsct_clock_set set = both(old.epoch + 1,
						 old.cluster_epoch);
		__u64 *words = (void *)&set.state.cluster;
		size_t nr = sizeof(set.state.cluster) / 8;

		if (old.cluster.mult && rand_r(&seed) & 1) {
			set.state.cluster = old.cluster;
			continue_cluster(&set.state, SECOND / 1000, ONE);
		} else {
			set.state.cluster_epoch++;
		}
		for (j = rand_r(&seed) % 3; j > 0; j--)
			words[rand_r(&seed) % nr] ^= 1ULL << rand_r(&seed) % 64;
		for (j = rand_r(&seed) % 3; j > 1; j--)
			((__u64 *)&set.state.cluster_prev)
				[rand_r(&seed) % 4] ^= 1ULL << rand_r(&seed) % 64;
		if (clk_set(fd, &set))
			continue;
		taken++;
		t_check(clk_valid(page), "after %u", i);
		t_check(!old.cluster.mult ||
			set.state.cluster_epoch != old.cluster_epoch ||
			tsct_clock_params_ns(&old.cluster, set.state.cluster.base_cycles) ==
			set.state.cluster.base_ns, "after %u", i);
	}
	printf("%u of %u accepted\n", taken, i);
	t_check(taken > 100 && taken < i);
}

int main(void)
{
	fd = dev_open();
	source = dev_info(fd).source;
	page = clk_map(fd);
	try_refused();
	try_succession();
	try_library();
	try_disruption();
	try_noise();
	return t_status();
}
