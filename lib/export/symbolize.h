/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, from the symbol tables of ELF files: .symtab, .dynsym, the
 * compressed .gnu_debugdata, and the tables in separate debug files below
 * /usr/lib/debug. Files are identified by their build ids; nothing is loaded from a
 * network. A process without rights reads each file, because the file may be hostile.
 * Defined in tools/wings/stacks. Not thread-safe.
 */
#ifndef TSCT_SYMBOLIZE_H
#define TSCT_SYMBOLIZE_H

#include "lib/base/wing.h"
#include "lib/core/port.h"

struct tsct_symbolizer;

/*
 * tsct_symbolizer_new - make a symbolizer
 * @warn: called, with @arg, for a file whose symbols could not be read because the file
 *	was changed meanwhile, is damaged, or takes too much memory or time; may be NULL
 *
 * Returns NULL if out of memory.
 */
TSCT_WING struct tsct_symbolizer *
tsct_symbolizer_new(void (*warn)(void *arg, const char *sentence), void *arg);
TSCT_WING void tsct_symbolizer_free(struct tsct_symbolizer *symbolizer);

/*
 * tsct_symbolizer_find - find the function at a place of a file
 * @fd: the open file; -1: open the file at @path
 * @path: path of the file. If this file is missing or has another build id, only the
 *	debug file with @build_id is used
 * @build_id: the file's build id in hexadecimal; "": the file has no build id
 * @offset: offset of the instruction in the file, bytes
 * @ret_offset: offset of the instruction from the function's start, bytes
 *
 * Returns the demangled name, valid until the next call, or NULL: unknown. It is fastest
 * to look up the places of one file one after the other, because few processes are kept.
 */
TSCT_WING const char *
tsct_symbolizer_find(struct tsct_symbolizer *symbolizer, int fd, const char *path,
		     const char *build_id, __u64 offset, __u64 *ret_offset);

#endif /* TSCT_SYMBOLIZE_H */
