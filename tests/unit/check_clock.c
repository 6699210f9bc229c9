/* SPDX-License-Identifier: MIT */
/* Clock files and pages: validation, and reading while another process changes them. */
#include "lib/clock/clock_source.h"
#include "lib/clock/tsc_check.h"
#include "lib/clock/utc.h"
#include "clock_file_world.h"
#include "seed.h"

/* ---- clock files --------------------------------------------------------- */

static int try_file(char *why)
{
	struct tsct_clock_area mapped;
	int err = tsct_clock_area_map_file(dir, &mapped, why, 256);

	if (!err) {
		ck_assert_uint_eq(mapped.nr_cpus, NR_CPUS);
		ck_assert_uint_eq(mapped.size, AREA_SIZE);
		tsct_clock_area_unmap(&mapped);
	}
	return err;
}

/* Expects that the clock file is rejected with an error text that contains the path of
 * the file. */
static void expect_refused(int want)
{
	char why[256] = "";

	ck_assert_int_eq(try_file(why), want);
	ck_assert_msg(strstr(why, path) == why, "why: %s", why);
	ck_assert_msg(strlen(why) > strlen(path) + 8, "why: %s", why);
}

/* Expects that the clock file is rejected after this change of its page. */
#define PAGE_REFUSED(want, ...)						\
	do {								\
		__VA_ARGS__;						\
		write_page(AREA_SIZE);					\
		expect_refused(want);					\
		make_page();						\
	} while (0)

CASE("clock", setup, teardown);

TEST(test_good_file)
{
	char why[256] = "";

	ck_assert_int_eq(try_file(why), 0);
	/* If a writer dies in the middle of a store, one of the two copies in the clock
	 * page stays valid. */
	the_page->seq++;
	memset(&the_page->copy[0], 0xee, 100);
	write_page(AREA_SIZE);
	ck_assert_int_eq(try_file(why), 0);
}

TEST(test_bad_files)
{
	static const size_t sizes[] = {
		0, 1, TSCT_PAGE_SIZE, AREA_SIZE - 1, AREA_SIZE - TSCT_PAGE_SIZE,
		AREA_SIZE + 1, AREA_SIZE + TSCT_PAGE_SIZE, 2 * AREA_SIZE,
	};
	char why[256];

	for (size_t i = 0; i < ROWS(sizes); i++) {
		write_page(sizes[i]);
		expect_refused(-EINVAL);
	}
	ck_assert_int_eq(truncate(path, 1LL << 40), 0);
	expect_refused(-EINVAL);
	write_page(AREA_SIZE);
	chmod(path, 0666);
	expect_refused(-EACCES);
	chmod(path, 0664);
	expect_refused(-EACCES);
	unlink(path);
	expect_refused(-ENOENT);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	expect_refused(-ELOOP);
	ck_assert_int_eq(try_file(why), -ELOOP);
	ck_assert_ptr_nonnull(strstr(why, "is a symbolic link, which is not"));
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0644), 0);
	expect_refused(-EINVAL);
	unlink(path);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	expect_refused(-EINVAL);
}

/* Only root can change the owner of a file. */
CASE("root", setup, teardown, .missing = not_root);

TEST(test_foreign_file)
{
	ck_assert_int_eq(chown(path, 12345, 0), 0);
	expect_refused(-EACCES);
	/* Nor if the owner has the directory, too: in /tmp, any user can. */
	ck_assert_int_eq(chown(dir, 12345, 0), 0);
	expect_refused(-EACCES);
}

/* Runtime directory of a service: created by root, in a directory of root's, then given
 * to the service's user */
TEST(test_service_directory)
{
	char top[] = "/tmp/check_clock.XXXXXX", why[256];

	ck_assert_ptr_nonnull(mkdtemp(top));
	unlink(path);
	rmdir(dir);
	snprintf(dir, sizeof(dir), "%s/service", top);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/" TSCT_CLOCK_FILE, dir);
	write_page(AREA_SIZE);
	ck_assert_int_eq(chown(path, 12345, 0), 0);
	expect_refused(-EACCES);		/* the owner of the clock file does
						 * not own its directory */
	ck_assert_int_eq(chown(dir, 12345, 0), 0);
	ck_assert_int_eq(try_file(why), 0);
	ck_assert_int_eq(chmod(dir, 0775), 0);
	expect_refused(-EACCES);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(chmod(top, 01777), 0);
	expect_refused(-EACCES);
	ck_assert_int_eq(chmod(top, 0755), 0);
	ck_assert_int_eq(chown(top, 12345, 0), 0);
	expect_refused(-EACCES);
	ck_assert_int_eq(chown(top, 0, 0), 0);
	ck_assert_int_eq(try_file(why), 0);
	unlink(path);
	rmdir(dir);
	rmdir(top);
}

CASE("clock", setup, teardown);

/* Clock pages of another version or another boot, and pages with invalid contents */
TEST(test_bad_pages)
{
	PAGE_REFUSED(-EINVAL, the_page->magic++);
	PAGE_REFUSED(-EINVAL, the_page->size++);
	PAGE_REFUSED(-EINVAL, the_page->size += TSCT_PAGE_SIZE);
	PAGE_REFUSED(-EINVAL, the_page->size = 0);
	PAGE_REFUSED(-EINVAL, the_page->nr_cpus = 1U << 31);
	PAGE_REFUSED(-EINVAL, the_page->nr_cpus = TSCT_CPUS_MAX,
		     the_page->size = TSCT_CLOCK_SIZE(TSCT_CPUS_MAX));
	PAGE_REFUSED(-EINVAL, the_page->cpus_offset = 0);
	PAGE_REFUSED(-EINVAL, the_page->cpus_offset = 1ULL << 63);
	PAGE_REFUSED(-ESTALE, the_page->boot_id[15]++);
	PAGE_REFUSED(-EINVAL, memset(&area, 0, sizeof(area)));
	PAGE_REFUSED(-EINVAL, memset(&area, 0xff, sizeof(area)));
}

TEST(test_bad_states)
{
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.mult = 7));
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.slew_mult = 1ULL << 63));
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.slew_cycles = 1ULL << 56));
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.fast_cycles = ~0ULL));
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.as_of_cycles -= 1ULL << 63));
	PAGE_REFUSED(-EINVAL, CHANGE(s->real.growth = ~0ULL));
	PAGE_REFUSED(-EINVAL, CHANGE(s->status = 17));
	PAGE_REFUSED(-EINVAL, CHANGE(s->source = 17));
	PAGE_REFUSED(-EINVAL, CHANGE(s->cause = 17));
	PAGE_REFUSED(-EINVAL, CHANGE(s->utc_error_ns = 1));
	PAGE_REFUSED(-EINVAL, CHANGE(copy_->nr_segments = TSCT_SEGMENTS_MAX + 1));
	PAGE_REFUSED(-EINVAL, CHANGE(copy_->segments[1].base_cycles =
				     copy_->segments[0].base_cycles));
	PAGE_REFUSED(-EINVAL, CHANGE(copy_->segments[0].mult = 0));
	PAGE_REFUSED(-EINVAL, CHANGE(copy_->segments[0].epoch = 7));
	PAGE_REFUSED(-EINVAL, CHANGE(copy_->reserved[3] = 1));
	PAGE_REFUSED(-EAGAIN, CHANGE(memset(copy_, 0, sizeof(*copy_))));
	/* Clock params that have expired give no time. */
	PAGE_REFUSED(-EAGAIN, CHANGE(s->real.fast_cycles = 0;
				     s->real.as_of_cycles = s->real.base_cycles;
				     s->real.holdover_after_cycles = s->real.base_cycles;
				     s->real.void_after_cycles = s->real.base_cycles));
}

/* ---- a clock page that changes while it is open ------------------------ */

CASE("default clock", setup, teardown, .missing = module_loaded);

TEST(test_page_changes)
{
	struct tsct_clock *clock = open_file_clock();
	struct tsct_clock_state state;
	struct tsct_time t;
	uint64_t now = tsct_clock_cycles(clock);
	int64_t before, ns;

	CHANGE_FILE(s->status = TSCT_STATUS_DISRUPTED; s->epoch = 5;
		    s->real.fast_cycles = 0);
	ck_assert_int_eq(tsct_clock_cycles_to_time(clock, now + 9 * SECOND, &t), 0);
	ck_assert_uint_eq(t.status, TSCT_STATUS_DISRUPTED);
	ck_assert_uint_eq(t.epoch, 5);
	/* Without a trusted time in the clock, tsct_clock_now_ns() returns
	 * CLOCK_REALTIME. */
	before = now_ns(CLOCK_REALTIME);
	ns = tsct_clock_now_ns(clock);
	ck_assert_int_ge(ns, before);
	ck_assert_int_le(ns, now_ns(CLOCK_REALTIME));
	CHANGE_FILE(s->real.void_after_cycles = s->real.holdover_after_cycles =
		    s->real.as_of_cycles);
	ck_assert_uint_eq(snapshot(clock).status, TSCT_STATUS_UNKNOWN);
	make_page();
	/* After a change of source, cycles read before belong to the old one. */
	CHANGE_FILE(s->source = TSCT_SOURCE_MONOTONIC; s->real.fast_cycles = 0);
	ck_assert_int_eq(tsct_clock_cycles_to_time(clock, now, &t), -ESTALE);
	ck_assert_int_eq(tsct_clock_time_to_cycles(clock, zero_ns, &now), -ESTALE);
	CHANGE_FILE(memset(copy_, 0, sizeof(*copy_)));
	ck_assert_int_eq(tsct_clock_cycles_to_time(clock, now, &t), -EAGAIN);
	ck_assert_int_eq(tsct_clock_time_to_cycles(clock, zero_ns, &now), -EAGAIN);
	ck_assert_int_eq(tsct_clock_snapshot(clock, &state), -EAGAIN);
	ck_assert_int_eq(tsct_clock_segments(clock, NULL, 0), -EAGAIN);
	ck_assert_int_eq(tsct_clock_wait_synced(clock, 0, 0), -ETIMEDOUT);
	ck_assert_int_eq(tsct_clock_wait_synced(clock, 50, 0), -ETIMEDOUT);
	ck_assert_int_eq(tsct_clock_delta_to_ns(clock, 12345), 12345);
}

static void *sync_later(void *)
{
	usleep(100000);
	CHANGE_FILE(s->status = TSCT_STATUS_SYNCHRONIZED);
	return NULL;
}

/* The daemon's reading of the bound to UTC is used only where it is better than what this
 * process reads now. (No ClockBound runs beside the tests.) */
TEST(test_utc)
{
	struct tsct_utc now, utc;
	struct tsct_clock *clock = open_file_clock();
	int err = tsct_utc_read("/nonexistent", TSCT_NOT_RESTORED, &now);

	CHANGE_FILE(s->utc_source = TSCT_UTC_KERNEL; s->utc_error_ns = 5;
		    s->utc_as_of_cycles = zero);
	ck_assert_int_eq(err == -ENODATA || err == -EBUSY, !now.source);
	ck_assert_int_eq(tsct_clock_utc(clock, &utc), err);
	ck_assert_uint_eq(utc.source, now.source);
	ck_assert_uint_ge(utc.error_ns, now.error_ns);
	CHANGE_FILE(s->utc_source = TSCT_UTC_CLOCKBOUND; s->utc_growth_ppb = 1000);
	ck_assert_int_eq(tsct_clock_utc(clock, &utc), 0);
	ck_assert_uint_eq(utc.source, TSCT_UTC_CLOCKBOUND);
	ck_assert_uint_ge(utc.error_ns, 5);
	ck_assert_uint_lt(utc.error_ns, 5 + 10000);
	/* A bound that the daemon read long ago is not used. */
	CHANGE_FILE(s->utc_as_of_cycles = zero - 20 * SECOND);
	tsct_clock_utc(clock, &utc);
	ck_assert_uint_eq(utc.source, now.source);
}

TEST(test_wait_synced)
{
	struct tsct_clock *clock = open_file_clock();
	pthread_t thread;
	int64_t begin;

	ck_assert_int_eq(tsct_clock_wait_synced(clock, 0, 0), 0);
	ck_assert_int_eq(tsct_clock_wait_synced(clock, 0, 1), -ETIMEDOUT);
	CHANGE_FILE(s->status = TSCT_STATUS_CALIBRATING);
	begin = now_ns(CLOCK_MONOTONIC);
	ck_assert_int_eq(tsct_clock_wait_synced(clock, 30, 0), -ETIMEDOUT);
	ck_assert_int_ge(now_ns(CLOCK_MONOTONIC) - begin, 30000000);
	ck_assert(!pthread_create(&thread, NULL, sync_later, NULL));
	ck_assert_int_eq(tsct_clock_wait_synced(clock, -1, 0), 0);
	pthread_join(thread, NULL);
}

/* ---- random words in the clock page -------------------------------------- */

static bool stop;

/* Overwrites random words of the clock page, until @stop is set, while other threads
 * read the page. */
static void *overwrite_page(void *mapped)
{
	uint64_t *words = mapped;
	unsigned int at, n;

	seed_with(77);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (any(4))
			at = any(AREA_SIZE / 8);
		else
			at = any(2) ? 4 : 512 + any(2) * 1024 + any(64);
		for (n = any(64); n-- && at < AREA_SIZE / 8; at++)
			__atomic_store_n(&words[at], any(2) ? any64() : any(9),
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void read_all_ways(const struct tsct_clock *clock)
{
	struct tsct_time_point from = point(-any64() % SECOND, any(6)), to;
	struct tsct_clock_segment lines[8];
	struct tsct_clock_state state;
	struct tsct_interval interval;
	struct tsct_time t;
	uint64_t stamp = any(2) ? any64() : zero - any64() % (400 * SECOND);
	int64_t ns;

	tsct_clock_time_point(clock, &to);
	tsct_clock_cycles_to_time(clock, stamp, &t);
	tsct_clock_cycles_to_time_on(clock, stamp, any(2) ? any(6) : any64(), &t);
	tsct_clock_cycles_to_ns(clock, stamp, &ns);
	tsct_clock_now(clock, &t);
	tsct_clock_now_ns(clock);
	tsct_clock_time_to_cycles(clock, any(2) ? (int64_t)any64() : zero_ns -
			    (int64_t)(any64() % (400 * SECOND)), &stamp);
	tsct_clock_interval(clock, &from, &to, &interval);
	tsct_clock_delta_to_ns(clock, any64());
	tsct_clock_ns_to_delta(clock, any64());
	tsct_clock_snapshot(clock, &state);
	tsct_clock_segments(clock, lines, 8);
}

TEST(test_page_overwritten_while_read)
{
	struct tsct_clock *clock = open_file_clock();
	int64_t until = now_ns(CLOCK_MONOTONIC) + 3 * SECOND, took, worst = 0;
	int fd = open(path, O_RDWR);
	void *mapped = mmap(NULL, AREA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	unsigned int turns;
	pthread_t thread;

	ck_assert_ptr_ne(mapped, MAP_FAILED);
	close(fd);
	ck_assert(!pthread_create(&thread, NULL, overwrite_page, mapped));
	for (turns = 0; now_ns(CLOCK_MONOTONIC) < until; turns++) {
		/* CPU time: a busy machine may stop this thread for any time. */
		took = -now_ns(CLOCK_THREAD_CPUTIME_ID);
		read_all_ways(clock);
		took += now_ns(CLOCK_THREAD_CPUTIME_ID);
		if (took > worst)
			worst = took;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("# %u turns on a changing page, the longest took %.1f ms of CPU\n",
	       turns, (double)worst / 1e6);
	ck_assert_uint_gt(turns, 100);
	ck_assert_int_lt(worst, SECOND);
	munmap(mapped, AREA_SIZE);
}

/* Clock pages with random words, which do not change while the page is read */
LOOP_TEST(test_random_pages, 0, 3)
{
	struct tsct_clock *clock = open_file_clock();
	struct tsct_clock_area mapped;

	for (unsigned int turn = 0; turn < 300; turn++) {
		make_page();
		for (unsigned int i = any(40); i--;)
			((uint64_t *)area.bytes)[any(AREA_SIZE / 8)] =
				any(2) ? any64() : any(9);
		for (unsigned int i = any(10); i--;)
			((uint64_t *)the_page->copy)[any(2) * 1024 + any(300)] =
				any(2) ? any64() : any(9);
		the_page->seq &= ~1ULL;
		rewrite_page();
		if (!tsct_clock_area_map_file(dir, &mapped, (char [256]) { 0 }, 256))
			tsct_clock_area_unmap(&mapped);
		for (unsigned int i = 0; i < 20; i++)
			read_all_ways(clock);
	}
}

/* ---- names of clocks ----------------------------------------------------- */

CASE("clock", setup, teardown);

TEST(test_names)
{
	char why[256] = "";
	int source;

	tsct_source_check_cpus(tsct_tsc_check_run);
	source = tsct_source_choose(why, sizeof(why));

	printf("# %s\n", why);
	ck_assert_int_ge(source, 0);
	ck_assert_int_lt(source, TSCT_SOURCE_NR);
	ck_assert(strstr(why, tsct_source_name((unsigned int)source)) == why);
	ck_assert_ptr_nonnull(strstr(why, "clocksource: "));
	ck_assert_int_eq(tsct_source_choose_local(NULL, 0), source);
	ck_assert_str_eq(tsct_source_name(TSCT_SOURCE_NR), "?");
	ck_assert_str_eq(tsct_status_name(TSCT_STATUS_HOLDOVER), "holdover");
	ck_assert_str_eq(tsct_status_name(0xffffffff), "?");
	ck_assert_str_eq(tsct_cause_name(TSCT_CAUSE_STEP), "step");
	ck_assert_str_eq(tsct_cause_name(TSCT_CAUSE_FAKE), "fake");
	ck_assert_str_eq(tsct_cause_name(TSCT_CAUSE_NR), "?");
}
