// SPDX-License-Identifier: MIT
/* test-wing: stacks */
/* Names of compiled code: files that grow, are written anew, are hostile */
#include "tools/wings/stacks/code.h"
#include "suite.h"

static char path[64];
static __s64 now;

static void before(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
}

static void after(void)
{
	unlink(path);
}

/* Appends lines, or writes the file anew. */
static void put(const char *mode, const char *lines)
{
	FILE *file = fopen(path, mode);

	ck_assert_ptr_nonnull(file);
	fputs(lines, file);
	fclose(file);
}

/* Finds an address long after the reading before. */
static const char *find(struct tsct_perf_maps *maps, __u64 address)
{
	static char text[TSCT_PERF_MAP_NAME + 32];
	__u64 offset;
	const char *name;

	now += 1000 * NS_PER_S;
	name = tsct_perf_maps_find(maps, (__u32)getpid(), address, now, &offset);
	if (!name)
		return "";
	snprintf(text, sizeof(text), "%s+%llu", name, (unsigned long long)offset);
	return text;
}

CASE("perf_map", before, after);

TEST(test_names)
{
	struct tsct_perf_maps *maps = tsct_perf_maps_new();

	ck_assert_str_eq(find(maps, 0x1000), "");
	put("w", "1000 10 one\n2000 20 two words\nnonsense\n3000 ff\n4000 10 \n");
	ck_assert_str_eq(find(maps, 0x1000), "one+0");
	ck_assert_str_eq(find(maps, 0x201f), "two words+31");
	ck_assert_str_eq(find(maps, 0x2020), "");
	ck_assert_str_eq(find(maps, 0x3000), "");
	ck_assert_str_eq(find(maps, 0x4000), "");
	/* A line that is not complete yet */
	put("a", "5000 10 fi");
	ck_assert_str_eq(find(maps, 0x5000), "");
	put("a", "ve\n");
	ck_assert_str_eq(find(maps, 0x5001), "five+1");
	/* Other code at the place of code */
	put("a", "0ff0 1000 wide\n1004 4 new\n6000 1 six\n");
	ck_assert_str_eq(find(maps, 0x6000), "six+0");
	ck_assert_str_eq(find(maps, 0x1005), "new+1");
	ck_assert_str_eq(find(maps, 0x1000), "wide+16");
	tsct_perf_maps_free(maps);
}

TEST(test_written_anew)
{
	struct tsct_perf_maps *maps = tsct_perf_maps_new();
	struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	put("w", "1000 10 one\n2000 10 two\n");
	ck_assert_str_eq(find(maps, 0x1000), "one+0");
	/* Shorter; longer; of the same size; another file */
	put("w", "3000 10 three\n");
	ck_assert_str_eq(find(maps, 0x3000), "three+0");
	ck_assert_str_eq(find(maps, 0x1000), "");
	put("w", "4000 10 four, which is longer than before\n5000 10 five, too\n");
	ck_assert_str_eq(find(maps, 0x4000), "four, which is longer than before+0");
	ck_assert_str_eq(find(maps, 0x3000), "");
	put("w", "6000 10 four, which is longer than before\n5000 10 five, too\n");
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	ck_assert_str_eq(find(maps, 0x6000), "four, which is longer than before+0");
	unlink(path);
	put("w", "7000 10 seven\n");
	ck_assert_str_eq(find(maps, 0x7000), "seven+0");
	/* Another owner */
	if (!geteuid()) {
		put("a", "8000 10 eight\n");
		ck_assert_int_eq(chown(path, 1234, 1234), 0);
		ck_assert_str_eq(find(maps, 0x8000), "");
	}
	tsct_perf_maps_free(maps);
}

/* A file that grows without end costs some of the time, and limited memory. */
TEST(test_hostile)
{
	struct tsct_perf_maps *maps = tsct_perf_maps_new();
	FILE *file = fopen(path, "w");
	unsigned int i, line, read = 0;
	struct stat st;
	struct timespec from, to;
	__s64 begin, spent_ns = 0, last_ns = 0;
	__u64 offset;

	for (i = 0; i < 3000000; i++)
		fprintf(file, "%x 1 f%u\n", i, i);
	fflush(file);
	ck_assert_str_eq(find(maps, 5), "f5+0");
	ck_assert_str_eq(find(maps, 2999999), "");
	/* Credit of 0.1 s pays for 25 ms of reading, and the last reading may exceed it. */
	begin = now;
	for (i = 0; i < 100; i++) {
		ck_assert_int_eq(ftruncate(fileno(file), 0), 0);
		rewind(file);
		fprintf(file, "%x 1 g%u\n", 0x1000000 + i, i);
		for (line = 0; line < 50000; line++)
			fprintf(file, "%x 1 h\n", line);
		fflush(file);
		now += 1000;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		if (!tsct_perf_maps_find(maps, (__u32)getpid(), 0x1000000 + i, now, &offset))
			continue;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		spent_ns += last_ns;
		last_ns = (to.tv_sec - from.tv_sec) * NS_PER_S + to.tv_nsec - from.tv_nsec;
		read++;
	}
	ck_assert_int_eq(now - begin, 100000);
	ck_assert_uint_gt(read, 0);
	ck_assert_uint_lt(read, 50);
	ck_assert_int_lt(spent_ns, 30000000);
	fclose(file);
	/* One line without an end; a directory; a pipe */
	file = fopen(path, "w");
	for (i = 0; i < 5000000; i++)
		fputs("1234567 89", file);
	fclose(file);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_gt(st.st_size, 40000000);
	ck_assert_str_eq(find(maps, 0x9000000), "");
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_str_eq(find(maps, 0x9000000), "");
	tsct_perf_maps_free(maps);
}
