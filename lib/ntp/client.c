// SPDX-License-Identifier: MIT
/*
 * Client state: builds requests, and makes exchanges from the answers. An exchange is
 * complete when the next answer has the kernel's transmit time of the exchange's
 * answer. client_check.c checks answers.
 */
#include "client_private.h"

/* Poll interval in the header of requests: 2^6 s, the real one to a node if that is longer */
#define POLL_FIELD	6
#define NO_PRECISION	32	/* precision in the header of requests: 2^32 s,
				 * which reveals nothing of the local clock */
#define KISS_ANSWERS	16	/* answers after which the backoff decreases by 1 */
/* Polls in a row that find the server's counter set back, until that is accepted */
#define SET_BACK	3

void tsct_client_init(struct tsct_client *client,
		      const struct tsct_client_options *options)
{
	*client = (struct tsct_client) { .options = *options };
}

static bool is_ntp_only(const struct tsct_client *client)
{
	return client->options.flags & TSCT_CLIENT_NTP_ONLY;
}

static bool interleaves(const struct tsct_client *client)
{
	return is_ntp_only(client) &&
		client->options.flags & TSCT_CLIENT_INTERLEAVED;
}

/* ---- outstanding requests ------------------------------------------------ */

/* Moves the oldest outstanding requests to client->past until @nr are outstanding.
 * @answered: the newest of the moved requests was answered. Answers to requests in
 * client->past are rejected from now on. */
static void settle(struct tsct_client *client, unsigned int nr, bool answered)
{
	while (client->nr_outstanding > nr) {
		const struct tsct_client_outstanding *oldest =
			&client->outstanding[--client->nr_outstanding];

		memmove(client->past + 1, client->past,
			sizeof(client->past) - sizeof(client->past[0]));
		client->past[0].xmit = oldest->xmit;
		client->past[0].rcv = oldest->rcv;
		client->past_answered = answered &&
			client->nr_outstanding == nr;
	}
}

/* ---- the queue of exchanges ---------------------------------------------- */

unsigned int tsct_client_complete(const struct tsct_client *client)
{
	unsigned int nr = client->nr_queued;

	while (nr && client->queue[nr - 1].state != TSCT_QUEUED_COMPLETE)
		nr--;
	return nr;
}

static void drop_incomplete(struct tsct_client *client)
{
	client->nr_queued = tsct_client_complete(client);
}

static void drop_oldest(struct tsct_client *client)
{
	memmove(client->queue, client->queue + 1,
		--client->nr_queued * sizeof(client->queue[0]));
}

bool tsct_client_next(struct tsct_client *client, struct tsct_exchange *ret_x)
{
	if (!tsct_client_complete(client))
		return false;
	*ret_x = client->queue[0].x;
	drop_oldest(client);
	return true;
}

void tsct_client_flush(struct tsct_client *client)
{
	struct tsct_queued_exchange *pending = tsct_client_pending(client);

	if (pending && pending->has_t3)
		pending->state = TSCT_QUEUED_COMPLETE;
	drop_incomplete(client);
}

void tsct_client_disrupt(struct tsct_client *client)
{
	settle(client, 0, false);
	client->nr_queued = 0;
}

/* ---- making requests ---------------------------------------------------- */

static size_t build(const struct tsct_client *client,
		    const struct tsct_keys *keys, struct tsct_ntp_packet *packet,
		    const struct tsct_extension *ext, __u64 nonce, void *bytes)
{
	size_t len;

	if (!is_ntp_only(client)) {
		packet->has_ext = true;
		packet->ext = (struct tsct_extension) {
			.node = client->options.node,
			.host = client->options.host,
			.nonce = nonce,
			.tx = client->last_tx,
		};
		if (ext) {
			packet->ext.flags = ext->flags &
				(TSCT_EXT_JOIN | TSCT_EXT_ARRIVED |
				 TSCT_EXT_NO_CALLER | TSCT_EXT_ELSEWHERE);
			packet->ext.session = ext->session;
			packet->ext.barrier = ext->barrier;
		}
		packet->has_missing = client->requests_missing;
		memcpy(packet->missing, client->below, sizeof(packet->missing));
	}
	len = tsct_ntp_build(packet, bytes);
	if (client->options.key_id)
		len = tsct_mac_append(keys, client->options.key_id, bytes, len);
	return len;
}

static size_t request(struct tsct_client *client, const struct tsct_keys *keys,
		      const __u64 random[2], const struct tsct_extension *ext,
		      bool follows, void *bytes)
{
	const struct tsct_queued_exchange *pending = tsct_client_pending(client);
	struct tsct_ntp_packet packet = {
		.version = 4,
		.mode = TSCT_NTP_MODE_CLIENT,
		.poll = POLL_FIELD,
		.precision = NO_PRECISION,
	};
	/* The random numbers xmit and nonce are made nonzero, as 0 means "none", and
	 * different, so that answers in interleaved mode differ from answers in basic
	 * mode (RFC 9769). */
	struct tsct_client_outstanding one = {
		.joined = ext && ext->flags & TSCT_EXT_JOIN ? ext->session : 0,
		.session = client->session,
		.follows = follows,
		.xmit = random[0] ? random[0] : 1,
		.nonce = random[1] ? random[1] : 2,
	};
	size_t len;

	if (!is_ntp_only(client) && client->poll > POLL_FIELD)
		packet.poll = (__s8)client->poll;
	if (one.xmit == one.nonce)
		one.nonce ^= 4;
	if (interleaves(client)) {
		one.rcv = one.nonce;
		one.org = pending ? pending->nonce : 0;
	}
	packet.transmit = one.xmit;
	packet.receive = one.rcv;
	packet.origin = one.org;
	len = build(client, keys, &packet, ext, one.nonce, bytes);
	if (!len)
		return 0;
	if (!follows) {
		settle(client, 0, false);
		client->reach <<= 1;
	}
	one.number = (__u32)++client->sent;
	settle(client, TSCT_CLIENT_REQUESTS - 1, false);
	memmove(client->outstanding + 1, client->outstanding,
		client->nr_outstanding * sizeof(client->outstanding[0]));
	client->outstanding[0] = one;
	client->nr_outstanding++;
	return len;
}

size_t tsct_client_request(struct tsct_client *client,
			   const struct tsct_keys *keys, const __u64 random[2],
			   const struct tsct_extension *ext, void *bytes)
{
	return request(client, keys, random, ext, false, bytes);
}

/* To an NTP server, a new request replaces the outstanding request: RFC 9769 allows one
 * outstanding request, and most servers keep the state of one. */
size_t tsct_client_follow(struct tsct_client *client,
			  const struct tsct_keys *keys, const __u64 random[2],
			  const struct tsct_extension *ext, void *bytes)
{
	return request(client, keys, random, ext, !is_ntp_only(client), bytes);
}

void tsct_client_sent(struct tsct_client *client, __u32 number,
		      struct tsct_packet_time t1)
{
	struct tsct_queued_exchange *pending = tsct_client_pending(client);
	struct tsct_exchange x;
	unsigned int i;

	for (i = 0; i < client->nr_outstanding; i++) {
		struct tsct_client_outstanding *one = &client->outstanding[i];

		if (one->number != number)
			continue;
		/* The kernel's transmit time is accepted once, and only if it is not
		 * before the program's time, which was taken before sending. */
		if (t1.kernel && one->has_t1 &&
		    (one->t1.kernel || tsct_after(one->t1.cycles, t1.cycles) <
		     -((__s64)one->t1.error + t1.error)))
			return;
		one->t1 = t1;
		one->has_t1 = true;
		return;
	}
	/* The kernel's transmit time of a request may become known after the answer. */
	if (!pending || pending->number != number || !t1.kernel)
		return;
	x = pending->x;
	if (tsct_after(x.t1, t1.cycles) < -((__s64)x.local_error + t1.error))
		return;
	x.t1 = t1.cycles;
	x.local_error = tsct_worse(x.local_error, t1.error);
	x.flags |= TSCT_EXCHANGE_T1_KERNEL;
	if (!tsct_client_possible(client, &x, pending->mult))
		pending->x = x;
}

/* ---- processing answers ------------------------------------------------- */

/* Drops the queue of exchanges if they are with another server or timeline than
 * @remote. */
static void set_remote(struct tsct_client *client,
		       const struct tsct_remote *remote)
{
	const struct tsct_remote *old = &client->remote;

	if (!tsct_same_counter(old, remote) ||
	    old->has_params != remote->has_params)
		client->nr_queued = 0;
	client->remote = *remote;
}

/* Completes or drops the previous exchange, which was waiting for this answer. */
static void finish_pending(struct tsct_client *client,
			   const struct tsct_client_answer *a)
{
	struct tsct_queued_exchange *pending = tsct_client_pending(client);

	if (!a->has_done) {
		drop_incomplete(client);
		return;
	}
	pending->x = a->done;
	pending->state = TSCT_QUEUED_COMPLETE;
}

static void accept_answer(struct tsct_client *client,
			  const struct tsct_client_answer *a)
{
	const struct tsct_client_outstanding *to = &client->outstanding[a->nr];
	const struct tsct_queued_exchange entry = {
		.state = is_ntp_only(client) && !interleaves(client) ?
			TSCT_QUEUED_COMPLETE : TSCT_QUEUED_AWAITS_TX,
		.x = a->x,
		.has_t3 = a->has_t3,
		.number = to->number,
		.nonce = is_ntp_only(client) ? a->packet.receive : to->nonce,
		.mult = a->mult,
	};

	finish_pending(client, a);
	set_remote(client, &a->remote);
	if (client->nr_queued == TSCT_CLIENT_QUEUE)
		drop_oldest(client);
	client->queue[client->nr_queued++] = entry;
	memcpy(client->missing, a->packet.missing, sizeof(client->missing));
	/* Keeps the newest known value of the server's counter. */
	client->known = true;
	client->last = tsct_after(a->x.t2, a->x.t3) > 0 ? a->x.t3 : a->x.t2;
	client->last_error = a->x.remote_error;
	client->last_sent = (__u32)client->sent;
	client->backwards = 0;
	client->last_tx = a->packet.ext.tx;
	client->reach |= 1;
	if (client->backoff && ++client->since_kiss >= KISS_ANSWERS) {
		client->since_kiss = 0;
		client->backoff--;
	}
	settle(client, a->nr, true);
}

/* Handles a kiss-o'-death: RATE doubles the poll interval each time; DENY and RSTR make
 * it very long. Ends the wait for all outstanding requests, as the answers to later
 * requests would repeat the kiss-o'-death. */
static void accept_kiss(struct tsct_client *client, __u32 code)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		client->kiss[i] = (char)(code >> (24 - 8 * i));
	if (client->kiss[0] != 'R' || client->kiss[1] != 'A')
		client->backoff = TSCT_BACKOFF_DENIED;
	else if (client->backoff < TSCT_BACKOFF_MAX)
		client->backoff++;
	client->since_kiss = 0;
	settle(client, 0, true);
}

/* Updates the client's state from the answer of a server that is not synchronized. Does
 * not use the times in the answer. */
static void accept_unsynced(struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	struct tsct_remote remote = a->remote;

	remote.has_params = false;
	set_remote(client, &remote);
	memcpy(client->missing, a->packet.missing, sizeof(client->missing));
	client->last_tx = a->packet.ext.tx;
	client->known = false;
	drop_incomplete(client);
	settle(client, a->nr, true);
}

/* Handles a server's counter that is behind its last value. If several polls in a row
 * find that, the server's clock was set back, and earlier exchanges are invalid; a
 * replayed packet is seen only once. */
static void accept_set_back(struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	struct tsct_remote remote = client->remote;

	if ((__s32)(client->outstanding[a->nr].number -
		    client->backwards_sent) <= 0)
		return;
	client->backwards_sent = (__u32)client->sent;
	if (++client->backwards < SET_BACK)
		return;
	client->known = false;
	drop_incomplete(client);
	remote.epoch += is_ntp_only(client);
	set_remote(client, &remote);
}

enum tsct_client_result
tsct_client_reply(struct tsct_client *client, const struct tsct_keys *keys,
		  const void *bytes, size_t len, struct tsct_packet_time t4,
		  __s64 near_ns)
{
	struct tsct_client_answer a = {
		.bytes = bytes, .len = len, .t4 = t4, .near_ns = near_ns,
	};
	enum tsct_client_result result = tsct_client_check_answer(client, keys,
								  &a);

	client->counts[result]++;
	if (result == TSCT_CLIENT_OK)
		accept_answer(client, &a);
	else if (result == TSCT_CLIENT_KISS)
		accept_kiss(client, a.packet.refid);
	else if (result == TSCT_CLIENT_UNSYNCED)
		accept_unsynced(client, &a);
	else if (result == TSCT_CLIENT_BACKWARDS)
		accept_set_back(client, &a);
	return result;
}

/* ---- poll requests ------------------------------------------------------- */

bool tsct_client_poll_requested(struct tsct_client *client,
			const struct tsct_keys *keys, const void *bytes,
			size_t len, __u64 now_us, __u64 *ret_at_us)
{
	__s64 since_us = (__s64)(now_us - client->poll_request_us);
	struct tsct_ntp_packet packet;

	if (is_ntp_only(client) || tsct_ntp_parse(bytes, len, &packet, NULL) ||
	    packet.mode != TSCT_NTP_MODE_BROADCAST || !packet.has_ext ||
	    packet.ext.flags != TSCT_EXT_POLL_REQUEST)
		return false;
	if (client->known && packet.ext.node != client->remote.node)
		return false;
	if (tsct_client_mac(client, keys, bytes, len, &packet))
		return false;
	/* A poll request less than TSCT_POLL_REQUEST_US after the time of the last
	 * requested poll causes a poll at that time plus TSCT_POLL_REQUEST_US: without
	 * a poll, the client would miss the whole session. */
	if (!client->poll_requested || since_us >= TSCT_POLL_REQUEST_US)
		client->poll_request_us = now_us;
	else if (since_us >= 0)
		client->poll_request_us += TSCT_POLL_REQUEST_US;
	client->poll_requested = true;
	*ret_at_us = client->poll_request_us;
	return true;
}

const char *tsct_client_result_text(enum tsct_client_result result)
{
	static const char *const text[TSCT_CLIENT_NR] = {
	[TSCT_CLIENT_OK] = "accepted",
	[TSCT_CLIENT_MALFORMED] = "not an NTP packet",
	[TSCT_CLIENT_NOT_OURS] =
		"not an answer: another mode or version of NTP",
	[TSCT_CLIENT_DUPLICATE] = "duplicate: the request is answered already",
	[TSCT_CLIENT_NO_MAC] =
		"no MAC, though a key is configured for this server; add the key "
		"to the server's key file",
	[TSCT_CLIENT_BAD_MAC] =
		"wrong MAC; compare number, type and text of the key in the key "
		"files of both sides",
	[TSCT_CLIENT_KISS] =
		"kiss-o'-death: the server demands a longer poll interval, or no "
		"requests at all",
	[TSCT_CLIENT_UNSYNCED] = "the server is not synchronized (yet)",
	[TSCT_CLIENT_IMPOSSIBLE] =
		"inconsistent answer: the server sent it before it received the request, "
		"reports an impossible counter rate, or is 0 hops from another node",
	[TSCT_CLIENT_SELF] =
		"the answer is from this node: the address is one of its own",
	[TSCT_CLIENT_ZERO_ORIGIN] =
		"zero origin timestamp: the answer names no request",
	[TSCT_CLIENT_FOREIGN] =
		"answers no request of this node: forged, or very late",
	[TSCT_CLIENT_REPLAY] =
		"answers an earlier request: late, or replayed",
	[TSCT_CLIENT_EXTRA_MAC] =
		"unexpected MAC: no key is configured for this server; configure "
		"the key, or none on both sides",
	[TSCT_CLIENT_CRYPTO_NAK] =
		"crypto-NAK: the server rejected this node's MAC; it needs the "
		"same key under the same number",
	[TSCT_CLIENT_NO_FIELD] =
		"no tsctrace extension field: an NTP server, or another version; "
		"for an NTP server write \"ntp ADDRESS\" in place of "
		"\"master ADDRESS\"",
	[TSCT_CLIENT_TOO_SOON] =
		"the server's time between receipt and answer exceeds the whole "
		"round trip",
	[TSCT_CLIENT_BACKWARDS] =
		"the server's counter is behind its last answer: its clock was "
		"set back, or an old answer was altered",
	[TSCT_CLIENT_LOOP] =
		"synchronization loop: the server's time comes from this node",
	};

	return (unsigned int)result < TSCT_CLIENT_NR ? text[result] : "unknown";
}
