/* SPDX-License-Identifier: MIT */
/*
 * The history of a node's clocks: converts a counter value, or a reading of a clock of the kernel,
 * from days ago to CLOCK_REALTIME and to the cluster's time.
 *
 * A history is a directory of files. Each file belongs to one boot and one source of the
 * counter, and consists of records of one size, each with a checksum, so a damaged file loses
 * only its damaged records. A file begins with a HEADER; groups of records follow:
 *
 *   REAL...	lines from the counter to CLOCK_REALTIME, each for a range of the counter and
 *		with an error bound. A line replaces several of the clock's segments; the
 *		line's error bound includes its distance from these segments
 *   CLUSTER...	the same for the cluster's time
 *   PAIRING	differences REALTIME - MONOTONIC and BOOTTIME - MONOTONIC, and the line from
 *		the counter to CLOCK_MONOTONIC_RAW. A PAIRING holds for the preceding lines of
 *		its epoch: both differences are constant within an epoch, because setting the
 *		clock, or a suspend, ends the epoch
 *   OPEN...	lines after the last REAL, which no sample of the clock has confirmed yet
 *   LIVE	params in force, which give the time after the last line
 *   END		the daemon ended, or records nothing from now on
 *
 * In an interval of the counter that no line covers, the time is unknown and is not interpolated:
 * the daemon did not run, or the clock was disrupted. Where a daemon continued the previous
 * daemon's epoch, the first lines also cover the time without a daemon: the new daemon's first
 * PAIRING holds only if it agrees with the previous daemon's last PAIRING, and not at all
 * if that one is lost.
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
	TSCT_HISTORY_END,
};

struct tsct_history_header {
	__u64 magic;
	__u32 version;
	__u32 record_size;	/* sizeof(struct tsct_history_record) */
	__u8 boot_id[16];
	__u32 source;		/* TSCT_SOURCE_* of all counter values in the file */
	__u32 continued;	/* 1: the first lines may be of an earlier daemon's time, so the
				 * first PAIRING has to agree with the last one before the file */
};

/* Differences and rates between the clocks, measured since the previous PAIRING of the epoch */
struct tsct_history_pairing {
	__u64 raw_before, raw_after;	/* counter before and after MONOTONIC_RAW was read */
	__s64 raw_ns;
	__u64 rate_mult;		/* rate of MONOTONIC_RAW, 2^-56 ns per cycle */
	__u64 rate_error_ppt;		/* bound of rate_mult's relative error, units of 10^-12 */
	__s64 real_min_ns, real_max_ns;	/* REALTIME - MONOTONIC */
	__s64 boot_min_ns, boot_max_ns;	/* BOOTTIME - MONOTONIC */
	/* largest error bound of CLOCK_REALTIME relative to UTC meanwhile, ns; U64_MAX: unknown */
	__u64 utc_error_ns;
	__u32 has_raw;			/* 1: raw_* and rate_* are valid */
	__u32 changed;			/* 1: a difference of two clocks changed, but by too
					 * little to end the epoch; real_* and boot_* are void */
	__u64 utc_growth_ppb;		/* growth of utc_error_ns after the PAIRING; 0: not stated;
					 * then 500000, the kernel's maximum, is used */
};

/*
 * In segments of CLUSTER, `epoch` is the number of an interval without a jump, `cause` the
 * cluster's epoch on this node, `reserved` the master's node id, and `reserved0` the
 * master's number for its timeline; the last two are 0 if the time is not that of a master.
 */
struct tsct_history_record {
	__u64 checksum;		/* checksum of all bytes after this member */
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

/* Input of tsct_history_feed() at one tick of the timekeeper */
struct tsct_history_input {
	const struct tsct_clock_copy *copy;	/* published state and segments */
	/* differences and rates measured at this tick, in the epoch of `copy`; `changed` is 0 */
	struct tsct_history_pairing pairing;
};

/* Segments of one clock that will be joined to one line */
#define TSCT_HISTORY_PARTS	64
struct tsct_history_line {
	struct tsct_clock_segment part[TSCT_HISTORY_PARTS];
	unsigned int nr;
	__u64 done;			/* end of the last segment added, cycles */
	bool has_done;
};

struct tsct_history_writer {
	/* Takes a sealed record. Returns false if it is lost, as on a full disk. */
	bool (*put)(void *ctx, const struct tsct_history_record *record);
	void *ctx;
	struct tsct_history_line real, cluster;
	struct tsct_clock_copy cluster_copy;	/* the cluster's params as segments */
	__u64 cluster_master;
	__u32 cluster_epoch, cluster_timeline;
	struct tsct_history_pairing pairing;	/* measured in pairing_epoch since the last group */
	bool has_pairing, pairing_put;	/* pairing_put: no change since `pairing` was written,
					 * which was not lost */
	bool suspect;			/* the last tick's pairing contradicts `pairing`:
					 * either the epoch ends, or `pairing` is void */
	bool changed;			/* `pairing` is void for lines before changed_cycles */
	__u64 changed_cycles;
	__u32 pairing_epoch;
	double extra;			/* number of extra lines that may be written */
	__u64 extra_cycles;		/* the counter when `extra` was computed */
};

void tsct_history_writer_init(struct tsct_history_writer *writer,
			      bool (*put)(void *ctx, const struct tsct_history_record *record),
			      void *ctx);

/*
 * tsct_history_feed - write the records that became final after the last call; call once per tick
 *
 * Returns false, without using @input, if the counter was reset or its source changed: the caller
 * then needs a new file and a new writer.
 */
bool tsct_history_feed(struct tsct_history_writer *writer,
		       const struct tsct_history_input *input);

/* Writes pending lines, OPEN, LIVE and END. @copy: as in the last call of tsct_history_feed() */
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

/* Names of the clocks, such as "realtime"; then NULL */
extern const char *const tsct_history_clock_names[TSCT_HISTORY_CLOCKS + 1];

/* Writes a boot id as 32 hexadecimal digits. */
void tsct_history_boot_text(const __u8 id[16], char text[33]);

struct tsct_history;

/* Numbers of files and damaged records found while reading a history */
struct tsct_history_found {
	unsigned int files, damaged_records, foreign_files;
	char foreign[256];	/* name of a foreign file, and the reason why it was not read */
};

/*
 * tsct_history_load - read all files of boot @boot_id in @dir
 * @why: text buffer of @size bytes; after a failure, the reason
 *
 * Reads only regular files that belong to root, this user or the owner of @dir, and that no
 * other user can write. Returns 0, -ENOENT if there is no such directory, -ENODATA if no file is
 * of that boot, or another -errno.
 */
int tsct_history_load(const char *dir, const __u8 boot_id[16], struct tsct_history **ret_history,
		      struct tsct_history_found *ret_found, char *why, size_t size);
struct tsct_history *tsct_history_new(void);
void tsct_history_free(struct tsct_history *history);

/* Adds the contents of a file. Returns 0, -ENOMEM, -EINVAL (not a history), -EPROTO
 * (another version) or -ESTALE (not of @boot_id). @boot_id: NULL if any boot is accepted */
int tsct_history_add(struct tsct_history *history, const void *bytes, size_t len,
		     const __u8 *boot_id, unsigned int *ret_damaged);

/* Adds the daemon's published clock, for the time after the last line. */
int tsct_history_add_copy(struct tsct_history *history, const struct tsct_clock_copy *copy);

/*
 * tsct_history_end - end the last params where they may no longer hold; call it once, last
 * @now: present REALTIME - MONOTONIC and BOOTTIME - MONOTONIC; NULL: the boot has ended
 *
 * The clock may have been set, or the machine suspended, while no daemon ran. If @now contradicts
 * the last pairing, that happened: the time after the clock's last sample is unknown. If the boot
 * has ended, or the last pairing is not valid, nothing shows whether it happened: the time is
 * unknown after the last sample if the daemon's END is recorded, else 64 s after the last sample,
 * because a running daemon would have recorded something by then.
 * Returns 0 or -ENOMEM.
 */
int tsct_history_end(struct tsct_history *history, const struct tsct_history_pairing *now);

/* Calls @boot with the id of each boot that has files in @dir. Returns 0 or -errno. */
int tsct_history_boots(const char *dir, void (*boot)(void *ctx, const __u8 boot_id[16]),
		       void *ctx);

/* A time that results from a conversion */
struct tsct_history_time {
	__s64 real_lo_ns, real_hi_ns;	/* CLOCK_REALTIME */
	__u64 lo_cycles, hi_cycles;	/* the counter */
	__u64 utc_error_ns;		/* REALTIME's error relative to UTC, ns; U64_MAX: unknown */
	bool has_cluster;
	__s64 cluster_lo_ns, cluster_hi_ns;
	__u64 cluster_master;
	__u32 cluster_timeline;	/* nodes with equal master and timeline have comparable times */
	__u32 epoch;
	bool extrapolated;	/* true: the time is after the last recorded sample of the clock */
};

#define TSCT_HISTORY_TIMES	8

/*
 * tsct_history_convert - get the times at which @clock had a value from @lo to @hi, inclusive
 * @lo, @hi: __u64 cycles if @clock is TSC; else __s64 ns
 * @ret_nr: number of times in @ret; more than 1 if the clock had such a value repeatedly, as
 *	CLOCK_REALTIME does when it is set back
 *
 * Returns 0, or: -ERANGE, the values are before the history; -EOVERFLOW, they are after it;
 * -ENODATA, they are in an unknown interval; -ENOENT, nothing is recorded of @clock; -E2BIG, there
 * are more than TSCT_HISTORY_TIMES times.
 */
int tsct_history_convert(struct tsct_history *history, enum tsct_history_clock clock, __u64 lo,
			 __u64 hi, struct tsct_history_time ret[TSCT_HISTORY_TIMES],
			 unsigned int *ret_nr);

/*
 * tsct_history_bends - get the values of @clock, from @lo to @hi and sorted, at which the rate of a
 *	conversion may change: between two successive values, conversions are straight lines
 * @clock: not CLUSTER_TIME
 * @lo: not negative
 * @ret: array of lib/base/array.h, which the caller must free. Returns 0 or -ENOMEM.
 */
int tsct_history_bends(struct tsct_history *history, enum tsct_history_clock clock, __s64 lo,
		       __s64 hi, __s64 **ret, __u32 *ret_nr);

#endif /* TSCT_HISTORY_H */
