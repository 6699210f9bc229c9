/* SPDX-License-Identifier: MIT */
/* Clock segments: clock params of the past, in bounded memory. The test keeps a log of
 * all published states. Each lookup is compared with the log: its time is right within
 * the error that it states, in the same epoch, and its status is no better. */
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "seed.h"
#include "suite.h"

#define LOG_MAX		4096
#define RUNS		40
#define STEPS		1200
#define SECOND		2600000000ULL

static const __u64 mult_ideal = 27714742766003200ULL; /* rate of the simulated
						       * counter: 1/2.6 ns */

struct entry {
	struct tsct_clock_params params;
	uint64_t until;		/* end of the params' validity: the last sample, or
				 * the begin of the next params */
	uint64_t error_ps;
	uint32_t epoch, status;
};

static struct run {
	struct tsct_clock_copy copy;
	struct entry log[LOG_MAX];
	unsigned int nr;
	uint64_t start, now;
	double rate;		/* relative difference of the published params' rate
				 * from the simulated counter's rate, mult_ideal */
} r;

static int64_t params_ns(const struct tsct_clock_params *params, uint64_t stamp)
{
	tsct_u128 d = stamp - params->base_cycles;
	tsct_u128 slewed = d;

	if (d > params->slew_cycles && params->slew_mult != params->mult)
		slewed = params->slew_cycles;
	return (int64_t)(slewed * params->slew_mult >> TSCT_CLOCK_SHIFT) +
		(int64_t)((d - slewed) * params->mult >> TSCT_CLOCK_SHIFT) +
		params->base_ns;
}

/* Returns the number of cycles from r.start, the counter's first value, to a later
 * value. The counter may wrap between the two values. */
static uint64_t at(uint64_t stamp)
{
	return stamp - r.start;
}

static struct tsct_clock_state now_state(void)
{
	return r.copy.state;
}

static void publish(const struct tsct_clock_state *next)
{
	ck_assert_int_eq(tsct_clock_state_check(next), 0);
	ck_assert_int_eq(tsct_segments_check(&r.copy.state, next, r.now), 0);
	tsct_segments_succeed(&r.copy, next);
	ck_assert_mem_eq(&r.copy.state, next, sizeof(*next));
	ck_assert_int_eq(tsct_segments_valid(&r.copy), 0);
}

static struct entry *newest(void)
{
	return &r.log[r.nr - 1];
}

/* Adds a published clock state to the log. */
static void log_state(const struct tsct_clock_state *state)
{
	ck_assert_uint_lt(r.nr, LOG_MAX);
	r.log[r.nr++] = (struct entry) {
		.params = state->real,
		.until = state->real.as_of_cycles,
		.error_ps = state->real.past_error_ps,
		.epoch = state->epoch,
		.status = state->status,
	};
}

/* The last sample was taken now. */
static void sample_now(struct tsct_clock_params *params)
{
	params->as_of_cycles = r.now;
	params->holdover_after_cycles = r.now + 5 * SECOND;
	params->void_after_cycles = r.now + 1000 * SECOND;
}

static struct tsct_clock_state state_at(uint64_t base, int64_t ns)
{
	struct tsct_clock_state state = now_state();
	const bool slew = any(3) == 0;

	r.rate += ((double)any(2001) - 1000) * 1e-11;
	state.status = 1 + any(3);
	state.closing_error_ps = any(100000);
	state.real = (struct tsct_clock_params) {
		.base_cycles = base,
		.base_ns = ns,
		.mult = (uint64_t)((double)mult_ideal * (1 + r.rate)),
		.past_error_ps = any(100000),
	};
	sample_now(&state.real);
	state.real.slew_mult = state.real.mult;
	if (slew) {
		state.real.slew_mult += state.real.mult / 1000000 *
			(uint64_t)((int)any(1001) - 500);
		state.real.slew_cycles = any(3) ? any(1U << 31) : any(2000);
	}
	return state;
}

static void pass_time(void)
{
	r.now += any(4) ? SECOND + any(1000000) : any(1U << 31);
}

static void confirm(void)
{
	struct tsct_clock_state next = now_state();

	if ((int64_t)(r.now - next.real.void_after_cycles) > 0)
		return;
	sample_now(&next.real);
	next.real.past_error_ps = any(100000);
	publish(&next);
	newest()->until = r.now;
	newest()->error_ps = next.real.past_error_ps;
	newest()->status = next.status;
}

static void go_on(void)
{
	struct tsct_clock_state next;
	uint64_t base = r.now + 1 + any(3000000);

	if ((int64_t)(base - r.copy.state.real.base_cycles) <= 0)
		return;
	next = state_at(base, params_ns(&r.copy.state.real, base));
	publish(&next);
	newest()->until = base;
	if (newest()->error_ps < next.closing_error_ps)
		newest()->error_ps = next.closing_error_ps;
	log_state(&next);
}

/* After a disruption, the validity of all log entries ends at the last sample, even of
 * entries published later. */
static void shorten_log(uint64_t as_of, uint32_t epoch)
{
	for (unsigned int i = r.nr; i-- > 0 && r.log[i].epoch == epoch; )
		if ((int64_t)(r.log[i].until - as_of) > 0)
			r.log[i].until = as_of;
}

static void end_epoch(struct tsct_clock_state *next)
{
	shorten_log(r.copy.state.real.as_of_cycles, r.copy.state.epoch);
	next->epoch = r.copy.state.epoch + 1 + any(3);
	next->epoch_cycles = r.now;
	next->cause = 1 + any(TSCT_CAUSE_NR - 1);
}

/* Begins an epoch. Its clock params are published at once, some time later, or only
 * after another disruption. */
static void disrupt(void)
{
	struct tsct_clock_state next;

	next = state_at(r.now, params_ns(&r.copy.state.real, r.now) +
			(int64_t)any(2000000000) - 1000000000);
	end_epoch(&next);
	if (any(2)) {
		struct tsct_clock_state none = next;

		none.status = TSCT_STATUS_DISRUPTED;
		memset(&none.real, 0, sizeof(none.real));
		do {
			none.epoch = next.epoch++;
			publish(&none);
			pass_time();
		} while (!any(4));
		if (any(2))
			next.epoch = none.epoch;
		sample_now(&next.real);
		next.real.holdover_after_cycles = r.now + 5 * SECOND;
		next.real.void_after_cycles = r.now + 1000 * SECOND;
	}
	publish(&next);
	log_state(&next);
}

/* ---- lookups of past times ----------------------------------------------- */

static const struct entry *find_entry(uint64_t stamp)
{
	for (unsigned int i = r.nr; i-- > 0; )
		if (at(r.log[i].params.base_cycles) <= at(stamp))
			return &r.log[i];
	return NULL;
}

static unsigned int rank(uint32_t status)
{
	static const unsigned int ranks[] = { 0, 1, 3, 2, 0 };

	return ranks[status];
}

static uint64_t check_stamp(uint64_t stamp)
{
	const struct entry *entry = find_entry(stamp);
	struct tsct_clock_time reading;
	uint64_t off;
	int64_t ns;
	int ret = tsct_segments_lookup(&r.copy, stamp, &reading);

	if (r.copy.dropped &&
	    (!r.copy.nr_segments ||
	     at(stamp) < at(r.copy.segments[0].base_cycles))) {
		ck_assert_int_eq(ret, -ERANGE);
		return 0;
	}
	ck_assert_int_eq(ret, 0);
	ck_assert_ptr_nonnull(entry);
	ck_assert_uint_eq(reading.epoch, entry->epoch);
	ns = params_ns(&entry->params, stamp);
	off = (uint64_t)(ns > reading.ns ? ns - reading.ns : reading.ns - ns);
	if (entry == newest()) {
		ck_assert_int_eq(reading.ns, ns);
		return 0;
	}
	/* A counter value after the last sample before a disruption has the status
	 * DISRUPTED. */
	if ((int64_t)(stamp - entry->until) > 0) {
		ck_assert_uint_eq(reading.status, TSCT_STATUS_DISRUPTED);
		return 0;
	}
	ck_assert_uint_ne(reading.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_le(rank(reading.status), rank(entry->status));
	ck_assert_msg(off * 1000 + entry->error_ps <= reading.error_ps,
		      "off by %llu ns, error in the log %llu ps, stated %llu ps",
		      (unsigned long long)off,
		      (unsigned long long)entry->error_ps,
		      (unsigned long long)reading.error_ps);
	return reading.error_ps;
}

static uint64_t any_stamp(void)
{
	uint64_t stamp;

	switch (any(4)) {
	case 0:		/* counter value near the begin of past clock params */
		stamp = r.log[any(r.nr)].params.base_cycles + any(3) - 1;
		break;
	case 1:
		stamp = r.log[any(r.nr)].until + any(3) - 1;
		break;
	case 2:		/* a counter value of the recent past */
		stamp = r.now - any(1U << 31);
		break;
	default:
		stamp = r.start + any64() % (at(r.now) + 1);
	}
	if (at(stamp) > at(r.now))
		stamp = r.now;
	return at(stamp) > at(r.log[0].params.base_cycles) ? stamp :
		r.log[0].params.base_cycles;
}

/* In an epoch, a later counter value has no earlier time, unless the status is
 * DISRUPTED. */
static void check_order(uint64_t a, uint64_t b)
{
	struct tsct_clock_time first, second;

	if (at(a) > at(b) || tsct_segments_lookup(&r.copy, a, &first) ||
	    tsct_segments_lookup(&r.copy, b, &second) ||
	    first.epoch != second.epoch ||
	    first.status == TSCT_STATUS_DISRUPTED ||
	    second.status == TSCT_STATUS_DISRUPTED)
		return;
	ck_assert_msg(first.ns <= second.ns, "%lld at %llu, %lld at %llu",
		      (long long)first.ns, (unsigned long long)a,
		      (long long)second.ns, (unsigned long long)b);
}

static void begin_run(unsigned int run)
{
	static const uint64_t starts[] = {
		0, 1ULL << 53, 1ULL << 63, 0 - 100 * SECOND, 0 - 1ULL,
	};
	struct tsct_clock_state state;

	seed_with(run);
	memset(&r, 0, sizeof(r));
	r.start = starts[any(5)];
	r.now = r.start + 10;
	state = state_at(r.now, 1700000000000000000);
	publish(&state);
	log_state(&state);
}

TEST(test_random_histories)
{
	unsigned int step, i, disruptions;
	uint64_t worst = 0, joined = 0;

	for (unsigned int run = 0; run < RUNS; run++) {
		begin_run(run);
		/* number of disruptions per 1000 steps */
		disruptions = run % 4 ? run : 0;
		for (step = 0; step < STEPS; step++) {
			pass_time();
			if (any(1000) < disruptions)
				disrupt();
			else if (any(3))
				go_on();
			else
				confirm();
			for (i = 0; i < 20; i++) {
				uint64_t error = check_stamp(any_stamp());

				worst = error > worst ? error : worst;
			}
			check_order(any_stamp(), any_stamp());
			i = any(r.nr);
			check_order(r.log[i].params.base_cycles - 1,
				    r.log[i].params.base_cycles);
		}
		joined += r.nr > TSCT_SEGMENTS_MAX;
	}
	printf("# %u of %u runs needed more segments than there is "
	       "room for; worst stated error %llu ps\n",
	       (unsigned int)joined, RUNS, (unsigned long long)worst);
	ck_assert_uint_gt(joined, RUNS / 2);
}

/* New clock params each second for a day. Their rate is, at random, the ideal rate or
 * 1 ppb above the ideal rate. */
TEST(test_a_day)
{
	uint64_t worst = 0, oldest;
	struct tsct_clock_time reading;

	/* Choose a random seed with which the first params do not slew, because a slew
	 * of half a millisecond would distort the result. */
	for (unsigned int i = 99; i == 99 || r.copy.state.real.slew_cycles; i++)
		begin_run(i);
	for (unsigned int i = 0; i < 86400; i++) {
		struct tsct_clock_state next;
		uint64_t base;

		r.now += SECOND;
		base = r.now + 1000;
		next = r.copy.state;
		next.real.base_ns = tsct_clock_params_ns(&next.real, base);
		next.real.base_cycles = base;
		next.real.slew_cycles = 0;
		next.real.mult = mult_ideal + (any(2) ? 0 : mult_ideal / 1000000000);
		next.real.slew_mult = next.real.mult;
		next.real.as_of_cycles = r.now;
		next.real.holdover_after_cycles = next.real.void_after_cycles =
			r.now + 5 * SECOND;
		next.real.past_error_ps = 50000;
		next.closing_error_ps = 0;
		publish(&next);
	}
	ck_assert_uint_eq(r.copy.dropped, 0);
	for (unsigned int i = 0; i < r.copy.nr_segments; i++)
		if (r.copy.segments[i].error_ps > worst)
			worst = r.copy.segments[i].error_ps;
	oldest = r.copy.segments[0].until_cycles - r.copy.segments[0].base_cycles;
	printf("# a day: %u segments, the oldest %llu s long, error up to %llu ps\n",
	       r.copy.nr_segments, (unsigned long long)(oldest / SECOND),
	       (unsigned long long)worst);
	/* The limit of 2 us is far above the expected error of clock segments: a random
	 * walk by half a ns each second deviates by some 100 ns in hours. */
	ck_assert_uint_lt(worst, 2000000);
	/* Params of the last seconds are kept unchanged. */
	ck_assert_int_eq(tsct_segments_lookup(&r.copy, r.now - 4 * SECOND,
					      &reading), 0);
	ck_assert_uint_eq(reading.error_ps, 50000);
}

/* ---- segments built step by step ----------------------------------------- */

static struct tsct_clock_state simple(uint64_t base, int64_t ns)
{
	return (struct tsct_clock_state) {
		.status = TSCT_STATUS_SYNCHRONIZED,
		.real = {
			.base_cycles = base,
			.base_ns = ns,
			.mult = 1ULL << 56,
			.slew_mult = 1ULL << 56,
			.as_of_cycles = base,
			.holdover_after_cycles = base + 5000,
			.void_after_cycles = base + 9000,
			.error_ps = 10,
			.past_error_ps = 20,
		},
	};
}

#define LOOKUP(stamp, want) \
	ck_assert_int_eq(tsct_segments_lookup(&c, stamp, &t), want)
#define READS(stamp, ns_, error_, status_, epoch_) do {			\
	LOOKUP(stamp, 0);						\
	ck_assert_int_eq(t.ns, ns_);					\
	ck_assert_uint_eq(t.error_ps, error_);				\
	ck_assert_uint_eq(t.status, TSCT_STATUS_##status_);		\
	ck_assert_uint_eq(t.epoch, epoch_);				\
} while (0)

TEST(test_successive_params)
{
	struct tsct_clock_copy c = { 0 };
	struct tsct_clock_state s = simple(10000, 500);
	struct tsct_clock_time t;

	LOOKUP(0, -EAGAIN);
	tsct_segments_succeed(&c, &s);
	READS(10000, 500, 20, SYNCHRONIZED, 0);
	READS(10001, 501, 10, SYNCHRONIZED, 0);
	READS(15000, 5500, 10, SYNCHRONIZED, 0);
	READS(15001, 5501, 10, HOLDOVER, 0);
	READS(19000, 9500, 10, HOLDOVER, 0);
	LOOKUP(19001, -ESTALE);
	/* A lookup 1000 ns before the first params: the error of 20 ps has grown by 15
	 * ps (15 ppm of 1000 ns), rounded up. */
	READS(9000, -500, 36, CALIBRATING, 0);

	/* New params continue the old params. The sample of the new params was taken at
	 * cycle 11000, in the range of the old params (10000 to 12000). */
	s = simple(12000, 2500);
	s.real.as_of_cycles = 11000;
	s.closing_error_ps = 25;
	ck_assert_int_eq(tsct_segments_check(&c.state, &s, 11001), 0);
	tsct_segments_succeed(&c, &s);
	READS(11999, 2499, 25, SYNCHRONIZED, 0);
	READS(12000, 2500, 10, SYNCHRONIZED, 0);
	READS(9000, -500, 41, CALIBRATING, 0);

	/* A disruption follows; the last sample before it was at cycle 11000. */
	s = (struct tsct_clock_state) {
		.status = TSCT_STATUS_DISRUPTED, .epoch = 1,
		.cause = TSCT_CAUSE_STEP, .epoch_cycles = 13000,
	};
	ck_assert_int_eq(tsct_segments_check(&c.state, &s, 13000), 0);
	tsct_segments_succeed(&c, &s);
	ck_assert_int_eq(tsct_segments_valid(&c), 0);
	READS(11000, 1500, 25, SYNCHRONIZED, 0);
	READS(11001, 1501, 25, DISRUPTED, 0);
	READS(12000, 2500, 20, DISRUPTED, 0);
	READS(13000, 3500, 20, DISRUPTED, 0);
	LOOKUP(13001, -ESTALE);

	s = simple(14000, 777000);
	s.epoch = 1;
	ck_assert_int_eq(tsct_segments_check(&c.state, &s, 14001), 0);
	tsct_segments_succeed(&c, &s);
	READS(13999, 4499, 20, DISRUPTED, 0);
	READS(14000, 777000, 20, SYNCHRONIZED, 1);
	READS(9000, -500, 41, CALIBRATING, 0);
	ck_assert_uint_eq(c.nr_segments, 2);
	ck_assert_uint_eq(c.segments[1].cause, 0);
}

/* When the counter restarts, all segments from before the restart are dropped. */
TEST(test_counter_restart)
{
	struct tsct_clock_copy c = { 0 };
	struct tsct_clock_state s = simple(1000000, 500);
	struct tsct_clock_time t;

	tsct_segments_succeed(&c, &s);
	s = (struct tsct_clock_state) {
		.status = TSCT_STATUS_DISRUPTED, .epoch = 1,
		.cause = TSCT_CAUSE_SUSPEND, .epoch_cycles = 50,
	};
	tsct_segments_succeed(&c, &s);
	ck_assert_int_eq(tsct_segments_valid(&c), 0);
	LOOKUP(60, -ESTALE);
	LOOKUP(1000000, -ESTALE);
	LOOKUP(40, -ESTALE);
	s = simple(100, 5000);
	s.epoch = 1;
	tsct_segments_succeed(&c, &s);
	READS(100, 5000, 20, SYNCHRONIZED, 1);
	LOOKUP(99, -ERANGE);
	LOOKUP(1000000, -ESTALE);
}

/* When the source changes, all segments of the old source are dropped. */
TEST(test_source_change)
{
	struct tsct_clock_copy c = { 0 };
	struct tsct_clock_state s = simple(1000, 500);
	struct tsct_clock_time t;

	tsct_segments_succeed(&c, &s);
	s = simple(2000, 700);
	s.epoch = 1;
	s.source = TSCT_SOURCE_MONOTONIC_RAW;
	tsct_segments_succeed(&c, &s);
	ck_assert_uint_eq(c.nr_segments, 0);
	READS(2000, 700, 20, SYNCHRONIZED, 1);
	LOOKUP(1500, -ERANGE);
}

/* Executes statements that make the successor `s`; the check at @now returns @want. */
#define NEXT(now, want, ...) do {						\
	__VA_ARGS__;								\
	ck_assert_int_eq(tsct_segments_check(&last, &s, now), want);		\
} while (0)

TEST(test_succession_rules)
{
	const struct tsct_clock_state first = simple(10000, 500);
	const struct tsct_clock_state none = { .status = TSCT_STATUS_DISRUPTED };
	struct tsct_clock_state last = first, s = first;

	s.real.as_of_cycles += 100, s.real.error_ps = 7, s.real.fast_cycles = 50;
	NEXT(20000, 0);
	/* a step within the epoch */
	NEXT(9000, -EINVAL, s.real.base_ns++);
	NEXT(20000, -ETIME);
	NEXT(10999, 0, s = simple(11000, 1500));
	NEXT(11000, -ETIME);
	NEXT(1ULL << 40, -ETIME);
	NEXT(10999, -EINVAL, s = simple(11000, 1501));
	NEXT(10999, -EINVAL, s = simple(11000, 1499));
	/* the new params begin before the last params */
	NEXT(5000, -EINVAL, s = simple(9999, 499));
	NEXT(5000, -EINVAL, s = last, s.real.mult++);
	NEXT(5000, -EINVAL, s = last, s.real.slew_cycles = 5);
	NEXT(5000, -EINVAL, s = last, s.real.slew_mult++);
	/* without clock params */
	NEXT(10999, -EINVAL, s = none);
	NEXT(10999, 0, s.epoch = 1);
	NEXT(10999, -ESTALE, s = simple(11000, 1500), s.source = 1);
	NEXT(10999, 0, s.epoch = 1);
	/* an epoch number before 0, because epoch numbers wrap */
	NEXT(10999, -ESTALE, s = last, s.epoch = UINT32_MAX);
	NEXT(20000, 0, last = s, s = first);
	/* The first params of an epoch may begin at any time. */
	NEXT(20000, 0, last = none, s = simple(10, 1));
	NEXT(20000, 0, s = none);
}

/* Returns a state whose cluster params convert @base to @ns. The params of
 * CLOCK_REALTIME are equal in all these states. */
static struct tsct_clock_state with_cluster(uint64_t base, int64_t ns)
{
	struct tsct_clock_state s = simple(1, 2);

	s.cluster_status = TSCT_STATUS_SYNCHRONIZED;
	s.cluster = simple(base, ns).real;
	return s;
}

TEST(test_cluster_succession)
{
	struct tsct_clock_state last = with_cluster(10000, 500), s, good;

	s = last;
	s.cluster.as_of_cycles += 100, s.cluster.error_ps = 7;
	NEXT(20000, 0);
	NEXT(9000, -EINVAL, s.cluster.base_ns++);
	NEXT(20000, -ETIME);
	NEXT(10999, 0, s = with_cluster(11000, 1500));
	NEXT(11000, -ETIME);
	NEXT(10999, -EINVAL, s = with_cluster(11000, 1501));
	/* next epoch, as after CLOCK_REALTIME was set */
	NEXT(10999, -EINVAL, s.epoch = 1);
	NEXT(10999, 0, s.cluster_epoch = 1);
	NEXT(5000, -EINVAL, s = with_cluster(9999, 499));
	/* a state without cluster params */
	NEXT(10999, -EINVAL, s = simple(1, 2));
	NEXT(10999, 0, s.cluster_epoch = 1);
	NEXT(10999, -ESTALE, s = last, s.cluster_epoch = UINT32_MAX);
	/* a clock state whose source (counter) is not that of `last` */
	NEXT(10999, -EINVAL, s = last, s.epoch = 1, s.source = 1);
	NEXT(10999, 0, s.cluster_epoch = 1);
	/* The first cluster params may begin at any time. */
	NEXT(20000, 0, last = simple(1, 2), s = with_cluster(10, 1));
	/* cluster_prev of a state must be made from the previous cluster params. */
	last = with_cluster(10000, 500);
	good = with_cluster(11000, 1500);
	good.cluster_prev = tsct_clock_params_prev(&last.cluster, 11000);
	NEXT(10999, 0, s = good);
	NEXT(10999, 0, s.cluster_prev.error_ps++);
	NEXT(10999, -EINVAL, s.cluster_prev.error_ps -= 2);
	NEXT(10999, -EINVAL, s = good, s.cluster_prev.base_cycles++, s.cluster_prev.base_ns++);
	NEXT(10999, -EINVAL, s = good, s.cluster_prev.base_cycles--, s.cluster_prev.base_ns--);
	/* If the cluster params stay the same, cluster_prev must not change either. */
	NEXT(20000, 0, last = s = good);
	NEXT(20000, -EINVAL, s.cluster_prev.base_cycles++, s.cluster_prev.base_ns++);
}

/* ---- validity of copies -------------------------------------------------- */

static struct tsct_clock_copy good_copy(void)
{
	begin_run(7);
	for (unsigned int i = 0; i < 300; i++) {
		pass_time();
		if (any(40))
			go_on();
		else
			disrupt();
	}
	return r.copy;
}

#define SPOILED(...) do {						\
	struct tsct_clock_copy c = good;				\
	__VA_ARGS__;							\
	ck_assert_int_eq(tsct_segments_valid(&c), -EINVAL);		\
} while (0)

TEST(test_valid)
{
	const struct tsct_clock_copy good = good_copy();
	unsigned int last = good.nr_segments - 1;

	ck_assert_int_eq(tsct_segments_valid(&good), 0);
	SPOILED(c.nr_segments = TSCT_SEGMENTS_MAX + 1);
	SPOILED(c.nr_segments = UINT32_MAX);
	SPOILED(c.reserved[13] = 1);
	SPOILED(c.state.real.mult = 1);
	SPOILED(c.segments[0].mult = 0);
	SPOILED(c.segments[1].mult = UINT64_MAX);
	SPOILED(c.segments[2].base_cycles = c.segments[1].base_cycles);
	SPOILED(c.segments[2].base_cycles = c.segments[3].base_cycles + 1);
	SPOILED(c.segments[2].until_cycles = c.segments[3].base_cycles + 1);
	SPOILED(c.segments[last].until_cycles = c.state.real.base_cycles + 1);
	SPOILED(c.segments[last].base_cycles = c.state.real.base_cycles + 1);
	SPOILED(c.segments[2].until_cycles = c.segments[2].base_cycles - 2);
	SPOILED(c.segments[0].base_cycles -= 1ULL << 62);
	SPOILED(c.segments[last].epoch = c.state.epoch + 1);
	SPOILED(c.segments[0].epoch = c.segments[last].epoch + 1);
	SPOILED(c.segments[1].status = TSCT_STATUS_NR);
	SPOILED(c.segments[1].cause = TSCT_CAUSE_NR);
	SPOILED(c.segments[1].reserved0 = 1);
	SPOILED(c.segments[1].reserved = 1);
}

/* Checks random copies of a clock state, and a valid copy with some words changed. */
TEST(test_random_copies)
{
	static struct tsct_clock_copy good, c;
	uint64_t words[sizeof(c) / 8];
	unsigned int i, j, taken = 0;

	good = good_copy();
	for (i = 0; i < 3000; i++) {
		struct tsct_clock_state next = good.state;
		struct tsct_clock_time t;

		memcpy(words, &good, sizeof(c));
		for (j = any(20); j > 0; j--)
			words[any(3) ? any(64) : any(sizeof(c) / 8)] =
				any(3) ? any64() : 0 - (uint64_t)any(2);
		if (i % 3 == 0)
			for (j = 0; j < sizeof(c) / 8; j++)
				words[j] = any64();
		memcpy(&c, words, sizeof(c));
		taken += !tsct_segments_valid(&c);
		for (j = 0; j < 10; j++)
			tsct_segments_lookup(&c, any(2) ? any64() :
					     any_stamp(), &t);
		next.real.base_cycles = any64();
		next.epoch = any(2) ? c.state.epoch : (uint32_t)any64();
		tsct_segments_check(&c.state, &next, any64());
		tsct_segments_succeed(&c, any(2) ? &next : &good.state);
		ck_assert_uint_le(c.nr_segments, TSCT_SEGMENTS_MAX);
		tsct_segments_lookup(&c, any64(), &t);
	}
	ck_assert_uint_gt(taken, 0);
	ck_assert_uint_lt(taken, i / 2);
}

/* ---- jumps ------------------------------------------------------------- */

/*
 * Published states that are valid one by one, but jump in time and in epochs as far as
 * 64 bits allow: the segments stay in order. Readers reject a copy whose segments are
 * not in order.
 */

#define ONE	(1ULL << TSCT_CLOCK_SHIFT)
#define JUMP_STEPS	100000

/* A random number of any magnitude, positive or negative */
static uint64_t random_number(void)
{
	return any(4) ? any64() >> any(64) : 1ULL << any(64);
}

static uint64_t any_rate(uint64_t mult)
{
	return mult - mult / 20 + any64() % (mult / 10);
}

static void begin_anywhere(struct tsct_clock_state *state)
{
	struct tsct_clock_params *params = &state->real;

	state->epoch += any(4) ? any(2) : (uint32_t)random_number() & 0x7fffffff;
	state->epoch_cycles = any(2) ? r.now - random_number() : 0;
	state->status = any(TSCT_STATUS_NR);
	memset(params, 0, sizeof(*params));
	if (any(4) == 0) {
		state->status = TSCT_STATUS_DISRUPTED;
		return;
	}
	params->mult = ONE / (1 + any(50));
	params->slew_mult = any_rate(params->mult);
	params->slew_cycles = any(2) ? any(100000) : random_number() >> 9;
	params->base_cycles = any(2) ? r.now - random_number() : r.now + any(1000000);
	params->base_ns = (int64_t)random_number();
	params->as_of_cycles = params->base_cycles + (any(2) ? random_number() >> 3 :
					    0 - (random_number() >> 3));
	params->holdover_after_cycles = params->as_of_cycles + (random_number() >> 3);
	params->void_after_cycles = params->holdover_after_cycles +
		(random_number() >> 3);
	params->past_error_ps = random_number();
}

static void continue_at_any_rate(struct tsct_clock_state *state)
{
	struct tsct_clock_params *params = &state->real;
	uint64_t base = r.now + 1 + any(1000000);

	params->base_ns = tsct_clock_params_ns(params, base);
	params->base_cycles = base;
	params->mult = any(2) ? params->mult : any_rate(params->mult);
	params->slew_mult = any_rate(params->mult);
	params->slew_cycles = any(2) ? any(1000000) : random_number() >> 9;
	params->as_of_cycles = r.now - any(1000000);
	params->holdover_after_cycles = params->void_after_cycles = base + (1ULL << 40);
	state->closing_error_ps = random_number();
}

/* Publishes a disruption as the module does, without a check of the clock state. */
static void disrupt_unchecked(struct tsct_clock_state *state)
{
	memset(&state->real, 0, sizeof(state->real));
	state->status = TSCT_STATUS_DISRUPTED;
	state->epoch++;
	state->epoch_cycles = r.now;
}

static bool from_future(uint64_t cycles)
{
	return (int64_t)(cycles - r.now) > 1000000000;
}

static bool try_state(void)
{
	struct tsct_clock_state next = r.copy.state;
	unsigned int what = any(8);

	if (!what)
		disrupt_unchecked(&next);
	else if (what < 4 || !next.real.mult)
		begin_anywhere(&next);
	else
		continue_at_any_rate(&next);
	if (tsct_clock_state_check(&next) || from_future(next.epoch_cycles) ||
	    (next.real.mult && from_future(next.real.base_cycles)) ||
	    tsct_segments_check(&r.copy.state, &next, r.now))
		return false;
	tsct_segments_succeed(&r.copy, &next);
	return true;
}

TEST(test_jumps)
{
	unsigned int i, taken = 0, most = 0;

	memset(&r.copy, 0, sizeof(r.copy));
	r.now = any64();
	for (i = 0; i < JUMP_STEPS; i++) {
		r.now += any(1000000000);
		if (!try_state())
			continue;
		taken++;
		ck_assert_msg(!tsct_segments_valid(&r.copy), "step %u", i);
		if (r.copy.nr_segments > most)
			most = r.copy.nr_segments;
	}
	printf("%u of %u states were accepted; at most %u segments\n",
	       taken, i, most);
	ck_assert_uint_gt(taken, JUMP_STEPS / 10);
	ck_assert_uint_gt(most, 2);
}
