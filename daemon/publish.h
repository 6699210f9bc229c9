/* SPDX-License-Identifier: MIT */
/*
 * Where the clock's state goes: into the clock file of the run-time directory
 * and, as long as it is loaded, to the module.
 *
 * The device is opened for each publication and closed behind it. An open
 * descriptor pins the module: so rmmod works with the daemon running, but for
 * the few microseconds of a publication, and a module that is loaded later is
 * found by the next one.
 */
#ifndef TSCTRACED_PUBLISH_H
#define TSCTRACED_PUBLISH_H

#include <stdbool.h>
#include <tsctrace/abi.h>

struct publisher {
	const char *dir_path;
	int dir;
	int file;
	struct tsct_clock_page *page;	/* the file, mapped */
	bool use_module;
	int module;			/* last result; 0: it has our state */
	int module_lock;		/* held: other daemons leave it alone */
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
 * a later epoch or counts something else. The epoch is the later one.
 */
void publisher_last(struct publisher *p, struct tsct_clock_state *ret_state);

/*
 * publisher_set - publish
 *
 * Returns 0; -ESTALE: the module counts other stamps or is in a later epoch,
 * see publisher_last(): nothing was published; -EPERM: the module is there, and
 * will not have our state. Says so once.
 */
int publisher_set(struct publisher *p, const struct tsct_clock_state *state);

#endif /* TSCTRACED_PUBLISH_H */
