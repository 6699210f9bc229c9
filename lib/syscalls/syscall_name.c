// SPDX-License-Identifier: MIT
/* Names of system calls: the only file of this folder that is also in libtsctrace.so */
#include "lib/ctf/recording.h"

static const char *const syscall_names[] = {
#define SYSCALL(number, name, result, args)	[number] = #name,
#include "syscall_list.h"
#undef SYSCALL
};

const char *tsct_syscall_name(__s64 number)
{
	if (number < 0 || number >= (__s64)tsct_syscall_limit())
		return NULL;
	return syscall_names[number];
}

unsigned int tsct_syscall_limit(void)
{
	return sizeof(syscall_names) / sizeof(syscall_names[0]);
}
