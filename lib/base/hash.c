// SPDX-License-Identifier: MIT
#include <string.h>

#include "hash.h"

/* Multipliers of the hash: odd numbers in which half of the bits are set */
#define HASH_A	0x9e3779b97f4a7c15ULL
#define HASH_B	0xd6e8feb86659fd93ULL

/* Returns the XOR of both halves of the 128-bit product of @a and @b, as a hash. */
static __u64 fold_product(__u64 a, __u64 b)
{
	tsct_u128 product = (tsct_u128)a * b;

	return (__u64)product ^ (__u64)(product >> 64);
}

static __u64 hash64(__u64 seed, __u64 x)
{
	return fold_product(fold_product(x ^ seed ^ HASH_A, HASH_B) ^ seed, HASH_A);
}

__u64 tsct_hash(__u64 seed, const void *bytes, size_t len)
{
	const __u8 *at = bytes;
	__u64 hash = hash64(seed, len), word;
	size_t part;

	for (; len; len -= part, at += part) {
		part = len < sizeof(word) ? len : sizeof(word);
		word = 0;
		memcpy(&word, at, part);
		hash = hash64(hash, word);
	}
	return hash;
}

__u64 tsct_hash_event_def(__u64 seed, const struct tsct_event_def *def)
{
	const struct tsct_field *f;
	__u64 hash = tsct_hash(seed, def->name, strlen(def->name));

	hash = tsct_hash(hash, &def->kind, sizeof(def->kind));
	for (f = def->fields; f < def->fields + def->nr_fields; f++) {
		hash = tsct_hash(hash, f->name, strlen(f->name));
		hash = tsct_hash(hash, &f->type, sizeof(f->type));
		hash = tsct_hash(hash, &f->format, sizeof(f->format));
		hash = tsct_hash(hash, &f->count, sizeof(f->count));
	}
	return hash;
}
