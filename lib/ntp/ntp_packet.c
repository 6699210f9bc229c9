// SPDX-License-Identifier: MIT
/*
 * NTP packets and timestamps. The data after the header of a version 4 packet
 * is identified as RFC 7822 says: 20 or 24 bytes at the end are a MAC, anything
 * longer begins with an extension field. Older versions have no extension
 * fields: all data after the header is a MAC.
 */
#include "byteorder.h"
#include "extension_field.h"

#define UNITS_PER_S	(1LL << 32)
#define EPOCH_S		2208988800LL	/* 1900 to 1970 */

#define FIELD_MIN	16
#define MAC_MIN		20	/* key id and digest, of version 4 */
#define MAC_MAX		24

/* ---- timestamps ---------------------------------------------------------- */

/* 2^-32 s since 1900, with the era. Rounded to the nearest, as in
 * tsct_ntp_to_ns(): a time converted there and back is unchanged. */
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

/* A timestamp of 0 means "not known", so that one instant in 136 years is sent
 * as 1. */
tsct_ntp_timestamp tsct_ntp_from_ns(__s64 unix_ns)
{
	tsct_ntp_timestamp stamp = (tsct_ntp_timestamp)units(unix_ns);

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

/* ---- packets ------------------------------------------------------------- */

static void get_header(struct tsct_ntp_packet *packet, const __u8 *at)
{
	packet->leap = at[0] >> 6;
	packet->version = at[0] >> 3 & 7;
	packet->mode = at[0] & 7;
	packet->stratum = at[1];
	packet->poll = (__s8)at[2];
	packet->precision = (__s8)at[3];
	packet->root_delay = get32(at + 4);
	packet->root_dispersion = get32(at + 8);
	packet->refid = get32(at + 12);
	packet->reference = get64(at + 16);
	packet->origin = get64(at + 24);
	packet->receive = get64(at + 32);
	packet->transmit = get64(at + 40);
}

static const char *check_header(const struct tsct_ntp_packet *packet)
{
	if (packet->version < 1 || packet->version > 4)
		return "its version of NTP is not 1 to 4";
	if (packet->mode > TSCT_NTP_MODE_BROADCAST)
		return "it is a control message, without a time";
	return NULL;
}

static void get_mac(struct tsct_ntp_packet *packet, const __u8 *bytes,
		    size_t at, size_t len)
{
	packet->has_mac = true;
	packet->key_id = get32(bytes + at);
	packet->mac_at = (__u16)at;
	packet->mac_len = (__u16)(len - at - 4);
}

static const char *get_missing(struct tsct_ntp_packet *packet, const __u8 *at,
			       size_t len)
{
	if (packet->has_missing)
		return "it has more than one field of missing nodes";
	if (len != TSCT_MISSING_SIZE)
		return "its field of missing nodes is not 128 bytes long";
	packet->has_missing = true;
	tsct_ext_missing_get(packet->missing, at);
	return NULL;
}

/* @at: a field whose length @len is checked. Those of others with the same
 * type, and later versions of ours, are skipped like unknown ones. */
static const char *get_field(struct tsct_ntp_packet *packet, const __u8 *at,
			     size_t len)
{
	if (get32(at + TSCT_EXT_AT_MAGIC) != TSCT_EXT_MAGIC)
		return NULL;
	if (get16(at) == TSCT_MISSING_TYPE && packet->has_ext)
		return get_missing(packet, at, len);
	if (get16(at) != TSCT_EXT_TYPE)
		return NULL;
	if (packet->ext_version)
		return "it has more than one tsctrace field";
	packet->ext_version = get16(at + TSCT_EXT_AT_VERSION);
	if (!packet->ext_version)
		return "its tsctrace field has version 0";
	if (packet->ext_version != TSCT_EXT_VERSION)
		return NULL;
	if (len != TSCT_EXT_SIZE)
		return "its tsctrace field is not 160 bytes long";
	packet->has_ext = true;
	tsct_ext_get(&packet->ext, at);
	return NULL;
}

/* The data after a version 4 header, from @at on; len - at is a multiple of
 * 4. */
static const char *get_tail(struct tsct_ntp_packet *packet, const __u8 *bytes,
			    size_t at, size_t len)
{
	const char *why;
	size_t field;

	while (len - at > MAC_MAX) {
		field = get16(bytes + at + 2);
		if (field < FIELD_MIN || field % 4 || field > len - at)
			return "an extension field has an impossible length";
		why = get_field(packet, bytes + at, field);
		if (why)
			return why;
		at += field;
	}
	if (len - at >= MAC_MIN) {
		get_mac(packet, bytes, at, len);
		return NULL;
	}
	/* Crypto-NAK: a key id of 0, and nothing else */
	if (len - at == 4 && !get32(bytes + at)) {
		get_mac(packet, bytes, at, len);
		return NULL;
	}
	return len == at ? NULL :
		"its end is neither an extension field nor a MAC";
}

static const char *parse(const __u8 *bytes, size_t len,
			 struct tsct_ntp_packet *packet)
{
	const char *why;

	if (len < TSCT_NTP_HEADER)
		return "it is shorter than a header of 48 bytes";
	if (len > TSCT_NTP_MAX)
		return "it is longer than the limit of 512 bytes";
	if (len % 4)
		return "its length is not a multiple of 4";
	get_header(packet, bytes);
	why = check_header(packet);
	if (why)
		return why;
	if (packet->version == 4)
		return get_tail(packet, bytes, TSCT_NTP_HEADER, len);
	if (len > TSCT_NTP_HEADER)
		get_mac(packet, bytes, TSCT_NTP_HEADER, len);
	return NULL;
}

int tsct_ntp_parse(const void *bytes, size_t len,
		   struct tsct_ntp_packet *ret_packet, const char **ret_why)
{
	const char *why;

	memset(ret_packet, 0, sizeof(*ret_packet));
	why = parse(bytes, len, ret_packet);
	if (ret_why)
		*ret_why = why ? why : "";
	return why ? -EBADMSG : 0;
}

static void put_header(const struct tsct_ntp_packet *packet, __u8 *at)
{
	at[0] = (__u8)((packet->leap & 3) << 6 | (packet->version & 7) << 3 |
		       (packet->mode & 7));
	at[1] = packet->stratum;
	at[2] = (__u8)packet->poll;
	at[3] = (__u8)packet->precision;
	put32(at + 4, packet->root_delay);
	put32(at + 8, packet->root_dispersion);
	put32(at + 12, packet->refid);
	put64(at + 16, packet->reference);
	put64(at + 24, packet->origin);
	put64(at + 32, packet->receive);
	put64(at + 40, packet->transmit);
}

size_t tsct_ntp_build(const struct tsct_ntp_packet *packet, void *bytes)
{
	size_t len = TSCT_NTP_HEADER;

	put_header(packet, bytes);
	if (!packet->has_ext || packet->version != 4)
		return len;
	tsct_ext_put(&packet->ext, (__u8 *)bytes + len);
	len += TSCT_EXT_SIZE;
	if (!packet->has_missing)
		return len;
	tsct_ext_missing_put(packet->missing, (__u8 *)bytes + len);
	return len + TSCT_MISSING_SIZE;
}

void tsct_ntp_set_transmit(void *bytes, tsct_ntp_timestamp transmit)
{
	put64((__u8 *)bytes + 40, transmit);
}
