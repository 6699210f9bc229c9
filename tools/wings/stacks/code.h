/* SPDX-License-Identifier: MIT */
/* Code of programs: files that contain code, and names of functions compiled at run time */
#ifndef TSCT_STACKS_CODE_H
#define TSCT_STACKS_CODE_H

#include "lib/export/stacks.h"
#include "lib/statedump/statedump.h"

/* ---- files with code: code_file.c ---------------------------------------------------- */

/*
 * These files are not trusted: traced programs choose them, and may have written them.
 * The functions here only read the files, within limits. They do not map files, because
 * truncation of a mapped file by its owner would end this process.
 */

/*
 * tsct_code_file_open - open a regular file
 * @root: directory in which the path and its symbolic links are resolved; -1: "/"
 *
 * Does not open devices and FIFOs, because this has side effects. Returns a descriptor to read
 * from, or -1.
 */
int tsct_code_file_open(int root, const char *path);

/* Reads the build id from a file's program headers, as the kernel does. @text: "" if there is none.
 * Returns false if the file is unreadable, or no ELF file of this byte order. */
bool tsct_build_id_read(int fd, char text[TSCT_BUILD_ID_TEXT]);

/* ---- names of compiled code: perf_map.c ------------------------------------------------ */

/*
 * Runtime systems of languages write these names for perf into files /tmp/perf-PID.map,
 * with a line "BEGIN SIZE NAME" for each function; the numbers are hexadecimal. The
 * files are not trusted: the memory used for them, and the share of time spent reading
 * them, are limited. Not thread-safe.
 */

#define TSCT_PERF_MAP_NAME	256 /* size of a name with its NUL, bytes; longer names are cut */

struct tsct_perf_maps;

/* Returns an empty set of files, or NULL if out of memory. */
struct tsct_perf_maps *tsct_perf_maps_new(void);
void tsct_perf_maps_free(struct tsct_perf_maps *maps);

/*
 * tsct_perf_maps_find - find the function at an address
 * @tgid: process ID in /proc. The file is in the process's root directory; its name has the
 *	process ID in the process's own pid namespace.
 * @now_ns: the current time, CLOCK_MONOTONIC
 * @ret_offset: offset of the address from the function's start, bytes
 *
 * Returns the name, valid until the next call, or NULL if unknown. If the address is unknown
 * and the file has changed, reads the file's new part, unless files were read just before.
 */
const char *tsct_perf_maps_find(struct tsct_perf_maps *maps, __u32 tgid, __u64 address,
				__s64 now_ns, __u64 *ret_offset);

#endif /* TSCT_STACKS_CODE_H */
