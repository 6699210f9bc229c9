/* SPDX-License-Identifier: MIT */
/*
 * trace-ctl align: makes an archive of other tools' traces that Perfetto shows on one timeline,
 * with bounds on the error of their times.
 *
 * The times of a trace are of a clock of its node. The node's history of clocks converts that clock
 * to the timeline: CLOCK_REALTIME of the only node, UTC, or the cluster's time. Perfetto relates
 * two clocks by snapshots of both, and assumes equal rates from one snapshot to the next. So the
 * archive has a file clocks/NODE.pftrace per node, with as many snapshots as the drift needs, and
 * the error bound of each as a counter track. In these files the timeline is Perfetto's REALTIME,
 * which Perfetto takes for equal on all machines, and the node's CLOCK_REALTIME is REALTIME_COARSE.
 * The manifest states the machine of each file, and its clock where Perfetto would assume another.
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

/* Times at which a trace has events: at most ALIGN_RANGES ranges, with no event between them */
#define ALIGN_RANGES	64
struct align_range {
	__s64 lo, hi;
};
struct align_ranges {
	struct align_range *all;	/* sorted */
	__u32 nr;
	__s64 apart;			/* events closer than this are in one range, ns */
};

/* Adds the range from @lo to @hi. Returns 0 or -ENOMEM. */
int align_ranges_add(struct align_ranges *ranges, __s64 lo, __s64 hi);

/* ---- nodes and their clocks: align_clock.c -------------------------------- */

enum align_timeline { ALIGN_REALTIME, ALIGN_UTC, ALIGN_CLUSTER, ALIGN_AUTO };

/* A relation of slope 1, valid from @value to that of the next point */
struct align_point {
	__s64 value, time;	/* value of the clock, time on the timeline; ns */
	__u64 bound_ns;		/* error bound of the time up to the next point */
};

struct align_series {
	struct align_ranges ranges;	/* values of the clock at which traces have events */
	struct align_point *points;
	__u32 nr;
	bool is_cycles;			/* values are cycles of the counter, not ns */
};

struct align_node {
	struct align_node *next;
	__u32 number;
	char *name;
	const char *dir;		/* NULL: the daemon's */
	__u8 boot[16];
	bool has_boot;			/* false: the present boot, or the only one of dir */
	bool used;			/* the archive has traces of this node */
	int state;			/* 0: not opened; 1: open; -1: it could not be opened */
	struct tsct_history *history;
	struct align_series series[TSCT_HISTORY_CLOCKS];
};

struct align_time {
	__s64 ns;
	__u64 error_ns;
};

/* The timeline. The cluster's is that of the first master and timeline number found. */
struct align_axis {
	enum align_timeline kind;
	bool has_cluster;
	__u64 master;
	__u32 timeline;
};

/*
 * Converts @value of @clock. Returns 0 or an error of tsct_history_convert(); -EDOM: the distance
 * to UTC is unknown; -ENOTUNIQ: the clock had the value several times; -EXDEV: the node had no
 * cluster time, or another cluster's.
 */
int align_convert(struct align_node *node, enum tsct_history_clock clock, __s64 value,
		  struct align_axis *axis, struct align_time *ret);

/*
 * Checks that all values of a range can be converted. @series: NULL, or receives the points.
 * Returns 0 or an error of align_convert(), with the value in *ret_at.
 */
int align_walk(struct align_node *node, enum tsct_history_clock clock,
	       const struct align_range *range, struct align_axis *axis,
	       struct align_series *series, __s64 *ret_at);

/*
 * Makes all points of a node for its ranges, and at least one of CLOCK_BOOTTIME, to which Perfetto
 * relates each file in its own format. Returns 0 or -ENOMEM.
 */
int align_make_points(struct align_node *node, struct align_axis *axis);

/* Returns the largest error bound of the points that are used in a range. */
__u64 align_bound(const struct align_series *series, const struct align_range *range);

/* Returns why align_convert() failed, and what to do, as a clause. */
const char *align_reason(int err);

/* ---- traces: align_input.c, align_scan*.c, align_made.c ------------------- */

#define ALIGN_TIME_MAX	(INT64_MAX / 4)		/* ns: until 2043 */

enum align_kind {
	ALIGN_PERFETTO, ALIGN_PERF_SCRIPT, ALIGN_FTRACE, ALIGN_JSON, ALIGN_FUCHSIA, ALIGN_JOURNAL,
	ALIGN_PERF_DATA,	/* becomes ALIGN_PERF_SCRIPT */
};
extern const char *const align_kind_names[], *const align_clock_names[],
	*const align_timelines[];

#define NS_PER_S		1000000000LL
#define ALIGN_UNNAMED	TSCT_HISTORY_CLOCKS	/* an unknown clock */

struct align_input {
	const char *path;
	const char *node_name;		/* NULL: not given */
	struct align_node *node;	/* NULL: events of several nodes, on a cluster's timeline */
	enum align_kind kind;
	enum tsct_history_clock clock;	/* clock of all times of the trace, or ALIGN_UNNAMED */
	__u8 boot[16];			/* that the trace states */
	bool has_boot;
	FILE *made;			/* its contents in the archive; NULL: those of the file */
	bool clock_given;
	__u64 size, dev, ino;
	struct timespec mtim;
	struct align_ranges ranges;	/* values of the clock */
	__s64 offset_ns;		/* value of the clock minus the number in the file */
	__u64 resolution_ns;		/* of the numbers in the file, as Perfetto reads them */
	__u64 rounding_ns;
	__u64 skew_ns;			/* how far its own snapshots contradict the node's clocks */
	bool ours;			/* an export of trace-ctl */
	bool several_nodes;		/* the events are of a merged recording */
	__u64 recorded_ns;		/* ours: error bound of its times; U64_MAX: unknown */
	__u64 nodes_ns;			/* the same against a cluster's timeline */
	bool on_cluster;		/* its times are on a cluster's timeline */
	__u64 master;
	__u32 timeline;
	bool has_snapshots;		/* the file contains clock snapshots of Perfetto */
	__u64 unrelated;		/* times of clocks in no snapshot, which Perfetto drops */
	bool left_out;
	__u64 bound_ns;
	char member[100];		/* name in the archive */
	char machine[256];
};

/*
 * Reads a trace: its kind, its clock, its times. in->node: NULL: not known yet. Returns 0;
 * otherwise prints an error with the file's name, and returns -EINVAL.
 */
int align_scan(struct align_input *in);

/* The parts of align_scan(). @file: at its beginning. Return 0, or -EINVAL after printing an error.
 * The last two set in->made. */
int align_scan_proto(struct align_input *in, FILE *file);
int align_scan_journal(struct align_input *in, FILE *file);
int align_make_perf(struct align_input *in);

/* Makes a text with times of the timeline, minus in->offset_ns, in place of cycles. Returns 0, or
 * -EINVAL after printing an error. */
int align_make_times(struct align_input *in, struct align_axis *axis);

/*
 * Parses a decimal number, "123.456", in units of @unit_ns. Returns the end; NULL: not a number,
 * or too large. *ret_digits: number of digits after the point
 */
char *align_parse_decimal(const char *at, __s64 unit_ns, __s64 *ret_ns, int *ret_digits);

/*
 * Finds the time of an event: the first word "123.456789:", with @cycles "123:", after a word in
 * brackets or, in perf's text without CPUs, the first such word. Returns it, and its end.
 */
char *align_find_time(char *line, bool need_cpu, bool cycles, __s64 *ret, int *ret_digits,
		      char **ret_end);

/* Opens a file, which must not have changed since align_scan(). Returns a descriptor, or -EINVAL
 * after printing an error. */
int align_open(const struct align_input *in);

/* Parses the timeline that our exports state, "NUMBER of master ID", into @in. */
void align_take_timeline(struct align_input *in, const char *text);

/* Prints an error of a trace, and returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int align_refuse(const struct align_input *in, const char *format, ...);

/* Adds a time of the trace. Returns 0, or -EINVAL after printing an error. */
int align_add_time(struct align_input *in, __s64 ns);

/* Widens the ranges by the error with which Perfetto reads the events' times. */
void align_widen(struct align_input *in, __u64 error_ns);

/* ---- Perfetto's format: align_made.c --------------------------------------- */

/* Add a field. Then @message is empty. */
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

/* Loop over the traces that are not left out */
#define align_for_each(in, archive)						\
	for ((in) = (archive)->inputs; (in) < (archive)->inputs + (archive)->nr_inputs; (in)++)	\
		if ((in)->left_out) { } else

/* Writes the archive @path, whole or not at all. Returns 0, or -EIO after printing an error. */
int align_archive_write(const struct align_archive *archive, const char *path);

/* Gives each trace its name in the archive, and its machine. */
void align_archive_names(struct align_archive *archive);

#endif /* ALIGN_H */
