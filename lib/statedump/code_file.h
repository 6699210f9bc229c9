/* SPDX-License-Identifier: MIT */
/*
 * Files with code that somebody else has chosen, and maybe wrote. Functions here only read
 * such files, within limits, and map none into memory: a mapped file that its owner
 * truncates would end the process.
 */
#ifndef TSCT_CODE_FILE_H
#define TSCT_CODE_FILE_H

#include <stddef.h>

#include "lib/core/port.h"

#define TSCT_BUILD_ID_MAX	20	/* size of a build id, bytes */
#define TSCT_BUILD_ID_TEXT	(2 * TSCT_BUILD_ID_MAX + 1)

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

/* Converts a build id from text, and returns its length in bytes. */
size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX]);

/*
 * Converts a build id to text. The kernel gives 20 bytes, and pads shorter ids with zeros;
 * but the last bytes of an id may be zeros themselves. So the text ends at the last byte
 * that is not zero, or at the next usual length (8, 16 or 20 bytes) if that is less than 4
 * bytes more. Two ids that differ only in zeros at their end have the same text.
 */
void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT]);

#endif /* TSCT_CODE_FILE_H */
