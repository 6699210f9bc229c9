// SPDX-License-Identifier: MIT
/* Draining rings into a recording: events taken and refused, and the end of the
 * recording */
#include "drains.h"

CASE("drain", open_rings, teardown);

/* Events and losses before the begin of a recording are not part of it. */
TEST(test_ignores_events_before_begin)
{
	__u64 i;

	for (i = 0; emit(i) == 0; i++)
		;
	ck_assert_uint_gt(i, 100);
	begin();
	ck_assert_uint_eq(rec.streams[0].ring[CPU].published_begin, i);
	ck_assert_uint_eq(pass(UINT64_MAX), 0);
	ck_assert_uint_eq(events(), 0);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 0);
	ck_assert_int_eq(emit(0), 0);
	ck_assert_uint_eq(pass(UINT64_MAX), 1);
	ck_assert_uint_eq(events(), 1);
	while (emit(0) == 0)
		;
	pass(UINT64_MAX);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 1);
}

/* An event from the future is refused, because later events would be out of order. */
TEST(test_refuses_future_events)
{
	begin();
	ck_assert_int_eq(emit(1), 0);
	forge(ev, tsct_clock_cycles(clock_) + (1ULL << 40), 8);
	forge(ev, UINT64_MAX, 8);
	ck_assert_int_eq(emit(2), 0);
	pass(UINT64_MAX);
	ck_assert_uint_eq(events(), 2);
	ck_assert_uint_eq(lost(TSCT_LOSS_DISORDER), 2);
}

TEST(test_refuses_bad_records)
{
	begin();
	ck_assert_int_eq(emit(1), 0);
	forge(ev, tsct_clock_cycles(clock_), 7); /* forged event: payload too short */
	forge(ev, tsct_clock_cycles(clock_), 9); /* forged event: payload too long */
	forge(ev + 1, tsct_clock_cycles(clock_), 8); /* forged event: undefined id */
	forge(ev, rec.begin, 8); /* forged event: stamp before that of the previous
				  * event */
	forge(TSCT_ID_NONE, 0, 8);			/* forged record: no valid id */
	pass(UINT64_MAX);
	ck_assert_uint_eq(events(), 1);
	ck_assert_uint_eq(lost(TSCT_LOSS_MALFORMED), 2);
	ck_assert_uint_eq(lost(TSCT_LOSS_UNDEFINED), 1);
	ck_assert_uint_eq(lost(TSCT_LOSS_DISORDER), 1);
	ck_assert_uint_ge(lost(TSCT_LOSS_BROKEN), 1);
	ck_assert_int_eq(emit(2), 0);
	pass(UINT64_MAX);
	ck_assert_uint_eq(events(), 2);
}

/* Events that are lost before there is a drain, but after the recording's begin, are counted. */
TEST(test_losses_before_open)
{
	struct tsct_ring_stat *losses;

	for (__u64 n = 0; emit(n) == 0; n++)
		;
	losses = tsct_drain_losses(t);
	ck_assert_ptr_nonnull(losses);
	ck_assert_int_eq(emit(0), -ENOSPC);
	ck_assert_int_eq(emit(0), -ENOSPC);
	begin();
	tsct_drain_count_since(drain, losses);
	pass(UINT64_MAX);
	ck_assert_uint_eq(events(), 0);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 2);
	free(losses);
}

/* Events after the end of the recording do not delay the last pass of the drain. */
TEST(test_stops_at_end)
{
	__u64 until;

	begin();
	ck_assert_int_eq(emit(1), 0);
	until = tsct_clock_cycles(clock_);
	ck_assert_int_eq(emit(2), 0);
	ck_assert_int_eq(emit(3), 0);
	ck_assert_uint_eq(pass(until), 1);
	ck_assert_int_eq(emit(4), 0);
	ck_assert_uint_eq(pass(until), 0);
	ck_assert_uint_eq(events(), 1);
	/* Events after the end of the recording stay in the ring for the next
	 * recorder. */
	tsct_drain_close(drain);
	ck_assert_int_eq(tsct_drain_open(t, clock_, out, &rec, 0, &drain), 0);
	ck_assert_uint_eq(pass(UINT64_MAX), 3);
	ck_assert_uint_eq(events(), 4);
}

/* The counters in the rings, which clients can write, get random values. */
TEST(test_random_counters)
{
	struct tsct_producer *p;

	begin();
	p = tsct_ring_producer(writer, CPU);
	p->lost[TSCT_LOST_FULL] = 100;
	pass(UINT64_MAX);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 100);
	p->lost[TSCT_LOST_FULL] = 3;
	pass(UINT64_MAX);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 100);
	p->lost[TSCT_LOST_FULL] = 5;
	pass(UINT64_MAX);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 102);
	p->lost[TSCT_LOST_FULL] = UINT64_MAX;
	pass(UINT64_MAX);
	p->lost[TSCT_LOST_FULL] = 0;
	pass(UINT64_MAX);
	p->lost[TSCT_LOST_FULL] = UINT64_MAX;
	pass(UINT64_MAX);
	/* The recording can be finished and read back, although the loss counters in
	 * the ring have decreased and overflowed. */
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	check_readable();
}

/* Records of all sizes, a thousand times each */
TEST(test_all_record_sizes)
{
	unsigned int n = 0, turn;

	begin();
	for (turn = 0; turn < 1000; turn++) {
		while (emit(n) == 0)
			n++;
		ck_assert_uint_gt(pass(UINT64_MAX), 0);
	}
	ck_assert_uint_eq(events(), n);
	ck_assert_uint_eq(lost(TSCT_LOSS_FULL), 1000);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	check_readable();
}
