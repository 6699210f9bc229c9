// SPDX-License-Identifier: MIT
/*
 * storm TURNS - pass a function, a USDT probe and system calls, and write blocks
 *
 * Waits for a byte on its standard input before and after, and writes one when done: so
 * tracers are attached while nothing happens.
 */
#include "helper.h"

#define BLOCK	4096

/* Not static: tracers need the symbol. */
int work(int n);

__attribute__((noinline)) int work(int n)
{
	asm volatile("" : : : "memory");
	return n;
}

/* A USDT probe storm:pass with the argument @i, a signed integer of 4 bytes */
static inline void pass(int i)
{
	asm volatile("990:	nop\n"
		     ".pushsection .note.stapsdt, \"\", \"note\"\n"
		     ".balign 4\n"
		     ".4byte 992f - 991f, 994f - 993f, 3\n"
		     "991:	.asciz \"stapsdt\"\n"
		     "992:	.balign 4\n"
		     "993:	.8byte 990b, _.stapsdt.base, 0\n"
		     ".asciz \"storm\"\n.asciz \"pass\"\n.asciz \"-4@%0\"\n"
		     "994:	.balign 4\n"
		     ".popsection\n"
		     ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
		     ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"
		     "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"
		     ".popsection" : : "r"(i));
}

int main(int argc, char **argv)
{
	const int turns = argc > 1 ? atoi(argv[1]) : 1000;
	const int fd = open("blocks", O_RDWR | O_CREAT | O_DIRECT, 0600);
	char *block = aligned_alloc(BLOCK, BLOCK), byte;

	if (!block || read(0, &byte, 1) != 1)
		return 1;
	memset(block, 1, BLOCK);
	for (int i = 0; i < turns; i++) {
		work(i);
		pass(i);
		syscall(SYS_getppid);
		if (i % 4 == 0)
			close(-1);
		if (i % 1000 == 0 && fd >= 0 && pwrite(fd, block, BLOCK, 0) != BLOCK)
			return 1;
		if (i % 50 == 0)
			usleep(1);
	}
	return write(1, "x", 1) != 1 || read(0, &byte, 1) != 1;
}
