// SPDX-License-Identifier: MIT
/*
 * Client state: builds requests, checks answers, and makes exchanges from them. An exchange
 * is complete when the next answer has the kernel's transmit time of the exchange's answer.
 */
#include "client.h"
#include "lib/clockpage/clock_params.h"

/* Poll interval in the header of requests, 2^n s. Requests to a node have the
 * real poll interval if that is longer. */
#define POLL_FIELD	6
#define NO_PRECISION	32	/* precision in the header of requests: 2^32 s,
				 * which reveals nothing of the local clock */
#define KISS_ANSWERS	16	/* number of answers until the backoff decreases by 1 */
/* Number of polls in a row that must find the server's counter set back before the client
 * accepts the lower value */
#define SET_BACK	3

#define RATE		0x52415445	/* kiss code "RATE" of RFC 5905 */
#define DENY		0x44454e59
#define RSTR		0x52535452

/* Limits of the mult in an answer, which is the length of a cycle of the server's counter:
 * 1/64 ns (64 GHz) and 100 ns (10 MHz) */
#define MULT_MIN	(TSCT_NS_MULT / 64)
#define MULT_MAX	(TSCT_NS_MULT * 100)
#define DISTANCE_MAX_NS	(16 * NS_PER_S)		/* largest root distance, RFC 5905 */
/* Growth of the error bound of an NTP server's time: 15 ppm, in 2^-32 ps per ns */
#define GROWTH_15_PPM	64424510ULL
/* Largest sum of the relative errors of the two rates, of the local and of the server's
 * counter: (t3 - t2), converted to ns by the server's rate, may exceed (t4 - t1),
 * converted to ns by the local rate, by this fraction of (t4 - t1). */
#define RATE_DIFFERENCE	(1.0 / 1024)

/* An answer, and the changes of the client's state that follow from the answer */
struct client_answer {
	const void *bytes;
	size_t len;
	struct tsct_packet_time t4;
	__s64 near_ns;

	struct tsct_ntp_packet packet;
	unsigned int nr;	/* index of the request in client->outstanding */
	bool interleaved;	/* true: interleaved mode (RFC 9769): the answer has the
				 * transmit time (t3) of the previous answer */
	struct tsct_remote remote;
	__u64 mult;		/* rate of the server's counter, 2^-56 ns per unit of
				 * that counter */
	struct tsct_exchange x;
	bool has_t3;
	bool has_done;		/* `done` is valid */
	struct tsct_exchange done;	/* the previous exchange, with its final t3 */
};

/* Returns the exchange that awaits the next answer, always the last in the
 * queue, or NULL. */
static struct tsct_queued_exchange *
client_pending(const struct tsct_client *client)
{
	const struct tsct_queued_exchange *last =
		client->queue + client->nr_queued - 1;

	return client->nr_queued && last->state == TSCT_QUEUED_AWAITS_TX ?
		(struct tsct_queued_exchange *)last : NULL;
}

/* Returns true if two remote states have the same node and timeline, so the same counter. */
static bool same_counter(const struct tsct_remote *a,
				     const struct tsct_remote *b)
{
	return a->node == b->node && a->host == b->host &&
		a->master == b->master && a->epoch == b->epoch;
}

/* Returns b - a for two values of a counter that wraps. */
static __s64 counts_after(__u64 a, __u64 b)
{
	return (__s64)(b - a);
}

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

/* ---- checks: the request of an answer ------------------------------------ */

/* Finds the request that an answer is for. The answer is in interleaved mode if its origin
 * timestamp is `rcv` of a request that allowed that mode; in basic mode, it is `xmit`. Both are
 * random, so the modes cannot be confused. */
static enum tsct_client_result find_request(const struct tsct_client *client,
					    struct client_answer *a)
{
	tsct_ntp_timestamp origin = a->packet.origin;
	unsigned int i;

	if (!origin)
		return TSCT_CLIENT_ZERO_ORIGIN;
	for (a->nr = 0; a->nr < client->nr_outstanding; a->nr++) {
		const struct tsct_client_outstanding *one =
			&client->outstanding[a->nr];

		a->interleaved = one->org && origin == one->rcv;
		if (a->interleaved || origin == one->xmit)
			return TSCT_CLIENT_OK;
	}
	for (i = 0; i < TSCT_CLIENT_PAST; i++)
		if (origin == client->past[i].xmit ||
		    origin == client->past[i].rcv)
			return i || !client->past_answered ?
				TSCT_CLIENT_REPLAY : TSCT_CLIENT_DUPLICATE;
	return TSCT_CLIENT_FOREIGN;
}

/* Checks that a packet has the right MAC if a key is configured, else that the
 * packet has no MAC. */
static enum tsct_client_result
client_mac(const struct tsct_client *client, const struct tsct_keys *keys,
		const void *bytes, size_t len,
		const struct tsct_ntp_packet *packet)
{
	if (packet->has_mac && !packet->key_id)
		return TSCT_CLIENT_CRYPTO_NAK;
	if (!client->options.key_id)
		return packet->has_mac ? TSCT_CLIENT_EXTRA_MAC : TSCT_CLIENT_OK;
	if (!packet->has_mac)
		return TSCT_CLIENT_NO_MAC;
	if (packet->key_id != client->options.key_id ||
	    tsct_mac_check(keys, bytes, len, packet))
		return TSCT_CLIENT_BAD_MAC;
	return TSCT_CLIENT_OK;
}

/* ---- checks: contents of answers ------------------------------------------------ */

static __u32 precision_ns(__s8 precision)
{
	if (precision > 1)
		return ~0U;
	if (precision >= 0)
		return (__u32)(NS_PER_S << precision);
	return precision < -30 ? 1 : (__u32)(NS_PER_S >> -precision) + 1;
}

/* Reads the answer of an NTP server, whose clock, in ns, is used as its counter. */
static enum tsct_client_result read_ntp(const struct tsct_client *client,
					struct client_answer *a)
{
	const struct tsct_ntp_packet *packet = &a->packet;
	__u64 now_ns, distance_ns = tsct_ntp_short_ns(packet->root_dispersion) +
		(tsct_ntp_short_ns(packet->root_delay) + 1) / 2;

	a->x.t2 = (__u64)tsct_ntp_to_ns(packet->receive, a->near_ns);
	a->x.t3 = (__u64)tsct_ntp_to_ns(packet->transmit, a->near_ns);
	a->x.remote_error = precision_ns(packet->precision);
	a->mult = TSCT_NS_MULT;
	a->has_t3 = !a->interleaved;
	now_ns = a->has_t3 ? a->x.t3 : a->x.t2;
	a->remote = (struct tsct_remote) {
		.epoch = client->remote.epoch,
		.status = TSCT_STATUS_SYNCHRONIZED,
		.params = {
			.base = now_ns,
			.base_ns = (__s64)now_ns,
			.mult = TSCT_NS_MULT,
			.as_of = now_ns,
			.error_ps = distance_ns * 1000,
			.growth = GROWTH_15_PPM,
		},
		.leap = packet->leap,
		.stratum = packet->stratum,
		.refid = packet->refid,
	};
	if (packet->leap == TSCT_NTP_UNSYNCED || !packet->stratum ||
	    packet->stratum > 15 || distance_ns >= DISTANCE_MAX_NS) {
		a->remote.status = TSCT_STATUS_UNKNOWN;
		return TSCT_CLIENT_UNSYNCED;
	}
	return packet->receive && packet->transmit ?
		TSCT_CLIENT_OK : TSCT_CLIENT_IMPOSSIBLE;
}

/* Reads the extension field of a node's answer. CLOCK_REALTIME in the NTP header is not
 * used. */
static enum tsct_client_result read_field(const struct tsct_client *client,
					  struct client_answer *a)
{
	const struct tsct_client_outstanding *request =
		&client->outstanding[a->nr];
	const struct tsct_extension *ext = &a->packet.ext;

	if (!a->packet.has_ext)
		return TSCT_CLIENT_NO_FIELD;
	if (!(ext->flags & TSCT_EXT_REPLY) ||
	    ext->nonce != request->nonce)
		return TSCT_CLIENT_FOREIGN;
	if (client->options.node && ext->node == client->options.node)
		return TSCT_CLIENT_SELF;
	if ((client->options.node && ext->master == client->options.node) ||
	    ext->depth > TSCT_DEPTH_MAX)
		return TSCT_CLIENT_LOOP;
	a->remote = (struct tsct_remote) {
		.node = ext->node,
		.host = ext->host,
		.master = ext->master,
		.epoch = ext->epoch,
		.status = ext->status,
		.depth = ext->depth,
		.sd_ps = ext->sd_ps,
		.has_params = ext->flags & TSCT_EXT_PARAMS,
		.params = ext->params,
		.shared = client->options.host &&
			ext->host == client->options.host,
		.leap = a->packet.leap,
		.stratum = a->packet.stratum,
		.refid = a->packet.refid,
		.joined = request->joined,
		.session = ext->session,
		.turn_us = ext->turn_us,
		.barrier = ext->barrier,
		.flags = ext->flags & (TSCT_EXT_SESSION_OPEN |
				       TSCT_EXT_SESSION_OVER |
				       TSCT_EXT_RELEASED |
				       TSCT_EXT_GATHERING),
	};
	a->x.t2 = ext->rx;
	a->x.t3 = ext->tx;
	a->x.remote_error = ext->rx_error;
	if (ext->flags & TSCT_EXT_RX_KERNEL)
		a->x.flags |= TSCT_EXCHANGE_T2_KERNEL;
	a->mult = ext->params.mult;
	a->has_t3 = true;
	if (!a->remote.has_params || !tsct_status_has_time(ext->status))
		return TSCT_CLIENT_UNSYNCED;
	/* Depth 0 puts a node before all other nodes in the order of hops
	 * (select.c), so only the master may have that depth. */
	if (!ext->depth && ext->node != ext->master)
		return TSCT_CLIENT_IMPOSSIBLE;
	return a->mult < MULT_MIN || a->mult > MULT_MAX ?
		TSCT_CLIENT_IMPOSSIBLE : TSCT_CLIENT_OK;
}

/* ---- checks: plausibility of times ---------------------------------------------- */

/* Checks that the times of an exchange are possible. @mult: rate of the server's
 * counter; 0: unknown */
static enum tsct_client_result
client_possible(const struct tsct_client *client,
		     const struct tsct_exchange *x, __u64 mult)
{
	double here, there;

	if (counts_after(x->t1, x->t4) < -(__s64)x->local_error ||
	    counts_after(x->t2, x->t3) < -(__s64)x->remote_error)
		return TSCT_CLIENT_IMPOSSIBLE;
	if (!client->options.mult)
		return TSCT_CLIENT_OK;
	/* Counter values are rounded down, so an interval may be one unit of the counter
	 * longer than measured. */
	here = (double)counts_after(x->t1, x->t4) + x->local_error + 1;
	there = (double)counts_after(x->t2, x->t3) - x->remote_error - 1;
	return there * (double)mult >
		here * (double)client->options.mult * (1 + RATE_DIFFERENCE) ?
		TSCT_CLIENT_TOO_SOON : TSCT_CLIENT_OK;
}

/* Returns true if the server may have received this answer's request before it
 * sent its previous answer. */
static bool overlaps(const struct tsct_client *client,
		     const struct client_answer *a)
{
	return (__s32)(client->outstanding[a->nr].number -
		       client->last_sent) <= 0;
}

/* Sets x->t3 to the kernel's transmit time of the previous answer. Returns false if the
 * present answer does not have that time. */
static bool better_t3(const struct tsct_client *client,
		      const struct tsct_queued_exchange *pending,
		      const struct client_answer *a,
		      struct tsct_exchange *x)
{
	const struct tsct_extension *ext = &a->packet.ext;

	if (a->interleaved) {
		if (client->outstanding[a->nr].org != pending->nonce)
			return false;
		x->t3 = (__u64)tsct_ntp_to_ns(a->packet.transmit, a->near_ns);
		x->remote_error = max(x->remote_error, a->x.remote_error);
	} else {
		if (client->options.flags & TSCT_CLIENT_NTP_ONLY ||
		    !(ext->flags & TSCT_EXT_TX_KERNEL) || !ext->prev_nonce ||
		    ext->prev_nonce != pending->nonce)
			return false;
		x->t3 = ext->prev_tx;
		x->remote_error = max(x->remote_error, ext->rx_error);
	}
	x->flags |= TSCT_EXCHANGE_T3_KERNEL;
	return true;
}

/* Copies the exchange that was waiting for this answer to a->done, and sets and checks its
 * final t3. */
static enum tsct_client_result check_pending(const struct tsct_client *client,
				      struct client_answer *a)
{
	const struct tsct_queued_exchange *pending = client_pending(client);
	__s64 error;

	if (!pending)
		return TSCT_CLIENT_OK;
	a->done = pending->x;
	if (!better_t3(client, pending, a, &a->done)) {
		a->has_done = pending->has_t3;
		return TSCT_CLIENT_OK;
	}
	/* Rejects the kernel's transmit time of the previous answer if that time is
	 * - earlier than the transmit time (t3) in the previous answer, or
	 * - later than t2 of this answer; if the server may have received this answer's
	 *   request before sending the previous answer: later than t3 of this
	 *   answer. */
	error = (__s64)a->done.remote_error + a->x.remote_error;
	if ((pending->has_t3 &&
	     counts_after(pending->x.t3, a->done.t3) < -error) ||
	    counts_after(a->done.t3, overlaps(client, a) ?
		       a->x.t3 : a->x.t2) < -error)
		return TSCT_CLIENT_IMPOSSIBLE;
	a->has_done = true;
	return client_possible(client, &a->done, pending->mult);
}

static enum tsct_client_result check_times(const struct tsct_client *client,
					   struct client_answer *a)
{
	const struct tsct_client_outstanding *to = &client->outstanding[a->nr];
	struct tsct_exchange *x = &a->x;
	enum tsct_client_result result;
	__s64 error;

	if (!to->has_t1)
		return TSCT_CLIENT_IMPOSSIBLE;
	x->t1 = to->t1.cycles;
	x->t4 = a->t4.cycles;
	x->local_error = max(to->t1.error, a->t4.error);
	x->flags |= (to->t1.kernel ? TSCT_EXCHANGE_T1_KERNEL : 0) |
		(a->t4.kernel ? TSCT_EXCHANGE_T4_KERNEL : 0) |
		(client->options.key_id ? TSCT_EXCHANGE_AUTH : 0) |
		(to->follows ? TSCT_EXCHANGE_FOLLOWS : 0);
	x->session = to->joined && to->joined == a->remote.session ?
		to->joined : to->session;
	if (!a->has_t3)
		x->t3 = x->t2;
	result = client_possible(client, x, a->mult);
	if (result)
		return result;
	/* If server and client read the same counter, t2 and t3 lie between t1 and
	 * t4. */
	error = (__s64)x->local_error + x->remote_error;
	if (a->remote.shared && (counts_after(x->t1, x->t2) < -error ||
				 counts_after(x->t3, x->t4) < -error))
		return TSCT_CLIENT_IMPOSSIBLE;
	if (!client->known || !same_counter(&client->remote, &a->remote))
		return TSCT_CLIENT_OK;
	error = (__s64)client->last_error + x->remote_error;
	if (overlaps(client, a)) {
		/* The server may have received this request before it sent the previous
		 * answer, so only t3 is compared with the previous answer's times. */
		if (counts_after(client->last, x->t3) < -error)
			return TSCT_CLIENT_REPLAY;
	} else if (counts_after(client->last, x->t2) < -error) {
		return TSCT_CLIENT_BACKWARDS;
	}
	return check_pending(client, a);
}

/* Applies all checks to an answer and fills in the result @a; does not change the
 * client. Cheap checks come first. Contents are checked last, after checks that only an
 * attacker who has read the request can pass. */
static enum tsct_client_result
client_check_answer(const struct tsct_client *client,
		  const struct tsct_keys *keys, struct client_answer *a)
{
	const struct tsct_ntp_packet *packet = &a->packet;
	bool ntp_only = client->options.flags & TSCT_CLIENT_NTP_ONLY;
	enum tsct_client_result result;

	if (tsct_ntp_parse(a->bytes, a->len, &a->packet))
		return TSCT_CLIENT_MALFORMED;
	if (packet->mode != TSCT_NTP_MODE_SERVER ||
	    (packet->version != 4 && !(ntp_only && packet->version == 3)))
		return TSCT_CLIENT_NOT_OURS;
	result = find_request(client, a);
	if (result)
		return result;
	result = client_mac(client, keys, a->bytes, a->len, packet);
	if (result)
		return result;
	/* Kiss codes other than RATE, DENY and RSTR mean that the server is not
	 * synchronized. */
	if (!packet->stratum &&
	    (packet->refid == RATE || packet->refid == DENY ||
	     packet->refid == RSTR))
		return packet->has_ext && packet->ext.nonce !=
			client->outstanding[a->nr].nonce ?
			TSCT_CLIENT_FOREIGN : TSCT_CLIENT_KISS;
	result = ntp_only ? read_ntp(client, a) : read_field(client, a);
	return result ? result : check_times(client, a);
}

/* ---- outstanding requests ------------------------------------------------ */

/* Moves the oldest outstanding requests to client->past until @nr are outstanding.
 * @answered: the newest of the moved requests was answered. Answers to requests in
 * client->past are rejected from now on. */
static void settle_requests(struct tsct_client *client, unsigned int nr, bool answered)
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
	struct tsct_queued_exchange *pending = client_pending(client);

	if (pending && pending->has_t3)
		pending->state = TSCT_QUEUED_COMPLETE;
	drop_incomplete(client);
}

void tsct_client_disrupt(struct tsct_client *client)
{
	settle_requests(client, 0, false);
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

size_t tsct_client_request(struct tsct_client *client, const struct tsct_keys *keys,
			   const __u64 random[2], const struct tsct_extension *ext,
			   bool is_further, void *bytes)
{
	/* To an NTP server, a new request replaces the outstanding request: RFC 9769 allows
	 * one outstanding request, and most servers keep the state of one request. */
	const bool follows = is_further && !is_ntp_only(client);
	const struct tsct_queued_exchange *pending = client_pending(client);
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
		settle_requests(client, 0, false);
		client->reach <<= 1;
	}
	one.number = (__u32)++client->sent;
	settle_requests(client, TSCT_CLIENT_REQUESTS - 1, false);
	memmove(client->outstanding + 1, client->outstanding,
		client->nr_outstanding * sizeof(client->outstanding[0]));
	client->outstanding[0] = one;
	client->nr_outstanding++;
	return len;
}

void tsct_client_sent(struct tsct_client *client, __u32 number,
		      struct tsct_packet_time t1)
{
	struct tsct_queued_exchange *pending = client_pending(client);
	struct tsct_exchange x;
	unsigned int i;

	for (i = 0; i < client->nr_outstanding; i++) {
		struct tsct_client_outstanding *one = &client->outstanding[i];

		if (one->number != number)
			continue;
		/* The kernel's transmit time is accepted once, and only if it is not
		 * before the program's time, which was taken before sending. */
		if (t1.kernel && one->has_t1 &&
		    (one->t1.kernel || counts_after(one->t1.cycles, t1.cycles) <
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
	if (counts_after(x.t1, t1.cycles) < -((__s64)x.local_error + t1.error))
		return;
	x.t1 = t1.cycles;
	x.local_error = max(x.local_error, t1.error);
	x.flags |= TSCT_EXCHANGE_T1_KERNEL;
	if (!client_possible(client, &x, pending->mult))
		pending->x = x;
}

/* ---- processing answers ------------------------------------------------- */

/* Sets client->remote. Drops all queued exchanges if they are with another server or
 * timeline than @remote. */
static void set_remote(struct tsct_client *client,
		       const struct tsct_remote *remote)
{
	const struct tsct_remote *old = &client->remote;

	if (!same_counter(old, remote) ||
	    old->has_params != remote->has_params)
		client->nr_queued = 0;
	client->remote = *remote;
}

/* Completes or drops the previous exchange, which was waiting for this answer. */
static void finish_pending(struct tsct_client *client,
			   const struct client_answer *a)
{
	struct tsct_queued_exchange *pending = client_pending(client);

	if (!a->has_done) {
		drop_incomplete(client);
		return;
	}
	pending->x = a->done;
	pending->state = TSCT_QUEUED_COMPLETE;
}

static void accept_answer(struct tsct_client *client,
			  const struct client_answer *a)
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
	client->last = counts_after(a->x.t2, a->x.t3) > 0 ? a->x.t3 : a->x.t2;
	client->last_error = a->x.remote_error;
	client->last_sent = (__u32)client->sent;
	client->backwards = 0;
	client->last_tx = a->packet.ext.tx;
	client->reach |= 1;
	if (client->backoff && ++client->since_kiss >= KISS_ANSWERS) {
		client->since_kiss = 0;
		client->backoff--;
	}
	settle_requests(client, a->nr, true);
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
	settle_requests(client, 0, true);
}

/* Updates the client's state from the answer of a server that is not synchronized. Does
 * not use the times in the answer. */
static void accept_unsynced(struct tsct_client *client,
		     const struct client_answer *a)
{
	struct tsct_remote remote = a->remote;

	remote.has_params = false;
	set_remote(client, &remote);
	memcpy(client->missing, a->packet.missing, sizeof(client->missing));
	client->last_tx = a->packet.ext.tx;
	client->known = false;
	drop_incomplete(client);
	settle_requests(client, a->nr, true);
}

/* Handles a server's counter that is behind its last value. If SET_BACK polls
 * in a row find this, the server's clock was set back, and earlier exchanges
 * are invalid. A replayed packet counts only once. */
static void accept_set_back(struct tsct_client *client,
		     const struct client_answer *a)
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
	struct client_answer a = {
		.bytes = bytes, .len = len, .t4 = t4, .near_ns = near_ns,
	};
	enum tsct_client_result result = client_check_answer(client, keys,
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

	if (is_ntp_only(client) || tsct_ntp_parse(bytes, len, &packet) ||
	    packet.mode != TSCT_NTP_MODE_BROADCAST || !packet.has_ext ||
	    packet.ext.flags != TSCT_EXT_POLL_REQUEST)
		return false;
	if (client->known && packet.ext.node != client->remote.node)
		return false;
	if (client_mac(client, keys, bytes, len, &packet))
		return false;
	/* If a poll request comes less than TSCT_POLL_REQUEST_US after the last
	 * requested poll, the next poll comes TSCT_POLL_REQUEST_US after that poll.
	 * If the request were ignored, the client would miss the whole session. */
	if (!client->poll_requested || since_us >= TSCT_POLL_REQUEST_US)
		client->poll_request_us = now_us;
	else if (since_us >= 0)
		client->poll_request_us += TSCT_POLL_REQUEST_US;
	client->poll_requested = true;
	*ret_at_us = client->poll_request_us;
	return true;
}

const struct tsct_result_text tsct_client_results[TSCT_CLIENT_NR] = {
	[TSCT_CLIENT_OK] = { "taken", "accepted" },
	[TSCT_CLIENT_MALFORMED] = { "malformed", "not an NTP packet" },
	[TSCT_CLIENT_NOT_OURS] = { "not_ours",
		"not an answer: another mode or version of NTP" },
	[TSCT_CLIENT_DUPLICATE] = { "duplicate",
		"duplicate: the request is answered already" },
	[TSCT_CLIENT_NO_MAC] = { "no_mac",
		"no MAC, though a key is configured for this server; add the key "
		"to the server's key file" },
	[TSCT_CLIENT_BAD_MAC] = { "bad_mac",
		"wrong MAC; compare number, type and text of the key in the key "
		"files of both sides" },
	[TSCT_CLIENT_KISS] = { "kiss",
		"kiss-o'-death: the server demands a longer poll interval, or no "
		"requests at all" },
	[TSCT_CLIENT_UNSYNCED] = { "unsynced",
		"the server is not synchronized (yet)" },
	[TSCT_CLIENT_IMPOSSIBLE] = { "impossible",
		"inconsistent answer: the server sent the answer before it received the request, "
		"reports an impossible counter rate, or states 0 hops to a master that is another "
		"node" },
	[TSCT_CLIENT_SELF] = { "self",
		"the answer has this node's id: if one node is a copy of the other, remove "
		"STATE-DIR/node on one of them and restart tsctraced there, or reboot a copy of "
		"a running node; if the address is this node's own, remove the source" },
	[TSCT_CLIENT_ZERO_ORIGIN] = { "zero_origin",
		"zero origin timestamp: the answer names no request" },
	[TSCT_CLIENT_FOREIGN] = { "foreign",
		"answers no request of this node: forged, or very late" },
	[TSCT_CLIENT_REPLAY] = { "replay",
		"answers an earlier request: late, or replayed" },
	[TSCT_CLIENT_EXTRA_MAC] = { "extra_mac",
		"unexpected MAC: no key is configured for this server; configure "
		"the key, or none on both sides" },
	[TSCT_CLIENT_CRYPTO_NAK] = { "crypto_nak",
		"crypto-NAK: the server rejected this node's MAC; both sides need "
		"the same key under the same number" },
	[TSCT_CLIENT_NO_FIELD] = { "no_field",
		"no tsctrace extension field: an NTP server, or another version; "
		"for an NTP server write \"ntp ADDRESS\" in place of "
		"\"master ADDRESS\"" },
	[TSCT_CLIENT_TOO_SOON] = { "too_soon",
		"the server's time between receipt and answer exceeds the whole "
		"round trip" },
	[TSCT_CLIENT_BACKWARDS] = { "backwards",
		"the server's counter is behind its last answer: its clock was "
		"set back, or an old answer was altered" },
	[TSCT_CLIENT_LOOP] = { "loop",
		"synchronization loop: the server's time comes from this node" },
};
