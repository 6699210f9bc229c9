// SPDX-License-Identifier: MIT
/* The bound of CLOCK_REALTIME's error to UTC, from the kernel and from ClockBound */
#include <sys/timex.h>

#include "lib/clock/utc.h"
#include "suite.h"

#define SECOND	1000000000LL

/* ---- the kernel ---------------------------------------------------------- */

static struct tsct_utc by_kernel(int result, int status, long maxerror_us)
{
	struct timex timex = { .status = status, .maxerror = maxerror_us, .tick = 10000 };
	struct tsct_utc utc;

	tsct_utc_from_kernel(result, &timex, TSCT_NOT_RESTORED, &utc);
	return utc;
}

/* Returns the reason for which the bound of a kernel with @status is unknown while it slews
 * by @tick_us, us per 10 ms, and @ppm; 0: it is known. */
static int why_unknown(int status, long tick_us, double ppm)
{
	struct timex timex = { .status = status, .maxerror = 100, .tick = tick_us,
			       .freq = (long)(ppm * 65536) };
	struct tsct_utc utc;
	int err = tsct_utc_from_kernel(status & STA_UNSYNC ? TIME_ERROR : TIME_OK, &timex,
				       TSCT_NOT_RESTORED, &utc);

	ck_assert_uint_eq(utc.source, err ? TSCT_UTC_UNKNOWN : TSCT_UTC_KERNEL);
	return err;
}

static int by_slew(long tick_us, double ppm)
{
	return why_unknown(STA_PLL, tick_us, ppm);
}

CASE("sources", NULL, NULL);

TEST(test_kernel)
{
	struct tsct_utc utc = by_kernel(TIME_OK, STA_PLL, 1234);

	ck_assert_uint_eq(utc.source, TSCT_UTC_KERNEL);
	ck_assert_uint_eq(utc.error_ns, 1234000);
	/* The kernel's own bound grows by 500 us each second. */
	ck_assert_uint_eq(tsct_utc_error_after(&utc, SECOND), 1734000);
	ck_assert_uint_eq(tsct_utc_error_after(&utc, 1), 1234001);
	ck_assert_uint_eq(by_kernel(TIME_INS, STA_INS, 7).error_ns, 7000);
	ck_assert_uint_eq(by_kernel(TIME_OK, 0, 0).error_ns, 0);
}

TEST(test_kernel_knows_nothing)
{
	const struct tsct_utc all[] = {
		by_kernel(TIME_ERROR, STA_UNSYNC, 100),
		by_kernel(TIME_OK, STA_UNSYNC | STA_PLL, 100),
		by_kernel(TIME_ERROR, STA_PPSFREQ, 100),
		by_kernel(TIME_OK, 0, 16000000),
		by_kernel(TIME_OK, 0, -1),
		by_kernel(-1, 0, 100),
	};

	for (unsigned int i = 0; i < ROWS(all); i++) {
		ck_assert_uint_eq(all[i].source, TSCT_UTC_UNKNOWN);
		ck_assert_uint_eq(all[i].error_ns, UINT64_MAX);
		ck_assert_uint_eq(tsct_utc_error_after(&all[i], SECOND), UINT64_MAX);
	}
}

/* The kernel raises its bound by 500 ppm: a clock that moves faster can leave it. */
TEST(test_kernel_slews)
{
	ck_assert_int_eq(by_slew(10000, 500), 0);
	ck_assert_int_eq(by_slew(10000, -500), 0);
	ck_assert_int_eq(by_slew(10005, 0), 0);
	ck_assert_int_eq(by_slew(9995, 0), 0);
	ck_assert_int_eq(by_slew(10006, -100), 0);
	ck_assert_int_eq(by_slew(10005, 1), -EBUSY);
	ck_assert_int_eq(by_slew(9995, -1), -EBUSY);
	ck_assert_int_eq(by_slew(10006, 0), -EBUSY);
	ck_assert_int_eq(by_slew(11000, 0), -EBUSY);
	ck_assert_int_eq(by_slew(9000, 0), -EBUSY);
	ck_assert_int_eq(by_slew(0, 0), -EBUSY);
	/* Without STA_UNSYNC, a daemon keeps the clock; with it, the slew does not matter. */
	ck_assert_int_eq(why_unknown(STA_UNSYNC, 11000, 0), -ENODATA);
	ck_assert_int_eq(why_unknown(STA_UNSYNC, 10000, 0), -ENODATA);
}

/* The source of a bound of @maxerror_us, @since_ns after a restore */
static __u32 after_restore(__u64 since_ns, long maxerror_us)
{
	struct timex timex = { .maxerror = maxerror_us, .tick = 10000 };
	struct tsct_utc utc;

	tsct_utc_from_kernel(TIME_OK, &timex, since_ns, &utc);
	return utc.source;
}

/* maxerror after @s seconds since a restore, by 500 us each from @us on; the kernel has
 * counted one second less or more, by the phase of its seconds. */
static long grown_us(long us, int s, int phase)
{
	long all = us + 500L * (s + phase);

	return all < us ? us : all;
}

/* After a restore the bound is unknown until maxerror proves an update. */
TEST(test_kernel_after_restore)
{
	/* never updated, whatever maxerror was at the snapshot */
	for (int s = 0; s < 40000; s++)
		for (int phase = -1; phase <= 1; phase++) {
			ck_assert_uint_eq(after_restore((__u64)s * SECOND + 999999999,
							grown_us(0, s, phase)),
					  TSCT_UTC_UNKNOWN);
			ck_assert_uint_eq(after_restore((__u64)s * SECOND,
							grown_us(300, s, phase)),
					  TSCT_UTC_UNKNOWN);
		}
	/* an update in the first two seconds, perhaps under way at the snapshot */
	for (int s = 2; s < 1000; s++)
		ck_assert_uint_eq(after_restore((__u64)s * SECOND,
						grown_us(0, s - 2, 0)),
				  TSCT_UTC_UNKNOWN);
	/* an update to 4 ms, 64 s after the restore, and from then on */
	for (int s = 64; s < 31000; s++)
		ck_assert_uint_eq(after_restore((__u64)s * SECOND,
						grown_us(4000, s - 64, 1)),
				  TSCT_UTC_KERNEL);
	/* an update to 40 ms proves nothing before the unsynchronized clock has more. */
	ck_assert_uint_eq(after_restore(82 * SECOND, 40000), TSCT_UTC_UNKNOWN);
	ck_assert_uint_eq(after_restore(83 * SECOND, 40000), TSCT_UTC_KERNEL);
	ck_assert_uint_eq(after_restore(TSCT_NOT_RESTORED, 15999999), TSCT_UTC_KERNEL);
}

/* ---- ClockBound ---------------------------------------------------------- */

/* Layout of ClockBound's shared memory, version 2, as its documentation states it */
struct page {
	uint32_t magic[2], size;
	uint16_t version, generation;
	int64_t as_of[2], void_after[2], bound_ns;
	uint64_t marker;
	uint32_t drift_ppb;
	int32_t status;
};

#define NOW	(1000 * SECOND)

static const struct page good = {
	.magic = { 0x414d5a4e, 0x43420200 }, .size = 80, .version = 2,
	.generation = 4, .as_of = { 998, 500000000 }, .void_after = { 1999, 0 },
	.bound_ns = 40000, .drift_ppb = 15000, .status = 1,
};

/* The bound of @good at NOW: 1.5 s after its time, at 15 us per s */
#define GOOD_NS	(40000 + 22500)

static int by_clockbound(const struct page *page, struct tsct_utc *ret)
{
	unsigned char bytes[TSCT_CLOCKBOUND_SIZE];

	ck_assert_uint_eq(sizeof(*page), sizeof(bytes));
	memcpy(bytes, page, sizeof(bytes));
	return tsct_utc_from_clockbound(bytes, NOW, ret);
}

TEST(test_clockbound)
{
	struct page page = good;
	struct tsct_utc utc;

	ck_assert_int_eq(by_clockbound(&page, &utc), 0);
	ck_assert_uint_eq(utc.source, TSCT_UTC_CLOCKBOUND);
	ck_assert_uint_eq(utc.error_ns, GOOD_NS);
	ck_assert_uint_eq(tsct_utc_error_after(&utc, SECOND), GOOD_NS + 15000);
	page.status = 2;
	ck_assert_int_eq(by_clockbound(&page, &utc), 0);
}

#define REFUSED(error, ...) do {					\
	struct page page = good;					\
	struct tsct_utc utc;						\
									\
	__VA_ARGS__;							\
	ck_assert_int_eq(by_clockbound(&page, &utc), error);		\
	ck_assert_uint_eq(utc.source, TSCT_UTC_UNKNOWN);		\
	ck_assert_uint_eq(utc.error_ns, UINT64_MAX);			\
} while (0)

TEST(test_clockbound_refused)
{
	REFUSED(-EPROTO, page.magic[0] = 0);
	REFUSED(-EPROTO, page.magic[1]++);
	REFUSED(-EPROTO, page.version = 3);
	REFUSED(-EPROTO, page.size = 71);
	REFUSED(-EAGAIN, page.generation = 0);
	REFUSED(-EAGAIN, page.generation = 5);
	REFUSED(-ESTALE, page.void_after[0] = 999);
	REFUSED(-ESTALE, page.as_of[0] = 1001);
	REFUSED(-ERANGE, page.as_of[1] = SECOND);
	REFUSED(-ERANGE, page.as_of[0] = INT64_MAX);
	REFUSED(-ERANGE, page.void_after[1] = -1);
	REFUSED(-ERANGE, page.bound_ns = -1);
	REFUSED(-ERANGE, page.drift_ppb = 1000000001);
	REFUSED(-ENODATA, page.status = 0);
	REFUSED(-ENODATA, page.status = 3);
	REFUSED(-ENODATA, page.status = -7);
}

/* ---- files --------------------------------------------------------------- */

static char path[] = "/tmp/check_utc.XXXXXX";

static void write_file(const struct page *page, size_t size, mode_t mode)
{
	FILE *to = fopen(path, "w");

	ck_assert_ptr_nonnull(to);
	ck_assert_uint_eq(fwrite(page, 1, size, to), size);
	ck_assert_int_eq(fclose(to), 0);
	ck_assert_int_eq(chmod(path, mode), 0);
}

static void make_path(void)
{
	strcpy(path, "/tmp/check_utc.XXXXXX");
	close(mkstemp(path));
}

static void remove_path(void)
{
	unlink(path);
}

/* Without a file, tsct_utc_read() returns the bound of this kernel, or "unknown". */
static __u32 kernel_source(void)
{
	struct tsct_utc utc;

	tsct_utc_read("/nonexistent/clockbound", TSCT_NOT_RESTORED, &utc);
	ck_assert_uint_ne(utc.source, TSCT_UTC_CLOCKBOUND);
	return utc.source;
}

/* The source of the bound that tsct_utc_read() returns with this file */
static __u32 source_with(const struct page *page, size_t size, mode_t mode)
{
	struct tsct_utc utc;

	write_file(page, size, mode);
	tsct_utc_read(path, TSCT_NOT_RESTORED, &utc);
	if (utc.source == TSCT_UTC_CLOCKBOUND)
		ck_assert_uint_ge(utc.error_ns, 40000);
	return utc.source;
}

CASE("files", make_path, remove_path);

TEST(test_file)
{
	struct page page = good;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	page.as_of[0] = now.tv_sec > 1 ? now.tv_sec - 1 : 0;
	page.void_after[0] = now.tv_sec + 1000;
	ck_assert_uint_eq(source_with(&page, sizeof(page), 0644), TSCT_UTC_CLOCKBOUND);
	/* A file that others may write is not used; nor is a short or stale one. */
	ck_assert_uint_eq(source_with(&page, sizeof(page), 0666), kernel_source());
	ck_assert_uint_eq(source_with(&page, sizeof(page) - 1, 0644), kernel_source());
	page.void_after[0] = page.as_of[0];
	ck_assert_uint_eq(source_with(&page, sizeof(page), 0644), kernel_source());
}

/* A writer that died while writing leaves an odd generation for ever; a FIFO has no
 * contents. Neither makes tsct_utc_read() wait. */
TEST(test_file_never_waits)
{
	struct page page = good;
	struct tsct_utc utc;

	page.generation = 5;
	ck_assert_uint_eq(source_with(&page, sizeof(page), 0644), kernel_source());
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	tsct_utc_read(path, TSCT_NOT_RESTORED, &utc);
	ck_assert_uint_eq(utc.source, kernel_source());
}
