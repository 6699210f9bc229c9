// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "message_match.h"
#include "value_text.h"

/* The pool (see tsct_message_pool()) that is shared by all event names with send events
 * only, or with receive events only */
#define POOL_OTHERS	1

/* Bit in the keys of MPI's messages. Each of these has a number of its own, but
 * a failed send has the same number as the next send. */
#define KEY_UNIQUE	(1ULL << 63)

/* An open message: only its send or only its receive was seen, or the match of both
 * is not final yet (list `late`). Links are indices + 1, or 0 for no element. */
struct open_message {
	struct tsct_message_end send, receive;
	__u32 key;		/* index of the message's key in the matcher's table */
	__u32 next;		/* next message of the list, or next free message */
	__u32 older, younger;	/* neighbours in the list of all open messages */
};

/* List of messages in order of arrival, which is the order of removal */
struct open_list {
	__u32 first, last;
};

/* A message key that has open messages. Either all messages in `waiting` have only a
 * send, or all have only a receive. */
struct open_key {
	__u64 key;
	/* messages that have only a send; if the flag `early` is set, messages that
	 * have only a receive */
	struct open_list waiting;
	/* messages whose send came after their receive. Such a message counts as
	 * matched, unless another receive with the same message key comes within
	 * options.window ticks of the send. */
	struct open_list late;
	__u32 next;		/* next free key */
	bool early;		/* flag: messages in `waiting` have only a receive */
};

/* Largest number of pairs while messages are matched: twice the number kept at the end */
#define PAIRS_ROOM	(2 * TSCT_MESSAGE_PAIRS_MAX)

/* Statistics while messages are matched */
struct counts {
	struct tsct_message_stats stats;
	/* index in stats.pairs, plus 1, of the pair of nodes `from` and `to` */
	struct tsct_index pair_of;
	/* pairs with a `from << 32 | to` above this get no statistics of their own */
	__u64 last;
};

struct tsct_message_matcher {
	struct open_message *open;
	struct open_key *keys;
	/* index in `keys`, plus 1, of each message key that has open messages */
	struct tsct_index key_of;
	/* number of elements of each of the arrays `open` and `keys`: a power of two */
	__u32 room;
	/* numbers of elements of the arrays `open` and `keys` that were ever used;
	 * elements at higher indices were never written */
	__u32 nr_open, nr_keys;
	__u32 free_open, free_key;
	__u32 oldest, youngest;
	struct tsct_messages_options options;
	/* statistics to which results are added: `own`, or those of the matcher
	 * options.counts, so that several matchers add to one result */
	struct counts *counts;
	struct counts own;
};

static int make_counts(struct counts *c)
{
	c->last = UINT64_MAX;
	c->stats.pairs = calloc(PAIRS_ROOM, sizeof(*c->stats.pairs));
	return c->stats.pairs ? 0 : -ENOMEM;
}

int tsct_message_matcher_new(const struct tsct_messages_options *options,
			     struct tsct_message_matcher **ret)
{
	const __u32 room = options->room ? options->room : TSCT_MESSAGES_ROOM;
	struct tsct_message_matcher *m;
	int err = -ENOMEM;

	if (room & (room - 1))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->room = room;
	m->options = *options;
	if (!m->options.window)
		m->options.window = 1000000000;
	if (!m->options.mult)
		m->options.mult = 1ULL << TSCT_CLOCK_SHIFT;
	m->open = calloc(room, sizeof(*m->open));
	m->keys = calloc(room, sizeof(*m->keys));
	m->counts = options->counts ? options->counts->counts : &m->own;
	if (m->open && m->keys)
		err = options->sends_only || options->counts ? 0 :
			make_counts(&m->own);
	if (err)
		tsct_message_matcher_free(m);
	else
		*ret = m;
	return err;
}

void tsct_message_matcher_free(struct tsct_message_matcher *m)
{
	if (!m)
		return;
	free(m->open);
	free(m->keys);
	tsct_index_free(&m->key_of);
	tsct_index_free(&m->own.pair_of);
	free(m->own.stats.pairs);
	free(m);
}

/* ---- keys ------------------------------------------------------------------ */

__u64 tsct_message_pool(const char *name, unsigned int kinds)
{
	const unsigned int both = 1U << TSCT_KIND_SEND | 1U << TSCT_KIND_RECEIVE;

	if ((kinds & both) != both)
		return POOL_OTHERS;
	return tsct_hash(POOL_OTHERS, name, strlen(name));
}

static __u64 hash_of_name(const struct tsct_event_def *def)
{
	return tsct_hash(0, def->name, strlen(def->name));
}

int tsct_message_kinds_add(struct tsct_index *kinds, const struct tsct_event_def *def)
{
	const __u64 name = hash_of_name(def);
	const __u64 *known = tsct_index_get(kinds, name, 0);

	if (!tsct_message_is_end(def) || !tsct_message_has_key(def))
		return 0;
	return tsct_index_put(kinds, name, 0, (known ? *known : 0) | 1U << def->kind) ?
		0 : -ENOMEM;
}

__u64 tsct_message_pool_of(const struct tsct_index *kinds, const struct tsct_event_def *def)
{
	const __u64 *known = tsct_index_get(kinds, hash_of_name(def), 0);

	return tsct_message_pool(def->name, known ? (unsigned int)*known : 0);
}

/* The key is a hash, so that keys are evenly spread for any numbering of messages. Of n open
 * messages, two have one key with a probability of n^2 / 2^64: 6e-8 for 2^20 of them. */
__u64 tsct_message_key(const struct tsct_trace_event *event, __u64 pool)
{
	struct tsct_value number;
	unsigned int nr = 0;
	size_t pos = 0;
	__u64 value, key;
	bool is_unique = false;
	__s64 bytes;

	if (!tsct_message_has_key(event->def) ||
	    !tsct_value_next(event, &nr, &pos, &number))
		return 0;
	value = (__u64)tsct_value_integer(&number);
	if (!value && (!strcmp(event->def->name, "net_send") ||
		       !strcmp(event->def->name, "net_receive")))
		return 0;	/* unknown */
	if (!strcmp(event->def->name, "mpi_message") &&
	    tsct_value_find_integer(event, "bytes", &bytes)) {
		value = tsct_hash(value, &bytes, sizeof(bytes));
		is_unique = true;
	}
	key = tsct_hash(pool, &value, sizeof(value));
	key = is_unique ? key | KEY_UNIQUE : key & ~KEY_UNIQUE;
	return key ? key : 1;
}

/* Returns a key that has open messages, or NULL. */
static struct open_key *find_key(struct tsct_message_matcher *m, __u64 key)
{
	const __u64 *at = tsct_index_get(&m->key_of, key, 0);

	return at ? &m->keys[*at - 1] : NULL;
}

/* Frees a key, unless the key still has open messages. */
static void drop_key(struct tsct_message_matcher *m, struct open_key *k)
{
	if (k->waiting.first || k->late.first)
		return;
	k->next = m->free_key;
	m->free_key = (__u32)tsct_index_remove(&m->key_of, k->key, 0);
}

/* ---- open messages ----------------------------------------------------------- */

static void list_push(struct tsct_message_matcher *m, struct open_list *list, __u32 at)
{
	m->open[at - 1].next = 0;
	*(list->last ? &m->open[list->last - 1].next : &list->first) = at;
	list->last = at;
}

static __u32 list_pop(struct tsct_message_matcher *m, struct open_list *list)
{
	const __u32 at = list->first;

	list->first = m->open[at - 1].next;
	if (!list->first)
		list->last = 0;
	return at;
}

/* Frees a message that is no longer in any list. */
static void drop_message(struct tsct_message_matcher *m, __u32 at)
{
	struct open_message *o = &m->open[at - 1];

	*(o->older ? &m->open[o->older - 1].younger : &m->oldest) = o->younger;
	*(o->younger ? &m->open[o->younger - 1].older : &m->youngest) = o->older;
	o->next = m->free_open;
	m->free_open = at;
}

/* ---- figures ----------------------------------------------------------------- */

static void count_message(const struct tsct_message_matcher *m,
			  struct tsct_message_pair_stats *p, const struct open_message *o)
{
	const __s64 ticks = (__s64)(o->receive.tick - o->send.tick);
	const __s64 ns = (__s64)((tsct_s128)ticks * m->options.mult >> TSCT_CLOCK_SHIFT);
	__s64 own_ns;

	/* The latency saturates: times in a hostile recording may be 2^64 ns apart. */
	if (__builtin_sub_overflow(o->receive.own_ns, o->send.own_ns, &own_ns))
		own_ns = o->receive.own_ns < o->send.own_ns ? INT64_MIN : INT64_MAX;
	if (!p->matched || own_ns < p->least_own_ns)
		p->least_own_ns = own_ns;
	if (!p->matched || ns < p->least_ns)
		p->least_ns = ns;
	p->matched++;
	p->before += own_ns < 0;
	if (ticks >= 0)
		return;
	if ((tsct_u128)o->send.error + o->receive.error <
	    (tsct_u128)-(tsct_s128)ticks)
		p->beyond++;
	else
		p->within++;
}

static __u64 name_of(__u32 from, __u32 to)
{
	return (__u64)from << 32 | to;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct tsct_message_pair_stats *x = a, *y = b;
	const __u64 i = name_of(x->from, x->to), j = name_of(y->from, y->to);

	return (i > j) - (i < j);
}

/* Drops the last of too many pairs in @stats->pairs, which is sorted: so the order in which
 * messages of different pairs were matched has no effect on the result. */
static void drop_last_pairs(struct tsct_message_stats *stats)
{
	while (stats->nr_pairs > TSCT_MESSAGE_PAIRS_MAX)
		stats->other_pairs += stats->pairs[--stats->nr_pairs].matched;
}

/* Makes room for further pairs by dropping the last of all sorted pairs. */
static void reduce_pairs(struct counts *c)
{
	struct tsct_message_stats *stats = &c->stats;
	__u32 i;

	qsort(stats->pairs, stats->nr_pairs, sizeof(*stats->pairs), compare_pairs);
	for (i = TSCT_MESSAGE_PAIRS_MAX; i < stats->nr_pairs; i++)
		tsct_index_remove(&c->pair_of, name_of(stats->pairs[i].from, stats->pairs[i].to),
				  0);
	drop_last_pairs(stats);
	for (i = 0; i < stats->nr_pairs; i++) {
		c->last = name_of(stats->pairs[i].from, stats->pairs[i].to);
		*tsct_index_get(&c->pair_of, c->last, 0) = i + 1;
	}
	memset(stats->pairs + i, 0, (PAIRS_ROOM - i) * sizeof(*stats->pairs));
}

static void count_match(struct tsct_message_matcher *m, const struct open_message *o)
{
	const __u64 name = name_of(o->send.node, o->receive.node);
	struct counts *c = m->counts;
	struct tsct_message_pair_stats *pair;
	const __u64 *at;

	if (m->options.sends_only)
		return;
	count_message(m, &c->stats.all, o);
	at = tsct_index_get(&c->pair_of, name, 0);
	if (!at) {
		if (c->stats.nr_pairs == PAIRS_ROOM)
			reduce_pairs(c);
		if (name <= c->last)
			at = tsct_index_put(&c->pair_of, name, 0, c->stats.nr_pairs + 1);
		if (!at) {
			c->stats.other_pairs++;
			return;
		}
		pair = &c->stats.pairs[c->stats.nr_pairs++];
		pair->from = o->send.node;
		pair->to = o->receive.node;
	}
	count_message(m, &c->stats.pairs[*at - 1], o);
}

/* ---- expiry ------------------------------------------------------------------ */

static void settle_late(struct tsct_message_matcher *m, struct open_key *k)
{
	const __u32 at = list_pop(m, &k->late);

	count_match(m, &m->open[at - 1]);
	drop_message(m, at);
}

static void settle_waiting(struct tsct_message_matcher *m, struct open_key *k)
{
	m->counts->stats.unmatched_sends += !k->early;
	m->counts->stats.unmatched_receives += k->early;
	drop_message(m, list_pop(m, &k->waiting));
}

static bool is_expired(const struct tsct_message_matcher *m, __u64 since, __u64 now)
{
	return now - since > m->options.window;
}

static void settle_expired(struct tsct_message_matcher *m, struct open_key *k, __u64 now)
{
	while (k->late.first &&
	       is_expired(m, m->open[k->late.first - 1].send.tick, now))
		settle_late(m, k);
	while (k->early && k->waiting.first &&
	       is_expired(m, m->open[k->waiting.first - 1].receive.tick, now))
		settle_waiting(m, k);
}

/* Settles the oldest open message, which is the first of its list. Returns true if it
 * was matched. */
static bool settle_oldest(struct tsct_message_matcher *m)
{
	struct open_key *k = &m->keys[m->open[m->oldest - 1].key];
	const bool is_late = k->late.first == m->oldest;

	if (is_late)
		settle_late(m, k);
	else
		settle_waiting(m, k);
	drop_key(m, k);
	return is_late;
}

/* ---- sends and receives ------------------------------------------------------ */

/* Adds @end, a send or (@early) a receive, as the youngest open message: the message's
 * other event was not seen yet. */
static void add_waiting(struct tsct_message_matcher *m, struct open_key *k, __u64 key,
			bool early, const struct tsct_message_end *end)
{
	struct open_message *o;
	__u32 at;

	if (!m->free_open && m->nr_open == m->room) {
		m->counts->stats.given_up += !settle_oldest(m);
		k = find_key(m, key);	/* settle_oldest() may have freed @k */
	}
	if (!k) {
		/* m->keys has a free element: m->keys is as large as m->open, which has
		 * a free element here, and each used key has an open message. */
		at = m->free_key ?: m->nr_keys + 1;
		if (!tsct_index_put(&m->key_of, key, 0, at)) {
			m->counts->stats.given_up++;
			return;
		}
		k = &m->keys[at - 1];
		if (m->free_key)
			m->free_key = k->next;
		else
			m->nr_keys++;
		*k = (struct open_key) { .key = key };
	}
	at = m->free_open;
	if (at)
		m->free_open = m->open[at - 1].next;
	else
		at = ++m->nr_open;
	o = &m->open[at - 1];
	o->older = m->youngest;
	o->younger = 0;
	*(o->older ? &m->open[o->older - 1].younger : &m->oldest) = at;
	m->youngest = at;
	*(early ? &o->receive : &o->send) = *end;
	o->key = (__u32)(k - m->keys);
	k->early = early;
	list_push(m, &k->waiting, at);
}

void tsct_message_sent(struct tsct_message_matcher *m, __u64 key,
		       const struct tsct_message_end *end)
{
	struct open_key *k = find_key(m, key);
	__u32 at;

	m->counts->stats.sends++;
	if (k)
		settle_expired(m, k, end->tick);
	if (k && key & KEY_UNIQUE && !k->early && k->waiting.first) {
		at = list_pop(m, &k->waiting);		/* the earlier send has failed */
		m->counts->stats.unmatched_sends++;
		m->open[at - 1].send = *end;
		list_push(m, &k->waiting, at);
		return;
	}
	if (!k || !k->early || !k->waiting.first) {
		add_waiting(m, k, key, false, end);
		return;
	}
	at = list_pop(m, &k->waiting);
	m->open[at - 1].send = *end;
	list_push(m, &k->late, at);
}

const struct tsct_message_end *
tsct_message_received(struct tsct_message_matcher *m, __u64 key,
		      const struct tsct_message_end *end)
{
	struct open_key *k = find_key(m, key);
	__u32 at;

	m->counts->stats.receives++;
	if (k)
		settle_expired(m, k, end->tick);
	if (k && !k->early && k->waiting.first) {
		at = list_pop(m, &k->waiting);
	} else if (k && k->late.first) {
		/* A receive, a send and now a second receive, @end, have the same key.
		 * Matches the send with @end; the first receive is unmatched. */
		at = list_pop(m, &k->late);
		m->counts->stats.unmatched_receives++;
	} else if (m->options.sends_only) {
		m->counts->stats.unmatched_receives++;
		return NULL;
	} else {
		add_waiting(m, k, key, true, end);
		return NULL;
	}
	m->open[at - 1].receive = *end;
	count_match(m, &m->open[at - 1]);
	drop_message(m, at);
	drop_key(m, k);
	return &m->open[at - 1].send;
}

void tsct_message_unnumbered(struct tsct_message_matcher *m, bool is_send)
{
	m->counts->stats.sends += is_send;
	m->counts->stats.receives += !is_send;
	m->counts->stats.unmatched_sends += is_send;
	m->counts->stats.unmatched_receives += !is_send;
}

void tsct_message_finish(struct tsct_message_matcher *m, struct tsct_message_stats *ret)
{
	struct tsct_message_stats *stats = &m->counts->stats;

	while (m->oldest)
		settle_oldest(m);
	if (!ret)
		return;
	if (stats->nr_pairs)
		qsort(stats->pairs, stats->nr_pairs, sizeof(*stats->pairs), compare_pairs);
	drop_last_pairs(stats);
	stats->on = 1;
	*ret = *stats;
	stats->pairs = NULL;
}

/* ---- sums of statistics -------------------------------------------------------- */

static void add_pair(struct tsct_message_pair_stats *to,
		     const struct tsct_message_pair_stats *from)
{
	if (from->matched && (!to->matched || from->least_own_ns < to->least_own_ns))
		to->least_own_ns = from->least_own_ns;
	if (from->matched && (!to->matched || from->least_ns < to->least_ns))
		to->least_ns = from->least_ns;
	to->matched += from->matched;
	to->before += from->before;
	to->within += from->within;
	to->beyond += from->beyond;
}

int tsct_message_stats_add(struct tsct_message_stats *to,
			   const struct tsct_message_stats *from)
{
	const struct tsct_message_pair_stats *a = to->pairs, *b = from->pairs;
	const struct tsct_message_pair_stats *a_end = a + to->nr_pairs, *b_end = b + from->nr_pairs;
	struct tsct_message_pair_stats *all = calloc((size_t)to->nr_pairs + from->nr_pairs + 1,
						     sizeof(*all));
	int order;

	if (!all)
		return -ENOMEM;
	for (to->nr_pairs = 0; a < a_end || b < b_end; to->nr_pairs++) {
		order = a == a_end ? 1 : b == b_end ? -1 : compare_pairs(a, b);
		all[to->nr_pairs] = order <= 0 ? *a++ : *b++;
		if (!order)
			add_pair(&all[to->nr_pairs], b++);
	}
	to->pairs = all;
	add_pair(&to->all, &from->all);
	to->on |= from->on;
	to->sends += from->sends;
	to->receives += from->receives;
	to->unmatched_sends += from->unmatched_sends;
	to->unmatched_receives += from->unmatched_receives;
	to->given_up += from->given_up;
	to->other_pairs += from->other_pairs;
	drop_last_pairs(to);
	return 0;
}
