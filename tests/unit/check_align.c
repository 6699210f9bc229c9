/* SPDX-License-Identifier: MIT */
/*
 * Traces that align reads: hostile bytes in each format never break it, and the ranges of times are
 * those of a plain model.
 * test-wing: align
 */
#include "seed.h"
#include "suite.h"

#include "tools/wings/align/align_clock.c"
#include "tools/wings/align/align_input.c"
#include "tools/wings/align/align_made.c"
#include "tools/wings/align/align_range.c"
#include "tools/wings/align/align_scan.c"
#include "tools/wings/align/align_scan_proto.c"

/* ---- what the sources call ------------------------------------------------- */

static char said[4096];
static FILE *say;

FILE *ctl_error_start(void)
{
	say = fmemopen(said, sizeof(said), "w");
	return say;
}

void ctl_error_finish(void)
{
	fclose(say);
}

const char *node_history_reason(int err)
{
	return strerror(-err);
}

bool node_history_parse_boot(const char *text, __u8 ret[16])
{
	memset(ret, *text, 16);
	return strlen(text) == 32;
}

/* ---- ranges ---------------------------------------------------------------- */

#define SPACE	400	/* times of the model, in units of UNIT */
#define UNIT	1000000LL

RANDOM_TEST(test_ranges, 8)
{
	struct align_ranges r = { 0 };
	bool has[SPACE] = { 0 };
	__u32 at;

	for (int i = 0; i < 300; i++) {
		const int lo = (int)any(SPACE), hi = (int)any(8) ? lo : lo + (int)any((__u64)(SPACE - lo));

		ck_assert_int_eq(align_ranges_add(&r, lo * UNIT, hi * UNIT), 0);
		for (int k = lo; k <= hi; k++)
			has[k] = true;
		ck_assert_uint_le(r.nr, ALIGN_RANGES);
		for (at = 0; at < r.nr; at++) {
			ck_assert(r.all[at].lo <= r.all[at].hi);
			ck_assert(!at || r.all[at].lo - r.all[at - 1].hi > r.apart);
			/* Ranges begin and end at a time that was added. */
			ck_assert(has[r.all[at].lo / UNIT] && has[r.all[at].hi / UNIT]);
		}
		for (int k = 0; k < SPACE; k++) {
			for (at = 0; at < r.nr; at++)
				if (r.all[at].lo <= k * UNIT && k * UNIT <= r.all[at].hi)
					break;
			ck_assert(!has[k] || at < r.nr);
		}
	}
	free(r.all);
}

TEST(test_many_ranges)
{
	struct align_ranges r = { 0 };

	for (int i = 0; i < 20000; i++)
		ck_assert_int_eq(align_ranges_add(&r, i * 1000000000LL, i * 1000000000LL + 5), 0);
	ck_assert_uint_le(r.nr, ALIGN_RANGES);
	ck_assert_int_eq(r.all[0].lo, 0);
	ck_assert_int_eq(r.all[r.nr - 1].hi, 19999 * 1000000000LL + 5);
	free(r.all);
}

/* ---- hostile traces --------------------------------------------------------- */

static const char perfetto[] =
	/* a snapshot with a clock of its sequence, in us and incremental; times of that clock, of
	 * CLOCK_BOOTTIME, of ftrace, also compact; the label of our exports */
	"\012\047\062\035\012\006\010\006\020\240\376\012\012\006\010\003\020\240\376\012"
	"\012\011\010\100\020\005\030\001\040\350\007\020\006\332\003\003\320\003\100\120"
	"\002"
	"\012\006\100\007\150\002\120\002"
	"\012\011\100\260\314\013\320\003\006\120\001"
	"\012\026\012\022\010\000\022\006\010\230\324\013\020\005\042\006\012\004\200\334"
	"\013\036\120\001"
	"\012\073\342\003\066\010\003\032\062\010\001\102\056\145\162\162\157\162\040\142"
	"\157\165\156\144\163\072\040\103\114\117\103\113\137\122\105\101\114\124\111\115"
	"\105\040\067\040\156\163\054\040\125\124\103\040\165\156\153\156\157\167\156\120"
	"\001";
static const char json[] =
	"{\"traceEvents\":[{\"ph\":\"M\",\"ts\":0},{\"ph\":\"X\",\"ts\":12.345,\"dur\":3,"
	"\"args\":{\"a\":[1,null,\"x\\\"\"]}},{\"name\":\"b\",\"ts\":\"17\"}],"
	"\"baseTimeNanoseconds\":1790000000000000000,"
	"\"otherData\":{\"exported_by\":\"tsctrace 1\",\"clock_error_ns\":5,\"nodes\":1}}";
static const char script[] =
	"a prog 12 [1] 5/7 [000] 17.000123:  1 cycles: x\n\tffff [unknown] (/x)\n\n"
	"prog 5 [001] 18.500001: 1 cycles:\n\tffff [unknown] (/x)\n\n";
static const char ftrace[] =
	"# tracer: nop\n#\n a:b [c]-5   [001] d..2. 6.000123: tracing_mark_write: I|1|x\n"
	"  <idle>-0 [000] d..1 7.123456: sched_switch: prev_comm=swapper\n";
static const char fuchsia[] =
	"\x10\x00\x04\x46\x78\x54\x16\x00" "\x21\0\0\0\0\0\0\0\x00\xca\x9a\x3b\0\0\0\0"
	"\x54\0\x04\0\0\0\x01\x80\x05\x01\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0x\0\0\0\0\0\0\0";

static const char journal[] =
	"{\"_PID\":\"7\",\"MESSAGE\":[104,105,-1],\"_COMM\":null,\"__MONOTONIC_TIMESTAMP\":\"12345\","
	"\"_BOOT_ID\":\"0123456789abcdef0123456789abcdef\",\"_EXE\":[\"a\",\"b\"]}\n"
	"{\"_BOOT_ID\":\"0123456789abcdef0123456789abcdef\",\"__MONOTONIC_TIMESTAMP\":\"1\"}\n";

static const struct {
	const char *bytes;
	size_t len;
} seeds[] = {
	{ perfetto, sizeof(perfetto) - 1 }, { json, sizeof(json) - 1 },
	{ script, sizeof(script) - 1 }, { ftrace, sizeof(ftrace) - 1 },
	{ fuchsia, sizeof(fuchsia) - 1 }, { journal, sizeof(journal) - 1 },
};

static int scan(const char *bytes, size_t len, struct align_input *in)
{
	char path[] = "/tmp/check_align.XXXXXX";
	int fd = mkstemp(path), err;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	close(fd);
	in->path = path;
	err = align_scan(in);
	unlink(path);
	in->path = NULL;
	return err;
}

static void check_ranges(struct align_input *in)
{
	ck_assert_uint_le(in->ranges.nr, ALIGN_RANGES);
	for (__u32 i = 0; i < in->ranges.nr; i++)
		ck_assert(in->ranges.all[i].lo <= in->ranges.all[i].hi &&
			  (!i || in->ranges.all[i - 1].lo <= in->ranges.all[i].lo));
	free(in->ranges.all);
	if (in->made)
		fclose(in->made);
}

LOOP_TEST(test_seeds, 0, ROWS(seeds))
{
	static const enum align_kind kinds[] = {
		ALIGN_PERFETTO, ALIGN_JSON, ALIGN_PERF_SCRIPT, ALIGN_FTRACE, ALIGN_FUCHSIA,
		ALIGN_JOURNAL,
	};
	struct align_input in = { .clock = ALIGN_UNNAMED };

	if (kinds[_i] != ALIGN_PERFETTO && kinds[_i] != ALIGN_JSON &&
	    kinds[_i] != ALIGN_JOURNAL) {
		in.clock = TSCT_HISTORY_BOOTTIME;
		in.clock_given = true;
	}
	ck_assert_msg(!scan(seeds[_i].bytes, seeds[_i].len, &in), "%s", said);
	ck_assert_int_eq(in.kind, kinds[_i]);
	ck_assert_uint_gt(in.ranges.nr, 0);
	check_ranges(&in);
}

LOOP_TEST(test_hostile, 0, ROWS(seeds))
{
	const size_t size = seeds[_i].len;

	for (int round = 0; round < unit_repeats(3000); round++) {
		struct align_input in = { .clock = ALIGN_UNNAMED };
		char *bytes = malloc(size);
		size_t len = any(8) ? size : any(size);

		memcpy(bytes, seeds[_i].bytes, size);
		for (int k = (int)any(5); k >= 0; k--) {
			const size_t at = any(size);
			const size_t part = any(20) < size - at ? any(20) : 0, from = any(size);

			if (any(3))
				bytes[at] = (char)(any(2) ? bytes[at] ^ (1 << any(8)) : (int)any(256));
			else if (at + part < size && from + part < size)
				memmove(bytes + at, bytes + from, part);
		}
		if (_i && any(2)) {
			in.clock = TSCT_HISTORY_MONOTONIC;
			in.clock_given = true;
		}
		if (scan(bytes, len, &in))
			ck_assert_uint_gt(strlen(said), 10);
		check_ranges(&in);
		free(bytes);
	}
}
