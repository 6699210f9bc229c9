// SPDX-License-Identifier: MIT
/*
 * The clock that a process keeps for itself. It has no thread: whoever asks for
 * a time later than the last sample takes the next one, a few microseconds once
 * a second. Whoever finds somebody at it (another thread, or the code that our
 * signal handler interrupted) goes on with what there is.
 *
 * What the estimator knows is kept twice: the next state of it is made beside
 * the one in force, which is whole at any moment. So a child after fork() has a
 * whole one, too, whatever the threads that did not come with it were doing;
 * and it learns of the fork, as the kernel empties the page of `shared`.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock_private.h"
#include "lib/core/latch.h"
#include "clock_sample.h"
#include "clock_source.h"

/* A sample is good for as long. */
#define REFINE_NS	NS_PER_S
/* After a disruption, or where a sample failed: try again so soon. */
#define RETRY_NS	10000000
/* Lines begin so far ahead: more than it takes to publish one. */
#define LEAD_NS		20000
#define LEAD_FACTOR	4		/* where that was not enough */
#define LEAD_MAX_NS	20e9		/* for debuggers */
#define LEADS_MAX	11
/* Samples that may be fed in a row to get over a disruption */
#define FEEDS_MAX	3

/* Emptied in a child by fork() */
struct shared {
	__u32 held;			/* somebody takes a sample */
	__u32 known;			/* no fork since this was set */
};

struct knowledge {
	struct tsct_rate_estimator est;
	struct tsct_sampler sampler;
	struct tsct_sample first;	/* of two to start with */
	bool started, has_first;
};

struct tsct_clock_inprocess {
	struct tsct_clock_page area;
	struct shared *shared;
	struct shared spare;
	const struct tsct_clock_ops *ops;
	/* Set at the start */
	__u64 refine_ticks, retry_ticks, lead_ticks, lead_max_ticks;
	__u64 tried_tsc;		/* relaxed: a hint */
	/* Of who holds `held` */
	__u32 current;
	struct knowledge known[2];
};

static __u64 read_stamp(const struct tsct_clock_inprocess *own)
{
	return own->ops->stamp(own->ops->ctx);
}

/* ---- publishing -------------------------------------------------------- */

/*
 * Readers' short cut ends where a sample is due, so that they come to refine().
 */
static void shorten(const struct tsct_clock_inprocess *own,
		    struct tsct_clock_state *state)
{
	struct tsct_clock_params *pair = &state->real;
	__s64 limit = (__s64)(pair->as_of_cycles + own->refine_ticks -
			      pair->base_cycles);

	if (limit < 0)
		limit = 0;
	if (pair->fast_cycles > (__u64)limit)
		pair->fast_cycles = (__u64)limit;
}

/*
 * A line begins in the future, where the one before it is then, so that nobody
 * sees time jump. Should its beginning have passed when all is ready (we were
 * preempted, or somebody single-steps us), it gets another one, later.
 * Returns 0, -ETIME or what tsct_segments_check() said.
 */
static int publish(struct tsct_clock_inprocess *own, struct tsct_rate_estimator *est)
{
	__u64 lead = own->lead_ticks, began, took;
	struct tsct_clock_state last, next;
	int tries, err = -ETIME;

	if (tsct_latch_read(&own->area, &last))
		return -EAGAIN;
	for (tries = 0; tries < LEADS_MAX && err == -ETIME; tries++) {
		began = read_stamp(own);
		tsct_rate_compose(est, began + lead, &next);
		shorten(own, &next);
		tsct_latch_stage(&own->area, &next);
		took = read_stamp(own) - began;
		err = tsct_segments_check(&last, &next, began + took);
		lead *= LEAD_FACTOR;
		if (lead < 2 * took)
			lead = 2 * took;
		if (lead > own->lead_max_ticks)
			lead = own->lead_max_ticks;
	}
	if (err) {
		tsct_latch_repair(&own->area);
		return err;
	}
	tsct_latch_commit(&own->area);
	tsct_rate_published(est, &next);
	return 0;
}

/* ---- taking samples ---------------------------------------------------- */

/* Without a start of 15 ms: it failed, and nobody has time for one now. */
static int start_late(struct knowledge *know)
{
	struct tsct_sample samples[2] = { know->first };
	int ret;

	tsct_sampler_take(&know->sampler, &samples[1]);
	if (!know->has_first) {
		know->first = samples[1];
		know->has_first = true;
		return -EAGAIN;
	}
	know->has_first = false;
	ret = tsct_rate_start(&know->est, samples, 2);
	know->started = ret >= 0;
	return ret;
}

/* An event begins a new epoch; another sample has to agree with it. */
static int feed(struct knowledge *know)
{
	int feeds, ret = -EAGAIN;

	if (!know->started)
		return start_late(know);
	for (feeds = 0; feeds < FEEDS_MAX; feeds++) {
		ret = tsct_sampler_feed(&know->sampler, &know->est);
		if (ret == TSCT_RATE_OK || ret < 0)
			break;
	}
	return ret;
}

/*
 * In the child of a fork: a writer that did not come with it may have left the
 * page half-written, or written and the estimator not told.
 */
static void take_over(struct tsct_clock_inprocess *own)
{
	struct tsct_rate_estimator *est = &own->known[own->current].est;
	struct tsct_clock_state state;

	tsct_latch_repair(&own->area);
	if (!tsct_latch_read(&own->area, &state) && state.real.mult)
		tsct_rate_published(est, &state);
}

static void refine(struct tsct_clock_inprocess *own)
{
	struct knowledge *next = &own->known[!own->current];
	int err;

	if (!own->shared->known)
		take_over(own);
	own->shared->known = 1;
	*next = own->known[own->current];
	if (feed(next) < 0) {
		/* What it remembers for another start is worth keeping. */
		if (!next->started)
			own->current = !own->current;
		return;
	}
	err = publish(own, &next->est);
	/* A line that does not go on where the last one is: a new epoch, then */
	if (err && err != -ETIME)
		tsct_rate_disrupt(&next->est, TSCT_CAUSE_RESTART);
	if (err != -ETIME)
		own->current = !own->current;
}

void tsct_clock_inprocess_sample(struct tsct_clock_inprocess *own)
{
	/* Pairs with the release below: all is as the last holder left it. */
	if (__atomic_exchange_n(&own->shared->held, 1, __ATOMIC_ACQUIRE))
		return;
	refine(own);
	WRITE_ONCE(own->tried_tsc, read_stamp(own));
	__atomic_store_n(&own->shared->held, 0, __ATOMIC_RELEASE);
}

/* Was there a sample in the second before @stamp, and no disruption since? */
static bool is_young(const struct tsct_clock_inprocess *own, __u64 stamp)
{
	/*
	 * Not by the latch: the worst that comes of a torn reading is a sample
	 * too many, or one at the next call.
	 */
	const struct tsct_clock_state *state =
		&own->area.copy[READ_ONCE(own->area.seq) & 1].state;
	__u64 age = stamp - READ_ONCE(state->real.as_of_cycles);
	__u32 status = READ_ONCE(state->status);

	return age <= own->refine_ticks && status != TSCT_STATUS_DISRUPTED &&
		status != TSCT_STATUS_UNKNOWN;
}

/*
 * The stamp that somebody asks about is only a hint: it may be one of the past,
 * or of a future that no sample brings nearer. What counts is what the counter
 * says now. Behind its last sample it was set back; that is a disruption.
 */
static bool due(const struct tsct_clock_inprocess *own, __u64 stamp)
{
	__s64 since;
	__u64 now;

	if (likely(is_young(own, stamp)))
		return false;
	now = read_stamp(own);
	if (is_young(own, now))
		return false;
	since = (__s64)(now - READ_ONCE(own->tried_tsc));
	return since < 0 || since > (__s64)own->retry_ticks;
}

void tsct_clock_inprocess_refine(struct tsct_clock_inprocess *own, __u64 stamp)
{
	if (unlikely(due(own, stamp)))
		tsct_clock_inprocess_sample(own);
}

/* ---- the beginning and the end ----------------------------------------- */

/*
 * Kernels before 4.14 cannot empty a page at a fork. If a thread takes a sample
 * just then, the child never takes one, and goes on in holdover.
 */
static struct shared *map_shared(struct tsct_clock_inprocess *own)
{
	struct shared *shared = mmap(NULL, TSCT_PAGE_SIZE,
				     PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return &own->spare;
	madvise(shared, TSCT_PAGE_SIZE, MADV_WIPEONFORK);
	return shared;
}

static void set_ticks(struct tsct_clock_inprocess *own, double ns_per_tick)
{
	double ticks = ns_per_tick > 0 ? 1 / ns_per_tick : 1;

	own->refine_ticks = (__u64)((double)REFINE_NS * ticks);
	own->retry_ticks = (__u64)(RETRY_NS * ticks);
	own->lead_ticks = (__u64)(LEAD_NS * ticks) + 1;
	own->lead_max_ticks = (__u64)(LEAD_MAX_NS * ticks) + 1;
}

struct tsct_clock_inprocess *tsct_clock_inprocess_open(__u32 source,
					   const struct tsct_clock_ops *ops)
{
	struct tsct_clock_inprocess *own = mmap(NULL, sizeof(*own),
					  PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u8 boot_id[16] = { 0 };
	struct knowledge *know;

	if (own == MAP_FAILED)
		return NULL;
	know = &own->known[0];
	own->ops = ops;
	own->shared = map_shared(own);
	own->shared->known = 1;
	tsct_boot_id(boot_id);	/* for the record: nobody else reads it */
	tsct_latch_init(&own->area, boot_id, source, 0);
	tsct_rate_init(&know->est, source, 0, TSCT_CAUSE_NONE);
	/* A page that is not asked never goes void. */
	know->est.void_cycles = 1ULL << 61;
	tsct_sampler_init(&know->sampler, ops);
	know->started = tsct_sampler_start(&know->sampler, &know->est) >= 0;
	set_ticks(own, know->sampler.ns_per_tick);
	own->tried_tsc = read_stamp(own);
	if (know->started)
		publish(own, &know->est);
	return own;
}

void tsct_clock_inprocess_close(struct tsct_clock_inprocess *own)
{
	if (own->shared != &own->spare)
		munmap(own->shared, TSCT_PAGE_SIZE);
	munmap(own, sizeof(*own));
}

const struct tsct_clock_page *
tsct_clock_inprocess_page(const struct tsct_clock_inprocess *own)
{
	return &own->area;
}
