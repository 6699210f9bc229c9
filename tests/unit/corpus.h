/* SPDX-License-Identifier: MIT */
/*
 * Replays the inputs that a fuzzer has found (tests/fuzz): each file of CORPUS
 * unchanged, and CHANGED random ones with some bytes changed. A failed check aborts.
 * The file that includes this one defines LLVMFuzzerTestOneInput(), INPUT_SIZE and
 * CHANGED.
 */
#ifndef TESTS_CORPUS_H
#define TESTS_CORPUS_H

#include <dirent.h>

#include "seed.h"
#include "suite.h"

#define INPUTS_MAX	2000

static struct {
	size_t size;
	uint8_t *bytes;
} inputs[INPUTS_MAX];
static unsigned int nr;

static void read_input(const char *name)
{
	static uint8_t bytes[INPUT_SIZE];
	char path[4096];
	FILE *from;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	from = fopen(path, "r");
	ck_assert_msg(from, "%s", path);
	size = fread(bytes, 1, sizeof(bytes), from);
	fclose(from);
	ck_assert_uint_lt(nr, INPUTS_MAX);
	inputs[nr].size = size;
	inputs[nr].bytes = malloc(size + 1);
	memcpy(inputs[nr++].bytes, bytes, size);
}

static void read_corpus(void)
{
	DIR *folder = opendir(CORPUS);
	struct dirent *entry;

	ck_assert_msg(folder, "%s", CORPUS);
	while ((entry = readdir(folder)))
		if (strstr(entry->d_name, ".bin"))
			read_input(entry->d_name);
	closedir(folder);
	/* With an empty corpus, the test would check nothing. */
	ck_assert_uint_ge(nr, 50);
}

static void free_corpus(void)
{
	while (nr)
		free(inputs[--nr].bytes);
}

TEST(corpus)
{
	read_corpus();
	for (unsigned int i = 0; i < nr; i++)
		LLVMFuzzerTestOneInput(inputs[i].bytes, inputs[i].size);
	printf("# %u inputs\n", nr);
	free_corpus();
}

/* Changes bits or the length of an input, or appends the end of another input to it. */
static size_t change(const uint8_t *bytes, size_t size, uint8_t *changed)
{
	unsigned int other = any(nr), i;
	size_t at = any((unsigned int)size + 1);

	memcpy(changed, bytes, size);
	if (!any(4) && inputs[other].size > at) {
		memcpy(changed + at, inputs[other].bytes + at,
		       inputs[other].size - at);
		size = inputs[other].size;
	}
	for (i = any(4); i && size; i--)
		changed[any((unsigned int)size)] ^= (uint8_t)(1 << any(8));
	return any(8) ? size : at;
}

TEST(changed_corpus)
{
	static uint8_t changed[INPUT_SIZE];
	int left = unit_repeats(CHANGED);
	unsigned int which;

	read_corpus();
	while (left--) {
		which = any(nr);
		LLVMFuzzerTestOneInput(changed, change(inputs[which].bytes,
						       inputs[which].size,
						       changed));
	}
	free_corpus();
}

#endif /* TESTS_CORPUS_H */
