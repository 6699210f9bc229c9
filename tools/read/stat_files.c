// SPDX-License-Identifier: MIT
/* Figures of the recording's files: ticks, packets, bytes */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/ctf/ticks.h"
#include "stat.h"

int stat_files_init(struct stat_figures *s)
{
	s->files.file = calloc((size_t)s->rec->nr_streams * s->rec->nr_locations +
			       1, sizeof(*s->files.file));
	return s->files.file ? 0 : -ENOMEM;
}

void stat_files_free(struct stat_figures *s)
{
	free(s->files.file);
}

void stat_files_note(struct stat_figures *s, const struct tsct_trace_event *e)
{
	struct stat_file *f = &s->files.file[(size_t)e->stream *
					     s->rec->nr_locations + e->location];

	s->files.payload += e->len;
	f->same = f->any && f->tick == e->file_tick ? f->same + 1 : 0;
	f->tick = e->file_tick;
	f->any = true;
	if (f->same > s->files.on_tick)
		s->files.on_tick = f->same;
}

static double per_event(const struct stat_figures *s, __u64 bytes)
{
	return s->events ? (double)bytes / (double)s->events : 0;
}

void stat_files_print(const struct stat_figures *s)
{
	const struct tsct_recording *rec = s->rec;
	const __u64 bytes = tsct_trace_bytes(s->trace);

	printf("%-10s %" PRIu64 " bytes, %.2f bytes/event, %.2f of it payload",
	       "files", (uint64_t)bytes, per_event(s, bytes),
	       per_event(s, s->files.payload));
	if (rec->sync_every)
		printf("; at most %" PRIu64 " events in a packet",
		       (uint64_t)rec->sync_every);
	printf("\n%-10s %s; ", "ticks", tsct_timestamps_names[rec->timestamps]);
	if (tsct_recording_is_untimed(rec))
		puts("events have no time of their own, only that of their packet's begin");
	else if (!s->files.on_tick)
		puts("all time stamps are distinct");
	else
		printf("at most %" PRIu64 " more events on the tick of another\n",
		       (uint64_t)s->files.on_tick);
}

json_t *stat_files_json(const struct stat_figures *s)
{
	return json_pack("{ss sI sI sI sf so}",
		"timestamps", tsct_timestamps_names[s->rec->timestamps],
		"sync_every", (json_int_t)s->rec->sync_every,
		"bytes", (json_int_t)tsct_trace_bytes(s->trace),
		"payload_bytes", (json_int_t)s->files.payload,
		"bytes_per_event", per_event(s, tsct_trace_bytes(s->trace)),
		"most_on_tick", tsct_recording_is_untimed(s->rec) ? json_null() :
		json_integer((json_int_t)s->files.on_tick));
}
