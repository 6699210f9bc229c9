// SPDX-License-Identifier: MIT
/* Access rules by prefix, and addresses as text */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl.h"
#include "ntp_packet.h"

/* The prefix ::ffff:0:0/96 of IPv6 addresses, to which IPv4 addresses are mapped */
static const __u8 mapped[12] = { [10] = 0xff, [11] = 0xff };

/* Parses an IP address; IPv4 is mapped to ::ffff:0:0/96. *ret_bits: length of that
 * prefix, 96; 0 for IPv6 */
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

/* Parses a number of digits only; strtoul() alone accepts blanks and signs. */
static int parse_number(const char *text, unsigned long max, __u32 *ret)
{
	unsigned long value;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*end || errno || value > max)
		return -EINVAL;
	*ret = (__u32)value;
	return 0;
}

/* Splits an address from a suffix that begins after the character @at; no such
 * character: the suffix is NULL. -EINVAL: too long for an address */
static int split(const char *text, char at, char head[INET6_ADDRSTRLEN],
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
	__u32 number = 0;
	__u8 ip[16];

	if (split(text, '%', head, &scope) || parse_ip(head, ip, &bits))
		return -EINVAL;
	/* A scope is accepted for IPv6 only, because IPv4 has no scopes. */
	if (scope && (bits || parse_number(scope, ~0U, &number)))
		return -EINVAL;
	memcpy(ret->ip, ip, sizeof(ip));
	ret->scope = number;
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

static int parse_rule(const char *prefix, struct tsct_acl_rule *rule)
{
	char head[INET6_ADDRSTRLEN];
	const char *tail;
	unsigned int base;
	__u32 bits;
	__u8 ip[16];

	if (!strcmp(prefix, "all")) {
		*rule = (struct tsct_acl_rule) { .last = ~(tsct_u128)0 };
		return 0;
	}
	if (split(prefix, '/', head, &tail) || parse_ip(head, ip, &base))
		return -EINVAL;
	bits = 128 - base;
	if (tail && parse_number(tail, 128 - base, &bits))
		return -EINVAL;
	rule->bits = base + bits;
	rule->first = ip_number(ip);
	rule->last = rule->first | host_mask(rule->bits);
	return rule->first & host_mask(rule->bits) ? -EINVAL : 0;
}

void tsct_acl_init(struct tsct_acl *acl)
{
	acl->nr_rules = 0;
	acl->nr_ranges = 1;
	acl->ranges[0] = (struct tsct_acl_range) { .first = 0 };
}

static int compare(const void *a, const void *b)
{
	const struct tsct_acl_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Returns the decision of the rule with the longest prefix that contains an address. */
static bool decide(const struct tsct_acl *acl, tsct_u128 at)
{
	const struct tsct_acl_rule *rule, *best = NULL;
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
static void make_ranges(struct tsct_acl *acl)
{
	struct tsct_acl_range *range = acl->ranges;
	unsigned int i, n = 1;

	range[0].first = 0;
	for (i = 0; i < acl->nr_rules; i++) {
		range[n++].first = acl->rules[i].first;
		if (acl->rules[i].last != ~(tsct_u128)0)
			range[n++].first = acl->rules[i].last + 1;
	}
	qsort(range, n, sizeof(*range), compare);
	acl->nr_ranges = 0;
	for (i = 0; i < n; i++) {
		range[acl->nr_ranges].first = range[i].first;
		range[acl->nr_ranges].allow = decide(acl, range[i].first);
		if (!i || range[acl->nr_ranges].allow !=
		    range[acl->nr_ranges - 1].allow)
			acl->nr_ranges++;
	}
}

int tsct_acl_add_rule(struct tsct_acl *acl, const char *prefix, bool allow)
{
	struct tsct_acl_rule rule;
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

bool tsct_acl_allows(const struct tsct_acl *acl, const __u8 ip[16])
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
