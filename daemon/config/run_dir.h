/* SPDX-License-Identifier: MIT */
/* The run-time directory of clock file, sockets and lock */
#ifndef TSCTRACED_RUN_DIR_H
#define TSCTRACED_RUN_DIR_H

/*
 * run_dir_open - create the directory if it is missing, check that other users
 * cannot write to it, and lock it for this daemon
 * @ret_dir, @ret_lock: file descriptors, to be closed by the caller
 *
 * Returns 0 or -errno, logged. -EBUSY: another daemon uses it.
 */
int run_dir_open(const char *path, int *ret_dir, int *ret_lock);

/* Advice for the end of a message, after @err (-errno) of a file in the directory */
const char *run_dir_fix(int err);

#endif /* TSCTRACED_RUN_DIR_H */
