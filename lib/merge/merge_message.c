// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "merge_message.h"

/* What is open of one key. Links are indices + 1; 0: none. */
struct open {
	struct tsct_message_end send, receive;
	__u32 key;		/* index */
	__u32 next;		/* of its list, or of the free ones */
	__u32 older, younger;	/* of all */
};

/* In the order they came in, which is that in which they are taken out. */
struct list {
	__u32 first, last;
};

/* A key that something is open of. There are sends that wait, or receives. */
struct key {
	__u64 key;
	struct list waits;
	struct list late;	/* sent after it was received, if no other one comes */
	__u32 next;		/* of its bucket, or of the free ones */
	bool early;		/* it is receives that wait */
};

/* As many for each key, so that few share one */
#define BUCKETS		4

#define PAIR_SLOTS	(2 * TSCT_MESSAGE_PAIRS_MAX)

struct tsct_message_matcher {
	struct open *open;
	struct key *keys;
	__u32 *bucket;
	__u32 room;		/* of open and keys; a power of two */
	__u32 free_open, free_key;
	__u32 oldest, youngest;
	__u64 window, seed;
	struct tsct_messages_result sums;
	struct tsct_message_pair *pairs;
	struct tsct_remap pair_of;	/* from << 32 | to -> index of pairs */
	struct tsct_remap_slot slots[PAIR_SLOTS];
};

_Static_assert(PAIR_SLOTS / 4 * 3 >= TSCT_MESSAGE_PAIRS_MAX, "all have a slot");

static void make_empty(struct tsct_message_matcher *m,
		       const struct tsct_messages_options *options)
{
	__u32 i;

	m->window = options->window ? options->window : 1000000000;
	m->seed = options->seed;
	tsct_remap_init(&m->pair_of, m->slots, PAIR_SLOTS, options->seed);
	for (i = 1; i < m->room; i++)
		m->open[i - 1].next = m->keys[i - 1].next = i + 1;
	m->free_open = m->free_key = 1;
}

int tsct_message_matcher_new(const struct tsct_messages_options *options,
			     struct tsct_message_matcher **ret)
{
	const __u32 room = options->room ? options->room : TSCT_MESSAGES_ROOM;
	struct tsct_message_matcher *m;

	if (room & (room - 1))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->room = room;
	m->open = calloc(room, sizeof(*m->open));
	m->keys = calloc(room, sizeof(*m->keys));
	m->bucket = calloc(BUCKETS * (size_t)room, sizeof(*m->bucket));
	m->pairs = calloc(TSCT_MESSAGE_PAIRS_MAX, sizeof(*m->pairs));
	if (!m->open || !m->keys || !m->bucket || !m->pairs) {
		tsct_message_matcher_free(m);
		return -ENOMEM;
	}
	make_empty(m, options);
	*ret = m;
	return 0;
}

void tsct_message_matcher_free(struct tsct_message_matcher *m)
{
	if (!m)
		return;
	free(m->open);
	free(m->keys);
	free(m->bucket);
	free(m->pairs);
	free(m);
}

/* ---- keys ------------------------------------------------------------------ */

/* The link to it, which is 0 where nothing is open of that key. */
static __u32 *link_to(struct tsct_message_matcher *m, __u64 key)
{
	__u32 *link = &m->bucket[tsct_hash(m->seed, &key, sizeof(key)) &
				 (BUCKETS * (__u64)m->room - 1)];

	while (*link && m->keys[*link - 1].key != key)
		link = &m->keys[*link - 1].next;
	return link;
}

static struct key *key_at(struct tsct_message_matcher *m, const __u32 *link)
{
	return *link ? &m->keys[*link - 1] : NULL;
}

/* There is a free one: no more are open than there are keys. */
static struct key *add_key(struct tsct_message_matcher *m, __u32 *link, __u64 key)
{
	const __u32 at = m->free_key;

	m->free_key = m->keys[at - 1].next;
	m->keys[at - 1] = (struct key) { .key = key };
	*link = at;
	return &m->keys[at - 1];
}

/* It goes, if nothing is open of it any more. */
static void drop_key(struct tsct_message_matcher *m, const struct key *k)
{
	__u32 *link, at;

	if (k->waits.first || k->late.first)
		return;
	link = link_to(m, k->key);
	at = *link;
	*link = k->next;
	m->keys[at - 1].next = m->free_key;
	m->free_key = at;
}

/* ---- what is open ---------------------------------------------------------- */

static void push(struct tsct_message_matcher *m, struct list *list, __u32 at)
{
	m->open[at - 1].next = 0;
	*(list->last ? &m->open[list->last - 1].next : &list->first) = at;
	list->last = at;
}

static __u32 pop(struct tsct_message_matcher *m, struct list *list)
{
	const __u32 at = list->first;

	list->first = m->open[at - 1].next;
	if (!list->first)
		list->last = 0;
	return at;
}

/* It was popped. */
static void drop(struct tsct_message_matcher *m, __u32 at)
{
	struct open *o = &m->open[at - 1];

	*(o->older ? &m->open[o->older - 1].younger : &m->oldest) = o->younger;
	*(o->younger ? &m->open[o->younger - 1].older : &m->youngest) = o->older;
	o->next = m->free_open;
	m->free_open = at;
}

/* ---- sums ------------------------------------------------------------------ */

/* Clocks of hostile recordings may be further apart than can be said. */
static __s64 between(__s64 from, __s64 to)
{
	__s64 ns;

	if (!__builtin_sub_overflow(to, from, &ns))
		return ns;
	return to < from ? INT64_MIN : INT64_MAX;
}

static void add(struct tsct_message_sums *sums, const struct open *o)
{
	const __s64 own_ns = between(o->send.own_ns, o->receive.own_ns);
	const __s64 after = (__s64)(o->receive.global - o->send.global);

	if (!sums->matched || own_ns < sums->least_own_ns)
		sums->least_own_ns = own_ns;
	if (!sums->matched || after < sums->least)
		sums->least = after;
	sums->matched++;
	sums->before += own_ns < 0;
	if (after >= 0)
		return;
	if ((tsct_u128)o->send.error + o->receive.error < (tsct_u128)-(tsct_s128)after)
		sums->beyond++;
	else
		sums->within++;
}

/* NULL: there is no room for another one. */
static struct tsct_message_sums *sums_of(struct tsct_message_matcher *m,
					 __u32 from, __u32 to)
{
	const __u64 name = (__u64)from << 32 | to;
	__u64 at;

	if (!tsct_remap_get(&m->pair_of, name, &at))
		return &m->pairs[at].sums;
	at = m->sums.nr_pairs;
	if (at == TSCT_MESSAGE_PAIRS_MAX ||
	    tsct_remap_put(&m->pair_of, name, at))
		return NULL;
	m->sums.nr_pairs++;
	m->pairs[at].from = from;
	m->pairs[at].to = to;
	return &m->pairs[at].sums;
}

static void match(struct tsct_message_matcher *m, const struct open *o)
{
	struct tsct_message_sums *sums = sums_of(m, o->send.node,
						 o->receive.node);

	add(&m->sums.all, o);
	if (sums)
		add(sums, o);
	else
		m->sums.other_pairs++;
}

/* ---- nothing comes any more that belongs to it ------------------------------- */

static void settle_late(struct tsct_message_matcher *m, struct key *k)
{
	const __u32 at = pop(m, &k->late);

	match(m, &m->open[at - 1]);
	drop(m, at);
}

static void settle_waiting(struct tsct_message_matcher *m, struct key *k)
{
	m->sums.unmatched_sends += !k->early;
	m->sums.unmatched_receives += k->early;
	drop(m, pop(m, &k->waits));
}

static bool is_over(const struct tsct_message_matcher *m, __u64 since, __u64 now)
{
	return now - since > m->window;
}

/* What is over, of one key */
static void settle_old(struct tsct_message_matcher *m, struct key *k, __u64 now)
{
	while (k->late.first &&
	       is_over(m, m->open[k->late.first - 1].send.global, now))
		settle_late(m, k);
	while (k->early && k->waits.first &&
	       is_over(m, m->open[k->waits.first - 1].receive.global, now))
		settle_waiting(m, k);
}

/* It came in before all others of its key, so it is the first of its list. */
static bool settle_oldest(struct tsct_message_matcher *m)
{
	struct key *k = &m->keys[m->open[m->oldest - 1].key];
	const bool is_late = k->late.first == m->oldest;

	if (is_late)
		settle_late(m, k);
	else
		settle_waiting(m, k);
	drop_key(m, k);
	return is_late;
}

/* ---- ends ------------------------------------------------------------------ */

static void append(struct tsct_message_matcher *m, __u32 *link, __u64 key,
		   bool early, const struct tsct_message_end *end)
{
	struct open *o;
	struct key *k;
	__u32 at;

	if (!m->free_open) {
		m->sums.given_up += !settle_oldest(m);
		link = link_to(m, key);	/* that may have gone, too */
	}
	k = *link ? key_at(m, link) : add_key(m, link, key);
	at = m->free_open;
	o = &m->open[at - 1];
	m->free_open = o->next;
	*(early ? &o->receive : &o->send) = *end;
	o->key = (__u32)(k - m->keys);
	o->older = m->youngest;
	o->younger = 0;
	*(o->older ? &m->open[o->older - 1].younger : &m->oldest) = at;
	m->youngest = at;
	k->early = early;
	push(m, &k->waits, at);
}

void tsct_message_sent(struct tsct_message_matcher *m, __u64 key,
		       const struct tsct_message_end *end)
{
	__u32 *link = link_to(m, key), at;
	struct key *k = key_at(m, link);

	m->sums.sends++;
	if (k)
		settle_old(m, k, end->global);
	if (!k || !k->early || !k->waits.first) {
		append(m, link, key, false, end);
		return;
	}
	at = pop(m, &k->waits);
	m->open[at - 1].send = *end;
	push(m, &k->late, at);
}

void tsct_message_received(struct tsct_message_matcher *m, __u64 key,
			   const struct tsct_message_end *end)
{
	__u32 *link = link_to(m, key), at;
	struct key *k = key_at(m, link);

	m->sums.receives++;
	if (k)
		settle_old(m, k, end->global);
	if (k && !k->early && k->waits.first) {
		at = pop(m, &k->waits);
	} else if (k && k->late.first) {
		/* What was received earlier was not that one. */
		at = pop(m, &k->late);
		m->sums.unmatched_receives++;
	} else {
		append(m, link, key, true, end);
		return;
	}
	m->open[at - 1].receive = *end;
	match(m, &m->open[at - 1]);
	drop(m, at);
	drop_key(m, k);
}

void tsct_message_unnumbered(struct tsct_message_matcher *m, bool is_send)
{
	m->sums.sends += is_send;
	m->sums.receives += !is_send;
	m->sums.unmatched_sends += is_send;
	m->sums.unmatched_receives += !is_send;
}

static int by_nodes(const void *a, const void *b)
{
	const struct tsct_message_pair *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

const struct tsct_messages_result *
tsct_message_finish(struct tsct_message_matcher *m)
{
	while (m->oldest)
		settle_oldest(m);
	qsort(m->pairs, m->sums.nr_pairs, sizeof(*m->pairs), by_nodes);
	m->sums.pairs = m->pairs;
	return &m->sums;
}
