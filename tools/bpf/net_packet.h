/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Events of packets: the number that identifies a message, and one event for each
 * packet of a large one (GSO, GRO).
 */
#ifndef TSCT_BPF_NET_PACKET_H
#define TSCT_BPF_NET_PACKET_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "events.h"
#include "net_kernel.h"

#define HASHED		64	/* first bytes of a datagram that are hashed */
#define MAX_FRAGMENTS	17
#define MAX_SEGMENTS	1024	/* 512 KiB in segments of 536 bytes */

extern int tsct_bpf_emit(__u32 channel, __u32 event, const void *payload,
			 __u32 payload__sz) __ksym;

/* Set before loading */
const volatile __u32 channel_id;
const volatile __u32 net_send_id;
const volatile __u32 net_receive_id;
const volatile bool whole_system;

/* One or more packets of the same connection, in one sk_buff */
struct packet {
	u64 flow;		/* hash of protocol, TCP timestamp,
				 * addresses and ports */
	u64 payload;		/* address of the payload's linear part, */
	u32 linear;		/* and its bytes */
	u32 nr_fragments;	/* the rest of the payload */
	u64 fragments;		/* address of their array */
	u32 bytes;		/* payload of all packets */
	u32 size;		/* payload of each packet but the last */
	u32 sequence;		/* TCP: number of the first byte, */
	u32 tcp_timestamp;	/* and the timestamp option's value, or 0 */
	bool udp;
	u32 event_id;
	u32 event_size;
	struct net_event event;
};

/* ---- hashes -------------------------------------------------------------- */

static __always_inline u64 hash64(u64 hash, u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

/*
 * Addresses of the kernel's array of struct page and of its direct map. Set by
 * find_memory() if the kernel has variables for them, else fixed.
 */
__u64 pages = 0xffffea0000000000ULL;
__u64 memory = 0xffff888000000000ULL;

static __always_inline void find_variable(const char *name, int size, __u64 *value)
{
	u64 address;

	if (!bpf_kallsyms_lookup_name(name, size, 0, &address))
		bpf_probe_read_kernel(value, sizeof(*value), (void *)address);
}

/* Run once, before the other programs are attached */
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

/* Address of part @i of the payload: 0: the linear part, else a fragment */
static __always_inline u64 find_part(const struct packet *p, u32 i, u64 *len)
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

struct payload_copy {
	struct packet *packet;
	u64 skip;		/* bytes of the payload to skip */
	u64 want;		/* bytes to copy */
	u64 done;		/* bytes copied */
	/* Twice the size: the verifier cannot derive done + len <= want. */
	u64 words[2 * HASHED / 8];
};

/*
 * Hides the origin of a value from the compiler, so that a bound is checked on
 * the very register that is used, as the verifier requires.
 */
#define opaque(value)	asm volatile("" : "+r"(value))

static long copy_part(u32 i, struct payload_copy *c)
{
	u64 len, at = c->skip, done = c->done;
	u64 from = find_part(c->packet, i, &len);

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

/* The same hash for any distribution of the bytes over fragments */
static __always_inline u64 hash_payload(struct packet *p, u32 skip, u32 bytes)
{
	struct payload_copy c = { .packet = p, .skip = skip };
	u64 hash = bytes;
	int i;

	c.want = bytes < HASHED ? bytes : HASHED;
	bpf_loop(MAX_FRAGMENTS + 1, copy_part, &c, 0);
#pragma unroll
	for (i = 0; i < HASHED / 8; i++)
		hash = hash64(hash, c.words[i]);
	return hash;
}

/* ---- events -------------------------------------------------------------- */

static __always_inline long emit_one(struct packet *p, u32 bytes, u64 id)
{
	u64 size = p->event_size;

	p->event.message = hash64(p->flow, id);
	p->event.bytes = bytes;
	opaque(size);
	if (size > sizeof(p->event))
		return 1;
	tsct_bpf_emit(channel_id, p->event_id, &p->event, size);
	return 0;
}

/* Payload of the packet that begins @skip bytes into the payload of all */
static __always_inline u32 packet_bytes(const struct packet *p, u32 skip)
{
	return p->bytes - skip < p->size ? p->bytes - skip : p->size;
}

/* The context of a bpf_loop() callback must be on the stack. */
struct emit_loop {
	struct packet *packet;
};

static long emit_segment(u32 i, struct emit_loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size;

	return emit_one(p, packet_bytes(p, skip), p->sequence + skip);
}

static long emit_datagram(u32 i, struct emit_loop *loop)
{
	struct packet *p = loop->packet;
	u32 skip = i * p->size, bytes = packet_bytes(p, skip);

	return emit_one(p, bytes, hash_payload(p, skip, bytes));
}

/* Global functions, which the verifier checks separately from their callers */
__noinline int emit_segments(struct packet *p)
{
	struct emit_loop loop = { p };

	if (p && p->size)
		bpf_loop((p->bytes + p->size - 1) / p->size, emit_segment,
			 &loop, 0);
	return 0;
}

/* Includes datagrams without payload. */
__noinline int emit_datagrams(struct packet *p)
{
	struct emit_loop loop = { p };

	if (p && p->size)
		bpf_loop(p->bytes ? (p->bytes + p->size - 1) / p->size : 1,
			 emit_datagram, &loop, 0);
	return 0;
}

#endif /* TSCT_BPF_NET_PACKET_H */
