// SPDX-License-Identifier: MIT
/* Counts of the reader: every published event is either read or counted as missed. */
#include "ring_writer.h"
#include "seed.h"

#define RING_BLOCKS	4
#include "read_ring.h"

#define ID	16

static __u64 emitted;

/* Emits an event of random size, whose payload is the event's number, `emitted`. */
static bool emit_any(void)
{
	__u64 payload[64] = { emitted };
	__u32 len = 8 + any(any(4) ? 32 : 505);

	if (!ring_emit(writer, 0, ID, 1000 + emitted, payload, len))
		return false;
	emitted++;
	return true;
}

/* Reads an event. Its number must be that of all events before it, read or missed. */
static bool read_one(struct tsct_reader *r)
{
	struct tsct_ring_stat stat;
	struct tsct_event event;

	if (tsct_reader_next(r, 0, &event) != 1)
		return false;
	stat = stat_of(r, 0);
	ck_assert_uint_eq(*(const __u64 *)event.payload + 1, stat.before +
			  stat.read + stat.overrun + stat.broken);
	ck_assert_uint_eq(event.cycles, 1000 + *(const __u64 *)event.payload);
	return true;
}

/* Reads the rest of the events. */
static void expect_all(struct tsct_reader *r)
{
	struct tsct_ring_stat s;

	while (read_one(r))
		;
	s = stat_of(r, 0);
	expect_balance(r, 0);
	ck_assert_uint_eq(s.published, emitted);
	ck_assert_uint_eq(s.unread, 0);
	ck_assert_uint_eq(s.broken_places, 0);
	ck_assert_uint_eq(s.broken, 0);
}

CASE("overwrite", setup_overwrite, teardown);

/* Events are emitted and read in random numbers, by up to three readers at the same
 * time. */
LOOP_TEST(test_overrun_counts, 0, 2)
{
	struct tsct_reader *readers[3] = { reader };

	ck_assert_int_eq(tsct_reader_open(t, &readers[1]), 0);
	readers[2] = NULL;
	for (int i = 0; i < 300; i++) {
		for (int n = any(any(3) ? 20 : 700); n; n--)
			ck_assert(emit_any());
		for (int j = 0; j < 3; j++) {
			if (!readers[j] && !any(50))
				ck_assert_int_eq(tsct_reader_open(t,
						 &readers[j]), 0);
			for (int k = any(any(2) ? 30 : 500); readers[j] && k; k--)
				if (!read_one(readers[j]))
					break;
			if (readers[j])
				expect_balance(readers[j], 0);
		}
	}
	for (int j = 0; j < 3; j++)
		if (readers[j])
			expect_all(readers[j]);
	ck_assert_uint_eq(stat_of(readers[0], 0).before, 0);
	ck_assert_uint_gt(stat_of(readers[0], 0).overrun, 0);
	tsct_reader_close(readers[1]);
	tsct_reader_close(readers[2]);
}

CASE("discard", setup_discard, teardown);

/* A discard ring loses no published event. */
LOOP_TEST(test_discard_counts, 0, 3)
{
	__u64 refused = 0;

	for (int i = 0; i < 1000; i++) {
		for (int n = any(200); n; n--)
			refused += !emit_any();
		for (int n = any(250); n && read_one(reader); n--)
			;
		expect_balance(reader, 0);
		if (any(2))
			tsct_reader_release(reader, 0);
	}
	expect_all(reader);
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_eq(stat_of(reader, 0).lost[TSCT_LOST_FULL], refused);
}

/* Consumers read a channel one after the other; each one closes it after a random
 * event. */
LOOP_TEST(test_successive_consumers, 0, 3)
{
	__u64 taken = 0, released = 0;

	for (int i = 0; i < 400; i++) {
		for (int n = any(150); n; n--)
			emit_any();
		for (int n = any(120); n && read_one(reader); n--)
			taken++;
		if (any(4)) {
			tsct_reader_release(reader, 0);
			released = taken;
		}
		reopen_reader();
		/* Events read but not released go to the next consumer again. */
		taken = released;
		ck_assert_uint_eq(stat_of(reader, 0).before, taken);
		expect_balance(reader, 0);
	}
	expect_all(reader);
}

/* After a corrupt record, the rest of the events in its block are lost. */
LOOP_TEST(test_corrupt_record_counts, 0, 3)
{
	__u64 pos, ours[400], broken = 0;
	struct tsct_event event;
	int i, n, nr, places = 0;

	for (i = 0; i < 500; i++) {
		for (nr = n = any(100) + 1; n; n--) {
			pos = tsct_ring_producer(writer, 0)->head;
			if (!emit_any()) {
				nr -= n;
				break;
			}
			ours[nr - n] = pos;
		}
		if (nr && !any(3)) {
			/* Corrupts the record of a random event, or the pad there if it
			 * did not fit into its block. ours[]: head before each one */
			pos = ours[any(nr)];
			ring_store(writer, 0, pos, &(__u64){ any64() << 32 |
				   TSCT_ID_NONE << 16 | any(65536) }, 8);
			places++;
		}
		while (tsct_reader_next(reader, 0, &event) == 1)
			;
		expect_balance(reader, 0);
		ck_assert_uint_eq(stat_of(reader, 0).unread, 0);
		tsct_reader_release(reader, 0);
	}
	broken = stat_of(reader, 0).broken;
	ck_assert_uint_eq(stat_of(reader, 0).published, emitted);
	ck_assert_uint_eq(stat_of(reader, 0).read + broken, emitted);
	ck_assert_uint_ge(broken, places / 2);
	ck_assert_uint_eq(stat_of(reader, 0).broken_places, places);
}

/* False event counts in the ring affect only the reader's statistics. */
LOOP_TEST(test_false_event_counts, 0, 3)
{
	struct tsct_producer *p = tsct_ring_producer(writer, 0);
	struct tsct_event event;
	unsigned int got = 0, i;

	for (i = 0; i < 20000; i++) {
		if (!any(5))
			p->head += TSCT_HEAD_ONE_EVENT * any(65536);
		if (!any(20))
			ring_store(writer, 0, p->head / 4096 * 4096 + 24,
				   &(__u64){ any64() }, 8);
		emit_any();
		if (any(3))
			continue;
		while (tsct_reader_next(reader, 0, &event) == 1)
			ck_assert_uint_eq(*(const __u64 *)event.payload, got++);
		tsct_reader_release(reader, 0);
		/* no more missed events than fit into the bytes written so far */
		ck_assert_uint_le(stat_of(reader, 0).broken, (i + 1) * 64);
	}
	ck_assert_uint_gt(stat_of(reader, 0).broken_places, 0);
}

/* Ring positions wrap at 2^48, event counts at 2^16. */
static void through_the_wraps(__u64 pos, __u64 events)
{
	tsct_reader_close(reader);
	ring_age(writer, 0, pos, events);
	tsct_ring_consumer(t, 0)->tail = TSCT_HEAD_POS(pos + TSCT_BLOCK_HEADER);
	emitted = events;
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	ck_assert_uint_eq(stat_of(reader, 0).before, events);
	for (int i = 0; i < 300; i++) {
		for (int n = any(200); n; n--)
			emit_any();
		for (int n = any(400); n && read_one(reader); n--)
			;
		expect_balance(reader, 0);
		tsct_reader_release(reader, 0);
	}
	expect_all(reader);
	ck_assert_uint_gt(stat_of(reader, 0).bytes, 1ULL << 48);
	ck_assert_uint_eq(stat_of(reader, 0).bytes >> 48, (pos >> 48) + 1);
}

LOOP_TEST(test_wraps, 0, 3)
{
	through_the_wraps((1ULL << 48) - 4096 * (any(100) + 1),
			  (1ULL << 16) - any(3000));
	through_the_wraps((7ULL << 48) - 4096 * (any(100) + 1),
			  (5ULL << 32) - any(3000));
}

/* More than 2^16 events are written between two reads. */
TEST(test_many_unread_events)
{
	teardown();
	open_channel(TSCT_POLICY_DISCARD, 512);
	for (int i = 0; i < 2; i++) {
		while (ring_emit(writer, 0, ID, 1000 + emitted, &emitted, 8))
			emitted++;
		ck_assert_uint_gt(stat_of(reader, 0).unread, 1 << 16);
		expect_balance(reader, 0);
		expect_all(reader);
		tsct_reader_release(reader, 0);
	}
}

/* ---- tsct_reader_seek_end() -------------------------------------------- */

LOOP_TEST(test_seek_end, 0, 2)
{
	struct tsct_event event;

	for (int i = 0; i < 1000; i++) {
		for (int n = any(300); n; n--)
			emit_any();
		for (int n = any(100); n && read_one(reader); n--)
			;
		/* tsct_reader_wait() takes an event out of a ring, and keeps the event
		 * for the next call that reads. */
		if (any(2))
			tsct_reader_wait(reader, 0);
		if (any(3))
			continue;
		tsct_reader_seek_end(reader);
		ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
		ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
		expect_all(reader);
		ck_assert(emit_any());
		ck_assert(read_one(reader));
	}
	expect_all(reader);
}

/* ---- concurrent writers and readers -------------------------------------- */

static int stop_writing;

static void *write_on(void *)
{
	while (!READ_ONCE(stop_writing))
		if (ring_emit(writer, 0, ID, 1000 + emitted, &emitted, 8))
			emitted++;
		else
			sched_yield();
	return NULL;
}

struct live {
	pthread_t thread;
	struct tsct_reader *reader;
	__u64 target;
};

static void *read_on(void *arg)
{
	struct live *live = arg;

	while (stat_of(live->reader, 0).read < live->target) {
		if (!read_one(live->reader))
			sched_yield();
		tsct_reader_release(live->reader, 0);
	}
	return NULL;
}

/* Runs a writer and @nr readers at full speed. */
static void follow(int nr)
{
	struct live live[3] = { { .reader = reader } };
	pthread_t thread;

	stop_writing = 0;
	for (int i = 0; i < nr; i++) {
		live[i].target = 8000;
		if (i)
			ck_assert_int_eq(tsct_reader_open(t, &live[i].reader), 0);
	}
	pthread_create(&thread, NULL, write_on, NULL);
	for (int i = 0; i < nr; i++)
		pthread_create(&live[i].thread, NULL, read_on, &live[i]);
	for (int i = 0; i < nr; i++)
		pthread_join(live[i].thread, NULL);
	WRITE_ONCE(stop_writing, 1);
	pthread_join(thread, NULL);
	for (int i = 0; i < nr; i++) {
		expect_all(live[i].reader);
		if (i)
			tsct_reader_close(live[i].reader);
	}
}

CASE("live overwrite", setup_overwrite, teardown, .tags = "live");

TEST(test_live_overwrite)
{
	follow(3);
	ck_assert_uint_gt(stat_of(reader, 0).overrun, 0);
}

CASE("live discard", setup_discard, teardown, .tags = "live");

TEST(test_live_discard)
{
	follow(1);
	ck_assert_uint_eq(stat_of(reader, 0).overrun, 0);
}

CASE("live overwrite", setup_overwrite, teardown, .tags = "live");

/* Readers run in separate processes, each with its own channel handle. */
TEST(test_live_processes)
{
	struct tsct_channel_options options = { .roles = TSCT_ROLE_READ };
	struct live live = { .target = 5000 };
	pthread_t thread;
	pid_t pids[3];

	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		t = serve_open(&options);
		ck_assert_int_eq(tsct_reader_open(t, &live.reader), 0);
		read_on(&live);
		_exit(0);
	}
	stop_writing = 0;
	pthread_create(&thread, NULL, write_on, NULL);
	for (int i = 0; i < 3; i++) {
		expect_exit(pids[i], 0);
	}
	WRITE_ONCE(stop_writing, 1);
	pthread_join(thread, NULL);
}

CASE("discard", setup_discard, teardown);

/* A discard channel has at most one consumer. */
TEST(test_one_consumer)
{
	struct tsct_channel_options options = { .roles = TSCT_ROLE_READ };
	struct tsct_reader *second;
	struct tsct_channel *other;

	ck_assert_int_eq(tsct_reader_open(t, &second), -EBUSY);
	ck_assert_int_eq(tsct_reader_open(writer, &second), -EACCES);
	ck_assert_int_eq(tsct_channel_open_at(serve_path, &options, &other), -EBUSY);
	ck_assert_ptr_nonnull(strstr(tsct_channel_error(other), "stop that reader"));
	tsct_channel_close(other);
	reopen_reader();
}

CASE("overwrite", setup_overwrite, teardown);
RUN_LOOP_TEST(test_wraps, 0, 3);
RUN_LOOP_TEST(test_seek_end, 0, 2);
