/* SPDX-License-Identifier: MIT */
/* The clock area as a file of the run-time directory, which programs map. */
#ifndef TSCTRACED_CLOCKFILE_H
#define TSCTRACED_CLOCKFILE_H

#include <tsctrace/abi.h>

struct clock_file {
	const char *dir_path;
	int dir;
	int fd;				/* -1: there is none */
	struct tsct_clock_page *page;	/* mapped; NULL: there is none */
	__u64 size;
	__u32 nr_cpus;
	const struct tsct_clock_cpu *cpus;	/* as set last; the caller's */
	__u32 nr_known;
	int err;			/* of the last try to revive it */
};

/*
 * clock_file_open - take a predecessor's file over, or make one
 * @dir: run-time directory, ours alone
 *
 * A file that is this boot's, has the right layout and holds what can be true
 * is repaired, and its readers stay with us. Any other one is replaced.
 * Returns 0 or -errno.
 */
int clock_file_open(struct clock_file *file, int dir, const char *dir_path);
void clock_file_close(struct clock_file *file);

/*
 * clock_file_revive - if somebody removed the file, or there was no room for
 * it, make it again, for those who come now
 */
void clock_file_revive(struct clock_file *file);

/* What is published in it; nothing: UNKNOWN, epoch 0. */
void clock_file_last(const struct clock_file *file,
		    struct tsct_clock_state *ret_state);

/*
 * clock_file_stage - make everything ready for @state
 * clock_file_commit - publish it, with one store
 * @margin_ns: between a last look at the counter and a new line's beginning,
 *	for that we may be held up just before the store
 *
 * Stage may be done over. Return 0; -ETIME: it is too late, the line should
 * have begun; -EXDEV: the state does not go on where the published one is.
 */
int clock_file_stage(struct clock_file *file,
		    const struct tsct_clock_state *state);
int clock_file_commit(struct clock_file *file,
		     const struct tsct_clock_state *state, __s64 margin_ns);

/*
 * clock_file_commit_late - what clock_file_commit() found to be late, and the
 * module has taken: 0 if it makes no difference to the file's readers, else
 * -ETIME.
 */
int clock_file_commit_late(struct clock_file *file,
			  const struct tsct_clock_state *state);

/*
 * Writes the CPUs' skews; those beyond @nr are not known. @cpus stays valid
 * until the next call.
 */
void clock_file_set_cpus(struct clock_file *file,
			const struct tsct_clock_cpu *cpus, __u32 nr);

#endif /* TSCTRACED_CLOCKFILE_H */
