/* SPDX-License-Identifier: MIT */
/*
 * The history of a node's clocks: what a counter value, or a reading of one of the kernel's
 * clocks, was in CLOCK_REALTIME and in the cluster's time, days ago.
 *
 * A history is a directory of files. Each file belongs to one boot and one source of the
 * counter, and consists of records of one size, each with a checksum, so a file that was cut
 * or damaged anywhere loses those records and no others. A file begins with a HEADER; then
 * come groups of records:
 *
 *   REAL...	lines from the counter to CLOCK_REALTIME, each for a range of the counter, with
 *		the bound of its error there. A line replaces several of the clock's
 *		segments; its bound includes its distance from them
 *   CLUSTER...	the same for the cluster's time
 *   PAIRING	CLOCK_REALTIME and CLOCK_BOOTTIME against CLOCK_MONOTONIC, and
 *		CLOCK_MONOTONIC_RAW against the counter. It holds for all lines before it of
 *		its epoch: REALTIME - MONOTONIC and BOOTTIME - MONOTONIC are constants of an
 *		epoch, which ends with each setting of the clock and each suspend, and
 *		MONOTONIC_RAW is a straight line of the counter
 *   OPEN...	lines after the last REAL that no sample of the clock has confirmed yet
 *   LIVE	params in force: what is known about the time after the last line
 *
 * An interval of the counter that no line covers is unknown: the daemon did not run, or the
 * clock was disrupted. Nothing is interpolated there. Where a daemon continued the epoch of the
 * previous one, its first lines span the time between both: its first PAIRING holds only if it
 * agrees with the previous daemon's last.
 *
 * Bytes are in the machine's order. Pure, except for tsct_history_load().
 */
#ifndef TSCT_HISTORY_H
#define TSCT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <tsctrace/abi.h>

#define TSCT_HISTORY_DIR	"history"	/* below the daemon's state directory */
#define TSCT_HISTORY_MAGIC	0x747369686c6b6374ULL	/* "tcklhist" */
#define TSCT_HISTORY_VERSION	1
#define TSCT_HISTORY_DAY_BYTES	4000000		/* limit of a directory's size per day */

enum tsct_history_kind {
	TSCT_HISTORY_HEADER = 1,
	TSCT_HISTORY_REAL,
	TSCT_HISTORY_CLUSTER,
	TSCT_HISTORY_PAIRING,
	TSCT_HISTORY_OPEN,
	TSCT_HISTORY_LIVE,
};

struct tsct_history_header {
	__u64 magic;
	__u32 version;
	__u32 record_size;	/* sizeof(struct tsct_history_record) */
	__u8 boot_id[16];
	__u32 source;		/* TSCT_SOURCE_* of all counter values in the file */
	__u32 reserved0;
};

/* The clocks against each other, as measured from the last PAIRING of the epoch to this one. */
struct tsct_history_pairing {
	__u64 raw_before, raw_after;	/* counter before and after MONOTONIC_RAW was read */
	__s64 raw_ns;
	__u64 rate_mult;		/* rate of MONOTONIC_RAW, 2^-56 ns per cycle */
	__u64 rate_error_ppt;		/* bound of its relative error, 10^-12 */
	__s64 real_min_ns, real_max_ns;	/* REALTIME - MONOTONIC */
	__s64 boot_min_ns, boot_max_ns;	/* BOOTTIME - MONOTONIC */
	/* largest bound of CLOCK_REALTIME's error to UTC meanwhile, ns; U64_MAX: unknown */
	__u64 utc_error_ns;
	__u32 has_raw;			/* 1: raw_* and rate_* are valid */
	__u32 changed;			/* 1: a difference of two clocks changed in the epoch by
					 * too little to be detected; real_* and boot_* are void */
};

/*
 * In segments of CLUSTER, `epoch` numbers the intervals without a jump, `cause` is the
 * cluster's epoch on this node, `reserved` the node id of the master, and `reserved0` the number
 * that the master gave to its timeline; 0: the time is not that of a master.
 */
struct tsct_history_record {
	__u64 checksum;		/* of all bytes behind it */
	__u16 kind;		/* enum tsct_history_kind */
	__u16 status;		/* LIVE: TSCT_STATUS_* of the params */
	__u32 epoch;		/* the clock's epoch, also in PAIRING and LIVE */
	union {
		struct tsct_history_header header;
		struct tsct_clock_segment segment;
		struct tsct_history_pairing pairing;
		/* struct tsct_clock_params without its reserved fields */
		__u64 params[13];
	};
};

/* Sets kind, epoch and checksum; the rest of *record is set already. */
void tsct_history_seal(struct tsct_history_record *record, unsigned int kind, __u32 epoch);
/* Returns true if the checksum is right. */
bool tsct_history_valid(const struct tsct_history_record *record);

/* ---- writing: history_write.c --------------------------------------------- */

/* Input of one tick of the timekeeper */
struct tsct_history_input {
	const struct tsct_clock_copy *copy;	/* published state and segments */
	/* measured in this epoch, at this tick: a pairing of one moment, `changed` 0 */
	struct tsct_history_pairing pairing;
};

/* Segments of one clock that become one line */
#define TSCT_HISTORY_PARTS	64
struct tsct_history_line {
	struct tsct_clock_segment part[TSCT_HISTORY_PARTS];
	unsigned int nr;
	__u64 done;			/* the counter up to which segments were taken */
	bool has_done;
};

struct tsct_history_writer {
	/* Takes a sealed record. */
	void (*put)(void *ctx, const struct tsct_history_record *record);
	void *ctx;
	struct tsct_history_line real, cluster;
	struct tsct_clock_copy cluster_copy;	/* the cluster's params as segments */
	__u64 cluster_master;
	__u32 cluster_epoch, cluster_timeline;
	struct tsct_history_pairing pairing;	/* in pairing_epoch, since the last group */
	bool has_pairing, pairing_put;	/* pairing_put: nothing was measured since it was written */
	bool suspect;			/* the last tick's pairing contradicts `pairing`: the epoch ends,
					 * or the pairing is void */
	bool changed;			/* the pairing is void for lines before changed_cycles */
	__u64 changed_cycles;
	__u32 pairing_epoch;
	double extra;			/* number of further lines that may be written early */
	__u64 extra_cycles;		/* the counter when `extra` was computed */
};

void tsct_history_writer_init(struct tsct_history_writer *writer,
			      void (*put)(void *ctx, const struct tsct_history_record *record),
			      void *ctx);

/*
 * tsct_history_feed - write what is final since the last call; call it after each tick
 *
 * Returns false, with nothing taken: the counter was reset or its source changed, so a new
 * file and a new writer are needed.
 */
bool tsct_history_feed(struct tsct_history_writer *writer,
		       const struct tsct_history_input *input);

/* Writes what is pending, and the open end. @copy: as in the last call of feed */
void tsct_history_flush(struct tsct_history_writer *writer, const struct tsct_clock_copy *copy);

/* ---- reading: history_read.c ---------------------------------------------- */

enum tsct_history_clock {
	TSCT_HISTORY_REALTIME,
	TSCT_HISTORY_MONOTONIC,
	TSCT_HISTORY_MONOTONIC_RAW,
	TSCT_HISTORY_BOOTTIME,
	TSCT_HISTORY_TSC,
	TSCT_HISTORY_CLUSTER_TIME,
	TSCT_HISTORY_CLOCKS,
};

/* "realtime", "monotonic", ...: names of the clocks, and NULL */
extern const char *const tsct_history_clock_names[TSCT_HISTORY_CLOCKS + 1];

/* Writes a boot id as 32 hexadecimal digits. */
void tsct_history_boot_text(const __u8 id[16], char text[33]);

struct tsct_history;

/* Numbers of files and damaged records found while reading a history */
struct tsct_history_found {
	unsigned int files, damaged_records, foreign_files;
	char foreign[256];	/* name of a foreign file, and why it was not read */
};

/*
 * tsct_history_load - read all files of boot @boot_id in @dir
 * @why: receives the reason of a failure, as a clause
 *
 * Reads only regular files that belong to root, this user or the owner of @dir, and that no
 * other user can write. Returns 0; -ENOENT: no such directory; -ENODATA: no file of that
 * boot; or another -errno.
 */
int tsct_history_load(const char *dir, const __u8 boot_id[16], struct tsct_history **ret_history,
		      struct tsct_history_found *ret_found, char *why, size_t size);
struct tsct_history *tsct_history_new(void);
void tsct_history_free(struct tsct_history *history);

/* Adds a file's bytes. Returns 0, -EINVAL: no history, -EPROTO: another version, -ESTALE:
 * another boot, -ENOMEM. @boot_id: NULL: any boot */
int tsct_history_add(struct tsct_history *history, const void *bytes, size_t len,
		     const __u8 *boot_id, unsigned int *ret_damaged);

/* Adds the daemon's published clock, for the time after the last line. */
int tsct_history_add_copy(struct tsct_history *history, const struct tsct_clock_copy *copy);

/* Calls @boot for each boot in @dir with its 16 bytes. Returns 0 or -errno. */
int tsct_history_boots(const char *dir, void (*boot)(void *ctx, const __u8 boot_id[16]),
		       void *ctx);

/* A time that results from a conversion */
struct tsct_history_time {
	__s64 real_lo_ns, real_hi_ns;	/* CLOCK_REALTIME */
	__u64 lo_cycles, hi_cycles;	/* the counter */
	__u64 utc_error_ns;		/* CLOCK_REALTIME to UTC; U64_MAX: unknown */
	bool has_cluster;
	__s64 cluster_lo_ns, cluster_hi_ns;
	__u64 cluster_master;
	__u32 cluster_timeline;	/* times are comparable between nodes of one master and timeline */
	__u32 epoch;
	bool extrapolated;	/* after the last recorded sample of the clock */
};

#define TSCT_HISTORY_TIMES	8

/*
 * tsct_history_convert - the times at which @clock had a value from @lo to @hi, inclusive
 * @clock: values of TSC are __u64, others __s64, ns
 * @ret_nr: number of times; more than one: the clock had the value that often, as
 *	CLOCK_REALTIME has after it was set back
 *
 * Returns 0; -ERANGE: before all that is recorded; -EOVERFLOW: after it; -ENODATA: in an
 * interval about which nothing is known; -ENOENT: nothing is recorded of that clock; -E2BIG: there
 * are more times than the TSCT_HISTORY_TIMES in @ret.
 */
int tsct_history_convert(struct tsct_history *history, enum tsct_history_clock clock, __u64 lo,
			 __u64 hi, struct tsct_history_time ret[TSCT_HISTORY_TIMES],
			 unsigned int *ret_nr);

/*
 * tsct_history_bends - the values of @clock, sorted, between which conversions are straight
 * @clock: not CLUSTER_TIME
 * @lo: not negative
 * @ret: an array of lib/base/array.h, for the caller to free
 *
 * Examines the values from @lo to @hi. Returns 0 or -ENOMEM.
 */
int tsct_history_bends(struct tsct_history *history, enum tsct_history_clock clock, __s64 lo,
		       __s64 hi, __s64 **ret, __u32 *ret_nr);

#endif /* TSCT_HISTORY_H */
