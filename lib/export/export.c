// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/core/clock_params.h"
#include "export.h"
#include "lib/query/message_match.h"
#include "lib/query/value_text.h"

#define POLL_EVENTS	1024

const struct tsct_export_format *const tsct_export_formats[] = {
	&tsct_export_ctf, &tsct_export_otf2, &tsct_export_perfetto,
	&tsct_export_json, &tsct_export_text, &tsct_export_csv, NULL
};

const struct tsct_export_format *tsct_export_find(const char *name)
{
	const struct tsct_export_format *const *f;

	for (f = tsct_export_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

int tsct_export_fail(struct tsct_export *x, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(x->why, sizeof(x->why), format, args);
	va_end(args);
	return err;
}

/* ---- the recording ----------------------------------------------------- */

static int list_nodes(struct tsct_export *x)
{
	__u32 i;

	x->nodes = calloc(x->rec->nr_nodes, sizeof(*x->nodes));
	if (!x->nodes)
		return -ENOMEM;
	x->nr_nodes = x->rec->nr_nodes;
	for (i = 0; i < x->nr_nodes; i++)
		x->nodes[i] = tsct_recording_node_name(x->rec, i);
	return 0;
}

/* Sums file sizes, for the progress display; an estimate. */
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

static void note_place(struct tsct_export *x, const struct tsct_trace_event *e)
{
	__u64 *at = &x->read_to[e->stream * x->rec->nr_locations + e->location];

	x->done_bytes += e->offset - *at;
	*at = e->offset;
}

static __s64 time_of(const struct tsct_export *x, __u64 stamp)
{
	return tsct_clock_params_ns(&x->rec->real, stamp);
}

__u64 tsct_export_error_ns(const struct tsct_export *x)
{
	return tsct_recording_worst_ns(x->rec, x->rec->end);
}

__u64 tsct_export_lost(const struct tsct_export *x)
{
	__u64 discarded = tsct_trace_discarded(x->trace), sum;
	struct tsct_loss loss;
	__u32 i;

	tsct_recording_loss(x->rec, &loss);
	sum = tsct_loss_total(&loss);
	for (i = 0; i < x->rec->nr_streams; i++)
		sum = tsct_add_saturating(sum, x->rec->streams[i].lost_no_ring);
	return discarded > sum ? discarded : sum;
}

int tsct_export_prepare(struct tsct_export *x)
{
	int err;

	x->rec = tsct_trace_recording(x->trace);
	x->begin_ns = time_of(x, x->rec->begin);
	x->end_ns = time_of(x, x->rec->end);
	add_sizes(x);
	x->read_to = calloc(x->rec->nr_streams * x->rec->nr_locations + 1,
			    sizeof(*x->read_to));
	err = x->read_to ? list_nodes(x) : -ENOMEM;
	return err ? err : tsct_export_select(x);
}

void tsct_export_free(struct tsct_export *x)
{
	tsct_threads_free(&x->threads);
	tsct_selection_free(&x->selection);
	tsct_filter_free(&x->filter);
	free(x->read_to);
	free(x->first_def);
	free(x->slices);
	free(x->defs);
	free(x->nodes);
}

/* ---- events ------------------------------------------------------------ */

/* Takes a thread's name from a sched_switch event. */
static void learn_name(struct tsct_threads *threads, __u32 node,
		       const struct tsct_trace_event *e, const char *tid_name,
		       const char *comm_name)
{
	struct tsct_thread *thread;
	struct tsct_value tid, comm;

	if (!tsct_value_find(e, tid_name, &tid) ||
	    !tsct_value_find(e, comm_name, &comm) ||
	    !tsct_value_is_integer(&tid) || !tsct_value_is_text(&comm) ||
	    !tsct_value_integer(&tid))
		return;
	thread = tsct_threads_get(threads, node, tsct_value_integer(&tid), 0);
	if (thread)
		tsct_thread_rename(thread, (const char *)comm.at,
				   tsct_value_text_len(&comm));
}

static void learn_names(const struct tsct_export *x,
			struct tsct_threads *threads,
			const struct tsct_trace_event *e)
{
	if (!x->rec->streams[e->stream].kernel ||
	    strcmp(e->def->name, "sched_switch"))
		return;
	learn_name(threads, e->node, e, "prev_tid", "prev_comm");
	learn_name(threads, e->node, e, "next_tid", "next_comm");
}

static int judge_begin(struct tsct_export *x, struct tsct_export_event *ev)
{
	int err = tsct_thread_open(ev->thread, x->defs[ev->def].slice);

	ev->act = err ? TSCT_ACT_ORPHAN : TSCT_ACT_OPEN;
	x->orphans += err == -ENOSPC;
	return err == -ENOSPC ? 0 : err;
}

static void judge_end(struct tsct_export *x, struct tsct_export_event *ev)
{
	__s64 frame = tsct_thread_find(ev->thread, x->defs[ev->def].slice);

	ev->act = frame < 0 ? TSCT_ACT_ORPHAN : TSCT_ACT_CLOSE;
	x->orphans += frame < 0;
	if (frame < 0)
		return;
	ev->frame = frame;
	x->cuts += ev->thread->nr_open - 1 - frame;
}

static int judge(struct tsct_export *x, struct tsct_export_event *ev)
{
	switch (ev->e->def->kind) {
	case TSCT_KIND_BEGIN:
		return judge_begin(x, ev);
	case TSCT_KIND_END:
		judge_end(x, ev);
		break;
	case TSCT_KIND_COUNTER:
		ev->act = TSCT_ACT_COUNT;
		break;
	case TSCT_KIND_SEND:
	case TSCT_KIND_RECEIVE:
		ev->act = ev->e->def->kind == TSCT_KIND_SEND ?
			TSCT_ACT_SEND : TSCT_ACT_RECEIVE;
		ev->message = tsct_message_key(ev->e, x->defs[ev->def].pool);
		break;
	default:
		ev->act = TSCT_ACT_INSTANT;
	}
	return 0;
}

static int take(struct tsct_export *x, struct tsct_threads *threads,
		struct tsct_export_event *ev,
		int (*event)(struct tsct_export *x,
			     const struct tsct_export_event *e))
{
	int err;

	ev->thread = tsct_threads_get(threads, ev->node, ev->e->tid, ev->e->cpu);
	if (!ev->thread)
		return -ENOMEM;
	err = judge(x, ev);
	if (err)
		return err;
	ev->thread->events++;
	err = event(x, ev);
	if (ev->act == TSCT_ACT_CLOSE)
		tsct_thread_close(ev->thread, ev->frame);
	return err;
}

int tsct_export_walk(struct tsct_export *x, struct tsct_trace *trace,
		     struct tsct_threads *threads,
		     int (*event)(struct tsct_export *x,
		     const struct tsct_export_event *e))
{
	struct tsct_trace_event e;
	struct tsct_export_event ev;
	int ret = 0, err = 0;

	memset(x->read_to, 0, x->rec->nr_streams * x->rec->nr_locations *
	       sizeof(*x->read_to));
	while (!err && (ret = tsct_trace_next(trace, &e)) == 1) {
		ev = (struct tsct_export_event) {
			.e = &e, .ns = time_of(x, e.tick),
			.def = x->first_def[e.stream] + e.def->id - TSCT_ID_FIRST,
			.node = e.node,
		};
		if (ev.ns >= x->to_ns)
			return 0;
		x->now_ns = ev.ns;
		note_place(x, &e);
		learn_names(x, threads, &e);
		if (tsct_export_is_selected(x, &ev))
			err = take(x, threads, &ev, event);
		if (!err && x->poll && ++x->read % POLL_EVENTS == 0)
			err = x->poll(x);
	}
	return err ? err : ret;
}

/*
 * A FILE does not keep its error number: errno was set to 0 before it was
 * written to.
 */
static int file_error(const struct tsct_export *x)
{
	if (!x->file || !ferror_unlocked(x->file))
		return 0;
	return errno ? -errno : -EIO;
}

static int hand_on(struct tsct_export *x, const struct tsct_export_event *ev)
{
	int err;

	errno = 0;
	err = x->format->event(x, ev);
	if (!err)
		err = file_error(x);
	x->events += !err;
	return err;
}

static int finish(struct tsct_export *x)
{
	int err;

	errno = 0;
	err = x->format->end(x);
	if (!err && x->file && fflush(x->file))
		err = errno ? -errno : -EIO;
	return err ? err : file_error(x);
}

int tsct_export_run(struct tsct_export *x)
{
	int err;

	err = x->format->begin(x);
	if (!err)
		err = tsct_export_walk(x, x->trace, &x->threads, hand_on);
	if (!err)
		err = finish(x);
	x->format->free(x);
	return err;
}
