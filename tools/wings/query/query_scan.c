// SPDX-License-Identifier: MIT
/*
 * Reads the events of a recording for a query: file by file if no order is required, which
 * avoids the merge's heap. Packets that end before the wanted time are not read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "query.h"
#include "tools/common/error.h"
#include "tools/common/output_file.h"

#define POLL_EVENTS	65536	/* events between two checks for signals, with progress */
#define THREADS_MAX	(1U << 22)	/* thread IDs of Linux are below this */

const struct tsct_identity *query_identity(struct query *q)
{
	/* Threads are unknown if the statedump is damaged, which view_open() reported. */
	if (!q->has_identity)
		tsct_identity_read(q->dir, &q->identity);
	q->has_identity = true;
	return &q->identity;
}

const struct query_thread *query_thread_find(struct query *q,
					     struct query_thread kept[QUERY_THREADS_KEPT],
					     const struct tsct_trace_event *e)
{
	const struct tsct_identity *all = query_identity(q);
	struct query_thread *k = &kept[e->tid % QUERY_THREADS_KEPT];
	const __u64 tick = e->tick;
	__u64 until;

	if (k->tid == e->tid && k->node == e->node && tick >= k->from && tick <= k->until)
		return k;
	*k = (struct query_thread) { .node = e->node, .tid = e->tid, .until = UINT64_MAX };
	k->from = tick;
	if (!e->tid)
		return k;
	k->thread = tsct_identity_find(all, e->node, e->tid, tick);
	k->until = tsct_identity_until(all, k->thread, tick);
	if (k->thread && k->thread->state.tgid) {
		k->process = tsct_identity_find(all, e->node, k->thread->state.tgid, tick);
		until = tsct_identity_until(all, k->process, tick);
		k->until = min(k->until, until);
	}
	return k;
}

void query_report(void *arg, const char *sentence)
{
	struct query *q = arg;
	const __u64 hash = tsct_hash(0, sentence, strlen(sentence));

	if (tsct_index_find(&q->damage, hash, 0) != TSCT_INDEX_NONE)
		return;
	tsct_index_add(&q->damage, hash, 0);
	progress_clear(&q->progress);
	fflush(stdout);
	ctl_error("%s", sentence);
}

void query_scan_init(struct query_scan *scan, struct query *q, __u32 **numbers)
{
	*scan = (struct query_scan) {
		.q = q, .numbers = numbers,
		.dir = { .dirfd = q->dirfd, .rec = q->rec, .report = query_report, .arg = q },
	};
}

static void free_wanted(struct query_scan *scan)
{
	__u32 i;

	for (i = 0; scan->wanted && i < scan->q->rec->nr_streams; i++)
		free(scan->wanted[i]);
	free(scan->wanted);
	scan->wanted = NULL;
	free(scan->threads);
	scan->threads = NULL;
}

static void free_streams(struct query_scan *scan)
{
	__u32 i;

	for (i = 0; scan->streams && i < scan->nr; i++)
		tsct_stream_reader_free(&scan->streams[i]);
	free(scan->streams);
	free(scan->heap);
	scan->streams = scan->s = NULL;
	scan->heap = NULL;
	scan->nr = 0;
}

void query_scan_free(struct query_scan *scan)
{
	if (scan->q->first == scan)
		scan->q->first = NULL;
	free_streams(scan);
	free_wanted(scan);
	free(scan->node);
}

/* ---- wanted events ----------------------------------------------------- */

/* Returns true if the name in a condition, @wanted, is @name as shown, in UTF-8. */
static bool is_name(const char *wanted, const char *name)
{
	char clean[3 * TSCT_NODE_NAME_MAX + 1];

	clean[tsct_utf8_clean(clean, name, strnlen(name, TSCT_NODE_NAME_MAX))] = '\0';
	return !strcasecmp(wanted, clean);
}

static bool is_wanted_file(const struct query_scan *scan, __u32 location)
{
	const struct tsct_recording *rec = scan->q->rec;
	const struct tsct_location *l = &rec->locations[location];

	if (!scan->q->selection.locations[location] ||
	    (scan->want.cpu >= 0 && scan->want.cpu != l->cpu))
		return false;
	return !scan->node || is_name(scan->node, tsct_recording_node_name(rec,
		tsct_recording_node_of(rec, l->node)));
}

static bool is_wanted_type(const struct query_want *want, const struct tsct_event_def *def)
{
	return (!want->name || !strcasecmp(want->name, def->name)) &&
		(!want->kind || !strcasecmp(want->kind, tsct_kind_names[def->kind]));
}

/* If the scan is only for a thread name, makes scan->threads, with the IDs of all threads that
 * had this name at any time. */
static int want_threads(struct query_scan *scan)
{
	const struct tsct_identity *all;
	const struct tsct_identity_thread *t;

	if (!scan->want.thread)
		return 0;
	all = query_identity(scan->q);
	scan->threads = calloc(THREADS_MAX, sizeof(*scan->threads));
	for (t = all->threads; scan->threads && t < all->threads + all->nr_threads; t++)
		if (t->state.tid < THREADS_MAX && is_name(scan->want.thread, t->name))
			scan->threads[t->state.tid] = true;
	return scan->threads ? 0 : -ENOMEM;
}

/* Makes scan->wanted if the scan is only for events of one name or kind. */
static int want_types(struct query_scan *scan)
{
	const struct tsct_recording *rec = scan->q->rec;
	const struct tsct_stream_class *class;
	__u32 i, id;

	free_wanted(scan);
	if (!scan->want.name && !scan->want.kind)
		return 0;
	scan->wanted = calloc(rec->nr_streams + 1, sizeof(*scan->wanted));
	for (i = 0; scan->wanted && i < rec->nr_streams; i++) {
		class = &rec->streams[i];
		scan->wanted[i] = calloc(class->nr_defs + 1, sizeof(bool));
		if (!scan->wanted[i])
			return -ENOMEM;
		for (id = 0; id < class->nr_defs; id++)
			scan->wanted[i][id] = scan->numbers[i][id] &&
				is_wanted_type(&scan->want, class->defs[id]);
	}
	return scan->wanted ? 0 : -ENOMEM;
}

/* ---- files ------------------------------------------------------------- */

static void open_file(struct query_scan *scan, struct tsct_stream_reader *s, __u32 class,
		      __u32 location)
{
	__u8 *buffer = s->buffer;
	const size_t room = s->room;

	tsct_stream_reader_init(s, scan->q->rec, scan->q->kinds[class], class, location);
	s->buffer = buffer;
	s->room = room;
	if (scan->want.from)
		tsct_stream_reader_seek(&scan->dir, s, scan->want.from);
}

static int poll_scan(struct query_scan *scan)
{
	struct query *q = scan->q;
	__u64 bytes = scan->passed_bytes;
	__u32 i;

	if (output_interrupted())
		return -EINTR;
	for (i = 0; i < scan->nr; i++)
		bytes += scan->streams[i].next;
	if (q->first == scan)
		progress_show(&q->progress, (double)bytes / (double)(q->total_bytes + 1),
			      scan->read);
	return 0;
}

/* Advances to a file's next selected event. Returns 1, 0 at the file's end, -EINTR or -ENOMEM. */
static inline int next_of(struct query_scan *scan, struct tsct_stream_reader *s)
{
	const struct tsct_filter_ranges *threads = &scan->q->filter.threads;
	const struct query_want *want = &scan->want;
	struct tsct_where *where = scan->q->selection.where;
	int ret;

	for (;;) {
		ret = tsct_stream_reader_next(&scan->dir, s);
		if (unlikely(ret <= 0))
			return ret;
		if (unlikely(++scan->read % POLL_EVENTS == 0) && (ret = poll_scan(scan)))
			return ret;
		if (unlikely(s->event.tick > want->to))
			return 0;
		if (!scan->numbers[s->class][s->id - TSCT_ID_FIRST] || s->event.tick < want->from ||
		    (want->tid >= 0 && want->tid != s->event.tid) ||
		    (scan->wanted && !scan->wanted[s->class][s->id - TSCT_ID_FIRST]) ||
		    (scan->threads && s->event.tid < THREADS_MAX && !scan->threads[s->event.tid]) ||
		    (threads->nr && !tsct_filter_in(threads, s->event.tid)) ||
		    (where && !tsct_where_has_thread(where, s->event.node, s->event.tid,
						     s->event.tick)))
			continue;
		return 1;
	}
}

/* ---- scans ------------------------------------------------------------- */

static int begin_ordered(struct query_scan *scan)
{
	const struct tsct_recording *rec = scan->q->rec;
	__u32 wanted = 0, class, at;
	int ret = 0;

	for (at = 0; at < rec->nr_locations; at++)
		wanted += is_wanted_file(scan, at);
	scan->streams = calloc((size_t)wanted * rec->nr_streams + 1, sizeof(*scan->streams));
	scan->heap = calloc((size_t)wanted * rec->nr_streams + 1, sizeof(*scan->heap));
	if (!scan->streams || !scan->heap)
		return -ENOMEM;
	tsct_order_init(&scan->order, scan->heap, wanted * rec->nr_streams);
	for (class = 0; class < rec->nr_streams; class++)
		for (at = 0; at < rec->nr_locations && ret >= 0; at++) {
			if (!is_wanted_file(scan, at))
				continue;
			scan->s = &scan->streams[scan->nr++];
			open_file(scan, scan->s, class, at);
			ret = next_of(scan, scan->s);
			if (ret > 0)
				tsct_order_add(&scan->order, &(struct tsct_order_cursor) {
					.key = scan->s->event.tick, .rank = at,
					.index = scan->nr - 1 });
		}
	/* The first call of next_ordered() must not advance a stream. */
	scan->s = NULL;
	return ret < 0 ? ret : 0;
}

static int next_ordered(struct query_scan *scan)
{
	int ret = scan->s ? next_of(scan, scan->s) : 1;

	if (ret < 0)
		return ret;
	if (!ret)
		tsct_order_drop(&scan->order);
	else if (scan->s)
		tsct_order_advance(&scan->order, scan->s->event.tick);
	if (!tsct_order_first(&scan->order))
		return 0;
	scan->s = &scan->streams[tsct_order_first(&scan->order)->index];
	return 1;
}

int query_scan_begin(struct query_scan *scan, const struct query_want *want)
{
	const struct query_want all = *want;
	struct query *q = scan->q;
	int err;

	free_streams(scan);
	scan->want = all;
	scan->read = scan->passed_bytes = 0;
	scan->class = scan->location = 0;
	if (!q->scans++)
		q->first = scan;
	else if (q->first == scan)
		q->first = NULL;
	/* A subquery may read few events for each row of the first scan. */
	err = poll_scan(q->first ?: scan) ?: want_types(scan) ?: want_threads(scan);
	if (err)
		return err;
	/* The texts of @want are valid only during this call of SQLite. */
	free(scan->node);
	scan->node = want->node ? strdup(want->node) : NULL;
	if (want->node && !scan->node)
		return -ENOMEM;
	scan->want.node = scan->want.name = scan->want.kind = scan->want.thread = NULL;
	if (want->ordered)
		return begin_ordered(scan);
	scan->streams = calloc(1, sizeof(*scan->streams));
	scan->nr = 1;
	return scan->streams ? 0 : -ENOMEM;
}

/* Opens the next selected file. Returns false if there are no more files. */
static bool next_file(struct query_scan *scan)
{
	const struct tsct_recording *rec = scan->q->rec;

	for (; scan->class < rec->nr_streams; scan->class++, scan->location = 0)
		for (; scan->location < rec->nr_locations; scan->location++)
			if (is_wanted_file(scan, scan->location)) {
				scan->s = scan->streams;
				scan->passed_bytes += scan->s->next;
				open_file(scan, scan->s, scan->class, scan->location++);
				return true;
			}
	return false;
}

int query_scan_next(struct query_scan *scan)
{
	int ret = 0;

	if (scan->want.ordered)
		return next_ordered(scan);
	if (likely(scan->s))
		ret = next_of(scan, scan->s);
	while (!ret && next_file(scan))
		ret = next_of(scan, scan->s);
	return ret;
}
