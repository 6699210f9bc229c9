// SPDX-License-Identifier: MIT
/* The reader with random contents of the ring, and with concurrent writers */
#include <sys/time.h>

#include "lib/base/event_parse.h"
#include "lib/core/event_def.h"
#include "seed.h"

#define RING_BLOCKS	4
#include "read_ring.h"
#include "short_memory.h"

static struct tsct_producer *ring(void)
{
	return tsct_ring_producer(writer, 0);
}

static char *ring_data(void)
{
	return (char *)tsct_ring_data(writer, 0);
}

/* Stores a record header at any position, valid or not. */
static void put(__u64 pos, unsigned int len, unsigned int id, __u64 cycles)
{
	struct tsct_record record = { .len = len, .id = id, .cycles = cycles };

	memcpy(ring_data() + pos % writer->geo.data_size, &record,
	       sizeof(record));
}

CASE("discard", setup_discard, teardown);

TEST(test_empty_ring_and_bad_cpu)
{
	struct tsct_event event;
	struct tsct_ring_stat stat;

	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_int_eq(tsct_reader_next(reader, t->header.nr_cpus, &event),
			 -EINVAL);
	ck_assert_int_eq(tsct_reader_next(reader, ~0U, &event), -EINVAL);
	ck_assert_int_eq(tsct_reader_stat(reader, ~0U, &stat), -EINVAL);
	tsct_reader_release(reader, ~0U);
	ck_assert_ptr_null(tsct_reader_def(reader, 16));
	ck_assert_ptr_null(tsct_reader_def(reader, 0));
	ck_assert_ptr_null(tsct_reader_def(reader, ~0U));
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 25), 0);
}

/* Returns a value of head with position @pos, after @events events. */
static __u64 head_of(__u64 pos, __u64 events)
{
	return TSCT_HEAD_POS(pos) | events << TSCT_POS_BITS;
}

static void put_block(__u64 pos, __u64 events)
{
	struct tsct_block block = {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK, .pos = pos,
		.events = events,
	};

	memcpy(ring_data() + pos % writer->geo.data_size, &block,
	       sizeof(block));
}

/* Invalid data in a ring is counted, and the reader continues at the next block. */
LOOP_TEST(test_broken_records, 0, 9)
{
	static const struct { unsigned int len, id; } bad[] = {
		{ 0, 16 }, { 15, 16 }, { 16, 0 }, { 16, 2 }, { 32, 2 },
		{ 16, 15 }, { 65535, 16 }, { 4096, 16 }, { 4040, 16 },
	};
	struct tsct_event event;

	put(32, 24, 16, 111);
	put(56, bad[_i].len, bad[_i].id, 222);
	put_block(4096, 3);
	put(4096 + 32, 16, 17, 333);
	ring()->head = head_of(4096 + 48, 4);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 111);
	ck_assert_uint_eq(event.len, 8);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 333);
	ck_assert_uint_eq(event.id, 17);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_uint_eq(stat_of(reader, 0).broken_places, 1);
	ck_assert_uint_eq(stat_of(reader, 0).broken, 2);
	ck_assert_uint_eq(stat_of(reader, 0).read, 2);
	expect_balance(reader, 0);
}

/* If head is impossible, the reader takes it as its position, and continues. */
LOOP_TEST(test_impossible_heads, 0, 10)
{
	static const __u64 heads[] = {
		1, 7, 24 + 1, 4 * 4096 + 8, 1ULL << 47, ~0ULL, ~7ULL, 1 << 20,
		(1ULL << 47) - 8, 1ULL << 63,
	};
	struct tsct_event event;
	__u64 at = heads[_i];

	put(32, 24, 16, 1);
	ring()->head = at;
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_uint_ge(stat_of(reader, 0).broken_places, at != 1ULL << 63);
	ck_assert_uint_eq(TSCT_HEAD_POS(tsct_ring_consumer(t, 0)->tail),
			  TSCT_HEAD_POS(at));
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	/* A writer that finds an impossible head rounds head up to the begin of a block
	 * and continues there. The reader reads the writer's next event. */
	at = (at + 4096) & ~4095ULL;
	ring()->head = at;
	tsct_reader_next(reader, 0, &event);
	put_block(at, 7);
	put(at + 32, 24, 16, 42);
	ring()->head = head_of(at + 32 + 24, 8);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 42);
}

/* If the tail is invalid, which any process can cause, a reader starts at the head. */
TEST(test_invalid_tail)
{
	struct tsct_event event;

	put(32, 24, 16, 1);
	ring()->head = head_of(56, 1);
	tsct_ring_consumer(t, 0)->tail = 1 << 20;
	reopen_reader();
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_uint_eq(stat_of(reader, 0).broken_places, 1);
	ck_assert_uint_eq(tsct_ring_consumer(t, 0)->tail, 56);
	put(56, 16, 16, 2);
	ring()->head = head_of(72, 2);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 2);
}

/* A record whose wide id is none is damage: it is not an event, and is counted. */
LOOP_TEST(test_invalid_wide_id, 0, 3)
{
	static const __u64 ids[] = { 0, TSCT_ID_MAX, TSCT_ID_WIDE_MAX + 1 };
	struct tsct_event event;

	put(32, 24, TSCT_ID_WIDE, 1);
	memcpy(ring_data() + 48, &ids[_i], sizeof(ids[_i]));
	put(56, 16, 16, 2);
	ring()->head = head_of(72, 2);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_uint_eq(event.cycles, 2);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 0);
	ck_assert_uint_eq(stat_of(reader, 0).broken, 1);
	ck_assert_uint_eq(stat_of(reader, 0).broken_places, 1);
}

static void expect_valid(const struct tsct_event *event)
{
	const unsigned char *bytes = event->payload;
	volatile unsigned int sum = 0;

	ck_assert_uint_le(event->len, TSCT_PAYLOAD_MAX(4096));
	ck_assert_uint_ge(event->id, TSCT_ID_FIRST);
	for (unsigned int i = 0; i < event->len; i++)
		sum += bytes[i];	/* the sanitizer detects a read beyond the
					 * payload */
}

LOOP_TEST(test_random_data, 0, 3)
{
	struct tsct_event event;
	unsigned int i, j, turns, got = 0;
	__u64 size = writer->geo.data_size;

	for (i = 0; i < 3000; i++) {
		for (j = 0; j < size; j += any(64) + 1)
			ring_data()[j] = any(any(2) ? 32 : 256);
		ring()->head += any(3) ? any(size / 8) * 8 : any(1 << 20);
		if (!any(20))
			ring()->head = any64();
		for (turns = 0; i % 2 ? tsct_reader_next(reader, 0, &event) :
		     tsct_reader_next_ordered(reader, any64(), &event); turns++) {
			ck_assert_uint_le(turns, size / 16);
			expect_valid(&event);
			got++;
		}
		tsct_reader_release(reader, 0);
		if (i % 2)
			ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	}
	ck_assert_uint_gt(got, 0);
}

static void overwrite_file(const struct tsct_channel *victim)
{
	const struct tsct_channel_header *h = &victim->header;
	char *map = mmap(NULL, h->file_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, victim->map_fd, 0);
	__u64 at;

	for (;;) {
		/* a random word of the file, or the first ring's head or tail */
		at = any(h->file_size / 8) * 8;
		if (any(2))
			at = any(2) ? h->ring_offset : h->consumer_offset;
		*(__u64 *)(map + at) = any(4) ? (__u64)any(1 << 20) : any64();
	}
}

/* A process writes anywhere in the channel's file while the reader reads. */
TEST(test_overwritten_while_read)
{
	struct timeval now, end;
	struct tsct_event event;
	pid_t pid = fork();

	if (!pid)
		overwrite_file(t);
	gettimeofday(&end, NULL);
	end.tv_sec += 2;
	do {
		for (unsigned int cpu = 0; cpu < t->header.nr_cpus; cpu++) {
			for (unsigned int i = 0; i < 1000; i++)
				if (tsct_reader_next(reader, cpu, &event) == 1)
					expect_valid(&event);
			tsct_reader_release(reader, cpu);
			tsct_reader_def(reader, any(65536));
		}
		for (unsigned int i = 0; i < 1000; i++)
			if (tsct_reader_next_ordered(reader, UINT64_MAX,
						 &event) == 1)
				expect_valid(&event);
		if (!any(10))
			tsct_reader_seek_end(reader);
		tsct_reader_watermark(reader, any(2) * 10000);
		tsct_reader_wait(reader, 0);
		tsct_emit(writer, 16, "12345678", any(9));
		gettimeofday(&now, NULL);
	} while (timercmp(&now, &end, <));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(test_definitions)
{
	const struct tsct_event_def *def, *before;
	int a, b;

	a = tsct_event_define(writer, "a", TSCT_KIND_BEGIN, "x:u32/x");
	before = tsct_reader_def(reader, a);
	ck_assert_ptr_nonnull(before);
	ck_assert_ptr_null(tsct_reader_def(reader, a + 1));
	b = tsct_event_define(writer, "b", TSCT_KIND_END, "s:string");
	ck_assert_int_ne(a, b);
	def = tsct_reader_def(reader, b);
	ck_assert_str_eq(def->name, "b");
	ck_assert_uint_eq(def->kind, TSCT_KIND_END);
	ck_assert_ptr_eq(tsct_reader_def(reader, a), before);
	ck_assert_str_eq(before->fields[0].name, "x");
	ck_assert_int_eq(tsct_event_define(writer, "a", TSCT_KIND_BEGIN, "x:u32/x"),
			 a);
	ck_assert_int_eq(tsct_event_define(writer, "a", TSCT_KIND_BEGIN, "x:"),
			 -EINVAL);
}

/* While memory is short, definitions are unknown. They are not broken: later they are read. */
TEST(test_definitions_without_memory)
{
	const int id = tsct_event_define(writer, "a", TSCT_KIND_BEGIN, "x:u32");
	const struct tsct_event_def *def = NULL;
	unsigned int enough;

	for (enough = 0; !def && enough < 10; enough++) {
		allocations = enough;
		def = tsct_reader_def(reader, id);
		allocations = UINT_MAX;
	}
	ck_assert_uint_eq(enough, 3);	/* for the copy, and for the table of ids */
	ck_assert_str_eq(def->name, "a");
}

/* A channel's definition area with random contents, in most cases with wrong sizes */
LOOP_TEST(test_random_definitions, 0, 3)
{
	const struct tsct_channel_header *h = &t->header;
	char *map = mmap(NULL, h->consumer_offset, PROT_READ | PROT_WRITE,
			 MAP_SHARED, t->map_fd, 0);
	__u64 *used = &((struct tsct_channel_header *)map)->defs_used;
	struct tsct_event_def *def, sound;
	const struct tsct_event_def *got;
	unsigned int i, j, id;
	__u64 pos;

	ck_assert_ptr_ne(map, MAP_FAILED);
	seed_with(_i);
	ck_assert_int_eq(tsct_event_def_parse("e", 0, "a:u8,b:string", &sound, NULL),
			 0);
	for (i = 0; i < 2000; i++) {
		for (pos = j = 0; j < any(20); j++, pos += sound.size) {
			sound.id = any(10) ? TSCT_ID_FIRST + j : any(65536);
			def = (void *)(map + h->defs_offset + pos);
			memcpy(def, &sound, sound.size);
		}
		*used = pos;
		for (j = any(4); j; j--) {
			def = (void *)(map + h->defs_offset +
				       any(20) * sound.size);
			if (any(2))
				def->size = any(3) ? any(2000) : any64();
			else
				((char *)def)[any(sound.size)] = any(256);
		}
		if (!any(4))
			*used = any(2) ? any(h->defs_size + 100) : any64();
		reopen_reader();
		for (id = 0; id < 60; id++) {
			got = tsct_reader_def(reader, id < 50 ? id :
					      any(65536));
			if (got)
				ck_assert_int_eq(tsct_event_def_check(got, got->size),
						 0);
		}
	}
	munmap(map, h->consumer_offset);
}

static void *emit_later(void *arg)
{
	usleep(50000);
	run_on(0);
	tsct_emit(writer, 16, arg, 1);
	return NULL;
}

static void no_op(int)
{
}

TEST(test_wait)
{
	struct sigaction action = { .sa_handler = no_op };
	/* Again and again: a signal between two calls of poll() interrupts nothing. */
	struct itimerval timer = { .it_value.tv_usec = 50000, .it_interval.tv_usec = 50000 };
	struct tsct_event event;
	pthread_t thread;

	pthread_create(&thread, NULL, emit_later, "x");
	ck_assert_int_eq(tsct_reader_wait(reader, -1), 1);
	pthread_join(thread, NULL);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	ck_assert_int_eq(tsct_reader_wait(reader, 30), 0);
	tsct_reader_release(reader, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	ck_assert_int_eq(tsct_reader_wait(reader, -1), -EINTR);
	timer = (struct itimerval) { .it_value = { 0 } };
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- overwrite channels -------------------------------------------------- */

CASE("overwrite", setup_overwrite, teardown);

TEST(test_overwrite_channel)
{
	struct tsct_ring_stat stat;
	struct tsct_event event;
	__u64 value, first = 0, expected, records = 0;

	run_on(0);
	for (value = 0; value < 1000; value++)
		ck_assert_int_eq(tsct_emit(writer, 16, &value, 8), 0);
	while (tsct_reader_next(reader, 0, &event) == 1) {
		expected = *(const __u64 *)event.payload;
		if (!records++)
			first = expected;
		ck_assert_uint_eq(expected, first + records - 1);
	}
	/* At least two of the four blocks are read; the writer may be reusing the other
	 * two. */
	ck_assert_uint_eq(first + records, 1000);
	ck_assert_uint_ge(records, 2 * 170);
	stat = stat_of(reader, 0);
	ck_assert_uint_eq(stat.broken, 0);
	ck_assert_uint_eq(stat.lost[TSCT_LOST_FULL], 0);
	/* The reader has been open from the begin, so all events that it did not read
	 * count as overrun. */
	ck_assert_uint_eq(stat.published, 1000);
	ck_assert_uint_eq(stat.overrun, first);
	ck_assert_uint_eq(stat.overruns, 1);
	/* An overrun between two reads is counted before the next event is returned. */
	for (value = 0; value < 1000; value++)
		tsct_emit(writer, 16, &value, 8);
	ck_assert_int_eq(tsct_reader_next(reader, 0, &event), 1);
	expected = *(const __u64 *)event.payload;
	ck_assert_uint_eq(stat_of(reader, 0).overruns, stat.overruns + 1);
	ck_assert_uint_eq(stat_of(reader, 0).overrun, stat.overrun + expected);
	expect_balance(reader, 0);
	tsct_reader_release(reader, 0);
	ck_assert_uint_eq(tsct_ring_consumer(t, 0)->tail, 0);
}
RUN_TEST(test_empty_ring_and_bad_cpu);
RUN_LOOP_TEST(test_random_data, 0, 3);
RUN_TEST(test_overwritten_while_read);
