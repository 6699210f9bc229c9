// SPDX-License-Identifier: MIT
/* The lines of `env` that concern the cluster; trace_meta_sync.c reads them. */
#include <inttypes.h>

#include "metadata_write.h"
#include "tsdl_writer.h"
#include "samples.h"

static void put_item(FILE *to, const char *name, __u64 value)
{
	fprintf(to, " %s=%" PRIu64, name, (uint64_t)value);
}

static void put_session(FILE *to, const char *of, const char *key,
			const struct tsct_recorded_session *s)
{
	fprintf(to, "\t%s%s = \"state=%u", of, key, s->state);
	put_item(to, "begin", s->begin);
	put_item(to, "end", s->end);
	fputs("\";\n", to);
}

static void put_state(FILE *to, const char *of,
		      const struct tsct_recorded_sync *sync)
{
	fprintf(to, "\t%ssync_state = \"role=%u", of, sync->role);
	put_item(to, "node", sync->node);
	put_item(to, "host", sync->host);
	put_item(to, "master", sync->master);
	put_item(to, "timeline", sync->timeline);
	put_item(to, "status", sync->status);
	put_item(to, "epoch_first", sync->epoch_first);
	put_item(to, "epoch", sync->epoch);
	put_item(to, "restarts", sync->restarts);
	fputs("\";\n", to);
}

void tsct_meta_put_samples(FILE *to, const struct tsct_recording *rec)
{
	const struct tsct_stream_class *s = &rec->streams[rec->nr_streams];
	const struct tsct_held *held = &s->held[0];

	tsct_tsdl_put_text(to, "sync_stream", s->name);
	tsct_tsdl_put_text(to, "sync_fields", TSCT_SAMPLE_FIELDS);
	fprintf(to, "\tsync_holds = \"lost=%" PRIu64,
		(uint64_t)tsct_recording_samples_lost(rec));
	put_item(to, "packets", rec->complete ? held->packets : 0);
	put_item(to, "events", rec->complete ? held->events : 0);
	fputs("\";\n", to);
}

void tsct_meta_put_sync(FILE *to, const char *of,
			const struct tsct_recorded_sync *sync)
{
	if (!sync->on)
		return;
	tsct_meta_put_text(to, of, "sync_node", sync->name);
	tsct_meta_put_text(to, of, "sync_fit", sync->fit);
	put_state(to, of, sync);
	put_session(to, of, "sync_start", &sync->start);
	put_session(to, of, "sync_end", &sync->end);
	if (sync->line.mult)
		tsct_meta_put_pair(to, of, "clock_cluster", &sync->line);
}
