// SPDX-License-Identifier: MIT
/* The system calls' names, from the header this was built with. */
#include "recording.h"

static const char *const names[] = {
#include "syscalls.inc"
};

const char *tsct_syscall_name(__s64 number)
{
	if (number < 0 || number >= (__s64)tsct_syscall_limit())
		return NULL;
	return names[number];
}

unsigned int tsct_syscall_limit(void)
{
	return sizeof(names) / sizeof(names[0]);
}
