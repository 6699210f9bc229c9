/* SPDX-License-Identifier: MIT */
/*
 * Client table of the responder: the clients answered last, and the kernel's transmit
 * times of the answers. The table's size is fixed. The table has two lists, of unknown
 * clients and of members (clients that authenticate, and configured children), the
 * newest request first. A new client replaces the oldest unknown client; in a table
 * full of members, only a member replaces a member, and unknown clients are not
 * recorded.
 *
 * A ticket is a number for one answer, made of the index of the client's entry and a
 * count. The kernel reports an answer's transmit time after sending; the ticket shows
 * to which entry that time belongs.
 */
#ifndef TSCT_NTP_CLIENT_TABLE_H
#define TSCT_NTP_CLIENT_TABLE_H

#include <sys/queue.h>

#include "responder.h"

#define TSCT_CLIENT_TABLE_PAST	16	/* requests recorded per client */

struct tsct_client_entry_key {
	struct tsct_address from;	/* address of the client; the port is ignored */
	__u64 node;			/* node id of the client; 0: NTP only */
	__u32 key_id;
};

struct tsct_client_entry {
	struct tsct_client_entry_key key;
	/* The last requests with tsctrace's extension field, newest first; last_reply
	 * is the answer to the request past[0]. */
	struct tsct_client_entry_past {
		__u64 nonce, tx;
		__u64 repeated_tx;	/* tx of an earlier answer, as repeated by the
					 * request */
	} past[TSCT_CLIENT_TABLE_PAST];
	struct tsct_client_entry_past unverified;	/* a request that may
							 * be a replay */
	struct tsct_extension last_reply;
	tsct_ntp_timestamp receive;	/* receive timestamp in the last answer to an
					 * NTP-only client */
	bool has_tx;
	__u64 before_tx;		/* counter value before the last answer was
					 * sent */
	struct tsct_packet_time tx;	/* the kernel's transmit time of the
					 * last answer; valid if has_tx */
	/* number of the last answer, by which the kernel's report of that answer's
	 * transmit time is assigned to this entry; 0: none */
	__u32 ticket;
	/* The fields below are private to client_table.c. */
	bool member;
	TAILQ_ENTRY(tsct_client_entry) order;
	LIST_ENTRY(tsct_client_entry) chain;
};

LIST_HEAD(tsct_client_bucket, tsct_client_entry);
TAILQ_HEAD(tsct_client_list, tsct_client_entry);

struct tsct_client_table {
	__u64 seed;
	struct tsct_client_entry entry[TSCT_RESPONDER_CLIENTS];
	struct tsct_client_bucket buckets[TSCT_RESPONDER_CLIENTS];
	struct tsct_client_list list[2];	/* [0]: unknown clients;
						 * [1]: members */
	unsigned int nr;
};

void tsct_client_table_init(struct tsct_client_table *table, __u64 seed);
/* Finds or creates the entry of a client that sent a request. NULL: the table
 * has no room for an unknown client. */
struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key,
				      bool member);
/* tsct_client_table_ticket - make a ticket, the number of a new answer to a client
 * tsct_client_table_of - find the entry whose last ticket is @ticket; NULL: no entry */
__u32 tsct_client_table_ticket(struct tsct_client_table *table,
			  struct tsct_client_entry *entry);
struct tsct_client_entry *tsct_client_table_of(struct tsct_client_table *table,
					       __u32 ticket);

#endif /* TSCT_NTP_CLIENT_TABLE_H */
