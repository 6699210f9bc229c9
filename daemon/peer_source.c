// SPDX-License-Identifier: MIT
/* Whom we ask for the time: when, and what becomes of the answers. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "log.h"
#include "now.h"
#include "peers_private.h"

#define NS_PER_MS	1000000LL

#define BURST		6		/* at the start, and after changes */
#define BURST_NS	(100 * NS_PER_MS)
#define BURST_PLAIN_NS	(2 * NS_PER_S)	/* NTP servers are strangers' */
#define GOOD_ENOUGH	8		/* answers until a longer poll is tried */
/*
 * A path that nobody used for a while is slow at first, one way more than the
 * other: so the first request of a poll is followed by another one at once, and
 * only that one counts; and where the next poll is far off, by a third, whose
 * answer says when the second's was sent.
 */
#define TRAIN		2
#define TRAIN_LONG	3
#define LONG_NS		(2 * NS_PER_S)
#define LOST_PORT	4		/* unanswered: from another port */
#define LATE_NS		(50 * NS_PER_MS)	/* in a session: it was lost */
#define SESSION_LOST	5		/* ... as many in a row, and it is over */
#define SWEEP_NS	1000000		/* between exchanges of our own session */
#define STAMPS		8		/* of the error queue, in one go */

static void tell_answer(struct source *s, enum tsct_client_result result,
			__s64 now_ns);

/* ---- when ---------------------------------------------------------------------- */

/* Within a sixteenth, at random: nobody knows when, and no two keep step. */
static __s64 poll_ns(const struct source *s, __u64 random)
{
	double ns = ldexp((double)NS_PER_S, s->poll + s->client.backoff);

	return (__s64)(ns * (1 + ((double)(random >> 40) / (1 << 24) - 0.5) / 8));
}

static void back_off(struct source *s)
{
	s->good = 0;
	if (s->poll < s->conf.maxpoll)
		s->poll++;
}

static void hurry(struct source *s, __s64 now_ns)
{
	if (s->client.backoff)
		return;			/* it asked to be left alone */
	s->poll = s->conf.minpoll;
	s->good = 0;
	s->burst = BURST;
	if (s->due_ns > now_ns)
		s->due_ns = now_ns;
}

void sources_hurry(struct peers *p)
{
	__s64 now_ns = tsct_now_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		hurry(&p->source[i], now_ns);
}

void sources_disrupt(struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		tsct_client_disrupt(&p->source[i].client);
		p->source[i].is_met = false;
		p->source[i].nr_held = 0;
	}
	sources_hurry(p);
}

/* Somebody here waits for what it will say. */
static bool waits(const struct peers *p, const struct source *s)
{
	return p->barrier.waited_ns && barrier_is_parent(p, s) &&
		tsct_now_ns() - p->barrier.waited_ns < NS_PER_S;
}

void sources_nudge(struct peers *p)
{
	__s64 soon_ns = tsct_now_ns() + BURST_NS;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (waits(p, &p->source[i]) && p->source[i].due_ns > soon_ns)
			p->source[i].due_ns = soon_ns;
	peers_arm(p);
}

static __s64 smaller(__s64 a, __s64 b)
{
	return a < b ? a : b;
}

/* After a request: when it is given up and the next one made */
static __s64 next_ns(const struct peers *p, const struct source *s,
		     __u64 random)
{
	__s64 poll = poll_ns(s, random);

	if (s->session || s->sweep)
		return LATE_NS;
	if (s->burst || waits(p, s))
		return smaller(poll, s->conf.plain ? BURST_PLAIN_NS : BURST_NS);
	return poll;
}

/* ---- what comes of it -------------------------------------------------------------- */

/*
 * A known asymmetry is taken out of our side: as if the way there had begun so
 * much later, and the way back ended so much later. Causality stays what it is.
 */
static void correct(const struct peers *p, const struct source *s,
		    struct tsct_exchange *x)
{
	__s64 half = netclock_ticks(&p->clock, s->conf.asymmetry_ns) / 2;

	x->t1 += (__u64)half;
	x->t4 += (__u64)half;
}

/* Who shares our counter need not be measured: his stamps are ours. */
static void identify(const struct peers *p, const struct source *s,
		     struct tsct_exchange *x)
{
	if (!p->conf->synced_host || !s->client.remote.shared)
		return;
	x->t1 = x->t2;
	x->t4 = x->t3;
	x->local_error = x->remote_error;
}

static void feed_one(struct peers *p, unsigned int nr,
		     const struct tsct_exchange *x)
{
	enum tsct_cluster_event event;

	event = tsct_cluster_feed(p->cluster, nr, x,
				  &p->source[nr].client.remote);
	if (event == TSCT_CLUSTER_EPOCH) {
		p->pressing = true;
		sources_hurry(p);
	}
}

/*
 * The first ones are held back until there are some: a line made of a single bad
 * one would have to be slewed to where it should be, for seconds.
 */
static void feed(struct peers *p, unsigned int nr, struct tsct_exchange *x)
{
	struct source *s = &p->source[nr];
	unsigned int i;

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

/* The first of several counts only where no better one came. */
static bool is_cold(const struct source *s, const struct tsct_exchange *x)
{
	return s->cold_to && (__s64)(x->t1 - s->cold_from) >= 0 &&
		(__s64)(x->t1 - s->cold_to) < 0;
}

static void flush(struct peers *p, unsigned int nr)
{
	struct tsct_exchange x;

	if (tsct_client_flush(&p->source[nr].client, &x))
		feed(p, nr, &x);
}

/* ---- sockets ------------------------------------------------------------------------- */

static int reopen(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];
	int err;

	net_close(&s->socket);
	err = net_open_client(&s->conf.address, &p->clock, &s->socket);
	if (!err)
		err = peers_watch(p, s->socket.fd, PEERS_SOURCE, nr);
	if (err)
		net_close(&s->socket);
	return err;
}

void source_open(struct peers *p, unsigned int nr,
		 const struct conf_source *conf)
{
	const struct tsct_client_options options = {
		.flags = (conf->plain ? TSCT_CLIENT_PLAIN : 0) |
			(conf->xleave ? TSCT_CLIENT_INTERLEAVED : 0),
		.key_id = conf->key,
		.node = p->node, .host = p->host,
	};
	struct source *s = &p->source[nr];

	memset(s, 0, sizeof(*s));
	s->conf = *conf;
	s->socket.fd = -1;
	tsct_client_init(&s->client, &options);
	s->poll = conf->minpoll;
	s->burst = BURST;
}

void source_close(struct peers *p, unsigned int nr)
{
	net_close(&p->source[nr].socket);
	tsct_cluster_forget(p->cluster, nr);
}

/* ---- asking --------------------------------------------------------------------------- */

static void read_stamps(struct peers *p, struct source *s)
{
	struct tsct_stamp stamp;
	__u32 cookie = 0;
	int i;

	for (i = 0; i < STAMPS; i++) {
		if (!net_sent(&s->socket, &p->clock, &cookie, &stamp))
			return;
		if (stamp.kernel && cookie == s->request)
			tsct_client_sent(&s->client, stamp);
	}
}

static void make_ext(const struct peers *p, const struct source *s,
		     struct tsct_ext *ret_ext)
{
	memset(ret_ext, 0, sizeof(*ret_ext));
	if (s->session) {
		ret_ext->flags |= TSCT_EXT_JOIN;
		ret_ext->session = s->session;
	}
	if (barrier_arrived(p, s)) {
		ret_ext->flags |= TSCT_EXT_ARRIVED;
		ret_ext->barrier = p->barrier.number;
	}
}

static void note_train(struct source *s, __u64 before)
{
	if (s->train == s->train_length) {
		s->cold_from = before;
		s->cold_to = 0;
	} else if (s->train + 1 == s->train_length) {
		s->cold_to = before;
	}
}

static int ask(struct peers *p, unsigned int nr, const __u64 random[2])
{
	struct source *s = &p->source[nr];
	struct tsct_stamp before = { 0 };
	__u8 bytes[TSCT_NTP_MAX];
	struct tsct_ext ext;
	size_t len;
	int err = 0;

	if (s->socket.fd < 0 || (s->lost && s->lost % LOST_PORT == 0))
		err = reopen(p, nr);
	if (err)
		return err;
	make_ext(p, s, &ext);
	len = tsct_client_request(&s->client, p->conf->keys, random,
				  s->conf.plain ? NULL : &ext, bytes);
	if (!len)
		return -ENOKEY;
	err = net_send(&s->socket, NULL, bytes, len, ++s->request, &p->clock,
		       &before.ticks);
	if (err)
		return err;
	tsct_client_sent(&s->client, before);
	read_stamps(p, s);
	note_train(s, before.ticks);
	return 0;
}

static void leave_session(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];

	flush(p, nr);
	s->session = 0;
	s->sweep = 0;
	s->due_ns = NEVER;		/* ask_next() says when */
	p->nr_sessions++;
	p->pressing = true;
}

static void begin_train(const struct peers *p, struct source *s)
{
	s->train_length = next_ns(p, s, 0) < LONG_NS ? TRAIN : TRAIN_LONG;
	s->train = s->train_length;
}

/* The request before was not answered. */
static void give_up(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];

	flush(p, nr);
	s->train = 0;
	s->lost++;
	if ((s->session || s->sweep) && s->lost >= SESSION_LOST)
		leave_session(p, nr);
	if (s->lost >= 8)
		back_off(s);
	if (s->lost == 8 || (s->lost == 3 && !s->client.counts[0]))
		tell_answer(s, TSCT_CLIENT_OK, now_ns);
}

void source_due(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	__u64 random[2];
	int err;

	if (now_ns < s->due_ns)
		return;
	/* Nothing could be told of stamps, and the daemon has other things to do. */
	if (!keeper_has_line(&p->keeper->est.state)) {
		s->due_ns = now_ns + BURST_NS;
		return;
	}
	if (s->client.waiting)
		give_up(p, nr, now_ns);
	if (s->sweep && now_ns > s->sweep_until_ns)
		leave_session(p, nr);
	if (!s->train && !s->session && !s->sweep && !s->conf.plain)
		begin_train(p, s);
	peers_random(random);
	err = ask(p, nr, random);
	if (err) {
		s->train = 0;
		s->lost++;
		back_off(s);
		if (s->lost == 3)
			log_warning("%s: cannot be asked: %s", s->conf.name,
				    strerror(-err));
	}
	if (s->burst && s->train == s->train_length)
		s->burst--;
	peers_random(random);
	s->due_ns = now_ns + next_ns(p, s, random[0]);
}

/* ---- sessions ---------------------------------------------------------------------------- */

void sources_sweep(struct peers *p)
{
	const struct tsct_round_options *o = &p->conf->round;
	__s64 now_ns = tsct_now_ns();
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct source *s = &p->source[i];

		/* NTP servers are strangers': a burst has to do. */
		if (s->conf.plain) {
			hurry(s, now_ns);
			continue;
		}
		if (s->client.backoff || s->session)
			continue;
		s->sweep = o->max_messages ? o->max_messages : 100;
		s->sweep_until_ns = now_ns + 1000LL *
			(o->max_duration_us ? o->max_duration_us : 1000000);
		s->lost = s->train = 0;
		s->due_ns = now_ns;
	}
}

bool sources_busy(const struct peers *p)
{
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (p->source[i].session || p->source[i].sweep ||
		    p->source[i].burst)
			return true;
	return false;
}

/* What the answer says of sessions, and so when the next request is. */
static void follow_session(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	const struct tsct_remote *r = &s->client.remote;

	if (s->session && (r->flags & TSCT_EXT_SESSION_OVER ||
			   r->session != s->session)) {
		leave_session(p, nr);
	} else if (r->flags & TSCT_EXT_SESSION_OPEN && r->session) {
		s->session = r->session;
		s->sweep = s->train = 0;
	}
	if (s->session)
		s->due_ns = now_ns + 1000LL * r->turn_us;
}

static void follow_sweep(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];

	if (!s->sweep)
		return;
	if (--s->sweep)
		s->due_ns = now_ns + SWEEP_NS;
	else
		leave_session(p, nr);
}

/* ---- answers ------------------------------------------------------------------------------ */

static void answered(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	__u64 random[2];

	s->lost = 0;
	if (++s->good >= GOOD_ENOUGH) {
		s->good = 0;
		if (s->poll < s->conf.maxpoll)
			s->poll++;
	}
	if (!s->conf.plain) {
		barrier_answered(p, s);
		follow_session(p, nr, now_ns);
	}
	follow_sweep(p, nr, now_ns);
	if (s->train && --s->train && !s->session && !s->sweep)
		s->due_ns = now_ns;
	if (s->due_ns == NEVER) {
		peers_random(random);
		s->due_ns = now_ns + poll_ns(s, random[0]);
	}
}

/* How much less often from now on, the client knows. */
static void kissed(struct source *s, __s64 now_ns)
{
	s->burst = s->sweep = s->train = 0;
	s->session = 0;
	s->good = 0;
	s->due_ns = now_ns + poll_ns(s, 0);
}

/* It will know the time in a moment, or some day. */
static void unsynced(struct source *s, __s64 now_ns)
{
	s->poll = s->conf.minpoll;
	s->good = 0;
	s->session = s->sweep = s->train = 0;
	s->due_ns = now_ns + poll_ns(s, 0);
}

/* "Ask me now" */
static bool take_hint(struct peers *p, struct source *s,
		      const struct net_packet *packet, __s64 now_ns)
{
	if (!tsct_client_hinted(&s->client, p->conf->keys, packet->bytes,
				packet->len, (__u64)now_ns / 1000))
		return false;
	if (!s->client.backoff)
		s->due_ns = now_ns;
	return true;
}

static void take_answer(struct peers *p, unsigned int nr,
			const struct net_packet *packet, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	enum tsct_client_result result;
	struct tsct_exchange x[2];
	unsigned int i, nr_x = 0;
	__u64 error_ns;
	__s64 near_ns;
	struct timespec ts;

	if (!netclock_real(&p->clock, packet->stamp.ticks, &near_ns,
			   &error_ns)) {
		tsct_gettime(CLOCK_REALTIME, &ts);
		near_ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	}
	result = tsct_client_reply(&s->client, p->conf->keys, packet->bytes,
				   packet->len, packet->stamp, near_ns, x,
				   &nr_x);
	for (i = 0; i < nr_x; i++)
		if (!is_cold(s, &x[i]))
			feed(p, nr, &x[i]);
	if (result == TSCT_CLIENT_OK)
		answered(p, nr, now_ns);
	else if (result == TSCT_CLIENT_KISS)
		kissed(s, now_ns);
	else if (result == TSCT_CLIENT_UNSYNCED)
		unsynced(s, now_ns);
	tell_answer(s, result, now_ns);
}

void source_dispatch(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];
	__s64 now_ns = tsct_now_ns();
	int i, got;

	netclock_round(&p->clock);
	read_stamps(p, s);
	got = net_receive(&s->socket, &p->clock, p->batch);
	for (i = 0; i < got; i++)
		if (!take_hint(p, s, &p->batch[i], now_ns))
			take_answer(p, nr, &p->batch[i], now_ns);
	source_due(p, nr, now_ns);
}

/* ---- for people ---------------------------------------------------------------------------- */

#define TELL_NS		(60 * NS_PER_S)

static void tell_reach(struct source *s)
{
	bool reachable = !s->lost;

	if (s->told_reach && s->is_reachable == reachable)
		return;
	s->told_reach = true;
	s->is_reachable = reachable;
	if (reachable)
		log_info("%s: answers", s->conf.name);
	else if (s->conf.key)
		log_warning("%s: does not answer; is it up, does it allow this "
			    "node, and has it the same key %u?", s->conf.name,
			    s->conf.key);
	else
		log_warning("%s: does not answer; is it up, and does it allow "
			    "this node?", s->conf.name);
}

/* What anybody may send, or a network does, is nothing to talk about. */
static bool is_noise(enum tsct_client_result result)
{
	switch (result) {
	case TSCT_CLIENT_MALFORMED:
	case TSCT_CLIENT_NOT_OURS:
	case TSCT_CLIENT_DUPLICATE:
	case TSCT_CLIENT_ZERO_ORIGIN:
	case TSCT_CLIENT_FOREIGN:
	case TSCT_CLIENT_REPLAY:
		return true;
	default:
		return false;
	}
}

/* Once, and now and then while it goes on */
static void tell_answer(struct source *s, enum tsct_client_result result,
			__s64 now_ns)
{
	if (result == TSCT_CLIENT_OK) {
		s->told = TSCT_CLIENT_OK;
		tell_reach(s);
		return;
	}
	if (is_noise(result))
		return;
	if (result == s->told && now_ns - s->told_ns < TELL_NS)
		return;
	s->told = result;
	s->told_ns = now_ns;
	if (result == TSCT_CLIENT_KISS)
		log_warning("%s: wants to be left alone (%s); asking it less",
			    s->conf.name, s->client.kiss);
	else if (s->conf.key)
		log_warning("%s, key %u: %s", s->conf.name, s->conf.key,
			    tsct_client_why(result));
	else
		log_warning("%s: %s", s->conf.name, tsct_client_why(result));
}

void sources_tell(struct peers *p)
{
	__u64 now = netclock_now(&p->clock);
	struct tsct_source_state state;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++) {
		struct source *s = &p->source[i];

		s->client.options.mult = p->keeper->est.state.rate_mult;
		tsct_cluster_source(p->cluster, i, now, &state);
		if (state.liar && !s->was_liar)
			log_warning("%s: not believed: %s", s->conf.name,
				    state.why);
		else if (!state.liar && s->was_liar)
			log_info("%s: believed again", s->conf.name);
		s->was_liar = state.liar;
	}
}
