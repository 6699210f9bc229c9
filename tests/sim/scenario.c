// SPDX-License-Identifier: MIT
/*
 * Scenarios: events of a simulated machine. New ones are added at the end, so that
 * their numbers stay the same.
 */
#include "sim.h"

static int64_t random_time(const struct run *run, struct random *random)
{
	/* Returns a random time after the first synchronization. */
	return random_between(random, 3 * PS_PER_S, run->plan.length_ps - 4 * PS_PER_S);
}

static void add_event(struct run *run, int64_t at_ps, enum event_kind kind,
		      int64_t value)
{
	machine_add(&run->m, (struct event) {
		.at_ps = at_ps, .kind = kind, .value = value,
	});
}

static void steady(struct run *run, struct random *random)
{
	run->plan.late_every = random_one_in(random, 2) ? 10 : 0;
	run->plan.late_ps = 500 * PS_PER_MS;
}

/* Changes the rate of REALTIME a little from time to time, as an NTP daemon does. */
static void ntp(struct run *run, struct random *random)
{
	int64_t at = 2 * PS_PER_S, ppb = random_between(random, -50000, 50000);

	add_event(run, 0, EVENT_STEER, ppb);
	while (at < run->plan.length_ps) {
		int64_t change = (int64_t)random_log_uniform(random, 1, 2000);

		ppb += random_bool(random) ? change : -change;
		add_event(run, at, EVENT_STEER, ppb);
		at += (int64_t)random_log_uniform(random, 4.5e12, 64e12);
	}
}

static void other_crystal(struct run *run, struct random *random)
{
	run->m.wander_ppt = (unsigned int)random_log_uniform(random, 1, 100);
}

static void warm(struct run *run, struct random *random)
{
	int64_t at = random_time(run, random);
	int64_t ppb = random_between(random, -10, 10);

	add_event(run, at, EVENT_COUNTER_RAMP, ppb);
	add_event(run, at + 10 * PS_PER_S, EVENT_COUNTER_RAMP, -ppb);
	add_event(run, at + 20 * PS_PER_S, EVENT_COUNTER_RAMP, 0);
}

static int64_t step_ns(struct random *random, double low, double high)
{
	int64_t ns = (int64_t)random_log_uniform(random, low, high);

	return random_bool(random) ? ns : -ns;
}

static void step_at(struct run *run, struct random *random, int64_t at,
		    bool notified)
{
	machine_add(&run->m, (struct event) {
		.at_ps = at, .kind = EVENT_STEP, .notified = notified, .new_epoch = true,
		.value = step_ns(random, notified ? 1 : 5e6, 1e16),
	});
}

static void step(struct run *run, struct random *random, bool notified)
{
	step_at(run, random, random_time(run, random), notified);
}

static void steps(struct run *run, struct random *random)
{
	unsigned int nr = 1 + random_below(random, 3);

	run->plan.length_ps += 40 * PS_PER_S;
	while (nr--)
		step(run, random, random_bool(random));
}

/* A scenario: a step of REALTIME that the kernel does not report, as small as a slew */
static void small_steps(struct run *run, struct random *random)
{
	add_event(run, random_time(run, random), EVENT_STEP, step_ns(random, 1, 5e5));
}

/* Changes the rate of REALTIME by more than an NTP daemon does, and some time later
 * back. */
static void slew(struct run *run, struct random *random, double low,
		 double high, bool new_epoch)
{
	int64_t at = random_time(run, random) / 2, ppb = step_ns(random, low, high);
	int64_t back = at + random_between(random, 4500 * PS_PER_MS, 12 * PS_PER_S);

	machine_add(&run->m, (struct event) {
		.at_ps = at, .kind = EVENT_STEER, .value = ppb, .new_epoch = new_epoch,
	});
	machine_add(&run->m, (struct event) {
		.at_ps = back, .kind = EVENT_STEER, .new_epoch = new_epoch,
		.value = random_between(random, -20000, 20000),
	});
	run->plan.length_ps += 20 * PS_PER_S;
}

static void slow_slew(struct run *run, struct random *random)
{
	slew(run, random, 500, 500000, false);
}

static void fast_slew(struct run *run, struct random *random)
{
	slew(run, random, 500000, 100000000, false);
}

static void fastest_slew(struct run *run, struct random *random)
{
	slew(run, random, 20000000, 100000000, true);
}

static void idle_kernel(struct run *run, struct random *random)
{
	run->m.clock.idle = 1 + random_below(random, 3);
}

static void suspend(struct run *run, struct random *random,
		    enum event_kind kind, uint64_t to)
{
	machine_add(&run->m, (struct event) {
		.at_ps = random_time(run, random), .kind = kind, .new_epoch = true,
		.notified = kind == EVENT_SUSPEND_RESET || random_bool(random), .to = to,
		.value = (int64_t)random_log_uniform(random, 2e8, 3.6e12),
	});
	run->plan.length_ps += 10 * PS_PER_S;
}

static void suspend_stopped(struct run *run, struct random *random)
{
	suspend(run, random, EVENT_SUSPEND, 0);
}

static void suspend_counting(struct run *run, struct random *random)
{
	suspend(run, random, EVENT_SUSPEND_COUNTING, 0);
}

static void suspend_reset(struct run *run, struct random *random)
{
	suspend(run, random, EVENT_SUSPEND_RESET, random_below(random, 1000000));
}

static void late_daemon(struct run *run, struct random *random)
{
	ntp(run, random);
	run->plan.late_every = 3;
	run->plan.late_ps = (int64_t)random_log_uniform(random, 1e11, 3e13);
	run->plan.length_ps = 100 * PS_PER_S;
}

static void dead_daemon(struct run *run, struct random *random)
{
	run->plan.stops_ps = random_time(run, random);
	run->plan.ends_in_holdover = random_bool(random);
	run->plan.length_ps += (int64_t)random_log_uniform(random, 1e13, 1.2e15);
}

static void restart(struct run *run, struct random *random)
{
	run->plan.stops_ps = random_time(run, random);
	run->plan.ends_in_holdover = random_bool(random);
	run->plan.resumes = true;
	run->plan.restores_rate = random_bool(random);
	run->plan.restarts_ps = run->plan.stops_ps +
		(int64_t)random_log_uniform(random, 2e9, 2e14);
	run->plan.length_ps = run->plan.restarts_ps + 20 * PS_PER_S;
}

static void restart_anew(struct run *run, struct random *random)
{
	restart(run, random);
	run->plan.resumes = false;
}

static void set_while_dead(struct run *run, struct random *random)
{
	restart(run, random);
	machine_add(&run->m, (struct event) {
		.at_ps = (run->plan.stops_ps + run->plan.restarts_ps) / 2,
		.kind = EVENT_STEP, .value = step_ns(random, 1e8, 1e13),
		.new_epoch = true,
	});
}

static void preempted(struct run *run, struct random *random)
{
	run->m.stall_every = 1 + (unsigned int)random_log_uniform(random, 1, 300);
	run->m.stall_ps = (int64_t)random_log_uniform(random, 1e6, 5e10);
}

static void asymmetric(struct run *run, struct random *random)
{
	run->m.asym = random_bool(random) ? 1000 : 0;
	run->m.jitter_ps = (int64_t)random_log_uniform(random, 100, 1e5);
}

static void traced(struct run *run, struct random *random)
{
	run->m.read_ps = random_between(random, 50 * PS_PER_US, 200 * PS_PER_US);
	run->m.jitter_ps = random_between(random, 1 * PS_PER_US, 100 * PS_PER_US);
}

static void traced_slewed(struct run *run, struct random *random)
{
	traced(run, random);
	slew(run, random, 500, 100000000, false);
}

static void hpet(struct run *run, struct random *random)
{
	run->m.read_ps = random_between(random, 300 * PS_PER_NS, 1500 * PS_PER_NS);
	run->m.jitter_ps = random_between(random, 1 * PS_PER_NS, 100 * PS_PER_NS);
}

static void nothing_more(struct run *, struct random *)
{
}

static void cpus_apart(struct run *run, struct random *random)
{
	run->m.nr_cpus = 2 + random_below(random, 7);
	for (unsigned int cpu = 1; cpu < run->m.nr_cpus; cpu++)
		run->m.skew[cpu] = step_ns(random, 1, 1e12);
	run->m.skewed = true;
}

static void counter_jumps(struct run *run, struct random *random)
{
	int64_t at = random_time(run, random);

	machine_add(&run->m, (struct event) {
		.at_ps = at, .kind = EVENT_COUNTER_JUMP, .new_epoch = true,
		.to = random_bool(random) ? random_below(random, 1000) :
			random_below(random, 1ULL << 60),
	});
	run->plan.length_ps += 10 * PS_PER_S;
}

static void migrated(struct run *run, struct random *random)
{
	machine_add(&run->m, (struct event) {
		.at_ps = random_time(run, random), .kind = EVENT_COUNTER_RATE,
		.new_epoch = true,
		.notified = random_bool(random), .value = step_ns(random, 50000, 2e8),
	});
	run->plan.length_ps += 10 * PS_PER_S;
}

static void fake(struct run *run, struct random *random)
{
	machine_add(&run->m, (struct event) {
		.at_ps = random_time(run, random), .kind = EVENT_UNKNOWN, .new_epoch = true,
		.notified = true,
	});
}

static void kernel_snapshots(struct run *run, struct random *random)
{
	ntp(run, random);
	run->m.has_snapshot = true;
}

static void kernel_snapshots_slewed(struct run *run, struct random *random)
{
	slow_slew(run, random);
	run->m.has_snapshot = true;
}

static void any_interval(struct run *run, struct random *random)
{
	ntp(run, random);
	run->plan.interval_ps = (int64_t)random_log_uniform(random, 1e11, 2e12);
}

static void in_process(struct run *run, struct random *random)
{
	ntp(run, random);
	run->plan.owner = OWNER_PROCESS;
	run->plan.lead_ps = 20 * PS_PER_US;
	run->plan.length_ps = (int64_t)random_log_uniform(random, 2e13, 1e15);
}

static void in_process_set(struct run *run, struct random *random)
{
	in_process(run, random);
	run->plan.length_ps = 60 * PS_PER_S;
	step(run, random, false);
}

/* Begins more epochs than the clock page has room for. */
static void many_epochs(struct run *run, struct random *random)
{
	int64_t at = 2 * PS_PER_S;
	unsigned int i, nr = 50 + random_below(random, 150);

	for (i = 0; i < nr; i++) {
		at += random_between(random, 1200 * PS_PER_MS, 5 * PS_PER_S);
		machine_add(&run->m, (struct event) {
			.at_ps = at, .kind = EVENT_STEP, .notified = true,
			.value = step_ns(random, 1, 1e13),
		});
	}
	run->plan.length_ps = at + 5 * PS_PER_S;
}

/* Creates more segments than the clock page has room for. */
static void long_run(struct run *run, struct random *random)
{
	run->plan.length_ps = (int64_t)random_log_uniform(random, 1e15, 4e15);
	ntp(run, random);
}

static void everything(struct run *run, struct random *random)
{
	if (random_bool(random))
		preempted(run, random);
	if (random_bool(random))
		asymmetric(run, random);
	if (random_bool(random))
		idle_kernel(run, random);
	run->plan.late_every = random_bool(random) ? 5 : 0;
	run->plan.late_ps = 4 * PS_PER_S;
	run->plan.no_recovery = true;
	run->plan.length_ps = 40 * PS_PER_S;
	slew(run, random, 100, 1e8, false);
	/* The step comes after the slew, because both could cancel out in all samples
	 * otherwise. */
	step_at(run, random, 50 * PS_PER_S + random_time(run, random), random_bool(random));
	run->plan.length_ps = 130 * PS_PER_S;
	suspend(run, random, EVENT_SUSPEND + random_below(random, 2), 0);
}

/* A scenario: REALTIME is set in the first 4 s of a run, while the first clock params
 * still slew. */
static void early_steps(struct run *run, struct random *random)
{
	add_event(run, random_between(random, 1050 * PS_PER_MS, 4 * PS_PER_S), EVENT_STEP,
		step_ns(random, 1, 5e5));
}

/* A scenario: REALTIME is set in the first 4 s of a run, and clock params begin long
 * after their samples. */
static void early_steps_led(struct run *run, struct random *random)
{
	early_steps(run, random);
	run->plan.lead_ps = (int64_t)random_log_uniform(random, 1e9, 4e11);
	run->plan.late_every = random_bool(random) ? 3 : 0;
	run->plan.late_ps = 3 * PS_PER_S;
}

/* A scenario: REALTIME is set in the first 4 s of a run, and the estimator rejects
 * preempted samples. */
static void early_steps_preempted(struct run *run, struct random *random)
{
	early_steps_led(run, random);
	run->m.stall_every = 1 + random_below(random, 3);
	run->m.stall_ps = (int64_t)random_log_uniform(random, 1e6, 1e9);
}

/* A scenario: REALTIME is set in the first 4 s of a run. Samples are so frequent that
 * the params published after one sample may begin after the next sample. */
static void early_steps_often(struct run *run, struct random *random)
{
	early_steps_led(run, random);
	run->plan.interval_ps = (int64_t)random_log_uniform(random, 1e11, 2e12);
}

/* A scenario: a second step while the estimator calibrates after the first one */
static void steps_together(struct run *run, struct random *random)
{
	int64_t at = random_time(run, random);

	step_at(run, random, at, true);
	add_event(run, at + random_between(random, 0, 50 * PS_PER_MS), EVENT_STEP,
		step_ns(random, 1, 1e16));
}

/*
 * A scenario: the timekeeper moves between two CPUs. Their counters are about as far
 * apart as a migration takes, so a bracket from the later counter to the earlier one
 * seems narrower than it is.
 */
static void migrating(struct run *run, struct random *random)
{
	int64_t ps = (int64_t)random_log_uniform(random, 2e6, 2e7);

	run->m.nr_cpus = 2;
	run->m.skewed = true;
	run->m.migrate_ps = ps;
	ps += random_between(random, 0, 2 * run->m.read_ps);
	run->m.skew[1] = (int64_t)((double)ps / 1e12 * run->m.counter_hz);
}

/*
 * A scenario: counters of CPUs that differ by less than the limit, so that readings are
 * converted without their CPU, by a timekeeper that moves between the CPUs. The bounds
 * hold against the kernel's clock as CPU 0 reads it.
 */
static void cpus_near(struct run *run, struct random *random)
{
	run->m.nr_cpus = 2 + random_below(random, 7);
	for (unsigned int cpu = 1; cpu < run->m.nr_cpus; cpu++)
		run->m.skew[cpu] = step_ns(random, 110, 1e-6 * run->m.counter_hz);
	run->m.migrate_ps = (int64_t)random_log_uniform(random, 1e5, 1e7);
	run->m.stall_every = 100;
}

static void cpus_near_snapshots(struct run *run, struct random *random)
{
	cpus_near(run, random);
	run->m.has_snapshot = true;
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
	{ .name = "kernel-snapshots", .set_up = kernel_snapshots },
	{ .name = "kernel-snapshots-slewed", .set_up = kernel_snapshots_slewed },
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
	{ .name = "migrating", .set_up = migrating },
	{ .name = "cpus-near", .set_up = cpus_near },
	{ .name = "cpus-near-snapshots", .set_up = cpus_near_snapshots },
};

const unsigned int nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
