// SPDX-License-Identifier: MIT
/* When a recording asks for samples and sessions. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_record.h"
#include "lib/client/gettime.h"

#define FETCH_NS	1000000000LL	/* between questions, */
#define BUSY_NS		50000000LL	/* and while a session is on */
#define ANSWER_NS	5000000000LL
/* Who only wants samples if there are any does not wait for them. */
#define SOON_NS		1000000000LL

static bool is_cluster(const struct record_session *s)
{
	return s->o->sync_mode == RECORD_SYNC_CLUSTER;
}

/* Without a daemon there is nothing to keep; who asked for it is told. */
static int do_without(struct record_session *s, int err)
{
	tsct_recording_drop_sync(&s->rec);
	if (is_cluster(s)) {
		record_complain("--cluster: %s; nothing was recorded",
				s->sync.why);
		return err;
	}
	if (s->o->fit)
		record_complain("--fit %s has no effect: there are no sync samples:"
				" %s", s->o->fit, s->sync.why);
	return 0;
}

int record_sync_open(struct record_session *s)
{
	int err;

	if (s->o->sync_mode == RECORD_SYNC_OFF)
		return 0;
	/* What takes no time is not interrupted. */
	s->sync.interrupts = is_cluster(s) ? 0 : INT_MAX;
	err = tsct_recording_add_samples(&s->rec);
	if (err) {
		record_complain("sync samples: %s", strerror(-err));
		return err;
	}
	err = record_sync_fetch(s, is_cluster(s) ? ANSWER_NS : SOON_NS);
	if (err)
		return do_without(s, err);
	s->sync.started = true;
	s->sync.due_ns = tsct_monotonic_ns() + FETCH_NS;
	return 0;
}

int record_sync_start(struct record_session *s)
{
	int err;

	if (!is_cluster(s))
		return 0;
	err = record_sync_session(s, &s->rec.nodes[0].sync.start);
	if (err)
		record_complain("--cluster: the session at the start failed: %s;"
				" nothing was recorded", s->sync.why);
	else if (*s->sync.absent)
		record_complain("--cluster: did not take part in the session at"
				" the start: %s", s->sync.absent);
	return err;
}

/* ---- meanwhile ---------------------------------------------------------------- */

static void ask_next(struct record_session *s)
{
	char request[64];

	snprintf(request, sizeof(request), "samples %llu",
		 (unsigned long long)s->sync.number);
	s->sync.more = false;
	asking_begin(&s->sync.asking, request, ANSWER_NS);
}

/* A daemon that is away, or stopped, has them when it is back; or they are gone. */
void record_sync_beat(struct record_session *s, __s64 now_ns)
{
	struct record_sync *sync = &s->sync;
	int ret;

	if (!s->rec.nodes[0].sync.on)
		return;
	if (!asking_is(&sync->asking)) {
		if (now_ns < sync->due_ns)
			return;
		ask_next(s);
	}
	ret = asking_step(&sync->asking);
	if (!ret)
		return;
	if (ret > 0)
		record_sync_take(s, sync->asking.text);
	else
		sync->busy = false;
	asking_end(&sync->asking);
	record_sync_write(s);
	sync->due_ns = sync->more ? now_ns :
		now_ns + (sync->busy ? BUSY_NS : FETCH_NS);
}

/* ---- the end ------------------------------------------------------------------ */

void record_sync_end(struct record_session *s)
{
	struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;
	int err;

	if (!rec->on)
		return;
	asking_end(&s->sync.asking);
	s->sync.why[0] = '\0';
	s->sync.absent[0] = '\0';
	if (is_cluster(s)) {
		s->sync.interrupts = record_interrupts;
		err = record_sync_session(s, &rec->end);
	} else {
		err = record_sync_fetch(s, SOON_NS);
	}
	if (!err)
		s->sync.why[0] = '\0';
	record_sync_write(s);
}

void record_sync_close(struct record_session *s)
{
	asking_end(&s->sync.asking);
	free(s->sync.held);
}
