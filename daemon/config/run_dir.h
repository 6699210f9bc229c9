/* SPDX-License-Identifier: MIT */
/* The run-time directory of clock file, sockets and lock */
#ifndef TSCTRACED_RUN_DIR_H
#define TSCTRACED_RUN_DIR_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * run_dir_open - create the run-time directory if it is missing, check that other users
 * cannot write to the directory (see run_dir_trusts()), and lock it for this daemon
 * @ret_dir, @ret_lock: descriptors of directory and lock file, to be closed by the
 *	caller
 *
 * Returns 0 or -errno, logged. -EBUSY: another daemon uses the directory.
 */
int run_dir_open(const char *path, int *ret_dir, int *ret_lock);

/* Returns true if files of user @uid are trusted: @uid is root, the user of this process,
 * or, if this process is root, the user that a package creates for the daemon. */
bool run_dir_trusts(uid_t uid);

/* Returns advice to the user, for the end of a message about a file in
 * the run-time directory. @err: error of the file, -errno */
const char *run_dir_fix(int err);

#endif /* TSCTRACED_RUN_DIR_H */
