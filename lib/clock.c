// SPDX-License-Identifier: MIT
/*
 * What stamps mean. Three origins, one page: the module's, the daemon's, or
 * one of our own that nobody else reads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clockpage.h"
#include "core/latch.h"
#include "core/scale.h"
#include "sample.h"

#define REFINE_NS	1000000000LL

enum origin {
	ORIGIN_MODULE,
	ORIGIN_DAEMON,
	ORIGIN_PROCESS,
};

struct tsct_clock {
	const struct tsct_clock_page *page;
	__u32 source;
	enum origin origin;
	char why[640];
	/* In ticks; the rate changes by far less than would matter here. */
	__s64 refine_ticks;
	__s64 holdover_ticks;

	/* ORIGIN_PROCESS; est and sampler belong to who holds `refining` */
	struct tsct_clock_page own;
	struct tsct_rate est;
	struct tsct_sampler sampler;
	__u32 refining;
};

/* Adopts a mapped page, unless its stamps cannot be taken here. */
static void adopt(struct tsct_clock *clock, enum origin origin)
{
	struct tsct_clock_state state;
	char *end = clock->why + strlen(clock->why);

	clock->origin = origin;
	if (tsct_latch_read(clock->page, &state))
		state.source = TSCT_SOURCE_MONOTONIC_RAW;
	clock->source = state.source;
	snprintf(end, sizeof(clock->why) - (size_t)(end - clock->why),
		 "%ssource %s, as %s publishes it",
		 end == clock->why ? "" : "; ",
		 tsct_source_name(clock->source),
		 origin == ORIGIN_MODULE ? "the module" : "tsctraced");
}

/*
 * The first figures take a sleep of 15 ms. Later ones come as they are asked
 * for, see refine(); a page that is not asked never goes void.
 */
static void calibrate(struct tsct_clock *clock)
{
	char *end = clock->why + strlen(clock->why);
	char source_why[256];
	__u8 boot_id[16] = { 0 };

	clock->origin = ORIGIN_PROCESS;
	clock->source = (__u32)tsct_source_choose(source_why,
						  sizeof(source_why));
	snprintf(end, sizeof(clock->why) - (size_t)(end - clock->why),
		 "; source %s", source_why);
	tsct_boot_id(boot_id);	/* for the record: nobody else reads it */
	tsct_latch_init(&clock->own, boot_id, clock->source);
	clock->page = &clock->own;
	tsct_rate_init(&clock->est, clock->source, 0);
	clock->est.void_ticks = 1ULL << 61;
	tsct_sampler_init(&clock->sampler, tsct_clock_ops_real(clock->source));
	if (tsct_sampler_start(&clock->sampler, &clock->est) >= 0)
		tsct_latch_write(&clock->own, &clock->est.state);
}

static void set_ages(struct tsct_clock *clock)
{
	struct tsct_clock_state state;

	if (tsct_latch_read(clock->page, &state) || !state.real.mult)
		return;
	clock->refine_ticks = tsct_ns_ticks(&state.real, REFINE_NS);
	clock->holdover_ticks = tsct_ns_ticks(&state.real, TSCT_HOLDOVER_NS);
}

int tsct_clock_open(struct tsct_clock **ret_clock)
{
	struct tsct_clock *clock = calloc(1, sizeof(*clock));
	char module_why[160], file_why[160];

	if (!clock)
		return -ENOMEM;
	if (!tsct_clockpage_module(&clock->page, module_why,
				   sizeof(module_why))) {
		adopt(clock, ORIGIN_MODULE);
		goto out;
	}
	strcpy(clock->why, module_why);
	if (!tsct_clockpage_file(tsct_run_dir(), &clock->page, file_why,
				 sizeof(file_why))) {
		adopt(clock, ORIGIN_DAEMON);
		goto out;
	}
	snprintf(clock->why, sizeof(clock->why), "%s; %s", module_why,
		 file_why);
	calibrate(clock);
out:
	set_ages(clock);
	*ret_clock = clock;
	return 0;
}

void tsct_clock_close(struct tsct_clock *clock)
{
	if (!clock)
		return;
	if (clock->origin != ORIGIN_PROCESS)
		tsct_clockpage_unmap(clock->page);
	free(clock);
}

const char *tsct_clock_origin(const struct tsct_clock *clock)
{
	switch (clock->origin) {
	case ORIGIN_MODULE:
		return "module";
	case ORIGIN_DAEMON:
		return "daemon";
	default:
		return "in-process";
	}
}

const char *tsct_clock_why(const struct tsct_clock *clock)
{
	return clock->why;
}

uint64_t tsct_clock_stamp(const struct tsct_clock *clock)
{
	return tsct_stamp_read(clock->source);
}

/*
 * Our own page has no daemon, so whoever asks for a time later than the last
 * sample takes the next one, a few microseconds once a second. Whoever finds
 * somebody at it (another thread, the code that our signal handler
 * interrupted, a thread that a fork left behind) goes on with what there is.
 */
static void refine(const struct tsct_clock *shared)
{
	struct tsct_clock *clock = (struct tsct_clock *)shared;

	/* Pairs with the release below: est is as the last holder left it. */
	if (__atomic_exchange_n(&clock->refining, 1, __ATOMIC_ACQUIRE))
		return;
	if (clock->est.rate > 0 &&
	    tsct_sampler_feed(&clock->sampler, &clock->est) >= 0)
		tsct_latch_write(&clock->own, &clock->est.state);
	__atomic_store_n(&clock->refining, 0, __ATOMIC_RELEASE);
}

static __s64 age(const struct tsct_pair *pair, __u64 stamp)
{
	return (__s64)(stamp - pair->as_of_tsc);
}

/*
 * What is published of the real pair, made younger if it is ours and too old
 * for @stamp.
 */
static int read_real(const struct tsct_clock *clock, __u64 stamp,
		     struct tsct_clock_state *state)
{
	int err = tsct_latch_read_real(clock->page, state);

	if (!err && clock->origin == ORIGIN_PROCESS &&
	    age(&state->real, stamp) > clock->refine_ticks) {
		refine(clock);
		err = tsct_latch_read_real(clock->page, state);
	}
	if (err || state->status == TSCT_STATUS_UNKNOWN || !state->real.mult)
		return -EAGAIN;
	return 0;
}

/* A state that nobody refreshed cannot know how old it is: its reader does. */
static __u32 status_at(const struct tsct_clock *clock,
		       const struct tsct_clock_state *state, __u64 stamp)
{
	if ((state->status == TSCT_STATUS_SYNCHRONIZED ||
	     state->status == TSCT_STATUS_CALIBRATING) &&
	    age(&state->real, stamp) > clock->holdover_ticks)
		return TSCT_STATUS_HOLDOVER;
	return state->status;
}

int tsct_clock_convert(const struct tsct_clock *clock, uint64_t stamp,
		       struct tsct_time *ret_time)
{
	struct tsct_clock_state state;
	const struct tsct_pair *pair = &state.real;
	__u64 error_ps;

	if (read_real(clock, stamp, &state))
		return -EAGAIN;
	if (state.source != clock->source ||
	    (__s64)(stamp - pair->void_after_tsc) > 0)
		return -ESTALE;
	error_ps = tsct_pair_error_ps(pair, stamp);
	ret_time->ns = tsct_pair_ns(pair, stamp);
	/* Up, and one more for what is cut off of ns */
	ret_time->error_ns = error_ps / 1000 + !!(error_ps % 1000) + 1;
	ret_time->status = status_at(clock, &state, stamp);
	ret_time->epoch = state.epoch;
	return 0;
}

int tsct_clock_snapshot(const struct tsct_clock *clock,
			struct tsct_clock_state *ret_state)
{
	struct tsct_clock_state state;
	__u64 now = tsct_clock_stamp(clock);

	if (read_real(clock, now, &state) ||
	    tsct_latch_read(clock->page, &state))
		return -EAGAIN;
	state.status = status_at(clock, &state, now);
	if (state.source == clock->source &&
	    (__s64)(now - state.real.void_after_tsc) > 0)
		state.status = TSCT_STATUS_UNKNOWN;
	*ret_state = state;
	return 0;
}
