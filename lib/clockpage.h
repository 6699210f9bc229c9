/* SPDX-License-Identifier: MIT */
/* Finding a clock page that can be believed. */
#ifndef TSCT_CLOCKPAGE_H
#define TSCT_CLOCKPAGE_H

#include <stddef.h>
#include <tsctrace/abi.h>

/* Where daemon, library and tools meet: $TSCTRACE_RUN_DIR, else this. */
#define TSCT_RUN_DIR		"/run/tsctrace"
#define TSCT_CLOCK_FILE		"clock"
#define TSCT_SOCKET_FILE	"tsctraced.sock"

/* Older than this, a state is in holdover whatever it says of itself. */
#define TSCT_HOLDOVER_NS	5000000000LL

/* The directory, from the environment unless that is not to be trusted */
const char *tsct_run_dir(void);

/*
 * tsct_clockpage_module, tsct_clockpage_file - map a page read-only
 * @dir: where the daemon's file is
 * @why: a clause that names what is wrong, on failure
 *
 * The file must be a regular one of the right size, of root or of this user,
 * written by nobody else, and of this boot. Returns 0, or -errno: -ENOENT: no
 * such provider, -EAGAIN: nothing is published, -ESTALE: another boot's,
 * -EINVAL: no clock page, -EACCES: whoever owns it is not to be trusted.
 */
int tsct_clockpage_module(const struct tsct_clock_page **ret_page, char *why,
			  size_t size);
int tsct_clockpage_file(const char *dir, const struct tsct_clock_page **ret_page,
			char *why, size_t size);
void tsct_clockpage_unmap(const struct tsct_clock_page *page);

/* Is an open clock file fit to be mapped? Results as above, nothing said. */
int tsct_clockpage_fd_check(int fd);

#endif /* TSCT_CLOCKPAGE_H */
