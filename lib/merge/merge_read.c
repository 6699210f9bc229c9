// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>

#include "lib/core/clock_params.h"
#include "merge_read.h"

void merge_reader_init(struct tsct_merge_reader *r, struct tsct_merge *m,
		       const struct tsct_merge_file *file,
		       tsct_trace_report *report, void *arg)
{
	const struct merge_in *in = &m->in[file->input];

	memset(r, 0, sizeof(*r));
	r->in = in;
	r->file = file;
	r->dir = (struct tsct_stream_reader_dir) {
		.dirfd = in->dirfd, .rec = in->info.rec, .report = report,
		.arg = arg,
	};
	tsct_stream_reader_init(&r->s, in->info.rec, in->kinds[file->in_class],
			 file->in_class, file->in_location);
	tsct_mapping_cursor_init(&r->cursor, in->segment[0].correct);
}

/* Keeps global ticks from decreasing where the counter's next epoch begins. */
static void go_on(struct tsct_merge_reader *r)
{
	r->segment++;
	r->cursor.mapping = r->in->segment[r->segment].correct;
	r->cursor.line.len = 0;
}

/* Reports once per file: damage tends to repeat. */
static void complain(struct tsct_merge_reader *r)
{
	char sentence[256];

	if (r->out)
		return;
	r->out = r->s.spoiled = true;
	r->dir.damage++;
	if (!r->dir.report)
		return;
	snprintf(sentence, sizeof(sentence), "stream %s: event at byte %" PRIu64
		 ": its time is outside the recording", r->s.name,
		 (uint64_t)r->s.event.offset);
	r->dir.report(r->dir.arg, sentence);
}

int merge_reader_turn(struct tsct_merge_reader *r, __u64 *ret_global)
{
	const __u64 stamp = r->s.event.tick;

	while (r->segment + 1 < r->in->nr_segments &&
	       stamp > r->in->segment[r->segment].end) {
		go_on(r);
		if (!tsct_mapping_cursor_next(&r->cursor, stamp, ret_global))
			return 1;
	}
	complain(r);
	return 0;
}

/* ---- public functions ---------------------------------------------------- */

int tsct_merge_reader_open(struct tsct_merge *m,
			   const struct tsct_merge_file *file,
			   struct tsct_merge_reader **ret)
{
	*ret = malloc(sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	/* Damage is reported where events are copied. */
	merge_reader_init(*ret, m, file, NULL, NULL);
	return 0;
}

int tsct_merge_reader_next(struct tsct_merge_reader *r,
			   struct tsct_merge_event *ret_event)
{
	ret_event->event = &r->s.event;
	return merge_reader_next(r, &ret_event->global);
}

void tsct_merge_reader_close(struct tsct_merge_reader *r)
{
	if (!r)
		return;
	tsct_stream_reader_free(&r->s);
	free(r);
}

__s64 tsct_merge_own_ns(const struct tsct_merge *m,
			const struct tsct_merge_file *file, __u64 stamp)
{
	return tsct_clock_params_ns(&m->in[file->input].info.rec->real, stamp);
}
