// SPDX-License-Identifier: MIT
/*
 * A classic BPF program for SO_ATTACH_REUSEPORT_CBPF, which needs no privilege: returns
 * 1 for packets of configured children, which have a socket of their own, and 0 for all
 * other packets. The program tests the source address, or the key id before the MAC. A
 * sender can forge these only if it has learned the configured addresses or ids.
 */
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "socket.h"

#define LINEAR_MAX	4	/* maximum length of a list that the filter searches
				 * linearly; longer lists get a binary search */
#define DIGEST_CMAC	16	/* length of a CMAC, bytes */
/* Length of a SHA1 digest; longer digests are truncated to this length, bytes */
#define DIGEST_CUT	20
#define SOURCE_V4	12	/* offset of the source in an IPv4 header */
#define SOURCE_V6	8	/* offset of the source in an IPv6 header */

struct filter_program {
	struct sock_filter *at;
	unsigned int len, max;
};

static void emit(struct filter_program *p, __u16 code, __u8 jt, __u8 jf, __u32 k)
{
	if (p->len < p->max)
		p->at[p->len] = (struct sock_filter) { code, jt, jf, k };
	p->len++;
}

/* ---- search for the accumulator in a sorted list ------------------------- */

static unsigned int search_size(unsigned int nr)
{
	return nr <= LINEAR_MAX ? 2 * nr :
		3 + search_size(nr / 2) + search_size(nr - nr / 2);
}

/* Emits code that returns 1 if the accumulator is in the sorted list
 * @number, else falls through. BPF jumps only go forward. */
static void search(struct filter_program *p, const __u32 *number, unsigned int nr)
{
	unsigned int i, half = nr / 2;

	if (nr <= LINEAR_MAX) {
		for (i = 0; i < nr; i++) {
			emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, number[i]);
			emit(p, BPF_RET | BPF_K, 0, 0, 1);
		}
		return;
	}
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0, 1, number[half]);
	emit(p, BPF_JMP | BPF_JA, 0, 0, search_size(half) + 1);
	search(p, number, half);
	emit(p, BPF_JMP | BPF_JA, 0, 0, search_size(nr - half));
	search(p, number + half, nr - half);
}

static int by_size(const void *a, const void *b)
{
	__u32 x = *(const __u32 *)a, y = *(const __u32 *)b;

	return x < y ? -1 : x > y;
}

/* ---- loading the accumulator --------------------------------------------- */

static __u32 word(const struct tsct_address *address, unsigned int at)
{
	__u32 value;

	memcpy(&value, address->ip + at, sizeof(value));
	return ntohl(value);
}

/* Emits code that loads the sender's address, for IPv6 a hash of it. A sender
 * with the same hash as a child only shares the children's receive queue. */
static void emit_source(struct filter_program *p, bool v6)
{
	unsigned int i;

	if (!v6) {
		emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0,
		     (__u32)SKF_NET_OFF + SOURCE_V4);
		return;
	}
	emit(p, BPF_LD | BPF_IMM, 0, 0, 0);
	for (i = 0; i < 16; i += 4) {
		emit(p, BPF_ALU | BPF_MUL | BPF_K, 0, 0, 31);
		emit(p, BPF_ST, 0, 0, 0);
		emit(p, BPF_LDX | BPF_MEM, 0, 0, 0);
		emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0,
		     (__u32)SKF_NET_OFF + SOURCE_V6 + i);
		emit(p, BPF_ALU | BPF_ADD | BPF_X, 0, 0, 0);
	}
}

/* Emits code that loads the key id, which precedes the @digest bytes of digest at
 * the packet's end. If the packet is too short for key id and digest, the load
 * fails, and the filter program returns 0: the packet is not from a child. */
static void emit_key(struct filter_program *p, unsigned int digest)
{
	emit(p, BPF_LD | BPF_W | BPF_LEN, 0, 0, 0);
	emit(p, BPF_ALU | BPF_SUB | BPF_K, 0, 0, digest + 4);
	emit(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	emit(p, BPF_LD | BPF_W | BPF_IND, 0, 0, 0);
}

/* ---- the whole filter program -------------------------------------------- */

static int write_program(struct filter_program *p, bool v6, const __u32 *from,
			 unsigned int nr, const __u32 *key,
			 unsigned int nr_keys)
{
	p->max = BPF_MAXINSNS;
	p->at = calloc(p->max, sizeof(*p->at));
	if (!p->at)
		return -ENOMEM;
	if (nr)
		emit_source(p, v6);
	search(p, from, nr);
	if (nr_keys)
		emit_key(p, DIGEST_CMAC);
	search(p, key, nr_keys);
	if (nr_keys)
		emit_key(p, DIGEST_CUT);
	search(p, key, nr_keys);
	emit(p, BPF_RET | BPF_K, 0, 0, 0);
	if (p->len <= p->max)
		return 0;
	free(p->at);
	return -E2BIG;
}

int net_filter_program(bool v6, const struct tsct_address *address,
		       unsigned int nr, const __u32 *key, unsigned int nr_keys,
		       struct sock_fprog *ret)
{
	struct filter_program program = { 0 };
	unsigned int i, nr_from = 0;
	__u32 *from, *keys;
	int err;

	from = calloc(nr + nr_keys + 1, sizeof(*from));
	if (!from)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		if (net_is_v4(&address[i]) == !v6)
			from[nr_from++] = v6 ?
				((word(&address[i], 0) * 31 +
				  word(&address[i], 4)) * 31 +
				 word(&address[i], 8)) * 31 +
				word(&address[i], 12) : word(&address[i], 12);
	keys = from + nr_from;
	memcpy(keys, key, nr_keys * sizeof(*keys));
	qsort(from, nr_from, sizeof(*from), by_size);
	qsort(keys, nr_keys, sizeof(*keys), by_size);
	err = nr_from + nr_keys ? write_program(&program, v6, from, nr_from,
						keys, nr_keys) : -ENOENT;
	free(from);
	*ret = (struct sock_fprog) {
		.len = (unsigned short)program.len, .filter = program.at,
	};
	return err;
}
