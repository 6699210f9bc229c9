// SPDX-License-Identifier: MIT
/* The statedump: its stream class, and the tables of threads and cgroups made of it */
#include "recordings.h"
#include "lib/export/threads.c"

static struct tsct_recording rec;
static struct tsct_recording_writer *writer;
static int dirfd_;
static struct tsct_identity identity;

static void begin(void)
{
	dirfd_ = make_dir();
	make_recording(&rec, 2);
	ck_assert_int_eq(tsct_statedump_add(&rec), 0);
	ck_assert_int_eq(tsct_recording_writer_open(dirfd_, &rec, &writer), 0);
}

static void put(__u32 id, __u64 after, const void *payload, __u32 len)
{
	const struct tsct_event event = {
		.id = id, .cycles = rec.begin + after, .payload = payload, .len = len,
	};

	ck_assert_int_eq(tsct_recording_writer_event(writer, rec.statedump, &event), 0);
	ck_assert_uint_eq(tsct_loss_total(&rec.streams[rec.statedump].loss[0]), 0);
}

static void put_thread(__u64 after, __u32 tid, __u32 tgid, __u64 start_ns, const char *name)
{
	struct tsct_statedump_thread t = {
		.tid = tid, .tgid = tgid, .start_ns = start_ns, .ns_tid = tid % 100,
		.ns_tgid = tgid % 100, .pid_ns = 7, .cgroup = 42,
	};

	memcpy(t.name, name, strlen(name));
	put(TSCT_STATEDUMP_THREAD, after, &t, sizeof(t));
}

static void end(void)
{
	rec.end = rec.begin + 1000000000;
	ck_assert_int_eq(tsct_recording_writer_finish(writer), 0);
	tsct_recording_writer_close(writer);
	ck_assert_int_eq(tsct_identity_read(dir_name, &identity), 0);
}

static void drop(void)
{
	tsct_identity_free(&identity);
	tsct_recording_free(&rec);
	drop_dir(dirfd_);
}

static const struct tsct_identity_thread *find(__u32 tid, __u64 after)
{
	return tsct_identity_find(&identity, 0, tid, rec.begin + after);
}

CASE("identity", begin, drop);

TEST(test_threads)
{
	put_thread(1000, 300, 200, 5000000000, "a name of 16 byt");
	put_thread(1000, 200, 200, 4000000000, "first");
	put_thread(2000, 300, 200, 5000000000, "second");
	/* /proc rounds start times down to 10 ms. */
	put_thread(3000, 300, 200, 4995000000, "third");
	put_thread(4000, 300, 300, 6000000000, "another");
	end();
	ck_assert_uint_eq(identity.nr_threads, 5);
	ck_assert_str_eq(find(300, 0)->name, "a name of 16 byt");
	ck_assert_str_eq(find(300, 1999)->name, "a name of 16 byt");
	ck_assert_str_eq(find(300, 2000)->name, "second");
	ck_assert_uint_eq(find(300, 3500)->state.tgid, 200);
	ck_assert_uint_eq(find(300, 3500)->generation, 1);
	ck_assert_uint_eq(find(300, 900000)->generation, 2);
	ck_assert_uint_eq(find(300, 900000)->state.tgid, 300);
	ck_assert_str_eq(find(200, 900000)->name, "first");
	ck_assert_ptr_null(find(100, 900000));
	ck_assert_ptr_null(find(201, 900000));
	ck_assert_ptr_null(find(400, 900000));
	ck_assert_ptr_null(tsct_identity_find(&identity, 1, 300, rec.begin));
}

/* The end of a thread is known by the number, also if the number is used again. */
TEST(test_ends)
{
	const __u32 first = 300, other = 200;

	put_thread(1000, 300, 200, 5000000000, "first");
	put(TSCT_STATEDUMP_THREAD_END, 2000, &first, sizeof(first));
	put(TSCT_STATEDUMP_THREAD_END, 3000, &other, sizeof(other));
	put_thread(4000, 300, 300, 6000000000, "again");
	put(TSCT_STATEDUMP_THREAD_END, 5000, &first, sizeof(first));
	end();
	ck_assert_uint_eq(identity.nr_ends, 3);
	ck_assert_uint_eq(identity.ends[0].tid, 300);
	ck_assert_uint_eq(identity.ends[0].tick, rec.begin + 2000);
	ck_assert_uint_eq(identity.ends[1].tid, 200);
	ck_assert_uint_eq(identity.ends[2].tick, rec.begin + 5000);
	ck_assert_uint_eq(find(300, 2000)->generation, 1);
	ck_assert_uint_eq(find(300, 5000)->generation, 2);
}

/* A number that was used again within the 10 ms to which /proc rounds start times, by a program
 * that chooses numbers. The third state is from /proc, of a thread that was not reaped. */
TEST(test_used_again_at_once)
{
	const __u32 tid = 300;

	put_thread(1000, tid, tid, 5003000000, "first");
	put(TSCT_STATEDUMP_THREAD_END, 2000, &tid, sizeof(tid));
	put_thread(2500, tid, tid, 5000000000, "zombie");
	put_thread(3000, tid, tid, 5004000000, "second");
	put(TSCT_STATEDUMP_THREAD_END, 4000, &tid, sizeof(tid));
	put_thread(5000, tid, tid, 5900000000, "third");
	end();
	ck_assert_uint_eq(find(tid, 2600)->generation, 1);
	ck_assert_uint_eq(find(tid, 2999)->until, rec.begin + 2999);
	ck_assert_uint_eq(find(tid, 2999)->end, rec.begin + 2000);
	ck_assert_str_eq(find(tid, 3000)->name, "second");
	ck_assert_uint_eq(find(tid, 3000)->generation, 2);
	ck_assert_uint_eq(find(tid, 4999)->end, rec.begin + 4000);
	ck_assert_uint_eq(find(tid, 5000)->generation, 3);
	ck_assert_uint_eq(find(tid, 5000)->end, UINT64_MAX);
}

#define BOOT_NS	1000000000000ULL	/* CLOCK_BOOTTIME when the recording begins */

/* A tick is a nanosecond here. */
static void put_last_pid(__u64 after, __u32 tid)
{
	const struct tsct_statedump_last_pid last = {
		.tid = tid, .boottime_ns = BOOT_NS + after,
	};

	put(TSCT_STATEDUMP_LAST_PID, after, &last, sizeof(last));
}

static const char *name_at(__u32 tid, __u64 after)
{
	const struct tsct_identity_thread *t = find(tid, after);

	return t ? t->name : "unknown";
}

#define MS	1000000ULL

static __u32 generation_at(__u32 tid, __u64 after)
{
	const struct tsct_identity_thread *t = find(tid, after);

	return t ? t->generation : 0;
}

/* Until the tick of tsct_identity_until(), a number is of one thread. */
static void expect_until(__u32 tid)
{
	__u64 after, until, step;

	for (after = 0; after < 900 * MS; after += MS) {
		until = tsct_identity_until(&identity, find(tid, after),
					    rec.begin + after) - rec.begin;
		ck_assert_uint_ge(until, after);
		for (step = after; step <= until && step < 900 * MS; step += MS)
			ck_assert_uint_eq(generation_at(tid, step),
					  generation_at(tid, after));
	}
}

/* Both threads started longer ago than the counter counts. */
TEST(test_used_again_before)
{
	put_last_pid(0, 250);
	put_thread(10 * MS, 300, 300, 1000, "old");
	put_thread(20 * MS, 300, 300, 1000 * MS, "new");
	end();
	ck_assert_uint_eq(find(300, 20 * MS)->from, 0);
	ck_assert_uint_eq(identity.threads[0].until, rec.begin + 10 * MS);
}

/* A number that was used again: the thread's start decides, and whether the kernel can have
 * given the number to a thread that was not seen. */
TEST(test_used_again)
{
	put_last_pid(0, 250);
	put_thread(10 * MS, 300, 300, 1000, "old");
	put_thread(10 * MS, 280, 280, 1000, "long");
	put_last_pid(100 * MS, 270);
	put_last_pid(200 * MS, 310);	/* 280 and 300 were passed: both may be others */
	put_thread(210 * MS, 280, 280, 1000, "long");
	put_last_pid(300 * MS, 400);
	put_thread(400 * MS, 300, 300, BOOT_NS + 150 * MS, "new");
	/* Its own number is passed after the event before it is seen. */
	put_thread(410 * MS, 450, 450, BOOT_NS + 405 * MS, "fresh");
	put_last_pid(500 * MS, 460);
	put_last_pid(600 * MS, 200);	/* the numbers began again */
	put_last_pid(700 * MS, 440);
	put_last_pid(800 * MS, 455);
	end();
	ck_assert_str_eq(name_at(300, 1), "old");
	ck_assert_str_eq(name_at(300, 100 * MS), "old");
	ck_assert_str_eq(name_at(300, 140 * MS), "unknown");
	ck_assert_str_eq(name_at(300, 151 * MS), "new");
	ck_assert_str_eq(name_at(300, 600 * MS), "new");
	ck_assert_str_eq(name_at(300, 700 * MS), "unknown");
	ck_assert_str_eq(name_at(280, 150 * MS), "long");
	ck_assert_str_eq(name_at(280, 599 * MS), "long");
	ck_assert_str_eq(name_at(450, 403 * MS), "unknown");
	ck_assert_str_eq(name_at(450, 405 * MS), "fresh");
	ck_assert_str_eq(name_at(450, 700 * MS), "fresh");
	ck_assert_str_eq(name_at(450, 701 * MS), "unknown");
	ck_assert_uint_eq(find(300, 600 * MS)->generation, 2);
	expect_until(280);
	expect_until(300);
	expect_until(450);
	expect_until(451);
	ck_assert_uint_eq(find(280, 599 * MS)->generation, 1);
}

/* Threads that began before the first event of the last number */
TEST(test_before_first_last_pid)
{
	put_thread(10 * MS, 300, 300, BOOT_NS + 10 * MS, "first");
	put_last_pid(20 * MS, 303);
	put_last_pid(100 * MS, 400);
	end();
	ck_assert_str_eq(name_at(300, 12 * MS), "first");
	ck_assert_str_eq(name_at(300, 90 * MS), "first");
	ck_assert_str_eq(name_at(300, 500 * MS), "first");
}

/* Events of the last number, as a changed file may have them */
TEST(test_changed_last_pids)
{
	put_thread(1, 300, 300, ~0ULL, "thread");
	for (__u32 i = 2; i < 200; i++) {
		const struct tsct_statedump_last_pid last = {
			.tid = i * 2654435761U, .boottime_ns = i * 0x9e3779b97f4a7c15ULL,
		};

		put(TSCT_STATEDUMP_LAST_PID, i / 3, &last, sizeof(last));
	}
	put_thread(100, 300, 300, 0, "thread");
	end();
	for (__u32 i = 0; i < 200; i++)
		name_at(300, i);
}

TEST(test_cgroups)
{
	__u8 payload[TSCT_STATEDUMP_BYTES_MAX];
	const __u64 id = 42;
	__u32 len = 0;

	tsct_statedump_put(payload, &len, &id, sizeof(id));
	tsct_statedump_put_text(payload, &len, "/a/b");
	put(TSCT_STATEDUMP_CGROUP, 1, payload, len);
	end();
	ck_assert_str_eq(tsct_identity_cgroup(&identity, 0, 42), "/a/b");
	ck_assert_ptr_null(tsct_identity_cgroup(&identity, 0, 43));
	ck_assert_ptr_null(tsct_identity_cgroup(&identity, 1, 42));
}

/* A text that is too long is cut off, and the event stays valid. */
TEST(test_long_text)
{
	static char text[2 * TSCT_STATEDUMP_BYTES_MAX];
	__u8 payload[TSCT_STATEDUMP_BYTES_MAX];
	const __u64 id = 42;
	__u32 len = 0;

	memset(text, 'x', sizeof(text) - 1);
	tsct_statedump_put(payload, &len, &id, sizeof(id));
	tsct_statedump_put_text(payload, &len, text);
	ck_assert_uint_eq(len, TSCT_STATEDUMP_BYTES_MAX);
	put(TSCT_STATEDUMP_CGROUP, 1, payload, len);
	end();
	ck_assert_uint_eq(strlen(tsct_identity_cgroup(&identity, 0, 42)),
			  TSCT_STATEDUMP_BYTES_MAX - 9);
}

/* The statedump is not among the events, nor in any sum. */
TEST(test_not_events)
{
	struct tsct_balance balance;
	struct tsct_trace_event e;
	struct tsct_trace *trace;
	char why[256];

	put_thread(1000, 300, 200, 5000000000, "thread");
	end();
	ck_assert_int_eq(tsct_trace_open(dir_name, NULL, NULL, &trace, why, sizeof(why)), 0);
	ck_assert_uint_eq(tsct_trace_channels(trace), rec.nr_streams);
	ck_assert_uint_eq(tsct_trace_recording(trace)->statedump, rec.nr_streams);
	ck_assert_int_eq(tsct_trace_next(trace, &e), 0);
	tsct_recording_balance(tsct_trace_recording(trace), -1, &balance);
	ck_assert_uint_eq(balance.recorded, 0);
	ck_assert(balance.exact);
	ck_assert(!tsct_recording_lossy(tsct_trace_recording(trace)));
	tsct_trace_close(trace);
}

CASE("stream", NULL, NULL);

/* Names of channels, and sync samples, are kept apart from the statedump. */
TEST(test_stream_name)
{
	struct tsct_recording r = { .complete = 0 };

	ck_assert_int_eq(tsct_recording_make(&r, 1), 0);
	ck_assert_int_eq(tsct_recording_locate(&r, 1), 0);
	ck_assert_int_eq(tsct_statedump_add(&r), -EINVAL);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "statedump"), 0);
	ck_assert_int_eq(tsct_statedump_add(&r), 0);
	ck_assert_str_eq(r.streams[r.statedump].name, "statedump_");
	ck_assert_int_eq(tsct_statedump_add(&r), -EINVAL);
	ck_assert_int_eq(tsct_recording_add_stream(&r, "more"), -EINVAL);
	ck_assert_int_eq(tsct_recording_add_sync(&r, "sync"), 0);
	ck_assert_uint_eq(tsct_recording_classes(&r), 3);
	ck_assert_str_eq(tsct_recording_samples_class(&r)->name, "sync");
	tsct_recording_free(&r);
}
