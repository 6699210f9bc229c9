/* SPDX-License-Identifier: MIT */
/*
 * The latch with a writer that stops or dies between any two of its stores. The sources
 * of writer and reader are compiled into this test, with stores that are counted.
 */
#include <setjmp.h>

static void before_store(void);

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) \
	(before_store(), __atomic_store_n(&(x), (v), __ATOMIC_RELAXED))
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) \
	(before_store(), __atomic_store_n((p), (v), __ATOMIC_RELEASE))
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)

#include "lib/clockpage/latch.c"
#include "lib/clockpage/clock_segments.c"
#include "latch_states.h"
#include "seed.h"
#include "suite.h"

#define FULL	(TSCT_SEGMENTS_MAX + 30)	/* number of states after which all
						 * segments are in use */

static struct tsct_clock_page page, before;
static jmp_buf death;
static unsigned long stores;		/* number of stores that this writer has made */
static unsigned long stores_left;	/* number of stores until the writer dies */
static uint64_t old_nr, new_nr;		/* numbers of the old and the new state;
					 * readers may see either */
static bool watched;

/* Checks that a reader sees the old state or the new one at this moment. */
static void check_reader(void)
{
	static uint64_t last;
	const uint64_t nr = read_nr(&page);

	ck_assert_msg(nr == old_nr || nr == new_nr, "%llu after %lu stores",
		      (unsigned long long)nr, stores);
	if (stores && last == new_nr)
		ck_assert_uint_eq(nr, new_nr);	/* a reader that saw the new state
						 * must not see the old one again */
	last = nr;
	ck_assert(is_right(&page, nr * STRIDE + 7));
	ck_assert(is_right(&page, nr * STRIDE - 1));
	ck_assert(is_right(&page, STRIDE + stores));
}

static void before_store(void)
{
	if (watched)
		check_reader();
	if (!stores_left--)
		longjmp(death, 1);
	stores++;
}

/* Publishes state @n with a writer that dies after @limit stores. Returns false if it
 * died. */
static bool write_until(uint64_t n, unsigned long limit)
{
	struct tsct_clock_state state = nth_state(n);

	stores = 0;
	stores_left = limit;
	if (setjmp(death))
		return false;
	tsct_latch_write(&page, &state);
	return true;
}

static bool repair_until(unsigned long limit)
{
	stores = 0;
	stores_left = limit;
	if (setjmp(death))
		return false;
	tsct_latch_repair(&page);
	return true;
}

static void fill_page(uint64_t states)
{
	stores_left = -1UL;
	tsct_latch_init(&page, boot_id, 0, 0);
	for (uint64_t n = 1; n <= states; n++)
		ck_assert(write_until(n, -1UL));
	before = page;
	old_nr = states;
	new_nr = states + 1;
}

static void check_whole(uint64_t n)
{
	struct tsct_clock_copy copy;

	ck_assert_uint_eq(page.seq & 1, 0);
	ck_assert_mem_eq(&page.copy[0], &page.copy[1], sizeof(page.copy[0]));
	ck_assert_uint_eq(read_nr(&page), n);
	ck_assert_int_eq(tsct_latch_read_copy(&page, &copy), 0);
	ck_assert_int_eq(tsct_segments_valid(&copy), 0);
	ck_assert_mem_eq(&copy, &page.copy[0], sizeof(copy));
}

/* After a writer died and its page is repaired, the last state that readers saw is
 * kept, and a new writer can continue. */
static void check_death_at(unsigned long limit)
{
	uint64_t seen;
	bool ended;

	page = before;
	ended = write_until(new_nr, limit);
	seen = read_nr(&page);
	ck_assert(seen == old_nr || seen == new_nr);
	ck_assert(!ended || seen == new_nr);
	/* the writer that repairs the page may die, too */
	repair_until(any(2200));
	ck_assert_uint_eq(read_nr(&page), seen);
	ck_assert(repair_until(-1UL));
	check_whole(seen);
	ck_assert(write_until(seen + 1, -1UL));
	check_whole(seen + 1);
	ck_assert(is_right(&page, STRIDE));
	ck_assert(is_right(&page, seen * STRIDE + 500));
}

static void check_death_everywhere(uint64_t states)
{
	unsigned long nr, i;

	fill_page(states);
	ck_assert(write_until(new_nr, -1UL));
	nr = stores;
	printf("# %lu stores to publish state %llu\n", nr,
	       (unsigned long long)new_nr);
	for (i = 0; i <= nr; i++)
		check_death_at(i);
}

TEST(test_death_few_segments)
{
	check_death_everywhere(2);
}

TEST(test_death_all_segments)
{
	check_death_everywhere(FULL);
}

/* A reader runs between any two stores of a publication, and of the repair after it. */
TEST(test_reader_between_stores)
{
	fill_page(FULL);
	watched = true;
	ck_assert(write_until(new_nr, -1UL));
	watched = false;
	check_whole(new_nr);
	page.seq--;		/* makes the page as it is after a writer died
				 * before the writer's last store */
	old_nr = new_nr;
	watched = true;
	ck_assert(repair_until(-1UL));
	watched = false;
	check_whole(new_nr);
}

/* A staged state is invisible before the commit, and can be replaced. */
TEST(test_staged_state_is_invisible)
{
	struct tsct_clock_state state;

	fill_page(FULL);
	new_nr = old_nr;
	watched = true;
	stores_left = -1UL;
	for (int i = 1; i < 5; i++) {
		state = nth_state(old_nr + i);
		tsct_latch_stage(&page, &state);
		check_reader();
	}
	new_nr = old_nr + 4;
	tsct_latch_commit(&page);
	watched = false;
	check_whole(new_nr);
	ck_assert_uint_eq(page.copy[0].state.real.base_cycles, new_nr * STRIDE);
	/* A staged state can also be abandoned. */
	state = nth_state(new_nr + 1);
	tsct_latch_stage(&page, &state);
	tsct_latch_repair(&page);
	check_whole(new_nr);
}
