// SPDX-License-Identifier: MIT
/* Sources: their poll intervals, sockets, requests, and log lines. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define NS_PER_MS	1000000LL

#define BURST		6		/* polls at the start, and after
					 * changes */
#define BURST_NS	(100 * NS_PER_MS)
#define BURST_NTP_NS	(2 * NS_PER_S)	/* NTP servers belong to others */
/*
 * After a pause the first packets on a path are slower, and not by the same
 * amount in both directions. So the first request of a poll has a second one
 * right behind it, and the exchange with the shorter round trip counts. Where
 * the next poll is far off there is a third, whose answer has the server's
 * transmit time of the second's.
 */
#define REQUESTS	2		/* per poll */
#define REQUESTS_LONG	3		/* no more than TSCT_CLIENT_REQUESTS */
#define LONG_NS		(2 * NS_PER_S)
#define LOST_PORT	4		/* unanswered polls: use another port */
#define LATE_NS		(50 * NS_PER_MS)	/* in a session: then a request is
						 * lost */
#define SESSION_LOST	5		/* ... so many lost in a row end the
					 * session */
#define TX_TIMES	8		/* messages of the error queue at a
					 * time */

/* ---- intervals ----------------------------------------------------------- */

/* Random within a sixteenth: unpredictable, and no two nodes stay in step. */
__s64 source_poll_ns(const struct peer_source *s, __u64 random)
{
	double ns = ldexp((double)NS_PER_S, s->poll + s->client.backoff);

	return (__s64)(ns * (1 + ((double)(random >> 40) / (1 << 24) - 0.5) / 8));
}

static void lengthen_poll(struct peer_source *s)
{
	s->good = 0;
	if (s->poll < s->config.maxpoll)
		s->poll++;
}

/* For NTP servers, which belong to others, one burst per poll interval at
 * most. */
void source_poll_now(struct peer_source *s, __s64 now_ns)
{
	__s64 free_ns = s->burst_ns + (__s64)ldexp((double)NS_PER_S,
						   s->config.minpoll);
	__s64 due_ns = now_ns;

	if (s->client.backoff)
		return;			/* after a kiss-o'-death */
	s->poll = s->config.minpoll;
	s->good = 0;
	if (s->config.ntp_only && s->burst_ns && free_ns > now_ns) {
		due_ns = free_ns;
	} else {
		s->burst = BURST;
		s->is_unsynced = false;
		s->burst_ns = now_ns;
	}
	if (s->due_ns > due_ns)
		s->due_ns = due_ns;
}

void sources_poll_now(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		source_poll_now(&p->source[i], now_ns);
}

void sources_disrupt(struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		tsct_client_disrupt(&p->source[i].client);
		p->source[i].accepted = false;
	}
	sources_poll_now(p);
}

void sources_poll_for_barrier(struct peers *p)
{
	__s64 soon_ns = tsct_monotonic_ns() + BURST_NS;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (barrier_waits_for(p, &p->source[i]) &&
		    p->source[i].due_ns > soon_ns)
			p->source[i].due_ns = soon_ns;
}

/* From a request until it is given up and the next one is made */
static __s64 next_ns(const struct peers *p, const struct peer_source *s,
		     __u64 random)
{
	__s64 poll = source_poll_ns(s, random);
	__s64 burst = s->config.ntp_only ? BURST_NTP_NS : BURST_NS;

	if (s->session || s->own_session)
		return LATE_NS;
	if (s->burst || barrier_waits_for(p, s))
		return poll < burst ? poll : burst;
	return poll;
}

/* ---- opening and closing ------------------------------------------------- */

void source_open(struct peers *p, unsigned int nr,
		 const struct config_source *config)
{
	const struct tsct_client_options options = {
		.flags = (config->ntp_only ? TSCT_CLIENT_NTP_ONLY : 0) |
			(config->xleave ? TSCT_CLIENT_INTERLEAVED : 0),
		.key_id = config->key,
		.node = p->node, .host = p->host,
	};
	struct peer_source *s = &p->source[nr];

	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->socket.fd = -1;
	tsct_client_init(&s->client, &options);
	s->poll = config->minpoll;
	s->burst = BURST;
}

void source_close(struct peers *p, unsigned int nr)
{
	net_close(&p->source[nr].socket);
	tsct_cluster_reset_source(p->cluster, nr);
}

/* ---- requests ------------------------------------------------------------ */

/* Reads the kernel's transmit times of requests. */
void source_read_tx_times(struct peers *p, struct peer_source *s)
{
	struct tsct_packet_time tx;
	__u32 number;
	int i;

	for (i = 0; i < TX_TIMES; i++) {
		if (!net_sent(&s->socket, &p->clock, &number, &tx))
			return;
		if (tx.kernel)
			tsct_client_sent(&s->client, number, tx);
		if (!s->socket.nr_waiting)
			return;
	}
}

/* Sends one request of a poll; @follows: it is not the first. */
static int send_request(struct peers *p, struct peer_source *s, bool follows)
{
	struct tsct_client *client = &s->client;
	struct tsct_packet_time before = { 0 };
	struct tsct_extension ext = { 0 };
	__u8 bytes[TSCT_NTP_MAX];
	__u64 random[2];
	size_t len;
	int err;

	peers_random(random);
	if (s->session) {
		ext.flags |= TSCT_EXT_JOIN;
		ext.session = s->session;
	}
	if (barrier_arrived(p, s)) {
		ext.flags |= TSCT_EXT_ARRIVED;
		ext.barrier = p->barrier.number;
	}
	client->requests_missing = barrier_waits_for(p, s);
	if (client->requests_missing)
		barrier_below(p, client->below, sizeof(client->below));
	len = (follows ? tsct_client_follow : tsct_client_request)(
		client, p->config->keys, random,
		s->config.ntp_only ? NULL : &ext, bytes);
	if (!len)
		return -ENOKEY;
	err = net_send(&s->socket, NULL, bytes, len, (__u32)client->sent,
		       &p->clock, &before.cycles);
	if (err)
		return err;
	tsct_client_sent(client, (__u32)client->sent, before);
	source_read_tx_times(p, s);
	return 0;
}

static int send_poll(struct peers *p, unsigned int nr)
{
	struct peer_source *s = &p->source[nr];
	unsigned int requests = 1;
	int err = 0;

	if (!s->session && !s->own_session && !s->config.ntp_only)
		requests = next_ns(p, s, 0) < LONG_NS ? REQUESTS : REQUESTS_LONG;
	if (s->socket.fd < 0 || (s->lost && s->lost % LOST_PORT == 0)) {
		net_close(&s->socket);
		err = net_open_client(&s->config.address, &p->clock, &s->socket);
	}
	if (!err)
		err = send_request(p, s, false);
	if (err) {
		/* The local address may be gone: the next socket has
		 * another. */
		net_close(&s->socket);
		return err;
	}
	/* One that cannot be sent is lost; the poll counts by its first. */
	while (--requests && !err)
		err = send_request(p, s, true);
	return 0;
}

/* A poll was not fully answered in time. */
static void give_up_poll(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct peer_source *s = &p->source[nr];

	source_flush(p, nr);
	s->is_unsynced = false;
	s->lost++;
	if ((s->session || s->own_session) && s->lost >= SESSION_LOST)
		source_leave_session(p, nr);
	if (s->lost >= 8)
		lengthen_poll(s);
	if (s->lost >= 8 || (s->lost >= 3 && !s->client.counts[TSCT_CLIENT_OK]))
		source_log_answer(s, TSCT_CLIENT_OK, now_ns);
}

void source_due(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct peer_source *s = &p->source[nr];
	__u64 random[2];
	int err;

	if (now_ns < s->due_ns)
		return;
	/* Packet times cannot be converted, and calibration goes first. */
	if (!timekeeper_has_params(timekeeper_state(p->timekeeper))) {
		s->due_ns = now_ns + BURST_NS;
		return;
	}
	if (tsct_client_waits(&s->client))
		give_up_poll(p, nr, now_ns);
	if (s->own_session && now_ns > s->own_session_until_ns)
		source_leave_session(p, nr);
	err = send_poll(p, nr);
	if (err) {
		/* An outstanding one is counted when it is given up. */
		s->lost += !tsct_client_waits(&s->client);
		lengthen_poll(s);
		if (s->lost == 3)
			log_warning("%s: cannot send requests: %s",
				    s->config.name, strerror(-err));
	}
	if (s->burst)
		s->burst--;
	peers_random(random);
	s->due_ns = now_ns + next_ns(p, s, random[0]);
}

/* ---- log lines ----------------------------------------------------------- */

#define LOG_NS		(60 * NS_PER_S)	/* per source and reason */
#define STATES_MAX	20		/* changes of state logged in that
					 * time */
#define REACH_NS	(10 * NS_PER_S)	/* between log lines that a source
					 * does not answer */

static void log_reach(struct peer_source *s, __s64 now_ns)
{
	bool reachable = !s->lost;

	if (s->reach_logged && s->is_reachable == reachable)
		return;
	if (!reachable && s->reach_ns && now_ns - s->reach_ns < REACH_NS)
		return;
	s->reach_logged = true;
	s->is_reachable = reachable;
	if (!reachable)
		s->reach_ns = now_ns;
	if (reachable)
		log_info("%s: answers", s->config.name);
	else if (s->config.key)
		log_warning("%s: does not answer; check that it is up, allows "
			    "this node, and has the same key %u",
			    s->config.name, s->config.key);
	else
		log_warning("%s: does not answer; check that it is up and "
			    "allows this node", s->config.name);
}

/* Anyone who can see the requests can provoke any of these lines, at any rate: so
 * each is logged once in a while. */
void source_log_answer(struct peer_source *s, enum tsct_client_result result,
		       __s64 now_ns)
{
	__s64 *logged_ns = &s->logged_ns[result];

	switch (result) {
	case TSCT_CLIENT_OK:
		log_reach(s, now_ns);
		return;
	/* Not logged: anyone can send such packets, and networks cause them. */
	case TSCT_CLIENT_MALFORMED:
	case TSCT_CLIENT_NOT_OURS:
	case TSCT_CLIENT_DUPLICATE:
	case TSCT_CLIENT_ZERO_ORIGIN:
	case TSCT_CLIENT_FOREIGN:
	case TSCT_CLIENT_REPLAY:
		return;
	default:
		break;
	}
	if (*logged_ns && now_ns - *logged_ns < LOG_NS)
		return;
	*logged_ns = now_ns;
	if (result == TSCT_CLIENT_KISS)
		log_warning("%s: kiss-o'-death %s received: poll interval raised "
			    "to %.3g s", s->config.name, s->client.kiss,
			    ldexp(1, s->poll + s->client.backoff));
	else if (s->config.key)
		log_warning("%s, key %u: %s", s->config.name, s->config.key,
			    tsct_client_result_text(result));
	else
		log_warning("%s: %s", s->config.name,
			    tsct_client_result_text(result));
}

static void log_state(struct peer_source *s,
			const struct tsct_source_state *state, __s64 now_ns)
{
	enum source_log_state logged = state->falseticker ? SOURCE_FALSETICKER :
		!state->known && *state->reason ? SOURCE_REFUSED : SOURCE_USABLE;

	if (logged == s->logged || (!logged && !state->known))
		return;			/* the same, or no estimate at the
					 * moment */
	s->logged = logged;
	/* A hostile source can change its state with each answer. */
	if (now_ns - s->states_ns > LOG_NS) {
		s->states_ns = now_ns;
		s->nr_states = 0;
	}
	if (s->nr_states++ >= STATES_MAX)
		return;
	if (logged)
		log_warning("%s: not used: %s", s->config.name, state->reason);
	else
		log_info("%s: used again", s->config.name);
}

void sources_log(struct peers *p)
{
	__u64 now = packet_clock_now(&p->clock);
	struct tsct_source_state state;
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct peer_source *s = &p->source[i];

		s->client.options.mult = p->timekeeper->est.state.rate_mult;
		tsct_cluster_source(p->cluster, i, now, &state);
		log_state(s, &state, now_ns);
	}
}
