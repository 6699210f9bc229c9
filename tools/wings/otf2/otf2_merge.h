/* SPDX-License-Identifier: MIT */
/*
 * Merges OTF2 archives. The result has the clock of the first archive, one set
 * of definitions, and a file of events for each location. The memory needed
 * grows with the number of definitions and locations.
 */
#ifndef TSCT_OTF2_MERGE_H
#define TSCT_OTF2_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/core/port.h"
#include "tools/shared/worker.h"

/*
 * ---- times (otf2_time.c) -----------------------------------------------------
 *
 * Converts times of one archive (B) into times of another (A), in exact arithmetic:
 *
 *	new = (old - offset of B) x resolution of A / resolution of B + offset of A
 *
 * If both archives state a time of day, the time from the begin of A's clock to the begin of
 * B's clock is added. The sum is rounded once, to the nearest tick; half a tick is rounded up.
 */

/* Clock of an archive: OTF2's ClockProperties */
struct tsct_otf2_clock {
	uint64_t resolution;	/* resolution of the clock, ticks per second */
	uint64_t offset;	/* start of the clock, ticks; no event is before it */
	/* length of the clock, ticks; no event is after offset + length */
	uint64_t length;
	uint64_t real_ns; /* time of @offset, ns since the Unix epoch; NEVER: unknown */
};

#define TSCT_OTF2_NEVER	UINT64_MAX

/* Conversion from the clock of archive B to the clock of archive A */
struct tsct_otf2_scale {
	uint64_t from;		/* offset (begin) of archive B's clock, ticks of B */
	/* resolution of archive A / resolution of archive B, in lowest terms */
	uint64_t num, den;
	/* offset (begin) of archive A's clock, plus the time from the begin of
	 * A's clock to the begin of B's clock, ticks of A, rounded down */
	tsct_s128 to;
	/* fraction that was cut off when `to` was rounded down, in 10^-9 tick of archive A */
	uint32_t part;
};

/*
 * Prepares the conversion from the clock of archive B to that of archive A.
 * @real: align by the time of day, which both clocks must have; if false, both
 * clocks are assumed to begin at the same moment
 */
void tsct_otf2_scale_make(struct tsct_otf2_scale *scale,
			  const struct tsct_otf2_clock *a,
			  const struct tsct_otf2_clock *b, bool real);

/*
 * tsct_otf2_scale_time - convert a time of archive B to a time of archive A
 *
 * @old: time, ticks of B; may be before the begin of B's clock
 * Returns 0, or -ERANGE if the time in A would be below 0 or above 2^64 - 2 ticks.
 */
int tsct_otf2_scale_time(const struct tsct_otf2_scale *scale, tsct_s128 old,
			 uint64_t *ret_time);

/* Converts a duration from ticks of archive B to ticks of archive A, rounded
 * up. Returns 0, or -ERANGE if the result exceeds 64 bits. */
int tsct_otf2_scale_length(const struct tsct_otf2_scale *scale, uint64_t ticks,
			   uint64_t *ret_ticks);

/* ---- ClockOffset records ----------------------------------------------------- */

struct tsct_otf2_offset {
	uint64_t time;
	int64_t offset;
};

/*
 * ClockOffset records of a location, sorted by time. As in libotf2, the clock offset is
 * linear between two neighbouring records. The first and last of these straight lines also
 * apply to all earlier and later times. With fewer than two records, the offset is 0.
 */
struct tsct_otf2_offsets {
	struct tsct_otf2_offset *at;
	uint32_t nr;
	/* index of the segment of the last lookup; the next lookup starts there */
	uint32_t now;
};

/* Returns a location's clock offset at @time, ticks, rounded to the nearest tick (half a
 * tick: up). @time plus the offset is the corrected time. */
tsct_s128 tsct_otf2_offset_at(struct tsct_otf2_offsets *offsets, uint64_t time);

/* ---- the merge ----------------------------------------------------------------- */

/* How the times of each archive are aligned with the times of the first archive */
enum tsct_otf2_align {
	/* Aligns an archive with the first one by the time of day at which
	 * their clocks begin. If one of these two archives does not state that
	 * time, both clocks are assumed to begin at the same moment. */
	TSCT_OTF2_ALIGN_AUTO,
	/* Aligns all archives by the time of day at which their clocks begin. The merge
	 * fails if an archive does not state that time. */
	TSCT_OTF2_ALIGN_REAL,
	/* Assumes that the clocks of all archives begin at the same moment. */
	TSCT_OTF2_ALIGN_TEXT,
};

/* Results of the merge for one input */
struct tsct_otf2_merged {
	struct tsct_otf2_clock clock;
	uint64_t definitions, locations, events;
	uint64_t missing;	/* number of events that are not in the result */
	/* number of events whose time was raised to that of the preceding event */
	uint64_t held;
	/* times of the first and last event, ticks of the result; invalid without events */
	uint64_t first, last;
	bool real; /* flag: the input's times were aligned by the time of day */
	/* flag: the result lacks data of the input: part of a damaged file, a file of
	 * an undefined location, or a kind of data that cannot be merged */
	bool left_out;
};

/* Progress and result of a merge. The struct has no pointers: parent and child share it. */
struct tsct_otf2_status {
	struct worker_status work;
	struct tsct_otf2_clock clock;	/* clock of the merged archive */
	uint64_t definitions, locations;
	struct tsct_otf2_merged input[];
};

struct tsct_otf2_merge {
	const char *const *path;	/* paths of the inputs' anchor files */
	uint32_t nr;
	const char *dir;		/* path of the empty directory for the result */
	enum tsct_otf2_align align;
	/* flag: accept inputs with the same trace, and drop parts that the result cannot hold */
	bool force;
	bool salvage;	/* flag: keep the readable part of damaged files */
	struct tsct_otf2_status *status; /* progress and result, zeroed by the caller */
};

/*
 * tsct_otf2_merge - write the merged archive into m->dir
 *
 * libotf2 may crash on hostile inputs: call this in a child process if they are
 * not trusted. Returns 0, or -errno with status->work.file and status->work.why.
 */
int tsct_otf2_merge(const struct tsct_otf2_merge *m);

#endif /* TSCT_OTF2_MERGE_H */
