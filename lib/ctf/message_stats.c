// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "tsdl_parser.h"

void tsct_message_stats_free(struct tsct_message_stats *m)
{
	free(m->pairs);
	memset(m, 0, sizeof(*m));
}

/* ---- writing ------------------------------------------------------------------- */

static void put_sums(FILE *to, const struct tsct_message_pair_stats *p)
{
	fprintf(to, " matched=%" PRIu64 " before=%" PRIu64 " within=%" PRIu64
		" beyond=%" PRIu64 " least_own_ns=%" PRId64 " least_ns=%" PRId64
		"\";\n", (uint64_t)p->matched, (uint64_t)p->before,
		(uint64_t)p->within, (uint64_t)p->beyond,
		(int64_t)p->least_own_ns, (int64_t)p->least_ns);
}

void tsct_meta_put_messages(FILE *to, const struct tsct_message_stats *m)
{
	__u32 i;

	if (!m->on)
		return;
	fprintf(to, "\tmessages = \"sends=%" PRIu64 " receives=%" PRIu64
		" unmatched_sends=%" PRIu64 " unmatched_receives=%" PRIu64
		" given_up=%" PRIu64 " other_pairs=%" PRIu64 " pairs=%u",
		(uint64_t)m->sends, (uint64_t)m->receives,
		(uint64_t)m->unmatched_sends, (uint64_t)m->unmatched_receives,
		(uint64_t)m->given_up, (uint64_t)m->other_pairs, m->nr_pairs);
	put_sums(to, &m->all);
	for (i = 0; i < m->nr_pairs; i++) {
		fprintf(to, "\tmessages_%u = \"from=%u to=%u", i,
			m->pairs[i].from, m->pairs[i].to);
		put_sums(to, &m->pairs[i]);
	}
}

/* ---- reading ------------------------------------------------------------------- */

static bool get_sums(const char *at, struct tsct_message_pair_stats *p)
{
	return tsct_tsdl_parse_item(&at, "matched", UINT64_MAX, &p->matched) &&
		tsct_tsdl_parse_item(&at, "before", p->matched, &p->before) &&
		tsct_tsdl_parse_item(&at, "within", p->matched, &p->within) &&
		tsct_tsdl_parse_item(&at, "beyond", p->matched - p->within,
			       &p->beyond) &&
		tsct_tsdl_parse_item_s64(&at, "least_own_ns", &p->least_own_ns) &&
		tsct_tsdl_parse_item_s64(&at, "least_ns", &p->least_ns) && !*at;
}

static int set_all(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_message_stats *m = &p->rec->messages;
	__u32 nr;

	if (m->on ||
	    !tsct_tsdl_parse_item(&at, "sends", UINT64_MAX, &m->sends) ||
	    !tsct_tsdl_parse_item(&at, "receives", UINT64_MAX, &m->receives) ||
	    !tsct_tsdl_parse_item(&at, "unmatched_sends", m->sends,
			    &m->unmatched_sends) ||
	    !tsct_tsdl_parse_item(&at, "unmatched_receives", m->receives,
			    &m->unmatched_receives) ||
	    !tsct_tsdl_parse_item(&at, "given_up", UINT64_MAX, &m->given_up) ||
	    !tsct_tsdl_parse_item(&at, "other_pairs", UINT64_MAX, &m->other_pairs) ||
	    !tsct_tsdl_parse_item_u32(&at, "pairs", TSCT_RECORDED_PAIRS_MAX, &nr) ||
	    !get_sums(at, &m->all))
		return tsct_tsdl_parse_bad(p, "messages: malformed");
	m->pairs = calloc(nr + 1, sizeof(*m->pairs));
	if (!m->pairs)
		return -ENOMEM;
	m->nr_pairs = nr;
	m->on = 1;
	return 0;
}

/* One that has no line has no messages, as far as is known. */
static int set_pair(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	struct tsct_message_stats *m = &p->rec->messages;
	struct tsct_message_pair_stats *pair;
	__u64 index;

	if (!tsct_tsdl_parse_whole(key, UINT32_MAX, &index) || index >= m->nr_pairs)
		return tsct_tsdl_parse_bad(p, "messages_%.20s: there is no such", key);
	pair = &m->pairs[index];
	if (!tsct_tsdl_parse_item_u32(&at, "from", p->rec->nr_nodes - 1,
				&pair->from) ||
	    !tsct_tsdl_parse_item_u32(&at, "to", p->rec->nr_nodes - 1, &pair->to) ||
	    !get_sums(at, pair))
		return tsct_tsdl_parse_bad(p, "messages_%s: malformed", key);
	return 0;
}

int tsct_tsdl_parse_messages(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	if (!p->rec->merged)
		return tsct_tsdl_parse_bad(p, "%.30s: only merged recordings have that",
				     key);
	return key[8] == '_' ? set_pair(p, key + 9, at) : set_all(p, at);
}
