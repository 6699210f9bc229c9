// SPDX-License-Identifier: MIT
/* Directives that name other nodes: sources, children, access rules. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

/* Default poll intervals, 2^n s: nodes of a cluster are near, NTP servers
 * busy. */
#define MASTER_MINPOLL	0
#define MASTER_MAXPOLL	4
#define NTP_MINPOLL	6
#define NTP_MAXPOLL	10

#define KEY_MAX		0xffffffffLL

/* ---- sources ------------------------------------------------------------- */

static bool take_poll(struct config_reader *r, const char *word, int *ret)
{
	__s64 value;

	if (!config_number(r, word, CONFIG_POLL_MIN, CONFIG_POLL_MAX, &value))
		return false;
	*ret = (int)value;
	return true;
}

static bool take_key(struct config_reader *r, __u32 *ret)
{
	__s64 value;

	if (!config_number(r, "key", 1, KEY_MAX, &value))
		return false;
	*ret = (__u32)value;
	return true;
}

static bool source_option(struct config_reader *r, struct config_source *s,
			  const char *word)
{
	if (!strcmp(word, "key"))
		return take_key(r, &s->key);
	if (!strcmp(word, "port"))
		return config_port(r, &s->address.port);
	if (!strcmp(word, "minpoll"))
		return take_poll(r, word, &s->minpoll);
	if (!strcmp(word, "maxpoll"))
		return take_poll(r, word, &s->maxpoll);
	if (!strcmp(word, "asymmetry"))
		return config_number(r, word, -1000000000, 1000000000,
				   &s->asymmetry_ns);
	if (!strcmp(word, "xleave") && s->ntp_only) {
		s->xleave = true;
		return true;
	}
	config_error(r, r->line, "%s: '%s': unknown option; use key, port, "
		      "minpoll, maxpoll, asymmetry%s", r->word[0], word,
		      s->ntp_only ? ", xleave" : "");
	return false;
}

static bool same_place(const struct tsct_address *a,
		       const struct tsct_address *b)
{
	return !memcmp(a->ip, b->ip, sizeof(a->ip)) && a->port == b->port &&
		a->scope == b->scope;
}

static bool check_source(struct config_reader *r, const struct config_source *s)
{
	unsigned int i;

	if (s->minpoll > s->maxpoll) {
		config_error(r, r->line, "%s %s: minpoll %d is above maxpoll "
			      "%d; give a lower minpoll or a higher maxpoll",
			      r->word[0], s->name, s->minpoll, s->maxpoll);
		return false;
	}
	for (i = 0; i < r->config->nr_sources; i++)
		if (same_place(&r->config->source[i].address, &s->address)) {
			config_error(r, r->line, "%s %s: already in line %u; "
				      "remove one", r->word[0], s->name,
				      r->config->source[i].line);
			return false;
		}
	return true;
}

static void add_source(struct config_reader *r, bool ntp_only)
{
	struct config_source s = {
		.ntp_only = ntp_only,
		.minpoll = ntp_only ? NTP_MINPOLL : MASTER_MINPOLL,
		.maxpoll = ntp_only ? NTP_MAXPOLL : MASTER_MAXPOLL,
		.line = r->line,
	};
	bool has_max = false, has_min = false;
	const char *word;

	if (!config_address(r, r->word[0], &s.address, s.name, sizeof(s.name)))
		return;
	s.address.port = TSCT_NTP_PORT;
	while ((word = config_word(r))) {
		if (!source_option(r, &s, word))
			return;
		has_min |= !strcmp(word, "minpoll");
		has_max |= !strcmp(word, "maxpoll");
	}
	/* One that is given moves the other one's default if they conflict. */
	if (has_min && !has_max && s.maxpoll < s.minpoll)
		s.maxpoll = s.minpoll;
	if (has_max && !has_min && s.minpoll > s.maxpoll)
		s.minpoll = s.maxpoll;
	if (!check_source(r, &s))
		return;
	if (r->config->nr_sources == TSCT_SOURCES_MAX) {
		config_error(r, r->line, "%s: more than %d sources; remove "
			      "some", r->word[0], TSCT_SOURCES_MAX);
		return;
	}
	r->config->source[r->config->nr_sources++] = s;
}

void config_take_master(struct config_reader *r)
{
	add_source(r, false);
}

void config_take_ntp(struct config_reader *r)
{
	add_source(r, true);
}

/* ---- children and access rules ------------------------------------------- */

static bool child_option(struct config_reader *r, struct config_child *c,
			 const char *word)
{
	if (!strcmp(word, "key"))
		return take_key(r, &c->key);
	if (!c->has_address && !tsct_address_parse(word, &c->address)) {
		c->has_address = true;
		return true;
	}
	config_error(r, r->line, "child %s: '%s': give an IPv4 or IPv6 "
		      "address, or 'key NUMBER'", c->name, word);
	return false;
}

/* Children are identified by address or key: two with the same would be one. */
static bool check_child(struct config_reader *r, const struct config_child *c)
{
	const struct config_child *o;
	unsigned int i;

	if (!c->has_address && !c->key) {
		config_error(r, r->line, "child %s: neither address nor key; "
			      "give its address, or a key of its own",
			      c->name);
		return false;
	}
	for (i = 0; i < r->config->nr_children; i++) {
		o = &r->config->child[i];
		if (strcmp(o->name, c->name) &&
		    !(o->has_address && c->has_address &&
		      !memcmp(o->address.ip, c->address.ip, 16) &&
		      o->key == c->key) &&
		    !(!o->has_address && !c->has_address && o->key == c->key))
			continue;
		config_error(r, r->line, "child %s: same name, or same address "
			      "and key, as in line %u; change one",
			      c->name, o->line);
		return false;
	}
	return true;
}

void config_take_child(struct config_reader *r)
{
	struct config *config = r->config;
	struct config_child c = { .line = r->line }, *grown;
	const char *word;

	if (!config_text(r, "child", "give a name", c.name, sizeof(c.name)))
		return;
	while ((word = config_word(r)))
		if (!child_option(r, &c, word))
			return;
	if (!check_child(r, &c))
		return;
	if (config->nr_children == CONFIG_CHILDREN_MAX) {
		config_error(r, r->line, "child: more than %d; make some of "
			      "them masters of others", CONFIG_CHILDREN_MAX);
		return;
	}
	grown = reallocarray(config->child, config->nr_children + 1, sizeof(c));
	if (!grown) {
		config_error(r, r->line, "child: out of memory");
		return;
	}
	config->child = grown;
	config->child[config->nr_children++] = c;
}

#define PREFIXES \
	"give an address, a prefix such as 10.0.0.0/8 or fd00::/8, or all"

static void add_rule(struct config_reader *r, bool allow)
{
	static const struct tsct_ratelimit_options no_limit;
	struct config_rule rule = { .allow = allow };
	struct tsct_ratelimit *check;
	int err;

	if (!config_text(r, r->word[0], PREFIXES, rule.prefix,
		       sizeof(rule.prefix)))
		return;
	check = tsct_ratelimit_new(&no_limit, 0);
	err = check ? tsct_ratelimit_rule(check, rule.prefix, allow) : -ENOMEM;
	tsct_ratelimit_free(check);
	if (err)
		config_error(r, r->line, "%s: '%s': " PREFIXES, r->word[0],
			      rule.prefix);
	else if (r->config->nr_rules == TSCT_RULES_MAX)
		config_error(r, r->line, "%s: more than %d rules; combine some",
			     r->word[0], TSCT_RULES_MAX);
	else
		r->config->rule[r->config->nr_rules++] = rule;
}

void config_take_allow(struct config_reader *r)
{
	add_rule(r, true);
}

void config_take_deny(struct config_reader *r)
{
	add_rule(r, false);
}
