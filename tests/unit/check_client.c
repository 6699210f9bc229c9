// SPDX-License-Identifier: MIT
/*
 * The asking side: what of an answer is believed, and that nothing else changes
 * anything. The server here is the test itself, so that it can lie.
 */
#include "suite.h"
#include "sync/bytes.h"
#include "sync/responder.h"
#include "talk.h"

static struct world {
	struct tsct_client client;
	struct tsct_keys *keys;
	__u32 server_key;		/* 0: it sends no MAC */
	__u8 sent[TSCT_NTP_MAX];
	size_t sent_len;
	struct tsct_ntp_packet request;
	struct tsct_stamp t4;
	__u64 now, there;		/* counters here and there */
	struct tsct_exchange x[2];
	unsigned int nr;
} w;

static void begin(__u32 flags, __u32 key_id)
{
	struct tsct_client_options options = {
		.flags = flags, .key_id = key_id, .node = CHILD,
		.host = CHILD_HOST, .mult = MULT_26, .refid = 0x7f000001,
	};

	tsct_keys_free(w.keys);
	memset(&w, 0, sizeof(w));
	w.keys = keys_of(KEY_5 KEY_6 KEY_7);
	w.server_key = key_id;
	w.now = 5000000;
	w.there = flags & TSCT_CLIENT_PLAIN ? NEAR_NS : 900000000;
	tsct_client_init(&w.client, &options);
}

static void finish(void)
{
	tsct_keys_free(w.keys);
	w.keys = NULL;
}

static struct tsct_stamp stamp(__u64 ticks, __u32 error, bool kernel)
{
	struct tsct_stamp s;

	memset(&s, 0, sizeof(s));
	s.ticks = ticks;
	s.error = error;
	s.kernel = kernel;
	return s;
}

/* A request at w.now. */
static void ask_with(const struct tsct_ext *ext)
{
	__u64 random[2] = { any64() | 1, any64() | 2 };

	w.now += 260000000;
	w.there += 310000000;
	w.sent_len = tsct_client_request(&w.client, w.keys, random, ext, w.sent);
	ck_assert_uint_ge(w.sent_len, TSCT_NTP_HEADER);
	ck_assert_int_eq(tsct_ntp_parse(w.sent, w.sent_len, &w.request, NULL),
			 0);
	tsct_client_sent(&w.client, stamp(w.now, 0, false));
	w.t4 = stamp(w.now + 260000, 0, true);
}

static void ask(void)
{
	ask_with(NULL);
}

/* The right answer to it: 100 us, of which the server kept it for 10. */
static struct tsct_ntp_packet answer(void)
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
	if (w.client.options.flags & TSCT_CLIENT_PLAIN) {
		p.receive = tsct_ntp_from_ns((__s64)w.there);
		p.transmit = tsct_ntp_from_ns((__s64)w.there + 10000);
		return p;
	}
	p.has_ext = true;
	p.ext.flags = TSCT_EXT_REPLY | TSCT_EXT_LINE | TSCT_EXT_RX_KERNEL;
	p.ext.status = TSCT_STATUS_SYNCHRONIZED;
	p.ext.node = MASTER;
	p.ext.host = MASTER_HOST;
	p.ext.master = MASTER;
	p.ext.nonce = w.request.ext.nonce;
	p.ext.epoch = 3;
	p.ext.rx = w.there;
	p.ext.tx = w.there + 31000;
	p.ext.line = a_line();
	return p;
}

static size_t to_bytes(const struct tsct_ntp_packet *p, __u8 *bytes)
{
	size_t len = tsct_ntp_build(p, bytes);

	if (w.server_key)
		len = tsct_mac_append(w.keys, w.server_key, bytes, len);
	return len;
}

static enum tsct_client_result give_bytes(const __u8 *bytes, size_t len)
{
	enum tsct_client_result result;
	__u64 before;
	__u8 *copy = malloc(len ? len : 1);

	/* Of its own size, so that the sanitizer sees a look beyond */
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, len);
	w.nr = 77;
	result = tsct_client_reply(&w.client, w.keys, copy, len, w.t4, NEAR_NS,
				   w.x, &w.nr);
	before = w.client.counts[result];
	ck_assert_uint_ge(before, 1);
	if (result != TSCT_CLIENT_OK)
		ck_assert_uint_eq(w.nr, 0);
	free(copy);
	return result;
}

static enum tsct_client_result give(const struct tsct_ntp_packet *p)
{
	__u8 bytes[TSCT_NTP_MAX];

	return give_bytes(bytes, to_bytes(p, bytes));
}

/* It is dropped, for that reason, and nothing changed: the right one still counts. */
static void dropped(const struct tsct_ntp_packet *p,
		    enum tsct_client_result why)
{
	struct tsct_client was = w.client;

	ck_assert_int_eq(give(p), why);
	ck_assert_uint_eq(w.client.counts[why], was.counts[why] + 1);
	check_same(&w.client, &was);
}

static void taken(const struct tsct_ntp_packet *p)
{
	ck_assert_int_eq(give(p), TSCT_CLIENT_OK);
}

/* ---- the normal case ------------------------------------------------------------- */

START_TEST(exchanges)
{
	struct tsct_ntp_packet p;
	struct tsct_exchange x;
	__u64 t1, t2, t3, nonce;
	int i;

	begin(0, 0);
	ask();
	p = answer();
	t1 = w.now, t2 = p.ext.rx, t3 = p.ext.tx, nonce = p.ext.nonce;
	taken(&p);
	ck_assert_uint_eq(w.nr, 0);
	for (i = 0; i < 10; i++) {
		ask();
		p = answer();
		p.ext.prev_nonce = nonce;
		p.ext.prev_tx = t3 + 200;
		p.ext.rx_error = 7;
		p.ext.flags |= TSCT_EXT_TX_KERNEL;
		taken(&p);
		ck_assert_uint_eq(w.nr, 1);
		ck_assert_uint_eq(w.x[0].t1, t1);
		ck_assert_uint_eq(w.x[0].t2, t2);
		ck_assert_uint_eq(w.x[0].t3, t3 + 200);
		ck_assert_uint_eq(w.x[0].t4, t1 + 260000);
		ck_assert_uint_eq(w.x[0].remote_error, 7);
		ck_assert_uint_eq(w.x[0].session, 0);
		ck_assert_uint_eq(w.x[0].flags, TSCT_EXCHANGE_T2_KERNEL |
				  TSCT_EXCHANGE_T3_KERNEL |
				  TSCT_EXCHANGE_T4_KERNEL);
		t1 = w.now, t2 = p.ext.rx, t3 = p.ext.tx, nonce = p.ext.nonce;
	}
	/* Not told: as it is */
	ask();
	p = answer();
	taken(&p);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t3, t3);
	ck_assert(!(w.x[0].flags & TSCT_EXCHANGE_T3_KERNEL));
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.t1, w.now);
	ck_assert_uint_eq(x.t3, p.ext.tx);
	ck_assert(!tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(w.client.sent, 12);
	ck_assert_uint_eq(w.client.reach, 0xff);
	ck_assert_uint_eq(w.client.remote.epoch, 3);
	ck_assert_uint_eq(w.client.remote.line.mult, MULT_31);
	finish();
}
END_TEST

START_TEST(requests_tell_nothing)
{
	static const __u8 zero[TSCT_NTP_MAX];
	struct tsct_ext ext;

	begin(TSCT_CLIENT_PLAIN, 0);
	ask();
	ck_assert_uint_eq(w.sent_len, TSCT_NTP_HEADER);
	ck_assert_mem_eq(w.sent + 4, zero, 36);
	begin(0, 5);
	memset(&ext, 0xff, sizeof(ext));
	ask_with(&ext);
	/* As long as the answer */
	ck_assert_uint_eq(w.sent_len, TSCT_NTP_HEADER + TSCT_EXT_SIZE + 20);
	ck_assert_mem_eq(w.sent + 4, zero, 36);
	ck_assert_uint_eq(w.request.ext.flags,
			  TSCT_EXT_JOIN | TSCT_EXT_ARRIVED);
	ck_assert_uint_eq(w.request.ext.rx, 0);
	ck_assert_uint_eq(w.request.ext.tx, 0);
	ck_assert_uint_eq(w.request.ext.epoch, 0);
	ck_assert_uint_eq(w.request.ext.prev_tx, 0);
	ck_assert_uint_eq(w.request.ext.line.mult, 0);
	ck_assert_uint_eq(w.request.ext.session, ~0U);
	finish();
}
END_TEST

START_TEST(no_such_key)
{
	__u64 random[2] = { 1, 2 };
	struct tsct_client was;

	begin(0, 99);
	was = w.client;
	ck_assert_uint_eq(tsct_client_request(&w.client, w.keys, random, NULL,
					      w.sent), 0);
	ck_assert_uint_eq(tsct_client_request(&w.client, NULL, random, NULL,
					      w.sent), 0);
	ck_assert_mem_eq(&w.client, &was, sizeof(was));
	finish();
}
END_TEST

/* ---- answers to something else ------------------------------------------------------ */

START_TEST(origins)
{
	struct tsct_ntp_packet p, old[12];
	int i;

	begin(0, 0);
	/* To no request at all */
	p = answer();
	dropped(&p, TSCT_CLIENT_ZERO_ORIGIN);
	p.origin = 4711;
	dropped(&p, TSCT_CLIENT_FOREIGN);
	for (i = 0; i < 12; i++) {
		ask();
		old[i] = answer();
		p = old[i];
		p.origin = 0;
		dropped(&p, TSCT_CLIENT_ZERO_ORIGIN);
		p.origin = old[i].origin ^ 1;
		dropped(&p, TSCT_CLIENT_FOREIGN);
		p = old[i];
		p.ext.nonce ^= 1ULL << 63;
		dropped(&p, TSCT_CLIENT_FOREIGN);
		p = old[i];
		p.ext.flags &= ~TSCT_EXT_REPLY;
		dropped(&p, TSCT_CLIENT_FOREIGN);
		if (i % 3 == 2)
			continue;	/* never answered */
		taken(&old[i]);
		dropped(&old[i], TSCT_CLIENT_DUPLICATE);
		if (i)
			dropped(&old[i - 1], TSCT_CLIENT_REPLAY);
	}
	ask();
	/* Of a request that was given up: late, no duplicate */
	dropped(&old[11], TSCT_CLIENT_REPLAY);
	dropped(&old[10], TSCT_CLIENT_REPLAY);
	dropped(&old[5], TSCT_CLIENT_REPLAY);
	/* Longer ago than anybody remembers */
	dropped(&old[0], TSCT_CLIENT_FOREIGN);
	p = answer();
	taken(&p);
	finish();
}
END_TEST

START_TEST(modes)
{
	struct tsct_ntp_packet p;
	int mode, version;

	begin(0, 0);
	ask();
	for (mode = 0; mode < 6; mode++) {
		for (version = 1; version < 5; version++) {
			if (mode == 4 && version == 4)
				continue;
			p = answer();
			p.mode = (__u8)mode;
			p.version = (__u8)version;
			dropped(&p, TSCT_CLIENT_NOT_OURS);
		}
	}
	p = answer();
	taken(&p);
	finish();
}
END_TEST

/* ---- keys ------------------------------------------------------------------------------ */

START_TEST(macs)
{
	struct tsct_client was;
	struct tsct_ntp_packet p;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len, i;

	begin(0, 5);
	ask();
	p = answer();
	w.server_key = 0;
	dropped(&p, TSCT_CLIENT_NO_MAC);
	w.server_key = 6;	/* a right one, of another key */
	dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 7;
	dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 5;
	len = to_bytes(&p, bytes);
	was = w.client;
	for (i = 0; i < len * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		ck_assert_int_ne(give_bytes(bytes, len), TSCT_CLIENT_OK);
		check_same(&w.client, &was);
		bytes[i / 8] ^= 1 << i % 8;
	}
	for (i = 0; i < len; i++) {
		ck_assert_int_ne(give_bytes(bytes, i), TSCT_CLIENT_OK);
		check_same(&w.client, &was);
	}
	/* "I cannot check your MAC": from whom we do not know */
	w.server_key = 0;
	len = to_bytes(&p, bytes);
	put32(bytes + len, 0);
	ck_assert_int_eq(give_bytes(bytes, len + 4), TSCT_CLIENT_CRYPTO_NAK);
	check_same(&w.client, &was);
	w.server_key = 5;
	taken(&p);
	ask();
	p = answer();
	taken(&p);
	ck_assert(w.x[0].flags & TSCT_EXCHANGE_AUTH);
	begin(0, 0);
	ask();
	p = answer();
	w.server_key = 5;
	dropped(&p, TSCT_CLIENT_EXTRA_MAC);
	finish();
}
END_TEST

/* ---- kiss-o'-death ------------------------------------------------------------------------ */

static struct tsct_ntp_packet kiss(const char *code)
{
	struct tsct_ntp_packet p = answer();

	p.has_ext = false;
	p.leap = TSCT_NTP_UNSYNCED;
	p.stratum = 0;
	p.refid = get32((const __u8 *)code);
	return p;
}

START_TEST(kisses)
{
	struct tsct_ntp_packet p;
	unsigned int i;

	begin(0, 5);
	ask();
	p = kiss("RATE");
	p.origin ^= 1;
	dropped(&p, TSCT_CLIENT_FOREIGN);
	p.origin = 0;
	dropped(&p, TSCT_CLIENT_ZERO_ORIGIN);
	p = kiss("RATE");
	w.server_key = 0;
	dropped(&p, TSCT_CLIENT_NO_MAC);
	w.server_key = 6;
	dropped(&p, TSCT_CLIENT_BAD_MAC);
	w.server_key = 5;
	p = answer();		/* with our field, and another's nonce */
	p.ext.nonce++;
	p.stratum = 0;
	p.refid = get32((const __u8 *)"DENY");
	dropped(&p, TSCT_CLIENT_FOREIGN);
	for (i = 0; i < 9; i++) {
		ask();
		p = kiss("RATE");
		ck_assert_int_eq(give(&p), TSCT_CLIENT_KISS);
		ck_assert_str_eq(w.client.kiss, "RATE");
		ck_assert_uint_eq(w.client.backoff, i < 6 ? i + 1 : 6);
		dropped(&p, TSCT_CLIENT_DUPLICATE);
	}
	for (i = 0; i < 16 * 6; i++) {
		ask();
		p = answer();
		taken(&p);
		ck_assert_uint_eq(w.client.backoff, 6 - (i + 1) / 16);
	}
	ask();
	p = kiss("DENY");
	ck_assert_int_eq(give(&p), TSCT_CLIENT_KISS);
	ck_assert_str_eq(w.client.kiss, "DENY");
	ck_assert_uint_eq(w.client.backoff, TSCT_BACKOFF_DENIED);
	ask();
	p = kiss("RATE");	/* is no reason to ask more */
	ck_assert_int_eq(give(&p), TSCT_CLIENT_KISS);
	ck_assert_uint_eq(w.client.backoff, TSCT_BACKOFF_DENIED);
	/* Of an NTP server that was just started: not a wish */
	begin(TSCT_CLIENT_PLAIN, 0);
	ask();
	p = kiss("INIT");
	ck_assert_int_eq(give(&p), TSCT_CLIENT_UNSYNCED);
	ck_assert_uint_eq(w.client.backoff, 0);
	finish();
}
END_TEST

/* ---- what cannot be ---------------------------------------------------------------------- */

START_TEST(impossible)
{
	struct tsct_ntp_packet p;

	begin(0, 0);
	ask();
	p = answer();
	p.ext.tx = p.ext.rx - 1;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.rx_error = 1;	/* as well as that is known, it may be */
	w.there += 100;
	taken(&p);
	ask();
	p = answer();
	p.ext.line.mult = 0;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p = answer();
	p.ext.line.mult = 1000;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	/* t4 before t1 */
	p = answer();
	p.ext.tx = p.ext.rx;
	w.t4 = stamp(w.now - 10, 0, true);
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	w.t4 = stamp(w.now - 10, 10, true);
	taken(&p);
	finish();
}
END_TEST

/* The server kept it for 100 us and some, which is what we waited. */
START_TEST(too_soon)
{
	struct tsct_ntp_packet p;

	begin(0, 0);
	ask();
	p = answer();
	p.ext.tx = p.ext.rx + 310000 + 500;
	dropped(&p, TSCT_CLIENT_TOO_SOON);
	p.ext.tx = p.ext.rx + (1ULL << 62);
	dropped(&p, TSCT_CLIENT_TOO_SOON);
	p.ext.tx = p.ext.rx + 310000;	/* a wire of no length: just possible */
	taken(&p);
	/* And the stamp that comes behind */
	ask();
	p = answer();
	p.ext.flags |= TSCT_EXT_TX_KERNEL;
	p.ext.prev_nonce = w.client.pending_nonce;
	p.ext.prev_tx = w.client.pending.t2 + 310000 + 500;
	dropped(&p, TSCT_CLIENT_TOO_SOON);
	p.ext.prev_tx = w.client.pending.t3 - 1;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.prev_tx = p.ext.rx + 1;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.prev_tx = w.client.pending.t3;
	taken(&p);
	ck_assert_uint_eq(w.nr, 1);
	/* What our own rate is, nobody said. */
	begin(0, 0);
	w.client.options.mult = 0;
	ask();
	p = answer();
	p.ext.tx = p.ext.rx + 1000000000;
	taken(&p);
	finish();
}
END_TEST

START_TEST(no_stamp_of_ours)
{
	__u64 random[2] = { any64() | 1, any64() | 2 };
	struct tsct_ntp_packet p;

	begin(0, 0);
	w.sent_len = tsct_client_request(&w.client, w.keys, random, NULL,
					 w.sent);
	ck_assert_int_eq(tsct_ntp_parse(w.sent, w.sent_len, &w.request, NULL),
			 0);
	p = answer();
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	finish();
}
END_TEST

START_TEST(backwards)
{
	struct tsct_ntp_packet p, last;
	int i;

	begin(0, 0);
	ask();
	last = answer();
	taken(&last);
	ask();
	p = answer();
	p.ext.rx = last.ext.tx - 1;
	p.ext.tx = p.ext.rx + 10;
	ck_assert_int_eq(give(&p), TSCT_CLIENT_BACKWARDS);
	ck_assert_uint_eq(w.nr, 0);
	p.ext.rx_error = 1;
	taken(&p);
	/* Another counter may be anywhere; and what waited was of the one before. */
	for (i = 0; i < 4; i++) {
		ask();
		p = answer();
		p.ext.rx = 1000 - 100 * i;
		p.ext.tx = p.ext.rx + 10;
		p.ext.epoch = 3 + (i == 0);
		p.ext.host = MASTER_HOST + (i == 1);
		p.ext.node = MASTER + (i == 2);
		p.ext.master = MASTER + (i == 3);
		p.ext.prev_nonce = w.client.pending_nonce;
		p.ext.prev_tx = w.client.pending.t3 + 1;
		p.ext.flags |= TSCT_EXT_TX_KERNEL;
		taken(&p);
		ck_assert_uint_eq(w.nr, 0);
	}
	finish();
}
END_TEST

/* An NTP server whose clock was set back by an hour is believed the third time. */
START_TEST(set_back)
{
	struct tsct_ntp_packet p;
	int i;

	begin(TSCT_CLIENT_PLAIN, 0);
	ask();
	p = answer();
	taken(&p);
	w.there -= 3600000000000ULL;
	for (i = 0; i < 3; i++) {
		ask();
		p = answer();
		ck_assert_uint_eq(w.client.remote.epoch, 0);
		ck_assert_int_eq(give(&p), TSCT_CLIENT_BACKWARDS);
	}
	ck_assert_uint_eq(w.client.remote.epoch, 1);
	ask();
	p = answer();
	taken(&p);
	ck_assert_uint_eq(w.client.remote.epoch, 1);
	finish();
}
END_TEST

/* ---- who it is -------------------------------------------------------------------------- */

START_TEST(ourselves)
{
	struct tsct_ntp_packet p;

	begin(0, 0);
	ask();
	p = answer();
	p.ext.node = CHILD;
	dropped(&p, TSCT_CLIENT_SELF);
	p = answer();
	p.ext.master = CHILD;
	p.ext.depth = 1;
	dropped(&p, TSCT_CLIENT_LOOP);
	p = answer();
	p.ext.depth = TSCT_DEPTH_MAX + 1;
	dropped(&p, TSCT_CLIENT_LOOP);
	p.ext.depth = TSCT_DEPTH_MAX;
	taken(&p);
	ck_assert(!w.client.remote.shared);
	begin(TSCT_CLIENT_PLAIN, 0);
	ask();
	p = answer();
	p.refid = 0x7f000001;
	dropped(&p, TSCT_CLIENT_LOOP);
	p.stratum = 1;		/* there it names a kind of clock */
	taken(&p);
	finish();
}
END_TEST

/* Who has our counter answers between our stamps. */
START_TEST(same_host)
{
	struct tsct_ntp_packet p;

	begin(0, 0);
	ask();
	p = answer();
	p.ext.host = CHILD_HOST;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.rx = w.now - 1;
	p.ext.tx = w.now + 5;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.rx = w.now;
	p.ext.tx = w.t4.ticks + 1;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p.ext.tx = w.t4.ticks;
	p.ext.line.mult = MULT_26;
	taken(&p);
	ck_assert(w.client.remote.shared);
	finish();
}
END_TEST

START_TEST(knows_no_time)
{
	static const __u32 bad[] = {
		TSCT_STATUS_UNKNOWN, TSCT_STATUS_DISRUPTED, TSCT_STATUS_NR, ~0U,
	};
	struct tsct_ntp_packet p;
	unsigned int i;

	begin(0, 0);
	ask();
	p = answer();
	taken(&p);
	for (i = 0; i < 4; i++) {
		ask();
		p = answer();
		p.ext.status = bad[i];
		p.ext.barrier = 5 + i;
		ck_assert_int_eq(give(&p), TSCT_CLIENT_UNSYNCED);
		ck_assert_uint_eq(w.client.remote.barrier, 5 + i);
		ck_assert(!w.client.remote.has_line);
		dropped(&p, TSCT_CLIENT_DUPLICATE);
	}
	ask();
	p = answer();
	p.ext.flags &= ~TSCT_EXT_LINE;
	ck_assert_int_eq(give(&p), TSCT_CLIENT_UNSYNCED);
	ck_assert_uint_eq(w.client.reach, 0x20);
	for (i = 0; i < 4; i++) {
		begin(TSCT_CLIENT_PLAIN, 0);
		ask();
		p = answer();
		if (i == 0)
			p.leap = TSCT_NTP_UNSYNCED;
		else if (i == 1)
			p.stratum = 16;
		else if (i == 2)
			p.root_dispersion = 16 << 16;
		else
			p.stratum = 0;
		ck_assert_int_eq(give(&p), TSCT_CLIENT_UNSYNCED);
		ck_assert_uint_eq(w.client.reach, 0);
	}
	finish();
}
END_TEST

START_TEST(no_field)
{
	struct tsct_ntp_packet p;

	begin(0, 0);
	ask();
	p = answer();
	p.has_ext = false;
	dropped(&p, TSCT_CLIENT_NO_FIELD);
	/* Asked for plain NTP, a field is no harm. */
	begin(TSCT_CLIENT_PLAIN, 0);
	ask();
	p = answer();
	p.has_ext = true;
	taken(&p);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t2, w.there);
	finish();
}
END_TEST

START_TEST(in_a_session)
{
	struct tsct_ext ext = { .flags = TSCT_EXT_JOIN, .session = 9 };
	struct tsct_ntp_packet p;
	struct tsct_exchange x;

	begin(0, 0);
	ask_with(&ext);
	p = answer();
	p.ext.session = 9;
	p.ext.turn_us = 123;
	p.ext.flags |= TSCT_EXT_SESSION_OPEN;
	taken(&p);
	ck_assert_uint_eq(w.client.remote.turn_us, 123);
	ck_assert_uint_eq(w.client.remote.flags, TSCT_EXT_SESSION_OPEN);
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.session, 9);
	/* Of another than we asked for; or we did not ask */
	ask_with(&ext);
	p = answer();
	p.ext.session = 10;
	taken(&p);
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.session, 0);
	ask();
	p = answer();
	p.ext.session = 10;
	taken(&p);
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.session, 0);
	finish();
}
END_TEST

/* ---- stamps of ours that come late ------------------------------------------------------- */

START_TEST(kernel_stamps)
{
	struct tsct_ntp_packet p;
	struct tsct_exchange x;
	struct tsct_client was;

	begin(0, 0);
	ask();
	tsct_client_sent(&w.client, stamp(w.now + 5000, 30, true));
	p = answer();
	taken(&p);
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.t1, w.now + 5000);
	ck_assert_uint_eq(x.local_error, 30);
	ck_assert(x.flags & TSCT_EXCHANGE_T1_KERNEL);
	/* After the answer */
	ask();
	p = answer();
	taken(&p);
	tsct_client_sent(&w.client, stamp(w.now + 6000, 30, true));
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert_uint_eq(x.t1, w.now + 6000);
	ck_assert(x.flags & TSCT_EXCHANGE_T1_KERNEL);
	/* So late that the answer could not be; of the request before; a second */
	ask();
	p = answer();
	taken(&p);
	was = w.client;
	tsct_client_sent(&w.client, stamp(w.now + 250000, 30, true));
	tsct_client_sent(&w.client, stamp(w.now - 1000, 30, true));
	tsct_client_sent(&w.client, stamp(w.now + 270000, 0, true));
	tsct_client_sent(&w.client, stamp(w.now + 100, 0, false));
	check_same(&w.client, &was);
	ask();
	was = w.client;
	tsct_client_sent(&w.client, stamp(w.now - 200000000, 30, true));
	check_same(&w.client, &was);
	p = answer();
	taken(&p);
	ck_assert(tsct_client_flush(&w.client, &x));
	ck_assert(!(x.flags & TSCT_EXCHANGE_T1_KERNEL));
	ck_assert_uint_eq(x.t1, w.now);
	finish();
}
END_TEST

START_TEST(our_counter_is_disrupted)
{
	struct tsct_ntp_packet p, old;
	struct tsct_exchange x;

	begin(0, 0);
	ask();
	p = answer();
	taken(&p);
	ask();
	old = answer();
	tsct_client_disrupt(&w.client);
	ck_assert(!tsct_client_flush(&w.client, &x));
	dropped(&old, TSCT_CLIENT_REPLAY);
	ask();
	p = answer();
	taken(&p);
	ck_assert_uint_eq(w.nr, 0);
	finish();
}
END_TEST

/* ---- plain NTP ------------------------------------------------------------------------------ */

START_TEST(plain)
{
	struct tsct_ntp_packet p;
	int i;

	begin(TSCT_CLIENT_PLAIN, 0);
	for (i = 0; i < 3; i++) {
		ask();
		ck_assert_uint_eq(w.request.receive, 0);
		p = answer();
		p.version = i == 1 ? 3 : 4;
		taken(&p);
		ck_assert_uint_eq(w.nr, 1);
		ck_assert_uint_eq(w.x[0].t1, w.now);
		ck_assert_uint_eq(w.x[0].t2, w.there);
		ck_assert_uint_eq(w.x[0].t3, w.there + 10000);
		ck_assert_uint_eq(w.x[0].remote_error, 30);
		ck_assert_uint_eq(w.x[0].flags, TSCT_EXCHANGE_T4_KERNEL);
	}
	ck_assert(!w.client.remote.has_line);
	ck_assert_uint_eq(w.client.remote.line.mult, TSCT_NS_MULT);
	ck_assert_uint_eq(w.client.remote.line.as_of, w.there + 10000);
	/* 2^-13 s and 2^-11 s, the former halved */
	ck_assert_uint_eq(w.client.remote.line.error_ps,
			  (122071 + 488282) * 1000ULL);
	ck_assert_uint_eq(w.client.remote.line.growth * 1000000000 >> 32,
			  15000000);
	ask();
	p = answer();
	p.receive = 0;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p = answer();
	p.transmit = 0;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p = answer();
	p.transmit = p.receive - 0x1000;
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	finish();
}
END_TEST

/* Answers to requests of interleaved mode: their origin is our receive stamp. */
static struct tsct_ntp_packet interleaved(__u64 t3)
{
	struct tsct_ntp_packet p = answer();

	p.origin = w.request.receive;
	p.transmit = tsct_ntp_from_ns((__s64)t3);
	return p;
}

START_TEST(interleaves)
{
	struct tsct_ntp_packet p, basic;
	struct tsct_exchange x;
	__u64 t1, t2;
	int i;

	begin(TSCT_CLIENT_PLAIN | TSCT_CLIENT_INTERLEAVED, 0);
	ask();
	ck_assert_uint_eq(w.request.origin, 0);
	ck_assert_uint_ne(w.request.receive, 0);
	/* There is nothing yet that it could tell. */
	p = interleaved(w.there - 5);
	dropped(&p, TSCT_CLIENT_FOREIGN);
	basic = answer();
	taken(&basic);
	ck_assert_uint_eq(w.nr, 0);
	t1 = w.now, t2 = w.there;
	for (i = 0; i < 5; i++) {
		ask();
		ck_assert_uint_eq(w.request.origin, tsct_ntp_from_ns(t2));
		p = interleaved(t2 + 12000);
		taken(&p);
		ck_assert_uint_eq(w.nr, 1);
		ck_assert_uint_eq(w.x[0].t1, t1);
		ck_assert_uint_eq(w.x[0].t2, t2);
		ck_assert_uint_eq(w.x[0].t3, t2 + 12000);
		ck_assert(w.x[0].flags & TSCT_EXCHANGE_T3_KERNEL);
		dropped(&p, TSCT_CLIENT_DUPLICATE);
		t1 = w.now, t2 = w.there;
	}
	/* One got lost; a basic one; what waited never had its t3 */
	ask();
	ask();
	p = answer();
	taken(&p);
	ck_assert_uint_eq(w.nr, 0);
	t2 = w.there;
	/* A basic one again: the one before as it was */
	ask();
	p = answer();
	taken(&p);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert_uint_eq(w.x[0].t3, t2 + 10000);
	ck_assert(!(w.x[0].flags & TSCT_EXCHANGE_T3_KERNEL));
	/* Lies about when it was sent: before it said, after it was asked again,
	 * longer than we waited */
	t2 = w.there;
	ask();
	p = interleaved(t2 + 9000);
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p = interleaved(w.there + 1000);
	dropped(&p, TSCT_CLIENT_IMPOSSIBLE);
	p = interleaved(t2 + 110000);
	dropped(&p, TSCT_CLIENT_TOO_SOON);
	p = interleaved(t2 + 11000);
	taken(&p);
	/* Of that one nothing is known but what the next one tells. */
	ck_assert(!tsct_client_flush(&w.client, &x));
	ask();
	ck_assert_uint_eq(w.request.origin, 0);
	finish();
}
END_TEST

/* ---- hints ------------------------------------------------------------------------------------ */

static bool hint(__u32 server_key, __u64 node, __u64 now_us)
{
	struct tsct_timeline timeline = { .node = node, .host = MASTER_HOST };
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = tsct_responder_hint(&timeline, w.keys, server_key, bytes);

	ck_assert_uint_gt(len, 0);
	return tsct_client_hinted(&w.client, w.keys, bytes, len, now_us);
}

START_TEST(hints)
{
	struct tsct_ntp_packet p;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len;

	begin(0, 5);
	ck_assert(!hint(0, MASTER, 0));
	ck_assert(!hint(6, MASTER, 0));
	ck_assert(hint(5, MASTER, 0));
	ck_assert(!hint(5, MASTER, 99999));
	ck_assert(hint(5, MASTER, 100000));
	ask();
	p = answer();
	taken(&p);
	ck_assert(!hint(5, MASTER + 1, 300000));
	ck_assert(hint(5, MASTER, 300000));
	/* An answer is none. */
	len = to_bytes(&p, bytes);
	ck_assert(!tsct_client_hinted(&w.client, w.keys, bytes, len, 900000));
	p.mode = TSCT_NTP_MODE_BROADCAST;
	len = to_bytes(&p, bytes);
	ck_assert(!tsct_client_hinted(&w.client, w.keys, bytes, len, 900000));
	p.has_ext = false;
	len = to_bytes(&p, bytes);
	ck_assert(!tsct_client_hinted(&w.client, w.keys, bytes, len, 900000));
	ck_assert(!tsct_client_hinted(&w.client, w.keys, bytes, 3, 900000));
	begin(TSCT_CLIENT_PLAIN, 0);
	ck_assert(!hint(0, MASTER, 0));
	finish();
}
END_TEST

/* ---- anything --------------------------------------------------------------------------------- */

static void scribble(__u8 *bytes, size_t *len)
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

/* With a key, whatever is not whole is dropped, and changes nothing; without one,
 * what does not have what only the server was told. */
START_TEST(anything)
{
	static const __u32 flags[] = {
		0, TSCT_CLIENT_PLAIN,
		TSCT_CLIENT_PLAIN | TSCT_CLIENT_INTERLEAVED,
	};
	__u8 whole[TSCT_NTP_MAX], bytes[TSCT_NTP_MAX];
	enum tsct_client_result result;
	struct tsct_ntp_packet p;
	struct tsct_client was;
	size_t whole_len = 0, len;
	int i;

	seed_with((unsigned int)_i);
	begin(flags[_i % 3], _i % 2 ? 5 : 0);
	for (i = 0; i < 30000; i++) {
		if (!(i % 64)) {
			ask();
			p = answer();
			memset(whole, 0, sizeof(whole));
			whole_len = to_bytes(&p, whole);
			/* The client has some of what it can have. */
			if (any(2))
				taken(&p);
		}
		memcpy(bytes, whole, sizeof(bytes));
		len = whole_len;
		scribble(bytes, &len);
		was = w.client;
		result = give_bytes(bytes, len);
		if (!w.server_key) {
			/* Nobody can tell what the server did not say. */
			if (w.client.waiting == was.waiting &&
			    result != TSCT_CLIENT_BACKWARDS)
				check_same(&w.client, &was);
		} else if (len != whole_len || memcmp(bytes, whole, len)) {
			ck_assert_int_ne(result, TSCT_CLIENT_OK);
			check_same(&w.client, &was);
		}
	}
	finish();
}
END_TEST

START_TEST(words)
{
	int i, j;

	for (i = 0; i < TSCT_CLIENT_NR; i++) {
		ck_assert_ptr_nonnull(tsct_client_why(i));
		for (j = 0; j < i; j++)
			ck_assert_str_ne(tsct_client_why(i),
					 tsct_client_why(j));
	}
	ck_assert_str_eq(tsct_client_why(TSCT_CLIENT_NR), "unknown");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("client");
	Suite *suite = suite_create("client");

	print_seed();
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, exchanges);
	tcase_add_test(tcase, requests_tell_nothing);
	tcase_add_test(tcase, no_such_key);
	tcase_add_test(tcase, origins);
	tcase_add_test(tcase, modes);
	tcase_add_test(tcase, macs);
	tcase_add_test(tcase, kisses);
	tcase_add_test(tcase, impossible);
	tcase_add_test(tcase, too_soon);
	tcase_add_test(tcase, no_stamp_of_ours);
	tcase_add_test(tcase, backwards);
	tcase_add_test(tcase, set_back);
	tcase_add_test(tcase, ourselves);
	tcase_add_test(tcase, same_host);
	tcase_add_test(tcase, knows_no_time);
	tcase_add_test(tcase, no_field);
	tcase_add_test(tcase, in_a_session);
	tcase_add_test(tcase, kernel_stamps);
	tcase_add_test(tcase, our_counter_is_disrupted);
	tcase_add_test(tcase, plain);
	tcase_add_test(tcase, interleaves);
	tcase_add_test(tcase, hints);
	tcase_add_loop_test(tcase, anything, 0, 6);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
