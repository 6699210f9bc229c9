// SPDX-License-Identifier: MIT
/*
 * Checks of answers. Cheap checks come first. Contents are checked last, after checks
 * that only an attacker who has read the request can pass.
 */
#include "lib/core/clock_params.h"
#include "client_private.h"

#define RATE		0x52415445	/* kiss code "RATE" of RFC 5905 */
#define DENY		0x44454e59
#define RSTR		0x52535452

/* Limits of the mult in an answer, the length of a count of the server's counter: 1/64 ns
 * (64 GHz) and 100 ns (10 MHz) */
#define MULT_MIN	(TSCT_NS_MULT / 64)
#define MULT_MAX	(TSCT_NS_MULT * 100)
#define DISTANCE_MAX_NS	(16 * NS_PER_S)		/* largest root distance, RFC 5905 */
/* Growth of the error bound of an NTP server's time: 15 ppm, in 2^-32 ps per ns */
#define GROWTH_15_PPM	64424510ULL
/* Largest sum of the relative errors of the two rates, of the local and of the server's
 * counter: (t3 - t2), converted to ns by the server's rate, may exceed (t4 - t1),
 * converted to ns by the local rate, by this fraction of (t4 - t1). */
#define RATE_DIFFERENCE	(1.0 / 1024)

/* ---- finding the request of an answer ------------------------------------ */

/* An answer is interleaved if its origin is the rcv of a request that allowed
 * that mode. rcv and xmit are both random, so the modes cannot be confused. */
static enum tsct_client_result find_request(const struct tsct_client *client,
					    struct tsct_client_answer *a)
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

enum tsct_client_result
tsct_client_mac(const struct tsct_client *client, const struct tsct_keys *keys,
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

/* ---- contents of answers ------------------------------------------------ */

static __u32 precision_ns(__s8 precision)
{
	if (precision > 1)
		return ~0U;
	if (precision >= 0)
		return (__u32)(NS_PER_S << precision);
	return precision < -30 ? 1 : (__u32)(NS_PER_S >> -precision) + 1;
}

/* Reads the answer of an NTP server, whose counter is ns of its clock. */
static enum tsct_client_result read_ntp(const struct tsct_client *client,
					struct tsct_client_answer *a)
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
	if (client->options.refid && packet->stratum > 1 &&
	    packet->refid == client->options.refid)
		return TSCT_CLIENT_LOOP;
	return packet->receive && packet->transmit ?
		TSCT_CLIENT_OK : TSCT_CLIENT_IMPOSSIBLE;
}

/* Reads the extension field of a node's answer. CLOCK_REALTIME in the NTP header is not
 * used. */
static enum tsct_client_result read_field(const struct tsct_client *client,
					  struct tsct_client_answer *a)
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
	/* Depth 0 puts a node before all others in the order of hops (select.c), so it is
	 * accepted from the master only. */
	if (!ext->depth && ext->node != ext->master)
		return TSCT_CLIENT_IMPOSSIBLE;
	return a->mult < MULT_MIN || a->mult > MULT_MAX ?
		TSCT_CLIENT_IMPOSSIBLE : TSCT_CLIENT_OK;
}

/* ---- plausibility of times ---------------------------------------------- */

enum tsct_client_result
tsct_client_possible(const struct tsct_client *client,
		     const struct tsct_exchange *x, __u64 mult)
{
	double here, there;

	if (tsct_after(x->t1, x->t4) < -(__s64)x->local_error ||
	    tsct_after(x->t2, x->t3) < -(__s64)x->remote_error)
		return TSCT_CLIENT_IMPOSSIBLE;
	if (!client->options.mult)
		return TSCT_CLIENT_OK;
	/* Counter values are rounded down, so an interval may be one count longer than
	 * measured. */
	here = (double)tsct_after(x->t1, x->t4) + x->local_error + 1;
	there = (double)tsct_after(x->t2, x->t3) - x->remote_error - 1;
	return there * (double)mult >
		here * (double)client->options.mult * (1 + RATE_DIFFERENCE) ?
		TSCT_CLIENT_TOO_SOON : TSCT_CLIENT_OK;
}

/* True: the server may have received the answered request before sending its previous
 * answer. */
static bool overlaps(const struct tsct_client *client,
		     const struct tsct_client_answer *a)
{
	return (__s32)(client->outstanding[a->nr].number -
		       client->last_sent) <= 0;
}

/* Takes the kernel's transmit time of the previous answer from the present answer;
 * false: the present answer does not have that time. */
static bool better_t3(const struct tsct_client *client,
		      const struct tsct_queued_exchange *pending,
		      const struct tsct_client_answer *a,
		      struct tsct_exchange *x)
{
	const struct tsct_extension *ext = &a->packet.ext;

	if (a->interleaved) {
		if (client->outstanding[a->nr].org != pending->nonce)
			return false;
		x->t3 = (__u64)tsct_ntp_to_ns(a->packet.transmit, a->near_ns);
		x->remote_error = tsct_worse(x->remote_error,
					     a->x.remote_error);
	} else {
		if (client->options.flags & TSCT_CLIENT_NTP_ONLY ||
		    !(ext->flags & TSCT_EXT_TX_KERNEL) || !ext->prev_nonce ||
		    ext->prev_nonce != pending->nonce)
			return false;
		x->t3 = ext->prev_tx;
		x->remote_error = tsct_worse(x->remote_error, ext->rx_error);
	}
	x->flags |= TSCT_EXCHANGE_T3_KERNEL;
	return true;
}

/* Sets the final t3 of the exchange that was waiting for this answer. */
static enum tsct_client_result check_pending(const struct tsct_client *client,
				      struct tsct_client_answer *a)
{
	const struct tsct_queued_exchange *pending = tsct_client_pending(client);
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
	 *   request before sending the previous answer: later than t3 of this one. */
	error = (__s64)a->done.remote_error + a->x.remote_error;
	if ((pending->has_t3 &&
	     tsct_after(pending->x.t3, a->done.t3) < -error) ||
	    tsct_after(a->done.t3, overlaps(client, a) ?
		       a->x.t3 : a->x.t2) < -error)
		return TSCT_CLIENT_IMPOSSIBLE;
	a->has_done = true;
	return tsct_client_possible(client, &a->done, pending->mult);
}

static enum tsct_client_result check_times(const struct tsct_client *client,
					   struct tsct_client_answer *a)
{
	const struct tsct_client_outstanding *to = &client->outstanding[a->nr];
	struct tsct_exchange *x = &a->x;
	enum tsct_client_result result;
	__s64 error;

	if (!to->has_t1)
		return TSCT_CLIENT_IMPOSSIBLE;
	x->t1 = to->t1.cycles;
	x->t4 = a->t4.cycles;
	x->local_error = tsct_worse(to->t1.error, a->t4.error);
	x->flags |= (to->t1.kernel ? TSCT_EXCHANGE_T1_KERNEL : 0) |
		(a->t4.kernel ? TSCT_EXCHANGE_T4_KERNEL : 0) |
		(client->options.key_id ? TSCT_EXCHANGE_AUTH : 0) |
		(to->follows ? TSCT_EXCHANGE_FOLLOWS : 0);
	x->session = to->joined && to->joined == a->remote.session ?
		to->joined : to->session;
	if (!a->has_t3)
		x->t3 = x->t2;
	result = tsct_client_possible(client, x, a->mult);
	if (result)
		return result;
	/* If server and client read the same counter, t2 and t3 lie between t1 and
	 * t4. */
	error = (__s64)x->local_error + x->remote_error;
	if (a->remote.shared && (tsct_after(x->t1, x->t2) < -error ||
				 tsct_after(x->t3, x->t4) < -error))
		return TSCT_CLIENT_IMPOSSIBLE;
	if (!client->known || !tsct_same_counter(&client->remote, &a->remote))
		return TSCT_CLIENT_OK;
	error = (__s64)client->last_error + x->remote_error;
	if (overlaps(client, a)) {
		/* The server may have received this request before it sent the previous
		 * answer, so only t3 is compared with the previous answer's times. */
		if (tsct_after(client->last, x->t3) < -error)
			return TSCT_CLIENT_REPLAY;
	} else if (tsct_after(client->last, x->t2) < -error) {
		return TSCT_CLIENT_BACKWARDS;
	}
	return check_pending(client, a);
}

enum tsct_client_result
tsct_client_check_answer(const struct tsct_client *client,
		  const struct tsct_keys *keys, struct tsct_client_answer *a)
{
	const struct tsct_ntp_packet *packet = &a->packet;
	bool ntp_only = client->options.flags & TSCT_CLIENT_NTP_ONLY;
	enum tsct_client_result result;

	if (tsct_ntp_parse(a->bytes, a->len, &a->packet, NULL))
		return TSCT_CLIENT_MALFORMED;
	if (packet->mode != TSCT_NTP_MODE_SERVER ||
	    (packet->version != 4 && !(ntp_only && packet->version == 3)))
		return TSCT_CLIENT_NOT_OURS;
	result = find_request(client, a);
	if (result)
		return result;
	result = tsct_client_mac(client, keys, a->bytes, a->len, packet);
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
