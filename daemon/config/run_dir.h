/* SPDX-License-Identifier: MIT */
#ifndef TSCTRACED_RUNDIR_H
#define TSCTRACED_RUNDIR_H

/*
 * run_dir_open - make the directory if it is not there, see that nobody else
 * can put things into it, and lock it for this daemon. Says what is wrong.
 *
 * Returns 0 or -errno: -EBUSY: another daemon has it.
 */
int run_dir_open(const char *path, int *ret_dir, int *ret_lock);

/* What to do about a -errno of something in there, for the end of a sentence. */
const char *run_dir_fix(int err);

#endif /* TSCTRACED_RUNDIR_H */
