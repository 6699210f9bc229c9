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

struct persist {
	char path[4096];
	char temp[4096 + 16];
	char boot[64], machine[64], cpu[128];
	int err;		/* of the last write: said once */
};

/* persist_open - @dir: made if it is not there. What is wrong is said. */
void persist_open(struct persist *p, const char *dir);

/*
 * persist_load - the rate of @source, if it was remembered on this machine,
 * since it was booted, and @signs are as they were
 *
 * Returns 0, or -ENOENT: no file, -ESTALE: another machine's or boot's, or
 * something happened to it since; -EINVAL: not such a file. Says which.
 */
int persist_load(struct persist *p, __u32 source, const struct signs *signs,
		 struct remembered *ret);

/*
 * persist_save - write it, whole or not at all. What fails is said once, and
 * tried again the next time. Returns 0 or -errno.
 */
int persist_save(struct persist *p, const struct signs *signs,
		 const struct remembered *what);

/* It does not hold any longer. */
void persist_forget(struct persist *p);

/* ---- persist_text.c: the text itself --------------------------------------- */

/* Bytes written to @text, without the NUL; more than @size: no room */
size_t persist_format(const struct persist *p, const struct signs *signs,
		      const struct remembered *what, char *text, size_t size);

/* As persist_load(); @ret_why: what is different, or wrong */
int persist_parse(const struct persist *p, const char *text, __u32 source,
		  const struct signs *signs, struct remembered *ret,
		  const char **ret_why);

#endif /* TSCTRACED_PERSIST_H */
