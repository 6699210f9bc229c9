// SPDX-License-Identifier: MIT
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "lib/base/index.h"
#include "lib/client/gettime.h"
#include "lib/ctf/trace_reader.h"
#include "lib/query/value_text.h"
#include "record.h"
#include "timeline.h"
#include "tools/common/error.h"

#define STEP_NS		10000000LL	/* longest time of a step, ns */
#define STEP_EVENTS	1024		/* events between looks at the time */
#define SEND_NS		100000000LL	/* time after which a message is sent without events */
#define FINISH_NS	5000000000LL	/* longest time for the rest of a recording, ns */
#define THREADS_MAX	16384		/* threads whose names are sent */

struct live_follow {
	char *dir;
	struct live_timeline timeline;
	struct tsct_trace *trace;	/* NULL: not open yet */
	char why[256];
	bool ended, sent_end;
	bool more;			/* the last step left events that can be read now */
	/* numbers of names, by channel and event; numbers of threads */
	struct tsct_index names, threads;
	json_t *new_names, *new_threads;	/* to be sent */
	struct live_record records[LIVE_RECORDS_MAX];
	unsigned int nr;
	__u64 read;			/* number of events read */
	__u64 rate;			/* events per second that are sent */
	double tokens;			/* events that may be sent now */
	__s64 tokens_ns;		/* time of the last addition to them */
	__s64 last_ns;			/* time of the last event read, on the timeline */
	__s64 sent_ns;			/* time of the last message, CLOCK_MONOTONIC */
};

int live_follow_open(const char *dir, const char *time, __u64 rate, struct live_follow **ret)
{
	struct live_follow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->dir = strdup(dir);
	f->new_names = json_array();
	f->new_threads = json_array();
	f->rate = rate;
	f->tokens = (double)rate;
	f->tokens_ns = tsct_monotonic_ns();
	err = f->dir && f->new_names && f->new_threads ?
		live_timeline_init(&f->timeline, time) : -ENOMEM;
	if (err) {
		live_follow_close(f);
		return err;
	}
	*ret = f;
	return 0;
}

void live_follow_close(struct live_follow *f)
{
	if (!f)
		return;
	tsct_trace_close(f->trace);
	if (f->timeline.clock)
		tsct_clock_close(f->timeline.clock);
	tsct_index_free(&f->names);
	tsct_index_free(&f->threads);
	json_decref(f->new_names);
	json_decref(f->new_threads);
	free(f->dir);
	free(f);
}

/* Opens the recording as soon as it is there. */
static void open_trace(struct live_follow *f)
{
	if (tsct_trace_open(f->dir, NULL, NULL, &f->trace, f->why, sizeof(f->why)))
		return;
	if (tsct_trace_recording(f->trace)->timestamps < TSCT_TIMESTAMPS_SYSTEM &&
	    !tsct_trace_follow(f->trace, f->dir))
		return;
	ctl_error("node: the recording cannot be followed; use"
		" --timestamps tsc");
	tsct_trace_close(f->trace);
	f->trace = NULL;
	f->ended = true;
}

/* ---- names ----------------------------------------------------------------------------- */

/* Returns the number of an event's name, which is sent if it is new. */
static __u16 name_of(struct live_follow *f, const struct tsct_trace_event *e)
{
	const __u32 nr = f->names.nr;
	__u32 at;

	if (nr == LIVE_NAMES_MAX) {
		at = tsct_index_find(&f->names, e->stream, e->def->id);
		return at == TSCT_INDEX_NONE ? 0 : (__u16)at;
	}
	at = tsct_index_add(&f->names, e->stream, e->def->id);
	if (at == nr)
		json_array_append_new(f->new_names, tsct_json_text(e->def->name,
				strnlen(e->def->name, sizeof(e->def->name))));
	return at == TSCT_INDEX_NONE ? 0 : (__u16)at;
}

/* Sends the name of a thread when its first event comes: it is likely to live still. */
static void note_thread(struct live_follow *f, __u32 tid)
{
	const __u32 nr = f->threads.nr;
	char path[64], name[64] = "";
	FILE *file;

	if (nr >= THREADS_MAX || tsct_index_add(&f->threads, tid, 0) != nr || !tid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file)) {
		name[strcspn(name, "\n")] = '\0';
		json_array_append_new(f->new_threads, json_pack("[Io]", (json_int_t)tid,
				tsct_json_text(name, strlen(name))));
	}
	if (file)
		fclose(file);
}

/* ---- messages ---------------------------------------------------------------------------- */

/* @passed_ns: all events before were read */
static void send(struct live_follow *f, struct byte_queue *out, __s64 passed_ns)
{
	json_t *json = json_pack("{ss sI sI sI sI sO sO sb}", "type", "live",
		"passed_ns", (json_int_t)passed_ns,
		"now_ns", (json_int_t)0, "read", (json_int_t)f->read,
		"lost", (json_int_t)(f->trace ? tsct_trace_discarded(f->trace) : 0),
		"names", f->new_names, "threads", f->new_threads, "end", f->ended);
	__u64 error_ns;
	__s64 now_ns;

	live_timeline_time(&f->timeline, tsct_clock_cycles(f->timeline.clock), TSCT_CPU_ANY,
			   &now_ns, &error_ns);
	json_object_set_new(json, "now_ns", json_integer(now_ns));
	message_add(out, json, f->records, f->nr * sizeof(f->records[0]));
	json_decref(f->new_names);
	json_decref(f->new_threads);
	f->new_names = json_array();
	f->new_threads = json_array();
	f->nr = 0;
	f->sent_end = f->ended;
	f->sent_ns = tsct_monotonic_ns();
}

/* Adds an event, unless there were too many. */
static void add_event(struct live_follow *f, const struct tsct_trace_event *e,
		      struct byte_queue *out, size_t queue_max)
{
	struct live_record *r = &f->records[f->nr];

	f->read++;
	if (f->tokens < 1 || byte_queue_len(out) >= queue_max)
		return;
	f->tokens -= 1;
	memset(r, 0, sizeof(*r));
	live_timeline_time(&f->timeline, e->tick, e->cpu, &r->ns, &r->error_ns);
	r->cpu = e->cpu;
	r->tid = e->tid;
	r->kind = e->def->kind;
	r->name = name_of(f, e);
	note_thread(f, e->tid);
	f->last_ns = r->ns;
	if (++f->nr == LIVE_RECORDS_MAX)
		send(f, out, f->last_ns);
}

static void add_tokens(struct live_follow *f, __s64 now)
{
	f->tokens += (double)(now - f->tokens_ns) / 1e9 * (double)f->rate;
	if (f->tokens > (double)f->rate)
		f->tokens = (double)f->rate;
	f->tokens_ns = now;
}

/* Reads events until there are no more now, or until the time @until. Returns 1: no more
 * now; 0: there may be more */
static int read_events(struct live_follow *f, struct byte_queue *out, size_t queue_max,
		       __s64 until)
{
	struct tsct_trace_event e;
	unsigned int i = 0;
	int ret;

	while ((ret = tsct_trace_next(f->trace, &e)) == 1) {
		add_event(f, &e, out, queue_max);
		if (++i % STEP_EVENTS == 0 && tsct_monotonic_ns() > until)
			return 0;
	}
	f->ended = ret != -EAGAIN;
	return 1;
}

int live_follow_step(struct live_follow *f, struct byte_queue *out, size_t queue_max)
{
	const __s64 now = tsct_monotonic_ns();
	__s64 passed = f->last_ns;
	__u64 settled, error;
	int ret;

	if (f->sent_end)
		return 0;
	f->more = false;
	live_timeline_sample(&f->timeline);
	add_tokens(f, now);
	if (!f->trace && !f->ended)
		open_trace(f);
	if (f->trace && !f->ended) {
		ret = tsct_trace_poll(f->trace, f->why, sizeof(f->why));
		if (ret < 0 && ret != -EAGAIN) {
			ctl_error("node: %s: %s", f->dir, f->why);
			f->ended = true;
		}
		settled = tsct_trace_settled(f->trace);
		f->more = !f->ended && !read_events(f, out, queue_max, now + STEP_NS);
		if (f->ended || f->more || !settled ||
		    settled == UINT64_MAX ||
		    !live_timeline_time(&f->timeline, settled, TSCT_CPU_ANY, &passed, &error))
			passed = f->last_ns;
	}
	if (f->nr || f->ended || now - f->sent_ns >= SEND_NS)
		send(f, out, passed);
	return f->sent_end ? 0 : f->more ? 2 : 1;
}

void live_follow_finish(struct live_follow *f, struct byte_queue *out, size_t queue_max)
{
	const __s64 until = tsct_monotonic_ns() + FINISH_NS;

	while (live_follow_step(f, out, queue_max))
		if (!f->trace || tsct_monotonic_ns() > until)
			f->ended = true;
}
