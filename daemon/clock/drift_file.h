/* SPDX-License-Identifier: MIT */
/*
 * The drift file: the counter's rate, saved over restarts of the daemon in a small text
 * file. The rate is valid for this boot of this machine only, and only until the
 * counter is disrupted. An invalid drift file is ignored until the daemon overwrites
 * it.
 */
#ifndef TSCTRACED_DRIFT_FILE_H
#define TSCTRACED_DRIFT_FILE_H

#include <stdbool.h>

#include "timekeeper.h"
#include "disruption.h"

#define DRIFT_FILE_DIR		"/var/lib/tsctrace"
#define DRIFT_FILE_NAME		"rate"
#define DRIFT_FILE_TEXT_MAX	1024

struct drift_file {
	char path[4096];
	char boot[64], machine[64], cpu[128];	/* identity of this machine */
	int err;		/* error of the file's last write; logged once */
};

/*
 * drift_file_open - prepare to read and write the drift file in the directory @dir,
 * which is created if missing. A failure to create it is logged.
 */
void drift_file_open(struct drift_file *file, const char *dir);

/*
 * drift_file_load - read the saved rate of the counter @source, if the rate was saved
 * on this machine since the last boot, with the same disruption indicators as @now
 *
 * Returns 0; -ENOENT: no file; -ESTALE: the file is from another machine or boot, or
 * from before a disruption; -EINVAL: malformed; -EACCES: not readable, or writable for
 * other users. All errors but -ENOENT are logged.
 */
int drift_file_load(struct drift_file *file, __u32 source,
		    const struct disruption *now, struct drift *ret);

/* Writes the drift file atomically. Returns 0 or -errno; each error is logged once. */
int drift_file_save(struct drift_file *file, const struct disruption *now,
		    const struct drift *drift);

/* Removes the drift file, because the counter's rate has changed. */
void drift_file_forget(struct drift_file *file);

/*
 * drift_file_format - compose the text of the drift file
 *
 * Returns the text's length without the NUL; @size or more: the text did not fit.
 */
size_t drift_file_format(const struct drift_file *file,
			 const struct disruption *now, const struct drift *drift,
			 char *text, size_t size);

/*
 * drift_file_parse - read the rate from the text of a drift file
 * @ret_why: reason for an error, as a clause of a message
 *
 * Returns 0, -ESTALE or -EINVAL as drift_file_load().
 */
int drift_file_parse(const struct drift_file *file, const char *text,
		     __u32 source, const struct disruption *now,
		     struct drift *ret, const char **ret_why);

#endif /* TSCTRACED_DRIFT_FILE_H */
