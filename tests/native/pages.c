// SPDX-License-Identifier: MIT
/*
 * pages DIR hostile: writes a recording with names and texts that look like HTML or
 * script or reverse the direction of text, with fields of all sizes, and with payloads
 * that a page truncates, and 80 slices in each other, whose name is that of idle CPUs.
 * pages DIR many THREADS EVENTS: writes a recording with more threads and events than a
 * page shows individually: slices, of which every 1000th is long, a counter, messages,
 * and few marks.
 */
#include "one.h"

#define MS	1000000ULL

static __u64 now = 10000 * MS;

static void put(__u32 stream, __u32 cpu, __u32 tid, __u32 id, const void *payload,
		__u32 len)
{
	put_at(now += 1000, stream, cpu, tid, id, payload, len);
}

static void describe(const char *host, const char *command)
{
	if (tsct_recording_make(&rec, 1) || tsct_recording_locate(&rec, 4))
		abort();
	rec.nodes[0].host = strdup(host);
	rec.nodes[0].kernel = strdup(host);
	rec.nodes[0].command = strdup(command);
	rec.nodes[0].provider = strdup(host);
	rec.clock_origin = strdup(host);
	rec.begin = rec.end = now;
	rec.real.base_ns = 1767225600000 * (__s64)MS;
	rec.real.mult = rec.real.slew_mult = 1ULL << TSCT_CLOCK_SHIFT;
	rec.real.as_of_cycles = now;
	rec.real.holdover_after_cycles = now + 100000 * MS;
	rec.real.void_after_cycles = now + 1000000 * MS;
	rec.real.past_error_ps = rec.real.error_ps = 40000;
	rec.status = TSCT_STATUS_SYNCHRONIZED;
	if (tsct_recording_add_stream(&rec, "app") ||
	    tsct_recording_add_stream(&rec, "kernel") != 1)
		abort();
	rec.streams[1].kernel = 1;
}

/* ---- hostile names and texts ------------------------------------------------- */

static const char *const texts[] = {
	"</script><script>document.title='taken'</script>",
	"<!--<script>", "--><img src=x onerror=\"document.title='taken'\">",
	"' onload='document.title=1' \" &amp; &lt; \\u003c ${1}`",
	"\342\200\256txet denrut\342\200\254 \342\201\246iso\342\201\251",
	"\001\033[31m\302\205\177\357\273\277", "\377\376\300\200 bad UTF-8",
	"\303\251\342\202\254\360\237\230\200 fine", "]]>", "",
};

static void put_text(__u32 tid, const char *text)
{
	put(0, 0, tid, 16, text, strlen(text) + 1);
}

static void switch_to(__s32 tid, const char *comm)
{
	struct { char comm[16]; __s32 tid; } to = { "", tid };

	memcpy(to.comm, comm, strlen(comm) < 15 ? strlen(comm) : 15);
	put(1, 1, 0, 16, &to, sizeof(to));
}

static void put_hostile(void)
{
	char large[1001] = "";

	for (__u32 i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		put_text(100 + i, texts[i]);
		switch_to(100 + i, texts[i]);
	}
	memset(large, '<', sizeof(large) - 1);
	put_text(100, large);
	for (__u32 i = 0; i < 160; i++)
		put(0, 0, 101, i < 80 ? 17 : 18, "", 0);
}

static int write_hostile(void)
{
	describe(texts[0], texts[2]);
	define(0, 16, "word", TSCT_KIND_INSTANT, "text:string");
	define(0, 17, "idle", TSCT_KIND_BEGIN, "");
	define(0, 18, "idle", TSCT_KIND_END, "");
	define(1, 16, "sched_switch", TSCT_KIND_INSTANT,
	       "next_comm:chars[16],next_tid:s32");
	return 0;
}

/* ---- many threads and events ------------------------------------------------ */

static void define_many(void)
{
	describe("many", "");
	define(0, 16, "job", TSCT_KIND_BEGIN, "nr:u32");
	define(0, 17, "job", TSCT_KIND_END, "nr:u32");
	define(0, 18, "level", TSCT_KIND_COUNTER, "n:u32");
	define(0, 19, "mail", TSCT_KIND_SEND, "nr:u32");
	define(0, 20, "mail", TSCT_KIND_RECEIVE, "nr:u32");
	define(0, 21, "mark", TSCT_KIND_INSTANT, "nr:u32");
	define(0, 22, "tick", TSCT_KIND_INSTANT, "");
}

static void put_u32(__u32 tid, __u32 id, __u32 value)
{
	put(0, tid % 4, tid, id, &value, sizeof(value));
}

static void put_many(__u32 threads, __u32 events)
{
	__u32 i, tid;

	for (i = 0; i + 8 <= events; i += 8) {
		tid = 1000 + i / 8 * 7 % threads;
		put_u32(tid, 16, i);
		if (i / 8 % 1000 == 500)
			now += MS;
		put_u32(tid, 18, i % 9);
		put_u32(tid, 19, i);
		put(0, tid % 4, tid, 22, "", 0);
		put(0, tid % 4, tid, 22, "", 0);
		put_u32(tid + 1, 20, i);
		put_u32(tid, 17, i);
		put_u32(tid, i % 8000 ? 18 : 21, i % 5);
	}
}

int main(int argc, char **argv)
{
	const bool many = argc == 5;

	if (argc < 3)
		return 2;
	if (many)
		define_many();
	else
		write_hostile();
	begin_writing(argv[1]);
	if (many)
		put_many(strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	else
		put_hostile();
	rec.end = now + 1;
	end_writing();
	return 0;
}
