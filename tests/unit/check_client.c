// SPDX-License-Identifier: MIT
/* The client's checks of answers: valid answers give exchanges; an answer that is
 * dropped leaves the client's state unchanged. */
#include "client_world.h"
#include "suite.h"
#include "lib/ntp/ntp_packet.h"

/* ---- valid answers ------------------------------------------------------- */

CASE("client", begin_plain, finish);

TEST(test_valid_exchanges)
{
	struct tsct_exchange x;
	__u64 t1, t2, t3, nonce;
	struct tsct_ntp_packet p = ask();

	t1 = w.now, t2 = p.ext.rx, t3 = p.ext.tx, nonce = p.ext.nonce;
	ck_assert_uint_eq(w.request.ext.tx, 0);
	expect_accepted(&p);
	ck_assert_uint_eq(w.nr, 0);
	for (int i = 0; i < 10; i++) {
		send_request();
		ck_assert_uint_eq(w.request.ext.tx, t3);
		p = make_answer();
		p.ext.prev_nonce = nonce;
		p.ext.prev_tx = t3 + 200;
		p.ext.rx_error = 7;
		p.ext.flags |= TSCT_EXT_TX_KERNEL;
		expect_accepted(&p);
		expect_completed(t1, t2, t3 + 200, T2_T4 | TSCT_EXCHANGE_T3_KERNEL);
		ck_assert_uint_eq(w.x[0].t4, t1 + 260000);
		ck_assert_uint_eq(w.x[0].remote_error, 7);
		ck_assert_uint_eq(w.x[0].session, 0);
		t1 = w.now, t2 = p.ext.rx, t3 = p.ext.tx, nonce = p.ext.nonce;
	}
	/* If the kernel reports no transmit time of an answer, the one announced in
	 * that answer is used. */
	p = make_exchange();
	expect_completed(t1, t2, t3, T2_T4);
	ck_assert(flush(&x));
	expect_exchange(&x, w.now, p.ext.rx, p.ext.tx, T2_T4);
	ck_assert(!flush(&x));
	ck_assert_uint_eq(w.client.sent, 12);
	ck_assert_uint_eq(w.client.reach, 0xff);
	ck_assert_uint_eq(w.client.remote.epoch, 3);
	ck_assert_uint_eq(w.client.remote.params.mult, MULT_31);
}

TEST(test_requests_disclose_nothing)
{
	static const __u8 zero[TSCT_NTP_MAX];
	struct tsct_extension ext;

	begin(TSCT_CLIENT_NTP_ONLY, 0);
	send_request();
	ck_assert_uint_eq(w.sent_len, TSCT_NTP_HEADER);
	ck_assert_mem_eq(w.sent + 4, zero, 36);
	begin(0, 5);
	memset(&ext, 0xff, sizeof(ext));
	send_request_with(&ext);
	/* Requests have the same length as answers. */
	ck_assert_uint_eq(w.sent_len, TSCT_NTP_HEADER + TSCT_EXT_SIZE + 20);
	ck_assert_mem_eq(w.sent + 4, zero, 36);
	ck_assert_uint_eq(w.request.ext.flags,
			  TSCT_EXT_JOIN | TSCT_EXT_ARRIVED |
			  TSCT_EXT_NO_CALLER | TSCT_EXT_ELSEWHERE);
	ck_assert_uint_eq(w.request.ext.rx, 0);
	ck_assert_uint_eq(w.request.ext.tx, 0);
	ck_assert_uint_eq(w.request.ext.epoch, 0);
	ck_assert_uint_eq(w.request.ext.prev_tx, 0);
	ck_assert_uint_eq(w.request.ext.params.mult, 0);
	ck_assert_uint_eq(w.request.ext.session, ~0U);
	/* Only a node, which may follow this one, is announced a long poll interval. */
	ck_assert_int_eq(w.request.poll, 6);
	w.client.poll = 9;
	send_request();
	ck_assert_int_eq(w.request.poll, 9);
	begin(TSCT_CLIENT_NTP_ONLY, 0);
	w.client.poll = 9;
	send_request();
	ck_assert_int_eq(w.request.poll, 6);
}

TEST(test_unknown_key)
{
	__u64 random[2] = { 1, 2 };
	struct tsct_client was;

	begin(0, 99);
	was = w.client;
	ck_assert_uint_eq(tsct_client_request(&w.client, w.keys, random, NULL, false, w.sent), 0);
	ck_assert_uint_eq(tsct_client_request(&w.client, NULL, random, NULL, false, w.sent), 0);
	ck_assert_mem_eq(&w.client, &was, sizeof(was));
}

/* ---- answers that belong to another request ------------------------------ */

TEST(test_rejects_wrong_origin)
{
	struct tsct_ntp_packet old[12];

	/* Answers that belong to no request are dropped. */
	DROPPED(TSCT_CLIENT_ZERO_ORIGIN);
	DROPPED(TSCT_CLIENT_FOREIGN, answer.origin = 4711);
	for (int i = 0; i < 12; i++) {
		old[i] = ask();
		DROPPED(TSCT_CLIENT_ZERO_ORIGIN, answer.origin = 0);
		DROPPED(TSCT_CLIENT_FOREIGN, answer.origin ^= 1);
		DROPPED(TSCT_CLIENT_FOREIGN, answer.ext.nonce ^= 1ULL << 63);
		DROPPED(TSCT_CLIENT_FOREIGN, answer.ext.flags &= ~TSCT_EXT_REPLY);
		if (i % 3 == 2)
			continue;	/* every third request gets no answer */
		expect_accepted(&old[i]);
		expect_dropped(&old[i], TSCT_CLIENT_DUPLICATE);
		if (i)
			expect_dropped(&old[i - 1], TSCT_CLIENT_REPLAY);
	}
	send_request();
	/* A late answer to an expired request counts as replay, not as duplicate. */
	expect_dropped(&old[11], TSCT_CLIENT_REPLAY);
	expect_dropped(&old[10], TSCT_CLIENT_REPLAY);
	expect_dropped(&old[5], TSCT_CLIENT_REPLAY);
	/* Answers to requests that are no longer stored count as foreign. */
	expect_dropped(&old[0], TSCT_CLIENT_FOREIGN);
	ACCEPTED();
}

TEST(test_rejects_other_modes)
{
	send_request();
	for (int mode = 0; mode < 6; mode++) {
		for (int version = 1; version < 5; version++) {
			if (mode == 4 && version == 4)
				continue;
			DROPPED(TSCT_CLIENT_NOT_OURS, answer.mode = (__u8)mode,
				answer.version = (__u8)version);
		}
	}
	ACCEPTED();
}

/* ---- keys ---------------------------------------------------------------- */

TEST(test_rejects_bad_macs)
{
	struct tsct_client was;
	struct tsct_ntp_packet p;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len, i;

	begin(0, 5);
	p = ask();
	w.server_key = 0;
	expect_dropped(&p, TSCT_CLIENT_NO_MAC);
	w.server_key = 6;	/* valid MAC of a key that the client does not use */
	expect_dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 7;
	expect_dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 5;
	len = to_bytes(&p, bytes);
	was = w.client;
	for (i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		ck_assert_int_ne(deliver_bytes(bytes, len), TSCT_CLIENT_OK);
		check_same(&w.client, &was);
		bytes[i / 8] ^= 1 << i % 8;
	}
	for (i = 0; i < len; i++) {
		ck_assert_int_ne(deliver_bytes(bytes, i), TSCT_CLIENT_OK);
		check_same(&w.client, &was);
	}
	/* Crypto-NAK of a server that has no key */
	w.server_key = 0;
	len = to_bytes(&p, bytes);
	tsct_put_be(bytes + len, 0, 4);
	ck_assert_int_eq(deliver_bytes(bytes, len + 4), TSCT_CLIENT_CRYPTO_NAK);
	check_same(&w.client, &was);
	w.server_key = 5;
	expect_accepted(&p);
	make_exchange();
	ck_assert(w.x[0].flags & TSCT_EXCHANGE_AUTH);
	begin(0, 0);
	p = ask();
	w.server_key = 5;
	expect_dropped(&p, TSCT_CLIENT_EXTRA_MAC);
}

/* ---- kiss-o'-death ------------------------------------------------------- */

static struct tsct_ntp_packet kiss(const char *code)
{
	struct tsct_ntp_packet p = make_answer();

	p.has_ext = false;
	p.leap = TSCT_NTP_UNSYNCED;
	p.stratum = 0;
	p.refid = (__u32)tsct_get_be((const __u8 *)code, 4);
	return p;
}

TEST(test_kiss_o_death)
{
	struct tsct_ntp_packet p;

	begin(0, 5);
	send_request();
	p = kiss("RATE");
	p.origin ^= 1;
	expect_dropped(&p, TSCT_CLIENT_FOREIGN);
	p.origin = 0;
	expect_dropped(&p, TSCT_CLIENT_ZERO_ORIGIN);
	p = kiss("RATE");
	w.server_key = 0;
	expect_dropped(&p, TSCT_CLIENT_NO_MAC);
	w.server_key = 6;
	expect_dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 5;
	p = make_answer();		/* kiss with our extension field, and the
					 * nonce of another request */
	p.ext.nonce++;
	p.stratum = 0;
	p.refid = (__u32)tsct_get_be((const __u8 *)"DENY", 4);
	expect_dropped(&p, TSCT_CLIENT_FOREIGN);
	for (unsigned int i = 0; i < 9; i++) {
		send_request();
		p = kiss("RATE");
		ck_assert_int_eq(deliver(&p), TSCT_CLIENT_KISS);
		ck_assert_str_eq(w.client.kiss, "RATE");
		ck_assert_uint_eq(w.client.backoff, i < 6 ? i + 1 : 6);
		expect_dropped(&p, TSCT_CLIENT_DUPLICATE);
	}
	for (unsigned int i = 0; i < 16 * 6; i++) {
		p = make_exchange();
		ck_assert_uint_eq(w.client.backoff, 6 - (i + 1) / 16);
	}
	send_request();
	p = kiss("DENY");
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_KISS);
	ck_assert_str_eq(w.client.kiss, "DENY");
	ck_assert_uint_eq(w.client.backoff, TSCT_BACKOFF_DENIED);
	send_request();
	p = kiss("RATE");	/* an unauthenticated kiss-o'-death, which must not
				 * shorten the poll interval */
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_KISS);
	ck_assert_uint_eq(w.client.backoff, TSCT_BACKOFF_DENIED);
	/* An NTP server that was just started sends the code INIT, which is not treated
	 * as a kiss-o'-death. */
	begin(TSCT_CLIENT_NTP_ONLY, 0);
	send_request();
	p = kiss("INIT");
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_UNSYNCED);
	ck_assert_uint_eq(w.client.backoff, 0);
}

/* ---- impossible times ---------------------------------------------------- */

TEST(test_rejects_impossible_times)
{
	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.tx = answer.ext.rx - 1);
	/* sent (t3) before its request arrived (t2), but by less than the stated error */
	ACCEPTED(answer.ext.tx = answer.ext.rx - 1, answer.ext.rx_error = 1);
	w.server_now += 100;
	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.params.mult = 0);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.params.mult = 1000);
	/* The server sent the answer (t3) as soon as it received the request (t2), which is
	 * possible. Only the rate (mult) is impossible. */
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.tx = answer.ext.rx,
		answer.ext.params.mult = (__u64)-1);
	/* The answer was received (t4) before the request was sent (t1). */
	w.t4 = stamp(w.now - 10, 0, true);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.tx = answer.ext.rx);
	w.t4 = stamp(w.now - 10, 10, true);
	ACCEPTED(answer.ext.tx = answer.ext.rx);
}

/* A server processes no request for longer than the round trip, here some 100 us. */
TEST(test_rejects_long_processing_times)
{
	struct tsct_ntp_packet p;

	send_request();
	DROPPED(TSCT_CLIENT_TOO_SOON, answer.ext.tx = answer.ext.rx + 310000 + 500);
	DROPPED(TSCT_CLIENT_TOO_SOON, answer.ext.tx = answer.ext.rx + (1ULL << 62));
	/* largest possible time between receipt and answer: the path's delay is then zero */
	ACCEPTED(answer.ext.tx = answer.ext.rx + 310000);
	/* The kernel's transmit time of an answer, which the next answer contains, must
	 * also be at most a round trip later than the receive time of the request. */
	p = ask();
	p.ext.flags |= TSCT_EXT_TX_KERNEL;
	p.ext.prev_nonce = pending()->nonce;
	p.ext.prev_tx = pending()->x.t2 + 310000 + 500;
	expect_dropped(&p, TSCT_CLIENT_TOO_SOON);
	p.ext.prev_tx = pending()->x.t3 - 1;
	expect_dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.prev_tx = p.ext.rx + 1;
	expect_dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.prev_tx = pending()->x.t3;
	expect_accepted(&p);
	ck_assert_uint_eq(w.nr, 1);
	/* Without a known rate of the local counter, the client does not compare the
	 * server's processing time with the round trip. */
	begin(0, 0);
	w.client.options.mult = 0;
	send_request();
	ACCEPTED(answer.ext.tx = answer.ext.rx + 1000000000);
}

/* Makes a request of which no transmit time is known. */
static void send_untimed_request(void)
{
	__u64 random[2] = { any64() | 1, any64() | 2 };

	w.sent_len = tsct_client_request(&w.client, w.keys, random, NULL, false, w.sent);
	ck_assert_int_eq(tsct_ntp_parse(w.sent, w.sent_len, &w.request, NULL), 0);
}

TEST(test_answer_without_transmit_time)
{
	send_untimed_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE);
	/* An answer to a request without a transmit time is dropped even if an earlier
	 * request has a transmit time. */
	send_request();
	send_untimed_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE);
}

TEST(test_rejects_decreasing_counter)
{
	struct tsct_ntp_packet p, last;

	last = make_exchange();
	p = ask();
	p.ext.rx = last.ext.tx - 1;
	p.ext.tx = p.ext.rx + 10;
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_BACKWARDS);
	ck_assert_uint_eq(w.nr, 0);
	p.ext.rx_error = 1;
	expect_accepted(&p);
	/* After a change of epoch, the server's counter may have any value, and
	 * exchanges that wait in the queue belong to the previous epoch. */
	for (int i = 0; i < 4; i++) {
		p = ask();
		p.ext.rx = 1000 - 100 * i;
		p.ext.tx = p.ext.rx + 10;
		p.ext.epoch = 4;
		p.ext.host = MASTER_HOST + (i >= 1);
		p.ext.node = MASTER + (i >= 2);
		p.ext.master = MASTER + (i >= 3);
		p.ext.depth = i == 2;
		p.ext.prev_nonce = pending()->nonce;
		p.ext.prev_tx = pending()->x.t3 + 1;
		p.ext.flags |= TSCT_EXT_TX_KERNEL;
		expect_accepted(&p);
		ck_assert_uint_eq(w.nr, 0);
	}
}

/* An NTP server whose clock was set back by an hour is accepted again with its third
 * answer. */
TEST(test_server_clock_set_back)
{
	struct tsct_ntp_packet p;

	begin(TSCT_CLIENT_NTP_ONLY, 0);
	make_exchange();
	w.server_now -= 3600000000000ULL;
	for (int i = 0; i < 3; i++) {
		p = ask();
		ck_assert_uint_eq(w.client.remote.epoch, 0);
		ck_assert_int_eq(deliver(&p), TSCT_CLIENT_BACKWARDS);
	}
	ck_assert_uint_eq(w.client.remote.epoch, 1);
	make_exchange();
	ck_assert_uint_eq(w.client.remote.epoch, 1);
}

/* ---- identity of servers and loops --------------------------------------- */

TEST(test_rejects_own_id)
{
	send_request();
	DROPPED(TSCT_CLIENT_SELF, answer.ext.node = CHILD);
	DROPPED(TSCT_CLIENT_LOOP, answer.ext.master = CHILD, answer.ext.depth = 1);
	DROPPED(TSCT_CLIENT_LOOP, answer.ext.depth = TSCT_DEPTH_MAX + 1);
	ACCEPTED(answer.ext.depth = TSCT_DEPTH_MAX);
	ck_assert(!w.client.remote.shared);
}

/* Only the master is 0 hops from the master: a node that states depth 0 and another node as
 * its master would be before all honest sources. */
TEST(test_rejects_false_master)
{
	struct tsct_ntp_packet p;

	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.node = MASTER + 1);
	ACCEPTED(answer.ext.node = MASTER + 1, answer.ext.depth = 1);
	/* Without a time, no place in the order is stated. */
	p = ask();
	p.ext.master = 0;
	p.ext.status = TSCT_STATUS_UNKNOWN;
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_UNSYNCED);
}

/* A server that uses the same counter as the client has t2 and t3 between t1 and t4. */
TEST(test_same_host)
{
	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.host = CHILD_HOST);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.host = CHILD_HOST,
		answer.ext.rx = w.now - 1, answer.ext.tx = w.now + 5);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.ext.host = CHILD_HOST,
		answer.ext.rx = w.now, answer.ext.tx = w.t4.cycles + 1);
	ACCEPTED(answer.ext.host = CHILD_HOST, answer.ext.rx = w.now,
		 answer.ext.tx = w.t4.cycles, answer.ext.params.mult = MULT_26);
	ck_assert(w.client.remote.shared);
}

TEST(test_server_without_time)
{
	static const __u32 bad[] = {
		TSCT_STATUS_UNKNOWN, TSCT_STATUS_DISRUPTED, TSCT_STATUS_NR, ~0U,
	};
	struct tsct_ntp_packet p;

	make_exchange();
	for (unsigned int i = 0; i < 4; i++) {
		p = ask();
		p.ext.status = bad[i];
		p.ext.barrier = 5 + i;
		ck_assert_int_eq(deliver(&p), TSCT_CLIENT_UNSYNCED);
		ck_assert_uint_eq(w.client.remote.barrier, 5 + i);
		ck_assert(!w.client.remote.has_params);
		ck_assert_uint_eq(w.client.last_tx, p.ext.tx);
		expect_dropped(&p, TSCT_CLIENT_DUPLICATE);
	}
	p = ask();
	p.ext.flags &= ~TSCT_EXT_PARAMS;
	ck_assert_int_eq(deliver(&p), TSCT_CLIENT_UNSYNCED);
	ck_assert_uint_eq(w.client.reach, 0x20);
	for (unsigned int i = 0; i < 4; i++) {
		begin(TSCT_CLIENT_NTP_ONLY, 0);
		p = ask();
		p.leap = i == 0 ? TSCT_NTP_UNSYNCED : p.leap;
		p.stratum = i == 1 ? 16 : i == 2 ? 0 : p.stratum;
		p.root_dispersion = i == 3 ? 16 << 16 : p.root_dispersion;
		ck_assert_int_eq(deliver(&p), TSCT_CLIENT_UNSYNCED);
		ck_assert_uint_eq(w.client.reach, 0);
	}
}

TEST(test_answer_without_extension_field)
{
	send_request();
	DROPPED(TSCT_CLIENT_NO_FIELD, answer.has_ext = false);
	/* The client ignores the extension field of a server configured as NTP only. */
	begin(TSCT_CLIENT_NTP_ONLY, 0);
	send_request();
	ACCEPTED(answer.has_ext = true);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t2, w.server_now);
}

TEST(test_session_fields)
{
	struct tsct_extension ext = { .flags = TSCT_EXT_JOIN, .session = 9 };
	struct tsct_ntp_packet p;
	struct tsct_exchange x;

	send_request_with(&ext);
	p = make_answer();
	p.ext.session = 9;
	p.ext.turn_us = 123;
	p.ext.flags |= TSCT_EXT_SESSION_OPEN;
	expect_accepted(&p);
	ck_assert_uint_eq(w.client.remote.turn_us, 123);
	ck_assert_uint_eq(w.client.remote.flags, TSCT_EXT_SESSION_OPEN);
	ck_assert(flush(&x));
	ck_assert_uint_eq(x.session, 9);
	/* Answers with another key than the configured key, or without a key, are
	 * dropped. */
	for (int i = 0; i < 2; i++) {
		send_request_with(i ? NULL : &ext);
		ACCEPTED(answer.ext.session = 10);
		ck_assert(flush(&x));
		ck_assert_uint_eq(x.session, 0);
	}
}
