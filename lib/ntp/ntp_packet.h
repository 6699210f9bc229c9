/* SPDX-License-Identifier: MIT */
/*
 * NTPv4 packets (RFC 5905), with our extension field (RFC 7822) and a MAC at the
 * end. Bytes in, structure out, and back; Documentation/protocol.rst draws them.
 * Parsing touches no byte beyond @len and believes no length that is in there.
 */
#ifndef TSCT_SYNC_NTP_H
#define TSCT_SYNC_NTP_H

#include "exchange.h"

#define TSCT_NTP_PORT		123
#define TSCT_NTP_HEADER		48	/* bytes */
#define TSCT_NTP_MAX		512	/* longest packet we take or send */
#define TSCT_NTP_MODE_CLIENT	3
#define TSCT_NTP_MODE_SERVER	4
#define TSCT_NTP_MODE_BROADCAST	5
#define TSCT_NTP_UNSYNCED	3	/* leap: the clock is not set */

/* Fixed point of the header: 32.32 s since 1900 (mod 2^32), and 16.16 s */
typedef __u64 tsct_ntp_stamp;

/* To the nearest, 0.12 ns off at most; and never 0, which means "not known" */
tsct_ntp_stamp tsct_ntp_from_ns(__s64 unix_ns);
/* @near_ns: the answer is the one within 2^31 s of it. To the nearest, so that
 * a time that became a stamp comes back as it was; saturating. */
__s64 tsct_ntp_to_ns(tsct_ntp_stamp stamp, __s64 near_ns);
/* Both rounded up: they are bounds. Saturating, at 18 hours */
__u32 tsct_ntp_short(__u64 ns);
__u64 tsct_ntp_short_ns(__u32 value);

/* ---- our extension field ------------------------------------------------- */

/* Of the experimental range */
#define TSCT_EXT_TYPE		0xf5c7
#define TSCT_EXT_VERSION	1
#define TSCT_EXT_SIZE		160	/* with its 4 bytes of type and length */

/* struct tsct_extension.flags */
#define TSCT_EXT_REPLY		0x1
#define TSCT_EXT_HINT		0x2	/* "ask me now"; all but ids is zero */
#define TSCT_EXT_LINE		0x4	/* line is one */
#define TSCT_EXT_TX_KERNEL	0x8	/* prev_tx is the kernel's stamp */
#define TSCT_EXT_RX_KERNEL	0x10
#define TSCT_EXT_SESSION_OPEN	0x20	/* reply: a session waits for you */
#define TSCT_EXT_SESSION_OVER	0x40	/* reply: that was its last exchange */
#define TSCT_EXT_JOIN		0x80	/* request: part of session */
#define TSCT_EXT_ARRIVED	0x100	/* request: all callers here are waiting */
#define TSCT_EXT_RELEASED	0x200	/* reply: all members have arrived */

struct tsct_extension {
	__u16 flags;
	__u16 depth;		/* hops to the master; 0: I am it */
	__u32 status;		/* TSCT_STATUS_* of the sender's cluster time */
	__u64 node;		/* sender's id; random, kept over restarts */
	__u64 host;		/* the same for all who share a counter */
	__u64 nonce;		/* of the request; the reply repeats it */
	__u32 epoch;		/* of the cluster's timeline */
	__u32 session;
	__u64 master;		/* node whose timeline it is */
	__u64 rx;		/* reply: counter when the request came */
	__u64 tx;		/* reply: and when this was about to be sent. Request:
				 * that of the last answer; 0: there was none */
	__u64 prev_nonce;	/* reply: of the one before, of which ... */
	__u64 prev_tx;		/* ... the kernel says when it was sent */
	__u32 rx_error;		/* of rx, prev_tx, counts */
	__u32 turn_us;		/* reply: wait as long before the next */
	__u32 barrier;		/* number of the collective that is meant */
	__u32 reserved;		/* never sent, always read as 0 */
	struct tsct_remote_params line;	/* reply: the sender's */
};

/* ---- who is missing ------------------------------------------------------- */

/* A field for who waits in a collective: names, for people. A request has it to
 * tell who is missing below, and to have room for those of the answer. */
#define TSCT_MISSING_TYPE	0xf5c8
#define TSCT_MISSING_SIZE	128	/* with type, length and magic */
#define TSCT_MISSING_TEXT	(TSCT_MISSING_SIZE - 8)

/* ---- packets --------------------------------------------------------------- */

struct tsct_ntp_packet {
	__u8 leap, version, mode, stratum;
	__s8 poll, precision;
	__u32 root_delay, root_dispersion;	/* 16.16 */
	__u32 refid;
	tsct_ntp_stamp reference, origin, receive, transmit;
	bool has_ext;		/* of versions before 4: never */
	__u16 ext_version;	/* parsed: of the field; 0: there is none */
	struct tsct_extension ext;
	bool has_missing;	/* only beside ext */
	char missing[TSCT_MISSING_TEXT + 1];	/* parsed: printable ASCII */
	bool has_mac;
	__u32 key_id;		/* 0: "I cannot check your MAC" (crypto-NAK) */
	__u16 mac_at;		/* offset of the key id: what a MAC is over */
	__u16 mac_len;		/* of the digest behind it */
};

/*
 * tsct_ntp_parse - what is in a datagram
 *
 * Unknown extension fields are passed over, and ours of another version, which
 * ext_version tells. Of ours, line is zero where its flag is not set. Returns 0;
 * -EBADMSG: not a packet (or a control message): *ret_why says what is wrong with
 * it, in words; may be NULL.
 */
int tsct_ntp_parse(const void *bytes, size_t len,
		   struct tsct_ntp_packet *ret_packet, const char **ret_why);

/*
 * tsct_ntp_build - header, and our fields if has_ext and version 4; no MAC (see
 * auth.h)
 * @bytes: room for TSCT_NTP_MAX
 * Returns the length. All bytes of it are set.
 */
size_t tsct_ntp_build(const struct tsct_ntp_packet *packet, void *bytes);

/* Another transmit stamp in what was built, and has no MAC */
void tsct_ntp_set_transmit(void *bytes, tsct_ntp_stamp transmit);

#endif /* TSCT_SYNC_NTP_H */
