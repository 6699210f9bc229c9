// SPDX-License-Identifier: MIT
/* What may happen to a machine. New ones go to the end: numbers stay. */
#include "sim.h"

static int64_t moment(const struct run *run, struct dice *dice)
{
	/* Not before the clock is synchronized for a first time */
	return roll_between(dice, 3 * SEC, run->plan.length_ps - 4 * SEC);
}

static void happens(struct run *run, int64_t at_ps, enum deed deed,
		    int64_t value)
{
	machine_add(&run->m, (struct event) {
		.at_ps = at_ps, .deed = deed, .value = value,
	});
}

static void steady(struct run *run, struct dice *dice)
{
	run->plan.late_every = roll_one_in(dice, 2) ? 10 : 0;
	run->plan.late_ps = 500 * MS;
}

/* As NTP daemons do: now and then the rate is changed by a little. */
static void ntp(struct run *run, struct dice *dice)
{
	int64_t at = 2 * SEC, ppb = roll_between(dice, -50000, 50000);

	happens(run, 0, DEED_STEER, ppb);
	while (at < run->plan.length_ps) {
		int64_t change = (int64_t)roll_log(dice, 1, 2000);

		ppb += roll_sign(dice) ? change : -change;
		happens(run, at, DEED_STEER, ppb);
		at += (int64_t)roll_log(dice, 4.5e12, 64e12);
	}
}

static void other_crystal(struct run *run, struct dice *dice)
{
	run->m.wander_ppt = (unsigned int)roll_log(dice, 1, 100);
}

static void warm(struct run *run, struct dice *dice)
{
	int64_t at = moment(run, dice);
	int64_t ppb = roll_between(dice, -10, 10);

	happens(run, at, DEED_RAMP, ppb);
	happens(run, at + 10 * SEC, DEED_RAMP, -ppb);
	happens(run, at + 20 * SEC, DEED_RAMP, 0);
}

static int64_t step_ns(struct dice *dice, double low, double high)
{
	int64_t ns = (int64_t)roll_log(dice, low, high);

	return roll_sign(dice) ? ns : -ns;
}

static void step_at(struct run *run, struct dice *dice, int64_t at, bool told)
{
	machine_add(&run->m, (struct event) {
		.at_ps = at, .deed = DEED_STEP, .told = told, .must = true,
		.value = step_ns(dice, told ? 1 : 5e6, 1e16),
	});
}

static void step(struct run *run, struct dice *dice, bool told)
{
	step_at(run, dice, moment(run, dice), told);
}

static void steps(struct run *run, struct dice *dice)
{
	unsigned int nr = 1 + roll(dice, 3);

	run->plan.length_ps += 40 * SEC;
	while (nr--)
		step(run, dice, roll_sign(dice));
}

/* Nobody says so, and they might as well be slews */
static void small_steps(struct run *run, struct dice *dice)
{
	happens(run, moment(run, dice), DEED_STEP, step_ns(dice, 1, 5e5));
}

/* From one steering to the other and back again, faster than ppb */
static void slew(struct run *run, struct dice *dice, double low, double high,
		 bool must)
{
	int64_t at = moment(run, dice) / 2, ppb = step_ns(dice, low, high);
	int64_t back = at + roll_between(dice, 4500 * MS, 12 * SEC);

	machine_add(&run->m, (struct event) {
		.at_ps = at, .deed = DEED_STEER, .value = ppb, .must = must,
	});
	machine_add(&run->m, (struct event) {
		.at_ps = back, .deed = DEED_STEER, .must = must,
		.value = roll_between(dice, -20000, 20000),
	});
	run->plan.length_ps += 20 * SEC;
}

static void slow_slew(struct run *run, struct dice *dice)
{
	slew(run, dice, 500, 500000, false);
}

static void fast_slew(struct run *run, struct dice *dice)
{
	slew(run, dice, 500000, 100000000, false);
}

static void fastest_slew(struct run *run, struct dice *dice)
{
	slew(run, dice, 20000000, 100000000, true);
}

static void idle_kernel(struct run *run, struct dice *dice)
{
	run->m.clock.idle = 1 + roll(dice, 3);
}

static void suspend(struct run *run, struct dice *dice, enum deed deed,
		    uint64_t to)
{
	machine_add(&run->m, (struct event) {
		.at_ps = moment(run, dice), .deed = deed, .must = true,
		.told = deed == DEED_SLEEP_RESET || roll_sign(dice), .to = to,
		.value = (int64_t)roll_log(dice, 2e8, 3.6e12),
	});
	run->plan.length_ps += 10 * SEC;
}

static void suspend_stopped(struct run *run, struct dice *dice)
{
	suspend(run, dice, DEED_SLEEP, 0);
}

static void suspend_counting(struct run *run, struct dice *dice)
{
	suspend(run, dice, DEED_SLEEP_ON, 0);
}

static void suspend_reset(struct run *run, struct dice *dice)
{
	suspend(run, dice, DEED_SLEEP_RESET, roll(dice, 1000000));
}

static void late_daemon(struct run *run, struct dice *dice)
{
	ntp(run, dice);
	run->plan.late_every = 3;
	run->plan.late_ps = (int64_t)roll_log(dice, 1e11, 3e13);
	run->plan.length_ps = 100 * SEC;
}

static void dead_daemon(struct run *run, struct dice *dice)
{
	run->plan.dies_ps = moment(run, dice);
	run->plan.cleanly = roll_sign(dice);
	run->plan.length_ps += (int64_t)roll_log(dice, 1e13, 1.2e15);
}

static void restart(struct run *run, struct dice *dice)
{
	run->plan.dies_ps = moment(run, dice);
	run->plan.cleanly = roll_sign(dice);
	run->plan.resumes = true;
	run->plan.recalls = roll_sign(dice);
	run->plan.back_ps = run->plan.dies_ps +
		(int64_t)roll_log(dice, 2e9, 2e14);
	run->plan.length_ps = run->plan.back_ps + 20 * SEC;
}

static void restart_anew(struct run *run, struct dice *dice)
{
	restart(run, dice);
	run->plan.resumes = false;
}

static void set_while_dead(struct run *run, struct dice *dice)
{
	restart(run, dice);
	machine_add(&run->m, (struct event) {
		.at_ps = (run->plan.dies_ps + run->plan.back_ps) / 2,
		.deed = DEED_STEP, .value = step_ns(dice, 1e8, 1e13),
		.must = true,
	});
}

static void preempted(struct run *run, struct dice *dice)
{
	run->m.stall_every = 1 + (unsigned int)roll_log(dice, 1, 300);
	run->m.stall_ps = (int64_t)roll_log(dice, 1e6, 5e10);
}

static void asymmetric(struct run *run, struct dice *dice)
{
	run->m.asym = roll_sign(dice) ? 1000 : 0;
	run->m.jitter_ps = (int64_t)roll_log(dice, 100, 1e5);
}

static void traced(struct run *run, struct dice *dice)
{
	run->m.read_ps = roll_between(dice, 50 * US, 200 * US);
	run->m.jitter_ps = roll_between(dice, 1 * US, 100 * US);
}

static void traced_slewed(struct run *run, struct dice *dice)
{
	traced(run, dice);
	slew(run, dice, 500, 100000000, false);
}

static void hpet(struct run *run, struct dice *dice)
{
	run->m.read_ps = roll_between(dice, 300 * NS, 1500 * NS);
	run->m.jitter_ps = roll_between(dice, 1 * NS, 100 * NS);
}

static void nothing_more(struct run *run, struct dice *dice)
{
	(void)run;
	(void)dice;
}

static void cpus_apart(struct run *run, struct dice *dice)
{
	unsigned int cpu;

	run->m.nr_cpus = 2 + roll(dice, 7);
	for (cpu = 1; cpu < run->m.nr_cpus; cpu++)
		run->m.skew[cpu] = step_ns(dice, 1, 1e12);
}

static void counter_jumps(struct run *run, struct dice *dice)
{
	int64_t at = moment(run, dice);

	machine_add(&run->m, (struct event) {
		.at_ps = at, .deed = DEED_RECOUNT, .must = true,
		.to = roll_sign(dice) ? roll(dice, 1000) : roll(dice, 1ULL << 60),
	});
	run->plan.length_ps += 10 * SEC;
}

static void migrated(struct run *run, struct dice *dice)
{
	machine_add(&run->m, (struct event) {
		.at_ps = moment(run, dice), .deed = DEED_RATE, .must = true,
		.told = roll_sign(dice), .value = step_ns(dice, 50000, 2e8),
	});
	run->plan.length_ps += 10 * SEC;
}

static void fake(struct run *run, struct dice *dice)
{
	machine_add(&run->m, (struct event) {
		.at_ps = moment(run, dice), .deed = DEED_UNKNOWN, .must = true,
		.told = true,
	});
}

static void kernel_pairs(struct run *run, struct dice *dice)
{
	ntp(run, dice);
	run->m.has_snapshot = true;
}

static void kernel_pairs_slewed(struct run *run, struct dice *dice)
{
	slow_slew(run, dice);
	run->m.has_snapshot = true;
}

static void any_interval(struct run *run, struct dice *dice)
{
	ntp(run, dice);
	run->plan.interval_ps = (int64_t)roll_log(dice, 1e11, 2e12);
}

static void in_process(struct run *run, struct dice *dice)
{
	ntp(run, dice);
	run->plan.who = WHO_PROCESS;
	run->plan.lead_ps = 20 * US;
	run->plan.length_ps = (int64_t)roll_log(dice, 2e13, 1e15);
}

static void in_process_set(struct run *run, struct dice *dice)
{
	in_process(run, dice);
	run->plan.length_ps = 60 * SEC;
	step(run, dice, false);
}

/* More of them than are remembered */
static void many_epochs(struct run *run, struct dice *dice)
{
	int64_t at = 2 * SEC;
	unsigned int i, nr = 50 + roll(dice, 150);

	for (i = 0; i < nr; i++) {
		at += roll_between(dice, 1200 * MS, 5 * SEC);
		machine_add(&run->m, (struct event) {
			.at_ps = at, .deed = DEED_STEP, .told = true,
			.value = step_ns(dice, 1, 1e13),
		});
	}
	run->plan.length_ps = at + 5 * SEC;
}

/* More lines than are remembered */
static void long_run(struct run *run, struct dice *dice)
{
	run->plan.length_ps = (int64_t)roll_log(dice, 1e15, 4e15);
	ntp(run, dice);
}

static void everything(struct run *run, struct dice *dice)
{
	if (roll_sign(dice))
		preempted(run, dice);
	if (roll_sign(dice))
		asymmetric(run, dice);
	if (roll_sign(dice))
		idle_kernel(run, dice);
	run->plan.late_every = roll_sign(dice) ? 5 : 0;
	run->plan.late_ps = 4 * SEC;
	run->plan.no_recovery = true;
	run->plan.length_ps = 40 * SEC;
	slew(run, dice, 100, 1e8, false);
	/* Not within the slew: one could hide the other from all samples. */
	step_at(run, dice, 50 * SEC + moment(run, dice), roll_sign(dice));
	run->plan.length_ps = 130 * SEC;
	suspend(run, dice, DEED_SLEEP + roll(dice, 2), 0);
}

/* While the first line is still bent to where it ought to be */
static void early_steps(struct run *run, struct dice *dice)
{
	happens(run, roll_between(dice, 1050 * MS, 4 * SEC), DEED_STEP,
		step_ns(dice, 1, 5e5));
}

/* The same where lines begin long after the samples that they are made of */
static void early_steps_led(struct run *run, struct dice *dice)
{
	early_steps(run, dice);
	run->plan.lead_ps = (int64_t)roll_log(dice, 1e9, 4e11);
	run->plan.late_every = roll_sign(dice) ? 3 : 0;
	run->plan.late_ps = 3 * SEC;
}

/* And where not every sample counts */
static void early_steps_preempted(struct run *run, struct dice *dice)
{
	early_steps_led(run, dice);
	run->m.stall_every = 1 + roll(dice, 3);
	run->m.stall_ps = (int64_t)roll_log(dice, 1e6, 1e9);
}

/* And with samples before the line of the last one has begun */
static void early_steps_often(struct run *run, struct dice *dice)
{
	early_steps_led(run, dice);
	run->plan.interval_ps = (int64_t)roll_log(dice, 1e11, 2e12);
}

/* The second one while the clock is calibrated anew */
static void steps_together(struct run *run, struct dice *dice)
{
	int64_t at = moment(run, dice);

	step_at(run, dice, at, true);
	happens(run, at + roll_between(dice, 0, 50 * MS), DEED_STEP,
		step_ns(dice, 1, 1e16));
}

const struct scenario scenarios[] = {
	{ .name = "steady", .set_up = steady },
	{ .name = "ntp", .set_up = ntp },
	{ .name = "other-crystal", .set_up = other_crystal, .other_hz = 1.1e9 },
	{ .name = "warm", .set_up = warm, .other_hz = 1.1e9 },
	{ .name = "steps", .set_up = steps },
	{ .name = "small-steps", .set_up = small_steps },
	{ .name = "slow-slew", .set_up = slow_slew },
	{ .name = "fast-slew", .set_up = fast_slew },
	{ .name = "fastest-slew", .set_up = fastest_slew },
	{ .name = "idle-kernel", .set_up = idle_kernel },
	{ .name = "suspend-stopped", .set_up = suspend_stopped },
	{ .name = "suspend-counting", .set_up = suspend_counting },
	{ .name = "suspend-reset", .set_up = suspend_reset },
	{ .name = "late-daemon", .set_up = late_daemon },
	{ .name = "dead-daemon", .set_up = dead_daemon },
	{ .name = "restart", .set_up = restart },
	{ .name = "restart-anew", .set_up = restart_anew },
	{ .name = "set-while-dead", .set_up = set_while_dead },
	{ .name = "preempted", .set_up = preempted },
	{ .name = "asymmetric", .set_up = asymmetric },
	{ .name = "traced", .set_up = traced },
	{ .name = "traced-slewed", .set_up = traced_slewed },
	{ .name = "hpet-behind-tsc", .set_up = hpet, .other_hz = 14318180 },
	{ .name = "coarse-raw", .set_up = nothing_more, .source = TSCT_SOURCE_MONOTONIC_RAW,
	  .hz = 3579545 },
	{ .name = "jiffies", .set_up = nothing_more, .source = TSCT_SOURCE_MONOTONIC_RAW,
	  .hz = 250 },
	{ .name = "raw", .set_up = ntp, .source = TSCT_SOURCE_MONOTONIC_RAW },
	{ .name = "raw-slewed", .set_up = slow_slew, .source = TSCT_SOURCE_MONOTONIC_RAW },
	{ .name = "cpus-apart", .set_up = cpus_apart },
	{ .name = "counter-jumps", .set_up = counter_jumps, .other_hz = 1.1e9 },
	{ .name = "migrated", .set_up = migrated, .other_hz = 1.1e9 },
	{ .name = "fake", .set_up = fake },
	{ .name = "counter-2^32", .set_up = ntp, .counter = 1ULL << 32 },
	{ .name = "counter-2^53", .set_up = ntp, .counter = 1ULL << 53 },
	{ .name = "counter-2^63", .set_up = ntp, .counter = 1ULL << 63 },
	{ .name = "counter-wraps", .set_up = steps, .counter = ~0ULL },
	{ .name = "slow-counter", .set_up = ntp, .hz = 11000000 },
	{ .name = "fast-counter", .set_up = ntp, .hz = 9e10 },
	{ .name = "kernel-pairs", .set_up = kernel_pairs },
	{ .name = "kernel-pairs-slewed", .set_up = kernel_pairs_slewed },
	{ .name = "any-interval", .set_up = any_interval },
	{ .name = "in-process", .set_up = in_process },
	{ .name = "in-process-set", .set_up = in_process_set },
	{ .name = "everything", .set_up = everything },
	{ .name = "many-epochs", .set_up = many_epochs },
	{ .name = "long-run", .set_up = long_run },
	{ .name = "early-steps", .set_up = early_steps },
	{ .name = "early-steps-led", .set_up = early_steps_led },
	{ .name = "early-steps-preempted", .set_up = early_steps_preempted },
	{ .name = "early-steps-often", .set_up = early_steps_often },
	{ .name = "steps-together", .set_up = steps_together },
};

const unsigned int nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
