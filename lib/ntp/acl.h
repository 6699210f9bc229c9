/* SPDX-License-Identifier: MIT */
/*
 * Access rules by prefix. The rules are few and change seldom, but packets are many: so
 * rules are compiled into ranges of addresses, each with the decision of the longest
 * matching prefix, and a look-up is a binary search.
 */
#ifndef TSCT_NTP_ACL_H
#define TSCT_NTP_ACL_H

#include "ratelimit.h"

struct tsct_acl_rule {
	tsct_u128 first, last;	/* first and last address, as numbers */
	unsigned int bits;	/* length of the rule's prefix, bits */
	bool allow;
};

/* Range of addresses with one decision: from `first` to the next range */
struct tsct_acl_range {
	tsct_u128 first;
	bool allow;
};

struct tsct_acl {
	unsigned int nr_rules, nr_ranges;
	struct tsct_acl_rule rules[TSCT_RULES_MAX];
	struct tsct_acl_range ranges[2 * TSCT_RULES_MAX + 1];
};

/* Empties the access rules: without rules, all addresses are denied. */
void tsct_acl_init(struct tsct_acl *acl);
/* Adds an access rule for a prefix, or replaces the rule for that prefix. Returns 0;
 * -EINVAL: not a prefix; -E2BIG: more than TSCT_RULES_MAX rules. */
int tsct_acl_add_rule(struct tsct_acl *acl, const char *prefix, bool allow);
bool tsct_acl_allows(const struct tsct_acl *acl, const __u8 ip[16]);

#endif /* TSCT_NTP_ACL_H */
