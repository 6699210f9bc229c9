/* SPDX-License-Identifier: MIT */
/*
 * A ring reader for the tests, implemented from the text of tsctrace/abi.h alone,
 * and payloads whose integrity it can check.
 */
#ifndef TSCT_TEST_RING_H
#define TSCT_TEST_RING_H

#include "device.h"

/* The payload of @len bytes of a writer's nr-th event */
T_FN void pattern_fill(unsigned char *payload, unsigned int len, uint64_t nr)
{
	for (unsigned int i = 0; i < len; i++)
		payload[i] = (unsigned char)(nr * 31 + i * 7 + len);
	if (len >= 8)
		memcpy(payload, &nr, 8);
}

T_FN bool pattern_holds(const unsigned char *payload, unsigned int len)
{
	static unsigned char want[65536];
	uint64_t nr;

	if (len < 8)
		return true;
	memcpy(&nr, payload, 8);
	pattern_fill(want, len, nr);
	return !memcmp(want, payload, len);
}

struct ring_reader {
	struct dev_maps *maps;
	unsigned int cpu;
	uint64_t pos;
	uint64_t records;
	uint64_t pads;
	uint64_t blocks;
	uint64_t last_cycles;
	uint64_t wrong;		/* records that violate the ring's protocol */
	/* true: the ring is of a kernel channel, so tid 0 is valid, and payloads are
	 * not those of pattern_fill() */
	bool kernel;
};

T_FN void ring_wrong(struct ring_reader *r, const char *why)
{
	if (r->wrong++ < 5)
		printf("cpu %u, position %llu: %s\n", r->cpu,
		       (unsigned long long)r->pos, why);
}

/* Returns the ring's head as a 64-bit position: the shared memory has its lower 48
 * bits, and the head is not before r->pos. */
T_FN uint64_t ring_head(const struct ring_reader *r)
{
	uint64_t head = __atomic_load_n(&dev_producer(r->maps, r->cpu)->head,
					__ATOMIC_ACQUIRE);

	return r->pos + ((head - r->pos) & 0xffffffffffffULL);
}

/* Checks position and event count of a block's header. */
T_FN void ring_check_block(struct ring_reader *r, const void *at,
			     uint64_t head)
{
	const struct tsct_block *block = at;

	if (block->id != TSCT_ID_BLOCK || block->len != 32 || block->reserved)
		ring_wrong(r, "not a header");
	if (block->pos != r->pos || r->pos + 32 > head)
		ring_wrong(r, "a header with a wrong position");
	if (block->events != r->records)
		ring_wrong(r, "a header with a wrong event count");
	if (block->cycles < r->last_cycles)
		ring_wrong(r, "a header older than the last record");
	r->pos += 32;
	r->blocks++;
}

/* Advances r->pos over one record (returned), pad or header before @head. */
T_FN const struct tsct_record *ring_step(struct ring_reader *r, uint64_t head)
{
	const struct tsct_channel_header *h = r->maps->header;
	char *data = dev_data(r->maps, r->cpu);
	const struct tsct_record *rec = (const void *)
		(data + (r->pos & (h->data_size - 1)));
	uint64_t left = h->block_size - r->pos % h->block_size;
	uint64_t size = (rec->len + 7ULL) & ~7ULL;

	if (left == h->block_size) {
		ring_check_block(r, rec, head);
		return NULL;
	}
	if (rec->id == TSCT_ID_PAD) {
		r->pos += left;
		r->pads++;
		if (r->pos + 32 > head)
			ring_wrong(r, "a pad beyond the head");
		return NULL;
	}
	if (rec->id < TSCT_ID_FIRST || rec->len < 16 || size >= left ||
	    r->pos + size > head) {
		ring_wrong(r, "not a record");
		r->pos = head;
		return NULL;
	}
	if (rec->cycles < r->last_cycles)
		ring_wrong(r, "cycles decrease");
	if (!rec->cycles || (!rec->tid && !r->kernel))
		ring_wrong(r, "no cycles or no thread");
	if (!r->kernel && !pattern_holds(rec->payload, rec->len - 16U))
		ring_wrong(r, "not the payload that was written");
	r->last_cycles = rec->cycles;
	r->records++;
	r->pos += size;
	return rec;
}

/* Reads all records of a discard ring, calls @fn for each, if any, and releases them. */
T_FN void ring_drain_each(struct ring_reader *r,
			  void (*fn)(struct ring_reader *r, const struct tsct_record *rec))
{
	uint64_t head = ring_head(r);
	const struct tsct_record *rec;

	while (r->pos < head) {
		rec = ring_step(r, head);
		if (rec && fn)
			fn(r, rec);
	}
	__atomic_store_n(&dev_consumer(r->maps, r->cpu)->tail, r->pos, __ATOMIC_RELEASE);
}

T_FN void ring_drain(struct ring_reader *r)
{
	ring_drain_each(r, NULL);
}

#endif
