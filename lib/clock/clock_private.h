/* SPDX-License-Identifier: MIT */
/* Private members of struct tsct_clock, used by the files clock*.c */
#ifndef TSCT_CLOCK_PRIVATE_H
#define TSCT_CLOCK_PRIVATE_H

#include <tsctrace/tsctrace.h>

#include "clock_page.h"
#include "lib/core/port.h"

/* Provider of a clock; index into the names that tsct_clock_origin() returns */
enum origin {
	ORIGIN_DAEMON,
	ORIGIN_PROCESS,
};

struct tsct_clock_inprocess;
struct tsct_clock_ops;

struct tsct_clock_full {
	struct tsct_clock head;		/* public part of the clock; must be first */
	enum origin origin;
	bool forever;			/* the default clock: never closed */
	struct tsct_clock_area area;	/* mapping that holds head.page */
	/* disruption page of the module; NULL: not mapped. Set once, by any thread */
	const struct tsct_disruption_page *module;
	struct tsct_clock_inprocess *inprocess;	/* in-process clock; set if origin is
						 * ORIGIN_PROCESS */
	__u64 rate_mult;		/* rate when the clock was opened, 2^-56 ns per
					 * cycle; not 0 */
	__u64 stopped_cycles;		/* value at which the counter stays; 0: the counter runs */
	char why[640];			/* text that tsct_clock_reason() returns */
};

/*
 * Returns the whole struct of a clock, not const: programs have a const pointer to the
 * public part, but a conversion may take a sample, which changes the in-process clock.
 */
static inline struct tsct_clock_full *tsct_clock_full(const struct tsct_clock *c)
{
	return (struct tsct_clock_full *)(uintptr_t)c;
}

/*
 * Sets up a zeroed clock: uses the clock page of the daemon, else an in-process clock. Never
 * fails: if there is no memory for an in-process clock, the clock's page has status UNKNOWN.
 */
void tsct_clock_init(struct tsct_clock_full *clock);

/*
 * tsct_clock_open_stopped - open a clock of the past, whose counter stays at @cycles
 * @page: the whole area, mapped; unmapped by tsct_clock_close()
 *
 * For such a clock, tsct_clock_utc() reports no bound. Returns 0 or -ENOMEM.
 */
int tsct_clock_open_stopped(const struct tsct_clock_page *page, __u64 cycles,
			    struct tsct_clock **ret_clock);

/* ---- reading single fields of a clock page ------------------------------ */

/* Fields of a published clock state that decide how cycles are converted */
struct tsct_clock_head {
	/* seq of the clock page when the state was read */
	__u64 seq;
	__u32 status, epoch, source, flags;
	/* real.mult and cluster.mult of the state */
	__u64 mult, cluster_mult;
	__u64 rate_mult;		/* rate of the counter against MONOTONIC_RAW,
					 * 2^-56 ns per cycle; 0: unknown */
	__u64 rate_error_ppt;
	__u64 disruptions;
	/* real.as_of_cycles and cluster.as_of_cycles of the state */
	__u64 as_of_cycles, cluster_as_of_cycles;
};

/*
 * Reads the fields of the state that a clock page publishes. Returns 0; -EAGAIN: a
 * writer changed the page during each attempt.
 */
int tsct_clock_head(const struct tsct_clock_page *page,
		    struct tsct_clock_head *ret_head);

/*
 * tsct_clock_follow - make head.disruptions of a clock point to the count to
 * compare with @published, the count of the params: a constant 0 if @published
 * is 0, else the module's count, whose page is mapped if necessary. Returns 0 or
 * the -errno of opening and mapping the module's page. Thread safe, signal safe.
 */
int tsct_clock_follow(struct tsct_clock_full *clock, __u64 published);

/*
 * tsct_clock_skew - get the counter of @cpu minus the counter of the reference CPU, cycles
 * @ret_error: bound of the skew's error, cycles
 *
 * Returns 0, or -EXDEV: the skew of this CPU is unknown.
 */
int tsct_clock_skew(const struct tsct_clock_full *clock, __u32 cpu,
		    __s64 *ret_skew, __u64 *ret_error);

/* Returns the largest skew of any CPU, including the skew's error, in cycles. */
__u64 tsct_clock_skew_max(const struct tsct_clock_full *clock);

/* Returns tsct_skew_span() of the clock's CPUs; 0 if the source is not the TSC. */
__u64 tsct_clock_skew_span(const struct tsct_clock_full *clock);

/* ---- the in-process clock ----------------------------------------------- */

/*
 * tsct_clock_inprocess_open - measure the counter's rate, which takes up to 20 ms, and
 * publish the first clock params on the clock page of this process
 * @ops: functions for @source; must remain valid until the clock is closed
 *
 * Returns the in-process clock; NULL: out of memory.
 */
struct tsct_clock_inprocess *tsct_clock_inprocess_open(__u32 source,
					   const struct tsct_clock_ops *ops);
void tsct_clock_inprocess_close(struct tsct_clock_inprocess *clock);

/* Returns the clock page, which is valid until the clock is closed. */
const struct tsct_clock_page *
tsct_clock_inprocess_page(const struct tsct_clock_inprocess *clock);

/*
 * Takes a sample now, unless another thread or the code that a signal handler
 * interrupted is taking one. Wait-free, signal safe.
 */
void tsct_clock_inprocess_sample(struct tsct_clock_inprocess *clock);

/*
 * tsct_clock_inprocess_refine - take a sample if the last one is too old for
 * a conversion of @cycles. Wait-free, signal safe.
 */
void tsct_clock_inprocess_refine(struct tsct_clock_inprocess *clock,
				 __u64 cycles);

#endif /* TSCT_CLOCK_PRIVATE_H */
