// SPDX-License-Identifier: MIT
/* A hash table of clients with a list per class, ordered by their last
 * request */
#include "lib/core/remap.h"
#include "client_table.h"

#define NONE		0xffff
#define INDEX_BITS	10	/* of a ticket; the other bits count */

_Static_assert(TSCT_RESPONDER_CLIENTS == 1 << INDEX_BITS, "tickets have room");

void tsct_client_table_init(struct tsct_client_table *table, __u64 seed)
{
	memset(table, 0, sizeof(*table));
	table->seed = tsct_hash64(seed);
	memset(table->buckets, 0xff, sizeof(table->buckets));
	memset(table->list, 0xff, sizeof(table->list));
}

static __u16 *bucket(struct tsct_client_table *table,
		   const struct tsct_client_entry_key *key)
{
	__u64 high, low, hash = table->seed;

	memcpy(&high, key->from.ip, 8);
	memcpy(&low, key->from.ip + 8, 8);
	hash = tsct_hash64(hash ^ low);
	hash = tsct_hash64(hash ^ high);
	hash = tsct_hash64(hash ^ key->node);
	hash = tsct_hash64(hash ^ ((__u64)key->from.scope << 32 | key->key_id));
	return &table->buckets[hash % TSCT_RESPONDER_CLIENTS];
}

static bool same(const struct tsct_client_entry_key *a,
		 const struct tsct_client_entry_key *b)
{
	return a->node == b->node && a->key_id == b->key_id &&
		tsct_address_same(&a->from, &b->from);
}

struct tsct_client_entry *tsct_client_table_find(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key)
{
	__u16 at = *bucket(table, key);

	while (at != NONE && !same(&table->entry[at].key, key))
		at = table->entry[at].next;
	return at == NONE ? NULL : &table->entry[at];
}

/* ---- lists by last request ----------------------------------------------- */

static void list_remove(struct tsct_client_table *table,
			struct tsct_client_entry *entry)
{
	unsigned int list = entry->member;

	if (entry->before == NONE)
		table->list[list].newest = entry->after;
	else
		table->entry[entry->before].after = entry->after;
	if (entry->after == NONE)
		table->list[list].oldest = entry->before;
	else
		table->entry[entry->after].before = entry->before;
}

static void list_push(struct tsct_client_table *table,
		      struct tsct_client_entry *entry)
{
	__u16 at = (__u16)(entry - table->entry);
	unsigned int list = entry->member;

	entry->before = NONE;
	entry->after = table->list[list].newest;
	table->list[list].newest = at;
	if (entry->after == NONE)
		table->list[list].oldest = at;
	else
		table->entry[entry->after].before = at;
}

static void hash_remove(struct tsct_client_table *table,
			struct tsct_client_entry *entry)
{
	__u16 *at = bucket(table, &entry->key);

	while (&table->entry[*at] != entry)
		at = &table->entry[*at].next;
	*at = entry->next;
}

/* An unused entry, or the oldest of an unknown client, or, for a member, the
 * oldest of a member */
static struct tsct_client_entry *free_entry(struct tsct_client_table *table,
					    bool member)
{
	struct tsct_client_entry *entry;
	__u16 at;

	if (table->nr < TSCT_RESPONDER_CLIENTS)
		return &table->entry[table->nr++];
	at = table->list[false].oldest;
	if (at == NONE && member)
		at = table->list[true].oldest;
	if (at == NONE)
		return NULL;
	entry = &table->entry[at];
	list_remove(table, entry);
	hash_remove(table, entry);
	return entry;
}

struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key,
				      bool member)
{
	struct tsct_client_entry *entry = tsct_client_table_find(table, key);
	__u16 *chain;
	__u32 ticket;

	if (entry) {
		list_remove(table, entry);
		entry->member = member;
		list_push(table, entry);
		return entry;
	}
	entry = free_entry(table, member);
	if (!entry)
		return NULL;
	/* Tickets continue from the entry's previous client, so none of its is
	 * valid here. */
	ticket = entry->ticket;
	*entry = (struct tsct_client_entry) {
		.key = *key, .member = member, .ticket = ticket,
	};
	chain = bucket(table, key);
	entry->next = *chain;
	*chain = (__u16)(entry - table->entry);
	list_push(table, entry);
	return entry;
}

/* ---- tickets ------------------------------------------------------------- */

__u32 tsct_client_table_ticket(struct tsct_client_table *table,
			  struct tsct_client_entry *entry)
{
	__u32 count = (entry->ticket >> INDEX_BITS) + 1;

	if (!(count << INDEX_BITS))
		count = 1;
	entry->ticket = count << INDEX_BITS |
		(__u32)(entry - table->entry);
	return entry->ticket;
}

struct tsct_client_entry *tsct_client_table_of(struct tsct_client_table *table,
					       __u32 ticket)
{
	struct tsct_client_entry *entry =
		&table->entry[ticket % TSCT_RESPONDER_CLIENTS];

	return ticket >> INDEX_BITS && entry->ticket == ticket ? entry : NULL;
}
