// SPDX-License-Identifier: MIT
/* Takes narrow brackets (readings between two counter readings) of the system's clocks, and
 * calibrates the counter's rate. */
#include "lib/client/gettime.h"
#include "clock_sample.h"
#include "lib/base/sysfs_read.h"

#include <string.h>
#include <x86intrin.h>

/* Limits of a search, which takes many brackets of a clock to find a narrow one */
#define TRIES		64		/* maximum number of brackets of a search */
/* SEARCH_NS ends a search only after more than TRIES_MIN valid brackets. */
#define TRIES_MIN	3
/* number of narrow brackets after which no more brackets are taken */
#define GOOD_ENOUGH	16
/* number of different lengths of the pause before each bracket is taken */
#define DITHER		16
/* maximum time to search for a narrow bracket, ns */
#define SEARCH_NS	1000000
/* Largest width of a bracket that counts as narrow, ns: initial value, and range */
#define LIMIT_NS	200.0
#define LIMIT_NS_MIN	20.0
#define LIMIT_NS_MAX	1e7
/*
 * Largest relative error of the time between two brackets of a search, if computed from
 * the clock's rate: RATE_ERROR bounds the error of the rate, the rest is for slewing.
 */
#define SPAN_ERROR	1e-3
#define RATE_ERROR	4e-4

/* Number and timing of the samples for the first estimate of the counter's rate */
#define START_SAMPLES	16		/* maximum number of samples */
/* minimum number of samples, even if taking them exceeds START_NS */
#define START_SAMPLES_MIN 4
#define START_SLEEP_NS	1000000		/* pause between two samples, ns */
/* time from the first sample, ns, after which no more samples are taken */
#define START_NS	18000000

/* ---- the system's clocks ------------------------------------------------ */

/*
 * RDTSCP waits for all preceding instructions. Plain RDTSC was observed to run
 * backwards between threads. The same instruction reads TSC_AUX, in which the kernel
 * keeps the CPU's number, so the thread cannot change its CPU between the reads of TSC
 * and TSC_AUX. Every CPU whose TSC may be the source has RDTSCP, see core/tsc_trust.h.
 */
static __u64 read_tsc(void *ctx, __u32 *ret_cpu)
{
	(void)ctx;
	return __rdtscp(ret_cpu);
}

static __s64 clock_ns(void *ctx, clockid_t clock)
{
	(void)ctx;
	return tsct_gettime_ns(clock);
}

/* The kernel's clocks are the same on all CPUs, so the CPU need not be known. */
#define DEFINE_READ(name, clock)					\
static __u64 name(void *ctx, __u32 *ret_cpu)				\
{									\
	*ret_cpu = TSCT_CPU_ANY;					\
	return (__u64)clock_ns(ctx, clock);				\
}

DEFINE_READ(read_raw, CLOCK_MONOTONIC_RAW)
DEFINE_READ(read_monotonic, CLOCK_MONOTONIC)
DEFINE_READ(read_realtime, CLOCK_REALTIME)

static void sleep_ns(void *ctx, __u64 ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000),
	};

	(void)ctx;
	nanosleep(&ts, NULL);	/* a signal may end the sleep earlier */
}

/* The kernel's clocksources: their resolutions, and whether they count the TSC */
static const struct clocksource {
	const char *name;
	bool locked;		/* true: the clocksource counts the TSC */
	double resolution_ns;	/* resolution of the clocksource in ns, at least 1 */
} clocksources[] = {
	{ "tsc", true, 1 },
	{ "tsc-early", true, 1 },
	{ "hpet", false, 100 },
	{ "acpi_pm", false, 280 },
	{ "hyperv_clocksource_tsc_page", false, 100 },
	{ "jiffies", false, 1e7 },
	{ "refined-jiffies", false, 1e7 },
};

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/" \
		    "current_clocksource"

static const struct clocksource *find_clocksource(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(clocksources) / sizeof(clocksources[0]); i++)
		if (!strcmp(name, clocksources[i].name))
			return &clocksources[i];
	return NULL;
}

static const char *read_clocksource(void *ctx)
{
	const struct clocksource *found;
	char name[64];

	(void)ctx;
	if (tsct_sysfs_read_line(CLOCKSOURCE, name, sizeof(name)) < 0)
		return NULL;
	found = find_clocksource(name);
	return found ? found->name : NULL;
}

static const struct tsct_clock_ops real_ops[TSCT_SOURCE_NR] = {
#define OPS(fn)	{ .cycles = fn, .clock_ns = clock_ns, .sleep_ns = sleep_ns, \
		  .clocksource = read_clocksource }
	[TSCT_SOURCE_TSC] = OPS(read_tsc),
	[TSCT_SOURCE_MONOTONIC_RAW] = OPS(read_raw),
	[TSCT_SOURCE_MONOTONIC] = OPS(read_monotonic),
	[TSCT_SOURCE_REALTIME] = OPS(read_realtime),
};

const struct tsct_clock_ops *tsct_clock_ops_real(unsigned int source)
{
	if (source >= TSCT_SOURCE_NR)
		source = TSCT_SOURCE_MONOTONIC_RAW;
	return &real_ops[source];
}

__u64 tsct_cycles_read(unsigned int source)
{
	__u32 cpu;

	if (source == TSCT_SOURCE_TSC)
		return read_tsc(NULL, &cpu);
	return tsct_clock_ops_real(source)->cycles(NULL, &cpu);
}

/* ---- brackets ----------------------------------------------------------- */

void tsct_sampler_init(struct tsct_sampler *sampler,
		       const struct tsct_clock_ops *ops)
{
	*sampler = (struct tsct_sampler) {
		.ops = ops,
		.limit_ns = LIMIT_NS,
	};
}

static void take_bracket(const struct tsct_clock_ops *ops, clockid_t clock,
			 struct tsct_bracket *ret_bracket)
{
	ret_bracket->before = ops->cycles(ops->ctx, &ret_bracket->before_cpu);
	ret_bracket->ns = ops->clock_ns(ops->ctx, clock);
	ret_bracket->after = ops->cycles(ops->ctx, &ret_bracket->after_cpu);
}

/* Valid brackets taken in one search for a narrow bracket; if there is none, all[0] is an
 * invalid bracket */
struct tries {
	struct tsct_bracket all[TRIES];
	unsigned int nr, best;		/* number of brackets; index of the narrowest */
};

static void search_brackets(struct tsct_sampler *sampler, clockid_t clock,
			    struct tries *tries)
{
	double width, best, limit = sampler->limit_ns;
	struct tsct_bracket *now = &tries->all[0];
	unsigned int good = 0, enough, taken;
	volatile unsigned int pause;

	enough = sampler->thorough ? TRIES : GOOD_ENOUGH;
	/* The first bracket is discarded: it is wide, because caches are cold. */
	take_bracket(sampler->ops, clock, now);
	tries->best = 0;
	tries->nr = 0;
	for (taken = 0; taken < TRIES && good < enough; taken++) {
		now = &tries->all[tries->nr];
		/*
		 * Some counters advance in steps (of 10 ns on some machines). If
		 * the loop were in phase with the steps, all brackets would be
		 * truncated in the same way. Pauses of varying length prevent that.
		 */
		pause = taken * 5 % DITHER;
		while (pause)
			pause--;
		take_bracket(sampler->ops, clock, now);
		if (!tsct_bracket_is_valid(now))
			continue;
		width = (double)(now->after - now->before) *
			sampler->ns_per_cycle;
		if (sampler->ns_per_cycle > 0 && width <= limit)
			good++;
		if (tsct_bracket_narrower(now, &tries->all[tries->best]))
			tries->best = tries->nr;
		if (++tries->nr > TRIES_MIN &&
		    now->ns - tries->all[0].ns > SEARCH_NS)
			break;
	}
	now = &tries->all[tries->best];
	best = (double)(now->after - now->before) * sampler->ns_per_cycle;
	if (sampler->ns_per_cycle <= 0 || !tries->nr)
		return;
	limit = tsct_larger(good ? limit * 7 / 8 : limit * 2, best * 5 / 4);
	sampler->limit_ns = tsct_smaller(tsct_larger(limit, LIMIT_NS_MIN),
					 LIMIT_NS_MAX);
}

static double cycles_between(__u64 a, __u64 b)
{
	return (double)(__s64)(a - b);
}

/*
 * Narrows @bracket, the narrowest of @tries, by all brackets that the search took on the same
 * CPU: each bracket, moved to the time of @bracket by @rate (ns per cycle), bounds the clock
 * from both sides. The time between two brackets, computed by @rate, has a relative error of
 * at most SPAN_ERROR. Returns the longest time, cycles, from @bracket to one that narrowed it.
 */
static double intersect_brackets(const struct tries *tries, double rate,
				 struct tsct_bracket *bracket)
{
	const struct tsct_bracket *best = &tries->all[tries->best], *one;
	double first = 0, last = cycles_between(best->after, best->before);
	double low, high, since, slack, low_span = 0, high_span = 0;
	unsigned int i;

	for (i = 0; i < tries->nr; i++) {
		one = &tries->all[i];
		if (one->before_cpu != best->before_cpu)
			continue;
		since = (double)(one->ns - best->ns) / rate;
		slack = tsct_magnitude(since) * SPAN_ERROR;
		low = cycles_between(one->before, best->before) - since - slack;
		high = cycles_between(one->after, best->before) - since + slack;
		if (low > first) {
			first = low;
			low_span = tsct_magnitude(since);
		}
		if (high < last) {
			last = high;
			high_span = tsct_magnitude(since);
		}
	}
	/* No time is within all brackets: the clock was set or slewed fast during the search. */
	if (first > last + 1)
		return 0;
	last = tsct_larger(first, last);
	bracket->before = best->before + (__u64)first;
	bracket->after = best->before + (__u64)last + (last > (__u64)last);
	return tsct_larger(low_span, high_span);
}

void tsct_sampler_bracket(struct tsct_sampler *sampler, clockid_t clock,
			  struct tsct_bracket *ret_bracket)
{
	double rate = clock == CLOCK_REALTIME ? sampler->real_per_cycle :
		sampler->raw_per_cycle;
	struct tries tries;

	search_brackets(sampler, clock, &tries);
	*ret_bracket = tries.all[tries.best];
	sampler->span = 0;
	if (rate > 0)
		sampler->span = (__u64)intersect_brackets(&tries, rate, ret_bracket);
}

static void widen_bracket(struct tsct_bracket *bracket, __u64 cycles)
{
	bracket->before -= cycles;
	bracket->after += cycles;
}

void tsct_sampler_take(struct tsct_sampler *sampler,
		       struct tsct_sample *ret_sample)
{
	const struct tsct_clock_ops *ops = sampler->ops;
	struct tsct_clock_snapshot s;

	if (ops->snapshot && !ops->snapshot(ops->ctx, &s)) {
		*ret_sample = (struct tsct_sample) {
			.raw = { s.cycles, s.raw_ns, s.cycles },
			.real = { s.cycles, s.real_ns, s.cycles },
		};
	} else {
		tsct_sampler_bracket(sampler, CLOCK_MONOTONIC_RAW,
				     &ret_sample->raw);
		tsct_sampler_bracket(sampler, CLOCK_REALTIME, &ret_sample->real);
		ret_sample->span = sampler->span;
	}
	widen_bracket(&ret_sample->raw, sampler->skew_cycles);
	widen_bracket(&ret_sample->real, sampler->skew_cycles);
}

/* ---- calibration -------------------------------------------------------- */

/* Stores the resolution of the kernel's clocks in @est, and whether the kernel derives
 * these clocks from the TSC. */
static void set_clocksource(const struct tsct_sampler *sampler,
			    struct tsct_rate_estimator *est)
{
	const struct tsct_clock_ops *ops = sampler->ops;
	const char *name = ops->clocksource ? ops->clocksource(ops->ctx) : NULL;
	const struct clocksource *found = name ? find_clocksource(name) : NULL;

	/* A source other than the TSC is itself a clock of the kernel. */
	if (est->state.source != TSCT_SOURCE_TSC)
		return;
	est->locked = found && found->locked;
	est->raw.resolution_ns = est->real.resolution_ns = found ? found->resolution_ns : 0;
}

/*
 * Estimates the counter's rate to a thousandth, from two brackets of MONOTONIC_RAW, so
 * that later brackets can be intersected. If these two brackets are too wide
 * for this precision, the rate remains unknown.
 */
static void estimate_rate(struct tsct_sampler *sampler)
{
	const struct tsct_clock_ops *ops = sampler->ops;
	struct tsct_bracket a, b;
	double lo, hi;

	sampler->ns_per_cycle = 0;
	sampler->raw_per_cycle = 0;
	sampler->real_per_cycle = 0;
	tsct_sampler_bracket(sampler, CLOCK_MONOTONIC_RAW, &a);
	ops->sleep_ns(ops->ctx, START_SLEEP_NS / 5);
	tsct_sampler_bracket(sampler, CLOCK_MONOTONIC_RAW, &b);
	if (tsct_bracket_is_valid(&a) && tsct_bracket_is_valid(&b) &&
	    tsct_bracket_rate(&a, &b, 1, &lo, &hi) && hi < lo * (1 + SPAN_ERROR))
		sampler->ns_per_cycle = sampler->raw_per_cycle = (lo + hi) / 2;
}

/*
 * Returns @rate, ns per cycle, if its bounds @lo and @hi are close enough to
 * intersect brackets of different times by @rate; else 0.
 */
static double usable_rate(double rate, double lo, double hi)
{
	return hi > 0 && hi - lo < rate * RATE_ERROR ? rate : 0;
}

void tsct_sampler_note_result(struct tsct_sampler *sampler,
			      const struct tsct_rate_estimator *est, int event)
{
	/* The rate of REALTIME is known only while the steering of REALTIME is unchanged. */
	bool steady = event == TSCT_RATE_OK &&
		est->state.status == TSCT_STATUS_SYNCHRONIZED;

	if (event < 0)
		return;
	sampler->ns_per_cycle = est->raw_rate;
	sampler->raw_per_cycle = usable_rate(est->raw_rate, est->raw.lo,
					     est->raw.hi);
	sampler->real_per_cycle = steady ?
		usable_rate(est->rate, est->lo, est->hi) : 0;
}

int tsct_sampler_start(struct tsct_sampler *sampler,
		       struct tsct_rate_estimator *est)
{
	const struct tsct_clock_ops *ops = sampler->ops;
	struct tsct_sample samples[START_SAMPLES];
	unsigned int nr = 0;
	int event;

	set_clocksource(sampler, est);
	estimate_rate(sampler);
	/* The rate over a short baseline needs the narrowest brackets. */
	sampler->thorough = true;
	for (;;) {
		tsct_sampler_take(sampler, &samples[nr++]);
		if (nr == START_SAMPLES ||
		    (nr >= START_SAMPLES_MIN &&
		     samples[nr - 1].raw.ns - samples[0].raw.ns > START_NS))
			break;
		ops->sleep_ns(ops->ctx, START_SLEEP_NS);
	}
	sampler->thorough = false;
	event = tsct_rate_start(est, samples, nr);
	tsct_sampler_note_result(sampler, est, event);
	return event;
}

int tsct_sampler_feed(struct tsct_sampler *sampler,
		      struct tsct_rate_estimator *est)
{
	struct tsct_sample sample;
	int event;

	tsct_sampler_take(sampler, &sample);
	event = tsct_rate_feed(est, &sample);
	tsct_sampler_note_result(sampler, est, event);
	return event;
}
