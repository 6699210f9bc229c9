// SPDX-License-Identifier: MIT
/* The cluster's timeline: begins or continues a timeline if this node is the master, and
 * logs changes of the cluster's state */
#include <string.h>

#include "lib/clock/utc.h"
#include "lib/clockpage/clock_params.h"
#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define LOG_NS		(NS_PER_S / 10)

/* ---- timeline of a master ------------------------------------------------ */

/*
 * Continues the timeline that was published before the daemon started. Returns false if
 * that timeline belongs to another node or counter, or is no longer valid, or if this node
 * has begun another timeline since.
 */
static bool continue_timeline(struct peers *p)
{
	const struct tsct_clock_state *last = &p->timekeeper->predecessor;
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	const struct tsct_clock_params *params = &last->cluster;
	const struct tsct_remote_params remote = {
		.base = params->base_cycles, .base_ns = params->base_ns,
		.mult = params->mult, .as_of = params->base_cycles,
	};

	if (p->timeline_nr || !params->mult ||
	    last->cluster_master != p->node || !last->cluster_timeline ||
	    !tsct_status_has_time(last->cluster_status) ||
	    last->source != state->source || last->epoch != state->epoch)
		return false;
	tsct_cluster_master(p->cluster, p->node, &remote,
			    last->cluster_timeline);
	log_info("master: timeline %u continues, as before the daemon's restart",
		 last->cluster_timeline);
	return true;
}

/*
 * Begins a timeline that the counter defines from now on, at the counter's present
 * rate and time. The timeline's number is the time in seconds, so that any earlier
 * timeline of this node has a lower number, even if no record is left.
 */
static void begin_timeline(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	__u64 now = timekeeper_cycles(p->timekeeper);
	struct tsct_remote_params params = {
		.base = now, .as_of = now, .mult = state->rate_mult,
		.base_ns = tsct_clock_params_ns(&state->real, now),
	};
	__u32 number = (__u32)(params.base_ns / NS_PER_S);

	if ((__s32)(p->timeline_nr - number) >= 0)
		number = p->timeline_nr + 1;
	tsct_cluster_master(p->cluster, p->node, &params, number);
	log_info("master: timeline %u begins", number);
}

static void tick_master(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	struct tsct_timeline timeline;

	tsct_cluster_timeline(p->cluster, timekeeper_cycles(p->timekeeper), &timeline);
	if (timeline.has_params && timeline.master == p->node)
		return;
	if (!continue_timeline(p)) {
		if (state->status != TSCT_STATUS_SYNCHRONIZED ||
		    !state->rate_mult)
			return;
		begin_timeline(p);
	}
	tsct_cluster_timeline(p->cluster, timekeeper_cycles(p->timekeeper), &timeline);
	p->timeline_nr = timeline.epoch;
	p->urgent = true;
}

/* Gets the bound of CLOCK_REALTIME's error relative to the cluster's time: the configured bound,
 * or else the bound relative to UTC in the published state. Returns false if none is known. */
static bool realtime_bound(const struct peers *p, __u64 now, struct tsct_utc *ret)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	const __s64 age_ns = tsct_cycles_ns(state->rate_mult,
				    (__s64)(now - state->utc_as_of_cycles));

	tsct_utc_from_state(state, age_ns > 0 ? (__u64)age_ns : 0, ret);
	if (p->config->synced_error_ns) {
		ret->error_ns = p->config->synced_error_ns;
		ret->growth_ppb = 0;
		return true;
	}
	return ret->source;
}

/* Logs whether the bound of CLOCK_REALTIME's error is known, if this has changed. */
static void log_realtime(struct peers *p, bool known)
{
	const int logged = known ? 1 : -1;

	if (p->logged_realtime == logged)
		return;
	if (!known)
		log_warning("synced-cluster: the kernel states no bound of CLOCK_REALTIME's "
			    "error to UTC (STA_UNSYNC): cluster time is not updated; start an "
			    "NTP daemon such as chronyd, or give the bound: "
			    "'synced-cluster error NS'");
	else if (p->logged_realtime)
		log_info("synced-cluster: the bound of CLOCK_REALTIME's error is known "
			 "again");
	p->logged_realtime = logged;
}

/*
 * With the directive synced-cluster, CLOCK_REALTIME is the cluster's time
 * already. So CLOCK_REALTIME is treated as an NTP server whose answers
 * take no time, and whose error is CLOCK_REALTIME's error.
 */
static void feed_realtime(struct peers *p)
{
	__u64 error_ns, now = timekeeper_cycles(p->timekeeper);
	struct tsct_remote remote = { .status = TSCT_STATUS_SYNCHRONIZED };
	struct tsct_exchange x = { .t1 = now, .t4 = now };
	struct tsct_utc utc;
	bool known;
	__s64 ns;

	if (timekeeper_state(p->timekeeper)->status != TSCT_STATUS_SYNCHRONIZED ||
	    !packet_clock_real(&p->clock, now, &ns, &error_ns))
		return;
	known = realtime_bound(p, now, &utc);
	log_realtime(p, known);
	if (!known)
		return;
	x.t2 = x.t3 = (__u64)ns;
	remote.params = (struct tsct_remote_params) {
		.base = x.t3, .base_ns = ns, .mult = TSCT_NS_MULT, .as_of = x.t3,
		.error_ps = (error_ns + utc.error_ns) * 1000,
		.growth = tsct_growth(TSCT_NS_MULT, utc.growth_ppb),
	};
	if (tsct_cluster_feed(p->cluster, 0, &x, &remote) == TSCT_CLUSTER_EPOCH)
		p->urgent = true;
}

void timeline_tick(struct peers *p)
{
	if (p->config->synced_cluster)
		feed_realtime(p);
	else if (config_is_master(p->config))
		tick_master(p);
}

/* ---- log lines ----------------------------------------------------------- */

void timeline_log(struct peers *p)
{
	const struct tsct_clock_state *state = timekeeper_state(p->timekeeper);
	__u64 now = timekeeper_cycles(p->timekeeper);
	__s64 now_ns = tsct_monotonic_ns();
	char master[64] = "";

	if (state->cluster_status == p->logged_status &&
	    state->cluster_epoch == p->logged_epoch &&
	    state->cluster_master == p->logged_master)
		return;
	/* If the cluster's state changes fast, only the last change is logged. */
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
