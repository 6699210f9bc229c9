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
#define COMPARE_CONFIDENCE	0.95	/* confidence of all comparisons together */

enum compare_figure {
	COMPARE_COUNT, COMPARE_RATE,
	COMPARE_MEAN, COMPARE_P50, COMPARE_P90, COMPARE_P99,	/* lengths of spans */
	COMPARE_FIGURES
};

/* Spans of one name that begin in one block and whose lengths fall into one bin */
struct compare_cell {
	__u64 ns;		/* largest length of the bin */
	__u64 nr, sum_ns;
	__u32 block;
};

/* A recording's time, cut into blocks of equal length, and resamples of the blocks */
struct compare_blocks {
	double seconds;
	__u32 nr;		/* number of blocks, 1 to COMPARE_BLOCKS */
	__u8 *draws;		/* how often a block was drawn, by resample * nr + block */
};

/* Figures of the spans of one name in one recording, with the figures' noise */
struct compare_estimate {
	__u64 nr;		/* number of spans with a known length */
	double value[COMPARE_FIGURES];	/* count; rate per second; lengths, ns */
	double noise[COMPARE_FIGURES];	/* standard error of the figure's logarithm */
	/* variance of the figure by that which it would have if blocks did not depend on each other */
	double alike[COMPARE_FIGURES];
	/* of a percentile: number of blocks that have spans of at least this length */
	__u32 tail_blocks[COMPARE_FIGURES];
	__u32 blocks;		/* number of all blocks */
	__u32 used_blocks;	/* number of blocks that have spans with a known length */
	/* Reasons why figures cannot be compared: */
	bool unrecorded;	/* recording these kernel events was not requested */
	bool lost;		/* events are missing, so numbers are too small */
	bool unknown;		/* a span between nodes has an unknown error bound */
	double error_ns;	/* largest error bound of the length of a span between nodes, ns */
	double rate_error;	/* largest relative error of the rate at which time passes */
};

enum compare_outcome {
	COMPARE_CHANGED,	/* the change exceeds the noise and the clocks' errors */
	COMPARE_BELOW_BOUND,	/* the change exceeds the noise, but not the clocks' errors */
	COMPARE_SAME,		/* no change beyond noise */
	COMPARE_FEW,		/* too few spans, or too few blocks that have spans */
	COMPARE_UNRECORDED, COMPARE_LOST, COMPARE_UNKNOWN,	/* flags in compare_estimate */
	COMPARE_OUTCOMES
};

struct compare_result {
	enum compare_outcome outcome;
	double ratio;		/* figure of recording B / figure of A */
	double low, high;	/* confidence interval of the ratio; NaN: unknown */
};

/* Draws the resamples of a recording's blocks, into blocks->draws. Returns 0 or -ENOMEM. */
int compare_draw(struct compare_blocks *blocks, __u64 seed);

/*
 * Computes the figures of a name, and their noise, into @ret, which must be all zero.
 * @cells: the function sorts them
 * @max_ns: length of the longest span
 */
void compare_estimate_make(const struct compare_blocks *blocks, struct compare_cell *cells,
			   __u32 nr, __u64 max_ns, struct compare_estimate *ret);

/* Returns COMPARE_SAME if a figure of two recordings can be compared; else the reason why not. */
enum compare_outcome compare_possible(const struct compare_estimate *a,
				      const struct compare_estimate *b, enum compare_figure figure);

/* Compares a figure. @comparisons: number of all comparisons that are possible, of all names */
struct compare_result compare_judge(const struct compare_estimate *a,
				    const struct compare_estimate *b, enum compare_figure figure,
				    __u64 comparisons);

/* ---- compare_collect.c ------------------------------------------------------- */

/* Spans or calls of one name in one recording */
struct compare_spans {
	char *name;
	bool is_call, compat, kernel;	/* kernel: the spans consist of kernel events */
	struct tsct_index index;	/* maps (length, block) to the index of the cell */
	struct compare_cell *cells;
	__u32 nr_cells;
	/* length of the longest span; largest error bound of a length, UINT64_MAX: unknown */
	__u64 max_ns, error_ns;
	__u64 why[TSCT_SPAN_WHYS];	/* numbers of spans, by enum tsct_span_why */
	struct compare_estimate estimate;
};

struct compare_side {
	struct tsct_export x;		/* must be first: callbacks get its address */
	const struct compare_job *job;
	struct tsct_filter where;
	struct tsct_selection selection;
	__u64 width_ns;			/* length of a block */
	__s64 begin_ns;			/* begin of the first block */
	struct compare_blocks blocks;
	bool lost;		/* events are missing, */
	bool limited;		/* or were dropped by the rate limit: numbers are too small */
	struct tsct_index names;	/* maps hash of name, is_call, compat to index in `spans` */
	struct compare_spans *spans;
	__u32 nr;
};

/* Reads the spans of a recording, and estimates the figures of each name. Returns 0, or
 * -errno with the reason in side->x.why, which may be "". */
int compare_collect(struct compare_side *side);

/* Returns the spans with this name, @is_call and @compat; NULL: there are none. */
struct compare_spans *compare_find(const struct compare_side *side, const char *name, bool is_call,
				   bool compat);
/* Returns false if recording @side has no definition of the kernel events of @spans, which are
 * spans of the other recording. */
bool compare_is_recorded(const struct compare_side *side, const struct compare_spans *spans);
void compare_side_free(struct compare_side *side);

/* ---- cmd_compare.c ------------------------------------------------------------- */

/* One figure of one name */
struct compare_row {
	const struct compare_spans *a, *b;	/* NULL: no such spans in the recording */
	enum compare_figure figure;
	struct compare_estimate estimates[2];
	struct compare_result result;
};

struct compare_job {
	const char *dirs[2];
	struct compare_side sides[2];
	struct tsct_filter filter;
	struct tsct_export pairs;	/* holds the pairs of --pair */
	const char **names;		/* wanted names; nr_names 0: all */
	__u32 nr_names;
	__u64 seed;
	bool json, all;
	struct compare_row *rows;	/* sorted by outcome, then by change, the largest first */
	__u32 nr_rows;
	__u64 comparisons;		/* number of rows that were compared */
	struct progress progress;
};

/* ---- compare_print.c ----------------------------------------------------------- */

void compare_print(const struct compare_job *job);
json_t *compare_json(const struct compare_job *job);

#endif /* COMPARE_H */
