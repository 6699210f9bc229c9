/* SPDX-License-Identifier: MIT */
/* Two counters and the network between them: exchanges, and what is true */
#ifndef TESTS_NETSIM_LINK_H
#define TESTS_NETSIM_LINK_H

#include "osc.h"
#include "path.h"
#include "lib/ntp/exchange.h"

struct link {
	struct osc here, there;
	struct path go, back;
	struct stamping stamping;
	struct dice dice;
};

/* What the other counter really was when ours came to @local */
struct truth {
	uint64_t local;
	uint64_t remote;
	double frac;		/* about 0 to 1 */
	double hz;		/* the other's */
};

/*
 * link_exchange - a request that leaves at @ps, and its answer
 * @ret_end_ps: when that came
 * Returns false: something of it was lost.
 */
bool link_exchange(struct link *link, int64_t ps, struct tsct_exchange *ret_x,
		   int64_t *ret_end_ps);
/* Both go on to @ps. */
struct truth link_truth(struct link *link, int64_t ps);

#endif /* TESTS_NETSIM_LINK_H */
