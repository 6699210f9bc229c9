/* SPDX-License-Identifier: MIT */
/*
 * The counter's rate, remembered over restarts of the daemon, in a small text
 * file. It holds for this boot of this machine only, and as long as nothing
 * happened to the counter: another one is left alone until it is written over.
 */
#ifndef TSCTRACED_PERSIST_H
#define TSCTRACED_PERSIST_H

#include <stdbool.h>

#include "timekeeper.h"
#include "disruption.h"

#define PERSIST_DIR	"/var/lib/tsctrace"
#define PERSIST_FILE	"rate"
#define PERSIST_TEXT_MAX	1024

struct drift_file {
	char path[4096];
	char temp[4096 + 16];
	char boot[64], machine[64], cpu[128];
	int err;		/* of the last write: said once */
};

/* drift_file_open - @dir: made if it is not there. What is wrong is said. */
void drift_file_open(struct drift_file *p, const char *dir);

/*
 * drift_file_load - the rate of @source, if it was remembered on this machine,
 * since it was booted, and @signs are as they were
 *
 * Returns 0, or -ENOENT: no file, -ESTALE: another machine's or boot's, or
 * something happened to it since; -EINVAL: not such a file. Says which.
 */
int drift_file_load(struct drift_file *p, __u32 source, const struct disruption *signs,
		 struct drift *ret);

/*
 * drift_file_save - write it, whole or not at all. What fails is said once, and
 * tried again the next time. Returns 0 or -errno.
 */
int drift_file_save(struct drift_file *p, const struct disruption *signs,
		 const struct drift *what);

/* It does not hold any longer. */
void drift_file_forget(struct drift_file *p);

/* ---- persist_text.c: the text itself --------------------------------------- */

/* Bytes written to @text, without the NUL; more than @size: no room */
size_t drift_file_format(const struct drift_file *p, const struct disruption *signs,
		      const struct drift *what, char *text, size_t size);

/* As drift_file_load(); @ret_why: what is different, or wrong */
int drift_file_parse(const struct drift_file *p, const char *text, __u32 source,
		  const struct disruption *signs, struct drift *ret,
		  const char **ret_why);

#endif /* TSCTRACED_PERSIST_H */
