/* SPDX-License-Identifier: MIT */
/* Which clock page is believed, and what is made of it. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clockpage.h"
#include "core/latch.h"
#include "core/scale.h"
#include "sample.h"

#define SECOND	1000000000LL

static char dir[64], path[80];
static struct tsct_clock_page page;

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

/* A good page in `page`: RAW stamps, so that a second is a second */
static void make_page(void)
{
	struct tsct_clock_state state = {
		.status = TSCT_STATUS_SYNCHRONIZED,
		.source = TSCT_SOURCE_MONOTONIC_RAW,
		.epoch = 3,
	};
	uint64_t now = tsct_stamp_read(TSCT_SOURCE_MONOTONIC_RAW);
	__u8 boot_id[16];

	state.real = (struct tsct_pair) {
		.base_tsc = now, .base_ns = now_ns(CLOCK_REALTIME),
		.mult = 1ULL << 60, .shift = 60,
		.slew_end_tsc = now, .as_of_tsc = now,
		.void_after_tsc = now + 1000 * (uint64_t)SECOND,
		.base_error_ps = 50000, .growth_ppb = 2000,
	};
	ck_assert_int_eq(tsct_boot_id(boot_id), 0);
	tsct_latch_init(&page, boot_id, state.source);
	tsct_latch_write(&page, &state);
}

/* Changes both copies of the page by a statement on `s`. */
#define CHANGE(...) do {						\
	struct tsct_clock_state *s;					\
	for (s = page.copy; s < page.copy + 2; s++) {			\
		__VA_ARGS__;						\
	}								\
} while (0)

static void write_page(size_t size)
{
	char bytes[2 * TSCT_PAGE_SIZE] = { 0 };
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	memcpy(bytes, &page, sizeof(page));
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static void setup(void)
{
	strcpy(dir, "/tmp/check_clock.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" TSCT_CLOCK_FILE, dir);
	setenv("TSCTRACE_RUN_DIR", dir, 1);
	make_page();
	write_page(TSCT_PAGE_SIZE);
}

static void teardown(void)
{
	unlink(path);
	rmdir(path);
	rmdir(dir);
}

static int try_file(char *why)
{
	const struct tsct_clock_page *mapped = NULL;
	int err = tsct_clockpage_file(dir, &mapped, why, 256);

	if (!err)
		tsct_clockpage_unmap(mapped);
	return err;
}

/* The file is refused, with a reason that names it. */
static void refused(int want)
{
	char why[256] = "";

	ck_assert_int_eq(try_file(why), want);
	ck_assert_msg(strstr(why, path) == why, "why: %s", why);
	ck_assert_msg(strlen(why) > strlen(path) + 8, "why: %s", why);
}

static void page_refused(int want)
{
	write_page(TSCT_PAGE_SIZE);
	refused(want);
	make_page();
}

START_TEST(test_good_file)
{
	char why[256] = "";

	ck_assert_int_eq(try_file(why), 0);
	/* A writer that died half-way leaves one good copy. */
	page.seq++;
	memset(&page.copy[0], 0xee, 100);
	write_page(TSCT_PAGE_SIZE);
	ck_assert_int_eq(try_file(why), 0);
}
END_TEST

START_TEST(test_bad_files)
{
	write_page(TSCT_PAGE_SIZE - 1);
	refused(-EINVAL);
	write_page(0);
	refused(-EINVAL);
	write_page(2 * TSCT_PAGE_SIZE);
	refused(-EINVAL);
	write_page(TSCT_PAGE_SIZE);
	chmod(path, 0666);
	refused(-EACCES);
	chmod(path, 0664);
	refused(-EACCES);
	unlink(path);
	refused(-ENOENT);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	refused(-ELOOP);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0644), 0);
	refused(-EINVAL);
	unlink(path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	refused(-EINVAL);
}
END_TEST

START_TEST(test_foreign_file)
{
	ck_assert_int_eq(chown(path, 12345, 0), 0);
	refused(-EACCES);
}
END_TEST

START_TEST(test_bad_pages)
{
	page.magic++;
	page_refused(-EINVAL);
	page.size++;
	page_refused(-EINVAL);
	page.boot_id[15]++;
	page_refused(-ESTALE);
	memset(&page, 0, sizeof(page));
	page_refused(-EINVAL);
	CHANGE(s->real.shift = 64);
	page_refused(-EINVAL);
	CHANGE(s->real.mult = 7);
	page_refused(-EINVAL);
	CHANGE(s->status = 17);
	page_refused(-EINVAL);
	CHANGE(s->source = 17);
	page_refused(-EINVAL);
	CHANGE(s->reserved[0] = 1);
	page_refused(-EINVAL);
	CHANGE(memset(s, 0, sizeof(*s)));
	page_refused(-EAGAIN);
	CHANGE(s->real.as_of_tsc = s->real.base_tsc - 10;
	       s->real.void_after_tsc = s->real.base_tsc - 5);
	page_refused(-EAGAIN);
	ck_assert_int_eq(try_file((char [256]) { 0 }), -EAGAIN);
}
END_TEST

START_TEST(test_convert)
{
	const struct tsct_pair *pair = &page.copy[0].real;
	struct tsct_clock_state state;
	struct tsct_clock *clock;
	struct tsct_time t;

	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	ck_assert_str_eq(tsct_clock_origin(clock), "daemon");
	ck_assert_ptr_nonnull(strstr(tsct_clock_why(clock), "monotonic_raw"));
	ck_assert_int_eq(tsct_clock_convert(clock, pair->base_tsc, &t), 0);
	ck_assert_int_eq(t.ns, pair->base_ns);
	ck_assert_uint_eq(t.error_ns, 51);
	ck_assert_uint_eq(t.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_eq(t.epoch, 3);
	/* The past is the normal case. */
	ck_assert_int_eq(tsct_clock_convert(clock, pair->base_tsc - 100 * SECOND,
					    &t), 0);
	ck_assert_int_eq(t.ns, pair->base_ns - 100 * SECOND);
	ck_assert_uint_eq(t.error_ns, 51 + 200000);
	ck_assert_uint_eq(t.status, TSCT_STATUS_SYNCHRONIZED);
	/* 5 s without news is holdover, and 1000 s the end. */
	ck_assert_int_eq(tsct_clock_convert(clock, pair->base_tsc + 5 * SECOND,
					    &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_int_eq(tsct_clock_convert(clock, pair->base_tsc + 5 * SECOND +
					    1, &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_HOLDOVER);
	ck_assert_uint_eq(t.error_ns, 51 + 10001);
	ck_assert_int_eq(tsct_clock_convert(clock, pair->void_after_tsc, &t), 0);
	t.ns = 42;
	ck_assert_int_eq(tsct_clock_convert(clock, pair->void_after_tsc + 1, &t),
			 -ESTALE);
	ck_assert_int_eq(t.ns, 42);
	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), 0);
	ck_assert_mem_eq(&state, &page.copy[0], sizeof(state));
	tsct_clock_close(clock);
}
END_TEST

/* The daemon's page, as it changes under an open clock */
START_TEST(test_page_changes)
{
	struct tsct_clock_state state;
	struct tsct_clock *clock;
	struct tsct_time t;
	uint64_t now;
	int fd;

	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	now = tsct_clock_stamp(clock);
	fd = open(path, O_WRONLY);
	CHANGE(s->status = TSCT_STATUS_DISRUPTED; s->epoch = 4);
	ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(tsct_clock_convert(clock, now + 9 * SECOND, &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(t.epoch, 4);
	CHANGE(s->real.void_after_tsc = s->real.as_of_tsc);
	ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), 0);
	ck_assert_uint_eq(state.status, TSCT_STATUS_UNKNOWN);
	make_page();
	/* Stamps taken so far count what the page does not count any more. */
	CHANGE(s->source = TSCT_SOURCE_MONOTONIC);
	ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(tsct_clock_convert(clock, now, &t), -ESTALE);
	CHANGE(memset(s, 0, sizeof(*s)));
	ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	ck_assert_int_eq(tsct_clock_convert(clock, now, &t), -EAGAIN);
	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), -EAGAIN);
	close(fd);
	tsct_clock_close(clock);
}
END_TEST

/* Does a fresh stamp's time agree with CLOCK_REALTIME read around it? */
static bool right_now(const struct tsct_clock *clock)
{
	struct tsct_time t;
	int64_t before = now_ns(CLOCK_REALTIME), after;
	uint64_t stamp = tsct_clock_stamp(clock);

	after = now_ns(CLOCK_REALTIME) + 1;
	return !tsct_clock_convert(clock, stamp, &t) &&
		t.ns + (int64_t)t.error_ns >= before &&
		t.ns - (int64_t)t.error_ns <= after;
}

START_TEST(test_in_process)
{
	struct tsct_clock_state first, later;
	struct tsct_clock *clock;
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	int i;

	unlink(path);
	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	printf("# opened in %.1f ms\n",
	       (double)(now_ns(CLOCK_MONOTONIC) - begin) / 1e6);
	ck_assert_str_eq(tsct_clock_origin(clock), "in-process");
	ck_assert_ptr_nonnull(strstr(tsct_clock_why(clock), path));
	ck_assert_int_eq(tsct_clock_snapshot(clock, &first), 0);
	ck_assert_uint_eq(first.status, TSCT_STATUS_CALIBRATING);
	for (i = 0; i < 240; i++) {
		ck_assert(right_now(clock));
		usleep(10000);
	}
	/* It has refined itself. */
	ck_assert_int_eq(tsct_clock_snapshot(clock, &later), 0);
	ck_assert_uint_eq(later.status, TSCT_STATUS_SYNCHRONIZED);
	ck_assert_uint_lt(later.rate_error_ppb, first.rate_error_ppb / 2);
	ck_assert_uint_gt(later.real.as_of_tsc, first.real.as_of_tsc);
	ck_assert_uint_eq(later.epoch, first.epoch);
	tsct_clock_close(clock);
	tsct_clock_close(NULL);
}
END_TEST

/* Returns NULL, or not if a time was wrong. No lock of anybody's is taken. */
static void *convert_along(void *clock)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + 3 * SECOND;
	void *wrong = NULL;

	while (now_ns(CLOCK_MONOTONIC) < until) {
		if (!right_now(clock))
			wrong = clock;
		usleep(500);
	}
	return wrong;
}

/* Many threads, and a child, want the same clock refined at once. */
START_TEST(test_in_process_threads)
{
	struct tsct_clock *clock;
	pthread_t threads[4];
	int i, status;
	void *wrong;
	pid_t pid;

	unlink(path);
	ck_assert_int_eq(tsct_clock_open(&clock), 0);
	for (i = 0; i < 4; i++)
		ck_assert(!pthread_create(&threads[i], NULL, convert_along,
					  clock));
	usleep(100000);
	pid = fork();
	if (!pid)
		_exit(convert_along(clock) ? 1 : 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	tsct_clock_close(clock);
}
END_TEST

START_TEST(test_source)
{
	char why[256] = "";
	int source = tsct_source_choose(why, sizeof(why));

	printf("# %s\n", why);
	ck_assert_int_ge(source, 0);
	ck_assert_int_lt(source, TSCT_SOURCE_NR);
	ck_assert(strstr(why, tsct_source_name((unsigned int)source)) == why);
	ck_assert_int_eq(tsct_source_choose_local(NULL, 0), source);
	ck_assert_str_eq(tsct_source_name(TSCT_SOURCE_NR), "?");
	ck_assert_str_eq(tsct_status_name(TSCT_STATUS_HOLDOVER), "holdover");
	ck_assert_str_eq(tsct_status_name(0xffffffff), "?");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("clock");
	Suite *suite = suite_create("clock");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_good_file);
	tcase_add_test(tcase, test_bad_files);
	if (!geteuid())		/* only root can give files away */
		tcase_add_test(tcase, test_foreign_file);
	tcase_add_test(tcase, test_bad_pages);
	if (access(TSCT_DEVICE_PATH, F_OK)) {	/* the module comes first */
		tcase_add_test(tcase, test_convert);
		tcase_add_test(tcase, test_page_changes);
		tcase_add_test(tcase, test_in_process);
	}
	tcase_add_test(tcase, test_in_process_threads);
	tcase_add_test(tcase, test_source);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
