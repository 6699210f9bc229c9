// SPDX-License-Identifier: MIT
/* The responder with replayed requests, and with requests that do not repeat the tx of
 * one of its answers; conditions under which it accepts such requests. */
#include "responder_world.h"

CASE("responder_past", setup, teardown);

/* A request that is repeated gets the same answer again, without a second effect. A
 * replay of an earlier request gets the time, and has no other effect. */
TEST(test_repeated_and_replayed_requests)
{
	struct tsct_ntp_packet p[3], q;
	struct tsct_extension first_answer;
	__u32 ticket;
	int i, j;

	for (i = 0; i < 3; i++) {
		p[i] = request(true);
		ck_assert_int_eq(deliver("10.0.0.1", &p[i], 0), TSCT_ANSWER_SENT);
		first_answer = w.reply.ext;
		ticket = w.ticket;
		for (j = 0; j < 2; j++) {
			ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p[i], 0),
					 TSCT_ANSWER_SENT);
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
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p[i], 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.nonce, p[i].ext.nonce);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
		ck_assert_uint_eq(w.ticket, 0);
	}
	ck_assert_uint_eq(w.nr_requests, 3);
	q = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_nonce, p[2].ext.nonce);
	ck_assert_uint_eq(w.nr_requests, 4);
}

/* A request is proven if it repeats the tx of an answer to that very client. */
TEST(test_proven_requests)
{
	struct tsct_ntp_packet p = request(true), other;

	p.poll = 9;
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 1);
	ck_assert(!w.last.proven);
	ck_assert_int_eq(w.last.poll, 9);
	p = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert(w.last.proven);
	/* Other clients are not proven by it: neither another address, nor a node id. */
	other = request(true);
	other.ext.tx = p.ext.tx;
	ck_assert_int_eq(deliver_unchanged("10.0.0.2", &other, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 3);
	ck_assert(!w.last.proven);
	other.ext.node++;
	ck_assert_int_eq(deliver_unchanged("10.0.0.1", &other, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 4);
	ck_assert(!w.last.proven);
	/* A guess */
	other.ext.nonce++;
	other.ext.tx = w.now;
	ck_assert_int_eq(deliver_unchanged("10.0.0.2", &other, 0), TSCT_ANSWER_SENT);
	ck_assert(!w.last.proven);
}

/* A request with nonce 0, which our clients never send, gets the time and is not
 * stored. */
TEST(test_zero_nonce)
{
	struct tsct_ntp_packet p;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		p = request(true);
		p.ext.nonce = 0;
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.nonce, 0);
		ck_assert_uint_eq(w.reply.ext.node, MASTER);
		ck_assert_uint_eq(w.reply.ext.session, 0);
		ck_assert_uint_eq(w.ticket, 0);
		ck_assert_uint_eq(w.nr_requests, i);
		p = request(true);
		ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
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
		p[i] = request(true);
		ck_assert_int_eq(deliver("10.0.0.1", &p[i], 5), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.nr_requests, i + 1);
		nr_reported += w.reply.ext.prev_nonce != 0;
		sent(w.ticket, w.now + 5, 0, true);
		was = w.nr_requests;
		q = p[any(i + 1)];
		if (any(2)) {
			ck_assert_int_eq(deliver_unchanged("10.0.0.1", &q, 5),
					 TSCT_ANSWER_SENT);
			ck_assert_uint_eq(w.ticket, 0);
		}
		ck_assert_uint_eq(w.nr_requests, was);
	}
	ck_assert_uint_eq(nr_reported, 59);
	for (i = 0; i < 60; i++) {
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p[i], 5),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.reply.ext.session, i < 59 ? 0 : 5);
	}
	ck_assert_uint_eq(w.nr_requests, 60);
	q = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &q, 5), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 61);
}

/* A client that lost its state is accepted again at its second request. */
TEST(test_client_restart)
{
	struct tsct_ntp_packet p, first, second;
	struct tsct_address at = address("10.0.0.1");
	__u32 ticket = 0;
	__u64 tx = 0;
	int i;

	for (i = 0; i < 20; i++) {
		p = request(true);
		ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		/* a request with tx 1, which is not the tx of any answer */
		first = request(true);
		first.ext.tx = 1;
		ticket = w.ticket;
		tx = w.now;
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.nr_requests, (unsigned int)i + 1);
		/* Replays must not affect the transmit time reported now. */
		sent(ticket, tx, 0, true);
	}
	p = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.prev_tx, tx);
	ck_assert_uint_eq(w.nr_requests, 21);
	w.nr_requests = 20;
	sent(w.ticket, w.now, 0, true);
	*last_tx_to(&at, 0) = 0;
	first = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &first, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 20);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	ck_assert_uint_eq(w.ticket, 0);
	ck_assert_int_eq(deliver_unchanged("10.0.0.1", &first, 0),
			 TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 20);
	*last_tx_to(&at, 0) = w.reply.ext.tx;
	second = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &second, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, 21);
	/* The answer to `second` contains no transmit time of a previous answer: the
	 * time that sent() reported is not that of the answer to `first`. */
	ck_assert_uint_eq(w.reply.ext.prev_nonce, 0);
	for (i = 0; i < 20; i++) {
		p = request(true);
		ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.nr_requests, 22 + (unsigned int)i);
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &second, 0),
				 TSCT_ANSWER_SENT);
		ck_assert_uint_eq(w.nr_requests, 22 + (unsigned int)i);
	}
	/* A client is still accepted after the loss of as many answers as the client
	 * table remembers. */
	p = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &p, 0), TSCT_ANSWER_SENT);
	for (i = 0; i < TSCT_CLIENT_TABLE_PAST; i++) {
		first = request(true);
		first.ext.tx = *last_tx_to(&at, 0);
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &first, 0),
				 TSCT_ANSWER_SENT);
	}
	ck_assert_uint_eq(w.nr_requests, 42 + TSCT_CLIENT_TABLE_PAST);
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
		ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p[i], 0),
				 TSCT_ANSWER_SENT);
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
	ck_assert_int_eq(deliver_unchanged("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_int_eq(deliver_unchanged("10.0.0.1", &p[0], 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.reply.ext.session, 0);
	ck_assert_uint_eq(w.nr_requests, TSCT_CLIENT_REQUESTS);
	/* After a request that repeats a newer tx, a request that repeats an old tx
	 * counts as a replay. */
	p[0] = request(true);
	p[0].ext.tx = w.reply.ext.tx;
	q = request(true);
	ck_assert_int_eq(deliver("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	q = request(true);
	q.ext.tx = 77;
	i = w.nr_requests;
	ck_assert_int_eq(deliver_unchanged("10.0.0.1", &q, 0), TSCT_ANSWER_SENT);
	ck_assert_uint_eq(w.nr_requests, i);
}
