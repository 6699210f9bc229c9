/* SPDX-License-Identifier: MIT */
/*
 * The clock file: the clock area as a file in the run-time directory, which programs
 * map. The daemon is the only writer of the file.
 */
#ifndef TSCTRACED_CLOCK_FILE_H
#define TSCTRACED_CLOCK_FILE_H

#include <tsctrace/abi.h>

struct clock_file {
	const char *dir_path;
	int dir;
	int fd;				/* descriptor of the clock file; -1: no file */
	struct tsct_clock_page *page;	/* mapping of the clock file; NULL: no file */
	__u64 size;			/* size of clock file and mapping, bytes */
	__u32 nr_cpus;			/* number of CPUs in the file's CPU table */
	const struct tsct_clock_cpu *cpus;	/* skews, indexed by CPU number */
	__u32 nr_known;			/* number of entries in cpus */
	int err;			/* last result of clock_file_revive() */
};

/*
 * clock_file_open - take over the clock file of an earlier daemon, or create a file
 * @dir: run-time directory, locked by this process
 *
 * A clock file of this boot with the right layout and credible figures is repaired, and
 * readers keep their mapping of it. Any other file is replaced. @dir and
 * @dir_path must remain valid until clock_file_close(). Returns 0 or -errno.
 */
int clock_file_open(struct clock_file *file, int dir, const char *dir_path);
void clock_file_close(struct clock_file *file);

/*
 * clock_file_revive - create the clock file again, for future readers, if the file was
 * removed or could not be created before. Logs a changed result.
 */
void clock_file_revive(struct clock_file *file);

/* The published state of the clock; without one: status UNKNOWN, epoch 0 */
void clock_file_last(const struct clock_file *file,
		    struct tsct_clock_state *ret_state);

/*
 * clock_file_stage - prepare the publication of @state
 * clock_file_commit - publish the staged state, with one store
 * @margin_ns: least time from the last check of the counter to the begin of new
 *	clock params; allows for a delay just before the store
 *
 * A staged state that is not committed is replaced by the next one. Without a
 * file both succeed and do nothing. Return 0; -ETIME: new clock params should
 * have begun already; -EXDEV: the state does not continue the published state.
 */
int clock_file_stage(struct clock_file *file,
		    const struct tsct_clock_state *state);
int clock_file_commit(struct clock_file *file,
		     const struct tsct_clock_state *state, __s64 margin_ns);

/*
 * clock_file_commit_late - publish a state which the module has published, but
 * for which clock_file_commit() returned -ETIME, if its clock params give now
 * nearly the same time as the params in the file. Returns 0 or -ETIME.
 */
int clock_file_commit_late(struct clock_file *file,
			  const struct tsct_clock_state *state);

/*
 * clock_file_set_cpus - write the table of the CPUs' skews
 * @cpus: skews, indexed by CPU number; must remain valid until the next call
 * @nr: number of entries in @cpus; the skews of other CPUs are unknown
 */
void clock_file_set_cpus(struct clock_file *file,
			const struct tsct_clock_cpu *cpus, __u32 nr);

/* Returns tsct_skew_span() of the table of skews in the clock file. */
__u64 clock_file_skew(const struct clock_file *file);

#endif /* TSCTRACED_CLOCK_FILE_H */
