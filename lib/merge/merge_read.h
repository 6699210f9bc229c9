/* SPDX-License-Identifier: MIT */
/*
 * Reads one file of an input with global ticks, for copying and for matching
 * messages.
 */
#ifndef TSCT_MERGE_READ_H
#define TSCT_MERGE_READ_H

#include "merge_private.h"

struct tsct_merge_reader {
	struct tsct_stream_reader s;
	struct tsct_stream_reader_dir dir;
	struct tsct_mapping_cursor cursor;
	const struct merge_in *in;
	const struct tsct_merge_file *file;
	unsigned int segment;
	bool out;		/* an event had no global tick */
};

void merge_reader_init(struct tsct_merge_reader *r, struct tsct_merge *m,
		       const struct tsct_merge_file *file,
		       tsct_trace_report *report, void *arg);

/*
 * The slow path of merge_reader_next(). Returns 1, or 0 if the event has no
 * global tick.
 */
int merge_reader_turn(struct tsct_merge_reader *r, __u64 *ret_global);

/* Returns 1 with the event in r->s.event, 0 at the end, or -ENOMEM. */
static inline int merge_reader_next(struct tsct_merge_reader *r,
				    __u64 *ret_global)
{
	int ret;

	for (;;) {
		ret = tsct_stream_reader_next(&r->dir, &r->s);
		if (unlikely(ret <= 0))
			return ret;
		if (likely(!tsct_mapping_cursor_next(&r->cursor, r->s.event.tick,
						ret_global)) ||
		    merge_reader_turn(r, ret_global))
			return 1;
	}
}

#endif /* TSCT_MERGE_READ_H */
