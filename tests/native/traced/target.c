// SPDX-License-Identifier: MIT
#include <stdio.h>
/* Text on a page that the program does not read */
static const char cold[8192] __attribute__((aligned(4096))) = "cold text";
__attribute__((noinline)) int work(int n, const char *what)
{
	asm volatile("" : : "r"(what) : "memory");
	return 3 * n;
}
int main(void)
{
	int i, sum = 0;

	for (i = 0; i < 1000; i++)
		sum += work(i, cold);
	printf("%d\n", sum);
	return 0;
}
