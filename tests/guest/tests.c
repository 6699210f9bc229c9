// SPDX-License-Identifier: MIT
/* The program of all tests t_*.c: runs the one whose name it has. */
#include <stdio.h>
#include <string.h>

#define TEST(name) int main_##name(int argc, char **argv);
#include "tests.inc"
#undef TEST
#define TEST(name) { #name, main_##name },

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
} tests[] = {
#include "tests.inc"
};

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, name))
			return tests[i].main(argc, argv);
	printf("%s: no such test\n", name);
	return 2;
}
