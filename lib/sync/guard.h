/* SPDX-License-Identifier: MIT */
/*
 * Whom to answer, and how often. Rules are prefixes, the longest that matches
 * counts; nobody who is not allowed is answered. A token bucket per address, in a
 * table of a fixed size; who has used his up gets an answer now and then at
 * random, so that somebody who fakes his address cannot silence him.
 */
#ifndef TSCT_SYNC_GUARD_H
#define TSCT_SYNC_GUARD_H

#include "core/port.h"

/* IPv6, or IPv4 as ::ffff:a.b.c.d; network order */
struct tsct_address {
	__u8 ip[16];
	__u16 port;		/* host order */
	__u32 scope;		/* of link-local ones: interface */
};

#define TSCT_RULES_MAX		256
#define TSCT_GUARD_BUCKETS	4096

struct tsct_guard_options {
	__u32 interval_us;	/* a token every so often, per address; 0: no limit */
	__u32 burst;		/* tokens at most */
	__u32 leak;		/* one in 2^leak of what is too much is answered */
};

struct tsct_guard;

struct tsct_guard *tsct_guard_new(const struct tsct_guard_options *options,
				  __u64 seed);
void tsct_guard_free(struct tsct_guard *guard);

/* "10.0.0.0/8", "fd00::/8", "192.0.2.1", "all". 0, -EINVAL, -E2BIG */
int tsct_guard_rule(struct tsct_guard *guard, const char *prefix, bool allow);

bool tsct_guard_allows(const struct tsct_guard *guard,
		       const struct tsct_address *from);
/* Takes a token; false: too often. Known members are asked with @trusted: their
 * bucket is their own and never given to a stranger. */
bool tsct_guard_take(struct tsct_guard *guard, const struct tsct_address *from,
		     bool trusted, __u64 now_us);

/* Text to address and back; port stays. 0 or -EINVAL */
int tsct_address_parse(const char *text, struct tsct_address *ret);
void tsct_address_print(const struct tsct_address *address, char *text,
			size_t size);

#endif /* TSCT_SYNC_GUARD_H */
