/* SPDX-License-Identifier: MIT */
/* Maps definition ids to new ids, and unifies equal names. Results are compared with
 * those of a linear search. */
#include "lib/base/remap.h"
#include "seed.h"
#include "suite.h"

#define ROOM	256
#define THINGS	1000

/* libcheck also logs each assertion that holds, which is too slow here. */
#define must(what)	do { if (!(what)) ck_abort_msg(#what); } while (0)

static struct tsct_remap_slot slot[ROOM];

CASE("remap", NULL, NULL);

TEST(test_put_and_get)
{
	struct tsct_remap map;
	__u64 id = 77;

	ck_assert_int_eq(tsct_remap_init(&map, slot, 3, 0), -EINVAL);
	ck_assert_int_eq(tsct_remap_init(&map, slot, 0, 0), -EINVAL);
	ck_assert_int_eq(tsct_remap_init(&map, slot, ROOM, any64()), 0);
	ck_assert_int_eq(tsct_remap_get(&map, 0, &id), -ENOENT);
	ck_assert_uint_eq(id, 77);
	ck_assert_int_eq(tsct_remap_put(&map, 0, 5), 0);
	ck_assert_int_eq(tsct_remap_put(&map, ~0ULL, 0), 0);
	ck_assert_int_eq(tsct_remap_put(&map, 0, 5), -EALREADY);
	ck_assert_int_eq(tsct_remap_put(&map, 0, 6), -EEXIST);
	ck_assert_int_eq(tsct_remap_get(&map, 0, &id), 0);
	ck_assert_uint_eq(id, 5);
	ck_assert_int_eq(tsct_remap_get(&map, ~0ULL, &id), 0);
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(tsct_remap_get(&map, 1, &id), -ENOENT);
}

/* A table is full if 3/4 of its slots are in use. All entries are found then. */
LOOP_TEST(test_full_table, 0, 10)
{
	struct tsct_remap map;
	__u64 old[ROOM], id;
	unsigned int i, nr = 0;

	ck_assert_int_eq(tsct_remap_init(&map, slot, ROOM, any64()), 0);
	while (nr < ROOM) {
		/* Old ids are consecutive, or multiples of a large power of two. */
		old[nr] = any(2) ? (__u64)nr : (__u64)nr << 56 | 1ULL << 50;
		if (tsct_remap_put(&map, old[nr], nr * 3))
			break;
		nr++;
	}
	ck_assert_uint_eq(nr, ROOM / 4 * 3);
	ck_assert_int_eq(tsct_remap_put(&map, 1ULL << 40, 1), -ENOSPC);
	ck_assert_int_eq(tsct_remap_put(&map, old[5], 15), -EALREADY);
	ck_assert_int_eq(tsct_remap_get(&map, 1ULL << 40, &id), -ENOENT);
	ck_assert_uint_eq(map.nr, nr);
	for (i = 0; i < nr; i++) {
		must(!tsct_remap_get(&map, old[i], &id) && id == i * 3);
		must(tsct_remap_put(&map, old[i], i * 3) == -EALREADY);
	}
	ck_assert_int_eq(tsct_remap_put(&map, old[5], 16), -EEXIST);
	/* A new table in memory that was used before begins empty. */
	ck_assert_int_eq(tsct_remap_init(&map, slot, ROOM / 2, 0), 0);
	ck_assert_int_eq(tsct_remap_get(&map, old[5], &id), -ENOENT);
}

/* The search for an id that is not in the table ends, even in the smallest tables. */
TEST(test_small_tables)
{
	struct tsct_remap map;
	unsigned int room, i;
	__u64 id;

	for (room = 1; room <= 8; room *= 2) {
		ck_assert_int_eq(tsct_remap_init(&map, slot, room, room), 0);
		for (i = 0; !tsct_remap_put(&map, i, i); i++)
			;
		ck_assert_uint_lt(i, room);
		ck_assert_int_eq(tsct_remap_get(&map, 12345, &id), -ENOENT);
	}
}

/* ---- unification of names ------------------------------------------------ */

static char names[THINGS][12];
static unsigned int nr_compared;

static bool same(const void *arg, __u64 id)
{
	nr_compared++;
	return !strcmp(arg, names[id]);
}

static __u64 hash_of(const char *name, __u64 start)
{
	return tsct_hash(start, name, strlen(name));
}

CASE("unify", NULL, NULL);

/* Equal names get equal ids, different names different ids, as by a linear search. */
LOOP_TEST(test_unify, 20, 25)
{
	struct tsct_remap_slot *room = calloc(2048, sizeof(*room));
	struct tsct_unify unify;
	char name[12];
	unsigned int i, k, nr = 0;
	__u64 seed_of_hash, id;
	int ret;

	seed_of_hash = any64();
	ck_assert_int_eq(tsct_unify_init(&unify, room, 2048, any64()), 0);
	for (i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "thing %u", any(THINGS));
		for (k = 0; k < nr && strcmp(names[k], name); k++)
			;
		if (k == nr)
			strcpy(names[nr], name);
		ret = tsct_unify_id(&unify, hash_of(name, seed_of_hash), same,
				    name, &id);
		must(ret == (k == nr) && id == k);
		nr += k == nr;
	}
	ck_assert_uint_eq(unify.next, nr);
	/* Few names are compared: a known name needs one comparison, an unknown name
	 * hardly ever one. */
	ck_assert_uint_lt(nr_compared, 3000);
	free(room);
}

/* Different names whose hashes are equal get different ids. */
TEST(test_equal_hashes)
{
	struct tsct_unify unify;
	unsigned int i;
	__u64 id;

	ck_assert_int_eq(tsct_unify_init(&unify, slot, ROOM, 0), 0);
	for (i = 0; i < 100; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		ck_assert_int_eq(tsct_unify_id(&unify, 7, same, names[i], &id), 1);
		ck_assert_uint_eq(id, i);
	}
	ck_assert_uint_eq(unify.next, 100);
	ck_assert_uint_eq(unify.map.nr, 100);
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(tsct_unify_id(&unify, 7, same, names[i], &id), 0);
		ck_assert_uint_eq(id, i);
	}
	ck_assert_int_eq(tsct_unify_id(&unify, 8, same, "new", &id), 1);
	ck_assert_uint_eq(id, 100);
}

TEST(test_unify_full)
{
	struct tsct_unify unify;
	unsigned int i;
	__u64 id;

	ck_assert_int_eq(tsct_unify_init(&unify, slot, 4, 0), 0);
	for (i = 0; i < 3; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i);
		ck_assert_int_eq(tsct_unify_id(&unify, i, same, names[i], &id), 1);
	}
	ck_assert_int_eq(tsct_unify_id(&unify, 9, same, "9", &id), -ENOSPC);
	ck_assert_uint_eq(unify.next, 3);
	ck_assert_int_eq(tsct_unify_id(&unify, 1, same, "1", &id), 0);
	ck_assert_uint_eq(id, 1);
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
		must(hash == tsct_hash(seed0, bytes, len));
		must(hash != tsct_hash(seed0, bytes, len - 1));
		must(hash != tsct_hash(seed0 ^ 1, bytes, len));
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
