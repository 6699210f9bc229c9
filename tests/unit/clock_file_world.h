/* SPDX-License-Identifier: MIT */
/*
 * A daemon's clock file for tests, without a daemon. Cycles are nanoseconds of
 * MONOTONIC_RAW, so that the rate is 1. The state is in epoch 4, and has
 * segments of the past (times: from the last sample):
 *
 *	from -300 s	epoch 3, straight
 *	from -200 s	epoch 3, slewing by 488 ppm for 8 s, then straight
 *	  after -150 s	no samples: disrupted
 *	from -100 s	epoch 4: CLOCK_REALTIME was set an hour ahead
 *	at 0		the last sample
 */
#ifndef TESTS_CLOCK_FILE_WORLD_H
#define TESTS_CLOCK_FILE_WORLD_H

#include <sys/timex.h>

#include "lib/clock/clock_page.h"
#include "lib/clock/clock_source.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clock/clock_sample.h"
#include "suite.h"

/* The default clock is the module's where that is loaded. */
static inline const char *module_loaded(void)
{
	return access(TSCT_DEVICE_PATH, F_OK) ? NULL : "the module is loaded";
}

#define SECOND		1000000000LL
#define NR_CPUS		4
#define ONE		(1ULL << TSCT_CLOCK_SHIFT)
#define SLEW_NS		8192000000LL	/* duration of the slew, ns; meanwhile the clock
					 * is fast by 1/2048 */
#define SLEWED_NS	4000000LL	/* offset corrected by the slew, ns */
#define STEP_NS		(3600 * SECOND)
#define AREA_SIZE	TSCT_CLOCK_SIZE(NR_CPUS)

static char dir[64], path[80];
static union {
	struct tsct_clock_page page;
	char bytes[2 * AREA_SIZE];
} area;
#define the_page	(&area.page)
static uint64_t zero;		/* cycles of the last sample in the file */
static int64_t zero_ns;		/* time of the last sample in the file, ns */
static bool never_set;		/* true: CLOCK_REALTIME was not set, so that epoch 3
				 * lasts to the last sample, and there is no epoch 4 */

static inline int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static inline void set_samples(struct tsct_clock_params *pair, uint64_t as_of)
{
	pair->as_of_cycles = as_of;
	pair->holdover_after_cycles = as_of + 5 * SECOND;
	pair->void_after_cycles = as_of + 1000 * SECOND;
	pair->fast_cycles = pair->slew_mult == pair->mult ?
		pair->holdover_after_cycles - pair->base_cycles : pair->slew_cycles;
}

static inline void begin_params(struct tsct_clock_state *state, int64_t at_s,
				int64_t base_ns)
{
	state->real.base_cycles = zero + (uint64_t)(at_s * SECOND);
	state->real.base_ns = base_ns;
	set_samples(&state->real, state->real.base_cycles);
	tsct_latch_write(the_page, state);
}

static inline void confirm_params(struct tsct_clock_state *state, int64_t at_s)
{
	set_samples(&state->real, zero + (uint64_t)(at_s * SECOND));
	tsct_latch_write(the_page, state);
}

static inline void make_page(void)
{
	struct tsct_clock_state state = {
		.status = TSCT_STATUS_SYNCHRONIZED,
		.source = TSCT_SOURCE_MONOTONIC_RAW,
		.epoch = 3,
		.cause = TSCT_CAUSE_SUSPEND,
		.rate_mult = ONE,
		.rate_error_ppt = 10000,
		.real = {
			.mult = ONE, .slew_mult = ONE,
			.error_ps = 50000, .past_error_ps = 60000,
			.growth = tsct_growth(ONE, 2000),
			.holdover_growth = tsct_growth(ONE, 15000),
		},
	};
	__u8 boot_id[16];

	zero = tsct_cycles_read(TSCT_SOURCE_MONOTONIC_RAW);
	zero_ns = now_ns(CLOCK_REALTIME);
	ck_assert_int_eq(tsct_boot_id(boot_id), 0);
	memset(&area, 0, sizeof(area));
	tsct_latch_init(the_page, boot_id, state.source, NR_CPUS);
	begin_params(&state, -300, zero_ns - STEP_NS - SLEWED_NS - 300 * SECOND);
	confirm_params(&state, -250);
	state.real.slew_mult = ONE + ONE / 2048;
	state.real.slew_cycles = SLEW_NS;
	state.closing_error_ps = 70000;
	begin_params(&state, -200, zero_ns - STEP_NS - SLEWED_NS - 200 * SECOND);
	confirm_params(&state, -150);
	if (never_set) {
		confirm_params(&state, 0);
		return;
	}
	state.real.slew_mult = ONE;
	state.real.slew_cycles = 0;
	state.epoch = 4;
	state.cause = TSCT_CAUSE_STEP;
	state.epoch_cycles = zero - 100 * SECOND;
	begin_params(&state, -100, zero_ns - 100 * SECOND);
	confirm_params(&state, 0);
}

/* Executes statements on `s`, for the state in each of the clock page's two copies. */
#define CHANGE(...) do {						\
	struct tsct_clock_copy *copy_;					\
	for (copy_ = the_page->copy; copy_ < the_page->copy + 2; copy_++) {	\
		struct tsct_clock_state *s __attribute__((unused)) =	\
			&copy_->state;					\
		__VA_ARGS__;						\
	}								\
} while (0)

static inline void write_page(size_t size)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, &area, size), (ssize_t)size);
	close(fd);
}

/* Overwrites the clock file in place, so that its mappings show the new contents. */
static inline void rewrite_page(void)
{
	int fd = open(path, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, &area, AREA_SIZE, 0), (ssize_t)AREA_SIZE);
	close(fd);
}

/* Changes the state as CHANGE() does, in the file, too. */
#define CHANGE_FILE(...) do {						\
	CHANGE(__VA_ARGS__);						\
	rewrite_page();							\
} while (0)

/* Adjustment of CLOCK_REALTIME by adjtimex(). Conversions of times after the last
 * sample can be checked only if it has not changed since. */
static struct timex steering;

static inline struct timex steering_now(void)
{
	struct timex now = { .modes = 0 };

	adjtimex(&now);
	return now;
}

static inline bool steering_changed(void)
{
	struct timex now = steering_now();

	return now.freq != steering.freq || now.tick != steering.tick ||
		now.offset || steering.offset;
}

static inline void setup(void)
{
	strcpy(dir, "/tmp/check_clock.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" TSCT_CLOCK_FILE, dir);
	setenv("TSCTRACE_RUN_DIR", dir, 1);
	steering = steering_now();
	make_page();
	write_page(AREA_SIZE);
}

static struct tsct_clock *opened;	/* teardown() closes it */

static inline void teardown(void)
{
	tsct_clock_close(opened);
	unlink(path);
	rmdir(path);
	rmdir(dir);
}

/* Returns whether cycles read now convert to a time between two readings of
 * CLOCK_REALTIME. */
static inline bool right_now(const struct tsct_clock *clock)
{
	int64_t before = now_ns(CLOCK_REALTIME), after;
	struct tsct_time t;
	uint64_t cycles = tsct_clock_cycles(clock);

	after = now_ns(CLOCK_REALTIME) + 1;
	if (tsct_clock_cycles_to_time(clock, cycles, &t))
		return false;
	if (t.ns + (int64_t)t.error_ns >= before &&
	    t.ns - (int64_t)t.error_ns <= after)
		return true;
	return steering_changed();
}

static inline struct tsct_clock *open_file_clock(void)
{
	ck_assert_int_eq(tsct_clock_open(&opened), 0);
	ck_assert_str_eq(tsct_clock_origin(opened), "daemon");
	ck_assert_uint_eq(opened->source, TSCT_SOURCE_MONOTONIC_RAW);
	return opened;
}

static inline void setup_open(void)
{
	setup();
	open_file_clock();
}

static inline struct tsct_clock_state snapshot(const struct tsct_clock *clock)
{
	struct tsct_clock_state state;

	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), 0);
	return state;
}

/* Returns the point in time that is @at_ns after the last sample. */
static inline struct tsct_time_point point(int64_t at_ns, uint32_t cpu)
{
	return (struct tsct_time_point) {
		.cycles = zero + (uint64_t)at_ns, .cpu = cpu,
	};
}

#endif /* TESTS_CLOCK_FILE_WORLD_H */
