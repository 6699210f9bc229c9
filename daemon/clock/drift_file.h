/* SPDX-License-Identifier: MIT */
/*
 * The drift file: the counter's rate, saved over restarts of the daemon in a
 * small text file. It is valid for this boot of this machine only, and only
 * until the counter is disrupted. An invalid file is ignored until it is
 * overwritten.
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
	char temp[4096 + 16];
	char boot[64], machine[64], cpu[128];	/* this machine's identity */
	int err;		/* error of the last write; logged once */
};

/*
 * drift_file_open - prepare to read and write the file in @dir, which is created
 * if it does not exist. A failure to create it is logged.
 */
void drift_file_open(struct drift_file *file, const char *dir);

/*
 * drift_file_load - the saved rate of @source, if it was saved on this machine
 * since the last boot, and with the same indicators as @now
 *
 * Returns 0; -ENOENT: no file; -ESTALE: of another machine or boot, or from
 * before a disruption; -EINVAL: malformed; -EACCES: not readable, or writable
 * for other users. All errors but -ENOENT are logged.
 */
int drift_file_load(struct drift_file *file, __u32 source,
		    const struct disruption *now, struct drift *ret);

/* Writes the file atomically. Returns 0 or -errno; each error is logged once. */
int drift_file_save(struct drift_file *file, const struct disruption *now,
		    const struct drift *drift);

/* Removes the file, because the rate has changed. */
void drift_file_forget(struct drift_file *file);

/*
 * drift_file_format - compose the file's text
 *
 * Returns its length without the NUL; @size or more: it did not fit.
 */
size_t drift_file_format(const struct drift_file *file,
			 const struct disruption *now, const struct drift *drift,
			 char *text, size_t size);

/*
 * drift_file_parse - the rate in a file's text
 * @ret_why: reason for an error, a clause
 *
 * Returns 0, -ESTALE or -EINVAL as drift_file_load().
 */
int drift_file_parse(const struct drift_file *file, const char *text,
		     __u32 source, const struct disruption *now,
		     struct drift *ret, const char **ret_why);

#endif /* TSCTRACED_DRIFT_FILE_H */
