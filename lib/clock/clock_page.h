/* SPDX-License-Identifier: MIT */
/* Mapping of a published clock area, after checks that it can be trusted */
#ifndef TSCT_CLOCK_PAGE_H
#define TSCT_CLOCK_PAGE_H

#include <stddef.h>
#include <tsctrace/abi.h>

#include "lib/client/runtime_paths.h"

#define TSCT_CLOCK_FILE		"clock"

struct tsct_clock_area {
	const struct tsct_clock_page *page;
	size_t size;			/* number of bytes mapped */
	__u32 nr_cpus;			/* entries of the area's table of CPUs */
};

/*
 * tsct_clock_area_map_file - map the daemon's clock file
 * @dir: path of the daemon's run-time directory
 * @why: on failure, the reason as text that begins with the file's path
 *
 * The file must be a regular file of the right size, made in this boot, with credible
 * values. Only its owner may have write permission: root, this user, or the owner of
 * @dir if only root can write to the directory above. Another writer could truncate the
 * file, and reading a mapping beyond the end of its file raises SIGBUS; the daemon
 * replaces its file and never truncates it.
 *
 * Returns 0; -ENOENT: no such file; -EAGAIN: no valid time is published; -ESTALE:
 * the area is of another boot; -EINVAL: not a clock area; -EACCES: not readable, or its
 * owner is not trusted; or another -errno.
 */
int tsct_clock_area_map_file(const char *dir, struct tsct_clock_area *ret_area,
			char *why, size_t size);
void tsct_clock_area_unmap(const struct tsct_clock_area *area);

#endif /* TSCT_CLOCK_PAGE_H */
