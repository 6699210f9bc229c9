// SPDX-License-Identifier: MIT
/* What the keys sync_* and clock_cluster mean; see record_meta_sync.c. */
#include <stdlib.h>

#include "core/def.h"
#include "core/scale.h"
#include "recording/samples.h"
#include "recording/trace_text.h"

static int malformed(struct tsct_text *p, const char *key)
{
	return tsct_text_bad(p, "%s: malformed", key);
}

static int set_stream(struct tsct_text *p, const char *name)
{
	int err;

	if (!tsct_text_name(name, strlen(name)))
		return tsct_text_bad(p, "sync_stream: not a stream's name");
	err = p->rec->nr_cpus ? tsct_recording_add_sync(p->rec, name) : -EINVAL;
	return err ? tsct_text_bad(p, "sync_stream: out of order") : 0;
}

static int set_fields(struct tsct_text *p, const char *fields)
{
	struct tsct_event_def def;
	int err;

	if (strcmp(fields, TSCT_SAMPLE_FIELDS))
		return tsct_text_bad(p, "sync_fields: samples of another version"
				     " of tsctrace; read them with that one");
	err = tsct_def_parse(TSCT_SAMPLE_EVENT, TSCT_KIND_INSTANT, fields,
			     &def, NULL);
	if (err)
		return malformed(p, "sync_fields");
	def.id = TSCT_ID_FIRST;
	return tsct_recording_add_def(p->rec, p->rec->nr_streams, &def);
}

static int set_node(struct tsct_text *p, struct tsct_text_entry *e)
{
	free(p->rec->sync.name);
	p->rec->sync.name = e->value;
	e->value = NULL;
	return 0;
}

static int set_fit(struct tsct_text *p, const char *fit)
{
	size_t len = strlen(fit);

	if (!len || len >= TSCT_FIT_NAME_MAX ||
	    strspn(fit, "abcdefghijklmnopqrstuvwxyz") != len)
		return malformed(p, "sync_fit");
	strcpy(p->rec->sync.fit, fit);
	return 0;
}

static int set_state(struct tsct_text *p, const char *at)
{
	struct tsct_recorded_sync *s = &p->rec->sync;

	if (!tsct_text_item_u32(&at, "role", TSCT_SYNC_ROLE_NR - 1, &s->role) ||
	    !tsct_text_item(&at, "node", UINT64_MAX, &s->node) ||
	    !tsct_text_item(&at, "host", UINT64_MAX, &s->host) ||
	    !tsct_text_item(&at, "master", UINT64_MAX, &s->master) ||
	    !tsct_text_item_u32(&at, "timeline", UINT32_MAX, &s->timeline) ||
	    !tsct_text_item_u32(&at, "status", TSCT_STATUS_NR - 1, &s->status) ||
	    !tsct_text_item_u32(&at, "epoch_first", UINT32_MAX,
				&s->epoch_first) ||
	    !tsct_text_item_u32(&at, "epoch", UINT32_MAX, &s->epoch) ||
	    !tsct_text_item_u32(&at, "restarts", UINT32_MAX, &s->restarts) ||
	    *at)
		return malformed(p, "sync_state");
	return 0;
}

static int set_session(struct tsct_text *p, const char *key, const char *at,
		       struct tsct_recorded_session *s)
{
	if (!tsct_text_item_u32(&at, "state", TSCT_SESSION_NR - 1, &s->state) ||
	    !tsct_text_item(&at, "begin", UINT64_MAX, &s->begin) ||
	    !tsct_text_item(&at, "end", UINT64_MAX, &s->end) || *at ||
	    (__s64)(s->end - s->begin) < 0)
		return malformed(p, key);
	return 0;
}

static int set_holds(struct tsct_text *p, const char *at)
{
	struct tsct_stream_class *s = &p->rec->streams[p->rec->nr_streams];

	if (!tsct_text_item(&at, "lost", UINT64_MAX / 65536,
			    &s->loss[0].cause[TSCT_LOSS_OVERRUN]) ||
	    !tsct_text_item(&at, "packets", UINT64_MAX, &s->held[0].packets) ||
	    !tsct_text_item(&at, "events", UINT64_MAX, &s->held[0].events) ||
	    *at)
		return malformed(p, "sync_holds");
	return 0;
}

static int set_line(struct tsct_text *p, const char *at)
{
	struct tsct_pair *line = &p->rec->sync.line;

	return tsct_text_pair(at, line) && line->mult ? 0 :
		malformed(p, "clock_cluster");
}

int tsct_text_sync(struct tsct_text *p, struct tsct_text_entry *e)
{
	struct tsct_recorded_sync *sync = &p->rec->sync;
	const char *key = e->key;

	if (!strcmp(key, "sync_stream"))
		return set_stream(p, e->value);
	if (!sync->on)
		return tsct_text_bad(p, "%s: out of order", key);
	if (!strcmp(key, "sync_fields"))
		return set_fields(p, e->value);
	if (!strcmp(key, "sync_node"))
		return set_node(p, e);
	if (!strcmp(key, "sync_fit"))
		return set_fit(p, e->value);
	if (!strcmp(key, "sync_state"))
		return set_state(p, e->value);
	if (!strcmp(key, "sync_start"))
		return set_session(p, key, e->value, &sync->start);
	if (!strcmp(key, "sync_end"))
		return set_session(p, key, e->value, &sync->end);
	if (!strcmp(key, "sync_holds"))
		return set_holds(p, e->value);
	if (!strcmp(key, "clock_cluster"))
		return set_line(p, e->value);
	return 0;
}

int tsct_text_sync_whole(struct tsct_text *p)
{
	const struct tsct_recorded_sync *sync = &p->rec->sync;

	if (!sync->on)
		return 0;
	if (!sync->name || !*sync->fit ||
	    !p->rec->streams[p->rec->nr_streams].nr_defs)
		return tsct_text_bad(p, "what it says of sync samples ends too"
				     " early");
	/* Now the source is known. */
	if (tsct_pair_check(&sync->line, p->rec->source))
		return tsct_text_bad(p, "clock_cluster: cannot be true");
	return 0;
}
