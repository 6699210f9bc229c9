/* SPDX-License-Identifier: MIT */
/* Between a symbolizer and the processes that read symbols for it */
#ifndef SYMBOLIZE_PROTOCOL_H
#define SYMBOLIZE_PROTOCOL_H

#include "lib/core/port.h"

/*
 * Argument by which a program runs itself as a process that reads symbols. A program with
 * symbolizers calls tsct_symbolize_main() first of all if it is its first argument.
 * @build_id: the second argument
 */
#define TSCT_SYMBOLIZE_COMMAND	"__symbolize"
_Noreturn void tsct_symbolize_main(const char *build_id);

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
	__u64 from;		/* bytes from the function's start */
	char name[SYMBOLIZE_NAME_MAX + 1];
};

#endif /* SYMBOLIZE_PROTOCOL_H */
