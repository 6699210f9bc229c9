// SPDX-License-Identifier: MIT
/*
 * Client and responder, over a network that drops, duplicates, delays and reorders
 * datagrams, with an attacker that sends recorded datagrams again, or parts of them.
 * True times are known. For every complete exchange, the request and the answer must
 * have been sent before they were received, within the stated errors. Each exchange is
 * reported once and in order.
 */
#include "suite.h"
#include "lib/ntp/responder.h"
#include "ntp_helpers.h"

#define EVENTS		256
#define SEEN		64
#define MS		1000000LL

enum kind { REQUEST, ANSWER, T1_STAMP, T3_STAMP };

struct event {
	__s64 at;		/* true time of the event, ns; 0: entry not in use */
	enum kind kind;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len;
	struct tsct_packet_time stamp;
	/* T1_STAMP: number of the request; T3_STAMP: number by which the responder
	 * identifies the answer (ret_ticket) */
	__u32 number;
};

static struct world {
	struct tsct_client client;
	struct tsct_responder *responder;
	struct tsct_ratelimit *ratelimit;
	struct tsct_keys *keys;
	struct tsct_timeline timeline;
	struct tsct_address from;
	bool ntp_only;
	unsigned int extra_requests;	/* largest number of requests of a poll after
					 * its first one */
	unsigned int fault_percent;	/* probability of each kind of network fault,
					 * percent */
	__s64 now;
	__s64 local_start, remote_start;	/* values of the client's and the
						 * server's counter at time 0 */
	struct event events[EVENTS], seen[SEEN];
	__u64 last_t1;
	unsigned int delivered, t1_kernel, t3_kernel, joined;
} w;

/* ---- true times ---------------------------------------------------------- */

static __u64 local_at(__s64 at)
{
	return (__u64)w.local_start + (__u64)(at * 26 / 10);
}

static __u64 remote_at(__s64 at)
{
	return (__u64)w.remote_start + (__u64)(w.ntp_only ? at : at * 31 / 10);
}

static __s64 real_ns(void *, __u64 cycles)
{
	return w.ntp_only ? (__s64)cycles : NEAR_NS + (__s64)(cycles / 4);
}

/* Converts a value of the client's counter to true time; the result is early by up to
 * one cycle. */
static double local_true_time(__u64 cycles)
{
	return (double)(__s64)(cycles - (__u64)w.local_start) / 2.6;
}

static double remote_true_time(__u64 cycles)
{
	return (double)(__s64)(cycles - (__u64)w.remote_start) /
		(w.ntp_only ? 1 : 3.1);
}

static __u64 remote_now(void *)
{
	w.now += any(300);
	return remote_at(w.now);
}

/* ---- the simulated network ----------------------------------------------- */

static bool fault(void)
{
	return any(100) < w.fault_percent;
}

static struct event *later(enum kind kind, __s64 delay)
{
	for (unsigned int i = 0; i < EVENTS; i++) {
		if (w.events[i].at)
			continue;
		w.events[i].at = w.now + delay;
		w.events[i].kind = kind;
		return &w.events[i];
	}
	return NULL;
}

static __s64 delay(void)
{
	return 20000 + any(50000) + (fault() ? any(80) * MS : 0);
}

static void transmit(enum kind kind, const __u8 *bytes, size_t len)
{
	unsigned int copies = 1 + fault() - fault();
	struct event *e, *seen = &w.seen[any(SEEN)];

	seen->kind = kind;
	seen->len = len;
	memcpy(seen->bytes, bytes, len);
	for (; copies && copies < 9; copies--) {
		e = later(kind, delay());
		if (!e)
			return;
		memcpy(e->bytes, bytes, len);
		e->len = len;
	}
}

/* Sends a recorded datagram again: unchanged, changed or truncated, sometimes in the
 * other direction. */
static void attack(void)
{
	const struct event *seen = &w.seen[any(SEEN)];
	struct event *e = seen->len ? later(seen->kind, 1 + any(MS)) : NULL;

	if (!e)
		return;
	memcpy(e->bytes, seen->bytes, seen->len);
	e->len = seen->len;
	if (!any(3))
		e->bytes[any((unsigned int)e->len)] ^= 1 << any(8);
	if (!any(6))
		e->len = any((unsigned int)e->len + 1);
	if (!any(8))
		e->kind = e->kind == REQUEST ? ANSWER : REQUEST;
}

/* Returns a packet time, as of a kernel time stamp, that differs from the true @cycles
 * by up to the `error` that the packet time states. */
static struct tsct_packet_time kernel(__u64 cycles)
{
	__u32 error = any(200);

	return (struct tsct_packet_time) {
		.cycles = cycles - error + any(2 * error + 1),
		.error = error, .kernel = true,
	};
}

/* ---- checks of complete exchanges ---------------------------------------- */

static void check(const struct tsct_exchange *x)
{
	double out = remote_true_time(x->t2) - local_true_time(x->t1);
	double back = local_true_time(x->t4) - remote_true_time(x->t3);
	double slack = x->local_error / 2.6 + x->remote_error /
		(w.ntp_only ? 1 : 3.1) + 2;

	ck_assert_msg(out >= -slack, "request received %f ns before it was sent", -out);
	ck_assert_msg(back >= -slack, "answer received %f ns before it was sent", -back);
	ck_assert_msg(!w.delivered || (__s64)(x->t1 - w.last_t1) > 0,
		      "an exchange was reported twice, or out of order");
	w.last_t1 = x->t1;
	w.delivered++;
	w.t1_kernel += !!(x->flags & TSCT_EXCHANGE_T1_KERNEL);
	w.t3_kernel += !!(x->flags & TSCT_EXCHANGE_T3_KERNEL);
	w.joined += x->session == 7;
}

/* ---- events of the simulation -------------------------------------------- */

static void send_request(bool follows)
{
	__u64 random[2] = { any64(), any64() };
	struct tsct_extension ext = { .flags = TSCT_EXT_JOIN, .session = 7 };
	__u8 bytes[TSCT_NTP_MAX];
	struct event *e;
	size_t len;

	len = tsct_client_request(&w.client, w.keys, random, any(2) ? &ext : NULL, follows, bytes);
	ck_assert_uint_gt(len, 0);
	tsct_client_sent(&w.client, (__u32)w.client.sent, (struct tsct_packet_time) {
		.cycles = local_at(w.now) });
	w.now += 1000 + any(4000);
	transmit(REQUEST, bytes, len);
	e = fault() ? NULL : later(T1_STAMP, any(fault() ? 20 * MS :
						 10000) + 1);
	if (!e)
		return;
	e->number = (__u32)w.client.sent;
	e->stamp = kernel(local_at(w.now));
}

static void serve(const struct event *request)
{
	__u8 reply[TSCT_NTP_MAX];
	struct tsct_packet_time rx = kernel(remote_at(w.now));
	struct event *e;
	__u32 ticket;
	size_t len;

	/* Time stamps of NTP have no stated error, so exact time stamps are used
	 * here. */
	if (w.ntp_only)
		rx.cycles = remote_at(w.now);
	tsct_responder_answer(w.responder, &w.timeline, &w.from,
			      request->bytes, request->len, rx, reply, &len,
			      &ticket);
	if (!len)
		return;
	w.now += 1000 + any(5000);
	transmit(ANSWER, reply, len);
	e = fault() ? NULL : later(T3_STAMP, any(fault() ? 20 * MS :
						 10000) + 1);
	if (!e)
		return;
	e->number = ticket;
	e->stamp = kernel(remote_at(w.now));
	if (w.ntp_only)
		e->stamp.cycles = remote_at(w.now);
}

static void receive(const struct event *answer)
{
	struct tsct_packet_time t4 = kernel(local_at(w.now));
	struct tsct_exchange x;

	if (any(2)) {
		w.now += any(5000);
		t4 = (struct tsct_packet_time) { .cycles = local_at(w.now) };
	}
	tsct_client_reply(&w.client, w.keys, answer->bytes, answer->len, t4,
			  w.ntp_only ? (__s64)remote_at(w.now) + 1000 * MS : NEAR_NS);
	while (tsct_client_next(&w.client, &x))
		check(&x);
}

static void next_event(void)
{
	struct event *next = NULL, e;

	for (unsigned int i = 0; i < EVENTS; i++)
		if (w.events[i].at && (!next || w.events[i].at < next->at))
			next = &w.events[i];
	if (!next)
		return;
	e = *next;
	next->at = 0;
	if (e.at > w.now)
		w.now = e.at;
	if (e.kind == REQUEST)
		serve(&e);
	else if (e.kind == ANSWER)
		receive(&e);
	else if (e.kind == T1_STAMP)
		tsct_client_sent(&w.client, e.number, e.stamp);
	else
		tsct_responder_sent(w.responder, e.number, e.stamp);
}

static bool due(__s64 at)
{
	for (unsigned int i = 0; i < EVENTS; i++)
		if (w.events[i].at && w.events[i].at <= at)
			return true;
	return false;
}

static void pass(__s64 ns)
{
	__s64 next = w.now + ns;

	while (due(next))
		next_event();
	if (w.now < next)
		w.now = next;
}

static void run(unsigned int polls)
{
	struct tsct_exchange x;

	while (polls--) {
		send_request(false);
		/* The further requests of the poll overtake the first one, or are sent
		 * after its answer. They are sent further apart than two time stamps may
		 * be off, so that the time stamps have the order of the requests. */
		for (unsigned int behind = any(w.extra_requests + 1); behind; behind--) {
			pass(200 + any(40000));
			send_request(true);
		}
		pass(MS / 2 + any(20) * MS);
		if (w.fault_percent && w.keys)
			attack();
		if (any(50))
			continue;
		tsct_client_flush(&w.client);
		if (tsct_client_next(&w.client, &x))
			check(&x);
	}
}

/* ---- setup and end of a simulation --------------------------------------- */

static void on_request(void *, const struct tsct_responder_request *req)
{
	req->reply->session = req->request.session;
}

static void begin(__u32 flags, bool keyed, unsigned int fault_percent)
{
	static const struct tsct_ratelimit_options no_limit;
	const struct tsct_responder_ops ops = {
		.now = remote_now, .real_ns = real_ns, .member_request = on_request,
	};
	struct tsct_client_options options = {
		.flags = flags, .key_id = keyed ? 5 : 0, .node = CHILD,
		.host = CHILD_HOST, .mult = MULT_26,
	};

	memset(&w, 0, sizeof(w));
	w.ntp_only = flags & TSCT_CLIENT_NTP_ONLY;
	w.fault_percent = fault_percent;
	w.now = 1;
	/* During the test the client's counter wraps at 2^64. The server's counter
	 * passes 2^63, or is the server's time in ns if the server supports NTP
	 * only. */
	w.local_start = -(__s64)any(2000) * 1000000;
	w.remote_start = w.ntp_only ? NEAR_NS :
		(__s64)((1ULL << 63) - any(2000) * 1000000ULL);
	w.keys = keyed ? keys_of(KEY_5) : NULL;
	w.ratelimit = tsct_ratelimit_new(&no_limit, 1);
	w.responder = tsct_responder_new(&ops);
	ck_assert(w.ratelimit && w.responder);
	ck_assert_int_eq(tsct_address_parse("10.0.0.1", &w.from), 0);
	ck_assert_int_eq(tsct_ratelimit_child(w.ratelimit, &w.from,
					      options.key_id), 0);
	tsct_responder_use(w.responder, w.keys, w.ratelimit);
	w.timeline = (struct tsct_timeline) {
		.node = MASTER, .host = MASTER_HOST, .master = MASTER,
		.epoch = 1, .status = TSCT_STATUS_SYNCHRONIZED,
		.has_params = true, .params = make_remote_params(), .stratum = 3,
		.precision = -29,
	};
	tsct_client_init(&w.client, &options);
}

static void finish(void)
{
	tsct_responder_free(w.responder);
	tsct_ratelimit_free(w.ratelimit);
	tsct_keys_free(w.keys);
}

/* Sets flags, key and network faults for run number @turn of a test. */
static void begin_turn(int turn, unsigned int fault_percent)
{
	static const __u32 flags[] = {
		0, TSCT_CLIENT_NTP_ONLY,
		TSCT_CLIENT_NTP_ONLY | TSCT_CLIENT_INTERLEAVED,
	};

	seed_with((unsigned int)turn);
	begin(flags[turn % 3], turn / 3 % 2, fault_percent);
	w.extra_requests = w.ntp_only ? 0 : (unsigned int)turn / 6 % 3;
}

/* No attack must succeed, and no valid answer must be dropped as impossible. */
static void check_no_attack_seen(void)
{
	ck_assert_uint_eq(w.client.counts[TSCT_CLIENT_BACKWARDS], 0);
	ck_assert_uint_eq(w.client.counts[TSCT_CLIENT_TOO_SOON], 0);
	ck_assert_uint_eq(w.client.counts[TSCT_CLIENT_IMPOSSIBLE], 0);
}

LOOP_TEST(test_perfect_network, 0, 6)
{
	bool timed;

	begin_turn(_i, 0);
	timed = !w.ntp_only || w.client.options.flags & TSCT_CLIENT_INTERLEAVED;
	run(2000);
	/* A flushed exchange cannot be completed by the next answer. */
	ck_assert_uint_gt(w.delivered, timed ? 1900 : 1999);
	if (timed) {
		ck_assert_uint_gt(w.t3_kernel, 1850);
		ck_assert_uint_gt(w.t1_kernel, 1900);
	} else {
		ck_assert_uint_eq(w.t3_kernel, 0);
	}
	if (!w.ntp_only)
		ck_assert_uint_gt(w.joined, 800);
	finish();
}

LOOP_TEST(test_bad_network, 0, 24)
{
	begin_turn(_i, 5 + 5 * (_i % 4));
	run(3000);
	ck_assert_uint_gt(w.delivered, 700);
	if (!w.ntp_only)
		ck_assert_uint_gt(w.t3_kernel, w.delivered / 5);
	/* The network faults must have made the client drop answers for the following
	 * reasons. */
	ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_DUPLICATE], 0);
	ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_REPLAY], 0);
	if (w.keys) {
		ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_MALFORMED], 0);
		ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_FOREIGN], 0);
		ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_NOT_OURS], 0);
	}
	check_no_attack_seen();
	finish();
}

/* Each poll must give an exchange, even if its datagrams overtake each other. */
LOOP_TEST(test_several_requests_per_poll, 0, 4)
{
	begin_turn(6 * (1 + _i / 2) + 3 * (_i % 2), 0);
	run(2000);
	check_no_attack_seen();
	ck_assert_uint_gt(w.client.sent, 2900);
	ck_assert_uint_ge(w.delivered + 1, 2000);
	/* More than one exchange per poll; fewer than requests, as answers to requests
	 * that are outstanding together may overtake each other. */
	ck_assert_uint_gt(w.delivered, w.extra_requests > 1 ? 3000 : 2500);
	ck_assert_uint_lt(w.delivered, w.client.sent);
	ck_assert_uint_gt(w.client.counts[TSCT_CLIENT_REPLAY], 100);
	ck_assert_uint_gt(w.t1_kernel, w.delivered / 10 * 9);
	ck_assert_uint_gt(w.t3_kernel, w.delivered / 2);
	finish();
}
