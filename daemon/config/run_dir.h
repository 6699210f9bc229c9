/* SPDX-License-Identifier: MIT */
/* The run-time directory */
#ifndef TSCTRACED_RUN_DIR_H
#define TSCTRACED_RUN_DIR_H

/*
 * run_dir_open - create the directory if it is missing, check that other users
 * cannot write to it, and lock it for this daemon. Logs errors. *ret_dir,
 * *ret_lock: file descriptors, to be closed by the caller.
 *
 * Returns 0 or -errno: -EBUSY: another daemon has it.
 */
int run_dir_open(const char *path, int *ret_dir, int *ret_lock);

/* The remedy for a -errno of a file in the directory, for the end of a
 * message */
const char *run_dir_fix(int err);

#endif /* TSCTRACED_RUN_DIR_H */
