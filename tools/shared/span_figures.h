/* SPDX-License-Identifier: MIT */
/* Figures of the spans and system calls of a recording, by name and by a field's value */
#ifndef SPAN_FIGURES_H
#define SPAN_FIGURES_H

#include "lib/base/histogram.h"
#include "lib/base/index.h"
#include "lib/export/export.h"

#define SLOWEST		10
#define GROUPS_MAX	4096	/* spans of further groups are counted together */
#define BY_MAX		64	/* size of the name of a group with the NUL */

struct slow_span {
	__u64 length_ns, error_ns;	/* error_ns: bound on length_ns; UINT64_MAX: unknown */
	__s64 begin_ns;
	__u64 begin, end;		/* ticks */
	__u32 node, tid, row;		/* row: index of the thread */
	bool between_nodes;		/* the span begins on one node and ends on another */
	char thread[TSCT_THREAD_NAME_MAX];
};

/* Spans with one name and, if span_figures.by is set, one value of `by` */
struct span_group {
	char *name;
	bool is_call, compat;
	bool has_by;
	char by[BY_MAX];		/* value of `by` as text */
	struct tsct_histogram lengths;	/* lengths of the spans whose length is known, ns */
	__u64 why[TSCT_SPAN_WHYS];	/* number of spans by reason */
	struct slow_span slow[SLOWEST];	/* the longest spans, in descending order */
	unsigned int nr_slow;
};

struct span_figures {
	/* Set by the caller: */
	const struct tsct_recording *rec;
	const char *by;		/* name of a field, "thread" or "node"; NULL: group by name alone */

	struct span_group *groups;
	__u32 nr_groups;
	struct tsct_index index;
	/* cache of lookups; index: a hash of the name's address */
	struct { const char *name; const struct tsct_syscall *call; __u32 group; } recent[16];
};

/* Counts a span that tsct_export_walk() passed to x->closed(). Returns 0 or -ENOMEM. */
int span_figures_add(struct span_figures *f, const struct tsct_closed_span *span);

/* Adds the spans that are counted in @from. `by` must be NULL. Returns 0 or -ENOMEM. */
int span_figures_join(struct span_figures *f, const struct span_figures *from);

/* Sorts the groups by total length of spans, the longest first. Call it after the last span. */
void span_figures_sort(struct span_figures *f);
void span_figures_free(struct span_figures *f);

#endif /* SPAN_FIGURES_H */
