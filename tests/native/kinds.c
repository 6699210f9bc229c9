// SPDX-License-Identifier: MIT
/*
 * kinds DIR [ROUNDS]: writes a recording to DIR with all cases that exporters must
 * handle: slices that nest, overlap, have no end or no beginning; counters of all
 * types; messages, some of which never arrive; names and texts that need quoting;
 * losses. It has two channels, three CPUs, and a counter of 2.596 GHz.
 */
#include <float.h>
#include <math.h>

#include "lib/clockpage/clock_params.h"
#include "one.h"

enum { OUTER = 16, OUTER_END, INNER, INNER_END, LEVEL, LOAD, WORD, PUT, GOT,
       ASK, ANSWER, EVERY, LABEL };
enum { SWITCH = 16, ENTER };

static __u64 now;

static void put(__u32 stream, __u32 cpu, __u32 tid, __u32 id, const void *payload,
		__u32 len)
{
	put_at(now += 1237, stream, cpu, tid, id, payload, len);
}

static void put_u32(__u32 cpu, __u32 tid, __u32 id, __u32 value)
{
	put(0, cpu, tid, id, &value, sizeof(value));
}

static void put_text(__u32 tid, const char *text)
{
	put(0, 0, tid, WORD, text, strlen(text) + 1);
}

static void put_switch(__u32 cpu, __u32 tid, __s32 next, const char *comm)
{
	struct { char comm[16]; __s32 tid; } to = { "", next };

	snprintf(to.comm, sizeof(to.comm), "%s", comm);
	put(1, cpu, tid, SWITCH, &to, sizeof(to));
}

static void calibrate(void)
{
	rec.source = TSCT_SOURCE_TSC;
	rec.begin = 5000000000000ULL;
	rec.end = rec.begin + 26000000000ULL;
	rec.real.base_cycles = rec.begin - 777;
	rec.real.base_ns = 1763678962123456789LL;
	rec.real.mult = (tsct_u128)1000000000 * (1ULL << TSCT_CLOCK_SHIFT) /
		2596123456;
	rec.real.slew_mult = rec.real.mult;
	rec.real.as_of_cycles = rec.begin + 13000000000ULL;
	rec.real.holdover_after_cycles = rec.begin + 26000000000ULL;
	rec.real.void_after_cycles = rec.begin + (1ULL << 50);
	rec.real.past_error_ps = 1250000;
	rec.real.error_ps = 250000;
	rec.real.growth = tsct_growth(rec.real.mult, 100);
	rec.real.holdover_growth = tsct_growth(rec.real.mult, 15000);
	rec.status = TSCT_STATUS_SYNCHRONIZED;
}

static void describe(void)
{
	tsct_recording_make(&rec, 1);
	rec.nodes[0].host = strdup("node \"1\", \303\251");
	rec.nodes[0].kernel = strdup("6.1");
	rec.nodes[0].command = strdup("make -C 'a b'");
	rec.nodes[0].provider = strdup("embedded");
	rec.clock_origin = strdup("in-process");
	tsct_recording_locate(&rec, 3);
	calibrate();
	now = rec.begin + 1000;
	if (tsct_recording_add_stream(&rec, "default") ||
	    tsct_recording_add_stream(&rec, "kernel") != 1)
		abort();
	rec.streams[1].kernel = 1;
	rec.streams[1].loss[2].cause[TSCT_LOSS_FULL] = 5;
}

static void define_all(void)
{
	define(0, OUTER, "outer", TSCT_KIND_BEGIN, "nr:u32");
	define(0, OUTER_END, "outer", TSCT_KIND_END, "nr:u32");
	define(0, INNER, "inner", TSCT_KIND_BEGIN, "nr:u32");
	define(0, INNER_END, "inner", TSCT_KIND_END, "nr:u32");
	define(0, LEVEL, "level", TSCT_KIND_COUNTER, "value:u32");
	define(0, LOAD, "load", TSCT_KIND_COUNTER,
	       "big:u64,small:s64,ratio:f64,part:f32,of:string");
	define(0, WORD, "word", TSCT_KIND_INSTANT, "text:string");
	define(0, PUT, "packet", TSCT_KIND_SEND, "seq:u32,bytes:u64");
	define(0, GOT, "packet", TSCT_KIND_RECEIVE, "seq:u32,from:u32");
	define(0, ASK, "ask", TSCT_KIND_SEND, "id:u32");
	define(0, ANSWER, "served", TSCT_KIND_RECEIVE, "id:u32");
	define(0, EVERY, "every", TSCT_KIND_INSTANT,
	       "u8:u8,u16:u16,u32:u32,u64:u64,s8:s8,s16:s16,s32:s32,s64:s64,"
	       "f32:f32,f64:f64,bytes:bytes[4],chars:chars[8],hex:u64/x,"
	       "call:s64/syscall,cpu:u8,_x:u8,x:u8,text:string");
	define(0, LABEL, "label", TSCT_KIND_COUNTER, "name:string");
	define(1, SWITCH, "sched_switch", TSCT_KIND_INSTANT,
	       "next_comm:chars[16],next_tid:s32");
	define(1, ENTER, "sys_enter", TSCT_KIND_INSTANT,
	       "id:s64/syscall,arg0:u64/x");
}

static void put_every(__u64 u64, __s64 s64, double f64, float f32, __s64 call)
{
	struct {
		__u8 u8; __u16 u16; __u32 u32; __u64 u64;
		__s8 s8; __s16 s16; __s32 s32; __s64 s64;
		float f32; double f64;
		__u8 bytes[4]; char chars[8]; __u64 hex; __s64 call;
		__u8 cpu, _x, x; char text[32];
	} __attribute__((packed)) e = {
		255, 65535, 4294967295U, u64, -128, -32768, -2147483647, s64,
		f32, f64, "\1\2\3", "eight b", 0xdeadbeefcafebabeULL, call,
		77, 1, 2, "\033]0;x\a \"q\" \\ \303\251\377,\r\n",
	};

	put(0, 2, 100, EVERY, &e, sizeof(e) - sizeof(e.text) +
	    strlen(e.text) + 1);
}

static void put_load(__u64 big, __s64 small, double ratio, float part)
{
	struct {
		__u64 big; __s64 small; double ratio; float part; char of[4];
	} __attribute__((packed)) e = { big, small, ratio, part, "a,b" };

	put(0, 1, 101, LOAD, &e, sizeof(e));
}

/* Slices of threads 100, 101 and 102, and of the idle threads of two CPUs */
static void put_slices(__u32 i)
{
	put_u32(0, 100, OUTER, i);
	put_u32(0, 100, INNER, i);
	put_u32(1, 101, INNER, i);
	put_u32(0, 100, INNER_END, i);
	put_u32(0, 100, OUTER_END, i);
	/* Slices that overlap */
	put_u32(1, 101, OUTER, i);
	put_u32(1, 101, INNER_END, i);
	put_u32(1, 101, OUTER_END, i);
	put_u32(2, 102, INNER_END, i);	/* a slice's end without its beginning */
	put_u32(0, 0, OUTER, i);	/* slices of the idle threads of two CPUs */
	put_u32(1, 0, OUTER, i);
	put_u32(0, 0, OUTER_END, i);
	put_u32(1, 0, OUTER_END, i);
}

static void put_messages(__u32 i)
{
	struct { __u32 seq; __u64 bytes; } __attribute__((packed)) sent = {
		i, 1000 + i
	};
	struct { __u32 seq, from; } got = { i, 100 };

	put(0, 0, 100, PUT, &sent, sizeof(sent));
	/* the same message number in a different event */
	put_u32(0, 100, ASK, i);
	put(0, 1, 101, GOT, &got, sizeof(got));
	put_u32(2, 102, ANSWER, i);
	sent.seq = got.seq = i + 1000000;
	if (i % 10 == 3)
		/* a message that is sent, but never received */
		put(0, 0, 100, PUT, &sent, sizeof(sent));
	if (i % 10 == 4)
		/* a message that is received, but was never sent */
		put(0, 1, 101, GOT, &got, sizeof(got));
}

static void put_rest(__u32 i)
{
	put_u32(0, 100, LEVEL, i % 7);
	put_load(UINT64_MAX - i, INT64_MIN + i, i / 3.0, -0.5f);
	put_load((1ULL << 53) + 1, -(1LL << 53) - 1, NAN, INFINITY);
	put_load(0, 0, -INFINITY, FLT_MIN);
	put_text(100, "");
	put_text(100, "plain");
	put_text(100, "comma, \"quote\" \\ and\nline\r\nends\ttab");
	put_text(102, "\303\251\342\202\254\360\237\230\200 \302\205 \377\376 \001\033[31m");
	put_text(102, "=1+1 ");
	put_every(UINT64_MAX, INT64_MIN, -1e300, 0.5f, 0);
	put_every(1ULL << 53, 1LL << 53, NAN, -INFINITY, 1 << 20);
	put_every(0, -1, DBL_MIN, NAN, -1);
	put(0, 0, 100, LABEL, "of nothing", 11);
}

int main(int argc, char **argv)
{
	__u32 rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 20, i;

	if (argc < 2)
		return 2;
	describe();
	define_all();
	begin_writing(argv[1]);
	put_switch(0, 0, 100, "first \"name\"");
	for (i = 0; i < rounds; i++) {
		put_slices(i);
		put_messages(i);
		put_rest(i);
	}
	put_switch(1, 100, 101, "late");
	put_switch(1, 101, 100, "renamed");
	put_u32(2, 103, OUTER, 0);	/* a slice that never ends */
	put_u32(2, 103, INNER, 0);
	if (rec.end < now)
		rec.end = now + 1;
	end_writing();
	return 0;
}
