/* SPDX-License-Identifier: MIT */
/* Hash tables, compared with a linear search, and hashes */
#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/base/index.h"
#include "seed.h"
#include "suite.h"

#define KEYS	2000

/* Keys differ in few bits, in either number; each comes several times. */
LOOP_TEST(test_random, 0, 3)
{
	struct { __u64 a, b; } *keys = NULL;
	struct tsct_index index = { .nr = 0 };
	__u64 a, b;
	__u32 i, nr = 0, turn;

	for (turn = 0; turn < 4 * KEYS; turn++) {
		a = (__u64)any(16) << any(60);
		b = any(2) ? any(100) : ~(__u64)any(100);
		for (i = 0; i < nr && (keys[i].a != a || keys[i].b != b); i++)
			;
		ck_assert(tsct_index_find(&index, a, b) == (i < nr ? i : TSCT_INDEX_NONE));
		ck_assert(tsct_index_add(&index, a, b) == i);
		if (i < nr)
			continue;
		ck_assert(tsct_array_next(&keys, nr, sizeof(*keys)));
		keys[nr].a = a;
		keys[nr++].b = b;
		ck_assert(index.nr == nr);
	}
	ck_assert(nr > KEYS);
	for (i = 0; i < nr; i++)
		ck_assert(tsct_index_find(&index, keys[i].a, keys[i].b) == i);
	ck_assert_uint_ne(index.seed, 0);
	tsct_index_free(&index);
	ck_assert_uint_eq(tsct_index_find(&index, keys[0].a, keys[0].b), TSCT_INDEX_NONE);
	free(keys);
}

/* Keys are also removed; many have the same low bits. Compared with an array of all keys */
RANDOM_TEST(test_values, 4)
{
	struct tsct_index index = { .nr = 0 };
	__u64 model[512] = { 0 }, key, *value;
	const unsigned int shift = any(55);
	unsigned int i, nr = 0;

	for (i = 1; i < 50000; i++) {
		key = any(512);
		if (any(3)) {
			nr += !model[key];
			model[key] = i;
			value = tsct_index_put(&index, key << shift, ~key, i);
			ck_assert(value && *value == i);
		} else {
			nr -= !!model[key];
			ck_assert(tsct_index_remove(&index, key << shift, ~key) == model[key]);
			model[key] = 0;
		}
		ck_assert(index.nr == nr);
		key = any(512);
		value = tsct_index_get(&index, key << shift, ~key);
		ck_assert(value ? *value == model[key] : !model[key]);
	}
	tsct_index_free(&index);
	ck_assert(!tsct_index_get(&index, 0, 0) && !tsct_index_remove(&index, 0, 0));
}

/* ---- names, by their hashes ------------------------------------------------ */

#define THINGS	1000

static char names[THINGS][12];
static unsigned int nr_compared;

/* Returns the number of a name, as index.h says how; adds a name that is new. */
static __u64 unify(struct tsct_index *index, const char *name, __u64 hash)
{
	const __u64 *value;
	__u64 n;

	for (n = 0; (value = tsct_index_get(index, hash, n)); n++) {
		nr_compared++;
		if (!strcmp(names[*value - 1], name))
			return *value - 1;
	}
	strcpy(names[index->nr], name);
	ck_assert(tsct_index_put(index, hash, n, index->nr + 1));
	return index->nr - 1;
}

/* Equal names get equal numbers, different names different ones, as by a linear search. */
RANDOM_TEST(test_unify, 5)
{
	struct tsct_index index = { .nr = 0 };
	const __u64 start = any64();
	char name[12];
	unsigned int i, k, nr;

	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "thing %u", any(THINGS));
		nr = (unsigned int)index.nr;
		for (k = 0; k < nr && strcmp(names[k], name); k++)
			;
		ck_assert(unify(&index, name, tsct_hash(start, name, strlen(name))) == k);
		ck_assert(index.nr == nr + (k == nr));
	}
	/* A known name needs one comparison, an unknown name hardly ever one. */
	ck_assert_uint_lt(nr_compared, 3000);
	tsct_index_free(&index);
}

/* Different names whose hashes are equal get different numbers. */
TEST(test_equal_hashes)
{
	struct tsct_index index = { .nr = 0 };
	char name[12];

	for (unsigned int turn = 0; turn < 2; turn++) {
		for (unsigned int i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "%u", i);
			ck_assert_uint_eq(unify(&index, name, 7), i);
		}
		ck_assert_uint_eq(index.nr, 100);
	}
	ck_assert_uint_eq(unify(&index, "new", 8), 100);
	tsct_index_free(&index);
}

/* ---- hash function ------------------------------------------------------- */

/* If one bit of input, length or seed changes, about half of the hash's bits change. */
TEST(test_hash)
{
	unsigned char bytes[40], other[40];
	unsigned int bit, len, turn, sum = 0, nr = 0, least = 64, flipped;
	__u64 hash, seed0;

	for (turn = 0; turn < 30; turn++) {
		len = 1 + any(sizeof(bytes));
		seed0 = any64();
		for (bit = 0; bit < len; bit++)
			bytes[bit] = (unsigned char)any(turn ? 256 : 1);
		hash = tsct_hash(seed0, bytes, len);
		ck_assert(hash == tsct_hash(seed0, bytes, len));
		ck_assert(hash != tsct_hash(seed0, bytes, len - 1));
		ck_assert(hash != tsct_hash(seed0 ^ 1, bytes, len));
		for (bit = 0; bit < 8 * len; bit++) {
			memcpy(other, bytes, len);
			other[bit / 8] ^= (unsigned char)(1 << bit % 8);
			flipped = (unsigned int)__builtin_popcountll(hash ^
				tsct_hash(seed0, other, len));
			least = flipped < least ? flipped : least;
			sum += flipped;
			nr++;
		}
	}
	ck_assert_uint_ge(least, 8);
	ck_assert_uint_ge(sum, 31 * nr);
	ck_assert_uint_le(sum, 33 * nr);
}
