// SPDX-License-Identifier: MIT
/*
 * NTP packets. The parser reads no byte beyond the datagram and trusts no length in it.
 * Parsing a built packet restores its fields. Conversions of time stamps are exact to a
 * ns.
 */
#include "packets.h"
#include "seed.h"
#include "suite.h"
#include "lib/ntp/ntp_packet.h"

#define S	1000000000LL
#define ERA_1	2085978496LL	/* 2036-02-07 06:28:16 UTC, in s since 1970 */

/* ---- time stamps --------------------------------------------------------- */

/* Time stamps calculated by hand: (ns / 1e9 + 2208988800) * 2^32, mod 2^64 */
static const struct {
	__s64 ns;
	tsct_ntp_timestamp stamp;
} stamps[] = {
	{ 0, 0x83aa7e8000000000 },
	{ 1, 0x83aa7e8000000004 },
	{ S / 2, 0x83aa7e8080000000 },
	{ S - 1, 0x83aa7e80fffffffc },
	{ -1, 0x83aa7e7ffffffffc },
	{ -2208988800 * S, 1 },
	{ -2208988800 * S - 1, 0xfffffffffffffffc },
	{ 1800000000 * S + 123456789, 0xeef450801f9add37 },
	{ ERA_1 * S - 1, 0xfffffffffffffffc },
	{ ERA_1 * S, 1 },
	{ ERA_1 * S + 1, 4 },
	{ ERA_1 * S + S, 0x100000000 },
};

CASE("time_stamps", NULL, NULL);

LOOP_TEST(test_known_time_stamps, 0, ROWS(stamps))
{
	ck_assert_uint_eq(tsct_ntp_from_ns(stamps[_i].ns),
			  stamps[_i].stamp);
	ck_assert_int_eq(tsct_ntp_to_ns(stamps[_i].stamp, stamps[_i].ns),
			 stamps[_i].ns);
}

/* Returns |a - b| of 128-bit numbers; the result fits into 64 bits. */
static __u64 distance(tsct_s128 a, tsct_s128 b)
{
	return (__u64)(a > b ? a - b : b - a);
}

/* A time that is converted to a time stamp and back is unchanged, with any estimate of
 * the time that is off by less than 68 years. Half a unit of a time stamp is 0.12 ns. */
TEST(test_random_time_stamps)
{
	for (int i = 0; i < 200000; i++) {
		__s64 ns = (__s64)any64() >> any(8);
		__s64 off = (__s64)(any64() % (1ULL << 31)) * S;
		tsct_ntp_timestamp stamp = tsct_ntp_from_ns(ns);
		tsct_s128 since_1900 = ns + (tsct_s128)2208988800 * S;
		__u64 whole = ((__u64)since_1900 << 32) -
			stamp * (__u64)S;	/* exact time minus time stamp, in 2^-32
						 * ns; minuend and subtrahend wrap
						 * modulo 2^64 */
		__s64 near;

		MUST(stamp == 1 || whole + S / 2 <= (__u64)S,
		     "%lld ns: %llu", ns, whole);
		if (__builtin_add_overflow(ns, any(2) ? off : -off, &near))
			near = ns;
		MUST(tsct_ntp_to_ns(stamp, near) == ns,
		     "%lld ns near %lld: %lld", ns, near,
		     tsct_ntp_to_ns(stamp, near));
	}
}

/* Any time stamp is converted to the nearest ns. */
TEST(test_random_times)
{
	for (int i = 0; i < 200000; i++) {
		tsct_ntp_timestamp stamp = any64();
		__s64 near = (__s64)any64() / 2;
		__s64 ns = tsct_ntp_to_ns(stamp, near);
		__u64 a = (__u64)(ns + (tsct_s128)2208988800 * S) << 32;

		/* Differences of time stamps are computed modulo 2^64. */
		MUST(a - stamp * (__u64)S + (1ULL << 31) <= 1ULL << 32,
		     "%#llx: %lld ns", stamp, ns);
		MUST(distance(ns, near) <= (1ULL << 31) * S + 1,
		     "%lld ns near %lld", ns, near);
	}
}

TEST(test_time_stamps_saturate)
{
	tsct_ntp_timestamp top = tsct_ntp_from_ns(INT64_MAX);
	tsct_ntp_timestamp bottom = tsct_ntp_from_ns(INT64_MIN);

	ck_assert_int_eq(tsct_ntp_to_ns(top, INT64_MAX), INT64_MAX);
	ck_assert_int_eq(tsct_ntp_to_ns(bottom, INT64_MIN), INT64_MIN);
	ck_assert_int_eq(tsct_ntp_to_ns(top + (1ULL << 32), INT64_MAX),
			 INT64_MAX);
	ck_assert_int_eq(tsct_ntp_to_ns(top + (1ULL << 62), INT64_MAX),
			 INT64_MAX);
	ck_assert_int_eq(tsct_ntp_to_ns(bottom - (1ULL << 32), INT64_MIN),
			 INT64_MIN);
	ck_assert_int_eq(tsct_ntp_to_ns(bottom - (1ULL << 62), INT64_MIN),
			 INT64_MIN);
	ck_assert_int_eq(tsct_ntp_to_ns(top - (1ULL << 32), INT64_MAX),
			 INT64_MAX - S);
}

/* The 16.16 format rounds a bound up by less than a unit (15259 ns), and never down. */
TEST(test_short_format)
{
	ck_assert_uint_eq(tsct_ntp_short(0), 0);
	ck_assert_uint_eq(tsct_ntp_short(1), 1);
	ck_assert_uint_eq(tsct_ntp_short(15258), 1);
	ck_assert_uint_eq(tsct_ntp_short(15259), 2);
	ck_assert_uint_eq(tsct_ntp_short(S), 0x10000);
	ck_assert_uint_eq(tsct_ntp_short(65535ULL * S + S - 1), ~0U);
	ck_assert_uint_eq(tsct_ntp_short(65536ULL * S), ~0U);
	ck_assert_uint_eq(tsct_ntp_short(~0ULL), ~0U);
	ck_assert_uint_eq(tsct_ntp_short_ns(0), 0);
	ck_assert_uint_eq(tsct_ntp_short_ns(1), 15259);
	ck_assert_uint_eq(tsct_ntp_short_ns(0x10000), S);
	ck_assert_uint_eq(tsct_ntp_short_ns(~0U), 65535999984742);
	for (int i = 0; i < 200000; i++) {
		__u64 ns = any64() % (65535ULL * S) >> any(46);
		__u64 back = tsct_ntp_short_ns(tsct_ntp_short(ns));

		MUST(back >= ns && back <= ns + 15259, "%llu ns: %llu", ns,
		     back);
		MUST(tsct_ntp_short(ns + 1) >= tsct_ntp_short(ns), "%llu", ns);
	}
}

/* ---- bytes of packets ---------------------------------------------------- */

/* Golden bytes made by python3's struct.pack(">BBbbIIIQQQQ", 1<<6|4<<3|4, 2, 6, -25, ...)
 * and (">HHIHHHHQQQQIIIIQQQQIIQQqQQQQ", 0xf5c7, 160, 0x54534354, 1, 0x3ff, 2, 0, ...) */
#define GOLDEN_HEADER	"640206e7" "00010203" "04050607" "08090a0b" \
	"0c0d0e0f10111213" "1415161718191a1b" "1c1d1e1f20212223" \
	"2425262728292a2b"
#define GOLDEN_EXT	"f5c700a0" "54534354" "000103ff00020000" \
	"0102030405060708" "1112131415161718" "2122232425262728" \
	"3132333435363738" "41424344454647484" "94a4b4c4d4e4f50" \
	"5152535455565758" "6162636465666768" "7172737475767778" \
	"8182838485868788" "9192939495969798" "999a9b9c00000000" \
	"a1a2a3a4a5a6a7a8" "fefdfcfbfaf9f8f8" "b1b2b3b4b5b6b7b8" \
	"c1c2c3c4c5c6c7c8" "d1d2d3d4d5d6d7d8" "e1e2e3e4e5e6e7e8"

static const struct tsct_ntp_packet golden = {
	.leap = 1, .version = 4, .mode = 4, .stratum = 2, .poll = 6,
	.precision = -25, .root_delay = 0x00010203,
	.root_dispersion = 0x04050607, .refid = 0x08090a0b,
	.reference = 0x0c0d0e0f10111213, .origin = 0x1415161718191a1b,
	.receive = 0x1c1d1e1f20212223, .transmit = 0x2425262728292a2b,
	.has_ext = true,
	.ext = {
		.flags = 0x3ff, .depth = 2, .status = 0x41424344,
		.node = 0x0102030405060708, .host = 0x1112131415161718,
		.nonce = 0x3132333435363738, .epoch = 0x45464748,
		.session = 0x494a4b4c, .master = 0x2122232425262728,
		.rx = 0x5152535455565758, .tx = 0x6162636465666768,
		.prev_nonce = 0x7172737475767778, .prev_tx = 0x8182838485868788,
		.rx_error = 0x91929394, .turn_us = 0x95969798,
		.barrier = 0x4d4e4f50, .sd_ps = 0x999a9b9c,
		.params = {
			.base = 0xa1a2a3a4a5a6a7a8,
			.base_ns = -0x0102030405060708,
			.mult = 0xb1b2b3b4b5b6b7b8, .as_of = 0xc1c2c3c4c5c6c7c8,
			.error_ps = 0xd1d2d3d4d5d6d7d8,
			.growth = 0xe1e2e3e4e5e6e7e8,
		},
	},
};

/* Compares a parsed packet with the one that was built: what is not sent is 0. */
static void check_packet(const struct tsct_ntp_packet *parsed,
			 const struct tsct_ntp_packet *built)
{
	struct tsct_ntp_packet want = *built;

#define SAME(member)							\
	MUST(!memcmp(&parsed->member, &want.member, sizeof(want.member)), #member)
	if (!(want.ext.flags & TSCT_EXT_PARAMS)) {
		want.ext.sd_ps = 0;
		memset(&want.ext.params, 0, sizeof(want.ext.params));
	}
	MUST(!memcmp(parsed, &want, offsetof(struct tsct_ntp_packet, precision) + 1), "");
	SAME(root_delay);
	SAME(root_dispersion);
	SAME(refid);
	SAME(reference);
	SAME(origin);
	SAME(receive);
	SAME(transmit);
	want.has_ext &= want.version == 4;
	SAME(has_ext);
	if (want.has_ext)
		SAME(ext);
	want.has_missing &= want.has_ext;
	SAME(has_missing);
	if (want.has_missing)
		MUST(!strcmp(parsed->missing, want.missing), "%s, %s", parsed->missing,
		     want.missing);
}

CASE("packets", NULL, NULL);

TEST(test_golden_bytes)
{
	struct tsct_ntp_packet packet;
	__u8 bytes[TSCT_NTP_MAX];

	ck_assert_uint_eq(tsct_ntp_build(&golden, bytes),
			  TSCT_NTP_HEADER + TSCT_EXT_SIZE);
	check_hex(bytes, TSCT_NTP_HEADER, GOLDEN_HEADER);
	check_hex(bytes + TSCT_NTP_HEADER, TSCT_EXT_SIZE, GOLDEN_EXT);
	ck_assert_ptr_null(parse_exactly(bytes, TSCT_NTP_HEADER + TSCT_EXT_SIZE, &packet));
	ck_assert(packet.has_ext && !packet.has_mac);
	ck_assert_uint_eq(packet.ext_version, 1);
	check_packet(&packet, &golden);
}

/* Captured answer of chronyd 4.3, without a key */
TEST(test_packet_of_chronyd)
{
	struct tsct_ntp_packet p;
	__u8 bytes[TSCT_NTP_MAX];
	size_t len = from_hex("240800e600000000000000007f7f0101eeabe236728165e8"
			      "0123456789abcdefeeabe23aee845c55eeabe23aee87e19e",
			      bytes);

	ck_assert_ptr_null(parse_exactly(bytes, len, &p));
	ck_assert(!p.has_ext && !p.has_mac);
	ck_assert(p.leap == 0 && p.version == 4 && p.mode == 4 &&
		  p.stratum == 8 && p.poll == 0 && p.precision == -26);
	ck_assert_uint_eq(p.refid, 0x7f7f0101);
	ck_assert_uint_eq(p.reference, 0xeeabe236728165e8);
	ck_assert_uint_eq(p.origin, 0x0123456789abcdef);
	ck_assert_uint_eq(p.receive, 0xeeabe23aee845c55);
	ck_assert_uint_eq(p.transmit, 0xeeabe23aee87e19e);
	/* The answer was sent at 09:26:18.931 UTC of 2026-11-21. */
	ck_assert_int_eq(tsct_ntp_to_ns(p.receive, 0), 1795253178931707164);
}

static void fill(void *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((__u8 *)at)[i] = (__u8)any(256);
}

static void any_packet(struct tsct_ntp_packet *packet)
{
	bool has_ext = any(4);

	memset(packet, 0, sizeof(*packet));
	fill(packet, offsetof(struct tsct_ntp_packet, has_ext));
	fill(&packet->ext, sizeof(packet->ext));
	packet->leap &= 3;
	packet->version = (__u8)(any(3) ? 4 : 1 + any(3));
	packet->mode = (__u8)any(6);
	packet->has_ext = has_ext;
	packet->has_missing = !any(3);
	for (unsigned int i = any(TSCT_MISSING_TEXT + 1); i--;)
		packet->missing[i] = (char)(' ' + any(0x7f - ' '));
}

TEST(test_round_trips)
{
	struct tsct_ntp_packet sent, got;
	__u8 bytes[TSCT_NTP_MAX], other[TSCT_NTP_MAX];
	size_t len;

	for (int i = 0; i < 20000; i++) {
		any_packet(&sent);
		memset(bytes, 0x55, sizeof(bytes));
		memset(other, 0xaa, sizeof(other));
		len = tsct_ntp_build(&sent, bytes);
		MUST(tsct_ntp_build(&sent, other) == len, "%zu", len);
		/* Every byte of the packet is written, and none after it. */
		MUST(!memcmp(bytes, other, len), "%zu", len);
		MUST(bytes[len] == 0x55 && other[len] == 0xaa, "%zu", len);
		MUST(!parse_exactly(bytes, len, &got), "%zu", len);
		check_packet(&got, &sent);
	}
}

/* Clock params without the flag TSCT_EXT_PARAMS, and reserved words, are neither sent
 * nor parsed. */
TEST(test_reserved_words_are_zero)
{
	struct tsct_ntp_packet sent = { .version = 4, .mode = 3,
					.has_ext = true }, got;
	__u8 *ext, bytes[TSCT_NTP_MAX];
	size_t i, len;

	memset(&sent.ext, 0xff, sizeof(sent.ext));
	sent.ext.flags = 0xffff & ~TSCT_EXT_PARAMS;
	len = tsct_ntp_build(&sent, bytes);
	ext = bytes + TSCT_NTP_HEADER;
	ck_assert_uint_eq(ext[14] | ext[15], 0);
	for (i = TSCT_EXT_AT_TURN_US + 4; i < TSCT_EXT_SIZE; i++)
		ck_assert_uint_eq(ext[i], 0);
	memset(ext + TSCT_EXT_AT_TURN_US + 4, 0xee,
	       TSCT_EXT_SIZE - TSCT_EXT_AT_TURN_US - 4);
	ck_assert_ptr_null(parse_exactly(bytes, len, &got));
	check_packet(&got, &sent);
}

/* ---- invalid lengths ----------------------------------------------------- */

/* Returns whether a packet may have @rest bytes after its last field. @zero: these
 * bytes are all 0 */
static bool is_valid_rest(size_t rest, bool zero)
{
	return !rest || rest == 20 || rest == 24 || (rest == 4 && zero);
}

static void check_parse(const __u8 *bytes, size_t len, bool good,
			struct tsct_ntp_packet *packet)
{
	const char *why = parse_exactly(bytes, len, packet);

	MUST(!why == good && (!why || *why), "%zu bytes: '%s'", len, why ? why : "");
	MUST(!good || !packet->has_mac ||
	     (packet->mac_at >= TSCT_NTP_HEADER &&
	      packet->mac_at + 4U + packet->mac_len == len),
	     "%zu bytes: %u, %u", len, packet->mac_at, packet->mac_len);
}

/* A packet with a header, our extension field and a MAC of 20 bytes is truncated at
 * each byte, and extended. */
TEST(test_every_length)
{
	__u8 bytes[TSCT_NTP_MAX + 64] = { 0 };
	struct tsct_ntp_packet p;

	tsct_ntp_build(&golden, bytes);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		bool header = len == 48 || len == 68 || len == 72;
		bool ext = len >= 208 && !(len % 4) && is_valid_rest(len - 208, 1);

		check_parse(bytes, len, header || ext, &p);
		if (!header && !ext)
			continue;
		ck_assert(p.has_ext == ext);
		ck_assert(p.has_mac == (len > (ext ? 208 : 48)));
	}
}

TEST(test_every_length_of_version_3)
{
	__u8 bytes[TSCT_NTP_MAX + 64] = { 3 << 3 | 3 };
	struct tsct_ntp_packet p;

	for (size_t len = 0; len <= sizeof(bytes); len++) {
		bool good = len >= 48 && len <= TSCT_NTP_MAX && !(len % 4);

		check_parse(bytes, len, good, &p);
		if (good)
			ck_assert(p.has_mac == (len > 48) && !p.has_ext);
	}
}

/* Tests every length that the first extension field can state, with zeros after it, with
 * which no field begins. @ours: of our type and magic */
static void check_first_length(bool ours, size_t total)
{
	__u8 bytes[TSCT_NTP_MAX] = { 4 << 3 | 3 };
	struct tsct_ntp_packet p;

	if (ours)
		from_hex("f5c7000054534354" "0001", bytes + 48);
	for (unsigned int length = 0; length < 0x10000; length++) {
		bool good = length >= 16 && !(length % 4) && 48 + length <= total &&
			is_valid_rest(total - 48 - length, true) &&
			(!ours || length == TSCT_EXT_SIZE);

		bytes[50] = (__u8)(length >> 8);
		bytes[51] = (__u8)length;
		check_parse(bytes, total, good, &p);
		if (good)
			MUST(p.has_ext == ours, "%u", length);
	}
}

TEST(test_every_field_length)
{
	check_first_length(true, 48 + 160);
	check_first_length(true, 48 + 160 + 20);
	check_first_length(false, 48 + 160 + 24);
	check_first_length(true, TSCT_NTP_MAX);
	check_first_length(false, TSCT_NTP_MAX);
	check_first_length(false, 48 + 28);
}

/* ---- extension fields ---------------------------------------------------- */

/* Writes an extension field of @type at offset @at. Returns the offset of its end. */
static size_t put_field(__u8 *bytes, size_t at, unsigned int type, size_t size)
{
	memset(bytes + at, 0, size);
	bytes[at] = (__u8)(type >> 8);
	bytes[at + 1] = (__u8)type;
	bytes[at + 2] = (__u8)(size >> 8);
	bytes[at + 3] = (__u8)size;
	return at + size;
}

static size_t put_ours(__u8 *bytes, size_t at)
{
	__u8 packet[TSCT_NTP_MAX];

	tsct_ntp_build(&golden, packet);
	memcpy(bytes + at, packet + TSCT_NTP_HEADER, TSCT_EXT_SIZE);
	return at + TSCT_EXT_SIZE;
}

TEST(test_other_extension_fields)
{
	__u8 bytes[TSCT_NTP_MAX];
	struct tsct_ntp_packet p;
	size_t at;

	tsct_ntp_build(&golden, bytes);
	at = put_field(bytes, 48, 0x0104, 36);
	at = put_field(bytes, at, TSCT_EXT_TYPE, 16); /* field of our type, but
						       * without our magic */
	at = put_ours(bytes, at);
	at = put_field(bytes, at, 0xf323, 28);
	check_parse(bytes, at, true, &p);
	ck_assert(p.has_ext && !p.has_mac);
	check_packet(&p, &golden);
	memset(bytes + at, 0, 24);
	check_parse(bytes, at + 24, true, &p);
	ck_assert(p.has_ext && p.has_mac && p.mac_at == at && p.mac_len == 20);
	/* The last 16 to 24 bytes of a packet are not an extension field (RFC 7822). */
	check_parse(bytes, put_field(bytes, at, 0x0104, 16), false, &p);
	check_parse(bytes, put_field(bytes, at, 0x0104, 24), true, &p);
	ck_assert(p.has_mac && p.key_id == 0x01040018);
	/* A packet that contains our extension field twice is invalid. */
	check_parse(bytes, put_ours(bytes, at), false, &p);
}

TEST(test_other_versions_of_field)
{
	__u8 bytes[TSCT_NTP_MAX];
	struct tsct_ntp_packet p;

	tsct_ntp_build(&golden, bytes);
	bytes[48 + TSCT_EXT_AT_VERSION + 1] = 2;
	check_parse(bytes, 208, true, &p);
	ck_assert(!p.has_ext && p.ext_version == 2);
	bytes[51] = 172;	/* a field longer than the one that this version
				 * sends */
	memset(bytes + 208, 0, 12);
	check_parse(bytes, 220, true, &p);
	ck_assert(!p.has_ext && p.ext_version == 2);
	bytes[48 + TSCT_EXT_AT_VERSION + 1] = 1;
	check_parse(bytes, 220, false, &p);
	bytes[48 + TSCT_EXT_AT_VERSION + 1] = 0;
	bytes[51] = 160;
	check_parse(bytes, 208, false, &p);
}

/* Unprintable bytes in the field with the names of missing nodes become '?'. The field
 * may occur once per packet, and only together with our extension field. */
TEST(test_missing_nodes_field)
{
	struct tsct_ntp_packet sent = golden, p;
	__u8 bytes[TSCT_NTP_MAX], *field;
	size_t at, i;

	sent.has_missing = true;
	strcpy(sent.missing, "a, b (below c)");
	at = tsct_ntp_build(&sent, bytes);
	ck_assert_uint_eq(at, 48 + TSCT_EXT_SIZE + TSCT_MISSING_SIZE);
	check_parse(bytes, at, true, &p);
	check_packet(&p, &sent);
	field = bytes + 48 + TSCT_EXT_SIZE;
	check_hex(field, 22, "f5c80080" "54534354"
		  "612c2062202862656c6f77206329");
	for (i = 22; i < TSCT_MISSING_SIZE; i++)
		ck_assert_uint_eq(field[i], 0);
	memcpy(field + 8, "\x1b[2J\x7f\xe4\n", 8);
	check_parse(bytes, at, true, &p);
	ck_assert_str_eq(p.missing, "?[2J???");
	memset(field + 8, 'x', TSCT_MISSING_TEXT);
	check_parse(bytes, at, true, &p);
	ck_assert_uint_eq(strlen(p.missing), TSCT_MISSING_TEXT);
	memcpy(bytes + at, field, TSCT_MISSING_SIZE);
	check_parse(bytes, at + TSCT_MISSING_SIZE, false, &p);
	field[3] = 124;
	check_parse(bytes, at - 4, false, &p);
	/* The field with the names of missing nodes is ignored if it has another magic,
	 * or if our extension field is missing. */
	field[3] = 128;
	field[4] = 0;
	check_parse(bytes, at, true, &p);
	ck_assert(p.has_ext && !p.has_missing);
	ck_assert_uint_eq(tsct_ntp_build(&sent, bytes), at);
	memmove(bytes + 48, bytes + 48 + TSCT_EXT_SIZE, TSCT_MISSING_SIZE);
	check_parse(bytes, 48 + TSCT_MISSING_SIZE, true, &p);
	ck_assert(!p.has_ext && !p.has_missing);
}

LOOP_TEST(test_crypto_nak, 0, 2)
{
	__u8 bytes[TSCT_NTP_MAX] = { 0 };
	struct tsct_ntp_packet p;
	struct tsct_ntp_packet sent = golden;
	size_t len;

	sent.has_ext = _i;
	len = tsct_ntp_build(&sent, bytes);
	memset(bytes + len, 0, 4);
	check_parse(bytes, len + 4, true, &p);
	ck_assert(p.has_mac && !p.key_id && !p.mac_len);
	bytes[len + 3] = 1;
	check_parse(bytes, len + 4, false, &p);
}

TEST(test_versions_and_modes)
{
	__u8 bytes[TSCT_NTP_HEADER] = { 0 };
	struct tsct_ntp_packet p;

	for (unsigned int first = 0; first < 256; first++) {
		unsigned int version = first >> 3 & 7, mode = first & 7;

		bytes[0] = (__u8)first;
		check_parse(bytes, sizeof(bytes), version >= 1 &&
			    version <= 4 && mode <= 5, &p);
		ck_assert_uint_eq(p.version, version);
		ck_assert_uint_eq(p.leap, first >> 6);
	}
}

/* Every error of the parser has a text. */
TEST(test_error_texts)
{
	static const struct {
		__u8 first;
		size_t len;
		const char *why;
	} errors[] = {
		{ 4 << 3 | 3, 47, "shorter" }, { 4 << 3 | 3, TSCT_NTP_MAX + 4, "longer" },
		{ 4 << 3 | 3, 49, "multiple" }, { 4 << 3 | 3, 56, "neither" },
		{ 4 << 3 | 3, 100, "field" }, { 4 << 3 | 6, 48, "control" },
		{ 5 << 3 | 3, 48, "version" },
	};
	__u8 bytes[TSCT_NTP_MAX + 4] = { 0 };
	struct tsct_ntp_packet p;
	const char *why;

	for (size_t i = 0; i < ROWS(errors); i++) {
		bytes[0] = errors[i].first;
		why = tsct_ntp_parse(bytes, errors[i].len, &p);
		ck_assert_ptr_nonnull(why);
		ck_assert_ptr_nonnull(strstr(why, errors[i].why));
	}
}

/* ---- random input -------------------------------------------------------- */

/* Makes random bytes, or a valid packet with our extension field and some bytes
 * changed. */
static size_t any_bytes(__u8 *bytes)
{
	struct tsct_ntp_packet packet;
	size_t len;

	if (!any(4)) {
		len = any(TSCT_NTP_MAX + 1);
		fill(bytes, len);
		return len;
	}
	any_packet(&packet);
	len = tsct_ntp_build(&packet, bytes);
	fill(bytes + len, TSCT_NTP_MAX - len);
	len += any(3) ? 4 * any(8) : any((unsigned int)(TSCT_NTP_MAX - len));
	for (unsigned int i = any(4); i; i--)
		bytes[any(any(2) ? 60 : (unsigned int)len)] ^=
			(__u8)(1 << any(8));
	return len;
}

/* If a parsed packet is built and parsed again, header and fields must be the same. */
static void check_taken(const struct tsct_ntp_packet *p, const __u8 *bytes)
{
	struct tsct_ntp_packet again;
	__u8 built[TSCT_NTP_MAX];
	size_t len = tsct_ntp_build(p, built);

	MUST(!memcmp(built, bytes, TSCT_NTP_HEADER), "%zu", len);
	MUST(!tsct_ntp_parse(built, len, &again), "%zu", len);
	check_packet(&again, p);
}

LOOP_TEST(test_random_bytes, 0, 4)
{
	__u8 bytes[TSCT_NTP_MAX];
	struct tsct_ntp_packet p;
	unsigned int taken = 0, fields = 0, macs = 0, i;

	for (i = 0; i < 20000; i++) {
		size_t len = any_bytes(bytes);
		bool is_packet = !parse_exactly(bytes, len, &p);

		check_parse(bytes, len, is_packet, &p);
		if (!is_packet)
			continue;
		check_taken(&p, bytes);
		taken++;
		fields += p.has_ext;
		macs += p.has_mac;
	}
	/* The test is useful only if enough random packets were accepted. */
	ck_assert_uint_gt(taken, 4000);
	ck_assert_uint_gt(fields, 1000);
	ck_assert_uint_gt(macs, 1000);
}
