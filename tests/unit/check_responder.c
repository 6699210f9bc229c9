// SPDX-License-Identifier: MIT
/* The responder: its answers to each client, and its client table. An answer is never
 * longer than its request, and contains no uninitialized byte. */
#include "responder_world.h"

/* ---- answers ------------------------------------------------------------- */

CASE("responder", setup, teardown);

TEST(test_ntp_answers)
{
	struct tsct_ntp_packet p = request(false);

	for (int version = 1; version < 5; version++) {
		p.version = (__u8)version;
		expect_answer("10.0.0.1", &p, 0);
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
	ck_assert_uint_eq(w.nr_requests, 0);
	w.timeline.stratum = 16;
	w.timeline.leap = TSCT_NTP_UNSYNCED;
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.reply.stratum, 0);
	ck_assert_uint_eq(w.reply.leap, TSCT_NTP_UNSYNCED);
}

TEST(test_extension_field)
{
	struct tsct_ntp_packet p = request(true);

	p.ext.flags = TSCT_EXT_JOIN;
	p.ext.session = 5;
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE);
	ck_assert(w.reply.has_ext);
	ck_assert_uint_eq(w.reply.ext.flags, TSCT_EXT_REPLY | TSCT_EXT_PARAMS |
			  TSCT_EXT_RX_KERNEL | TSCT_EXT_SESSION_OPEN);
	ck_assert_uint_eq(w.reply.ext.nonce, p.ext.nonce);
	ck_assert_uint_eq(w.reply.ext.node, MASTER);
	ck_assert_uint_eq(w.reply.ext.host, MASTER_HOST);
	ck_assert_uint_eq(w.reply.ext.master, MASTER);
	ck_assert_uint_eq(w.reply.ext.epoch, 3);
	ck_assert_uint_eq(w.reply.ext.session, 5);
	ck_assert_uint_eq(w.reply.ext.rx_error, 3);
	ck_assert_uint_ge(w.reply.ext.tx, w.reply.ext.rx);
	ck_assert_uint_eq(w.reply.ext.params.mult, MULT_31);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
	ck_assert_uint_eq(w.nr_requests, 1);
	ck_assert_uint_eq(w.last.request.session, 5);
	ck_assert_uint_eq(w.last.key_id, 0);
	ck_assert(!w.last.trusted);
	w.timeline.has_params = false;
	p = ask("10.0.0.1", 0);
	ck_assert(!(w.reply.ext.flags & TSCT_EXT_PARAMS));
	ck_assert_uint_eq(w.reply.ext.params.mult, 0);
}

/* The responder sends the names of missing nodes to clients that ask for the names and
 * reserve room for them. */
TEST(test_missing_nodes)
{
	struct tsct_ntp_packet p = request(true);

	expect_answer("10.0.0.1", &p, 0);
	ck_assert(!w.reply.has_missing);
	ck_assert_ptr_null(w.last.below);
	p = request(true);
	p.has_missing = true;
	strcpy(p.missing, "x");
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE +
			  TSCT_MISSING_SIZE);
	ck_assert(w.reply.has_missing);
	ck_assert_str_eq(w.reply.missing, "x, y");
	/* A repeated request has no second effect. */
	expect_answer("10.0.0.1", &p, 0);
	ck_assert(w.reply.has_missing && !*w.reply.missing);
}

TEST(test_ignores_non_requests)
{
	struct tsct_ntp_packet p;
	struct tsct_address from = address("10.0.0.1");
	__u8 bytes[TSCT_NTP_MAX];

	for (int mode = 0; mode < 8; mode++) {
		for (int version = 0; version < 8; version++) {
			p = request(version == 4);
			p.mode = (__u8)mode;
			p.version = (__u8)version;
			if (mode == 3 && version && version < 5)
				continue;
			ck_assert_int_eq(deliver("10.0.0.1", &p, 0),
					 TSCT_ANSWER_NOT_REQUEST);
		}
	}
	p = request(true);
	p.ext.flags = TSCT_EXT_REPLY;
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_NOT_REQUEST);
	p.ext.flags = TSCT_EXT_POLL_REQUEST;
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_NOT_REQUEST);
	memset(bytes, 0x23, sizeof(bytes));
	ck_assert_int_eq(deliver_bytes(&from, bytes, 0), TSCT_ANSWER_MALFORMED);
	ck_assert_int_eq(deliver_bytes(&from, bytes, 47), TSCT_ANSWER_MALFORMED);
	ck_assert_int_eq(deliver_bytes(&from, bytes, 50), TSCT_ANSWER_MALFORMED);
	ck_assert_uint_eq(w.nr_requests, 0);
}

TEST(test_denied_and_limited_clients)
{
	static const struct tsct_ratelimit_options tight = {
		.interval_us = 1000000, .burst = 2,
	};
	struct tsct_ntp_packet p = request(true);

	ck_assert_int_eq(deliver("11.0.0.1", &p, 0), TSCT_ANSWER_DENIED);
	ck_assert_int_eq(deliver("fd00::1", &p, 0), TSCT_ANSWER_DENIED);
	tsct_responder_use(w.responder, NULL, NULL);
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_DENIED);
	tsct_ratelimit_free(w.ratelimit);
	w.ratelimit = tsct_ratelimit_new(&tight, 1);
	tsct_ratelimit_rule(w.ratelimit, "all", true);
	tsct_responder_use(w.responder, NULL, w.ratelimit);
	expect_answer("11.0.0.1", &p, 0);
	expect_answer("11.0.0.1", &p, 0);
	ck_assert_int_eq(deliver("11.0.0.1", &p, 0), TSCT_ANSWER_LIMITED);
	w.now += 1000000000;
	expect_answer("11.0.0.1", &p, 0);
	ck_assert_int_eq(deliver("11.0.0.1", &p, 0), TSCT_ANSWER_LIMITED);
}

/* ---- keys ---------------------------------------------------------------- */

TEST(test_keys)
{
	struct tsct_address at;
	struct tsct_ntp_packet p = request(true);
	__u8 bytes[TSCT_NTP_MAX];
	size_t len, i;

	use_keys();
	at = address("10.0.0.5");
	ck_assert_int_eq(tsct_ratelimit_child(w.ratelimit, &at, 5), 0);
	at = address("10.0.0.6");
	ck_assert_int_eq(tsct_ratelimit_child(w.ratelimit, &at, 0), 0);
	expect_answer("10.0.0.5", &p, 5);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + TSCT_EXT_SIZE + 20);
	ck_assert_uint_eq(w.reply.key_id, 5);
	ck_assert_int_eq(tsct_mac_check(w.keys, w.bytes, w.len, &w.reply), 0);
	ck_assert_uint_eq(w.nr_requests, 1);
	ck_assert_uint_eq(w.last.key_id, 5);
	ck_assert(w.last.trusted);
	ck_assert_int_eq(deliver("10.0.0.5", &p, 0), TSCT_ANSWER_NO_MAC);
	ck_assert_int_eq(deliver("10.0.0.5", &p, 6), TSCT_ANSWER_WRONG_KEY);
	ck_assert_int_eq(deliver("10.0.0.7", &p, 5), TSCT_ANSWER_WRONG_KEY);
	ck_assert_uint_eq(w.nr_requests, 1);
	/* A configured child that sends no MAC, and a client with a key that is not
	 * bound to an address, are answered. */
	p = ask("10.0.0.6", 0);
	ck_assert_uint_eq(w.nr_requests, 2);
	ck_assert(w.last.trusted);
	expect_answer("10.0.0.7", &p, 6);
	ck_assert_uint_eq(w.nr_requests, 3);
	/* An unknown client gets the time, and its request has no other effect. */
	expect_answer("10.0.0.7", &p, 0);
	ck_assert_uint_eq(w.nr_requests, 3);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	p.version = 3;
	p.has_ext = false;
	expect_answer("10.0.0.7", &p, 7);
	ck_assert_uint_eq(w.len, TSCT_NTP_HEADER + 4 + 32);
	/* A request with any bit flipped gets no answer. */
	at = address("10.0.0.5");
	p = request(true);
	len = tsct_mac_append(w.keys, 5, bytes, tsct_ntp_build(&p, bytes));
	for (i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		ck_assert_int_ne(deliver_bytes(&at, bytes, len),
				 TSCT_ANSWER_SENT);
		bytes[i / 8] ^= 1 << i % 8;
	}
	bytes[len - 1] ^= 1;
	ck_assert_int_eq(deliver_bytes(&at, bytes, len), TSCT_ANSWER_BAD_MAC);
	tsct_put_be(bytes + len - 20, 99, 4);
	ck_assert_int_eq(deliver_bytes(&at, bytes, len), TSCT_ANSWER_UNKNOWN_KEY);
	/* Key id 0 marks a crypto-NAK, and is not a valid key id. */
	tsct_put_be(bytes + len - 20, 0, 4);
	ck_assert_int_eq(deliver_bytes(&at, bytes, len - 16),
			 TSCT_ANSWER_UNKNOWN_KEY);
	ck_assert_uint_eq(w.nr_requests, 3);
}

/* ---- transmit time of the previous answer -------------------------------- */

TEST(test_transmit_time_of_previous_answer)
{
	struct tsct_ntp_packet p = request(true), q;
	__u32 ticket;
	__u64 tx, nonce;

	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	ck_assert_uint_ne(w.ticket, 0);
	ticket = w.ticket, tx = w.reply.ext.tx, nonce = p.ext.nonce;
	sent(ticket, tx + 40, 9, false);	/* ignored: transmit time taken in
						 * user space, which may be late */
	/* The kernel's transmit time is ignored if it is earlier than the transmit time
	 * in the answer. */
	sent(ticket, tx - 10, 9, true);
	sent(ticket ^ 1024, tx + 40, 9, true);
	sent(ticket ^ 1, tx + 40, 9, true);
	sent(0, tx + 40, 9, true);
	sent(ticket, tx + 50, 9, true);
	sent(ticket, tx + 60, 9, true);		/* ignored: not the first transmit
						 * time reported for the answer */
	/* Another node at this address, and the same node at another address, count as
	 * separate clients. */
	q = request(true);
	q.ext.node = CHILD + 1;
	expect_answer_unchanged("10.0.0.1", &q, 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	q = ask("10.0.0.2", 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	p = ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, nonce);
	ck_assert_uint_eq(w.reply.ext.prev_tx, tx + 50);
	ck_assert_uint_eq(w.reply.ext.rx_error, 9);
	ck_assert(w.reply.ext.flags & TSCT_EXT_TX_KERNEL);
	/* A transmit time that arrives after the next answer is ignored. */
	sent(ticket, tx + 70, 9, true);
	p = ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	ck_assert_uint_eq(w.reply.ext.prev_tx, 0);
	ck_assert(!(w.reply.ext.flags & TSCT_EXT_TX_KERNEL));
	/* A disruption of the local counter discards transmit times. */
	sent(w.ticket, w.now + 50, 9, true);
	tsct_responder_disrupt(w.responder);
	p = ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
}

TEST(test_interleaved)
{
	struct tsct_ntp_packet p = request(false), q;
	__u64 rx, tx;

	p.receive = 4711;
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
	rx = w.reply.receive;
	tx = w.now + 50;
	sent(w.ticket, tx, 0, true);
	q = p;
	q.origin = rx;		/* This client sends as origin a receive time that the
				 * server sent to another client. The answer must be in
				 * basic mode. */
	expect_answer("10.0.0.2", &q, 0);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	/* Requests in basic mode whose origin happens to be a known receive time */
	q.receive = q.transmit;
	expect_answer("10.0.0.1", &q, 0);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	q.receive = 0;
	expect_answer("10.0.0.1", &q, 0);
	ck_assert_uint_eq(w.reply.origin, q.transmit);
	p = request(false);
	p.origin = rx;
	p.receive = 4712;
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.reply.origin, 4712);
	ck_assert_uint_eq(w.reply.transmit,
			  tsct_ntp_from_ns(NEAR_NS + (__s64)tx));
	ck_assert_uint_ne(w.reply.receive, rx);
	sent(w.ticket, w.now + 50, 0, true);
	/* The transmit time of an answer is sent only once, in the next answer. */
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.reply.origin, p.transmit);
}

/* ---- limits of the client table ------------------------------------------ */

static __u64 previous_nonce_of(const char *from, __u32 key_id)
{
	struct tsct_ntp_packet p = request(true);

	expect_answer(from, &p, key_id);
	return w.reply.ext.prev_nonce;
}

static void send_and_report(const char *from, __u32 key_id)
{
	previous_nonce_of(from, key_id);
	sent(w.ticket, w.now + 1000, 0, true);
}

TEST(test_eviction)
{
	int i, j, kept;

	use_keys();
	for (i = 0; i < 200; i++) {
		send_and_report(nth_address(1, i), 5);
	}
	for (i = 0; i < 4000; i++) {
		send_and_report(nth_address(2, i), 0);
	}
	/* Besides members, the table has room for the newest 824 unknown clients. */
	for (kept = 0, j = i - 824; j < i; j++) {
		kept += previous_nonce_of(nth_address(2, j), 0) != 0;
	}
	ck_assert_int_eq(kept, 824);
	for (i = 0; i < 200; i++) {
		ck_assert_uint_ne(previous_nonce_of(nth_address(1, i), 5), 0);
	}
	/* New members evict unknown clients from the table, then the oldest members.
	 * Unknown clients never evict members. */
	for (i = 0; i < 1034; i++) {
		send_and_report(nth_address(3, i), 5);
	}
	send_and_report("10.9.0.1", 0);
	ck_assert_uint_eq(w.ticket, 0);
	ck_assert_uint_eq(previous_nonce_of("10.9.0.1", 0), 0);
	for (kept = 0, i = 1033; i >= 10; i--) {
		kept += previous_nonce_of(nth_address(3, i), 5) != 0;
	}
	ck_assert_int_eq(kept, 1024);
	ck_assert_uint_eq(previous_nonce_of("10.3.0.9", 5), 0);
}

/* The kernel's transmit time of an answer is reported with a number (ticket) that
 * identifies the answer. If another client has got the table entry since, the report
 * is ignored. */
TEST(test_old_tickets)
{
	__u32 first, i;

	previous_nonce_of("10.0.0.1", 0);
	first = w.ticket;
	for (i = 0; i < 1024; i++) {
		previous_nonce_of(nth_address(4, i), 0);
		ck_assert_uint_ne(w.ticket, first);
	}
	sent(first, w.now + 10, 0, true);
	for (i = 0; i < 1024; i++) {
		ck_assert_uint_eq(previous_nonce_of(nth_address(4, i), 0), 0);
	}
}

/* ---- random input -------------------------------------------------------- */

LOOP_TEST(test_random_changes, 0, 4)
{
	struct tsct_address from = address("10.0.0.5");
	struct tsct_ntp_packet p;
	enum tsct_answer answer;
	__u8 bytes[TSCT_NTP_MAX], other[TSCT_NTP_MAX];
	unsigned int i, j, n, requests_before;
	size_t len;

	if (_i % 2) {
		use_keys();
		tsct_ratelimit_child(w.ratelimit, &from, 5);
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
		requests_before = w.nr_requests;
		answer = deliver_bytes(&from, bytes, len);
		/* Altered requests of a child with a key get no answer. */
		if (_i % 2 && memcmp(bytes, other, sizeof(other))) {
			ck_assert_int_ne(answer, TSCT_ANSWER_SENT);
			ck_assert_uint_eq(w.nr_requests, requests_before);
		}
	}
}

TEST(test_result_texts)
{
	for (int i = 0; i < TSCT_ANSWER_NR; i++)
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(tsct_answers[i].text,
					 tsct_answers[j].text);
}

/* ---- replays ----------------------------------------------------------- */

/* The responder with replayed requests, and with requests that do not repeat the tx of
 * one of its answers; conditions under which it accepts such requests. */

/* A request that is repeated gets the same answer again, without a second effect. A
 * replay of an earlier request gets the time, and has no other effect. */
TEST(test_repeated_and_replayed_requests)
{
	struct tsct_ntp_packet p[3];
	struct tsct_extension first_answer;
	__u32 ticket;

	for (int i = 0; i < 3; i++) {
		p[i] = ask("10.0.0.1", 0);
		first_answer = w.reply.ext;
		ticket = w.ticket;
		for (int j = 0; j < 2; j++) {
			expect_answer_unchanged("10.0.0.1", &p[i], 0);
			ck_assert_mem_eq(&w.reply.ext, &first_answer,
					 sizeof(first_answer));
			ck_assert_uint_eq(w.ticket, 0);
		}
		ck_assert_uint_eq(w.nr_requests, 1 + (unsigned int)i);
		ck_assert_uint_eq(first_answer.session, 5);
		ck_assert_uint_eq(first_answer.prev_nonce,
				  i ? p[i - 1].ext.nonce : 0);
		sent(ticket, w.now + 10, 0, true);
	}
	for (int i = 0; i < 2; i++) {
		expect_answer_unchanged("10.0.0.1", &p[i], 0);
		ck_assert_uint_eq(w.reply.ext.nonce, p[i].ext.nonce);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
		ck_assert_uint_eq(w.ticket, 0);
	}
	ck_assert_uint_eq(w.nr_requests, 3);
	ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, p[2].ext.nonce);
	ck_assert_uint_eq(w.nr_requests, 4);
}

/* A request is proven if it repeats the tx of an answer to that very client. */
TEST(test_proven_requests)
{
	struct tsct_ntp_packet p = request(true), other;

	p.poll = 9;
	expect_answer("10.0.0.1", &p, 0);
	ck_assert_uint_eq(w.nr_requests, 1);
	ck_assert(!w.last.proven);
	ck_assert_int_eq(w.last.poll, 9);
	p = ask("10.0.0.1", 0);
	ck_assert(w.last.proven);
	/* Other clients are not proven by it: neither another address, nor a node id. */
	other = request(true);
	other.ext.tx = p.ext.tx;
	expect_answer_unchanged("10.0.0.2", &other, 0);
	ck_assert_uint_eq(w.nr_requests, 3);
	ck_assert(!w.last.proven);
	other.ext.node++;
	expect_answer_unchanged("10.0.0.1", &other, 0);
	ck_assert_uint_eq(w.nr_requests, 4);
	ck_assert(!w.last.proven);
	/* A guess */
	other.ext.nonce++;
	other.ext.tx = w.now;
	expect_answer_unchanged("10.0.0.2", &other, 0);
	ck_assert(!w.last.proven);
}

/* A request with nonce 0, which our clients never send, gets the time and is not
 * stored. */
TEST(test_zero_nonce)
{
	struct tsct_ntp_packet p;

	for (unsigned int i = 0; i < 3; i++) {
		p = request(true);
		p.ext.nonce = 0;
		expect_answer_unchanged("10.0.0.1", &p, 0);
		ck_assert_uint_eq(w.reply.ext.nonce, 0);
		ck_assert_uint_eq(w.reply.ext.node, MASTER);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.ticket, 0);
		ck_assert_uint_eq(w.nr_requests, i);
		p = ask("10.0.0.1", 0);
		ck_assert_uint_eq(w.nr_requests, i + 1);
	}
}

/* An attacker replays requests of a child with their valid MAC. The attacker gets the
 * time. The replays have no other effect, and do not disturb the child. */
TEST(test_attacker_replays)
{
	struct tsct_ntp_packet p[60], q;
	unsigned int was, i, nr_reported = 0;

	use_keys();
	for (i = 0; i < 60; i++) {
		p[i] = ask("10.0.0.1", 5);
		ck_assert_uint_eq(w.nr_requests, i + 1);
		nr_reported += w.reply.ext.prev_nonce != 0;
		sent(w.ticket, w.now + 5, 0, true);
		was = w.nr_requests;
		q = p[any(i + 1)];
		if (any(2)) {
			expect_answer_unchanged("10.0.0.1", &q, 5);
			ck_assert_uint_eq(w.ticket, 0);
		}
		ck_assert_uint_eq(w.nr_requests, was);
	}
	ck_assert_uint_eq(nr_reported, 59);
	for (i = 0; i < 60; i++) {
		expect_answer_unchanged("10.0.0.1", &p[i], 5);
		ck_assert_uint_eq(w.reply.ext.session, i < 59 ? 0 : 5);
	}
	ck_assert_uint_eq(w.nr_requests, 60);
	q = ask("10.0.0.1", 5);
	ck_assert_uint_eq(w.nr_requests, 61);
}

/* A client that lost its state is accepted again at its second request. */
TEST(test_client_restart)
{
	struct tsct_ntp_packet first, second;
	struct tsct_address at = address("10.0.0.1");
	__u32 ticket = 0;
	__u64 tx = 0;

	for (int i = 0; i < 20; i++) {
		ask("10.0.0.1", 0);
		/* a request with tx 1, which is not the tx of any answer */
		first = request(true);
		first.ext.tx = 1;
		ticket = w.ticket;
		tx = w.now;
		expect_answer_unchanged("10.0.0.1", &first, 0);
		ck_assert_uint_eq(w.nr_requests, (unsigned int)i + 1);
		/* Replays must not affect the transmit time reported now. */
		sent(ticket, tx, 0, true);
	}
	ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.reply.ext.prev_tx, tx);
	ck_assert_uint_eq(w.nr_requests, 21);
	w.nr_requests = 20;
	sent(w.ticket, w.now, 0, true);
	*last_tx_to(&at, 0) = 0;
	first = ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.nr_requests, 20);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	ck_assert_uint_eq(w.ticket, 0);
	expect_answer_unchanged("10.0.0.1", &first, 0);
	ck_assert_uint_eq(w.nr_requests, 20);
	*last_tx_to(&at, 0) = w.reply.ext.tx;
	second = ask("10.0.0.1", 0);
	ck_assert_uint_eq(w.nr_requests, 21);
	/* The answer to `second` contains no transmit time of a previous answer: the
	 * time that sent() reported is not that of the answer to `first`. */
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	for (int i = 0; i < 20; i++) {
		ask("10.0.0.1", 0);
		ck_assert_uint_eq(w.nr_requests, 22 + (unsigned int)i);
		expect_answer_unchanged("10.0.0.1", &first, 0);
		expect_answer_unchanged("10.0.0.1", &second, 0);
		ck_assert_uint_eq(w.nr_requests, 22 + (unsigned int)i);
	}
	/* A client is still accepted after the loss of as many answers as the client
	 * table remembers. */
	ask("10.0.0.1", 0);
	for (int i = 0; i < TSCT_RESPONDER_PAST; i++) {
		first = request(true);
		first.ext.tx = *last_tx_to(&at, 0);
		expect_answer_unchanged("10.0.0.1", &first, 0);
	}
	ck_assert_uint_eq(w.nr_requests, 42 + TSCT_RESPONDER_PAST);
}

/* A client sends all requests of its first poll before the first answer arrives, so
 * these requests contain the tx of the same earlier answer. */
TEST(test_first_poll_of_several_requests)
{
	struct tsct_ntp_packet p[TSCT_CLIENT_REQUESTS], q;
	unsigned int i;

	for (i = 0; i < TSCT_CLIENT_REQUESTS; i++) {
		p[i] = request(true);
		p[i].ext.tx = 77;	/* tx of an answer that the server sent
					 * before it was restarted */
		expect_answer_unchanged("10.0.0.1", &p[i], 0);
		ck_assert_uint_eq(w.nr_requests, i + 1);
		ck_assert_uint_eq(w.reply.ext.session, 5);
		ck_assert_uint_eq(w.reply.ext.prev_nonce,
				  i ? p[i - 1].ext.nonce : 0);
		sent(w.ticket, w.now + 5, 0, true);
	}
	/* A request above the number that can be outstanding, and a repeated request,
	 * have no effect. */
	q = request(true);
	q.ext.tx = 77;
	expect_answer_unchanged("10.0.0.1", &q, 0);
	expect_answer_unchanged("10.0.0.1", &p[0], 0);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	ck_assert_uint_eq(w.nr_requests, TSCT_CLIENT_REQUESTS);
	/* After a request that repeats a newer tx, a request that repeats an old tx
	 * counts as a replay. */
	p[0] = request(true);
	p[0].ext.tx = w.reply.ext.tx;
	q = ask("10.0.0.1", 0);
	q = request(true);
	q.ext.tx = 77;
	i = w.nr_requests;
	expect_answer_unchanged("10.0.0.1", &q, 0);
	ck_assert_uint_eq(w.nr_requests, i);
}
