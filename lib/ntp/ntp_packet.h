/* SPDX-License-Identifier: MIT */
/*
 * NTPv4 packets (RFC 5905), with our extension field (RFC 7822) and a MAC at
 * the end. Bytes to a structure and back; Documentation/protocol.rst draws
 * them. The parser reads no byte beyond @len and trusts no length in the
 * packet.
 */
#ifndef TSCT_NTP_PACKET_H
#define TSCT_NTP_PACKET_H

#include "exchange.h"

#define TSCT_NTP_PORT		123
#define TSCT_NTP_HEADER		48	/* bytes */
#define TSCT_NTP_MAX		512	/* longest packet sent or accepted,
					 * bytes */
#define TSCT_NTP_MODE_CLIENT	3
#define TSCT_NTP_MODE_SERVER	4
#define TSCT_NTP_MODE_BROADCAST	5
#define TSCT_NTP_UNSYNCED	3	/* leap indicator: not synchronized */

/* Fixed point of the header: 32.32 s since 1900 (mod 2^32); the short format is
 * 16.16 s */
typedef __u64 tsct_ntp_timestamp;

/* To the nearest, with an error of 0.12 ns at most; never 0, which means "not
 * known" */
tsct_ntp_timestamp tsct_ntp_from_ns(__s64 unix_ns);
/*
 * @near_ns: selects the era: the result is within 2^31 s of it. Rounded to the
 * nearest, so that a time converted to a timestamp and back is unchanged;
 * saturating.
 */
__s64 tsct_ntp_to_ns(tsct_ntp_timestamp stamp, __s64 near_ns);
/* Short format and back. Both round up, as they are bounds; saturating, at 18
 * hours. */
__u32 tsct_ntp_short(__u64 ns);
__u64 tsct_ntp_short_ns(__u32 value);

/* ---- our extension field ------------------------------------------------- */

/* From the range for experiments */
#define TSCT_EXT_TYPE		0xf5c7
#define TSCT_EXT_VERSION	1
#define TSCT_EXT_SIZE		160	/* with its 4 bytes of type and
					 * length */

/* struct tsct_extension.flags */
#define TSCT_EXT_REPLY		0x1
#define TSCT_EXT_POLL_REQUEST	0x2	/* all else but ids is 0 */
#define TSCT_EXT_PARAMS		0x4	/* params is valid */
#define TSCT_EXT_TX_KERNEL	0x8	/* prev_tx is valid, and the kernel's */
#define TSCT_EXT_RX_KERNEL	0x10
#define TSCT_EXT_SESSION_OPEN	0x20	/* reply: a session is open to you */
#define TSCT_EXT_SESSION_OVER	0x40	/* reply: that was its last exchange */
#define TSCT_EXT_JOIN		0x80	/* request: part of session */
#define TSCT_EXT_ARRIVED	0x100	/* request: all callers here wait */
#define TSCT_EXT_RELEASED	0x200	/* reply: all members have arrived */

struct tsct_extension {
	__u16 flags;
	__u16 depth;		/* hops to the master; 0: the master */
	__u32 status;		/* TSCT_STATUS_* of the sender's cluster time */
	__u64 node;		/* sender's id; random, kept over restarts */
	__u64 host;		/* the same for all nodes that share a
				 * counter */
	__u64 nonce;		/* of the request; the reply repeats it */
	__u32 epoch;		/* of the cluster's timeline */
	__u32 session;
	__u64 master;		/* node that defines the timeline */
	__u64 rx;		/* reply: counter when the request was
				 * received */
	__u64 tx;		/* reply: counter before it was sent; request:
				 * tx of the last reply, 0: none */
	__u64 prev_nonce;	/* reply: of the request before, */
	__u64 prev_tx;		/* and the kernel's transmit time of its
				 * reply */
	__u32 rx_error;		/* bound of rx and prev_tx, counts */
	__u32 turn_us;		/* reply: time until the next request */
	__u32 barrier;		/* number of the collective */
	__u32 reserved;		/* not sent, read as 0 */
	struct tsct_remote_params params;	/* reply: the sender's */
};

/* ---- the field of missing nodes ------------------------------------------ */

/* Names of nodes missing in a collective, for people. In a request: those
 * missing below the sender; it also reserves the room for the reply's. */
#define TSCT_MISSING_TYPE	0xf5c8
#define TSCT_MISSING_SIZE	128	/* with type, length and magic */
#define TSCT_MISSING_TEXT	(TSCT_MISSING_SIZE - 8)

/* ---- packets ------------------------------------------------------------- */

struct tsct_ntp_packet {
	__u8 leap, version, mode, stratum;
	__s8 poll, precision;
	__u32 root_delay, root_dispersion;	/* 16.16 */
	__u32 refid;
	tsct_ntp_timestamp reference, origin, receive, transmit;
	bool has_ext;		/* version 4 only */
	__u16 ext_version;	/* parsed: of our field; 0: there is none */
	struct tsct_extension ext;
	bool has_missing;	/* only with has_ext */
	char missing[TSCT_MISSING_TEXT + 1];	/* parsed: printable ASCII */
	bool has_mac;
	__u32 key_id;		/* 0: crypto-NAK */
	__u16 mac_at;		/* offset of the key id, and length of the data
				 * that the MAC covers */
	__u16 mac_len;		/* of the digest after it */
};

/*
 * tsct_ntp_parse - parse a datagram
 *
 * Unknown extension fields are skipped, and those of ours of another version,
 * which is in ext_version. ext.params is 0 where its flag is not set. Returns 0;
 * -EBADMSG: not a packet (or a control message), and *ret_why is the reason in
 * words; may be NULL.
 */
int tsct_ntp_parse(const void *bytes, size_t len,
		   struct tsct_ntp_packet *ret_packet, const char **ret_why);

/*
 * tsct_ntp_build - build a packet: header, and our fields if has_ext and
 * version 4. The MAC is not included, see auth.h.
 * @bytes: room for TSCT_NTP_MAX
 * Returns the length in bytes, all of which are set.
 */
size_t tsct_ntp_build(const struct tsct_ntp_packet *packet, void *bytes);

/* Replaces the transmit timestamp of a packet without a MAC. */
void tsct_ntp_set_transmit(void *bytes, tsct_ntp_timestamp transmit);

#endif /* TSCT_NTP_PACKET_H */
