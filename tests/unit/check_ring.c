/* SPDX-License-Identifier: MIT */
/* Where records go, and how a reader walks what nobody vouches for. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ring.h"
#include "seed.h"

static struct tsct_geometry geometry(uint32_t block_size, uint32_t blocks,
				     uint32_t policy)
{
	struct tsct_geometry geo = {
		.data_size = (uint64_t)block_size * blocks,
		.block_size = block_size,
		.policy = policy,
	};

	ck_assert_int_eq(tsct_geometry_check(policy, block_size, blocks), 0);
	return geo;
}

START_TEST(test_geometry)
{
	static const struct {
		uint32_t policy, block_size, blocks;
		int want;
	} cases[] = {
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
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(tsct_geometry_check(cases[i].policy,
				cases[i].block_size, cases[i].blocks) ==
				cases[i].want, "case %zu", i);
}
END_TEST

START_TEST(test_sizes)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_DISCARD);

	ck_assert_uint_eq(tsct_record_size(0), 16);
	ck_assert_uint_eq(tsct_record_size(1), 24);
	ck_assert_uint_eq(tsct_record_size(8), 24);
	ck_assert_uint_eq(tsct_record_size(9), 32);
	ck_assert_uint_eq(tsct_payload_max(&geo), 4080);
	ck_assert_uint_eq(tsct_record_size(4080), 4096);
	geo = geometry(65536, 4, TSCT_POLICY_DISCARD);
	ck_assert_uint_eq(tsct_payload_max(&geo), 65512);
	/* The largest record's length fits 16 bits. */
	ck_assert_uint_eq(tsct_record_size(65512), 65528);
}
END_TEST

START_TEST(test_place)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_DISCARD);
	struct tsct_place p;

	p = tsct_ring_place(&geo, 0, 24);
	ck_assert_uint_eq(p.pos, 0);
	ck_assert_uint_eq(p.pad_len, 0);
	p = tsct_ring_place(&geo, 4096 - 24, 24);	/* fits exactly */
	ck_assert_uint_eq(p.pos, 4096 - 24);
	ck_assert_uint_eq(p.pad_len, 0);
	p = tsct_ring_place(&geo, 4096 - 16, 24);
	ck_assert_uint_eq(p.pos, 4096);
	ck_assert_uint_eq(p.pad_pos, 4096 - 16);
	ck_assert_uint_eq(p.pad_len, 16);
	p = tsct_ring_place(&geo, 8, 4096);		/* a whole block */
	ck_assert_uint_eq(p.pos, 4096);
	ck_assert_uint_eq(p.pad_len, 4088);
	p = tsct_ring_place(&geo, 4096 - 9, 16);	/* hostile head */
	ck_assert_uint_eq(p.pos, 4096 - 16);
	ck_assert_uint_eq(p.pad_len, 0);
}
END_TEST

/* Whatever the head, pad and record lie inside the data and one block. */
START_TEST(test_place_any_head)
{
	struct tsct_geometry geo = geometry(8192, 8, TSCT_POLICY_OVERWRITE);
	uint64_t mask = geo.data_size - 1;
	int i;

	seed_with(1);
	for (i = 0; i < 50000; i++) {
		uint64_t head = any64() >> any(64);
		uint32_t size = tsct_record_size(any(tsct_payload_max(&geo) + 1));
		struct tsct_place p = tsct_ring_place(&geo, head, size);

		if (i & 1)
			p = tsct_ring_place(&geo, ~head, size);
		ck_assert_uint_eq(p.pos % 8, 0);
		ck_assert_uint_le((p.pos & mask) + size, geo.data_size);
		ck_assert_uint_le(p.pos % geo.block_size + size,
				  geo.block_size);
		if (!p.pad_len)
			continue;
		ck_assert_uint_eq(p.pad_pos + p.pad_len, p.pos);
		ck_assert_uint_eq(p.pos % geo.block_size, 0);
		ck_assert_uint_lt(p.pad_len, geo.block_size);
		ck_assert_uint_ge(p.pad_len, 8);
	}
}
END_TEST

START_TEST(test_fits)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);

	ck_assert(tsct_ring_fits(&geo, 8192, 0));
	ck_assert(!tsct_ring_fits(&geo, 8200, 0));
	ck_assert(tsct_ring_fits(&geo, 8200, 8));
	ck_assert(!tsct_ring_fits(&geo, 100, 108));	/* tail beyond head */
	ck_assert(!tsct_ring_fits(&geo, 100, UINT64_MAX / 2));
	/* positions wrap */
	ck_assert(tsct_ring_fits(&geo, 16, (uint64_t)-16));
	geo.policy = TSCT_POLICY_OVERWRITE;
	ck_assert(tsct_ring_fits(&geo, UINT64_MAX, 0));
}
END_TEST

START_TEST(test_oldest)
{
	struct tsct_geometry geo = geometry(4096, 4, TSCT_POLICY_OVERWRITE);

	ck_assert_uint_eq(tsct_ring_oldest(&geo, 0), 0);
	ck_assert_uint_eq(tsct_ring_oldest(&geo, 2 * 4096 + 100), 0);
	ck_assert_uint_eq(tsct_ring_oldest(&geo, 3 * 4096), 4096);
	ck_assert_uint_eq(tsct_ring_oldest(&geo, 3 * 4096 + 4088), 4096);
	ck_assert_uint_eq(tsct_ring_oldest(&geo, 100 * 4096), 98 * 4096);
}
END_TEST

/* ---- reading back ------------------------------------------------------ */

static void put(void *data, uint64_t at, uint16_t len, uint16_t id,
		uint32_t tid, uint64_t tsc)
{
	struct tsct_record record = {
		.len = len, .id = id, .tid = tid, .tsc = tsc,
	};

	memcpy((char *)data + at, &record, sizeof(record));
}

/* What tsct_ring_next() said last. */
static struct {
	enum tsct_ring_step step;
	struct tsct_record header;
	__u64 next;
} l;

static void look(const struct tsct_geometry *geo, const void *data,
		 uint64_t pos, uint64_t head)
{
	memset(&l.header, 0xff, sizeof(l.header));
	l.step = tsct_ring_next(geo, data, pos, head, &l.header, &l.next);
}

START_TEST(test_next)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	uint64_t *data = calloc(1, geo.data_size);

	look(&geo, data, 0, 0);
	ck_assert_int_eq(l.step, TSCT_STEP_EMPTY);
	ck_assert_uint_eq(l.next, 0);

	put(data, 0, 21, 16, 7, 99);
	look(&geo, data, 0, 24);
	ck_assert_int_eq(l.step, TSCT_STEP_RECORD);
	ck_assert_uint_eq(l.next, 24);
	ck_assert_uint_eq(l.header.len, 21);
	ck_assert_uint_eq(l.header.id, 16);
	ck_assert_uint_eq(l.header.tid, 7);
	ck_assert_uint_eq(l.header.tsc, 99);
	/* The same record one turn later */
	look(&geo, data, 8192, 8192 + 24);
	ck_assert_int_eq(l.step, TSCT_STEP_RECORD);
	ck_assert_uint_eq(l.next, 8192 + 24);
	/* beyond the head */
	look(&geo, data, 0, 16);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 16);
	free(data);
}
END_TEST

START_TEST(test_next_pad)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	uint64_t *data = calloc(1, geo.data_size);

	/* Whatever its len says, it reaches to the block's end. */
	put(data, 4080, 0, TSCT_ID_PAD, 0, 0);
	look(&geo, data, 4080, 4096 + 24);
	ck_assert_int_eq(l.step, TSCT_STEP_PAD);
	ck_assert_uint_eq(l.next, 4096);
	put(data, 4080, 65535, TSCT_ID_PAD, 0, 0);
	look(&geo, data, 4080, 4096 + 24);
	ck_assert_int_eq(l.step, TSCT_STEP_PAD);
	ck_assert_uint_eq(l.next, 4096);
	/* A pad in the last 8 bytes of the data */
	data[8184 / 8] = (uint64_t)TSCT_ID_PAD << 16;
	look(&geo, data, 8184, 8192 + 24);
	ck_assert_int_eq(l.step, TSCT_STEP_PAD);
	ck_assert_uint_eq(l.next, 8192);
	/* A pad that was never completed by a record behind it */
	look(&geo, data, 4080, 4088);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 4088);
	free(data);
}
END_TEST

START_TEST(test_next_broken)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	uint64_t *data = calloc(1, geo.data_size);
	uint64_t head = 8192;
	size_t i;
	static const struct {
		uint16_t len, id;
	} bad[] = {
		{ 24, 0 }, { 24, 2 }, { 24, 15 },	/* no such ids */
		{ 0, 16 }, { 15, 16 },			/* shorter than itself */
		{ 4097, 16 }, { 65535, 16 },		/* over the block */
	};

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(data, 0, bad[i].len, bad[i].id, 0, 0);
		look(&geo, data, 0, head);
		ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
		ck_assert_uint_eq(l.next, 4096);	/* the next block */
	}
	/* Over the end of the block, though not of the data */
	put(data, 4072, 32, 16, 0, 0);
	look(&geo, data, 4072, head);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 4096);
	/* A position that a hostile head has made odd */
	look(&geo, data, 8189, 8189 + 16);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 8192);
	look(&geo, data, 8189, 8190);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 8190);
	/* Less than a header's word before the head */
	look(&geo, data, 0, 5);
	ck_assert_int_eq(l.step, TSCT_STEP_BROKEN);
	ck_assert_uint_eq(l.next, 5);
	free(data);
}
END_TEST

/*
 * Random junk, random positions: steps always lead on and end at the head.
 * The sanitizer stands guard over the data, which has not a byte to spare.
 */
START_TEST(test_next_junk)
{
	struct tsct_geometry geo = geometry(4096, 2, TSCT_POLICY_DISCARD);
	uint64_t *data = malloc(geo.data_size);
	int run;
	size_t i;

	seed_with(2);
	for (run = 0; run < 200; run++) {
		uint64_t pos = any64() >> any(64);
		uint64_t head = pos + any(geo.data_size + 1);
		int steps = 0;

		for (i = 0; i < geo.data_size / 8; i++)
			data[i] = run & 1 ? any64() : any(64) | any(20) << 16;
		while (pos != head) {
			look(&geo, data, pos, head);
			ck_assert_int_ne(l.step, TSCT_STEP_EMPTY);
			ck_assert_uint_gt(l.next - pos, 0);
			ck_assert_uint_le(l.next - pos, head - pos);
			if (l.step == TSCT_STEP_RECORD) {
				ck_assert_uint_ge(l.header.len, 16);
				ck_assert_uint_ge(l.header.id, TSCT_ID_FIRST);
				ck_assert_uint_le((pos & (geo.data_size - 1)) +
						  l.header.len, geo.data_size);
				ck_assert_uint_eq(l.header.tsc,
					data[((pos & (geo.data_size - 1)) + 8) / 8]);
			}
			pos = l.next;
			ck_assert_int_lt(++steps, 2000);
		}
	}
	free(data);
}
END_TEST

/* A writer by the rules and a reader by the rules agree on every record. */
static void round_trip(struct tsct_geometry geo, uint64_t start)
{
	char *data = calloc(1, geo.data_size);
	uint64_t mask = geo.data_size - 1;
	uint64_t head = start, tail = start, written = 0, seen = 0, lost = 0;

	while (seen < 5000) {
		uint32_t len = any(any(8) ? 64 : tsct_payload_max(&geo) + 1);
		struct tsct_place p = tsct_ring_place(&geo, head,
						      tsct_record_size(len));

		if (tsct_ring_fits(&geo, p.pos + p.size, tail)) {
			if (p.pad_len) {
				uint64_t pad = (uint64_t)TSCT_ID_PAD << 16;

				memcpy(data + (p.pad_pos & mask), &pad, 8);
			}
			put(data, p.pos & mask, (uint16_t)(16 + len), 16,
			    (uint32_t)written, written);
			head = p.pos + p.size;
			written++;
			if (any(3))
				continue;
		} else {
			lost++;
		}
		look(&geo, data, tail, head);
		if (l.step == TSCT_STEP_RECORD)
			ck_assert_uint_eq(l.header.tsc, seen++);
		else
			ck_assert_int_ne(l.step, TSCT_STEP_BROKEN);
		tail = l.next;
	}
	ck_assert_uint_gt(lost, 0);
	free(data);
}

START_TEST(test_round_trip)
{
	seed_with(3);
	round_trip(geometry(4096, 2, TSCT_POLICY_DISCARD), 0);
	round_trip(geometry(16384, 4, TSCT_POLICY_DISCARD), 0);
	/* over the end of the 64-bit positions */
	round_trip(geometry(65536, 2, TSCT_POLICY_DISCARD), (uint64_t)-65536);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ring");
	Suite *suite = suite_create("ring");
	SRunner *runner;
	int failed;

	print_seed();
	tcase_add_test(tcase, test_geometry);
	tcase_add_test(tcase, test_sizes);
	tcase_add_test(tcase, test_place);
	tcase_add_test(tcase, test_place_any_head);
	tcase_add_test(tcase, test_fits);
	tcase_add_test(tcase, test_oldest);
	tcase_add_test(tcase, test_next);
	tcase_add_test(tcase, test_next_pad);
	tcase_add_test(tcase, test_next_broken);
	tcase_add_test(tcase, test_next_junk);
	tcase_add_test(tcase, test_round_trip);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
