// SPDX-License-Identifier: MIT
/*
 * The responder: checks requests and builds answers. Cheap checks come first. A packet
 * from an address that the access rules deny, or with a wrong MAC, is rejected before
 * the packet takes a token of the rate limit. Only a request that check_request() accepts
 * changes the client table.
 */
#include <stdlib.h>
#include <sys/queue.h>

#include "responder.h"

/* ---- client table -------------------------------------------------------- */

/*
 * Client table of the responder: the clients answered last, and the kernel's transmit
 * times of the answers. The table's size is fixed. The table has two lists, of unknown
 * clients and of members (clients that authenticate, and configured children), the
 * newest request first. A new client replaces the oldest unknown client; in a table
 * full of members, only a member replaces a member, and unknown clients are not
 * recorded.
 *
 * A ticket is a number for one answer, made of the index of the client's entry and a
 * count. The kernel reports an answer's transmit time after sending; the ticket shows
 * to which entry that time belongs.
 */
struct client_entry_key {
	struct tsct_address from;	/* address of the client; the port is ignored */
	__u64 node;			/* node id of the client; 0: NTP only */
	__u32 key_id;
};

struct client_entry {
	struct client_entry_key key;
	/* The last requests with tsctrace's extension field, newest first; last_reply
	 * is the answer to the request past[0]. */
	struct client_entry_past {
		__u64 nonce, tx;
		__u64 repeated_tx;	/* tx of an earlier answer, as repeated by the
					 * request */
	} past[TSCT_RESPONDER_PAST];
	struct client_entry_past unverified;	/* the last request that
							 * may be a replay */
	struct tsct_extension last_reply;
	tsct_ntp_timestamp receive;	/* receive timestamp in the last answer to an
					 * NTP-only client */
	bool has_tx;
	__u64 before_tx;		/* counter value before the last answer was
					 * sent */
	struct tsct_packet_time tx;	/* the kernel's transmit time of the
					 * last answer; valid if has_tx */
	/* number of the last answer, by which the kernel's report of an answer's
	 * transmit time finds this entry; 0: there is no answer */
	__u32 ticket;
	/* The fields below are for the client table. */
	bool member;
	TAILQ_ENTRY(client_entry) order;
	LIST_ENTRY(client_entry) chain;
};

LIST_HEAD(client_bucket, client_entry);
TAILQ_HEAD(client_list, client_entry);

struct client_table {
	__u64 seed;
	struct client_entry entry[TSCT_RESPONDER_CLIENTS];
	struct client_bucket buckets[TSCT_RESPONDER_CLIENTS];
	struct client_list list[2];	/* [0]: unknown clients;
						 * [1]: members */
	unsigned int nr;
};

#define INDEX_BITS	10	/* bits of an answer's number (ticket) for the index of
				 * the client's entry in the client table */

_Static_assert(TSCT_RESPONDER_CLIENTS == 1 << INDEX_BITS,
	       "a ticket must have room for the index of each client");

static void client_table_init(struct client_table *table, __u64 seed)
{
	memset(table, 0, sizeof(*table));
	table->seed = tsct_hash64(seed);
	TAILQ_INIT(&table->list[false]);
	TAILQ_INIT(&table->list[true]);
}

/* Returns an unused entry, or the entry of the oldest client that the new
 * client may replace, removed from its lists. Returns NULL if there is none. */
static struct client_entry *take_entry(struct client_table *table,
					    bool member)
{
	struct client_entry *entry;

	if (table->nr < TSCT_RESPONDER_CLIENTS)
		return &table->entry[table->nr++];
	entry = TAILQ_LAST(&table->list[false], client_list);
	if (!entry && member)
		entry = TAILQ_LAST(&table->list[true], client_list);
	if (!entry)
		return NULL;
	TAILQ_REMOVE(&table->list[entry->member], entry, order);
	LIST_REMOVE(entry, chain);
	return entry;
}

/* Finds or creates the entry of a client that sent a request. Returns NULL if
 * the table has no room for an unknown client. */
static struct client_entry *
client_table_meet(struct client_table *table,
		  const struct client_entry_key *key, bool member)
{
	__u64 hash = tsct_address_hash(&key->from, table->seed);
	struct client_bucket *bucket;
	struct client_entry *entry;

	hash = tsct_hash64(tsct_hash64(hash ^ key->node) ^ key->key_id);
	bucket = &table->buckets[hash % TSCT_RESPONDER_CLIENTS];
	LIST_FOREACH(entry, bucket, chain)
		if (entry->key.node == key->node &&
		    entry->key.key_id == key->key_id &&
		    tsct_address_same(&entry->key.from, &key->from))
			break;
	if (entry) {
		TAILQ_REMOVE(&table->list[entry->member], entry, order);
	} else {
		entry = take_entry(table, member);
		if (!entry)
			return NULL;
		/* The new client's entry keeps the last ticket (number of an answer),
		 * so that the next ticket differs from those of answers to the entry's
		 * previous client. */
		*entry = (struct client_entry) {
			.key = *key, .ticket = entry->ticket,
		};
		LIST_INSERT_HEAD(bucket, entry, chain);
	}
	entry->member = member;
	TAILQ_INSERT_HEAD(&table->list[member], entry, order);
	return entry;
}

/* Makes a ticket, the number of a new answer to a client. */
static __u32 client_table_ticket(struct client_table *table,
				 struct client_entry *entry)
{
	__u32 count = (entry->ticket >> INDEX_BITS) + 1;

	if (!(count << INDEX_BITS))
		count = 1;
	entry->ticket = count << INDEX_BITS |
		(__u32)(entry - table->entry);
	return entry->ticket;
}

/* Returns the entry whose last ticket is @ticket, or NULL. */
static struct client_entry *client_table_of(struct client_table *table,
						 __u32 ticket)
{
	struct client_entry *entry =
		&table->entry[ticket % TSCT_RESPONDER_CLIENTS];

	return ticket >> INDEX_BITS && entry->ticket == ticket ? entry : NULL;
}

/* ---- the responder ------------------------------------------------------- */

struct tsct_responder {
	struct tsct_responder_ops ops;
	const struct tsct_keys *keys;
	struct tsct_ratelimit *ratelimit;
	__u64 counts[TSCT_ANSWER_NR];
	struct client_table clients;
};

/* State of a request while it is being answered */
struct responder_query {
	const struct tsct_address *from;
	const void *bytes;
	size_t len;
	struct tsct_packet_time rx;
	struct tsct_ntp_packet packet;
	bool member;		/* sender is authenticated, or a configured child */
	struct client_entry *entry;
	bool again;		/* request was received before, or may be a replay */
	bool repeat;		/* request is a duplicate of the last request, and gets
				 * the same answer */
	bool proven;		/* request repeats the tx of one of the last answers */
	struct client_entry_past *note;	/* record of the request; NULL:
						 * not recorded */
};

static tsct_ntp_timestamp ntp_time(const struct tsct_responder *responder,
				   __u64 cycles)
{
	return tsct_ntp_from_ns(responder->ops.real_ns(responder->ops.ctx,
						       cycles));
}

struct tsct_responder *tsct_responder_new(const struct tsct_responder_ops *ops)
{
	struct tsct_responder *responder = calloc(1, sizeof(*responder));

	if (!responder)
		return NULL;
	responder->ops = *ops;
	/* The time is good enough as the seed of the client table's hash: clients that
	 * guess the seed can only make the look-ups of their own entries slower. */
	client_table_init(&responder->clients, ops->now(ops->ctx));
	return responder;
}

void tsct_responder_free(struct tsct_responder *responder)
{
	free(responder);
}

void tsct_responder_use(struct tsct_responder *responder,
			const struct tsct_keys *keys,
				struct tsct_ratelimit *ratelimit)
{
	responder->keys = keys;
	responder->ratelimit = ratelimit;
}

const __u64 *tsct_responder_counts(const struct tsct_responder *responder)
{
	return responder->counts;
}

void tsct_responder_disrupt(struct tsct_responder *responder)
{
	client_table_init(&responder->clients, responder->clients.seed);
}

/* ---- checks of requests ------------------------------------------------- */

static enum tsct_answer check_key(struct tsct_responder *responder,
				  struct responder_query *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	int key;

	if (packet->has_mac && !tsct_keys_have(responder->keys, packet->key_id))
		return TSCT_ANSWER_UNKNOWN_KEY;
	key = tsct_ratelimit_key(responder->ratelimit, request->from,
			     packet->has_mac ? packet->key_id : 0);
	if (key == -ENOKEY)
		return TSCT_ANSWER_NO_MAC;
	if (key < 0)
		return TSCT_ANSWER_WRONG_KEY;
	if (packet->has_mac && tsct_mac_check(responder->keys, request->bytes,
					      request->len, packet))
		return TSCT_ANSWER_BAD_MAC;
	request->member = key > 0 || packet->has_mac;
	return TSCT_ANSWER_SENT;
}

static enum tsct_answer check_request(struct tsct_responder *responder,
				      struct responder_query *request)
{
	const struct tsct_responder_ops *ops = &responder->ops;
	struct tsct_ntp_packet *packet = &request->packet;
	enum tsct_answer answer;
	unsigned int first, version;
	__u64 now_us;

	if (request->len < TSCT_NTP_HEADER || request->len > TSCT_NTP_MAX)
		return TSCT_ANSWER_MALFORMED;
	first = *(const __u8 *)request->bytes;
	version = first >> 3 & 7;
	if ((first & 7) != TSCT_NTP_MODE_CLIENT || version < 1 || version > 4)
		return TSCT_ANSWER_NOT_REQUEST;
	if (!responder->ratelimit ||
	    !tsct_ratelimit_allows(responder->ratelimit, request->from))
		return TSCT_ANSWER_DENIED;
	if (tsct_ntp_parse(request->bytes, request->len, packet))
		return TSCT_ANSWER_MALFORMED;
	if (packet->has_ext &&
	    packet->ext.flags & (TSCT_EXT_REPLY | TSCT_EXT_POLL_REQUEST))
		return TSCT_ANSWER_NOT_REQUEST;
	answer = check_key(responder, request);
	if (answer)
		return answer;
	now_us = ops->now_us ? ops->now_us(ops->ctx) :
		(__u64)ops->real_ns(ops->ctx, request->rx.cycles) / 1000;
	return tsct_ratelimit_take(responder->ratelimit, request->from,
				   request->member, now_us) ?
		TSCT_ANSWER_SENT : TSCT_ANSWER_LIMITED;
}

/* ---- requests with tsctrace's extension field --------------------------- */

static bool is_recorded(const struct client_entry *entry, __u64 nonce)
{
	unsigned int i;

	for (i = 0; i < TSCT_RESPONDER_PAST; i++)
		if (entry->past[i].nonce == nonce)
			return true;
	return false;
}

/* Returns true if @tx is the tx of one of the client's last answers. */
static bool repeats_answer(const struct client_entry *entry, __u64 tx)
{
	unsigned int i;

	for (i = 0; i < TSCT_RESPONDER_PAST; i++)
		if (entry->past[i].nonce && entry->past[i].tx == tx)
			return true;
	return false;
}

/*
 * Returns false if a request may be a replay.
 *
 * @tx: tx of the last answer that the client had received, as repeated by the request
 *
 * If @tx belongs to an answer in entry->past, the client made the request after that
 * answer, so the request is no replay of an older one. If @tx is unknown, the client
 * was restarted, lost many answers, or an attacker replays a recording: the client's
 * next request is accepted if it repeats the tx of the answer to this request. Two kinds of
 * requests are accepted without a known tx: a client's first request, and a few requests with
 * the same tx, which a client sends before the first of them is answered.
 */
static bool is_fresh(const struct client_entry *entry, __u64 tx)
{
	unsigned int alike = 0;

	if (!entry->past[0].nonce || repeats_answer(entry, tx))
		return true;
	while (alike < TSCT_RESPONDER_PAST && entry->past[alike].nonce &&
	       entry->past[alike].repeated_tx == tx)
		alike++;
	return alike && alike < TSCT_CLIENT_REQUESTS;
}

static void record_past(struct client_entry *entry,
			struct client_entry_past past)
{
	memmove(entry->past + 1, entry->past,
		sizeof(entry->past) - sizeof(entry->past[0]));
	entry->past[0] = past;
}

/*
 * Records the request, and adds the kernel's transmit time of the previous answer to
 * @reply, if known. A duplicate of the last request gets the same content as the last
 * answer. Its receive and transmit times are then those of the first copy, which are
 * valid for the duplicate, too: they lie between request and answer.
 */
static void record_request(struct tsct_responder *responder,
		       struct responder_query *request,
			struct tsct_extension *reply)
{
	const struct tsct_extension *ext = &request->packet.ext;
	struct client_entry *entry = request->entry;

	if (!entry)
		return;
	/* A nonce of 0 marks an unused record; tsctrace's clients never send that
	 * nonce. */
	if (!ext->nonce) {
		request->again = true;
		return;
	}
	/* The client's last unverified request was not a replay if the new request
	 * repeats the tx of the answer to the unverified one. Records the unverified
	 * request now. */
	if (entry->unverified.nonce && entry->unverified.tx == ext->tx &&
	    entry->unverified.nonce != ext->nonce) {
		/* An answer contains the kernel's transmit time of the previous answer,
		 * the one to the newest recorded request. Here record_past() makes the
		 * unverified request the newest, so the code discards the transmit time
		 * of the previous answer (entry->tx), and gives the entry a new ticket
		 * (number of an answer): a transmit time that the kernel reports later,
		 * with the old ticket, is then ignored. */
		entry->has_tx = false;
		client_table_ticket(&responder->clients, entry);
		record_past(entry, entry->unverified);
		entry->unverified.nonce = 0;
	}
	request->proven = repeats_answer(entry, ext->tx);
	if (is_recorded(entry, ext->nonce)) {
		request->again = true;
		request->repeat = entry->past[0].nonce == ext->nonce;
		if (request->repeat)
			*reply = entry->last_reply;
	} else if (!is_fresh(entry, ext->tx)) {
		request->again = true;
		request->note = &entry->unverified;
	} else {
		if (entry->has_tx) {
			entry->has_tx = false;
			reply->flags |= TSCT_EXT_TX_KERNEL;
			reply->prev_nonce = entry->past[0].nonce;
			reply->prev_tx = entry->tx.cycles;
			reply->rx_error = max(reply->rx_error, entry->tx.error);
		}
		record_past(entry, (struct client_entry_past) { 0 });
		request->note = &entry->past[0];
	}
	if (request->note) {
		request->note->nonce = ext->nonce;
		request->note->repeated_tx = ext->tx;
	}
}

static void fill_field(struct tsct_responder *responder,
		       const struct tsct_timeline *timeline,
		       struct responder_query *request,
		       struct tsct_ntp_packet *packet)
{
	const struct tsct_ntp_packet *received = &request->packet;
	struct tsct_extension *reply = &packet->ext;
	struct tsct_responder_request member_request = {
		.from = request->from,
		.key_id = received->has_mac ? received->key_id : 0,
		.trusted = request->member,
		.poll = received->poll,
		.request = received->ext,
		.reply = reply,
		.below = received->has_missing ? received->missing : NULL,
		.missing = received->has_missing ? packet->missing : NULL,
	};

	packet->has_missing = received->has_missing;
	*reply = (struct tsct_extension) {
		.flags = TSCT_EXT_REPLY |
			(timeline->has_params ? TSCT_EXT_PARAMS : 0) |
			(request->rx.kernel ? TSCT_EXT_RX_KERNEL : 0),
		.depth = timeline->depth,
		.sd_ps = timeline->sd_ps,
		.status = timeline->status,
		.node = timeline->node,
		.host = timeline->host,
		.nonce = received->ext.nonce,
		.epoch = timeline->epoch,
		.master = timeline->master,
		.rx = request->rx.cycles,
		.rx_error = request->rx.error,
		.params = timeline->params,
	};
	record_request(responder, request, reply);
	member_request.proven = request->proven;
	if (responder->ops.member_request && !request->again &&
	    (request->member || !tsct_keys_nr(responder->keys)))
		responder->ops.member_request(responder->ops.ctx,
					      &member_request);
}

/* ---- requests of NTP-only clients --------------------------------------- */

/*
 * Sets the timestamps of an answer to an NTP-only client. A request whose origin is
 * the receive timestamp of the last answer is in interleaved mode (RFC 9769): the
 * transmit timestamp is then the time at which the kernel sent the last answer. Any
 * other request is in basic mode: the transmit timestamp is the present time.
 */
static void fill_ntp_only(struct tsct_responder *responder,
			  const struct responder_query *request,
			  struct tsct_ntp_packet *reply)
{
	const struct tsct_responder_ops *ops = &responder->ops;
	const struct tsct_ntp_packet *packet = &request->packet;
	struct client_entry *entry = request->entry;
	bool interleaved = entry && entry->has_tx &&
		packet->origin == entry->receive;

	reply->receive = ntp_time(responder, request->rx.cycles);
	if (interleaved) {
		reply->origin = packet->receive;
		reply->transmit = ntp_time(responder, entry->tx.cycles);
	}
	if (entry) {
		entry->has_tx = false;
		entry->receive = reply->receive;
		entry->before_tx = ops->now(ops->ctx);
	}
	if (interleaved)
		return;
	reply->transmit = ntp_time(responder, ops->now(ops->ctx));
	/* Receive and transmit timestamp must differ: the origin of the client's next
	 * request is one of the two, depending on the request's mode. */
	if (reply->transmit == reply->receive)
		reply->transmit++;
}

/* ---- building answers --------------------------------------------------- */

/*
 * Finds or creates the client's entry. An NTP-only client gets an entry if it may use
 * interleaved mode: the request's receive timestamp is set and differs from the
 * transmit timestamp, so that answers of both modes can be told apart (RFC 9769).
 */
static void find_client(struct tsct_responder *responder,
			struct responder_query *request)
{
	const struct tsct_ntp_packet *packet = &request->packet;
	struct client_entry_key key = {
		.from = *request->from,
		.key_id = packet->has_mac ? packet->key_id : 0,
		.node = packet->has_ext ? packet->ext.node : 0,
	};

	if (!packet->has_ext && (!packet->receive || packet->version != 4 ||
				 packet->receive == packet->transmit))
		return;
	request->entry = client_table_meet(&responder->clients, &key,
					    request->member);
}

static size_t build_answer(struct tsct_responder *responder,
		     const struct responder_query *request,
		     struct tsct_ntp_packet *reply, void *bytes)
{
	struct client_entry *entry = request->entry;
	size_t len;

	if (reply->has_ext && !request->repeat) {
		/* The transmit time is taken last, just before the answer is sent. */
		reply->ext.tx = responder->ops.now(responder->ops.ctx);
		if (request->note)
			request->note->tx = reply->ext.tx;
	}
	if (reply->has_ext && entry && !request->again) {
		entry->before_tx = reply->ext.tx;
		entry->last_reply = reply->ext;
	}
	len = tsct_ntp_build(reply, bytes);
	if (request->packet.has_mac)
		len = tsct_mac_append(responder->keys, request->packet.key_id,
				      bytes, len);
	return len <= request->len ? len : 0;
}

static size_t answer_to(struct tsct_responder *responder,
			const struct tsct_timeline *timeline,
			struct responder_query *request, void *bytes)
{
	const struct tsct_responder_ops *ops = &responder->ops;
	struct tsct_ntp_packet reply = {
		.leap = timeline->leap,
		.version = request->packet.version,
		.mode = TSCT_NTP_MODE_SERVER,
		.stratum = timeline->stratum > 15 ? 0 : timeline->stratum,
		.poll = request->packet.poll,
		.precision = timeline->precision,
		.root_delay = timeline->root_delay,
		.root_dispersion = timeline->root_dispersion,
		.refid = timeline->refid,
		.reference = timeline->reference,
		.origin = request->packet.transmit,
		.has_ext = request->packet.has_ext,
	};

	find_client(responder, request);
	if (reply.has_ext) {
		fill_field(responder, timeline, request, &reply);
		reply.receive = ntp_time(responder, request->rx.cycles);
		reply.transmit = ntp_time(responder, ops->now(ops->ctx));
	} else {
		fill_ntp_only(responder, request, &reply);
	}
	return build_answer(responder, request, &reply, bytes);
}

enum tsct_answer
tsct_responder_answer(struct tsct_responder *responder,
		      const struct tsct_timeline *timeline,
		      const struct tsct_address *from, const void *bytes,
		      size_t len, struct tsct_packet_time rx, void *reply,
		      size_t *ret_len, __u32 *ret_ticket)
{
	struct responder_query request = {
		.from = from, .bytes = bytes, .len = len, .rx = rx,
	};
	enum tsct_answer answer = check_request(responder, &request);

	*ret_len = 0;
	*ret_ticket = 0;
	if (!answer) {
		*ret_len = answer_to(responder, timeline, &request, reply);
		if (!*ret_len)
			answer = TSCT_ANSWER_TOO_LONG;
		else if (request.entry && !request.again)
			*ret_ticket = client_table_ticket(&responder->clients,
							  request.entry);
	}
	responder->counts[answer]++;
	return answer;
}

void tsct_responder_sent(struct tsct_responder *responder, __u32 ticket,
			 struct tsct_packet_time tx)
{
	struct client_entry *entry = client_table_of(&responder->clients,
						     ticket);

	/* Rejects a transmit time that is before the answer was made. */
	if (!entry || entry->has_tx || !tx.kernel ||
	    (__s64)(tx.cycles - entry->before_tx) < -(__s64)tx.error)
		return;
	entry->tx = tx;
	entry->has_tx = true;
}

size_t tsct_responder_request_poll(const struct tsct_timeline *timeline,
			   const struct tsct_keys *keys, __u32 key_id,
			   void *bytes)
{
	struct tsct_ntp_packet packet = {
		.version = 4,
		.mode = TSCT_NTP_MODE_BROADCAST,
		.leap = TSCT_NTP_UNSYNCED,
		.has_ext = true,
		.ext = {
			.flags = TSCT_EXT_POLL_REQUEST,
			.node = timeline->node,
			.host = timeline->host,
		},
	};
	size_t len = tsct_ntp_build(&packet, bytes);

	return key_id ? tsct_mac_append(keys, key_id, bytes, len) : len;
}

const struct tsct_result_text tsct_answers[TSCT_ANSWER_NR] = {
	[TSCT_ANSWER_SENT] = { "sent", "answered" },
	[TSCT_ANSWER_MALFORMED] = { "malformed", "not an NTP packet" },
	[TSCT_ANSWER_NOT_REQUEST] = { "not_request",
		"not a request: another mode or version of NTP" },
	[TSCT_ANSWER_DENIED] = { "denied",
		"denied: no \"allow\" or \"child\" covers the address" },
	[TSCT_ANSWER_LIMITED] = { "limited", "rate limit exceeded" },
	[TSCT_ANSWER_UNKNOWN_KEY] = { "unknown_key",
		"unknown key: it is not in this node's key file" },
	[TSCT_ANSWER_BAD_MAC] = { "bad_mac",
		"wrong MAC; compare the key in both key files" },
	[TSCT_ANSWER_NO_MAC] = { "no_mac",
		"request without a MAC, from a child for which a key is configured here" },
	[TSCT_ANSWER_WRONG_KEY] = { "wrong_key",
		"wrong key: this key is configured for another node" },
	[TSCT_ANSWER_TOO_LONG] = { "too_long",
		"request too short: the answer would be longer than the request" },
};
