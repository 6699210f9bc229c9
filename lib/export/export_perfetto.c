// SPDX-License-Identifier: MIT
/*
 * Exports Perfetto's own format: a sequence of packets of
 * export_perfetto.proto. A node is shown as a process, as recordings identify
 * threads only. Names are written once, in the first packet that needs them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export_perfetto.h"
#include "lib/query/value_text.h"

/* ---- events ------------------------------------------------------------ */

static void set_time(packet *one, __s64 ns)
{
	one->has_timestamp = 1;
	one->timestamp = ns;
	one->has_sequence_flags = 1;
	one->sequence_flags = STATE_NEEDED;
}

static void set_name(name *n, __u64 iid, const char *text)
{
	tsct_perfetto__interned_name__init(n);
	n->has_iid = 1;
	n->iid = iid;
	n->name = (char *)text;
}

/* Adds the names of the event and its fields to the first packet that has them. */
static void name_def(struct tsct_export *x, __u32 def,
		     TsctPerfetto__InternedData *interned, name **event_name)
{
	const struct tsct_event_def *d = x->defs[def].def;
	struct perfetto *p = x->own;
	__u32 f;

	p->named[def] = true;
	*event_name = &p->names[TSCT_FIELDS_MAX];
	set_name(*event_name, def + 1, d->name);
	interned->n_event_names = 1;
	interned->event_names = event_name;
	for (f = 0; f < d->nr_fields; f++) {
		p->field_names[f] = &p->names[f];
		set_name(&p->names[f], field_name(def, f), d->fields[f].name);
	}
	interned->n_debug_annotation_names = d->nr_fields;
	interned->debug_annotation_names = p->field_names;
}

/* Writes event @def on the thread, with the current annotations. */
static int put_event(struct tsct_export *x, const struct tsct_export_event *ev,
		     __u32 def, TsctPerfetto__TrackEvent *event)
{
	TsctPerfetto__InternedData interned = TSCT_PERFETTO__INTERNED_DATA__INIT;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	uint64_t category = x->defs[def].stream + 1;
	name *event_name;
	int err;

	set_time(&one, ev->ns);
	if (!p->named[def]) {
		name_def(x, def, &interned, &event_name);
		one.interned_data = &interned;
	}
	event->has_type = event->has_track_uuid = event->has_name_iid = 1;
	event->name_iid = def + 1;
	event->n_category_iids = 1;
	event->category_iids = &category;
	event->n_debug_annotations = p->nr_notes;
	event->debug_annotations = p->note;
	one.track_event = event;
	err = tsct_pf_put(x, &one);
	tsct_pf_drop_notes(p);
	return err;
}

static int put_on_thread(struct tsct_export *x,
			 const struct tsct_export_event *ev, __u32 def,
			 TsctPerfetto__TrackEvent__Type type)
{
	TsctPerfetto__TrackEvent event = TSCT_PERFETTO__TRACK_EVENT__INIT;
	uint64_t message = ev->message;

	event.type = type;
	event.track_uuid = TRACK_THREAD | ev->thread->index;
	if (message && ev->act == TSCT_ACT_SEND) {
		event.n_flow_ids = 1;
		event.flow_ids = &message;
	} else if (message) {
		event.n_terminating_flow_ids = 1;
		event.terminating_flow_ids = &message;
	}
	return put_event(x, ev, def, &event);
}

/* Closes the slices inside of the one that ends, so that they nest. */
static int put_cut(struct tsct_export *x, const struct tsct_export_event *ev,
		   __u32 open, TsctPerfetto__TrackEvent__Type type)
{
	return put_on_thread(x, ev, x->slices[ev->thread->open[open]], type);
}

static int put_close(struct tsct_export *x, const struct tsct_export_event *ev)
{
	__u32 i;
	int err = 0;

	for (i = ev->thread->nr_open - 1; i > ev->frame && !err; i--)
		err = put_cut(x, ev, i, SLICE_END);
	if (!err)
		err = tsct_pf_note_fields(x, ev);
	if (!err)
		err = put_on_thread(x, ev, ev->def, SLICE_END);
	for (i = ev->frame + 1; i < ev->thread->nr_open && !err; i++)
		err = put_cut(x, ev, i, SLICE_BEGIN);
	return err;
}

/* ---- counters ---------------------------------------------------------- */

static bool is_number(const struct tsct_value *v)
{
	return tsct_value_is_float(v) ||
		(tsct_value_is_integer(v) && !tsct_value_syscall(v));
}

static __u32 nr_numbers(const struct tsct_trace_event *e)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	__u32 sum = 0;

	while (tsct_value_next(e, &nr, &pos, &v))
		sum += is_number(&v);
	return sum;
}

static int put_count(struct tsct_export *x, const struct tsct_export_event *ev,
		     __u32 field, const struct tsct_value *v)
{
	TsctPerfetto__TrackEvent event = TSCT_PERFETTO__TRACK_EVENT__INIT;

	event.type = COUNTER;
	event.track_uuid = counter_track(ev->thread->node, ev->def, field);
	if (tsct_value_is_float(v) || tsct_value_exceeds_s64(v)) {
		event.has_double_counter_value = 1;
		event.double_counter_value = tsct_value_is_float(v) ?
			tsct_value_double(v) : (double)(__u64)tsct_value_integer(v);
	} else {
		event.has_counter_value = 1;
		event.counter_value = tsct_value_integer(v);
	}
	return put_event(x, ev, ev->def, &event);
}

/* Writes a track for each number; all fields go with the first as annotations. */
static int put_counts(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const __u32 numbers = nr_numbers(ev->e);
	struct perfetto *p = x->own;
	bool *counted = &p->counted[ev->thread->node * x->nr_defs + ev->def];
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	int err = tsct_pf_note_fields(x, ev);

	if (!numbers)
		return err ? err : put_on_thread(x, ev, ev->def, INSTANT);
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (!is_number(&v))
			continue;
		if (!*counted)
			err = tsct_pf_put_counter_track(x, ev, nr - 1, numbers == 1);
		if (!err)
			err = put_count(x, ev, nr - 1, &v);
	}
	*counted = true;
	return err;
}

/* ---- the format -------------------------------------------------------- */

/* Writes the names of channels, and of our own annotations. */
static int put_names(struct tsct_export *x)
{
	TsctPerfetto__InternedData interned = TSCT_PERFETTO__INTERNED_DATA__INIT;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	name names[TSCT_STREAMS_MAX + 2], *categories[TSCT_STREAMS_MAX];
	name *ours[] = { &names[TSCT_STREAMS_MAX], &names[TSCT_STREAMS_MAX + 1] };
	__u32 i;

	for (i = 0; i < x->rec->nr_streams; i++) {
		set_name(&names[i], i + 1, x->rec->streams[i].name);
		categories[i] = &names[i];
	}
	set_name(ours[0], cpu_name(x), "tsctrace.cpu");
	set_name(ours[1], kind_name(x), "tsctrace.kind");
	interned.n_event_categories = x->rec->nr_streams;
	interned.event_categories = categories;
	interned.n_debug_annotation_names = 2;
	interned.debug_annotation_names = ours;
	one.interned_data = &interned;
	one.has_sequence_flags = 1;
	one.sequence_flags = STATE_NEEDED;
	return tsct_pf_put(x, &one);
}

static int begin(struct tsct_export *x)
{
	struct perfetto *p = x->own = calloc(1, sizeof(*p));
	__u32 i;
	int err;

	if (!p)
		return -ENOMEM;
	p->named = calloc(x->nr_defs + 1, sizeof(*p->named));
	p->counted = calloc((size_t)x->nr_nodes * x->nr_defs + 1,
			    sizeof(*p->counted));
	if (!p->named || !p->counted)
		return -ENOMEM;
	if (x->begin_ns < 0)
		return tsct_export_fail(x, -ERANGE, "the recording begins before 1970,"
					" which this format cannot represent");
	err = tsct_pf_put_clock(x);
	if (!err)
		err = put_names(x);
	for (i = 0; i < x->nr_nodes && !err; i++)
		err = tsct_pf_put_node(x, i);
	return err;
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	TsctPerfetto__TrackEvent__Type type = INSTANT;
	int err = tsct_pf_put_thread(x, ev->thread);

	if (err)
		return err;
	if (ev->act == TSCT_ACT_CLOSE)
		return put_close(x, ev);
	if (ev->act == TSCT_ACT_COUNT)
		return put_counts(x, ev);
	if (ev->act == TSCT_ACT_OPEN)
		type = SLICE_BEGIN;
	err = tsct_pf_note_fields(x, ev);
	return err ? err : put_on_thread(x, ev, ev->def, type);
}

/* Losses are shown where a viewer can: at the end. */
static int put_lost(struct tsct_export *x, __u64 lost)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__TrackEvent event = TSCT_PERFETTO__TRACK_EVENT__INIT;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;
	char title[96];
	int err;

	snprintf(title, sizeof(title), "lost events: %" PRIu64
		 ", damaged places: %" PRIu64, (uint64_t)lost,
		 (uint64_t)tsct_trace_corrupt_count(x->trace));
	track.name = title;
	err = tsct_pf_put_track(x, TRACK_LOST, 0, &track);
	if (err)
		return err;
	set_time(&one, x->now_ns > x->end_ns ? x->now_ns : x->end_ns);
	event.has_type = event.has_track_uuid = 1;
	event.type = INSTANT;
	event.track_uuid = TRACK_LOST;
	event.name = title;
	one.track_event = &event;
	return tsct_pf_put(x, &one);
}

static int end(struct tsct_export *x)
{
	__u64 lost = tsct_export_lost(x);
	__u32 i;
	int err = 0;

	/* Writes names that became known after the threads' last events. */
	for (i = 0; i < x->threads.nr && !err; i++)
		if (x->threads.all[i]->own)
			err = tsct_pf_put_thread(x, x->threads.all[i]);
	if (err)
		return err;
	return lost || tsct_trace_corrupt_count(x->trace) ? put_lost(x, lost) : 0;
}

static void free_perfetto(struct tsct_export *x)
{
	struct perfetto *p = x->own;

	if (!p)
		return;
	tsct_pf_drop_notes(p);
	free(p->named);
	free(p->counted);
	free(p->out);
	free(p);
}

const struct tsct_export_format tsct_export_perfetto = {
	.name = "perfetto", .suffix = ".pftrace", .nests = true,
	.begin = begin, .event = event, .end = end, .free = free_perfetto,
};
