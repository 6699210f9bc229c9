/* SPDX-License-Identifier: MIT */
/*
 * A question to the daemon that nobody waits for: a recorder has rings to empty,
 * whether it is answered or not.
 */
#ifndef ASKING_H
#define ASKING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/core/port.h"

struct asking {
	char request[64];	/* "": nothing is asked */
	int fd;			/* -1: no connection yet */
	__s64 until_ns;		/* CLOCK_MONOTONIC */
	char *text;		/* of the answer so far */
	size_t used, size;
};

/* Where the daemon is asked. */
const char *asking_path(void);

/* What was asked before is given up. An answer takes no longer than that. */
void asking_begin(struct asking *asking, const char *request, __s64 limit_ns);

/* 1: answered, with a NUL behind it; 0: not yet; or -errno. Never blocks. */
int asking_step(struct asking *asking);

/* All zero is fine. */
void asking_end(struct asking *asking);

static inline bool asking_is(const struct asking *asking)
{
	return asking->request[0];
}

#endif /* ASKING_H */
