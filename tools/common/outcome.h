/* SPDX-License-Identifier: MIT */
/*
 * Where a result goes: under a temporary name beside it, which begins with a
 * dot, until it is whole. A half one never has the name that was asked for.
 */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdbool.h>
#include <stdio.h>

struct outcome {
	const char *verb;
	char *name;		/* what it shall be called */
	char *temporary;	/* NULL: it is written to directly */
	bool directory;
	FILE *file;		/* if it is none */
};

/*
 * outcome_open - begin
 * @name: "-": standard output
 * Files are replaced; a directory must not be there, or be empty. Devices and
 * pipes are written to directly. Complains as @verb. 0 or -errno.
 */
int outcome_open(struct outcome *o, const char *verb, const char *name,
		 bool directory);

/* What is whole gets its name. Complains on failure, and drops it. */
int outcome_commit(struct outcome *o);

/* Nothing remains. */
void outcome_drop(struct outcome *o);

/* What to do about it, for a message */
const char *outcome_fix(int err);

/*
 * outcome_complain - of a result that did not come to be
 * @what: which, or what stood in its way; @why: what is wrong, "": what @err says
 */
void outcome_complain(const char *verb, const char *what, const char *why, int err);

/*
 * outcome_watch - from now on an interrupt is told by outcome_interrupted(), so that
 * nothing half is left. A limit on files is an error like a full disk, not our end.
 */
void outcome_watch(bool to_stdout);
bool outcome_interrupted(void);

#endif /* OUTCOME_H */
