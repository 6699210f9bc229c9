/* SPDX-License-Identifier: MIT */
/* Times of the timekeeper's ticks, next to packets and without any */
#include "daemon/clock/tick_schedule.c"
#include "suite.h"

#define MS	1000000LL
#define S	(1000 * MS)

/* A schedule after a tick at 100 s, with an interval of 1 s */
static struct tick_schedule after_tick(void)
{
	struct tick_schedule schedule = { 0 };

	tick_schedule_ticked(&schedule, 100 * S, S);
	return schedule;
}

TEST(test_alone)
{
	struct tick_schedule schedule = after_tick();

	ck_assert_int_eq(tick_schedule_due(&schedule), 101 * S);
	tick_schedule_ticked(&schedule, 109 * S, S / 10);
	ck_assert_int_eq(tick_schedule_due(&schedule), 109 * S + S / 10);
}

/* A packet early in the interval causes no tick, but the next one is expected a poll
 * later. */
TEST(test_early_packet)
{
	struct tick_schedule schedule = after_tick();

	tick_schedule_packet(&schedule, 100 * S + 700 * MS, false);
	ck_assert_int_eq(tick_schedule_due(&schedule), 101 * S + 250 * MS);
	tick_schedule_ticked(&schedule, 101 * S + 250 * MS, S);
	ck_assert_int_eq(tick_schedule_due(&schedule), 102 * S + 500 * MS);
	tick_schedule_ticked(&schedule, 102 * S + 500 * MS, S);
	ck_assert_int_eq(tick_schedule_due(&schedule), 103 * S + 500 * MS);
}

/* A tick follows a packet at once, or, if others may follow, when they have ended. */
TEST(test_follows_packet)
{
	struct tick_schedule schedule = after_tick();

	tick_schedule_packet(&schedule, 100 * S + 750 * MS, false);
	ck_assert_int_eq(tick_schedule_due(&schedule), 100 * S + 750 * MS);
	tick_schedule_packet(&schedule, 100 * S + 900 * MS, true);
	ck_assert_int_eq(tick_schedule_due(&schedule), 100 * S + 902 * MS);
	tick_schedule_packet(&schedule, 100 * S + 901 * MS, true);
	ck_assert_int_eq(tick_schedule_due(&schedule), 100 * S + 903 * MS);
	tick_schedule_packet(&schedule, 101 * S + 100 * MS, false);
	ck_assert_int_eq(tick_schedule_due(&schedule), 101 * S + 100 * MS);
}

/* Packets that never end, each 1 ms: the tick is late by no more than a quarter of the
 * interval. */
TEST(test_endless_packets)
{
	struct tick_schedule schedule = after_tick();
	__s64 now = 100 * S;

	while (now < tick_schedule_due(&schedule)) {
		now += MS;
		tick_schedule_packet(&schedule, now, true);
		ck_assert_int_lt(now, 102 * S);
	}
	ck_assert_int_eq(now, 101 * S + 250 * MS);
}

/* Polls of an interval near that of the ticks, with pauses of random length: every tick
 * but the first follows a poll. */
TEST(test_polls)
{
	struct tick_schedule schedule = after_tick();
	__s64 now = 100 * S + 100 * MS;
	int i, alone = 0;

	srand(1);
	for (i = 0; i < 1000; i++) {
		if (tick_schedule_due(&schedule) < now) {
			alone++;
			tick_schedule_ticked(&schedule, tick_schedule_due(&schedule), S);
		}
		tick_schedule_packet(&schedule, now, false);
		if (now >= tick_schedule_due(&schedule))
			tick_schedule_ticked(&schedule, now, S);
		now += S - 60 * MS + rand() % 120 * MS;
	}
	ck_assert_int_le(alone, 1);
}
