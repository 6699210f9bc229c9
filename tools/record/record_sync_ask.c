// SPDX-License-Identifier: MIT
/* The daemon's samples, from its answers into the recording. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/client/control_client.h"
#include "cmd_record.h"

#define HELD_MAX	65536	/* of a flight recorder, which writes at its end */

static int explain(struct record_session *s, int err, const char *what,
		   const char *fix)
{
	snprintf(s->sync.why, sizeof(s->sync.why), "%s: %s%s", asking_path(),
		 what, fix);
	return err;
}

int record_sync_explain(struct record_session *s, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		return explain(s, err, "no daemon is there", "; start tsctraced");
	case -ETIMEDOUT:
		return explain(s, err, "no answer", "; is tsctraced stopped?");
	case -EACCES:
	case -EPERM:
		return explain(s, err, strerror(-err), "; run as root");
	case -EINTR:
		return explain(s, err, "interrupted", "");
	case -EPROTO:
		return explain(s, err, "tsctraced's answer is not understood",
			       "; is it of another version?");
	default:
		return explain(s, err, strerror(-err), "");
	}
}

/* ---- samples ---------------------------------------------------------------- */

static void lose(struct record_session *s, __u64 nr)
{
	s->rec.streams[s->rec.nr_streams].loss[0].cause[TSCT_LOSS_OVERRUN] += nr;
}

static int hold(struct record_session *s, const struct tsct_sync_sample *sample)
{
	struct record_sync *sync = &s->sync;
	struct tsct_sync_sample *more;

	if (sync->nr_held == HELD_MAX) {
		sync->nr_held--;
		memmove(sync->held, sync->held + 1,
			sync->nr_held * sizeof(*sync->held));
		lose(s, 1);
	} else if (sync->nr_held == sync->room) {
		more = realloc(sync->held, (sync->room + 256) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		sync->held = more;
		sync->room += 256;
	}
	sync->held[sync->nr_held++] = *sample;
	return 0;
}

/* As daemon/sync/exchange_log.h has them. False: it is none. */
static bool read_sample(json_t *row, struct tsct_sync_sample *s)
{
	json_int_t n[27];
	const char *name;
	size_t i, nr = sizeof(n) / sizeof(n[0]);

	if (json_array_size(row) != nr + 1)
		return false;
	for (i = 0; i < nr; i++) {
		if (!json_is_integer(json_array_get(row, i)))
			return false;
		n[i] = json_integer_value(json_array_get(row, i));
	}
	name = json_string_value(json_array_get(row, nr));
	if (!name || strlen(name) >= sizeof(s->source))
		return false;
	*s = (struct tsct_sync_sample) {
		.number = n[0], .stamp = n[1],
		.x = { .t1 = n[2], .t2 = n[3], .t3 = n[4], .t4 = n[5],
		       .local_error = n[6], .remote_error = n[7],
		       .session = n[8], .flags = n[9] },
		.fitted = n[10], .kept = n[11],
		.node = n[12], .host = n[13], .master = n[14],
		.timeline = n[15], .status = n[16], .depth = n[17],
		.has_line = n[18],
		.line = { .base = n[19], .base_ns = n[20], .mult = n[21],
			  .as_of = n[22], .error_ps = n[23], .growth = n[24] },
		.clock_epoch = n[25], .cluster_epoch = n[26],
	};
	strcpy(s->source, name);
	return true;
}

/* What was there before counts where the daemon's own fit is made of it. */
static int take_sample(struct record_session *s,
		       const struct tsct_sync_sample *sample)
{
	struct record_sync *sync = &s->sync;

	sync->number = sample->number;
	if (!sync->started && !sample->fitted)
		return 0;
	if (sync->started && (__s64)(sample->x.t1 - sync->since) >= 0)
		sync->in_session++;
	return hold(s, sample);
}

static int take_samples(struct record_session *s, json_t *samples)
{
	struct tsct_sync_sample sample;
	size_t i;
	int err;

	for (i = 0; i < json_array_size(samples); i++) {
		if (!read_sample(json_array_get(samples, i), &sample))
			return -EPROTO;
		err = take_sample(s, &sample);
		if (err)
			return err;
	}
	return 0;
}

/* ---- answers ------------------------------------------------------------------ */

static int role_of(const char *name)
{
	int i;

	for (i = 0; i < TSCT_SYNC_ROLE_NR; i++)
		if (!strcmp(name, tsct_sync_role_names[i]))
			return i;
	return -EPROTO;
}

struct head {
	json_int_t life, first, last, node, host, master, timeline, epoch;
	int status, sources, busy;
	const char *name, *role, *fit;
	json_t *samples;
};

static bool read_head(json_t *json, struct head *h)
{
	return !json_unpack(json, "{sI sI sI ss ss ss sI sI sI si sI sI si sb so}",
		"life", &h->life, "first", &h->first, "last", &h->last,
		"name", &h->name, "role", &h->role, "fit", &h->fit,
		"node", &h->node, "host", &h->host, "master", &h->master,
		"status", &h->status, "timeline", &h->timeline,
		"epoch", &h->epoch, "sources", &h->sources,
		"busy", &h->busy, "samples", &h->samples) &&
		role_of(h->role) >= 0 && strlen(h->fit) < TSCT_FIT_NAME_MAX;
}

static int describe(struct record_session *s, const struct head *h)
{
	struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;

	if (!rec->name) {
		rec->name = strdup(h->name);
		rec->epoch_first = h->epoch;
		snprintf(rec->fit, sizeof(rec->fit), "%s",
			 s->o->fit ? s->o->fit : h->fit);
	}
	rec->role = role_of(h->role);
	rec->node = h->node;
	rec->host = h->host;
	rec->master = h->master;
	rec->timeline = h->timeline;
	rec->status = (__u32)h->status < TSCT_STATUS_NR ? h->status : 0;
	rec->epoch = h->epoch;
	s->sync.nr_sources = h->sources;
	s->sync.busy = h->busy;
	return rec->name ? 0 : -ENOMEM;
}

/* Numbers that nobody told us of, though we asked for all: they are gone. */
static void count_lost(struct record_session *s, const struct head *h)
{
	struct record_sync *sync = &s->sync;

	if (sync->started && (__u64)h->first > sync->number + 1)
		lose(s, h->first - sync->number - 1);
}

static int take_answer(struct record_session *s, json_t *json)
{
	struct record_sync *sync = &s->sync;
	struct head h;
	int err;

	if (!read_head(json, &h))
		return -EPROTO;
	err = describe(s, &h);
	if (err)
		return err;
	if (sync->life && (__u64)h.life != sync->life) {
		/* It counts anew; what it had before went with it. */
		s->rec.nodes[0].sync.restarts++;
		sync->number = 0;
		sync->life = h.life;
		sync->more = true;
		return 0;
	}
	sync->life = h.life;
	sync->last = h.last;
	count_lost(s, &h);
	err = take_samples(s, h.samples);
	sync->more = json_array_size(h.samples) && sync->number < sync->last;
	return err;
}

static json_t *parse(struct record_session *s, const char *text, int *ret_err)
{
	static const char refusal[] = TSCT_CONTROL_ERROR;
	char what[256];
	json_t *json;

	if (!strncmp(text, refusal, sizeof(refusal) - 1)) {
		snprintf(what, sizeof(what), "%.*s", (int)strcspn(text +
			 sizeof(refusal) - 1, "\n"), text + sizeof(refusal) - 1);
		*ret_err = explain(s, -EREMOTEIO, what, "");
		return NULL;
	}
	json = json_loads(text, 0, NULL);
	*ret_err = json ? 0 : record_sync_explain(s, -EPROTO);
	return json;
}

int record_sync_take(struct record_session *s, const char *text)
{
	int err;
	json_t *json = parse(s, text, &err);

	if (!json)
		return err;
	err = take_answer(s, json);
	json_decref(json);
	return err ? record_sync_explain(s, err) : 0;
}

/* ---- waiting ------------------------------------------------------------------ */

static int wait_for(struct record_session *s, const char *request,
		    __s64 limit_ns)
{
	int ret;

	asking_begin(&s->sync.asking, request, limit_ns);
	while (!(ret = asking_step(&s->sync.asking))) {
		if (record_interrupts > s->sync.interrupts)
			ret = -EINTR;
		if (ret)
			break;
		usleep(500);
	}
	return ret < 0 ? record_sync_explain(s, ret) : 0;
}

int record_sync_ask(struct record_session *s, const char *request,
		    __s64 limit_ns, json_t **ret)
{
	int err = wait_for(s, request, limit_ns);

	if (!err)
		*ret = parse(s, s->sync.asking.text, &err);
	asking_end(&s->sync.asking);
	return err;
}

int record_sync_fetch(struct record_session *s, __s64 limit_ns)
{
	struct record_sync *sync = &s->sync;
	char request[64];
	int err;

	do {
		snprintf(request, sizeof(request), "samples %llu",
			 (unsigned long long)sync->number);
		sync->more = false;
		err = wait_for(s, request, limit_ns);
		if (!err)
			err = record_sync_take(s, sync->asking.text);
		asking_end(&sync->asking);
	} while (!err && sync->more);
	record_sync_write(s);
	return err;
}

/* ---- writing ------------------------------------------------------------------ */

void record_sync_write(struct record_session *s)
{
	struct record_sync *sync = &s->sync;
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = { .id = TSCT_ID_FIRST, .payload = payload };
	unsigned int i;

	if (!s->writer)
		return;
	for (i = 0; i < sync->nr_held; i++) {
		/* Our counter may have jumped; the samples' own stamps stay. */
		if (sync->stamp < sync->held[i].stamp)
			sync->stamp = sync->held[i].stamp;
		event.cycles = sync->stamp;
		event.len = tsct_sample_encode(&sync->held[i], payload);
		/* What the disk does not take is counted, and said. */
		tsct_writer_event(s->writer, s->rec.nr_streams, &event);
	}
	sync->nr_held = 0;
}
