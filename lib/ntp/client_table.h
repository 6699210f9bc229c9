/* SPDX-License-Identifier: MIT */
/*
 * Whom we answered last, and when the kernel sent it. Bounded; two lists, of
 * members and of strangers, the one who asked last first. Room for a stranger is
 * made by forgetting a stranger, never a member; where all are members, strangers
 * are not remembered.
 */
#ifndef TSCT_SYNC_TALKERS_H
#define TSCT_SYNC_TALKERS_H

#include "responder.h"

#define TSCT_CLIENT_TABLE_PAST	16

struct tsct_client_entry_key {
	struct tsct_address from;	/* its port does not count */
	__u64 node;			/* 0: plain NTP */
	__u32 key_id;
};

struct tsct_client_entry {
	struct tsct_client_entry_key key;
	/* Of our field: requests, newest first, and what we said to them */
	struct tsct_client_entry_past {
		__u64 nonce, tx;
		__u64 heard;		/* the tx that it repeated */
	} past[TSCT_CLIENT_TABLE_PAST];
	struct tsct_client_entry_past doubtful;	/* may be a recording */
	struct tsct_extension said;			/* to past[0] */
	tsct_ntp_stamp receive;		/* of plain NTP: what the last answer said */
	bool has_tx;
	__u64 about;			/* the counter before it was sent, */
	struct tsct_packet_time tx;		/* and when it was, if has_tx */
	__u32 ticket;			/* of the last answer; 0: none that counts */
	/* The rest is talkers.c's. */
	bool member;
	__u16 before, after;		/* in its list */
	__u16 next;			/* of the same hash */
};

struct tsct_client_table {
	__u64 seed;
	struct tsct_client_entry talker[TSCT_RESPONDER_CLIENTS];
	__u16 heads[TSCT_RESPONDER_CLIENTS];	/* by hash */
	struct {
		__u16 newest, oldest;
	} list[2];
	unsigned int nr;
};

void tsct_client_table_init(struct tsct_client_table *talkers, __u64 seed);
/* Looks only. NULL: not remembered */
struct tsct_client_entry *tsct_client_table_find(struct tsct_client_table *talkers,
				      const struct tsct_client_entry_key *key);
/* Finds or makes; it is the newest now. NULL: no room for a stranger */
struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *talkers,
				      const struct tsct_client_entry_key *key,
				      bool member);
/* A new ticket for an answer to it, and whose ticket that is, or NULL */
__u32 tsct_client_table_ticket(struct tsct_client_table *talkers,
			  struct tsct_client_entry *talker);
struct tsct_client_entry *tsct_client_table_of(struct tsct_client_table *talkers, __u32 ticket);

#endif /* TSCT_SYNC_TALKERS_H */
