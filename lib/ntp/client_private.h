/* SPDX-License-Identifier: MIT */
/* Shared by client.c, which updates the state of a client, and client_check.c,
 * which checks answers against that state */
#ifndef TSCT_NTP_CLIENT_PRIVATE_H
#define TSCT_NTP_CLIENT_PRIVATE_H

#include "client.h"

/* An answer, and the changes of the client's state that follow from the answer */
struct tsct_client_answer {
	const void *bytes;
	size_t len;
	struct tsct_packet_time t4;
	__s64 near_ns;

	struct tsct_ntp_packet packet;
	unsigned int nr;	/* index of the request in client->outstanding */
	bool interleaved;	/* interleaved mode (RFC 9769): t3 is the t3 of the
				 * previous answer */
	struct tsct_remote remote;
	__u64 mult;		/* rate of the server's counter, 2^-56 ns per
				 * count */
	struct tsct_exchange x;
	bool has_t3;
	bool has_done;		/* `done` is valid */
	struct tsct_exchange done;	/* the previous exchange, completed */
};

/* Applies all checks to an answer and fills in the result @a; does not change the
 * client. */
enum tsct_client_result
tsct_client_check_answer(const struct tsct_client *client,
		  const struct tsct_keys *keys, struct tsct_client_answer *a);

/* Checks that the times of an exchange are possible. @mult: rate of the server's
 * counter; 0: unknown */
enum tsct_client_result
tsct_client_possible(const struct tsct_client *client,
		     const struct tsct_exchange *x, __u64 mult);

/* Checks that a packet has the right MAC if a key is configured, else that it has no
 * MAC. */
enum tsct_client_result
tsct_client_mac(const struct tsct_client *client, const struct tsct_keys *keys,
		const void *bytes, size_t len,
		const struct tsct_ntp_packet *packet);

/* Returns the exchange that awaits the next answer, always the last in the queue; NULL:
 * no exchange */
static inline struct tsct_queued_exchange *
tsct_client_pending(const struct tsct_client *client)
{
	const struct tsct_queued_exchange *last =
		client->queue + client->nr_queued - 1;

	return client->nr_queued && last->state == TSCT_QUEUED_AWAITS_TX ?
		(struct tsct_queued_exchange *)last : NULL;
}

/* True: two remote states have the same node and timeline, so that their counter is the
 * same. */
static inline bool tsct_same_counter(const struct tsct_remote *a,
				     const struct tsct_remote *b)
{
	return a->node == b->node && a->host == b->host &&
		a->master == b->master && a->epoch == b->epoch;
}

/* Returns b - a for two values of a counter that wraps. */
static inline __s64 tsct_after(__u64 a, __u64 b)
{
	return (__s64)(b - a);
}

static inline __u32 tsct_worse(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

#endif /* TSCT_NTP_CLIENT_PRIVATE_H */
