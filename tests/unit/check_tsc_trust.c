// SPDX-License-Identifier: MIT
/* Conditions for trusting the TSC, and bounds on the skew of two counters compared with
 * the truth */
#include "lib/core/tsc_trust.h"
#include "seed.h"
#include "suite.h"

#define R	TSCT_CHECK_RDTSCP
#define I	TSCT_CHECK_INVARIANT
#define N	TSCT_CHECK_NONSTOP
#define U	TSCT_CHECK_UNSTABLE
#define C	TSCT_CHECK_CLOCKSOURCE
#define A	TSCT_CHECK_AUX_MATCH
#define ALL	(R | I | N | U | C | A)

CASE("trust", NULL, NULL);

TEST(test_kernel_uses_tsc)
{
	/* If the kernel uses the TSC as clocksource and RDTSCP is available, the TSC is
	 * trusted. */
	ck_assert(tsct_tsc_trusted(R | C, false));
	ck_assert(!tsct_tsc_trusted(C | I | N | A, true));
}

TEST(test_kernel_does_not_use_tsc)
{
	ck_assert(tsct_tsc_trusted(R | I | N, true));
	ck_assert(!tsct_tsc_trusted(R | I | N, false));
	ck_assert(!tsct_tsc_trusted(R | I, true));
	ck_assert(!tsct_tsc_trusted(R | N, true));
}

/* All combinations of CPU features: some are required, and additional ones never reduce
 * trust. */
LOOP_TEST(test_all_combinations, 0, 2)
{
	bool in_step = _i, usable;

	for (__u32 flags = 0; flags <= ALL; flags++) {
		usable = tsct_tsc_trusted(flags, in_step);
		if (!(flags & R) || flags & U)
			ck_assert(!usable);
		/* TSC_AUX, which may be a virtual machine's, has no influence. */
		ck_assert(usable == tsct_tsc_trusted(flags ^ A, in_step));
		if (usable) {
			ck_assert(tsct_tsc_trusted(flags, true));
			for (__u32 more = I; more <= A; more <<= 1)
				ck_assert(more == U ||
					  tsct_tsc_trusted(flags | more, in_step));
		}
	}
}

static void check_reason(__u32 flags, const char *word)
{
	const char *reason = tsct_tsc_trust_reason(flags);

	ck_assert_msg(strstr(reason, word), "%#x: '%s' lacks '%s'", flags,
		      reason, word);
}

TEST(test_reasons)
{
	check_reason(I | N | A | C, "RDTSCP");
	check_reason(R | U | I | N | A, "unstable");
	check_reason(R | A, "not invariant");
	check_reason(R | I | A, "not invariant");
	check_reason(R | I | N, "differ");
	check_reason(R | C | TSCT_CHECK_USABLE, "clocksource is the TSC");
	check_reason(R | I | N | TSCT_CHECK_USABLE, "passed");
}

TEST(test_aux_value)
{
	ck_assert_uint_eq(tsct_aux_value(0, 0), 0);
	ck_assert_uint_eq(tsct_aux_value(5, 3), 0x3005);
	ck_assert_uint_eq(tsct_aux_value(4095, 1), 0x1fff);
	/* A CPU id of 13 bits shares bits with the node. */
	ck_assert_uint_eq(tsct_aux_value(4096, 2), 0x3000);
	ck_assert_uint_eq(tsct_aux_value(4097, 1), 0x1001);
}

/* ---- bounds on the skew of two counters ---------------------------------- */

static struct tsct_skew_interval skew;

static void begin(void)
{
	tsct_skew_interval_init(&skew);
}

CASE("skew", begin, NULL);

static void check_same(const struct tsct_skew_interval *before)
{
	ck_assert_int_eq(skew.min_cycles, before->min_cycles);
	ck_assert_int_eq(skew.max_cycles, before->max_cycles);
	ck_assert_uint_eq(skew.rounds, before->rounds);
}

TEST(test_rejects_bad_intervals)
{
	struct tsct_skew_interval before;

	ck_assert_int_eq(tsct_skew_interval_add(&skew, 1000, 1050, 1100), 0);
	before = skew;
	/* Invalid: an interval whose third counter value is before the first */
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 1100, 1050, 1000), -EINVAL);
	check_same(&before);
	/* Invalid: the other CPU's counter jumped forward, then back. */
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 2000, 9000, 2100), -EINVAL);
	check_same(&before);
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 2000, 10, 2100), -EINVAL);
	check_same(&before);
	/* Invalid: distances that do not fit a signed 64-bit number */
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 0, 1ULL << 63, 1), -EINVAL);
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 0, 5, UINT64_MAX), -EINVAL);
	check_same(&before);
}

/* For any skew and delays, the bounds on the skew are those of the narrowest exchanges, even
 * if only one value is left, and the true skew is within. */
TEST(test_truth_inside)
{
	for (int run = 0; run < 300; run++) {
		int64_t truth = (int64_t)(any64() >> (2 + any(62))) *
			(any(2) ? 1 : -1), least = INT64_MIN, most = INT64_MAX;
		uint64_t a = any64() >> 1;

		begin();
		for (unsigned int round = 0; round < 64; round++, a += 1000) {
			int64_t to = any(500), fro = any(500);

			ck_assert_int_eq(skew.min_cycles, least);
			ck_assert_int_eq(skew.max_cycles, most);
			ck_assert_uint_eq(skew.rounds, round);
			ck_assert_int_eq(tsct_skew_interval_add(&skew, a,
				a + (uint64_t)(to + truth), a + (uint64_t)(to + fro)), 0);
			least = truth - fro > least ? truth - fro : least;
			most = truth + to < most ? truth + to : most;
			ck_assert_int_le(skew.min_cycles, truth);
			ck_assert_int_ge(skew.max_cycles, truth);
		}
		ck_assert_int_eq(skew.min_cycles, least);
		ck_assert_int_eq(skew.max_cycles, most);
	}
}

TEST(test_rounds_saturate)
{
	skew.rounds = UINT32_MAX;
	ck_assert_int_eq(tsct_skew_interval_add(&skew, 1, 2, 3), 0);
	ck_assert_uint_eq(skew.rounds, UINT32_MAX);
}
