// SPDX-License-Identifier: MIT
/* Exchanges of the client: late transmit times, bursts of requests, NTP servers in
 * basic and interleaved mode, poll requests, and random input. */
#include "client_world.h"
#include "suite.h"
#include "lib/ntp/responder.h"

/* ---- late transmit times of requests ------------------------------------- */

CASE("client_exchange", begin_plain, finish);

TEST(test_late_transmit_times)
{
	struct tsct_exchange x;
	struct tsct_client was;

	send_request();
	report_sent(stamp(w.now + 5000, 30, true));
	ACCEPTED();
	ck_assert(flush(&x));
	ck_assert_uint_eq(x.t1, w.now + 5000);
	ck_assert_uint_eq(x.local_error, 30);
	ck_assert(x.flags & TSCT_EXCHANGE_T1_KERNEL);
	/* The kernel's transmit time stamp of the request arrives after the answer. */
	make_exchange();
	report_sent(stamp(w.now + 6000, 30, true));
	ck_assert(flush(&x));
	ck_assert_uint_eq(x.t1, w.now + 6000);
	ck_assert(x.flags & TSCT_EXCHANGE_T1_KERNEL);
	/* The client ignores these transmit time stamps of a request: so late that the
	 * path's delay would be negative; before the program's own time stamp; after
	 * the answer's arrival; not from the kernel */
	make_exchange();
	was = w.client;
	report_sent(stamp(w.now + 250000, 30, true));
	report_sent(stamp(w.now - 1000, 30, true));
	report_sent(stamp(w.now + 270000, 0, true));
	report_sent(stamp(w.now + 100, 0, false));
	check_same(&w.client, &was);
	send_request();
	was = w.client;
	report_sent(stamp(w.now - 200000000, 30, true));
	check_same(&w.client, &was);
	ACCEPTED();
	ck_assert(flush(&x));
	ck_assert(!(x.flags & TSCT_EXCHANGE_T1_KERNEL));
	ck_assert_uint_eq(x.t1, w.now);
}

TEST(test_local_disruption)
{
	struct tsct_ntp_packet old;
	struct tsct_exchange x;

	make_exchange();
	old = ask();
	tsct_client_disrupt(&w.client);
	ck_assert(!flush(&x));
	expect_dropped(&old, TSCT_CLIENT_REPLAY);
	make_exchange();
	ck_assert_uint_eq(w.nr, 0);
}

/* ---- several requests per poll ------------------------------------------- */

/* Each exchange of a poll is reported, and all but the first have a flag that says so. */
TEST(test_two_requests_per_poll)
{
	struct tsct_ntp_packet first, second;
	struct tsct_exchange x;

	make_exchange();
	first = make_exchange();
	ck_assert_uint_eq(w.nr, 1);	/* exchange of the previous poll */
	ck_assert(!tsct_client_waits(&w.client));
	w.now += 260000;
	w.server_now += 310000;
	send_another_request();
	ck_assert(tsct_client_waits(&w.client));
	second = make_answer();
	second.ext.flags |= TSCT_EXT_TX_KERNEL;
	second.ext.prev_nonce = first.ext.nonce;
	second.ext.prev_tx = first.ext.tx + 3100;
	/* Each transmit time that the kernel reports is assigned to the right
	 * request. */
	tsct_client_sent(&w.client, (__u32)w.client.sent - 1,
			 stamp(w.now - 286000 + 100, 7, true));
	report_sent(stamp(w.now + 200, 8, true));
	expect_accepted(&second);
	expect_completed(w.now - 286000 + 100, first.ext.rx, first.ext.tx + 3100,
			 T2_T4 | TSCT_EXCHANGE_T1_KERNEL | TSCT_EXCHANGE_T3_KERNEL);
	ck_assert(!tsct_client_waits(&w.client));
	ck_assert(flush(&x));
	expect_exchange(&x, w.now + 200, second.ext.rx, second.ext.tx,
			T2_T4 | TSCT_EXCHANGE_T1_KERNEL | TSCT_EXCHANGE_FOLLOWS);
	ck_assert(!flush(&x));
	ck_assert_uint_eq(w.client.reach, 3);	/* two polls */
	expect_dropped(&second, TSCT_CLIENT_DUPLICATE);
	expect_dropped(&first, TSCT_CLIENT_REPLAY);
}

/* A new epoch drops the exchange of a poll that waits for its transmit time, and none that
 * is complete. */
TEST(test_epoch_within_a_poll)
{
	make_exchange();
	send_another_request();
	ACCEPTED();
	ck_assert_uint_eq(w.nr, 1);
	send_request();
	ACCEPTED(answer.ext.epoch++);
	ck_assert_uint_eq(w.nr, 0);
	send_request();
	ACCEPTED(answer.ext.epoch++);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t1, w.now - 260000000);
}

/* If a server's clock was set back, the client refuses answers until three polls had
 * answers with the earlier time. A poll with several such answers counts once. */
TEST(test_set_back_counts_once_per_poll)
{
	struct tsct_ntp_packet p;

	make_exchange();
	w.server_now -= 3600000000000ULL;
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < TSCT_CLIENT_REQUESTS; j++) {
			if (j)
				send_another_request();
			else
				send_request();
			ck_assert_int_eq(w.client.known, true);
		}
		for (int j = 0; j < TSCT_CLIENT_REQUESTS; j++) {
			p = make_answer();
			p.ext.nonce = w.client.outstanding[j].nonce;
			p.origin = w.client.outstanding[j].xmit;
			ck_assert_int_eq(deliver(&p), TSCT_CLIENT_BACKWARDS);
			if (i == 2)	/* third poll: the server's clock, although
					 * set back, is accepted */
				break;
		}
	}
	ck_assert(!w.client.known);
}

TEST(test_answers_out_of_order)
{
	struct tsct_ntp_packet first, second, third;

	first = ask();
	send_another_request();
	second = make_answer();
	send_another_request();
	third = make_answer();
	/* An answer expires all requests that were sent before its own request. */
	expect_accepted(&second);
	expect_dropped(&first, TSCT_CLIENT_REPLAY);
	expect_dropped(&second, TSCT_CLIENT_DUPLICATE);
	/* The third answer was sent before the second one: it is late, but no sign of a
	 * clock that was set back. */
	third.ext.tx = second.ext.tx - 1;
	third.ext.rx = third.ext.tx - 1;
	expect_dropped(&third, TSCT_CLIENT_REPLAY);
	ck_assert(tsct_client_waits(&w.client));
	/* An answer to the next poll must have been sent after the answers to the
	 * previous poll. */
	first = ask();
	first.ext.rx = second.ext.tx - 1;
	first.ext.tx = first.ext.rx + 31000;
	ck_assert_int_eq(deliver(&first), TSCT_CLIENT_BACKWARDS);
}

TEST(test_outstanding_requests_limit)
{
	struct tsct_ntp_packet p[TSCT_CLIENT_REQUESTS + 1];

	p[0] = ask();
	for (unsigned int i = 1; i <= TSCT_CLIENT_REQUESTS; i++) {
		send_another_request();
		p[i] = make_answer();
	}
	expect_dropped(&p[0], TSCT_CLIENT_REPLAY);
	for (unsigned int i = 1; i <= TSCT_CLIENT_REQUESTS; i++)
		expect_accepted(&p[i]);
	/* The first request of a poll expires all earlier requests. */
	p[0] = ask();
	send_another_request();
	p[1] = make_answer();
	send_request();
	expect_dropped(&p[0], TSCT_CLIENT_REPLAY);
	expect_dropped(&p[1], TSCT_CLIENT_REPLAY);
	/* Only one request at a time is outstanding with an NTP server. */
	begin(TSCT_CLIENT_NTP_ONLY | TSCT_CLIENT_INTERLEAVED, 0);
	p[0] = ask();
	send_another_request();
	p[1] = make_answer();
	expect_dropped(&p[0], TSCT_CLIENT_REPLAY);
	expect_accepted(&p[1]);
}

TEST(test_kiss_settles_all_requests)
{
	struct tsct_ntp_packet first, second;

	first = ask();
	send_another_request();
	second = make_answer();
	first.stratum = second.stratum = 0;
	first.refid = second.refid = 0x52415445;	/* kiss code RATE */
	ck_assert_int_eq(deliver(&first), TSCT_CLIENT_KISS);
	ck_assert_int_eq(deliver(&second), TSCT_CLIENT_DUPLICATE);
	ck_assert_uint_eq(w.client.backoff, 1);
	ck_assert(!tsct_client_waits(&w.client));
}

/* ---- NTP servers in basic and interleaved mode --------------------------- */

TEST(test_ntp_server_basic)
{
	struct tsct_ntp_packet p;

	begin(TSCT_CLIENT_NTP_ONLY, 0);
	for (int i = 0; i < 3; i++) {
		send_request();
		ck_assert_uint_eq(w.request.receive, 0);
		p = make_answer();
		p.version = i == 1 ? 3 : 4;
		expect_accepted(&p);
		expect_completed(w.now, w.server_now, w.server_now + 10000,
				 TSCT_EXCHANGE_T4_KERNEL);
		ck_assert_uint_eq(w.x[0].remote_error, 30);
	}
	ck_assert(!w.client.remote.has_params);
	ck_assert_uint_eq(w.client.remote.params.mult, TSCT_NS_MULT);
	ck_assert_uint_eq(w.client.remote.params.as_of, w.server_now + 10000);
	/* half the root delay of 2^-13 s, plus the root dispersion of 2^-11 s */
	ck_assert_uint_eq(w.client.remote.params.error_ps,
			  (122071 + 488282) * 1000ULL);
	ck_assert_uint_eq(w.client.remote.params.growth * 1000000000 >> 32,
			  15000000);
	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.receive = 0);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.transmit = 0);
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer.transmit = answer.receive - 0x1000);
}

/* Builds an answer in interleaved mode: its origin is the receive time stamp of the
 * request. */
static struct tsct_ntp_packet interleaved(__u64 t3)
{
	struct tsct_ntp_packet p = make_answer();

	p.origin = w.request.receive;
	p.transmit = tsct_ntp_from_ns((__s64)t3);
	return p;
}

TEST(test_ntp_server_interleaved)
{
	struct tsct_ntp_packet p, basic;
	struct tsct_exchange x;
	__u64 t1, t2;

	begin(TSCT_CLIENT_NTP_ONLY | TSCT_CLIENT_INTERLEAVED, 0);
	send_request();
	ck_assert_uint_eq(w.request.origin, 0);
	ck_assert_uint_ne(w.request.receive, 0);
	/* The first answer of an NTP server cannot be interleaved. */
	p = interleaved(w.server_now - 5);
	expect_dropped(&p, TSCT_CLIENT_FOREIGN);
	basic = make_answer();
	expect_accepted(&basic);
	ck_assert_uint_eq(w.nr, 0);
	t1 = w.now, t2 = w.server_now;
	for (int i = 0; i < 5; i++) {
		send_request();
		ck_assert_uint_eq(w.request.origin, tsct_ntp_from_ns(t2));
		p = interleaved(t2 + 12000);
		expect_accepted(&p);
		expect_completed(t1, t2, t2 + 12000,
				 TSCT_EXCHANGE_T3_KERNEL | TSCT_EXCHANGE_T4_KERNEL);
		expect_dropped(&p, TSCT_CLIENT_DUPLICATE);
		t1 = w.now, t2 = w.server_now;
	}
	/* An answer is lost, and the next one is in basic mode: the incomplete exchange
	 * never gets the time t3. */
	send_request();
	make_exchange();
	ck_assert_uint_eq(w.nr, 0);
	t2 = w.server_now;
	/* Two answers in basic mode in a row: the second answer completes the exchange
	 * of the first answer, with the t3 that the first answer contained. */
	make_exchange();
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t3, t2 + 10000);
	ck_assert(!(w.x[0].flags & TSCT_EXCHANGE_T3_KERNEL));
	/* False t3 in interleaved answers: earlier than t3 in the previous answer;
	 * later than the receipt of the next request; later than t2 by more than the
	 * round trip of the exchange */
	t2 = w.server_now;
	send_request();
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer = interleaved(t2 + 9000));
	DROPPED(TSCT_CLIENT_IMPOSSIBLE, answer = interleaved(w.server_now + 1000));
	DROPPED(TSCT_CLIENT_TOO_SOON, answer = interleaved(t2 + 110000));
	ACCEPTED(answer = interleaved(t2 + 11000));
	/* flush() returns no exchange: only the next answer would contain t3 of the
	 * last exchange. */
	ck_assert(!flush(&x));
	send_request();
	ck_assert_uint_eq(w.request.origin, 0);
}

/* ---- poll requests ------------------------------------------------------- */

#define NEVER	0xffffffff

/* Delivers a poll request to the client. Returns the time in us at which the client
 * polls because of it. */
static __u64 deliver_poll_request(__u32 server_key, __u64 node, __u64 now_us)
{
	__u64 at_us = 0;
	struct tsct_timeline timeline = { .node = node, .host = MASTER_HOST };
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = tsct_responder_request_poll(&timeline, w.keys, server_key, bytes);

	ck_assert_uint_gt(len, 0);
	return tsct_client_poll_requested(&w.client, w.keys, bytes, len, now_us,
				  &at_us) ? at_us : NEVER;
}

static bool is_poll_request(const void *bytes, size_t len)
{
	__u64 at_us;

	return tsct_client_poll_requested(&w.client, w.keys, bytes, len, 900000, &at_us);
}

TEST(test_poll_requests)
{
	struct tsct_ntp_packet p;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len;

	begin(0, 5);
	ck_assert_uint_eq(deliver_poll_request(0, MASTER, 1), NEVER);
	ck_assert_uint_eq(deliver_poll_request(6, MASTER, 1), NEVER);
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 1), 1);
	/* However many poll requests arrive in quick succession, they cause only one
	 * more poll, 100 ms after the previous poll. */
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 1), 100001);
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 50000), 100001);
	ck_assert_uint_eq(deliver_poll_request(6, MASTER, 50000), NEVER);
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 100001), 200001);
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 300001), 300001);
	p = make_exchange();
	ck_assert_uint_eq(deliver_poll_request(5, MASTER + 1, 500000), NEVER);
	ck_assert_uint_eq(deliver_poll_request(5, MASTER, 500000), 500000);
	/* A normal answer is not treated as a poll request. */
	len = to_bytes(&p, bytes);
	ck_assert(!is_poll_request(bytes, len));
	p.mode = TSCT_NTP_MODE_BROADCAST;
	len = to_bytes(&p, bytes);
	ck_assert(!is_poll_request(bytes, len));
	p.has_ext = false;
	len = to_bytes(&p, bytes);
	ck_assert(!is_poll_request(bytes, len));
	ck_assert(!is_poll_request(bytes, 3));
	begin(TSCT_CLIENT_NTP_ONLY, 0);
	ck_assert_uint_eq(deliver_poll_request(0, MASTER, 0), NEVER);
}

/* ---- random input -------------------------------------------------------- */

static void change_randomly(__u8 *bytes, size_t *len)
{
	unsigned int i, n = any(8);

	for (i = 0; i < n; i++)
		bytes[any(TSCT_NTP_MAX)] = (__u8)any(256);
	if (!any(4))
		*len = any(TSCT_NTP_MAX + 1);
	if (!any(16))
		for (i = 0; i < TSCT_NTP_MAX; i++)
			bytes[i] = (__u8)any(256);
}

/* Random changes of answers. With a key, every altered answer is dropped, and changes
 * nothing. Without a key, this holds for answers that lack the values known only to the
 * server that received the request. */
LOOP_TEST(test_random_changes, 0, 6)
{
	static const __u32 flags[] = {
		0, TSCT_CLIENT_NTP_ONLY,
		TSCT_CLIENT_NTP_ONLY | TSCT_CLIENT_INTERLEAVED,
	};
	__u8 whole[TSCT_NTP_MAX], bytes[TSCT_NTP_MAX];
	enum tsct_client_result result;
	struct tsct_ntp_packet p;
	struct tsct_client was;
	size_t whole_len = 0, len;

	begin(flags[_i % 3], _i % 2 ? 5 : 0);
	for (int i = 0; i < 12000; i++) {
		if (!(i % 64)) {
			p = ask();
			memset(whole, 0, sizeof(whole));
			whole_len = to_bytes(&p, whole);
			/* Some answers are accepted, to bring the client into various
			 * states. */
			if (any(2))
				expect_accepted(&p);
		}
		memcpy(bytes, whole, sizeof(bytes));
		len = whole_len;
		change_randomly(bytes, &len);
		was = w.client;
		result = deliver_bytes(bytes, len);
		if (!w.server_key) {
			/* Not all fields can be checked without a MAC: an altered
			 * answer may be accepted, or counted as that of a clock that
			 * was set back. */
			if (w.client.nr_outstanding == was.nr_outstanding &&
			    result != TSCT_CLIENT_BACKWARDS)
				check_same(&w.client, &was);
		} else if (len != whole_len || memcmp(bytes, whole, len)) {
			ck_assert_int_ne(result, TSCT_CLIENT_OK);
			check_same(&w.client, &was);
		}
	}
}

TEST(test_result_texts)
{
	for (int i = 0; i < TSCT_CLIENT_NR; i++) {
		ck_assert_ptr_nonnull(tsct_client_results[i].text);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(tsct_client_results[i].text,
					 tsct_client_results[j].text);
	}
}
