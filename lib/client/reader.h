/* SPDX-License-Identifier: MIT */
/*
 * The internal structures of a channel's reader, for reader*.c, and functions beyond
 * the public API, for recorders. One thread at a time may use a reader.
 */
#ifndef TSCT_READER_H
#define TSCT_READER_H

#include "lib/base/order.h"
#include "channel.h"

/*
 * The reader's state of one ring. `pos` and `count` advance together, record by
 * record. A block header and the head each state the number of events published
 * before a position. At these positions, reconcile() in reader.c compares `count` with
 * that number, and adds the difference to stat.overrun or stat.broken. Positions
 * (bytes) and counts (events) have 64 bits.
 */
struct tsct_ring_reader {
	__u64 pos;		/* position of the end of the last record read, bytes */
	__u64 released;		/* tail in shared memory, which writers read */
	__u64 count;		/* number of events published before pos */
	__u64 confirmed_pos;	/* last position at which `count` was compared with
				 * the ring's number of events */
	bool overtaken;		/* a writer overwrote unread data above confirmed_pos */
	bool damaged;		/* invalid data was found above confirmed_pos */
	/*
	 * Discard policy: the last head that was loaded and checked. Writers do not
	 * change data below it. The head is loaded again only when all data below it is
	 * read, so that its cache line stays in the writers' caches.
	 */
	bool has_head;
	__u64 head_word, head_pos;
	bool unreleased;	/* events were returned since the last release */
	/* A record that was read but not returned yet, see tsct_reader_peek() */
	bool has_next;
	__u64 next_pos;		/* position of the record `next`; writers may not
				 * overwrite this record yet (discard policy) */
	struct tsct_event next;
	__u64 *copy;		/* payload of `next`; allocated by the first peek */
	bool in_order;		/* tsct_reader.order has an entry for this ring */
	/*
	 * Image: private copy of the ring's data, which is read instead of the ring;
	 * NULL: no copy. See tsct_reader_freeze()
	 */
	const char *image;
	__u64 image_head;	/* tsct_producer.head when `image` was copied */
	/* The reader's own counters; the writers' counters in the struct are 0 */
	struct tsct_ring_stat stat;
};

struct tsct_reader {
	struct tsct_channel *channel;
	struct tsct_ring_reader *rings;	/* array of ring readers by CPU */
	__u64 *copy;		/* payload of the record returned last */
	__u64 watermark;	/* watermark in bytes, see tsct_reader_watermark() */
	/* Heap of the CPUs whose next event was read but not returned yet, by the
	 * event's cycles; for tsct_reader_next_ordered() */
	struct tsct_order order;
	struct tsct_order_cursor *heap;
	bool first_returned;	/* the event of the heap's first CPU was returned */
	__u32 since_scan;	/* events returned since all rings were examined */
	__u64 scanned_until;	/* highest cycles up to which the last scan of all rings
				 * found all events; 0: unknown */
	__u64 last_ordered;	/* highest cycles of the events returned in order */
	/* Event definitions: copies of the definition area, which is read up to defs_used */
	struct tsct_reader_defs {
		struct tsct_reader_defs *next;
		char area[];
	} *defs;
	__u64 defs_used;
	bool defs_broken;	/* reading ended at an invalid definition */
	const struct tsct_event_def **by_id;
	size_t nr_ids;		/* number of elements of by_id */
};

static inline bool tsct_reader_overwrites(const struct tsct_reader *reader)
{
	return reader->channel->geo.policy == TSCT_POLICY_OVERWRITE;
}

/*
 * tsct_reader_peek - look at the next event of a CPU's ring; the event stays unread
 * @cpu: below the channel's nr_cpus
 *
 * tsct_reader_next() then returns the same event. *ret_event is valid until that call.
 * Returns 1 with *ret_event set, 0: no event now, -ENOMEM.
 */
int tsct_reader_peek(struct tsct_reader *reader, unsigned int cpu,
		     const struct tsct_event **ret_event);

/*
 * tsct_reader_records - get the address of the next records of a CPU's ring, in one piece
 * @cpu: below the channel's nr_cpus
 * @ret_from: position of the first record; other programs may be able to change the
 *	memory at any time, so load each word once
 *
 * For recorders, which check and encode many records at a time. The records stay unread
 * until tsct_reader_advance(). Returns the number of bytes from the first record up to
 * the head or to the end of the block; the last record may be cut off. Returns 0 if there
 * is no record, or if the next data may not be one (a block header, a pad, invalid data, an
 * event that was peeked at, data beyond the last known head): then call tsct_reader_next().
 *
 * tsct_reader_advance - advance the reader's position by @nr records of @bytes bytes in all
 */
size_t tsct_reader_records(struct tsct_reader *reader, unsigned int cpu,
			   const char **ret_from);
static inline void tsct_reader_advance(struct tsct_reader *reader, unsigned int cpu,
				       size_t bytes, __u64 nr)
{
	struct tsct_ring_reader *ring = &reader->rings[cpu];

	ring->pos += bytes;
	ring->count += nr;
	ring->stat.read += nr;
	ring->unreleased = true;
}

/*
 * tsct_reader_progress - return the reader's own counters of a ring
 *
 * The result has the members before, read, overrun, broken, overruns and broken_places.
 * All other members are 0: unlike tsct_reader_stat(), this function reads no shared
 * memory. The result is valid until the reader is closed, and changes as the reader
 * advances.
 */
static inline const struct tsct_ring_stat *
tsct_reader_progress(const struct tsct_reader *reader, unsigned int cpu)
{
	return &reader->rings[cpu].stat;
}

/*
 * tsct_reader_freeze - read a private copy instead of a ring (overwrite policy)
 * @image: memory of data_size bytes, aligned to 8, in use until tsct_reader_thaw()
 *
 * Copies the ring's valid data up to the present head; writers continue in the ring.
 * Events overwritten before they could be copied count as overrun; if more than half of
 * the data was overwritten, the copy is repeated a few times. Returns false if the CPU
 * has no ring.
 *
 * tsct_reader_thaw - read the ring again, after the last event read from the copy
 */
bool tsct_reader_freeze(struct tsct_reader *reader, unsigned int cpu,
			char *image);
void tsct_reader_thaw(struct tsct_reader *reader, unsigned int cpu);

#endif /* TSCT_READER_H */
