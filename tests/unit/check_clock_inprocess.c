/* SPDX-License-Identifier: MIT */
/*
 * The in-process clock, called from threads, child processes, signal handlers and
 * sandboxes.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/clock/clock_private.h"
#include "clock_file_world.h"
#include "simclock.h"

/* Opens an in-process clock: the module must not be loaded, and setup() has removed the
 * daemon's file. */
static struct tsct_clock *open_own(void)
{
	struct tsct_clock *clock;

	unlink(path);
	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	ck_assert_str_eq(tsct_clock_origin(clock), "in-process");
	ck_assert_ptr_nonnull(strstr(tsct_clock_reason(clock), path));
	ck_assert_ptr_nonnull(strstr(tsct_clock_reason(clock), "clocksource: "));
	return clock;
}

CASE("clock_inprocess", setup, teardown, .missing = module_loaded);

TEST(test_accuracy)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	struct tsct_clock *clock = open_own();
	struct tsct_clock_state first, later;

	printf("# opened in %.1f ms\n",
	       (double)(now_ns(CLOCK_MONOTONIC) - begin) / 1e6);
	ck_assert_int_eq(tsct_clock_snapshot(clock, &first), 0);
	ck_assert_uint_eq(first.status, TSCT_STATUS_CALIBRATING);
	/* By then the clock has taken a second sample, unless a busy machine makes all too wide. */
	for (int i = 0; i < 240 || (i < 20000 && later.status != TSCT_STATUS_SYNCHRONIZED); i++) {
		ck_assert(right_now(clock));
		usleep(10000);
		ck_assert_int_eq(tsct_clock_snapshot(clock, &later), 0);
	}
	ck_assert_uint_eq(later.status, TSCT_STATUS_SYNCHRONIZED);
	if (clock->source == TSCT_SOURCE_TSC)
		ck_assert_uint_lt(later.rate_error_ppt,
				  first.rate_error_ppt / 2);
	ck_assert_uint_gt(later.real.as_of_cycles, first.real.as_of_cycles);
	ck_assert_uint_eq(later.epoch, first.epoch);
	tsct_clock_close(clock);
	tsct_clock_close(NULL);
}

/* The clock takes one sample per second, and conversions between samples use the fast
 * path. */
TEST(test_sample_rate)
{
	struct tsct_clock *clock = open_own();
	int64_t until, ns, apart, shortest = INT64_MAX;
	uint64_t reads = 0, fast = 0, samples = 0, as_of = 0;
	struct tsct_clock_state state;

	ck_assert_int_eq(tsct_clock_wait_synced(clock, 5000, 0), 0);
	/* While tsct_clock_wait_synced() waits, more than one sample per second is
	 * taken. After 2.5 s, samples are a second apart again. */
	until = now_ns(CLOCK_MONOTONIC) + 5 * SECOND / 2;
	while (now_ns(CLOCK_MONOTONIC) < until) {
		tsct_clock_now_ns(clock);
		usleep(10000);
	}
	until = now_ns(CLOCK_MONOTONIC) + 20 * SECOND;
	/* A busy machine may stop this thread, which delays a sample. So only the shortest
	 * time between two samples is checked. */
	while ((samples < 4 || shortest >= SECOND * 3 / 2) &&
	       now_ns(CLOCK_MONOTONIC) < until) {
		fast += tsct_clock_fast_ns(clock, tsct_clock_cycles(clock),
					   &ns);
		reads++;
		tsct_clock_now_ns(clock);
		tsct_clock_snapshot(clock, &state);
		if (state.real.as_of_cycles == as_of)
			continue;
		/* The first sample is from before the loop. */
		apart = tsct_clock_delta_to_ns(clock, (int64_t)(state.real.as_of_cycles -
								as_of));
		if (samples++ && apart < shortest)
			shortest = apart;
		as_of = state.real.as_of_cycles;
	}
	printf("# %u reads, %u of them short, %u samples, at least %.3f s apart\n",
	       (unsigned int)reads, (unsigned int)fast, (unsigned int)samples,
	       (double)shortest / 1e9);
	ck_assert_uint_ge(samples, 4);
	ck_assert_int_ge(shortest, SECOND * 99 / 100);
	ck_assert_int_lt(shortest, SECOND * 3 / 2);
	/* There is no fast path for other counters than the TSC. On a busy machine, readings
	 * take the other one until a sample that is due is short enough. */
	if (clock->source == TSCT_SOURCE_TSC)
		ck_assert_uint_gt(fast, reads / 4);
	else
		ck_assert_uint_eq(fast, 0);
	tsct_clock_close(clock);
}

/* Past cycles keep their time to the nanosecond while new clock params are
 * published. */
TEST(test_past_times_are_constant)
{
	struct tsct_clock *clock = open_own();
	struct tsct_time then[300], now;
	uint64_t readings[300];

	for (unsigned int i = 0; i < 300; i++) {
		readings[i] = tsct_clock_cycles(clock);
		ck_assert_int_eq(tsct_clock_cycles_to_time(clock, readings[i],
						    &then[i]), 0);
		usleep(10000);
	}
	for (unsigned int i = 0; i < 300; i++) {
		ck_assert_int_eq(tsct_clock_cycles_to_time(clock, readings[i], &now), 0);
		ck_assert_uint_eq(now.epoch, then[i].epoch);
		ck_assert_int_eq(now.ns, then[i].ns);
	}
	tsct_clock_close(clock);
}

/* ---- threads ------------------------------------------------------------ */

/* Thread that converts cycles until the end of the test, without a lock. Returns NULL
 * if all times were right. */
static void *convert_along(void *clock)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + 3 * SECOND, last = 0, ns;
	void *wrong = NULL;

	while (now_ns(CLOCK_MONOTONIC) < until) {
		if (!right_now(clock))
			wrong = clock;
		ns = tsct_clock_now_ns(clock);
		if (ns < last)
			wrong = clock;
		last = ns;
		usleep(500);
	}
	return wrong;
}

/* Many threads and a child process need a sample of the same clock at the same time. */
TEST(test_threads)
{
	struct tsct_clock *clock = open_own();
	pthread_t threads[4];
	void *wrong;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		ck_assert(!pthread_create(&threads[i], NULL, convert_along,
					  clock));
	usleep(100000);
	pid = fork();
	if (!pid)
		_exit(convert_along(clock) ? 1 : 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	expect_exit(pid, 0);
	tsct_clock_close(clock);
}

/* ---- forks while a sample is taken -------------------------------------- */

static bool stop;

/* Thread that takes samples without a pause, so that nearly all forks happen during a
 * sample. */
static void *sample_all_the_time(void *head)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		tsct_clock_inprocess_sample(tsct_clock_full(head)->inprocess);
	return NULL;
}

/* A sample that a child process takes must be later than the inherited samples. */
static int sample_in_child(struct tsct_clock *clock)
{
	struct tsct_clock_state before, after;

	if (tsct_clock_snapshot(clock, &before))
		return 1;
	/* On a busy machine, many samples in succession may be too wide to be taken. */
	for (int i = 0; i < 5000; i++) {
		usleep(1000);
		tsct_clock_inprocess_sample(tsct_clock_full(clock)->inprocess);
		if (tsct_clock_snapshot(clock, &after) ||
		    after.epoch != before.epoch)
			return 2;
		if (after.real.as_of_cycles != before.real.as_of_cycles)
			return right_now(clock) ? 0 : 3;
	}
	return 4;
}

TEST(test_forks)
{
	struct tsct_clock *clock = open_own();
	pthread_t thread;
	pid_t pid;

	ck_assert(!pthread_create(&thread, NULL, sample_all_the_time, clock));
	for (int i = 0; i < 100; i++) {
		pid = fork();
		if (!pid)
			_exit(sample_in_child(clock));
		expect_exit(pid, 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tsct_clock_close(clock);
}

/* ---- signals ------------------------------------------------------------ */

static struct tsct_clock *handlers_clock;
static volatile sig_atomic_t handled, handled_wrong;

static void handler(int)
{
	handled++;
	if (!right_now(handlers_clock))
		handled_wrong++;
}

/* Conversions in a signal handler, on a stack of the smallest usual size */
TEST(test_signals)
{
	static char stack[64 << 10];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = {
		.sa_handler = handler, .sa_flags = SA_RESTART | SA_ONSTACK,
	};
	struct itimerspec every = {
		{ .tv_nsec = 300000 }, { .tv_nsec = 300000 },
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM,
	};
	struct tsct_clock *clock = open_own();
	int64_t begin = now_ns(CLOCK_MONOTONIC), ran = 0;
	timer_t timer;

	handlers_clock = clock;
	ck_assert_int_eq(sigaltstack(&alt, NULL), 0);
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &every, NULL), 0);
	/* A busy machine handles fewer signals per second. */
	for (; ran < 3 * SECOND || (handled <= 1000 && ran < 40 * SECOND);
	     ran = now_ns(CLOCK_MONOTONIC) - begin) {
		ck_assert(right_now(clock));
		/* takes a sample, which the signal handler interrupts often */
		tsct_clock_inprocess_sample(tsct_clock_full(clock)->inprocess);
	}
	timer_delete(timer);
	printf("# %d signals\n", (int)handled);
	ck_assert_int_gt(handled, 1000);
	ck_assert_int_eq(handled_wrong, 0);
	tsct_clock_close(clock);
}

/* ---- no system calls ---------------------------------------------------- */

/*
 * Installs a seccomp filter that allows exit, and the calls needed for sleeping and by
 * sanitizers. Any other system call kills the process.
 */
static void allow_nearly_nothing(void)
{
#define ALLOW(nr)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),	\
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_exit_group), ALLOW(SYS_clock_nanosleep),
		ALLOW(SYS_sigaltstack),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {
		.len = ROWS(filter), .filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(9);
}

/* Once a clock is open, its functions make no system call, not even to take a
 * sample. */
TEST(test_no_system_calls)
{
	struct tsct_clock *clock = open_own();
	struct tsct_clock_state before, after;
	pid_t pid;

	if (clock->source != TSCT_SOURCE_TSC) {
		printf("# clock_gettime() may be a system call here\n");
		tsct_clock_close(clock);
		return;
	}
	pid = fork();
	if (!pid) {
		allow_nearly_nothing();
		tsct_clock_snapshot(clock, &before);
		for (int i = 0; i < 130; i++) {
			if (!right_now(clock))
				_exit(1);
			usleep(10000);
		}
		tsct_clock_snapshot(clock, &after);
		_exit(after.real.as_of_cycles == before.real.as_of_cycles);
	}
	expect_exit(pid, 0);
	tsct_clock_close(clock);
}

/* ---- disruptions -------------------------------------------------------- */

#define HZ	2596104055.0

static struct sim sim;
static struct tsct_clock_inprocess *inprocess;

static void start_sim(void)
{
	sim_init(&sim, HZ);
	inprocess = tsct_clock_inprocess_open(TSCT_SOURCE_TSC, &sim.ops);
	ck_assert_ptr_nonnull(inprocess);
}

/* Returns the present time of the in-process clock. Refines the clock before, as
 * tsct_clock_cycles_to_time() does. */
static struct tsct_clock_time convert_now(void)
{
	struct tsct_clock_time reading = { .status = TSCT_STATUS_DISRUPTED };
	uint64_t cycles = sim_counter(&sim);
	int64_t true_ns = sim_real(&sim), apart;

	tsct_clock_inprocess_refine(inprocess, cycles);
	/* It fails only after a jump of the counter, to before all params. */
	if (tsct_latch_lookup(tsct_clock_inprocess_page(inprocess), cycles, &reading))
		ck_assert_uint_ne(sim.counter_from_ps, 0);
	apart = reading.ns - true_ns;
	if (reading.status != TSCT_STATUS_DISRUPTED)
		ck_assert_int_le(llabs(apart),
				 (int64_t)reading.error_ps / 1000 + 1);
	return reading;
}

static struct tsct_clock_time convert_after(uint64_t ns)
{
	sim_advance(&sim, ns);
	return convert_now();
}

static struct tsct_clock_time convert_again(uint64_t cycles)
{
	struct tsct_clock_time reading = { 0 };

	ck_assert_int_eq(tsct_latch_lookup(tsct_clock_inprocess_page(inprocess), cycles,
					   &reading), 0);
	return reading;
}

/* After any disruption, the next conversion gives a time again, and it is right. */
static void disrupt(void (*make_disruption)(void))
{
	uint64_t good, lost;
	struct tsct_clock_time then, now;
	int64_t good_ns;

	start_sim();
	for (int i = 0; i < 50; i++)
		now = convert_after(300000000);
	ck_assert_uint_eq(now.status, TSCT_STATUS_SYNCHRONIZED);
	then = now;
	good = tsct_clock_inprocess_page(inprocess)->copy[0].state.real.as_of_cycles;
	good_ns = convert_again(good).ns;
	sim_advance(&sim, 200000000);
	lost = sim_counter(&sim);
	make_disruption();
	now = convert_after(1500000000);
	/* The new epoch must get clock params within two samples. */
	for (int i = 0; i < 3 && now.status == TSCT_STATUS_DISRUPTED; i++)
		now = convert_after(20000000);
	ck_assert_uint_ne(now.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_gt(now.epoch, then.epoch);
	for (int i = 0; i < 10; i++)
		now = convert_after(300000000);
	ck_assert_uint_eq(now.status, TSCT_STATUS_SYNCHRONIZED);
	/* Cycles before the disruption keep their times; cycles between the epochs have
	 * no time. */
	if (sim.counter_from_ps)
		return;
	ck_assert_uint_eq(convert_again(good).epoch, then.epoch);
	ck_assert_int_eq(convert_again(good).ns, good_ns);
	ck_assert_uint_eq(convert_again(lost).status, TSCT_STATUS_DISRUPTED);
}

static void step_forward(void)
{
	sim_step(&sim, 3600 * SECOND);
}

static void step_back(void)
{
	sim_step(&sim, -3600 * SECOND);
}

static void sleep_a_minute(void)
{
	/* During a suspend MONOTONIC_RAW stands still, and so does the simulated
	 * counter. */
	sim.real_ns += 60 * SECOND;
}

static void reset_counter(void)
{
	sim_recount(&sim, 1000, HZ);
}

static void jump_ahead(void)
{
	sim_recount(&sim, sim_counter(&sim) + (uint64_t)(30 * HZ), HZ);
}

static void change_rate(void)
{
	sim_recount(&sim, sim_counter(&sim), HZ * 1.01);
}

LOOP_TEST(test_disruptions, 0, 6)
{
	static void (*const happenings[])(void) = {
		step_forward, step_back, sleep_a_minute, reset_counter,
		jump_ahead, change_rate,
	};

	disrupt(happenings[_i]);
	tsct_clock_inprocess_close(inprocess);
}

/* Changes of the clock's rate up to the limit of adjtime() are no disruption. */
LOOP_TEST(test_rate_changes, 0, 5)
{
	struct tsct_clock_time now;
	uint32_t epoch;

	start_sim();
	for (int i = 0; i < 20; i++)
		now = convert_after(300000000);
	epoch = now.epoch;
	for (int i = 0; i < 40; i++) {
		/* Reads the clock just before a sample, when a changed rate has had its
		 * largest effect. */
		sim_advance(&sim, 1100000000);
		now = convert_now();
		sim_steer(&sim, (int64_t)any(20) - 10);
	}
	ck_assert_uint_eq(now.epoch, epoch);
	ck_assert_uint_eq(now.status, TSCT_STATUS_SYNCHRONIZED);
	tsct_clock_inprocess_close(inprocess);
}

/* ---- the default clock -------------------------------------------------- */

TEST(test_default)
{
	struct tsct_clock *clock = tsct_clock_default();

	ck_assert_ptr_nonnull(clock);
	ck_assert_ptr_eq(tsct_clock_default(), clock);
	ck_assert(right_now(clock));
	tsct_clock_close(clock);	/* The default clock is never closed: the
					 * call has no effect. */
	ck_assert(right_now(clock));
}
