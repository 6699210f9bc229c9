/* SPDX-License-Identifier: MIT */
/*
 * NTPv4 packets (RFC 5905), with tsctrace's extension field (RFC 7822) and a
 * MAC at the end: conversion between bytes and structures.
 * Documentation/protocol.rst draws the packets. The parser reads no byte beyond
 * @len and trusts no length in the packet.
 */
#ifndef TSCT_NTP_PACKET_H
#define TSCT_NTP_PACKET_H

#include "exchange.h"

#define TSCT_NTP_PORT		123
#define TSCT_NTP_HEADER		48	/* length of the NTP header, bytes */
#define TSCT_NTP_MAX		512	/* longest packet sent or accepted,
					 * bytes */
#define TSCT_NTP_MODE_CLIENT	3
#define TSCT_NTP_MODE_SERVER	4
#define TSCT_NTP_MODE_BROADCAST	5
#define TSCT_NTP_UNSYNCED	3	/* leap indicator 3: clock not synchronized */

/* NTP timestamp: s since 1900, 32.32 fixed point, modulo 2^32 s. 0 means "not known". */
typedef __u64 tsct_ntp_timestamp;

/* Converts ns to the nearest NTP timestamp, with an error of 0.12 ns at most; never
 * returns 0. */
tsct_ntp_timestamp tsct_ntp_from_ns(__s64 unix_ns);
/*
 * Converts an NTP timestamp to ns. @near_ns: a time within 2^31 s of the result, which
 * selects the era. The result is rounded to the nearest ns, so that a time converted to
 * a timestamp and back is unchanged; saturating.
 */
__s64 tsct_ntp_to_ns(tsct_ntp_timestamp stamp, __s64 near_ns);
/* Convert ns to NTP's short format (s, 16.16 fixed point), and back. Both functions round
 * up, because the values are bounds, and saturate at 18 hours. */
__u32 tsct_ntp_short(__u64 ns);
__u64 tsct_ntp_short_ns(__u32 value);

/* Reads an integer of @size bytes in network byte order, at any address. */
static inline __u64 tsct_get_be(const void *at, size_t size)
{
	__u64 value = 0;

	memcpy(&value, at, size);
	return __builtin_bswap64(value) >> (64 - 8 * size);
}

/* Writes the low @size bytes of an integer in network byte order. */
static inline void tsct_put_be(void *at, __u64 value, size_t size)
{
	value = __builtin_bswap64(value) >> (64 - 8 * size);
	memcpy(at, &value, size);
}

/* ---- tsctrace's extension field ------------------------------------------ */

/* NTP reserves this range of types for experiments, so other programs may use
 * the same type: a magic number identifies the field. */
#define TSCT_EXT_TYPE		0xf5c7
#define TSCT_EXT_MAGIC		0x54534354	/* magic number "TSCT" of the field */
#define TSCT_EXT_VERSION	1
#define TSCT_EXT_SIZE		160	/* bytes of the field, with type and length */

/* Flags of tsctrace's extension field, struct tsct_extension.flags */
#define TSCT_EXT_REPLY		0x1
#define TSCT_EXT_POLL_REQUEST	0x2	/* poll request: all members except ids are 0 */
#define TSCT_EXT_PARAMS		0x4	/* the member params is valid */
#define TSCT_EXT_TX_KERNEL	0x8	/* prev_tx is valid, and is the kernel's time */
#define TSCT_EXT_RX_KERNEL	0x10	/* rx is the kernel's timestamp */
#define TSCT_EXT_SESSION_OPEN	0x20	/* reply: the client may take part in
					 * the open session */
#define TSCT_EXT_SESSION_OVER	0x40	/* reply: the client's last exchange in
					 * the session */
#define TSCT_EXT_JOIN		0x80	/* the request is part of the session */
#define TSCT_EXT_ARRIVED	0x100	/* request: all callers on the client
					 * wait in the barrier */
#define TSCT_EXT_RELEASED	0x200	/* reply: the barrier is released */
#define TSCT_EXT_GATHERING	0x400	/* reply: a caller on some node waits in the
					 * barrier */
#define TSCT_EXT_NO_CALLER	0x800	/* request: no caller waits, on the client or
					 * below */
#define TSCT_EXT_ELSEWHERE	0x1000	/* request: the client takes part in barriers
					 * through another node, not through the server */

struct tsct_extension {
	__u16 flags;
	__u16 depth;		/* number of hops to the master; 0: the sender is the master */
	__u32 status;		/* status of the sender's cluster time, TSCT_STATUS_* */
	__u64 node;		/* id of the sender; random, kept over restarts */
	__u64 host;		/* host id, shared by all nodes on one counter */
	__u64 nonce;		/* random number of the request; the reply
				 * repeats it */
	__u32 epoch;		/* epoch number of the cluster's timeline */
	__u32 session;
	__u64 master;		/* id of the node that defines the timeline */
	__u64 rx;		/* reply: counter value when the request was received */
	__u64 tx;		/* reply: counter value before the reply was sent;
				 * request: tx of the last reply, or 0 if none */
	__u64 prev_nonce;	/* reply: nonce of the previous request */
	__u64 prev_tx;		/* reply: the kernel's transmit time of the
				 * previous reply */
	__u32 rx_error;		/* error bound of rx and prev_tx, cycles */
	__u32 turn_us;		/* reply: time until the next request, us */
	__u32 barrier;		/* number of the barrier in tsct_timesync() */
	__u32 sd_ps;		/* reply: standard deviation of the sender's cluster
				 * time, ps; 0: unknown, or the sender is the master */
	struct tsct_remote_params params;	/* reply: clock params of the
						 * sender */
};

/* Byte offsets of the members in tsctrace's extension field. t_protocol_doc.sh compares
 * these offsets with the drawing of the field in Documentation/protocol.rst. */
enum tsct_ext_at {
	TSCT_EXT_AT_TYPE = 0,		/* field type, 16 bits: TSCT_EXT_TYPE */
	TSCT_EXT_AT_LENGTH = 2,		/* field length, 16 bits: TSCT_EXT_SIZE */
	TSCT_EXT_AT_MAGIC = 4,		/* magic number, 32 bits: TSCT_EXT_MAGIC */
	TSCT_EXT_AT_VERSION = 8,	/* version, 16 bits: TSCT_EXT_VERSION */
	TSCT_EXT_AT_FLAGS = 10,
	/* number of hops to the master, 16 bits; then 16 reserved bits */
	TSCT_EXT_AT_DEPTH = 12,
	TSCT_EXT_AT_NODE = 16,
	TSCT_EXT_AT_HOST = 24,
	TSCT_EXT_AT_MASTER = 32,
	TSCT_EXT_AT_NONCE = 40,
	TSCT_EXT_AT_STATUS = 48,
	TSCT_EXT_AT_EPOCH = 52,
	TSCT_EXT_AT_SESSION = 56,
	TSCT_EXT_AT_BARRIER = 60,
	TSCT_EXT_AT_RX = 64,
	TSCT_EXT_AT_TX = 72,
	TSCT_EXT_AT_PREV_NONCE = 80,
	TSCT_EXT_AT_PREV_TX = 88,
	TSCT_EXT_AT_RX_ERROR = 96,
	TSCT_EXT_AT_TURN_US = 100,
	/* standard deviation, ps, 32 bits; then 32 reserved bits */
	TSCT_EXT_AT_SD_PS = 104,
	TSCT_EXT_AT_BASE = 112,		/* clock params, up to the end of the field */
	TSCT_EXT_AT_BASE_NS = 120,
	TSCT_EXT_AT_MULT = 128,
	TSCT_EXT_AT_AS_OF = 136,
	TSCT_EXT_AT_ERROR_PS = 144,
	TSCT_EXT_AT_GROWTH = 152,
};

/*
 * The field of missing nodes: type, length, magic, and the names of nodes that
 * have not arrived at a collective's barrier, as text padded with zeros. A
 * request names nodes below the sender. A reply has the field only if its
 * request has it, so that no reply is longer than its request.
 */
#define TSCT_MISSING_TYPE	0xf5c8
/* Length of the field of missing nodes, bytes */
#define TSCT_MISSING_SIZE	128
#define TSCT_MISSING_TEXT	(TSCT_MISSING_SIZE - 8)

/* ---- NTP packets --------------------------------------------------------- */

struct tsct_ntp_packet {
	__u8 leap, version, mode, stratum;
	__s8 poll, precision;
	/* root delay and root dispersion (RFC 5905), s, 16.16 fixed point */
	__u32 root_delay, root_dispersion;
	__u32 refid;
	tsct_ntp_timestamp reference, origin, receive, transmit;
	bool has_ext;		/* true: the packet has tsctrace's extension field, in
				 * `ext`; NTP version 4 only */
	__u16 ext_version;	/* version of the parsed tsctrace field; 0: the packet
				 * has no such field */
	struct tsct_extension ext;
	bool has_missing;	/* true: the packet has the field of missing nodes, in
				 * `missing`; only if has_ext is true */
	/* Names of nodes that have not arrived at a collective's barrier. In a received
	 * packet, tsct_ntp_parse() replaces each character that is not printable ASCII
	 * by '?'. */
	char missing[TSCT_MISSING_TEXT + 1];
	bool has_mac;
	__u32 key_id;		/* id of the MAC's key; 0: crypto-NAK */
	__u16 mac_at;		/* offset of the key id, and length of the data
				 * that the MAC covers */
	__u16 mac_len;		/* length of the digest after the key id, bytes */
};

/*
 * tsct_ntp_parse - parse a datagram
 *
 * Skips unknown extension fields, and a tsctrace field of another version, which is then in
 * ext_version. ext.params is 0 unless the flag TSCT_EXT_PARAMS is set. Returns NULL, or a text
 * that says why the datagram is not a packet, or that it is a control message.
 */
const char *tsct_ntp_parse(const void *bytes, size_t len, struct tsct_ntp_packet *packet);

/*
 * tsct_ntp_build - build a packet: header, and tsctrace's fields if has_ext and
 * version 4. The MAC is not included, see auth.h.
 * @bytes: room for a packet of TSCT_NTP_MAX bytes
 * Returns the length in bytes, all of which are set.
 */
size_t tsct_ntp_build(const struct tsct_ntp_packet *packet, void *bytes);

/* Replaces the transmit timestamp of a packet without a MAC. */
void tsct_ntp_set_transmit(void *bytes, tsct_ntp_timestamp transmit);

#endif /* TSCT_NTP_PACKET_H */
