/* SPDX-License-Identifier: MIT */
/*
 * trace-ctl align: makes an archive of other tools' traces that Perfetto shows on one timeline,
 * with bounds on the error of their times.
 *
 * The times of a trace are values of a clock of its node. The node's history of clocks converts
 * these values to the timeline: CLOCK_REALTIME if there is only one node, UTC, or the cluster's
 * time. Perfetto relates two clocks by snapshots of both, and assumes equal rates from one
 * snapshot to the next. So the archive has a file clocks/NODE.pftrace per node, with as many
 * snapshots as the drift requires, and a counter track of their error bounds. In these files
 * the timeline is Perfetto's REALTIME, which Perfetto assumes to be equal on all machines, and
 * the node's CLOCK_REALTIME is REALTIME_COARSE. The manifest states the machine of each file,
 * and the file's clock if Perfetto would assume another clock.
 */
#ifndef ALIGN_H
#define ALIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/text.h"
#include "lib/history/history.h"

/* ---- ranges: align_range.c ------------------------------------------------ */

/* Ranges of times with events: at most ALIGN_RANGES. There are no events between ranges. */
#define ALIGN_RANGES	64
struct align_range {
	__s64 lo, hi;
};
struct align_ranges {
	struct align_range *all;	/* the ranges, sorted */
	__u32 nr;
	__s64 apart;			/* ranges closer than this are joined, ns */
};

/* Adds the range from @lo to @hi. Returns 0 or -ENOMEM. */
int align_ranges_add(struct align_ranges *ranges, __s64 lo, __s64 hi);

/* ---- nodes and their clocks: align_clock.c -------------------------------- */

enum align_timeline { ALIGN_REALTIME, ALIGN_UTC, ALIGN_CLUSTER, ALIGN_AUTO };

/* Relates a clock to the timeline with slope 1, from @value up to the @value of the next point */
struct align_point {
	__s64 value, time;	/* value of the clock, time on the timeline; ns */
	__u64 bound_ns;		/* error bound of the time up to the next point */
};

struct align_series {
	struct align_ranges ranges;	/* values of the clock at which any trace has events */
	struct align_point *points;
	__u32 nr;
	bool is_cycles;			/* values are cycles of the counter, not ns */
};

struct align_node {
	struct align_node *next;
	__u32 number;
	char *name;
	const char *dir;		/* state directory of its daemon; NULL: this host's */
	__u8 boot[16];
	bool has_boot;			/* false: use the present boot, or the only one of `dir` */
	bool used;			/* the archive has traces of this node */
	int state;			/* history: 0: not opened; 1: open; -1: opening failed */
	struct tsct_history *history;
	struct align_series series[TSCT_HISTORY_CLOCKS];
};

struct align_time {
	__s64 ns;
	__u64 error_ns;
};

/* The timeline; ALIGN_CLUSTER: that of the first master and timeline number that were found */
struct align_axis {
	enum align_timeline kind;
	bool has_cluster;
	__u64 master;
	__u32 timeline;
};

/*
 * Converts @value of @clock to the timeline. Returns 0 or an error of tsct_history_convert();
 * -EDOM: the difference to UTC is unknown; -ENOTUNIQ: the clock had this value several times;
 * -EXDEV: the node had no cluster time, or the time of another cluster.
 */
int align_convert(struct align_node *node, enum tsct_history_clock clock, __s64 value,
		  struct align_axis *axis, struct align_time *ret);

/* Checks that all values of a range can be converted. Adds the points to @series, unless @series is
 * NULL. Returns 0 or an error of align_convert(), with the value that failed in *ret_at. */
int align_walk(struct align_node *node, enum tsct_history_clock clock,
	       const struct align_range *range, struct align_axis *axis,
	       struct align_series *series, __s64 *ret_at);

/* Makes all points of a node for its ranges. Makes at least one point of CLOCK_BOOTTIME, to
 * which Perfetto relates each file in Perfetto's own format. Returns 0 or -ENOMEM. */
int align_make_points(struct align_node *node, struct align_axis *axis);

/* Returns the largest error bound of the points that Perfetto uses in a range. */
__u64 align_bound(const struct align_series *series, const struct align_range *range);

/* Returns, as a clause, why align_convert() failed and what the user can do. */
const char *align_reason(int err);

/* ---- traces: align_input.c, align_scan*.c, align_made.c ------------------- */

#define ALIGN_TIME_MAX	(INT64_MAX / 4)		/* largest valid time, ns: in 2043 */

enum align_kind {
	ALIGN_PERFETTO, ALIGN_PERF_SCRIPT, ALIGN_FTRACE, ALIGN_JSON, ALIGN_FUCHSIA, ALIGN_JOURNAL,
	ALIGN_PERF_DATA,	/* perf script converts these files to ALIGN_PERF_SCRIPT */
};
extern const char *const align_kind_names[], *const align_clock_names[],
	*const align_timelines[];

#define NS_PER_S		1000000000LL
#define ALIGN_UNNAMED	TSCT_HISTORY_CLOCKS	/* an unknown clock */

struct align_input {
	const char *path;
	const char *node_name;		/* NODE of the argument FILE@NODE; NULL: not given */
	struct align_node *node;	/* NULL: events of several nodes, on a cluster's timeline */
	enum align_kind kind;
	enum tsct_history_clock clock;	/* clock of all times of the trace, or ALIGN_UNNAMED */
	__u8 boot[16];			/* boot id that the trace states */
	bool has_boot;
	FILE *made;			/* file for the archive; NULL: the file `path` */
	bool clock_given;
	__u64 size, dev, ino;
	struct timespec mtim;
	struct align_ranges ranges;	/* times of the events, values of the clock */
	__s64 offset_ns;		/* value of the clock minus the number in the file */
	__u64 resolution_ns;		/* resolution of the file's times in Perfetto, ns */
	__u64 rounding_ns;		/* part of resolution_ns: Perfetto's rounding */
	__u64 skew_ns;			/* largest error of the trace's own clock
					 * snapshots or of Perfetto's conversion */
	bool ours;			/* the trace is an export of trace-ctl */
	bool several_nodes;		/* the trace is an export of a merged recording */
	__u64 recorded_ns;		/* if `ours`: error bound of the times; U64_MAX: unknown */
	__u64 nodes_ns;			/* if `ours`: error bound of the times
					 * relative to the cluster's time */
	bool on_cluster;		/* the trace's times are on a cluster's timeline */
	__u64 master;
	__u32 timeline;
	bool has_snapshots;		/* the file contains clock snapshots of Perfetto */
	__u64 unrelated;		/* number of times that Perfetto drops,
					 * because no snapshot has their clock */
	bool left_out;
	__u64 bound_ns;
	char member[100];		/* name in the archive */
	char machine[256];
};

/* Reads a trace: its kind, its clock, its times. If in->node is NULL, the node is not
 * known yet. Returns 0, or -EINVAL after printing an error with the file's name. */
int align_scan(struct align_input *in);

/* Parts of align_scan(), which read @file from its beginning. Return 0, or
 * -EINVAL after printing an error. The last two set in->made. */
int align_scan_proto(struct align_input *in, FILE *file);
int align_scan_journal(struct align_input *in, FILE *file);
int align_make_perf(struct align_input *in);

/* Makes a copy of a text, in which times of the timeline, minus in->offset_ns,
 * replace cycles. Returns 0, or -EINVAL after printing an error. */
int align_make_times(struct align_input *in, struct align_axis *axis);

/* Parses a decimal number, such as "123.456", in units of @unit_ns. Sets *ret_digits to the number
 * of digits after the point. Returns the end of the number; NULL: not a number, or too large */
char *align_parse_decimal(const char *at, __s64 unit_ns, __s64 *ret_ns, int *ret_digits);

/* Finds the time of an event in a line: the first word such as "123.456789:" (if @cycles, "123:")
 * that comes after a word in brackets or, if @need_cpu is false, anywhere. Returns the word, and
 * its end in *ret_end. */
char *align_find_time(char *line, bool need_cpu, bool cycles, __s64 *ret, int *ret_digits,
		      char **ret_end);

/* Opens a file, which must not have changed since align_scan(). Returns a descriptor, or -EINVAL
 * after printing an error. */
int align_open(const struct align_input *in);

/* Sets the timeline in @in from the text in an export of trace-ctl: "NUMBER of master ID". */
void align_take_timeline(struct align_input *in, const char *text);

/* Prints an error of a trace, and returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int align_refuse(const struct align_input *in, const char *format, ...);

/* Adds a time of the trace. Returns 0, or -EINVAL after printing an error. */
int align_add_time(struct align_input *in, __s64 ns);

/* Widens the ranges by the error with which Perfetto reads the events' times. */
void align_widen(struct align_input *in, __u64 error_ns);

/* ---- Perfetto's format: align_made.c --------------------------------------- */

/* Append a field to @to. The last function also empties @message. */
void align_put_number(struct tsct_text *to, __u32 field, __u64 value);
void align_put_text(struct tsct_text *to, __u32 field, const char *text, size_t len);
void align_put_message(struct tsct_text *to, __u32 field, struct tsct_text *message);

/* ---- the archive: align_archive.c ----------------------------------------- */

struct align_archive {
	struct align_node *nodes;
	__u32 nr_nodes;
	struct align_input *inputs;
	__u32 nr_inputs;
	struct align_axis axis;
};

/* Loop over the traces that were not left out */
#define align_for_each(in, archive)						\
	for ((in) = (archive)->inputs; (in) < (archive)->inputs + (archive)->nr_inputs; (in)++)	\
		if ((in)->left_out) { } else

/* Writes the archive @path. On failure, removes it, prints an error and returns -EIO. */
int align_archive_write(const struct align_archive *archive, const char *path);

/* Sets the name in the archive, and the machine, of each trace. */
void align_archive_names(struct align_archive *archive);

#endif /* ALIGN_H */
