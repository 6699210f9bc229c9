// SPDX-License-Identifier: MIT
/* The node's part of a live view: reads the recording while the recorder writes
 * it, and sends its events, up to a limit per second */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/clock.h>

#include "lib/base/index.h"
#include "lib/client/gettime.h"
#include "lib/base/sysfs_read.h"
#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/ctf/trace_reader.h"
#include "lib/query/value_text.h"
#include "live.h"
#include "tools/common/error.h"

#define STEP_NS		10000000LL	/* maximum duration of reading events in a step, ns */
#define STEP_EVENTS	1024		/* number of events between reads of the clock */
#define SEND_NS		100000000LL	/* longest time between messages, ns */
#define FINISH_NS	5000000000LL	/* maximum time to send the rest of a recording, ns */
#define THREADS_MAX	16384		/* largest number of threads whose names are sent */

enum live_time {
	LIVE_TIME_CLUSTER,	/* cluster time: the time of the cluster's master */
	LIVE_TIME_CLOCK,	/* CLOCK_REALTIME of one machine */
	LIVE_TIME_UTC,		/* CLOCK_REALTIME of each node, with its bound to UTC */
	LIVE_TIME_NONE,		/* CLOCK_REALTIME of each node; times of nodes cannot be compared */
	LIVE_TIME_NR,
};

#define PARAMS		64	/* number of params of cluster time that are kept */

/* Converts times of a node's events to the timeline that all nodes share. The clock has the present
 * params of cluster time and a few earlier ones. An event that was written to a file and read again
 * may be older than all of these, so `params` keeps more earlier params. */
struct timeline {
	enum live_time kind;
	struct tsct_clock *clock;
	/* ring of past params of cluster time; empty if CPUs are skewed */
	struct tsct_clock_params params[PARAMS];
	unsigned int nr_params;		/* number of params that were ever added to the ring */
	__u32 epoch;			/* cluster epoch of all params in the ring */
	__u64 utc_error_ns;		/* LIVE_TIME_UTC: bound to UTC, ns */
};

struct live_follow {
	char *dir;
	struct timeline timeline;
	struct tsct_trace *trace;	/* NULL: the recording is not open yet */
	char why[256];
	bool ended, sent_end;
	/* names: (channel, event) of each name that was sent; threads: IDs of known threads */
	struct tsct_index names, threads;
	json_t *new_names, *new_threads;	/* names for the next message */
	struct live_record records[LIVE_RECORDS_MAX];
	unsigned int nr;
	__u64 read;			/* number of events read */
	__u64 rate;			/* largest number of events that may be sent per second */
	double tokens;			/* number of events that `rate` allows now */
	__s64 tokens_ns;		/* time at which tokens were last added */
	__s64 last_ns;			/* time of the last event read, on the timeline */
	__s64 sent_ns;			/* time of the last message, CLOCK_MONOTONIC */
};

/* ---- the timeline ------------------------------------------------------------------------ */

static void note_params(struct timeline *t)
{
	struct tsct_clock_params *last = &t->params[(t->nr_params - 1) % PARAMS];
	struct tsct_clock_state state;

	if (tsct_clock_snapshot(t->clock, &state) || state.flags & TSCT_CLOCK_SKEWED ||
	    !tsct_status_has_time(state.cluster_status) || !state.cluster.mult) {
		t->nr_params = 0;
		return;
	}
	if (state.cluster_epoch != t->epoch)
		t->nr_params = 0;
	t->epoch = state.cluster_epoch;
	if (t->nr_params && last->base_cycles == state.cluster.base_cycles)
		*last = state.cluster;
	else
		t->params[t->nr_params++ % PARAMS] = state.cluster;
}

/* Reads the clock's present params and bound. Must be called at least ten times a second. */
static void timeline_sample(struct timeline *t)
{
	struct tsct_time now;
	struct tsct_utc utc;

	tsct_clock_now(t->clock, &now);	/* an in-process clock takes samples in this call */
	if (t->kind == LIVE_TIME_CLUSTER)
		note_params(t);
	if (t->kind == LIVE_TIME_UTC)
		t->utc_error_ns = tsct_clock_utc(t->clock, &utc) ? UINT64_MAX : utc.error_ns;
}

/* Opens a clock. @t: must be zeroed. @name: "cluster", "clock", "utc" or
 * "none". Returns 0, -EINVAL, or an error of tsct_clock_open(). */
static int timeline_init(struct timeline *t, const char *name)
{
	static const char *const names[LIVE_TIME_NR] = {
		[LIVE_TIME_CLUSTER] = "cluster", [LIVE_TIME_CLOCK] = "clock",
		[LIVE_TIME_UTC] = "utc", [LIVE_TIME_NONE] = "none",
	};
	int err;

	while (t->kind < LIVE_TIME_NR && strcmp(name, names[t->kind]))
		t->kind++;
	if (t->kind == LIVE_TIME_NR)
		return -EINVAL;
	err = tsct_clock_open(&t->clock);
	if (err)
		return err;
	t->utc_error_ns = UINT64_MAX;
	timeline_sample(t);
	return 0;
}

/* Converts by the newest params that begin before @cycles. Returns false if there are none. */
static bool convert_past(const struct timeline *t, __u64 cycles, struct tsct_time *time)
{
	const struct tsct_clock_params *p;
	unsigned int i;

	for (i = t->nr_params; i && i + PARAMS > t->nr_params; i--) {
		p = &t->params[(i - 1) % PARAMS];
		if (p->base_cycles > cycles)
			continue;
		time->ns = tsct_clock_params_ns(p, cycles);
		time->error_ns = tsct_clock_params_error_ps(p, cycles) / 1000 + 1;
		return true;
	}
	return false;
}

/* Converts cycles of the last second. If this fails, returns false, with the time by the node's own
 * clock or, if that fails too, the present time, and with the bound UINT64_MAX (unknown). */
static bool timeline_time(const struct timeline *t, __u64 cycles, __u32 cpu,
			  __s64 *ret_ns, __u64 *ret_error_ns)
{
	const bool cluster = t->kind == LIVE_TIME_CLUSTER;
	const __u64 other = t->kind == LIVE_TIME_UTC ? t->utc_error_ns :
		t->kind == LIVE_TIME_NONE ? UINT64_MAX : 0;
	struct tsct_time time = { 0 };
	bool done;

	done = cluster ?
		!tsct_clock_cycles_to_cluster_time_on(t->clock, cycles, cpu, &time) ||
			convert_past(t, cycles, &time) :
		!tsct_clock_cycles_to_time_on(t->clock, cycles, cpu, &time);
	if (!done && (!cluster || tsct_clock_cycles_to_time_on(t->clock, cycles, cpu, &time)))
		time.ns = tsct_clock_now_ns(t->clock);
	*ret_ns = time.ns;
	*ret_error_ns = !done || other == UINT64_MAX ? UINT64_MAX :
		tsct_add_saturating(time.error_ns, other);
	return done;
}

/* ---- begin and end ------------------------------------------------------------------------ */

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
		timeline_init(&f->timeline, time) : -ENOMEM;
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

/* Opens the recording, if the recorder has already created it. */
static void open_trace(struct live_follow *f)
{
	if (tsct_trace_open(f->dir, NULL, NULL, &f->trace, f->why, sizeof(f->why)))
		return;
	if (tsct_trace_recording(f->trace)->timestamps < TSCT_TIMESTAMPS_SYSTEM &&
	    !tsct_trace_follow(f->trace, f->dir))
		return;
	ctl_error("node: live events need a recording with times of the TSC; use"
		" --timestamps tsc");
	tsct_trace_close(f->trace);
	f->trace = NULL;
	f->ended = true;
}

/* ---- names ----------------------------------------------------------------------------- */

/* Returns the number of an event's name. If the name is new, adds it to the next message. */
static __u16 name_of(struct live_follow *f, const struct tsct_trace_event *e)
{
	const __u32 nr = f->names.nr;
	const __u32 at = nr < LIVE_NAMES_MAX ?
		tsct_index_add(&f->names, e->stream, tsct_event_def_id(e->def)) :
		tsct_index_find(&f->names, e->stream, tsct_event_def_id(e->def));

	if (at == nr)
		json_array_append_new(f->new_names, tsct_json_text(e->def->name,
				strnlen(e->def->name, sizeof(e->def->name))));
	return at == TSCT_INDEX_NONE ? 0 : (__u16)at;
}

/* Adds a new thread's name to the message. Reads the name from /proc at the thread's first event,
 * because most threads still run then. */
static void note_thread(struct live_follow *f, __u32 tid)
{
	const __u32 nr = f->threads.nr;
	char path[64], name[64];
	ssize_t len;

	if (nr >= THREADS_MAX || tsct_index_add(&f->threads, tid, 0) != nr || !tid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	len = tsct_sysfs_read_line(path, name, sizeof(name));
	if (len > 0)
		json_array_append_new(f->new_threads, json_pack("[Io]", (json_int_t)tid,
				tsct_json_text(name, (size_t)len)));
}

/* ---- messages ---------------------------------------------------------------------------- */

/* Sends the collected events. @passed_ns: all events before this time were read */
static void send_events(struct live_follow *f, struct byte_queue *out, __s64 passed_ns)
{
	json_t *json = json_pack("{ss sI sI sI sI sO sO sb}", "type", "live",
		"passed_ns", (json_int_t)passed_ns,
		"now_ns", (json_int_t)0, "read", (json_int_t)f->read,
		"lost", (json_int_t)(f->trace ? tsct_trace_discarded(f->trace) : 0),
		"names", f->new_names, "threads", f->new_threads, "end", f->ended);
	__u64 error_ns;
	__s64 now_ns;

	timeline_time(&f->timeline, tsct_clock_cycles(f->timeline.clock), TSCT_CPU_ANY,
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

/* Adds an event to the next message. At the limit per second or @queue_max, drops the event. */
static void add_event(struct live_follow *f, const struct tsct_trace_event *e,
		      struct byte_queue *out, size_t queue_max)
{
	struct live_record *r = &f->records[f->nr];

	f->read++;
	if (f->tokens < 1 || byte_queue_len(out) >= queue_max)
		return;
	f->tokens -= 1;
	memset(r, 0, sizeof(*r));
	timeline_time(&f->timeline, e->tick, e->cpu, &r->ns, &r->error_ns);
	r->cpu = e->cpu;
	r->tid = e->tid;
	r->kind = e->def->kind;
	r->name = name_of(f, e);
	note_thread(f, e->tid);
	f->last_ns = r->ns;
	if (++f->nr == LIVE_RECORDS_MAX)
		send_events(f, out, f->last_ns);
}

static void add_tokens(struct live_follow *f, __s64 now)
{
	f->tokens += (double)(now - f->tokens_ns) / 1e9 * (double)f->rate;
	if (f->tokens > (double)f->rate)
		f->tokens = (double)f->rate;
	f->tokens_ns = now;
}

/* Reads events until none can be read now, or until the time @until. Returns 1
 * if no more events can be read now, 0 if there may be more. */
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
	bool more = false;	/* there are events that can be read now */
	int ret;

	if (f->sent_end)
		return 0;
	timeline_sample(&f->timeline);
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
		more = !f->ended && !read_events(f, out, queue_max, now + STEP_NS);
		if (f->ended || more || !settled ||
		    settled == UINT64_MAX ||
		    !timeline_time(&f->timeline, settled, TSCT_CPU_ANY, &passed, &error))
			passed = f->last_ns;
	}
	if (f->nr || f->ended || now - f->sent_ns >= SEND_NS)
		send_events(f, out, passed);
	return f->sent_end ? 0 : more ? 2 : 1;
}

void live_follow_finish(struct live_follow *f, struct byte_queue *out, size_t queue_max)
{
	const __s64 until = tsct_monotonic_ns() + FINISH_NS;

	while (live_follow_step(f, out, queue_max))
		if (!f->trace || tsct_monotonic_ns() > until)
			f->ended = true;
}
