// SPDX-License-Identifier: MIT
/* Replaces lib/syscalls/syscall_name.c in `make CORE=1`: system calls have no names. */
#include "recording.h"

const char *tsct_syscall_name(__s64 number)
{
	(void)number;
	return NULL;
}
