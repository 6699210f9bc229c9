// SPDX-License-Identifier: MIT
/* Front end of all export formats: reads the recording, and does not depend on any format. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/hash.h"
#include "lib/core/event_def.h"
#include "export.h"
#include "mpi_event.h"
#include "lib/query/message_match.h"
#include "lib/query/value_text.h"

#define POLL_EVENTS	1024

/* ---- the recording ----------------------------------------------------- */

/* Estimates the bytes to read, from file sizes, for the progress display. */
static void add_sizes(struct tsct_export *x)
{
	DIR *d = opendir(x->recording);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && strcmp(e->d_name, "metadata") &&
		    !fstatat(dirfd(d), e->d_name, &st, 0))
			x->all_bytes += st.st_size;
	if (d)
		closedir(d);
}

/* Finds the ticks for which the fast path of tsct_export_time() is right: no overflow, no slew. */
static void set_straight(struct tsct_export *x)
{
	const struct tsct_clock_params *real = &x->rec->real;

	x->straight = tsct_clock_params_prev(real, real->base_cycles + real->slew_cycles + 1);
	x->straight_ticks = x->straight.base_ns >= 0 && x->straight.base_ns < 1LL << 62 &&
		real->slew_cycles < 1ULL << 60 ? 1ULL << 54 : 0;
}

/* Returns the largest error bound of events before rec->begin, ns; 0: there are no such
 * events. Only a modified recording has events before rec->begin. */
static __u64 early_error_ns(const struct tsct_export *x)
{
	return x->rec->merged || x->first_tick >= x->rec->begin ? 0 :
		tsct_recording_node_worst_ns(x->rec, 0, x->first_tick, x->rec->begin);
}

static __u64 larger(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

__u64 tsct_export_error_ns(const struct tsct_export *x)
{
	return larger(tsct_recording_worst_ns(x->rec, tsct_export_last_tick(x)),
		      early_error_ns(x));
}

const char *const tsct_export_error_names[TSCT_EXPORT_ERRORS] = {
	"clock_error_ns", "node_error_ns", "utc_error_ns",
};

void tsct_export_errors(const struct tsct_export *x, __u64 ret_ns[TSCT_EXPORT_ERRORS])
{
	struct tsct_recorded_errors errors;

	tsct_recording_errors(x->rec, tsct_export_last_tick(x), &errors);
	ret_ns[0] = larger(errors.clock_ns, early_error_ns(x));
	ret_ns[1] = errors.node_ns;
	/* Before rec->begin, no bound of the distance from UTC is stated. */
	ret_ns[2] = early_error_ns(x) ? UINT64_MAX : errors.utc_ns;
}

/* ---- definitions ------------------------------------------------------- */

static int list_defs(struct tsct_export *x)
{
	struct tsct_index kinds = { .nr = 0 };
	struct tsct_export_def *d;
	int err = 0;
	__u32 i, j;

	x->first_def = calloc(x->rec->nr_streams + 1, sizeof(*x->first_def));
	if (!x->first_def)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++) {
		x->first_def[i] = x->nr_defs;
		x->nr_defs += x->rec->streams[i].nr_defs;
	}
	x->defs = calloc(x->nr_defs + 1, sizeof(*x->defs));
	if (!x->defs)
		return -ENOMEM;
	for (i = 0; i < x->rec->nr_streams; i++)
		for (j = 0; j < x->rec->streams[i].nr_defs; j++) {
			d = &x->defs[x->first_def[i] + j];
			d->stream = i;
			d->def = x->rec->streams[i].defs[j];
			if (!d->def)
				continue;
			d->call = tsct_syscall_of(x->rec, i, d->def);
			d->kind = (__u8)d->def->kind;
			d->wanted = tsct_filter_wants(&x->filter, d->def);
			d->names_rank = !strcmp(d->def->name, "mpi_rank");
			d->kernel = tsct_kernel_event(x->rec, i, d->def);
			d->has_id = tsct_event_def_has(d->def, TSCT_SPAN_ID);
			err = err ?: tsct_message_kinds_add(&kinds, d->def);
		}
	/* All definitions of one name have the same pool of message keys, so that a send
	 * matches its receive. */
	for (i = 0; i < x->nr_defs && !err; i++)
		if (x->defs[i].def)
			x->defs[i].pool = tsct_message_pool_of(&kinds, x->defs[i].def);
	tsct_index_free(&kinds);
	return err;
}

static int by_name(const void *a, const void *b)
{
	const struct tsct_export_def *x = *(void *const *)a;
	const struct tsct_export_def *y = *(void *const *)b;
	int order = strcmp(x->def->name, y->def->name);

	return order ? order : (x->stream > y->stream) - (x->stream < y->stream);
}

/* Returns, as bits, the fields of @def that @other also has among its fields @among (bits). */
static __u32 shared_fields(const struct tsct_event_def *def, const struct tsct_event_def *other,
			   __u32 among)
{
	__u32 i, j, shared = 0;

	for (i = 0; i < def->nr_fields; i++)
		for (j = 0; j < other->nr_fields; j++)
			if (among >> j & 1 && !strcmp(def->fields[i].name, other->fields[j].name))
				shared |= 1U << i;
	return shared;
}

static bool is_edge(const struct tsct_event_def *def)
{
	return def->kind == TSCT_KIND_BEGIN || def->kind == TSCT_KIND_END;
}

/* Finds the fields that all BEGIN and END events of a slice have, except the field `stack`. Calls
 * have no such fields: a call's end has values that the call changed, such as a message's size. */
static void share_fields(struct tsct_export_def **defs, __u32 nr)
{
	const struct tsct_event_def *first = NULL;
	__u32 i, j, shared = ~0U;

	for (i = 0; i < nr; i++) {
		if (!is_edge(defs[i]->def))
			continue;
		if (defs[i]->call || tsct_mpi_role_of(defs[i]->def) >= TSCT_MPI_ROLE_CALL)
			return;
		first = first ?: defs[i]->def;
		shared &= shared_fields(first, defs[i]->def, ~0U);
	}
	for (j = 0; first && j < first->nr_fields; j++)
		if (!strcmp(first->fields[j].name, "stack"))
			shared &= ~(1U << j);
	for (i = 0; i < nr; i++)
		if (is_edge(defs[i]->def))
			defs[i]->shared = shared_fields(defs[i]->def, first, shared);
}

/* Hashes the field names of the definitions whose events are matched by fields. */
static int hash_names(struct tsct_export *x)
{
	struct tsct_export_def *d;
	__u32 i;

	for (d = x->defs; d < x->defs + x->nr_defs; d++) {
		if (!d->shared)
			continue;
		d->names = calloc(d->def->nr_fields, sizeof(*d->names));
		if (!d->names)
			return -ENOMEM;
		for (i = 0; i < d->def->nr_fields; i++)
			d->names[i] = tsct_hash(0, d->def->fields[i].name,
						strlen(d->def->fields[i].name));
	}
	return 0;
}

/* Gives all definitions of one name in one channel the same slice number, so that an END
 * event closes the slice that a BEGIN event opened. */
static int number_slices(struct tsct_export *x)
{
	struct tsct_export_def **sorted;
	__u32 i, nr = 0, from = 0;

	sorted = calloc(x->nr_defs + 1, sizeof(*sorted));
	x->slice_defs = calloc(x->nr_defs + x->nr_pairs + 1, sizeof(*x->slice_defs));
	if (!sorted || !x->slice_defs) {
		free(sorted);
		return -ENOMEM;
	}
	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].def)
			sorted[nr++] = &x->defs[i];
	qsort(sorted, nr, sizeof(*sorted), by_name);
	for (i = 0; i < nr; i++) {
		x->nr_slices += !i || by_name(&sorted[i - 1], &sorted[i]);
		sorted[i]->slice = x->nr_slices - 1;
		x->slice_defs[sorted[i]->slice] = sorted[i] - x->defs;
		if (i + 1 < nr && !by_name(&sorted[i], &sorted[i + 1]))
			continue;
		share_fields(&sorted[from], i + 1 - from);
		from = i + 1;
	}
	free(sorted);
	return 0;
}

static void finish_defs(struct tsct_export *x)
{
	struct tsct_export_def *d;

	for (d = x->defs; d < x->defs + x->nr_defs; d++) {
		if (!d->def)
			continue;
		d->is_call = !d->pair && (d->call || d->kernel == TSCT_KERNEL_ENTER ||
					  d->kernel == TSCT_KERNEL_EXIT);
		d->span_call = d->pair ? NULL : d->call;
		d->span_name = d->pair ? d->pair->name : d->call ? d->call->name : d->def->name;
		d->plain = d->kind == TSCT_KIND_INSTANT && !d->pair && !d->call &&
			d->kernel == TSCT_KERNEL_OTHER && !d->names_rank;
	}
}

bool tsct_export_has(const struct tsct_export *x, __u32 kind)
{
	__u32 i;

	for (i = 0; i < x->nr_defs; i++)
		if (x->defs[i].wanted && x->defs[i].def->kind == kind)
			return true;
	return false;
}

int tsct_export_prepare(struct tsct_export *x)
{
	__u32 i;
	int err;

	x->rec = tsct_trace_recording(x->trace);
	x->slices.several = true;
	x->slices.size = sizeof(struct tsct_span);
	if (x->closed || (x->format && x->format->cut))
		tsct_closed_span_init(x);
	x->first_tick = x->rec->begin;
	set_straight(x);
	x->begin_ns = tsct_export_time(x, x->rec->begin);
	x->end_ns = tsct_export_time(x, x->rec->end);
	add_sizes(x);
	x->nodes = calloc(x->rec->nr_nodes, sizeof(*x->nodes));
	if (!x->nodes)
		return -ENOMEM;
	x->nr_nodes = x->rec->nr_nodes;
	x->several_nodes = tsct_recording_count_nodes(x->rec) > 1;
	for (i = 0; i < x->nr_nodes; i++)
		x->nodes[i] = tsct_recording_node_name(x->rec, i);
	err = x->recording ? tsct_identity_read(x->recording, &x->identity) : 0;
	if (!err)
		err = list_defs(x);
	if (!err)
		err = number_slices(x) ?: tsct_export_pairs_find(x) ?: hash_names(x);
	if (err)
		return err;
	finish_defs(x);
	err = tsct_selection_make(&x->selection, &x->filter, x->rec, x->recording,
				  TSCT_TRACE_EVENTS, false, x->why,
				  sizeof(x->why));
	x->all = !tsct_filter_selects(&x->filter);
	x->from_ns = x->selection.from_ns;
	x->to_ns = x->selection.to_ns;
	return err;
}

/* Frees the open spans without calling x->closed(). */
static void drop_spans(struct tsct_export *x)
{
	tsct_span_closed *const closed = x->closed;

	x->closed = NULL;
	tsct_spans_finish(&x->slices);
	tsct_spans_finish(&x->calls);
	tsct_spans_finish(&x->keyed);
	tsct_spans_free(&x->slices);
	tsct_spans_free(&x->calls);
	tsct_spans_free(&x->keyed);
	x->closed = closed;
}

void tsct_export_free(struct tsct_export *x)
{
	__u32 i;

	for (i = 0; x->defs && i < x->nr_defs; i++)
		free(x->defs[i].names);
	tsct_known_free(&x->known);
	if (x->states.closed)
		tsct_states_free(&x->states);
	tsct_threads_free(&x->threads);
	tsct_threads_free(&x->processes);
	drop_spans(x);
	tsct_identity_free(&x->identity);
	tsct_selection_free(&x->selection);
	tsct_filter_free(&x->filter);
	free(x->first_def);
	free(x->slice_defs);
	free(x->defs);
	free(x->nodes);
}

/* ---- events ------------------------------------------------------------ */

struct tsct_thread *tsct_export_thread_find_(const struct tsct_export *x,
					     struct tsct_threads *threads,
					     const struct tsct_trace_event *e, __u32 tid, __u32 cpu)
{
	const struct tsct_identity_thread *who =
		tsct_identity_find(&x->identity, e->node, tid, e->tick);
	struct tsct_thread *thread = tsct_threads_get_generation(
		threads, e->node, tid, cpu, who ? who->generation : 0);

	if (thread && who) {
		thread->tgid = who->state.tgid;
		tsct_thread_rename(thread, who->name, strlen(who->name));
	}
	if (thread) {
		thread->from = e->tick;
		thread->until = tsct_identity_until(&x->identity, who, e->tick);
	}
	return thread;
}

struct tsct_thread *tsct_export_process(struct tsct_export *x, struct tsct_thread *thread)
{
	const struct tsct_identity_thread *who;
	struct tsct_thread *process;

	if (!thread->tgid)
		return NULL;
	who = tsct_identity_find(&x->identity, thread->node, thread->tgid, x->now_tick);
	process = tsct_threads_get_generation(&x->processes, thread->node, thread->tgid, 0,
					      who ? who->generation : 0);
	if (process && who)
		tsct_thread_rename(process, who->name, strlen(who->name));
	else if (process && !*process->name)
		tsct_thread_rename(process, thread->name, strlen(thread->name));
	thread->process = process;
	return process;
}

/* Limit of process IDs. The numbers that stand for nodes, PIDS + node, follow node 0's IDs. */
#define PIDS	(1LL << 22)

__s64 tsct_export_pid(const struct tsct_export *x, __u32 node, __u32 tgid)
{
	if (!x->identity.nr_threads)
		return node + 1LL;
	return tgid ? node * 2 * PIDS + tgid : PIDS + node;
}

/* Gets a thread's name from a sched_switch event. */
static void learn_name(struct tsct_export *x, struct tsct_threads *threads,
		       const struct tsct_trace_event *e, const char *tid_name,
		       const char *comm_name)
{
	struct tsct_thread *thread;
	struct tsct_value comm;
	__s64 tid;

	if (!tsct_value_find_integer(e, tid_name, &tid) || !tid ||
	    !tsct_value_find(e, comm_name, &comm) || !tsct_value_is_text(&comm))
		return;
	thread = tsct_export_thread(x, threads, e, tid, 0);
	if (!thread)
		return;
	tsct_thread_rename(thread, (const char *)comm.at, tsct_value_text_len(&comm));
	thread->until = 0;	/* at its next event, look up its name in the statedump again */
}

/* Returns the index of the open call of a thread that call @end ends: tsct_syscall_pair() of both
 * is equal, although their names may differ; -1: none */
static __s64 find_call(const struct tsct_export *x, __u32 thread, const struct tsct_syscall *end)
{
	const struct tsct_syscall *call;
	const struct tsct_span *slice;
	__s64 i;

	for (i = (__s64)tsct_spans_open(&x->slices, thread) - 1; i >= 0; i--) {
		slice = tsct_span_at(&x->slices, thread, (__u32)i);
		call = x->defs[x->slice_defs[(__u32)slice->name]].call;
		if (call && tsct_syscall_pair(call) == tsct_syscall_pair(end))
			break;
	}
	return i;
}

/* Returns a hash of the values of the fields that a slice's BEGIN and END events share. */
static __u64 hash_shared(const struct tsct_export_def *def, const struct tsct_trace_event *e)
{
	struct tsct_value v;
	unsigned int nr = 0;
	size_t pos = 0, size;
	__u64 key = 0;

	while ((__u64)def->shared >> nr && tsct_value_next(e, &nr, &pos, &v)) {
		if (!(def->shared >> (nr - 1) & 1))
			continue;
		/* A sum of hashes, because BEGIN and END may order the fields differently. */
		size = tsct_value_is_text(&v) ? tsct_value_text_len(&v) : v.size;
		key += tsct_value_is_integer(&v) ?
			tsct_hash64(def->names[nr - 1] + (__u64)tsct_value_integer(&v)) :
			tsct_hash(def->names[nr - 1], v.at, size);
	}
	return key;
}

static inline __u64 key_of(const struct tsct_export_def *def, const struct tsct_trace_event *e)
{
	return def->shared ? hash_shared(def, e) : 0;
}

/* Returns the number by which x->slices names the slice that an event begins or ends. */
static inline __s64 slice_name(const struct tsct_export_def *def, const struct tsct_trace_event *e)
{
	__s64 id;

	return def->has_id && tsct_value_find_integer(e, TSCT_SPAN_ID, &id) ?
		def->slice | (__s64)((__u64)id << 32) : def->slice;
}

/* Opens the slice of a BEGIN event. @hidden: the filter leaves out the event */
static inline __attribute__((always_inline)) int
open_slice(struct tsct_export *x, const struct tsct_export_event *ev,
	   const struct tsct_export_def *def, bool hidden)
{
	const __u32 thread = ev->thread->index;
	int err = tsct_spans_begin(&x->slices, thread, slice_name(def, ev->e), ev->e);
	struct tsct_export_slice *slice;

	if (err)
		return err;
	slice = tsct_span_at(&x->slices, thread, x->slices.rows[thread].nr - 1);
	slice->span.key = key_of(def, ev->e);
	slice->span.hidden = hidden;
	return x->slices.size > sizeof(slice->span) ?
		tsct_closed_span_open(x, slice, ev, false) : 0;
}

/* Returns the index of the open slice that an END event ends; -1: none */
static inline __attribute__((always_inline)) __s64
find_slice(struct tsct_export *x, const struct tsct_export_event *ev,
	   const struct tsct_export_def *def)
{
	const __u32 thread = ev->thread->index;
	const __s64 at = tsct_spans_find(&x->slices, thread, slice_name(def, ev->e),
					 key_of(def, ev->e), &x->ambiguous);

	return at < 0 && def->call ? find_call(x, thread, def->call) : at;
}

/* Returns the number of drawn slices that a thread opened after slice @at. */
static __u32 drawn_above(const struct tsct_export *x, const struct tsct_thread *thread, __u32 at)
{
	__u32 nr = 0, i;

	for (i = x->slices.rows[thread->index].nr - 1; i > at; i--)
		nr += !tsct_export_is_hidden(x, thread, i);
	return nr;
}

/* Sets ev->act, the way in which viewers draw the event. */
static int set_act(struct tsct_export *x, struct tsct_export_event *ev,
		   const struct tsct_export_def *def)
{
	const __u64 ambiguous = x->ambiguous;
	struct tsct_export_slice *slice;
	__s64 frame;
	int err;

	if (def->pair && def->pair->key)
		return tsct_export_keyed(x, ev, key_of(def, ev->e), false);
	switch (def->kind) {
	case TSCT_KIND_BEGIN:
		if (def->call && def->call->result == TSCT_RESULT_NONE) {
			ev->act = TSCT_ACT_INSTANT;	/* the call never returns */
			break;
		}
		err = !tsct_known_end(&x->known, ev->e) ? -ENOSPC : open_slice(x, ev, def, false);
		ev->act = err ? TSCT_ACT_ORPHAN : TSCT_ACT_OPEN;
		ev->in_span = !err;
		x->orphans += err == -ENOSPC;
		return err == -ENOSPC ? tsct_closed_span_alone(x, ev, TSCT_SPAN_UNKNOWN) : err;
	case TSCT_KIND_END:
		frame = find_slice(x, ev, def);
		slice = frame < 0 ? NULL :
			tsct_span_at(&x->slices, ev->thread->index, (__u32)frame);
		if (slice && slice->span.hidden) {
			tsct_spans_close(&x->slices, ev->thread->index, (__u32)frame,
					 TSCT_SPAN_ENDED, ev->e);
			ev->act = TSCT_ACT_ORPHAN;
			x->orphans++;
			break;
		}
		ev->act = !slice ? TSCT_ACT_ORPHAN : TSCT_ACT_CLOSE;
		x->orphans += !slice;
		if (!slice)
			return tsct_closed_span_alone(x, ev, TSCT_SPAN_NOT_BEGUN);
		ev->in_span = true;
		ev->frame = frame;
		if (x->closed)
			slice->ambiguous = x->ambiguous > ambiguous;
		else
			x->cuts += drawn_above(x, ev->thread, ev->frame);
		break;
	case TSCT_KIND_COUNTER:
		ev->act = TSCT_ACT_COUNT;
		break;
	case TSCT_KIND_SEND:
	case TSCT_KIND_RECEIVE:
		ev->act = def->kind == TSCT_KIND_SEND ?
			TSCT_ACT_SEND : TSCT_ACT_RECEIVE;
		ev->message = tsct_message_key(ev->e, def->pool);
		break;
	default:
		ev->act = TSCT_ACT_INSTANT;
		/* one event for a whole call, recorded at the call's end */
		if (def->call)
			return tsct_closed_span_alone(x, ev, TSCT_SPAN_NOT_BEGUN);
		if (x->closed && (def->kernel == TSCT_KERNEL_ENTER ||
				  def->kernel == TSCT_KERNEL_EXIT))
			return tsct_closed_span_call(x, ev);
	}
	return 0;
}

/* Gives a thread and its process the rank in MPI_COMM_WORLD that the event states. */
static void learn_rank(struct tsct_export *x, const struct tsct_export_event *ev)
{
	struct tsct_thread *process = tsct_export_process(x, ev->thread);
	__s64 rank;

	if (!tsct_value_find_integer(ev->e, "rank", &rank) || rank < 0 || rank > INT32_MAX)
		return;
	tsct_thread_set_rank(ev->thread, rank);
	if (process)
		tsct_thread_set_rank(process, rank);
}

/* Ends the open spans of a thread at @tick. @why: TSCT_SPAN_OPEN: they end at @tick; else they may
 * end from @tick on. @thread: may be NULL */
static int end_slices(struct tsct_export *x, struct tsct_thread *thread, __u64 tick,
		      enum tsct_span_why why)
{
	const struct tsct_trace_event e = { .tick = tick, .node = thread ? thread->node : 0 };
	const struct tsct_export_event ev = {
		.e = &e, .ns = tsct_export_time(x, tick), .thread = thread,
	};
	int err;

	if (!thread || ev.ns >= x->to_ns)
		return 0;
	err = x->ended ? x->ended(x, &ev) : 0;
	return err ?: tsct_spans_leave(&x->calls, thread->index, why, &e) ?:
		tsct_spans_leave(&x->slices, thread->index, why, &e);
}

static int pass_event(struct tsct_export *x, struct tsct_threads *threads,
		      struct tsct_export_event *ev, const struct tsct_export_def *def,
		      int (*event)(struct tsct_export *x,
				   const struct tsct_export_event *e))
{
	int err;

	ev->thread = tsct_export_thread(x, threads, ev->e, ev->e->tid, ev->e->cpu);
	if (!ev->thread)
		return -ENOMEM;
	if (unlikely(def->names_rank))
		learn_rank(x, ev);
	if (unlikely(x->known.has_runs))
		tsct_known_run(&x->known, ev->e, def->kernel == TSCT_KERNEL_SWITCH, &x->run);
	err = def->plain ? 0 : set_act(x, ev, def);
	if (err)
		return err;
	ev->thread->events++;
	err = event ? event(x, ev) : 0;
	if (ev->act == TSCT_ACT_CLOSE)
		err = tsct_closed_span_end(x, ev) ?: err;
	/* After this switch away, the thread may run on a CPU whose events are hidden. */
	if (unlikely(x->run.away) && !err && tsct_known_elsewhere(&x->known, ev->e))
		err = end_slices(x, ev->thread, ev->e->tick, TSCT_SPAN_UNKNOWN);
	return err;
}

/* Ends open slice @at of ev->thread in the output, if the slice is drawn. */
static int cut_at(struct tsct_export *x, const struct tsct_export_event *ev, __u32 at)
{
	return tsct_export_is_hidden(x, ev->thread, at) ? 0 :
		x->format->cut(x, ev, tsct_export_open_slice(x, ev->thread, at), false);
}

int tsct_export_close(struct tsct_export *x, const struct tsct_export_event *ev,
		      int (*end)(struct tsct_export *x, const struct tsct_export_event *ev))
{
	const __u32 nr = tsct_spans_open(&x->slices, ev->thread->index);
	struct tsct_export_slice *slice;
	struct tsct_export_event again = *ev;
	__u32 i;
	int err = 0;

	again.act = TSCT_ACT_OPEN;
	for (i = nr - 1; i > ev->frame && !err; i--)
		err = cut_at(x, ev, i);
	if (!err)
		err = end(x, ev);
	for (i = ev->frame + 1; i < nr && !err; i++) {
		slice = tsct_span_at(&x->slices, ev->thread->index, i);
		if (slice->span.hidden)
			continue;
		again.e = tsct_export_begin_of(slice);
		again.def = slice->def;
		err = x->format->cut(x, &again, (__u32)slice->span.name, true);
	}
	return err;
}

static int cut_slice(struct tsct_export *x, const struct tsct_export_event *ev)
{
	return cut_at(x, ev, ev->frame);
}

/* Callback of formats: ends the open slices of a thread, or one of them. */
static int cut_slices(struct tsct_export *x, const struct tsct_export_event *ev)
{
	__u32 i;
	int err = 0;

	if (ev->act == TSCT_ACT_CLOSE)
		return tsct_export_close(x, ev, cut_slice);
	for (i = tsct_spans_open(&x->slices, ev->thread->index); i > 0 && !err; i--)
		err = cut_at(x, ev, i - 1);
	return err;
}

/* Processes an event that the filter leaves out. An END may end a drawn slice. A BEGIN opens a
 * slice that is not drawn, so that the slice's END does not end another slice. */
static int hide_event(struct tsct_export *x, const struct tsct_threads *threads,
		      struct tsct_export_event *ev)
{
	const struct tsct_export_def *def = &x->defs[ev->def];
	const struct tsct_trace_event *e = ev->e;
	const struct tsct_identity_thread *who;
	const __u64 ambiguous = x->ambiguous;
	struct tsct_export_slice *slice;
	__s64 frame;
	int err = 0;

	if (def->pair && def->pair->key)
		return tsct_export_keyed(x, ev, key_of(def, e), true);
	if ((def->kind != TSCT_KIND_BEGIN && def->kind != TSCT_KIND_END) || !e->tid ||
	    (def->call && def->call->result == TSCT_RESULT_NONE))
		return 0;
	who = tsct_identity_find(&x->identity, e->node, e->tid, e->tick);
	ev->thread = tsct_threads_find(threads, e->node, e->tid, who ? who->generation : 0);
	if (!ev->thread)	/* it has no open slice */
		return 0;
	if (def->kind == TSCT_KIND_BEGIN) {
		if (!tsct_known_end(&x->known, e))
			return 0;
		err = open_slice(x, ev, def, true);
		return err == -ENOSPC ? 0 : err;
	}
	frame = find_slice(x, ev, def);
	if (frame < 0)
		return 0;
	ev->act = TSCT_ACT_CLOSE;
	ev->frame = (__u32)frame;
	if (x->ended && !tsct_export_is_hidden(x, ev->thread, ev->frame))
		err = x->ended(x, ev);
	if (x->closed) {
		slice = tsct_span_at(&x->slices, ev->thread->index, ev->frame);
		slice->ambiguous = x->ambiguous > ambiguous;
		slice->end_hidden = true;
	}
	return err ?: tsct_spans_close(&x->slices, ev->thread->index, ev->frame, TSCT_SPAN_ENDED,
				       e);
}

/* Ends the spans of the thread that had the ID end->tid at end->tick, for the reason @why. */
static int end_thread(struct tsct_export *x, const struct tsct_threads *threads,
		      const struct tsct_identity_end *end, enum tsct_span_why why)
{
	const struct tsct_identity_thread *who =
		tsct_identity_find(&x->identity, end->node, end->tid, end->tick);

	return end_slices(x, tsct_threads_find(threads, end->node, end->tid,
					       who ? who->generation : 0), end->tick, why);
}

/* Ends the slices of threads that ended before @tick. *next: number of ended threads so far */
static int end_threads(struct tsct_export *x, const struct tsct_threads *threads, __u64 tick,
		       size_t *next)
{
	int err = 0;

	for (; !err && *next < x->identity.nr_ends && x->identity.ends[*next].tick < tick; ++*next)
		err = end_thread(x, threads, &x->identity.ends[*next], TSCT_SPAN_OPEN);
	return err;
}

/* Returns the reason for closing spans whose end events @loss may hide; TSCT_SPAN_OPEN if @loss
 * is the end of the recorder. */
static enum tsct_span_why why_left(const struct tsct_loss_time *loss)
{
	return loss->over ? TSCT_SPAN_OPEN : TSCT_SPAN_UNKNOWN;
}

/* Ends the spans of a row whose end events @loss may hide. @thread: NULL: a pair's row */
static int end_lost(struct tsct_export *x, struct tsct_spans *spans, __u32 row,
		    struct tsct_thread *thread, const struct tsct_loss_time *loss)
{
	const struct tsct_trace_event e = { .tick = loss->from, .node = thread ? thread->node : 0 };
	const __u32 open = tsct_spans_open(spans, row);
	struct tsct_export_event ev = {
		.e = &e, .ns = open ? tsct_export_time(x, e.tick) : 0, .thread = thread,
		.act = TSCT_ACT_CLOSE, .frame = open,
	};
	struct tsct_span *span;
	int err = 0;

	while (ev.frame-- && !err && ev.ns < x->to_ns) {
		span = tsct_span_at(spans, row, ev.frame);
		if (!tsct_known_hides(&x->known, loss, span))
			continue;
		if (spans == &x->slices && x->ended && !span->hidden)
			err = x->ended(x, &ev);
		err = err ?: tsct_spans_close(spans, row, ev.frame, why_left(loss), &e);
	}
	return err;
}

/* Returns the last tick for which end_until() has nothing to do. */
static __u64 next_end(const struct tsct_export *x, size_t ended)
{
	const __u64 known = tsct_known_next(&x->known);

	return ended < x->identity.nr_ends && x->identity.ends[ended].tick < known ?
		x->identity.ends[ended].tick : known;
}

/* Ends the slices of threads that ended before @tick, and the slices whose end events may be
 * hidden or lost since a time before @tick. */
static int end_until(struct tsct_export *x, const struct tsct_threads *threads, __u64 tick,
		     size_t *ended)
{
	const struct tsct_identity_end *hidden;
	const struct tsct_loss_time *loss;
	int err = 0;
	__u32 i;

	while (!err && ((loss = tsct_known_pass(&x->known, tick)) ||
			(hidden = tsct_known_hide(&x->known, tick)))) {
		if (!loss) {
			err = end_thread(x, threads, hidden, TSCT_SPAN_UNKNOWN);
			continue;
		}
		err = end_threads(x, threads, loss->from + 1, ended);
		/* A pair's end may be on another node, whose recorder may still run. */
		for (i = 0; i < x->nr_pairs && !err && !loss->over; i++)
			err = end_lost(x, &x->keyed, i, NULL, loss);
		for (i = 0; i < threads->nr && !err; i++)
			if (threads->all[i]->node == tsct_known_node(&x->known, loss->location))
				err = end_lost(x, &x->calls, i, threads->all[i], loss) ?:
					end_lost(x, &x->slices, i, threads->all[i], loss);
	}
	return err ?: end_threads(x, threads, tick, ended);
}

/* ---- states of threads --------------------------------------------------- */

static int state_closed(void *x, const struct tsct_state_time *time)
{
	return ((struct tsct_export *)x)->state(x, time);
}

/* Initializes x->states if x->state() is set. Returns 0 or -ENOMEM. */
static int begin_states(struct tsct_export *x, const struct tsct_trace *trace)
{
	if (x->states.closed)
		tsct_states_free(&x->states);
	x->states = (struct tsct_states) { .closed = x->state ? state_closed : NULL, .arg = x };
	return x->state ? tsct_states_init(&x->states, x->rec, &x->identity, trace) : 0;
}

__s64 tsct_export_off_cpu_ns(const struct tsct_export *x, const struct tsct_state_time *time)
{
	return time->state == TSCT_STATE_RUNNING || time->state == TSCT_STATE_UNKNOWN ? 0 :
		tsct_export_time(x, time->until) - tsct_export_time(x, time->from);
}

struct tsct_thread *tsct_export_state_thread(const struct tsct_export *x,
					     const struct tsct_thread *thread)
{
	return tsct_threads_find(&x->states.threads, thread->node, thread->tid,
				 thread->generation);
}

/* Initializes x->known for a walk over @trace. Returns 0 or -ENOMEM. */
static int begin_known(struct tsct_export *x, const struct tsct_trace *trace)
{
	tsct_known_free(&x->known);
	x->run = (struct tsct_known_change) { .began = false };
	x->known = (struct tsct_known) {
		.rec = x->rec, .identity = &x->identity, .filter = &x->filter,
	};
	return tsct_known_init(&x->known, trace);
}

int tsct_export_walk(struct tsct_export *x, struct tsct_trace *trace,
		     struct tsct_threads *threads,
		     int (*event)(struct tsct_export *x,
		     const struct tsct_export_event *e))
{
	const bool passes = event || x->closed;
	const struct tsct_trace_event *e;
	struct tsct_export_event ev;
	const __u64 done_bytes = x->done_bytes;
	const struct tsct_export_def *def;
	size_t ended = 0;
	__u64 busy = 0;
	int ret = 0, err = 0;

	drop_spans(x);
	x->until_tick = UINT64_MAX;
	err = begin_known(x, trace) ?: begin_states(x, trace);
	while (!err && (e = tsct_trace_step(trace, &ret))) {
		if ((e->tid & x->part_mask) != x->part)
			continue;
		ev = (struct tsct_export_event) {
			.e = e, .ns = tsct_export_time(x, e->tick), .def = tsct_export_def_of(x, e),
		};
		def = &x->defs[ev.def];
		if (unlikely(e->tick >= busy)) {
			err = end_until(x, threads, e->tick, &ended);
			busy = next_end(x, ended);
			busy += busy < UINT64_MAX;
			if (e->tick < x->first_tick && ev.ns < x->to_ns)
				x->first_tick = e->tick;
			if (err)
				break;
		}
		if (unlikely(ev.ns >= x->to_ns)) {
			x->until_tick = x->now_tick;
			break;
		}
		x->now_ns = ev.ns;
		x->now_tick = e->tick;
		if (unlikely(def->kernel == TSCT_KERNEL_SWITCH)) {
			learn_name(x, threads, e, "prev_tid", "prev_comm");
			learn_name(x, threads, e, "next_tid", "next_comm");
		}
		if (unlikely(x->state))
			err = tsct_states_add(&x->states, e);
		if (passes && !err)
			err = x->all || (ev.ns >= x->from_ns &&
					 tsct_selection_has(&x->selection, e)) ?
				pass_event(x, threads, &ev, def, event) :
				hide_event(x, threads, &ev);
		if (x->poll && ++x->read % POLL_EVENTS == 0 && !err) {
			x->done_bytes = done_bytes + tsct_trace_bytes(trace);
			err = x->poll(x);
		}
	}
	x->done_bytes = done_bytes + tsct_trace_bytes(trace);
	if (x->until_tick == UINT64_MAX)
		x->until_tick = tsct_export_last_tick(x);
	if (!err && !ret)
		err = end_until(x, threads, tsct_export_last_tick(x) + 1, &ended);
	if (!err && !ret && x->state)
		err = tsct_states_finish(&x->states, x->until_tick);
	if (!err && !ret && x->closed)
		err = tsct_spans_finish(&x->calls) ?: tsct_spans_finish(&x->slices) ?:
			tsct_spans_finish(&x->keyed);
	return err ? err : ret;
}

/* Returns the error of the output file. Set errno to 0 before each write: a FILE has
 * only an error flag, no error number. */
static int file_error(const struct tsct_export *x)
{
	if (!x->file || !ferror_unlocked(x->file))
		return 0;
	return errno ? -errno : -EIO;
}

static int format_event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	int err;

	if (x->file)
		errno = 0;
	err = x->format->event(x, ev);
	if (x->file && !err)
		err = file_error(x);
	x->events += !err;
	return err;
}

int tsct_export_run(struct tsct_export *x)
{
	int err;

	err = x->format->begin ? x->format->begin(x) : 0;
	if (x->format->cut)
		x->ended = cut_slices;
	if (!err)
		err = tsct_export_walk(x, x->trace, &x->threads, format_event);
	errno = 0;
	if (!err && x->format->end)
		err = x->format->end(x);
	if (!err && x->file && fflush(x->file))
		err = errno ? -errno : -EIO;
	if (!err)
		err = file_error(x);
	if (x->format->free)
		x->format->free(x);
	return err;
}
