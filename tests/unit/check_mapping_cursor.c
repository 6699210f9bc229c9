/* SPDX-License-Identifier: MIT */
/* Mapping cursors, which convert the ticks of a location's events in order */
#include "mapping_world.h"
#include "suite.h"

/* Compares each global tick of a mapping cursor with a separate lookup of the local
 * tick. The looked-up global tick is raised (monotonic fixup) if it is not above the
 * global tick of the preceding lower local tick. */
static void run_location(unsigned int gap_bits)
{
	struct tsct_mapping_cursor cursor;
	__u64 local = mapping.begin, last_local = 0, last = 0, global, line, monotonic_fixups = 0;
	bool flat = false;
	unsigned int i;

	tsct_mapping_cursor_init(&cursor, &mapping);
	for (i = 0; i < 20000; i++) {
		if (any(3))
			local += any64() >> (64 - any(gap_bits) - 1);
		if (local - mapping.begin > mapping.end - mapping.begin)
			break;
		must(!tsct_mapping_cursor_next(&cursor, local, &global));
		line = at(local);
		flat |= !whole_at(local);
		if (!i) {
			must(global == line);
		} else {
			must(local == last_local ? global == last : global > last);
			last += local != last_local;
			must(global == (line > last ? line : last));
			monotonic_fixups += line < last;
		}
		last = global;
		last_local = local;
	}
	must(cursor.monotonic_fixups == monotonic_fixups);
	must(!monotonic_fixups == !cursor.fixup_max);
	/* On mapping lines that rise by a global tick or more per local tick, no global
	 * tick has to be raised (monotonic fixup). */
	must(!monotonic_fixups || flat);
}

LOOP_TEST(test_cursor, 0, 20)
{
	seed_with(2000 + (unsigned int)_i);
	make_world(2 + any(20), any_double(0.001, 100), 50);
	make_correct();
	run_location(4);
	run_location(40);
}

TEST(test_cursor_rejects)
{
	const struct tsct_axis axis = { 1000, 0, 1, 1, GIGA };
	struct tsct_mapping_cursor cursor, before;
	__u64 global = 77;

	ck_assert_int_eq(build_identity(&mapping, &axis, 1000, 2000), 0);
	tsct_mapping_cursor_init(&cursor, &mapping);
	before = cursor;
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 0, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 999, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 2001, &global), -ERANGE);
	ck_assert_mem_eq(&cursor, &before, sizeof(before));
	ck_assert_uint_eq(global, 77);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1000, &global), 0);
	ck_assert_uint_eq(global, 0);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1500, &global), 0);
	ck_assert_uint_eq(global, 500);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 1499, &global), -EINVAL);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 2000, &global), 0);
	ck_assert_uint_eq(global, 1000);
	ck_assert_uint_eq(cursor.monotonic_fixups, 0);
}

/* A mapping from a counter at 4 GHz to global ticks at 1 GHz has one global tick for
 * four local ticks. The cursor raises the global ticks so that they increase, and
 * counts each raise as a monotonic fixup. */
TEST(test_monotonic_fixups)
{
	const struct tsct_axis axis = { 0, 0, 1, 4, GIGA };
	struct tsct_mapping_cursor cursor;
	__u64 global, i;

	ck_assert_int_eq(build_identity(&mapping, &axis, 0, 1000), 0);
	ck_assert_uint_eq(whole_at(0), 0);
	tsct_mapping_cursor_init(&cursor, &mapping);
	for (i = 0; i < 8; i++) {
		ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, i, &global), 0);
		ck_assert_uint_eq(global, i);
	}
	ck_assert_uint_eq(cursor.monotonic_fixups, 7);
	ck_assert_uint_eq(cursor.fixup_max, 7 - 7 / 4);
	/* Equal local ticks have equal global ticks, even if the global tick was raised
	 * because global ticks must increase (monotonic fixup). */
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 7, &global), 0);
	ck_assert_uint_eq(global, 7);
	ck_assert_int_eq(tsct_mapping_cursor_next(&cursor, 100, &global), 0);
	ck_assert_uint_eq(global, 25);
}
