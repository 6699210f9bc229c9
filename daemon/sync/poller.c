// SPDX-License-Identifier: MIT
/* Sources: their poll intervals, sockets, requests, exchanges and log lines */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define NS_PER_MS	1000000LL

/* Least time between polls of a burst, ns */
#define BURST_NS	(100 * NS_PER_MS)
#define BURST_NTP_NS	(2 * NS_PER_S)	/* time between polls of an NTP server, ns */
#define LOST_PORT	4	/* number of unanswered polls until the UDP port changes */
#define OWN_ID_LOST	3	/* polls until an answer with this node's id is forgotten */
/* Least timeout of a request in a session, ns */
#define LATE_NS		(50 * NS_PER_MS)
#define SESSION_LOST	5	/* number of lost requests in a row that end a session */
/* Time from an answer to the next request in a session that this node began, ns */
#define SESSION_GAP_NS	NS_PER_MS
#define TX_TIMES	8	/* maximum number of transmit times read in a row */
#define GOOD_ENOUGH	8	/* number of answered polls until the poll interval doubles */
/* Number of completed exchanges with a new source before these exchanges
 * are used to estimate the cluster's time */
#define HELD		3

/* Minimum time between log lines about a source's answers with the same result, ns */
#define LOG_NS		(60 * NS_PER_S)
/* Least number of turns in a row outside the limits that is logged. (A turn is the time to the
 * next request, as the master assigns it.) A lower number is normal: at the start of a session
 * and after a late request, the turn may come at once. */
#define BAD_TURNS	8
#define STATES_MAX	20		/* maximum number of log lines about a
					 * source's state in LOG_NS */
/* Minimum time between log lines "does not answer", per source, ns */
#define REACH_NS	(10 * NS_PER_S)

/* ---- times of polls ------------------------------------------------------ */

/* Returns the time until the next poll, ns: the poll interval plus or minus a random part of up to
 * 1/16, which makes polls unpredictable and keeps nodes out of step. */
static __s64 poll_interval_ns(const struct peer_source *s, __u64 random)
{
	double ns = ldexp((double)NS_PER_S, s->poll + s->client.backoff);

	return (__s64)(ns * (1 + ((double)(random >> 40) / (1 << 24) - 0.5) / 8));
}

/* Doubles the poll interval, up to its maximum. */
static void lengthen_poll(struct peer_source *s)
{
	s->good = 0;
	if (s->poll < s->config.maxpoll)
		s->poll++;
}

/* Begins a burst of polls; for an NTP server at most once per poll interval. */
static void source_poll_now(struct peer_source *s, __s64 now_ns)
{
	__s64 free_ns = s->burst_ns + (__s64)ldexp((double)NS_PER_S,
						   s->config.minpoll);
	__s64 due_ns = now_ns;

	if (s->client.backoff)
		return;			/* no burst, because the server sent a kiss-o'-death */
	s->poll = s->config.minpoll;
	s->good = 0;
	if (s->config.ntp_only && s->burst_ns && free_ns > now_ns) {
		due_ns = free_ns;
	} else {
		s->burst = BURST;
		s->is_unsynced = false;
		s->burst_ns = now_ns;
	}
	s->due_ns = min(s->due_ns, due_ns);
}

/* Returns the time until which the answer to an outstanding request is likely to come, ns;
 * 0: no request is outstanding. A new request before that time would discard the answer. */
static __s64 answer_until_ns(const struct peer_source *s)
{
	return tsct_client_waits(&s->client) ?
		s->sent_ns + tsct_request_timeout_ns(0, s->rtt_ns, 0) : 0;
}

void source_poll_at(struct peer_source *s, __s64 at_ns)
{
	__s64 answer_ns = answer_until_ns(s);

	at_ns = max(at_ns, answer_ns);
	s->due_ns = min(s->due_ns, at_ns);
}

bool peers_busy(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].session || p->source[i].own_session ||
		    (p->source[i].burst && !p->source[i].is_unsynced))
			return true;
	return p->members.schedule &&
		tsct_schedule_open(p->members.schedule,
				   (__u64)tsct_monotonic_ns() / 1000);
}

/* ---- polls of all sources ------------------------------------------------ */

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

/* Returns the time from a request until it counts as lost and the next
 * request is sent, ns. */
static __s64 next_request_ns(const struct peers *p, const struct peer_source *s,
			     __u64 random)
{
	__s64 poll = poll_interval_ns(s, random);
	__s64 burst = s->config.ntp_only ? BURST_NTP_NS : BURST_NS;

	if (s->session || s->own_session)
		return tsct_request_timeout_ns(LATE_NS, s->rtt_ns, 0);
	if ((s->burst || (p->barrier && barrier_waits_for(p, s))) && burst < poll)
		poll = burst;
	return tsct_request_timeout_ns(poll, s->rtt_ns, s->lost);
}

/* ---- opening and closing sources ----------------------------------------- */

void source_open(const struct peers *p, struct peer_source *s,
		 const struct config_source *config)
{
	const struct tsct_client_options options = {
		.flags = (config->ntp_only ? TSCT_CLIENT_NTP_ONLY : 0) |
			(config->xleave ? TSCT_CLIENT_INTERLEAVED : 0),
		.key_id = config->key,
		.node = p->node, .host = p->host,
	};

	*s = (struct peer_source) { .config = *config, .socket.fd = -1 };
	tsct_client_init(&s->client, &options);
	s->poll = config->minpoll;
	s->burst = BURST;
}

void source_close(struct peers *p, struct peer_source *s)
{
	net_close(&s->socket);
	tsct_cluster_reset_source(p->cluster, (unsigned int)(s - p->source));
}

/* ---- log lines ----------------------------------------------------------- */

static void log_reach(struct peer_source *s, __s64 now_ns)
{
	bool reachable = !s->lost;

	if (!reachable && s->own_id_polls)
		return;		/* the server answers, and log_answer() logs the answer's fault */
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

/*
 * Logs an answer's result. Each result is logged at most once in LOG_NS, because anyone
 * who can see the requests can provoke such log lines at any rate.
 */
static void log_answer(struct peer_source *s, enum tsct_client_result result,
		       __s64 now_ns)
{
	__s64 *logged_ns = &s->logged_ns[result];

	switch (result) {
	case TSCT_CLIENT_OK:
		s->own_id_polls = 0;
		log_reach(s, now_ns);
		return;
	/* Answers with these faults are not logged: any sender of packets can cause
	 * such answers, and so can a network that duplicates or damages packets. */
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
	s->own_id_polls = result == TSCT_CLIENT_SELF ? OWN_ID_LOST : 0;
	if (*logged_ns && now_ns - *logged_ns < LOG_NS)
		return;
	*logged_ns = now_ns;
	if (result == TSCT_CLIENT_KISS)
		log_warning("%s: kiss-o'-death %s received: poll interval raised "
			    "to %.3g s", s->config.name, s->client.kiss,
			    ldexp(1, s->poll + s->client.backoff));
	else if (s->config.key)
		log_warning("%s, key %u: %s", s->config.name, s->config.key,
			    tsct_client_results[result].text);
	else
		log_warning("%s: %s", s->config.name, tsct_client_results[result].text);
}

/* Counts the turns in a row that a master assigned outside the limits, and logs this number,
 * at most once in LOG_NS. @turn_ns: the assigned turn, brought within the limits, ns */
static void note_turn(struct peer_source *s, __s64 turn_ns, __s64 now_ns)
{
	const __u32 turn_us = s->client.remote.turn_us;

	s->bad_turns = turn_ns == 1000LL * turn_us ? 0 : s->bad_turns + 1;
	if (s->bad_turns < BAD_TURNS && turn_ns < TSCT_TURN_MAX_NS)
		return;
	if (!s->bad_turns || (s->bad_turns_ns && now_ns - s->bad_turns_ns < LOG_NS))
		return;
	s->bad_turns_ns = now_ns;
	log_warning("%s: session: a turn of %u us is outside 250 us to 1.024 s: the next request "
		    "is sent after %lld us; check that the master runs a current tsctraced",
		    s->config.name, turn_us, (long long)turn_ns / 1000);
}

/* Logs the reason for the kind of a source's fit, if the reason has changed; at most once in
 * LOG_NS, because the reason may change with each exchange. */
static void log_fit(struct peer_source *s, const struct tsct_source_state *state,
		    __s64 now_ns)
{
	static const char *const texts[TSCT_FIT_REASON_NR] = {
		[TSCT_FIT_EDGE] = "the hull has less variance: delays have a sharp minimum",
		[TSCT_FIT_NOISE] = "the regression has less variance: errors of "
			"packet times hide the minimum of delays",
		[TSCT_FIT_BOTH] = "a mean of hull and regression, as it is unclear which is better",
		[TSCT_FIT_FEW] = "a mean of hull and regression, as there are few exchanges",
		[TSCT_FIT_CONTRADICTION] = "the hull is far from a robust line through the "
			"exchanges",
	};

	if (!state->fit || state->fit_reason == TSCT_FIT_REQUESTED ||
	    state->fit_reason == s->fit_reason ||
	    (s->fit_ns && now_ns - s->fit_ns < LOG_NS))
		return;
	s->fit_reason = state->fit_reason;
	s->fit_ns = now_ns;
	log_info("%s: fit by %s (%s): %s", s->config.name, state->fit,
		 tsct_fit_reason_text(state->fit_reason), texts[state->fit_reason]);
}

void sources_log(struct peers *p)
{
	__u64 now = timekeeper_cycles(p->timekeeper);
	struct tsct_source_state state;
	enum source_log_state logged;
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct peer_source *s = &p->source[i];

		s->client.options.mult = p->timekeeper->est.state.rate_mult;
		tsct_cluster_source(p->cluster, i, now, &state);
		log_fit(s, &state, now_ns);
		logged = state.falseticker ? SOURCE_FALSETICKER :
			!state.known && *state.reason ? SOURCE_REFUSED :
			SOURCE_USABLE;
		/* While a source has neither an estimate nor a reason for
		 * not being used, its logged state is not changed. */
		if (logged == s->logged || (!logged && !state.known))
			continue;
		s->logged = logged;
		/* Log lines are limited, because a hostile source can change its state
		 * with each answer. */
		if (now_ns - s->states_ns > LOG_NS) {
			s->states_ns = now_ns;
			s->nr_states = 0;
		}
		if (s->nr_states++ >= STATES_MAX)
			continue;
		if (logged)
			log_warning("%s: not used: %s", s->config.name,
				    state.reason);
		else
			log_info("%s: used again", s->config.name);
	}
}

/* ---- exchanges ----------------------------------------------------------- */

static void log_exchange(struct peers *p, const struct peer_source *s,
			 const struct tsct_exchange *x)
{
	struct exchange_log *log = p->log;
	struct logged_exchange *logged = &log->entry[++log->last % EXCHANGES_LOGGED];

	*logged = (struct logged_exchange) {
		.cycles = timekeeper_cycles(p->timekeeper),
		.source = (unsigned int)(s - p->source),
		.x = *x, .remote = s->client.remote,
		.clock_epoch = timekeeper_state(p->timekeeper)->epoch,
		.cluster_epoch = tsct_cluster_epoch(p->cluster),
	};
	memcpy(logged->name, s->config.name, sizeof(logged->name));
}

/*
 * Corrects for the asymmetry of delays that the configuration states: adds
 * half of the asymmetry to the local times (t1: request sent, t4: answer
 * received). The round trip time t4 - t1 stays the same. A source on the same
 * host reads the same counter, so its times are local times without an error.
 */
static void correct_times(const struct peers *p, const struct peer_source *s,
			  struct tsct_exchange *x)
{
	__s64 half = packet_clock_cycles(&p->clock, s->config.asymmetry_ns) / 2;

	x->t1 += (__u64)half;
	x->t4 += (__u64)half;
	if (p->config->synced_host && s->client.remote.shared) {
		x->t1 = x->t2;
		x->t4 = x->t3;
		x->local_error = x->remote_error = 0;
	}
}

/* Polls all sources because a new epoch of the cluster's time began; at most once a second,
 * because a master may announce a new epoch in every answer. */
static void epoch_began(struct peers *p)
{
	__s64 now_ns = tsct_monotonic_ns();

	p->urgent = true;
	if (p->epoch_ns && now_ns - p->epoch_ns < NS_PER_S)
		return;
	p->epoch_ns = now_ns;
	sources_poll_now(p);
}

/*
 * Passes complete exchanges to the estimate of the cluster's time. The first exchanges
 * with a source stay in the client's queue until HELD exchanges are complete or the
 * burst ends: clock params from one bad exchange would need a slew of seconds.
 */
static void feed_complete(struct peers *p, struct peer_source *s)
{
	unsigned int complete = tsct_client_complete(&s->client);
	enum tsct_cluster_event event;
	struct tsct_exchange x;

	if (!complete || (!s->accepted && complete < HELD && s->burst))
		return;
	s->accepted = true;
	while (tsct_client_next(&s->client, &x)) {
		correct_times(p, s, &x);
		event = tsct_cluster_feed(p->cluster, (unsigned int)(s - p->source), &x,
					  &s->client.remote);
		log_exchange(p, s, &x);
		if (event == TSCT_CLUSTER_EPOCH)
			epoch_began(p);
	}
}

static void flush_exchanges(struct peers *p, struct peer_source *s)
{
	tsct_client_flush(&s->client);
	feed_complete(p, s);
}

/* ---- sessions with sources ----------------------------------------------- */

static void end_session(struct peers *p, struct peer_source *s)
{
	flush_exchanges(p, s);
	s->session = s->own_session = s->client.session = 0;
	s->due_ns = NEVER;		/* the caller sets the time of the next request */
	p->nr_sessions++;
	p->urgent = true;
}

void sources_begin_session(struct peers *p)
{
	const struct tsct_schedule_options *o = &p->config->schedule;
	__s64 now_ns = tsct_monotonic_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct peer_source *s = &p->source[i];

		/* A public NTP server gets a short burst of polls instead of a
		 * session. */
		if (s->config.ntp_only) {
			source_poll_now(s, now_ns);
			continue;
		}
		/* Skips sources in backoff or in a session: any local
		 * user may request sessions any number of times. */
		if (s->client.backoff || s->session || s->own_session)
			continue;
		s->own_session = o->max_messages ? o->max_messages : 100;
		s->client.session = (__u32)net_random() | 1;
		s->own_session_until_ns = now_ns + 1000LL *
			(o->max_duration_us ? o->max_duration_us : 1000000);
		s->lost = 0;
		s->due_ns = now_ns;
	}
}

/*
 * Joins or leaves the master's session as the master's answer says, and
 * sets the time of the session's next request.
 */
static void follow_session(struct peers *p, struct peer_source *s, __s64 now_ns)
{
	const struct tsct_remote *r = &s->client.remote;
	__s64 turn_ns;

	/* Only the answer to a request that was part of the session ends
	 * the session. */
	if (s->session && r->joined == s->session &&
	    (r->flags & TSCT_EXT_SESSION_OVER || r->session != s->session)) {
		end_session(p, s);
	} else if (r->flags & TSCT_EXT_SESSION_OPEN && r->session) {
		s->session = r->session;
		s->own_session = 0;
	}
	if (!s->session || r->session != s->session)
		return;
	turn_ns = tsct_request_turn_ns(r->turn_us, now_ns - s->sent_ns);
	note_turn(s, turn_ns, now_ns);
	s->due_ns = now_ns + turn_ns;
}

/* ---- sending requests ---------------------------------------------------- */

/* Reads the kernel's transmit times of this node's requests. */
static void read_tx_times(struct peers *p, struct peer_source *s)
{
	unsigned int left = TX_TIMES;
	struct tsct_packet_time tx;
	__u32 number;

	while (net_sent(&s->socket, &p->clock, &left, &number, &tx))
		tsct_client_sent(&s->client, number, tx);
}

/* Sends a request. @follows: the request is not the first request of a poll */
static int send_request(struct peers *p, struct peer_source *s, bool follows)
{
	struct tsct_client *client = &s->client;
	struct tsct_packet_time before = { .error = p->clock.skew_cycles };
	struct tsct_extension ext = { 0 };
	__u8 bytes[TSCT_NTP_MAX];
	const __u64 random[2] = { net_random(), net_random() };
	size_t len;
	int err;

	if (s->session) {
		ext.flags |= TSCT_EXT_JOIN;
		ext.session = s->session;
	}
	client->poll = s->poll + client->backoff;
	if (p->barrier)
		barrier_request(p, s, &ext);
	len = tsct_client_request(client, p->config->keys, random,
				  s->config.ntp_only ? NULL : &ext, follows, bytes);
	if (!len)
		return -ENOKEY;
	err = net_send(&s->socket, NULL, bytes, len, (__u32)client->sent,
		       &p->clock, &before.cycles);
	if (err)
		return err;
	tsct_client_sent(client, (__u32)client->sent, before);
	s->sent_ns = tsct_monotonic_ns();
	read_tx_times(p, s);
	return 0;
}

/* Sets the number of requests that follow the first request of a poll. */
static void choose_further(struct peers *p, struct peer_source *s)
{
	const unsigned int nr = (unsigned int)(s - p->source);
	const struct tsct_exchange *x;
	const struct tsct_fit *fit = NULL;
	const bool *kept;

	s->further = 0;
	if (s->session || s->own_session || s->config.ntp_only)
		return;
	tsct_cluster_window(p->cluster, nr, &x, &kept, &fit);
	s->further = tsct_request_number(fit, next_request_ns(p, s, 0), s->nr_single) - 1;
	s->nr_single = s->further ? 0 : s->nr_single + 1;
}

static int send_poll(struct peers *p, struct peer_source *s)
{
	int err = 0;

	choose_further(p, s);
	if (s->socket.fd < 0 || (s->lost && s->lost % LOST_PORT == 0)) {
		net_close(&s->socket);
		err = net_open_client(&s->config.address, &p->clock, &s->socket);
	}
	if (!err)
		err = send_request(p, s, false);
	if (err) {
		/* Closes the socket, because its local address may be gone: the next socket
		 * gets the present local address. */
		net_close(&s->socket);
	}
	return err;
}

/* Sends a further request of a poll, right after an answer, unless a session has begun. The
 * next poll is not sent before the answer to that request is due. */
static void send_further(struct peers *p, struct peer_source *s)
{
	if (s->own_session || s->client.remote.flags & TSCT_EXT_SESSION_OPEN)
		s->further = 0;
	if (!s->further)
		return;
	s->further--;
	/* If this request cannot be sent, the poll still counts as sent,
	 * by its first request. */
	if (send_request(p, s, true))
		s->further = 0;
	s->due_ns = max(s->due_ns, answer_until_ns(s));
}

void source_due(struct peers *p, struct peer_source *s, __s64 now_ns)
{
	int err;

	if (now_ns < s->due_ns)
		return;
	/* Without clock params of this node, packet times cannot be converted: the poll
	 * is postponed. */
	if (!timekeeper_has_params(timekeeper_state(p->timekeeper))) {
		s->due_ns = now_ns + BURST_NS;
		return;
	}
	if (tsct_client_waits(&s->client)) {
		/* An outstanding request means that the last poll was not fully
		 * answered in time. */
		flush_exchanges(p, s);
		s->is_unsynced = false;
		s->lost++;
		s->own_id_polls -= !!s->own_id_polls;
		if ((s->session || s->own_session) && s->lost >= SESSION_LOST)
			end_session(p, s);
		if (s->lost >= 8)
			lengthen_poll(s);
		if (s->lost >= 8 ||
		    (s->lost >= 3 && !s->client.counts[TSCT_CLIENT_OK]))
			log_reach(s, now_ns);
	}
	if (s->own_session && now_ns > s->own_session_until_ns)
		end_session(p, s);
	err = send_poll(p, s);
	if (err) {
		/* Counts the poll that could not be sent as lost, unless an earlier request
		 * still waits for its answer: then that request's timeout counts. */
		s->lost += !tsct_client_waits(&s->client);
		lengthen_poll(s);
		if (s->lost == 3)
			log_warning("%s: cannot send requests: %s; check this node's "
				    "routes to it", s->config.name, strerror(-err));
	}
	if (s->burst)
		s->burst--;
	s->due_ns = now_ns + next_request_ns(p, s, net_random());
}

/* ---- receiving answers --------------------------------------------------- */

static void on_good_answer(struct peers *p, struct peer_source *s, __s64 now_ns)
{
	s->lost = 0;
	s->is_unsynced = false;
	if (!s->burst_ns)
		s->burst_ns = now_ns;
	if (!tsct_client_waits(&s->client) && ++s->good >= GOOD_ENOUGH)
		lengthen_poll(s);
	if (!s->config.ntp_only) {
		if (p->barrier)
			barrier_answered(p, s);
		follow_session(p, s, now_ns);
	}
	if (s->own_session) {
		if (--s->own_session)
			s->due_ns = now_ns + SESSION_GAP_NS;
		else
			end_session(p, s);
	}
	if (s->due_ns == NEVER)
		s->due_ns = now_ns + poll_interval_ns(s, net_random());
}

/* Ends sessions, and sets the time of the next request, after a kiss-o'-death or an
 * answer of an unsynchronized server. */
static void postpone_request(struct peer_source *s, __s64 now_ns)
{
	s->session = s->client.session = s->own_session = 0;
	s->good = 0;
	s->due_ns = now_ns + poll_interval_ns(s, 0);
}

/* Handles a datagram from the address of a source: a poll request or an answer. */
static void receive(struct peers *p, struct peer_source *s,
		    const struct net_packet *packet, __s64 now_ns)
{
	enum tsct_client_result result;
	__u64 at_us;

	if (tsct_client_poll_requested(&s->client, p->config->keys,
				       packet->bytes, packet->len,
				       (__u64)now_ns / 1000, &at_us)) {
		if (!s->client.backoff)
			source_poll_at(s, (__s64)at_us * 1000);
		return;
	}
	result = tsct_client_reply(&s->client, p->config->keys, packet->bytes,
				   packet->len, packet->time,
				   packet_clock_estimate_ns(&p->clock,
							    packet->time.cycles));
	if (result == TSCT_CLIENT_OK) {
		s->rtt_ns = tsct_request_rtt_ns(s->rtt_ns, now_ns - s->sent_ns);
		send_further(p, s);
	}
	/*
	 * Exchanges are not fed to the cluster between the answers of a poll: feeding
	 * takes time and evicts caches. If the server shares the CPU, the code path of
	 * the next answer would be cold again.
	 */
	if (!tsct_client_waits(&s->client))
		feed_complete(p, s);
	if (result == TSCT_CLIENT_OK) {
		on_good_answer(p, s, now_ns);
	} else if (result == TSCT_CLIENT_KISS) {
		s->burst = 0;
		postpone_request(s, now_ns);
	} else if (result == TSCT_CLIENT_UNSYNCED) {
		/* The poll interval becomes short, as the server may be synchronized
		 * soon. */
		s->is_unsynced = true;
		s->lost = 0;
		s->poll = s->config.minpoll;
		postpone_request(s, now_ns);
	}
	log_answer(s, result, now_ns);
}

void source_dispatch(struct peers *p, struct peer_source *s)
{
	__s64 now_ns = tsct_monotonic_ns();
	int i, got;

	packet_clock_refresh(&p->clock);
	if (s->socket.nr_waiting)
		read_tx_times(p, s);
	got = net_receive(&s->socket, &p->clock, p->batch);
	for (i = 0; i < got; i++)
		receive(p, s, &p->batch[i], now_ns);
	/* A transmit time that no packet awaits any more makes the socket readable, too. */
	if (got <= 0)
		read_tx_times(p, s);
	source_due(p, s, now_ns);
}
