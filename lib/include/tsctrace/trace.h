/* SPDX-License-Identifier: MIT */
/*
 * Reading recordings, also merged ones: the events of all nodes and CPUs in the order
 * of time.
 *
 *	struct tsct_trace_event event;
 *	struct tsct_trace *trace;
 *	char why[256];
 *
 *	if (tsct_trace_open("recording", NULL, NULL, &trace, why, sizeof(why)))
 *		errx(1, "%s", why);
 *	while (tsct_trace_next(trace, &event) == 1)
 *		printf("%lld %s\n", (long long)tsct_trace_ns(trace, event.tick),
 *		       event.def->name);
 *	tsct_trace_close(trace);
 *
 * All data on disk is taken as hostile: corrupt data is reported and skipped; the
 * data before and after it is read. Memory is proportional to the number of files and
 * definitions, not of events. A trace is for one thread at a time; different traces,
 * also of one recording, may be used by different threads. No function is
 * async-signal-safe. A "tick" is the time unit of the recording, see tsct_trace_ns().
 */
#ifndef TSCTRACE_TRACE_H
#define TSCTRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include <tsctrace/tsctrace.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct tsct_trace;

struct tsct_trace_event {
	__u64 tick;		/* time of the event in ticks, see tsct_trace_ns() */
	__u64 file_tick;	/* time of the event in ticks of its file, which may
				 * be longer or shorter than the ticks of `tick` */
	__u32 node;		/* number of the node, see tsct_trace_node() */
	__u32 cpu;		/* number of the event's CPU, on node `node` */
	__u32 location;		/* location: a different number for each CPU of each recording */
	__u32 tid;		/* id of the event's thread, on node `node` */
	__u32 stream;		/* number of the channel, see tsct_trace_channel() */
	__u64 offset;		/* offset of the event in its file, bytes */
	__u64 discarded;	/* number of events lost in this event's ring up to the
				 * end of the event's packet (CTF: events_discarded) */
	__u32 len;		/* length of the payload, bytes; the fields of `def` fit into it */
	const struct tsct_event_def *def;	/* definition of the event; valid until
						 * tsct_trace_close() */
	const __u8 *payload;	/* payload; valid until the next call of tsct_trace_next() */
};

/*
 * tsct_trace_open - open the recording in the directory @dir
 * @report: called by tsct_trace_next() for corrupt data, with a text that names the
 *	file and the offset in it; may be NULL
 * @arg: passed to @report
 * @why: on failure, the reason as text, without the name of @dir
 *
 * Returns 0; -ENOMSG: not a tsctrace recording; -EINVAL: the metadata is corrupt
 * or of another version; -ENOMEM; or another -errno of reading the recording.
 */
int tsct_trace_open(const char *dir,
		    void (*report)(void *arg, const char *sentence), void *arg,
		    struct tsct_trace **ret_trace, char *why, size_t why_size);

/* Closes a recording; NULL is allowed. */
void tsct_trace_close(struct tsct_trace *trace);

/*
 * tsct_trace_next - get the next event of the recording, in the order of ticks, and of
 * locations within a tick. Returns 1; 0 at the end of the recording; -ENOMEM.
 */
int tsct_trace_next(struct tsct_trace *trace,
		    struct tsct_trace_event *ret_event);

/* Returns the number of corrupt places found in the recording so far. */
__u64 tsct_trace_corrupt_count(const struct tsct_trace *trace);

/* ---- nodes and channels -------------------------------------------------- */

struct tsct_trace_node {
	const char *name;	/* name of the node in its cluster, else the host name */
	const char *host;	/* host name of the node */
	const char *kernel;	/* release of the node's kernel */
	const char *command;	/* recorded command; "": the whole system */
	const __u8 *boot_id;	/* boot id of the node, 16 bytes */
};

/* Returns the number of nodes. If several nodes are recordings of one machine,
 * the events of all of them have the number of the first of these nodes. */
__u32 tsct_trace_nodes(const struct tsct_trace *trace);
__u32 tsct_trace_channels(const struct tsct_trace *trace);

/*
 * tsct_trace_node - a node's description
 *
 * The strings come from the recording: any bytes, valid until @trace is closed. Returns 0
 * or -EINVAL: no such node.
 */
int tsct_trace_node(const struct tsct_trace *trace, __u32 node,
		    struct tsct_trace_node *ret_node);

/* Returns the name of a channel, any bytes, valid until @trace is closed; NULL: no such channel. */
const char *tsct_trace_channel(const struct tsct_trace *trace, __u32 stream);

/* Returns true if the recording was merged from others, with ticks of their common time. */
bool tsct_trace_is_merged(const struct tsct_trace *trace);

/* Returns true if the recorder finished the recording. If not, the last second may be missing. */
bool tsct_trace_is_complete(const struct tsct_trace *trace);

/*
 * tsct_trace_lost - number of events that are known to be missing
 *
 * Before tsct_trace_next() has returned 0, includes only the losses found so far.
 */
__u64 tsct_trace_lost(const struct tsct_trace *trace);

/* ---- times --------------------------------------------------------------- */

/* Gets the ticks at which the recording began and ended. */
void tsct_trace_span(const struct tsct_trace *trace, __u64 *ret_begin,
		     __u64 *ret_end);

/* Converts a tick to ns since the Unix epoch (CLOCK_REALTIME); see stamps.rst. */
__s64 tsct_trace_ns(const struct tsct_trace *trace, __u64 tick);

/* Reference time: an error of tsct_trace_ns() is the difference from this time */
enum tsct_error_of {
	/* the time that all nodes of the recording have in common; in a recording of one
	 * node, the node's CLOCK_REALTIME */
	TSCT_ERROR_COMMON,
	TSCT_ERROR_CLOCK,	/* the node's own CLOCK_REALTIME */
	TSCT_ERROR_UTC,
	TSCT_ERROR_NR,
};

/*
 * tsct_trace_error_ns - bound on the error of tsct_trace_ns() for events of a
 *	node, relative to the common time of all nodes, ns
 * tsct_trace_error_of - bound on that error relative to the time @of, ns
 *
 * The bound of a time uses all data on the clock that the recording has around that time.
 * If the times of two events of different nodes differ by more than the sum of both bounds
 * relative to the common time, the event with the lower time happened first. UINT64_MAX: no
 * bound is known (relative to the common time: the node was never compared), or no such node.
 */
__u64 tsct_trace_error_ns(const struct tsct_trace *trace, __u32 node,
			  __u64 tick);
__u64 tsct_trace_error_of(const struct tsct_trace *trace, enum tsct_error_of of,
			  __u32 node, __u64 tick);

/* ---- fields -------------------------------------------------------------- */

struct tsct_value {
	const struct tsct_field *field;	/* definition of the field: name, type, count,
					 * format; see abi.h */
	const __u8 *at;			/* address of the value in the event's payload,
					 * not aligned */
	size_t size;			/* size of the value, bytes */
};

/*
 * tsct_value_next - the next field of an event, in order
 * @nr, @pos: state of the iteration, both 0 in the first call
 *
 * Returns false after the last field.
 */
bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret_value);

/* Finds the field with a given name. Returns false if the event has no such field. */
bool tsct_value_find(const struct tsct_trace_event *event, const char *name,
		     struct tsct_value *ret_value);

static inline bool tsct_value_is_integer(const struct tsct_value *value)
{
	return value->field->type <= TSCT_TYPE_S64;
}

static inline bool tsct_value_is_float(const struct tsct_value *value)
{
	return value->field->type == TSCT_TYPE_F32 ||
		value->field->type == TSCT_TYPE_F64;
}

static inline bool tsct_value_is_text(const struct tsct_value *value)
{
	return value->field->type == TSCT_TYPE_STRING ||
		value->field->type == TSCT_TYPE_CHARS;
}

/* Returns the value of an integer field. A large u64 becomes negative, as its bits are kept. */
__s64 tsct_value_integer(const struct tsct_value *value);

/* Returns true if the value is a u64 above the maximum of __s64. */
bool tsct_value_exceeds_s64(const struct tsct_value *value);

/* Returns the value of an f32 or f64 field. */
double tsct_value_double(const struct tsct_value *value);

/* Returns the number of bytes of a text, without its NUL. The text may be invalid UTF-8. */
size_t tsct_value_text_len(const struct tsct_value *value);

/* Returns the name of the system call whose number the field holds; NULL: the field is not of
 * format TSCT_FORMAT_SYSCALL, or there is no such call. */
const char *tsct_value_syscall(const struct tsct_value *value);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_TRACE_H */
