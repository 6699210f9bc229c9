/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, from the symbol tables of ELF files: .symtab and .dynsym, also
 * compressed in .gnu_debugdata, and those of separate files of debug information below
 * /usr/lib/debug. Files are identified by their build ids; nothing is loaded from a
 * network. A process without rights reads each file, as its owner may be hostile: it runs
 * this program again, with the argument TSCT_SYMBOLIZE_COMMAND. Not thread-safe.
 */
#ifndef TSCT_SYMBOLIZE_H
#define TSCT_SYMBOLIZE_H

#include "code_file.h"

struct tsct_symbolizer;

/*
 * tsct_symbolizer_new - make a symbolizer
 * @warn: called, with @arg, for a file whose symbols could not be read: it was changed
 *	meanwhile, is damaged, or takes too much memory or time; may be NULL
 *
 * Returns NULL if out of memory.
 */
struct tsct_symbolizer *tsct_symbolizer_new(void (*warn)(void *arg, const char *sentence),
					    void *arg);
void tsct_symbolizer_free(struct tsct_symbolizer *symbolizer);

/*
 * tsct_symbolizer_find - find the function at a place of a file
 * @fd: the file; -1: it is opened by its path
 * @path: of the file; if it is not there any more, or is another one, only the debug
 *	information of the build id is used
 * @build_id: in hexadecimal; "": the file has none
 * @offset: offset of the instruction in the file, bytes
 * @ret_offset: bytes from the function's begin
 *
 * Returns the name, demangled, or NULL: unknown. It is valid until the next call. Finding
 * the places of a file one after the other is fastest: few processes are kept.
 */
const char *tsct_symbolizer_find(struct tsct_symbolizer *symbolizer, int fd,
				 const char *path, const char *build_id, __u64 offset,
				 __u64 *ret_offset);

/*
 * Argument by which a program runs itself as a process that reads symbols. A program with
 * symbolizers calls tsct_symbolize_main() first of all if it is its first argument.
 * @build_id: the second argument
 */
#define TSCT_SYMBOLIZE_COMMAND	"symbolize-file"
_Noreturn void tsct_symbolize_main(const char *build_id);

/* ---- protocol between a symbolizer and these processes -------------------- */

/* Descriptors of the process */
#define SYMBOLIZE_SOCKET	0
#define SYMBOLIZE_FILE_FD	3	/* closed: there is no such file */
#define SYMBOLIZE_DEBUG_FD	4	/* file of debug information; or closed */

/* Limits of the process: time of a CPU, and memory beyond the mapped files */
#define SYMBOLIZE_CPU_S		10
#define SYMBOLIZE_MEMORY_BYTES	(512ULL << 20)

#define SYMBOLIZE_NAME_MAX	1000	/* longer names are cut off */

/* Answer to an offset: 8 bytes. The name is sent without a NUL; empty: unknown */
struct symbolize_answer {
	__u64 offset;		/* of the instruction in the file, bytes */
	__u64 from;		/* bytes from the function's begin */
	char name[SYMBOLIZE_NAME_MAX + 1];
};

#endif /* TSCT_SYMBOLIZE_H */
