// SPDX-License-Identifier: MIT
/* The TSC check from user space, on the CPUs of this machine */
#include <sched.h>
#include <sys/prctl.h>

#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "suite.h"

/* Checks that the table has an entry for each CPU on which the process may run, and one
 * reference CPU. */
static void check_table(const struct tsct_check *check,
			const struct tsct_cpu_check *table, const cpu_set_t *set)
{
	unsigned int i, references = 0;

	ck_assert_uint_eq(check->nr, CPU_COUNT(set));
	for (i = 0; i < check->nr; i++) {
		ck_assert(CPU_ISSET(table[i].cpu, set));
		ck_assert(table[i].flags & TSCT_CPU_ONLINE);
		ck_assert_int_le(table[i].skew_min_cycles, table[i].skew_max_cycles);
		references += !!(table[i].flags & TSCT_CPU_REFERENCE);
	}
	ck_assert_uint_eq(references, !!(check->flags & TSCT_CHECK_RDTSCP));
}

TEST(test_all_cpus)
{
	struct tsct_cpu_check table[CPU_SETSIZE];
	struct tsct_check check = {
		.table = (uintptr_t)table, .nr = CPU_SETSIZE
	};
	cpu_set_t before, after;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(tsct_tsc_check_run(&check), 0);
	check_table(&check, table, &before);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
}

TEST(test_small_table)
{
	struct tsct_cpu_check table[2] = { [1] = { .cpu = 12345 } };
	struct tsct_check check = { .table = (uintptr_t)table, .nr = 1 };

	ck_assert_int_eq(tsct_tsc_check_run(&check), 0);
	ck_assert_uint_ge(check.nr, 1);
	ck_assert_uint_eq(table[1].cpu, 12345);
	check.table = 0;
	check.nr = 0;
	ck_assert_int_eq(tsct_tsc_check_run(&check), 0);
	ck_assert_uint_ge(check.nr, 1);
}

/* If RDTSC is forbidden, the check fails without a signal. Only tsct_source_features() is
 * tested: the sanitizer's allocator reads the clock, and so the counter. */
TEST(test_rdtsc_forbidden)
{
	struct tsct_check check = { 0 };
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
			_exit(2);
		tsct_source_features(&check);
		_exit(check.flags & TSCT_CHECK_RDTSCP ? 3 : 0);
	}
	ck_assert_int_gt(pid, 0);
	expect_exit(pid, 0);
}
