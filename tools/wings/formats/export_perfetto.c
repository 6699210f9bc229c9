// SPDX-License-Identifier: MIT
/*
 * Exports Perfetto's own format: a sequence of packets as in export_perfetto.proto. Each
 * name is written once, in the first packet that needs it. Threads whose process is unknown
 * are shown in a process that stands for their node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/export/export.h"
#include "export_perfetto.pb-c.h"
#include "lib/query/value_text.h"
#include "lib/export/build_id.h"
#include "lib/statedump/statedump.h"
#include "lib/export/stacks.h"

/* Flags of a packet: clears Perfetto's interned data; needs the interned data */
#define STATE_CLEARED	1
#define STATE_NEEDED	2

/* Ranges of track numbers, which do not overlap */
#define TRACK_THREAD	(1ULL << 60)
#define TRACK_COUNTER	(2ULL << 60)
#define TRACK_NODE	(3ULL << 60)
#define TRACK_LOST	(4ULL << 60)
#define TRACK_PROCESS	(5ULL << 60)

/* A field name's interned ID: (definition number << FIELD_BITS | field number) + 1 */
#define FIELD_BITS	5
_Static_assert(TSCT_FIELDS_MAX <= 1 << FIELD_BITS, "names of fields");

/* Sets an optional field of a message. */
#define SET(message, field, value)	((message)->has_##field = 1, (message)->field = (value))

typedef Pft__TracePacket packet;
typedef Pft__DebugAnnotation annotation;
typedef Pft__InternedName name;

/* The thread that runs on a CPU, as the file says; of a location */
struct cpu_thread {
	bool any;		/* the file has a switch on this CPU */
	__u32 tid;
	char name[TSCT_THREAD_NAME_MAX];
	__u64 blind;		/* end of the last loss of switches that the file has, tick */
};

struct perfetto {
	__u8 *out;
	size_t room;
	/* one flag per event definition: names of event and fields were written */
	bool *named;
	bool *counted;	/* one flag per node and event definition: its tracks exist */
	struct tsct_stacks *stacks;
	/* by index: this stack, this frame was written */
	bool *stack_named, *frame_named;
	struct cpu_thread *cpus;	/* by location; NULL: no scheduling is exported */
	/* Parts of the packet that is being composed: annotations, their texts, and names */
	annotation notes[TSCT_FIELDS_MAX + 2];
	annotation *note[TSCT_FIELDS_MAX + 2];
	char *texts[TSCT_FIELDS_MAX + 2];
	unsigned int nr_notes;
	name names[TSCT_FIELDS_MAX + 2];
	name *field_names[TSCT_FIELDS_MAX];
};

/* Short names for Perfetto's types of track events */
#define SLICE_BEGIN	PFT__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN
#define SLICE_END	PFT__TRACK_EVENT__TYPE__TYPE_SLICE_END
#define INSTANT		PFT__TRACK_EVENT__TYPE__TYPE_INSTANT
#define COUNTER		PFT__TRACK_EVENT__TYPE__TYPE_COUNTER

static __u64 field_name(__u32 def, __u32 field)
{
	return ((__u64)def << FIELD_BITS | field) + 1;
}

/* Returns the interned ID of the name "tsctrace.cpu"; it is above the IDs of the field
 * names of all event definitions. */
static __u64 cpu_name(const struct tsct_export *x)
{
	return field_name(x->nr_defs, 0);
}

static __u64 kind_name(const struct tsct_export *x)
{
	return field_name(x->nr_defs, 1);
}

#define SEQUENCE	1

/* Perfetto's number of CLOCK_REALTIME, the clock of all times */
#define CLOCK_REAL	1
/* That of CLOCK_BOOTTIME, which events of the scheduler have: in our files it is equal */
#define CLOCK_BOOT	6

/* Stands on a CPU for the thread that runs while this is unknown. Linux has no such number. */
#define NOT_RECORDED	(1U << 30)
#define NOT_RECORDED_NAME "not recorded"
/* Bits of prev_state of a thread that has ended */
#define STATE_DEAD	0x30

/* State of a thread of which no more is known: Perfetto has no name for it. */
#define STATE_UNKNOWN	0x1000

/* ---- packets ----------------------------------------------------------- */

static void set_time(packet *one, __s64 ns)
{
	SET(one, timestamp, ns);
	SET(one, sequence_flags, STATE_NEEDED);
}

static void set_name(name *n, __u64 iid, const char *text)
{
	pft__interned_name__init(n);
	SET(n, iid, iid);
	n->name = (char *)text;
}

/* Writes a packet. Returns 0 or -ENOMEM. */
static int put_packet(struct tsct_export *x, packet *one)
{
	Pft__Trace trace = PFT__TRACE__INIT;
	struct perfetto *p = x->own;
	size_t size;

	SET(one, trusted_packet_sequence_id, SEQUENCE);
	trace.n_packet = 1;
	trace.packet = &one;
	size = pft__trace__get_packed_size(&trace);
	if (tsct_array_reserve(&p->out, &p->room, size, 1))
		return -ENOMEM;
	pft__trace__pack(&trace, p->out);
	fwrite(p->out, 1, size, x->file);
	return 0;
}

/* Writes a packet with names, stacks or frames. Later packets refer to these by ID. */
static int put_interned(struct tsct_export *x, Pft__InternedData *interned)
{
	packet one = PFT__TRACE_PACKET__INIT;

	one.interned_data = interned;
	SET(&one, sequence_flags, STATE_NEEDED);
	return put_packet(x, &one);
}

/* Writes the first packet, which clears the interned data and defines the clocks. */
static int put_clock(struct tsct_export *x)
{
	Pft__ClockSnapshot__Clock real = PFT__CLOCK_SNAPSHOT__CLOCK__INIT;
	Pft__ClockSnapshot__Clock boot = PFT__CLOCK_SNAPSHOT__CLOCK__INIT;
	Pft__ClockSnapshot__Clock *clocks[] = { &real, &boot };
	Pft__ClockSnapshot snapshot = PFT__CLOCK_SNAPSHOT__INIT;
	Pft__TracePacketDefaults defaults = PFT__TRACE_PACKET_DEFAULTS__INIT;
	packet one = PFT__TRACE_PACKET__INIT;

	SET(&real, clock_id, CLOCK_REAL);
	SET(&real, timestamp, x->begin_ns);
	SET(&boot, clock_id, CLOCK_BOOT);
	SET(&boot, timestamp, x->begin_ns);
	snapshot.n_clocks = 2;
	snapshot.clocks = clocks;
	SET(&snapshot, primary_trace_clock, CLOCK_REAL);
	SET(&defaults, timestamp_clock_id, CLOCK_REAL);
	one.clock_snapshot = &snapshot;
	one.trace_packet_defaults = &defaults;
	SET(&one, sequence_flags, STATE_CLEARED);
	SET(&one, first_packet_on_sequence, 1);
	return put_packet(x, &one);
}

/* Returns a malloc'ed copy of a text, in valid UTF-8; NULL: out of memory */
static char *clean_text(const char *text, size_t len)
{
	char *to = malloc(3 * len + 1);

	if (to)
		tsct_utf8_clean(to, text, len);
	return to;
}

/* ---- tracks: nodes, processes, threads and counters ----------------------- */

static __u64 counter_track(__u32 node, __u32 def, __u32 field)
{
	return TRACK_COUNTER | (__u64)node << 32 | def << FIELD_BITS | field;
}

static int put_track(struct tsct_export *x, __u64 uuid, __u64 parent,
		     Pft__TrackDescriptor *track)
{
	packet one = PFT__TRACE_PACKET__INIT;

	SET(track, uuid, uuid);
	track->has_parent_uuid = !!parent;
	track->parent_uuid = parent;
	one.track_descriptor = track;
	return put_packet(x, &one);
}

/* Describes the largest errors of all times, for the label of a process: the format has no
 * field for errors. If nodes were never compared, all errors are "unknown". */
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
		if (i == 1 && !x->several_nodes)
			continue;
		len += (size_t)snprintf(text + len, size - len, "%s%s ", i ? ", " :
					"error bounds: ", names[i]);
		if (compared && errors[i] != UINT64_MAX)
			len += (size_t)snprintf(text + len, size - len, "%llu ns",
						errors[i]);
		else
			len += (size_t)snprintf(text + len, size - len, "unknown");
	}
}

/* Returns a process's number in the export, 31 bits: nodes after the 256th share numbers. */
static __s32 pid_of(const struct tsct_export *x, __u32 node, __u32 tgid)
{
	return (__s32)(tsct_export_pid(x, node, tgid) & INT32_MAX);
}

static int put_process(struct tsct_export *x, struct tsct_thread *p)
{
	Pft__TrackDescriptor track = PFT__TRACK_DESCRIPTOR__INIT;
	Pft__ProcessDescriptor process = PFT__PROCESS_DESCRIPTOR__INIT;
	char title[TSCT_THREAD_LABEL_MAX], tidy[3 * sizeof(title) + 1];

	if (p->own && !p->renamed)
		return 0;
	p->own = 1;
	p->renamed = false;
	tsct_thread_label(p, title);
	tsct_utf8_clean(tidy, title, strlen(title));
	SET(&process, pid, pid_of(x, p->node, p->tid));
	process.process_name = tidy;
	track.process = &process;
	return put_track(x, TRACK_PROCESS | p->index, 0, &track);
}

static int put_node(struct tsct_export *x, __u32 node, char **labels, size_t nr_labels)
{
	Pft__TrackDescriptor track = PFT__TRACK_DESCRIPTOR__INIT;
	Pft__ProcessDescriptor process = PFT__PROCESS_DESCRIPTOR__INIT;
	int err;

	process.n_process_labels = nr_labels;
	process.process_labels = labels;
	SET(&process, pid, pid_of(x, node, 0));
	process.process_name = clean_text(x->nodes[node], strlen(x->nodes[node]));
	if (!process.process_name)
		return -ENOMEM;
	track.process = &process;
	err = put_track(x, TRACK_NODE | node, 0, &track);
	free(process.process_name);
	return err;
}

/* Writes the track of a thread. An idle thread gets no thread descriptor: all idle threads
 * have the same id, which Perfetto does not accept. */
static int put_thread(struct tsct_export *x, struct tsct_thread *t)
{
	Pft__TrackDescriptor track = PFT__TRACK_DESCRIPTOR__INIT;
	Pft__ThreadDescriptor thread = PFT__THREAD_DESCRIPTOR__INIT;
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
		SET(&thread, pid, pid_of(x, t->node, t->tgid));
		SET(&thread, tid, t->tid);
		thread.thread_name = tidy;
		track.thread = &thread;
	} else {
		track.name = tidy;
	}
	return put_track(x, TRACK_THREAD | t->index, parent, &track);
}

static int put_counter_track(struct tsct_export *x, const struct tsct_export_event *ev,
			     __u32 field, bool only)
{
	Pft__TrackDescriptor track = PFT__TRACK_DESCRIPTOR__INIT;
	Pft__CounterDescriptor counter = PFT__COUNTER_DESCRIPTOR__INIT;
	const struct tsct_event_def *def = ev->e->def;
	char title[TSCT_EVENT_NAME_MAX + TSCT_FIELD_NAME_MAX + 1];
	char *category = x->rec->streams[ev->e->stream].name;

	snprintf(title, sizeof(title), "%s%s%s", def->name, only ? "" : ".",
		 only ? "" : def->fields[field].name);
	track.name = title;
	counter.n_categories = 1;
	counter.categories = &category;
	track.counter = &counter;
	return put_track(x, counter_track(ev->thread->node, ev->def,
					  field),
				       TRACK_NODE | ev->thread->node, &track);
}

static int put_nodes(struct tsct_export *x)
{
	const struct tsct_recorded_timeline *t = &x->rec->timeline;
	char label[160], timeline[80], *labels[] = { label, timeline };
	const bool on_cluster = x->rec->merged && t->on && t->master &&
		x->rec->compared == TSCT_COMPARED_SAMPLES;
	__u32 i;
	int err = 0;

	label_errors(x, label, sizeof(label));
	/* trace-ctl align puts the export beside other traces of that timeline. */
	snprintf(timeline, sizeof(timeline), "timeline: %u of master %llu", t->number, t->master);
	for (i = 0; i < x->nr_nodes && !err; i++)
		if (!x->rec->nodes[i].same)
			err = put_node(x, i, labels, on_cluster ? 2 : 1);
	return err;
}

/* ---- samples: stacks and their frames, once each ------------------------- */

/* Writes a frame: its function, its file and the file's build id. Each frame gets a mapping
 * of its own. Perfetto joins equal mappings, and frames are few in comparison with samples. */
static int put_frame(struct tsct_export *x, struct tsct_stack_frame *f)
{
	Pft__InternedData interned = PFT__INTERNED_DATA__INIT;
	Pft__Mapping mapping = PFT__MAPPING__INIT, *mappings = &mapping;
	Pft__Frame frame = PFT__FRAME__INIT, *frames = &frame;
	Pft__InternedBytes build_id = PFT__INTERNED_BYTES__INIT, *build_ids = &build_id;
	name function, path, *functions = &function, *paths = &path;
	__u8 id[TSCT_BUILD_ID_MAX];
	struct perfetto *p = x->own;
	const char *text = tsct_stacks_name(p->stacks, f);
	char *tidy = clean_text(text, strlen(text));
	char *file = clean_text(f->file, strlen(f->file));
	uint64_t iid = (uint64_t)f->index + 1;
	int err = -ENOMEM;

	set_name(&function, iid, tidy);
	set_name(&path, iid, file);
	SET(&build_id, iid, iid);
	build_id.has_str = 1;
	build_id.str = (ProtobufCBinaryData) { tsct_build_id_bytes(f->build_id, id), id };
	SET(&mapping, iid, iid);
	SET(&mapping, build_id, iid);
	mapping.n_path_string_ids = 1;
	mapping.path_string_ids = &iid;
	SET(&frame, iid, iid);
	SET(&frame, function_name_id, iid);
	SET(&frame, mapping_id, iid);
	SET(&frame, rel_pc, f->address);
	interned.n_function_names = interned.n_mapping_paths = interned.n_build_ids = 1;
	interned.function_names = &functions;
	interned.mapping_paths = &paths;
	interned.build_ids = &build_ids;
	interned.n_mappings = interned.n_frames = 1;
	interned.mappings = &mappings;
	interned.frames = &frames;
	if (tidy && file)
		err = put_interned(x, &interned);
	p->frame_named[f->index] = true;
	free(tidy);
	free(file);
	return err;
}

/* Writes a stack, unless it was written before. */
static int put_stack(struct tsct_export *x, const struct tsct_stack *stack)
{
	Pft__InternedData interned = PFT__INTERNED_DATA__INIT;
	Pft__Callstack callstack = PFT__CALLSTACK__INIT, *callstacks = &callstack;
	struct perfetto *p = x->own;
	uint64_t *ids;
	int err = 0;
	__u32 i;

	if (p->stack_named[stack->index])
		return 0;
	p->stack_named[stack->index] = true;
	ids = calloc(stack->nr + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (i = 0; i < stack->nr && !err; i++) {
		ids[stack->nr - 1 - i] = (uint64_t)stack->frames[i]->index + 1;
		if (!p->frame_named[stack->frames[i]->index])
			err = put_frame(x, stack->frames[i]);
	}
	SET(&callstack, iid, (uint64_t)stack->index + 1);
	callstack.n_frame_ids = stack->nr;
	callstack.frame_ids = ids;
	interned.n_callstacks = 1;
	interned.callstacks = &callstacks;
	err = err ? err : put_interned(x, &interned);
	free(ids);
	return err;
}

/* Writes the stack of an event as a sample of its thread, as Perfetto's profilers do. */
static int put_sample(struct tsct_export *x, const struct tsct_export_event *ev)
{
	Pft__PerfSample sample = PFT__PERF_SAMPLE__INIT;
	packet one = PFT__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	const struct tsct_stack *stack = tsct_stacks_of(p->stacks, x->rec, ev->e);
	int err;

	if (!stack || !stack->nr || !ev->thread->tid)
		return 0;
	err = put_stack(x, stack);
	if (err)
		return err;
	set_time(&one, ev->ns);
	SET(&sample, cpu, ev->e->cpu);
	SET(&sample, pid, pid_of(x, ev->thread->node, ev->thread->tgid));
	SET(&sample, tid, ev->thread->tid);
	SET(&sample, callstack_iid, (uint64_t)stack->index + 1);
	SET(&sample, cpu_mode, stack->nr_kernel ? 1 : 2);
	one.perf_sample = &sample;
	return put_packet(x, &one);
}

/* ---- fields as annotations ----------------------------------------------- */

static annotation *add_note(struct perfetto *p, __u64 name_iid)
{
	annotation *note = &p->notes[p->nr_notes];

	pft__debug_annotation__init(note);
	SET(note, name_iid, name_iid);
	p->note[p->nr_notes] = note;
	p->texts[p->nr_notes++] = NULL;
	return note;
}

static void drop_notes(struct perfetto *p)
{
	while (p->nr_notes)
		free(p->texts[--p->nr_notes]);
}

/* Sets the string value of an annotation. Takes ownership of the malloc'ed @text. */
static int set_text(struct perfetto *p, annotation *note, char *text)
{
	p->texts[note - p->notes] = text;
	note->string_value = text;
	return text ? 0 : -ENOMEM;
}

static int set_bytes(struct perfetto *p, annotation *note,
		     const struct tsct_value *v)
{
	char *hex = malloc(2 * v->size + 1);
	size_t i;

	if (hex)
		hex[0] = '\0';
	for (i = 0; hex && i < v->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", v->at[i]);
	return set_text(p, note, hex);
}

static int set_integer(struct perfetto *p, annotation *note,
		       const struct tsct_value *v)
{
	const char *call = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);

	if (call)
		return set_text(p, note, strdup(call));
	if (v->field->type > TSCT_TYPE_U64) {
		SET(note, int_value, value);
	} else if (v->field->format == TSCT_FORMAT_HEX) {
		/* Perfetto shows pointers in hexadecimal. */
		SET(note, pointer_value, value);
	} else {
		SET(note, uint_value, value);
	}
	return 0;
}

static int set_value(struct perfetto *p, annotation *note,
		     const struct tsct_value *v)
{
	if (tsct_value_is_integer(v))
		return set_integer(p, note, v);
	if (tsct_value_is_text(v))
		return set_text(p, note, clean_text((const char *)v->at,
						    tsct_value_text_len(v)));
	if (!tsct_value_is_float(v))
		return set_bytes(p, note, v);
	SET(note, double_value, tsct_value_double(v));
	return 0;
}

static int note_fields(struct tsct_export *x,
			const struct tsct_export_event *ev)
{
	struct perfetto *p = x->own;
	char text[TSCT_SYSCALL_TEXT_MAX];
	struct tsct_value v;
	unsigned int nr = 0;
	annotation *note;
	size_t pos = 0;
	int err = 0;

	note = add_note(p, cpu_name(x));
	SET(note, uint_value, ev->e->cpu);
	if (ev->act == TSCT_ACT_ORPHAN)
		err = set_text(p, add_note(p, kind_name(x)),
			       strdup(tsct_kind_names[ev->e->def->kind]));
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		note = add_note(p, field_name(ev->def, nr - 1));
		err = tsct_syscall_value(x->defs[ev->def].call, ev->e, &v, text) ?
			set_text(p, note, strdup(text)) : set_value(p, note, &v);
	}
	return err;
}

/* ---- events ------------------------------------------------------------ */

/* Writes an event with definition @def on the thread's track, with all annotations. */
static int put_event(struct tsct_export *x, const struct tsct_export_event *ev,
		     __u32 def, Pft__TrackEvent *event)
{
	Pft__InternedData interned = PFT__INTERNED_DATA__INIT;
	const struct tsct_event_def *d = x->defs[def].def;
	packet one = PFT__TRACE_PACKET__INIT;
	struct perfetto *p = x->own;
	uint64_t category = x->defs[def].stream + 1;
	name *event_name = &p->names[TSCT_FIELDS_MAX];
	__u32 f;
	int err;

	set_time(&one, ev->ns);
	/* The packet of a definition's first event also defines the names of the event
	 * and of its fields; later packets refer to these names by ID. */
	if (!p->named[def]) {
		p->named[def] = true;
		set_name(event_name, def + 1, d->name);
		interned.n_event_names = 1;
		interned.event_names = &event_name;
		for (f = 0; f < d->nr_fields; f++) {
			p->field_names[f] = &p->names[f];
			set_name(&p->names[f], field_name(def, f), d->fields[f].name);
		}
		interned.n_debug_annotation_names = d->nr_fields;
		interned.debug_annotation_names = p->field_names;
		one.interned_data = &interned;
	}
	SET(event, name_iid, def + 1);
	event->n_category_iids = 1;
	event->category_iids = &category;
	event->n_debug_annotations = p->nr_notes;
	event->debug_annotations = p->note;
	one.track_event = event;
	err = put_packet(x, &one);
	drop_notes(p);
	return err;
}

static int put_on_thread(struct tsct_export *x, const struct tsct_export_event *ev, __u32 def,
			 Pft__TrackEvent__Type type)
{
	Pft__TrackEvent event = PFT__TRACK_EVENT__INIT;
	uint64_t message = ev->message;

	SET(&event, type, type);
	SET(&event, track_uuid, TRACK_THREAD | ev->thread->index);
	if (message && ev->act == TSCT_ACT_SEND) {
		event.n_flow_ids = 1;
		event.flow_ids = &message;
	} else if (message) {
		event.n_terminating_flow_ids = 1;
		event.terminating_flow_ids = &message;
	}
	return put_event(x, ev, def, &event);
}

static int put_cut(struct tsct_export *x, const struct tsct_export_event *ev, __u32 slice,
		   bool begins)
{
	return begins ? note_fields(x, ev) ?: put_on_thread(x, ev, ev->def, SLICE_BEGIN) :
		put_on_thread(x, ev, x->slice_defs[slice], SLICE_END);
}

static int put_end(struct tsct_export *x, const struct tsct_export_event *ev)
{
	return note_fields(x, ev) ?: put_on_thread(x, ev, ev->def, SLICE_END);
}

/* ---- counters ---------------------------------------------------------- */

static bool is_number(const struct tsct_value *v)
{
	return tsct_value_is_float(v) ||
		(tsct_value_is_integer(v) && !tsct_value_syscall(v));
}

static int put_count(struct tsct_export *x, const struct tsct_export_event *ev,
		     __u32 field, const struct tsct_value *v)
{
	Pft__TrackEvent event = PFT__TRACK_EVENT__INIT;

	SET(&event, type, COUNTER);
	SET(&event, track_uuid, counter_track(ev->thread->node, ev->def, field));
	if (tsct_value_is_float(v) || tsct_value_exceeds_s64(v)) {
		SET(&event, double_counter_value, tsct_value_is_float(v) ?
			tsct_value_double(v) : (double)(__u64)tsct_value_integer(v));
	} else {
		SET(&event, counter_value, tsct_value_integer(v));
	}
	return put_event(x, ev, ev->def, &event);
}

/* Writes each number of an event to its own counter track. The first of these track
 * events has all fields of the event as annotations. */
static int put_counts(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct perfetto *p = x->own;
	bool *counted = &p->counted[ev->thread->node * x->nr_defs + ev->def];
	__u32 numbers = 0;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	int err = note_fields(x, ev);

	while (tsct_value_next(ev->e, &nr, &pos, &v))
		numbers += is_number(&v);
	if (!numbers)
		return err ? err : put_on_thread(x, ev, ev->def, INSTANT);
	nr = 0;
	pos = 0;
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (!is_number(&v))
			continue;
		if (!*counted)
			err = put_counter_track(x, ev, nr - 1, numbers == 1);
		if (!err)
			err = put_count(x, ev, nr - 1, &v);
	}
	*counted = true;
	return err;
}

/* ---- scheduling -------------------------------------------------------- */

/*
 * Perfetto makes its tables `sched` and `thread_state` from the events of the scheduler: a thread
 * runs on a CPU from a switch to it until the next switch of that CPU. So the file has each
 * recorded switch, and where it is unknown who runs, a switch to and from the thread NOT_RECORDED.
 *
 * Perfetto tells threads by their numbers alone, which several nodes share: then there is none.
 */

static int put_ftrace(struct tsct_export *x, __u32 location, Pft__FtraceEvent *event, __s64 ns)
{
	Pft__FtraceEventBundle bundle = PFT__FTRACE_EVENT_BUNDLE__INIT;
	struct cpu_thread *cpu = &((struct perfetto *)x->own)->cpus[location];
	packet one = PFT__TRACE_PACKET__INIT;

	SET(event, timestamp, ns);
	SET(&bundle, cpu, x->rec->locations[location].cpu);
	bundle.has_lost_events = bundle.lost_events =
		x->known.blind_until[location] > cpu->blind;
	cpu->blind = x->known.blind_until[location];
	bundle.n_event = 1;
	bundle.event = &event;
	one.ftrace_events = &bundle;
	return put_packet(x, &one);
}

/* Writes a switch to the thread @tid. @e: the recorded event; NULL: the thread that ran before is
 * no more known to run, or this one is known to run already */
static int put_switch(struct tsct_export *x, __u32 location, __s64 ns, __u32 tid,
		      const char *title, const struct tsct_trace_event *e)
{
	struct cpu_thread *cpu = &((struct perfetto *)x->own)->cpus[location];
	Pft__FtraceEvent event = PFT__FTRACE_EVENT__INIT;
	Pft__SchedSwitch one = PFT__SCHED_SWITCH__INIT;
	char prev[3 * TSCT_THREAD_NAME_MAX + 1], next[3 * TSCT_THREAD_NAME_MAX + 1];
	const __u32 before = cpu->any ? cpu->tid : NOT_RECORDED;

	tsct_utf8_clean(prev, cpu->any ? cpu->name : NOT_RECORDED_NAME,
			strlen(cpu->any ? cpu->name : NOT_RECORDED_NAME));
	tsct_utf8_clean(next, title, strnlen(title, TSCT_THREAD_NAME_MAX));
	SET(&event, pid, before);
	event.sched_switch = &one;
	one.prev_comm = prev;
	SET(&one, prev_pid, before);
	SET(&one, prev_state, e ? tsct_value_integer_of(e, "prev_state") : STATE_UNKNOWN);
	one.next_comm = next;
	SET(&one, next_pid, tid);
	if (e) {
		SET(&one, prev_prio, tsct_value_integer_of(e, "prev_prio"));
		SET(&one, next_prio, tsct_value_integer_of(e, "next_prio"));
	}
	cpu->any = true;
	cpu->tid = tid;
	snprintf(cpu->name, sizeof(cpu->name), "%.*s", TSCT_THREAD_NAME_MAX - 1, title);
	return put_ftrace(x, location, &event, ns);
}

/* It is unknown which thread runs on a CPU from then on. */
static int put_unknown(struct tsct_export *x, __u32 location, __s64 ns)
{
	const struct cpu_thread *cpu = &((struct perfetto *)x->own)->cpus[location];

	return !cpu->any || cpu->tid == NOT_RECORDED ? 0 :
		put_switch(x, location, ns, NOT_RECORDED, NOT_RECORDED_NAME, NULL);
}

static const char *name_of(const struct tsct_trace_event *e, const char *field)
{
	struct tsct_value v;

	return tsct_value_find(e, field, &v) && tsct_value_is_text(&v) ? (const char *)v.at : "";
}

/* Writes that a thread was switched away for the last time. */
static int put_free(struct tsct_export *x, const struct tsct_export_event *ev, __u32 tid)
{
	Pft__FtraceEvent event = PFT__FTRACE_EVENT__INIT;
	Pft__SchedProcessFree one = PFT__SCHED_PROCESS_FREE__INIT;

	SET(&event, pid, tid);
	event.sched_process_free = &one;
	SET(&one, pid, tid);
	return put_ftrace(x, ev->e->location, &event, ev->ns);
}

static int put_fork(struct tsct_export *x, const struct tsct_export_event *ev)
{
	Pft__FtraceEvent event = PFT__FTRACE_EVENT__INIT;
	Pft__SchedProcessFork one = PFT__SCHED_PROCESS_FORK__INIT;
	char title[3 * TSCT_THREAD_NAME_MAX + 1];
	const char *comm = name_of(ev->e, "comm");

	tsct_utf8_clean(title, comm, strnlen(comm, TSCT_THREAD_NAME_MAX));
	SET(&event, pid, ev->e->tid);
	event.sched_process_fork = &one;
	SET(&one, parent_pid, ev->e->tid);
	one.child_comm = title;
	SET(&one, child_pid, tsct_value_integer_of(ev->e, "child_tid"));
	return put_ftrace(x, ev->e->location, &event, ev->ns);
}

/* Writes a recorded switch. */
static int put_recorded(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const __u32 prev = (__u32)tsct_value_integer_of(ev->e, "prev_tid");
	const __u32 next = (__u32)tsct_value_integer_of(ev->e, "next_tid");
	const __u32 at = ev->e->location;
	const struct cpu_thread *cpu = &((struct perfetto *)x->own)->cpus[at];
	int err = 0;

	if (!cpu->any || cpu->tid != prev)
		err = put_switch(x, at, ev->ns, prev, name_of(ev->e, "prev_comm"), NULL);
	err = err ?: put_switch(x, at, ev->ns, next, name_of(ev->e, "next_comm"), ev->e);
	if (!err && prev && tsct_value_integer_of(ev->e, "prev_state") & STATE_DEAD)
		err = put_free(x, ev, prev);
	return err || x->run.began ? err : put_unknown(x, at, ev->ns);
}

static int put_waking(struct tsct_export *x, const struct tsct_export_event *ev)
{
	Pft__FtraceEvent event = PFT__FTRACE_EVENT__INIT;
	Pft__SchedWaking one = PFT__SCHED_WAKING__INIT;
	char title[3 * TSCT_THREAD_NAME_MAX + 1];
	const char *comm = name_of(ev->e, "comm");

	tsct_utf8_clean(title, comm, strnlen(comm, TSCT_THREAD_NAME_MAX));
	SET(&event, pid, ev->e->tid);
	event.sched_waking = &one;
	one.comm = title;
	SET(&one, pid, tsct_value_integer_of(ev->e, "tid"));
	SET(&one, prio, tsct_value_integer_of(ev->e, "prio"));
	SET(&one, success, 1);
	SET(&one, target_cpu, tsct_value_integer_of(ev->e, "target_cpu"));
	return put_ftrace(x, ev->e->location, &event, ev->ns);
}

/* Returns true if another recorder of the node has recorded the switches of a location, too. */
static bool is_recorded_twice(const struct tsct_export *x, __u32 location)
{
	const struct tsct_location *l = x->rec->locations;
	__u32 i;

	for (i = 0; x->rec->merged && i < location; i++)
		if (l[i].cpu == l[location].cpu && x->known.runs[i].has_switches &&
		    tsct_known_node(&x->known, i) == tsct_known_node(&x->known, location))
			return true;
	return false;
}

/* Writes what an event tells of the scheduling. */
static int put_scheduling(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const enum tsct_kernel_event kernel = x->defs[ev->def].kernel;
	const __u32 at = ev->e->location;
	int err = 0;

	if (!((struct perfetto *)x->own)->cpus || !x->rec->streams[ev->e->stream].kernel ||
	    is_recorded_twice(x, at))
		return 0;
	if (x->run.ended && !x->run.away)
		err = put_unknown(x, at, tsct_clock_params_ns(&x->rec->real, x->run.until));
	if (!err && kernel == TSCT_KERNEL_SWITCH)
		err = put_recorded(x, ev);
	else if (!err && x->run.began)
		err = put_switch(x, at, ev->ns, ev->e->tid, ev->thread->name, NULL);
	if (!err && kernel == TSCT_KERNEL_WAKING)
		err = put_waking(x, ev);
	return err || kernel != TSCT_KERNEL_FORK ? err : put_fork(x, ev);
}

/* Ends the runs whose ends are not recorded. */
static int end_scheduling(struct tsct_export *x)
{
	const struct cpu_thread *cpus = ((struct perfetto *)x->own)->cpus;
	__u64 end;
	__u32 i;
	int err = 0;

	for (i = 0; cpus && i < x->rec->nr_locations && !err; i++) {
		end = x->known.runs[i].on ? tsct_known_run_end(&x->known, i) : UINT64_MAX;
		if (end != UINT64_MAX)
			err = put_unknown(x, i, tsct_clock_params_ns(&x->rec->real, end));
	}
	return err;
}

/* Writes the version of the kernel. */
static int put_system(struct tsct_export *x)
{
	Pft__SystemInfo system = PFT__SYSTEM_INFO__INIT;
	Pft__Utsname uts = PFT__UTSNAME__INIT;
	packet one = PFT__TRACE_PACKET__INIT;
	int err;

	uts.sysname = (char *)"Linux";
	uts.release = clean_text(x->rec->nodes[0].kernel, strlen(x->rec->nodes[0].kernel));
	if (!uts.release)
		return -ENOMEM;
	system.utsname = &uts;
	one.system_info = &system;
	err = put_packet(x, &one);
	free(uts.release);
	return err;
}

/* ---- the format -------------------------------------------------------- */

/* Writes the names of channels, and of the exporter's own annotations. */
static int put_names(struct tsct_export *x)
{
	Pft__InternedData interned = PFT__INTERNED_DATA__INIT;
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
	return put_interned(x, &interned);
}

static int begin_perfetto(struct tsct_export *x)
{
	struct perfetto *p = x->own = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->named = calloc(x->nr_defs + 1, sizeof(*p->named));
	p->counted = calloc((size_t)x->nr_nodes * x->nr_defs + 1,
			    sizeof(*p->counted));
	err = p->named && p->counted ?
		tsct_stacks_read(x->recording, x->trace, &p->stacks) : -ENOMEM;
	if (err)
		return err;
	p->stack_named = calloc(tsct_stacks_count(p->stacks) + 1, sizeof(bool));
	p->frame_named = calloc(tsct_stacks_count_frames(p->stacks) + 1, sizeof(bool));
	if (!p->stack_named || !p->frame_named)
		return -ENOMEM;
	if (x->begin_ns < 0)
		return tsct_export_fail(x, -ERANGE, "the recording begins before 1970,"
					" which this format cannot represent");
	if (!x->several_nodes) {
		p->cpus = calloc(x->rec->nr_locations + 1, sizeof(*p->cpus));
		if (!p->cpus)
			return -ENOMEM;
	}
	return put_clock(x) ?: put_system(x) ?: put_names(x) ?: put_nodes(x);
}

static int write_perfetto_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	Pft__TrackEvent__Type type = INSTANT;
	int err = put_thread(x, ev->thread) ?: put_scheduling(x, ev) ?: put_sample(x, ev);

	if (err)
		return err;
	if (ev->act == TSCT_ACT_CLOSE)
		return tsct_export_close(x, ev, put_end);
	if (ev->act == TSCT_ACT_COUNT)
		return put_counts(x, ev);
	if (ev->act == TSCT_ACT_OPEN)
		type = SLICE_BEGIN;
	err = note_fields(x, ev);
	return err ? err : put_on_thread(x, ev, ev->def, type);
}

/* Writes an event at the end that states the losses: the format has no field for them. */
static int put_lost(struct tsct_export *x, __u64 lost)
{
	Pft__TrackDescriptor track = PFT__TRACK_DESCRIPTOR__INIT;
	Pft__TrackEvent event = PFT__TRACK_EVENT__INIT;
	packet one = PFT__TRACE_PACKET__INIT;
	char title[96];
	int err;

	snprintf(title, sizeof(title), "lost events: %llu, damaged places: %llu", lost,
		 tsct_trace_corrupt_count(x->trace));
	track.name = title;
	err = put_track(x, TRACK_LOST, 0, &track);
	if (err)
		return err;
	set_time(&one, x->now_ns > x->end_ns ? x->now_ns : x->end_ns);
	SET(&event, type, INSTANT);
	SET(&event, track_uuid, TRACK_LOST);
	event.name = title;
	one.track_event = &event;
	return put_packet(x, &one);
}

static int end_perfetto(struct tsct_export *x)
{
	__u64 lost = tsct_trace_lost(x->trace);
	__u32 i;
	int err = end_scheduling(x);

	/* Writes names of threads that became known after the threads' last events. */
	for (i = 0; i < x->threads.nr && !err; i++)
		if (x->threads.all[i]->own)
			err = put_thread(x, x->threads.all[i]);
	if (err)
		return err;
	return lost || tsct_trace_corrupt_count(x->trace) ? put_lost(x, lost) : 0;
}

static void free_perfetto(struct tsct_export *x)
{
	struct perfetto *p = x->own;

	if (!p)
		return;
	drop_notes(p);
	free(p->named);
	free(p->counted);
	free(p->cpus);
	free(p->stack_named);
	free(p->frame_named);
	tsct_stacks_free(p->stacks);
	free(p->out);
	free(p);
}

const struct tsct_export_format tsct_export_perfetto = {
	.name = "perfetto", .suffix = ".pftrace", .nests = true,
	.begin = begin_perfetto, .event = write_perfetto_event, .cut = put_cut,
	.end = end_perfetto, .free = free_perfetto,
};
