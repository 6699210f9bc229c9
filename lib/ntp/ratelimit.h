/* SPDX-License-Identifier: MIT */
/*
 * Whom to answer, and how often. Rules are prefixes, the longest that matches
 * counts; nobody who is not allowed is answered. A token bucket per address, in a
 * table of a fixed size; who has used his up gets an answer now and then at
 * random, so that somebody who fakes his address cannot silence him.
 *
 * Strangers whose addresses collide in the table share a bucket, and none ever
 * gets a fresh one for being new: who fakes a million addresses gets no more
 * answers than the table has buckets. Members have a table of their own.
 *
 * Nothing is allocated after tsct_ratelimit_new(); a look at the rules is a binary
 * search, a bucket one place in memory.
 */
#ifndef TSCT_SYNC_GUARD_H
#define TSCT_SYNC_GUARD_H

#include "lib/core/port.h"

/* IPv6, or IPv4 as ::ffff:a.b.c.d; network order */
struct tsct_address {
	__u8 ip[16];
	__u16 port;		/* host order */
	__u32 scope;		/* of link-local ones: interface */
};

#define TSCT_RULES_MAX		256
#define TSCT_RATELIMIT_BUCKETS	4096	/* of strangers */
#define TSCT_RATELIMIT_MEMBERS	2048	/* buckets of trusted ones */
#define TSCT_CHILDREN_MAX	1024

struct tsct_ratelimit_options {
	__u32 interval_us;	/* a token every so often, per address; 0: no limit */
	__u32 burst;		/* tokens at most; 0: 1 */
	__u32 member_interval_us;	/* the same of members, who ask as fast */
	__u32 member_burst;	/* as it goes in a session: 0: 100 us, 1000 tokens.
				 * Where strangers have no limit, nor do they. */
	__u32 leak;		/* one in 2^leak of what is too much is answered;
				 * 0, or more than 31: none */
};

struct tsct_ratelimit;

/* NULL: no memory. @seed: nobody can guess it. */
struct tsct_ratelimit *tsct_ratelimit_new(const struct tsct_ratelimit_options *options,
				  __u64 seed);
void tsct_ratelimit_free(struct tsct_ratelimit *guard);	/* NULL is fine */

/*
 * tsct_ratelimit_rule - "10.0.0.0/8", "fd00::/8", "192.0.2.1", "all"
 *
 * A rule for the same prefix takes the place of the one before. "all" is every
 * address, 0.0.0.0/0 every one of IPv4. 0; -EINVAL: not a prefix, or bits are set
 * behind its length (10.1.2.3/8: which of the two was meant?); -E2BIG: more than
 * TSCT_RULES_MAX.
 */
int tsct_ratelimit_rule(struct tsct_ratelimit *guard, const char *prefix, bool allow);

/*
 * tsct_ratelimit_child - a configured child: allowed whatever rules say, trusted
 * @address: NULL: it may come from anywhere that is allowed, with its key
 * @key_id: it has to use; 0: none
 *
 * A key of children with addresses is refused from any other address. Several
 * children may share an address: with any of their keys. -E2BIG: too many.
 */
int tsct_ratelimit_child(struct tsct_ratelimit *guard,
		     const struct tsct_address *address, __u32 key_id);

/*
 * tsct_ratelimit_key - may a request from there use that key (0: none)?
 * Returns 1: it is a configured child; 0: nothing is configured about either;
 * -ENOKEY: that address has to use a key; -EKEYREJECTED: another key, or this key
 * is somebody else's.
 */
int tsct_ratelimit_key(const struct tsct_ratelimit *guard,
		   const struct tsct_address *from, __u32 key_id);

bool tsct_ratelimit_allows(const struct tsct_ratelimit *guard,
		       const struct tsct_address *from);
/* Takes a token; false: too often. Known members are asked with @trusted: their
 * bucket is larger, their own, and never given to a stranger. */
bool tsct_ratelimit_take(struct tsct_ratelimit *guard, const struct tsct_address *from,
		     bool trusted, __u64 now_us);

/* Text to address and back; port stays. Interfaces behind % by number only (names
 * need the system). 0 or -EINVAL. @size: TSCT_ADDRESS_TEXT is enough */
#define TSCT_ADDRESS_TEXT	64
int tsct_address_parse(const char *text, struct tsct_address *ret);
void tsct_address_print(const struct tsct_address *address, char *text,
			size_t size);

/* Same host: ports aside */
static inline bool tsct_address_same(const struct tsct_address *a,
				     const struct tsct_address *b)
{
	return a->scope == b->scope && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

#endif /* TSCT_SYNC_GUARD_H */
