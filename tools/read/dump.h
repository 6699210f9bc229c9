/* SPDX-License-Identifier: MIT */
/* The parts of trace-ctl dump: lines of system calls and of JSON, stacks */
#ifndef DUMP_H
#define DUMP_H

#include "lib/base/text.h"
#include "lib/base/wing.h"
#include "lib/query/event_text.h"
#include "lib/query/unique_stamps.h"
#include "lib/statedump/identity.h"

struct dump_calls;
struct tsct_stack;
struct tsct_stacks;

enum dump_colour { DUMP_COLOUR_AUTO, DUMP_COLOUR_ALWAYS, DUMP_COLOUR_NEVER };

struct dump {
	const char *dir;
	bool json, sync, stamps, follow, strace;
	enum dump_colour colour;
	struct tsct_filter filter;
	__u64 limit;
	__u64 tail, skip;	/* argument of --tail; number of events that --tail omits */

	struct tsct_trace *trace;
	const struct tsct_recording *rec;
	struct tsct_selection selection;
	struct tsct_event_text lines;	/* state and options of lines of text */
	struct tsct_text json_lines;	/* lines of JSON that are not printed yet */
	__s64 begin_ns;			/* time at which the recording begins */
	struct tsct_identity identity;	/* threads, for --json, --strace and --names */
	struct tsct_stacks *stacks;	/* stacks; NULL: the recording has none */
	bool stacks_are_old;		/* a live recording may have more stacks than were read */
	struct dump_calls *calls;	/* open system calls, for --strace */
	struct tsct_unique_stamps unique;
	struct tsct_unique_stamps_item stamp;	/* stamp of the last event read */
	__u64 shown;
	/* latest tick read so far; number of events read after one with a later tick */
	__u64 last, late;
	bool enough;			/* no later event is to be printed */
	char why[256];
};

/* ---- dump_json.c --------------------------------------------------------- */

/* Appends event @e, at time @ns, as a line to d->json_lines. Returns 0 or -ENOMEM. */
int dump_json_add(struct dump *d, const struct tsct_trace_event *e, __s64 ns);

/* ---- stacks, --names, --tail: in tools/shared, which a core build leaves out --------------- */

/* Reads the stacks of the recording. Returns 0 or -errno. */
TSCT_WING int dump_stacks_read(struct dump *d);
TSCT_WING void dump_stacks_free(struct dump *d);

/* Returns the stack of an event, or NULL. */
TSCT_WING const struct tsct_stack *dump_stack_of(struct dump *d,
						 const struct tsct_trace_event *e);

/* Appends a line for each frame of @stack, which may be NULL. Returns 0 or -ENOMEM. */
TSCT_WING int dump_stack_add(struct dump *d, const struct tsct_stack *stack);

/* Returns the frames as the text of a JSON array, malloc'ed; NULL: out of memory. */
TSCT_WING char *dump_stack_json(struct dump *d, const struct tsct_stack *stack);

/* Appends the name of an event's thread, padded to 16 characters or more. @arg: struct dump */
TSCT_WING char *dump_put_name(void *arg, char *at, const struct tsct_trace_event *e);

/* Passes over events of @trace before the selected time, if the lines after it do not depend on
 * them. */
void dump_seek(const struct dump *d, struct tsct_trace *trace);

/* Counts the selected events and sets d->skip. @items: TSCT_TRACE_*. Returns 0 or -errno. */
TSCT_WING int dump_tail_start(struct dump *d, unsigned int items);

/* ---- lines of system calls: the wing `strace` ---------------------------------- */

/* Starts the lines of calls. Call it again when the metadata or the losses of a live
 * recording have changed. Returns 0 or -errno. */
TSCT_WING int dump_calls_start(struct dump *d);

/* Ends the lines of calls that may have ended before event @e without a recorded end. Call it
 * for every event, also for events that are not of calls or not shown. Returns 0 or -ENOMEM. */
TSCT_WING int dump_calls_pass(struct dump *d, const struct tsct_trace_event *e, bool shown);

/* Adds an event to the lines of calls. @call: the event's system call, or NULL. Returns 0, 1
 * if the event is not of a call (nor sys_enter or sys_exit), or -ENOMEM. */
TSCT_WING int dump_call_add(struct dump *d, const struct tsct_syscall *call,
		  const struct tsct_trace_event *e, __s64 ns);

/* Writes a JSON member with the fields of a call that are shown as text, such as names of flags.
 * Returns the end of the text. */
TSCT_WING char *dump_call_json(char *at, const struct tsct_syscall *call,
			       const struct tsct_trace_event *e);

/* Adds the lines of calls that have not ended, after the last event. Returns 0 or -ENOMEM. */
TSCT_WING int dump_calls_finish(struct dump *d);
TSCT_WING void dump_calls_free(struct dump *d);

#endif /* DUMP_H */
