// SPDX-License-Identifier: MIT
/*
 * The sync samples of a recording (the daemon's exchanges with other nodes), and the sync
 * sessions before and after the recording. Samples are fetched while the recording runs,
 * because the daemon keeps only a limited number of samples.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "cmd_record.h"
#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "lib/ctf/samples.h"
#include "record_sync.h"
#include "tools/common/control.h"
#include "tools/common/error.h"
#include "tools/common/json.h"
#include "tools/common/stop.h"

#define HELD_MAX	65536	/* limit of samples in `held` */
#define FETCH_NS	1000000000LL	/* time between requests for samples, ns */
/* time between requests for samples while a session is in progress, ns */
#define FETCH_BUSY_NS	50000000LL
#define ANSWER_NS	1000000000LL	/* timeout of a request, ns */
/* timeout of a request with --cluster, which makes record fail without an answer, ns */
#define ANSWER_LONG_NS	5000000000LL
#define BUSY_CHECK_US	10000	/* time between requests while waiting for a session's end, us */
/* default timeout of a sync session, s: a session of another program, and then the
 * recorder's own session, may each take sync-max-duration (default: 1 s); the rest is
 * reserve */
#define TIMEOUT_S	5
#define TIMEOUT_LONG_S	30	/* default timeout of a sync session with --cluster, s */

struct record_sync {
	struct tsct_control_call call;
	__s64 due_ns;			/* time of the next request, CLOCK_MONOTONIC */
	/* number of signals beyond which a wait for the daemon ends */
	int interrupts;
	/* the samples from before the recording were fetched */
	bool started;
	/* run sync sessions at the start and at the end */
	bool sessions;
	__u64 life;			/* random number of the daemon process */
	__u64 number;			/* number of the last fetched sample */
	bool busy;			/* a sync session is in progress */
	/* the daemon has more samples: request them immediately */
	bool more;
	__u64 since;			/* cycles at which the sync session began */
	/* number of samples since the sync session began */
	unsigned int in_session;
	struct tsct_sync_sample *held;	/* samples that are not written to the files yet */
	unsigned int nr_held;
	__u64 last_cycles;		/* cycles of the last written sample */
};

/* Sets the text s->sync_error to the message for the error @err. Returns @err. */
static int set_request_error(struct record_session *s, int err)
{
	return control_error(err, s->sync_error, sizeof(s->sync_error));
}

__attribute__((format(printf, 3, 4)))
static int set_error(struct record_session *s, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(s->sync_error, sizeof(s->sync_error), format, args);
	va_end(args);
	return err;
}

/* Returns true with --cluster, which makes record fail if the sync session at the start fails. */
static bool sessions_required(const struct record_session *s)
{
	return s->o->sync_mode == RECORD_SYNC_CLUSTER;
}

/* Returns the timeout of a request, ns */
static __s64 answer_limit_ns(const struct record_session *s)
{
	return sessions_required(s) ? ANSWER_LONG_NS : ANSWER_NS;
}

/* ---- samples ---------------------------------------------------------------- */

static void count_lost(struct record_session *s, __u64 nr)
{
	tsct_recording_samples_class(&s->rec)->loss[0].cause[TSCT_LOSS_OVERRUN] += nr;
}

static int hold_sample(struct record_session *s,
		       const struct tsct_sync_sample *sample)
{
	struct record_sync *sync = s->sync;

	if (sync->nr_held == HELD_MAX) {
		sync->nr_held--;
		memmove(sync->held, sync->held + 1,
			sync->nr_held * sizeof(*sync->held));
		count_lost(s, 1);
	} else if (!tsct_array_next(&sync->held, sync->nr_held, sizeof(*sample))) {
		return -ENOMEM;
	}
	sync->held[sync->nr_held++] = *sample;
	return 0;
}

/* Parses a sample, as formatted by report_samples() in the daemon: an array of the sample's number,
 * the field `stamp`, the other fields, and the source's name. Returns false if @row is invalid. */
static bool parse_sample(json_t *row, struct tsct_sync_sample *s)
{
	const char *name = json_string_value(json_array_get(row, TSCT_SAMPLE_NUMBERS + 1));
	unsigned int i, field = 0;
	const json_t *number;

	if (json_array_size(row) != TSCT_SAMPLE_NUMBERS + 2 || !name ||
	    strlen(name) >= sizeof(s->source))
		return false;
	*s = (struct tsct_sync_sample) { .number = 0 };
	for (i = 0; i <= TSCT_SAMPLE_NUMBERS; i++) {
		number = json_array_get(row, i);
		if (!json_is_integer(number))
			return false;
		if (i == 1)
			s->stamp = (__u64)json_integer_value(number);
		else
			tsct_sample_set(s, field++, (__u64)json_integer_value(number));
	}
	strcpy(s->source, name);
	return true;
}

static int add_samples(struct record_session *s, json_t *samples)
{
	struct record_sync *sync = s->sync;
	struct tsct_sync_sample sample;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < json_array_size(samples); i++) {
		if (!parse_sample(json_array_get(samples, i), &sample))
			return -EPROTO;
		sync->number = sample.number;
		/* Store samples from before the start only if the daemon's fit uses
		 * them. */
		if (!sync->started && !sample.fitted)
			continue;
		if (sync->started && (__s64)(sample.x.t1 - sync->since) >= 0)
			sync->in_session++;
		err = hold_sample(s, &sample);
	}
	return err;
}

/* Writes the samples that are held in memory, if the files are open. */
static void write_samples(struct record_session *s)
{
	struct record_sync *sync = s->sync;
	__u8 payload[TSCT_SAMPLE_BYTES_MAX];
	struct tsct_event event = { .id = TSCT_ID_FIRST, .payload = payload };
	unsigned int i;

	if (!s->writer)
		return;
	for (i = 0; i < sync->nr_held; i++) {
		/*
		 * Times in a stream must not decrease, even if the counter went back.
		 * The payload has the actual cycles of the sample.
		 */
		if (sync->last_cycles < sync->held[i].stamp)
			sync->last_cycles = sync->held[i].stamp;
		event.cycles = sync->last_cycles;
		event.len = tsct_sample_encode(&sync->held[i], payload);
		/* The recording writer counts the samples that it fails to write. */
		tsct_recording_writer_event(s->writer,
					    tsct_recording_plain_classes(&s->rec), &event);
	}
	sync->nr_held = 0;
}

/* ---- answers of the daemon ----------------------------------------------------- */

static int parse_role(const char *name)
{
	int i;

	for (i = 0; i < TSCT_SYNC_ROLE_NR; i++)
		if (!strcmp(name, tsct_sync_role_names[i]))
			return i;
	return -EPROTO;
}

/* The daemon's answer to the request "samples NUMBER". The samples are not parsed. */
struct samples_answer {
	json_int_t life, first, last, node, host, master, timeline, epoch;
	int status, sources, busy;
	const char *name, *role, *fit;
	json_t *samples;
};

/* Stores the daemon's state in the recording's metadata, and adds the samples. */
static int add_answer(struct record_session *s, json_t *json)
{
	struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;
	struct record_sync *sync = s->sync;
	struct samples_answer h;
	int err;

	if (json_unpack(json, "{sI sI sI ss ss ss sI sI sI si sI sI si sb so}",
			"life", &h.life, "first", &h.first, "last", &h.last,
			"name", &h.name, "role", &h.role, "fit", &h.fit,
			"node", &h.node, "host", &h.host, "master", &h.master,
			"status", &h.status, "timeline", &h.timeline,
			"epoch", &h.epoch, "sources", &h.sources,
			"busy", &h.busy, "samples", &h.samples) ||
	    parse_role(h.role) < 0 || strlen(h.fit) >= TSCT_FIT_NAME_MAX)
		return -EPROTO;
	if (!rec->name) {
		rec->name = strdup(h.name);
		rec->epoch_first = h.epoch;
		snprintf(rec->fit, sizeof(rec->fit), "%s",
			 s->o->fit ? s->o->fit : h.fit);
	}
	rec->role = parse_role(h.role);
	rec->node = h.node;
	rec->host = h.host;
	rec->master = h.master;
	rec->timeline = h.timeline;
	rec->status = (__u32)h.status < TSCT_STATUS_NR ? h.status : 0;
	rec->epoch = h.epoch;
	sync->busy = h.busy;
	if (!rec->name)
		return -ENOMEM;
	if (sync->life && (__u64)h.life != sync->life) {
		/* A restarted daemon numbers samples from 1 again; samples not fetched
		 * before are lost. */
		rec->restarts++;
		sync->number = 0;
		sync->life = h.life;
		sync->more = true;
		return 0;
	}
	sync->life = h.life;
	/* A gap in the sample numbers: the daemon dropped samples before they were fetched. */
	if (sync->started && (__u64)h.first > sync->number + 1)
		count_lost(s, h.first - sync->number - 1);
	err = add_samples(s, h.samples);
	sync->more = json_array_size(h.samples) && sync->number < (__u64)h.last;
	return err;
}

static json_t *parse_json(struct record_session *s, const char *text, int *ret_err)
{
	json_t *json;

	*ret_err = control_check(text, s->sync_error, sizeof(s->sync_error));
	if (*ret_err)
		return NULL;
	json = json_loads(text, 0, NULL);
	*ret_err = json ? 0 : set_request_error(s, -EPROTO);
	return json;
}

static int add_answer_text(struct record_session *s, const char *text)
{
	int err;
	json_t *json = parse_json(s, text, &err);

	if (!json)
		return err;
	err = add_answer(s, json);
	json_decref(json);
	return err ? set_request_error(s, err) : 0;
}

/* ---- blocking requests -------------------------------------------------------- */

static void begin_samples_request(struct record_session *s)
{
	char request[64];

	snprintf(request, sizeof(request), "samples %llu",
		 (unsigned long long)s->sync->number);
	s->sync->more = false;
	tsct_control_call_begin(&s->sync->call, control_path(), request,
				tsct_monotonic_ns() + answer_limit_ns(s));
}

/* Waits until the answer is complete, or a signal comes. Returns 0, or -errno with the
 * reason in s->sync_error. */
static int await_answer(struct record_session *s)
{
	int ret;

	while (!(ret = tsct_control_call_step(&s->sync->call))) {
		if (stop_signals > s->sync->interrupts)
			ret = -EINTR;
		if (ret)
			break;
		usleep(500);
	}
	return ret < 0 ? set_request_error(s, ret) : 0;
}

static int request_json(struct record_session *s, const char *request,
			json_t **ret)
{
	int err;

	tsct_control_call_begin(&s->sync->call, control_path(), request,
				tsct_monotonic_ns() + answer_limit_ns(s));
	err = await_answer(s);
	if (!err)
		*ret = parse_json(s, s->sync->call.answer, &err);
	tsct_control_call_end(&s->sync->call);
	return err;
}

/* Fetches all new samples from the daemon. */
static int fetch_samples(struct record_session *s)
{
	struct record_sync *sync = s->sync;
	int err;

	do {
		begin_samples_request(s);
		err = await_answer(s) ?: add_answer_text(s, sync->call.answer);
		tsct_control_call_end(&sync->call);
	} while (!err && sync->more);
	write_samples(s);
	return err;
}

/* ---- result of a session -------------------------------------------------------- */

/* Returns the first master in @peers, the answer to the request "peers"; NULL: there is none. */
static const json_t *find_master(const json_t *peers)
{
	const json_t *sources = json_object_get(peers, "sources");
	size_t i;

	for (i = 0; i < json_array_size(sources); i++)
		if (!strcmp(ctl_json_string(json_array_get(sources, i), "type"), "master"))
			return json_array_get(sources, i);
	return NULL;
}

/* Finds out why a child's session added no samples. Returns 0 if this is no error, or
 * -errno, with the reason in s->sync_error. */
static int check_master(struct record_session *s, const json_t *peers)
{
	const json_t *master = find_master(peers);
	const char *status, *why;

	/* A session does not shorten the poll interval of NTP servers, so a session
	 * without samples is no error if the node is synchronized. */
	if (!master && s->rec.nodes[0].sync.status == TSCT_STATUS_SYNCHRONIZED)
		return 0;
	if (!master)
		return set_error(s, -ENODATA, "no NTP server has answered yet; see"
				 " 'trace-ctl peers'");
	status = ctl_json_string(master, "status");
	why = ctl_json_string(master, "why");
	return set_error(s, -EHOSTUNREACH, "%s %s%s%s; see 'trace-ctl peers'",
			 ctl_json_string(master, "name"), !strcmp(status, "unsynced") ?
			 "is not synchronized yet" : *why ? "sends no answer that can be used" :
			 "does not answer",
			 *why ? ": " : strcmp(status, "unsynced") ?
			 "; start tsctraced there, and permit requests of this node" : "", why);
}

/* Checks which children of this master have polled, and so took part in the session,
 * since its begin @since_s ago. Lists the other children that are alive as absent. */
static int check_children(struct record_session *s, const json_t *peers,
			  double since_s)
{
	const json_t *members = json_object_get(peers, "members");
	char *absent = s->sync_absent;
	unsigned int present = 0;
	size_t i, len;

	for (i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		const double age = ctl_json_number(member, "age_s");

		present += age <= since_s;
		/* An older daemon states no timeout (NaN): its members are all listed. */
		if (age <= since_s || age >= ctl_json_number(member, "timeout_s"))
			continue;
		len = strlen(absent);
		snprintf(absent + len, sizeof(s->sync_absent) - len, "%s%s",
			 len ? ", " : "",
			 ctl_json_string(member, "name"));
	}
	if (present)
		return 0;
	if (*absent)
		return set_error(s, -EHOSTUNREACH, "no child node took part in the sync"
				 " session; see 'trace-ctl peers' for their last requests");
	return set_error(s, -EHOSTUNREACH, "this node has no master and no children"
			 " that poll it; set its master in tsctraced.conf, or start"
			 " tsctraced on its children");
}

static int check_session(struct record_session *s, __s64 began_ns)
{
	const bool is_master = s->rec.nodes[0].sync.role == TSCT_SYNC_MASTER;
	json_t *peers;
	int err;

	if (!is_master && s->sync->in_session)
		return 0;
	err = request_json(s, "peers", &peers);
	if (err)
		return err;
	err = is_master ?
		check_children(s, peers, (tsct_monotonic_ns() - began_ns) / 1e9) :
		check_master(s, peers);
	json_decref(peers);
	return err;
}

/* ---- sessions ------------------------------------------------------------------- */

static int await_session_end(struct record_session *s)
{
	const long timeout_s = s->o->sync_timeout_s ? s->o->sync_timeout_s :
		sessions_required(s) ? TIMEOUT_LONG_S : TIMEOUT_S;
	const __s64 until = tsct_monotonic_ns() + timeout_s * 1000000000LL;
	int err;

	for (;;) {
		err = fetch_samples(s);
		if (err || !s->sync->busy)
			return err;
		if (stop_signals > s->sync->interrupts)
			return set_error(s, -EINTR, "interrupted");
		if (tsct_monotonic_ns() > until)
			break;
		usleep(BUSY_CHECK_US);
	}
	return set_error(s, -ETIMEDOUT, "not finished after %ld s; see 'trace-ctl peers' for nodes"
			 " that do not answer, or wait longer with --sync-timeout", timeout_s);
}

static int run_session(struct record_session *s,
		       struct tsct_recorded_session *session)
{
	const __s64 began_ns = tsct_monotonic_ns();
	json_t *answer;
	int err = 0;

	session->begin = s->sync->since = tsct_clock_cycles(s->clock);
	s->sync->in_session = 0;
	s->sync_absent[0] = '\0';
	/* In the role synced-cluster, CLOCK_REALTIME is cluster time: nothing is to be measured. */
	if (s->rec.nodes[0].sync.role != TSCT_SYNC_SHARED) {
		err = request_json(s, "sync", &answer);
		if (!err) {
			json_decref(answer);
			err = await_session_end(s);
		}
		if (!err)
			err = check_session(s, began_ns);
	}
	session->end = tsct_clock_cycles(s->clock);
	session->state = !err ? TSCT_SESSION_DONE : err == -EINTR ?
		TSCT_SESSION_INTERRUPTED : TSCT_SESSION_FAILED;
	return err;
}

/* ---- start of the recording ----------------------------------------------------- */

int record_sync_open(struct record_session *s)
{
	int err;

	if (s->o->sync_mode == RECORD_SYNC_OFF)
		return 0;
	s->sync = calloc(1, sizeof(*s->sync));
	if (!s->sync)
		return ctl_fail(-ENOMEM, "sync samples: out of memory");
	/* Without --cluster, signals interrupt only waits for sessions, as other waits
	 * are short. */
	s->sync->interrupts = sessions_required(s) ? 0 : INT_MAX;
	err = tsct_recording_add_samples(&s->rec);
	if (err)
		return ctl_fail(err, "cannot record sync samples: %s", strerror(-err));
	err = fetch_samples(s);
	if (err) {
		tsct_recording_drop_sync(&s->rec);
		if (sessions_required(s))
			return ctl_fail(err, "--cluster: %s; nothing was recorded",
					s->sync_error);
		if (s->o->fit)
			ctl_error("--fit %s has no effect: no sync samples: %s",
					s->o->fit, s->sync_error);
		return 0;
	}
	s->sync->started = true;
	s->sync->due_ns = tsct_monotonic_ns() + FETCH_NS;
	return 0;
}

/* Returns true if sync sessions are to be run: with --cluster, or, by default, on a child
 * that has a master. Without a master, a session would add no samples. */
static bool decide_sessions(struct record_session *s)
{
	const struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;
	json_t *peers;
	bool has_master;

	if (sessions_required(s))
		return true;
	if (s->o->sync_mode != RECORD_SYNC_AUTO || !rec->on ||
	    rec->role != TSCT_SYNC_CHILD)
		return false;
	if (request_json(s, "peers", &peers))
		return ctl_fail(false, "recording without sync sessions: %s", s->sync_error);
	has_master = find_master(peers);
	json_decref(peers);
	return has_master;
}

int record_sync_start(struct record_session *s)
{
	int err;

	if (!s->sync || !decide_sessions(s))
		return 0;
	s->sync->sessions = true;
	s->sync->interrupts = 0;
	err = run_session(s, &s->rec.nodes[0].sync.start);
	if (err && (sessions_required(s) || err == -EINTR))
		return ctl_fail(err, "%sthe sync session at the start failed: %s; nothing was"
				" recorded", sessions_required(s) ? "--cluster: " : "",
				s->sync_error);
	if (err)
		ctl_error("the sync session at the start failed: %s; recording without"
			     " it", s->sync_error);
	else if (*s->sync_absent)
		ctl_error("nodes absent from the sync session at the start: %s",
			     s->sync_absent);
	return 0;
}

/* ---- during the recording ------------------------------------------------------- */

/* Errors are ignored: the next answer has the samples, or its numbers show a gap. */
void record_sync_poll(struct record_session *s, __s64 now_ns)
{
	struct record_sync *sync = s->sync;
	int ret;

	if (!s->rec.nodes[0].sync.on)
		return;
	if (!tsct_control_call_pending(&sync->call)) {
		if (now_ns < sync->due_ns)
			return;
		begin_samples_request(s);
	}
	ret = tsct_control_call_step(&sync->call);
	if (!ret)
		return;
	if (ret > 0)
		add_answer_text(s, sync->call.answer);
	else
		sync->busy = false;
	tsct_control_call_end(&sync->call);
	write_samples(s);
	sync->due_ns = sync->more ? now_ns :
		now_ns + (sync->busy ? FETCH_BUSY_NS : FETCH_NS);
}

/* ---- end of the recording ------------------------------------------------------- */

void record_sync_end(struct record_session *s, int signals)
{
	struct tsct_recorded_sync *rec = &s->rec.nodes[0].sync;
	int err;

	if (!rec->on)
		return;
	tsct_control_call_end(&s->sync->call);
	s->sync_error[0] = '\0';
	s->sync_absent[0] = '\0';
	if (s->sync->sessions) {
		s->sync->interrupts = signals;
		err = run_session(s, &rec->end);
	} else {
		/* Without a session, store the time from the recording's end until the last
		 * samples are fetched: draining the rings may have taken long. */
		rec->end.begin = s->rec.end;
		err = fetch_samples(s);
		rec->end.end = tsct_clock_cycles(s->clock);
	}
	if (!err)
		s->sync_error[0] = '\0';
	write_samples(s);
}

void record_sync_close(struct record_session *s)
{
	if (!s->sync)
		return;
	tsct_control_call_end(&s->sync->call);
	free(s->sync->held);
	free(s->sync);
}
