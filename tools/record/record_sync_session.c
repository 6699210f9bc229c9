// SPDX-License-Identifier: MIT
/* A session with other nodes, and whether one came of it. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/gettime.h"
#include "tools/live/peers_view.h"

#define LOOK_US		10000
#define ASK_NS		5000000000LL
#define TIMEOUT_S	30	/* for a session's end, unless told otherwise */
#define LATELY_S	60	/* who asked within it is here, as lib/sync/schedule.h */

static int fail(struct record_session *s, int err, const char *what)
{
	snprintf(s->sync.why, sizeof(s->sync.why), "%s", what);
	return err;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- a child's ---------------------------------------------------------------- */

static const json_t *find_master(const json_t *sources)
{
	size_t i;

	for (i = 0; i < json_array_size(sources); i++)
		if (!strcmp(text_of(json_array_get(sources, i), "type"), "master"))
			return json_array_get(sources, i);
	return NULL;
}

/* No exchange, so nothing is known: whose fault is it? */
static int blame_source(struct record_session *s, const json_t *peers)
{
	const json_t *source = find_master(json_object_get(peers, "sources"));
	const char *status = text_of(source, "status");

	/* NTP servers are not to be asked more often: what is there has to do. */
	if (!source && s->rec.nodes[0].sync.status == TSCT_STATUS_SYNCHRONIZED)
		return 0;
	if (!source)
		return fail(s, -ENODATA, "no NTP server has told the time yet; see"
			    " trace-ctl peers");
	snprintf(s->sync.why, sizeof(s->sync.why), "%s %s%s%s; see trace-ctl peers",
		 text_of(source, "name"), !strcmp(status, "unsynced") ?
		 "does not know the time yet" : "does not answer",
		 *text_of(source, "why") ? ": " : strcmp(status, "unsynced") ?
		 "; start tsctraced there, and let it answer this node" : "",
		 text_of(source, "why"));
	return -EHOSTUNREACH;
}

/* ---- a master's --------------------------------------------------------------- */

static void add_absent(struct record_session *s, const char *name)
{
	char *text = s->sync.absent;
	size_t len = strlen(text);

	snprintf(text + len, sizeof(s->sync.absent) - len, "%s%s",
		 len ? ", " : "", name);
}

/* Who asked since it began took part; those who did lately should have. */
static int judge_members(struct record_session *s, const json_t *peers,
			 double since_s)
{
	const json_t *members = json_object_get(peers, "members");
	unsigned int present = 0;
	double age;
	size_t i;

	for (i = 0; i < json_array_size(members); i++) {
		age = peers_number(json_array_get(members, i), "age_s");
		if (age <= since_s)
			present++;
		else if (age < LATELY_S)
			add_absent(s, text_of(json_array_get(members, i), "name"));
	}
	if (present)
		return 0;
	if (*s->sync.absent)
		return fail(s, -EHOSTUNREACH, "no child took part; see trace-ctl"
			    " peers for when they asked last");
	return fail(s, -EHOSTUNREACH, "this node has no master, and no children"
		    " that ask it: name its master in tsctraced.conf, or start"
		    " tsctraced on its children");
}

/* ---- any ---------------------------------------------------------------------- */

static int judge(struct record_session *s, __s64 began_ns)
{
	const bool is_master = s->rec.nodes[0].sync.role == TSCT_SYNC_MASTER;
	json_t *peers;
	int err;

	if (!is_master && s->sync.in_session)
		return 0;
	err = record_sync_ask(s, "peers", ASK_NS, &peers);
	if (err)
		return err;
	err = is_master ?
		judge_members(s, peers, (tsct_monotonic_ns() - began_ns) / 1e9) :
		blame_source(s, peers);
	json_decref(peers);
	return err;
}

static int await_end(struct record_session *s)
{
	const long timeout_s = s->o->sync_timeout_s ? s->o->sync_timeout_s :
		TIMEOUT_S;
	const __s64 until = tsct_monotonic_ns() + timeout_s * 1000000000LL;
	int err;

	for (;;) {
		err = record_sync_fetch(s, ASK_NS);
		if (err || !s->sync.busy)
			return err;
		if (record_interrupts > s->sync.interrupts)
			return fail(s, -EINTR, "interrupted");
		if (tsct_monotonic_ns() > until)
			break;
		usleep(LOOK_US);
	}
	snprintf(s->sync.why, sizeof(s->sync.why), "not over after %ld s; see"
		 " trace-ctl peers for who does not answer, or wait longer with"
		 " --sync-timeout", timeout_s);
	return -ETIMEDOUT;
}

int record_sync_session(struct record_session *s,
			struct tsct_recorded_session *session)
{
	const __s64 began_ns = tsct_monotonic_ns();
	json_t *answer;
	int err = 0;

	session->begin = s->sync.since = tsct_clock_cycles(s->clock);
	s->sync.in_session = 0;
	s->sync.absent[0] = '\0';
	/* CLOCK_REALTIME is the cluster's: there is nothing to measure. */
	if (s->rec.nodes[0].sync.role != TSCT_SYNC_SHARED) {
		err = record_sync_ask(s, "sync", ASK_NS, &answer);
		if (!err) {
			json_decref(answer);
			err = await_end(s);
		}
		if (!err)
			err = judge(s, began_ns);
	}
	session->end = tsct_clock_cycles(s->clock);
	session->state = !err ? TSCT_SESSION_DONE : err == -EINTR ?
		TSCT_SESSION_INTERRUPTED : TSCT_SESSION_FAILED;
	return err;
}
