// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>

#include "sim.h"

void violated(struct run *run, const char *format, ...)
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

/* ---- statistics --------------------------------------------------------- */

/* Histogram by logarithm: 32 steps to a power of two, so within 2 % */
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

static uint64_t count(const uint64_t *live, const uint64_t *past, unsigned int i)
{
	return (live ? live[i] : 0) + (past ? past[i] : 0);
}

double tally_median(const uint64_t *live, const uint64_t *past)
{
	uint64_t sum = 0, below = 0;
	unsigned int i;

	for (i = 0; i < RATIOS; i++)
		sum += count(live, past, i);
	for (i = 0; i < RATIOS; i++) {
		below += count(live, past, i);
		if (2 * below >= sum)
			return bin_ps(i);
	}
	return 0;
}

void tally_add(struct tally *to, const struct tally *from)
{
	unsigned int kind, i;

	to->readings += from->readings;
	to->checked += from->checked;
	to->refused += from->refused;
	to->unclaimed += from->unclaimed;
	to->unforeseen += from->unforeseen;
	for (kind = 0; kind < KIND_NR; kind++) {
		for (i = 0; i < RATIOS; i++) {
			to->bounds[kind][i] += from->bounds[kind][i];
			to->errors[kind][i] += from->errors[kind][i];
		}
	}
}

/* ---- truth -------------------------------------------------------------- */

static int64_t off_ps(int64_t ns, fixed truth)
{
	fixed off = ((fixed)ns << 64) - truth;
	fixed limit = (fixed)4000000000000000LL << 64;

	if (off > limit || off < -limit)
		return off > 0 ? INT64_MAX : INT64_MIN + 1;
	return (int64_t)(off * 1000 >> 64);
}

static void compare(struct run *run, enum kind kind, uint64_t stamp,
		    const struct tsct_clock_time *reading, fixed truth)
{
	int64_t off = off_ps(reading->ns, truth);
	uint64_t error = (uint64_t)(off < 0 ? -off : off);

	run->tally->checked++;
	run->tally->bounds[kind][bin_of(reading->error_ps)]++;
	run->tally->errors[kind][bin_of(error)]++;
	if (error <= reading->error_ps)
		return;
	violated(run, "%s: %.3f ns off, bound %.3f ns, status %u, epoch %u, "
		 "stamp %llu, as of %llu, base %llu",
		 kind == KIND_LIVE ? "live" : "past", (double)off / 1e3, (double)reading->error_ps / 1e3,
		 reading->status, reading->epoch, (unsigned long long)stamp,
		 (unsigned long long)published(run)->state.real.as_of_cycles,
		 (unsigned long long)published(run)->state.real.base_cycles);
}

/*
 * No violation, as nobody could know that the clock had just been set or
 * steered otherwise; but whoever reads it should know how often that is.
 */
static void count_unforeseen(struct run *run,
			     const struct tsct_clock_time *reading)
{
	int64_t off = off_ps(reading->ns,
			     machine_real_of(&run->m, &run->m.clock));

	if ((uint64_t)(off < 0 ? -off : off) > reading->error_ps)
		run->tally->unforeseen++;
}

static bool claims(const struct tsct_clock_time *reading)
{
	return reading->status == TSCT_STATUS_SYNCHRONIZED ||
		reading->status == TSCT_STATUS_HOLDOVER;
}

/* ---- readers ------------------------------------------------------------ */

/* A stamp taken on some CPU, made comparable as abi_clock.h says */
static int look_up(struct run *run, unsigned int cpu, uint64_t stamp,
		   struct tsct_clock_time *ret)
{
	const struct tsct_clock_cpu *entry =
		(const struct tsct_clock_cpu *)(run->page + 1) + cpu;
	bool skewed = published(run)->state.flags & TSCT_CLOCK_SKEWED;
	uint64_t on_ref = stamp - (skewed ? (uint64_t)entry->skew_cycles : 0);
	int err = tsct_latch_lookup(run->page, on_ref, ret);

	if (!err && skewed)
		ret->error_ps += (uint64_t)((double)entry->error_cycles * 1e15 /
					    run->m.stamp_hz / 1e3) + 1;
	return err;
}

static void check_forward(struct run *run, uint64_t stamp,
			  const struct tsct_clock_time *reading)
{
	if (reading->epoch == run->live_epoch &&
	    (int64_t)(stamp - run->live_stamp) >= 0 &&
	    reading->ns < run->live_ns)
		violated(run, "time ran backwards by %lld ns",
			 (long long)(run->live_ns - reading->ns));
	run->live_epoch = reading->epoch;
	run->live_stamp = stamp;
	run->live_ns = reading->ns;
}

static void keep(struct run *run, uint64_t stamp)
{
	struct kept kept = {
		.stamp = stamp,
		.real = machine_real_of(&run->m, &run->m.clock),
		.lives = run->m.lives,
	};
	uint64_t at = run->nr_kept++;

	/* All at first, then a fair choice of all that there were */
	if (at >= KEPT_MAX)
		at = roll(&run->m.dice, run->nr_kept);
	if (at < KEPT_MAX)
		run->kept[at] = kept;
}

static fixed timeline_now(struct run *run)
{
	/* Once and for all: it would take long to do it for each reading. */
	kclock_go_on(&run->timeline, (uint64_t)(machine_cycles(&run->m) >> 64));
	return machine_real_of(&run->m, &run->timeline);
}

void check_live(struct run *run)
{
	struct machine *m = &run->m;
	unsigned int cpu = m->nr_cpus ? roll(&m->dice, m->nr_cpus) : 0;
	uint64_t stamp = machine_stamp(m);
	struct tsct_clock_time reading;

	run->tally->readings++;
	keep(run, stamp);
	if (look_up(run, cpu, stamp + (uint64_t)m->skew[cpu], &reading)) {
		run->tally->refused++;
		return;
	}
	if (!m->nr_cpus)
		check_forward(run, stamp, &reading);
	if (!claims(&reading)) {
		run->tally->unclaimed++;
		return;
	}
	count_unforeseen(run, &reading);
	if (run->has_timeline && run->timeline_parted == m->parted)
		compare(run, KIND_LIVE, stamp, &reading, timeline_now(run));
}

void check_past(struct run *run, const struct kept *kept)
{
	const struct tsct_clock_params *pair = &published(run)->state.real;
	struct tsct_clock_time reading;

	/* Stamps that have two times: the counter began anew. */
	if (kept->lives != run->m.lives)
		return;
	/* Not past, yet */
	if (pair->mult && (int64_t)(kept->stamp - pair->as_of_cycles) > 0)
		return;
	run->tally->readings++;
	if (tsct_latch_lookup(run->page, kept->stamp, &reading))
		run->tally->refused++;
	else if (!claims(&reading))
		run->tally->unclaimed++;
	else
		compare(run, KIND_PAST, kept->stamp, &reading, kept->real);
}

void check_all_past(struct run *run)
{
	uint64_t nr = run->nr_kept < KEPT_MAX ? run->nr_kept : KEPT_MAX, i;

	for (i = 0; i < nr; i++)
		check_past(run, &run->kept[i]);
}

/* ---- disruptions are seen, and got over --------------------------------- */

#define SEEN_WITHIN	(2 * SEC)
#define GOOD_WITHIN	(3 * SEC)

static void begin_owing(struct run *run)
{
	run->owed = run->m.last_must;
	run->owed_ps = run->m.now_ps;
	run->owed_epoch = run->last_epoch;
	run->owed_seen = false;
	run->m.last_must = NULL;
}

void check_owed(struct run *run)
{
	const struct tsct_clock_state *state = &published(run)->state;
	int64_t since;

	if (run->m.last_must)
		begin_owing(run);
	run->last_epoch = state->epoch;
	if (!run->owed || !run->alive || run->plan.no_recovery) {
		run->owed_ps = run->m.now_ps;
		return;
	}
	since = run->m.now_ps - run->owed_ps;
	if (!run->owed_seen && state->epoch != run->owed_epoch) {
		run->owed_seen = true;
		run->owed_ps = run->m.now_ps;
		return;
	}
	if (!run->owed_seen && since > SEEN_WITHIN) {
		violated(run, "deed %d at %.6f s was not seen in 2 s",
			 run->owed->deed, (double)run->owed->at_ps / 1e12);
		run->owed = NULL;
	} else if (run->owed_seen &&
		   state->status == TSCT_STATUS_SYNCHRONIZED) {
		run->owed = NULL;
	} else if (run->owed_seen && since > GOOD_WITHIN) {
		violated(run, "status %u 3 s after deed %d was seen",
			 state->status, run->owed->deed);
		run->owed = NULL;
	}
}
