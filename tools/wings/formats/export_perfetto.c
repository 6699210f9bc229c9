// SPDX-License-Identifier: MIT
/*
 * Exports Perfetto's own format: a sequence of packets. A number in brackets is the number of a
 * field in Perfetto's protos. Each name is written once, in the first packet that needs it.
 * Threads whose process is unknown are shown in a process that stands for their node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/text.h"
#include "lib/clockpage/clock_params.h"
#include "lib/export/export.h"
#include "lib/query/value_text.h"
#include "lib/statedump/statedump.h"
#include "lib/export/stacks.h"

/*
 * ---- protobuf messages: fields in the order of the calls ----------------------
 *
 * A message's length gets one byte; pb_end() makes room for more if the contents are long.
 */
#define PB_NUMBER_MAX	20	/* largest size of a tag and a number, bytes */

static inline __u8 *pb_varint_(__u8 *at, __u64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (__u8)value | 0x80;
	*at++ = (__u8)value;
	return at;
}

/* Makes room for a field's tag, a number and @len bytes; NULL (to->failed): out of memory */
static inline __u8 *pb_room_(struct tsct_text *to, size_t len)
{
	return to->room - to->len >= PB_NUMBER_MAX + len ? (__u8 *)to->at + to->len :
		(__u8 *)tsct_text_reserve(to, PB_NUMBER_MAX + len);
}

static inline void pb_number(struct tsct_text *to, __u32 field, __u64 value)
{
	__u8 *at = pb_room_(to, 0);

	if (at)
		to->len = (size_t)(pb_varint_(pb_varint_(at, field << 3), value) - (__u8 *)to->at);
}

/* Writes a field of type int32. Negative values have 64 bits. */
static inline void pb_int32(struct tsct_text *to, __u32 field, __s64 value)
{
	pb_number(to, field, (__u64)(__s32)value);
}

/* Writes a field of type fixed64 or double. */
static inline void pb_fixed64(struct tsct_text *to, __u32 field, const void *value)
{
	__u8 *at = pb_room_(to, 0);

	if (!at)
		return;
	at = pb_varint_(at, field << 3 | 1);
	memcpy(at, value, 8);
	to->len = (size_t)(at + 8 - (__u8 *)to->at);
}

static inline void pb_bytes(struct tsct_text *to, __u32 field, const void *bytes, size_t len)
{
	__u8 *at = pb_room_(to, len);

	if (!at)
		return;
	at = pb_varint_(pb_varint_(at, field << 3 | 2), len);
	memcpy(at, bytes, len);
	to->len = (size_t)(at + len - (__u8 *)to->at);
}

static inline void pb_string(struct tsct_text *to, __u32 field, const char *text)
{
	pb_bytes(to, field, text, strlen(text));
}

/* Begins a field that is a message. Returns the message's position, for pb_end(). */
static inline size_t pb_begin(struct tsct_text *to, __u32 field)
{
	__u8 *at = pb_room_(to, 0);

	if (at)
		to->len = (size_t)(pb_varint_(at, field << 3 | 2) + 1 - (__u8 *)to->at);
	return to->len;
}

static inline void pb_end(struct tsct_text *to, size_t begin)
{
	const size_t len = to->len - begin;
	__u8 digits[PB_NUMBER_MAX], *at;
	size_t more;

	if (to->failed)
		return;
	at = (__u8 *)to->at + begin;
	at[-1] = (__u8)len;
	if (likely(len < 0x80) || !pb_room_(to, 0))
		return;
	at = (__u8 *)to->at + begin;
	more = (size_t)(pb_varint_(digits, len) - digits) - 1;
	memmove(at + more, at, len);
	memcpy(at - 1, digits, more + 1);
	to->len += more;
}

/* Writes a text that may have any bytes, as valid UTF-8. */
static inline void pb_text(struct tsct_text *to, __u32 field, const char *text, size_t len)
{
	const size_t begin = pb_begin(to, field);
	char *at = tsct_text_reserve(to, 3 * len + 1);

	if (at)
		to->len += tsct_utf8_clean(at, text, len);
	pb_end(to, begin);
}

/* Flags of a packet: the packet clears Perfetto's interned data; the packet needs interned data */
#define STATE_CLEARED	1
#define STATE_NEEDED	2

/* Each kind of track has its own range of track numbers */
#define TRACK_THREAD	(1ULL << 60)
#define TRACK_COUNTER	(2ULL << 60)
#define TRACK_NODE	(3ULL << 60)
#define TRACK_LOST	(4ULL << 60)
#define TRACK_PROCESS	(5ULL << 60)

/* A field name's interned ID: (definition number << FIELD_BITS | field number) + 1 */
#define FIELD_BITS	5
_Static_assert(TSCT_FIELDS_MAX <= 1 << FIELD_BITS, "names of fields");

/* The thread that runs on a CPU according to the file */
struct cpu_thread {
	bool any;		/* the file has a switch on this CPU */
	__u32 location;		/* location of the last switch: each recorder has its own */
	__u32 tid;
	char name[TSCT_THREAD_NAME_MAX];
	__u64 blind;		/* tick at which the last written loss of switches ended */
};

#define OUT_BYTES	65536	/* packets of this size in total are written to the file, bytes */

struct perfetto {
	struct tsct_text out;	/* packets that are not in the file yet */
	size_t packet;		/* position of the packet that is being written */
	/* flag per event definition: the names of the event and its fields are written already */
	bool *named;
	bool *counted;	/* flag per node and event definition: its counter tracks are written */
	struct tsct_stacks *stacks;
	/* flag per stack, and flag per frame of stacks: it is written already */
	bool *stack_named, *frame_named;
	/* array by number of a CPU's first location; NULL: scheduling is not exported */
	struct cpu_thread *cpus;
};

/* Perfetto's types of track events */
enum track_type { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };

static __u64 field_name(__u32 def, __u32 field)
{
	return ((__u64)def << FIELD_BITS | field) + 1;
}

/* Returns the interned ID of the name "tsctrace.cpu", which is above the IDs of all field names. */
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
/* CLOCK_BOOTTIME, the clock of scheduler events; our files define it as equal to CLOCK_REALTIME */
#define CLOCK_BOOT	6

/* Thread ID that stands for an unknown thread on a CPU. Linux threads have lower IDs. */
#define NOT_RECORDED	(1U << 30)
#define NOT_RECORDED_NAME "not recorded"

/* State of a thread whose real state is unknown. Perfetto has no name for this state. */
#define STATE_UNKNOWN	0x1000

/* ---- packets ----------------------------------------------------------- */

static struct tsct_text *out_of(const struct tsct_export *x)
{
	return &((struct perfetto *)x->own)->out;
}

/* Begins a packet [1]. The caller writes the fields below 10 and field 10. */
static struct tsct_text *begin_packet(struct tsct_export *x)
{
	struct perfetto *p = x->own;

	p->packet = pb_begin(&p->out, 1);
	return &p->out;
}

/* Ends the packet. Returns 0 or -ENOMEM. The front end checks for errors of the file. */
static int end_packet(struct tsct_export *x)
{
	struct perfetto *p = x->own;

	pb_end(&p->out, p->packet);
	if (p->out.len < OUT_BYTES && !p->out.failed)
		return 0;
	fwrite(p->out.at, 1, p->out.len, x->file);
	p->out.len = 0;
	return p->out.failed ? -ENOMEM : 0;
}

/* Begins a packet that has no fields below 10. */
static struct tsct_text *begin_plain(struct tsct_export *x)
{
	struct tsct_text *to = begin_packet(x);

	pb_number(to, 10, SEQUENCE);
	return to;
}

/* Begins a packet with a time [8]. */
static struct tsct_text *begin_timed(struct tsct_export *x, __s64 ns)
{
	struct tsct_text *to = begin_packet(x);

	pb_number(to, 8, (__u64)ns);
	pb_number(to, 10, SEQUENCE);
	return to;
}

/* Writes an interned name: later packets refer to it by its ID. */
static void put_name(struct tsct_text *to, __u32 field, __u64 iid, const char *text, size_t len)
{
	const size_t name = pb_begin(to, field);

	pb_number(to, 1, iid);
	pb_bytes(to, 2, text, len);
	pb_end(to, name);
}

/* Writes the first packet, which clears the interned data and defines the clocks [6]. */
static int put_clock(struct tsct_export *x)
{
	static const __u8 clocks[] = { CLOCK_REAL, CLOCK_BOOT };
	struct tsct_text *to = begin_packet(x);
	const size_t snapshot = pb_begin(to, 6);
	size_t part, i;

	for (i = 0; i < sizeof(clocks); i++) {
		part = pb_begin(to, 1);
		pb_number(to, 1, clocks[i]);
		pb_number(to, 2, (__u64)x->begin_ns);
		pb_end(to, part);
	}
	pb_number(to, 2, CLOCK_REAL);
	pb_end(to, snapshot);
	pb_number(to, 10, SEQUENCE);
	pb_number(to, 13, STATE_CLEARED);
	part = pb_begin(to, 59);	/* defaults of packets */
	pb_number(to, 58, CLOCK_REAL);
	pb_end(to, part);
	pb_number(to, 87, 1);
	return end_packet(x);
}

/* ---- tracks: nodes, processes, threads and counters ----------------------- */

static __u64 counter_track(__u32 node, __u32 def, __u32 field)
{
	return TRACK_COUNTER | (__u64)node << 32 | def << FIELD_BITS | field;
}

/* A track, and its process, thread or counter */
struct track_descriptor {
	__u64 uuid, parent;		/* numbers of the track and its parent; parent 0: none */
	const char *name, *process, *thread, *category;	/* NULL: the track has none */
	const char *const *labels;	/* labels of a process; NULL ends the array */
	__s32 pid, tid;
};

static int put_track(struct tsct_export *x, const struct track_descriptor *t)
{
	struct tsct_text *to = begin_plain(x);
	const size_t track = pb_begin(to, 60);
	const char *const *label = t->labels;
	size_t part;

	pb_number(to, 1, t->uuid);
	if (t->name)
		pb_text(to, 2, t->name, strlen(t->name));
	if (t->process) {
		part = pb_begin(to, 3);
		pb_int32(to, 1, t->pid);
		pb_text(to, 6, t->process, strlen(t->process));
		for (; label && *label; label++)
			pb_string(to, 8, *label);
		pb_end(to, part);
	}
	if (t->thread) {
		part = pb_begin(to, 4);
		pb_int32(to, 1, t->pid);
		pb_int32(to, 2, t->tid);
		pb_text(to, 5, t->thread, strlen(t->thread));
		pb_end(to, part);
	}
	if (t->parent)
		pb_number(to, 5, t->parent);
	if (t->category) {
		part = pb_begin(to, 8);
		pb_string(to, 2, t->category);
		pb_end(to, part);
	}
	pb_end(to, track);
	return end_packet(x);
}

/* Writes a label of a process with the largest error bounds of all times, because the format
 * has no field for them. If the nodes' clocks were never compared, all bounds are "unknown". */
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

/* Returns a process's number in the export, 31 bits. Nodes after the 256th reuse numbers. */
static __s32 pid_of(const struct tsct_export *x, __u32 node, __u32 tgid)
{
	return (__s32)(tsct_export_pid(x, node, tgid) & INT32_MAX);
}

static int put_process(struct tsct_export *x, struct tsct_thread *p)
{
	char title[TSCT_THREAD_LABEL_MAX];

	if (p->own && !p->renamed)
		return 0;
	p->own = 1;
	p->renamed = false;
	tsct_thread_label(p, title);
	return put_track(x, &(struct track_descriptor) {
		.uuid = TRACK_PROCESS | p->index, .process = title,
		.pid = pid_of(x, p->node, p->tid),
	});
}

/* Writes the track of a thread. An idle thread gets no thread descriptor, because Perfetto
 * does not accept several threads with ID 0. */
static int put_thread(struct tsct_export *x, struct tsct_thread *t)
{
	char title[TSCT_THREAD_LABEL_MAX];
	struct track_descriptor track = {
		.uuid = TRACK_THREAD | t->index, .parent = TRACK_NODE | t->node,
		.tid = (__s32)t->tid,
	};
	struct tsct_thread *process;
	int err;

	if (t->own && !t->renamed)
		return 0;
	process = tsct_export_process(x, t);
	if (process) {
		track.parent = TRACK_PROCESS | process->index;
		err = put_process(x, process);
		if (err)
			return err;
	}
	t->own = 1;
	t->renamed = false;
	tsct_thread_label(t, title);
	track.pid = pid_of(x, t->node, t->tgid);
	*(t->tid ? &track.thread : &track.name) = title;
	return put_track(x, &track);
}

static int put_counter_track(struct tsct_export *x, const struct tsct_export_event *ev,
			     __u32 field, bool only)
{
	const struct tsct_event_def *def = ev->e->def;
	char title[TSCT_EVENT_NAME_MAX + TSCT_FIELD_NAME_MAX + 1];

	snprintf(title, sizeof(title), "%s%s%s", def->name, only ? "" : ".",
		 only ? "" : def->fields[field].name);
	return put_track(x, &(struct track_descriptor) {
		.uuid = counter_track(ev->thread->node, ev->def, field),
		.parent = TRACK_NODE | ev->thread->node, .name = title,
		.category = x->rec->streams[ev->e->stream].name,
	});
}

static int put_nodes(struct tsct_export *x)
{
	const struct tsct_recorded_timeline *t = &x->rec->timeline;
	const bool on_cluster = x->rec->merged && t->on && t->master &&
		x->rec->compared == TSCT_COMPARED_SAMPLES;
	char label[160], timeline[80];
	const char *const labels[] = { label, on_cluster ? timeline : NULL, NULL };
	__u32 i;
	int err = 0;

	label_errors(x, label, sizeof(label));
	/* trace-ctl align reads the timeline from this label. */
	snprintf(timeline, sizeof(timeline), "timeline: %u of master %llu", t->number, t->master);
	for (i = 0; i < x->nr_nodes && !err; i++)
		if (!x->rec->nodes[i].same)
			err = put_track(x, &(struct track_descriptor) {
				.uuid = TRACK_NODE | i, .process = x->nodes[i], .labels = labels,
				.pid = pid_of(x, i, 0),
			});
	return err;
}

/* ---- samples: stacks and their frames, once each ------------------------- */

/* Writes a frame: its function, its file and the file's build id. Each frame gets a mapping
 * of its own. Perfetto joins equal mappings, and frames are few in comparison with samples. */
static int put_frame(struct tsct_export *x, struct tsct_stack_frame *f)
{
	struct perfetto *p = x->own;
	const char *function = tsct_stacks_name(p->stacks, f);
	const __u64 iid = (__u64)f->index + 1;
	struct tsct_text *to = begin_plain(x);
	const size_t interned = pb_begin(to, 12);
	__u8 id[TSCT_BUILD_ID_MAX];
	size_t part;

	part = pb_begin(to, 5);		/* function */
	pb_number(to, 1, iid);
	pb_text(to, 2, function, strlen(function));
	pb_end(to, part);
	part = pb_begin(to, 6);		/* frame */
	pb_number(to, 1, iid);
	pb_number(to, 2, iid);
	pb_number(to, 3, iid);
	pb_number(to, 4, f->address);
	pb_end(to, part);
	part = pb_begin(to, 16);	/* build id */
	pb_number(to, 1, iid);
	pb_bytes(to, 2, id, tsct_build_id_bytes(f->build_id, id));
	pb_end(to, part);
	part = pb_begin(to, 17);	/* path of the file */
	pb_number(to, 1, iid);
	pb_text(to, 2, f->file, strlen(f->file));
	pb_end(to, part);
	part = pb_begin(to, 19);	/* mapping */
	pb_number(to, 1, iid);
	pb_number(to, 2, iid);
	pb_number(to, 7, iid);
	pb_end(to, part);
	pb_end(to, interned);
	pb_number(to, 13, STATE_NEEDED);
	p->frame_named[f->index] = true;
	return end_packet(x);
}

/* Writes a stack, unless it was written before. */
static int put_stack(struct tsct_export *x, const struct tsct_stack *stack)
{
	struct perfetto *p = x->own;
	struct tsct_text *to;
	size_t interned, part;
	int err = 0;
	__u32 i;

	if (p->stack_named[stack->index])
		return 0;
	p->stack_named[stack->index] = true;
	for (i = 0; i < stack->nr && !err; i++)
		if (!p->frame_named[stack->frames[i]->index])
			err = put_frame(x, stack->frames[i]);
	if (err)
		return err;
	to = begin_plain(x);
	interned = pb_begin(to, 12);
	part = pb_begin(to, 7);
	pb_number(to, 1, (__u64)stack->index + 1);
	for (i = stack->nr; i--;)
		pb_number(to, 2, (__u64)stack->frames[i]->index + 1);
	pb_end(to, part);
	pb_end(to, interned);
	pb_number(to, 13, STATE_NEEDED);
	return end_packet(x);
}

/* Writes the stack of an event as a sample of its thread, as Perfetto's profilers do. */
static int put_sample(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct tsct_stack *stack = tsct_stacks_of(((struct perfetto *)x->own)->stacks, x->rec,
							ev->e);
	struct tsct_text *to;
	size_t sample;
	int err;

	if (!stack || !stack->nr || !ev->thread->tid)
		return 0;
	err = put_stack(x, stack);
	if (err)
		return err;
	to = begin_timed(x, ev->ns);
	pb_number(to, 13, STATE_NEEDED);
	sample = pb_begin(to, 66);
	pb_number(to, 1, ev->e->cpu);
	pb_number(to, 2, (__u32)pid_of(x, ev->thread->node, ev->thread->tgid));
	pb_number(to, 3, ev->thread->tid);
	pb_number(to, 4, (__u64)stack->index + 1);
	pb_number(to, 5, stack->nr_kernel ? 1 : 2);
	pb_end(to, sample);
	return end_packet(x);
}

/* ---- fields as annotations ----------------------------------------------- */

static void put_integer(struct tsct_text *to, const struct tsct_value *v)
{
	const char *call = tsct_value_syscall(v);

	if (call)
		pb_string(to, 6, call);
	else	/* int; pointer, shown in hexadecimal; uint */
		pb_number(to, v->field->type > TSCT_TYPE_U64 ? 4 :
			  v->field->format == TSCT_FORMAT_HEX ? 7 : 3,
			  (__u64)tsct_value_integer(v));
}

static void put_bytes(struct tsct_text *to, const struct tsct_value *v)
{
	const size_t begin = pb_begin(to, 6);
	char *at = tsct_text_reserve(to, 2 * v->size);

	if (at)
		to->len += (size_t)(tsct_digits_bytes(at, v->at, v->size) - at);
	pb_end(to, begin);
}

static void put_value(struct tsct_text *to, const struct tsct_value *v)
{
	double number;

	if (tsct_value_is_integer(v)) {
		put_integer(to, v);
	} else if (tsct_value_is_text(v)) {
		pb_text(to, 6, (const char *)v->at, tsct_value_text_len(v));
	} else if (tsct_value_is_float(v)) {
		number = tsct_value_double(v);
		pb_fixed64(to, 5, &number);
	} else {
		put_bytes(to, v);
	}
}

/* Writes the annotations [4] of an event: its CPU, and its fields. */
static void put_fields(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct tsct_syscall *call = x->defs[ev->def].call;
	struct tsct_text *to = out_of(x);
	char text[TSCT_SYSCALL_TEXT_MAX];
	size_t note = pb_begin(to, 4), pos = 0;
	struct tsct_value v;
	unsigned int nr = 0;

	pb_number(to, 1, cpu_name(x));
	pb_number(to, 3, ev->e->cpu);
	pb_end(to, note);
	if (ev->act == TSCT_ACT_ORPHAN) {
		note = pb_begin(to, 4);
		pb_number(to, 1, kind_name(x));
		pb_string(to, 6, tsct_kind_names[ev->e->def->kind]);
		pb_end(to, note);
	}
	while (tsct_value_next(ev->e, &nr, &pos, &v)) {
		note = pb_begin(to, 4);
		pb_number(to, 1, field_name(ev->def, nr - 1));
		if (call && tsct_syscall_value(call, ev->e, &v, text))
			pb_string(to, 6, text);
		else
			put_value(to, &v);
		pb_end(to, note);
	}
}

/* ---- events ------------------------------------------------------------ */

/* Writes the names of a definition and its fields, in the packet of the first such event. */
static void put_def(struct tsct_export *x, __u32 def)
{
	const struct tsct_event_def *d = x->defs[def].def;
	struct tsct_text *to = out_of(x);
	const size_t interned = pb_begin(to, 12);
	__u32 f;

	put_name(to, 2, def + 1, d->name, strlen(d->name));
	for (f = 0; f < d->nr_fields; f++)
		put_name(to, 3, field_name(def, f), d->fields[f].name, strlen(d->fields[f].name));
	pb_end(to, interned);
}

/* Writes an event with definition @def on a track. @fields: write all annotations; @count: value
 * of a counter, or NULL */
static int put_event(struct tsct_export *x, const struct tsct_export_event *ev, __u32 def,
		     enum track_type type, __u64 track, bool fields, const struct tsct_value *count)
{
	struct perfetto *p = x->own;
	struct tsct_text *to = begin_timed(x, ev->ns);
	const size_t event = pb_begin(to, 11);
	double real;

	pb_number(to, 3, x->defs[def].stream + 1);
	if (fields)
		put_fields(x, ev);
	pb_number(to, 9, type);
	pb_number(to, 10, def + 1);
	pb_number(to, 11, track);
	if (count && (tsct_value_is_float(count) || tsct_value_exceeds_s64(count))) {
		real = tsct_value_is_float(count) ? tsct_value_double(count) :
			(double)(__u64)tsct_value_integer(count);
		pb_fixed64(to, 44, &real);
	} else if (count) {
		pb_number(to, 30, (__u64)tsct_value_integer(count));
	} else if (ev->message) {
		pb_fixed64(to, ev->act == TSCT_ACT_SEND ? 47 : 48, &ev->message);
	}
	pb_end(to, event);
	if (!p->named[def])
		put_def(x, def);
	p->named[def] = true;
	pb_number(to, 13, STATE_NEEDED);
	return end_packet(x);
}

static int put_on_thread(struct tsct_export *x, const struct tsct_export_event *ev, __u32 def,
			 enum track_type type, bool fields)
{
	return put_event(x, ev, def, type, TRACK_THREAD | ev->thread->index, fields, NULL);
}

static int put_cut(struct tsct_export *x, const struct tsct_export_event *ev, __u32 slice,
		   bool begins)
{
	return put_on_thread(x, ev, begins ? ev->def : x->slice_defs[slice],
			     begins ? SLICE_BEGIN : SLICE_END, begins);
}

static int put_end(struct tsct_export *x, const struct tsct_export_event *ev)
{
	return put_on_thread(x, ev, ev->def, SLICE_END, true);
}

/* ---- counters ---------------------------------------------------------- */

static bool is_number(const struct tsct_value *v)
{
	return tsct_value_is_float(v) ||
		(tsct_value_is_integer(v) && !tsct_value_syscall(v));
}

/* Writes each number of an event to its own counter track. The first counter's
 * track event has all fields of the event as annotations. */
static int put_counts(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct perfetto *p = x->own;
	bool *counted = &p->counted[ev->thread->node * x->nr_defs + ev->def];
	bool first = true;
	__u32 numbers = 0;
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;
	int err = 0;

	while (tsct_value_next(ev->e, &nr, &pos, &v))
		numbers += is_number(&v);
	if (!numbers)
		return put_on_thread(x, ev, ev->def, INSTANT, true);
	nr = 0;
	pos = 0;
	while (!err && tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (!is_number(&v))
			continue;
		if (!*counted)
			err = put_counter_track(x, ev, nr - 1, numbers == 1);
		if (!err)
			err = put_event(x, ev, ev->def, COUNTER,
					counter_track(ev->thread->node, ev->def, nr - 1), first,
					&v);
		first = false;
	}
	*counted = true;
	return err;
}

/* ---- scheduling -------------------------------------------------------- */

/*
 * Perfetto makes its tables `sched` and `thread_state` from the events of the scheduler: a thread
 * runs on a CPU from a switch to the thread until the CPU's next switch. So the file has all
 * recorded switches, and switches to and from NOT_RECORDED where the running thread is unknown.
 *
 * With several nodes, the file has no scheduling: Perfetto would confuse threads with the same ID.
 */

static struct cpu_thread *cpu_of(const struct tsct_export *x, __u32 location)
{
	return &((struct perfetto *)x->own)->cpus[tsct_recording_cpu_of(x->rec, location)];
}

/* Begins a scheduler event [@field] of the thread @tid, in an event bundle of the CPU [1]. */
static struct tsct_text *begin_ftrace(struct tsct_export *x, __u32 location, __s64 ns, __u32 tid,
				      __u32 field, size_t places[3])
{
	struct tsct_text *to = begin_packet(x);

	places[0] = pb_begin(to, 1);
	pb_number(to, 1, x->rec->locations[location].cpu);
	places[1] = pb_begin(to, 2);
	pb_number(to, 1, (__u64)ns);
	pb_number(to, 2, tid);
	places[2] = pb_begin(to, field);
	return to;
}

static int end_ftrace(struct tsct_export *x, __u32 location, const size_t places[3])
{
	struct perfetto *p = x->own;
	struct cpu_thread *cpu = cpu_of(x, location);

	pb_end(&p->out, places[2]);
	pb_end(&p->out, places[1]);
	if (x->known.blind_until[location] > cpu->blind)
		pb_number(&p->out, 3, 1);	/* events were lost */
	cpu->blind = x->known.blind_until[location];
	pb_end(&p->out, places[0]);
	pb_number(&p->out, 10, SEQUENCE);
	return end_packet(x);
}

static void put_comm(struct tsct_text *to, __u32 field, const char *comm)
{
	pb_text(to, field, comm, strnlen(comm, TSCT_THREAD_NAME_MAX));
}

/* Writes a switch to the thread @tid. @e: the recorded event; NULL: no switch was recorded
 * here, only the thread that runs becomes known or unknown */
static int put_switch(struct tsct_export *x, __u32 location, __s64 ns, __u32 tid,
		      const char *title, const struct tsct_trace_event *e)
{
	struct cpu_thread *cpu = cpu_of(x, location);
	const __u32 before = cpu->any ? cpu->tid : NOT_RECORDED;
	size_t places[3];
	struct tsct_text *to = begin_ftrace(x, location, ns, before, 4, places);

	put_comm(to, 1, cpu->any ? cpu->name : NOT_RECORDED_NAME);
	pb_int32(to, 2, before);
	if (e)
		pb_int32(to, 3, tsct_value_integer_of(e, "prev_prio"));
	pb_number(to, 4, e ? (__u64)tsct_value_integer_of(e, "prev_state") : STATE_UNKNOWN);
	put_comm(to, 5, title);
	pb_int32(to, 6, tid);
	if (e)
		pb_int32(to, 7, tsct_value_integer_of(e, "next_prio"));
	cpu->any = true;
	cpu->location = location;
	cpu->tid = tid;
	snprintf(cpu->name, sizeof(cpu->name), "%.*s", TSCT_THREAD_NAME_MAX - 1, title);
	return end_ftrace(x, location, places);
}

/* Writes that the thread that runs on a CPU is unknown from @ns on. */
static int put_unknown(struct tsct_export *x, __u32 location, __s64 ns)
{
	const struct cpu_thread *cpu = cpu_of(x, location);

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
	size_t places[3];
	struct tsct_text *to = begin_ftrace(x, ev->e->location, ev->ns, tid, 240, places);

	pb_int32(to, 2, tid);
	return end_ftrace(x, ev->e->location, places);
}

static int put_fork(struct tsct_export *x, const struct tsct_export_event *ev)
{
	size_t places[3];
	struct tsct_text *to = begin_ftrace(x, ev->e->location, ev->ns, ev->e->tid, 239, places);

	pb_int32(to, 2, ev->e->tid);
	put_comm(to, 3, name_of(ev->e, "comm"));
	pb_int32(to, 4, tsct_value_integer_of(ev->e, "child_tid"));
	return end_ftrace(x, ev->e->location, places);
}

static int put_recorded(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const __u32 prev = (__u32)tsct_value_integer_of(ev->e, "prev_tid");
	const __u32 next = (__u32)tsct_value_integer_of(ev->e, "next_tid");
	const __u32 at = ev->e->location;
	const struct cpu_thread *cpu = cpu_of(x, at);
	int err = 0;

	if (!cpu->any || cpu->tid != prev)
		err = put_switch(x, at, ev->ns, prev, name_of(ev->e, "prev_comm"), NULL);
	err = err ?: put_switch(x, at, ev->ns, next, name_of(ev->e, "next_comm"), ev->e);
	if (!err && prev && tsct_value_integer_of(ev->e, "prev_state") & TSCT_PREV_DEAD)
		err = put_free(x, ev, prev);
	return err || x->run.began ? err : put_unknown(x, at, ev->ns);
}

static int put_waking(struct tsct_export *x, const struct tsct_export_event *ev)
{
	size_t places[3];
	struct tsct_text *to = begin_ftrace(x, ev->e->location, ev->ns, ev->e->tid, 20, places);

	put_comm(to, 1, name_of(ev->e, "comm"));
	pb_int32(to, 2, tsct_value_integer_of(ev->e, "tid"));
	pb_int32(to, 3, tsct_value_integer_of(ev->e, "prio"));
	pb_int32(to, 4, 1);		/* success */
	pb_int32(to, 5, tsct_value_integer_of(ev->e, "target_cpu"));
	return end_ftrace(x, ev->e->location, places);
}

static bool is_of_all(const struct tsct_recording *rec, __u32 location)
{
	const char *processes = rec->nodes[rec->locations[location].node].requests
		[TSCT_REQUEST_PROCESSES];

	return processes && !strcmp(processes, "all");
}

/* Returns true if the file has the switches of a CPU by another recorder than @location's. While
 * several recorders run, the file has the switches by the first recorder of all processes; without
 * such a recorder, by the first recorder. */
static bool is_recorded_twice(const struct tsct_export *x, __u32 location)
{
	const bool of_all = is_of_all(x->rec, location);
	const struct tsct_location *l = x->rec->locations;
	__u32 i;

	/* Compares CPU numbers first: tsct_recording_cpu_of() searches, and most CPUs differ. */
	for (i = 0; x->rec->merged && i < x->rec->nr_locations; i++)
		if (l[i].cpu == l[location].cpu && i != location &&
		    x->known.runs[i].has_switches && !x->known.runs[i].over &&
		    tsct_recording_cpu_of(x->rec, i) == tsct_recording_cpu_of(x->rec, location) &&
		    (is_of_all(x->rec, i) == of_all ? i < location : !of_all))
			return true;
	return false;
}

/* From now on, the file has a CPU's switches by the recorder of event @e. Ends the run of a
 * thread that another recorder's switches showed, unless @e shows the thread, too. */
static int change_recorder(struct tsct_export *x, const struct tsct_trace_event *e)
{
	const struct cpu_thread *cpu = cpu_of(x, e->location);
	const struct tsct_known_run *run = &x->known.runs[cpu->location];
	const bool runs = x->run.away || (x->known.runs[e->location].on && !x->run.began);

	if (!cpu->any || cpu->location == e->location || (runs && cpu->tid == e->tid))
		return 0;
	return put_unknown(x, e->location, tsct_clock_params_ns(&x->rec->real, run->over ?
				min(run->seen, e->tick) : e->tick));
}

/* Writes the scheduler's events that an event shows. */
static int put_scheduling(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const enum tsct_kernel_event kernel = x->defs[ev->def].kernel;
	const __u32 at = ev->e->location;
	int err = 0;

	if (!((struct perfetto *)x->own)->cpus || !x->rec->streams[ev->e->stream].kernel ||
	    is_recorded_twice(x, at))
		return 0;
	err = change_recorder(x, ev->e);
	if (!err && x->run.ended && !x->run.away)
		err = put_unknown(x, at, tsct_clock_params_ns(&x->rec->real, x->run.until));
	if (!err && kernel == TSCT_KERNEL_SWITCH)
		err = put_recorded(x, ev);
	else if (!err && x->run.began)
		err = put_switch(x, at, ev->ns, ev->e->tid, ev->thread->name, NULL);
	if (!err && kernel == TSCT_KERNEL_WAKING)
		err = put_waking(x, ev);
	return err || kernel != TSCT_KERNEL_FORK ? err : put_fork(x, ev);
}

/* Ends the runs of threads whose ends are not recorded. */
static int end_scheduling(struct tsct_export *x)
{
	const struct cpu_thread *cpus = ((struct perfetto *)x->own)->cpus;
	__u64 end;
	__u32 i;
	int err = 0;

	for (i = 0; cpus && i < x->rec->nr_locations && !err; i++) {
		end = x->known.runs[i].on && cpu_of(x, i)->location == i ?
			tsct_known_run_end(&x->known, i) : UINT64_MAX;
		if (end != UINT64_MAX)
			err = put_unknown(x, i, tsct_clock_params_ns(&x->rec->real, end));
	}
	return err;
}

/* Writes the version of the kernel. */
static int put_system(struct tsct_export *x)
{
	const char *release = x->rec->nodes[0].kernel;
	struct tsct_text *to = begin_plain(x);
	const size_t system = pb_begin(to, 45), name = pb_begin(to, 1);

	pb_string(to, 1, "Linux");
	pb_text(to, 3, release, strlen(release));
	pb_end(to, name);
	pb_end(to, system);
	return end_packet(x);
}

/* ---- the format -------------------------------------------------------- */

/* Writes the names of channels, and of the exporter's own annotations. */
static int put_names(struct tsct_export *x)
{
	struct tsct_text *to = begin_plain(x);
	const size_t interned = pb_begin(to, 12);
	__u32 i;

	for (i = 0; i < x->rec->nr_streams; i++)
		put_name(to, 1, i + 1, x->rec->streams[i].name, strlen(x->rec->streams[i].name));
	put_name(to, 3, cpu_name(x), "tsctrace.cpu", 12);
	put_name(to, 3, kind_name(x), "tsctrace.kind", 13);
	pb_end(to, interned);
	pb_number(to, 13, STATE_NEEDED);
	return end_packet(x);
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
	int err = put_thread(x, ev->thread) ?: put_scheduling(x, ev) ?: put_sample(x, ev);

	if (err)
		return err;
	if (ev->act == TSCT_ACT_CLOSE)
		return tsct_export_close(x, ev, put_end);
	if (ev->act == TSCT_ACT_COUNT)
		return put_counts(x, ev);
	return put_on_thread(x, ev, ev->def, ev->act == TSCT_ACT_OPEN ? SLICE_BEGIN : INSTANT,
			     true);
}

/* Writes a last event that states the lost events, because the format has no field for them. */
static int put_lost(struct tsct_export *x, __u64 lost)
{
	struct tsct_text *to;
	char title[96];
	size_t event;
	int err;

	snprintf(title, sizeof(title), "lost events: %llu, damaged places: %llu", lost,
		 tsct_trace_corrupt_count(x->trace));
	err = put_track(x, &(struct track_descriptor) { .uuid = TRACK_LOST, .name = title });
	if (err)
		return err;
	to = begin_timed(x, x->now_ns > x->end_ns ? x->now_ns : x->end_ns);
	event = pb_begin(to, 11);
	pb_number(to, 9, INSTANT);
	pb_number(to, 11, TRACK_LOST);
	pb_string(to, 23, title);
	pb_end(to, event);
	pb_number(to, 13, STATE_NEEDED);
	return end_packet(x);
}

static int end_perfetto(struct tsct_export *x)
{
	struct perfetto *p = x->own;
	__u64 lost = tsct_trace_lost(x->trace);
	__u32 i;
	int err = end_scheduling(x);

	/* Writes names of threads that became known after the threads' last events. */
	for (i = 0; i < x->threads.nr && !err; i++)
		if (x->threads.all[i]->own)
			err = put_thread(x, x->threads.all[i]);
	if (!err && (lost || tsct_trace_corrupt_count(x->trace)))
		err = put_lost(x, lost);
	if (!err)
		fwrite(p->out.at, 1, p->out.len, x->file);
	return err;
}

static void free_perfetto(struct tsct_export *x)
{
	struct perfetto *p = x->own;

	if (!p)
		return;
	free(p->named);
	free(p->counted);
	free(p->cpus);
	free(p->stack_named);
	free(p->frame_named);
	tsct_stacks_free(p->stacks);
	free(p->out.at);
	free(p);
}

const struct tsct_export_format tsct_export_perfetto = {
	.name = "perfetto", .suffix = ".pftrace", .nests = true,
	.begin = begin_perfetto, .event = write_perfetto_event, .cut = put_cut,
	.end = end_perfetto, .free = free_perfetto,
};
