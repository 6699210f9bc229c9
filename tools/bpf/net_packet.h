/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Packets on their way to become events: what a message is known by, and one
 * event for each of those that were put together.
 */
#ifndef TSCT_BPF_NET_PACKET_H
#define TSCT_BPF_NET_PACKET_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "events.h"
#include "net_kernel.h"

#define HASHED		64	/* bytes of a datagram that count */
#define MAX_FRAGMENTS	17
#define MAX_SEGMENTS	1024	/* 512 KiB in one, of 536 bytes each */

extern int tsct_bpf_emit(__u32 channel, __u32 event, const void *payload,
			 __u32 payload__sz) __ksym;

/* Set before loading. */
const volatile __u32 channel_id;
const volatile __u32 net_send_id;
const volatile __u32 net_receive_id;
const volatile bool whole_system;

/* One or more packets of the same connection */
struct packet {
	u64 flow;		/* hash of all that they have in common */
	u64 payload;		/* its part behind the headers: where, ... */
	u32 linear;		/* ... and how much of it */
	u32 nr_fragments;	/* the rest */
	u64 fragments;
	u32 bytes;		/* of all packets */
	u32 size;		/* of each but the last one */
	u32 sequence;		/* TCP: the first one's number, */
	u32 stamp;		/* and its timestamp, or 0 */
	bool udp;
	u32 event_id;
	u32 event_size;
	struct net_event event;
};

/* ---- hashes -------------------------------------------------------------- */

static __always_inline u64 mix(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/*
 * Where the kernel has its array of struct page, and all memory: set by
 * find_memory(), unless they are at their traditional places.
 */
__u64 pages = 0xffffea0000000000ULL;
__u64 memory = 0xffff888000000000ULL;

static __always_inline void find_variable(const char *name, int size, __u64 *value)
{
	u64 address;

	if (!bpf_kallsyms_lookup_name(name, size, 0, &address))
		bpf_probe_read_kernel(value, sizeof(*value), (void *)address);
}

/* Run once, before the others are attached */
SEC("syscall")
int find_memory(void *unused)
{
	static const char array[] = "vmemmap_base", start[] = "page_offset_base";

	find_variable(array, sizeof(array), &pages);
	find_variable(start, sizeof(start), &memory);
	return 0;
}

static __always_inline u64 page_address(u64 page)
{
	return memory + (page - pages) / bpf_core_type_size(struct page) * 4096;
}

/* Piece number @i of the payload: the linear part, or a fragment */
static __always_inline u64 find_piece(const struct packet *p, u32 i, u64 *len)
{
	struct fragment f;

	*len = p->linear;
	if (!i)
		return p->payload;
	*len = 0;
	if (i > p->nr_fragments ||
	    bpf_probe_read_kernel(&f, sizeof(f), (void *)(p->fragments +
					(i - 1) * sizeof(f))) ||
	    f.page & NO_PAGE)
		return 0;
	*len = f.len;
	return page_address(f.page) + f.offset;
}

struct copy {
	struct packet *packet;
	u64 skip;		/* bytes to come before ours */
	u64 want;
	u64 done;
	/* As large again, for the verifier: it does not see done + len <= want. */
	u64 words[2 * HASHED / 8];
};

/* Has the verifier look at a value as it is, not at what it was made of */
#define opaque(value)	asm volatile("" : "+r"(value))

static long copy_piece(u32 i, struct copy *c)
{
	u64 len, at = c->skip, done = c->done;
	u64 from = find_piece(c->packet, i, &len);

	if (at >= len) {
		c->skip = at - len;
		return i >= MAX_FRAGMENTS;
	}
	c->skip = 0;
	if (done >= c->want)
		return 1;
	len -= at;
	if (len > c->want - done)
		len = c->want - done;
	opaque(len);
	opaque(done);
	if (len > HASHED || done >= HASHED)
		return 1;
	bpf_probe_read_kernel((char *)c->words + done, len, (void *)(from + at));
	c->done = done + len;
	return c->done >= c->want;
}

/* The same wherever the driver, or the sender, put the bytes */
static __always_inline u64 hash_payload(struct packet *p, u32 skip, u32 bytes)
{
	struct copy c = { .packet = p, .skip = skip };
	u64 hash = bytes;
	int i;

	c.want = bytes < HASHED ? bytes : HASHED;
	bpf_loop(MAX_FRAGMENTS + 1, copy_piece, &c, 0);
#pragma unroll
	for (i = 0; i < HASHED / 8; i++)
		hash = mix(hash, c.words[i]);
	return hash;
}

/* ---- events -------------------------------------------------------------- */

static __always_inline long emit_one(struct packet *p, u32 bytes, u64 id)
{
	u64 size = p->event_size;

	p->event.message = mix(p->flow, id);
	p->event.bytes = bytes;
	opaque(size);
	if (size > sizeof(p->event))
		return 1;
	tsct_bpf_emit(channel_id, p->event_id, &p->event, size);
	return 0;
}

static __always_inline u32 bytes_behind(const struct packet *p, u32 skip)
{
	return p->bytes - skip < p->size ? p->bytes - skip : p->size;
}

/* bpf_loop() wants something on the stack. */
struct loop {
	struct packet *packet;
};

static long emit_segment(u32 i, struct loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size;

	return emit_one(p, bytes_behind(p, skip), p->sequence + skip);
}

static long emit_datagram(u32 i, struct loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size, bytes = bytes_behind(p, skip);

	return emit_one(p, bytes, hash_payload(p, skip, bytes));
}

/* Global: the verifier looks at them by themselves. */
__noinline int emit_segments(struct packet *p)
{
	struct loop loop = { p };

	if (p && p->size)
		bpf_loop((p->bytes + p->size - 1) / p->size, emit_segment,
			 &loop, 0);
	return 0;
}

/* There are empty ones, too. */
__noinline int emit_datagrams(struct packet *p)
{
	struct loop loop = { p };

	if (p && p->size)
		bpf_loop(p->bytes ? (p->bytes + p->size - 1) / p->size : 1,
			 emit_datagram, &loop, 0);
	return 0;
}

#endif /* TSCT_BPF_NET_PACKET_H */
