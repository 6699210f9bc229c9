/* SPDX-License-Identifier: MIT */
/* The drift file: valid, stale and malformed files, and file systems that fail. */
#include <sys/resource.h>

#include "seed.h"

#include "daemon/clock/drift_file.c"
#include "daemon/config/run_dir.c"
#include "daemon/config/state_file.c"
#include "logged.h"
#include "suite.h"

static char dir[64], temp[sizeof(dir) + 16];
static struct drift_file file;

static const struct disruption indicators = {
	.suspended_min_ns = 123000100, .suspended_max_ns = 123000200,
	.clocksource = "tsc", .has_vmclock = true, .vm_marker = 5,
};
static const struct drift rate = {
	.source = TSCT_SOURCE_TSC, .rate_mult = 27756050023287108ULL,
	.rate_error_ppt = 7579,
};

static void setup(void)
{
	strcpy(dir, "/tmp/check_drift_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	logged[0] = '\0';
	snprintf(temp, sizeof(temp), "%s/" DRIFT_FILE_NAME ".new", dir);
	drift_file_open(&file, dir);
	ck_assert_str_eq(logged, "");
}

static void teardown(void)
{
	unlink(file.path);
	unlink(temp);
	rmdir(dir);
}

static int load(struct drift *ret)
{
	return drift_file_load(&file, TSCT_SOURCE_TSC, &indicators, ret);
}

static void save(void)
{
	ck_assert_int_eq(drift_file_save(&file, &indicators, &rate), 0);
}

static void put(const char *text, size_t len, mode_t mode)
{
	int fd;

	unlink(file.path);
	fd = open(file.path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

CASE("drift_file", setup, teardown);

TEST(test_save_and_load)
{
	struct drift got;
	struct stat st;

	ck_assert_int_eq(load(&got), -ENOENT);
	ck_assert_str_eq(logged, "");	/* a missing drift file is no error */
	save();
	ck_assert_int_eq(load(&got), 0);
	ck_assert_mem_eq(&got, &rate, sizeof(got));
	ck_assert(was_logged("error bound 0.007579 ppm"));
	save();
	ck_assert_int_eq(stat(file.path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, 0644);
	ck_assert_int_ne(access(temp, F_OK), 0);
	drift_file_forget(&file);
	ck_assert_int_eq(load(&got), -ENOENT);
	drift_file_forget(&file);
	ck_assert_str_eq(logged, "");
}

/* Expects that a saved rate is not valid any more after a change of @now, the indicators, of
 * @elsewhere, the machine on which it is loaded, or of @source. */
#define STALE(why, change)						\
	do {								\
		struct disruption now = indicators;			\
		struct drift_file elsewhere = file;			\
		struct drift got = { .rate_mult = 1 };			\
		__u32 source = TSCT_SOURCE_TSC;				\
		change;							\
		ck_assert_int_eq(drift_file_load(&elsewhere, source, &now, &got),	\
				 -ESTALE);				\
		ck_assert(was_logged(why));				\
		ck_assert_uint_eq(got.rate_mult, 1);			\
	} while (0)

TEST(test_conditions)
{
	save();
	STALE("written before the last boot",
	      strcpy(elsewhere.boot, "00000000-0000-0000-0000-000000000000"));
	STALE("written on another machine", strcpy(elsewhere.machine, "0123"));
	STALE("on another CPU model", strcat(elsewhere.cpu, " II"));
	STALE("the kernel's clocksource is another one now", strcpy(now.clocksource, "hpet"));
	STALE("the system has been suspended since",
	      now.suspended_min_ns += 2000000000; now.suspended_max_ns += 2000000000);
	STALE("the virtual machine has been migrated or restored since", now.vm_marker++);
	STALE("it is the rate of another clock source", source = TSCT_SOURCE_MONOTONIC_RAW);
}

static void check_bad(const char *text, size_t len, const char *why)
{
	struct drift got = { .rate_mult = 1 };

	put(text, len, 0644);
	ck_assert_int_eq(load(&got), -EINVAL);
	ck_assert(was_logged(why));
	ck_assert_uint_eq(got.rate_mult, 1);
}

/* Malformed drift files: truncated anywhere, followed by other text, or with any byte
 * changed */
TEST(test_corrupt)
{
	static const char no_file[] = "malformed or truncated";
	struct drift got;
	char text[DRIFT_FILE_TEXT_MAX], bad[DRIFT_FILE_TEXT_MAX + 64];
	size_t len = format_drift(&file, &indicators, &rate, text,
				    sizeof(text)), i;

	ck_assert_uint_lt(len, sizeof(text));
	for (i = 0; i < len; i++) {
		put(text, i, 0644);
		ck_assert_int_lt(load(&got), 0);
	}
	logged[0] = '\0';
	for (i = 0; i < len; i++) {
		int err;

		memcpy(bad, text, len);
		bad[i] ^= (char)(1 + any(255));
		put(bad, len, 0644);
		got = (struct drift) { 0 };
		err = load(&got);
		/* A changed byte stays undetected only if it is a digit of the rate,
		 * and becomes another digit. */
		ck_assert(err < 0 || (got.rate_mult && isdigit(bad[i])));
	}
	logged[0] = '\0';
	snprintf(bad, sizeof(bad), "%sx\n", text);
	check_bad(bad, strlen(bad), no_file);
	check_bad("", 0, no_file);
	check_bad("\0\0\0\0", 4, no_file);
	memset(bad, 'x', sizeof(bad));
	check_bad(bad, sizeof(bad), no_file);
}

static const struct drift absurd[] = {
	{ TSCT_SOURCE_TSC, 0, 5 },
	{ TSCT_SOURCE_TSC, 1, 5 },
	{ TSCT_SOURCE_TSC, ~0ULL, 5 },
};

LOOP_TEST(test_bad_values, 0, ROWS(absurd))
{
	char text[DRIFT_FILE_TEXT_MAX];
	size_t len = format_drift(&file, &indicators, &absurd[_i], text,
				    sizeof(text));

	check_bad(text, len, "out of range for a counter");
}

/* A drift file that other users may write is rejected, because it could contain any
 * rate. */
TEST(test_bad_permissions)
{
	char text[DRIFT_FILE_TEXT_MAX];
	size_t len = format_drift(&file, &indicators, &rate, text,
				    sizeof(text));
	struct drift got;

	put(text, len, 0666);
	ck_assert_int_eq(load(&got), -EACCES);
	ck_assert(was_logged("other than root and this process's user may write it"));
	unlink(file.path);
	ck_assert_int_eq(symlink("/etc/passwd", file.path), 0);
	ck_assert_int_lt(load(&got), 0);
	/* If the drift file is a symbolic link, saving replaces the link, and does not
	 * write to its target. */
	logged[0] = '\0';
	save();
	ck_assert_int_eq(load(&got), 0);
	unlink(file.path);
	ck_assert_int_eq(mkfifo(file.path, 0600), 0);
	ck_assert_int_eq(load(&got), -EACCES);
}

/* A failed write of the drift file is logged once, and so is the first success after
 * it. */
TEST(test_write_errors)
{
	struct drift_file elsewhere;

	logged[0] = '\0';
	drift_file_open(&elsewhere, "/proc/nothing/here");
	ck_assert(was_logged("/proc/nothing/here: cannot create the directory: No "
		       "such file or directory; the counter's rate will not be "
		       "saved over restarts; give --state-dir another "
		       "directory"));
	ck_assert_int_eq(drift_file_save(&elsewhere, &indicators, &rate), -ENOENT);
	ck_assert_str_eq(logged, "");
	ck_assert_int_eq(rmdir(dir), 0);
	ck_assert_int_eq(drift_file_save(&file, &indicators, &rate), -ENOENT);
	ck_assert(was_logged("saving the counter's rate failed"));
	ck_assert_int_eq(drift_file_save(&file, &indicators, &rate), -ENOENT);
	ck_assert_str_eq(logged, "");
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	save();
	ck_assert(was_logged("works again"));
}

/* If the disk is full, the previous drift file stays. */
TEST(test_full_disk)
{
	const struct rlimit ten = { 10, RLIM_INFINITY };
	struct drift got, better = rate;

	save();
	better.rate_error_ppt = 1;
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &ten), 0);
	ck_assert_int_eq(drift_file_save(&file, &indicators, &better), -ENOSPC);
	ck_assert(was_logged("saving the counter's rate failed: No space left on device"));
	ck_assert_int_ne(access(temp, F_OK), 0);
	ck_assert_int_eq(load(&got), 0);
	ck_assert_mem_eq(&got, &rate, sizeof(got));
}

/* Names of machines and CPUs in the drift file may contain any bytes. */
TEST(test_machine_names)
{
	char text[16];

	copy_printable(text, sizeof(text), "plain\nnext");
	ck_assert_str_eq(text, "plain");
	copy_printable(text, sizeof(text), "a\tb\x80\x1b[1m");
	ck_assert_str_eq(text, "a?b??[1m");
	copy_printable(text, sizeof(text), "");
	ck_assert_str_eq(text, "unknown");
	copy_printable(text, sizeof(text), "0123456789abcdefghij");
	ck_assert_str_eq(text, "0123456789abcde");
	ck_assert_str_ne(file.boot, "unknown");
}
