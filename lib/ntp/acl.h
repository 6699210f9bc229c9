/* SPDX-License-Identifier: MIT */
/*
 * Prefix rules. They are few and change seldom, packets are many: so the rules
 * are made into ranges of addresses, each with the verdict of the longest prefix
 * there, and a look is a binary search.
 */
#ifndef TSCT_SYNC_ACCESS_H
#define TSCT_SYNC_ACCESS_H

#include "ratelimit.h"

struct tsct_acl_rule {
	tsct_u128 first, last;	/* addresses as numbers */
	unsigned int bits;	/* of its prefix */
	bool allow;
};

/* From here up to where the next begins */
struct tsct_range {
	tsct_u128 first;
	bool allow;
};

struct tsct_acl {
	unsigned int nr_rules, nr_ranges;
	struct tsct_acl_rule rules[TSCT_RULES_MAX];
	struct tsct_range ranges[2 * TSCT_RULES_MAX + 1];
};

void tsct_acl_init(struct tsct_acl *access);	/* nobody */
int tsct_acl_add_rule(struct tsct_acl *access, const char *prefix, bool allow);
bool tsct_acl_allows(const struct tsct_acl *access, const __u8 ip[16]);

static inline tsct_u128 tsct_ip_number(const __u8 ip[16])
{
	__u64 high, low;

	memcpy(&high, ip, 8);
	memcpy(&low, ip + 8, 8);
	return (tsct_u128)__builtin_bswap64(high) << 64 | __builtin_bswap64(low);
}

#endif /* TSCT_SYNC_ACCESS_H */
