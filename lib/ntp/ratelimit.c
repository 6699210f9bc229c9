// SPDX-License-Identifier: MIT
/*
 * Configured children, and token buckets. The level of a bucket is a time in us: each
 * answer takes interval_us from the level, and the level rises as time passes.
 */
#include <stdlib.h>

#include "acl.h"

#define WAYS	8	/* buckets in a set; the address selects the set */

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
	struct tsct_address member;
	bool taken;
	struct token_bucket bucket;
};

struct allowed_child {
	struct tsct_address address;
	__u32 key_id;
	bool anywhere;		/* true: the child may use any address */
};

struct tsct_ratelimit {
	__u32 leak;
	struct rate_limit untrusted, trusted;
	__u64 seed, random;
	struct tsct_acl acl;
	unsigned int nr_children;
	/* nodes that the configuration file names as children of this node, sorted by
	 * address; children without an address first */
	struct allowed_child children[TSCT_CHILDREN_MAX];
	struct token_bucket buckets[TSCT_RATELIMIT_BUCKETS];
	struct member_bucket members[TSCT_RATELIMIT_MEMBERS];
};

struct tsct_ratelimit *tsct_ratelimit_new(const struct tsct_ratelimit_options *options,
				  __u64 seed)
{
	struct tsct_ratelimit *ratelimit = calloc(1, sizeof(*ratelimit));
	__u64 burst = options->burst ? options->burst : 1;
	__u64 member_burst = options->member_burst ?
		options->member_burst : MEMBER_BURST;
	__u64 member_us = options->member_interval_us ?
		options->member_interval_us : MEMBER_INTERVAL_US;
	unsigned int i;

	if (!ratelimit)
		return NULL;
	ratelimit->leak = options->leak;
	ratelimit->untrusted = (struct rate_limit) {
		options->interval_us, options->interval_us * burst
	};
	ratelimit->trusted = (struct rate_limit) {
		member_us, member_us * member_burst
	};
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

/* ---- configured children ------------------------------------------------ */

/* Orders children by address; children without an address come first. */
static int compare(const struct allowed_child *child,
		   const struct tsct_address *to)
{
	if (child->anywhere)
		return -1;
	return memcmp(child->address.ip, to->ip, sizeof(to->ip));
}

/* Returns the index of the first child whose address is not less than @to. */
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

/* True: @from is the child's address. A configured scope of 0 matches any scope. */
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

int tsct_ratelimit_key(const struct tsct_ratelimit *ratelimit,
		   const struct tsct_address *from, __u32 key_id)
{
	bool keys = false;
	unsigned int i;
	int ret = 0;

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
	/* No child with the address @from has a key configured. Reject the key @key_id
	 * if it is configured for children, and all of them have other addresses. */
	for (i = 0; i < ratelimit->nr_children && key_id; i++) {
		if (ratelimit->children[i].key_id != key_id)
			continue;
		if (ratelimit->children[i].anywhere)
			return 0;
		ret = -EKEYREJECTED;
	}
	return ret;
}

bool tsct_ratelimit_allows(const struct tsct_ratelimit *ratelimit,
		       const struct tsct_address *from)
{
	unsigned int i;

	if (tsct_acl_allows(&ratelimit->acl, from->ip))
		return true;
	for (i = find(ratelimit, from); i < ratelimit->nr_children &&
	     !compare(&ratelimit->children[i], from); i++)
		if (matches(&ratelimit->children[i], from))
			return true;
	return false;
}

/* ---- token buckets ------------------------------------------------------ */

/* Returns the token bucket of a member (a trusted client). The hash of the address
 * selects WAYS buckets. A new member gets one of these, filled up: an unused bucket, or
 * the bucket of the member whose last request is oldest. */
static struct token_bucket *member_bucket(struct tsct_ratelimit *ratelimit,
					  const struct tsct_address *from,
					  __u64 hash)
{
	__u64 set = hash % (TSCT_RATELIMIT_MEMBERS / WAYS);
	struct member_bucket *member = &ratelimit->members[set * WAYS];
	struct member_bucket *oldest = member, *end = member + WAYS;

	for (; member < end; member++) {
		if (member->taken && tsct_address_same(&member->member, from))
			return &member->bucket;
		if (!member->taken || (oldest->taken &&
		    member->bucket.last_us < oldest->bucket.last_us))
			oldest = member;
	}
	*oldest = (struct member_bucket) {
		.member = *from,
		.taken = true,
		.bucket.level_us = ratelimit->trusted.full_us,
	};
	return &oldest->bucket;
}

bool tsct_ratelimit_take(struct tsct_ratelimit *ratelimit,
			 const struct tsct_address *from,
		     bool trusted, __u64 now_us)
{
	const struct rate_limit *limit = trusted ? &ratelimit->trusted :
		&ratelimit->untrusted;
	__u64 hash = tsct_address_hash(from, ratelimit->seed);
	struct token_bucket *bucket;

	if (!ratelimit->untrusted.interval_us)
		return true;
	bucket = trusted ? member_bucket(ratelimit, from, hash) :
		&ratelimit->buckets[hash % TSCT_RATELIMIT_BUCKETS];
	/* If the time went backwards, the bucket is not refilled. */
	if (now_us > bucket->last_us) {
		bucket->level_us += now_us - bucket->last_us;
		if (bucket->level_us > limit->full_us ||
		    now_us - bucket->last_us > limit->full_us)
			bucket->level_us = limit->full_us;
	}
	bucket->last_us = now_us;
	if (bucket->level_us >= limit->interval_us) {
		bucket->level_us -= limit->interval_us;
		return true;
	}
	/* The limit is exceeded: answers one request in 2^leak, chosen
	 * unpredictably. */
	if (!ratelimit->leak || ratelimit->leak > 31)
		return false;
	ratelimit->random++;
	return !(tsct_hash64(ratelimit->random ^ ratelimit->seed) >>
		 (64 - ratelimit->leak));
}
