// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <tsctrace/clock.h>

#include "lib/core/clock_params.h"
#include "timeline.h"

int live_timeline_init(struct live_timeline *t, const char *name)
{
	static const char *const names[LIVE_TIME_NR] = {
		[LIVE_TIME_CLUSTER] = "cluster", [LIVE_TIME_CLOCK] = "clock",
		[LIVE_TIME_UTC] = "utc", [LIVE_TIME_NONE] = "none",
	};
	int err;

	memset(t, 0, sizeof(*t));
	while (t->kind < LIVE_TIME_NR && strcmp(name, names[t->kind]))
		t->kind++;
	if (t->kind == LIVE_TIME_NR)
		return -EINVAL;
	err = tsct_clock_open(&t->clock);
	if (err)
		return err;
	t->utc_error_ns = UINT64_MAX;
	live_timeline_sample(t);
	return 0;
}

static void note_params(struct live_timeline *t)
{
	struct tsct_clock_params *last = &t->params[(t->nr_params - 1) % LIVE_PARAMS];
	struct tsct_clock_state state;

	if (tsct_clock_snapshot(t->clock, &state) || state.flags & TSCT_CLOCK_SKEWED ||
	    !tsct_status_has_time(state.cluster_status) || !state.cluster.mult) {
		t->nr_params = 0;
		return;
	}
	if (state.cluster_epoch != t->epoch)
		t->nr_params = 0;
	t->epoch = state.cluster_epoch;
	if (t->nr_params && last->base_cycles == state.cluster.base_cycles)
		*last = state.cluster;
	else
		t->params[t->nr_params++ % LIVE_PARAMS] = state.cluster;
}

void live_timeline_sample(struct live_timeline *t)
{
	struct tsct_time now;
	struct tsct_utc utc;

	tsct_clock_now(t->clock, &now);	/* a clock of this process takes its samples here */
	if (t->kind == LIVE_TIME_CLUSTER)
		note_params(t);
	if (t->kind == LIVE_TIME_UTC)
		t->utc_error_ns = tsct_clock_utc(t->clock, &utc) ? UINT64_MAX : utc.error_ns;
}

/* Converts by the last parameters that began before. False: there are none */
static bool convert_past(const struct live_timeline *t, __u64 cycles, struct tsct_time *time)
{
	const struct tsct_clock_params *p;
	unsigned int i;

	for (i = t->nr_params; i && i + LIVE_PARAMS > t->nr_params; i--) {
		p = &t->params[(i - 1) % LIVE_PARAMS];
		if (p->base_cycles > cycles)
			continue;
		time->ns = tsct_clock_params_ns(p, cycles);
		time->error_ns = tsct_clock_params_error_ps(p, cycles) / 1000 + 1;
		return true;
	}
	return false;
}

bool live_timeline_time(const struct live_timeline *t, __u64 cycles, __u32 cpu,
			__s64 *ret_ns, __u64 *ret_error_ns)
{
	const bool cluster = t->kind == LIVE_TIME_CLUSTER;
	const __u64 other = t->kind == LIVE_TIME_UTC ? t->utc_error_ns :
		t->kind == LIVE_TIME_NONE ? UINT64_MAX : 0;
	struct tsct_time time = { 0 };
	bool done;

	done = cluster ?
		!tsct_clock_cycles_to_cluster_time_on(t->clock, cycles, cpu, &time) ||
			convert_past(t, cycles, &time) :
		!tsct_clock_cycles_to_time_on(t->clock, cycles, cpu, &time);
	if (!done && (!cluster || tsct_clock_cycles_to_time_on(t->clock, cycles, cpu, &time)))
		time.ns = tsct_clock_now_ns(t->clock);
	*ret_ns = time.ns;
	*ret_error_ns = !done || other == UINT64_MAX ? UINT64_MAX :
		tsct_add_saturating(time.error_ns, other);
	return done;
}
