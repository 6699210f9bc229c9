// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#define FUNCTION __attribute__((noinline, noclone, noipa))
volatile long sink;
FUNCTION void leaf_call(void)
{
	long ret;
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	sink += ret;
}
FUNCTION void middle_call(void) { leaf_call(); sink++; }
FUNCTION void outer_call(void) { middle_call(); sink++; }

/* Each number has a stack of its own: an odd or an even call for each bit */
void even_call(unsigned int n, unsigned int bits);
FUNCTION void odd_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}
FUNCTION void even_call(unsigned int n, unsigned int bits)
{
	if (!bits)
		leaf_call();
	else if (n & 1)
		odd_call(n >> 1, bits - 1);
	else
		even_call(n >> 1, bits - 1);
	sink++;
}

int main(int argc, char **argv)
{
	int i, n = argc > 1 ? atoi(argv[1]) : 1, bits = argc > 2 ? atoi(argv[2]) : 0;

	for (i = 0; bits && i < 1 << bits; i++) {
		odd_call(i, bits);
		if (argc > 3 && i % 1024 == 0)
			usleep(1000 * atoi(argv[3]));
	}
	for (i = 0; !bits && (i < n || n < 0); i++) {
		outer_call();
		if (n < 0)
			usleep(1000);
	}
	return 0;
}
