/* SPDX-License-Identifier: MIT */
/*
 * The latch: publication and lookup, readers that race with the writer, hostile pages.
 * Writers that die are tested in check_latch_death.c.
 */
#include <tsctrace/clock.h>

#include "lib/clockpage/latch.h"
#include "latch_states.h"
#include "seed.h"
#include "suite.h"

#define READERS	3
#define CPUS	5
#define STATES	60000

/* Stub that the inline functions need to link; never called. */
int64_t tsct_clock_now_slow(const struct tsct_clock *)
{
	return 0;
}

int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t stamp,
		       int64_t *ret_ns)
{
	(void)clock, (void)stamp, (void)ret_ns;
	return -EXDEV;
}

/* A clock area with room for some CPUs, followed by memory that must not change */
static union {
	struct tsct_clock_page page;
	unsigned char bytes[TSCT_CLOCK_SIZE(CPUS) + 64];
} area;

static const struct tsct_clock_cpu *cpu_entry(unsigned int cpu)
{
	return (const void *)(area.bytes + area.page.cpus_offset +
			      cpu * sizeof(struct tsct_clock_cpu));
}

TEST(test_init)
{
	struct tsct_clock_copy copy;
	struct tsct_clock_state state;
	struct tsct_clock_time reading;

	memset(area.bytes, 0xff, sizeof(area));
	tsct_latch_init(&area.page, boot_id, TSCT_SOURCE_MONOTONIC, CPUS);
	ck_assert_int_eq(tsct_clock_page_check(&area.page, TSCT_CLOCK_SIZE(CPUS),
					       boot_id), 0);
	ck_assert_int_eq(tsct_latch_read(&area.page, &state), 0);
	ck_assert_uint_eq(state.status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(state.source, TSCT_SOURCE_MONOTONIC);
	ck_assert_uint_eq(state.real.mult, 0);
	ck_assert_uint_eq(area.page.seq, 0);
	ck_assert_uint_eq(area.page.size, 24576);
	ck_assert_uint_eq(area.page.nr_cpus, CPUS);
	ck_assert_int_eq(tsct_latch_lookup(&area.page, 1, &reading), -EAGAIN);
	ck_assert_int_eq(tsct_latch_read_copy(&area.page, &copy), 0);
	ck_assert_int_eq(tsct_segments_valid(&copy), 0);
	for (unsigned int i = 0; i < CPUS; i++) {
		ck_assert_int_eq(cpu_entry(i)->skew_cycles, 0);
		ck_assert_uint_eq(cpu_entry(i)->error_cycles, UINT64_MAX);
	}
	for (unsigned int i = TSCT_CLOCK_SIZE(CPUS); i < sizeof(area); i++)
		ck_assert_uint_eq(area.bytes[i], 0xff);
}

TEST(test_cpu_table)
{
	memset(area.bytes, 0xff, sizeof(area));
	tsct_latch_init(&area.page, boot_id, 0, CPUS);
	tsct_latch_set_cpu(&area.page, 4, -1234, 56);
	ck_assert_int_eq(cpu_entry(4)->skew_cycles, -1234);
	ck_assert_uint_eq(cpu_entry(4)->error_cycles, 56);
	ck_assert_uint_eq(cpu_entry(3)->error_cycles, UINT64_MAX);
	tsct_latch_set_cpu(&area.page, 5, 1, 1);
	tsct_latch_set_cpu(&area.page, UINT32_MAX, 1, 1);
	/* a CPU entry that is not in use contains 0, like the rest of the page */
	ck_assert_int_eq(cpu_entry(5)->skew_cycles, 0);
	ck_assert_uint_eq(area.bytes[TSCT_CLOCK_SIZE(CPUS)], 0xff);
}

TEST(test_write_read)
{
	struct tsct_clock_state state;
	struct tsct_clock_copy copy;

	tsct_latch_init(&area.page, boot_id, 0, 0);
	for (uint64_t n = 1; n < 400; n++) {
		state = nth_state(n);
		tsct_latch_write(&area.page, &state);
		ck_assert_uint_eq(read_nr(&area.page), n);
		ck_assert_uint_eq(area.page.seq, 2 * n);
		ck_assert_mem_eq(&area.page.copy[0], &area.page.copy[1],
				 sizeof(area.page.copy[0]));
		ck_assert_int_eq(tsct_latch_read_copy(&area.page, &copy), 0);
		ck_assert_int_eq(tsct_segments_valid(&copy), 0);
		ck_assert_mem_eq(&copy, &area.page.copy[0], sizeof(copy));
		ck_assert(is_right(&area.page, STRIDE));
		ck_assert(n == 1 || is_right(&area.page, n * STRIDE - 1));
		ck_assert(is_right(&area.page, n * STRIDE + 1));
	}
}

/* ---- races between readers and writer: also run with the thread sanitizer ---- */

static struct tsct_clock_page shared;
static int done;

struct reader {
	pthread_t thread;
	unsigned int nr;
	uint64_t reads, fast, torn, wrong, backwards;
};

static void read_once(struct reader *r, uint64_t *last)
{
	static const uint64_t none;
	const struct tsct_clock here = { .page = &shared, .disruptions = &none };
	struct tsct_clock_copy copy;
	uint64_t nr, stamp;
	int64_t ns;

	nr = read_nr(&shared);
	r->torn += !nr;
	r->backwards += nr < *last;
	*last = nr;
	/* Look up a counter value between the begin of state 1 and 1000 cycles (STRIDE)
	 * after the begin of the newest state. */
	stamp = STRIDE + (r->reads * 7919) % (nr * STRIDE);
	r->wrong += !is_right(&shared, stamp);
	if (tsct_clock_fast_ns(&here, nr * STRIDE + 50, &ns)) {
		r->wrong += ns != ((int64_t)nr * STRIDE + 50) * 10;
		r->fast++;
	}
	if (r->reads++ % 16 == 0)
		r->torn += tsct_latch_read_copy(&shared, &copy) ||
			tsct_segments_valid(&copy) || !state_nr(&copy.state);
}

static void *read_along(void *arg)
{
	struct reader *r = arg;
	uint64_t last = 0;

	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		read_once(r, &last);
	return NULL;
}

TEST(test_race)
{
	struct reader readers[READERS] = { 0 };
	struct tsct_clock_state state;

	tsct_latch_init(&shared, boot_id, 0, 0);
	state = nth_state(1);
	tsct_latch_write(&shared, &state);
	for (int i = 0; i < READERS; i++)
		ck_assert(!pthread_create(&readers[i].thread, NULL, read_along,
					  &readers[i]));
	for (uint64_t n = 2; n < STATES; n++) {
		if (n % 1000 == 0)	/* another writer takes over while readers
					 * continue to read */
			tsct_latch_repair(&shared);
		state = nth_state(n);
		tsct_latch_stage(&shared, &state);
		if (n % 10 == 0)
			tsct_latch_stage(&shared, &state);
		tsct_latch_commit(&shared);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		printf("# reader %d: %llu reads\n", i,
		       (unsigned long long)readers[i].reads);
		ck_assert_uint_eq(readers[i].torn, 0);
		ck_assert_uint_eq(readers[i].wrong, 0);
		ck_assert_uint_eq(readers[i].backwards, 0);
		ck_assert_uint_gt(readers[i].reads, 100);
	}
	ck_assert_uint_eq(read_nr(&shared), STATES - 1);
}

/* ---- hostile pages ------------------------------------------------------ */

static void *count_up(void *)
{
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		__atomic_add_fetch(&shared.seq, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void *overwrite_page(void *)
{
	uint64_t x = 88172645463325252, i;

	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		for (i = 0; i < 100; i++) {
			uint64_t *word;

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			word = (uint64_t *)&shared + 512 +
				x % (sizeof(shared.copy) / 8);
			__atomic_store_n(word, x, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* A reader of a random page returns, with or without an error, and reads nothing
 * outside the page. */
static void read_hostile(void *(*writer)(void *))
{
	static const uint64_t none;
	const struct tsct_clock clock = { .page = &shared, .disruptions = &none };
	struct tsct_clock_state state;
	struct tsct_clock_copy copy;
	struct tsct_clock_time reading;
	pthread_t thread;
	int64_t ns;
	int i, ret;

	tsct_latch_init(&shared, boot_id, 0, 0);
	done = 0;
	ck_assert(!pthread_create(&thread, NULL, writer, NULL));
	for (i = 0; i < 3000; i++) {
		ret = tsct_latch_read(&shared, &state);
		ck_assert(ret == 0 || ret == -EAGAIN);
		ret = tsct_latch_lookup(&shared, (uint64_t)i << 50, &reading);
		ck_assert(ret <= 0);
		ret = tsct_clock_cycles_to_ns(&clock, (uint64_t)i << 50, &ns);
		ck_assert(ret == 0 || ret == -EXDEV);
		ret = tsct_latch_read_copy(&shared, &copy);
		ck_assert(ret == 0 || ret == -EAGAIN);
		if (!ret)
			tsct_segments_valid(&copy);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

LOOP_TEST(test_hostile_pages, 0, 2)
{
	read_hostile(_i ? overwrite_page : count_up);
}

/* A writer that takes over a page of random contents makes it valid. */
TEST(test_take_over)
{
	struct tsct_clock_state state = nth_state(3);
	uint64_t words[sizeof(shared) / 8];

	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int j = 0; j < sizeof(shared) / 8; j++)
			words[j] = any64();
		memcpy(&shared, words, sizeof(shared));
		tsct_latch_repair(&shared);
		ck_assert_uint_eq(shared.seq & 1, 0);
		ck_assert_mem_eq(&shared.copy[0], &shared.copy[1],
				 sizeof(shared.copy[0]));
		tsct_latch_write(&shared, &state);
		ck_assert_uint_eq(read_nr(&shared), 3);
		ck_assert(is_right(&shared, 3 * STRIDE));
	}
}

#define PAGE(want, size, ...) do {					\
	page = good;							\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_clock_page_check(&page, size, boot_id), want); \
} while (0)

TEST(test_page_check)
{
	static const __u8 other[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 8 };
	static struct tsct_clock_page good, page;
	const uint64_t size = TSCT_CLOCK_SIZE(0);

	tsct_latch_init(&good, boot_id, 0, 0);
	ck_assert_int_eq(tsct_clock_page_check(&good, size, other), -ESTALE);
	PAGE(0, size);
	PAGE(0, UINT64_MAX);
	PAGE(-EINVAL, size - 1);
	PAGE(-EINVAL, 0);
	PAGE(-EINVAL, size, page.magic ^= 1);
	PAGE(-EINVAL, size, page.size--);
	PAGE(-EINVAL, size, page.size += 8);
	PAGE(-EINVAL, size, page.cpus_offset += 8);
	PAGE(-EINVAL, size, page.nr_cpus++);
	PAGE(-EINVAL, size, page.nr_cpus = UINT32_MAX);
	PAGE(-EINVAL, UINT64_MAX, page.nr_cpus = UINT32_MAX);
	PAGE(-EINVAL, UINT64_MAX, page.nr_cpus = TSCT_CPUS_MAX + 1,
	     page.size = TSCT_CLOCK_SIZE(TSCT_CPUS_MAX + 1));
	PAGE(0, TSCT_CLOCK_SIZE(TSCT_CPUS_MAX), page.nr_cpus = TSCT_CPUS_MAX,
	     page.size = TSCT_CLOCK_SIZE(TSCT_CPUS_MAX));
	PAGE(-EINVAL, TSCT_CLOCK_SIZE(TSCT_CPUS_MAX) - 1,
	     page.nr_cpus = TSCT_CPUS_MAX,
	     page.size = TSCT_CLOCK_SIZE(TSCT_CPUS_MAX));
	PAGE(-EINVAL, size, memset(&page, 0, sizeof(page)));
	PAGE(-EINVAL, size, memset(&page, 0xff, sizeof(page)));
}

/* ---- distance between the counters of any two CPUs ----------------------- */

static __u64 span(__s64 skew_1, __u64 error_1, __s64 skew_2, __u64 error_2)
{
	const struct tsct_clock_cpu cpus[] = {
		{ 0, 0 }, { skew_1, error_1 }, { 0, TSCT_SKEW_UNKNOWN }, { skew_2, error_2 },
	};

	ck_assert_uint_eq(tsct_skew_span(cpus, 1), 0);
	return tsct_skew_span(cpus, 4);
}

TEST(test_span)
{
	/* In step: each interval contains 0, however wide, or was not measured. */
	ck_assert_uint_eq(span(0, 0, 0, 0), 0);
	ck_assert_uint_eq(span(-26, 182, 26, 26), 0);
	ck_assert_uint_eq(span(5, 1000000, INT64_MIN, TSCT_SKEW_UNKNOWN), 0);
	/* An interval without 0 counts with its further end. */
	ck_assert_uint_eq(span(27, 26, 0, 500), 53);
	ck_assert_uint_eq(span(-900, 50, 3, 4), 950);
	ck_assert_uint_eq(span(200, 10, 300, 0), 300);
	/* One CPU is ahead of the reference CPU, another one is behind it. */
	ck_assert_uint_eq(span(200, 10, -300, 20), 530);
	ck_assert_uint_eq(span(INT64_MAX, 5, INT64_MIN, 5), UINT64_MAX);
}
