// SPDX-License-Identifier: MIT
/* test-wing: stacks */
/* Stacks of a recording: their table, and names of functions by build id */
#include <sys/sendfile.h>

#include "lib/export/stacks.h"
#include "lib/statedump/statedump.h"
#include "lib/export/symbolize.h"
#include "tools/wings/stacks/code.h"
#include "tools/wings/stacks/symbolize_protocol.h"
#include "recordings.h"

static int dir;

static void before(void)
{
	dir = make_dir();
}

static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static struct tsct_stacks *stacks;	/* of the recording */

static void after(void)
{
	tsct_stacks_free(stacks);
	tsct_recording_free(&rec);
	drop_dir(dir);
}

/* A function whose place in this program's file is known */
__attribute__((noinline)) int known_function(int n);
int known_function(int n)
{
	return n * 3 + 1;
}

/* Finds the file offset of an address in this program, and its file. */
static __u64 find_place(const void *address, char path[256])
{
	unsigned long begin, end, offset;
	__u64 found = 0;
	char line[512], name[256];
	FILE *maps = fopen("/proc/self/maps", "re");

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &begin, &end, &offset,
			   name) == 4 && (unsigned long)address - begin < end - begin) {
			found = (unsigned long)address - begin + offset;
			strcpy(path, name);
		}
	fclose(maps);
	return found;
}

static void read_own_id(const char *path, char id[TSCT_BUILD_ID_TEXT])
{
	__u8 bytes[TSCT_BUILD_ID_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC), len;
	char text[TSCT_BUILD_ID_TEXT];

	ck_assert(tsct_build_id_read(fd, id));
	close(fd);
	len = (int)tsct_build_id_bytes(id, bytes);
	ck_assert_int_gt(len, 0);
	tsct_build_id_text(bytes, (size_t)len, text);
	ck_assert_str_eq(id, text);
}

/* The test's program also reads symbols for itself. */
static int symbolize(const char *build_id)
{
	tsct_symbolize_main(build_id);
}

SUBCOMMAND(TSCT_SYMBOLIZE_COMMAND, symbolize);

CASE("stacks", before, after);

static const struct {
	size_t len, zeros, bytes;	/* length, zeros at its end, bytes of the text */
} ids[] = { { 20, 0, 20 }, { 20, 1, 20 }, { 20, 3, 20 }, { 20, 4, 16 }, { 16, 0, 16 },
	    { 16, 1, 16 }, { 8, 2, 8 }, { 12, 0, 12 }, { 4, 0, 4 }, { 20, 20, 0 } };

/* Zeros at the end are text only up to a usual length: the kernel adds some. */
LOOP_TEST(test_id_text, 0, ROWS(ids))
{
	__u8 bytes[TSCT_BUILD_ID_MAX], again[TSCT_BUILD_ID_MAX];
	char id[TSCT_BUILD_ID_TEXT], padded[TSCT_BUILD_ID_TEXT];

	memset(bytes, 0, sizeof(bytes));
	memset(bytes, 0xa5, ids[_i].len - ids[_i].zeros);
	tsct_build_id_text(bytes, ids[_i].len, id);
	tsct_build_id_text(bytes, sizeof(bytes), padded);
	ck_assert_str_eq(id, padded);
	ck_assert_uint_eq(tsct_build_id_bytes(id, again), ids[_i].bytes);
	ck_assert_mem_eq(again, bytes, ids[_i].bytes);
}

static unsigned int nr_warnings;
static char warning[4096];

static void warn(void *, const char *sentence)
{
	nr_warnings++;
	snprintf(warning, sizeof(warning), "%s", sentence);
}

TEST(test_names)
{
	struct tsct_symbolizer *s = tsct_symbolizer_new(warn, NULL);
	char path[256], id[TSCT_BUILD_ID_TEXT], other[TSCT_BUILD_ID_TEXT];
	const __u64 place = find_place((const void *)known_function, path);
	__u64 offset = 77;

	read_own_id(path, id);
	ck_assert_str_eq(tsct_symbolizer_find(s, -1, path, id, place, &offset),
			 "known_function");
	ck_assert_uint_eq(offset, 0);
	ck_assert_str_eq(tsct_symbolizer_find(s, -1, path, id, place + 3, &offset),
			 "known_function");
	ck_assert_uint_eq(offset, 3);
	/* Another build id, none, no such file, no ELF file, places that are not there */
	strcpy(other, id);
	other[5] = other[5] == '0' ? '1' : '0';
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, path, other, place, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, path, "", place, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, "/nonexistent", id, place, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, "/proc/self/maps", "", place, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, "/dev/zero", "", place, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, path, id, 1ULL << 40, &offset));
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, path, id, UINT64_MAX, &offset));
	ck_assert_uint_eq(nr_warnings, 0);
	tsct_symbolizer_free(s);
}

/* ---- hostile files ---------------------------------------------------------------- */

/* Copies a part of this program's file into the directory. Returns a descriptor. */
static int copy_self(const char *path, off_t size, char copy[256])
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to;
	struct stat st;
	off_t at = 0;

	snprintf(copy, 256, "%s/copy", dir_name);
	to = open(copy, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ck_assert_int_ge(to, 0);
	ck_assert_int_eq(fstat(from, &st), 0);
	if (!size)
		size = st.st_size;
	while (at < size)
		ck_assert_int_gt(sendfile(to, from, &at, (size_t)(size - at)), 0);
	close(from);
	return to;
}

/* A file that is truncated while it is mapped costs its names, and a warning. */
TEST(test_truncated)
{
	struct tsct_symbolizer *s = tsct_symbolizer_new(warn, NULL);
	char path[256], copy[256], id[TSCT_BUILD_ID_TEXT];
	const __u64 place = find_place((const void *)known_function, path);
	const __u64 other = find_place((const void *)copy_self, path);
	int fd = copy_self(path, 0, copy);
	__u64 offset;

	read_own_id(path, id);
	nr_warnings = 0;
	ck_assert_str_eq(tsct_symbolizer_find(s, -1, copy, id, place, &offset),
			 "known_function");
	ck_assert_int_eq(ftruncate(fd, 8192), 0);
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, copy, id, other, &offset));
	ck_assert_uint_eq(nr_warnings, 1);
	ck_assert_ptr_nonnull(strstr(warning, copy));
	/* Later ones are not even tried; other files are. */
	ck_assert_ptr_null(tsct_symbolizer_find(s, -1, copy, id, place, &offset));
	ck_assert_uint_eq(nr_warnings, 1);
	ck_assert_str_eq(tsct_symbolizer_find(s, -1, path, id, place, &offset),
			 "known_function");
	close(fd);
	tsct_symbolizer_free(s);
}

/* Parts of a file, and files with random bytes, may have names or not, but end nothing. */
TEST(test_damaged)
{
	char path[256], copy[256], id[TSCT_BUILD_ID_TEXT];
	const __u64 place = find_place((const void *)known_function, path);
	struct tsct_symbolizer *s;
	struct stat st;
	__u64 offset;
	int fd, i, k;
	__u8 byte;

	read_own_id(path, id);
	ck_assert_int_eq(stat(path, &st), 0);
	for (i = 0; i < 12; i++) {
		s = tsct_symbolizer_new(warn, NULL);
		fd = copy_self(path, i < 4 ? st.st_size >> i : 0, copy);
		for (k = 0; i >= 4 && k < 100; k++) {
			byte = (__u8)random();
			/* Also the headers, but not those of the build id */
			ck_assert_int_eq(pwrite(fd, &byte, 1, k < 4 ? 40 + random() % 24 :
				8192 + random() % (st.st_size - 8192)), 1);
		}
		tsct_symbolizer_find(s, -1, copy, id, place, &offset);
		/* The file is given, whatever its build id */
		tsct_symbolizer_find(s, fd, "given", id, place, &offset);
		close(fd);
		tsct_symbolizer_free(s);
	}
}

/* More files than there are processes; each process ends. */
TEST(test_many_files)
{
	struct tsct_symbolizer *s = tsct_symbolizer_new(warn, NULL);
	char path[256], id[TSCT_BUILD_ID_TEXT], name[32];
	const __u64 place = find_place((const void *)known_function, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC), i;
	__u64 offset;

	read_own_id(path, id);
	for (i = 0; i < 80; i++) {
		snprintf(name, sizeof(name), "file %d", i % 40);
		ck_assert_str_eq(tsct_symbolizer_find(s, fd, name, id, place, &offset),
				 "known_function");
	}
	close(fd);
	tsct_symbolizer_free(s);
	ck_assert_int_eq(waitpid(-1, NULL, __WALL | WNOHANG), -1);
}

/* ---- a recording with a statedump ------------------------------------------------- */

static __u64 now;

static void put_event(__u32 id, const void *payload, __u32 len)
{
	struct tsct_event event = { .id = id, .payload = payload, .len = len,
				    .cycles = ++now };

	ck_assert_int_eq(tsct_recording_writer_event(writer, rec.statedump, &event), 0);
}

static void put_frame(__u32 frame, __u64 address, const char *id, const char *file,
		      const char *symbol)
{
	char payload[TSCT_STATEDUMP_BYTES_MAX];
	__u32 len = 0;

	tsct_statedump_put(payload, &len, &frame, sizeof(frame));
	tsct_statedump_put(payload, &len, &address, sizeof(address));
	tsct_statedump_put_text(payload, &len, id);
	tsct_statedump_put_text(payload, &len, file);
	tsct_statedump_put_text(payload, &len, symbol);
	put_event(TSCT_STATEDUMP_FRAME, payload, len);
}

static void put_refused(__u64 number, __u8 kernel, const char *frames, __u8 refused)
{
	char payload[TSCT_STATEDUMP_BYTES_MAX];
	__u32 len = 0;

	tsct_statedump_put(payload, &len, &number, sizeof(number));
	tsct_statedump_put(payload, &len, &kernel, sizeof(kernel));
	tsct_statedump_put_text(payload, &len, frames);
	tsct_statedump_put(payload, &len, &refused, sizeof(refused));
	put_event(TSCT_STATEDUMP_STACK, payload, len);
}

static void put_stack(__u64 number, __u8 kernel, const char *frames)
{
	put_refused(number, kernel, frames, 0);
}

static void begin_recording(void)
{
	make_recording(&rec, 1);
	define(&rec, 1, 17, "probe", TSCT_KIND_INSTANT, "a:u32,stack:u64/x");
	define(&rec, 0, 41, "users", TSCT_KIND_INSTANT, "stack:u64/x");
	ck_assert_int_eq(tsct_statedump_add(&rec), 0);
	ck_assert_int_eq(tsct_recording_writer_open(dir, &rec, &writer), 0);
	now = rec.begin;
}

/* Completes the recording, and reads its stacks. */
static void read_stacks(struct tsct_trace *trace)
{
	ck_assert_int_eq(finish(writer), 0);
	ck_assert_int_eq(tsct_stacks_read(dir_name, trace, &stacks), 0);
}

static const char *frame_text(const struct tsct_stack *stack, __u32 i)
{
	static char text[TSCT_STACK_FRAME_TEXT];

	ck_assert_uint_lt(i, stack->nr);
	tsct_stacks_text(stacks, stack->frames[i], text);
	return text;
}

TEST(test_table)
{
	const struct tsct_stack *stack;
	char path[256], id[TSCT_BUILD_ID_TEXT], expected[600];
	const __u64 place = find_place((const void *)known_function, path);

	read_own_id(path, id);
	begin_recording();
	/* A stack may come before a frame of it; numbers that do not exist are left out. */
	put_stack(7, 1, "3 1 2 999");
	put_frame(1, place, id, path, "");
	put_frame(2, 0x1234, "00", "/usr/bin/gone", "");
	put_frame(3, UINT64_MAX - 5, "", "[kernel]", "schedule+0x1c");
	put_frame(3, 1, "", "[kernel]", "second");
	put_stack(7, 0, "1");
	put_stack(8, 200, "");
	put_stack(9, 255, "2 x 1");
	read_stacks(NULL);
	ck_assert_uint_eq(tsct_stacks_count(stacks), 3);
	ck_assert_uint_eq(tsct_stacks_count_frames(stacks), 3);
	stack = tsct_stacks_find(stacks, 0, 7);
	ck_assert_uint_eq(stack->nr, 3);
	ck_assert_uint_eq(stack->nr_kernel, 1);
	ck_assert_str_eq(frame_text(stack, 0), "schedule+0x1c ([kernel])");
	snprintf(expected, sizeof(expected), "known_function+0x0 (%s)", path);
	ck_assert_str_eq(frame_text(stack, 1), expected);
	ck_assert_str_eq(frame_text(stack, 2), "[gone+0x1234]");
	ck_assert_str_eq(tsct_stacks_name(stacks, stack->frames[2]), "[gone]");
	ck_assert_uint_eq(tsct_stacks_find(stacks, 0, 8)->nr, 0);
	ck_assert_uint_eq(tsct_stacks_find(stacks, 0, 9)->nr, 1);
	ck_assert_uint_eq(tsct_stacks_find(stacks, 0, 9)->nr_kernel, 1);
	ck_assert_ptr_null(tsct_stacks_find(stacks, 1, 7));
	ck_assert_ptr_null(tsct_stacks_find(stacks, 0, 0));
}

/* Refused user stacks, absent ones, and those that end after one function are told apart. */
TEST(test_counts)
{
	static const char *const sentences[] = {
		"61.3 % of the stacks of programs end after one function: no frame pointers, see"
		" trace-ctl-record(1), STACKS",
		"4 events of threads without a user stack: kernel threads, idle CPUs,"
		" exiting threads",
		"24 events with a stack of which the kernel refused a part, shown as [refused]",
		"1 event without a stack in the recording",
	};
	struct tsct_stack_counts counts = { 0 };
	char text[TSCT_STACK_SENTENCE_MAX];
	struct tsct_stack old = { 0 };
	bool warn;

	begin_recording();
	put_frame(1, 1, "", "[kernel]", "schedule+0x1c");
	put_frame(2, 1, "", "/bin/true", "main+0x1");
	put_frame(3, 0, "", "[refused]", "");
	put_stack(1, 1, "1 2");
	put_stack(2, 1, "1 2 2");
	put_stack(3, 1, "1");
	put_frame(4, 0, "", "", "");
	put_stack(6, 1, "1 4 4");		/* of a process whose files are unknown */
	put_stack(7, 1, "1 2 4");		/* its caller is an address in no file */
	put_refused(4, 1, "1 3", TSCT_STACK_USER_REFUSED);
	put_refused(5, 1, "3 2", TSCT_STACK_KERNEL_REFUSED);
	read_stacks(NULL);
	ck_assert_str_eq(frame_text(tsct_stacks_find(stacks, 0, 4), 1), "[refused+0x0]");
	for (unsigned int i = 1; i <= 7; i++)
		tsct_stack_counts_add(&counts, tsct_stacks_find(stacks, 0, i), i == 2 ? 9 :
				      i == 3 ? 4 : i == 4 ? 7 : i == 5 ? 17 : i == 6 ? 3 : 1);
	tsct_stack_counts_add(&counts, NULL, 1);
	ck_assert_uint_eq(counts.events, 42);
	ck_assert_uint_eq(counts.of_program, 31);
	ck_assert_uint_eq(counts.of_one_function, 19);
	ck_assert_uint_eq(counts.absent, 4);
	ck_assert_uint_eq(counts.refused, 24);
	ck_assert_uint_eq(counts.missing, 1);
	for (unsigned int i = 0; i < TSCT_STACK_SENTENCES; i++) {
		ck_assert(tsct_stack_counts_text(&counts, i, text, &warn));
		ck_assert_str_eq(text, sentences[i]);
		ck_assert_int_eq(warn, i > 1);
	}
	/* Older versions did not tell: nothing is said. */
	old.refused = -1;
	counts = (struct tsct_stack_counts) { 0 };
	tsct_stack_counts_add(&counts, &old, 3);
	ck_assert_uint_eq(counts.untold, 3);
	for (unsigned int i = 0; i < TSCT_STACK_SENTENCES; i++)
		ck_assert(!tsct_stack_counts_text(&counts, i, text, &warn));
}

TEST(test_events)
{
	struct tsct_event event = { .id = 17, .len = 12, .cycles = 0 };
	const struct { __u32 a; __u64 stack; } __attribute__((packed)) known = { 1, 7 },
		unknown = { 1, 8 };
	char why[256];
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	unsigned int found = 0, has = 0;

	begin_recording();
	put_frame(1, 1, "", "", "f+0x1");
	put_stack(7, 0, "1");
	event.cycles = ++now;
	event.payload = &known;
	ck_assert_int_eq(tsct_recording_writer_event(writer, 1, &event), 0);
	event.cycles = ++now;
	event.payload = &unknown;
	ck_assert_int_eq(tsct_recording_writer_event(writer, 1, &event), 0);
	/* The field of a program's own event is no stack. */
	event = (struct tsct_event) { .id = 41, .len = 8, .cycles = ++now,
				      .payload = &known.stack };
	ck_assert_int_eq(tsct_recording_writer_event(writer, 0, &event), 0);
	read_stacks(NULL);
	ck_assert_int_eq(tsct_trace_open(dir_name, NULL, NULL, &trace, why, sizeof(why)), 0);
	while (tsct_trace_next(trace, &e) == 1) {
		has += tsct_stacks_has(tsct_trace_recording(trace), &e);
		found += tsct_stacks_of(stacks, tsct_trace_recording(trace), &e) != NULL;
	}
	ck_assert_uint_eq(has, 2);
	ck_assert_uint_eq(found, 1);
	tsct_trace_close(trace);
}

TEST(test_many)
{
	char frames[64];

	begin_recording();
	for (__u32 i = 0; i < 20000; i++) {
		put_frame(i, i, "", "[kernel]", "f+0x1");
		snprintf(frames, sizeof(frames), "%u %u", i, i / 2);
		put_stack(i * 0x9e3779b97f4a7c15ULL + 1, 2, frames);
	}
	read_stacks(NULL);
	ck_assert_uint_eq(tsct_stacks_count(stacks), 20000);
	for (__u32 i = 0; i < 20000; i++) {
		const struct tsct_stack *stack =
			tsct_stacks_find(stacks, 0, i * 0x9e3779b97f4a7c15ULL + 1);

		ck_assert_ptr_nonnull(stack);
		ck_assert_uint_eq(stack->frames[0]->address, i);
		ck_assert_uint_eq(stack->frames[1]->address, i / 2);
	}
}

static void take_report(void *arg, const char *sentence)
{
	warn(arg, sentence);
}

/* Long texts and stacks are cut off, and a report names the stack. */
TEST(test_limits)
{
	char frames[TSCT_STATEDUMP_BYTES_MAX] = "", symbol[3000], file[3000], why[256];
	struct tsct_trace *trace;

	begin_recording();
	memset(symbol, 'f', sizeof(symbol));
	strcpy(symbol + sizeof(symbol) - 5, "+0x7");
	memset(file, '/', sizeof(file));
	file[sizeof(file) - 1] = '\0';
	put_frame(1, 1, "0123456789012345678901234567890123456789too long", file, symbol);
	for (int i = 0; i < 2000; i++)
		strcpy(frames + 2 * i, "1 ");
	put_stack(0x77, 1, frames);
	put_stack(0x78, 1, frames);
	ck_assert_int_eq(finish(writer), 0);
	nr_warnings = 0;
	ck_assert_int_eq(tsct_trace_open(dir_name, take_report, NULL, &trace, why,
					 sizeof(why)), 0);
	ck_assert_int_eq(tsct_stacks_read(dir_name, trace, &stacks), 0);
	ck_assert_uint_eq(nr_warnings, 1);
	ck_assert_ptr_nonnull(strstr(warning, "stack 0x77"));
	ck_assert_uint_eq(tsct_stacks_find(stacks, 0, 0x77)->nr, TSCT_STACK_FRAMES_MAX);
	ck_assert_uint_eq(strlen(tsct_stacks_find(stacks, 0, 0x77)->frames[9]->build_id), 40);
	ck_assert_uint_eq(strlen(tsct_stacks_find(stacks, 0, 0x77)->frames[9]->name), 1024);
	frame_text(tsct_stacks_find(stacks, 0, 0x77), 0);
	tsct_trace_close(trace);
}

/* Damage in the statedump is reported, with the name of its file. */
TEST(test_damage)
{
	char path[128], bytes[64];
	int fd, i;

	begin_recording();
	for (i = 0; i < 2000; i++)
		put_frame((__u32)i, 1, "", "[kernel]", "f+0x1");
	ck_assert_int_eq(finish(writer), 0);
	nr_warnings = 0;
	tsct_statedump_check(dir_name, take_report, NULL);
	ck_assert_uint_eq(nr_warnings, 0);
	snprintf(path, sizeof(path), "%s/statedump_0", dir_name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_int_eq(pwrite(fd, bytes, sizeof(bytes), 8000), sizeof(bytes));
	close(fd);
	tsct_statedump_check(dir_name, take_report, NULL);
	ck_assert_uint_ge(nr_warnings, 1);
	ck_assert_ptr_nonnull(strstr(warning, "statedump_0"));
}

/* A recording without a statedump has no stacks. */
TEST(test_none)
{

	make_recording(&rec, 1);
	ck_assert_int_eq(tsct_recording_writer_open(dir, &rec, &writer), 0);
	read_stacks(NULL);
	ck_assert_uint_eq(tsct_stacks_count(stacks), 0);
	ck_assert_ptr_null(tsct_stacks_find(stacks, 0, 1));
	ck_assert_int_lt(tsct_stacks_read("/nonexistent", NULL, &stacks), 0);
}
