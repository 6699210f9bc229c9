// SPDX-License-Identifier: MIT
/* Whom we ask for the time, and when. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "daemon/config/log.h"
#include "lib/client/gettime.h"
#include "peers_private.h"

#define NS_PER_MS	1000000LL

#define BURST		6		/* at the start, and after changes */
#define BURST_NS	(100 * NS_PER_MS)
#define BURST_PLAIN_NS	(2 * NS_PER_S)	/* NTP servers are strangers' */
/*
 * A path that nobody used for a while is slow at first, one way more than the
 * other: so the first request of a poll has another one right behind it, there and
 * back, and the quicker of the two counts; and where the next poll is far off, a
 * third, whose answer says when the second's was sent.
 */
#define TRAIN		2
#define TRAIN_LONG	3		/* no more than TSCT_CLIENT_OPEN */
#define LONG_NS		(2 * NS_PER_S)
#define LOST_PORT	4		/* unanswered: from another port */
#define LATE_NS		(50 * NS_PER_MS)	/* in a session: it was lost */
#define SESSION_LOST	5		/* ... as many in a row, and it is over */
#define STAMPS		8		/* of the error queue, in one go */

/* ---- when --------------------------------------------------------------- */

/* Within a sixteenth, at random: nobody knows when, and no two keep step. */
__s64 source_poll_ns(const struct source *s, __u64 random)
{
	double ns = ldexp((double)NS_PER_S, s->poll + s->client.backoff);

	return (__s64)(ns * (1 + ((double)(random >> 40) / (1 << 24) - 0.5) / 8));
}

void source_back_off(struct source *s)
{
	s->good = 0;
	if (s->poll < s->conf.maxpoll)
		s->poll++;
}

/* NTP servers are strangers': whoever has a reason, there is one burst a poll. */
void source_poll_now(struct source *s, __s64 now_ns)
{
	__s64 free_ns = s->hurried_ns + (__s64)ldexp((double)NS_PER_S,
						     s->conf.minpoll);
	__s64 due_ns = now_ns;

	if (s->client.backoff)
		return;			/* it asked to be left alone */
	s->poll = s->conf.minpoll;
	s->good = 0;
	if (s->conf.plain && s->hurried_ns && free_ns > now_ns) {
		due_ns = free_ns;
	} else {
		s->burst = BURST;
		s->is_unsynced = false;
		s->hurried_ns = now_ns;
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
		p->source[i].is_met = false;
		p->source[i].nr_held = 0;
		p->source[i].nr_ready = 0;
	}
	sources_poll_now(p);
}

void sources_poll_for_barrier(struct peers *p)
{
	__s64 soon_ns = tsct_monotonic_ns() + BURST_NS;
	unsigned int i;

	for (i = 0; i < p->nr_sources; i++)
		if (barrier_asks(p, &p->source[i]) &&
		    p->source[i].due_ns > soon_ns)
			p->source[i].due_ns = soon_ns;
}

static __s64 smaller(__s64 a, __s64 b)
{
	return a < b ? a : b;
}

/* After a request: when it is given up and the next one made */
static __s64 next_ns(const struct peers *p, const struct source *s,
		     __u64 random)
{
	__s64 poll = source_poll_ns(s, random);

	if (s->session || s->sweep)
		return LATE_NS;
	if (s->burst || barrier_asks(p, s))
		return smaller(poll, s->conf.plain ? BURST_PLAIN_NS : BURST_NS);
	return poll;
}

/* ---- sockets ------------------------------------------------------------ */

static int reopen(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];
	int err;

	net_close(&s->socket);
	err = net_open_client(&s->conf.address, &p->clock, &s->socket);
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

/* ---- asking ------------------------------------------------------------- */

void source_read_stamps(struct peers *p, struct source *s)
{
	struct tsct_packet_time stamp;
	__u32 number;
	int i;

	for (i = 0; i < STAMPS; i++) {
		if (!net_sent(&s->socket, &p->clock, &number, &stamp))
			return;
		if (stamp.kernel)
			tsct_client_sent(&s->client, number, stamp);
		if (!s->socket.nr_waiting)
			return;
	}
}

static void make_ext(const struct peers *p, struct source *s,
		     struct tsct_extension *ret_ext)
{
	struct tsct_client *client = &s->client;

	memset(ret_ext, 0, sizeof(*ret_ext));
	if (s->session) {
		ret_ext->flags |= TSCT_EXT_JOIN;
		ret_ext->session = s->session;
	}
	if (barrier_arrived(p, s)) {
		ret_ext->flags |= TSCT_EXT_ARRIVED;
		ret_ext->barrier = p->barrier.number;
	}
	client->asks_missing = barrier_asks(p, s);
	if (client->asks_missing)
		barrier_below(p, client->below, sizeof(client->below));
}

/* A request, the first of a poll or one that follows */
static int ask_one(struct peers *p, struct source *s, bool follows)
{
	struct tsct_client *client = &s->client;
	struct tsct_packet_time before = { 0 };
	__u8 bytes[TSCT_NTP_MAX];
	struct tsct_extension ext;
	__u64 random[2];
	size_t len;
	int err;

	peers_random(random);
	make_ext(p, s, &ext);
	len = (follows ? tsct_client_follow : tsct_client_request)(
		client, p->conf->keys, random, s->conf.plain ? NULL : &ext,
		bytes);
	if (!len)
		return -ENOKEY;
	err = net_send(&s->socket, NULL, bytes, len, (__u32)client->sent,
		       &p->clock, &before.ticks);
	if (err)
		return err;
	tsct_client_sent(client, (__u32)client->sent, before);
	source_read_stamps(p, s);
	return 0;
}

static unsigned int train_length(const struct peers *p, const struct source *s)
{
	if (s->session || s->sweep || s->conf.plain)
		return 1;
	return next_ns(p, s, 0) < LONG_NS ? TRAIN : TRAIN_LONG;
}

static int ask(struct peers *p, unsigned int nr)
{
	struct source *s = &p->source[nr];
	unsigned int length = train_length(p, s);
	int err = 0;

	if (s->socket.fd < 0 || (s->lost && s->lost % LOST_PORT == 0))
		err = reopen(p, nr);
	if (err)
		return err;
	err = ask_one(p, s, false);
	if (err) {
		/* Its own address may be gone: the next one has another. */
		net_close(&s->socket);
		return err;
	}
	/* What cannot be sent is lost, and the first one counts all the same. */
	while (--length && !err)
		err = ask_one(p, s, true);
	return 0;
}

/* Of the poll before, not all was answered. */
static void give_up(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];

	source_flush(p, nr);
	s->is_unsynced = false;
	s->lost++;
	if ((s->session || s->sweep) && s->lost >= SESSION_LOST)
		source_leave_session(p, nr);
	if (s->lost >= 8)
		source_back_off(s);
	if (s->lost >= 8 || (s->lost >= 3 && !s->client.counts[0]))
		source_log_answer(s, TSCT_CLIENT_OK, now_ns);
}

void source_due(struct peers *p, unsigned int nr, __s64 now_ns)
{
	struct source *s = &p->source[nr];
	__u64 random[2];
	int err;

	if (now_ns < s->due_ns)
		return;
	/* Nothing could be told of stamps, and the daemon has other things to do. */
	if (!timekeeper_has_params(timekeeper_state(p->keeper))) {
		s->due_ns = now_ns + BURST_NS;
		return;
	}
	if (tsct_client_waits(&s->client))
		give_up(p, nr, now_ns);
	if (s->sweep && now_ns > s->sweep_until_ns)
		source_leave_session(p, nr);
	err = ask(p, nr);
	if (err) {
		/* One that waits is counted when it is given up. */
		s->lost += !tsct_client_waits(&s->client);
		source_back_off(s);
		if (s->lost == 3)
			log_warning("%s: cannot be asked: %s", s->conf.name,
				    strerror(-err));
	}
	if (s->burst)
		s->burst--;
	peers_random(random);
	s->due_ns = now_ns + next_ns(p, s, random[0]);
}
