/* SPDX-License-Identifier: MIT */
/* test-wing: otf2 */
/* OTF2 archives without libotf2: conversion of times, and lengths of files. */
#include "tools/wings/otf2/otf2_merge_work.h"
#include "tools/wings/otf2/otf2_merge.h"
#include "suite.h"

struct golden_otf2 {
	struct tsct_otf2_clock a, b;
	bool real;
	uint64_t old;
	uint32_t nr;
	struct tsct_otf2_offset offset[3];
	int err;
	uint64_t new;
};

#include "golden/otf2.h"

#define NR_GOLDEN ROWS(golden)

static void check_one(const struct golden_otf2 *g)
{
	struct tsct_otf2_offset at[3];
	struct tsct_otf2_offsets offsets = { .at = at, .nr = g->nr };
	struct tsct_otf2_scale scale;
	uint64_t new = 0;
	tsct_s128 old;

	memcpy(at, g->offset, sizeof(at));
	tsct_otf2_scale_make(&scale, &g->a, &g->b, g->real);
	old = tsct_otf2_offset_at(&offsets, g->old) + g->old;
	ck_assert_int_eq(tsct_otf2_scale_time(&scale, old, &new), g->err);
	ck_assert_msg(new == g->new, "vector %zd: %llu, not %llu", g - golden,
		      (unsigned long long)new, (unsigned long long)g->new);
}

CASE("times", NULL, NULL);

TEST(test_times_equal_exact_fractions)
{
	for (size_t i = 0; i < NR_GOLDEN; i++)
		check_one(&golden[i]);
}

TEST(test_lengths_are_rounded_up)
{
	const struct tsct_otf2_clock a = { .resolution = 1000 };
	const struct tsct_otf2_clock b = { .resolution = 3000 };
	struct tsct_otf2_scale scale;
	uint64_t length;

	tsct_otf2_scale_make(&scale, &a, &b, false);
	ck_assert_int_eq(tsct_otf2_scale_length(&scale, 4, &length), 0);
	ck_assert_uint_eq(length, 2);
	ck_assert_int_eq(tsct_otf2_scale_length(&scale, 3, &length), 0);
	ck_assert_uint_eq(length, 1);
	tsct_otf2_scale_make(&scale, &b, &a, false);
	ck_assert_int_eq(tsct_otf2_scale_length(&scale, UINT64_MAX, &length),
			 -ERANGE);
}

/* ---- lengths of files ---------------------------------------------------- */

#define CHUNK	256

static int fd;			/* descriptor of a memfd, because writing thousands
				 * of real files is slow */
static char path[64];
static uint8_t data[4 * CHUNK];
static size_t len, ends[256];	/* number of bytes in data[], and offset of each
				 * event's end */
static unsigned int nr;
static struct worker_status status;

static void put(uint8_t byte)
{
	data[len++] = byte;
}

static void put64(uint64_t v)
{
	memcpy(data + len, &v, sizeof(v));
	len += sizeof(v);
}

static void begin_chunk(void)
{
	put(3);
	put('B');
	put64(nr + 1);
	put64(0);
}

/* Writes event @n as one of four records: of a kind with one number of 2 bytes; of such
 * a kind with length 0xff, which means 0 bytes; preceded by attributes; with the length
 * in 64 bits. */
static void put_event(unsigned int n)
{
	put(5);
	put64(1000 + n);
	switch (n % 4) {
	case 0:
		put(12), put(2), put(1), put(2);
		break;
	case 1:
		put(13), put(0xff);
		break;
	case 2:
		put(6), put(3), put(0), put(0), put(0);
		put(31), put(2), put(0), put(0);
		break;
	case 3:
		put(83), put(0xff), put64(3), put(1), put(2), put(3);
		break;
	}
	ends[nr++] = len;
}

static void make_file(void)
{
	fd = memfd_create("check_otf2", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = nr = 0;
	begin_chunk();
	for (unsigned int n = 0; n < 40; n++) {
		if (len % CHUNK + 40 > CHUNK) {
			len += CHUNK - len % CHUNK; /* fills the rest of the chunk
						     * with zeros */
			begin_chunk();
		}
		put_event(n);
	}
	put(2);
	ck_assert_uint_gt(len, 2 * CHUNK);
}

static void remove_file(void)
{
	close(fd);
	memset(data, 0, sizeof(data));
}

static int scan(size_t size, struct tsct_otf2_extent *extent)
{
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(pwrite(fd, data, size, 0), (ssize_t)size);
	return tsct_otf2_scan(path, CHUNK, true, &status, extent);
}

static unsigned int whole_before(size_t size)
{
	unsigned int n = 0;

	while (n < nr && ends[n] <= size)
		n++;
	return n;
}

CASE("files", make_file, remove_file);

TEST(test_detects_truncated_files)
{
	struct tsct_otf2_extent extent;

	ck_assert_int_eq(scan(len, &extent), 0);
	ck_assert_uint_eq(extent.records, nr);
	ck_assert_uint_eq(extent.first, 1000);
	ck_assert_uint_eq(extent.last, 1000 + nr - 1);
	for (size_t size = 0; size < len; size++) {
		ck_assert_int_eq(scan(size, &extent), -EBADMSG);
		ck_assert_uint_eq(extent.records, whole_before(size));
	}
}

/* With a flipped bit, reading succeeds or fails with -EBADMSG, and never returns more
 * events than fit into the file. */
TEST(test_flipped_bits)
{
	struct tsct_otf2_extent extent;
	unsigned int bad = 0;
	int err;

	for (size_t bit = 0; bit < 8 * len; bit++) {
		data[bit / 8] ^= 1 << bit % 8;
		err = scan(len, &extent);
		data[bit / 8] ^= 1 << bit % 8;
		ck_assert(err == 0 || err == -EBADMSG);
		ck_assert_uint_le(extent.records, len / 2);
		ck_assert_uint_le(extent.bytes, len);
		bad += err != 0;
	}
	ck_assert_uint_gt(bad, len);
}

TEST(test_other_byte_order)
{
	struct tsct_otf2_extent extent;

	memset(data, 0, sizeof(data));
	len = 0;
	put(3), put('#');
	put64(__builtin_bswap64(1)), put64(0);
	put(5), put64(__builtin_bswap64(77));
	put(83), put(0xff), put64(__builtin_bswap64(1)), put(9), put(2);
	ck_assert_int_eq(scan(len, &extent), 0);
	ck_assert_uint_eq(extent.records, 1);
	ck_assert_uint_eq(extent.first, 77);
}
