/* SPDX-License-Identifier: MIT */
/*
 * Where the clock's state goes: to the module, as long as it is loaded, and
 * into the clock file of the run-time directory. Both hold the same line.
 */
#ifndef TSCTRACED_PUBLISH_H
#define TSCTRACED_PUBLISH_H

#include "clock_file.h"
#include "module_clock.h"

struct publisher {
	struct clock_file file;
	struct module_clock module;
};

/*
 * publisher_open - take the clock file over, or make it
 * @dir: run-time directory, ours alone
 *
 * Says what is wrong. Returns 0 or -errno.
 */
int publisher_open(struct publisher *p, int dir, const char *dir_path,
		   bool use_module);
void publisher_close(struct publisher *p);

/*
 * What was published last: the file's state, or the module's, where that is in
 * a later epoch or counts something else. Both epochs are the later ones.
 */
void publisher_last(struct publisher *p, struct tsct_clock_state *ret_state);

/*
 * publisher_set - publish
 *
 * Returns 0, or, nothing having been published:
 * -ETIME	a new line is to begin in the future, and this one does no more
 * -ESTALE	the module counts other stamps or is in a later epoch, see
 *		publisher_last()
 * -EXDEV	somebody published another line in this epoch
 * -EAGAIN	the machine is about to sleep
 * -EPERM	the module is there, and will not have our state; said once
 * or, the module having it and the file not, so that the two differ from here
 * on: -ETIMEDOUT.
 */
int publisher_set(struct publisher *p, const struct tsct_clock_state *state);

#endif /* TSCTRACED_PUBLISH_H */
