// SPDX-License-Identifier: MIT
/*
 * The clock area: states that are rejected, states that are published, clock
 * params that continue the previous ones, and the conversion of past cycles.
 * guest-test: timeout=60 parallel=yes boot=default,unstable rt=yes
 */
#include "../unit/seed.h"
#include "clock.h"

#define HOUR	(3600 * SECOND)

static int fd;
static struct tsct_cpu_check table[DEV_CPUS];
static uint32_t source;
static const struct tsct_clock_page *page;

#define refuses(spoil) do {						\
	struct tsct_clock_set s = clk_params(source, 5);			\
	struct tsct_clock_state *st = &s.state;				\
	(void)st;							\
	spoil;								\
	t_errno(clk_set(fd, &s), EINVAL);				\
} while (0)

static void try_refused(void)
{
	/* a minute in cycles of a counter of 10 GHz */
	const uint64_t minute = 60 * SECOND * 10;

	refuses(st->source = TSCT_SOURCE_NR);
	refuses(st->status = TSCT_STATUS_NR);
	refuses(st->cause = TSCT_CAUSE_NR);
	refuses(st->flags = 2);
	refuses(st->utc_error_ns = 1);
	refuses(st->utc_source = TSCT_UTC_NR);
	refuses(st->real.mult = 1);
	refuses(st->real.mult = ~0ULL);
	refuses(st->real.slew_mult = ONE / 2);
	refuses(st->real.slew_cycles = ~0ULL);
	refuses(st->real.fast_cycles = 1ULL << 55);
	refuses((st->real.fast_cycles = 1, st->flags = TSCT_CLOCK_SKEWED));
	refuses((st->real.fast_cycles = 1, st->status = TSCT_STATUS_DISRUPTED));
	refuses(st->real.growth = ~0ULL);
	refuses(st->real.holdover_growth = ~0ULL);
	refuses(st->real.holdover_after_cycles = st->real.as_of_cycles - 1);
	refuses(st->real.void_after_cycles = st->real.holdover_after_cycles - 1);
	refuses(st->real.base_cycles += 1ULL << 62);
	refuses(st->rate_mult = 1);
	refuses((st->real = (struct tsct_clock_params){ 0 }));
	/* params that begin in the future */
	refuses(st->real.base_cycles += minute);
	refuses(st->real.as_of_cycles += minute);
	refuses(st->epoch_cycles = st->real.as_of_cycles + minute);
	refuses((st->cluster = st->real, st->cluster.mult = 1));
	t_check(page->seq == 0 && clk_state(page).status == TSCT_STATUS_UNKNOWN,
		"a state was published");
}

static void read_boot_id(unsigned char *id)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	int c, n = 0;
	unsigned int value = 0;

	while (file && (c = fgetc(file)) != EOF && n < 32) {
		if (c == '-')
			continue;
		value = value << 4 | (unsigned int)(c <= '9' ? c - '0' :
						    c - 'a' + 10);
		if (n++ & 1)
			id[n / 2 - 1] = (unsigned char)value;
	}
	if (file)
		fclose(file);
	t_check(n == 32);
}

static void try_page(void)
{
	const struct tsct_clock_cpu *cpus;
	unsigned int nr = dev_info(fd).nr_cpus, i;
	unsigned char id[16];

	read_boot_id(id);
	t_check(!tsct_clock_page_check(page, TSCT_CLOCK_SIZE(nr), id));
	t_check(page->nr_cpus == nr && page->size == TSCT_CLOCK_SIZE(nr));
	t_check(clk_state(page).source == source);
	t_check(clk_state(page).epoch == 0 && clk_valid(page));
	cpus = (const void *)((const char *)page + page->cpus_offset);
	for (i = 0; i < nr; i++) {
		printf("CPU %u: %lld +- %llu cycles\n", i, cpus[i].skew_cycles,
		       cpus[i].error_cycles);
		t_check(i < 2 || cpus[i].error_cycles == ~0ULL);
	}
	t_check(cpus[0].skew_cycles == 0 && cpus[0].error_cycles == 0);
	t_check(cpus[1].error_cycles != ~0ULL);
}

/* ---- maps --------------------------------------------------------------- */

static void try_maps(void)
{
	const size_t size = page->size;
	char *at;

	for (size_t len = 4096; len <= size; len += 4096) {
		at = mmap(NULL, len, PROT_READ, MAP_SHARED, fd,
			  (off_t)TSCT_CLOCK_OFFSET);
		t_check(at != MAP_FAILED, "%zu: %m", len);
		t_check(!dev_touch(at + len - 1), "no page below %zu", len);
		t_check(!memcmp(at, page, 32));
		munmap(at, len);
	}
	t_errno(mmap(NULL, size + 4096, PROT_READ, MAP_SHARED, fd,
		     (off_t)TSCT_CLOCK_OFFSET), EINVAL);
	t_errno(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
		     (off_t)TSCT_CLOCK_OFFSET + 4096), EINVAL);
	t_errno(mmap(NULL, size, RW, MAP_SHARED, fd,
		     (off_t)TSCT_CLOCK_OFFSET), EACCES);
}

/* ---- continuity of clock params ----------------------------------------- */

/* Neither the published state nor the latch has changed. */
static void unchanged(const struct tsct_clock_copy *before, uint64_t seq,
		      int line)
{
	static struct tsct_clock_copy now;

	t_check(!tsct_latch_read_copy(page, &now));
	t_check(!memcmp(before, &now, sizeof(now)), "line %d", line);
	t_check(!(page->seq & 1) && page->seq >= seq, "line %d", line);
}

/* On a slow machine params that begin soon may be late: compose the params again. */
#define will_not(want, ...) do {					\
	static struct tsct_clock_copy before;				\
	struct tsct_clock_set s;					\
	struct tsct_clock_state *st = &s.state;				\
	uint64_t seq = page->seq;					\
	int ret, error, tries = 20;					\
	t_check(!tsct_latch_read_copy(page, &before));			\
	(void)st;							\
	do {								\
		s = *set;						\
		__VA_ARGS__;						\
		ret = clk_set(fd, &s);					\
		error = errno;						\
	} while (ret && error == ETIME && (want) != ETIME && --tries);	\
	t_errno((errno = error, ret), want);				\
	unchanged(&before, seq, __LINE__);				\
} while (0)

static void try_wrong_successors(const struct tsct_clock_set *set)
{
	/* A step of the time within an epoch */
	will_not(ETIME, st->real.base_ns++);
	will_not(EINVAL, clk_continue(&s, SECOND / 100, ONE), st->real.base_ns++);
	will_not(EINVAL, clk_continue(&s, SECOND / 100, ONE), st->real.base_ns--);
	will_not(EINVAL, clk_continue(&s, SECOND / 100, ONE),
		 st->real.base_ns += HOUR);
	/* The module rejects clock params that begin in the past, or less than the
	 * required lead after now. */
	will_not(ETIME, clk_continue(&s, 0, ONE));
	will_not(ETIME, clk_continue(&s, 1, ONE));
	will_not(ETIME, clk_continue(&s, 0 - (uint64_t)SECOND / 100, ONE));
	/* Params with another rate or slew from the same beginning are rejected. */
	will_not(ETIME, st->real.mult++, st->real.slew_mult++);
	will_not(ETIME, st->real.slew_cycles++);
	/* A publication without params, after a publication with params */
	will_not(EINVAL, st->real = (struct tsct_clock_params){ 0 },
		 st->status = TSCT_STATUS_DISRUPTED);
	/* A state with an earlier epoch, or another source, is rejected. */
	will_not(ESTALE, st->epoch--);
	will_not(ESTALE, st->epoch -= 5);
	will_not(ESTALE, st->source = !source ? TSCT_SOURCE_MONOTONIC :
		 TSCT_SOURCE_TSC, st->real.mult = st->real.slew_mult = ONE);
}

static void try_succession(void)
{
	struct tsct_clock_set set = clk_params(source, 5);
	uint64_t first = set.state.real.base_cycles, seq = page->seq, second;
	struct tsct_clock_time r;

	t_check(!clk_set(fd, &set), "%m");
	t_check(page->seq == seq + 2, "%llu", page->seq);
	t_check(!memcmp(&page->copy[0], &page->copy[1], sizeof(page->copy[0])));
	t_check(!memcmp(&page->copy[0].state, &set.state, sizeof(set.state)));
	r = clk_lookup(page, first - 1000);
	t_check(r.status == TSCT_STATUS_CALIBRATING, "%d", (int)r.status);
	try_wrong_successors(&set);

	/* The same params with a later refresh are accepted. */
	set.state.real.as_of_cycles = clk_cycles(source);
	set.state.real.past_error_ps = 500;
	t_check(!clk_set(fd, &set), "%m");
	t_check(page->copy[0].nr_segments == 0);

	clk_continue(&set, SECOND / 50, ONE + ONE / 20);
	second = set.state.real.base_cycles;
	set.state.closing_error_ps = 700;
	t_check(!clk_set(fd, &set), "%m");
	t_check(page->copy[0].nr_segments == 1);
	t_check(page->copy[1].segments[0].until_cycles == second);
	usleep(30000);
	try_wrong_successors(&set);
	r = clk_lookup(page, second - 1);
	t_check(r.status == TSCT_STATUS_SYNCHRONIZED && r.error_ps == 700 &&
		r.ns == set.state.real.base_ns - 1, "%u %llu %lld", r.status,
		r.error_ps, r.ns);
	r = clk_lookup(page, second + 100);
	t_check(r.ns == set.state.real.base_ns + 104, "%lld", r.ns);
	t_check(clk_valid(page));

	/* Params of a later epoch may have any base, in cycles and in ns. */
	set = clk_params(source, 6);
	set.state.cause = TSCT_CAUSE_STEP;
	set.state.epoch_cycles = set.state.real.base_cycles;
	set.state.real.base_ns += HOUR;
	t_check(!clk_set(fd, &set), "%m");
	r = clk_lookup(page, first);
	t_check(r.epoch == 5 && r.status == TSCT_STATUS_SYNCHRONIZED);
	r = clk_lookup(page, set.state.real.base_cycles);
	t_check(r.epoch == 6 && r.ns == set.state.real.base_ns);
	r = clk_lookup(page, set.state.real.base_cycles - 1);
	t_check(r.status == TSCT_STATUS_DISRUPTED, "%d", (int)r.status);
	/* A state without params is valid. */
	memset(&set, 0, sizeof(set));
	set.state.source = source;
	set.state.epoch = 7;
	t_check(!clk_set(fd, &set), "%m");
	t_check(clk_valid(page));
}

/* More params than segments: old segments get wider bounds, never wrong ones. */
static void try_many(void)
{
	struct tsct_clock_set set = clk_params(source, 8);
	uint64_t first = set.state.real.base_cycles, stamps[400];
	int64_t truth[400];
	struct tsct_clock_time r;
	int i, late = 0;

	t_check(!clk_set(fd, &set), "%m");
	for (i = 0; i < 400; i++) {
		struct tsct_clock_set last = set;

		clk_continue(&set, SECOND / 1000, i & 1 ? ONE : ONE + ONE / 1000);
		while (clk_set(fd, &set)) {
			late++;
			t_check(errno == ETIME, "%m");
			set = last;
			clk_continue(&set, SECOND / 100,
				     i & 1 ? ONE : ONE + ONE / 1000);
		}
		stamps[i] = set.state.real.base_cycles + 1;
		truth[i] = tsct_clock_params_ns(&set.state.real, stamps[i]);
	}
	t_check(page->copy[0].nr_segments == TSCT_SEGMENTS_MAX);
	t_check(page->copy[0].dropped == 0);
	t_check(clk_valid(page));
	for (i = 0; i < 400; i++) {
		r = clk_lookup(page, stamps[i]);
		t_check(r.status == TSCT_STATUS_SYNCHRONIZED && r.epoch == 8);
		t_check((uint64_t)llabs(r.ns - truth[i]) * 1000 <= r.error_ps,
			"cycles %d: %lld, not %ld, +- %llu ps", i, r.ns, truth[i],
			r.error_ps);
	}
	r = clk_lookup(page, first);
	t_check(r.ns == 1700000000 * SECOND && r.epoch == 8);
	printf("%d late; after 400 params the bound of the first is %llu ps\n",
	       late, r.error_ps);
}

/* ---- hostile arguments -------------------------------------------------- */

/* Sets the clock to states with random changes: whichever the module accepts, the clock
 * area stays valid, with the segments of earlier states. */
static void try_noise(void)
{
	struct tsct_clock_set set;
	unsigned int seed, taken = 0, i, j;

	print_seed();
	seed = first_seed;
	for (i = 0; i < 20000; i++) {
		uint64_t words[sizeof(set) / 8];
		uint32_t epoch = clk_state(page).epoch;
		uint32_t cluster = clk_state(page).cluster_epoch;

		set = clk_params(source, epoch + (rand_r(&seed) & 1));
		set.state.cluster_epoch = cluster;
		memcpy(words, &set, sizeof(set));
		for (j = rand_r(&seed) % 4; j > 0; j--)
			words[rand_r(&seed) % (sizeof(set) / 8)] ^=
				1ULL << rand_r(&seed) % 64;
		memcpy(&set, words, sizeof(set));
		/* An epoch increases by at most 1000 per state, so that all states
		 * together do not use up its 32 bits. */
		if (set.state.epoch - epoch > 1000)
			set.state.epoch = epoch;
		if (set.state.cluster_epoch - cluster > 1000)
			set.state.cluster_epoch = cluster;
		taken += !clk_set(fd, &set);
		if (i % 16 == 0)
			t_check(clk_valid(page), "after %u", i);
	}
	printf("%u of %u accepted\n", taken, i);
	t_check(taken > 100 && taken < i);
}

int main(void)
{
	fd = dev_open();
	dev_check_measured(fd, table);
	source = dev_info(fd).source;
	page = clk_map(fd);
	try_page();
	try_maps();
	try_refused();
	try_succession();
	try_many();
	try_noise();
	return t_status();
}
