// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUNCTIONS	100000

/*
 * Makes functions that call getppid(), and writes their names as perf reads them, behind
 * @lines lines about other places: 4 functions, which are called one after the other while
 * names are written, each when a line was read from the standard input; or many if there
 * are no such lines.
 */
int main(int, char **argv)
{
	static const unsigned char code[16] = { 0x55, 0x48, 0x89, 0xe5,	/* push, mov %rsp,%rbp */
		0xb8, 110, 0, 0, 0, 0x0f, 0x05,		/* getppid() */
		0x5d, 0xc3 };				/* pop, ret */
	unsigned char *all = mmap(NULL, 64 * FUNCTIONS, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i, k, lines = atoi(argv[1]);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	for (i = 0; i < lines; i++)
		fprintf(map, "%x 10 other_%d\n", 0x1000 + 16 * i, i);
	for (i = 0; i < FUNCTIONS; i++)
		memcpy(all + 64 * i, code, sizeof(code));
	for (i = 0; !lines && i < FUNCTIONS; i++)
		fprintf(map, "%lx 10 Compiled::number%d\n", (long)(all + 64 * i), i);
	fflush(map);
	for (i = 0; !lines && i < FUNCTIONS; i++) {
		((void (*)(void))(all + 64 * i))();
		if (i % 1024 == 0)
			usleep(50000);
	}
	for (i = 0; lines && i < 4; i++) {
		fprintf(map, "%lx 10 Compiled::number%d\n", (long)(all + 64 * i), i);
		fflush(map);
		for (k = 0; k < 10; k++)
			((void (*)(void))(all + 64 * i))();
		while (getchar() >= ' ')
			;
	}
	unlink(path);
	return 0;
}
