/* SPDX-License-Identifier: MIT */
/* Figures of the spans of a recording, by name and group, for trace-ctl stat --spans */
#ifndef SPAN_FIGURES_H
#define SPAN_FIGURES_H

#include "lib/base/histogram.h"
#include "lib/export/export.h"
#include "tools/read/stat.h"

#define SLOWEST		10
#define GROUPS_MAX	4096	/* spans of further groups are counted together */
#define BY_MAX		64	/* size of the name of a group with the NUL */

struct slow_span {
	__u64 length_ns, error_ns;	/* error_ns: of the length, UINT64_MAX: unknown */
	__s64 begin_ns;
	__u32 node, tid;
	bool between_nodes;		/* the span begins on one node and ends on another */
	char thread[TSCT_THREAD_NAME_MAX];
};

/* Spans of one name and, with --by, of one value */
struct span_group {
	char *name;
	bool is_call, compat;
	bool has_by;
	char by[BY_MAX];		/* value of --by as text */
	struct tsct_histogram lengths;	/* of those whose length is known, ns */
	__u64 why[TSCT_SPAN_WHYS];	/* number of spans by reason */
	struct slow_span slow[SLOWEST];	/* the longest first */
	unsigned int nr_slow;
};

struct stat_spans {
	struct tsct_export x;	/* first member: callbacks cast its address */
	bool spans, calls;	/* flags: --spans, --calls */
	/* --where, of which a condition may hold for the begin or the end event of a span */
	struct tsct_filter where;
	struct tsct_selection selection;
	const char *by;		/* --by: a field, "thread" or "node"; NULL: none */
	struct span_group *groups;
	__u32 nr_groups;
	struct tsct_index index;
};

/* Callback of the walk: counts a span. Returns 0 or -ENOMEM. */
int span_figures_add(struct tsct_export *x, const struct tsct_closed_span *span);

/* Sorts the groups by the sum of their lengths, the largest first. */
void span_figures_sort(struct stat_spans *s);
void span_figures_free(struct stat_spans *s);

/* Returns the figures of the groups of spans, or those of calls. */
json_t *span_figures_json(const struct stat_spans *s, bool calls);

/* Prints these. */
void span_figures_print(const struct stat_figures *f, const struct stat_spans *s, bool calls);

#endif /* SPAN_FIGURES_H */
