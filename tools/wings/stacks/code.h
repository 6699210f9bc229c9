/* SPDX-License-Identifier: MIT */
/* Code of programs: files that have it, and names of what was compiled at run time */
#ifndef TSCT_STACKS_CODE_H
#define TSCT_STACKS_CODE_H

#include "lib/core/port.h"
#include "lib/statedump/statedump.h"

/* ---- files with code: code_file.c ---------------------------------------------------- */

/*
 * Somebody else has chosen these files, and maybe wrote them. Functions here only read
 * such files, within limits, and map none into memory: a mapped file that its owner
 * truncates would end the process.
 */

/*
 * tsct_code_file_open - open a regular file
 * @root: directory in which its path and symbolic links are resolved; -1: "/"
 *
 * Opens no device and no FIFO, as that alone has effects. Returns a descriptor to read, or
 * -1.
 */
int tsct_code_file_open(int root, const char *path);

/* Reads the build id of a file, as the kernel does: from its program headers. Returns its
 * length in bytes, 0: none, or -errno: no ELF file of this byte order, or not readable. */
int tsct_build_id_read(int fd, __u8 build_id[TSCT_BUILD_ID_MAX]);


/* ---- names of compiled code: perf_map.c ------------------------------------------------ */

/*
 * They come from the files that runtime systems of languages write for perf:
 * /tmp/perf-PID.map, with a line "BEGIN SIZE NAME" for each function, in hexadecimal. The
 * files are hostile: memory is limited, and so is the part of the time that is spent on
 * reading them. Not thread-safe.
 */

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


#endif /* TSCT_STACKS_CODE_H */
