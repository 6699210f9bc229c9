/* SPDX-License-Identifier: MIT */
/*
 * Access control and rate limit of the responder. Access rules are prefixes, of
 * which the longest match counts; an address that is not allowed gets no
 * answer. The rate limit is a token bucket per address, in tables of fixed
 * size. A few of the requests that exceed the limit, chosen at random, are answered, so that
 * an attacker who forges a client's address cannot cut that client off.
 *
 * Unknown clients whose addresses have the same hash share a bucket, and a new client
 * does not get a full bucket: an attacker with a million forged addresses gets no more
 * answers than the table has buckets. Clients that authenticate with a key, and
 * configured children, are members: these have a table of their own.
 *
 * Nothing is allocated after tsct_ratelimit_new(). A look-up of the rules is a
 * binary search. Not thread-safe.
 */
#ifndef TSCT_NTP_RATELIMIT_H
#define TSCT_NTP_RATELIMIT_H

#include "lib/base/hash.h"

/* An address and port: IPv6, or IPv4 as ::ffff:a.b.c.d */
struct tsct_address {
	__u8 ip[16];		/* address bytes, in network order */
	__u16 port;		/* port, in host order */
	__u32 scope;		/* scope of a link-local address: interface index */
};

#define TSCT_RULES_MAX		256
#define TSCT_RATELIMIT_BUCKETS	4096	/* token buckets of unknown clients */
#define TSCT_RATELIMIT_MEMBERS	2048	/* token buckets of members */
#define TSCT_CHILDREN_MAX	1024

struct tsct_ratelimit_options {
	__u32 interval_us;	/* time per token and address, us; 0: no limit */
	__u32 burst;		/* number of tokens in a full bucket; 0 selects 1 token */
	/* Time per token, us, and number of tokens for members, which poll fast
	 * in sessions. 0 selects 100 us, and 1000 tokens. If unknown clients
	 * have no limit, members have no limit, either. */
	__u32 member_interval_us;
	__u32 member_burst;
	__u32 leak;		/* one in 2^leak of the requests that exceed the limit
				 * is answered; if leak is 0 or above 31: none */
};

struct tsct_ratelimit;

/* Creates a rate limit without rules, or returns NULL if out of memory. @seed:
 * an unpredictable number */
struct tsct_ratelimit *tsct_ratelimit_new(const struct tsct_ratelimit_options *options,
				  __u64 seed);
void tsct_ratelimit_free(struct tsct_ratelimit *ratelimit);

/*
 * tsct_ratelimit_rule - add an access rule for a prefix: "10.0.0.0/8", "fd00::/8",
 * "192.0.2.1", "all"
 *
 * The rule replaces a rule for the same prefix. "all" is every address, 0.0.0.0/0
 * every IPv4 address. Returns 0, -EINVAL if @prefix is no prefix or has bits set
 * after its length (10.1.2.3/8 is ambiguous), or -E2BIG if there are TSCT_RULES_MAX rules.
 */
int tsct_ratelimit_rule(struct tsct_ratelimit *ratelimit, const char *prefix,
			bool allow);

/*
 * tsct_ratelimit_child - add a configured child, which is a trusted member and
 * needs no access rule
 * @address: address of the child; NULL: any address that the rules allow, with the
 *	child's key
 * @key_id: key that the child must use; 0: no key
 *
 * If all children with the same key have addresses, the key is rejected from
 * other addresses. Several children may share an address, with different keys.
 * Returns 0, or -E2BIG if there are too many children.
 */
int tsct_ratelimit_child(struct tsct_ratelimit *ratelimit,
		     const struct tsct_address *address, __u32 key_id);

/*
 * tsct_ratelimit_key - check whether an address may use a key (0: no key)
 * Returns 1 for a configured child, 0 if neither address nor key is configured, -ENOKEY if the
 * address must use a key, or -EKEYREJECTED if the address must use another key, or the key
 * belongs to other addresses.
 */
int tsct_ratelimit_key(const struct tsct_ratelimit *ratelimit,
		   const struct tsct_address *from, __u32 key_id);

bool tsct_ratelimit_allows(const struct tsct_ratelimit *ratelimit,
		       const struct tsct_address *from);
/* Takes a token of an address. Returns true if a request from the address is to be answered:
 * a token was left, or options.leak lets the request pass. @trusted: the sender is a member,
 * with a bucket of its own. @now_us: time by any clock that does not step, us */
bool tsct_ratelimit_take(struct tsct_ratelimit *ratelimit,
			 const struct tsct_address *from,
		     bool trusted, __u64 now_us);

#define TSCT_ADDRESS_TEXT	64	/* room for the text of any address, bytes */

/*
 * Parses the text of an address; the port is left unchanged. A scope after % must be a
 * number, as interface names need the system. Returns 0 or -EINVAL.
 */
int tsct_address_parse(const char *text, struct tsct_address *ret);

/* Prints an address without its port; the text is cut if longer than @size bytes. */
void tsct_address_print(const struct tsct_address *address, char *text,
			size_t size);

/* Returns true if two addresses are the same; ports are ignored. */
static inline bool tsct_address_same(const struct tsct_address *a,
				     const struct tsct_address *b)
{
	return a->scope == b->scope && !memcmp(a->ip, b->ip, sizeof(a->ip));
}

/* Hash of an address; the port is ignored. */
static inline __u64 tsct_address_hash(const struct tsct_address *address,
				      __u64 seed)
{
	__u64 half[2];

	memcpy(half, address->ip, sizeof(half));
	return tsct_hash64(tsct_hash64(tsct_hash64(seed ^ half[1]) ^ half[0]) ^
			   address->scope);
}

#endif /* TSCT_NTP_RATELIMIT_H */
