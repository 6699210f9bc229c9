/* SPDX-License-Identifier: MIT */
/* A reader as its own files see it: reader*.c, record_drain.c. */
#ifndef TSCT_READER_H
#define TSCT_READER_H

#include "lib/core/order.h"
#include "channel.h"

/*
 * One ring. `pos` and `count` go forward together, record by record; wherever a
 * header or the head tells how many events were published before a place,
 * `count` is held against it (settle() in reader_ring.c), and what is missing
 * goes to stat.overrun or stat.broken. Positions and counts have 64 bits.
 */
struct tsct_ring_reader {
	__u64 pos;		/* behind the last record taken */
	__u64 released;		/* what the writers know of it */
	__u64 count;		/* events published before pos */
	__u64 sure;		/* the last position where that was confirmed */
	bool overtaken;		/* since then */
	bool doubtful;		/* since then: something was broken */
	/*
	 * Discard policy: a head that was checked. What is below it stays ours, so
	 * it is looked at again only there: writers have its cache line meanwhile.
	 */
	bool has_head;
	__u64 head_word, head_pos;
	bool unreleased;	/* events were returned since the last release */
	/* A record that was taken, but not returned yet: see fetch() */
	bool has_next;
	__u64 next_pos;		/* where it lies: not to be released */
	struct tsct_event next;
	__u64 *copy;		/* its payload; NULL until it is needed */
	/* A private copy of the whole ring, read in place of it; NULL: none */
	const char *image;
	__u64 image_head;	/* as the producer's would be */
	/* before, read, overrun, broken, overruns, broken_places; others: 0 */
	struct tsct_ring_stat stat;
};

struct tsct_reader {
	struct tsct_channel *t;
	struct tsct_ring_reader *rings;
	__u64 *copy;		/* one record's payload */
	__u64 watermark;
	/* next_any: the CPUs that have a `next`, by its stamp */
	struct tsct_order order;
	struct tsct_order_cursor *heap;
	bool *in_order;		/* per CPU; NULL: not begun yet */
	bool first_gone;	/* the first one was returned */
	__u32 since_scan;	/* events returned since all CPUs were looked at */
	__u64 scanned;		/* the `until` of then */
	__u64 last_any;		/* the highest stamp returned */
	/* definitions */
	char *defs;		/* copy of the definition area */
	__u64 defs_used;
	bool defs_broken;
	const struct tsct_event_def **by_id;
};

static inline bool tsct_reader_overwrites(const struct tsct_reader *reader)
{
	return reader->t->geo.policy == TSCT_POLICY_OVERWRITE;
}

/* Where a ring's data is read: in place, or in its copy */
static inline const char *tsct_reader_data(const struct tsct_reader *reader,
					   unsigned int cpu)
{
	const char *image = reader->rings[cpu].image;

	return image ? image : tsct_ring_data(reader->t, cpu);
}

/*
 * tsct_reader_start - find where to begin in a ring that was never looked at
 * tsct_reader_take - the next record of a ring, into @copy. 1, or 0: none now
 * tsct_reader_fetch - have a `next`, if there is one. 1, 0: none, -ENOMEM
 * tsct_reader_unread - bytes that a consumer has not taken, of any ring
 */
void tsct_reader_start(struct tsct_reader *reader, unsigned int cpu);
int tsct_reader_take(struct tsct_reader *reader, unsigned int cpu, __u64 *copy,
		     struct tsct_event *ret_event);
int tsct_reader_fetch(struct tsct_reader *reader, unsigned int cpu);
/*
 * tsct_reader_peek - the next event of a ring, which stays unread. Returns 1 with
 * *ret_event set, 0: none now, -ENOMEM.
 * tsct_reader_progress - the reader's own counters of a ring
 */
static inline int tsct_reader_peek(struct tsct_reader *reader, unsigned int cpu,
				   const struct tsct_event **ret_event)
{
	*ret_event = &reader->rings[cpu].next;
	return tsct_reader_fetch(reader, cpu);
}

static inline const struct tsct_ring_stat *
tsct_reader_progress(const struct tsct_reader *reader, unsigned int cpu)
{
	return &reader->rings[cpu].stat;
}

__u64 tsct_reader_unread(struct tsct_reader *reader, unsigned int cpu);

/* The ring's own figures, of one moment. */
void tsct_reader_ring_figures(struct tsct_reader *reader, unsigned int cpu,
			 struct tsct_ring_count *ret_figures);

/*
 * tsct_reader_freeze - read a copy in place of a ring (overwrite policy)
 * @image: room for geo.data_size bytes, aligned to 8; until thawed it is ours
 *
 * Takes what is valid now, up to the head of now, and lets the ring run on.
 * What writers overwrote before it could be copied counts as overrun; where that
 * is more than half, it copies again, a few times. false: the CPU has no ring.
 */
bool tsct_reader_freeze(struct tsct_reader *reader, unsigned int cpu,
			char *image);
void tsct_reader_thaw(struct tsct_reader *reader, unsigned int cpu);

#endif /* TSCT_READER_H */
