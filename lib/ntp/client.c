// SPDX-License-Identifier: MIT
/*
 * The asking side: what is remembered between a request and its answer, and
 * between that and the next, which tells when the kernel sent it. client_check.c
 * says what is believed; only then anything here changes.
 */
#include "client_private.h"

#define POLL_SAID	6	/* the header's: servers take it for a hint */
#define NO_PRECISION	32	/* nor anything else that tells our time */
#define CALM		16	/* answers until we ask twice as often again */
#define SET_BACK	3	/* times in a row, and we believe it */

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options)
{
	*client = (struct tsct_client) { .options = *options };
}

/* The oldest that waits does so no longer. */
static void settle(struct tsct_client *client, bool answered)
{
	const struct tsct_client_open *was = &client->open[--client->nr_open];

	memmove(client->past + 1, client->past,
		sizeof(client->past) - sizeof(client->past[0]));
	client->past[0].xmit = was->xmit;
	client->past[0].rcv = was->rcv;
	client->past_answered = answered;
}

static void give_up(struct tsct_client *client)
{
	while (client->nr_open)
		settle(client, false);
}

/* Those before it have no answer any more that would be believed. */
static void settle_to(struct tsct_client *client, unsigned int nr)
{
	while (client->nr_open > nr)
		settle(client, client->nr_open == nr + 1);
}

/* What an exchange waits for will not come. */
static void drop_pending(struct tsct_client *client)
{
	client->has_pending = false;
	client->has_first = false;
}

void tsct_client_disrupt(struct tsct_client *client)
{
	give_up(client);
	drop_pending(client);
}

/* ---- requests ------------------------------------------------------------ */

static bool plain(const struct tsct_client *client)
{
	return client->options.flags & TSCT_CLIENT_PLAIN;
}

static bool interleaves(const struct tsct_client *client)
{
	return plain(client) &&
		client->options.flags & TSCT_CLIENT_INTERLEAVED;
}

/* 0 means none; and the two must differ, or RFC 9769 could not tell them apart. */
static void draw(const __u64 random[2], __u64 *xmit, __u64 *nonce)
{
	*xmit = random[0] ? random[0] : 1;
	*nonce = random[1] ? random[1] : 2;
	if (*xmit == *nonce)
		*nonce ^= 4;
}

static size_t build(const struct tsct_client *client,
		    const struct tsct_keys *keys, struct tsct_ntp_packet *packet,
		    const struct tsct_extension *ext, __u64 nonce, void *bytes)
{
	size_t len;

	if (!plain(client)) {
		packet->has_ext = true;
		packet->ext = (struct tsct_extension) {
			.node = client->options.node,
			.host = client->options.host,
			.nonce = nonce,
			.tx = client->heard,
		};
		if (ext) {
			packet->ext.flags = ext->flags &
				(TSCT_EXT_JOIN | TSCT_EXT_ARRIVED);
			packet->ext.session = ext->session;
			packet->ext.barrier = ext->barrier;
		}
		packet->has_missing = client->asks_missing;
		memcpy(packet->missing, client->below, sizeof(packet->missing));
	}
	len = tsct_ntp_build(packet, bytes);
	if (client->options.key_id)
		len = tsct_mac_append(keys, client->options.key_id, bytes, len);
	return len;
}

static void open_one(struct tsct_client *client,
		     const struct tsct_client_open *one)
{
	if (client->nr_open == TSCT_CLIENT_OPEN)
		settle(client, false);
	memmove(client->open + 1, client->open,
		client->nr_open * sizeof(client->open[0]));
	client->open[0] = *one;
	client->nr_open++;
}

static size_t request(struct tsct_client *client, const struct tsct_keys *keys,
		      const __u64 random[2], const struct tsct_extension *ext,
		      bool follows, void *bytes)
{
	struct tsct_ntp_packet packet = {
		.version = 4,
		.mode = TSCT_NTP_MODE_CLIENT,
		.poll = POLL_SAID,
		.precision = NO_PRECISION,
	};
	struct tsct_client_open one = {
		.joined = ext && ext->flags & TSCT_EXT_JOIN ? ext->session : 0,
		.follows = follows,
	};
	size_t len;

	draw(random, &one.xmit, &one.nonce);
	if (interleaves(client)) {
		one.rcv = one.nonce;
		one.org = client->has_pending ? client->pending_nonce : 0;
	}
	packet.transmit = one.xmit;
	packet.receive = one.rcv;
	packet.origin = one.org;
	len = build(client, keys, &packet, ext, one.nonce, bytes);
	if (!len)
		return 0;
	if (!follows) {
		give_up(client);
		client->reach <<= 1;
	}
	one.number = (__u32)++client->sent;
	open_one(client, &one);
	return len;
}

size_t tsct_client_request(struct tsct_client *client,
			   const struct tsct_keys *keys, const __u64 random[2],
			   const struct tsct_extension *ext, void *bytes)
{
	return request(client, keys, random, ext, false, bytes);
}

/* RFC 9769 has one at a time, and so do most servers that know only RFC 5905. */
size_t tsct_client_follow(struct tsct_client *client,
			  const struct tsct_keys *keys, const __u64 random[2],
			  const struct tsct_extension *ext, void *bytes)
{
	return request(client, keys, random, ext, !plain(client), bytes);
}

/* The kernel's stamp came after the answer did. */
static void sent_late(struct tsct_client *client, struct tsct_packet_time t1)
{
	struct tsct_exchange x = client->pending;
	__s64 error = (__s64)x.local_error + t1.error;

	if (tsct_after(x.t1, t1.ticks) < -error)
		return;
	x.t1 = t1.ticks;
	x.local_error = tsct_worse(x.local_error, t1.error);
	x.flags |= TSCT_EXCHANGE_T1_KERNEL;
	if (!tsct_client_possible(client, &x, client->pending_mult))
		client->pending = x;
}

/* Not before we gave it to the kernel, and once */
static void sent_in_time(struct tsct_client_open *one, struct tsct_packet_time t1)
{
	__s64 error = (__s64)one->t1.error + t1.error;

	if (t1.kernel && one->has_t1 &&
	    (one->t1.kernel || tsct_after(one->t1.ticks, t1.ticks) < -error))
		return;
	one->t1 = t1;
	one->has_t1 = true;
}

void tsct_client_sent(struct tsct_client *client, __u32 number,
		      struct tsct_packet_time t1)
{
	unsigned int i;

	for (i = 0; i < client->nr_open; i++)
		if (client->open[i].number == number) {
			sent_in_time(&client->open[i], t1);
			return;
		}
	if (client->has_pending && client->pending_number == number && t1.kernel)
		sent_late(client, t1);
}

/* ---- answers ------------------------------------------------------------- */

static void keep(struct tsct_client *client, const struct tsct_client_answer *a)
{
	const struct tsct_client_open *to = &client->open[a->nr];

	client->has_pending = true;
	client->pending_number = to->number;
	client->pending_follows = to->follows;
	client->pending_t3 = a->has_t3;
	client->pending = a->x;
	client->pending_mult = a->mult;
	client->pending_nonce = plain(client) ? a->packet.receive : to->nonce;
}

/* Of two right behind each other; the second where nothing can be told */
static const struct tsct_exchange *quicker(const struct tsct_client *client,
					   const struct tsct_exchange *first,
					   const struct tsct_exchange *second)
{
	double rate = (double)client->options.mult /
		(double)client->pending_mult;

	return client->options.mult && tsct_exchange_rtt(first, rate) <
		tsct_exchange_rtt(second, rate) ? first : second;
}

/* The exchange that was pending is complete: is it given away? */
static bool give(struct tsct_client *client, const struct tsct_client_answer *a,
		 struct tsct_exchange *ret_x)
{
	const struct tsct_client_open *to = &client->open[a->nr];
	bool is_first = !client->pending_follows && to->follows &&
		to->number - client->pending_number == 1;

	if (is_first)
		client->first = a->done;
	else
		*ret_x = client->has_first ?
			*quicker(client, &client->first, &a->done) : a->done;
	client->has_first = is_first;
	return !is_first;
}

/* Its counter has been at t3, or at t2 where that is not known. */
static void remember(struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	client->remote = a->remote;
	memcpy(client->missing, a->packet.missing, sizeof(client->missing));
	client->known = true;
	client->last = tsct_after(a->x.t2, a->x.t3) > 0 ? a->x.t3 : a->x.t2;
	client->last_error = a->x.remote_error;
	client->last_sent = (__u32)client->sent;
	client->backwards = 0;
}

static void relax(struct tsct_client *client)
{
	if (!client->backoff || ++client->calm < CALM)
		return;
	client->calm = 0;
	client->backoff--;
}

static unsigned int take(struct tsct_client *client,
			 const struct tsct_client_answer *a,
			 struct tsct_exchange ret_x[2])
{
	unsigned int nr = 0;

	if (a->has_done)
		nr += give(client, a, ret_x);
	else
		client->has_first = false;
	remember(client, a);
	if (plain(client) && !interleaves(client))
		ret_x[nr++] = a->x;
	else
		keep(client, a);
	client->heard = a->packet.ext.tx;
	client->reach |= 1;
	relax(client);
	settle_to(client, a->nr);
	return nr;
}

/* RATE: half as often, at each. DENY, RSTR: hardly any more. What was sent behind the
 * request that it is to would tell the same once more. */
static void kissed(struct tsct_client *client, __u32 code)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		client->kiss[i] = (char)(code >> (24 - 8 * i));
	if (client->kiss[0] != 'R' || client->kiss[1] != 'A')
		client->backoff = TSCT_BACKOFF_DENIED;
	else if (client->backoff < TSCT_BACKOFF_MAX)
		client->backoff++;
	client->calm = 0;
	settle_to(client, 0);
}

/* Who it is, and what it wants of us, holds without the time. */
static void unsynced(struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	client->remote = a->remote;
	memcpy(client->missing, a->packet.missing, sizeof(client->missing));
	client->remote.has_line = false;
	client->heard = a->packet.ext.tx;
	client->known = false;
	drop_pending(client);
	settle_to(client, a->nr);
}

/* A clock that was set back says so at each poll. Those before are of another. */
static void set_back(struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	if ((__s32)(client->open[a->nr].number - client->backwards_sent) <= 0)
		return;
	client->backwards_sent = (__u32)client->sent;
	if (++client->backwards < SET_BACK)
		return;
	client->known = false;
	drop_pending(client);
	if (plain(client))
		client->remote.epoch++;
}

enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns, struct tsct_exchange ret_x[2],
		  unsigned int *ret_nr)
{
	struct tsct_client_answer a = {
		.bytes = bytes, .len = len, .t4 = t4, .near_ns = near_ns,
	};
	enum tsct_client_result result = tsct_client_check_answer(client, keys, &a);

	*ret_nr = 0;
	client->counts[result]++;
	if (result == TSCT_CLIENT_OK)
		*ret_nr = take(client, &a, ret_x);
	else if (result == TSCT_CLIENT_KISS)
		kissed(client, a.packet.refid);
	else if (result == TSCT_CLIENT_UNSYNCED)
		unsynced(client, &a);
	else if (result == TSCT_CLIENT_BACKWARDS)
		set_back(client, &a);
	return result;
}

bool tsct_client_flush(struct tsct_client *client, struct tsct_exchange *ret_x)
{
	bool complete = client->has_pending && client->pending_t3;

	if (complete)
		*ret_x = client->has_first ?
			*quicker(client, &client->first, &client->pending) :
			client->pending;
	drop_pending(client);
	return complete;
}

/* ---- hints --------------------------------------------------------------- */

bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us)
{
	__s64 since_us = (__s64)(now_us - client->hint_us);
	struct tsct_ntp_packet packet;

	if (plain(client) || tsct_ntp_parse(bytes, len, &packet, NULL) ||
	    packet.mode != TSCT_NTP_MODE_BROADCAST || !packet.has_ext ||
	    packet.ext.flags != TSCT_EXT_HINT)
		return false;
	if (client->known && packet.ext.node != client->remote.node)
		return false;
	if (tsct_client_mac(client, keys, bytes, len, &packet))
		return false;
	/* One that is dropped would leave us out of a whole session. */
	if (!client->hinted || since_us >= TSCT_HINT_US)
		client->hint_us = now_us;
	else if (since_us >= 0)
		client->hint_us += TSCT_HINT_US;
	client->hinted = true;
	*ret_at_us = client->hint_us;
	return true;
}
