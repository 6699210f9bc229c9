// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "message_match.h"

int tsct_message_match_init(struct tsct_message_match *m, __u32 room)
{
	memset(m, 0, sizeof(*m));
	m->room = room;
	m->sent = calloc(room, sizeof(*m->sent));
	m->first = calloc(room, sizeof(*m->first));
	m->last = calloc(room, sizeof(*m->last));
	if (m->sent && m->first && m->last)
		return 0;
	tsct_message_match_free(m);
	return -ENOMEM;
}

void tsct_message_match_free(struct tsct_message_match *m)
{
	free(m->sent);
	free(m->first);
	free(m->last);
	memset(m, 0, sizeof(*m));
}

static __u32 bucket_of(const struct tsct_message_match *m, __u64 key)
{
	return (key ^ key >> 32) & (m->room - 1);
}

/* Takes out what comes behind @before, which is 0 at the first. */
static struct tsct_message_send *drop(struct tsct_message_match *m, __u32 bucket,
			      __u32 before)
{
	__u32 *link = before ? &m->sent[before - 1].next : &m->first[bucket];
	struct tsct_message_send *s = &m->sent[*link - 1];

	if (m->last[bucket] == *link)
		m->last[bucket] = before;
	*link = s->next;
	s->waits = false;
	return s;
}

void tsct_message_match_send(struct tsct_message_match *m, __u64 key, __u64 number,
			__u32 from, __u64 bytes)
{
	const __u32 bucket = bucket_of(m, key);
	const __u32 at = m->nr++ & (m->room - 1);
	struct tsct_message_send *s = &m->sent[at];

	/* The oldest of all is the first of its bucket. */
	if (s->waits) {
		drop(m, bucket_of(m, s->key), 0);
		m->unmatched++;
	}
	*s = (struct tsct_message_send) {
		.key = key, .number = number, .bytes = bytes, .from = from,
		.waits = true,
	};
	if (m->last[bucket])
		m->sent[m->last[bucket] - 1].next = at + 1;
	else
		m->first[bucket] = at + 1;
	m->last[bucket] = at + 1;
}

const struct tsct_message_send *tsct_message_match_receive(struct tsct_message_match *m,
					      __u64 key)
{
	const __u32 bucket = bucket_of(m, key);
	__u32 at = m->first[bucket], before = 0;

	for (; at && m->sent[at - 1].key != key; at = m->sent[at - 1].next)
		before = at;
	if (at)
		return drop(m, bucket, before);
	m->unmatched++;
	return NULL;
}
