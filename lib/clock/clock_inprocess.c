// SPDX-License-Identifier: MIT
/*
 * The in-process clock: the timekeeper of a process for which no daemon publishes a
 * time. It has no thread: a conversion more than a second after the last sample
 * takes the next sample, which takes a few microseconds. If another thread, or
 * code that a signal handler interrupted, is taking a sample, the conversion
 * uses the published state.
 *
 * There are two copies of the estimator: the next state is computed in the spare copy while
 * the current copy stays complete. So the child of a fork() at any time has a complete
 * estimator. The child detects the fork because the kernel zeroes the page of struct shared.
 */
#include <errno.h>
#include <sys/mman.h>

#include "clock_private.h"
#include "lib/clockpage/latch.h"
#include "clock_sample.h"
#include "clock_source.h"
#include "lib/estimate/rate_estimator.h"

/* Age of the last sample, ns, at which the next sample is taken */
#define REFINE_NS	NS_PER_S
/* Delay of the next sample after a disruption or a failed sample, ns */
#define RETRY_NS	10000000
/* Lead: time from now until new params begin, ns; longer than their publication takes */
#define LEAD_NS		20000
/* factor by which LEAD_NS is multiplied after each attempt that took too long */
#define LEAD_FACTOR	4
/* Maximum lead, ns; large, because a debugger may single-step the publication */
#define LEAD_MAX_NS	20e9
#define LEADS_MAX	11		/* maximum number of attempts to publish */
/* Maximum number of samples taken in a row to recover from a disruption */
#define FEEDS_MAX	3

/* State that the kernel sets to zero in the child of a fork() (MADV_WIPEONFORK) */
struct shared {
	__u32 held;			/* lock that is held while a sample is taken */
	__u32 known;			/* 0 in the child of a fork() until its first
					 * sample, else 1 */
};

struct fitted_rate {
	struct tsct_rate_estimator est;
	struct tsct_sampler sampler;
	/* first of two samples that start the estimator after a failed calibration */
	struct tsct_sample first;
	bool started, has_first;
};

struct tsct_clock_inprocess {
	struct tsct_clock_page area;
	struct shared *shared;
	/* used if mmap() of a page for `shared` failed; then the child of a fork()
	 * does not detect the fork, as the kernel does not set this memory to zero */
	struct shared spare;
	const struct tsct_clock_ops *ops;
	/* Members that are constant after tsct_clock_inprocess_open() */
	__u64 refine_cycles, retry_cycles, lead_cycles, lead_max_cycles;
	__u64 tried_cycles;		/* counter after the last attempt to sample; read
					 * without the lock */
	/* Members protected by shared->held */
	__u32 current;
	struct fitted_rate estimates[2];
};

static __u64 read_cycles(const struct tsct_clock_inprocess *clock)
{
	__u32 cpu;

	return clock->ops->cycles(clock->ops->ctx, &cpu);
}

/* ---- publishing --------------------------------------------------------- */

/*
 * Publishes new params, which begin a short time (the lead) after now, at the time of the
 * params in force, so that published time does not jump. If composing takes longer than the
 * lead (this thread was preempted or is single-stepped), composes them again with a longer
 * lead. Returns 0, an error of tsct_segments_check(), or -EAGAIN: the page cannot be read.
 */
static int publish_params(struct tsct_clock_inprocess *clock,
			  struct tsct_rate_estimator *est)
{
	__u64 lead = clock->lead_cycles, began, took;
	struct tsct_clock_params *params;
	struct tsct_clock_state last, next;
	int tries, err = -ETIME;
	__s64 limit;

	if (tsct_latch_read(&clock->area, &last))
		return -EAGAIN;
	for (tries = 0; tries < LEADS_MAX && err == -ETIME; tries++) {
		began = read_cycles(clock);
		tsct_rate_compose(est, began + lead, &next);
		/*
		 * Ends the fast path at the cycles at which a sample is due:
		 * conversions after that take the slow path, which calls
		 * tsct_clock_inprocess_refine().
		 */
		params = &next.real;
		limit = (__s64)(params->as_of_cycles + clock->refine_cycles -
				params->base_cycles);
		limit = max(limit, 0);
		params->fast_cycles = min(params->fast_cycles, (__u64)limit);
		tsct_latch_stage(&clock->area, &next);
		took = read_cycles(clock) - began;
		err = tsct_segments_check(&last, &next, began + took);
		lead *= LEAD_FACTOR;
		lead = max(lead, 2 * took);
		lead = min(lead, clock->lead_max_cycles);
	}
	if (err) {
		tsct_latch_repair(&clock->area);
		return err;
	}
	tsct_latch_commit(&clock->area);
	tsct_rate_published(est, &next);
	return 0;
}

/* ---- taking samples ----------------------------------------------------- */

/*
 * Starts the estimator if the calibration at open failed. Each of two calls takes
 * a sample, as a conversion must not block for another calibration of 15 ms.
 */
static int start_late(struct fitted_rate *estimate)
{
	struct tsct_sample samples[2] = { estimate->first };
	int ret;

	tsct_sampler_take(&estimate->sampler, &samples[1]);
	if (!estimate->has_first) {
		estimate->first = samples[1];
		estimate->has_first = true;
		return -EAGAIN;
	}
	estimate->has_first = false;
	ret = tsct_rate_start(&estimate->est, samples, 2);
	estimate->started = ret >= 0;
	return ret;
}

static void take_sample(struct tsct_clock_inprocess *clock)
{
	struct fitted_rate *current = &clock->estimates[clock->current];
	struct fitted_rate *next = &clock->estimates[!clock->current];
	int feeds, err, ret = TSCT_RATE_STEPPED;
	struct tsct_clock_state state;

	/*
	 * In the child of a fork(): repairs the page, and makes the estimator continue
	 * the published params. At the fork(), another thread of the parent may have
	 * been writing the page, or may not yet have updated the estimator.
	 */
	if (!clock->shared->known) {
		tsct_latch_repair(&clock->area);
		if (!tsct_latch_read(&clock->area, &state) && state.real.mult)
			tsct_rate_published(&current->est, &state);
	}
	clock->shared->known = 1;
	*next = *current;
	if (!next->started)
		ret = start_late(next);
	/* After a step or jump, the new epoch has no params until another sample is taken. */
	else
		for (feeds = 0; feeds < FEEDS_MAX && ret > 0; feeds++)
			ret = tsct_sampler_feed(&next->sampler, &next->est);
	if (ret < 0) {
		/* start_late() stored its first sample in *next, and needs this
		 * sample in its next call, so make *next the current estimate. */
		if (!next->started)
			clock->current = !clock->current;
		return;
	}
	err = publish_params(clock, &next->est);
	/* After any error but -ETIME, new params would not continue the
	 * published params, so begin an epoch. */
	if (err && err != -ETIME)
		tsct_rate_disrupt(&next->est, TSCT_CAUSE_RESTART);
	if (err != -ETIME)
		clock->current = !clock->current;
}

void tsct_clock_inprocess_sample(struct tsct_clock_inprocess *clock)
{
	/* acquire: pairs with the release below, which follows the stores of the previous sample */
	if (__atomic_exchange_n(&clock->shared->held, 1, __ATOMIC_ACQUIRE))
		return;
	take_sample(clock);
	WRITE_ONCE(clock->tried_cycles, read_cycles(clock));
	__atomic_store_n(&clock->shared->held, 0, __ATOMIC_RELEASE);
}

/* Returns true if the last sample is at most a second older than @cycles, and the clock is
 * neither disrupted nor unknown. */
static bool is_recent(const struct tsct_clock_inprocess *clock, __u64 cycles)
{
	/*
	 * Reads the state without the latch: a torn read at worst causes an extra
	 * sample, or delays a sample to the next call.
	 */
	const struct tsct_clock_state *state =
		&clock->area.copy[READ_ONCE(clock->area.seq) & 1].state;
	__u64 age = cycles - READ_ONCE(state->real.as_of_cycles);
	__u32 status = READ_ONCE(state->status);

	return age <= clock->refine_cycles && status != TSCT_STATUS_DISRUPTED &&
		status != TSCT_STATUS_UNKNOWN;
}

/*
 * Takes a sample if the last one is too old at the present counter value. @cycles alone
 * do not show this age: they may be in the past, where no sample is needed, or in the
 * future, where a sample now would not help. Also takes a sample if the counter is below
 * its value at the last attempt: then the counter was set back, which is a disruption.
 */
void tsct_clock_inprocess_refine(struct tsct_clock_inprocess *clock,
				 __u64 cycles)
{
	__s64 since;
	__u64 now;

	if (likely(is_recent(clock, cycles)))
		return;
	now = read_cycles(clock);
	if (is_recent(clock, now))
		return;
	since = (__s64)(now - READ_ONCE(clock->tried_cycles));
	if (since < 0 || since > (__s64)clock->retry_cycles)
		tsct_clock_inprocess_sample(clock);
}

/* ---- open and close ----------------------------------------------------- */

struct tsct_clock_inprocess *
tsct_clock_inprocess_open(__u32 source, const struct tsct_clock_ops *ops)
{
	struct tsct_clock_inprocess *clock = mmap(NULL, sizeof(*clock),
						  PROT_READ | PROT_WRITE,
						  MAP_PRIVATE | MAP_ANONYMOUS,
						  -1, 0);
	double cycles_per_ns = 1;
	struct fitted_rate *estimate;
	__u8 boot_id[16] = { 0 };

	if (clock == MAP_FAILED)
		return NULL;
	estimate = &clock->estimates[0];
	clock->ops = ops;
	/*
	 * Kernels before 4.14 cannot zero a page at a fork. If a thread of the parent
	 * holds the lock at that moment, the child never takes a sample, and its clock
	 * goes into holdover.
	 */
	clock->shared = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (clock->shared == MAP_FAILED)
		clock->shared = &clock->spare;
	else
		madvise(clock->shared, TSCT_PAGE_SIZE, MADV_WIPEONFORK);
	clock->shared->known = 1;
	/* Errors of tsct_boot_id() are ignored: only this process reads the page, and
	 * compares no boot id. */
	tsct_boot_id(boot_id);
	tsct_latch_init(&clock->area, boot_id, source, 0);
	tsct_rate_init(&estimate->est, source, 0, TSCT_CAUSE_NONE);
	/*
	 * The parameters never expire: samples are taken only in conversions,
	 * which may be far apart.
	 */
	estimate->est.void_cycles = 1ULL << 61;
	tsct_sampler_init(&estimate->sampler, ops);
	estimate->started =
		tsct_sampler_start(&estimate->sampler, &estimate->est) >= 0;
	if (estimate->sampler.ns_per_cycle > 0)
		cycles_per_ns = 1 / estimate->sampler.ns_per_cycle;
	clock->refine_cycles = (__u64)((double)REFINE_NS * cycles_per_ns);
	clock->retry_cycles = (__u64)(RETRY_NS * cycles_per_ns);
	clock->lead_cycles = (__u64)(LEAD_NS * cycles_per_ns) + 1;
	clock->lead_max_cycles = (__u64)(LEAD_MAX_NS * cycles_per_ns) + 1;
	clock->tried_cycles = read_cycles(clock);
	if (estimate->started)
		publish_params(clock, &estimate->est);
	return clock;
}

void tsct_clock_inprocess_close(struct tsct_clock_inprocess *clock)
{
	if (clock->shared != &clock->spare)
		munmap(clock->shared, TSCT_PAGE_SIZE);
	munmap(clock, sizeof(*clock));
}

const struct tsct_clock_page *
tsct_clock_inprocess_page(const struct tsct_clock_inprocess *clock)
{
	return &clock->area;
}
