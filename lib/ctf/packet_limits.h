/* SPDX-License-Identifier: MIT */
/*
 * Limits of a packet (`record --sync-every`): a packet of a stream file begins with a
 * full time stamp, and ends when the packet reaches a limit. All functions are pure.
 */
#ifndef TSCT_PACKET_LIMITS_H
#define TSCT_PACKET_LIMITS_H

#include <linux/types.h>
#include <stddef.h>

/* Limits of a packet; 0: no limit was requested, so the default holds */
struct tsct_packet_limits {
	__u64 events;		/* largest number of events; default: no limit */
	/* size at which a packet ends, bytes; default: TSCT_PACKET_FULL */
	__u64 bytes;
	/* upper limit of the time from the first event to the last, ns; default: a
	 * packet ends when the recorder flushes the files, about once a second */
	__u64 ns;
};

/* Ranges of the limits. A packet header alone has 80 bytes. */
#define TSCT_PACKET_EVENTS_MAX	(1ULL << 20)
#define TSCT_PACKET_BYTES_MIN	256
#define TSCT_PACKET_BYTES_MAX	65536
#define TSCT_PACKET_NS_MIN	1000ULL
#define TSCT_PACKET_NS_MAX	60000000000ULL

/* Forms and ranges of the texts that tsct_packet_limits_add() accepts, for messages */
#define TSCT_PACKET_LIMITS_FORMS	"a number of events such as 1000 or 2^10, a time" \
	" such as 100ms, or a size such as 16K"
#define TSCT_PACKET_LIMITS_RANGES	"1 to 2^20 events, 1us to 60s, or 256B to 64K"

/*
 * tsct_packet_limits_add - parse a limit, and add the limit to @limits
 * @text: a number of events: "1000", "2^10"; a time: "5us", "5ms", "5s"; or a size:
 *	"512B", "16K", "16KiB"
 *
 * Returns 0. With nothing changed: -EINVAL: not such a text; -ERANGE: the limit is out
 * of range; -EEXIST: @limits has a limit of the same quantity already.
 */
int tsct_packet_limits_add(struct tsct_packet_limits *limits, const char *text);

#define TSCT_PACKET_LIMITS_TEXT_MAX	96

/* Formats all limits, such as "1000 events, 100 ms, 16 KiB". Returns @to, or NULL if
 * all limits are defaults. */
const char *tsct_packet_limits_text(const struct tsct_packet_limits *limits,
				    char to[TSCT_PACKET_LIMITS_TEXT_MAX]);

#endif /* TSCT_PACKET_LIMITS_H */
