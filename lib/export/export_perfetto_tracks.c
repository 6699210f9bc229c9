// SPDX-License-Identifier: MIT
/* Perfetto packets, and the tracks of events */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export_perfetto.h"
#include "lib/query/value_text.h"

#define SEQUENCE	1

/* A clock number of Perfetto's: all times are of CLOCK_REALTIME. */
#define CLOCK_REAL	1

/* ---- packets ----------------------------------------------------------- */

int tsct_pf_put(struct tsct_export *x, packet *one)
{
	TsctPerfetto__Trace trace = TSCT_PERFETTO__TRACE__INIT;
	struct perfetto *p = x->own;
	size_t size;
	__u8 *more;

	one->has_trusted_packet_sequence_id = 1;
	one->trusted_packet_sequence_id = SEQUENCE;
	trace.n_packet = 1;
	trace.packet = &one;
	size = tsct_perfetto__trace__get_packed_size(&trace);
	if (size > p->room) {
		more = realloc(p->out, 2 * size);
		if (!more)
			return -ENOMEM;
		p->out = more;
		p->room = 2 * size;
	}
	tsct_perfetto__trace__pack(&trace, p->out);
	fwrite(p->out, 1, size, x->file);
	return 0;
}

/* The first packet: clears the state, and defines the clock. */
int tsct_pf_put_clock(struct tsct_export *x)
{
	TsctPerfetto__ClockSnapshot__Clock real =
		TSCT_PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT, *clocks = &real;
	TsctPerfetto__ClockSnapshot snapshot =
		TSCT_PERFETTO__CLOCK_SNAPSHOT__INIT;
	TsctPerfetto__TracePacketDefaults defaults =
		TSCT_PERFETTO__TRACE_PACKET_DEFAULTS__INIT;
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;

	real.has_clock_id = real.has_timestamp = 1;
	real.clock_id = CLOCK_REAL;
	real.timestamp = x->begin_ns;
	snapshot.n_clocks = 1;
	snapshot.clocks = &clocks;
	snapshot.has_primary_trace_clock = 1;
	snapshot.primary_trace_clock = CLOCK_REAL;
	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = CLOCK_REAL;
	one.clock_snapshot = &snapshot;
	one.trace_packet_defaults = &defaults;
	one.has_sequence_flags = one.has_first_packet_on_sequence = 1;
	one.sequence_flags = STATE_CLEARED;
	one.first_packet_on_sequence = 1;
	return tsct_pf_put(x, &one);
}

char *tsct_pf_clean(const char *text, size_t len)
{
	char *to = malloc(3 * len + 1);

	if (to)
		tsct_utf8_clean(to, text, len);
	return to;
}

/* ---- tracks ------------------------------------------------------------ */

int tsct_pf_put_track(struct tsct_export *x, __u64 uuid, __u64 parent,
		      TsctPerfetto__TrackDescriptor *track)
{
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = 1;
	track->uuid = uuid;
	track->has_parent_uuid = !!parent;
	track->parent_uuid = parent;
	one.track_descriptor = track;
	return tsct_pf_put(x, &one);
}

int tsct_pf_put_node(struct tsct_export *x, __u32 node)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__ProcessDescriptor process =
		TSCT_PERFETTO__PROCESS_DESCRIPTOR__INIT;
	int err;

	process.has_pid = 1;
	process.pid = node + 1;
	process.process_name = tsct_pf_clean(x->nodes[node], strlen(x->nodes[node]));
	if (!process.process_name)
		return -ENOMEM;
	track.process = &process;
	err = tsct_pf_put_track(x, TRACK_NODE | node, 0, &track);
	free(process.process_name);
	return err;
}

/* Idle threads all have the same id: Perfetto does not accept them as threads. */
int tsct_pf_put_thread(struct tsct_export *x, struct tsct_thread *t)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__ThreadDescriptor thread =
		TSCT_PERFETTO__THREAD_DESCRIPTOR__INIT;
	char title[TSCT_THREAD_TITLE_MAX], tidy[3 * sizeof(title) + 1];
	__u64 parent = TRACK_NODE | t->node;

	if (t->own && !t->renamed)
		return 0;
	t->own = 1;
	t->renamed = false;
	tsct_thread_title(t, title);
	tsct_utf8_clean(tidy, title, strlen(title));
	if (t->tid) {
		thread.has_pid = thread.has_tid = 1;
		thread.pid = t->node + 1;
		thread.tid = t->tid;
		thread.thread_name = tidy;
		track.thread = &thread;
	} else {
		track.name = tidy;
	}
	return tsct_pf_put_track(x, TRACK_THREAD | t->index, parent, &track);
}

int tsct_pf_put_counter_track(struct tsct_export *x,
			      const struct tsct_export_event *ev, __u32 field,
			      bool only)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__CounterDescriptor counter =
		TSCT_PERFETTO__COUNTER_DESCRIPTOR__INIT;
	const struct tsct_event_def *def = ev->e->def;
	char title[TSCT_EVENT_NAME_MAX + TSCT_FIELD_NAME_MAX + 1];
	char *category = x->rec->streams[ev->e->stream].name;

	snprintf(title, sizeof(title), "%s%s%s", def->name, only ? "" : ".",
		 only ? "" : def->fields[field].name);
	track.name = title;
	counter.n_categories = 1;
	counter.categories = &category;
	track.counter = &counter;
	return tsct_pf_put_track(x, counter_track(ev->thread->node, ev->def, field),
			 TRACK_NODE | ev->thread->node, &track);
}
