// SPDX-License-Identifier: MIT
/* What record says of the cluster at its end. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd_record.h"
#include "tools/common/json.h"

/* In the file, not those that the disk did not take */
static __u64 samples_of(const struct record_session *s)
{
	return s->rec.streams[s->rec.nr_streams].counts[0].events;
}

static void show_lost(const struct record_session *s)
{
	__u64 lost = tsct_recording_samples_lost(&s->rec);

	if (lost)
		record_complain("%" PRIu64 " sync samples were lost: the daemon had"
				" forgotten them, or the disk did not take them;"
				" fits are made of the others", (uint64_t)lost);
	if (s->rec.nodes[0].sync.restarts)
		record_complain("tsctraced was restarted %u times: what it measured"
				" right before is not in the recording",
				s->rec.nodes[0].sync.restarts);
}

static void show_end(const struct record_session *s)
{
	const struct tsct_recorded_session *end = &s->rec.nodes[0].sync.end;

	if (end->state == TSCT_SESSION_FAILED ||
	    end->state == TSCT_SESSION_INTERRUPTED)
		record_complain("--cluster: the session at the end failed: %s; the"
				" recording is whole, and says so", s->sync.why);
	else if (end->state == TSCT_SESSION_DONE && *s->sync.absent)
		record_complain("--cluster: did not take part in the session at"
				" the end: %s", s->sync.absent);
	else if (*s->sync.why)
		record_complain("the last sync samples may be missing: %s",
				s->sync.why);
}

void record_sync_show(const struct record_session *s)
{
	const struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;

	if (!rec->on)
		return;
	if (!s->o->quiet && !s->o->json)
		fprintf(stderr, "  sync: %s, %" PRIu64 " samples, cluster time %s;"
			" session at the start: %s, at the end: %s; fit: %s\n",
			tsct_sync_role_names[rec->role], (uint64_t)samples_of(s),
			tsct_status_name(rec->status),
			tsct_session_names[rec->start.state],
			tsct_session_names[rec->end.state], rec->fit);
	show_lost(s);
	show_end(s);
}

json_t *record_sync_json(const struct record_session *s)
{
	const struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;

	if (!rec->on)
		return json_null();
	return json_pack("{ss sI sI si ss ss ss ss so}",
		"role", tsct_sync_role_names[rec->role],
		"samples", (json_int_t)samples_of(s),
		"lost", (json_int_t)tsct_recording_samples_lost(&s->rec),
		"restarts", (int)rec->restarts,
		"status", tsct_status_name(rec->status),
		"start", tsct_session_names[rec->start.state],
		"end", tsct_session_names[rec->end.state], "fit", rec->fit,
		"why", *s->sync.why ? ctl_json_text(s->sync.why) : json_null());
}
