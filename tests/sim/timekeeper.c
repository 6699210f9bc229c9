// SPDX-License-Identifier: MIT
/*
 * Maintains a clock as tsctraced and programs do, with the library's core and sampler.
 */
#include <stdio.h>

#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/latch.h"
#include "sim.h"

#define TRIES		50

/* Sets the timeline with which live readings are compared from now on: REALTIME at the
 * last accepted sample, continued at the mean rate since the sample at ref_cycles. */
static void set_timeline(struct run *run)
{
	const struct tsct_rate_estimator *est = &run->est;
	const struct realtime_read *last = machine_find_read(&run->m, est->offset.cycles);
	const struct realtime_read *ref = machine_find_read(&run->m, est->ref_cycles);
	tsct_u128 ran;
	uint64_t cyc;

	if (!last || !ref || (run->has_timeline &&
			      run->timeline_cycles == est->offset.cycles))
		return;
	run->timeline_cycles = est->offset.cycles;
	run->timeline = last->clock;
	run->has_timeline = true;
	run->timeline_diverged = ref->diverged;
	cyc = last->cyc - ref->cyc;
	ran = (tsct_u128)(last->ideal - ref->ideal);
	if (cyc)
		kclock_set_rate(&run->timeline, last->cyc,
				(uint64_t)(ran / cyc >> 24));
}

/* Prints the published clock state and the true rate of REALTIME if option -v was
 * given. */
static void log_publication(const struct run *run,
			    const struct tsct_clock_state *state, bool same)
{
	const struct tsct_rate_estimator *est = &run->est;
	const struct realtime_read *last = machine_find_read(&run->m, est->offset.cycles);
	const struct realtime_read *ref = machine_find_read(&run->m, est->ref_cycles);
	double true_rate = 0;

	if (last && ref && last->cycles != ref->cycles)
		true_rate = (double)(last->ideal - ref->ideal) * 0x1p-64 /
			(double)(last->cycles - ref->cycles);
	printf("%14.9f s: status %u epoch %u cause %u, %s clock params, "
	       "sample +-%.3f ns, error %.3f ns, past %.3f ns; "
	       "rate %.12f in [%.12f, %.12f], true rate %.12f, "
	       "innovation %.3f ppb\n",
	       (double)run->m.now_ps / 1e12, state->status, state->epoch,
	       state->cause, same ? "same" : "new", est->offset.half_ns,
	       (double)state->real.error_ps / 1e3,
	       (double)state->real.past_error_ps / 1e3, est->rate, est->lo,
	       est->hi, true_rate, est->innovation_ppb);
}

static void publish(struct run *run)
{
	struct machine *m = &run->m;
	struct tsct_clock_state next;
	int64_t lead = run->plan.lead_ps;
	__u64 now;
	__u32 cpu;
	int err;

	for (unsigned int tries = 0; tries < TRIES; tries++, lead *= 2) {
		now = m->ops.cycles(m, &cpu);
		tsct_rate_compose(&run->est, now + (__u64)((double)lead / 1e12 *
							   m->counter_hz), &next);
		err = tsct_clock_state_check(&next);
		if (err)
			violation(run, "composed state is not valid");
		now = m->ops.cycles(m, &cpu);
		err = tsct_segments_check(&published(run)->state, &next, now);
		if (err == -ETIME)
			continue;
		if (err)
			violation(run,
				  "the composed state cannot follow the "
				  "published one: %d", err);
		tsct_latch_stage(run->page, &next);
		now = m->ops.cycles(m, &cpu);
		if (tsct_segments_check(&published(run)->state, &next, now))
			continue;
		if (run->verbose)
			log_publication(run, &next, next.real.base_cycles ==
			     run->est.state.real.base_cycles);
		tsct_latch_commit(run->page);
		tsct_rate_published(&run->est, &next);
		if (tsct_segments_valid(published(run)))
			violation(run, "the published state is not valid");
		if (next.real.mult)
			set_timeline(run);
		return;
	}
	violation(run, "no state was published in %u tries", TRIES);
}

static void recalibrate(struct run *run)
{
	publish(run);
	if (tsct_sampler_start(&run->sampler, &run->est) < 0)
		violation(run, "calibration failed");
	publish(run);
}

void timekeeper_begin_cycles(struct run *run)
{
	const struct tsct_clock_state last = published(run)->state;
	struct machine *m = &run->m;
	__u32 cpu;
	int event;

	tsct_sampler_init(&run->sampler, &m->ops);
	tsct_rate_init(&run->est, m->source, last.epoch, last.cause);
	if (run->plan.owner == OWNER_PROCESS)
		run->est.void_cycles = 1ULL << 61;
	if (run->plan.restores_rate && last.rate_mult)
		tsct_rate_restore(&run->est, last.rate_mult, last.rate_error_ppt);
	if (last.epoch && (!run->plan.resumes ||
			   (__s64)(last.real.void_after_cycles -
				   m->ops.cycles(m, &cpu)) < 0 ||
			   tsct_rate_resume(&run->est, &last))) {
		tsct_rate_init(&run->est, m->source, last.epoch, 0);
		tsct_rate_disrupt(&run->est, TSCT_CAUSE_RESTART);
	} else if (!last.epoch) {
		run->est.state.epoch = 1;
	}
	if (m->skewed)
		run->est.state.flags |= TSCT_CLOCK_SKEWED;
	else
		run->est.skew_cycles = tsct_skew_span(
			(const struct tsct_clock_cpu *)(run->page + 1), m->nr_cpus);
	run->sampler.skew_cycles = run->est.skew_cycles;
	event = tsct_sampler_start(&run->sampler, &run->est);
	if (event < 0)
		violation(run, "calibration failed: %d", event);
	publish(run);
	run->alive = true;
	run->wake_ps = m->now_ps + run->plan.interval_ps;
}

static __u32 cause_of(const struct event *event)
{
	switch (event->kind) {
	case EVENT_STEP:
		return TSCT_CAUSE_STEP;
	case EVENT_SUSPEND:
	case EVENT_SUSPEND_COUNTING:
	case EVENT_SUSPEND_RESET:
		return TSCT_CAUSE_SUSPEND;
	case EVENT_UNKNOWN:
		return TSCT_CAUSE_FAKE;
	default:
		return TSCT_CAUSE_MIGRATION;
	}
}

static void stop_daemon(struct run *run)
{
	run->alive = false;
	run->wake_ps = run->plan.restarts_ps ? run->plan.restarts_ps : INT64_MAX;
	run->plan.stops_ps = 0;
	if (!run->plan.ends_in_holdover || !run->est.state.real.mult)
		return;
	run->est.state.status = TSCT_STATUS_HOLDOVER;
	publish(run);
}

static void feed(struct run *run)
{
	int event = tsct_sampler_feed(&run->sampler, &run->est);

	if (event < 0)
		violation(run, "taking a sample failed: %d", event);
	else if (event == TSCT_RATE_OK)
		publish(run);
	else
		recalibrate(run);
}

/* Takes a sample because one is due, or because the kernel reported an event. */
void timekeeper_wake(struct run *run)
{
	struct machine *m = &run->m;
	const struct event *notified = m->notified;

	m->notified = NULL;
	if (!run->alive) {
		timekeeper_begin_cycles(run);
		return;
	}
	if (run->plan.stops_ps && m->now_ps >= run->plan.stops_ps) {
		stop_daemon(run);
		return;
	}
	if (notified) {
		tsct_rate_disrupt(&run->est, cause_of(notified));
		recalibrate(run);
	} else {
		feed(run);
	}
	run->wake_ps = m->now_ps + run->plan.interval_ps;
	if (random_one_in(&m->random, run->plan.late_every))
		run->wake_ps += random_between(&m->random, 0, run->plan.late_ps);
}

/* Takes a sample for the in-process clock if the last sample is older than a second. */
void timekeeper_used(struct run *run)
{
	if (run->m.now_ps >= run->wake_ps)
		timekeeper_wake(run);
}
