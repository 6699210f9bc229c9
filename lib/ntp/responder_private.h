/* SPDX-License-Identifier: MIT */
/* Between the files responder*.c */
#ifndef TSCT_SYNC_RESPONDER_PRIVATE_H
#define TSCT_SYNC_RESPONDER_PRIVATE_H

#include "client_table.h"

struct tsct_responder {
	struct tsct_responder_ops ops;
	const struct tsct_keys *keys;
	struct tsct_ratelimit *guard;
	__u64 counts[TSCT_ANSWER_NR];
	struct tsct_client_table talkers;
};

/* One that is being answered */
struct tsct_query {
	const struct tsct_address *from;
	const void *bytes;
	size_t len;
	struct tsct_packet_time rx;
	struct tsct_ntp_packet packet;
	bool member;		/* authenticated, or configured */
	struct tsct_client_entry *talker;
	bool again;		/* we had this one, or may have had it */
	bool repeat;		/* it is the last one, and so is the answer */
	struct tsct_client_entry_past *note;	/* where it is remembered, or NULL */
};

/*
 * tsct_responder_field - our field of the answer, and what goes with it
 * tsct_responder_ntp_only - receive and transmit stamp of an answer without it
 */
void tsct_responder_field(struct tsct_responder *responder,
			  const struct tsct_timeline *timeline,
			  struct tsct_query *request,
			  struct tsct_ntp_packet *reply);
void tsct_responder_ntp_only(struct tsct_responder *responder,
			  const struct tsct_query *request,
			  struct tsct_ntp_packet *reply);

#endif /* TSCT_SYNC_RESPONDER_PRIVATE_H */
