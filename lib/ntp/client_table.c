// SPDX-License-Identifier: MIT
#include "lib/core/remap.h"
#include "client_table.h"

#define NONE		0xffff
#define INDEX_BITS	10	/* of a ticket; the rest counts */

_Static_assert(TSCT_RESPONDER_CLIENTS == 1 << INDEX_BITS, "tickets have room");

void tsct_client_table_init(struct tsct_client_table *talkers, __u64 seed)
{
	memset(talkers, 0, sizeof(*talkers));
	talkers->seed = tsct_hash64(seed);
	memset(talkers->heads, 0xff, sizeof(talkers->heads));
	memset(talkers->list, 0xff, sizeof(talkers->list));
}

static __u16 *head(struct tsct_client_table *talkers,
		   const struct tsct_client_entry_key *key)
{
	__u64 high, low, hash = talkers->seed;

	memcpy(&high, key->from.ip, 8);
	memcpy(&low, key->from.ip + 8, 8);
	hash = tsct_hash64(hash ^ low);
	hash = tsct_hash64(hash ^ high);
	hash = tsct_hash64(hash ^ key->node);
	hash = tsct_hash64(hash ^ ((__u64)key->from.scope << 32 | key->key_id));
	return &talkers->heads[hash % TSCT_RESPONDER_CLIENTS];
}

static bool same(const struct tsct_client_entry_key *a,
		 const struct tsct_client_entry_key *b)
{
	return a->node == b->node && a->key_id == b->key_id &&
		tsct_address_same(&a->from, &b->from);
}

struct tsct_client_entry *tsct_client_table_find(struct tsct_client_table *talkers,
				      const struct tsct_client_entry_key *key)
{
	__u16 at = *head(talkers, key);

	while (at != NONE && !same(&talkers->talker[at].key, key))
		at = talkers->talker[at].next;
	return at == NONE ? NULL : &talkers->talker[at];
}

/* ---- lists --------------------------------------------------------------- */

static void take_out(struct tsct_client_table *talkers, struct tsct_client_entry *talker)
{
	unsigned int list = talker->member;

	if (talker->before == NONE)
		talkers->list[list].newest = talker->after;
	else
		talkers->talker[talker->before].after = talker->after;
	if (talker->after == NONE)
		talkers->list[list].oldest = talker->before;
	else
		talkers->talker[talker->after].before = talker->before;
}

static void put_first(struct tsct_client_table *talkers, struct tsct_client_entry *talker)
{
	__u16 at = (__u16)(talker - talkers->talker);
	unsigned int list = talker->member;

	talker->before = NONE;
	talker->after = talkers->list[list].newest;
	talkers->list[list].newest = at;
	if (talker->after == NONE)
		talkers->list[list].oldest = at;
	else
		talkers->talker[talker->after].before = at;
}

static void forget_hash(struct tsct_client_table *talkers, struct tsct_client_entry *talker)
{
	__u16 *at = head(talkers, &talker->key);

	while (&talkers->talker[*at] != talker)
		at = &talkers->talker[*at].next;
	*at = talker->next;
}

/* A place never used, or a stranger's, or, for a member, another member's */
static struct tsct_client_entry *make_room(struct tsct_client_table *talkers, bool member)
{
	struct tsct_client_entry *talker;
	__u16 at;

	if (talkers->nr < TSCT_RESPONDER_CLIENTS)
		return &talkers->talker[talkers->nr++];
	at = talkers->list[false].oldest;
	if (at == NONE && member)
		at = talkers->list[true].oldest;
	if (at == NONE)
		return NULL;
	talker = &talkers->talker[at];
	take_out(talkers, talker);
	forget_hash(talkers, talker);
	return talker;
}

struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *talkers,
				      const struct tsct_client_entry_key *key,
				      bool member)
{
	struct tsct_client_entry *talker = tsct_client_table_find(talkers, key);
	__u16 *chain;
	__u32 ticket;

	if (talker) {
		take_out(talkers, talker);
		talker->member = member;
		put_first(talkers, talker);
		return talker;
	}
	talker = make_room(talkers, member);
	if (!talker)
		return NULL;
	/* Tickets of who was here before go on: none of his is taken for ours. */
	ticket = talker->ticket;
	*talker = (struct tsct_client_entry) {
		.key = *key, .member = member, .ticket = ticket,
	};
	chain = head(talkers, key);
	talker->next = *chain;
	*chain = (__u16)(talker - talkers->talker);
	put_first(talkers, talker);
	return talker;
}

/* ---- tickets ------------------------------------------------------------- */

__u32 tsct_client_table_ticket(struct tsct_client_table *talkers,
			  struct tsct_client_entry *talker)
{
	__u32 count = (talker->ticket >> INDEX_BITS) + 1;

	if (!(count << INDEX_BITS))
		count = 1;
	talker->ticket = count << INDEX_BITS |
		(__u32)(talker - talkers->talker);
	return talker->ticket;
}

struct tsct_client_entry *tsct_client_table_of(struct tsct_client_table *talkers, __u32 ticket)
{
	struct tsct_client_entry *talker =
		&talkers->talker[ticket % TSCT_RESPONDER_CLIENTS];

	return ticket >> INDEX_BITS && talker->ticket == ticket ? talker : NULL;
}
