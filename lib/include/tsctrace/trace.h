/* SPDX-License-Identifier: MIT */
/*
 * Reading recordings, also merged ones: the events of all nodes and CPUs, in the
 * order of time. trace-ctl's verbs read by nothing else.
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
 * Everything on disk is taken as hostile: what cannot be is reported, skipped, and
 * what lies before and behind it is still read. Memory goes with files and
 * definitions, not with events.
 *
 * A trace belongs to one thread at a time; different traces, also of the same
 * recording, to different ones. Nothing here may be called in a signal handler.
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
	__u64 tick;		/* of the recording's clock */
	__u64 file_tick;	/* the same in the unit of the file, coarser or finer */
	__u32 node;		/* number of the node, see tsct_trace_node() */
	__u32 cpu;		/* of that node */
	__u32 location;		/* of both: a number for each CPU of each node */
	__u32 tid;		/* thread, as that node counts */
	__u32 stream;		/* number of the channel, see tsct_trace_channel() */
	__u64 offset;		/* in its file, bytes */
	__u64 discarded;	/* events lost in its ring so far, by its packet */
	__u32 len;		/* of the payload, which fits the definition */
	const struct tsct_event_def *def;	/* valid until tsct_trace_close() */
	const __u8 *payload;	/* valid until the next call */
};

/*
 * tsct_trace_open - open the recording in the directory @dir
 * @report: is told of damage by tsct_trace_next(), in sentences that name the file and
 *	the place in it; may be NULL
 * @why: on failure, what is wrong with it, without its name
 *
 * Returns 0, -ENOMSG: not a tsctrace recording, -EINVAL: its metadata is damaged,
 * or of another version, or the -errno of reading it.
 */
int tsct_trace_open(const char *dir,
		    void (*report)(void *arg, const char *sentence), void *arg,
		    struct tsct_trace **ret_trace, char *why, size_t why_size);
void tsct_trace_close(struct tsct_trace *trace);	/* NULL is fine */

/*
 * tsct_trace_next - the next event of all, by stamp; ties by location
 * Returns 1, 0 at the end, -ENOMEM.
 */
int tsct_trace_next(struct tsct_trace *trace,
		    struct tsct_trace_event *ret_event);

/* Places that were damaged, so far */
__u64 tsct_trace_corrupt_count(const struct tsct_trace *trace);

/* ---- what it is of ------------------------------------------------------- */

struct tsct_trace_node {
	const char *name;	/* in its cluster, else of the host */
	const char *host;
	const char *kernel;	/* release */
	const char *command;	/* that was recorded; "": the whole system */
	const __u8 *boot_id;	/* 16 bytes */
};

__u32 tsct_trace_nodes(const struct tsct_trace *trace);
__u32 tsct_trace_channels(const struct tsct_trace *trace);

/* Texts are of the recording, any bytes, valid until it is closed. 0 or -EINVAL */
int tsct_trace_node(const struct tsct_trace *trace, __u32 node,
		    struct tsct_trace_node *ret_node);

/* NULL: there is no such channel */
const char *tsct_trace_channel(const struct tsct_trace *trace, __u32 stream);

/* Was it made of others? Then stamps are ticks of the time that they have in common. */
bool tsct_trace_is_merged(const struct tsct_trace *trace);

/* Did the recorder come to its end? Else the last second may be missing. */
bool tsct_trace_is_complete(const struct tsct_trace *trace);

/*
 * tsct_trace_lost - events that are known to be missing
 * For certain after tsct_trace_next() returned 0; until then, as far as is known.
 */
__u64 tsct_trace_lost(const struct tsct_trace *trace);

/* ---- times --------------------------------------------------------------- */

/* Stamps at which the recording began and ended */
void tsct_trace_span(const struct tsct_trace *trace, __u64 *ret_begin,
		     __u64 *ret_end);

/* ns since the Unix epoch, CLOCK_REALTIME as the recording knows it; see stamps.rst */
__s64 tsct_trace_ns(const struct tsct_trace *trace, __u64 stamp);

/*
 * tsct_trace_error_ns - how far that may be from true time, for events of a node
 * A bound, in ns. UINT64_MAX: there is none, or no such node.
 */
__u64 tsct_trace_error_ns(const struct tsct_trace *trace, __u32 node,
			  __u64 stamp);

/* ---- fields -------------------------------------------------------------- */

struct tsct_value {
	const struct tsct_field *field;	/* name, type, count, format; see abi.h */
	const __u8 *at;			/* in the event's payload, not aligned */
	size_t size;
};

/* The next field, in order; *nr and *pos start at 0. False after the last. */
bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret_value);

/* The field of that name; false if the event has none. */
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

/* An integer field's value; u64 as its bits. */
__s64 tsct_value_integer(const struct tsct_value *value);

/* Is it an unsigned one, beyond what the above can say? */
bool tsct_value_exceeds_s64(const struct tsct_value *value);

/* f32 or f64 */
double tsct_value_double(const struct tsct_value *value);

/* Text: what of its bytes is before a NUL. It need not be UTF-8, nor end with one. */
size_t tsct_value_text_len(const struct tsct_value *value);

/* The system call that an integer field of that format names, or NULL. */
const char *tsct_value_syscall(const struct tsct_value *value);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_TRACE_H */
