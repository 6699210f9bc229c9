/* SPDX-License-Identifier: MIT */
/* Protocol between a symbolizer and the processes that read symbols for the symbolizer */
#ifndef SYMBOLIZE_PROTOCOL_H
#define SYMBOLIZE_PROTOCOL_H

#include "lib/core/port.h"

/*
 * First argument with which a program starts itself as a process that reads symbols. A
 * program that uses symbolizers must first call tsct_symbolize_main() if its first
 * argument is this text. @build_id: the second argument
 */
#define TSCT_SYMBOLIZE_COMMAND	"__symbolize"
_Noreturn void tsct_symbolize_main(const char *build_id);

/* Descriptors of the process that reads symbols */
#define SYMBOLIZE_SOCKET	0
#define SYMBOLIZE_FILE_FD	3	/* file with the code; may be closed */
#define SYMBOLIZE_DEBUG_FD	4	/* file with debug information; may be closed */

/* Limits of this process: CPU time, s, and memory beyond the mapped files, bytes */
#define SYMBOLIZE_CPU_S		10
#define SYMBOLIZE_MEMORY_BYTES	(512ULL << 20)

#define SYMBOLIZE_NAME_MAX	1000	/* maximum length of a name, bytes; the rest is cut off */

/* Answer to a request. (A request is 8 bytes, the offset of an instruction.) The name is sent
 * without its NUL, and is empty if it is unknown. */
struct symbolize_answer {
	__u64 offset;		/* offset of the instruction in the file, bytes */
	__u64 from;		/* offset of the instruction from the function's start, bytes */
	char name[SYMBOLIZE_NAME_MAX + 1];
};

#endif /* SYMBOLIZE_PROTOCOL_H */
