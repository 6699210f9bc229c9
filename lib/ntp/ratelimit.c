// SPDX-License-Identifier: MIT
/*
 * Children, and token buckets. A bucket holds time: each answer costs interval_us
 * of it, and it fills by what has passed.
 */
#include <stdlib.h>

#include "acl.h"
#include "lib/core/remap.h"

#define WAYS	8	/* places in which a member's bucket may be */

#define MEMBER_INTERVAL_US	100
#define MEMBER_BURST		1000

struct limit {
	__u64 interval_us, full_us;
};

struct bucket {
	__u64 last_us;
	__u64 level_us;
};

struct member {
	struct tsct_address of;
	bool taken;
	struct bucket bucket;
};

struct child {
	struct tsct_address address;
	__u32 key_id;
	bool anywhere;		/* its address is not known */
};

struct tsct_ratelimit {
	__u32 leak;
	struct limit strangers, trusted;
	__u64 seed, random;
	struct tsct_acl access;
	unsigned int nr_children;
	struct child children[TSCT_CHILDREN_MAX];	/* by compare() */
	struct bucket buckets[TSCT_RATELIMIT_BUCKETS];
	struct member members[TSCT_RATELIMIT_MEMBERS];
};

static struct limit limit_of(__u32 interval_us, __u32 burst, __u32 otherwise)
{
	return (struct limit) {
		.interval_us = interval_us,
		.full_us = (__u64)interval_us * (burst ? burst : otherwise),
	};
}

struct tsct_ratelimit *tsct_ratelimit_new(const struct tsct_ratelimit_options *options,
				  __u64 seed)
{
	struct tsct_ratelimit *guard = calloc(1, sizeof(*guard));
	unsigned int i;

	if (!guard)
		return NULL;
	guard->leak = options->leak;
	guard->strangers = limit_of(options->interval_us, options->burst, 1);
	guard->trusted = limit_of(options->member_interval_us ?
				  options->member_interval_us :
				  MEMBER_INTERVAL_US,
				  options->member_burst, MEMBER_BURST);
	guard->seed = tsct_hash64(seed);
	guard->random = tsct_hash64(~seed);
	tsct_acl_init(&guard->access);
	for (i = 0; i < TSCT_RATELIMIT_BUCKETS; i++)
		guard->buckets[i].level_us = guard->strangers.full_us;
	return guard;
}

void tsct_ratelimit_free(struct tsct_ratelimit *guard)
{
	free(guard);
}

int tsct_ratelimit_rule(struct tsct_ratelimit *guard, const char *prefix, bool allow)
{
	return tsct_acl_add_rule(&guard->access, prefix, allow);
}

/* ---- children ------------------------------------------------------------ */

/* By address; scope 0 of a configured one stands for any. */
static int compare(const struct child *child, const struct tsct_address *to)
{
	if (child->anywhere)
		return -1;
	return memcmp(child->address.ip, to->ip, sizeof(to->ip));
}

/* The first that is not before @to */
static unsigned int find(const struct tsct_ratelimit *guard,
			 const struct tsct_address *to)
{
	unsigned int low = 0, high = guard->nr_children, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (compare(&guard->children[middle], to) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool same(const struct child *child, const struct tsct_address *from)
{
	return !compare(child, from) && (!child->address.scope ||
					 child->address.scope == from->scope);
}

int tsct_ratelimit_child(struct tsct_ratelimit *guard,
		     const struct tsct_address *address, __u32 key_id)
{
	struct child child = { .key_id = key_id, .anywhere = !address };
	unsigned int at;

	if (guard->nr_children == TSCT_CHILDREN_MAX)
		return -E2BIG;
	if (address)
		child.address = *address;
	at = address ? find(guard, address) : 0;
	memmove(&guard->children[at + 1], &guard->children[at],
		(guard->nr_children - at) * sizeof(child));
	guard->children[at] = child;
	guard->nr_children++;
	return 0;
}

/* Is that key bound to addresses? Asked only of requests whose MAC is right. */
static bool bound(const struct tsct_ratelimit *guard, __u32 key_id)
{
	bool ret = false;
	unsigned int i;

	for (i = 0; i < guard->nr_children; i++) {
		if (guard->children[i].key_id != key_id)
			continue;
		if (guard->children[i].anywhere)
			return false;
		ret = true;
	}
	return ret;
}

int tsct_ratelimit_key(const struct tsct_ratelimit *guard,
		   const struct tsct_address *from, __u32 key_id)
{
	bool keys = false;
	unsigned int i;

	for (i = find(guard, from); i < guard->nr_children &&
	     !compare(&guard->children[i], from); i++) {
		if (!same(&guard->children[i], from))
			continue;
		if (guard->children[i].key_id == key_id)
			return 1;
		keys |= guard->children[i].key_id;
	}
	if (keys)
		return key_id ? -EKEYREJECTED : -ENOKEY;
	return key_id && bound(guard, key_id) ? -EKEYREJECTED : 0;
}

static bool is_child(const struct tsct_ratelimit *guard,
		     const struct tsct_address *from)
{
	unsigned int i;

	for (i = find(guard, from); i < guard->nr_children &&
	     !compare(&guard->children[i], from); i++)
		if (same(&guard->children[i], from))
			return true;
	return false;
}

bool tsct_ratelimit_allows(const struct tsct_ratelimit *guard,
		       const struct tsct_address *from)
{
	return tsct_acl_allows(&guard->access, from->ip) ||
		(guard->nr_children && is_child(guard, from));
}

/* ---- buckets ------------------------------------------------------------- */

static __u64 hash(const struct tsct_ratelimit *guard,
		  const struct tsct_address *address)
{
	__u64 high, low;

	memcpy(&high, address->ip, 8);
	memcpy(&low, address->ip + 8, 8);
	return tsct_hash64(tsct_hash64(tsct_hash64(guard->seed ^ low) ^ high) ^
			address->scope);
}

/* A member's, or that of the one of its set who has been silent for the longest */
static struct bucket *of_member(struct tsct_ratelimit *guard,
				const struct tsct_address *from)
{
	unsigned int set = (unsigned int)(hash(guard, from) %
		(TSCT_RATELIMIT_MEMBERS / WAYS));
	struct member *member = &guard->members[set * WAYS];
	struct member *oldest = member, *end = member + WAYS;

	for (; member < end; member++) {
		if (member->taken && tsct_address_same(&member->of, from))
			return &member->bucket;
		if (!member->taken || (oldest->taken &&
		    member->bucket.last_us < oldest->bucket.last_us))
			oldest = member;
	}
	*oldest = (struct member) {
		.of = *from,
		.taken = true,
		.bucket.level_us = guard->trusted.full_us,
	};
	return &oldest->bucket;
}

/* Nobody can tell which of those who come too often is answered. */
static bool leaks(struct tsct_ratelimit *guard)
{
	__u32 leak = guard->leak;

	if (!leak || leak > 31)
		return false;
	guard->random++;
	return !(tsct_hash64(guard->random ^ guard->seed) >> (64 - leak));
}

bool tsct_ratelimit_take(struct tsct_ratelimit *guard, const struct tsct_address *from,
		     bool trusted, __u64 now_us)
{
	const struct limit *limit = trusted ? &guard->trusted :
		&guard->strangers;
	struct bucket *bucket;

	if (!guard->strangers.interval_us)
		return true;
	bucket = trusted ? of_member(guard, from) :
		&guard->buckets[hash(guard, from) % TSCT_RATELIMIT_BUCKETS];
	/* Time that went backwards fills nothing. */
	if (now_us > bucket->last_us) {
		bucket->level_us += now_us - bucket->last_us;
		if (bucket->level_us > limit->full_us ||
		    now_us - bucket->last_us > limit->full_us)
			bucket->level_us = limit->full_us;
	}
	bucket->last_us = now_us;
	if (bucket->level_us < limit->interval_us)
		return leaks(guard);
	bucket->level_us -= limit->interval_us;
	return true;
}
