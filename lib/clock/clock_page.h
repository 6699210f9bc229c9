/* SPDX-License-Identifier: MIT */
/* Finding a clock page that can be believed. */
#ifndef TSCT_CLOCKPAGE_H
#define TSCT_CLOCKPAGE_H

#include <stddef.h>
#include <tsctrace/abi.h>

#include "lib/client/runtime_paths.h"

#define TSCT_CLOCK_FILE		"clock"

/* An area that was found to be one, mapped read-only */
struct tsct_clock_area {
	const struct tsct_clock_page *page;
	size_t size;			/* bytes that are mapped */
	__u32 nr_cpus;			/* entries behind cpus_offset */
};

/*
 * tsct_clock_area_map_module, tsct_clock_area_map_file - map a clock area
 * @dir: where the daemon's file is
 * @why: a clause that names what is wrong, on failure
 *
 * The file must be a regular one of the right size, of this boot, written by
 * nobody but its owner: root, this user, or who owns @dir, if that stands in a
 * directory that only root may change. The figures must be possible ones.
 * Returns 0, or -errno: -ENOENT: no such provider, -EAGAIN: nothing is
 * published, -ESTALE: another boot's, -EINVAL: no clock area, -EACCES: whoever
 * owns it is not to be trusted.
 *
 * Whoever may write the file may also cut it off under our feet, and reading
 * beyond its end is SIGBUS; which is why not everybody's are taken, and why the
 * daemon never truncates one but puts another in its place.
 */
int tsct_clock_area_map_module(struct tsct_clock_area *ret_area, char *why,
			  size_t size);
int tsct_clock_area_map_file(const char *dir, struct tsct_clock_area *ret_area,
			char *why, size_t size);
void tsct_clock_area_unmap(const struct tsct_clock_area *area);

#endif /* TSCT_CLOCKPAGE_H */
