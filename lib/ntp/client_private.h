/* SPDX-License-Identifier: MIT */
/* Between client.c, which keeps the state, and client_check.c, which judges */
#ifndef TSCT_SYNC_CLIENT_PRIVATE_H
#define TSCT_SYNC_CLIENT_PRIVATE_H

#include "client.h"

/* An answer, and what would become of it. */
struct tsct_client_answer {
	const void *bytes;
	size_t len;
	struct tsct_packet_time t4;
	__s64 near_ns;

	struct tsct_ntp_packet packet;
	unsigned int nr;	/* client->open[nr] is the request */
	bool interleaved;	/* RFC 9769: its t3 is that of the answer before */
	struct tsct_remote remote;
	__u64 mult;		/* of the other's counter */
	struct tsct_exchange x;
	bool has_t3;
	bool has_done;		/* the exchange that waited is complete: */
	struct tsct_exchange done;
};

/* Whether the answer is to be believed; looks at the client and changes nothing. */
enum tsct_client_result
tsct_client_check_answer(const struct tsct_client *client,
		  const struct tsct_keys *keys, struct tsct_client_answer *a);

/* Can an exchange be? @mult: of the other's counter */
enum tsct_client_result
tsct_client_possible(const struct tsct_client *client,
		     const struct tsct_exchange *x, __u64 mult);

/* The MAC that a packet must have, or must not */
enum tsct_client_result
tsct_client_mac(const struct tsct_client *client, const struct tsct_keys *keys,
		const void *bytes, size_t len,
		const struct tsct_ntp_packet *packet);

/* b - a of a counter that wraps */
static inline __s64 tsct_after(__u64 a, __u64 b)
{
	return (__s64)(b - a);
}

static inline __u32 tsct_worse(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

#endif /* TSCT_SYNC_CLIENT_PRIVATE_H */
