// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "sim.h"

void violation(struct run *run, const char *format, ...)
{
	va_list args;

	run->violations++;
	if (run->violations > 20)
		return;
	printf("VIOLATION scenario %u (%s) seed %llu at %.9f s: ", run->scenario,
	       scenarios[run->scenario].name, (unsigned long long)run->seed,
	       (double)run->m.now_ps / 1e12);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* ---- histograms ---------------------------------------------------------- */

/* Index of a value's bin in a logarithmic histogram: 32 bins per power of two, so
 * within 2 % */
static unsigned int bin_of(uint64_t ps)
{
	unsigned int log = 63 - (unsigned int)__builtin_clzll(ps | 1);

	if (log < 5)
		return (unsigned int)ps;
	return (log - 4) * 32 + (unsigned int)(ps >> (log - 5) & 31);
}

static double bin_ps(unsigned int bin)
{
	if (bin < 32)
		return bin;
	return (double)((32ULL + bin % 32) << (bin / 32 - 1)) *
		(1 + 1.0 / 128);
}

static uint64_t count(const uint64_t *live, const uint64_t *past,
		      unsigned int i)
{
	return (live ? live[i] : 0) + (past ? past[i] : 0);
}

double tally_median(const uint64_t *live, const uint64_t *past)
{
	uint64_t sum = 0, below = 0;

	for (unsigned int i = 0; i < RATIOS; i++)
		sum += count(live, past, i);
	for (unsigned int i = 0; i < RATIOS; i++) {
		below += count(live, past, i);
		if (2 * below >= sum)
			return bin_ps(i);
	}
	return 0;
}

void tally_add(struct tally *to, const struct tally *from)
{
	to->readings += from->readings;
	to->checked += from->checked;
	to->refused += from->refused;
	to->unknown += from->unknown;
	to->unforeseeable += from->unforeseeable;
	for (unsigned int kind = 0; kind < READING_NR; kind++) {
		for (unsigned int i = 0; i < RATIOS; i++) {
			to->bounds[kind][i] += from->bounds[kind][i];
			to->errors[kind][i] += from->errors[kind][i];
		}
	}
}

/* ---- comparison with the true time --------------------------------------- */

static int64_t off_ps(int64_t ns, fixed truth)
{
	fixed off = ((fixed)ns << 64) - truth;
	fixed limit = (fixed)4000000000000000LL << 64;

	if (off > limit || off < -limit)
		return off > 0 ? INT64_MAX : INT64_MIN + 1;
	return (int64_t)(off * 1000 >> 64);
}

static void compare(struct run *run, enum reading_kind kind, uint64_t cycles,
		    const struct tsct_clock_time *reading, fixed truth)
{
	int64_t off = off_ps(reading->ns, truth);
	uint64_t error = (uint64_t)(off < 0 ? -off : off);

	run->tally->checked++;
	run->tally->bounds[kind][bin_of(reading->error_ps)]++;
	run->tally->errors[kind][bin_of(error)]++;
	if (error <= reading->error_ps)
		return;
	violation(run,
		  "%s reading off by %.3f ns, bound %.3f ns, status %u, epoch %u, "
		 "cycles %llu, as of %llu, base %llu",
		 kind == READING_LIVE ? "live" : "past", (double)off / 1e3,
		 (double)reading->error_ps / 1e3,
		 reading->status, reading->epoch, (unsigned long long)cycles,
		 (unsigned long long)published(run)->state.real.as_of_cycles,
		 (unsigned long long)published(run)->state.real.base_cycles);
}

/* Counts readings outside their bound because CLOCK_REALTIME was set or steered since
 * the last sample. Readers cannot detect that, so such readings are no violations, but
 * users should know how frequent they are. */
static void count_unforeseeable(struct run *run,
				const struct tsct_clock_time *reading)
{
	int64_t off = off_ps(reading->ns,
			     machine_real_of(&run->m, &run->m.clock));

	if ((uint64_t)(off < 0 ? -off : off) > reading->error_ps)
		run->tally->unforeseeable++;
}

static bool has_time(const struct tsct_clock_time *reading)
{
	return reading->status == TSCT_STATUS_SYNCHRONIZED ||
		reading->status == TSCT_STATUS_HOLDOVER;
}

/* ---- readings ------------------------------------------------------------ */

/* Converts a counter value read on a CPU to time, with the skew correction of
 * abi_clock.h. */
static int convert(struct run *run, unsigned int cpu, uint64_t cycles,
		   struct tsct_clock_time *ret)
{
	const struct tsct_clock_cpu *entry =
		(const struct tsct_clock_cpu *)(run->page + 1) + cpu;
	bool skewed = published(run)->state.flags & TSCT_CLOCK_SKEWED;
	uint64_t on_ref = cycles - (skewed ? (uint64_t)entry->skew_cycles : 0);
	int err = tsct_latch_lookup(run->page, on_ref, ret);

	if (!err && skewed)
		ret->error_ps += (uint64_t)((double)entry->error_cycles * 1e15 /
					    run->m.counter_hz / 1e3) + 1;
	return err;
}

static void check_forward(struct run *run, uint64_t cycles,
			  const struct tsct_clock_time *reading)
{
	if (reading->epoch == run->live_epoch &&
	    (int64_t)(cycles - run->live_cycles) >= 0 &&
	    reading->ns < run->live_ns)
		violation(run, "time ran backwards by %lld ns",
			 (long long)(run->live_ns - reading->ns));
	run->live_epoch = reading->epoch;
	run->live_cycles = cycles;
	run->live_ns = reading->ns;
}

/* @cycles: counter value to convert again later, when no skew is corrected any more */
static void note_reading(struct run *run, uint64_t cycles)
{
	struct past_reading past = {
		.cycles = cycles,
		.real = machine_real_of(&run->m, &run->m.clock),
		.resets = run->m.resets,
	};
	uint64_t at = run->nr_past++;

	/* Reservoir sampling: keeps the first PAST_MAX readings, then a uniformly
	 * random choice of all readings. */
	if (at >= PAST_MAX)
		at = random_below(&run->m.random, run->nr_past);
	if (at < PAST_MAX)
		run->past[at] = past;
}

static fixed timeline_now(struct run *run)
{
	/* Advances the expected timeline at each reading, because computing it from its
	 * origin every time would take long. */
	kclock_advance(&run->timeline, (uint64_t)(machine_cycles(&run->m) >> 64));
	return machine_real_of(&run->m, &run->timeline);
}

void check_live(struct run *run)
{
	struct machine *m = &run->m;
	unsigned int cpu = m->nr_cpus ? random_below(&m->random, m->nr_cpus) : 0;
	uint64_t cycles = machine_counter(m) + (uint64_t)m->skew[cpu];
	struct tsct_clock_time reading;

	run->tally->readings++;
	note_reading(run, m->skewed ? machine_counter(m) : cycles);
	if (convert(run, cpu, cycles, &reading)) {
		run->tally->refused++;
		return;
	}
	if (!m->nr_cpus)
		check_forward(run, cycles, &reading);
	if (!has_time(&reading)) {
		run->tally->unknown++;
		return;
	}
	count_unforeseeable(run, &reading);
	if (run->has_timeline && run->timeline_diverged == m->diverged)
		compare(run, READING_LIVE, cycles, &reading, timeline_now(run));
}

void check_past(struct run *run, const struct past_reading *past)
{
	const struct tsct_clock_params *params = &published(run)->state.real;
	struct tsct_clock_time reading;

	/* After a restart of the counter, older counter values are ambiguous. */
	if (past->resets != run->m.resets)
		return;
	/* The reading is still later than the last sample, so it is not checked yet. */
	if (params->mult && (int64_t)(past->cycles - params->as_of_cycles) > 0)
		return;
	run->tally->readings++;
	if (tsct_latch_lookup(run->page, past->cycles, &reading))
		run->tally->refused++;
	else if (!has_time(&reading))
		run->tally->unknown++;
	else
		compare(run, READING_PAST, past->cycles, &reading, past->real);
}

void check_all_past(struct run *run)
{
	uint64_t nr = run->nr_past < PAST_MAX ? run->nr_past : PAST_MAX, i;

	for (i = 0; i < nr; i++)
		check_past(run, &run->past[i]);
}

/* ---- disruptions: detection and recovery --------------------------------- */

#define NOTICED_WITHIN_PS	(2 * PS_PER_S)
#define SYNCHRONIZED_WITHIN_PS	(3 * PS_PER_S)

static void set_pending(struct run *run)
{
	run->pending = run->m.last_new_epoch;
	run->pending_ps = run->m.now_ps;
	run->pending_epoch = run->last_epoch;
	run->pending_noticed = false;
	run->m.last_new_epoch = NULL;
}

void check_pending(struct run *run)
{
	const struct tsct_clock_state *state = &published(run)->state;
	int64_t since;

	if (run->m.last_new_epoch)
		set_pending(run);
	run->last_epoch = state->epoch;
	if (!run->pending || !run->alive || run->plan.no_recovery) {
		run->pending_ps = run->m.now_ps;
		return;
	}
	since = run->m.now_ps - run->pending_ps;
	if (!run->pending_noticed && state->epoch != run->pending_epoch) {
		run->pending_noticed = true;
		run->pending_ps = run->m.now_ps;
		return;
	}
	if (!run->pending_noticed && since > NOTICED_WITHIN_PS) {
		violation(run, "disruption %d at %.6f s was not detected within 2 s",
			 run->pending->kind, (double)run->pending->at_ps / 1e12);
		run->pending = NULL;
	} else if (run->pending_noticed &&
		   state->status == TSCT_STATUS_SYNCHRONIZED) {
		run->pending = NULL;
	} else if (run->pending_noticed && since > SYNCHRONIZED_WITHIN_PS) {
		violation(run, "status %u 3 s after disruption %d was detected",
			 state->status, run->pending->kind);
		run->pending = NULL;
	}
}
