/* SPDX-License-Identifier: MIT */
/*
 * Names of compiled code, from the files that runtime systems of languages write for perf:
 * /tmp/perf-PID.map, with a line "BEGIN SIZE NAME" for each function, in hexadecimal. The
 * files are hostile: memory is limited, and so is the part of the time that is spent on
 * reading them. Not thread-safe.
 */
#ifndef TSCT_PERF_MAP_H
#define TSCT_PERF_MAP_H

#include "lib/core/port.h"

#define TSCT_PERF_MAP_NAME	256	/* longer names are cut off */

struct tsct_perf_maps;

/* Returns NULL if out of memory. */
struct tsct_perf_maps *tsct_perf_maps_new(void);
void tsct_perf_maps_free(struct tsct_perf_maps *maps);

/*
 * tsct_perf_maps_find - find the function at an address
 * @tgid: number of the process in /proc. Its file is in its own root directory, and named
 *	by its number in its own pid namespace.
 * @now_ns: the present time, CLOCK_MONOTONIC
 * @ret_offset: bytes from the function's begin
 *
 * Returns the name, valid until the next call, or NULL: unknown. The file is read on if it
 * has changed and the address is unknown, unless files were read just before.
 */
const char *tsct_perf_maps_find(struct tsct_perf_maps *maps, __u32 tgid, __u64 address,
				__s64 now_ns, __u64 *ret_offset);

#endif /* TSCT_PERF_MAP_H */
