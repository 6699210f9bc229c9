// SPDX-License-Identifier: MIT
/*
 * Addresses as text, access rules by prefix, configured children, and token buckets. The
 * level of a bucket is a time in us: each answer takes interval_us from the level, and the
 * level rises as time passes.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "ntp_packet.h"
#include "ratelimit.h"

#define WAYS	8	/* buckets in a set; the address selects the set */

#define MEMBER_INTERVAL_US	100
#define MEMBER_BURST		1000

/*
 * Access rules by prefix. The rules are few and change seldom, but packets are many: so
 * rules are compiled into ranges of addresses, each with the decision of the longest
 * matching prefix, and a look-up is a binary search.
 */
struct acl_rule {
	tsct_u128 first, last;	/* first and last address, as numbers */
	unsigned int bits;	/* length of the rule's prefix, bits */
	bool allow;
};

/* Range of addresses with one decision: from `first` to the next range */
struct acl_range {
	tsct_u128 first;
	bool allow;
};

struct acl {
	unsigned int nr_rules, nr_ranges;
	struct acl_rule rules[TSCT_RULES_MAX];
	struct acl_range ranges[2 * TSCT_RULES_MAX + 1];
};

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
	struct acl acl;
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
	ratelimit->acl.nr_ranges = 1;	/* without rules, all addresses are denied */
	for (i = 0; i < TSCT_RATELIMIT_BUCKETS; i++)
		ratelimit->buckets[i].level_us = ratelimit->untrusted.full_us;
	return ratelimit;
}

void tsct_ratelimit_free(struct tsct_ratelimit *ratelimit)
{
	free(ratelimit);
}

/* ---- addresses as text --------------------------------------------------- */

/* The prefix ::ffff:0:0/96 of IPv6 addresses, to which IPv4 addresses are mapped */
static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

/* Parses an IP address; IPv4 is mapped to ::ffff:0:0/96. *ret_bits: 96, the length of that
 * prefix, for IPv4; 0 for IPv6. Returns 0 or -EINVAL. */
static int parse_ip(const char *text, __u8 ip[16], unsigned int *ret_bits)
{
	__u8 v4[4];

	if (inet_pton(AF_INET, text, v4) == 1) {
		memcpy(ip, mapped, sizeof(mapped));
		memcpy(ip + sizeof(mapped), v4, sizeof(v4));
		*ret_bits = 8 * sizeof(mapped);
		return 0;
	}
	*ret_bits = 0;
	return inet_pton(AF_INET6, text, ip) == 1 ? 0 : -EINVAL;
}

/* Splits a text at the character @at into an address and a suffix. *ret_tail: the suffix,
 * or NULL if there is none. Returns 0, or -EINVAL if the address is too long. */
static int split_suffix(const char *text, char at, char head[INET6_ADDRSTRLEN],
			const char **ret_tail)
{
	const char *mark = strchr(text, at);
	size_t len = mark ? (size_t)(mark - text) : strlen(text);

	if (len >= INET6_ADDRSTRLEN)
		return -EINVAL;
	memcpy(head, text, len);
	head[len] = '\0';
	*ret_tail = mark ? mark + 1 : NULL;
	return 0;
}

int tsct_address_parse(const char *text, struct tsct_address *ret)
{
	char head[INET6_ADDRSTRLEN];
	const char *scope;
	unsigned int bits;
	__u64 number = 0;
	__u8 ip[16];

	if (split_suffix(text, '%', head, &scope) || parse_ip(head, ip, &bits))
		return -EINVAL;
	/* A scope is accepted for IPv6 only, because IPv4 has no scopes. */
	if (scope && (bits || !tsct_digits_read_all(scope, ~0U, &number)))
		return -EINVAL;
	memcpy(ret->ip, ip, sizeof(ip));
	ret->scope = (__u32)number;
	return 0;
}

void tsct_address_print(const struct tsct_address *address, char *text,
			size_t size)
{
	const bool v4 = !memcmp(address->ip, mapped, sizeof(mapped));
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6,
		  address->ip + (v4 ? sizeof(mapped) : 0), ip, sizeof(ip));
	if (address->scope)
		snprintf(text, size, "%s%%%u", ip, address->scope);
	else
		snprintf(text, size, "%s", ip);
}

/* ---- access rules -------------------------------------------------------- */

/* Converts an address to a number; numbers and addresses have the same order. */
static tsct_u128 ip_number(const __u8 ip[16])
{
	return (tsct_u128)tsct_get_be(ip, 8) << 64 | tsct_get_be(ip + 8, 8);
}

/* Mask of the address bits after a prefix of @bits bits */
static tsct_u128 host_mask(unsigned int bits)
{
	return bits >= 128 ? 0 : ~(tsct_u128)0 >> bits;
}

static int parse_rule(const char *prefix, struct acl_rule *rule)
{
	char head[INET6_ADDRSTRLEN];
	const char *tail;
	unsigned int base;
	__u64 bits;
	__u8 ip[16];

	if (!strcmp(prefix, "all")) {
		*rule = (struct acl_rule) { .last = ~(tsct_u128)0 };
		return 0;
	}
	if (split_suffix(prefix, '/', head, &tail) || parse_ip(head, ip, &base))
		return -EINVAL;
	bits = 128 - base;
	if (tail && !tsct_digits_read_all(tail, 128 - base, &bits))
		return -EINVAL;
	rule->bits = base + (unsigned int)bits;
	rule->first = ip_number(ip);
	rule->last = rule->first | host_mask(rule->bits);
	return rule->first & host_mask(rule->bits) ? -EINVAL : 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct acl_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Returns the decision of the rule with the longest prefix that contains the address @at;
 * false if no rule contains it. */
static bool decide(const struct acl *acl, tsct_u128 at)
{
	const struct acl_rule *rule, *best = NULL;
	unsigned int i;

	for (i = 0; i < acl->nr_rules; i++) {
		rule = &acl->rules[i];
		if (at >= rule->first && at <= rule->last &&
		    (!best || rule->bits > best->bits))
			best = rule;
	}
	return best && best->allow;
}

/* Compiles the rules into ranges: the decision changes only where a rule begins, or
 * after a rule's end. */
static void make_ranges(struct acl *acl)
{
	struct acl_range *range = acl->ranges;
	unsigned int i, n = 1;

	range[0].first = 0;
	for (i = 0; i < acl->nr_rules; i++) {
		range[n++].first = acl->rules[i].first;
		if (acl->rules[i].last != ~(tsct_u128)0)
			range[n++].first = acl->rules[i].last + 1;
	}
	qsort(range, n, sizeof(*range), compare_ranges);
	acl->nr_ranges = 0;
	for (i = 0; i < n; i++) {
		range[acl->nr_ranges].first = range[i].first;
		range[acl->nr_ranges].allow = decide(acl, range[i].first);
		if (!i || range[acl->nr_ranges].allow !=
		    range[acl->nr_ranges - 1].allow)
			acl->nr_ranges++;
	}
}

int tsct_ratelimit_rule(struct tsct_ratelimit *ratelimit, const char *prefix,
			bool allow)
{
	struct acl *acl = &ratelimit->acl;
	struct acl_rule rule;
	unsigned int i;

	if (parse_rule(prefix, &rule))
		return -EINVAL;
	rule.allow = allow;
	for (i = 0; i < acl->nr_rules; i++)
		if (acl->rules[i].first == rule.first &&
		    acl->rules[i].bits == rule.bits)
			break;
	if (i == TSCT_RULES_MAX)
		return -E2BIG;
	acl->rules[i] = rule;
	if (i == acl->nr_rules)
		acl->nr_rules++;
	make_ranges(acl);
	return 0;
}

static bool acl_allows(const struct acl *acl, const __u8 ip[16])
{
	unsigned int low = 0, high = acl->nr_ranges, middle;
	tsct_u128 at = ip_number(ip);

	while (high - low > 1) {
		middle = (low + high) / 2;
		if (acl->ranges[middle].first <= at)
			low = middle;
		else
			high = middle;
	}
	return acl->ranges[low].allow;
}

/* ---- configured children ------------------------------------------------ */

/* Orders children by address; children without an address come first. */
static int compare_child(const struct allowed_child *child,
			 const struct tsct_address *to)
{
	if (child->anywhere)
		return -1;
	return memcmp(child->address.ip, to->ip, sizeof(to->ip));
}

/* Returns the index of the first child whose address is not less than @to. */
static unsigned int find_child(const struct tsct_ratelimit *ratelimit,
			       const struct tsct_address *to)
{
	unsigned int low = 0, high = ratelimit->nr_children, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (compare_child(&ratelimit->children[middle], to) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns true if @from is the child's address. A configured scope of 0 matches any
 * scope. */
static bool child_matches(const struct allowed_child *child,
			  const struct tsct_address *from)
{
	return !compare_child(child, from) &&
		(!child->address.scope || child->address.scope == from->scope);
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
	at = address ? find_child(ratelimit, address) : 0;
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

	for (i = find_child(ratelimit, from); i < ratelimit->nr_children &&
	     !compare_child(&ratelimit->children[i], from); i++) {
		if (!child_matches(&ratelimit->children[i], from))
			continue;
		if (ratelimit->children[i].key_id == key_id)
			return 1;
		keys |= ratelimit->children[i].key_id;
	}
	if (keys)
		return key_id ? -EKEYREJECTED : -ENOKEY;
	/* No child with the address @from has a key. Rejects the key @key_id if
	 * children have this key, and all of these children have other addresses. */
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

	if (acl_allows(&ratelimit->acl, from->ip))
		return true;
	for (i = find_child(ratelimit, from); i < ratelimit->nr_children &&
	     !compare_child(&ratelimit->children[i], from); i++)
		if (child_matches(&ratelimit->children[i], from))
			return true;
	return false;
}

/* ---- token buckets ------------------------------------------------------ */

/* Returns the token bucket of a member (a trusted client), one of WAYS buckets that the
 * hash of the address selects. A new member gets an unused bucket, or the bucket of the
 * member whose last request is oldest, and the bucket is filled up. */
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
	/* The limit is exceeded: one request in 2^leak, chosen unpredictably, is
	 * answered. */
	if (!ratelimit->leak || ratelimit->leak > 31)
		return false;
	ratelimit->random++;
	return !(tsct_hash64(ratelimit->random ^ ratelimit->seed) >>
		 (64 - ratelimit->leak));
}
