// SPDX-License-Identifier: MIT
/*
 * Exports Chrome's trace events. Each event is written immediately, so only one is in
 * memory. Threads of unknown processes are shown in a process that stands for the node.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <tsctrace/version.h>

#include "lib/base/array.h"
#include "export.h"
#include "lib/query/value_text.h"

/* Largest integer that is exact in readers that use doubles */
#define EXACT_MAX	(1LL << 53)

/* Thread id shown for the idle thread of CPU 0; other CPUs add their number. All idle
 * threads have id 0. */
#define IDLE_TID	(1LL << 22)

struct json {
	bool any;		/* flag: a trace event was written */
	char *out;
	size_t room;
};

/* ---- values ------------------------------------------------------------ */

static json_t *text(const char *from)
{
	return tsct_json_text(from, strlen(from));
}

/*
 * Returns true for values drawn as a counter; other fields of the event become
 * arguments.
 */
static bool is_number(const struct tsct_value *v)
{
	if (tsct_value_is_integer(v))
		return !tsct_value_syscall(v);
	return tsct_value_is_float(v) && isfinite(tsct_value_double(v));
}

/* ---- writing ----------------------------------------------------------- */

/* Writes a time in us with a resolution of 1 ns: more digits than a double has. */
static void put_time(struct tsct_export *x, __s64 ns)
{
	__u64 size;

	if (x->relative)
		ns -= x->begin_ns;
	size = ns < 0 ? -(__u64)ns : (__u64)ns;
	fprintf(x->file, "\"ts\":%s%" PRIu64 ".%03u,", ns < 0 ? "-" : "",
		(uint64_t)(size / 1000), (unsigned int)(size % 1000));
}

/* Formats @json as text in own->out. Returns the text's length; 0: out of memory. */
static size_t dump(struct json *own, const json_t *json, size_t flags)
{
	size_t len = json_dumpb(json, own->out, own->room, flags);

	if (len <= own->room)
		return len;
	if (tsct_array_reserve(&own->out, &own->room, len, 1))
		return 0;
	return json_dumpb(json, own->out, own->room, flags);
}

/* Writes @json as a trace event, and frees @json. */
static int put(struct tsct_export *x, const __s64 *ns, json_t *json)
{
	struct json *own = x->own;
	size_t len = json ? dump(own, json, JSON_COMPACT | JSON_EMBED) : 0;

	json_decref(json);
	if (!len)
		return -ENOMEM;
	fputs_unlocked(own->any ? ",\n{" : "\n{", x->file);
	own->any = true;
	if (ns)
		put_time(x, *ns);
	fwrite_unlocked(own->out, 1, len, x->file);
	putc_unlocked('}', x->file);
	return 0;
}

static json_int_t tid_of(const struct tsct_thread *thread)
{
	return thread->tid ? thread->tid : IDLE_TID + thread->cpu;
}

static json_int_t pid_of(const struct tsct_export *x, const struct tsct_thread *thread)
{
	return tsct_export_pid(x, thread->node, thread->tgid);
}

static json_t *frame(const struct tsct_export *x, const struct tsct_thread *thread,
		     const char *phase, const char *name, const char *category)
{
	return json_pack("{ss sI sI ss ss}", "ph", phase,
			 "pid", pid_of(x, thread),
			 "tid", tid_of(thread), "cat", category, "name", name);
}

static int put_name(struct tsct_export *x, const char *what, json_int_t pid,
		    json_int_t tid, const char *name)
{
	return put(x, NULL, json_pack("{ss sI sI ss s{so}}", "ph", "M",
				      "pid", pid, "tid", tid, "name", what,
				      "args", "name", text(name)));
}

static int begin(struct tsct_export *x)
{
	__u32 i;
	int err = 0;

	x->own = calloc(1, sizeof(struct json));
	if (!x->own)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", x->file);
	for (i = 0; i < x->nr_nodes && !err; i++)
		err = put_name(x, "process_name",
			       pid_of(x, &(struct tsct_thread) { .node = i }), 0,
			       x->nodes[i]);
	return err;
}

/* Writes a thread's name; called for a new thread, and when the name becomes known. */
static int put_thread(struct tsct_export *x, struct tsct_thread *thread)
{
	struct tsct_thread *process;
	char title[TSCT_THREAD_LABEL_MAX];
	int err = 0;

	if (thread->own && !thread->renamed)
		return 0;
	thread->own = 1;
	thread->renamed = false;
	process = tsct_export_process(x, thread);
	if (process && (!process->own || process->renamed)) {
		process->own = 1;
		process->renamed = false;
		tsct_thread_label(process, title);
		err = put_name(x, "process_name", pid_of(x, thread), 0, title);
	}
	tsct_thread_label(thread, title);
	return err ? err : put_name(x, "thread_name", pid_of(x, thread), tid_of(thread),
				    title);
}

/* ---- events ------------------------------------------------------------ */

/* Selection of an event's fields: all fields, numeric fields, or all others */
enum which { ALL, NUMBERS, OTHERS };

/* Returns a value as JSON; values of system calls that have a text, as this text. */
static json_t *value_json(const struct tsct_export *x, const struct tsct_export_event *ev,
			  const struct tsct_value *v)
{
	char text[TSCT_SYSCALL_TEXT_MAX];

	return tsct_syscall_value(x->defs[ev->def].call, ev->e, v, text) ?
		json_string(text) : tsct_json_value(v, EXACT_MAX);
}

static json_t *fields(const struct tsct_export *x, const struct tsct_export_event *ev,
		      enum which which)
{
	json_t *json = json_object();
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(ev->e, &nr, &pos, &v))
		if (which == ALL || is_number(&v) == (which == NUMBERS))
			json_object_set_new(json, v.field->name, value_json(x, ev, &v));
	/* Names with a dot are the exporter's own: field names are C identifiers. */
	if (which != NUMBERS)
		json_object_set_new(json, "tsctrace.cpu",
				    json_integer(ev->e->cpu));
	return json;
}

static int put_event(struct tsct_export *x, const struct tsct_export_event *ev,
		     const char *phase)
{
	json_t *json = frame(x, ev->thread, phase, ev->e->def->name,
			     x->rec->streams[ev->e->stream].name);
	json_t *args = fields(x, ev, *phase == 'C' ? NUMBERS : ALL);

	if (ev->act == TSCT_ACT_ORPHAN)
		json_object_set_new(args, "tsctrace.kind", json_string(
			tsct_kind_names[ev->e->def->kind]));
	json_object_set_new(json, "args", args);
	switch (*phase) {
	case 'C':
		json_object_set_new(json, "fields", fields(x, ev, OTHERS));
		break;
	case 'i':
		json_object_set_new(json, "s", json_string("t"));
		break;
	case 'X':
		json_object_set_new(json, "dur", json_integer(0));
	}
	return put(x, &ev->ns, json);
}

/* Interrupts ("E") or continues ("B") a slice that is inside of the ending slice. */
static int put_cut(struct tsct_export *x, const struct tsct_export_event *ev,
		   const char *phase, __u32 open)
{
	const struct tsct_export_def *d =
		&x->defs[x->slices[ev->thread->open[open]]];

	return put(x, &ev->ns, frame(x, ev->thread, phase, d->def->name,
				     x->rec->streams[d->stream].name));
}

static int put_close(struct tsct_export *x, const struct tsct_export_event *ev)
{
	__u32 i;
	int err = 0;

	for (i = ev->thread->nr_open - 1; i > ev->frame && !err; i--)
		err = put_cut(x, ev, "E", i);
	if (!err)
		err = put_event(x, ev, "E");
	for (i = ev->frame + 1; i < ev->thread->nr_open && !err; i++)
		err = put_cut(x, ev, "B", i);
	return err;
}

/* Writes a message's end as an empty slice: viewers draw arrows between slices only. */
static int put_message(struct tsct_export *x,
		       const struct tsct_export_event *ev, const char *phase)
{
	json_t *json;
	int err = put_event(x, ev, "X");

	if (err || !ev->message)
		return err;
	json = frame(x, ev->thread, phase, "message", "message");
	json_object_set_new(json, "id", json_sprintf("0x%016" PRIx64,
						     (uint64_t)ev->message));
	if (*phase == 'f')
		json_object_set_new(json, "bp", json_string("e"));
	return put(x, &ev->ns, json);
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	int err = put_thread(x, ev->thread);

	if (err)
		return err;
	switch (ev->act) {
	case TSCT_ACT_OPEN: return put_event(x, ev, "B");
	case TSCT_ACT_CLOSE: return put_close(x, ev);
	case TSCT_ACT_COUNT: return put_event(x, ev, "C");
	case TSCT_ACT_SEND: return put_message(x, ev, "s");
	case TSCT_ACT_RECEIVE: return put_message(x, ev, "f");
	default: return put_event(x, ev, "i");
	}
}

/* ---- begin and end ---------------------------------------------------- */

static int end(struct tsct_export *x)
{
	const __u64 error = tsct_export_error_ns(x);
	json_t *json = json_pack("{ss so so so so sb sI sI sI so}",
		"exported_by", "tsctrace " TSCT_VERSION,
		"command", text(x->rec->nodes[0].command),
		"kernel", text(x->rec->nodes[0].kernel),
		"begin_ns", json_sprintf("%" PRId64, (int64_t)x->begin_ns),
		"end_ns", json_sprintf("%" PRId64, (int64_t)x->end_ns),
		"relative", x->relative,
		"events", (json_int_t)x->events,
		"lost", (json_int_t)tsct_export_lost(x),
		"damaged_places", (json_int_t)tsct_trace_corrupt_count(x->trace),
		"error_ns", error > INT64_MAX ? json_null() :
			json_integer((json_int_t)error));
	struct json *own = x->own;
	size_t len;
	__u32 i;
	__u64 errors[TSCT_EXPORT_ERRORS];
	int err = 0;

	tsct_export_errors(x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++)
		json_object_set_new(json, tsct_export_error_names[i],
				    errors[i] > INT64_MAX ? json_null() :
				    json_integer((json_int_t)errors[i]));
	/* Writes names of threads that became known after the threads' last events. */
	for (i = 0; i < x->threads.nr && !err; i++)
		if (x->threads.all[i]->own)
			err = put_thread(x, x->threads.all[i]);
	len = json && !err ? dump(own, json, JSON_COMPACT) : 0;
	json_decref(json);
	if (!len)
		return err ? err : -ENOMEM;
	fputs("\n],\"otherData\":", x->file);
	fwrite(own->out, 1, len, x->file);
	fputs("}\n", x->file);
	return 0;
}

static void free_json(struct tsct_export *x)
{
	struct json *own = x->own;

	if (own)
		free(own->out);
	free(own);
}

const struct tsct_export_format tsct_export_json = {
	.name = "json", .suffix = ".json", .nests = true, .relative = true,
	.begin = begin, .event = event, .end = end, .free = free_json,
};
