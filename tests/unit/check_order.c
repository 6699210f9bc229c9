// SPDX-License-Identifier: MIT
#include "lib/base/order.h"
#include "seed.h"
#include "suite.h"

#define STREAMS_MAX	40
#define EVENTS_MAX	200

/* A stream of events. Their keys never decrease, as in a ring. */
struct stream {
	__u64 key[EVENTS_MAX];
	unsigned int nr, at;
};

static unsigned int fill(struct stream *s, unsigned int nr_streams)
{
	unsigned int i, j, total = 0;
	__u64 key;

	for (i = 0; i < nr_streams; i++) {
		s[i].at = 0;
		s[i].nr = any(4) ? any(EVENTS_MAX) : 0;
		key = any(50);
		for (j = 0; j < s[i].nr; j++)
			s[i].key[j] = key += any(3);
		if (s[i].nr && !any(4))
			s[i].key[s[i].nr - 1] = UINT64_MAX;
		total += s[i].nr;
	}
	return total;
}

/* Streams 2k and 2k + 1 have the same rank, so the index decides between their events with
 * equal keys; of other streams, those with a higher index have a lower rank. */
static __u32 rank_of(unsigned int i)
{
	return STREAMS_MAX - i / 2;
}

static void start(struct tsct_order *order, struct stream *s, unsigned int nr)
{
	struct tsct_order_cursor head;

	for (unsigned int i = 0; i < nr; i++) {
		if (!s[i].nr)
			continue;
		head.key = s[i].key[0];
		head.rank = rank_of(i);
		head.index = i;
		ck_assert_int_eq(tsct_order_add(order, &head), 0);
	}
}

/* Reference: searches all streams for the earliest event. */
static unsigned int earliest(const struct stream *s, unsigned int nr)
{
	unsigned int i, best = nr;

	for (i = 0; i < nr; i++)
		if (s[i].at < s[i].nr &&
		    (best == nr || s[i].key[s[i].at] < s[best].key[s[best].at] ||
		     (s[i].key[s[i].at] == s[best].key[s[best].at] &&
		      rank_of(i) < rank_of(best))))
			best = i;
	return best;
}

/* Each event is returned once, and is the earliest one left in all streams. */
RANDOM_TEST(test_random_streams, 300)
{
	static struct stream s[STREAMS_MAX];
	struct tsct_order_cursor heap[STREAMS_MAX];
	const struct tsct_order_cursor *first;
	struct tsct_order order;
	unsigned int nr, total, seen = 0;
	struct stream *from;

	nr = 1 + any(STREAMS_MAX);
	total = fill(s, nr);
	tsct_order_init(&order, heap, nr);
	start(&order, s, nr);
	while ((first = tsct_order_first(&order))) {
		ck_assert_uint_eq(first->index, earliest(s, nr));
		from = &s[first->index];
		ck_assert_uint_eq(first->key, from->key[from->at]);
		seen++;
		if (++from->at < from->nr)
			tsct_order_advance(&order, from->key[from->at]);
		else
			tsct_order_drop(&order);
	}
	ck_assert_uint_eq(seen, total);
}

TEST(test_full)
{
	struct tsct_order_cursor heap[1], head = { 1, 2, 3 };
	struct tsct_order order;

	tsct_order_init(&order, heap, 1);
	ck_assert_int_eq(tsct_order_add(&order, &head), 0);
	ck_assert_int_eq(tsct_order_add(&order, &head), -ENOSPC);
	tsct_order_init(&order, NULL, 0);
	ck_assert_ptr_null(tsct_order_first(&order));
	ck_assert_int_eq(tsct_order_add(&order, &head), -ENOSPC);
}
