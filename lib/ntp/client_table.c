// SPDX-License-Identifier: MIT
#include "client_table.h"

#define INDEX_BITS	10	/* bits of an answer's number (ticket) for the index of
				 * the client's entry in the client table */

_Static_assert(TSCT_RESPONDER_CLIENTS == 1 << INDEX_BITS, "a ticket must have room for the index of each client");

void tsct_client_table_init(struct tsct_client_table *table, __u64 seed)
{
	memset(table, 0, sizeof(*table));
	table->seed = tsct_hash64(seed);
	TAILQ_INIT(&table->list[false]);
	TAILQ_INIT(&table->list[true]);
}

/* Takes an unused entry, or the entry of the oldest client that the new client may
 * replace; NULL: no such entry. */
static struct tsct_client_entry *take_entry(struct tsct_client_table *table,
					    bool member)
{
	struct tsct_client_entry *entry;

	if (table->nr < TSCT_RESPONDER_CLIENTS)
		return &table->entry[table->nr++];
	entry = TAILQ_LAST(&table->list[false], tsct_client_list);
	if (!entry && member)
		entry = TAILQ_LAST(&table->list[true], tsct_client_list);
	if (!entry)
		return NULL;
	TAILQ_REMOVE(&table->list[entry->member], entry, order);
	LIST_REMOVE(entry, chain);
	return entry;
}

struct tsct_client_entry *tsct_client_table_meet(struct tsct_client_table *table,
				      const struct tsct_client_entry_key *key,
				      bool member)
{
	__u64 hash = tsct_address_hash(&key->from, table->seed);
	struct tsct_client_bucket *bucket;
	struct tsct_client_entry *entry;

	hash = tsct_hash64(tsct_hash64(hash ^ key->node) ^ key->key_id);
	bucket = &table->buckets[hash % TSCT_RESPONDER_CLIENTS];
	LIST_FOREACH(entry, bucket, chain)
		if (entry->key.node == key->node &&
		    entry->key.key_id == key->key_id &&
		    tsct_address_same(&entry->key.from, &key->from))
			break;
	if (entry) {
		TAILQ_REMOVE(&table->list[entry->member], entry, order);
	} else {
		entry = take_entry(table, member);
		if (!entry)
			return NULL;
		/* The new client's entry keeps the last ticket (number of an answer),
		 * so that the next ticket differs from those of answers to the entry's
		 * previous client. */
		*entry = (struct tsct_client_entry) {
			.key = *key, .ticket = entry->ticket,
		};
		LIST_INSERT_HEAD(bucket, entry, chain);
	}
	entry->member = member;
	TAILQ_INSERT_HEAD(&table->list[member], entry, order);
	return entry;
}

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
