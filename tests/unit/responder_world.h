/* SPDX-License-Identifier: MIT */
/* A responder under test, and its last answer */
#ifndef TESTS_RESPONDER_WORLD_H
#define TESTS_RESPONDER_WORLD_H

#include <sys/mman.h>

#include "suite.h"
#include "lib/ntp/responder.h"
#include "ntp_helpers.h"

static struct world {
	struct tsct_responder *responder;
	struct tsct_ratelimit *ratelimit;
	struct tsct_keys *keys;
	struct tsct_timeline timeline;
	__u64 now;
	unsigned int nr_requests;
	struct tsct_responder_request last;
	/* The responder's last answer, parsed and as bytes */
	struct tsct_ntp_packet reply;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len;
	__u32 ticket;
} w;

static inline __u64 now(void *)
{
	return w.now++;
}

static inline __s64 real_ns(void *, __u64 cycles)
{
	return NEAR_NS + (__s64)cycles;
}

static inline void on_request(void *, const struct tsct_responder_request *req)
{
	w.nr_requests++;
	w.last = *req;
	req->reply->session = 5;
	req->reply->turn_us = 100;
	req->reply->flags |= TSCT_EXT_SESSION_OPEN;
	if (req->missing)
		strcpy(req->missing, !strcmp(req->below, "x") ? "x, y" : "?");
}

/* Returns where the tx field of the last answer to a client is kept, by key and address. The search
 * for leaks reads variables, but not what mmap() returned. */
static inline __u64 *last_tx_to(const struct tsct_address *from, __u32 key_id)
{
	static __u64 (*last_tx)[1 << 20];

	if (!last_tx)
		last_tx = mmap(NULL, 8 * sizeof(*last_tx), PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(last_tx, MAP_FAILED);
	return &last_tx[key_id & 7][((unsigned int)from->ip[13] & 15) << 16 |
				    (unsigned int)from->ip[14] << 8 | from->ip[15]];
}

static inline void setup(void)
{
	static const struct tsct_responder_ops ops = {
		.now = now, .real_ns = real_ns, .member_request = on_request,
	};
	static const struct tsct_ratelimit_options no_limit;

	memset(&w, 0, sizeof(w));
	w.now = 1000;
	w.responder = tsct_responder_new(&ops);
	w.ratelimit = tsct_ratelimit_new(&no_limit, 1);
	ck_assert(w.responder && w.ratelimit);
	ck_assert_int_eq(tsct_ratelimit_rule(w.ratelimit, "10.0.0.0/8", true), 0);
	tsct_responder_use(w.responder, NULL, w.ratelimit);
	w.timeline = (struct tsct_timeline) {
		.node = MASTER, .host = MASTER_HOST, .master = MASTER,
		.epoch = 3, .status = TSCT_STATUS_SYNCHRONIZED,
		.has_params = true, .params = make_remote_params(), .stratum = 10,
		.precision = -25, .refid = 0x7f7f0101, .root_delay = 1,
		.root_dispersion = 2, .reference = 77,
	};
}

static inline void teardown(void)
{
	tsct_responder_free(w.responder);
	tsct_ratelimit_free(w.ratelimit);
	tsct_keys_free(w.keys);
}

static inline void use_keys(void)
{
	w.keys = keys_of(KEY_5 KEY_6 KEY_7);
	tsct_responder_use(w.responder, w.keys, w.ratelimit);
}

static inline struct tsct_address address(const char *text)
{
	struct tsct_address a = { .port = 123 };

	ck_assert_int_eq(tsct_address_parse(text, &a), 0);
	return a;
}

static inline enum tsct_answer deliver_bytes(const struct tsct_address *from,
				   const __u8 *bytes, size_t len)
{
	struct tsct_packet_time rx = { .cycles = w.now, .error = 3, .kernel = true };
	enum tsct_answer answer;
	__u64 counts[TSCT_ANSWER_NR];
	__u8 *copy = malloc(len ? len : 1);

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
	for (int i = 0; i < TSCT_ANSWER_NR; i++)
		ck_assert_uint_eq(tsct_responder_counts(w.responder)[i],
				  counts[i] + (i == (int)answer));
	if (w.len)
		ck_assert_ptr_null(tsct_ntp_parse(w.bytes, w.len, &w.reply));
	return answer;
}

/* Delivers a request unchanged, as a replay does. */
static inline enum tsct_answer deliver_unchanged(const char *from,
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
	return deliver_bytes(&at, bytes, len);
}

/* Delivers a request as from a client that received the last answer: its tx field is
 * set to that of the answer. */
static inline enum tsct_answer deliver(const char *from, struct tsct_ntp_packet *p,
			     __u32 key_id)
{
	struct tsct_address at = address(from);
	__u64 *tx = last_tx_to(&at, key_id);
	enum tsct_answer answer;

	p->ext.tx = *tx;
	answer = deliver_unchanged(from, p, key_id);
	if (!answer && w.reply.has_ext)
		*tx = w.reply.ext.tx;
	return answer;
}

static inline struct tsct_ntp_packet request(bool field)
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

/* Delivers a request that must be answered. */
static inline void expect_answer(const char *from, struct tsct_ntp_packet *p, __u32 key_id)
{
	ck_assert_int_eq(deliver(from, p, key_id), TSCT_ANSWER_SENT);
}

static inline void expect_answer_unchanged(const char *from, const struct tsct_ntp_packet *p,
					   __u32 key_id)
{
	ck_assert_int_eq(deliver_unchanged(from, p, key_id), TSCT_ANSWER_SENT);
}

/* Makes a request with our extension field, which is answered. Returns the request. */
static inline struct tsct_ntp_packet ask(const char *from, __u32 key_id)
{
	struct tsct_ntp_packet p = request(true);

	expect_answer(from, &p, key_id);
	return p;
}

static inline void sent(__u32 ticket, __u64 cycles, __u32 error, bool kernel)
{
	tsct_responder_sent(w.responder, ticket, (struct tsct_packet_time) {
		.cycles = cycles, .error = error, .kernel = kernel });
}

#endif /* TESTS_RESPONDER_WORLD_H */
