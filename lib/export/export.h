/* SPDX-License-Identifier: MIT */
/*
 * Exports a recording to the formats of other tools. The front end reads the recording
 * once, event by event, in the order of time, and passes the selected events to
 * a format. Memory grows with threads and definitions, not with events.
 */
#ifndef TSCT_EXPORT_H
#define TSCT_EXPORT_H

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/wing.h"
#include "lib/clockpage/clock_params.h"
#include "known.h"
#include "spans.h"
#include "lib/syscalls/syscall_value.h"
#include "thread_state.h"
#include "threads.h"
#include "lib/statedump/identity.h"
#include "lib/query/filter.h"
#include "lib/ctf/trace_reader.h"

struct tsct_export;

/* The way in which a viewer draws an event */
enum tsct_export_act {
	TSCT_ACT_INSTANT,
	TSCT_ACT_OPEN,		/* start of a slice */
	TSCT_ACT_CLOSE,		/* end of the open slice `frame` */
	/* END event without a BEGIN event; or BEGIN event that is nested too deeply, or whose
	 * END event may be lost */
	TSCT_ACT_ORPHAN,
	TSCT_ACT_COUNT,
	TSCT_ACT_SEND,
	TSCT_ACT_RECEIVE,
};

struct tsct_export_event {
	const struct tsct_trace_event *e;
	__s64 ns;		/* time of the event since the Unix epoch, ns */
	__u32 def;		/* index of the event's definition in x->defs */
	enum tsct_export_act act;
	struct tsct_thread *thread;
	/*
	 * For TSCT_ACT_CLOSE: index of the slice that ends, among the thread's open slices
	 * in x->slices. Slices with a higher index were opened later and continue. As
	 * viewers nest slices, a format closes these slices first and reopens them
	 * afterwards, with tsct_export_close().
	 */
	__u32 frame;
	bool in_span;		/* the event begins or ends a span of x->closed() */
	/* For SEND and RECEIVE: key of the message, equal at both ends; 0: unknown */
	__u64 message;
};

/* An output format. All callbacks return 0 or -errno, and may set the error text
 * x->why. A format that writes a directory gets an empty directory in x->dir; other
 * formats get the open file x->file. */
struct tsct_export_format {
	const char *name;
	const char *suffix;	/* suffix of output files and directories */
	bool directory;
	/* flag: x->relative, times since the recording's start, is allowed */
	bool relative;
	/* flag: the format requires that slices of a thread nest: warn if x->orphans or
	 * x->cuts is not 0 */
	bool nests;
	int (*begin)(struct tsct_export *x);	/* begin(), end() and free() may be NULL */
	int (*event)(struct tsct_export *x, const struct tsct_export_event *e);
	/* Interrupts, ends or (@begins) continues the open slice number @slice at the time of
	 * @ev, for tsct_export_close() and when a thread ends. If @begins, ev->e and ev->def are
	 * the slice's BEGIN event. NULL: the format draws no slices */
	int (*cut)(struct tsct_export *x, const struct tsct_export_event *ev, __u32 slice,
		   bool begins);
	/* called after the last event */
	int (*end)(struct tsct_export *x);
	/* frees the format's state, even if begin() failed */
	void (*free)(struct tsct_export *x);
};

#define TSCT_EXPORT_PAIRS	16	/* largest number of pairs */

/* Two events, of any kinds, that begin and end spans */
struct tsct_export_pair {
	const char *name;		/* BEGIN:END[:KEY[:SCOPE]], as it was given */
	char begin[TSCT_EVENT_NAME_MAX], end[TSCT_EVENT_NAME_MAX];
	/* field that both events have: equal values pair them, in any threads; NULL: they are
	 * paired as BEGIN and END of one thread */
	const char *key;
	size_t key_len;
	bool in_process, in_thread;	/* SCOPE: only of one process, or of one thread */
};

/* An event definition, with properties that all export formats use */
struct tsct_export_def {
	const struct tsct_event_def *def; /* definition; NULL: no event has this id */
	__u8 kind;		/* TSCT_KIND_*: the definition's kind or, in a pair, BEGIN or END */
	const struct tsct_export_pair *pair;	/* pair that has these events; NULL: none */
	__u32 stream;
	const struct tsct_syscall *call; /* system call that the events record, or NULL */
	enum tsct_kernel_event kernel;
	__u32 slice;		/* number of the slice, equal for a BEGIN and its END */
	/* bit i: BEGIN and END of the slice have field i; equal values pair a BEGIN and an END */
	__u32 shared;
	__u64 *names;	/* hashes of the fields' names, if `shared` is not 0 */
	/* for spans of these events: the name, the system call or NULL, and whether the spans are
	 * system calls. For sys_enter and sys_exit, closed_span.c finds the name and the call. */
	const char *span_name;
	const struct tsct_syscall *span_call;
	bool is_call;
	bool has_id;		/* flag: the events have the field TSCT_SPAN_ID */
	bool wanted;
	bool names_rank;	/* flag: the events are mpi_rank, of an MPI program */
	bool plain;	/* flag: the events are instants, and need no further processing */
	__u64 pool;		/* set of events among which message numbers match,
				 * tsct_message_pool(); equal for a SEND and its RECEIVE */
};

/* Field that pairs spans of one name and thread in any order; trace-format.rst */
#define TSCT_SPAN_ID	"tsct_span"

/* A slice or system call, which tsct_export_walk() passes to x->closed() when it closes. Spans with
 * an unknown begin or end are passed, too; `why` states the reason. Only spans with the reason
 * TSCT_SPAN_ENDED have a length. All pointers are valid only during the callback. */
struct tsct_closed_span {
	const char *name;		/* name of the events, or of the system call */
	const struct tsct_syscall *call;	/* the system call; NULL: a slice, or a call that
						 * the table of system calls lacks */
	bool is_call;
	bool alone;		/* the span has only one event, whose in_span is false */
	enum tsct_span_why why;
	__u32 depth;		/* number of the thread's spans around this span; 0: outermost */
	__u32 node;		/* node of the begin event, else of the end event */
	struct tsct_thread *thread;	/* thread of that event */
	/* ticks, and times in ns since the epoch. Without a begin event, `begin` is the end
	 * event's tick; without an end event, `end` is the last tick known to be in the span */
	__u64 begin, end;
	__s64 begin_ns, end_ns;
	/* node and thread of the end event, else of the begin event */
	__u32 end_node, end_tid;
	/* NULL: not recorded. begin_event of an open span is a copy. */
	const struct tsct_trace_event *begin_event, *end_event;
};

/* An open slice, or an open system call of events sys_enter and sys_exit. Used if the format
 * has a callback cut(), or if x->closed is set */
struct tsct_export_slice {
	struct tsct_span span;
	__u32 def;		/* index of the BEGIN event's definition */
	bool ambiguous;		/* the slice's end event may belong to another slice */
	bool end_hidden;	/* the filter leaves out the slice's end event */
	struct tsct_closed_span closed;	/* has the members that the begin event determines */
	struct tsct_trace_event begin;	/* for tsct_export_begin_of() */
	__u8 *payload;		/* payload of `begin`, malloc'ed; NULL: the payload is in `kept` */
	__u8 kept[48];
};

typedef int tsct_span_closed(struct tsct_export *x, const struct tsct_closed_span *span);

/* Texts of the reasons why a span closed, by enum tsct_span_why */
extern const char *const tsct_span_why_names[TSCT_SPAN_WHYS];

struct tsct_export {
	/* Fields set by the caller: */
	const struct tsct_export_format *format;
	const char *recording;		/* directory of the recording */
	struct tsct_trace *trace; /* reader of the recording, before the first event */
	struct tsct_filter filter;
	/* A walk passes events of threads whose ID has the value `part` in the bits of part_mask.
	 * Several walks, each of a trace of its own, can share the work if there are no switches
	 * and no pairs. 0 and 0: all events */
	__u32 part, part_mask;
	/* set by tsct_export_pair_add(); spans of BEGIN:END:KEY are passed to x->closed() only */
	struct tsct_export_pair pairs[TSCT_EXPORT_PAIRS];
	__u32 nr_pairs;
	FILE *file;
	const char *dir;
	bool relative;
	/* Called every 1024 events; a result other than 0 stops the export with
	 * that result. May be NULL. */
	int (*poll)(struct tsct_export *x);
	void *arg;
	/* called for each span that closes; may be NULL; set it before tsct_export_prepare().
	 * It must be NULL if the format has cut(). */
	tsct_span_closed *closed;
	/*
	 * Called when a thread that has had events ends, and when events of a node were lost:
	 * the open slices of ev->thread in x->slices end at ev->ns, or may end from then on.
	 * If ev->act is TSCT_ACT_CLOSE, only slice ev->frame ends. Members e->tick, e->node,
	 * ns and thread of @ev are set. May be NULL.
	 */
	int (*ended)(struct tsct_export *x, const struct tsct_export_event *ev);

	/* Called when a state of a thread ends, before event() gets the event that ends the state.
	 * States are made of all events before filter.to, including events that the filter leaves
	 * out. Set it before the walk. May be NULL. */
	int (*state)(struct tsct_export *x, const struct tsct_state_time *time);
	/* for the format folded: a switch's weight is the time until its thread runs again */
	bool off_cpu;

	/* Results of the export: */
	char why[256];	/* reason of an error; after success, why the output is empty, or "" */
	__s64 now_ns;		/* time of the last event read, ns since the epoch */
	__u64 now_tick;		/* tick of the last event read */
	__u64 until_tick;	/* last tick of a walk: spans without an end were open until then */
	/* tick of the recording's start or, if lower, of the earliest event read so far */
	__u64 first_tick;
	/* size of the recording's files, bytes: read so far, and in total */
	__u64 done_bytes, all_bytes;
	__u64 read, events; /* numbers of events read so far, and of events exported */
	__u64 orphans;		/* number of events with TSCT_ACT_ORPHAN */
	__u64 cuts;	/* number of slices that were interrupted so that slices nest */
	/* number of END events whose fields match no open slice with their name */
	__u64 ambiguous;
	__u64 unmatched;	/* number of messages with one end missing */

	/* Fields set by the front end, for formats: */
	const struct tsct_recording *rec;
	/* names, by node number. A node's second recording has a node number, too, but no events */
	const char **nodes;
	__u32 nr_nodes;
	bool several_nodes;
	__s64 begin_ns, end_ns;	/* times of the recording's start and end, ns */
	/* the linear part of rec->real after its last slew, and the number of
	 * ticks for which tsct_export_time() uses it */
	struct tsct_clock_prev_params straight;
	__u64 straight_ticks;
	struct tsct_selection selection;
	bool all;		/* the filter selects all events */
	__s64 from_ns, to_ns;	/* selected times, ns: from_ns <= time < to_ns */
	struct tsct_export_def *defs;
	__u32 nr_defs, nr_slices;
	/* for each slice number, index in defs of a definition with that number */
	__u32 *slice_defs;
	/* open slices, also hidden ones. Row: index of the thread; name: slice number |
	 * TSCT_SPAN_ID << 32 */
	struct tsct_spans slices;
	/* open calls of events sys_enter and sys_exit, for x->closed(). Name: number of the call */
	struct tsct_spans calls;
	struct tsct_spans keyed;	/* open spans of pairs with a key. Row: index in `pairs` */
	/* by stream class: index in defs of the class's first definition */
	__u32 *first_def;
	struct tsct_identity identity;	/* names and processes of threads, from the statedump */
	struct tsct_known known;	/* state of the present tsct_export_walk() */
	struct tsct_known_change run;	/* change of the CPU's thread by the present event */
	struct tsct_states states;	/* states of threads in the present walk; see state() */
	struct tsct_threads threads;
	/* processes of exported threads; `tid` of an entry is the process ID */
	struct tsct_threads processes;
	void *own;		/* state private to the format */
};

/*
 * tsct_export_pair_add - make spans of two events, as given by --pair
 * @text: BEGIN:END[:KEY], the names of two events and of a field that both have; must outlive @x
 *
 * Call it before tsct_export_prepare(). Returns 0, or -EINVAL: malformed, or too many pairs.
 */
int tsct_export_pair_add(struct tsct_export *x, const char *text);

/*
 * tsct_export_prepare - examine the recording and resolve the filter.
 * Returns 0 or -errno with x->why; -ENOENT, -ESRCH: the recording lacks something that the filter
 * names.
 */
int tsct_export_prepare(struct tsct_export *x);

/*
 * tsct_export_run - export, after tsct_export_prepare().
 * Returns 0; the result of the callback x->poll() that stopped the export; or -errno,
 * for which x->why may be set.
 */
int tsct_export_run(struct tsct_export *x);

void tsct_export_free(struct tsct_export *x);

/* ---- closed_span.c, for export.c --------------------------------------- */

/* Makes x->slices and x->calls keep the begin events of open spans. */
void tsct_closed_span_init(struct tsct_export *x);

/* Stores the begin event of @slice, the newest of its row, unless the slice is hidden. @is_call:
 * the row is in x->calls or x->keyed. Returns 0 or -ENOMEM. */
int tsct_closed_span_open(struct tsct_export *x, struct tsct_export_slice *slice,
			  const struct tsct_export_event *ev, bool is_call);

/* Closes slice ev->frame, which event @ev ends (TSCT_ACT_CLOSE). */
int tsct_closed_span_end(struct tsct_export *x, const struct tsct_export_event *ev);

/* Passes a span with one event, @ev: the end if @why is TSCT_SPAN_NOT_BEGUN, else the begin */
int tsct_closed_span_alone(struct tsct_export *x, const struct tsct_export_event *ev,
			   enum tsct_span_why why);

/* In pairs.c: sets kind and slice of the definitions in pairs. Returns 0, or -errno with x->why. */
int tsct_export_pairs_find(struct tsct_export *x);

/* Processes an event of a pair BEGIN:END:KEY. @hidden: true: the filter leaves out the event */
int tsct_export_keyed(struct tsct_export *x, struct tsct_export_event *ev, __u64 key, bool hidden);

/* Processes an event sys_enter or sys_exit. */
int tsct_closed_span_call(struct tsct_export *x, struct tsct_export_event *ev);

/* ---- for formats ------------------------------------------------------ */

/*
 * tsct_export_walk - read the newly opened @trace, for the export or before it. Calls @event,
 * unless it is NULL, for each event that is to be exported, x->closed() for each span, and
 * x->state() for each state, until a callback returns a value other than 0.
 */
int tsct_export_walk(struct tsct_export *x, struct tsct_trace *trace,
		     struct tsct_threads *threads,
		     int (*event)(struct tsct_export *x,
				  const struct tsct_export_event *e));

/*
 * tsct_export_close - end a slice, for TSCT_ACT_CLOSE
 * @end: callback that ends the slice itself. Before and after @end, the format's cut() is
 *	called for each slice that was opened later, so that slices nest.
 */
int tsct_export_close(struct tsct_export *x, const struct tsct_export_event *ev,
		      int (*end)(struct tsct_export *x, const struct tsct_export_event *ev));

/* Returns the slice number of a thread's open slice. @at: index among the open slices */
static inline __u32 tsct_export_open_slice(const struct tsct_export *x,
					   const struct tsct_thread *thread, __u32 at)
{
	const struct tsct_span *slice = tsct_span_at(&x->slices, thread->index, at);

	return (__u32)slice->name;
}

/* Returns the index in x->defs of an event's definition. */
static inline __u32 tsct_export_def_of(const struct tsct_export *x,
				       const struct tsct_trace_event *e)
{
	return x->first_def[e->stream] + tsct_event_def_id(e->def) - TSCT_ID_FIRST;
}

/* Returns the time at a tick, ns since the epoch, as tsct_clock_params_ns() does. */
static inline __s64 tsct_export_time(const struct tsct_export *x, __u64 tick)
{
	const __u64 ticks = tick - x->straight.base_cycles;

	return likely(ticks < x->straight_ticks) ? x->straight.base_ns +
		(__s64)((tsct_u128)ticks * x->straight.mult >> TSCT_CLOCK_SHIFT) :
		tsct_clock_params_ns(&x->rec->real, tick);
}

/* Returns the begin event of an open slice, valid until *slice is moved or freed. */
static inline const struct tsct_trace_event *tsct_export_begin_of(struct tsct_export_slice *slice)
{
	slice->begin.payload = slice->payload ?: slice->kept;
	return &slice->begin;
}

/* Returns true if the filter leaves out the BEGIN of open slice @at: the slice is not drawn. */
static inline bool tsct_export_is_hidden(const struct tsct_export *x,
					 const struct tsct_thread *thread, __u32 at)
{
	return ((const struct tsct_span *)tsct_span_at(&x->slices, thread->index, at))->hidden;
}

/* Returns the length of a state, ns; 0 if the state is RUNNING or UNKNOWN. */
__s64 tsct_export_off_cpu_ns(const struct tsct_export *x, const struct tsct_state_time *time);

/* Returns the entry in x->states.threads for a thread in x->threads; NULL: no such entry. */
struct tsct_thread *tsct_export_state_thread(const struct tsct_export *x,
					     const struct tsct_thread *thread);

struct tsct_thread *tsct_export_thread_find_(const struct tsct_export *x,
					     struct tsct_threads *threads,
					     const struct tsct_trace_event *e, __u32 tid,
					     __u32 cpu);

/* Finds the thread with ID @tid at the time of event @e, or adds the thread to @threads; sets
 * the thread's name and process if the statedump has them. Returns NULL if out of memory. */
static inline struct tsct_thread *tsct_export_thread(const struct tsct_export *x,
						     struct tsct_threads *threads,
						     const struct tsct_trace_event *e,
						     __u32 tid, __u32 cpu)
{
	struct tsct_thread *t = threads->recent[tid % 64];

	/* Usually, the thread is in the same state as at its last event. */
	return t && t->tid == tid && t->node == e->node && t->from <= e->tick &&
		e->tick < t->until ? t : tsct_export_thread_find_(x, threads, e, tid, cpu);
}

/*
 * tsct_export_process - find the process of a thread at the time of the present event.
 * Returns the process's entry in x->processes, and stores it in thread->process; NULL: the
 * process is unknown. Formats may use the entry's member `own`.
 */
struct tsct_thread *tsct_export_process(struct tsct_export *x, struct tsct_thread *thread);

/* Returns a number for a process, unique among all nodes. @tgid: 0: the process that stands
 * for the node, with all threads whose process is unknown */
__s64 tsct_export_pid(const struct tsct_export *x, __u32 node, __u32 tgid);

/* Returns true if definitions of kind @kind are selected. */
bool tsct_export_has(const struct tsct_export *x, __u32 kind);

/* Returns the last tick up to which error bounds are stated: the recording's end or, if
 * later, the last event so far, as in a recording whose recorder was killed. */
static inline __u64 tsct_export_last_tick(const struct tsct_export *x)
{
	return x->now_tick > x->rec->end ? x->now_tick : x->rec->end;
}

/* Returns the largest error bound of all times so far, ns. */
__u64 tsct_export_error_ns(const struct tsct_export *x);

/* Largest distances of event times from the node's CLOCK_REALTIME, from the nodes' common
 * time, and from UTC, ns, and their names in exported metadata; UINT64_MAX: unknown */
#define TSCT_EXPORT_ERRORS	3
extern const char *const tsct_export_error_names[TSCT_EXPORT_ERRORS];
void tsct_export_errors(const struct tsct_export *x, __u64 ret_ns[TSCT_EXPORT_ERRORS]);

/* Sets the error text x->why; returns @err. */
__attribute__((format(printf, 3, 4)))
static inline int tsct_export_fail(struct tsct_export *x, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(x->why, sizeof(x->why), format, args);
	va_end(args);
	return err;
}

extern const struct tsct_export_format tsct_export_ctf, tsct_export_ctf2, tsct_export_perfetto,
	tsct_export_json, tsct_export_text, tsct_export_csv, tsct_export_folded;
/* Defined in tools/wings/otf2; NULL if that wing is not linked */
TSCT_WING extern const struct tsct_export_format tsct_export_otf2;

#endif /* TSCT_EXPORT_H */
