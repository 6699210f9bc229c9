// SPDX-License-Identifier: MIT
/* The ordered reader returns the events of all CPUs in order, and waits for events. */
#include "ring_writer.h"
#include "seed.h"

#define RING_BLOCKS	64
#include "read_ring.h"

#define ID		16
#define CPUS_MAX	64

/* Number of rings that the tests use */
static __u32 nr_rings(void)
{
	return t->header.nr_cpus < CPUS_MAX ? t->header.nr_cpus : CPUS_MAX;
}

static void put(__u32 cpu, __u64 stamp)
{
	ck_assert(ring_emit(writer, cpu, ID, stamp, &stamp, 8));
}

static int next_any(__u64 until, struct tsct_event *event)
{
	return tsct_reader_next_ordered(reader, until, event);
}

static void expect(__u64 stamp, __u32 cpu, __u32 flags)
{
	struct tsct_event event;

	ck_assert_int_eq(next_any(UINT64_MAX, &event), 1);
	ck_assert_uint_eq(event.cycles, stamp);
	ck_assert_uint_eq(event.cpu, cpu);
	ck_assert_uint_eq(event.flags, flags);
	ck_assert_uint_eq(*(const __u64 *)event.payload, stamp);
}

static void expect_nothing(__u64 until)
{
	struct tsct_event event;

	ck_assert_int_eq(next_any(until, &event), 0);
}

static struct tsct_ring_stat balanced_stat(__u32 cpu)
{
	expect_balance(reader, cpu);
	return stat_of(reader, cpu);
}

CASE("overwrite", setup_overwrite, teardown);

TEST(test_merges_cpus)
{
	const __u32 other = nr_rings() - 1;	/* number of the last CPU; 0 if there
						 * is only one CPU */

	expect_nothing(UINT64_MAX);
	for (__u64 i = 0; i < 100; i++)
		put(i % 2 ? other : 0, 100 + i);
	for (__u64 i = 0; i < 100; i++)
		expect(100 + i, i % 2 ? other : 0, 0);
	expect_nothing(UINT64_MAX);
	/* The reader returns an event from a ring that it earlier found empty. */
	put(0, 1000);
	expect(1000, 0, 0);
	put(other, 1001);
	expect(1001, other, 0);
	expect_nothing(UINT64_MAX);
}

TEST(test_until_stamp)
{
	struct tsct_event event;

	put(0, 10);
	put(0, 20);
	put(nr_rings() - 1, 30);
	expect_nothing(9);
	/* An event that the reader took out of a ring to compare cycles, but did not
	 * return yet, counts as unread, and is not released. */
	ck_assert_uint_eq(balanced_stat(0).unread, nr_rings() > 1 ? 2 : 3);
	ck_assert_int_eq(next_any(10, &event), 1);
	expect_nothing(19);
	tsct_reader_release(reader, 0);
	ck_assert_int_eq(next_any(25, &event), 1);
	ck_assert_uint_eq(event.cycles, 20);
	expect_nothing(29);
	expect(30, nr_rings() - 1, 0);
}

TEST(test_late_events)
{
	const __u32 other = nr_rings() - 1;

	put(0, 100);
	expect(100, 0, 0);
	put(other, 90);
	put(other, 95);
	put(other, 100);
	expect(90, other, TSCT_EVENT_LATE);
	expect(95, other, TSCT_EVENT_LATE);
	expect(100, other, 0);
}

/* tsct_reader_next() also returns events that were taken out to compare cycles. */
TEST(test_mixed_with_next)
{
	struct tsct_event event;

	for (__u64 i = 0; i < 10; i++)
		put(0, 10 + i);
	put(nr_rings() - 1, 50);
	expect(10, 0, 0);
	expect_nothing(5);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 11);
	expect(12, 0, 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 13);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 14);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	expect(15, 0, 0);
	tsct_reader_seek_end(reader);
	expect_nothing(UINT64_MAX);
	put(0, 60);
	expect(60, 0, 0);
	ck_assert_uint_eq(balanced_stat(0).before, nr_rings() > 1 ? 4 : 5);
}

CASE("discard", setup_discard, teardown);

/* Releasing while reading in order does not release events that the reader took out of
 * a ring to compare cycles, but did not return yet. */
TEST(test_held_event_is_not_released)
{
	struct tsct_event event;

	put(0, 10);
	put(0, 20);
	expect(10, 0, 0);
	expect_nothing(15);
	tsct_reader_release(reader, 0);
	/* Events that a closed reader took out of a ring go to the next reader. */
	reopen_reader();
	ck_assert_uint_eq(balanced_stat(0).before, 1);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 20);
}

/* Random numbers of events in the rings of random CPUs: those published before a call of
 * tsct_reader_next_ordered() are returned in the order of their cycles. */
LOOP_TEST(test_random_rings, 0, 3)
{
	__u64 stamp, last = 0, nr = 0, got = 0;
	struct tsct_event event;

	stamp = 1;
	for (int i = 0; i < 500; i++) {
		for (int n = any(100); n; n--, nr++)
			put(any(nr_rings()), stamp += any(3));
		/* All events with at most @stamp cycles are published already, so no
		 * returned event is marked as late (TSCT_EVENT_LATE). */
		while (next_any(stamp, &event) == 1) {
			ck_assert_uint_ge(event.cycles, last);
			ck_assert_uint_eq(event.flags, 0);
			last = event.cycles;
			got++;
			if (!any(20))
				tsct_reader_release(reader, event.cpu);
			if (!any(100))
				break;
		}
		for (int n = 0; n < (int)nr_rings(); n++)
			tsct_reader_release(reader, n);
		stamp++;
	}
	while (next_any(UINT64_MAX, &event) == 1)
		got++;
	ck_assert_uint_eq(got, nr);
}

/* ---- reading while writers run ------------------------------------------- */

static int stop_writing;

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Thread that writes numbered events to one ring. Returns their number. */
static void *write_ring(void *arg)
{
	const __u32 cpu = (uintptr_t)arg;
	uintptr_t nr = 0;

	while (!READ_ONCE(stop_writing))
		if (ring_emit(writer, cpu, ID, now_ns(), &nr, 8))
			nr++;
		else
			sched_yield();
	return (void *)nr;
}

CASE("live", setup_discard, teardown, .tags = "live");

/* A reader that stays 1 ms behind gets every event once and in order. */
TEST(test_follows_writers)
{
	__u64 next[CPUS_MAX] = { 0 }, last = 0, late = 0, got = 0, end,
	      limit;
	const __u32 nr = nr_rings() < 3 ? nr_rings() : 3;
	struct tsct_event event;
	pthread_t threads[3];
	void *wrote;

	stop_writing = 0;
	for (__u32 i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, write_ring,
			       (void *)(uintptr_t)i);
	end = now_ns() + 500000000;
	limit = end + 20000000000;
	/* A busy machine may stop this thread for most of the time. */
	while (now_ns() < end || (got < 10000 && now_ns() < limit)) {
		while (now_ns() < limit && !(got >= 10000 && now_ns() >= end) &&
		       next_any(now_ns() - 1000000, &event) == 1) {
			ck_assert_uint_eq(*(const __u64 *)event.payload,
					  next[event.cpu]++);
			if (event.flags & TSCT_EVENT_LATE)
				late++;
			else
				ck_assert_uint_ge(event.cycles, last);
			last = event.cycles > last ? event.cycles : last;
			if (!(++got % 64))
				tsct_reader_release(reader, event.cpu);
		}
		for (__u32 i = 0; i < nr; i++)
			tsct_reader_release(reader, i);
	}
	WRITE_ONCE(stop_writing, 1);
	for (__u32 i = 0; i < nr; i++) {
		pthread_join(threads[i], &wrote);
		while (tsct_reader_next(reader, i, &event) == 1)
			ck_assert_uint_eq(*(const __u64 *)event.payload,
					  next[i]++);
		ck_assert_uint_eq(next[i], (uintptr_t)wrote);
		ck_assert_uint_eq(balanced_stat(i).published, next[i]);
	}
	/* Some events are late: threads may be preempted between reading the counter
	 * and publishing. */
	ck_assert_uint_le(late, got / 100);
	ck_assert_uint_ge(got, 10000);
}

/* ---- waiting for events -------------------------------------------------- */

CASE("overwrite", setup_overwrite, teardown);

TEST(test_watermark)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_reader_watermark(reader, 1000), 0);
	put(0, 1);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 30), 0);
	/* The watermark is in bytes of all rings together; an event takes 24. */
	for (int i = 1; i < 41; i++)
		put(i % nr_rings(), 1 + i);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	put(0, 100);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	/* Events can be read before their bytes reach the watermark, too. */
	ck_assert_int_eq(next_any(UINT64_MAX, &event), 1);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(tsct_reader_watermark(reader, 0), 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
}

/* If the watermark is above the size of the rings, a ring that is half full wakes the
 * reader. */
TEST(test_watermark_above_ring_size)
{
	ck_assert_int_eq(tsct_reader_watermark(reader, UINT64_MAX), 0);
	for (int i = 0; i < 5300; i++)
		put(0, 1 + i);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	for (int i = 0; i < 200; i++)
		put(0, 10000 + i);
	ck_assert_int_eq(tsct_reader_wait(reader, -1), 1);
}

/* A block header that no record follows wakes no reader: there is no event. */
TEST(test_empty_block)
{
	struct tsct_producer *p = tsct_ring_producer(writer, 0);
	struct tsct_event event;
	struct tsct_ring_slot place;
	__u64 head = p->head;

	put(0, 5);
	expect(5, 0, 0);
	head = p->head;
	place = tsct_ring_place(&writer->geo, head, 4096 - 40);
	ring_begin(writer, 0, head, &place, 6);
	smp_store_release(&p->head, (head & ~TSCT_HEAD_POS(~0ULL)) |
			  place.pos);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_uint_eq(balanced_stat(0).unread, 0);
	put(0, 7);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	expect(7, 0, 0);
	ck_assert_uint_eq(balanced_stat(0).broken_places, 0);
}

CASE("discard", setup_discard, teardown);
RUN_TEST(test_merges_cpus);
RUN_TEST(test_until_stamp);
RUN_TEST(test_late_events);
RUN_TEST(test_mixed_with_next);
RUN_TEST(test_watermark);
RUN_TEST(test_watermark_above_ring_size);
RUN_TEST(test_empty_block);
