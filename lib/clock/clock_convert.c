// SPDX-License-Identifier: MIT
/*
 * Conversion of cycles to times and back, for CLOCK_REALTIME and the cluster's
 * time, now and in the past. The formulas are in section 4 of
 * tsctrace/abi_clock.h.
 */
#include <errno.h>

#include "clock_private.h"
#include "lib/core/latch.h"
#include "lib/core/clock_params.h"
#include "lib/core/tsc_trust.h"
#include "lib/client/gettime.h"

/* ---- the page, field by field ------------------------------------------- */

int tsct_clock_head(const struct tsct_clock_page *page,
		    struct tsct_clock_head *ret_head)
{
	const struct tsct_clock_state *state;
	int tries;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		/* acquire: pairs with the writer's release: the copy is complete */
		ret_head->seq = smp_load_acquire(&page->seq);
		state = &page->copy[ret_head->seq & 1].state;
		ret_head->status = READ_ONCE(state->status);
		ret_head->epoch = READ_ONCE(state->epoch);
		ret_head->source = READ_ONCE(state->source);
		ret_head->cause = READ_ONCE(state->cause);
		ret_head->flags = READ_ONCE(state->flags);
		ret_head->as_of_cycles = READ_ONCE(state->real.as_of_cycles);
		ret_head->mult = READ_ONCE(state->real.mult);
		ret_head->rate_mult = READ_ONCE(state->rate_mult);
		ret_head->rate_error_ppt = READ_ONCE(state->rate_error_ppt);
		if (tsct_clock_same(page, ret_head))
			return 0;
	}
	return -EAGAIN;
}

int tsct_clock_skew(const struct tsct_clock_full *clock, __u32 cpu,
		    __s64 *ret_skew, __u64 *ret_error)
{
	const struct tsct_clock_cpu *cpus;

	/* nr_cpus is from the mapped size: the page may state a larger number now. */
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
	/* Error in ns: rounded up, and 1 ns is added for the truncation of the time. */
	return error_ps / 1000 + !!(error_ps % 1000) + 1;
}

static void to_public(const struct tsct_clock_time *time,
		      struct tsct_time *ret_time)
{
	ret_time->ns = time->ns;
	ret_time->error_ns = error_ns_of(time->error_ps);
	ret_time->status = time->status;
	ret_time->epoch = time->epoch;
}

/* Returns an upper bound of @cycles in ps; @mult: 2^-56 ns per cycle. */
static __u64 cycles_to_ps(__u64 mult, __u64 cycles)
{
	__s64 ns = tsct_cycles_ns(mult, cycles > INT64_MAX ? INT64_MAX :
				  (__s64)cycles);

	return ns >= INT64_MAX / 1000 ? UINT64_MAX : ((__u64)ns + 1) * 1000;
}

/* ---- the fast path ------------------------------------------------------ */

enum params_kind {
	PARAMS_REAL,
	PARAMS_CLUSTER,
};

/*
 * The fast path of section 4 of tsctrace/abi_clock.h. In its range the result does not
 * depend on the CPU, the clock is not in holdover, and no sample of the in-process
 * clock is due. Products of two 64-bit values cannot overflow, whatever the page holds.
 * This function takes 1 ns. It is inlined, because a call would take 4 ns more.
 */
static inline __attribute__((always_inline)) bool
convert_fast(const struct tsct_clock *clock, __u64 cycles, enum params_kind kind,
	     struct tsct_time *time)
{
	const struct tsct_clock_page *page = clock->page;
	__u64 seq = smp_load_acquire(&page->seq);
	const struct tsct_clock_state *state = &page->copy[seq & 1].state;
	const struct tsct_clock_params *params =
		kind == PARAMS_REAL ? &state->real : &state->cluster;
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
	time->status = kind == PARAMS_REAL ? READ_ONCE(state->status) :
		READ_ONCE(state->cluster_status);
	time->epoch = kind == PARAMS_REAL ? READ_ONCE(state->epoch) :
		READ_ONCE(state->cluster_epoch);
	if (READ_ONCE(state->source) != clock->source)
		return false;
	/* fence: pairs with the writer's; if seq is unchanged, no field is torn */
	smp_rmb();
	return READ_ONCE(page->seq) == seq;
}

/* ---- cycles to CLOCK_REALTIME ------------------------------------------- */

static int lookup(const struct tsct_clock_full *clock, __u64 cycles, __u32 cpu,
		  struct tsct_clock_time *time)
{
	const struct tsct_clock_page *page = clock->head.page;
	struct tsct_clock_head head;
	int tries, err;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		__u64 error = 0;
		__s64 skew = 0;

		if (tsct_clock_head(page, &head) ||
		    head.status == TSCT_STATUS_UNKNOWN)
			return -EAGAIN;
		if (head.source != clock->head.source)
			return -ESTALE;
		err = tsct_latch_lookup(page, cycles, time);
		if (!err && head.flags & TSCT_CLOCK_SKEWED) {
			/*
			 * The table of skews belongs to the current epoch. Cycles of an
			 * earlier epoch may be off by the largest skew of any CPU.
			 */
			if (time->epoch != head.epoch)
				error = tsct_clock_skew_max(clock);
			else
				err = tsct_clock_skew(clock, cpu, &skew, &error);
			if (!err && skew)
				err = tsct_latch_lookup(page, cycles - (__u64)skew, time);
			if (!err)
				time->error_ps = tsct_add_saturating(time->error_ps,
						cycles_to_ps(head.mult ? head.mult :
							     clock->rate_mult, error));
		}
		/*
		 * If the clock page has changed, `head` and *time may be of different
		 * states: tries again.
		 */
		if (tsct_clock_same(page, &head))
			return err;
	}
	return -EAGAIN;
}

int tsct_clock_cycles_to_time_on(const struct tsct_clock *head, uint64_t cycles,
				 uint32_t cpu, struct tsct_time *ret_time)
{
	const struct tsct_clock_full *clock = tsct_clock_full(head);
	struct tsct_clock_time found;
	struct tsct_time time;
	int err;

	if (likely(convert_fast(head, cycles, PARAMS_REAL, &time))) {
		*ret_time = time;
		return 0;
	}
	if (clock->inprocess)
		tsct_clock_inprocess_refine(clock->inprocess, cycles);
	err = lookup(clock, cycles, cpu, &found);
	if (!err)
		to_public(&found, ret_time);
	return err;
}

int tsct_clock_cycles_to_time(const struct tsct_clock *clock, uint64_t cycles,
			      struct tsct_time *ret_time)
{
	return tsct_clock_cycles_to_time_on(clock, cycles, TSCT_CPU_ANY,
					    ret_time);
}

static int convert_now(const struct tsct_clock *clock, struct tsct_time *time)
{
	struct tsct_time_point now;

	tsct_clock_time_point(clock, &now);
	return tsct_clock_cycles_to_time_on(clock, now.cycles, now.cpu, time);
}

/*
 * The in-process clock may detect a disruption in this very call. The new epoch then
 * begins after the first reading of the counter; a second reading is in it.
 */
int tsct_clock_now(const struct tsct_clock *clock, struct tsct_time *ret_time)
{
	struct tsct_time time = { .status = TSCT_STATUS_UNKNOWN };
	int err = convert_now(clock, &time);

	if (tsct_clock_full(clock)->inprocess &&
	    (err || time.status == TSCT_STATUS_DISRUPTED))
		err = convert_now(clock, &time);
	if (!err)
		*ret_time = time;
	return err;
}

/* Slow paths of the inline functions of tsctrace/clock.h */

int64_t tsct_clock_now_slow(const struct tsct_clock *clock)
{
	struct tsct_time now;
	struct timespec ts;

	if (!tsct_clock_now(clock, &now) &&
	    now.status != TSCT_STATUS_DISRUPTED)
		return now.ns;
	tsct_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t cycles,
				 int64_t *ret_ns)
{
	struct tsct_time time;
	int err = tsct_clock_cycles_to_time(clock, cycles, &time);

	if (err)
		return err;
	if (time.status == TSCT_STATUS_DISRUPTED)
		return -ESTALE;
	*ret_ns = time.ns;
	return 0;
}

/* ---- cycles to the cluster's time --------------------------------------- */

static int lookup_cluster(const struct tsct_clock *clock, __u64 cycles,
			  __u32 cpu, struct tsct_clock_time *time)
{
	struct tsct_clock_state state;
	struct tsct_clock_head head;
	int tries, err;

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		__u64 error;
		__s64 skew;

		if (tsct_clock_head(clock->page, &head) ||
		    tsct_latch_read(clock->page, &state))
			return -EAGAIN;
		if (state.source != clock->source)
			return -ESTALE;
		if (!(state.flags & TSCT_CLOCK_SKEWED) || !state.cluster.mult) {
			err = tsct_clock_cluster_lookup(&state, cycles, time);
		} else {
			/*
			 * The params convert counter values of the reference CPU, so
			 * the skew of @cpu is subtracted. cluster_prev is used with the
			 * present skews, too, even if it was made with other skews.
			 */
			err = tsct_clock_skew(tsct_clock_full(clock), cpu, &skew, &error);
			if (!err)
				err = tsct_clock_cluster_lookup(&state,
						cycles - (__u64)skew, time);
			if (!err)
				time->error_ps = tsct_add_saturating(time->error_ps,
					cycles_to_ps(state.cluster.mult, error));
		}
		/*
		 * If the page has changed, the table of skews may belong to another
		 * state.
		 */
		if (tsct_clock_same(clock->page, &head))
			return err;
	}
	return -EAGAIN;
}

int tsct_clock_cycles_to_cluster_time_on(const struct tsct_clock *clock,
					 uint64_t cycles, uint32_t cpu,
					 struct tsct_time *ret_time)
{
	struct tsct_clock_time found;
	struct tsct_time time;
	int err;

	if (likely(convert_fast(clock, cycles, PARAMS_CLUSTER, &time))) {
		*ret_time = time;
		return 0;
	}
	err = lookup_cluster(clock, cycles, cpu, &found);
	if (!err)
		to_public(&found, ret_time);
	return err;
}

int tsct_clock_cycles_to_cluster_time(const struct tsct_clock *clock,
				      uint64_t cycles, struct tsct_time *ret_time)
{
	return tsct_clock_cycles_to_cluster_time_on(clock, cycles, TSCT_CPU_ANY,
						    ret_time);
}

int tsct_clock_now_cluster(const struct tsct_clock *clock,
			   struct tsct_time *ret_time)
{
	struct tsct_time_point now;

	tsct_clock_time_point(clock, &now);
	return tsct_clock_cycles_to_cluster_time_on(clock, now.cycles, now.cpu,
						    ret_time);
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

int tsct_clock_now_cluster_slow(const struct tsct_clock *clock, int64_t *ret_ns)
{
	struct tsct_time time = { 0 };

	return valid_ns(tsct_clock_now_cluster(clock, &time), &time, ret_ns);
}

int tsct_clock_cycles_to_cluster_ns_slow(const struct tsct_clock *clock,
					 uint64_t cycles, int64_t *ret_ns)
{
	struct tsct_time time = { 0 };
	int err = tsct_clock_cycles_to_cluster_time(clock, cycles, &time);

	return valid_ns(err, &time, ret_ns);
}

/* ---- CLOCK_REALTIME to cycles -------------------------------------------- */

/* Finds the first cycle at or after time @ns. @ns must be at least params->base_ns. */
static int find_in_params(const struct tsct_clock_params *params, __s64 ns,
			  __u64 *ret_cycles)
{
	tsct_u128 target = (tsct_u128)((tsct_s128)ns - params->base_ns);
	tsct_u128 slewed = ((tsct_u128)params->slew_cycles *
			    params->slew_mult) >> TSCT_CLOCK_SHIFT;
	tsct_u128 d;

	/* With equal rates in and after the slew, the params are one straight line. */
	if (params->slew_mult == params->mult)
		d = ((target << TSCT_CLOCK_SHIFT) + params->mult - 1) /
			params->mult;
	else if (target <= slewed && params->slew_mult)
		d = ((target << TSCT_CLOCK_SHIFT) + params->slew_mult - 1) /
			params->slew_mult;
	else if (target <= slewed)
		d = 0;
	else
		d = params->slew_cycles + (((target - slewed) <<
			TSCT_CLOCK_SHIFT) + params->mult - 1) / params->mult;
	if (d > params->void_after_cycles - params->base_cycles)
		return -ESTALE;
	*ret_cycles = params->base_cycles + (__u64)d;
	return 0;
}

/*
 * Finds the first cycle of the segment at or after time @ns. @ns must be at least
 * segment->base_ns.
 */
static int find_in_segment(const struct tsct_clock_segment *segment, __s64 ns,
			   __u64 *ret_cycles)
{
	tsct_u128 d;

	/* A segment that ends one cycle before its base is empty. */
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
	struct tsct_clock_segment segment = { 0 };
	struct tsct_clock_params params;
	tsct_u128 d;
	int err;

	tsct_load_relaxed(&params, &copy->state.real,
			  TSCT_WORDS(struct tsct_clock_params));
	if (params.mult && ns >= params.base_ns)
		return find_in_params(&params, ns, ret_cycles);
	segment.base_cycles = params.base_cycles;
	segment.base_ns = params.base_ns;
	segment.mult = params.mult;
	if (nr > TSCT_SEGMENTS_MAX)
		nr = TSCT_SEGMENTS_MAX;
	for (i = nr; i-- > 0;) {
		tsct_load_relaxed(&segment, &copy->segments[i],
				  TSCT_WORDS(struct tsct_clock_segment));
		if (ns < segment.base_ns)
			continue;
		err = find_in_segment(&segment, ns, ret_cycles);
		/*
		 * The time is after the last segment, and the next params do not exist
		 * yet.
		 */
		return err && !params.mult && i == nr - 1 ? -ESTALE : err;
	}
	if (READ_ONCE(copy->dropped))
		return -ERANGE;
	/* The time is before all segments: the oldest one is extended backwards. */
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

	for (tries = 0; tries < TSCT_OVERTAKEN_MAX; tries++) {
		if (tsct_clock_head(page, &head) ||
		    head.status == TSCT_STATUS_UNKNOWN)
			return -EAGAIN;
		if (head.source != clock->source)
			return -ESTALE;
		err = find_cycles(&page->copy[head.seq & 1], ns, &cycles);
		if (!tsct_clock_same(page, &head))
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
	/*
	 * If no sample refreshes the clock page any more, the status stored in the page
	 * is out of date: the status to return depends on the age of the clock params.
	 */
	if (state.source == head->source && state.real.mult) {
		if ((__s64)(now - state.real.void_after_cycles) > 0)
			state.status = TSCT_STATUS_UNKNOWN;
		else if (tsct_status_has_time(state.status) &&
			 (__s64)(now - state.real.holdover_after_cycles) > 0)
			state.status = TSCT_STATUS_HOLDOVER;
	}
	*ret_state = state;
	return 0;
}

/*
 * Makes clock segments of the params of REALTIME in @state, valid up to the last
 * sample. Returns the number of segments: 0 to 2.
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
	past = copy.nr_segments < TSCT_SEGMENTS_MAX ? copy.nr_segments :
		TSCT_SEGMENTS_MAX;
	total = past + current_segments(&copy.state, current);
	for (i = 0; i < nr && i < total; i++) {
		/* Returns the latest segments if there are more than @nr. */
		unsigned int at = total > nr ? total - nr + i : i;

		ret_segments[i] = at < past ? copy.segments[at] :
			current[at - past];
	}
	return (int)total;
}
