// SPDX-License-Identifier: MIT
/* The cluster's timeline: begun where this node is the master, and logged. */
#include <string.h>

#include "lib/core/clock_params.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define LOG_NS		(NS_PER_S / 10)

/* ---- master -------------------------------------------------------------- */

/*
 * The timeline that was published before the start can be continued: it is this
 * node's, of this counter, still valid, and none has begun since.
 */
static bool can_continue(const struct peers *p)
{
	const struct tsct_clock_state *last = timekeeper_predecessor(p->timekeeper);
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);

	return !p->timeline_nr && last->cluster.mult &&
		last->cluster_master == p->node && last->cluster_timeline &&
		tsct_status_has_time(last->cluster_status) &&
		last->source == state->source && last->epoch == state->epoch;
}

static void continue_timeline(struct peers *p)
{
	const struct tsct_clock_state *last = timekeeper_predecessor(p->timekeeper);
	const struct tsct_clock_params *params = &last->cluster;
	const struct tsct_remote_params remote = {
		.base = params->base_cycles, .base_ns = params->base_ns,
		.mult = params->mult, .as_of = params->base_cycles,
	};

	tsct_cluster_master(p->cluster, p->node, &remote,
			    last->cluster_timeline);
	log_info("master: timeline %u goes on", last->cluster_timeline);
}

/*
 * From now on the counter defines the timeline, at its present rate and time.
 * The number is later than any that this node used, even if no record of them
 * is left: it counts seconds.
 */
static void begin_timeline(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	struct tsct_remote_params line = {
		.base = packet_clock_now(&p->clock), .mult = state->rate_mult,
	};
	__u32 number = (__u32)(tsct_clock_params_ns(&state->real, line.base) /
			       NS_PER_S);

	if ((__s32)(p->timeline_nr - number) >= 0)
		number = p->timeline_nr + 1;
	line.as_of = line.base;
	line.base_ns = tsct_clock_params_ns(&state->real, line.base);
	tsct_cluster_master(p->cluster, p->node, &line, number);
	log_info("master: timeline %u begins", number);
}

static void tick_master(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	struct tsct_remote_params line;
	__u64 master;
	__u32 epoch;
	__u16 depth;

	if (tsct_status_has_time(tsct_cluster_timeline(p->cluster,
				packet_clock_now(&p->clock), &master, &epoch,
				&depth, &line)) && master == p->node)
		return;
	if (can_continue(p)) {
		continue_timeline(p);
	} else if (state->status == TSCT_STATUS_SYNCHRONIZED &&
		   state->rate_mult) {
		begin_timeline(p);
	} else {
		return;
	}
	tsct_cluster_timeline(p->cluster, packet_clock_now(&p->clock), &master,
			      &p->timeline_nr, &depth, &line);
	p->urgent = true;
}

/*
 * synced-cluster: CLOCK_REALTIME is the cluster's time already. It is treated
 * as an NTP server whose answers take no time.
 */
static void feed_realtime(struct peers *p)
{
	__u64 error_ns, now = packet_clock_now(&p->clock);
	struct tsct_remote remote = { .status = TSCT_STATUS_SYNCHRONIZED };
	struct tsct_exchange x = { .t1 = now, .t4 = now };
	__s64 ns;

	if (timekeeper_state(p->timekeeper)->status != TSCT_STATUS_SYNCHRONIZED ||
	    !packet_clock_real(&p->clock, now, &ns, &error_ns))
		return;
	x.t2 = x.t3 = (__u64)ns;
	remote.params = (struct tsct_remote_params) {
		.base = x.t3, .base_ns = ns, .mult = TSCT_NS_MULT,
		.as_of = x.t3, .error_ps = error_ns * 1000,
	};
	if (tsct_cluster_feed(p->cluster, 0, &x, &remote) == TSCT_CLUSTER_EPOCH)
		p->urgent = true;
}

/* ---- the tick ------------------------------------------------------------ */

static void log_cluster(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	__u64 now = packet_clock_now(&p->clock);
	__s64 now_ns = tsct_monotonic_ns();
	char master[64] = "";

	if (state->cluster_status == p->logged_status &&
	    state->cluster_epoch == p->logged_epoch &&
	    state->cluster_master == p->logged_master)
		return;
	/* Of fast changes only the last one is logged. */
	if (p->logged_ns && now_ns - p->logged_ns < LOG_NS)
		return;
	if (state->cluster_master)
		snprintf(master, sizeof(master), ", master %016llx, timeline %u",
			 (unsigned long long)state->cluster_master,
			 state->cluster_timeline);
	if (state->cluster.mult)
		log_info("cluster %s: error bound %.3f us, epoch %u%s",
			 tsct_status_name(state->cluster_status),
			 (double)tsct_clock_params_error_ps(&state->cluster,
							    now) / 1e6,
			 state->cluster_epoch, master);
	else
		log_info("cluster %s: no time yet, epoch %u%s",
			 tsct_status_name(state->cluster_status),
			 state->cluster_epoch, master);
	p->logged_status = state->cluster_status;
	p->logged_epoch = state->cluster_epoch;
	p->logged_master = state->cluster_master;
	p->logged_ns = now_ns;
}

static void check_counter(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);

	if (state->epoch == p->clock_epoch)
		return;
	p->clock_epoch = state->epoch;
	if (timekeeper_keeps_rate(state->cause))
		return;
	sources_disrupt(p);
	if (p->service.responder)
		tsct_responder_disrupt(p->service.responder);
}

void peers_tick(struct peers *p)
{
	if (!p->cluster)
		return;
	packet_clock_refresh(&p->clock);
	check_counter(p);
	if (p->config->synced_cluster)
		feed_realtime(p);
	else if (config_is_master(p->config))
		tick_master(p);
	barrier_tick(p);
	if (p->links_changed)
		peers_links_changed(p);
	service_refresh(p);
	sources_log(p);
	log_cluster(p);
}
