// SPDX-License-Identifier: MIT
/*
 * NTP packets and timestamps. In a version 4 packet, 20 or 24 bytes at the end are a
 * MAC (RFC 7822); longer data after the header begins with an extension field. Older
 * versions have no extension fields: all data after the header is a MAC.
 */
#include "ntp_packet.h"

#define UNITS_PER_S	(1LL << 32)
#define EPOCH_S		2208988800LL	/* seconds from 1900 to 1970 */

#define FIELD_MIN	16	/* shortest extension field, bytes */
#define MAC_MIN		20	/* shortest MAC, bytes: key id of 4, digest of 16 */
#define MAC_MAX		24

/* ---- NTP timestamps ----------------------------------------------------- */

/* Converts ns since 1970 to units of 2^-32 s since 1900, rounded to the nearest unit. */
static tsct_s128 units(__s64 unix_ns)
{
	__s64 s = unix_ns / NS_PER_S, ns = unix_ns % NS_PER_S;

	if (ns < 0) {
		ns += NS_PER_S;
		s--;
	}
	return (tsct_s128)(s + EPOCH_S) * UNITS_PER_S +
		(((__u64)ns << 32) + NS_PER_S / 2) / NS_PER_S;
}

tsct_ntp_timestamp tsct_ntp_from_ns(__s64 unix_ns)
{
	tsct_ntp_timestamp stamp = (tsct_ntp_timestamp)units(unix_ns);

	/* Timestamp 0 means "not known". Once in 136 years, the timestamp of a
	 * time is 0: then sends 1. */
	return stamp ? stamp : 1;
}

__s64 tsct_ntp_to_ns(tsct_ntp_timestamp stamp, __s64 near_ns)
{
	tsct_s128 at = units(near_ns);
	tsct_s128 ns;

	at += (__s64)(stamp - (tsct_ntp_timestamp)at);
	ns = ((at >> 32) - EPOCH_S) * NS_PER_S +
		(((stamp & 0xffffffff) * NS_PER_S + (1ULL << 31)) >> 32);
	if (ns > INT64_MAX)
		return INT64_MAX;
	if (ns < INT64_MIN)
		return INT64_MIN;
	return (__s64)ns;
}

__u32 tsct_ntp_short(__u64 ns)
{
	__u64 s = ns / NS_PER_S, rest = ns % NS_PER_S, value;

	if (s > 0xffff)
		return ~0U;
	value = (s << 16) + ((rest << 16) + NS_PER_S - 1) / NS_PER_S;
	return value > ~0U ? ~0U : (__u32)value;
}

__u64 tsct_ntp_short_ns(__u32 value)
{
	return ((__u64)value * NS_PER_S + 0xffff) >> 16;
}

/* ---- building and parsing packets --------------------------------------- */

/* Byte offsets and members of the NTP header (after its first byte), of tsctrace's
 * extension field (after its version), and of the clock params in that field */
#define HEADER_MEMBERS(X) \
	X(1, stratum) X(2, poll) X(3, precision) \
	X(4, root_delay) X(8, root_dispersion) X(12, refid) \
	X(16, reference) X(24, origin) X(32, receive) X(40, transmit)
#define EXT_MEMBERS(X) \
	X(TSCT_EXT_AT_FLAGS, flags) X(TSCT_EXT_AT_DEPTH, depth) \
	X(TSCT_EXT_AT_NODE, node) X(TSCT_EXT_AT_HOST, host) \
	X(TSCT_EXT_AT_MASTER, master) X(TSCT_EXT_AT_NONCE, nonce) \
	X(TSCT_EXT_AT_STATUS, status) X(TSCT_EXT_AT_EPOCH, epoch) \
	X(TSCT_EXT_AT_SESSION, session) X(TSCT_EXT_AT_BARRIER, barrier) \
	X(TSCT_EXT_AT_RX, rx) X(TSCT_EXT_AT_TX, tx) \
	X(TSCT_EXT_AT_PREV_NONCE, prev_nonce) \
	X(TSCT_EXT_AT_PREV_TX, prev_tx) \
	X(TSCT_EXT_AT_RX_ERROR, rx_error) X(TSCT_EXT_AT_TURN_US, turn_us)
#define PARAMS_MEMBERS(X) \
	X(TSCT_EXT_AT_SD_PS, sd_ps) \
	X(TSCT_EXT_AT_BASE, params.base) \
	X(TSCT_EXT_AT_BASE_NS, params.base_ns) \
	X(TSCT_EXT_AT_MULT, params.mult) X(TSCT_EXT_AT_AS_OF, params.as_of) \
	X(TSCT_EXT_AT_ERROR_PS, params.error_ps) \
	X(TSCT_EXT_AT_GROWTH, params.growth)

#define GET(at, member) \
	to->member = (__typeof__(to->member)) \
		tsct_get_be(from + (at), sizeof(to->member));
#define PUT(at, member) \
	tsct_put_be(to + (at), (__u64)from->member, sizeof(from->member));

static void get_ext(struct tsct_extension *to, const __u8 *from)
{
	EXT_MEMBERS(GET)
	if (to->flags & TSCT_EXT_PARAMS) {
		PARAMS_MEMBERS(GET)
	}
}

/* Reserved bytes and invalid params are sent as zeros, whatever values the structure
 * has. */
static void put_ext(const struct tsct_extension *from, __u8 *to)
{
	memset(to, 0, TSCT_EXT_SIZE);
	tsct_put_be(to + TSCT_EXT_AT_TYPE, TSCT_EXT_TYPE, 2);
	tsct_put_be(to + TSCT_EXT_AT_LENGTH, TSCT_EXT_SIZE, 2);
	tsct_put_be(to + TSCT_EXT_AT_MAGIC, TSCT_EXT_MAGIC, 4);
	tsct_put_be(to + TSCT_EXT_AT_VERSION, TSCT_EXT_VERSION, 2);
	EXT_MEMBERS(PUT)
	if (from->flags & TSCT_EXT_PARAMS) {
		PARAMS_MEMBERS(PUT)
	}
}

static const char *get_header(struct tsct_ntp_packet *to, const __u8 *from)
{
	to->leap = from[0] >> 6;
	to->version = from[0] >> 3 & 7;
	to->mode = from[0] & 7;
	HEADER_MEMBERS(GET)
	if (to->version < 1 || to->version > 4)
		return "NTP version is not 1 to 4";
	if (to->mode > TSCT_NTP_MODE_BROADCAST)
		return "control message, which has no time";
	return NULL;
}

static void get_mac(struct tsct_ntp_packet *packet, const __u8 *bytes,
		    size_t at, size_t len)
{
	packet->has_mac = true;
	packet->key_id = (__u32)tsct_get_be(bytes + at, 4);
	packet->mac_at = (__u16)at;
	packet->mac_len = (__u16)(len - at - 4);
}

/* Parses the field of missing nodes. Characters that are not printable ASCII become
 * '?', because the text is logged. */
static const char *get_missing(struct tsct_ntp_packet *packet, const __u8 *at,
			       size_t len)
{
	const __u8 *text = at + TSCT_MISSING_SIZE - TSCT_MISSING_TEXT;
	size_t i;

	if (packet->has_missing)
		return "two extension fields with missing nodes";
	if (len != TSCT_MISSING_SIZE)
		return "field of missing nodes is not 128 bytes long";
	packet->has_missing = true;
	for (i = 0; i < TSCT_MISSING_TEXT && text[i]; i++)
		packet->missing[i] = text[i] < 0x20 || text[i] > 0x7e ? '?' :
			(char)text[i];
	packet->missing[i] = '\0';
	return NULL;
}

/* Parses an extension field. @at: the field; its length @len was checked. Skips fields of
 * other programs with the same type, and other versions of tsctrace's field. Returns NULL,
 * or the reason for an error as text. */
static const char *get_field(struct tsct_ntp_packet *packet, const __u8 *at,
			     size_t len)
{
	unsigned int type = (unsigned int)tsct_get_be(at, 2);

	if (tsct_get_be(at + TSCT_EXT_AT_MAGIC, 4) != TSCT_EXT_MAGIC)
		return NULL;
	if (type == TSCT_MISSING_TYPE && packet->has_ext)
		return get_missing(packet, at, len);
	if (type != TSCT_EXT_TYPE)
		return NULL;
	if (packet->ext_version)
		return "more than one tsctrace field";
	packet->ext_version = (__u16)tsct_get_be(at + TSCT_EXT_AT_VERSION, 2);
	if (!packet->ext_version)
		return "tsctrace field has version 0";
	if (packet->ext_version != TSCT_EXT_VERSION)
		return NULL;
	if (len != TSCT_EXT_SIZE)
		return "tsctrace field is not 160 bytes long";
	packet->has_ext = true;
	get_ext(&packet->ext, at);
	return NULL;
}

/* Parses the data after a version 4 header, from offset @at on; len - at is a multiple of
 * 4. Returns NULL, or the reason for an error as text. */
static const char *get_tail(struct tsct_ntp_packet *packet, const __u8 *bytes,
			    size_t at, size_t len)
{
	const char *why;
	size_t field;

	while (len - at > MAC_MAX) {
		field = tsct_get_be(bytes + at + 2, 2);
		if (field < FIELD_MIN || field % 4 || field > len - at)
			return "extension field has an impossible length";
		why = get_field(packet, bytes + at, field);
		if (why)
			return why;
		at += field;
	}
	/* A crypto-NAK is a key id of 0 without a digest. */
	if (len - at >= MAC_MIN ||
	    (len - at == 4 && !tsct_get_be(bytes + at, 4))) {
		get_mac(packet, bytes, at, len);
		return NULL;
	}
	return len == at ? NULL :
		"packet ends with neither an extension field nor a MAC";
}

const char *tsct_ntp_parse(const void *bytes, size_t len, struct tsct_ntp_packet *packet)
{
	const char *why;

	memset(packet, 0, sizeof(*packet));
	if (len < TSCT_NTP_HEADER)
		return "packet is shorter than an NTP header of 48 bytes";
	if (len > TSCT_NTP_MAX)
		return "packet is longer than the limit of 512 bytes";
	if (len % 4)
		return "packet length is not a multiple of 4";
	why = get_header(packet, bytes);
	if (why)
		return why;
	if (packet->version == 4)
		return get_tail(packet, bytes, TSCT_NTP_HEADER, len);
	if (len > TSCT_NTP_HEADER)
		get_mac(packet, bytes, TSCT_NTP_HEADER, len);
	return NULL;
}

size_t tsct_ntp_build(const struct tsct_ntp_packet *from, void *bytes)
{
	__u8 *to = bytes, *missing = to + TSCT_NTP_HEADER + TSCT_EXT_SIZE;

	to[0] = (__u8)((from->leap & 3) << 6 | (from->version & 7) << 3 |
		       (from->mode & 7));
	HEADER_MEMBERS(PUT)
	if (!from->has_ext || from->version != 4)
		return TSCT_NTP_HEADER;
	put_ext(&from->ext, to + TSCT_NTP_HEADER);
	if (!from->has_missing)
		return TSCT_NTP_HEADER + TSCT_EXT_SIZE;
	memset(missing, 0, TSCT_MISSING_SIZE);
	tsct_put_be(missing + TSCT_EXT_AT_TYPE, TSCT_MISSING_TYPE, 2);
	tsct_put_be(missing + TSCT_EXT_AT_LENGTH, TSCT_MISSING_SIZE, 2);
	tsct_put_be(missing + TSCT_EXT_AT_MAGIC, TSCT_EXT_MAGIC, 4);
	memcpy(missing + TSCT_MISSING_SIZE - TSCT_MISSING_TEXT, from->missing,
	       strnlen(from->missing, TSCT_MISSING_TEXT));
	return TSCT_NTP_HEADER + TSCT_EXT_SIZE + TSCT_MISSING_SIZE;
}

void tsct_ntp_set_transmit(void *bytes, tsct_ntp_timestamp transmit)
{
	tsct_put_be((__u8 *)bytes + 40, transmit, sizeof(transmit));
}
