/* SPDX-License-Identifier: MIT */
/* A client under test. The test acts as its server, and may send any answer. */
#ifndef TESTS_CLIENT_WORLD_H
#define TESTS_CLIENT_WORLD_H

#include "ntp_helpers.h"

static struct world {
	struct tsct_client client;
	struct tsct_keys *keys;
	__u32 server_key;		/* id of the key with which the server makes
					 * MACs; 0: no MAC */
	__u8 sent[TSCT_NTP_MAX];
	size_t sent_len;
	struct tsct_ntp_packet request;
	struct tsct_packet_time t4;
	__u64 now, server_now;		/* present values of the client's and the
					 * server's counter */
	struct tsct_exchange x[2];
	unsigned int nr;
} w;

static inline void begin(__u32 flags, __u32 key_id)
{
	struct tsct_client_options options = {
		.flags = flags, .key_id = key_id, .node = CHILD,
		.host = CHILD_HOST, .mult = MULT_26,
	};

	tsct_keys_free(w.keys);
	memset(&w, 0, sizeof(w));
	w.keys = keys_of(KEY_5 KEY_6 KEY_7);
	w.server_key = key_id;
	w.now = 5000000;
	w.server_now = flags & TSCT_CLIENT_NTP_ONLY ? NEAR_NS : 900000000;
	tsct_client_init(&w.client, &options);
}

static inline void begin_plain(void)
{
	begin(0, 0);
}

static inline void finish(void)
{
	tsct_keys_free(w.keys);
	w.keys = NULL;
}

static inline struct tsct_packet_time stamp(__u64 cycles, __u32 error, bool kernel)
{
	struct tsct_packet_time s;

	memset(&s, 0, sizeof(s));
	s.cycles = cycles;
	s.error = error;
	s.kernel = kernel;
	return s;
}

/* Reports the transmit time of the last request to the client. */
static inline void report_sent(struct tsct_packet_time t1)
{
	tsct_client_sent(&w.client, (__u32)w.client.sent, t1);
}

static inline void note_request(size_t len)
{
	w.sent_len = len;
	ck_assert_uint_ge(w.sent_len, TSCT_NTP_HEADER);
	ck_assert_int_eq(tsct_ntp_parse(w.sent, w.sent_len, &w.request, NULL),
			 0);
	report_sent(stamp(w.now, 0, false));
	w.t4 = stamp(w.now + 260000, 0, true);
}

/* Makes a request, 100 ms after the previous one. */
static inline void send_request_with(const struct tsct_extension *ext)
{
	__u64 random[2] = { any64() | 1, any64() | 2 };

	w.now += 260000000;
	w.server_now += 310000000;
	note_request(tsct_client_request(&w.client, w.keys, random, ext, false, w.sent));
}

/* Makes a further request 10 us after the previous one. */
static inline void send_another_request(void)
{
	__u64 random[2] = { any64() | 1, any64() | 2 };

	w.now += 26000;
	w.server_now += 31000;
	note_request(tsct_client_request(&w.client, w.keys, random, NULL, true, w.sent));
}

static inline void send_request(void)
{
	send_request_with(NULL);
}

/* Returns the valid answer to the last request: a round trip of 100 us, of which 10 us
 * are in the server. */
static inline struct tsct_ntp_packet make_answer(void)
{
	struct tsct_ntp_packet p;

	memset(&p, 0, sizeof(p));
	p.version = 4;
	p.mode = TSCT_NTP_MODE_SERVER;
	p.stratum = 2;
	p.precision = -25;
	p.root_delay = 0x10;
	p.root_dispersion = 0x20;
	p.refid = 0x0a000001;
	p.origin = w.request.transmit;
	p.receive = tsct_ntp_from_ns(NEAR_NS);
	p.transmit = tsct_ntp_from_ns(NEAR_NS + 10000);
	if (w.client.options.flags & TSCT_CLIENT_NTP_ONLY) {
		p.receive = tsct_ntp_from_ns((__s64)w.server_now);
		p.transmit = tsct_ntp_from_ns((__s64)w.server_now + 10000);
		return p;
	}
	p.has_ext = true;
	p.ext.flags = TSCT_EXT_REPLY | TSCT_EXT_PARAMS | TSCT_EXT_RX_KERNEL;
	p.ext.status = TSCT_STATUS_SYNCHRONIZED;
	p.ext.node = MASTER;
	p.ext.host = MASTER_HOST;
	p.ext.master = MASTER;
	p.ext.nonce = w.request.ext.nonce;
	p.ext.epoch = 3;
	p.ext.rx = w.server_now;
	p.ext.tx = w.server_now + 31000;
	p.ext.params = make_remote_params();
	return p;
}

static inline size_t to_bytes(const struct tsct_ntp_packet *p, __u8 *bytes)
{
	size_t len = tsct_ntp_build(p, bytes);

	if (w.server_key)
		len = tsct_mac_append(w.keys, w.server_key, bytes, len);
	return len;
}

static inline enum tsct_client_result deliver_bytes(const __u8 *bytes, size_t len)
{
	enum tsct_client_result result;
	__u64 before;
	__u8 *copy = malloc(len ? len : 1);

	/* Copy the packet to memory of exactly the packet's size, so that the sanitizer
	 * detects a read beyond the packet's end. */
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, len);
	result = tsct_client_reply(&w.client, w.keys, copy, len, w.t4, NEAR_NS);
	w.nr = tsct_client_complete(&w.client);
	ck_assert_uint_le(w.nr, 2);
	before = w.client.counts[result];
	ck_assert_uint_ge(before, 1);
	if (result != TSCT_CLIENT_OK)
		ck_assert_uint_eq(w.nr, 0);
	for (unsigned int i = 0; i < w.nr; i++)
		ck_assert(tsct_client_next(&w.client, &w.x[i]));
	free(copy);
	return result;
}

/* Ends the client's wait for late transmit times. Returns false if no exchange is
 * complete then. */
static inline bool flush(struct tsct_exchange *ret_x)
{
	tsct_client_flush(&w.client);
	return tsct_client_next(&w.client, ret_x);
}

/* Returns the exchange that the next answer will complete. */
static inline const struct tsct_queued_exchange *pending(void)
{
	ck_assert_uint_gt(w.client.nr_queued, 0);
	return &w.client.queue[w.client.nr_queued - 1];
}

static inline enum tsct_client_result deliver(const struct tsct_ntp_packet *p)
{
	__u8 bytes[TSCT_NTP_MAX];

	return deliver_bytes(bytes, to_bytes(p, bytes));
}

/* Expects that the answer is dropped for reason @why and changes nothing: a valid
 * answer is still accepted. */
static inline void expect_dropped(const struct tsct_ntp_packet *p,
		    enum tsct_client_result why)
{
	struct tsct_client was = w.client;

	ck_assert_int_eq(deliver(p), why);
	ck_assert_uint_eq(w.client.counts[why], was.counts[why] + 1);
	check_same(&w.client, &was);
}

static inline void expect_accepted(const struct tsct_ntp_packet *p)
{
	ck_assert_int_eq(deliver(p), TSCT_CLIENT_OK);
}

#define T2_T4	(TSCT_EXCHANGE_T2_KERNEL | TSCT_EXCHANGE_T4_KERNEL)

static inline void expect_exchange(const struct tsct_exchange *x, __u64 t1, __u64 t2, __u64 t3,
				   __u32 flags)
{
	ck_assert_uint_eq(x->t1, t1);
	ck_assert_uint_eq(x->t2, t2);
	ck_assert_uint_eq(x->t3, t3);
	ck_assert_uint_eq(x->flags, flags);
}

/* The last answer has completed one exchange. */
static inline void expect_completed(__u64 t1, __u64 t2, __u64 t3, __u32 flags)
{
	ck_assert_uint_eq(w.nr, 1);
	expect_exchange(&w.x[0], t1, t2, t3, flags);
}

/* The valid answer to the last request, with changes to it, is dropped or accepted. */
#define DROPPED(why, ...) do {							\
	struct tsct_ntp_packet answer = make_answer();				\
	__VA_ARGS__;								\
	expect_dropped(&answer, why);						\
} while (0)
#define ACCEPTED(...) do {							\
	struct tsct_ntp_packet answer = make_answer();				\
	__VA_ARGS__;								\
	expect_accepted(&answer);						\
} while (0)

/* Sends a request. Returns the valid answer to it. */
static inline struct tsct_ntp_packet ask(void)
{
	send_request();
	return make_answer();
}

/* Makes an exchange. Returns its answer. */
static inline struct tsct_ntp_packet make_exchange(void)
{
	struct tsct_ntp_packet p = ask();

	expect_accepted(&p);
	return p;
}

#endif /* TESTS_CLIENT_WORLD_H */
