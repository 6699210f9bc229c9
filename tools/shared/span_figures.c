// SPDX-License-Identifier: MIT
/* Counts spans by name and group */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/hash.h"
#include "lib/query/value_text.h"
#include "lib/syscalls/syscall_value.h"
#include "span_figures.h"

/* Finds field `by` in an event. Returns false if there is no such field, or it is a text that the
 * recorder could not read. */
static bool find_value(const struct span_figures *f, const struct tsct_trace_event *e,
		       struct tsct_value *v)
{
	return e && tsct_value_find(e, f->by, v) && !tsct_syscall_no_text(f->rec, e, v);
}

/* Writes the value of field `by` in the span's begin event or, if there is none, in its
 * end event. Returns false if neither event has a value. */
static bool field_text(const struct span_figures *f, const struct tsct_closed_span *span,
		       char text[BY_MAX])
{
	char all[TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(BY_MAX)];
	struct tsct_value v;
	size_t len;

	if (!find_value(f, span->begin_event, &v) && !find_value(f, span->end_event, &v))
		return false;
	if (v.size > BY_MAX)
		v.size = BY_MAX;
	len = (size_t)(tsct_value_format(all, &v) - all);
	if (len >= BY_MAX)
		len = BY_MAX - 1;
	memcpy(text, all, len);
	text[len] = '\0';
	return true;
}

/* Writes the value by which the span is grouped. Returns false if the span has no value. */
static bool by_text(const struct span_figures *f, const struct tsct_closed_span *span,
		    char text[BY_MAX])
{
	char title[TSCT_THREAD_TITLE_MAX];

	if (!f->by)
		return false;
	if (!strcmp(f->by, "node")) {
		snprintf(text, BY_MAX, "%s", tsct_recording_node_name(f->rec, span->node));
	} else if (!strcmp(f->by, "thread")) {
		tsct_thread_title(span->thread, title);
		snprintf(text, BY_MAX, "%s %u", title, span->thread->tid);
	} else {
		return field_text(f, span, text);
	}
	return true;
}

/* Returns the group of a span, a new one if there is none; NULL: out of memory. @compat: it is a
 * system call of a 32-bit program */
static struct span_group *find_or_add(struct span_figures *f, const struct tsct_closed_span *span,
				      bool compat)
{
	struct span_group group = { .is_call = span->is_call, .compat = compat };
	__u64 key[2] = { tsct_hash(span->is_call + 2 * compat, span->name, strlen(span->name)), 0 };
	const char *name = span->name;
	__u32 at;

	group.has_by = by_text(f, span, group.by);
	if (group.has_by)
		key[1] = tsct_hash(1, group.by, strlen(group.by));
	at = tsct_index_find(&f->index, key[0], key[1]);
	if (at != TSCT_INDEX_NONE)
		return &f->groups[at];
	if (f->nr_groups >= GROUPS_MAX) {
		/* Two more groups have all further spans: one for calls, one for other spans. */
		group = (struct span_group) { .is_call = span->is_call };
		name = "others";
		key[0] = key[1] = span->is_call;
		at = tsct_index_find(&f->index, key[0], key[1]);
		if (at != TSCT_INDEX_NONE)
			return &f->groups[at];
	}
	if (!tsct_array_next(&f->groups, f->nr_groups, sizeof(group)))
		return NULL;
	group.name = strdup(name);
	if (!group.name || tsct_index_add(&f->index, key[0], key[1]) == TSCT_INDEX_NONE) {
		free(group.name);
		return NULL;
	}
	f->groups[f->nr_groups] = group;
	return &f->groups[f->nr_groups++];
}

static __attribute__((noinline)) struct span_group *
look_up(struct span_figures *f, const struct tsct_closed_span *span)
{
	return find_or_add(f, span, span->call && tsct_syscall_is_compat(span->call));
}

/* Returns the group of a span; NULL: out of memory. */
static struct span_group *find_group(struct span_figures *f, const struct tsct_closed_span *span)
{
	const size_t at = ((uintptr_t)span->name >> 4) % (sizeof(f->recent) / sizeof(*f->recent));
	struct span_group *g;

	/* The name of an unknown call is in a buffer, whose address does not identify the call. */
	if (f->by || (span->is_call && !span->call))
		return look_up(f, span);
	if (f->recent[at].name == span->name && f->recent[at].call == span->call)
		return &f->groups[f->recent[at].group];
	g = look_up(f, span);
	if (g) {
		f->recent[at].name = span->name;
		f->recent[at].call = span->call;
		f->recent[at].group = (__u32)(g - f->groups);
	}
	return g;
}

/* If the span's ends are on two nodes, sets the error bound of its length. */
static void set_error(const struct span_figures *f, const struct tsct_closed_span *span,
		      struct slow_span *slow)
{
	slow->between_nodes = span->end_node != span->node;
	if (slow->between_nodes)
		slow->error_ns = tsct_recorded_bound_add(
			tsct_recording_error_ns(f->rec, span->node, span->begin),
			tsct_recording_error_ns(f->rec, span->end_node, span->end));
}

/* Adds a span to the longest spans of a group, if it is one of them. Of equal ones, those that ended
 * first are kept. */
static void insert_slow(struct span_group *g, const struct slow_span *slow)
{
	unsigned int at = g->nr_slow;

	while (at && (g->slow[at - 1].length_ns < slow->length_ns ||
		      (g->slow[at - 1].length_ns == slow->length_ns &&
		       g->slow[at - 1].end > slow->end)))
		at--;
	if (at == SLOWEST)
		return;
	g->nr_slow += g->nr_slow < SLOWEST;
	memmove(&g->slow[at + 1], &g->slow[at], (g->nr_slow - 1 - at) * sizeof(*g->slow));
	g->slow[at] = *slow;
}

static __attribute__((noinline)) void
note_slow(const struct span_figures *f, struct span_group *g, const struct tsct_closed_span *span,
	  __u64 ns)
{
	struct slow_span slow = {
		.length_ns = ns, .begin_ns = span->begin_ns, .begin = span->begin,
		.end = span->end, .node = span->node,
		.tid = span->thread->tid, .row = span->thread->index,
	};

	set_error(f, span, &slow);
	memcpy(slow.thread, span->thread->name, TSCT_THREAD_NAME_MAX);
	insert_slow(g, &slow);
}

int span_figures_add(struct span_figures *f, const struct tsct_closed_span *span)
{
	struct span_group *g = find_group(f, span);
	__u64 ns;

	if (!g)
		return -ENOMEM;
	g->why[span->why]++;
	if (span->why != TSCT_SPAN_ENDED)
		return 0;
	/* With begin and end on two nodes, the end may have an earlier time than the begin. */
	ns = span->end_ns > span->begin_ns ? (__u64)(span->end_ns - span->begin_ns) : 0;
	if (g->nr_slow < SLOWEST || ns > g->slow[SLOWEST - 1].length_ns)
		note_slow(f, g, span, ns);
	return tsct_histogram_add(&g->lengths, ns);
}

int span_figures_join(struct span_figures *f, const struct span_figures *from)
{
	const struct span_group *group = from->groups, *end = group + from->nr_groups;
	struct span_group *g;
	unsigned int i;
	int err = 0;

	for (; !err && group < end; group++) {
		g = find_or_add(f, &(struct tsct_closed_span) {
			.name = group->name, .is_call = group->is_call }, group->compat);
		if (!g)
			return -ENOMEM;
		for (i = 0; i < TSCT_SPAN_WHYS; i++)
			g->why[i] += group->why[i];
		for (i = 0; i < group->nr_slow; i++)
			insert_slow(g, &group->slow[i]);
		err = tsct_histogram_join(&g->lengths, &group->lengths);
	}
	return err;
}

static int by_total(const void *a, const void *b)
{
	const struct span_group *x = a, *y = b;

	return tsct_compare(y->lengths.sum, x->lengths.sum) ?:
		tsct_compare(y->lengths.nr, x->lengths.nr) ?: strcmp(x->name, y->name) ?:
		strcmp(x->by, y->by);
}

void span_figures_sort(struct span_figures *f)
{
	if (f->nr_groups)
		qsort(f->groups, f->nr_groups, sizeof(*f->groups), by_total);
	tsct_index_free(&f->index);
}

void span_figures_free(struct span_figures *f)
{
	__u32 i;

	for (i = 0; i < f->nr_groups; i++) {
		free(f->groups[i].name);
		tsct_histogram_free(&f->groups[i].lengths);
	}
	free(f->groups);
	tsct_index_free(&f->index);
}
