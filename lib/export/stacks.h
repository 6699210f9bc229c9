/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a recording, by node and by the number that events have in their field `stack`.
 * Functions of programs are looked up by build id when the name of a frame is needed. The
 * memory grows in proportion to the recording's size, also for a hostile recording.
 */
#ifndef TSCT_STACKS_H
#define TSCT_STACKS_H

#include <tsctrace/trace.h>

#include "lib/ctf/trace_reader.h"

struct tsct_stack_frame {
	__u64 address;		/* kernel address, or offset in a program's file, bytes */
	const char *build_id;	/* build id of the file, in hexadecimal; "": none */
	const char *file;	/* path; "[kernel]" or "[MODULE]"; "": unknown */
	const char *symbol;	/* "NAME+0x1c", as recorded; "": unknown */
	/* set by tsct_stacks_name() (but `index` is the index among all frames) */
	const char *name;	/* function, without an offset; NULL: not looked up yet */
	char *own_name;		/* memory of `name` to be freed; NULL: none */
	__u64 offset;		/* bytes from the function's start */
	bool is_found;
	__u32 index;
	/* next frame of the same file, in a ring: all names of a file are looked up together */
	struct tsct_stack_frame *next;
};

#define TSCT_STACK_FRAMES_MAX	1024	/* further frames are left out */

struct tsct_stack {
	__u32 node;
	__u64 number;
	__u32 index;		/* index among all stacks */
	__u32 nr, nr_kernel;	/* number of frames; nr_kernel: the kernel's, which come first */
	/* flags TSCT_STACK_*_REFUSED; -1: unknown, recorded by an older version */
	__s32 refused;
	struct tsct_stack_frame **frames;	/* innermost first */
	char *numbers;		/* numbers of the frames as text; NULL after `frames` is set */
};

struct tsct_stacks;

/*
 * tsct_stacks_read - read all stacks of a recording
 * @dir: directory of the recording
 * @trace: the same recording, opened by the caller, or NULL. Its callback reports if
 *	there are too many stacks, and files whose symbols cannot be read.
 *
 * Returns 0 or -errno. A recording without stacks has an empty table. Frames that are not
 * in the recording are missing from their stacks.
 */
int tsct_stacks_read(const char *dir, const struct tsct_trace *trace,
		     struct tsct_stacks **ret_stacks);
void tsct_stacks_free(struct tsct_stacks *stacks);

__u32 tsct_stacks_count(const struct tsct_stacks *stacks);
__u32 tsct_stacks_count_frames(const struct tsct_stacks *stacks);

/* Returns true if the event has the field `stack`. */
static inline bool tsct_stacks_has(const struct tsct_recording *rec,
				   const struct tsct_trace_event *e)
{
	const struct tsct_field *last = &e->def->fields[e->def->nr_fields - 1];

	return unlikely(rec->streams[e->stream].kernel) && e->def->nr_fields &&
		last->type == TSCT_TYPE_U64 && !strcmp(last->name, "stack");
}

/* Returns the stack with an index. */
const struct tsct_stack *tsct_stacks_at(const struct tsct_stacks *stacks, __u32 index);

/* Returns the stack of an event; NULL: the event has none, or its stack is not recorded. */
const struct tsct_stack *tsct_stacks_of(const struct tsct_stacks *stacks,
					const struct tsct_recording *rec,
					const struct tsct_trace_event *event);

/* Returns the stack with a number on a node; NULL: unknown. */
const struct tsct_stack *tsct_stacks_find(const struct tsct_stacks *stacks, __u32 node,
					  __u64 number);

/* Returns the name of a frame's function, or "[FILE]" if the function is unknown. */
const char *tsct_stacks_name(struct tsct_stacks *stacks, struct tsct_stack_frame *frame);

/* Looks up the names of all frames of a stack. */
void tsct_stacks_name_all(struct tsct_stacks *stacks, const struct tsct_stack *stack);

/* Compares two stacks by the names of their functions, beginning with the outermost. The
 * names must have been looked up. A kernel function comes after a program's function of
 * the same name. For qsort() */
int tsct_stacks_compare(const struct tsct_stack *a, const struct tsct_stack *b);

/* Writes a frame as text: "NAME+0x1c (FILE)", or "[FILE+0x1234]". */
#define TSCT_STACK_FRAME_TEXT	1024
void tsct_stacks_text(struct tsct_stacks *stacks, struct tsct_stack_frame *frame,
		      char text[TSCT_STACK_FRAME_TEXT]);

/* ---- counts of events by their stacks ----------------------------------------- */

/* Numbers of events by the content of their stacks */
struct tsct_stack_counts {
	__u64 events;		/* events with a stack */
	__u64 missing;		/* events whose stack is not in the recording */
	__u64 of_program;	/* events with functions of a program in the stack */
	__u64 of_one_function;	/* events with at most one function of the program in the stack */
	__u64 absent;		/* events of threads without a user stack */
	__u64 refused;		/* events with a stack of which the kernel refused a part */
	/* events of older versions, which do not state whether the kernel refused a user stack */
	__u64 untold;
};

/* Counts @events events with @stack; NULL: the stack is not in the recording. */
void tsct_stack_counts_add(struct tsct_stack_counts *counts, const struct tsct_stack *stack,
			   __u64 events);

/* Writes sentence @i, without a full stop, about incomplete stacks. Returns false if no stack
 * is incomplete in this way. *ret_warn: true if the sentence is about missing data */
#define TSCT_STACK_SENTENCES	4
#define TSCT_STACK_SENTENCE_MAX	160
bool tsct_stack_counts_text(const struct tsct_stack_counts *counts, unsigned int i,
			    char text[TSCT_STACK_SENTENCE_MAX], bool *ret_warn);

/* ---- build ids of programs and libraries, as bytes and as text ------------- */

#define TSCT_BUILD_ID_MAX	20	/* size of a build id, bytes */
#define TSCT_BUILD_ID_TEXT	(2 * TSCT_BUILD_ID_MAX + 1)

/* Converts a build id from hexadecimal text. Returns its length in bytes. */
size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX]);

/*
 * Converts a build id to text. The kernel gives 20 bytes, and pads shorter ids with zeros;
 * but the last bytes of an id may be zeros themselves. So the text ends at the last byte
 * that is not zero, or at the next usual length (8, 16 or 20 bytes) if it is less than 4
 * bytes longer. Two ids that differ only in zeros at their end have the same text.
 */
void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT]);

#endif /* TSCT_STACKS_H */
