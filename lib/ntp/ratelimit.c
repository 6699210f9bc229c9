// SPDX-License-Identifier: MIT
/*
 * Access rules, configured children, and token buckets. A bucket holds time in
 * us: each answer costs interval_us of it, and it fills with the time that
 * passes.
 */
#include <stdlib.h>

#include "acl.h"
#include "lib/core/remap.h"

#define WAYS	8	/* entries in which a member's bucket may be */

#define MEMBER_INTERVAL_US	100
#define MEMBER_BURST		1000

struct rate_limit {
	__u64 interval_us, full_us;
};

struct token_bucket {
	__u64 last_us;
	__u64 level_us;
};

struct member_bucket {
	struct tsct_address of;
	bool taken;
	struct token_bucket bucket;
};

struct allowed_child {
	struct tsct_address address;
	__u32 key_id;
	bool anywhere;		/* without an address */
};

struct tsct_ratelimit {
	__u32 leak;
	struct rate_limit untrusted, trusted;
	__u64 seed, random;
	struct tsct_acl acl;
	unsigned int nr_children;
	struct allowed_child children[TSCT_CHILDREN_MAX];	/* sorted by
							 * compare() */
	struct token_bucket buckets[TSCT_RATELIMIT_BUCKETS];
	struct member_bucket members[TSCT_RATELIMIT_MEMBERS];
};

static struct rate_limit limit_of(__u32 interval_us, __u32 burst, __u32 otherwise)
{
	return (struct rate_limit) {
		.interval_us = interval_us,
		.full_us = (__u64)interval_us * (burst ? burst : otherwise),
	};
}

struct tsct_ratelimit *tsct_ratelimit_new(const struct tsct_ratelimit_options *options,
				  __u64 seed)
{
	struct tsct_ratelimit *ratelimit = calloc(1, sizeof(*ratelimit));
	unsigned int i;

	if (!ratelimit)
		return NULL;
	ratelimit->leak = options->leak;
	ratelimit->untrusted = limit_of(options->interval_us, options->burst, 1);
	ratelimit->trusted = limit_of(options->member_interval_us ?
				  options->member_interval_us :
				  MEMBER_INTERVAL_US,
				  options->member_burst, MEMBER_BURST);
	ratelimit->seed = tsct_hash64(seed);
	ratelimit->random = tsct_hash64(~seed);
	tsct_acl_init(&ratelimit->acl);
	for (i = 0; i < TSCT_RATELIMIT_BUCKETS; i++)
		ratelimit->buckets[i].level_us = ratelimit->untrusted.full_us;
	return ratelimit;
}

void tsct_ratelimit_free(struct tsct_ratelimit *ratelimit)
{
	free(ratelimit);
}

int tsct_ratelimit_rule(struct tsct_ratelimit *ratelimit, const char *prefix,
			bool allow)
{
	return tsct_acl_add_rule(&ratelimit->acl, prefix, allow);
}

/* ---- children ------------------------------------------------------------ */

/* Order by address. A configured scope of 0 matches any. */
static int compare(const struct allowed_child *child,
		   const struct tsct_address *to)
{
	if (child->anywhere)
		return -1;
	return memcmp(child->address.ip, to->ip, sizeof(to->ip));
}

/* Index of the first that is not less than @to */
static unsigned int find(const struct tsct_ratelimit *ratelimit,
			 const struct tsct_address *to)
{
	unsigned int low = 0, high = ratelimit->nr_children, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (compare(&ratelimit->children[middle], to) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool matches(const struct allowed_child *child,
		    const struct tsct_address *from)
{
	return !compare(child, from) && (!child->address.scope ||
					 child->address.scope == from->scope);
}

int tsct_ratelimit_child(struct tsct_ratelimit *ratelimit,
		     const struct tsct_address *address, __u32 key_id)
{
	struct allowed_child child = { .key_id = key_id, .anywhere = !address };
	unsigned int at;

	if (ratelimit->nr_children == TSCT_CHILDREN_MAX)
		return -E2BIG;
	if (address)
		child.address = *address;
	at = address ? find(ratelimit, address) : 0;
	memmove(&ratelimit->children[at + 1], &ratelimit->children[at],
		(ratelimit->nr_children - at) * sizeof(child));
	ratelimit->children[at] = child;
	ratelimit->nr_children++;
	return 0;
}

/* True: the key belongs to children with addresses only. Called after the MAC
 * was verified. */
static bool is_bound(const struct tsct_ratelimit *ratelimit, __u32 key_id)
{
	bool ret = false;
	unsigned int i;

	for (i = 0; i < ratelimit->nr_children; i++) {
		if (ratelimit->children[i].key_id != key_id)
			continue;
		if (ratelimit->children[i].anywhere)
			return false;
		ret = true;
	}
	return ret;
}

int tsct_ratelimit_key(const struct tsct_ratelimit *ratelimit,
		   const struct tsct_address *from, __u32 key_id)
{
	bool keys = false;
	unsigned int i;

	for (i = find(ratelimit, from); i < ratelimit->nr_children &&
	     !compare(&ratelimit->children[i], from); i++) {
		if (!matches(&ratelimit->children[i], from))
			continue;
		if (ratelimit->children[i].key_id == key_id)
			return 1;
		keys |= ratelimit->children[i].key_id;
	}
	if (keys)
		return key_id ? -EKEYREJECTED : -ENOKEY;
	return key_id && is_bound(ratelimit, key_id) ? -EKEYREJECTED : 0;
}

static bool is_child(const struct tsct_ratelimit *ratelimit,
		     const struct tsct_address *from)
{
	unsigned int i;

	for (i = find(ratelimit, from); i < ratelimit->nr_children &&
	     !compare(&ratelimit->children[i], from); i++)
		if (matches(&ratelimit->children[i], from))
			return true;
	return false;
}

bool tsct_ratelimit_allows(const struct tsct_ratelimit *ratelimit,
		       const struct tsct_address *from)
{
	return tsct_acl_allows(&ratelimit->acl, from->ip) ||
		(ratelimit->nr_children && is_child(ratelimit, from));
}

/* ---- buckets ------------------------------------------------------------- */

static __u64 hash(const struct tsct_ratelimit *ratelimit,
		  const struct tsct_address *address)
{
	__u64 high, low;

	memcpy(&high, address->ip, 8);
	memcpy(&low, address->ip + 8, 8);
	return tsct_hash64(tsct_hash64(tsct_hash64(ratelimit->seed ^ low) ^ high) ^
			address->scope);
}

/* The member's bucket, or that of the one in its set that has been silent
 * longest */
static struct token_bucket *of_member(struct tsct_ratelimit *ratelimit,
				const struct tsct_address *from)
{
	unsigned int set = (unsigned int)(hash(ratelimit, from) %
		(TSCT_RATELIMIT_MEMBERS / WAYS));
	struct member_bucket *member = &ratelimit->members[set * WAYS];
	struct member_bucket *oldest = member, *end = member + WAYS;

	for (; member < end; member++) {
		if (member->taken && tsct_address_same(&member->of, from))
			return &member->bucket;
		if (!member->taken || (oldest->taken &&
		    member->bucket.last_us < oldest->bucket.last_us))
			oldest = member;
	}
	*oldest = (struct member_bucket) {
		.of = *from,
		.taken = true,
		.bucket.level_us = ratelimit->trusted.full_us,
	};
	return &oldest->bucket;
}

/* Unpredictable: one in 2^leak of what exceeds the limit is answered. */
static bool leaks(struct tsct_ratelimit *ratelimit)
{
	__u32 leak = ratelimit->leak;

	if (!leak || leak > 31)
		return false;
	ratelimit->random++;
	return !(tsct_hash64(ratelimit->random ^ ratelimit->seed) >> (64 - leak));
}

bool tsct_ratelimit_take(struct tsct_ratelimit *ratelimit,
			 const struct tsct_address *from,
		     bool trusted, __u64 now_us)
{
	const struct rate_limit *limit = trusted ? &ratelimit->trusted :
		&ratelimit->untrusted;
	struct token_bucket *bucket;

	if (!ratelimit->untrusted.interval_us)
		return true;
	bucket = trusted ? of_member(ratelimit, from) :
		&ratelimit->buckets[hash(ratelimit, from) %
				    TSCT_RATELIMIT_BUCKETS];
	/* If the time went backwards, the bucket is not refilled. */
	if (now_us > bucket->last_us) {
		bucket->level_us += now_us - bucket->last_us;
		if (bucket->level_us > limit->full_us ||
		    now_us - bucket->last_us > limit->full_us)
			bucket->level_us = limit->full_us;
	}
	bucket->last_us = now_us;
	if (bucket->level_us < limit->interval_us)
		return leaks(ratelimit);
	bucket->level_us -= limit->interval_us;
	return true;
}
