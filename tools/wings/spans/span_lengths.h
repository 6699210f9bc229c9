/* SPDX-License-Identifier: MIT */
/* trace-ctl stat --spans, --calls: figures of slices and system calls, and their output */
#ifndef SPAN_LENGTHS_H
#define SPAN_LENGTHS_H

#include "tools/read/stat.h"
#include "tools/shared/span_figures.h"

struct stat_spans {
	struct tsct_export x;	/* first member: callbacks cast its address */
	bool spans, calls;	/* flags: --spans, --calls */
	/* --where: each condition must hold for the begin or the end event of a span */
	struct tsct_filter where;
	struct tsct_selection selection;
	struct span_figures figures;
};

/* Returns the figures of the groups of spans or, if @calls is true, of system calls. */
json_t *span_figures_json(const struct stat_spans *s, bool calls);

/* Prints these figures. */
void span_figures_print(const struct stat_figures *f, const struct stat_spans *s, bool calls);

#endif /* SPAN_LENGTHS_H */
