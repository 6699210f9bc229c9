/* SPDX-License-Identifier: MIT */
/*
 * The clock keeper: takes samples, estimates, publishes. What it needs of the
 * world comes in by struct env, so that it runs on simulated time, too.
 */
#ifndef TSCTRACED_KEEPER_H
#define TSCTRACED_KEEPER_H

#include <stdbool.h>
#include <stddef.h>

#include "sample.h"

struct env {
	void *ctx;
	/* As tsct_source_choose() */
	int (*choose)(void *ctx, char *why, size_t size);
	/* Changes whenever choose() may give another answer; cheap. */
	__u32 (*source_mark)(void *ctx);
	const struct tsct_clock_ops *(*clock_ops)(void *ctx, int source);
	/* As publisher_set() and publisher_last() */
	int (*publish)(void *ctx, const struct tsct_clock_state *state);
	void (*last)(void *ctx, struct tsct_clock_state *ret_state);
	/* The module counts other stamps than we do, and cannot be served. */
	void (*give_up_module)(void *ctx);
};

struct keeper {
	const struct env *env;
	struct tsct_sampler sampler;
	struct tsct_rate est;
	__u32 source_mark;
	__u32 status;			/* as last logged */
	unsigned long ticks;
};

/*
 * keeper_start - choose a source, calibrate and publish. Takes 20 ms.
 * Returns 0 or -errno, having said why.
 */
int keeper_start(struct keeper *k, const struct env *env);

/* Once a second. -EPERM: publishing is no longer allowed. */
int keeper_tick(struct keeper *k);

/* Publishes that nobody keeps the clock from now on. */
void keeper_stop(struct keeper *k);

/* One line for people: status, rate, bound */
void keeper_describe(const struct keeper *k, char *text, size_t size);

#endif /* TSCTRACED_KEEPER_H */
