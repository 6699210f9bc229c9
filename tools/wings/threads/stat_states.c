// SPDX-License-Identifier: MIT
/* Figures of the states of threads, for trace-ctl stat --threads */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/table.h"
#include "lib/clockpage/clock_params.h"
#include "lib/base/histogram.h"
#include "lib/export/thread_state.h"
#include "threads.h"
#include "tools/common/json.h"

struct thread_times {
	const struct tsct_thread *thread;
	__s64 ns[TSCT_STATES];
	__u64 runs;		/* number of recorded switches to the thread */
	__u64 wakings;		/* number of wakings that made the thread runnable */
	struct tsct_histogram latency;	/* times from runnable to running, ns */
	__u64 last;		/* tick at which the thread's last counted state ended */
};

struct stat_states {
	struct tsct_states states;
	const struct tsct_recording *rec;
	const struct tsct_selection *selection;
	struct thread_times *threads;	/* by index, until stat_states_finish() sorts them */
	__u32 nr;
	__u64 last;		/* tick of the last event, also if no filter selects it */
};

/* Callback of states. Counts the part of a state's time that the filter selects. */
static int add_time(void *arg, const struct tsct_state_time *time)
{
	struct stat_states *t = arg;
	const __s64 first = t->selection->from_ns, last = t->selection->to_ns;
	const __s64 from = tsct_clock_params_ns(&t->rec->real, time->from);
	const __s64 until = tsct_clock_params_ns(&t->rec->real, time->until);
	const bool begins = from >= first && from < last, ends = until >= first && until < last;
	struct thread_times *row;

	if (until < first || from >= last || !tsct_state_is_selected(t->selection, time))
		return 0;
	for (; t->nr <= time->thread->index; t->nr++) {
		row = tsct_array_next(&t->threads, t->nr, sizeof(*row));
		if (!row)
			return -ENOMEM;
		*row = (struct thread_times) { .thread = t->states.threads.all[t->nr] };
	}
	row = &t->threads[time->thread->index];
	row->ns[time->state] += min(until, last) - max(from, first);
	row->last = time->until;
	row->runs += time->state == TSCT_STATE_RUNNING && time->switched && begins;
	row->wakings += time->state == TSCT_STATE_RUNNABLE && time->woken && begins;
	return time->state == TSCT_STATE_RUNNABLE && time->switched && ends ?
		tsct_histogram_add(&row->latency, (__u64)(until - from)) : 0;
}

int stat_states_open(struct stat_figures *s)
{
	struct stat_states *t = s->states = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->rec = s->rec;
	t->selection = &s->selection;
	t->states.closed = add_time;
	t->states.arg = t;
	return tsct_states_init(&t->states, s->rec, &s->threads->identity, s->trace);
}

void stat_states_free(struct stat_figures *s)
{
	struct stat_states *t = s->states;
	__u32 i;

	for (i = 0; i < t->nr; i++)
		tsct_histogram_free(&t->threads[i].latency);
	free(t->threads);
	tsct_states_free(&t->states);
	free(t);
	s->states = NULL;
}

int stat_states_note(struct stat_figures *s, const struct tsct_trace_event *e)
{
	s->states->last = e->tick;
	return tsct_states_add(&s->states->states, e);
}

static int by_running(const void *a, const void *b)
{
	const struct thread_times *x = a, *y = b;

	return tsct_compare(y->ns[TSCT_STATE_RUNNING], x->ns[TSCT_STATE_RUNNING]) ?:
		tsct_compare(x->thread->index, y->thread->index);
}

int stat_states_finish(struct stat_figures *s)
{
	struct stat_states *t = s->states;
	const int err = tsct_states_finish(&t->states, max(stat_end_of(s), t->last));
	__u32 i, nr = 0;

	/* Remove the rows of threads that are not selected, which are empty. */
	for (i = 0; i < t->nr; i++)
		if (t->threads[i].last)
			t->threads[nr++] = t->threads[i];
	t->nr = nr;
	if (!err && nr)
		qsort(t->threads, nr, sizeof(*t->threads), by_running);
	return err;
}

/* ---- JSON and table ----------------------------------------------------------- */

static json_t *quantile(const struct tsct_histogram *h, unsigned int per_mille)
{
	return h->nr ? json_integer((json_int_t)tsct_histogram_quantile(h, per_mille)) :
		json_null();
}

static json_t *json_times(const struct stat_states *t, const struct thread_times *row)
{
	const struct tsct_identity *identity = t->states.known.identity;
	const struct tsct_thread *thread = row->thread;
	const struct tsct_identity_thread *who =
		tsct_identity_find(identity, thread->node, thread->tid, row->last);
	const struct tsct_identity_thread *process =
		tsct_identity_find(identity, thread->node, thread->tgid, row->last);
	json_t *json = json_pack("{si so sI so sI so sI sI sI so so so so so so}",
		"node", (int)thread->node,
		"node_name", ctl_json_text(tsct_recording_node_name(t->rec, thread->node)),
		"tid", (json_int_t)thread->tid, "name", ctl_json_text(who ? who->name : ""),
		"pid", (json_int_t)thread->tgid,
		"process", ctl_json_text(process ? process->name : ""),
		"switched_in", (json_int_t)row->runs, "wakings", (json_int_t)row->wakings,
		"latencies", (json_int_t)row->latency.nr,
		"latency_min_ns", row->latency.nr ?
		json_integer((json_int_t)row->latency.min) : json_null(),
		"latency_p50_ns", quantile(&row->latency, 500),
		"latency_p90_ns", quantile(&row->latency, 900),
		"latency_p99_ns", quantile(&row->latency, 990),
		"latency_p999_ns", quantile(&row->latency, 999),
		"latency_max_ns", quantile(&row->latency, 1000));
	static const char *const keys[TSCT_STATES] = {
		"unknown_ns", "running_ns", "runnable_ns", "blocked_ns", "off_cpu_ns",
	};
	int i;

	for (i = 0; i < TSCT_STATES; i++)
		json_object_set_new(json, keys[i], json_integer((json_int_t)row->ns[i]));
	return json;
}

json_t *stat_states_json(const struct stat_figures *s)
{
	json_t *rows = json_array();
	__u32 i;

	for (i = 0; i < s->states->nr; i++)
		json_array_append_new(rows, json_times(s->states, &s->states->threads[i]));
	return rows;
}

#define MS(title, key)	TSCT_COLUMN(title, key, 12, .scale = 1e-6, .decimals = 3)
#define US(title, key)	TSCT_COLUMN(title, key, 11, .scale = 1e-3, .decimals = 3)

static const struct tsct_column columns[] = {
	TSCT_COLUMN("node", "node_name", -16),
	TSCT_COLUMN("thread", "tid", -10),
	MS("running ms", "running_ns"),
	MS("runnable ms", "runnable_ns"),
	MS("blocked ms", "blocked_ns"),
	MS("off CPU ms", "off_cpu_ns"),
	MS("unknown ms", "unknown_ns"),
	TSCT_COLUMN("switched in", "switched_in", 12),
	US("lat p50 us", "latency_p50_ns"),
	US("lat p99 us", "latency_p99_ns"),
	US("lat max us", "latency_max_ns"),
	{ " name", .text = stat_put_thread },
};
static const struct stat_list list = STAT_LIST(columns, NULL, STAT_TOP);

void stat_states_print(const struct stat_figures *s, const json_t *all)
{
	const json_t *rows = json_object_get(all, "thread_states");

	if (json_array_size(rows))
		stat_list_print(s, &list, rows, NULL);
	else if (s->states->states.known.has_runs &&
		 s->states->states.known.hides & TSCT_HIDDEN_SWITCHES)
		puts("\nthread states: unknown: a condition or the rate limit of the recorder may have"
		     " hidden switches; record -e sched without it");
	else
		puts("\nthread states: the recording has no switches of selected threads; record"
		     " with -e sched");
}
