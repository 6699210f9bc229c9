/* SPDX-License-Identifier: MIT */
/*
 * The parts of trace-ctl compare: the spans of a recording (compare_collect.c), the noise of their
 * figures (compare_noise.c), output (compare_print.c), and the command.
 */
#ifndef COMPARE_H
#define COMPARE_H

#include <jansson.h>

#include "lib/base/index.h"
#include "lib/export/export.h"
#include "tools/common/progress.h"

/* ---- compare_noise.c: data in, data out -------------------------------------- */

#define COMPARE_BLOCKS		128	/* maximum number of blocks of a recording's time */
#define COMPARE_RESAMPLES	1000
#define COMPARE_CONFIDENCE	0.95	/* of all comparisons together */

enum compare_figure {
	COMPARE_COUNT, COMPARE_RATE,
	COMPARE_MEAN, COMPARE_P50, COMPARE_P90, COMPARE_P99,	/* of lengths */
	COMPARE_FIGURES
};

/* Spans of one name that begin in one block and whose lengths fall into one bin */
struct compare_cell {
	__u64 ns;		/* largest length of the bin */
	__u64 nr, sum_ns;
	__u32 block;
};

/* A recording's time in blocks of equal length, and how often a resample contains each block */
struct compare_blocks {
	double seconds;
	__u32 nr;		/* 1 to COMPARE_BLOCKS */
	__u8 *draws;		/* draws[resample * nr + block] */
};

/* Figures of the spans of one name in a recording, with their noise */
struct compare_estimate {
	__u64 nr;		/* number of spans whose length is known */
	double value[COMPARE_FIGURES];	/* number, number per second, ns */
	double noise[COMPARE_FIGURES];	/* standard error of the figure's logarithm */
	__u32 blocks;		/* number of all blocks */
	__u32 used_blocks;	/* number of blocks that have such spans */
	/* Reasons why figures cannot be compared: */
	bool unrecorded;	/* the recorder was not to record these events of the kernel */
	bool lost;		/* events are missing, so numbers are too small */
	bool unknown;		/* a span lies between nodes whose clocks have no known bound */
	double error_ns;	/* largest error bound of a span between nodes */
	double rate_error;	/* bound of the error of the rate of time */
};

enum compare_outcome {
	COMPARE_CHANGED,	/* beyond noise, and beyond the clocks' errors */
	COMPARE_BELOW_BOUND,	/* beyond noise, but not beyond the clocks' errors */
	COMPARE_SAME,		/* no change beyond noise */
	COMPARE_FEW,		/* too few spans, or in too few blocks */
	COMPARE_UNRECORDED, COMPARE_LOST, COMPARE_UNKNOWN,	/* as of compare_estimate */
	COMPARE_OUTCOMES
};

struct compare_result {
	enum compare_outcome outcome;
	double ratio;		/* B / A */
	double low, high;	/* interval of the ratio; NaN: unknown */
};

/* Makes the resamples of a recording's blocks. Returns 0 or -ENOMEM. */
int compare_draw(struct compare_blocks *blocks, __u64 seed);

/*
 * Computes the figures of a name, and their noise, into @ret, which must be all zero.
 * @cells: are sorted
 * @max_ns: length of the longest span
 */
void compare_estimate_make(const struct compare_blocks *blocks, struct compare_cell *cells,
			   __u32 nr, __u64 max_ns, struct compare_estimate *ret);

/* Returns COMPARE_SAME if a figure of two recordings can be compared, or the reason why not. */
enum compare_outcome compare_possible(const struct compare_estimate *a,
				      const struct compare_estimate *b, enum compare_figure figure);

/* Compares a figure. @comparisons: number of possible comparisons, over all names */
struct compare_result compare_judge(const struct compare_estimate *a,
				    const struct compare_estimate *b, enum compare_figure figure,
				    __u64 comparisons);

/* ---- compare_collect.c ------------------------------------------------------- */

/* Spans or calls of one name in one recording */
struct compare_spans {
	char *name;
	bool is_call, compat, kernel;	/* kernel: recorded by probes of the kernel */
	struct tsct_index index;	/* maps (length, block) to the cell's number */
	struct compare_cell *cells;
	__u32 nr_cells;
	__u64 max_ns, error_ns;		/* error_ns: UINT64_MAX: unknown */
	__u64 why[TSCT_SPAN_WHYS];	/* number of spans by reason */
	struct compare_estimate estimate;
};

struct compare_side {
	struct tsct_export x;		/* first: callbacks get its address */
	const struct compare_job *job;
	struct tsct_filter where;
	struct tsct_selection selection;
	__u64 width_ns;			/* of a block */
	__s64 begin_ns;			/* of the first block */
	struct compare_blocks blocks;
	bool lost;
	struct tsct_index names;	/* maps hash of name, kind and ABI to index in `spans` */
	struct compare_spans *spans;
	__u32 nr;
};

/* Reads the spans of a recording, and estimates the figures of each name. Returns 0 or -errno
 * with x->why, which may be "". */
int compare_collect(struct compare_side *side);

/* Returns the spans of the same name, kind and ABI; NULL: there are none. */
struct compare_spans *compare_find(const struct compare_side *side, const char *name, bool is_call,
				   bool compat);
/* Returns false if a recording has no definition of a name's events, which the kernel's probes
 * record in another one. */
bool compare_is_recorded(const struct compare_side *side, const struct compare_spans *spans);
void compare_side_free(struct compare_side *side);

/* ---- cmd_compare.c ------------------------------------------------------------- */

/* One figure of one name */
struct compare_row {
	const struct compare_spans *a, *b;	/* one of them may be NULL: no such spans */
	enum compare_figure figure;
	struct compare_estimate estimates[2];
	struct compare_result result;
};

struct compare_job {
	const char *dirs[2];
	struct compare_side sides[2];
	struct tsct_filter filter;
	struct tsct_export pairs;	/* only its pairs */
	const char **names;		/* wanted names; nr_names 0: all */
	__u32 nr_names;
	__u64 seed;
	bool json, all;
	struct compare_row *rows;	/* sorted by outcome, then by change, largest first */
	__u32 nr_rows;
	__u64 comparisons;		/* number of rows with an outcome by noise */
	struct progress progress;
};

/* ---- compare_print.c ----------------------------------------------------------- */

void compare_print(const struct compare_job *job);
json_t *compare_json(const struct compare_job *job);

#endif /* COMPARE_H */
