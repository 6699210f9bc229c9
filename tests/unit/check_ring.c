/* SPDX-License-Identifier: MIT */
/* Placement of records in a ring, and reading of records that are not trusted */
#include "ring_walk.h"
#include "seed.h"
#include "suite.h"

static const struct {
	uint32_t policy, block_size, blocks;
	int want;
} geometries[] = {
	{ TSCT_POLICY_DISCARD, 4096, 2, 0 },
	{ TSCT_POLICY_DISCARD, 4096, 65536, 0 },
	{ TSCT_POLICY_DISCARD, 65536, 4096, 0 },
	{ TSCT_POLICY_OVERWRITE, 4096, 4, 0 },
	{ TSCT_POLICY_OVERWRITE, 4096, 2, -EINVAL },
	{ TSCT_POLICY_DISCARD, 4096, 1, -EINVAL },
	{ TSCT_POLICY_DISCARD, 4096, 0, -EINVAL },
	{ TSCT_POLICY_DISCARD, 0, 4, -EINVAL },
	{ TSCT_POLICY_DISCARD, 2048, 4, -EINVAL },
	{ TSCT_POLICY_DISCARD, 4097, 4, -EINVAL },
	{ TSCT_POLICY_DISCARD, 12288, 4, -EINVAL },
	{ TSCT_POLICY_DISCARD, 4096, 3, -EINVAL },
	{ TSCT_POLICY_DISCARD, 131072, 4, -EINVAL },
	{ TSCT_POLICY_DISCARD, 0x80000000, 2, -EINVAL },
	{ TSCT_POLICY_DISCARD, 4096, 131072, -EINVAL },
	{ TSCT_POLICY_DISCARD, 65536, 8192, -EINVAL },
	{ TSCT_POLICY_DISCARD, UINT32_MAX, UINT32_MAX, -EINVAL },
	{ 2, 4096, 4, -EINVAL },
	{ UINT32_MAX, 4096, 4, -EINVAL },
};

LOOP_TEST(test_geometry, 0, ROWS(geometries))
{
	ck_assert_msg(tsct_geometry_check(geometries[_i].policy,
			geometries[_i].block_size, geometries[_i].blocks) ==
			geometries[_i].want, "case %d", _i);
}

TEST(test_sizes)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_DISCARD);

	ck_assert_uint_eq(tsct_record_size(0), 16);
	ck_assert_uint_eq(tsct_record_size(1), 24);
	ck_assert_uint_eq(tsct_record_size(8), 24);
	ck_assert_uint_eq(tsct_record_size(9), 32);
	/* Beside the largest payload, a block has room for its header, the record's
	 * header, and 8 bytes at its end. */
	ck_assert_uint_eq(tsct_payload_max(&geo), 4096 - 32 - 8 - 16);
	ck_assert_uint_eq(tsct_record_size(4040), 4096 - 32 - 8);
	geo = geometry(65536, 4, TSCT_POLICY_DISCARD);
	ck_assert_uint_eq(tsct_payload_max(&geo), 65480);
	/* The length of the largest record fits 16 bits. */
	ck_assert_uint_eq(tsct_record_size(65480), 65496);
}

/* Positions have 48 bits and wrap; higher bits are ignored. */
TEST(test_positions)
{
	static const uint64_t heads[] = {
		0, 32, 1ULL << 47, MASK48, MASK48 - 7, 1ULL << 48, (1ULL << 48) + 32,
		(5ULL << 48) + 100, UINT64_MAX, UINT64_MAX - 31,
	};
	const size_t nr = ROWS(heads);
	uint64_t a, b, near;

	ck_assert_uint_eq(tsct_pos_distance(MASK48 - 7, 0), 8);
	ck_assert_uint_eq(tsct_pos_distance(0, MASK48 - 7), MASK48 - 7);
	for (size_t i = 0; i < nr * nr; i++) {
		a = heads[i / nr];
		b = heads[i % nr];
		ck_assert_uint_eq((a + tsct_pos_distance(a, b)) & MASK48,
				  b & MASK48);
		ck_assert_uint_le(tsct_pos_distance(a, b), MASK48);
	}
	/* tsct_pos_extend() is correct for positions less than 2^47 bytes away. */
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < 47; j++) {
			near = heads[i] + (3ULL << 50);
			a = near + (1ULL << j);
			b = near - (1ULL << j);
			ck_assert_uint_eq(tsct_pos_extend(near, a & MASK48), a);
			ck_assert_uint_eq(tsct_pos_extend(near, b | ~MASK48), b);
			ck_assert_uint_eq(tsct_pos_extend(near, near), near);
		}
}

#define LAST_BLOCK	(MASK48 + 1 - 4096)

/* A record of @size at @head is placed at @pos, after a pad of @pad_len, and moves the head to
 * @next. Position and event count share one word; each wraps without changing the other. */
static const struct {
	uint64_t head;
	uint32_t size, pad_len;
	uint64_t pos, next;
} places[] = {
	{ 32, 24, 0, 32, 1ULL << 48 | 56 },
	/* A record that leaves 8 bytes of its block free is placed in this block. */
	{ 4096 - 32, 24, 0, 4096 - 32, 1ULL << 48 | (4096 - 8) },
	/* A record that would fill its block to the end is placed in the next block. */
	{ 4096 - 24, 24, 24, 4096 + 32, 1ULL << 48 | (4096 + 56) },
	{ 4096 - 8, 16, 8, 4096 + 32, 1ULL << 48 | (4096 + 48) },
	/* the largest record that fits a block */
	{ 32, 4056, 0, 32, 1ULL << 48 | 4088 },
	{ 40, 4056, 4056, 4096 + 32, 1ULL << 48 | (4096 + 4088) },
	/* a hostile head that is not a multiple of 8 */
	{ 4096 - 25, 16, 0, 4096 - 32, 1ULL << 48 | (4096 - 16) },
	/* the event count wraps, without a carry into the position */
	{ 0xffffULL << 48 | 56, 24, 0, 56, 80 },
	/* the position wraps, without a carry into the event count */
	{ 7ULL << 48 | (LAST_BLOCK + 4088), 24, 8, 32, 8ULL << 48 | 56 },
	{ 7ULL << 48 | (LAST_BLOCK + 4056), 32, 0, LAST_BLOCK + 4056, 8ULL << 48 | (LAST_BLOCK + 4088) },
	/* both wrap */
	{ UINT64_MAX - 7, 24, 8, 32, 56 },
};

LOOP_TEST(test_place, 0, ROWS(places))
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_DISCARD);
	struct tsct_ring_slot p = tsct_ring_place(&geo, places[_i].head, places[_i].size);

	ck_assert_uint_eq(p.pos, places[_i].pos);
	ck_assert_uint_eq(p.pad_len, places[_i].pad_len);
	ck_assert_uint_eq(p.head, places[_i].next);
	if (p.pad_len)
		ck_assert_uint_eq(p.pad_pos, places[_i].head & MASK48);
}

/* Pad, header and record lie inside the ring's data, for any value of head. */
TEST(test_place_any_head)
{
	struct tsct_geometry geo = geometry(8192, 8, TSCT_POLICY_OVERWRITE);
	uint64_t mask = geo.data_size - 1;

	for (int i = 0; i < 50000; i++) {
		uint64_t head = any64() >> any(64);
		uint32_t size = tsct_record_size(any(tsct_payload_max(&geo) + 1));
		struct tsct_ring_slot p;

		if (i & 1)
			head = ~head;
		p = tsct_ring_place(&geo, head, size);
		ck_assert_uint_eq(p.pos % 8, 0);
		ck_assert_uint_le(p.pos, MASK48);
		ck_assert_uint_le((p.pos & mask) + size, geo.data_size - 8);
		ck_assert_uint_le(p.pos % geo.block_size + size,
				  geo.block_size - 8);
		ck_assert_uint_eq(p.head & MASK48, p.pos + size);
		ck_assert_uint_eq(p.head >> 48, ((head >> 48) + 1) & 0xffff);
		if (!p.pad_len) {
			ck_assert_uint_eq(p.pos, head & MASK48 & ~7ULL);
			continue;
		}
		ck_assert_uint_eq((p.pad_pos + p.pad_len + 32) & MASK48, p.pos);
		ck_assert_uint_eq(p.pos % geo.block_size, 32);
		ck_assert_uint_le(p.pad_len, geo.block_size);
		ck_assert_uint_ge(p.pad_len, 8);
	}
}

/* Positions of 64 bits, of which head and tail have the lower 48 and a count of events above:
 * what fits, what is unread and what is oldest, by definition */
TEST(test_room)
{
	static const uint64_t starts[] = { 0, MASK48 + 1 - 8192, (5ULL << 48) - 40000, 7ULL << 50 };
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	const struct tsct_geometry over = geometry(4096, 4, TSCT_POLICY_OVERWRITE);

	ck_assert_uint_eq(tsct_ring_oldest(&over, 2 * 4096 + 100), 0);
	ck_assert_uint_eq(tsct_ring_oldest(&over, 3 * 4096 + 32), 4096);
	ck_assert_uint_eq(tsct_ring_oldest(&over, 100 * 4096), 98 * 4096);
	for (int i = 0; i < 50000; i++) {
		const uint64_t tail = starts[any(4)] + (any(2) ? 8 : 4096) * any(9);
		const uint64_t used = any(4) ? any(2) * 8192 + any(80) - 40ULL : any64() >> 16;
		const uint64_t head = tail + used, block = head - head % 4096;
		/* A block header right at the tail is not unread. */
		const uint64_t unread = (used & MASK48) -
			(tail % 4096 == 0 && (used & MASK48) >= 32 ? 32 : 0);
		const uint64_t counted_tail = (tail & MASK48) + (any64() << 48);
		const uint64_t counted_head = (head & MASK48) + (any64() << 48);

		/* A tail beyond the head is invalid: nothing fits, and all is unread. */
		ck_assert_int_eq(tsct_ring_fits(&geo, counted_head, counted_tail),
				 (used & MASK48) <= 8192);
		ck_assert(tsct_ring_fits(&over, head, tail));
		ck_assert_uint_eq(tsct_ring_unread(&geo, counted_tail, counted_head),
				  unread < 8192 ? unread : 8192);
		/* The writer may be writing to two of the four blocks. */
		ck_assert_uint_eq(tsct_ring_oldest(&over, head), block > 8192 ? block - 8192 : 0);
	}
}

/* A ring holds all positions except those that the next two blocks will overwrite. */
LOOP_TEST(test_holds, 0, 2)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_OVERWRITE);
	uint64_t head, pos, base;

	base = _i ? MASK48 + 1 - 5 * 4096 : 0;
	for (head = base + 3 * 4096; head < base + 8 * 4096; head += 8) {
		pos = tsct_ring_oldest(&geo, head);
		ck_assert(tsct_ring_holds(&geo, pos, head & MASK48));
		ck_assert(tsct_ring_holds(&geo, pos + 4095, head));
		ck_assert(tsct_ring_holds(&geo, head, head));
		ck_assert(!tsct_ring_holds(&geo, pos - 1, head));
	}
}

/* ---- reading records ----------------------------------------------------- */

/* The ring that is read. The sanitizer finds accesses beyond the end of `bytes`. */
static struct tsct_geometry shape;
static uint64_t *bytes;

static void drop_ring(void)
{
	free(bytes);
	bytes = NULL;
}

static void make_ring_of(uint32_t blocks, uint32_t policy)
{
	drop_ring();
	shape = geometry(4096, blocks, policy);
	bytes = calloc(1, shape.data_size);
}

static void make_ring(void)
{
	make_ring_of(2, TSCT_POLICY_DISCARD);
}

/* A step from @pos leads to @next, and finds TSCT_STEP_@kind. */
#define step(pos, head, kind, want_next) do {					\
	read_step(&shape, bytes, pos, head);					\
	ck_assert_int_eq(l.step, TSCT_STEP_##kind);				\
	ck_assert_uint_eq(l.next, want_next);					\
} while (0)

CASE("reading", make_ring, drop_ring);

TEST(test_next)
{
	step(0, 0, EMPTY, 0);
	put(bytes, 32, 21, 16, 7, 99);
	step(32, 56, RECORD, 56);
	ck_assert_uint_eq(l.header.len, 21);
	ck_assert_uint_eq(l.header.id, 16);
	ck_assert_uint_eq(l.header.tid, 7);
	ck_assert_uint_eq(l.header.cycles, 99);
	/* The same record one ring size (8192 bytes) higher, and if the upper 16 bits of
	 * head, or of head and position, count events. */
	step(8192 + 32, 8192 + 56, RECORD, 8192 + 56);
	step(32, (999ULL << 48) + 56, RECORD, 56);
	step((5ULL << 48) + 32, (999ULL << 48) + 56, RECORD, (5ULL << 48) + 56);
	/* A record that ends beyond the head is broken. */
	step(32, 48, BROKEN, 48);
}

TEST(test_next_block)
{
	struct tsct_producer producer = { .head = 99 };
	struct tsct_block block;

	tsct_ring_init(&producer, bytes);
	ck_assert_uint_eq(producer.head, 32);
	step(0, producer.head, BLOCK, 32);
	step(32, producer.head, EMPTY, 32);
	ck_assert(tsct_ring_block(&shape, bytes, 32, &block));
	ck_assert(!block.pos && !block.events && !block.cycles);
	/* A block header of which only a part is published is not a valid record. */
	step(0, 24, BROKEN, 24);
	/* At the begin of a block, any record other than a block header is invalid. */
	put(bytes, 4096, 24, 16, 1, 1);
	step(4096, 8192, BROKEN, 8192);
	put(bytes, 4096, 24, TSCT_ID_PAD, 1, 1);
	step(4096, 8192, BROKEN, 8192);
	put(bytes, 4096, 24, TSCT_ID_BLOCK, 1, 1);
	step(4096, 8192, BROKEN, 8192);
	ck_assert(!tsct_ring_block(&shape, bytes, 5000, &block));
	/* A block header in the middle of a block is not a valid record. */
	put(bytes, 32, 32, TSCT_ID_BLOCK, 0, 1);
	step(32, 4096, BROKEN, 4096);
}

/* A block header is invalid if it contains a position other than that of its block. */
TEST(test_block)
{
	struct tsct_block block, next;
	__u64 events;

	make_ring_of(4, TSCT_POLICY_OVERWRITE);
	put_block(bytes, &shape, (3ULL << 48) + 16384, 0x123456);
	ck_assert(tsct_ring_block(&shape, bytes, 16384 + 100, &block));
	ck_assert_uint_eq(block.pos, (3ULL << 48) + 16384);
	ck_assert_uint_eq(block.events, 0x123456);
	ck_assert(!tsct_ring_block(&shape, bytes, 100, &block));
	ck_assert(!tsct_ring_block(&shape, bytes, 2 * 16384 + 100, &block));

	/* The count in the block's header extends head's event count to 64 bits. */
	ck_assert(tsct_ring_events(&shape, bytes, 0x3456ULL << 48 | (16384 + 32),
				   &events));
	ck_assert_uint_eq(events, 0x123456);
	ck_assert(tsct_ring_events(&shape, bytes, 0x4455ULL << 48 | (16384 + 4088),
				   &events));
	ck_assert_uint_eq(events, 0x124455);
	put_block(bytes, &shape, 16384, 0x12fffe);
	ck_assert(tsct_ring_events(&shape, bytes, 0x0001ULL << 48 | (16384 + 80),
				   &events));
	ck_assert_uint_eq(events, 0x130001);
	ck_assert(!tsct_ring_events(&shape, bytes, 4096 + 32, &events));

	/* The next block's header gets a 64-bit position and a 64-bit event count. */
	tsct_ring_block(&shape, bytes, 16384, &block);
	tsct_block_next(&shape, &block, 0x0003ULL << 48 | (16384 + 4000), 77, &next);
	ck_assert_uint_eq(next.pos, 16384 + 4096);
	ck_assert_uint_eq(next.events, 0x130003);
	ck_assert_uint_eq(next.cycles, 77);
	ck_assert(next.len == 32 && next.id == TSCT_ID_BLOCK && !next.reserved);
	block.pos = (3ULL << 48) - 4096;
	tsct_block_next(&shape, &block, (MASK48 + 1 - 4096) + 4000, 78, &next);
	ck_assert_uint_eq(next.pos, 3ULL << 48);
	/* A hostile event count in a header does not change the next header's
	 * position. */
	memset(&block, 0xff, sizeof(block));
	tsct_block_next(&shape, &block, 16384 + 4000, 79, &next);
	ck_assert_uint_eq(next.pos & MASK48, 16384 + 4096);
}

TEST(test_next_pad)
{
	/* A pad of any stated length extends to the end of its block. */
	put(bytes, 4080, 0, TSCT_ID_PAD, 0, 0);
	step(4080, 4096 + 32, PAD, 4096);
	put(bytes, 4080, 65535, TSCT_ID_PAD, 0, 0);
	step(4080, 4096 + 32, PAD, 4096);
	/* A pad in the last 8 bytes of the ring's data */
	bytes[8184 / 8] = tsct_pad_word(8);
	step(8184, 8192 + 32, PAD, 8192);
	/* A pad in the last 8 bytes before positions wrap */
	step(MASK48 - 7, 32, PAD, MASK48 + 1);
	/* A pad without a block header after it is broken. */
	step(4080, 4088, BROKEN, 4088);
}

TEST(test_next_broken_record)
{
	uint64_t head = 8192;
	static const struct {
		uint16_t len, id;
	} bad[] = {
		{ 24, 0 }, { 24, 2 }, { 24, 15 }, /* undefined record ids */
		{ 0, 16 }, { 15, 16 }, /* record shorter than a record header */
		/* record larger than a block */
		{ 4097, 16 }, { 65535, 16 },
		{ 4064, 16 }, /* record that leaves no room for a pad at the end of its
			       * block */
		{ 4057, 16 }, /* record above the largest length */
	};

	for (size_t i = 0; i < ROWS(bad); i++) {
		put(bytes, 32, bad[i].len, bad[i].id, 0, 0);
		/* After a broken record, reading continues at the next block. */
		step(32, head, BROKEN, 4096);
	}
	put(bytes, 32, 4056, 16, 0, 0);
	step(32, head, RECORD, 4088);
	/* A record above the largest length is broken, also at an invalid position. */
	put(bytes, 8, 4057, 16, 0, 0);
	step(8, head, BROKEN, 4096);
	/* A record that ends beyond its block, but within the ring's data */
	put(bytes, 4072, 32, 16, 0, 0);
	step(4072, head, BROKEN, 4096);
	/* A position that is not a multiple of 8: a hostile writer can store such a
	 * head */
	step(8189, 8189 + 16, BROKEN, 8192);
	step(8189, 8190, BROKEN, 8190);
	/* record at 32, head at 37: only 5 bytes of its first word are published */
	step(32, 37, BROKEN, 37);
}

/* With random data and positions, each step of a reader advances, and the last step
 * ends at head. The sanitizer detects accesses outside the ring's data. */
TEST(test_next_random_data)
{
	__u64 events;
	struct tsct_block block;

	for (int run = 0; run < 200; run++) {
		uint64_t pos = any64() >> any(64);
		uint64_t head = pos + any(shape.data_size + 1);
		int steps = 0;

		for (size_t i = 0; i < shape.data_size / 8; i++)
			bytes[i] = run & 1 ? any64() : any(64) | any(20) << 16;
		tsct_ring_block(&shape, bytes, pos, &block);
		tsct_ring_events(&shape, bytes, pos, &events);
		while (pos != head) {
			read_step(&shape, bytes, pos, head);
			ck_assert_int_ne(l.step, TSCT_STEP_EMPTY);
			ck_assert_uint_gt(l.next - pos, 0);
			ck_assert_uint_le(l.next - pos, head - pos);
			if (l.step == TSCT_STEP_RECORD) {
				ck_assert_uint_ge(l.header.len, 16);
				ck_assert_uint_le(l.header.len - 16U,
						  tsct_payload_max(&shape));
				ck_assert(l.header.id >= TSCT_ID_FIRST ||
					  (l.header.id == TSCT_ID_WIDE && l.header.len >= 24));
				ck_assert_uint_le((pos & (shape.data_size - 1)) +
						  l.header.len, shape.data_size);
				ck_assert_uint_eq(l.header.cycles,
					bytes[((pos & (shape.data_size - 1)) + 8) / 8]);
			}
			pos = l.next;
			ck_assert_int_lt(++steps, 2000);
		}
	}
}

/* ---- round trips ------------------------------------------------------- */

CASE("round trips", NULL, NULL);

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

/* Records of many sizes at every offset: blocks are filled, or with any rest. */
TEST(test_exact_fills)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);

	for (uint32_t offset = 32; offset < 4096; offset += 8) {
		struct ring r = new_ring(geo, (9ULL << 48) - 8192, 65530);

		/* Valid heads are not at 40: a first record is at 32, of 16 bytes. */
		if (offset == 40)
			r.producer.head += 8, r.tail += 40;
		else if (offset > 40)
			ck_assert(write_one(&r, offset - 32 - 16));
		while (offset != 40 && read_one(&r))
			;
		for (uint32_t size = 16; size <= 4056; size += 8) {
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

	for (int i = 0; i < 20000; i++) {
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

	blocks_end = 0;
	pthread_create(&thread, NULL, begin_blocks, &r);
	for (int i = 0; i < 100000 || count.events < 5 * 65536; i++) {
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

	for (int run = 0; run < 500; run++) {
		producer.head = any64();
		for (size_t i = 0; i < geo.data_size / 8; i++)
			data[i] = any64();
		ck_assert(!tsct_ring_count(&geo, &producer, data, &count));
		ck_assert_uint_eq(count.head, producer.head & MASK48);
		ck_assert_uint_eq(count.events, producer.head >> 48);
		ck_assert_uint_eq(count.oldest + count.overwritten, 0);
	}
	free(data);
}
