/* SPDX-License-Identifier: MIT */
/* test-wing: kernel */
/* Times of CLOCK_MONOTONIC as counter values: exact lines, steps of CLOCK_REALTIME */
#include "lib/client/gettime.h"
#include "tools/wings/kernel/monotonic.c"
#include "seed.h"
#include "suite.h"

#define S		1000000000LL
#define OFFSET		(1700000000 * S + 12345)	/* REALTIME - MONOTONIC, ns */
/* ns per cycle, 2^-56: a counter of 2.5 GHz and 37 ppm */
#define MULT		((__u64)(0.4 * (1 + 37e-6) * (1ULL << 56)))

static struct monotonic m;

static void before(void)
{
	memset(&m, 0, sizeof(m));
}

static struct tsct_clock_segment segment(__s64 monotonic_ns, __s64 offset, __u64 cycles,
					 __u32 epoch)
{
	return (struct tsct_clock_segment) {
		.base_ns = monotonic_ns + offset, .base_cycles = cycles, .mult = MULT,
		.error_ps = 50000, .epoch = epoch,
	};
}

/* A reading on the line of a segment */
static struct monotonic_reading reading(const struct tsct_clock_segment *s, __u64 later,
					__s64 line_offset, __s64 offset)
{
	return (struct monotonic_reading) {
		.cycles = s->base_cycles + later, .error_ns = 20, .offset_ns = offset,
		.ns = segment_ns(s, s->base_cycles + later) - line_offset,
	};
}

/* Counter value at a time after the base of a segment, computed another way */
static __u64 expect(const struct tsct_clock_segment *s, __s64 after_ns)
{
	return s->base_cycles + (__u64)(__s64)((long double)after_ns *
					       0x1p56L / (long double)s->mult);
}

/* Rates have a resolution of 2^-32 cycles per ns: 2.3 cycles in 10 s. */
static void check_at(__s64 ns, __u64 cycles)
{
	const __s64 off = (__s64)(monotonic_to_cycles(&m, (__u64)ns) - cycles);

	ck_assert_msg(off >= -5 && off <= 5, "%lld cycles off", (long long)off);
}

CASE("lines", before, NULL);

/* Ten seconds of a line are converted to 5 cycles, before and after its base. */
TEST(test_line)
{
	const struct tsct_clock_segment s = segment(1000 * S, OFFSET, 1ULL << 42, 1);
	const struct monotonic_reading now = reading(&s, 1000, OFFSET, OFFSET);

	monotonic_update(&m, &s, 1, &now);
	ck_assert_int_eq(m.offset_ns, OFFSET);
	for (int i = 0; i < 10000; i++) {
		const __s64 after_ns = (__s64)any64() % (10 * S);

		check_at(1000 * S + after_ns, expect(&s, after_ns));
	}
}

/* Each time is converted by the line that was in force. */
TEST(test_lines)
{
	struct tsct_clock_segment s[3] = {
		segment(100 * S, OFFSET, 1000000000, 1),
		segment(101 * S, OFFSET, 3500000000, 1),
		segment(102 * S, OFFSET, 6000000100, 1),
	};
	const struct monotonic_reading now = reading(&s[2], 10, OFFSET, OFFSET);

	s[1].mult += s[1].mult / 1000000;
	monotonic_update(&m, s, 3, &now);
	ck_assert_uint_eq(m.nr_lines, 3);
	check_at(100 * S - 5, expect(&s[0], -5));
	check_at(101 * S - 1, expect(&s[0], S - 1));
	check_at(101 * S, s[1].base_cycles);
	check_at(102 * S - 1, expect(&s[1], S - 1));
	check_at(103 * S, expect(&s[2], S));
}

/* After a step, new times take the new constant, and old ones keep theirs. */
TEST(test_step)
{
	const struct tsct_clock_segment old = segment(100 * S, OFFSET, 1000000000, 1);
	const struct tsct_clock_segment new = segment(101 * S, OFFSET + 3600 * S,
						      3499907503, 2);
	struct monotonic_reading now = reading(&old, 1000, OFFSET, OFFSET);

	monotonic_update(&m, &old, 1, &now);
	/* CLOCK_REALTIME was stepped; the clock does not know yet. */
	now = reading(&old, 1000000, OFFSET, OFFSET + 3600 * S);
	monotonic_update(&m, &old, 1, &now);
	ck_assert_int_eq(m.offset_ns, OFFSET);
	check_at(100 * S + 500, expect(&old, 500));
	now = reading(&new, 1000, OFFSET + 3600 * S, OFFSET + 3600 * S);
	for (unsigned int i = 0; i < 3; i++)
		monotonic_update(&m, &new, 1, &now);
	ck_assert_int_eq(m.offset_ns, OFFSET + 3600 * S);
	ck_assert_uint_eq(m.nr_lines, 2);
	check_at(100 * S + 500, expect(&old, 500));
	check_at(101 * S + 500, expect(&new, 500));
	/* Many epochs: the lines have room. */
	for (unsigned int i = 3; i < 40; i++) {
		const struct tsct_clock_segment s = segment((99 + (__s64)i) * S, OFFSET + i,
							    i * 2500000000ULL, i);

		now = reading(&s, 1000, OFFSET + i, OFFSET + i);
		monotonic_update(&m, &s, 1, &now);
		ck_assert_uint_le(m.nr_lines, MONOTONIC_LINES);
		check_at((99 + (__s64)i) * S + 7, expect(&s, 7));
	}
}

/* A constant that contradicts the first reading is replaced. */
TEST(test_contradiction)
{
	const struct tsct_clock_segment s = segment(100 * S, OFFSET, 1000000000, 1);
	struct monotonic_reading now = reading(&s, 1000, OFFSET, OFFSET + S);

	monotonic_update(&m, &s, 1, &now);
	ck_assert_int_le(m.offset_ns, OFFSET + 1);
	ck_assert_int_ge(m.offset_ns, OFFSET - 1);
	/* A difference within errors is kept. */
	before();
	now.offset_ns = OFFSET + 500;
	monotonic_update(&m, &s, 1, &now);
	ck_assert_int_eq(m.offset_ns, OFFSET + 500);
}

/* The constant of this machine's clocks lies between readings of both. */
TEST(test_offset)
{
	struct timespec t[3];
	__s64 low, high, offset;

	tsct_gettime(CLOCK_REALTIME, &t[0]);
	tsct_gettime(CLOCK_MONOTONIC, &t[1]);
	tsct_gettime(CLOCK_REALTIME, &t[2]);
	offset = exact_offset();
	low = (t[0].tv_sec - t[1].tv_sec) * S + t[0].tv_nsec - t[1].tv_nsec;
	high = (t[2].tv_sec - t[1].tv_sec) * S + t[2].tv_nsec - t[1].tv_nsec;
	ck_assert_int_ge(offset, low - 1);
	ck_assert_int_le(offset, high + 1);
}
