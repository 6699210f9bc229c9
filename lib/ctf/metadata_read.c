// SPDX-License-Identifier: MIT
/*
 * The `env` block of our own metadata, read back. Strict: what record_meta.c
 * would not write is damage, and is named with its line. Keys that we do not
 * know are left alone, so that later versions may add some.
 */
#include <stdlib.h>

#include "lib/core/event_def.h"
#include "lib/core/clock_params.h"
#include "ctf_format.h"
#include "tsdl_parser.h"

/* ---- what the keys mean ------------------------------------------------ */

static int set_clock_state(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recording *rec = p->rec;

	if (!tsct_tsdl_parse_item_u32(&at, "status", TSCT_STATUS_NR - 1,
				&rec->status) ||
	    !tsct_tsdl_parse_item_u32(&at, "epoch_first", UINT32_MAX,
				&rec->epoch_first) ||
	    !tsct_tsdl_parse_item_u32(&at, "epoch", UINT32_MAX, &rec->epoch) ||
	    !tsct_tsdl_parse_item_u32(&at, "rate_error_ppb", UINT32_MAX,
				&rec->rate_error_ppb) ||
	    *at)
		return tsct_tsdl_parse_bad(p, "clock_state: malformed");
	return 0;
}

static int set_span(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recording *rec = p->rec;

	if (!tsct_tsdl_parse_item(&at, "begin", UINT64_MAX, &rec->begin) ||
	    !tsct_tsdl_parse_item(&at, "end", UINT64_MAX, &rec->end) || *at ||
	    rec->end < rec->begin)
		return tsct_tsdl_parse_bad(p, "span: malformed");
	return 0;
}

static int set_name(struct tsct_tsdl_parser *p, const struct tsct_tsdl_entry *e,
		    const char *const *names, __u32 nr, __u32 *ret)
{
	__u32 i;

	for (i = 0; i < nr; i++) {
		if (strcmp(e->value, names[i]))
			continue;
		*ret = i;
		return 0;
	}
	return tsct_tsdl_parse_bad(p, "%s: '%.40s' is none that there is", e->key,
			     e->value);
}

static int set_pair(struct tsct_tsdl_parser *p, const struct tsct_tsdl_entry *e,
		    struct tsct_clock_params *pair)
{
	return tsct_tsdl_parse_pair(e->value, pair) ? 0 :
		tsct_tsdl_parse_bad(p, "%s: malformed", e->key);
}

static int set_format(struct tsct_tsdl_parser *p, const char *value)
{
	if (!strcmp(value, "1") || !strcmp(value, "2"))
		return tsct_tsdl_parse_bad(p, "format %s is older than this program"
				     " reads; record again", value);
	if (strcmp(value, TSCT_META_FORMAT))
		return tsct_tsdl_parse_bad(p,
				     "format %.20s is newer than this program",
				     value);
	p->format = true;
	return 0;
}

static int set_flag(struct tsct_tsdl_parser *p, const struct tsct_tsdl_entry *e,
		    __u32 *flag)
{
	__u64 n;

	if (!tsct_tsdl_parse_whole(e->value, 1, &n))
		return tsct_tsdl_parse_bad(p, "%s: 0 or 1 expected", e->key);
	*flag = n;
	return 0;
}

static int set_every(struct tsct_tsdl_parser *p, const struct tsct_tsdl_entry *e)
{
	if (tsct_tsdl_parse_whole(e->value, UINT64_MAX, &p->rec->sync_every))
		return 0;
	return tsct_tsdl_parse_bad(p, "sync_every: a number expected");
}

/* What follows is of the one kind or of the other: it does not change its mind. */
static int set_merged(struct tsct_tsdl_parser *p, const struct tsct_tsdl_entry *e)
{
	if (p->rec->locations || p->rec->merged)
		return tsct_tsdl_parse_bad(p, "merged: out of order");
	return set_flag(p, e, &p->rec->merged);
}

static int set_nodes(struct tsct_tsdl_parser *p, const char *value)
{
	struct tsct_recording *rec = p->rec;
	struct tsct_recorded_node *all;
	__u64 n;

	if (!rec->merged || rec->nr_nodes != 1 || rec->locations ||
	    !tsct_tsdl_parse_whole(value, TSCT_NODES_MAX, &n) || !n)
		return tsct_tsdl_parse_bad(p, "nr_nodes: 1 to %u expected, once",
				     TSCT_NODES_MAX);
	all = realloc(rec->nodes, n * sizeof(*all));
	if (!all)
		return -ENOMEM;
	memset(all + 1, 0, (n - 1) * sizeof(*all));
	rec->nodes = all;
	rec->nr_nodes = n;
	return 0;
}

static int set_locations(struct tsct_tsdl_parser *p, const char *key,
			 const char *value, bool merged)
{
	const __u32 max = merged ? TSCT_LOCATIONS_MAX : TSCT_CPUS_MAX;
	__u64 n;
	int err = -EINVAL;

	if (!!p->rec->merged == merged && tsct_tsdl_parse_whole(value, max, &n))
		err = tsct_recording_locate(p->rec, n);
	return err == -EINVAL ? tsct_tsdl_parse_bad(p, "%s: 1 to %u expected, once",
					      key, max) : err;
}

/* "node_N_": the node that a line is of, and what is left of the key */
static const char *find_node(struct tsct_tsdl_parser *p, const char *key)
{
	const char *at = key + 5;
	__u64 node;

	p->node = 0;
	if (!p->rec->merged || strncmp(key, "node_", 5) ||
	    !tsct_tsdl_parse_u64(&at, &node) || *at != '_' ||
	    node >= p->rec->nr_nodes)
		return key;
	p->node = node;
	return at + 1;
}

static int set_number(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	struct tsct_recording *rec = p->rec;
	const char *key = e->key;

	if (!strcmp(key, "tsctrace_format"))
		return set_format(p, e->value);
	if (!strcmp(key, "complete"))
		return set_flag(p, e, &rec->complete);
	if (!strcmp(key, "snapshot"))
		return set_flag(p, e, &rec->snapshot);
	if (!strcmp(key, "sync_every"))
		return set_every(p, e);
	if (!strcmp(key, "merged"))
		return set_merged(p, e);
	if (!strcmp(key, "nr_nodes"))
		return set_nodes(p, e->value);
	if (!strcmp(key, "nr_locations"))
		return set_locations(p, key, e->value, true);
	if (!strcmp(key, "nr_cpus"))
		return set_locations(p, key, e->value, false);
	return tsct_tsdl_parse_node(p, find_node(p, key), e);
}

static int set_stream(struct tsct_tsdl_parser *p, const char *key, const char *at)
{
	struct tsct_recording *rec = p->rec;
	char name[TSCT_NAME_MAX] = "";
	struct tsct_stream_class *s;
	size_t len;
	__u64 index;
	int ret;

	if (!tsct_tsdl_parse_whole(key, UINT32_MAX, &index) ||
	    index != rec->nr_streams || !rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "stream_%.20s: out of order", key);
	if (strncmp(at, "name=", 5))
		return tsct_tsdl_parse_bad(p, "stream_%s: malformed", key);
	at += 5;
	len = strcspn(at, " ");
	if (!tsct_tsdl_parse_name(at, len))
		return tsct_tsdl_parse_bad(p, "stream_%s: not a channel's name", key);
	memcpy(name, at, len);
	at += len;
	ret = tsct_recording_add_stream(rec, name);
	if (ret < 0)
		return tsct_tsdl_parse_bad(p, "stream_%s: %s", key, strerror(-ret));
	s = &rec->streams[ret];
	if (!tsct_tsdl_parse_item_u32(&at, "policy", TSCT_POLICY_OVERWRITE,
				&s->policy) ||
	    !tsct_tsdl_parse_item_u32(&at, "kernel", 1, &s->kernel) ||
	    !tsct_tsdl_parse_item(&at, "lost_no_ring", UINT64_MAX,
			    &s->lost_no_ring) ||
	    *at)
		return tsct_tsdl_parse_bad(p, "stream_%s: malformed", key);
	return 0;
}

/* "_<stream>_<number>": the tail of an event's or a loss's key */
static bool parse_tail(struct tsct_tsdl_parser *p, const char *tail, __u64 *ret_stream,
		       __u64 *ret_number)
{
	return tsct_tsdl_parse_u64(&tail, ret_stream) && *tail++ == '_' &&
	       tsct_tsdl_parse_u64(&tail, ret_number) && !*tail &&
	       *ret_stream < p->rec->nr_streams;
}

static int kind_of(const char *name, size_t len)
{
	int i;

	for (i = 0; i < TSCT_KIND_NR; i++)
		if (strlen(tsct_kind_names[i]) == len &&
		    !memcmp(tsct_kind_names[i], name, len))
			return i;
	return -EINVAL;
}

/* "kind name field:type,field:type" */
static int set_event(struct tsct_tsdl_parser *p, const char *tail, const char *value)
{
	size_t kind_len = strcspn(value, " "), name_len;
	struct tsct_event_def def;
	char name[TSCT_EVENT_NAME_MAX] = "";
	int kind = kind_of(value, kind_len), err;
	__u64 stream, id;

	if (!parse_tail(p, tail, &stream, &id) || id < TSCT_ID_FIRST ||
	    id > TSCT_ID_MAX)
		return tsct_tsdl_parse_bad(p, "event_%.20s: no such stream or id",
				     tail);
	if (kind < 0 || value[kind_len] != ' ')
		return tsct_tsdl_parse_bad(p, "event_%s: malformed", tail);
	value += kind_len + 1;
	name_len = strcspn(value, " ");
	if (name_len >= sizeof(name) || value[name_len] != ' ')
		return tsct_tsdl_parse_bad(p, "event_%s: malformed", tail);
	memcpy(name, value, name_len);
	if (tsct_event_def_parse(name, kind, value + name_len + 1, &def, NULL))
		return tsct_tsdl_parse_bad(p, "event_%s: not a definition", tail);
	def.id = id;
	err = tsct_recording_add_def(p->rec, stream, &def);
	if (err)
		return tsct_tsdl_parse_bad(p, "event_%s: %s", tail, strerror(-err));
	return 0;
}

static int set_loss(struct tsct_tsdl_parser *p, const char *tail, const char *value)
{
	struct tsct_loss *loss;
	__u64 stream, at;
	int i;

	if (!parse_tail(p, tail, &stream, &at) ||
	    at >= p->rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "lost_%.20s: no such stream or location",
				     tail);
	loss = &p->rec->streams[stream].loss[at];
	for (i = 0; i < TSCT_LOSS_NR; i++)
		tsct_tsdl_parse_item(&value, tsct_loss_names[i], TSCT_COUNT_MAX,
			       &loss->cause[i]);
	return *value ? tsct_tsdl_parse_bad(p, "lost_%s: malformed", tail) : 0;
}

static int set_held(struct tsct_tsdl_parser *p, const char *tail, const char *value)
{
	struct tsct_held *held;
	__u64 stream, at;

	if (!parse_tail(p, tail, &stream, &at) ||
	    at >= p->rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "holds_%.20s: no such stream or location",
				     tail);
	held = &p->rec->streams[stream].held[at];
	if (!tsct_tsdl_parse_item(&value, "packets", TSCT_COUNT_MAX, &held->packets) ||
	    !tsct_tsdl_parse_item(&value, "events", TSCT_COUNT_MAX, &held->events) ||
	    !tsct_tsdl_parse_item(&value, "on_tick", TSCT_COUNT_MAX, &held->on_tick) ||
	    *value)
		return tsct_tsdl_parse_bad(p, "holds_%s: malformed", tail);
	return 0;
}

static int set_ring(struct tsct_tsdl_parser *p, const char *tail, const char *value)
{
	struct tsct_ring_figures *ring;
	__u64 stream, at;

	if (!parse_tail(p, tail, &stream, &at) ||
	    at >= p->rec->nr_locations)
		return tsct_tsdl_parse_bad(p, "ring_%.20s: no such stream or location",
				     tail);
	ring = &p->rec->streams[stream].ring[at];
	if (!tsct_tsdl_parse_item(&value, "published_begin", UINT64_MAX,
			    &ring->published_begin) ||
	    !tsct_tsdl_parse_item(&value, "published_end", UINT64_MAX,
			    &ring->published_end) ||
	    !tsct_tsdl_parse_item(&value, "broken_places", UINT64_MAX,
			    &ring->broken_places) ||
	    *value)
		return tsct_tsdl_parse_bad(p, "ring_%s: malformed", tail);
	return 0;
}

static int set_origin(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	free(p->rec->clock_origin);
	p->rec->clock_origin = e->value;
	e->value = NULL;
	return 0;
}

static int set_string(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	struct tsct_recording *rec = p->rec;
	const char *key = e->key;

	if (!strcmp(key, "tracer_name"))
		p->ours = !strcmp(e->value, "tsctrace");
	else if (!strcmp(key, "clock_origin"))
		return set_origin(p, e);
	else if (!strcmp(key, "trace_uuid"))
		return tsct_tsdl_parse_uuid(e->value, rec->uuid) ? 0 :
			tsct_tsdl_parse_bad(p, "trace_uuid: malformed");
	else if (!strcmp(key, "source"))
		return set_name(p, e, tsct_ctf_sources, TSCT_SOURCE_NR,
				&rec->source);
	else if (!strcmp(key, "counter_source"))
		return set_name(p, e, tsct_ctf_sources, TSCT_SOURCE_NR,
				&rec->counter_source);
	else if (!strcmp(key, "timestamps"))
		return set_name(p, e, tsct_timestamps_names, TSCT_TIMESTAMPS_NR,
				&rec->timestamps);
	else if (!strcmp(key, "fsync"))
		return set_name(p, e, tsct_fsync_names, TSCT_FSYNC_NR,
				&rec->fsync);
	else if (!strcmp(key, "span"))
		return set_span(p, e->value);
	else if (!strcmp(key, "clock_state"))
		return set_clock_state(p, e->value);
	else if (!strcmp(key, "clock_real"))
		return set_pair(p, e, &rec->real);
	else if (!strcmp(key, "clock_counter"))
		return set_pair(p, e, &rec->counter);
	else if (!strncmp(key, "clock_line_", 11))
		return tsct_tsdl_parse_line(p, key + 11, e->value);
	else if (!strncmp(key, "stream_", 7))
		return set_stream(p, key + 7, e->value);
	else if (!strncmp(key, "event_", 6))
		return set_event(p, key + 6, e->value);
	else if (!strncmp(key, "lost_", 5))
		return set_loss(p, key + 5, e->value);
	else if (!strncmp(key, "ring_", 5))
		return set_ring(p, key + 5, e->value);
	else if (!strncmp(key, "holds_", 6))
		return set_held(p, key + 6, e->value);
	else if (!strcmp(key, "timeline"))
		return tsct_tsdl_parse_timeline(p, e->value);
	else if (!strncmp(key, "location_", 9))
		return tsct_tsdl_parse_location(p, key + 9, e->value);
	else if (!strcmp(key, "messages") || !strncmp(key, "messages_", 9))
		return tsct_tsdl_parse_messages(p, key, e->value);
	return tsct_tsdl_parse_node(p, find_node(p, key), e);
}

/* ---- the block --------------------------------------------------------- */

static int parse_line(struct tsct_tsdl_parser *p)
{
	struct tsct_tsdl_entry e = { .value = NULL };
	int err;

	err = tsct_tsdl_entry(p, &e);
	if (!err)
		err = e.is_string ? set_string(p, &e) : set_number(p, &e);
	free(e.value);
	p->line++;
	return err;
}

static int not_ours(struct tsct_tsdl_parser *p)
{
	snprintf(p->why, p->why_size,
		 "not a tsctrace recording; it is another tracer's");
	return -ENOMSG;
}

/* Ours, and all of it? An end is not missed by who reads only our part. */
static int check_ends(struct tsct_tsdl_parser *p, size_t len)
{
	size_t begin = strlen(TSCT_META_BEGIN), end = strlen(TSCT_META_END);
	const char *text = p->at;

	if (strncmp(text, TSCT_META_BEGIN, len < begin ? len : begin)) {
		if (strstr(text, "\n\ttracer_name = \"tsctrace\";\n")) {
			snprintf(p->why, p->why_size,
				 "metadata is of an older tsctrace, or its"
				 " beginning is damaged");
			return -EINVAL;
		}
		if (!strncmp(text, "/* CTF 1.8 */", 13))
			return not_ours(p);
		snprintf(p->why, p->why_size,
			 "not a tsctrace recording;"
			 " its metadata is no CTF 1.8 text");
		return -ENOMSG;
	}
	if (strlen(text) != len)
		return tsct_tsdl_parse_bad(p, "there are NULs in it");
	if (len >= begin + end && !strcmp(text + len - end, TSCT_META_END))
		return 0;
	snprintf(p->why, p->why_size, "metadata is cut off after byte %zu", len);
	return -EINVAL;
}

static int check_whole(struct tsct_tsdl_parser *p)
{
	struct tsct_recording *rec = p->rec;

	if (!p->ours || !p->format)
		return not_ours(p);
	if (!rec->nr_locations || !rec->clock_origin)
		return tsct_tsdl_parse_bad(p, "the environment ends too early");
	if (!rec->merged)
		memcpy(rec->nodes[0].uuid, rec->uuid, sizeof(rec->uuid));
	if (!rec->real.mult || tsct_clock_params_check(&rec->real, rec->source))
		return tsct_tsdl_parse_bad(p, "clock_real: cannot be true");
	if (tsct_clock_params_check(&rec->counter, rec->counter_source))
		return tsct_tsdl_parse_bad(p, "clock_counter: cannot be true");
	return tsct_tsdl_parse_node_whole(p);
}

int tsct_meta_parse(const char *text, size_t len, struct tsct_recording *rec,
		    char *why, size_t why_size)
{
	struct tsct_tsdl_parser p = {.at = text,
			      .line = 1,
			      .rec = rec,
			      .why = why,
			      .why_size = why_size};
	const char *env;
	int err;

	memset(rec, 0, sizeof(*rec));
	err = tsct_recording_make(rec, 1);
	if (!err)
		err = check_ends(&p, len);
	if (err)
		return err;
	env = strstr(text, "\nenv {\n");
	if (!env)
		return check_whole(&p);
	for (p.at = env + 7; text < p.at; text++)
		p.line += *text == '\n';
	while (strncmp(p.at, "};", 2)) {
		err = parse_line(&p);
		if (err)
			return p.ours ? err : not_ours(&p);
	}
	return check_whole(&p);
}
