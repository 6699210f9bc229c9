/* SPDX-License-Identifier: MIT */
/* Round trips of events from a valid writer through a ring to a valid reader */
#include "ring_walk.h"
#include "seed.h"
#include "suite.h"

/* A ring with a valid writer and its one valid reader */
struct ring {
	struct tsct_geometry geo;
	struct tsct_producer producer;
	char *data;
	uint64_t tail;		/* 64-bit position of the reader */
	uint64_t written, seen, lost, blocks;
};

/* Makes an empty ring that begins at @start, a multiple of its size. */
static struct ring new_ring(struct tsct_geometry geo, uint64_t start,
			    uint64_t events)
{
	struct ring r = { .geo = geo, .tail = start };

	r.data = calloc(1, geo.data_size);
	tsct_ring_init(&r.producer, r.data);
	put_block(r.data, &geo, start, events);
	r.producer.head = events << 48 | ((start + 32) & MASK48);
	r.written = r.seen = events;
	return r;
}

static bool write_one(struct ring *r, uint32_t len)
{
	uint64_t mask = r->geo.data_size - 1, head = r->producer.head, pad;
	struct tsct_ring_slot p = tsct_ring_place(&r->geo, head,
					      tsct_record_size(len));
	struct tsct_block last, next;

	if (!tsct_ring_fits(&r->geo, p.head, r->tail & MASK48)) {
		r->lost++;
		return false;
	}
	if (p.pad_len) {
		ck_assert(tsct_ring_block(&r->geo, r->data, head, &last));
		tsct_block_next(&r->geo, &last, head, r->written, &next);
		pad = tsct_pad_word(p.pad_len);
		memcpy(r->data + (p.pad_pos & mask), &pad, 8);
		memcpy(r->data + ((p.pos - 32) & mask), &next, 32);
	}
	put(r->data, p.pos & mask, (uint16_t)(16 + len), 16,
	    (uint32_t)r->written, r->written);
	r->producer.head = p.head;
	r->written++;
	return true;
}

static bool read_one(struct ring *r)
{
	uint64_t head = tsct_pos_extend(r->tail, r->producer.head);
	struct tsct_block block;

	read_step(&r->geo, r->data, r->tail, head);
	switch (l.step) {
	case TSCT_STEP_EMPTY:
		ck_assert_uint_eq(r->tail, head);
		return false;
	case TSCT_STEP_RECORD:
		ck_assert_uint_eq(l.header.cycles, r->seen++);
		break;
	case TSCT_STEP_BLOCK:
		ck_assert(tsct_ring_block(&r->geo, r->data, r->tail, &block));
		ck_assert_uint_eq(block.pos, r->tail);
		ck_assert_uint_eq(block.events, r->seen);
		r->blocks++;
		break;
	default:
		ck_assert_int_eq(l.step, TSCT_STEP_PAD);
	}
	r->tail = l.next;
	return true;
}

static void check_count(const struct ring *r)
{
	struct tsct_ring_count count;

	ck_assert(tsct_ring_count(&r->geo, &r->producer, r->data, &count));
	ck_assert_uint_eq(count.events, r->written);
	ck_assert_uint_eq(count.head & MASK48, r->producer.head & MASK48);
	ck_assert_uint_eq(count.overwritten, 0);
}

/* Checks that a valid reader reads unchanged what a valid writer writes. */
static void round_trip(struct tsct_geometry geo, uint64_t start,
		       uint64_t events)
{
	struct ring r = new_ring(geo, start, events);
	bool fits;

	while (r.seen < events + 5000) {
		fits = write_one(&r, any(any(8) ? 64 :
					 tsct_payload_max(&geo) + 1));
		check_count(&r);
		if (!fits || !any(3))
			read_one(&r);
	}
	while (read_one(&r))
		;
	ck_assert_uint_eq(r.seen, r.written);
	ck_assert_uint_gt(r.lost, 0);
	ck_assert_uint_gt(r.blocks, 10);
	free(r.data);
}

TEST(test_round_trip)
{
	round_trip(geometry(4096, 2, TSCT_POLICY_DISCARD), 0, 0);
	round_trip(geometry(16384, 4, TSCT_POLICY_DISCARD), 0, 65535);
	/* Position and event count in head wrap during this round trip. */
	round_trip(geometry(4096, 2, TSCT_POLICY_DISCARD),
		   (8ULL << 48) - 65536, 0x1234ffffff00ULL);
}

/* Records of many sizes at every offset in a block, so that a block is filled exactly,
 * or with any unused rest at its end */
TEST(test_exact_fills)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	uint32_t offset, size;

	for (offset = 32; offset < 4096; offset += 8) {
		struct ring r = new_ring(geo, (9ULL << 48) - 8192, 65530);

		/* A valid writer leaves no head at offset 40: a block's first record
		 * begins at offset 32 and has at least 16 bytes. So the test sets head
		 * and tail. */
		if (offset == 40)
			r.producer.head += 8, r.tail += 40;
		else if (offset > 40)
			ck_assert(write_one(&r, offset - 32 - 16));
		while (offset != 40 && read_one(&r))
			;
		for (size = 16; size <= 4056; size += 8) {
			struct ring copy = r;

			/* Skips records of more than 64 bytes that end more than 64
			 * bytes before or after the end of the block. */
			if (size > 64 && (offset + size < 4096 - 64 ||
					  offset + size > 4096 + 64))
				continue;
			ck_assert(write_one(&copy, size - 16));
			ck_assert_uint_eq((copy.producer.head & 4095) == 32 + size,
					  offset + size >= 4096 || offset == 32);
			check_count(&copy);
			while (read_one(&copy))
				;
			ck_assert_uint_eq(copy.seen, copy.written);
			ck_assert_uint_eq(copy.blocks - r.blocks,
					  offset + size >= 4096);
		}
		free(r.data);
	}
}

/* Overwrites a ring. Checks the count of overwritten events, and the events that a new
 * reader finds. */
static void overwrite(uint64_t start, uint64_t events)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_OVERWRITE);
	struct ring r = new_ring(geo, start, events);
	struct tsct_ring_count count;
	struct tsct_block block;
	int i;

	for (i = 0; i < 20000; i++) {
		ck_assert(write_one(&r, any(200)));
		if (any(16) || tsct_pos_distance(start, r.producer.head) <
				geo.data_size)
			continue;
		ck_assert(tsct_ring_count(&geo, &r.producer, r.data, &count));
		ck_assert_uint_eq(count.events, r.written);
		r.tail = tsct_ring_oldest(&geo, count.head);
		ck_assert(tsct_ring_block(&geo, r.data, r.tail, &block));
		ck_assert_uint_eq(block.pos, r.tail);
		ck_assert_uint_eq(count.oldest, r.tail);
		ck_assert_uint_eq(block.events, count.overwritten);
		r.seen = count.overwritten;
		while (read_one(&r))
			;
		ck_assert_uint_eq(r.seen, r.written);
		ck_assert_uint_eq(r.tail, count.head);
	}
	free(r.data);
}

TEST(test_overwrite)
{
	overwrite(0, 0);
	overwrite((2ULL << 48) - 5 * 16384, 0xfffffff0ULL);
}

/* Nonzero: the thread begin_blocks(), which writes block headers, ends. */
static int blocks_end;

static void *begin_blocks(void *arg)
{
	struct ring *r = arg;
	uint64_t head, *pad;
	struct tsct_block last, *next;

	while (!READ_ONCE(blocks_end)) {
		head = r->producer.head + TSCT_HEAD_ONE_EVENT;
		tsct_ring_block(&r->geo, r->data, head, &last);
		pad = (void *)(r->data + (head & (r->geo.data_size - 1)));
		WRITE_ONCE(*pad, tsct_pad_word(r->geo.block_size -
					       TSCT_BLOCK_HEADER));
		head += r->geo.block_size;
		next = (void *)(r->data + (head & (r->geo.data_size -
						   r->geo.block_size)));
		tsct_block_next(&r->geo, &last, head - r->geo.block_size, 0,
				next);
		smp_store_release(&r->producer.head, head);
	}
	return NULL;
}

/* Counts a ring's events while a thread begins blocks so fast that the oldest block is
 * overwritten during a count. Then tsct_ring_count() counts from the block with the
 * head, which stays valid until the thread has begun 1022 more blocks. */
TEST(test_count_while_overwritten)
{
	struct tsct_geometry geo = geometry(4096, 1024, TSCT_POLICY_OVERWRITE);
	struct ring r = new_ring(geo, 0, 0);
	struct tsct_ring_count count = { 0 };
	uint64_t last = 0;
	pthread_t thread;
	int i;

	blocks_end = 0;
	pthread_create(&thread, NULL, begin_blocks, &r);
	for (i = 0; i < 100000 || count.events < 5 * 65536; i++) {
		ck_assert(tsct_ring_count(&geo, &r.producer, r.data, &count));
		ck_assert_uint_eq(count.events, count.head / 4096);
		ck_assert_uint_eq(count.overwritten, count.oldest / 4096);
		ck_assert_uint_eq(count.oldest % 4096, 0);
		ck_assert_uint_le(count.oldest, count.head);
		ck_assert_uint_ge(count.events, last);
		last = count.events;
	}
	WRITE_ONCE(blocks_end, 1);
	pthread_join(thread, NULL);
	free(r.data);
}

/* Invalid counts in the ring are reported as invalid, and counting ends. */
TEST(test_count_invalid)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_OVERWRITE);
	struct tsct_producer producer = { 0 };
	uint64_t *data = malloc(geo.data_size);
	struct tsct_ring_count count;
	size_t i;
	int run;

	for (run = 0; run < 500; run++) {
		producer.head = any64();
		for (i = 0; i < geo.data_size / 8; i++)
			data[i] = any64();
		ck_assert(!tsct_ring_count(&geo, &producer, data, &count));
		ck_assert_uint_eq(count.head, producer.head & MASK48);
		ck_assert_uint_eq(count.events, producer.head >> 48);
		ck_assert_uint_eq(count.oldest + count.overwritten, 0);
	}
	free(data);
}
