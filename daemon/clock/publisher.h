/* SPDX-License-Identifier: MIT */
/*
 * Publisher of the clock state: into the clock file of the run-time directory and,
 * while the kernel module is loaded, to the module. File and module hold the same clock
 * params.
 */
#ifndef TSCTRACED_PUBLISHER_H
#define TSCTRACED_PUBLISHER_H

#include "clock_file.h"
#include "module_clock.h"

struct publisher {
	struct clock_file file;
	struct module_clock module;
};

/*
 * publisher_open - take over the clock file, or create it
 * @dir: descriptor of the run-time directory, which this process has locked; @dir and
 *	@dir_path must remain valid until publisher_close()
 *
 * Returns 0 or -errno, logged.
 */
int publisher_open(struct publisher *p, int dir, const char *dir_path,
		   bool use_module);
void publisher_close(struct publisher *p);

/*
 * publisher_last - the state published last: the clock file's state, or the module's
 * state if the module has a later epoch or another source. The epoch and cluster_epoch
 * in *ret_state are the highest that the file or the module has.
 */
void publisher_last(struct publisher *p, struct tsct_clock_state *ret_state);

/*
 * publisher_set - publish a state of the clock
 *
 * Returns 0, or, with nothing published:
 * -ETIME	new clock params must begin in the future, and these params no longer do
 * -ESTALE	the module uses another source or is in a later epoch; see
 *		publisher_last()
 * -EXDEV	another process published other clock params in this epoch
 * -EAGAIN	the system is about to suspend
 * -EPERM	the module rejects states of this process; logged once
 * or -ETIMEDOUT: published to the module but not to the file, so that module and file
 * differ until the next publication.
 */
int publisher_set(struct publisher *p, const struct tsct_clock_state *state);

#endif /* TSCTRACED_PUBLISHER_H */
