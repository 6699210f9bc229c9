/* SPDX-License-Identifier: MIT */
/*
 * What one node measures of another: a request, and the answer to it.
 *
 *   here    t1 -----------------------------> t4      ticks of our counter
 *                \                        /
 *   there          t2 ----------------> t3            the other's counter
 *
 * Whatever the network does, our t1 came before their t2, and their t3 before
 * our t4. So with f(), which gives the other's counter for ours, rising:
 *
 *   f(t1) <= t2   and   f(t4) >= t3
 *
 * That is all that is known for certain, and what bounds rest on. That the way
 * there and the way back took as long is a guess; what estimates rest on.
 */
#ifndef TSCT_SYNC_EXCHANGE_H
#define TSCT_SYNC_EXCHANGE_H

#include "lib/core/port.h"

/* struct tsct_exchange.flags: whose kernel took a stamp; else a program did */
#define TSCT_EXCHANGE_T1_KERNEL	0x1
#define TSCT_EXCHANGE_T2_KERNEL	0x2
#define TSCT_EXCHANGE_T3_KERNEL	0x4
#define TSCT_EXCHANGE_T4_KERNEL	0x8
#define TSCT_EXCHANGE_AUTH	0x10	/* the answer had a MAC of ours */

struct tsct_exchange {
	__u64 t1, t4;		/* our counter */
	__u64 t2, t3;		/* the other's: its ticks, or ns of its clock */
	__u32 local_error;	/* t1 and t4 are known to this, our ticks */
	__u32 remote_error;	/* t2 and t3, theirs */
	__u32 session;		/* 0: of no session (background poll) */
	__u32 flags;
};

/* The other's counter is this many ns a tick; 2^-56. TSCT_NS_MULT: it is ns. */
#define TSCT_NS_MULT	(1ULL << TSCT_CLOCK_SHIFT)

/* What a line of another node's makes of its counter; see abi_clock.h. */
struct tsct_remote_params {
	__u64 base;		/* of its counter */
	__s64 base_ns;		/* cluster time there */
	__u64 mult;		/* 2^-56 ns per count */
	__u64 as_of;		/* of its counter: the error below is that of */
	__u64 error_ps;		/* bound, at as_of; 0: it defines the timeline */
	__u64 growth;		/* of it, 2^-32 ps per count after as_of */
};

/* Time our exchange spent on the wire, our ticks. @rate: theirs per ours. */
static inline double tsct_exchange_rtt(const struct tsct_exchange *x,
				       double rate)
{
	return (double)(__s64)(x->t4 - x->t1) -
		(double)(__s64)(x->t3 - x->t2) / rate;
}

#endif /* TSCT_SYNC_EXCHANGE_H */
