// SPDX-License-Identifier: MIT
/* Functions whose names mean several places, or none. Compiled twice into one program, so that
 * it has two functions with the name `helper`. */
#include <string.h>
#include <unistd.h>
#define ONCE __attribute__((weak, noinline))

static __attribute__((noinline)) void helper(void)
{
	__asm__ volatile("");
}

static __attribute__((constructor)) void call_helper(void)
{
	for (int i = 0; i < 3; i++)
		helper();
}

ONCE void plain(void)
{
	__asm__ volatile("");
}

ONCE void made(void) __asm__("made.constprop.0");
void made(void)
{
	plain();
}

static __attribute__((used)) void (*resolve(void))(void)
{
	return plain;
}

/* The compiler makes no weak IFUNC. */
__asm__(".weak chosen\n.type chosen, @gnu_indirect_function\n.set chosen, resolve");
__attribute__((weak)) long number;
__attribute__((weak)) void *(*volatile copy)(void *to, const void *from, size_t len) = memcpy;
__attribute__((weak)) size_t (*volatile length)(const char *text) = strlen;

/* Calls plain() 5 times; with an argument, for each byte of standard input. */
ONCE int main(int argc, char **)
{
	char text[8] = "text", other[8];

	while (argc == 1 || read(0, other, 1) > 0) {
		for (int i = 0; i < 5; i++)
			plain();
		if (argc == 1)
			break;
	}
	for (int i = 0; argc == 1 && i < 100; i++)
		copy(other, text, length(text));
	return 0;
}
