/* SPDX-License-Identifier: MIT */
/* The daemon's keeper on a simulated machine, and what it makes of a module. */
#include <check.h>
#include <stdarg.h>

#include "simclock.h"

#include "../../daemon/keeper.c"

static struct sim sim;
static struct keeper keeper;

/* The world around the keeper */
static int source, module_source;	/* module_source -1: not loaded */
static __u32 mark;
static bool gave_up;
static struct tsct_clock_state file, module;
static unsigned int published;
static char logged[8192];

void log_say(int level, const char *format, ...)
{
	size_t len = strlen(logged);
	va_list args;

	(void)level;
	va_start(args, format);
	vsnprintf(logged + len, sizeof(logged) - len, format, args);
	va_end(args);
}

static bool said(const char *what)
{
	bool found = strstr(logged, what) != NULL;

	logged[0] = '\0';
	return found;
}

static int choose(void *ctx, char *why, size_t size)
{
	(void)ctx;
	snprintf(why, size, "%s: for a test", tsct_source_name(source));
	return source;
}

static __u32 source_mark(void *ctx)
{
	(void)ctx;
	return mark;
}

static __u64 stamp_raw(void *ctx)
{
	return (__u64)sim_clock(ctx, CLOCK_MONOTONIC_RAW);
}

static const struct tsct_clock_ops *clock_ops(void *ctx, int which)
{
	(void)ctx;
	sim.ops.stamp = which == TSCT_SOURCE_TSC ? sim_stamp : stamp_raw;
	return &sim.ops;
}

/* The rules of publisher_set() and of the module */
static int publish_both(void *ctx, const struct tsct_clock_state *state)
{
	(void)ctx;
	ck_assert_int_eq(tsct_clock_state_check(state), 0);
	if (module_source >= 0 && !gave_up) {
		if (module.source != state->source ||
		    module.epoch > state->epoch)
			return -ESTALE;
		module = *state;
	}
	ck_assert_uint_ge(state->epoch, file.epoch);
	file = *state;
	published++;
	return 0;
}

static void last(void *ctx, struct tsct_clock_state *ret_state)
{
	__u32 epoch = file.epoch;

	(void)ctx;
	*ret_state = file;
	if (module_source >= 0 && !gave_up &&
	    (module.epoch > epoch || module.source != file.source))
		*ret_state = module;
	if (epoch > ret_state->epoch)
		ret_state->epoch = epoch;
}

static void give_up_module(void *ctx)
{
	(void)ctx;
	gave_up = true;
}

static const struct env env = {
	NULL, choose, source_mark, clock_ops, publish_both, last,
	give_up_module,
};

static void load_module(int counts)
{
	memset(&module, 0, sizeof(module));
	module.source = (__u32)counts;
	module_source = counts;
}

static void start(void)
{
	seed_with(1);
	sim_init(&sim, 2.4e9);
	memset(&file, 0, sizeof(file));
	source = TSCT_SOURCE_TSC;
	module_source = -1;
	gave_up = false;
	logged[0] = '\0';
	ck_assert_int_eq(keeper_start(&keeper, &env), 0);
	ck_assert_uint_eq(file.status, TSCT_STATUS_CALIBRATING);
	ck_assert_uint_eq(file.epoch, 1);
}

static void go_on(unsigned int ticks)
{
	while (ticks--) {
		unsigned int before = published;

		sim_advance(&sim, 1000000000);
		ck_assert_int_eq(keeper_tick(&keeper), 0);
		ck_assert_uint_eq(published, before + 1);
	}
}

/* What is published says what time it is. */
static void check_time(const struct tsct_clock_state *state)
{
	__u64 stamp = state->source == TSCT_SOURCE_TSC ? sim_counter(&sim) :
		(__u64)sim_raw(&sim);
	int64_t off = tsct_pair_ns(&state->real, stamp) - sim_real(&sim);

	ck_assert_uint_le((uint64_t)llabs(off),
			  tsct_pair_error_ps(&state->real, stamp) / 1000 + 1);
}

START_TEST(test_life)
{
	start();
	ck_assert(said("source tsc: for a test"));
	go_on(5);
	ck_assert_uint_eq(file.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert(said("clock synchronized: 2400000"));
	check_time(&file);
	keeper_stop(&keeper);
	ck_assert_uint_eq(file.status, TSCT_STATUS_HOLDOVER);
	/* The next one goes on in the same epoch... */
	sim_advance(&sim, 3000000000);
	ck_assert_int_eq(keeper_start(&keeper, &env), 0);
	ck_assert_uint_eq(file.epoch, 1);
	check_time(&file);
	/* ...but not from a time that is void. */
	keeper_stop(&keeper);
	sim_advance(&sim, 1001000000000);
	ck_assert_int_eq(keeper_start(&keeper, &env), 0);
	ck_assert_uint_eq(file.epoch, 2);
	check_time(&file);
}
END_TEST

START_TEST(test_module_comes_and_goes)
{
	start();
	go_on(3);
	load_module(TSCT_SOURCE_TSC);
	go_on(1);
	ck_assert_mem_eq(&module, &file, sizeof(file));
	module_source = -1;
	go_on(2);
	load_module(TSCT_SOURCE_TSC);
	go_on(1);
	ck_assert_mem_eq(&module, &file, sizeof(file));
	ck_assert_uint_eq(file.epoch, 1);
}
END_TEST

/* The module saw a suspend that did not show in any clock. */
START_TEST(test_module_disrupted)
{
	start();
	load_module(TSCT_SOURCE_TSC);
	go_on(3);
	memset(&module, 0, sizeof(module));
	module.epoch = 7;
	module.status = TSCT_STATUS_DISRUPTED;
	go_on(1);
	ck_assert_uint_eq(module.epoch, 7);
	ck_assert_uint_eq(module.status, TSCT_STATUS_DISRUPTED);
	ck_assert_mem_eq(&module, &file, sizeof(file));
	go_on(1);
	ck_assert_uint_eq(module.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(module.epoch, 7);
	check_time(&module);
}
END_TEST

START_TEST(test_source_changes)
{
	start();
	go_on(3);
	/* The kernel gives the TSC up: noticed within ten ticks. */
	source = TSCT_SOURCE_MONOTONIC_RAW;
	mark++;
	go_on(10);
	ck_assert_uint_eq(file.source, TSCT_SOURCE_MONOTONIC_RAW);
	ck_assert_uint_eq(file.epoch, 2);
	check_time(&file);
	go_on(2);
	ck_assert_uint_eq(file.status, TSCT_STATUS_SYNCHRONIZED);
	/* A module comes that counts TSC after all. */
	load_module(TSCT_SOURCE_TSC);
	source = TSCT_SOURCE_TSC;
	go_on(1);
	ck_assert_uint_eq(file.source, TSCT_SOURCE_TSC);
	ck_assert_uint_eq(file.epoch, 3);
	ck_assert_mem_eq(&module, &file, sizeof(file));
	check_time(&file);
	/* One comes whose stamps we cannot read. */
	load_module(TSCT_SOURCE_MONOTONIC);
	go_on(1);
	ck_assert(gave_up);
	ck_assert(said("leaving it alone"));
	ck_assert_uint_eq(module.status, TSCT_STATUS_UNKNOWN);
	go_on(3);
	ck_assert_uint_eq(file.status, TSCT_STATUS_SYNCHRONIZED);
	check_time(&file);
}
END_TEST

START_TEST(test_step)
{
	start();
	go_on(3);
	sim_step(&sim, 5000000000);
	logged[0] = '\0';
	go_on(1);
	ck_assert_uint_eq(file.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(file.epoch, 2);
	ck_assert(said("epoch 2 begins"));
	go_on(1);
	ck_assert_uint_eq(file.status, TSCT_STATUS_SYNCHRONIZED);
	check_time(&file);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("keeper");
	Suite *suite = suite_create("keeper");
	SRunner *runner;
	int failed;

	print_seed();
	tcase_add_test(tcase, test_life);
	tcase_add_test(tcase, test_module_comes_and_goes);
	tcase_add_test(tcase, test_module_disrupted);
	tcase_add_test(tcase, test_source_changes);
	tcase_add_test(tcase, test_step);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
