// SPDX-License-Identifier: MIT
/*
 * Random datagrams for all parsers and state machines of the protocol: for libFuzzer
 * (Makefile), and for check_fuzz_packet, which replays the corpus.
 *
 * An input is a byte with the kind of client, and then steps. A step is two bytes that
 * select the receiver of the datagram and the fields to correct first (origin, nonce,
 * MAC: a fuzzer would never guess them), two bytes of length, and the datagram.
 *
 * Invariants:
 *   - Where a key is configured, a datagram without a valid MAC changes no state of
 *     the client, the responder or the rate limit, and no session begins.
 *   - The times of an exchange are consistent. An answer is no longer than its request,
 *     has its version, and has a MAC exactly if the request has one.
 *   - Unknown clients cannot evict a member from the responder's table.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "lib/ntp/responder.h"

#define KEY	1	/* key id of the client under test, and of the child at
			 * 192.0.2.1 */
#define OTHER_KEY	2	/* key id of another node in the same key file */
#define STEPS	12
#define SERVER_NS	1800000000000000000LL

static const char keyfile[] =
	"1 AES128 HEX:2b7e151628aed2a6abf7158809cf4f3c\n"
	"2 SHA256 ASCII:some-other-key-of-the-file\n";

#define HOLDS(condition) \
	do { \
		if (!(condition)) \
			report_failure(#condition, __LINE__); \
	} while (0)

/* First byte of an input: options of the client under test */
#define WITH_KEY	0x01
#define NTP_ONLY		0x02
#define INTERLEAVED	0x04
#define SAME_HOST	0x08
#define REQUESTS_MISSING	0x10

/* First byte of a step: bits that select the receiver of the datagram */
#define TO		0x03
enum { TO_CLIENT, TO_POLL_REQUEST, TO_RESPONDER, TO_UNKNOWN };
/* First byte of a step: fields of the datagram to correct before delivery */
#define FIX_ORIGIN	0x04
#define FIX_NONCE	0x08
#define FIX_MAC		0x10
#define REQUEST_FIRST	0x20
#define FIX_RECEIVE	0x40
#define SENT_AFTER	0x80

struct world {
	struct tsct_keys *keys;
	struct tsct_ratelimit *ratelimit, *fresh_ratelimit;
	struct tsct_responder *responder, *fresh_responder;
	size_t ratelimit_size, responder_size;
	void *ratelimit_before, *responder_before;
	__u64 now;
	unsigned int nr_requests;
	struct tsct_client client;
	__u64 drawn;
	tsct_ntp_timestamp received;	/* receive time stamp in the last answer */
	__u64 last_tx;			/* tx field of the last answer to the member */
};

static struct world world;
static struct tsct_address member, unknown;	/* address of unknown clients, in
						 * 2001:db8::/32 */

static void report_failure(const char *what, int line)
{
	fprintf(stderr, "fuzz_packet:%d: does not hold: %s\n", line, what);
	abort();
}

/* ---- simulated client and responders ------------------------------------- */

static __u64 now(void *ctx)
{
	return ((struct world *)ctx)->now += 100;
}

static __s64 real_ns(void *ctx, __u64 cycles)
{
	(void)ctx;
	return SERVER_NS + (__s64)cycles;
}

static void on_request(void *ctx, const struct tsct_responder_request *req)
{
	((struct world *)ctx)->nr_requests++;
	req->reply->session = req->request.session;
	req->reply->flags |= TSCT_EXT_SESSION_OPEN;
	HOLDS(!req->below == !req->missing);
	if (req->missing)
		snprintf(req->missing, TSCT_MISSING_TEXT + 1, "%s!", req->below);
}

static const struct tsct_timeline timeline = {
	.node = 0x44, .host = 0x22, .master = 0x44, .epoch = 5, .status = 2,
	.has_params = true, .params = { .base_ns = SERVER_NS, .mult = TSCT_NS_MULT },
	.stratum = 10, .precision = -25, .refid = 0x7f7f0101,
};

static void *copy_of(const void *block, size_t size)
{
	void *copy = malloc(size);

	HOLDS(copy);
	return memcpy(copy, block, size);
}

/* Fills the responder's client table, so that each new client evicts an old one. */
static void fill_client_table(void)
{
	const struct tsct_ntp_packet packet = {
		.version = 4, .mode = TSCT_NTP_MODE_CLIENT, .has_ext = true,
		.ext = { .nonce = 1 },
	};
	__u8 bytes[TSCT_NTP_MAX], reply[TSCT_NTP_MAX];
	size_t len = tsct_ntp_build(&packet, bytes), reply_len;
	struct tsct_address from = unknown;
	__u32 ticket, i;

	for (i = 0; i < TSCT_RESPONDER_CLIENTS; i++) {
		from.ip[8] = (__u8)(1 + i / 256);
		from.ip[9] = (__u8)i;
		world.now += 10000000;
		tsct_responder_answer(world.responder, &timeline, &from, bytes,
				      len, (struct tsct_packet_time){ world.now, 0, 0 },
				      reply, &reply_len, &ticket);
		HOLDS(reply_len && ticket);
	}
}

/* Called once. The state made here is copied back before each input is executed. */
static void make_world(void)
{
	static const struct tsct_ratelimit_options limits = {
		.interval_us = 1000, .burst = 3, .leak = 2,
	};
	struct tsct_responder_ops ops = {
		.ctx = &world, .now = now, .real_ns = real_ns,
		.member_request = on_request,
	};
	FILE *from = fmemopen((char *)keyfile, sizeof(keyfile) - 1, "r");
	char why[200];

	HOLDS(from && !tsct_keys_read(from, "keys", &world.keys, why,
				      sizeof(why)));
	fclose(from);
	HOLDS(!tsct_address_parse("192.0.2.1", &member));
	HOLDS(!tsct_address_parse("2001:db8::7", &unknown));
	world.ratelimit = tsct_ratelimit_new(&limits, 7);
	HOLDS(world.ratelimit &&
	      !tsct_ratelimit_rule(world.ratelimit, "all", true));
	HOLDS(!tsct_ratelimit_rule(world.ratelimit, "2001:db8:1::/48", false));
	HOLDS(!tsct_ratelimit_child(world.ratelimit, &member, KEY));
	world.responder = tsct_responder_new(&ops);
	HOLDS(world.responder);
	tsct_responder_use(world.responder, world.keys, world.ratelimit);
	fill_client_table();
	world.ratelimit_size = malloc_usable_size(world.ratelimit);
	world.responder_size = malloc_usable_size(world.responder);
	world.fresh_ratelimit = copy_of(world.ratelimit, world.ratelimit_size);
	world.fresh_responder = copy_of(world.responder, world.responder_size);
	world.ratelimit_before = copy_of(world.ratelimit, world.ratelimit_size);
	world.responder_before = copy_of(world.responder, world.responder_size);
}

static void begin_world(unsigned int what)
{
	struct tsct_client_options options = {
		.flags = (what & NTP_ONLY ? TSCT_CLIENT_NTP_ONLY : 0) |
			(what & INTERLEAVED ? TSCT_CLIENT_INTERLEAVED : 0),
		.key_id = what & WITH_KEY ? KEY : 0,
		.node = 0x11, .host = what & SAME_HOST ? 0x22 : 0x33,
		.mult = TSCT_NS_MULT / 3,
	};

	if (!world.keys)
		make_world();
	memcpy(world.ratelimit, world.fresh_ratelimit, world.ratelimit_size);
	memcpy(world.responder, world.fresh_responder, world.responder_size);
	world.now = 1ULL << 40;
	world.nr_requests = 0;
	world.drawn = 0;
	world.received = 0;
	world.last_tx = 0;
	tsct_client_init(&world.client, &options);
	world.client.requests_missing = what & REQUESTS_MISSING;
}

/* ---- datagrams ----------------------------------------------------------- */

/* buffer size, above the limit of a datagram: longer datagrams must be rejected */
#define ROOM	(TSCT_NTP_MAX + 8)

struct datagram {
	__u8 *bytes;
	size_t len;
	__u32 key;		/* id of the key that made the datagram's MAC; 0: MAC
				 * missing or invalid */
};

static void put(struct datagram *d, size_t at, __u64 value)
{
	if (at + 8 > d->len)
		return;
	for (int i = 0; i < 8; i++)
		d->bytes[at + (size_t)i] = (__u8)(value >> (56 - 8 * i));
}

/* Replaces a datagram's MAC, or appends one after the fields that can be parsed. */
static void put_mac(struct datagram *d, __u32 key)
{
	struct tsct_ntp_packet packet;
	size_t len = d->len;

	if (tsct_ntp_parse(d->bytes, d->len, &packet, NULL))
		return;
	if (packet.has_mac)
		len = packet.mac_at;
	len = tsct_mac_append(world.keys, key, d->bytes, len);
	if (len)
		d->len = len;
}

/* Returns the key id of a datagram's valid MAC, else 0. Computes the MAC without
 * tsct_mac_check(), which is under test. */
static __u32 key_of(const struct datagram *d)
{
	__u8 made[ROOM];
	struct tsct_ntp_packet packet;

	if (tsct_ntp_parse(d->bytes, d->len, &packet, NULL) || !packet.has_mac)
		return 0;
	memcpy(made, d->bytes, packet.mac_at);
	if (tsct_mac_append(world.keys, packet.key_id, made, packet.mac_at) !=
	    d->len || memcmp(made, d->bytes, d->len))
		return 0;
	return packet.key_id;
}

/* Returns an outstanding request of the client, a different one on each call. */
static const struct tsct_client_outstanding *open_one(const struct tsct_client *client)
{
	return &client->outstanding[client->nr_outstanding ?
		world.drawn % client->nr_outstanding : 0];
}

static void correct_fields(struct datagram *d, unsigned int what)
{
	const struct tsct_client_outstanding *one = open_one(&world.client);
	bool request = (what & TO) >= TO_RESPONDER;

	if (what & FIX_ORIGIN)
		put(d, 24, request ? world.received : one->xmit);
	if (what & FIX_RECEIVE)
		put(d, 24, one->rcv);
	if (what & FIX_NONCE)
		put(d, 88, one->nonce);
	if (what & FIX_MAC)
		put_mac(d, (what & TO) == TO_UNKNOWN ? OTHER_KEY : KEY);
	d->key = key_of(d);
}

/* ---- the client ---------------------------------------------------------- */

static void send_request(void)
{
	const __u64 random[2] = { 0x5eed000000000000 + ++world.drawn,
				  0x0dd5000000000000 + world.drawn };
	struct tsct_extension ext = { .flags = TSCT_EXT_JOIN, .session = 3 };
	__u8 bytes[TSCT_NTP_MAX];

	HOLDS(tsct_client_request(&world.client, world.keys, random, &ext, world.drawn % 4, bytes));
	tsct_client_sent(&world.client, (__u32)world.client.sent,
			 (struct tsct_packet_time){ now(&world), 10, false });
}

static void check_exchange(const struct tsct_exchange *x)
{
	HOLDS((__s64)(x->t4 - x->t1) >= -(__s64)x->local_error);
	HOLDS((__s64)(x->t3 - x->t2) >= -(__s64)x->remote_error);
	HOLDS(!(x->flags & TSCT_EXCHANGE_AUTH) ==
	      !world.client.options.key_id);
}

static bool same_client(const struct tsct_client *a, const struct tsct_client *b)
{
	struct tsct_client x, y;

	/* The client counts each dropped datagram. */
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	memset(x.counts, 0, sizeof(x.counts));
	memset(y.counts, 0, sizeof(y.counts));
	return !memcmp(&x, &y, sizeof(x));
}

/* Only an answer to an outstanding request may change the state of the client. */
static void check_answers(const struct tsct_client *client,
			  const struct datagram *d)
{
	bool ntp_only = client->options.flags & TSCT_CLIENT_NTP_ONLY;
	const struct tsct_client_outstanding *one = client->outstanding;
	struct tsct_ntp_packet packet;

	HOLDS(tsct_client_waits(client));
	HOLDS(!tsct_ntp_parse(d->bytes, d->len, &packet, NULL));
	HOLDS(packet.mode == TSCT_NTP_MODE_SERVER);
	while (one < client->outstanding + client->nr_outstanding - 1 &&
	       packet.origin != one->xmit && packet.origin != one->rcv)
		one++;
	HOLDS(packet.origin == one->xmit ||
	      (ntp_only && one->rcv && packet.origin == one->rcv));
	HOLDS(ntp_only || !packet.has_ext || packet.ext.nonce == one->nonce);
}

static void to_client(const struct datagram *d, unsigned int after)
{
	struct tsct_packet_time t4 = { world.now += 64 * after, 10, after & 1 };
	struct tsct_client before;
	struct tsct_exchange x;
	enum tsct_client_result result;
	unsigned int nr;

	memcpy(&before, &world.client, sizeof(before));
	result = tsct_client_reply(&world.client, world.keys, d->bytes, d->len,
				   t4, SERVER_NS);
	nr = tsct_client_complete(&world.client);
	HOLDS(result < TSCT_CLIENT_NR && *tsct_client_results[result].text);
	HOLDS(nr <= 2 && (!nr || result == TSCT_CLIENT_OK));
	while (tsct_client_next(&world.client, &x))
		check_exchange(&x);
	if (before.options.key_id && d->key != KEY)
		HOLDS(result != TSCT_CLIENT_OK &&
		      same_client(&before, &world.client));
	if (!same_client(&before, &world.client))
		check_answers(&before, d);
}

static void to_poll_request(const struct datagram *d, unsigned int after)
{
	struct tsct_client before;
	const __u64 now_us = world.now + after;
	__u64 at_us;
	bool requested;

	memcpy(&before, &world.client, sizeof(before));
	requested = tsct_client_poll_requested(&world.client, world.keys,
					       d->bytes, d->len,
				    now_us, &at_us);
	HOLDS(!requested || !before.poll_requested ||
	      at_us == before.poll_request_us ||
	      at_us - before.poll_request_us >= TSCT_POLL_REQUEST_US);
	if (!requested || (before.options.key_id && d->key != KEY))
		HOLDS(!requested && same_client(&before, &world.client));
}

/* ---- the responder ------------------------------------------------------- */

static void check_answer(const struct datagram *d, const __u8 *reply, size_t len)
{
	struct tsct_ntp_packet request, got;
	const char *why;

	HOLDS(len <= d->len);
	HOLDS(!tsct_ntp_parse(reply, len, &got, &why) && !*why);
	HOLDS(!tsct_ntp_parse(d->bytes, d->len, &request, NULL));
	HOLDS(got.mode == TSCT_NTP_MODE_SERVER);
	HOLDS(got.version == request.version);
	HOLDS(got.has_ext == request.has_ext);
	HOLDS(got.has_missing == request.has_missing);
	HOLDS(got.has_mac == request.has_mac);
	HOLDS(!got.has_mac || (got.key_id == request.key_id &&
			       !tsct_mac_check(world.keys, reply, len, &got)));
	HOLDS(!got.has_ext || (got.ext.flags & TSCT_EXT_REPLY &&
			       got.ext.nonce == request.ext.nonce));
	world.received = got.receive;
}

/* True if the state of the responder changed in its counters only */
static bool same_responder(void)
{
	const __u64 *counts = tsct_responder_counts(world.responder);
	size_t at = (size_t)((const char *)counts -
			     (const char *)world.responder);

	memcpy((char *)world.responder_before + at, counts,
	       TSCT_ANSWER_NR * sizeof(*counts));
	return !memcmp(world.responder_before, world.responder,
		       world.responder_size);
}

static bool answer(const struct datagram *d, const struct tsct_address *from,
		   unsigned int after, __u8 *reply, size_t *len)
{
	struct tsct_packet_time rx = { world.now += 64 * after, 10, true };
	enum tsct_answer result;
	__u32 ticket = 99;

	result = tsct_responder_answer(world.responder, &timeline, from,
				       d->bytes, d->len, rx, reply, len,
				       &ticket);
	HOLDS(result < TSCT_ANSWER_NR && *tsct_answers[result].text);
	HOLDS(!*len == (result != TSCT_ANSWER_SENT));
	HOLDS(*len || !ticket);
	if (*len)
		check_answer(d, reply, *len);
	if (*len && after & 1)
		tsct_responder_sent(world.responder, ticket,
				    (struct tsct_packet_time){ now(&world), 5, true });
	return *len;
}

/* Delivers the datagram from the address of a child with a configured key. */
static void to_responder(const struct datagram *d, unsigned int after)
{
	unsigned int requests_before = world.nr_requests;
	__u8 reply[TSCT_NTP_MAX];
	size_t len;

	memcpy(world.ratelimit_before, world.ratelimit, world.ratelimit_size);
	memcpy(world.responder_before, world.responder, world.responder_size);
	answer(d, &member, after, reply, &len);
	if (d->key == KEY)
		return;
	HOLDS(!len && world.nr_requests == requests_before);
	HOLDS(!memcmp(world.ratelimit_before, world.ratelimit,
		      world.ratelimit_size));
	HOLDS(same_responder());
}

/* Sends a datagram from the member's address. Time advances first, so that the rate
 * limit has a token for it. */
static bool member_sends(const struct datagram *d, __u8 *reply, size_t *len)
{
	world.now += 2000000;
	return answer(d, &member, 0x101, reply, len);
}

/* Sends a request of the member with the tx field of the previous answer, as clients
 * do. Returns the extension field of the new answer. */
static struct tsct_extension member_requests(__u64 nonce, struct datagram *d)
{
	struct tsct_ntp_packet packet = {
		.version = 4, .mode = TSCT_NTP_MODE_CLIENT, .transmit = nonce,
		.has_ext = true,
		.ext = { .node = 0x55, .nonce = nonce, .tx = world.last_tx },
	};
	__u8 reply[TSCT_NTP_MAX];
	bool answered;
	size_t len;

	d->key = KEY;
	d->len = tsct_ntp_build(&packet, d->bytes);
	d->len = tsct_mac_append(world.keys, KEY, d->bytes, d->len);
	answered = member_sends(d, reply, &len);
	HOLDS(answered);
	HOLDS(!tsct_ntp_parse(reply, len, &packet, NULL));
	world.last_tx = packet.ext.tx;
	return packet.ext;
}

/*
 * An unknown client's datagram arrives between two requests of a member. The member's
 * second answer must still have the transmit time of the first. A MAC made with another
 * node's key is invalid.
 */
static void unknown_client_sends(const struct datagram *d, unsigned int after)
{
	struct tsct_address from = unknown;
	unsigned int requests_before = world.nr_requests;
	__u8 reply[TSCT_NTP_MAX];
	size_t len;

	from.ip[5] = after & 2 ? 1 : 0;		/* an address that the ACL denies */
	from.ip[14] = (__u8)after;
	answer(d, &from, after, reply, &len);
	HOLDS(!len || !from.ip[5]);
	HOLDS(world.nr_requests == requests_before || d->key == OTHER_KEY);
	HOLDS(!len || d->key != KEY);
}

static void to_unknown(const struct datagram *d, unsigned int after)
{
	__u64 nonce = 0xfeed000000000000 + 4 * ++world.drawn;
	__u8 bytes[2][TSCT_NTP_MAX], reply[TSCT_NTP_MAX];
	struct datagram first = { .bytes = bytes[0] };
	struct datagram later = { .bytes = bytes[1] };
	unsigned int requests_before;
	struct tsct_extension ext;
	size_t len;

	/* In any state of the responder, the member is verified after two requests. */
	member_requests(nonce, &first);
	member_requests(nonce + 1, &later);
	unknown_client_sends(d, after);
	ext = member_requests(nonce + 2, &later);
	HOLDS(ext.flags & TSCT_EXT_TX_KERNEL && ext.prev_nonce == nonce + 1);
	/* A replayed request has no effect. */
	requests_before = world.nr_requests;
	member_sends(after & 4 ? &first : &later, reply, &len);
	HOLDS(world.nr_requests == requests_before);
}

/* ---- steps of an input --------------------------------------------------- */

/* Delivers a heap copy of the datagram, so that the sanitizer detects a read beyond its
 * end. */
static void deliver(const struct datagram *d, unsigned int to,
		    unsigned int after)
{
	void *bytes = malloc(d->len + 1);
	struct datagram exact = *d;

	HOLDS(bytes);
	exact.bytes = memcpy((char *)bytes + 1, d->bytes, d->len);
	switch (to) {
	case TO_CLIENT: to_client(&exact, after); break;
	case TO_POLL_REQUEST: to_poll_request(&exact, after); break;
	case TO_RESPONDER: to_responder(&exact, after); break;
	case TO_UNKNOWN: to_unknown(&exact, after); break;
	}
	free(bytes);
}

/* A datagram that is accepted with its valid MAC must be rejected without a MAC, with
 * another key's MAC, with a crypto-NAK, and with one wrong bit in the MAC. */
static void forge(const struct datagram *d, unsigned int to, unsigned int after)
{
	struct tsct_ntp_packet packet;
	struct datagram forged;
	__u8 bytes[ROOM];

	HOLDS(!tsct_ntp_parse(d->bytes, d->len, &packet, NULL));
	forged = (struct datagram){ .bytes = bytes, .len = packet.mac_at };
	memcpy(bytes, d->bytes, d->len);
	deliver(&forged, to, after);
	forged.len = tsct_mac_append(world.keys, OTHER_KEY, bytes, packet.mac_at);
	forged.key = OTHER_KEY;
	if (forged.len)
		deliver(&forged, to, after);
	memset(bytes + packet.mac_at, 0, 4);
	forged.len = packet.mac_at + 4;
	forged.key = 0;
	deliver(&forged, to, after);
	memcpy(bytes, d->bytes, d->len);
	bytes[d->len - 1 - after % packet.mac_len] ^= 0x10;
	forged.len = d->len;
	deliver(&forged, to, after);
}

/* Executes the step at offset @at. Returns the step's size; 0: end of the input. */
static size_t step(const __u8 *at, size_t size)
{
	unsigned int to = size ? at[0] & TO : 0;
	__u8 bytes[ROOM];
	struct datagram d = { .bytes = bytes };

	if (size < 4)
		return 0;
	d.len = ((size_t)at[2] << 8 | at[3]) % ROOM;
	if (d.len > size - 4)
		d.len = size - 4;
	memcpy(bytes, at + 4, d.len);
	size = 4 + d.len;
	if (at[0] & REQUEST_FIRST)
		send_request();
	correct_fields(&d, at[0]);
	if (d.key == KEY && to != TO_UNKNOWN)
		forge(&d, to, at[1]);
	deliver(&d, to, at[1]);
	if (at[1] == 255) {
		tsct_client_disrupt(&world.client);
		tsct_responder_disrupt(world.responder);
	}
	if (at[0] & SENT_AFTER)
		tsct_client_sent(&world.client, (__u32)world.client.sent,
				 (struct tsct_packet_time)
				 { world.now - 32 * at[1], 5, true });
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tsct_exchange x;
	size_t at = 1, took;

	if (!size)
		return 0;
	begin_world(bytes[0]);
	for (int i = 0; i < STEPS; i++) {
		took = step(bytes + at, size - at);
		if (!took)
			break;
		at += took;
	}
	tsct_client_flush(&world.client);
	if (tsct_client_next(&world.client, &x))
		check_exchange(&x);
	return 0;
}
