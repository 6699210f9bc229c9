// SPDX-License-Identifier: MIT
/*
 * Exchanges with sources: from a datagram to the cluster, and the time of the
 * next request.
 */
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "exchange_log.h"
#include "peers_private.h"

#define GOOD_ENOUGH	8		/* polls until a longer interval is
					 * tried */
#define HELD		3		/* exchanges held back of a new
					 * source */
#define SESSION_GAP_NS	1000000		/* between exchanges of an own
					 * session */
#define BEHIND_NS	1000000		/* until the rest of a poll is
					 * answered */

/* ---- exchanges ----------------------------------------------------------- */

static void feed(struct peers *p, unsigned int nr, struct tsct_exchange *x)
{
	const struct peer_source *s = &p->source[nr];
	__s64 half = packet_clock_cycles(&p->clock, s->config.asymmetry_ns) / 2;
	enum tsct_cluster_event event;
	__s64 now_ns;

	/*
	 * A known asymmetry is applied to the local side: as if the request had
	 * been sent, and the answer received, later by half of it. Causality
	 * still holds.
	 */
	x->t1 += (__u64)half;
	x->t4 += (__u64)half;
	/* A source on the same counter needs no measurement: its times are
	 * ours. */
	if (p->config->synced_host && s->client.remote.shared) {
		x->t1 = x->t2;
		x->t4 = x->t3;
		x->local_error = x->remote_error = 0;	/* the same readings */
	}
	event = tsct_cluster_feed(p->cluster, nr, x, &s->client.remote);
	exchange_log_add(p, nr, x);
	if (event != TSCT_CLUSTER_EPOCH)
		return;
	p->urgent = true;
	/* Once a second: a master may announce a new epoch in every answer. */
	now_ns = tsct_monotonic_ns();
	if (!p->epoch_ns || now_ns - p->epoch_ns >= NS_PER_S) {
		p->epoch_ns = now_ns;
		sources_poll_now(p);
	}
}

/*
 * Feeds the exchanges that are complete. The first ones of a source stay in the
 * client's queue until there are a few: a line made of a single bad one would
 * have to be slewed to the right place, for seconds.
 */
static void feed_complete(struct peers *p, unsigned int nr)
{
	struct peer_source *s = &p->source[nr];
	unsigned int complete = tsct_client_complete(&s->client);
	struct tsct_exchange x;

	if (!complete || (!s->accepted && complete < HELD && s->burst))
		return;
	s->accepted = true;
	while (tsct_client_next(&s->client, &x))
		feed(p, nr, &x);
}

void source_flush(struct peers *p, unsigned int nr)
{
	tsct_client_flush(&p->source[nr].client);
	feed_complete(p, nr);
}

/* ---- sessions ------------------------------------------------------------ */

void source_leave_session(struct peers *p, unsigned int nr)
{
	struct peer_source *s = &p->source[nr];

	source_flush(p, nr);
	s->session = 0;
	s->own_session = 0;
	s->client.session = 0;
	s->due_ns = NEVER;		/* the caller sets it */
	p->nr_sessions++;
	p->urgent = true;
}

void sources_begin_session(struct peers *p)
{
	const struct tsct_schedule_options *o = &p->config->schedule;
	__s64 now_ns = tsct_monotonic_ns();
	__u64 random[2];
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct peer_source *s = &p->source[i];

		/*
		 * An NTP server belongs to a third party: it gets a short burst
		 * of requests, not a session.
		 */
		if (s->config.ntp_only) {
			source_poll_now(s, now_ns);
			continue;
		}
		/* Any local user may request a session, any number of times. */
		if (s->client.backoff || s->session || s->own_session)
			continue;
		peers_random(random);
		s->own_session = o->max_messages ? o->max_messages : 100;
		s->client.session = (__u32)random[0] | 1;
		s->own_session_until_ns = now_ns + 1000LL *
			(o->max_duration_us ? o->max_duration_us : 1000000);
		s->lost = 0;
		s->due_ns = now_ns;
	}
}

bool sources_busy(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].session || p->source[i].own_session ||
		    (p->source[i].burst && !p->source[i].is_unsynced))
			return true;
	return false;
}

/* Joins and leaves the master's sessions as the answer demands, and sets the time
 * of the next request in one. */
static void follow_session(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct peer_source *s = &p->source[nr];
	const struct tsct_remote *r = &s->client.remote;

	/* Only the answer to a request that was part of it can end it. */
	if (s->session && r->joined == s->session &&
	    (r->flags & TSCT_EXT_SESSION_OVER || r->session != s->session)) {
		source_leave_session(p, nr);
	} else if (r->flags & TSCT_EXT_SESSION_OPEN && r->session) {
		s->session = r->session;
		s->own_session = 0;
	}
	if (!s->session || r->session != s->session)
		return;
	s->due_ns = now_ns + 1000LL * r->turn_us;
	/* Requests sent after the one answered are not given up yet. */
	if (tsct_client_waits(&s->client) && r->turn_us < BEHIND_NS / 1000)
		s->due_ns = now_ns + BEHIND_NS;
}

/* ---- answers ------------------------------------------------------------- */

static void answered(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct peer_source *s = &p->source[nr];
	__u64 random[2];

	s->lost = 0;
	s->is_unsynced = false;
	if (!tsct_client_waits(&s->client) && ++s->good >= GOOD_ENOUGH) {
		s->good = 0;
		if (s->poll < s->config.maxpoll)
			s->poll++;
	}
	if (!s->config.ntp_only) {
		barrier_answered(p, s);
		follow_session(p, nr, now_ns);
	}
	if (s->own_session) {
		if (--s->own_session)
			s->due_ns = now_ns + SESSION_GAP_NS;
		else
			source_leave_session(p, nr);
	}
	if (s->due_ns == NEVER) {
		peers_random(random);
		s->due_ns = now_ns + source_poll_ns(s, random[0]);
	}
}

/* The client has the new backoff, which source_poll_ns() applies. */
static void kissed(struct peer_source *s, __s64 now_ns)
{
	s->burst = s->own_session = 0;
	s->session = s->client.session = 0;
	s->good = 0;
	s->due_ns = now_ns + source_poll_ns(s, 0);
}

/* Polled at the shortest interval: it may be synchronized in a moment. */
static void unsynced(struct peer_source *s, __s64 now_ns)
{
	s->is_unsynced = true;
	s->lost = 0;
	s->poll = s->config.minpoll;
	s->good = 0;
	s->session = s->client.session = s->own_session = 0;
	s->due_ns = now_ns + source_poll_ns(s, 0);
}

/* A datagram from the source's address: a poll request, or an answer */
static void receive(struct peers *p, unsigned int nr,
		    const struct net_packet *packet, __s64 now_ns)
{
	struct peer_source *s = &p->source[nr];
	enum tsct_client_result result;
	__u64 error_ns, at_us;
	__s64 near_ns;
	struct timespec ts;

	if (tsct_client_poll_requested(&s->client, p->config->keys,
				       packet->bytes, packet->len,
				       (__u64)now_ns / 1000, &at_us)) {
		if (!s->client.backoff && s->due_ns > (__s64)at_us * 1000)
			s->due_ns = (__s64)at_us * 1000;
		return;
	}
	if (!packet_clock_real(&p->clock, packet->time.cycles, &near_ns,
			       &error_ns)) {
		tsct_gettime(CLOCK_REALTIME, &ts);
		near_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	}
	result = tsct_client_reply(&s->client, p->config->keys, packet->bytes,
				   packet->len, packet->time, near_ns);
	/*
	 * Not between the answers of a poll: feeding takes a while, and cache.
	 * Where the server shares the CPU, the path of the next answer would be
	 * cold again.
	 */
	if (!tsct_client_waits(&s->client))
		feed_complete(p, nr);
	if (result == TSCT_CLIENT_OK)
		answered(p, nr, now_ns);
	else if (result == TSCT_CLIENT_KISS)
		kissed(s, now_ns);
	else if (result == TSCT_CLIENT_UNSYNCED)
		unsynced(s, now_ns);
	source_log_answer(s, result, now_ns);
}

void source_dispatch(struct peers *p, unsigned int nr)
{
	struct peer_source *s = &p->source[nr];
	__s64 now_ns = tsct_monotonic_ns();
	int i, got;

	packet_clock_refresh(&p->clock);
	if (s->socket.nr_waiting)
		source_read_tx_times(p, s);
	got = net_receive(&s->socket, &p->clock, p->batch);
	for (i = 0; i < got; i++)
		receive(p, nr, &p->batch[i], now_ns);
	/* The wake-up may be for a transmit time that is no longer expected. */
	if (got <= 0)
		source_read_tx_times(p, s);
	source_due(p, nr, now_ns);
}
