/* SPDX-License-Identifier: MIT */
/*
 * An exchange: a request and its answer, by which one node measures another
 * node's clock
 *
 *   local   t1 -----------------------------> t4      cycles of this node
 *                \                        /
 *   remote         t2 ----------------> t3            cycles of the other node, or
 *                                                    ns of an NTP server's clock
 *
 * On any network, t1 is before t2, and t3 before t4. So for the increasing
 * function f() from the local to the remote counter:
 *
 *   f(t1) <= t2   and   f(t4) >= t3
 *
 * Error bounds use nothing but these two inequalities. Estimates also assume that both
 * directions took the same time.
 */
#ifndef TSCT_NTP_EXCHANGE_H
#define TSCT_NTP_EXCHANGE_H

#include "lib/core/port.h"

/* struct tsct_exchange.flags: times that the kernel took; a program took the
 * others */
#define TSCT_EXCHANGE_T1_KERNEL	0x1
#define TSCT_EXCHANGE_T2_KERNEL	0x2
#define TSCT_EXCHANGE_T3_KERNEL	0x4
#define TSCT_EXCHANGE_T4_KERNEL	0x8
#define TSCT_EXCHANGE_AUTH	0x10	/* the answer was authenticated */
/* the request was sent right after the answer to another request of the same poll */
#define TSCT_EXCHANGE_FOLLOWS	0x20

struct tsct_exchange {
	__u64 t1, t4;		/* local counter when the request was sent, and when the
				 * answer was received, cycles */
	__u64 t2, t3;		/* remote counter when the request was received, and
				 * when the answer was sent: cycles, or ns of an NTP
				 * server's clock */
	__u32 local_error;	/* error bound of t1 and t4, local cycles */
	__u32 remote_error;	/* error bound of t2 and t3, in the same unit */
	__u32 session;		/* number of the session; 0: background poll */
	__u32 flags;
};

/* Value of mult for a remote counter that counts ns */
#define TSCT_NS_MULT	(1ULL << TSCT_CLOCK_SHIFT)

/* Clock params of another node, from its counter to cluster time; see abi_clock.h */
struct tsct_remote_params {
	__u64 base;		/* value of the remote counter at time base_ns */
	__s64 base_ns;		/* cluster time when the remote counter is `base`, ns */
	__u64 mult;		/* rate, 2^-56 ns per unit of the remote counter */
	__u64 as_of;		/* remote counter value at which error_ps holds */
	__u64 error_ps;		/* error bound at as_of, ps; 0: the node defines the
				 * timeline */
	__u64 growth;		/* growth of the error bound after as_of, 2^-32 ps per
				 * unit of the remote counter */
};

/* Returns the round trip of an exchange without the remote node's processing time, local
 * cycles. @rate: units of the remote counter per local cycle */
static inline double tsct_exchange_rtt(const struct tsct_exchange *x,
				       double rate)
{
	return (double)(__s64)(x->t4 - x->t1) -
		(double)(__s64)(x->t3 - x->t2) / rate;
}

#endif /* TSCT_NTP_EXCHANGE_H */
