// SPDX-License-Identifier: MIT
/* The cluster's timeline: begun where we are the master, and what is new of it. */
#include <string.h>

#include "lib/core/clock_params.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define TELL_NS		(NS_PER_S / 10)

static bool claims(__u32 status)
{
	return status == TSCT_STATUS_CALIBRATING ||
		status == TSCT_STATUS_SYNCHRONIZED ||
		status == TSCT_STATUS_HOLDOVER;
}

/* ---- master ------------------------------------------------------------- */

/*
 * The timeline that was published before the start can be continued: it is this
 * node's, of this counter, still valid, and none has begun since.
 */
static bool can_go_on(const struct peers *p)
{
	const struct tsct_clock_state *last = timekeeper_predecessor(p->keeper);
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);

	return !p->timeline_nr &&
		last->cluster.mult && last->cluster_master == p->node &&
		last->cluster_timeline && claims(last->cluster_status) &&
		last->source == state->source && last->epoch == state->epoch;
}

static void go_on(struct peers *p)
{
	const struct tsct_clock_state *last = timekeeper_predecessor(p->keeper);
	const struct tsct_clock_params *pair = &last->cluster;
	const struct tsct_remote_params line = {
		.base = pair->base_cycles, .base_ns = pair->base_ns,
		.mult = pair->mult, .as_of = pair->base_cycles,
	};

	tsct_cluster_master(p->cluster, p->node, &line,
			    last->cluster_timeline);
	log_info("master: timeline %u goes on", last->cluster_timeline);
}

/*
 * From here on the counter is the timeline, at the rate and the time it has now.
 * The number is later than any that this node gave, also where nothing of them
 * is left: it counts seconds.
 */
static void begin(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);
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

static void see_to_timeline(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);
	struct tsct_remote_params line;
	__u64 master;
	__u32 epoch;
	__u16 depth;

	if (claims(tsct_cluster_timeline(p->cluster, packet_clock_now(&p->clock),
					 &master, &epoch, &depth, &line)) &&
	    master == p->node)
		return;
	if (can_go_on(p))
		go_on(p);
	else if (state->status == TSCT_STATUS_SYNCHRONIZED && state->rate_mult)
		begin(p);
	else
		return;
	tsct_cluster_timeline(p->cluster, packet_clock_now(&p->clock), &master,
			      &p->timeline_nr, &depth, &line);
	p->pressing = true;
}

/*
 * synced-cluster: CLOCK_REALTIME is the cluster's time already. It is followed
 * as an NTP server would be, whose answers take no time.
 */
static void follow_realtime(struct peers *p)
{
	__u64 error_ns, now = packet_clock_now(&p->clock);
	struct tsct_remote remote = { .status = TSCT_STATUS_SYNCHRONIZED };
	struct tsct_exchange x = { .t1 = now, .t4 = now };
	__s64 ns;

	if (timekeeper_state(p->keeper)->status != TSCT_STATUS_SYNCHRONIZED ||
	    !packet_clock_real(&p->clock, now, &ns, &error_ns))
		return;
	x.t2 = x.t3 = (__u64)ns;
	remote.line = (struct tsct_remote_params) {
		.base = x.t3, .base_ns = ns, .mult = TSCT_NS_MULT,
		.as_of = x.t3, .error_ps = error_ns * 1000,
	};
	if (tsct_cluster_feed(p->cluster, 0, &x, &remote) == TSCT_CLUSTER_EPOCH)
		p->pressing = true;
}

/* ---- what is new -------------------------------------------------------- */

static void tell(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);
	__u64 now = packet_clock_now(&p->clock);
	__s64 now_ns = tsct_monotonic_ns();
	char master[64] = "";

	if (state->cluster_status == p->told_status &&
	    state->cluster_epoch == p->told_epoch &&
	    state->cluster_master == p->told_master)
		return;
	/* What changes all the time is told as it is in the end. */
	if (p->told_ns && now_ns - p->told_ns < TELL_NS)
		return;
	if (state->cluster_master)
		snprintf(master, sizeof(master), ", master %016llx, timeline %u",
			 (unsigned long long)state->cluster_master,
			 state->cluster_timeline);
	if (state->cluster.mult)
		log_info("cluster %s: time known to %.3f us, epoch %u%s",
			 tsct_status_name(state->cluster_status),
			 (double)tsct_clock_params_error_ps(&state->cluster, now) / 1e6,
			 state->cluster_epoch, master);
	else
		log_info("cluster %s: no time yet, epoch %u%s",
			 tsct_status_name(state->cluster_status),
			 state->cluster_epoch, master);
	p->told_status = state->cluster_status;
	p->told_epoch = state->cluster_epoch;
	p->told_master = state->cluster_master;
	p->told_ns = now_ns;
}

static void see_to_counter(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->keeper);

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
	packet_clock_round(&p->clock);
	see_to_counter(p);
	if (p->conf->synced_cluster)
		follow_realtime(p);
	else if (conf_is_master(p->conf))
		see_to_timeline(p);
	barrier_tick(p);
	if (p->has_changed)
		peers_links_changed(p);
	service_refresh(p);
	sources_log(p);
	tell(p);
}
