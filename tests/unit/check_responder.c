// SPDX-License-Identifier: MIT
/*
 * The answering side: whom it answers what, that an answer is never longer than
 * its request and has no byte that nobody set, and what it remembers of whom.
 */
#include "suite.h"
#include "sync/bytes.h"
#include "sync/responder.h"
#include "talk.h"

static struct world {
	struct tsct_responder *responder;
	struct tsct_guard *guard;
	struct tsct_keys *keys;
	struct tsct_timeline timeline;
	__u64 now;
	unsigned int asked;
	struct tsct_ask last;
	/* The last answer */
	struct tsct_ntp_packet reply;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len;
	__u32 ticket;
} w;

static __u64 now(void *ctx)
{
	(void)ctx;
	return w.now++;
}

static __s64 real_ns(void *ctx, __u64 ticks)
{
	(void)ctx;
	return NEAR_NS + (__s64)ticks;
}

static void asked(void *ctx, const struct tsct_ask *ask)
{
	(void)ctx;
	w.asked++;
	w.last = *ask;
	ask->reply->session = 5;
	ask->reply->turn_us = 100;
	ask->reply->flags |= TSCT_EXT_SESSION_OPEN;
	if (ask->missing)
		strcpy(ask->missing, !strcmp(ask->below, "x") ? "x, y" : "?");
}

/* tx of the last answer to whoever it is, by address and key */
static __u64 heard[8][1 << 20];

static __u64 *heard_by(const struct tsct_address *from, __u32 key_id)
{
	return &heard[key_id & 7][((unsigned int)from->ip[13] & 15) << 16 |
				  (unsigned int)from->ip[14] << 8 | from->ip[15]];
}

static void setup(void)
{
	static const struct tsct_responder_ops ops = {
		.now = now, .real_ns = real_ns, .asked = asked,
	};
	static const struct tsct_guard_options no_limit;

	memset(&w, 0, sizeof(w));
	w.now = 1000;
	w.responder = tsct_responder_new(&ops);
	w.guard = tsct_guard_new(&no_limit, 1);
	ck_assert(w.responder && w.guard);
	ck_assert_int_eq(tsct_guard_rule(w.guard, "10.0.0.0/8", true), 0);
	tsct_responder_use(w.responder, NULL, w.guard);
	w.timeline = (struct tsct_timeline) {
		.node = MASTER, .host = MASTER_HOST, .master = MASTER,
		.epoch = 3, .status = TSCT_STATUS_SYNCHRONIZED,
		.has_line = true, .line = a_line(), .stratum = 10,
		.precision = -25, .refid = 0x7f7f0101, .root_delay = 1,
		.root_dispersion = 2, .reference = 77,
	};
}

static void teardown(void)
{
	tsct_responder_free(w.responder);
	tsct_guard_free(w.guard);
	tsct_keys_free(w.keys);
}

static void use_keys(void)
{
	w.keys = keys_of(KEY_5 KEY_6 KEY_7);
	tsct_responder_use(w.responder, w.keys, w.guard);
}

static struct tsct_address address(const char *text)
{
	struct tsct_address a = { .port = 123 };

	ck_assert_int_eq(tsct_address_parse(text, &a), 0);
	return a;
}

static enum tsct_answer give_bytes(const struct tsct_address *from,
				   const __u8 *bytes, size_t len)
{
	struct tsct_stamp rx = { .ticks = w.now, .error = 3, .kernel = true };
	enum tsct_answer answer;
	__u64 counts[TSCT_ANSWER_NR];
	__u8 *copy = malloc(len ? len : 1);
	int i;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, len);
	memcpy(counts, tsct_responder_counts(w.responder), sizeof(counts));
	memset(w.bytes, 0xa5, sizeof(w.bytes));
	w.now += 100;
	answer = tsct_responder_answer(w.responder, &w.timeline, from, copy,
				       len, rx, w.bytes, &w.len, &w.ticket);
	free(copy);
	ck_assert_uint_le(w.len, len);
	ck_assert_int_eq(answer == TSCT_ANSWER_SENT, w.len != 0);
	for (i = 0; i < TSCT_ANSWER_NR; i++)
		ck_assert_uint_eq(tsct_responder_counts(w.responder)[i],
				  counts[i] + (i == (int)answer));
	if (w.len)
		ck_assert_int_eq(tsct_ntp_parse(w.bytes, w.len, &w.reply,
						NULL), 0);
	return answer;
}

/* As it is, though it be a recording */
static enum tsct_answer give_again(const char *from,
				   const struct tsct_ntp_packet *p,
				   __u32 key_id)
{
	struct tsct_address at = address(from);
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = tsct_ntp_build(p, bytes);

	if (key_id) {
		len = tsct_mac_append(w.keys, key_id, bytes, len);
		ck_assert_uint_gt(len, 0);
	}
	return give_bytes(&at, bytes, len);
}

/* By somebody who heard our last answer */
static enum tsct_answer give(const char *from, struct tsct_ntp_packet *p,
			     __u32 key_id)
{
	struct tsct_address at = address(from);
	__u64 *tx = heard_by(&at, key_id);
	enum tsct_answer answer;

	p->ext.tx = *tx;
	answer = give_again(from, p, key_id);
	if (!answer && w.reply.has_ext)
		*tx = w.reply.ext.tx;
	return answer;
}

static struct tsct_ntp_packet request(bool field)
{
	struct tsct_ntp_packet p;

	memset(&p, 0, sizeof(p));
	p.version = 4;
	p.mode = TSCT_NTP_MODE_CLIENT;
	p.poll = 6;
	p.transmit = any64() | 1;
	p.has_ext = field;
	p.ext.node = CHILD;
	p.ext.host = CHILD_HOST;
	p.ext.nonce = any64() | 1;
	return p;
}

static void sent(__u32 ticket, __u64 ticks, __u32 error, bool kernel)
{
	tsct_responder_sent(w.responder, ticket, (struct tsct_stamp) {
		.ticks = ticks, .error = error, .kernel = kernel });
}

/* ---- answers ------------------------------------------------------------- */

START_TEST(plain)
{
	struct tsct_ntp_packet p = request(false);
	int version;

	for (version = 1; version < 5; version++) {
		p.version = (__u8)version;
		ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.len, TSCT_NTP_HEADER);
		ck_assert_uint_eq(w.reply.version, (unsigned int)version);
		ck_assert_uint_eq(w.reply.mode, TSCT_NTP_MODE_SERVER);
		ck_assert_uint_eq(w.reply.origin, p.transmit);
		ck_assert_uint_eq(w.reply.stratum, 10);
		ck_assert_int_eq(w.reply.poll, 6);
		ck_assert_int_eq(w.reply.precision, -25);
		ck_assert_uint_eq(w.reply.refid, 0x7f7f0101);
		ck_assert_uint_eq(w.reply.reference, 77);
		ck_assert_uint_eq(w.reply.root_delay, 1);
		ck_assert_uint_eq(w.reply.root_dispersion, 2);
		ck_assert(w.reply.transmit > w.reply.receive);
	}
	ck_assert_uint_eq(w.asked, 0);
	w.timeline.stratum = 16;
	w.timeline.leap = TSCT_NTP_UNSYNCED;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.stratum, 0);
	ck_assert_uint_eq(w.reply.leap, TSCT_NTP_UNSYNCED);
}
END_TEST

START_TEST(field)
{
	struct tsct_ntp_packet p = request(true);

	p.ext.flags = TSCT_EXT_JOIN;
	p.ext.session = 5;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE);
	ck_assert(w.reply.has_ext);
	ck_assert_uint_eq(w.reply.ext.flags, TSCT_EXT_REPLY | TSCT_EXT_LINE |
			  TSCT_EXT_RX_KERNEL | TSCT_EXT_SESSION_OPEN);
	ck_assert_uint_eq(w.reply.ext.nonce, p.ext.nonce);
	ck_assert_uint_eq(w.reply.ext.node, MASTER);
	ck_assert_uint_eq(w.reply.ext.host, MASTER_HOST);
	ck_assert_uint_eq(w.reply.ext.master, MASTER);
	ck_assert_uint_eq(w.reply.ext.epoch, 3);
	ck_assert_uint_eq(w.reply.ext.session, 5);
	ck_assert_uint_eq(w.reply.ext.rx_error, 3);
	ck_assert_uint_ge(w.reply.ext.tx, w.reply.ext.rx);
	ck_assert_uint_eq(w.reply.ext.line.mult, MULT_31);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
	ck_assert_uint_eq(w.asked, 1);
	ck_assert_uint_eq(w.last.request.session, 5);
	ck_assert_uint_eq(w.last.key_id, 0);
	ck_assert(!w.last.trusted);
	w.timeline.has_line = false;
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert(!(w.reply.ext.flags & TSCT_EXT_LINE));
	ck_assert_uint_eq(w.reply.ext.line.mult, 0);
}
END_TEST

/* Who is missing is told to who asks, and has made room for it. */
START_TEST(missing)
{
	struct tsct_ntp_packet p = request(true);

	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert(!w.reply.has_missing);
	ck_assert_ptr_null(w.last.below);
	p = request(true);
	p.has_missing = true;
	strcpy(p.missing, "x");
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE +
			  TSCT_MISSING_SIZE);
	ck_assert(w.reply.has_missing);
	ck_assert_str_eq(w.reply.missing, "x, y");
	/* The same once more: nobody is asked */
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert(w.reply.has_missing && !*w.reply.missing);
}
END_TEST

START_TEST(no_requests)
{
	struct tsct_ntp_packet p;
	struct tsct_address from = address("10.0.0.1");
	__u8 bytes[TSCT_NTP_MAX];
	int mode, version;

	for (mode = 0; mode < 8; mode++) {
		for (version = 0; version < 8; version++) {
			p = request(version == 4);
			p.mode = (__u8)mode;
			p.version = (__u8)version;
			if (mode == 3 && version && version < 5)
				continue;
			ck_assert_int_eq(give("10.0.0.1", &p, 0),
					 TSCT_ANSWER_NOT_REQUEST);
		}
	}
	p = request(true);
	p.ext.flags = TSCT_EXT_REPLY;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_NOT_REQUEST);
	p.ext.flags = TSCT_EXT_HINT;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_NOT_REQUEST);
	memset(bytes, 0x23, sizeof(bytes));
	ck_assert_int_eq(give_bytes(&from, bytes, 0), TSCT_ANSWER_MALFORMED);
	ck_assert_int_eq(give_bytes(&from, bytes, 47), TSCT_ANSWER_MALFORMED);
	ck_assert_int_eq(give_bytes(&from, bytes, 50), TSCT_ANSWER_MALFORMED);
	ck_assert_uint_eq(w.asked, 0);
}
END_TEST

START_TEST(whom)
{
	static const struct tsct_guard_options tight = {
		.interval_us = 1000000, .burst = 2,
	};
	struct tsct_ntp_packet p = request(true);

	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_DENIED);
	ck_assert_int_eq(give("fd00::1", &p, 0), TSCT_ANSWER_DENIED);
	tsct_responder_use(w.responder, NULL, NULL);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_DENIED);
	tsct_guard_free(w.guard);
	w.guard = tsct_guard_new(&tight, 1);
	tsct_guard_rule(w.guard, "all", true);
	tsct_responder_use(w.responder, NULL, w.guard);
	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_LIMITED);
	w.now += 1000000000;
	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_int_eq(give("11.0.0.1", &p, 0), TSCT_ANSWER_LIMITED);
}
END_TEST

/* ---- keys ---------------------------------------------------------------- */

START_TEST(keys)
{
	struct tsct_address at;
	struct tsct_ntp_packet p = request(true);
	__u8 bytes[TSCT_NTP_MAX];
	size_t len, i;

	use_keys();
	at = address("10.0.0.5");
	ck_assert_int_eq(tsct_guard_child(w.guard, &at, 5), 0);
	at = address("10.0.0.6");
	ck_assert_int_eq(tsct_guard_child(w.guard, &at, 0), 0);
	ck_assert_int_eq(give("10.0.0.5", &p, 5), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE + 20);
	ck_assert_uint_eq(w.reply.key_id, 5);
	ck_assert_int_eq(tsct_mac_check(w.keys, w.bytes, w.len, &w.reply), 0);
	ck_assert_uint_eq(w.asked, 1);
	ck_assert_uint_eq(w.last.key_id, 5);
	ck_assert(w.last.trusted);
	ck_assert_int_eq(give("10.0.0.5", &p, 0), TSCT_ANSWER_NO_MAC);
	ck_assert_int_eq(give("10.0.0.5", &p, 6), TSCT_ANSWER_WRONG_KEY);
	ck_assert_int_eq(give("10.0.0.7", &p, 5), TSCT_ANSWER_WRONG_KEY);
	ck_assert_uint_eq(w.asked, 1);
	/* A child without a key, and one whose key is nobody's in particular */
	p = request(true);
	ck_assert_int_eq(give("10.0.0.6", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 2);
	ck_assert(w.last.trusted);
	ck_assert_int_eq(give("10.0.0.7", &p, 6), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 3);
	/* A stranger is told the time, and asks in vain for anything else. */
	ck_assert_int_eq(give("10.0.0.7", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 3);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	p.version = 3;
	p.has_ext = false;
	ck_assert_int_eq(give("10.0.0.7", &p, 7), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + 4 + 32);
	/* Each bit */
	at = address("10.0.0.5");
	p = request(true);
	len = tsct_mac_append(w.keys, 5, bytes, tsct_ntp_build(&p, bytes));
	for (i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		ck_assert_int_ne(give_bytes(&at, bytes, len),
				 TSCT_ANSWER_SENT);
		bytes[i / 8] ^= 1 << i % 8;
	}
	bytes[len - 1] ^= 1;
	ck_assert_int_eq(give_bytes(&at, bytes, len), TSCT_ANSWER_BAD_MAC);
	put32(bytes + len - 20, 99);
	ck_assert_int_eq(give_bytes(&at, bytes, len), TSCT_ANSWER_UNKNOWN_KEY);
	/* A crypto-NAK is nobody's key. */
	put32(bytes + len - 20, 0);
	ck_assert_int_eq(give_bytes(&at, bytes, len - 16),
			 TSCT_ANSWER_UNKNOWN_KEY);
	ck_assert_uint_eq(w.asked, 3);
}
END_TEST

/* ---- what the kernel said of the answer before --------------------------- */

START_TEST(next_answer_tells)
{
	struct tsct_ntp_packet p = request(true), q;
	__u32 ticket;
	__u64 tx, nonce;

	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	ck_assert_uint_ne(w.ticket, 0);
	ticket = w.ticket, tx = w.reply.ext.tx, nonce = p.ext.nonce;
	sent(ticket, tx + 40, 9, false);	/* a program's: may be too late */
	sent(ticket, tx - 10, 9, true);		/* before it was made */
	sent(ticket ^ 1024, tx + 40, 9, true);
	sent(ticket ^ 1, tx + 40, 9, true);
	sent(0, tx + 40, 9, true);
	sent(ticket, tx + 50, 9, true);
	sent(ticket, tx + 60, 9, true);		/* once is enough */
	/* Another node there; the same elsewhere: of another */
	q = request(true);
	q.ext.node = CHILD + 1;
	ck_assert_int_eq(give_again("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	q = request(true);
	ck_assert_int_eq(give("10.0.0.2", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, nonce);
	ck_assert_uint_eq(w.reply.ext.prev_tx, tx + 50);
	ck_assert_uint_eq(w.reply.ext.rx_error, 9);
	ck_assert(w.reply.ext.flags & TSCT_EXT_TX_KERNEL);
	/* That of the one before comes late: no longer of interest */
	sent(ticket, tx + 70, 9, true);
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	ck_assert_uint_eq(w.reply.ext.prev_tx, 0);
	ck_assert(!(w.reply.ext.flags & TSCT_EXT_TX_KERNEL));
	/* Our counter was disrupted */
	sent(w.ticket, w.now + 50, 9, true);
	tsct_responder_disrupt(w.responder);
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
}
END_TEST

/* Twice the same request: twice the same answer, and it is asked once. One from
 * before is told nothing but the time. */
START_TEST(requests_again)
{
	struct tsct_ntp_packet p[3], q;
	struct tsct_ext said;
	__u32 ticket;
	int i, j;

	for (i = 0; i < 3; i++) {
		p[i] = request(true);
		ck_assert_int_eq(give("10.0.0.1", &p[i], 0), TSCT_ANSWER_SENT);
		said = w.reply.ext;
		ticket = w.ticket;
		for (j = 0; j < 2; j++) {
			ck_assert_int_eq(give_again("10.0.0.1", &p[i], 0),
					 TSCT_ANSWER_SENT);
			ck_assert_mem_eq(&w.reply.ext, &said, sizeof(said));
			ck_assert_uint_eq(w.ticket, 0);
		}
		ck_assert_uint_eq(w.asked, 1 + (unsigned int)i);
		ck_assert_uint_eq(said.session, 5);
		ck_assert_uint_eq(said.prev_nonce, i ? p[i - 1].ext.nonce : 0);
		sent(ticket, w.now + 10, 0, true);
	}
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(give_again("10.0.0.1", &p[i], 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.nonce, p[i].ext.nonce);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
		ck_assert_uint_eq(w.ticket, 0);
	}
	ck_assert_uint_eq(w.asked, 3);
	q = request(true);
	ck_assert_int_eq(give("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, p[2].ext.nonce);
	ck_assert_uint_eq(w.asked, 4);
}
END_TEST

/* No request of ours has none: the time, and nothing is remembered. */
START_TEST(no_nonce)
{
	struct tsct_ntp_packet p;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		p = request(true);
		p.ext.nonce = 0;
		ck_assert_int_eq(give_again("10.0.0.1", &p, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.nonce, 0);
		ck_assert_uint_eq(w.reply.ext.node, MASTER);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.ticket, 0);
		ck_assert_uint_eq(w.asked, i);
		p = request(true);
		ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.asked, i + 1);
	}
}
END_TEST

/* All that a child ever sent, with a right MAC, sent again by somebody: the time is
 * no secret, but nothing else comes of it, and the child goes on as before. */
START_TEST(recordings)
{
	struct tsct_ntp_packet p[60], q;
	unsigned int was, i, told = 0;

	use_keys();
	for (i = 0; i < 60; i++) {
		p[i] = request(true);
		ck_assert_int_eq(give("10.0.0.1", &p[i], 5), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.asked, i + 1);
		told += w.reply.ext.prev_nonce != 0;
		sent(w.ticket, w.now + 5, 0, true);
		was = w.asked;
		q = p[any(i + 1)];
		if (any(2)) {
			ck_assert_int_eq(give_again("10.0.0.1", &q, 5),
					 TSCT_ANSWER_SENT);
			ck_assert_uint_eq(w.ticket, 0);
		}
		ck_assert_uint_eq(w.asked, was);
	}
	ck_assert_uint_eq(told, 59);
	for (i = 0; i < 60; i++) {
		ck_assert_int_eq(give_again("10.0.0.1", &p[i], 5),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.session, i < 59 ? 0 : 5);
	}
	ck_assert_uint_eq(w.asked, 60);
	q = request(true);
	ck_assert_int_eq(give("10.0.0.1", &q, 5), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 61);
}
END_TEST

/* It forgot what it had heard: it asks twice, and is believed. */
START_TEST(restarted)
{
	struct tsct_ntp_packet p, first, second;
	struct tsct_address at = address("10.0.0.1");
	__u32 ticket = 0;
	__u64 tx = 0;
	int i;

	for (i = 0; i < 20; i++) {
		p = request(true);
		ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		first = request(true);	/* from a life before, perhaps */
		ticket = w.ticket;
		tx = w.now;
		ck_assert_int_eq(give_again("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.asked, (unsigned int)i + 1);
		/* No harm to what the kernel says now */
		sent(ticket, tx, 0, true);
	}
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_tx, tx);
	ck_assert_uint_eq(w.asked, 21);
	w.asked = 20;
	sent(w.ticket, w.now, 0, true);
	*heard_by(&at, 0) = 0;
	first = request(true);
	ck_assert_int_eq(give("10.0.0.1", &first, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 20);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	ck_assert_uint_eq(w.ticket, 0);
	ck_assert_int_eq(give_again("10.0.0.1", &first, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 20);
	*heard_by(&at, 0) = w.reply.ext.tx;
	second = request(true);
	ck_assert_int_eq(give("10.0.0.1", &second, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.asked, 21);
	/* What the kernel said is of another answer than that to the first. */
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	for (i = 0; i < 20; i++) {
		p = request(true);
		ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.asked, 22 + (unsigned int)i);
		ck_assert_int_eq(give_again("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_int_eq(give_again("10.0.0.1", &second, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.asked, 22 + (unsigned int)i);
	}
	/* As many answers in a row as we remember got lost. */
	p = request(true);
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	for (i = 0; i < 8; i++) {
		first = request(true);
		first.ext.tx = *heard_by(&at, 0);
		ck_assert_int_eq(give_again("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
	}
	ck_assert_uint_eq(w.asked, 42 + 8);
}
END_TEST

START_TEST(interleaves)
{
	struct tsct_ntp_packet p = request(false), q;
	__u64 rx, tx;

	p.receive = 4711;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
	rx = w.reply.receive;
	tx = w.now + 50;
	sent(w.ticket, tx, 0, true);
	q = p;
	q.origin = rx;		/* from elsewhere */
	ck_assert_int_eq(give("10.0.0.2", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	/* Of basic mode, though it has that origin */
	q.receive = q.transmit;
	ck_assert_int_eq(give("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	q.receive = 0;
	ck_assert_int_eq(give("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	p = request(false);
	p.origin = rx;
	p.receive = 4712;
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, 4712);
	ck_assert_uint_eq(w.reply.transmit,
			  tsct_ntp_from_ns(NEAR_NS + (__s64)tx));
	ck_assert_uint_ne(w.reply.receive, rx);
	sent(w.ticket, w.now + 50, 0, true);
	/* Again: it is told once. */
	ck_assert_int_eq(give("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
}
END_TEST

/* ---- a bounded table ----------------------------------------------------- */

static __u64 remembered(const char *from, __u32 key_id)
{
	struct tsct_ntp_packet p = request(true);

	ck_assert_int_eq(give(from, &p, key_id), TSCT_ANSWER_SENT);
	return w.reply.ext.prev_nonce;
}

static void remember(const char *from, __u32 key_id)
{
	remembered(from, key_id);
	sent(w.ticket, w.now + 1000, 0, true);
}

START_TEST(strangers_push_out_strangers)
{
	char text[32];
	int i, j, kept;

	use_keys();
	for (i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "10.1.0.%d", i);
		remember(text, 5);
	}
	for (i = 0; i < 4000; i++) {
		snprintf(text, sizeof(text), "10.2.%d.%d", i / 256, i % 256);
		remember(text, 0);
	}
	/* The newest of them fill the rest. */
	for (kept = 0, j = i - 824; j < i; j++) {
		snprintf(text, sizeof(text), "10.2.%d.%d", j / 256, j % 256);
		kept += remembered(text, 0) != 0;
	}
	ck_assert_int_eq(kept, 824);
	for (i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "10.1.0.%d", i);
		ck_assert_uint_ne(remembered(text, 5), 0);
	}
	/* Members push out strangers, then the members who were silent longest; then
	 * there is no room for strangers. */
	for (i = 0; i < 1034; i++) {
		snprintf(text, sizeof(text), "10.3.%d.%d", i / 256, i % 256);
		remember(text, 5);
	}
	remember("10.9.0.1", 0);
	ck_assert_uint_eq(w.ticket, 0);
	ck_assert_uint_eq(remembered("10.9.0.1", 0), 0);
	for (kept = 0, i = 1033; i >= 10; i--) {
		snprintf(text, sizeof(text), "10.3.%d.%d", i / 256, i % 256);
		kept += remembered(text, 5) != 0;
	}
	ck_assert_int_eq(kept, 1024);
	ck_assert_uint_eq(remembered("10.3.0.9", 5), 0);
}
END_TEST

/* A ticket is of one answer, whoever has that place now. */
START_TEST(old_tickets)
{
	__u32 first, i;
	char text[32];

	remembered("10.0.0.1", 0);
	first = w.ticket;
	for (i = 0; i < 1024; i++) {
		snprintf(text, sizeof(text), "10.4.%u.%u", i / 256, i % 256);
		remembered(text, 0);
		ck_assert_uint_ne(w.ticket, first);
	}
	sent(first, w.now + 10, 0, true);
	for (i = 0; i < 1024; i++) {
		snprintf(text, sizeof(text), "10.4.%u.%u", i / 256, i % 256);
		ck_assert_uint_eq(remembered(text, 0), 0);
	}
}
END_TEST

/* ---- anything ------------------------------------------------------------ */

START_TEST(anything)
{
	struct tsct_address from = address("10.0.0.5");
	struct tsct_ntp_packet p;
	enum tsct_answer answer;
	__u8 bytes[TSCT_NTP_MAX], other[TSCT_NTP_MAX];
	unsigned int i, j, n, asked_before;
	size_t len;

	seed_with((unsigned int)_i);
	if (_i % 2) {
		use_keys();
		tsct_guard_child(w.guard, &from, 5);
	}
	for (i = 0; i < 8000; i++) {
		memset(bytes, 0, sizeof(bytes));
		p = request(any(2));
		len = tsct_ntp_build(&p, bytes);
		if (_i % 2 && any(4))
			len = tsct_mac_append(w.keys, any(8) ? 5 : 6, bytes,
					      len);
		memcpy(other, bytes, sizeof(other));
		n = any(4);
		for (j = 0; j < n; j++)
			bytes[any((unsigned int)len)] = (__u8)any(256);
		if (!any(8))
			len = any(TSCT_NTP_MAX + 1);
		asked_before = w.asked;
		answer = give_bytes(&from, bytes, len);
		/* Of a child that has a key, nothing but what it sent */
		if (_i % 2 && memcmp(bytes, other, sizeof(other))) {
			ck_assert_int_ne(answer, TSCT_ANSWER_SENT);
			ck_assert_uint_eq(w.asked, asked_before);
		}
	}
}
END_TEST

START_TEST(words)
{
	int i, j;

	for (i = 0; i < TSCT_ANSWER_NR; i++)
		for (j = 0; j < i; j++)
			ck_assert_str_ne(tsct_responder_why(i),
					 tsct_responder_why(j));
	ck_assert_str_eq(tsct_responder_why(TSCT_ANSWER_NR), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("responder");
	TCase *tcase = tcase_create("responder");

	print_seed();
	seed_with(0);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, plain);
	tcase_add_test(tcase, field);
	tcase_add_test(tcase, missing);
	tcase_add_test(tcase, no_requests);
	tcase_add_test(tcase, whom);
	tcase_add_test(tcase, keys);
	tcase_add_test(tcase, next_answer_tells);
	tcase_add_test(tcase, requests_again);
	tcase_add_test(tcase, no_nonce);
	tcase_add_test(tcase, recordings);
	tcase_add_test(tcase, restarted);
	tcase_add_test(tcase, interleaves);
	tcase_add_test(tcase, strangers_push_out_strangers);
	tcase_add_test(tcase, old_tickets);
	tcase_add_loop_test(tcase, anything, 0, 4);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
