// SPDX-License-Identifier: MIT
/* What the keys sync_* and clock_cluster mean; see record_meta_sync.c. */
#include <stdlib.h>

#include "lib/core/event_def.h"
#include "lib/core/clock_params.h"
#include "samples.h"
#include "tsdl_parser.h"

static int malformed(struct tsct_tsdl_parser *p, const char *key)
{
	return tsct_tsdl_parse_bad(p, "%s: malformed", key);
}

static int set_stream(struct tsct_tsdl_parser *p, const char *name)
{
	int err;

	if (!tsct_tsdl_parse_name(name, strlen(name)))
		return tsct_tsdl_parse_bad(p, "sync_stream: not a stream's name");
	err = tsct_recording_add_sync(p->rec, name);
	return err ? tsct_tsdl_parse_bad(p, "sync_stream: out of order") : 0;
}

static int set_fields(struct tsct_tsdl_parser *p, const char *fields)
{
	struct tsct_event_def def;
	int err;

	if (strcmp(fields, TSCT_SAMPLE_FIELDS))
		return tsct_tsdl_parse_bad(p, "sync_fields: samples of another version"
				     " of tsctrace; read them with that one");
	err = tsct_event_def_parse(TSCT_SAMPLE_EVENT, TSCT_KIND_INSTANT, fields,
			     &def, NULL);
	if (err)
		return malformed(p, "sync_fields");
	def.id = TSCT_ID_FIRST;
	return tsct_recording_add_def(p->rec, p->rec->nr_streams, &def);
}

static struct tsct_recorded_sync *sync_of(const struct tsct_tsdl_parser *p)
{
	return &p->rec->nodes[p->node].sync;
}

static int set_name(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e)
{
	struct tsct_recorded_sync *sync = sync_of(p);

	if (strlen(e->value) >= TSCT_NODE_NAME_MAX)
		return tsct_tsdl_parse_bad(p, "sync_node: too long");
	free(sync->name);
	sync->name = e->value;
	e->value = NULL;
	sync->on = 1;
	return 0;
}

static int set_fit(struct tsct_tsdl_parser *p, const char *fit)
{
	if (!*fit || !tsct_tsdl_parse_word(fit, TSCT_FIT_NAME_MAX))
		return malformed(p, "sync_fit");
	strcpy(sync_of(p)->fit, fit);
	return 0;
}

static int set_state(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_recorded_sync *s = sync_of(p);

	if (!tsct_tsdl_parse_item_u32(&at, "role", TSCT_SYNC_ROLE_NR - 1, &s->role) ||
	    !tsct_tsdl_parse_item(&at, "node", UINT64_MAX, &s->node) ||
	    !tsct_tsdl_parse_item(&at, "host", UINT64_MAX, &s->host) ||
	    !tsct_tsdl_parse_item(&at, "master", UINT64_MAX, &s->master) ||
	    !tsct_tsdl_parse_item_u32(&at, "timeline", UINT32_MAX, &s->timeline) ||
	    !tsct_tsdl_parse_item_u32(&at, "status", TSCT_STATUS_NR - 1, &s->status) ||
	    !tsct_tsdl_parse_item_u32(&at, "epoch_first", UINT32_MAX,
				&s->epoch_first) ||
	    !tsct_tsdl_parse_item_u32(&at, "epoch", UINT32_MAX, &s->epoch) ||
	    !tsct_tsdl_parse_item_u32(&at, "restarts", UINT32_MAX, &s->restarts) ||
	    *at)
		return malformed(p, "sync_state");
	return 0;
}

static int set_session(struct tsct_tsdl_parser *p, const char *key, const char *at,
		       struct tsct_recorded_session *s)
{
	if (!tsct_tsdl_parse_item_u32(&at, "state", TSCT_SESSION_NR - 1, &s->state) ||
	    !tsct_tsdl_parse_item(&at, "begin", UINT64_MAX, &s->begin) ||
	    !tsct_tsdl_parse_item(&at, "end", UINT64_MAX, &s->end) || *at ||
	    (__s64)(s->end - s->begin) < 0)
		return malformed(p, key);
	return 0;
}

static int set_holds(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_stream_class *s = &p->rec->streams[p->rec->nr_streams];

	if (!tsct_tsdl_parse_item(&at, "lost", TSCT_COUNT_MAX,
			    &s->loss[0].cause[TSCT_LOSS_OVERRUN]) ||
	    !tsct_tsdl_parse_item(&at, "packets", UINT64_MAX, &s->held[0].packets) ||
	    !tsct_tsdl_parse_item(&at, "events", UINT64_MAX, &s->held[0].events) ||
	    *at)
		return malformed(p, "sync_holds");
	return 0;
}

static int set_line(struct tsct_tsdl_parser *p, const char *at)
{
	struct tsct_clock_params *line = &sync_of(p)->line;

	return tsct_tsdl_parse_pair(at, line) && line->mult ? 0 :
		malformed(p, "clock_cluster");
}

/* What a recorder says of its samples comes first, what it is in its cluster then. */
static int set_samples(struct tsct_tsdl_parser *p, const char *key, const char *value)
{
	if (p->rec->merged)
		return tsct_tsdl_parse_bad(p, "%s: a merged recording has no samples",
				     key);
	if (!strcmp(key, "sync_stream"))
		return set_stream(p, value);
	if (!tsct_recording_has_samples(p->rec))
		return tsct_tsdl_parse_bad(p, "%s: out of order", key);
	return !strcmp(key, "sync_fields") ? set_fields(p, value) :
		set_holds(p, value);
}

int tsct_tsdl_parse_sync(struct tsct_tsdl_parser *p, const char *key,
		   struct tsct_tsdl_entry *e)
{
	struct tsct_recorded_sync *sync = sync_of(p);

	if (!strcmp(key, "sync_stream") || !strcmp(key, "sync_fields") ||
	    !strcmp(key, "sync_holds"))
		return set_samples(p, key, e->value);
	if (!sync->on && (!p->rec->merged || strcmp(key, "sync_node")))
		return tsct_tsdl_parse_bad(p, "%s: out of order", key);
	if (!strcmp(key, "sync_node"))
		return set_name(p, e);
	if (!strcmp(key, "sync_fit"))
		return set_fit(p, e->value);
	if (!strcmp(key, "sync_state"))
		return set_state(p, e->value);
	if (!strcmp(key, "sync_start"))
		return set_session(p, key, e->value, &sync->start);
	if (!strcmp(key, "sync_end"))
		return set_session(p, key, e->value, &sync->end);
	if (!strcmp(key, "clock_cluster"))
		return set_line(p, e->value);
	return 0;
}

/* A merged one's nodes had counters of their own. */
int tsct_tsdl_parse_sync_whole(struct tsct_tsdl_parser *p)
{
	const struct tsct_recording *rec = p->rec;
	const struct tsct_recorded_sync *sync;
	__u32 i;

	for (i = 0; i < rec->nr_nodes; i++) {
		sync = &rec->nodes[i].sync;
		if (sync->on && (!sync->name || !*sync->fit))
			return tsct_tsdl_parse_bad(p, "what it says of the cluster"
					     " ends too early");
	}
	if (!tsct_recording_has_samples(rec))
		return 0;
	if (!rec->streams[rec->nr_streams].nr_defs)
		return tsct_tsdl_parse_bad(p, "what it says of sync samples ends too"
				     " early");
	/* Now the source is known. */
	if (tsct_clock_params_check(&rec->nodes[0].sync.line, rec->source))
		return tsct_tsdl_parse_bad(p, "clock_cluster: cannot be true");
	return 0;
}
