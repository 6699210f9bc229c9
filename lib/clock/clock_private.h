/* SPDX-License-Identifier: MIT */
/* What is behind struct tsct_clock; for the files clock*.c. */
#ifndef TSCT_CLOCK_PRIVATE_H
#define TSCT_CLOCK_PRIVATE_H

#include <tsctrace/tsctrace.h>

#include "clock_page.h"
#include "lib/core/port.h"

#define NS_PER_S	1000000000LL

/* How often somebody who keeps overtaking us may do so */
#define TSCT_OVERTAKEN_MAX	16

enum origin {
	ORIGIN_MODULE,
	ORIGIN_DAEMON,
	ORIGIN_PROCESS,
};

struct tsct_clock_inprocess;
struct tsct_clock_ops;

struct tsct_clock_full {
	struct tsct_clock head;		/* first: it is what users hold */
	enum origin origin;
	bool forever;			/* closing it does nothing */
	struct tsct_clock_area area;	/* the head's page; unmapped at close */
	struct tsct_clock_inprocess *own;	/* ORIGIN_PROCESS, or NULL */
	__u64 rate_mult;		/* as it was at first; never 0 */
	char why[640];
};

/* The head is the first member. Users hold it const, our own page changes. */
static inline struct tsct_clock_full *tsct_clock_full(const struct tsct_clock *c)
{
	return (struct tsct_clock_full *)(uintptr_t)c;
}

/* Makes a zeroed one the best clock there is. Never fails. */
void tsct_clock_init(struct tsct_clock_full *clock);
void tsct_clock_fini(struct tsct_clock_full *clock);

/* ---- the page, word by word -------------------------------------------- */

/* What of the state decides how stamps are to be converted */
struct tsct_clock_head {
	__u64 seq;
	__u32 status, epoch, source, cause, flags;
	__u64 as_of_cycles, mult;		/* of the real pair */
	__u64 rate_mult;		/* 0 where nothing better than mult is */
	__u64 rate_error_ppt;
};

/* Returns 0 or -EAGAIN: somebody writes without an end. */
int tsct_clock_head(const struct tsct_clock_page *page,
		    struct tsct_clock_head *ret_head);

/* Is the page as it was when @head was read? Pairs with the latch's writer. */
static inline bool tsct_clock_same(const struct tsct_clock_page *page,
				   const struct tsct_clock_head *head)
{
	smp_rmb();
	return READ_ONCE(page->seq) == head->seq;
}

/*
 * tsct_clock_skew - how far the counter of @cpu is ahead of that of the CPU
 * that the others are compared with, and how well that is known, in ticks.
 * -EXDEV: not known at all.
 */
int tsct_clock_skew(const struct tsct_clock_full *clock, __u32 cpu,
		    __s64 *ret_skew, __u64 *ret_error);

/* The worst of all CPUs', error included */
__u64 tsct_clock_skew_max(const struct tsct_clock_full *clock);

/* ---- the clock that the process keeps itself ---------------------------- */

/* Calibrates: takes up to 20 ms. NULL: no memory. */
struct tsct_clock_inprocess *tsct_clock_inprocess_open(__u32 source,
					   const struct tsct_clock_ops *ops);
void tsct_clock_inprocess_close(struct tsct_clock_inprocess *own);
const struct tsct_clock_page *
tsct_clock_inprocess_page(const struct tsct_clock_inprocess *own);

/* Takes a sample now, unless somebody is at it. Wait-free, signal safe. */
void tsct_clock_inprocess_sample(struct tsct_clock_inprocess *own);

/*
 * tsct_clock_inprocess_refine - somebody wants to know about @stamp: if the last
 * sample is too old for that, and nobody else is at it, take the next one.
 * Wait-free, signal safe.
 */
void tsct_clock_inprocess_refine(struct tsct_clock_inprocess *own, __u64 stamp);

#endif /* TSCT_CLOCK_PRIVATE_H */
