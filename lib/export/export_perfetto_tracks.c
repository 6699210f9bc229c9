// SPDX-License-Identifier: MIT
/* Describes the tracks of nodes, processes, threads and counters */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export_perfetto.h"
#include "lib/query/value_text.h"

__u64 tsct_perfetto_counter_track(__u32 node, __u32 def, __u32 field)
{
	return TRACK_COUNTER | (__u64)node << 32 | def << FIELD_BITS | field;
}

int tsct_perfetto_put_track(struct tsct_export *x, __u64 uuid, __u64 parent,
			    TsctPerfetto__TrackDescriptor *track)
{
	packet one = TSCT_PERFETTO__TRACE_PACKET__INIT;

	track->has_uuid = 1;
	track->uuid = uuid;
	track->has_parent_uuid = !!parent;
	track->parent_uuid = parent;
	one.track_descriptor = track;
	return tsct_perfetto_put(x, &one);
}

/* Describes the largest errors of all times: the format has no field for them, but viewers
 * show the labels of a process. Of nodes that were never compared, none is stated. */
static void label_errors(const struct tsct_export *x, char *text, size_t size)
{
	static const char *const names[TSCT_EXPORT_ERRORS] = {
		"CLOCK_REALTIME", "nodes", "UTC",
	};
	const bool compared = !x->rec->merged || x->rec->compared != TSCT_COMPARED_UNKNOWN;
	__u64 errors[TSCT_EXPORT_ERRORS];
	size_t len = 0;
	int i;

	tsct_export_errors(x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++) {
		if (i == 1 && x->nr_nodes == 1)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%s ", i ? ", " :
					"error bounds: ", names[i]);
		if (compared && errors[i] != UINT64_MAX)
			len += (size_t)snprintf(text + len, size - len, "%" PRIu64 " ns",
						(uint64_t)errors[i]);
		else
			len += (size_t)snprintf(text + len, size - len, "unknown");
	}
}

/* The format has 31 bits for it: nodes after the 256th share numbers of processes. */
__s32 tsct_perfetto_pid(const struct tsct_export *x, __u32 node, __u32 tgid)
{
	return (__s32)(tsct_export_pid(x, node, tgid) & INT32_MAX);
}

static int put_process(struct tsct_export *x, struct tsct_thread *p)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__ProcessDescriptor process =
		TSCT_PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char title[TSCT_THREAD_LABEL_MAX], tidy[3 * sizeof(title) + 1];

	if (p->own && !p->renamed)
		return 0;
	p->own = 1;
	p->renamed = false;
	tsct_thread_label(p, title);
	tsct_utf8_clean(tidy, title, strlen(title));
	process.has_pid = 1;
	process.pid = tsct_perfetto_pid(x, p->node, p->tid);
	process.process_name = tidy;
	track.process = &process;
	return tsct_perfetto_put_track(x, TRACK_PROCESS | p->index, 0, &track);
}

static int put_node(struct tsct_export *x, __u32 node, char *label)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__ProcessDescriptor process =
		TSCT_PERFETTO__PROCESS_DESCRIPTOR__INIT;
	int err;

	process.n_process_labels = 1;
	process.process_labels = &label;
	process.has_pid = 1;
	process.pid = tsct_perfetto_pid(x, node, 0);
	process.process_name = tsct_perfetto_clean(x->nodes[node], strlen(x->nodes[node]));
	if (!process.process_name)
		return -ENOMEM;
	track.process = &process;
	err = tsct_perfetto_put_track(x, TRACK_NODE | node, 0, &track);
	free(process.process_name);
	return err;
}

/* Writes the track of a thread. All idle threads have the same id, which Perfetto does
 * not accept for threads. */
int tsct_perfetto_put_thread(struct tsct_export *x, struct tsct_thread *t)
{
	TsctPerfetto__TrackDescriptor track =
		TSCT_PERFETTO__TRACK_DESCRIPTOR__INIT;
	TsctPerfetto__ThreadDescriptor thread =
		TSCT_PERFETTO__THREAD_DESCRIPTOR__INIT;
	char title[TSCT_THREAD_LABEL_MAX], tidy[3 * sizeof(title) + 1];
	struct tsct_thread *process;
	__u64 parent = TRACK_NODE | t->node;
	int err;

	if (t->own && !t->renamed)
		return 0;
	process = tsct_export_process(x, t);
	if (process) {
		parent = TRACK_PROCESS | process->index;
		err = put_process(x, process);
		if (err)
			return err;
	}
	t->own = 1;
	t->renamed = false;
	tsct_thread_label(t, title);
	tsct_utf8_clean(tidy, title, strlen(title));
	if (t->tid) {
		thread.has_pid = thread.has_tid = 1;
		thread.pid = tsct_perfetto_pid(x, t->node, t->tgid);
		thread.tid = t->tid;
		thread.thread_name = tidy;
		track.thread = &thread;
	} else {
		track.name = tidy;
	}
	return tsct_perfetto_put_track(x, TRACK_THREAD | t->index, parent, &track);
}

int tsct_perfetto_put_counter_track(struct tsct_export *x, const struct tsct_export_event *ev,
				    __u32 field, bool only)
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
	return tsct_perfetto_put_track(x, tsct_perfetto_counter_track(ev->thread->node, ev->def,
								      field),
				       TRACK_NODE | ev->thread->node, &track);
}

int tsct_perfetto_put_nodes(struct tsct_export *x)
{
	char label[160];
	__u32 i;
	int err = 0;

	label_errors(x, label, sizeof(label));
	for (i = 0; i < x->nr_nodes && !err; i++)
		err = put_node(x, i, label);
	return err;
}
