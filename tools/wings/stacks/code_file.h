/* SPDX-License-Identifier: MIT */
/*
 * Files with code that somebody else has chosen, and maybe wrote. Functions here only read
 * such files, within limits, and map none into memory: a mapped file that its owner
 * truncates would end the process.
 */
#ifndef TSCT_CODE_FILE_H
#define TSCT_CODE_FILE_H

#include "lib/statedump/statedump.h"

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

#endif /* TSCT_CODE_FILE_H */
