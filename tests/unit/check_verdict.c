// SPDX-License-Identifier: MIT
/* Who may stamp with the TSC */
#include <check.h>
#include <stdlib.h>

#include "lib/core/tsc_trust.h"
#include "suite.h"

#define R	TSCT_CHECK_RDTSCP
#define I	TSCT_CHECK_INVARIANT
#define N	TSCT_CHECK_NONSTOP
#define U	TSCT_CHECK_UNSTABLE
#define C	TSCT_CHECK_CLOCKSOURCE
#define A	TSCT_CHECK_AUX_MATCH
#define ALL	(R | I | N | U | C | A)

START_TEST(kernel_vouches)
{
	/* The kernel's word is enough, but not without the instruction. */
	ck_assert(tsct_tsc_trusted(R | C, false, false));
	ck_assert(!tsct_tsc_trusted(C | I | N | A, true, false));
	/* The module asks for TSC_AUX on top. */
	ck_assert(!tsct_tsc_trusted(R | C | I | N, true, true));
	ck_assert(tsct_tsc_trusted(R | C | A, false, true));
}
END_TEST

START_TEST(stands_alone)
{
	ck_assert(tsct_tsc_trusted(R | I | N | A, true, false));
	ck_assert(tsct_tsc_trusted(R | I | N | A, true, true));
	ck_assert(!tsct_tsc_trusted(R | I | N | A, false, false));
	ck_assert(!tsct_tsc_trusted(R | I | A, true, false));
	ck_assert(!tsct_tsc_trusted(R | N | A, true, false));
	ck_assert(!tsct_tsc_trusted(R | I | N, true, false));
}
END_TEST

/* Over all combinations: what never, and what more can only help. */
START_TEST(all)
{
	bool in_step = _i & 1, strict = _i & 2, usable;
	__u32 flags, more;

	for (flags = 0; flags <= ALL; flags++) {
		usable = tsct_tsc_trusted(flags, in_step, strict);
		if (!(flags & R) || flags & U || (strict && !(flags & A)))
			ck_assert(!usable);
		if (usable) {
			ck_assert(tsct_tsc_trusted(flags, true, strict));
			ck_assert(tsct_tsc_trusted(flags, in_step, false));
			for (more = I; more <= A; more <<= 1)
				ck_assert(more == U || tsct_tsc_trusted(flags | more,
							in_step, strict));
		}
	}
}
END_TEST

static void check_reason(__u32 flags, bool strict, const char *word)
{
	const char *reason = tsct_tsc_trust_reason(flags, strict);

	ck_assert_msg(strstr(reason, word), "%#x: '%s' lacks '%s'", flags,
		      reason, word);
}

START_TEST(reasons)
{
	check_reason(I | N | A | C, false, "RDTSCP");
	check_reason(R | U | I | N | A, false, "unstable");
	check_reason(R | C | I | N, true, "TSC_AUX");
	check_reason(R | A, false, "not invariant");
	check_reason(R | I | A, false, "not invariant");
	check_reason(R | I | N, false, "TSC_AUX");
	check_reason(R | I | N | A, false, "apart");
	check_reason(R | C | TSCT_CHECK_USABLE, false, "keeps time");
	check_reason(R | I | N | A | TSCT_CHECK_USABLE, false, "agrees");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verdict");
	TCase *tests = tcase_create("verdict");

	tcase_add_test(tests, kernel_vouches);
	tcase_add_test(tests, stands_alone);
	tcase_add_loop_test(tests, all, 0, 4);
	tcase_add_test(tests, reasons);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
