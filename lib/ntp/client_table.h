/* SPDX-License-Identifier: MIT */
/*
 * The clients answered last, and the kernel's transmit times of the answers.
 * Bounded; two lists, of members and of unknown clients, the newest request
 * first. Room for an unknown client is made by evicting an unknown client,
 * never a member; where all are members, unknown clients are not recorded.
 */
#ifndef TSCT_NTP_CLIENT_TABLE_H
#define TSCT_NTP_CLIENT_TABLE_H

#include "responder.h"

#define TSCT_CLIENT_TABLE_PAST	16

struct tsct_client_entry_key {
	struct tsct_address from;	/* its port is ignored */
	__u64 node;			/* 0: NTP only */
	__u32 key_id;
};

struct tsct_client_entry {
	struct tsct_client_entry_key key;
	/* With our field: requests, newest first, and the answer to past[0] */
	struct tsct_client_entry_past {
		__u64 nonce, tx;
		__u64 repeated_tx;	/* in the request: tx of an earlier
					 * answer */
	} past[TSCT_CLIENT_TABLE_PAST];
	struct tsct_client_entry_past unverified;	/* may be a recording */
	struct tsct_extension last_reply;
	tsct_ntp_timestamp receive;	/* NTP only: of the last answer */
	bool has_tx;
	__u64 before_tx;		/* counter before the last answer was
					 * sent */
	struct tsct_packet_time tx;	/* when the kernel sent it; if has_tx */
	__u32 ticket;			/* of the last answer; 0: none */
	/* Private to client_table.c */
	bool member;
	__u16 before, after;		/* in its list */
	__u16 next;			/* in its bucket */
};

struct tsct_client_table {
	__u64 seed;
	struct tsct_client_entry entry[TSCT_RESPONDER_CLIENTS];
	__u16 buckets[TSCT_RESPONDER_CLIENTS];	/* by hash */
	struct {
		__u16 newest, oldest;
	} list[2];
	unsigned int nr;
};

void tsct_client_table_init(struct tsct_client_table *table, __u64 seed);
/* NULL: not recorded */
struct tsct_client_entry *tsct_client_table_find(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key);
/* Finds or creates the entry and makes it the newest. NULL: no room for an
 * unknown client */
struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key,
				      bool member);
/* tsct_client_table_ticket - a new ticket, for an answer to the client
 * tsct_client_table_of - the entry that a ticket is the last one of; NULL: none */
__u32 tsct_client_table_ticket(struct tsct_client_table *table,
			  struct tsct_client_entry *entry);
struct tsct_client_entry *tsct_client_table_of(struct tsct_client_table *table,
					       __u32 ticket);

#endif /* TSCT_NTP_CLIENT_TABLE_H */
