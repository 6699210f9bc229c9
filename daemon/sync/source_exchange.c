// SPDX-License-Identifier: MIT
/* What becomes of answers: exchanges, sessions, polls. */
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "exchange_log.h"
#include "peers_private.h"

#define GOOD_ENOUGH	8		/* polls until a longer one is tried */
#define SWEEP_NS	1000000		/* between exchanges of our own session */
#define BEHIND_NS	1000000		/* until the rest of a poll is answered */

/* ---- what comes of it --------------------------------------------------- */

/*
 * A known asymmetry is taken out of our side: as if the way there had begun so
 * much later, and the way back ended so much later. Causality stays what it is.
 */
static void correct(const struct peers *p, const struct source *s,
		    struct tsct_exchange *x)
{
	__s64 half = packet_clock_cycles(&p->clock, s->config.asymmetry_ns) / 2;

	x->t1 += (__u64)half;
	x->t4 += (__u64)half;
}

/* Who shares our counter need not be measured: his stamps are ours. */
static void identify(const struct peers *p, const struct source *s,
		     struct tsct_exchange *x)
{
	if (!p->config->synced_host || !s->client.remote.shared)
		return;
	x->t1 = x->t2;
	x->t4 = x->t3;
	x->local_error = x->remote_error = 0;	/* each is the same reading */
}

/* Not for each of a master that has one in every answer */
static void hurry_at_epoch(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();

	if (p->epoch_ns && now_ns - p->epoch_ns < NS_PER_S)
		return;
	p->epoch_ns = now_ns;
	sources_poll_now(p);
}

static void feed_one(struct peers *p, unsigned int nr,
		     const struct tsct_exchange *x)
{
	enum tsct_cluster_event event;

	event = tsct_cluster_feed(p->cluster, nr, x,
				  &p->source[nr].client.remote);
	exchange_log_add(p, nr, x);
	if (event == TSCT_CLUSTER_EPOCH) {
		p->pressing = true;
		hurry_at_epoch(p);
	}
}

/* Fits tell sessions by their numbers: ours have some, as the master's do. */
static void number(const struct source *s, struct tsct_exchange *x)
{
	if (s->sweep_session && !x->session &&
	    (__s64)(x->t1 - s->sweep_from) >= 0)
		x->session = s->sweep_session;
}

static __u32 any_number(void)
{
	__u64 random[2];

	peers_random(random);
	return (__u32)random[0] | 1;
}

/*
 * The first ones are held back until there are some: a line made of a single bad
 * one would have to be slewed to where it should be, for seconds.
 */
static void feed(struct peers *p, unsigned int nr, struct tsct_exchange *x)
{
	struct source *s = &p->source[nr];
	unsigned int i;

	number(s, x);
	correct(p, s, x);
	identify(p, s, x);
	if (s->is_met) {
		feed_one(p, nr, x);
		return;
	}
	s->held[s->nr_held++] = *x;
	if (s->nr_held < SOURCE_HELD && s->burst)
		return;
	s->is_met = true;
	for (i = 0; i < s->nr_held; i++)
		feed_one(p, nr, &s->held[i]);
}

/*
 * What comes of exchanges takes a while, and its memory. The other answers of a poll
 * would find a way back that is cold again, where their sender shares the CPU.
 */
static void feed_ready(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];
	unsigned int i;

	for (i = 0; i < s->nr_ready; i++)
		feed(p, nr, &s->ready[i]);
	s->nr_ready = 0;
}

void source_flush(struct peers *p, unsigned int nr)
{
	struct tsct_exchange x;

	feed_ready(p, nr);
	if (tsct_client_flush(&p->source[nr].client, &x))
		feed(p, nr, &x);
}

/* ---- sessions ----------------------------------------------------------- */

void source_leave_session(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];

	source_flush(p, nr);
	s->session = 0;
	s->sweep = 0;
	s->sweep_session = 0;
	s->due_ns = NEVER;		/* the caller says when */
	p->nr_sessions++;
	p->pressing = true;
}

void sources_burst(struct peers *p)
{
	const struct tsct_schedule_options *o = &p->config->round;
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct source *s = &p->source[i];

		/* NTP servers are strangers': a burst has to do. */
		if (s->config.plain) {
			source_poll_now(s, now_ns);
			continue;
		}
		/* Anybody may ask for one, and as often as he likes. */
		if (s->client.backoff || s->session || s->sweep)
			continue;
		s->sweep = o->max_messages ? o->max_messages : 100;
		s->sweep_session = any_number();
		s->sweep_from = packet_clock_now(&p->clock);
		s->sweep_until_ns = now_ns + 1000LL *
			(o->max_duration_us ? o->max_duration_us : 1000000);
		s->lost = 0;
		s->due_ns = now_ns;
	}
}

bool sources_busy(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].session || p->source[i].sweep ||
		    (p->source[i].burst && !p->source[i].is_unsynced))
			return true;
	return false;
}

/* What the answer says of sessions, and so when the next request is. */
static void follow_session(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	const struct tsct_remote *r = &s->client.remote;

	/* Only a request that was part of it is told that it is over. */
	if (s->session && r->joined == s->session &&
	    (r->flags & TSCT_EXT_SESSION_OVER || r->session != s->session)) {
		source_leave_session(p, nr);
	} else if (r->flags & TSCT_EXT_SESSION_OPEN && r->session) {
		s->session = r->session;
		s->sweep = 0;
	}
	if (!s->session || r->session != s->session)
		return;
	s->due_ns = now_ns + 1000LL * r->turn_us;
	/* What was asked behind the request that is answered is not given up yet. */
	if (tsct_client_waits(&s->client) && r->turn_us < BEHIND_NS / 1000)
		s->due_ns = now_ns + BEHIND_NS;
}

static void follow_sweep(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];

	if (!s->sweep)
		return;
	if (--s->sweep)
		s->due_ns = now_ns + SWEEP_NS;
	else
		source_leave_session(p, nr);
}

/* ---- answers ------------------------------------------------------------ */

static void answered(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	__u64 random[2];

	s->lost = 0;
	s->is_unsynced = false;
	if (!tsct_client_waits(&s->client) && ++s->good >= GOOD_ENOUGH) {
		s->good = 0;
		if (s->poll < s->config.maxpoll)
			s->poll++;
	}
	if (!s->config.plain) {
		barrier_answered(p, s);
		follow_session(p, nr, now_ns);
	}
	follow_sweep(p, nr, now_ns);
	if (s->due_ns == NEVER) {
		peers_random(random);
		s->due_ns = now_ns + source_poll_ns(s, random[0]);
	}
}

/* How much less often from now on, the client knows. */
static void kissed(struct source *s, __s64 now_ns)
{
	s->burst = s->sweep = 0;
	s->session = s->sweep_session = 0;
	s->good = 0;
	s->due_ns = now_ns + source_poll_ns(s, 0);
}

/* It will know the time in a moment, or some day. */
static void unsynced(struct source *s, __s64 now_ns)
{
	s->is_unsynced = true;
	s->lost = 0;
	s->poll = s->config.minpoll;
	s->good = 0;
	s->session = s->sweep_session = s->sweep = 0;
	s->due_ns = now_ns + source_poll_ns(s, 0);
}

/* "Ask me now" */
static bool take_hint(struct peers *p, struct source *s,
		      const struct net_packet *packet, __s64 now_ns)
{
	__u64 at_us;

	if (!tsct_client_poll_requested(&s->client, p->config->keys, packet->bytes,
				packet->len, (__u64)now_ns / 1000, &at_us))
		return false;
	if (!s->client.backoff && s->due_ns > (__s64)at_us * 1000)
		s->due_ns = (__s64)at_us * 1000;
	return true;
}

static bool is_another(const struct tsct_remote *a, const struct tsct_remote *b)
{
	return a->node != b->node || a->host != b->host ||
		a->master != b->master || a->epoch != b->epoch ||
		a->has_line != b->has_line;
}

static void take_answer(struct peers *p, unsigned int nr,
			const struct net_packet *packet, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	struct tsct_remote was = s->client.remote;
	enum tsct_client_result result;
	struct tsct_exchange x[2];
	unsigned int i, nr_x = 0;
	__u64 error_ns;
	__s64 near_ns;
	struct timespec ts;

	if (!packet_clock_real(&p->clock, packet->stamp.ticks, &near_ns,
			   &error_ns)) {
		tsct_gettime(CLOCK_REALTIME, &ts);
		near_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	}
	result = tsct_client_reply(&s->client, p->config->keys, packet->bytes,
				   packet->len, packet->stamp, near_ns, x,
				   &nr_x);
	/* What is held back is of the one before. */
	if (is_another(&was, &s->client.remote))
		s->nr_held = s->nr_ready = 0;
	for (i = 0; i < nr_x; i++) {
		if (s->nr_ready == TSCT_CLIENT_OPEN)
			feed_ready(p, nr);
		s->ready[s->nr_ready++] = x[i];
	}
	if (!tsct_client_waits(&s->client))
		feed_ready(p, nr);
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
	struct source *s = &p->source[nr];
	__s64 now_ns = tsct_monotonic_ns();
	int i, got;

	packet_clock_round(&p->clock);
	if (s->socket.nr_waiting)
		source_read_stamps(p, s);
	got = net_receive(&s->socket, &p->clock, p->batch);
	for (i = 0; i < got; i++)
		if (!take_hint(p, s, &p->batch[i], now_ns))
			take_answer(p, nr, &p->batch[i], now_ns);
	/* What woke us up may be a stamp that nobody waits for any more. */
	if (got <= 0)
		source_read_stamps(p, s);
	source_due(p, nr, now_ns);
}
