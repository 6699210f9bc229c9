// SPDX-License-Identifier: MIT
/*
 * Reads the counter; converts cycles to times and back, for CLOCK_REALTIME and the
 * cluster's time, now and in the past; and computes intervals between two readings. An
 * interval depends on the counter's rate alone: steps and slews of CLOCK_REALTIME do not
 * change it. Compares the module's count of disruptions with the count in the
 * published state. The formulas are in section 4 of tsctrace/abi_clock.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock_private.h"
#include "clock_sample.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "lib/client/gettime.h"

#define PPT		1000000000000ULL
/* Maximum number of reads of the page, if a writer changes the page during each read */
#define OVERTAKEN_MAX	16
/* Time between two checks of the status in tsct_clock_wait_synced(), ns */
#define POLL_NS		10000000
/* Number of status checks in tsct_clock_wait_synced() between two samples */
#define SAMPLE_POLLS	10

/* The time that cycles are converted to */
enum timeline {
	REAL,
	CLUSTER,
};

/* ---- readings of the counter --------------------------------------------- */

uint64_t tsct_clock_cycles(const struct tsct_clock *clock)
{
	const __u64 stopped = tsct_clock_full(clock)->stopped_cycles;

	return unlikely(stopped) ? stopped : tsct_cycles_read(clock->source);
}

void tsct_clock_time_point(const struct tsct_clock *clock,
			   struct tsct_time_point *ret_point)
{
	ret_point->reserved = 0;
	ret_point->cpu = TSCT_CPU_ANY;
	if (clock->source == TSCT_SOURCE_TSC)
		ret_point->cycles = tsct_tsc_read_cpu(&ret_point->cpu);
	else
		ret_point->cycles = tsct_cycles_read(clock->source);
}

/* ---- the page, field by field ------------------------------------------- */

/* Returns true if the page has not changed since @head was read, see latch.c. */
static bool is_unchanged(const struct tsct_clock_page *page,
			 const struct tsct_clock_head *head)
{
	smp_rmb();
	return READ_ONCE(page->seq) == head->seq;
}

int tsct_clock_head(const struct tsct_clock_page *page,
		    struct tsct_clock_head *ret_head)
{
	const struct tsct_clock_state *state;
	int tries;

	for (tries = 0; tries < OVERTAKEN_MAX; tries++) {
		/* acquire: pairs with the writer's release of seq, so the copy is complete */
		ret_head->seq = smp_load_acquire(&page->seq);
		state = &page->copy[ret_head->seq & 1].state;
		ret_head->status = READ_ONCE(state->status);
		ret_head->epoch = READ_ONCE(state->epoch);
		ret_head->source = READ_ONCE(state->source);
		ret_head->flags = READ_ONCE(state->flags);
		ret_head->mult = READ_ONCE(state->real.mult);
		ret_head->cluster_mult = READ_ONCE(state->cluster.mult);
		ret_head->rate_mult = READ_ONCE(state->rate_mult);
		ret_head->rate_error_ppt = READ_ONCE(state->rate_error_ppt);
		ret_head->disruptions = READ_ONCE(state->disruptions);
		ret_head->as_of_cycles = READ_ONCE(state->real.as_of_cycles);
		ret_head->cluster_as_of_cycles = READ_ONCE(state->cluster.as_of_cycles);
		if (is_unchanged(page, ret_head))
			return 0;
	}
	return -EAGAIN;
}

/* Reads the head for a conversion. Returns 0, or the error of the conversion. */
static int read_head(const struct tsct_clock *clock, enum timeline timeline,
		     struct tsct_clock_head *ret_head)
{
	if (tsct_clock_head(clock->page, ret_head) ||
	    (timeline == REAL && ret_head->status == TSCT_STATUS_UNKNOWN))
		return -EAGAIN;
	return ret_head->source == clock->source ? 0 : -ESTALE;
}

/* ---- disruptions --------------------------------------------------------- */

/* Module's count of disruptions in params that were published without the module */
static const uint64_t no_disruptions;

static int map_module(const struct tsct_disruption_page **ret_page)
{
	int fd = open(TSCT_DISRUPTIONS_PATH, O_RDONLY | O_CLOEXEC);
	const struct tsct_disruption_page *page;
	int err = 0;

	if (fd < 0)
		return -errno;
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err = -errno;
	close(fd);
	if (!err && page->magic != TSCT_DISRUPTIONS_MAGIC) {
		munmap((void *)page, TSCT_PAGE_SIZE);
		err = -EPROTO;
	}
	if (!err)
		*ret_page = page;
	return err;
}

int tsct_clock_follow(struct tsct_clock_full *clock, __u64 published)
{
	const struct tsct_disruption_page *page = NULL, *mine = NULL;
	int err = 0, saved = errno;

	if (published) {
		page = __atomic_load_n(&clock->module, __ATOMIC_ACQUIRE);
		if (!page)
			err = map_module(&mine);
		if (mine && __atomic_compare_exchange_n(&clock->module, &page, mine, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			page = mine;
		else if (mine)	/* another thread was faster */
			munmap((void *)mine, TSCT_PAGE_SIZE);
	}
	if (!err)
		__atomic_store_n(&clock->head.disruptions, page ?
				 (const uint64_t *)&page->disruptions : &no_disruptions,
				 __ATOMIC_RELEASE);
	errno = saved;
	return err;
}

/* Returns true if the params of @timeline, published with the count @published, hold while
 * the module's count is @now. Steps of CLOCK_REALTIME do not end the cluster's params. */
static inline bool is_same_count(__u64 published, __u64 now, enum timeline timeline)
{
	return !((published ^ now) >> (timeline == CLUSTER ? 32 : 0));
}

static __u64 count_now(const struct tsct_clock *clock)
{
	return READ_ONCE(*READ_ONCE(clock->disruptions));
}

/*
 * Returns true if the clock was disrupted since the params with the count @published
 * were made. Call it after reading the counter. When the daemon begins or ceases to
 * use the module, this process does so, too; if it cannot, returns true.
 */
static bool is_disrupted(const struct tsct_clock *clock, __u64 published,
			 enum timeline timeline)
{
	if (likely(is_same_count(published, count_now(clock), timeline)))
		return false;
	if (tsct_clock_full(clock)->stopped_cycles ||
	    tsct_clock_follow(tsct_clock_full(clock), published))
		return true;
	return !is_same_count(published, count_now(clock), timeline);
}

/*
 * Returns true if the time of @cycles is unknown because of a disruption: @cycles are later
 * than the last sample, or the counter has restarted and is repeating earlier values.
 */
static bool is_time_lost(const struct tsct_clock *clock, const struct tsct_clock_head *head,
			 __u64 cycles, enum timeline timeline)
{
	__u64 as_of = timeline == REAL ? head->as_of_cycles : head->cluster_as_of_cycles;

	if (!(timeline == REAL ? head->mult : head->cluster_mult) ||
	    likely(!is_disrupted(clock, head->disruptions, timeline)))
		return false;
	return (__s64)(cycles - as_of) > 0 ||
		(__s64)(tsct_clock_cycles(clock) - as_of) < 0;
}

int tsct_clock_skew(const struct tsct_clock_full *clock, __u32 cpu,
		    __s64 *ret_skew, __u64 *ret_error)
{
	const struct tsct_clock_cpu *cpus;

	/* area.nr_cpus is the number of mapped entries; the page may state a larger number now. */
	if (cpu >= clock->area.nr_cpus)
		return -EXDEV;
	cpus = (const void *)((const char *)clock->area.page +
			      TSCT_CLOCK_CPUS_OFFSET);
	*ret_skew = READ_ONCE(cpus[cpu].skew_cycles);
	*ret_error = READ_ONCE(cpus[cpu].error_cycles);
	return *ret_error == TSCT_SKEW_UNKNOWN ? -EXDEV : 0;
}

__u64 tsct_clock_skew_max(const struct tsct_clock_full *clock)
{
	__u64 max = 0, error;
	__s64 skew;
	__u32 cpu;

	for (cpu = 0; cpu < clock->area.nr_cpus; cpu++) {
		tsct_u128 bound;

		if (tsct_clock_skew(clock, cpu, &skew, &error))
			continue;
		bound = skew < 0 ? -(tsct_s128)skew : (tsct_s128)skew;
		bound += error;
		if (bound > max)
			max = bound > UINT64_MAX ? UINT64_MAX : (__u64)bound;
	}
	return max;
}

__u64 tsct_clock_skew_span(const struct tsct_clock_full *clock)
{
	if (clock->head.source != TSCT_SOURCE_TSC || !clock->area.page)
		return 0;
	return tsct_skew_span((const void *)((const char *)clock->area.page +
					     TSCT_CLOCK_CPUS_OFFSET),
			      clock->area.nr_cpus);
}

/* ---- units -------------------------------------------------------------- */

static __u64 error_ns_of(__u64 error_ps)
{
	/* Rounds the error up to ns, and adds 1 ns because the time was truncated. */
	return error_ps / 1000 + !!(error_ps % 1000) + 1;
}

/* Returns an upper bound of @cycles in ps; @mult: 2^-56 ns per cycle. */
static __u64 cycles_to_ps(__u64 mult, __u64 cycles)
{
	__s64 ns = tsct_cycles_ns(mult, cycles > INT64_MAX ? INT64_MAX :
				  (__s64)cycles);

	return ns >= INT64_MAX / 1000 ? UINT64_MAX : ((__u64)ns + 1) * 1000;
}

/* ---- the fast path ------------------------------------------------------ */

/*
 * The fast path of section 4 of tsctrace/abi_clock.h. In the range of the fast path the
 * result does not depend on the CPU, the clock is not in holdover, and no sample of the
 * in-process clock is due. The 128-bit products cannot overflow, whatever the page holds. This
 * function takes 1 ns. It is inlined, because a call would take 4 ns more.
 */
static inline __attribute__((always_inline)) bool
convert_fast(const struct tsct_clock *clock, __u64 cycles, enum timeline timeline,
	     struct tsct_time *time)
{
	const struct tsct_clock_page *page = clock->page;
	__u64 seq = smp_load_acquire(&page->seq);
	const struct tsct_clock_state *state = &page->copy[seq & 1].state;
	const struct tsct_clock_params *params =
		timeline == REAL ? &state->real : &state->cluster;
	__u64 d = cycles - READ_ONCE(params->base_cycles);
	__u64 age = cycles - READ_ONCE(params->as_of_cycles);
	__u64 error_ps = READ_ONCE(params->error_ps);
	tsct_u128 grown = (tsct_u128)age * READ_ONCE(params->growth);

	if (d >= READ_ONCE(params->fast_cycles))
		return false;
	time->ns = (__s64)((__u64)READ_ONCE(params->base_ns) +
		(__u64)(((tsct_u128)d * READ_ONCE(params->slew_mult)) >>
			TSCT_CLOCK_SHIFT));
	grown = error_ps + ((grown + 0xffffffff) >> 32);
	error_ps = grown > UINT64_MAX ? UINT64_MAX : (__u64)grown;
	if ((__s64)age <= 0)
		error_ps = READ_ONCE(params->past_error_ps);
	time->error_ns = error_ns_of(error_ps);
	time->status = timeline == REAL ? READ_ONCE(state->status) :
		READ_ONCE(state->cluster_status);
	time->epoch = timeline == REAL ? READ_ONCE(state->epoch) :
		READ_ONCE(state->cluster_epoch);
	if (READ_ONCE(state->source) != clock->source ||
	    unlikely(!is_same_count(READ_ONCE(state->disruptions), count_now(clock),
				    timeline)))
		return false;
	/* fence: pairs with the writer's fence; if seq is unchanged, the fields are consistent */
	smp_rmb();
	return READ_ONCE(page->seq) == seq;
}

/* ---- cycles to time ------------------------------------------------------ */

static int lookup_once(const struct tsct_clock_page *page, __u64 cycles,
		       enum timeline timeline, struct tsct_clock_time *time)
{
	struct tsct_clock_state state;

	if (timeline == REAL)
		return tsct_latch_lookup(page, cycles, time);
	return tsct_latch_read(page, &state) ?:
		tsct_clock_cluster_lookup(&state, cycles, time);
}

/*
 * Corrects a time by the skew of the CPU, because params convert counter values of the
 * reference CPU. The table of skews belongs to the current epoch: cycles of an earlier
 * epoch may be off by the largest skew of any CPU. For the cluster's time, cluster_prev
 * is also used with the present skews, even if it was published with other skews.
 */
static int correct_skew(const struct tsct_clock_full *clock,
			const struct tsct_clock_head *head, __u64 cycles, __u32 cpu,
			enum timeline timeline, struct tsct_clock_time *time)
{
	__u64 error = 0, mult = timeline == REAL ? head->mult : head->cluster_mult;
	__s64 skew = 0;
	int err = 0;

	if (timeline == REAL && time->epoch != head->epoch)
		error = tsct_clock_skew_max(clock);
	else
		err = tsct_clock_skew(clock, cpu, &skew, &error);
	if (!err && (skew || timeline == CLUSTER))
		err = lookup_once(clock->head.page, cycles - (__u64)skew, timeline, time);
	if (!err)
		time->error_ps = tsct_add_saturating(time->error_ps,
				cycles_to_ps(mult ?: clock->rate_mult, error));
	return err;
}

static int lookup_time(const struct tsct_clock_full *clock, __u64 cycles, __u32 cpu,
		       enum timeline timeline, struct tsct_clock_time *time)
{
	const struct tsct_clock_page *page = clock->head.page;
	struct tsct_clock_head head;
	int tries, err;

	for (tries = 0; tries < OVERTAKEN_MAX; tries++) {
		err = read_head(&clock->head, timeline, &head);
		if (err)
			return err;
		/* CLOCK_REALTIME is looked up without the skew first, because the skew is
		 * known for the present epoch only. The cluster's time, if known, is looked up
		 * with corrected cycles only: uncorrected cycles may be outside of the
		 * cluster's params. */
		if (timeline == REAL || !(head.flags & TSCT_CLOCK_SKEWED) || !head.cluster_mult)
			err = lookup_once(page, cycles, timeline, time);
		if (!err && head.flags & TSCT_CLOCK_SKEWED)
			err = correct_skew(clock, &head, cycles, cpu, timeline, time);
		if (!err && is_time_lost(&clock->head, &head, cycles, timeline))
			time->status = TSCT_STATUS_DISRUPTED;
		/* If the page has changed, `head` and *time may not match: tries again. */
		if (is_unchanged(page, &head))
			return err;
	}
	return -EAGAIN;
}

static __attribute__((noinline)) int
convert_slow(const struct tsct_clock *head, __u64 cycles, __u32 cpu,
	     enum timeline timeline, struct tsct_time *ret_time)
{
	const struct tsct_clock_full *clock = tsct_clock_full(head);
	struct tsct_clock_time found;
	int err;

	if (clock->inprocess && timeline == REAL)
		tsct_clock_inprocess_refine(clock->inprocess, cycles);
	err = lookup_time(clock, cycles, cpu, timeline, &found);
	if (!err)
		*ret_time = (struct tsct_time) {
			.ns = found.ns, .error_ns = error_ns_of(found.error_ps),
			.status = found.status, .epoch = found.epoch,
		};
	return err;
}

static inline __attribute__((always_inline)) int
convert(const struct tsct_clock *clock, __u64 cycles, __u32 cpu, enum timeline timeline,
	struct tsct_time *ret_time)
{
	struct tsct_time time;

	if (unlikely(!convert_fast(clock, cycles, timeline, &time)))
		return convert_slow(clock, cycles, cpu, timeline, ret_time);
	*ret_time = time;
	return 0;
}

int tsct_clock_cycles_to_time_on(const struct tsct_clock *clock, uint64_t cycles,
				 uint32_t cpu, struct tsct_time *ret_time)
{
	return convert(clock, cycles, cpu, REAL, ret_time);
}

int tsct_clock_cycles_to_time(const struct tsct_clock *clock, uint64_t cycles,
			      struct tsct_time *ret_time)
{
	return convert(clock, cycles, TSCT_CPU_ANY, REAL, ret_time);
}

int tsct_clock_cycles_to_cluster_time_on(const struct tsct_clock *clock,
					 uint64_t cycles, uint32_t cpu,
					 struct tsct_time *ret_time)
{
	return convert(clock, cycles, cpu, CLUSTER, ret_time);
}

int tsct_clock_cycles_to_cluster_time(const struct tsct_clock *clock,
				      uint64_t cycles, struct tsct_time *ret_time)
{
	return convert(clock, cycles, TSCT_CPU_ANY, CLUSTER, ret_time);
}

static inline __attribute__((always_inline)) int
convert_now(const struct tsct_clock *clock, enum timeline timeline,
	    struct tsct_time *ret_time)
{
	struct tsct_time_point now;

	tsct_clock_time_point(clock, &now);
	return convert(clock, now.cycles, now.cpu, timeline, ret_time);
}

int tsct_clock_now_cluster(const struct tsct_clock *clock,
			   struct tsct_time *ret_time)
{
	return convert_now(clock, CLUSTER, ret_time);
}

/*
 * The in-process clock may detect a disruption in this call. The new epoch then begins
 * after the first reading of the counter, so the counter is read again, in the new epoch.
 */
int tsct_clock_now(const struct tsct_clock *clock, struct tsct_time *ret_time)
{
	struct tsct_time time = { .status = TSCT_STATUS_UNKNOWN };
	int err = convert_now(clock, REAL, &time);

	if (tsct_clock_full(clock)->inprocess &&
	    (err || time.status == TSCT_STATUS_DISRUPTED))
		err = convert_now(clock, REAL, &time);
	if (!err)
		*ret_time = time;
	return err;
}

static bool is_synced(const struct tsct_clock *clock, uint64_t max_error_ns)
{
	struct tsct_time now;

	return !tsct_clock_now(clock, &now) &&
		now.status == TSCT_STATUS_SYNCHRONIZED &&
		(!max_error_ns || now.error_ns <= max_error_ns);
}

int tsct_clock_wait_synced(const struct tsct_clock *clock, int timeout_ms,
			   uint64_t max_error_ns)
{
	__s64 until = tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct tsct_clock_inprocess *inprocess =
		tsct_clock_full(clock)->inprocess;
	unsigned int polls = 0;

	while (!is_synced(clock, max_error_ns)) {
		struct timespec pause = { .tv_nsec = POLL_NS };
		__s64 left = until - tsct_monotonic_ns();

		if (timeout_ms >= 0 && left <= 0)
			return -ETIMEDOUT;
		if (timeout_ms >= 0 && left < POLL_NS)
			pause.tv_nsec = left;
		if (nanosleep(&pause, NULL))
			return -errno;
		/*
		 * Conversions take a sample of an in-process clock once a second;
		 * this loop takes samples more often, to synchronize sooner.
		 */
		if (inprocess && ++polls % SAMPLE_POLLS == 0)
			tsct_clock_inprocess_sample(inprocess);
	}
	return 0;
}

/* Below: slow paths of the inline functions in tsctrace/clock.h */

int64_t tsct_clock_now_slow(const struct tsct_clock *clock)
{
	struct tsct_time now;

	if (!tsct_clock_now(clock, &now) &&
	    now.status != TSCT_STATUS_DISRUPTED)
		return now.ns;
	return tsct_gettime_ns(CLOCK_REALTIME);
}

static int valid_ns(int err, const struct tsct_time *time, int64_t *ret_ns)
{
	if (err)
		return err;
	if (!tsct_status_has_time(time->status))
		return -ESTALE;
	*ret_ns = time->ns;
	return 0;
}

int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t cycles,
				 int64_t *ret_ns)
{
	struct tsct_time time;
	int err = tsct_clock_cycles_to_time(clock, cycles, &time);

	if (!err && time.status == TSCT_STATUS_DISRUPTED)
		err = -ESTALE;
	if (!err)
		*ret_ns = time.ns;
	return err;
}

int tsct_clock_now_cluster_slow(const struct tsct_clock *clock, int64_t *ret_ns)
{
	struct tsct_time time = { 0 };
	int err = tsct_clock_now_cluster(clock, &time);

	return valid_ns(err, &time, ret_ns);
}

int tsct_clock_cycles_to_cluster_ns_slow(const struct tsct_clock *clock,
					 uint64_t cycles, int64_t *ret_ns)
{
	struct tsct_time time = { 0 };
	int err = tsct_clock_cycles_to_cluster_time(clock, cycles, &time);

	return valid_ns(err, &time, ret_ns);
}

/* ---- CLOCK_REALTIME to cycles -------------------------------------------- */

/*
 * Finds the first cycle of the segment whose time is @ns or later. @ns must be
 * at least segment->base_ns.
 */
static int find_in_segment(const struct tsct_clock_segment *segment, __s64 ns,
			   __u64 *ret_cycles)
{
	tsct_u128 d;

	/* A segment is empty if it ends one cycle before its base. */
	if (!segment->mult ||
	    (__s64)(segment->until_cycles - segment->base_cycles) < 0)
		return -ENOENT;
	d = (((tsct_u128)((tsct_s128)ns - segment->base_ns) <<
	      TSCT_CLOCK_SHIFT) + segment->mult - 1) / segment->mult;
	if (d > segment->until_cycles - segment->base_cycles)
		return -ENOENT;
	*ret_cycles = segment->base_cycles + (__u64)d;
	return 0;
}

/*
 * Searches newest segments first: of two cycles with the same time, the later one is
 * found.
 *
 * Segments are read one at a time, because the stack of a signal handler has no room
 * for all of them. If the clock page was written meanwhile, the caller discards the
 * result, so any values in @copy must be harmless.
 */
static int find_cycles(const struct tsct_clock_copy *copy, __s64 ns,
		       __u64 *ret_cycles)
{
	__u32 nr = READ_ONCE(copy->nr_segments), i;
	struct tsct_clock_segment present[2], segment = { 0 };
	const struct tsct_clock_params *params;
	struct tsct_clock_state state;
	tsct_u128 d;
	int err;

	tsct_load_relaxed(&state, &copy->state, TSCT_WORDS(struct tsct_clock_state));
	params = &state.real;
	if (params->mult && ns >= params->base_ns) {
		i = tsct_clock_params_segments(&state, params->void_after_cycles, 0,
					       present) - 1;
		/* Times up to the end of the slew, inclusive, are in the slew's segment. */
		if (i && ns <= present[1].base_ns)
			i = 0;
		return find_in_segment(&present[i], ns, ret_cycles) ? -ESTALE : 0;
	}
	segment.base_cycles = params->base_cycles;
	segment.base_ns = params->base_ns;
	segment.mult = params->mult;
	nr = min(nr, TSCT_SEGMENTS_MAX);
	for (i = nr; i-- > 0;) {
		tsct_load_relaxed(&segment, &copy->segments[i],
				  TSCT_WORDS(struct tsct_clock_segment));
		if (ns < segment.base_ns)
			continue;
		err = find_in_segment(&segment, ns, ret_cycles);
		/* -ESTALE: the time is after the last segment, and no params are in force. */
		return err && !params->mult && i == nr - 1 ? -ESTALE : err;
	}
	if (READ_ONCE(copy->dropped))
		return -ERANGE;
	/* The time is before all segments: extends the oldest segment backwards. */
	if (!segment.mult)
		return -EAGAIN;
	d = ((tsct_u128)((tsct_s128)segment.base_ns - ns) <<
	     TSCT_CLOCK_SHIFT) / segment.mult;
	if (d > segment.base_cycles)
		return -ERANGE;
	*ret_cycles = segment.base_cycles - (__u64)d;
	return 0;
}

int tsct_clock_time_to_cycles(const struct tsct_clock *clock, int64_t ns,
			      uint64_t *ret_cycles)
{
	const struct tsct_clock_page *page = clock->page;
	struct tsct_clock_head head;
	__u64 cycles = 0;
	int tries, err;

	for (tries = 0; tries < OVERTAKEN_MAX; tries++) {
		err = read_head(clock, REAL, &head);
		if (err)
			return err;
		err = find_cycles(&page->copy[head.seq & 1], ns, &cycles);
		if (!err && is_time_lost(clock, &head, cycles, REAL))
			err = -ESTALE;
		if (!is_unchanged(page, &head))
			continue;
		if (!err)
			*ret_cycles = cycles;
		return err;
	}
	return -EAGAIN;
}

/* ---- the published state and its segments ------------------------------- */

int tsct_clock_snapshot(const struct tsct_clock *head,
			struct tsct_clock_state *ret_state)
{
	const struct tsct_clock_full *clock = tsct_clock_full(head);
	__u64 now = tsct_clock_cycles(head);
	struct tsct_clock_state state;

	if (clock->inprocess)
		tsct_clock_inprocess_refine(clock->inprocess, now);
	if (tsct_latch_read(head->page, &state) ||
	    state.status == TSCT_STATUS_UNKNOWN)
		return -EAGAIN;
	/* If no sample refreshes the clock page any more, the statuses stored in the page
	 * are out of date. */
	if (state.source == head->source) {
		state.status = tsct_clock_params_status(&state.real, state.status, now);
		state.cluster_status = tsct_clock_params_status(
			&state.cluster, state.cluster_status, now);
	}
	if (state.real.mult && is_disrupted(head, state.disruptions, REAL))
		state.status = TSCT_STATUS_DISRUPTED;
	if (state.cluster.mult && is_disrupted(head, state.disruptions, CLUSTER))
		state.cluster_status = TSCT_STATUS_DISRUPTED;
	*ret_state = state;
	return 0;
}

/*
 * Converts state->real, the present params of REALTIME, to clock segments up to the last
 * sample. Returns their number: 0 (no params), 1, or 2 (the slew, and the time after it).
 */
static unsigned int current_segments(const struct tsct_clock_state *state,
				     struct tsct_clock_segment ret[2])
{
	const struct tsct_clock_params *params = &state->real;
	__u64 base = params->base_cycles;

	if (!params->mult)
		return 0;
	if ((__s64)(params->as_of_cycles - base) < 0)
		return tsct_clock_params_segments(state, base,
			tsct_clock_params_error_ps(params, base), ret);
	return tsct_clock_params_segments(state, params->as_of_cycles,
					  params->past_error_ps, ret);
}

int tsct_clock_segments(const struct tsct_clock *clock,
			struct tsct_clock_segment *ret_segments, unsigned int nr)
{
	struct tsct_clock_segment current[2];
	struct tsct_clock_copy copy;
	unsigned int past, total, i;

	if (tsct_latch_read_copy(clock->page, &copy) ||
	    copy.state.status == TSCT_STATUS_UNKNOWN)
		return -EAGAIN;
	past = min(copy.nr_segments, TSCT_SEGMENTS_MAX);
	total = past + current_segments(&copy.state, current);
	for (i = 0; i < nr && i < total; i++) {
		/* Returns the latest segments if there are more than @nr. */
		unsigned int at = total > nr ? total - nr + i : i;

		ret_segments[i] = at < past ? copy.segments[at] :
			current[at - past];
	}
	return (int)total;
}

/* ---- intervals ----------------------------------------------------------- */

static __u64 rate_of(const struct tsct_clock_full *clock,
		     const struct tsct_clock_head *head)
{
	/* After a change of source, the page has the rate of the new source, not of the source
	 * that this clock was opened with. */
	if (head->source != clock->head.source)
		return clock->rate_mult;
	if (head->rate_mult)
		return head->rate_mult;
	return head->mult ? head->mult : clock->rate_mult;
}

static __u64 rate_mult(const struct tsct_clock *head)
{
	struct tsct_clock_head now;

	return tsct_clock_head(head->page, &now) ? tsct_clock_full(head)->rate_mult :
		rate_of(tsct_clock_full(head), &now);
}

int64_t tsct_clock_delta_to_ns(const struct tsct_clock *clock, int64_t cycles)
{
	return tsct_cycles_ns(rate_mult(clock), cycles);
}

int64_t tsct_clock_ns_to_delta(const struct tsct_clock *clock, int64_t ns)
{
	return tsct_ns_cycles(rate_mult(clock), ns);
}

/* ---- disruptions between two readings ----------------------------------- */

/* Returns true if a disruption by @cause neither stops the counter nor changes its rate. */
static bool keeps_counting(__u32 cause)
{
	return cause == TSCT_CAUSE_NONE || cause == TSCT_CAUSE_STEP ||
		cause == TSCT_CAUSE_FAKE;
}

/*
 * Returns true if an epoch that began in (@from, @to] has a cause that affects
 * the counter. Each segment of an epoch holds the epoch's cause.
 */
static bool counter_disrupted(const struct tsct_clock_copy *copy, __u64 from,
			      __u64 to)
{
	__u32 nr = READ_ONCE(copy->nr_segments), i;

	if (!keeps_counting(READ_ONCE(copy->state.cause)) &&
	    (__s64)(READ_ONCE(copy->state.epoch_cycles) - from) > 0 &&
	    (__s64)(READ_ONCE(copy->state.epoch_cycles) - to) <= 0)
		return true;
	nr = min(nr, TSCT_SEGMENTS_MAX);
	for (i = 1; i < nr; i++) {
		const struct tsct_clock_segment *s = &copy->segments[i];
		__u64 base = READ_ONCE(s->base_cycles);

		if (READ_ONCE(s->epoch) != READ_ONCE(s[-1].epoch) &&
		    !keeps_counting(READ_ONCE(s->cause)) &&
		    (__s64)(base - from) > 0 && (__s64)(base - to) <= 0)
			return true;
	}
	return false;
}

static __u32 flags_between(const struct tsct_clock *clock,
			   const struct tsct_clock_head *head, __u64 from,
			   __u64 to)
{
	const struct tsct_clock_page *page = clock->page;
	struct tsct_clock_time a, b;
	__u32 flags = 0;

	/* If @from or @to is older or newer than the stored segments, assumes a disruption. */
	if (tsct_latch_lookup(page, from, &a) ||
	    tsct_latch_lookup(page, to, &b))
		return TSCT_INTERVAL_EPOCHS | TSCT_INTERVAL_DISRUPTED;
	if (a.epoch != b.epoch)
		flags |= TSCT_INTERVAL_EPOCHS;
	if (a.status == TSCT_STATUS_DISRUPTED ||
	    b.status == TSCT_STATUS_DISRUPTED ||
	    ((__s64)(to - head->as_of_cycles) > 0 &&
	     is_disrupted(clock, head->disruptions, CLUSTER)) ||
	    counter_disrupted(&page->copy[head->seq & 1], from, to))
		flags |= TSCT_INTERVAL_DISRUPTED;
	return flags;
}

/* ---- skewed counters ---------------------------------------------------- */

/*
 * Returns the cycles to add to an interval from a reading on CPU @from to a reading on CPU @to,
 * so that the sum equals the interval between two readings on the reference CPU.
 * @ret_error: error bound, cycles
 */
static __s64 skew_correction(const struct tsct_clock_full *clock, __u32 from,
			     __u32 to, bool skewed, __u64 *ret_error)
{
	__s64 skew_from, skew_to;
	__u64 error_from, error_to;

	*ret_error = 0;
	if (from == to && from != TSCT_CPU_ANY)
		return 0;
	if (!tsct_clock_skew(clock, from, &skew_from, &error_from) &&
	    !tsct_clock_skew(clock, to, &skew_to, &error_to)) {
		*ret_error = error_from + error_to;
		if (*ret_error < error_from)
			*ret_error = UINT64_MAX;
		return (__s64)((__u64)skew_from - (__u64)skew_to);
	}
	*ret_error = skewed ? UINT64_MAX : tsct_clock_skew_span(clock);
	return 0;
}

int tsct_clock_interval(const struct tsct_clock *clock,
			const struct tsct_time_point *from,
			const struct tsct_time_point *to,
			struct tsct_interval *ret_interval)
{
	const struct tsct_clock_full *full = tsct_clock_full(clock);
	__s64 cycles = (__s64)(to->cycles - from->cycles);
	struct tsct_interval interval = { 0 };
	__u64 mult, error, correction, length;
	struct tsct_clock_head head;
	tsct_u128 bound;
	bool skewed;
	int tries, err;

	if (full->inprocess)
		tsct_clock_inprocess_refine(full->inprocess, to->cycles);
	for (tries = 0; tries < OVERTAKEN_MAX; tries++) {
		err = read_head(clock, REAL, &head);
		if (err)
			return err;
		interval.flags = cycles >= 0 ?
			flags_between(clock, &head, from->cycles, to->cycles) :
			flags_between(clock, &head, to->cycles, from->cycles);
		skewed = head.flags & TSCT_CLOCK_SKEWED;
		correction = (__u64)skew_correction(full, from->cpu, to->cpu, skewed, &error);
		if (is_unchanged(clock->page, &head))
			break;
	}
	if (tries == OVERTAKEN_MAX)
		return -EAGAIN;
	mult = rate_of(full, &head);
	interval.ns = tsct_cycles_ns(mult, (__s64)((__u64)cycles + correction));
	length = interval.ns < 0 ? 0 - (__u64)interval.ns : (__u64)interval.ns;
	/* The error of the rate, rounded up, and 1 ns for truncation */
	bound = (tsct_u128)length * head.rate_error_ppt;
	bound = bound / PPT + !!(bound % PPT) + 1;
	if (error)
		bound += ((tsct_u128)error * mult >> TSCT_CLOCK_SHIFT) + 1;
	interval.error_ns = bound > UINT64_MAX ? UINT64_MAX : (__u64)bound;
	if (skewed && (from->cpu != to->cpu || from->cpu == TSCT_CPU_ANY))
		interval.flags |= TSCT_INTERVAL_SKEWED;
	if (!head.rate_mult) {
		interval.flags |= TSCT_INTERVAL_GUESSED;
		interval.error_ns = UINT64_MAX;
	}
	*ret_interval = interval;
	return 0;
}
