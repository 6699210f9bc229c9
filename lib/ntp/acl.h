/* SPDX-License-Identifier: MIT */
/*
 * Access rules by prefix. They are few and change seldom, packets are many: so
 * the rules are compiled into ranges of addresses, each with the decision of
 * the longest prefix there, and a look-up is a binary search.
 */
#ifndef TSCT_NTP_ACL_H
#define TSCT_NTP_ACL_H

#include "ratelimit.h"

struct tsct_acl_rule {
	tsct_u128 first, last;	/* addresses as numbers */
	unsigned int bits;	/* of its prefix */
	bool allow;
};

/* Up to the first address of the next range */
struct tsct_acl_range {
	tsct_u128 first;
	bool allow;
};

struct tsct_acl {
	unsigned int nr_rules, nr_ranges;
	struct tsct_acl_rule rules[TSCT_RULES_MAX];
	struct tsct_acl_range ranges[2 * TSCT_RULES_MAX + 1];
};

/* No rules: all addresses are denied. */
void tsct_acl_init(struct tsct_acl *acl);
/* As tsct_ratelimit_rule() */
int tsct_acl_add_rule(struct tsct_acl *acl, const char *prefix, bool allow);
/* By the longest prefix that matches @ip */
bool tsct_acl_allows(const struct tsct_acl *acl, const __u8 ip[16]);

/* An address as a number that sorts as the address does */
static inline tsct_u128 tsct_ip_number(const __u8 ip[16])
{
	__u64 high, low;

	memcpy(&high, ip, 8);
	memcpy(&low, ip + 8, 8);
	return (tsct_u128)__builtin_bswap64(high) << 64 | __builtin_bswap64(low);
}

#endif /* TSCT_NTP_ACL_H */
