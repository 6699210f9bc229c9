/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a recording, by node and by the number that events have in their field
 * `stack`. Functions of programs are found when a frame is first asked for, by build id.
 */
#ifndef TSCT_STACKS_H
#define TSCT_STACKS_H

#include <tsctrace/trace.h>

#include "lib/ctf/trace_reader.h"

struct tsct_stack_frame {
	__u64 address;		/* of the kernel; of a program: offset in its file */
	const char *build_id;	/* of the file, in hexadecimal; "": none */
	const char *file;	/* path; "[kernel]" or "[MODULE]"; "": unknown */
	const char *symbol;	/* "NAME+0x1c", as recorded; "": unknown */
	/* results of tsct_stacks_name(), and index among all frames */
	const char *name;	/* function, without an offset */
	char *made_name;	/* "[FILE]" in place of an unknown name; or NULL */
	__u64 offset;		/* from the function's begin */
	bool is_found, is_asked;
	__u32 index;
};

struct tsct_stack {
	__u32 node;
	__u64 number;
	__u32 index;		/* among all stacks */
	__u32 nr, nr_kernel;	/* number of frames; the first ones are of the kernel */
	struct tsct_stack_frame **frames;	/* innermost first */
	char *numbers;		/* of the frames, as recorded */
};

struct tsct_stacks;

/*
 * tsct_stacks_read - read all stacks of a recording
 * @dir: the recording
 *
 * Returns 0 or -errno. A recording without stacks has an empty table. Stacks with frames
 * that are not in the recording lack these frames.
 */
int tsct_stacks_read(const char *dir, struct tsct_stacks **ret_stacks);
void tsct_stacks_free(struct tsct_stacks *stacks);

__u32 tsct_stacks_count(const struct tsct_stacks *stacks);
__u32 tsct_stacks_count_frames(const struct tsct_stacks *stacks);

/* Returns true if the event has the field `stack`. */
bool tsct_stacks_has(const struct tsct_recording *rec,
		     const struct tsct_trace_event *event);

/* Returns the stack with an index. */
const struct tsct_stack *tsct_stacks_at(const struct tsct_stacks *stacks, __u32 index);

/* Returns the stack of an event, or NULL: it has none, or it is unknown. */
const struct tsct_stack *tsct_stacks_of(const struct tsct_stacks *stacks,
					const struct tsct_recording *rec,
					const struct tsct_trace_event *event);

/* Returns the stack with a number; NULL: unknown. */
const struct tsct_stack *tsct_stacks_find(const struct tsct_stacks *stacks, __u32 node,
					  __u64 number);

/* Returns the name of a frame's function, or "[FILE]" if it is unknown. */
const char *tsct_stacks_name(struct tsct_stacks *stacks, struct tsct_stack_frame *frame);

/* Writes a frame as text: "NAME+0x1c (FILE)", or "[FILE+0x1234]". */
#define TSCT_STACK_FRAME_TEXT	1024
void tsct_stacks_text(struct tsct_stacks *stacks, struct tsct_stack_frame *frame,
		      char text[TSCT_STACK_FRAME_TEXT]);

#endif /* TSCT_STACKS_H */
