// SPDX-License-Identifier: MIT
#include <sys/syscall.h>
int main(void)
{
	long i, ret;

	for (i = 0; i < 40; i++)
		__asm__ volatile("push %%rbp; xor %%ebp, %%ebp; syscall; pop %%rbp" : "=a"(ret) :
				 "a"(SYS_getppid) : "rcx", "r11", "memory");
	return 0;
}
