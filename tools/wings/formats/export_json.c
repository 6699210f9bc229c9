// SPDX-License-Identifier: MIT
/*
 * Exports Chrome's trace events (JSON). Each event is written immediately, so only one is in
 * memory. Threads of unknown processes are shown in a process that stands for their node.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/version.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/export/export.h"
#include "lib/query/value_text.h"

/* Thread ID that is shown for the idle thread of CPU 0. CPU n's idle thread has the ID
 * IDLE_TID + n. In the recording, all idle threads have ID 0. */
#define IDLE_TID	(1LL << 22)

struct json {
	bool any;		/* flag: at least one trace event was written */
	struct tsct_text line;	/* the trace event that is being written */
};

/* ---- writing ----------------------------------------------------------- */

static void put_raw(struct json *j, const char *text)
{
	tsct_text_add(&j->line, text, strlen(text));
}

static void put_text(struct json *j, const char *key, const char *text)
{
	const size_t len = strlen(text);
	char *at;

	put_raw(j, key);
	at = tsct_text_reserve(&j->line, TSCT_JSON_TEXT(len));
	if (at)
		j->line.len += (size_t)(tsct_json_put_text(at, text, len) - at);
}

static void put_integer(struct json *j, const char *key, __s64 value)
{
	char *at;

	put_raw(j, key);
	at = tsct_text_reserve(&j->line, TSCT_JSON_NUMBER);
	if (at)
		j->line.len += (size_t)(tsct_json_put_signed(at, value) - at);
}

/* Writes an error bound; null if the bound is unknown. */
static void put_error(struct json *j, const char *key, __u64 error_ns)
{
	if (error_ns <= INT64_MAX) {
		put_integer(j, key, (__s64)error_ns);
		return;
	}
	put_raw(j, key);
	put_raw(j, "null");
}

/* Writes a time in us, with three decimals. A double would have too few digits. */
static void put_time(struct tsct_export *x, __s64 ns)
{
	struct json *j = x->own;
	char text[48];
	__u64 size;

	if (x->relative)
		ns -= x->begin_ns;
	size = ns < 0 ? -(__u64)ns : (__u64)ns;
	snprintf(text, sizeof(text), "\"ts\":%s%llu.%03u,", ns < 0 ? "-" : "",
		 size / 1000, (unsigned int)(size % 1000));
	put_raw(j, text);
}

/* Begins a trace event. @ns: pointer to the event's time; NULL: the event has no time */
static struct json *put_first(struct tsct_export *x, const __s64 *ns)
{
	struct json *j = x->own;

	j->line.len = 0;
	put_raw(j, j->any ? ",\n{" : "\n{");
	j->any = true;
	if (ns)
		put_time(x, *ns);
	return j;
}

/* Appends @text to the trace event, and writes the event to the file. */
static int put_last(struct tsct_export *x, const char *text)
{
	struct json *j = x->own;

	put_raw(j, text);
	if (j->line.failed)
		return -ENOMEM;
	fwrite_unlocked(j->line.at, 1, j->line.len, x->file);
	j->line.len = 0;
	return 0;
}

static __s64 tid_of(const struct tsct_thread *thread)
{
	return thread->tid ? thread->tid : IDLE_TID + thread->cpu;
}

static __s64 pid_of(const struct tsct_export *x, const struct tsct_thread *thread)
{
	return tsct_export_pid(x, thread->node, thread->tgid);
}

/* Begins a trace event with the members that most trace events have. */
static struct json *put_frame(struct tsct_export *x, const struct tsct_export_event *ev,
			      const char *phase, const char *name, const char *category)
{
	struct json *j = put_first(x, &ev->ns);

	put_text(j, "\"ph\":", phase);
	put_integer(j, ",\"pid\":", pid_of(x, ev->thread));
	put_integer(j, ",\"tid\":", tid_of(ev->thread));
	put_text(j, ",\"cat\":", category);
	put_text(j, ",\"name\":", name);
	return j;
}

static int put_name(struct tsct_export *x, const char *what, __s64 pid, __s64 tid,
		    const char *name)
{
	struct json *j = put_first(x, NULL);

	put_raw(j, "\"ph\":\"M\"");
	put_integer(j, ",\"pid\":", pid);
	put_integer(j, ",\"tid\":", tid);
	put_text(j, ",\"name\":", what);
	put_text(j, ",\"args\":{\"name\":", name);
	return put_last(x, "}}");
}

static int begin_json(struct tsct_export *x)
{
	__u32 i;
	int err = 0;

	x->own = calloc(1, sizeof(struct json));
	if (!x->own)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",", x->file);
	/* Readers of this member expect a number, although the number exceeds 2^53. */
	if (x->relative)
		fprintf(x->file, "\"baseTimeNanoseconds\":%lld,", x->begin_ns);
	fputs("\"traceEvents\":[", x->file);
	for (i = 0; i < x->nr_nodes && !err; i++)
		if (!x->rec->nodes[i].same)
			err = put_name(x, "process_name",
				       pid_of(x, &(struct tsct_thread) { .node = i }), 0,
				       x->nodes[i]);
	return err;
}

/* Writes a thread's name, if the thread is new or the name has become known. */
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

/* Selection of an event's fields: all fields; numeric fields; fields that are not numeric */
enum which { ALL, NUMBERS, OTHERS };

/* Returns true for values that are drawn as counters. Others become arguments of the event. */
static bool is_number(const struct tsct_value *v)
{
	if (tsct_value_is_integer(v))
		return !tsct_value_syscall(v);
	return tsct_value_is_float(v) && isfinite(tsct_value_double(v));
}

/* Writes a value: as text, if the value is an argument of a system call that has a text. */
static void put_value(struct json *j, const struct tsct_export *x,
		      const struct tsct_export_event *ev, const struct tsct_value *v)
{
	char text[TSCT_SYSCALL_TEXT_MAX], *at;

	if (tsct_syscall_value(x->defs[ev->def].call, ev->e, v, text)) {
		put_text(j, "", text);
		return;
	}
	at = tsct_text_reserve(&j->line, TSCT_VALUE_ROOM + TSCT_JSON_TEXT(v->size));
	if (at)
		j->line.len += (size_t)(tsct_value_put_json(at, v) - at);
}

static void put_fields(struct json *j, const struct tsct_export *x,
		       const struct tsct_export_event *ev, enum which which)
{
	const char *gap = "";
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(ev->e, &nr, &pos, &v)) {
		if (which != ALL && is_number(&v) != (which == NUMBERS))
			continue;
		put_text(j, gap, v.field->name);
		put_raw(j, ":");
		put_value(j, x, ev, &v);
		gap = ",";
	}
	/* A name with a dot is the exporter's own, because field names are C identifiers. */
	if (which != NUMBERS) {
		put_raw(j, gap);
		put_integer(j, "\"tsctrace.cpu\":", ev->e->cpu);
	}
}

static int put_event(struct tsct_export *x, const struct tsct_export_event *ev,
		     const char *phase)
{
	/* Viewers match an end of a slice with its begin by name: the end gets the begin's name. */
	const struct tsct_event_def *def = ev->act != TSCT_ACT_CLOSE ? ev->e->def :
		x->defs[x->slice_defs[tsct_export_open_slice(x, ev->thread, ev->frame)]].def;
	struct json *j = put_frame(x, ev, phase, def->name,
				   x->rec->streams[ev->e->stream].name);

	put_raw(j, ",\"args\":{");
	put_fields(j, x, ev, *phase == 'C' ? NUMBERS : ALL);
	if (ev->act == TSCT_ACT_ORPHAN)
		put_text(j, ",\"tsctrace.kind\":", tsct_kind_names[ev->e->def->kind]);
	switch (*phase) {
	case 'C':
		put_raw(j, "},\"fields\":{");
		put_fields(j, x, ev, OTHERS);
		break;
	case 'i':
		return put_last(x, "},\"s\":\"t\"}");
	case 'X':
		return put_last(x, "},\"dur\":0}");
	}
	return put_last(x, "}}");
}

/* Interrupts ("E") or continues ("B") a slice that is still open inside the ending slice. */
static int put_cut(struct tsct_export *x, const struct tsct_export_event *ev, __u32 slice,
		   bool begins)
{
	const struct tsct_export_def *d = &x->defs[x->slice_defs[slice]];

	if (begins)
		return put_event(x, ev, "B");
	put_frame(x, ev, "E", d->def->name, x->rec->streams[d->stream].name);
	return put_last(x, "}");
}

static int put_end(struct tsct_export *x, const struct tsct_export_event *ev)
{
	return put_event(x, ev, "E");
}

/* Writes a send or receive as a slice of length 0: viewers draw arrows only between slices. */
static int put_message(struct tsct_export *x,
		       const struct tsct_export_event *ev, const char *phase)
{
	char id[48];
	int err = put_event(x, ev, "X");

	if (err || !ev->message)
		return err;
	snprintf(id, sizeof(id), ",\"id\":\"0x%016llx\"", ev->message);
	put_raw(put_frame(x, ev, phase, "message", "message"), id);
	return put_last(x, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

static int write_json_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	int err = put_thread(x, ev->thread);

	if (err)
		return err;
	switch (ev->act) {
	case TSCT_ACT_OPEN: return put_event(x, ev, "B");
	case TSCT_ACT_CLOSE: return tsct_export_close(x, ev, put_end);
	case TSCT_ACT_COUNT: return put_event(x, ev, "C");
	case TSCT_ACT_SEND: return put_message(x, ev, "s");
	case TSCT_ACT_RECEIVE: return put_message(x, ev, "f");
	default: return put_event(x, ev, "i");
	}
}

/* ---- begin and end ---------------------------------------------------- */

static void put_moment(struct json *j, const char *key, __s64 ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", ns);
	put_text(j, key, text);
}

static int end_json(struct tsct_export *x)
{
	__u64 errors[TSCT_EXPORT_ERRORS];
	const struct tsct_recorded_timeline *t = &x->rec->timeline;
	struct json *j = x->own;
	char timeline[80];
	__u32 i;
	int err = 0;

	/* Writes names of threads that became known after the threads' last events. */
	for (i = 0; i < x->threads.nr && !err; i++)
		if (x->threads.all[i]->own)
			err = put_thread(x, x->threads.all[i]);
	if (err)
		return err;
	put_text(j, "\n],\"otherData\":{\"exported_by\":", "tsctrace " TSCT_VERSION);
	put_text(j, ",\"command\":", x->rec->nodes[0].command);
	put_text(j, ",\"kernel\":", x->rec->nodes[0].kernel);
	put_moment(j, ",\"begin_ns\":", x->begin_ns);
	put_moment(j, ",\"end_ns\":", x->end_ns);
	put_raw(j, x->relative ? ",\"relative\":true" : ",\"relative\":false");
	put_integer(j, ",\"nodes\":", (__s64)tsct_recording_count_nodes(x->rec));
	if (x->rec->merged && t->on && t->master && x->rec->compared == TSCT_COMPARED_SAMPLES) {
		snprintf(timeline, sizeof(timeline), "%u of master %llu", t->number, t->master);
		put_text(j, ",\"timeline\":", timeline);
	}
	put_integer(j, ",\"events\":", (__s64)x->events);
	put_integer(j, ",\"lost\":", (__s64)tsct_trace_lost(x->trace));
	put_integer(j, ",\"damaged_places\":", (__s64)tsct_trace_corrupt_count(x->trace));
	put_error(j, ",\"error_ns\":", tsct_export_error_ns(x));
	tsct_export_errors(x, errors);
	for (i = 0; i < TSCT_EXPORT_ERRORS; i++) {
		put_text(j, ",", tsct_export_error_names[i]);
		put_error(j, ":", errors[i]);
	}
	return put_last(x, "}}\n");
}

static void free_json(struct tsct_export *x)
{
	struct json *own = x->own;

	if (own)
		free(own->line.at);
	free(own);
}

const struct tsct_export_format tsct_export_json = {
	.name = "json", .suffix = ".json", .nests = true, .relative = true,
	.begin = begin_json, .event = write_json_event, .cut = put_cut, .end = end_json,
	.free = free_json,
};
