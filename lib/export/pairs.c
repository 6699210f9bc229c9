// SPDX-License-Identifier: MIT
/* Pairs of any two events as spans: --pair BEGIN:END[:KEY[:SCOPE]] */
#include <errno.h>
#include <string.h>

#include "lib/base/hash.h"
#include "export.h"

/* Splits "BEGIN:END[:KEY[:SCOPE]]". Returns false if it is malformed. */
static bool split_pair(const char *text, struct tsct_export_pair *pair)
{
	const char *end = strchr(text, ':'), *key = end ? strchr(end + 1, ':') : NULL;
	const size_t end_len = !end ? 0 : key ? (size_t)(key - end - 1) : strlen(end + 1);
	const char *scope = key ? strchr(key + 1, ':') : NULL;

	pair->name = text;
	if (!end || end == text || !end_len || (size_t)(end - text) >= sizeof(pair->begin) ||
	    end_len >= sizeof(pair->end) || (key && (!key[1] || key + 1 == scope)))
		return false;
	pair->in_process = scope && !strcmp(scope, ":process");
	pair->in_thread = scope && !strcmp(scope, ":thread");
	if (scope && !pair->in_process && !pair->in_thread)
		return false;
	memcpy(pair->begin, text, (size_t)(end - text));
	memcpy(pair->end, end + 1, end_len);
	pair->key = key ? key + 1 : NULL;
	pair->key_len = !key ? 0 : scope ? (size_t)(scope - key - 1) : strlen(key + 1);
	return strcmp(pair->begin, pair->end);
}

/* Makes the slice's other events instants, because a pair now has one of the slice's events. */
static void leave_slice(struct tsct_export *x, __u32 slice)
{
	struct tsct_export_def *d;

	for (d = x->defs; d < x->defs + x->nr_defs; d++)
		if (d->def && !d->pair && d->slice == slice) {
			d->kind = TSCT_KIND_INSTANT;
			d->call = NULL;
		}
}

/* Marks events @event, NAME or NAME/KIND, as the begin or end (@kind) of a pair. */
static int mark_events(struct tsct_export *x, const struct tsct_export_pair *pair,
		       const char *event, __u8 kind)
{
	struct tsct_export_def *d;
	bool any = false;
	__u32 i;

	for (d = x->defs; d < x->defs + x->nr_defs; d++) {
		if (!d->def || !tsct_filter_event(event, d->def->name,
						  tsct_kind_names[d->def->kind]))
			continue;
		if (d->pair)
			return tsct_export_fail(x, -EINVAL, "--pair %.100s: the event '%s' is in"
						" another --pair, too; give one of them",
						pair->name, event);
		any = true;
		leave_slice(x, d->slice);
		d->pair = pair;
		d->kind = kind;
		d->has_id = false;
		d->slice = x->nr_slices;
		d->shared = 0;
		x->slice_defs[x->nr_slices] = (__u32)(d - x->defs);
		for (i = 0; pair->key && i < d->def->nr_fields; i++)
			if (!strncmp(d->def->fields[i].name, pair->key, pair->key_len) &&
			    !d->def->fields[i].name[pair->key_len])
				d->shared = 1U << i;
		if (pair->key && !d->shared)
			return tsct_export_fail(x, -ENOENT, "--pair %.100s: the event '%s' has no"
						" field '%.*s'; 'trace-ctl dump --event %s' shows"
						" its fields", pair->name, event,
						(int)min(pair->key_len, (size_t)40), pair->key,
						event);
	}
	if (!any)
		return tsct_export_fail(x, -ENOENT, "--pair %.100s: the recording has no event"
					" '%s'; 'trace-ctl stat' lists its events", pair->name,
					event);
	return 0;
}

int tsct_export_pair_add(struct tsct_export *x, const char *text)
{
	struct tsct_export_pair *pair = &x->pairs[x->nr_pairs];

	if (x->nr_pairs == TSCT_EXPORT_PAIRS || !split_pair(text, pair))
		return -EINVAL;
	x->nr_pairs++;
	return 0;
}

int tsct_export_pairs_find(struct tsct_export *x)
{
	const struct tsct_export_pair *pair;
	int err = 0;

	for (pair = x->pairs; pair < x->pairs + x->nr_pairs && !err; pair++) {
		err = mark_events(x, pair, pair->begin, TSCT_KIND_BEGIN) ?:
			mark_events(x, pair, pair->end, TSCT_KIND_END);
		x->nr_slices++;
	}
	return err;
}

/* ---- pairs with a key: in any threads ------------------------------------ */

/* Returns a number of the process or thread of an event, which is part of its key. */
static __u64 scope_of(const struct tsct_export *x, const struct tsct_export_pair *pair,
		      const struct tsct_trace_event *e)
{
	const __u32 node = tsct_recording_node_of(x->rec, e->node);
	const struct tsct_identity_thread *who = pair->in_thread ? NULL :
		tsct_identity_find(&x->identity, e->node, e->tid, e->tick);

	return tsct_hash64((__u64)node << 32 | (who && who->state.tgid ? who->state.tgid : e->tid));
}

/* Returns the index of the newest open span with a key; -1: none. *ret_ambiguous: true if several
 * open spans have the key, or had it at an earlier end event */
static __s64 find_key(struct tsct_export *x, __u32 row, __u64 key, bool *ret_ambiguous)
{
	struct tsct_span *span;
	__s64 i, at = -1;

	*ret_ambiguous = false;
	for (i = (__s64)tsct_spans_open(&x->keyed, row) - 1; i >= 0; i--) {
		span = tsct_span_at(&x->keyed, row, (__u32)i);
		if (span->key != key)
			continue;
		span->doubtful |= at >= 0;
		*ret_ambiguous |= span->doubtful;
		at = at < 0 ? i : at;
	}
	return at;
}

static int begin_keyed(struct tsct_export *x, const struct tsct_export_event *ev, __u32 row,
		       __u64 key, bool hidden)
{
	struct tsct_export_slice *slice;
	int err = !tsct_known_end(&x->known, ev->e) ? -ENOSPC :
		tsct_spans_begin(&x->keyed, row, row, ev->e);

	if (err == -ENOSPC)
		return hidden ? 0 : tsct_closed_span_alone(x, ev, TSCT_SPAN_UNKNOWN);
	if (err)
		return err;
	slice = tsct_span_last(&x->keyed, row);
	slice->span.key = key;
	slice->span.hidden = hidden;
	return tsct_closed_span_open(x, slice, ev, true);
}

int tsct_export_keyed(struct tsct_export *x, struct tsct_export_event *ev, __u64 key, bool hidden)
{
	const struct tsct_export_def *def = &x->defs[ev->def];
	const __u32 row = (__u32)(def->pair - x->pairs);
	struct tsct_export_slice *slice;
	bool ambiguous;
	__s64 at;

	if (!x->closed)
		return 0;
	if (def->pair->in_process || def->pair->in_thread)
		key += scope_of(x, def->pair, ev->e);
	if (def->kind == TSCT_KIND_BEGIN)
		return begin_keyed(x, ev, row, key, hidden);
	at = find_key(x, row, key, &ambiguous);
	if (at < 0)
		return hidden ? 0 : tsct_closed_span_alone(x, ev, TSCT_SPAN_NOT_BEGUN);
	slice = tsct_span_at(&x->keyed, row, (__u32)at);
	slice->ambiguous = ambiguous;
	slice->end_hidden = hidden;
	return tsct_spans_close(&x->keyed, row, (__u32)at, TSCT_SPAN_ENDED, ev->e);
}
