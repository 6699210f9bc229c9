// SPDX-License-Identifier: MIT
/* Message statistics of a merged recording, as a table and as JSON */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "messages_view.h"
#include "view.h"

/* ---- text -------------------------------------------------------------- */

static void print_pair(const struct tsct_message_pair_stats *p)
{
	printf("%12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
	       " %12.3f %12.3f", (uint64_t)p->matched, (uint64_t)p->before,
	       (uint64_t)(p->within + p->beyond), (uint64_t)p->beyond,
	       (double)p->least_own_ns / 1e3, (double)p->least_ns / 1e3);
}

static void print_end(const struct tsct_recording *rec, const char *sign,
		      __u32 node)
{
	printf("  %s ", sign);
	view_print_escaped(stdout, tsct_recording_node_name(rec, node));
}

void messages_print(const struct tsct_recording *rec)
{
	const struct tsct_message_stats *m = &rec->messages;
	__u32 i;

	if (!m->on)
		return;
	printf("\n%12s %38s %25s\n%12s %12s %12s %12s %12s %12s\n", "",
	       "received before they were sent", "minimum latency, us",
	       "messages", "own clocks", "merged", "beyond", "own clocks", "merged");
	for (i = 0; i < m->nr_pairs; i++) {
		print_pair(&m->pairs[i]);
		print_end(rec, "from", m->pairs[i].from);
		print_end(rec, "to", m->pairs[i].to);
		putchar('\n');
	}
	print_pair(&m->all);
	printf("  all\n%12" PRIu64 " sends without a receive, %" PRIu64
	       " receives without a send\n",
	       (uint64_t)m->unmatched_sends, (uint64_t)m->unmatched_receives);
}

/* ---- JSON -------------------------------------------------------------- */

/* jansson's integers are signed 64 bits: larger values are clamped. */
static json_t *json_count(uint64_t value)
{
	return json_integer((json_int_t)(value <= INT64_MAX ? value : INT64_MAX));
}

static json_t *pair_json(const struct tsct_message_pair_stats *p)
{
	return json_pack("{si si so so so so sI sI}",
			 "from", (int)p->from, "to", (int)p->to,
			 "matched", json_count(p->matched),
			 "violations_before", json_count(p->before),
			 "violations_within", json_count(p->within),
			 "violations_beyond", json_count(p->beyond),
			 "least_own_ns", (json_int_t)p->least_own_ns,
			 "least_ns", (json_int_t)p->least_ns);
}

json_t *messages_json(const struct tsct_recording *rec)
{
	const struct tsct_message_stats *m = &rec->messages;
	json_t *pairs;
	__u32 i;

	if (!m->on)
		return json_null();
	pairs = json_array();
	for (i = 0; i < m->nr_pairs; i++)
		json_array_append_new(pairs, pair_json(&m->pairs[i]));
	return json_pack("{so so so so so so so so so so sI sI so}",
			 "sends", json_count(m->sends),
			 "receives", json_count(m->receives),
			 "unmatched_sends", json_count(m->unmatched_sends),
			 "unmatched_receives", json_count(m->unmatched_receives),
			 "given_up", json_count(m->given_up),
			 "other_pairs", json_count(m->other_pairs),
			 "matched", json_count(m->all.matched),
			 "violations_before", json_count(m->all.before),
			 "violations_within", json_count(m->all.within),
			 "violations_beyond", json_count(m->all.beyond),
			 "least_own_ns", (json_int_t)m->all.least_own_ns,
			 "least_ns", (json_int_t)m->all.least_ns,
			 "pairs", pairs);
}
