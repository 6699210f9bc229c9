/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, from the symbol tables of ELF files: .symtab and .dynsym, also
 * compressed in .gnu_debugdata, and those of separate files of debug information below
 * /usr/lib/debug. Files are identified by their build ids; nothing is loaded from a
 * network. Not thread-safe.
 */
#ifndef TSCT_SYMBOLIZE_H
#define TSCT_SYMBOLIZE_H

#include <stddef.h>

#include "lib/core/port.h"

#define TSCT_BUILD_ID_MAX	20	/* size of a build id, bytes */
#define TSCT_BUILD_ID_TEXT	(2 * TSCT_BUILD_ID_MAX + 1)

struct tsct_symbolizer;

/* Returns NULL if out of memory. */
struct tsct_symbolizer *tsct_symbolizer_new(void);
void tsct_symbolizer_free(struct tsct_symbolizer *symbolizer);

/*
 * tsct_symbolizer_find - find the function at a place of a file
 * @path: the file; if it is not there any more, or is another one, only the debug
 *	information of the build id is used
 * @build_id: in hexadecimal; "": the file has none
 * @offset: offset of the instruction in the file, bytes
 * @ret_offset: bytes from the function's begin
 *
 * Returns the name, demangled, or NULL: unknown. It is valid as long as the symbolizer.
 */
const char *tsct_symbolizer_find(struct tsct_symbolizer *symbolizer, const char *path,
				 const char *build_id, __u64 offset, __u64 *ret_offset);

/*
 * tsct_code_file_open - open a regular file whose path somebody else has chosen
 * @root: directory in which its path and symbolic links are resolved; -1: "/"
 *
 * Opens no device and no FIFO, as that alone has effects. Returns a descriptor to read, or
 * -1.
 */
int tsct_code_file_open(int root, const char *path);

/* Reads the build id of a file. Returns its length in bytes, 0: none, or -errno: no ELF
 * file, or not readable. */
int tsct_build_id_read(int fd, __u8 build_id[TSCT_BUILD_ID_MAX]);

/* Converts a build id from text, and returns its length in bytes; and to text. */
size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX]);
void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT]);

#endif /* TSCT_SYMBOLIZE_H */
