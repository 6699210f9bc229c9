/* SPDX-License-Identifier: MIT */
/* The latch: writers that die anywhere, readers that race, pages that lie. */
#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/latch.h"

#define WORDS	(sizeof(struct tsct_clock_state) / 8)
#define STORES	(2 * (1 + WORDS))	/* of one publication */
#define READERS	3

static const __u8 boot_id[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };

static void fill(struct tsct_clock_state *state, uint64_t value)
{
	uint64_t words[WORDS];
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		words[i] = value;
	memcpy(state, words, sizeof(*state));
}

#define TORN	UINT64_MAX

/* The one value that all words have, or TORN */
static uint64_t whole(const struct tsct_clock_state *state)
{
	uint64_t words[WORDS];
	unsigned int i;

	memcpy(words, state, sizeof(*state));
	for (i = 1; i < WORDS; i++)
		if (words[i] != words[0])
			return TORN;
	return words[0];
}

static uint64_t read_whole(const struct tsct_clock_page *page)
{
	struct tsct_clock_state state;

	return tsct_latch_read(page, &state) ? TORN : whole(&state);
}

/* What a writer leaves that dies after so many of its stores */
static void die_after(struct tsct_clock_page *page, uint64_t value,
		      unsigned int stores)
{
	unsigned int copy, i;

	for (copy = 0; copy < 2; copy++) {
		if (!stores--)
			return;
		page->seq++;
		for (i = 0; i < WORDS; i++) {
			if (!stores--)
				return;
			memcpy((char *)&page->copy[copy] + 8 * i, &value, 8);
		}
	}
}

START_TEST(test_init)
{
	struct tsct_clock_page page;
	struct tsct_clock_state state;

	memset(&page, 0xff, sizeof(page));
	tsct_latch_init(&page, boot_id, TSCT_SOURCE_MONOTONIC);
	ck_assert_int_eq(tsct_clock_page_check(&page, boot_id), 0);
	ck_assert_int_eq(tsct_latch_read(&page, &state), 0);
	ck_assert_uint_eq(state.status, TSCT_STATUS_UNKNOWN);
	ck_assert_uint_eq(state.source, TSCT_SOURCE_MONOTONIC);
	ck_assert_uint_eq(state.real.mult, 0);
	ck_assert_uint_eq(page.seq, 0);
}
END_TEST

START_TEST(test_write_read)
{
	struct tsct_clock_page page;
	struct tsct_clock_state state;
	unsigned int i;

	tsct_latch_init(&page, boot_id, 0);
	for (i = 1; i < 100; i++) {
		fill(&state, i);
		tsct_latch_write(&page, &state);
		ck_assert_uint_eq(read_whole(&page), i);
		ck_assert_uint_eq(page.seq, 2 * i);
		ck_assert_uint_eq(whole(&page.copy[0]), whole(&page.copy[1]));
	}
}
END_TEST

START_TEST(test_read_real)
{
	struct tsct_clock_page page;
	struct tsct_clock_state state, part;

	tsct_latch_init(&page, boot_id, 0);
	fill(&state, 0x1111111111111111);
	tsct_latch_write(&page, &state);
	memset(&part, 0, sizeof(part));
	ck_assert_int_eq(tsct_latch_read_real(&page, &part), 0);
	ck_assert_mem_eq(&part.real, &state.real,
			 offsetof(struct tsct_pair, reserved));
	ck_assert_uint_eq(part.status, state.status);
	ck_assert_uint_eq(part.epoch, state.epoch);
	ck_assert_uint_eq(part.source, state.source);
	ck_assert_uint_eq(part.rate_error_ppb, state.rate_error_ppb);
	ck_assert_uint_eq(part.cluster.mult, 0);
	ck_assert_uint_eq(part.reserved[0], 0);
}
END_TEST

/* Whatever writers die, in a row, readers see the last or the one before. */
START_TEST(test_death_and_repair)
{
	struct tsct_clock_page page;
	struct tsct_clock_state state;
	unsigned int first, second;

	for (first = 0; first <= STORES; first++) {
		for (second = 0; second <= STORES; second++) {
			uint64_t seen;

			tsct_latch_init(&page, boot_id, 0);
			fill(&state, 7);
			tsct_latch_write(&page, &state);
			die_after(&page, 8, first);
			seen = read_whole(&page);
			ck_assert(seen == (first > 1 + WORDS ? 8 : 7));
			tsct_latch_repair(&page);
			ck_assert_uint_eq(page.seq & 1, 0);
			ck_assert_uint_eq(read_whole(&page), seen);
			ck_assert_uint_eq(whole(&page.copy[0]), seen);
			ck_assert_uint_eq(whole(&page.copy[1]), seen);
			die_after(&page, 9, second);
			ck_assert(read_whole(&page) ==
				  (second > 1 + WORDS ? 9 : seen));
		}
	}
}
END_TEST

/* ---- races: this part is what the thread sanitizer is for ---------------- */

static struct tsct_clock_page shared;
static int done;

struct reader {
	pthread_t thread;
	uint64_t reads, torn, backwards;
};

static void *read_along(void *arg)
{
	struct reader *r = arg;
	uint64_t last = 0;

	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		struct tsct_clock_state state, real = { 0 };
		uint64_t now;

		if (tsct_latch_read(&shared, &state) ||
		    tsct_latch_read_real(&shared, &real))
			continue;
		now = whole(&state);
		r->torn += now == TORN ||
			real.real.base_error_ps != real.real.base_tsc ||
			real.status != (uint32_t)real.real.base_tsc;
		r->backwards += now < last || real.real.base_tsc < now;
		last = now;
		r->reads++;
	}
	return NULL;
}

START_TEST(test_race)
{
	struct reader readers[READERS] = { 0 };
	struct tsct_clock_state state;
	unsigned int i;

	tsct_latch_init(&shared, boot_id, 0);
	for (i = 0; i < READERS; i++)
		ck_assert(!pthread_create(&readers[i].thread, NULL, read_along,
					  &readers[i]));
	for (i = 1; i < 300000; i++) {
		fill(&state, i);
		if (i % 1000 == 0)	/* a new writer, as readers go on */
			tsct_latch_repair(&shared);
		tsct_latch_write(&shared, &state);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		printf("# reader %u: %llu reads\n", i,
		       (unsigned long long)readers[i].reads);
		ck_assert_uint_eq(readers[i].torn, 0);
		ck_assert_uint_eq(readers[i].backwards, 0);
	}
	ck_assert_uint_eq(read_whole(&shared), 299999);
}
END_TEST

static void *scribble(void *unused)
{
	(void)unused;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED))
		__atomic_add_fetch(&shared.seq, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* A seq that never rests: the reader gives up, it does not hang. */
START_TEST(test_hostile_seq)
{
	struct tsct_clock_state state;
	pthread_t thread;
	int i, ret;

	tsct_latch_init(&shared, boot_id, 0);
	done = 0;
	ck_assert(!pthread_create(&thread, NULL, scribble, NULL));
	for (i = 0; i < 1000; i++) {
		ret = tsct_latch_read(&shared, &state);
		ck_assert(ret == 0 || ret == -EAGAIN);
	}
	__atomic_store_n(&done, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}
END_TEST

START_TEST(test_page_check)
{
	static const __u8 other[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 8 };
	struct tsct_clock_page good, page;

	tsct_latch_init(&good, boot_id, 0);
	ck_assert_int_eq(tsct_clock_page_check(&good, other), -ESTALE);
	page = good, page.magic ^= 1;
	ck_assert_int_eq(tsct_clock_page_check(&page, boot_id), -EINVAL);
	page = good, page.size--;
	ck_assert_int_eq(tsct_clock_page_check(&page, boot_id), -EINVAL);
	page = good, page.size += 8;
	ck_assert_int_eq(tsct_clock_page_check(&page, boot_id), -EINVAL);
	memset(&page, 0, sizeof(page));
	ck_assert_int_eq(tsct_clock_page_check(&page, boot_id), -EINVAL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("latch");
	Suite *suite = suite_create("latch");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_init);
	tcase_add_test(tcase, test_write_read);
	tcase_add_test(tcase, test_read_real);
	tcase_add_test(tcase, test_death_and_repair);
	tcase_add_test(tcase, test_race);
	tcase_add_test(tcase, test_hostile_seq);
	tcase_add_test(tcase, test_page_check);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
