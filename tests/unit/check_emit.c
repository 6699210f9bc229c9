// SPDX-License-Identifier: MIT
/* A single writer: events that reach the ring, and events that are rejected. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <tsctrace/event.h>

#include "lib/client/channel.h"
#include "one_ring.h"
#include "seed.h"

static __u64 published(void)
{
	__u64 events;

	ck_assert(tsct_ring_events(&t->geo, tsct_ring_data(t, cpu),
				   tsct_ring_producer(t, cpu)->head, &events));
	return events;
}

static void fill(unsigned char *bytes, unsigned int len, unsigned int first)
{
	while (len--)
		bytes[len] = first + len * 7;
}

/* Returns the field rseq_cs of this thread. It must be NULL after an emit, because a
 * program may unload the plugin that contains the restartable section. */
static __u64 section_registered(void)
{
	const char *area = (char *)__builtin_thread_pointer() +
		tsct_rseq_offset();

	return *(const volatile __u64 *)(area + 8);
}

CASE("discard", setup, teardown);

TEST(test_every_length)
{
	unsigned char sent[200], *exact;
	struct tsct_event event;
	__u64 before = __builtin_ia32_rdtsc();

	for (unsigned int len = 0; len < sizeof(sent); len++) {
		fill(sent, len, len);
		exact = malloc(len ? len : 1);
		memcpy(exact, sent, len);
		ck_assert_int_eq(tsct_emit(t, id + len, exact, len), 0);
		ck_assert_uint_eq(section_registered(), 0);
		free(exact);
		event = next();
		ck_assert_uint_eq(event.len, len);
		ck_assert_uint_eq(event.id, id + len);
		ck_assert_uint_eq(event.cpu, cpu);
		ck_assert_uint_eq(event.tid, gettid());
		ck_assert_mem_eq(event.payload, sent, len);
		if (t->source == TSCT_SOURCE_TSC)
			ck_assert_uint_gt(event.cycles, before);
		before = event.cycles;
		tsct_reader_release(reader, cpu);
	}
	expect_none();
}

/* Emits records of 1008 bytes. Four of these leave 32 bytes of a block, less than the
 * size of two headers. */
TEST(test_pads_and_full_ring)
{
	unsigned char bytes[992];

	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < 16; i++) {
			fill(bytes, sizeof(bytes), i);
			ck_assert_int_eq(tsct_emit(t, id, bytes, 992), 0);
		}
		ck_assert_int_eq(tsct_emit(t, id, bytes, 992), -ENOSPC);
		/* A record of 32 bytes would end exactly with its block, which is not
		 * allowed. */
		ck_assert_int_eq(tsct_emit(t, id, bytes, 16), -ENOSPC);
		/* A record of 16 bytes, a header only, fits into the block. */
		ck_assert_int_eq(tsct_emit(t, id, bytes, 0), 0);
		ck_assert_int_eq(tsct_emit(t, id, bytes, 0), -ENOSPC);
		ck_assert_uint_eq(lost(TSCT_LOST_FULL), 3 * round + 3);
		ck_assert_uint_eq(published(), 17 * round + 17);
		for (unsigned int i = 0; i < 16; i++) {
			fill(bytes, sizeof(bytes), i);
			ck_assert_mem_eq(next().payload, bytes, 992);
		}
		ck_assert_uint_eq(next().len, 0);
		expect_none();
		tsct_reader_release(reader, cpu);
	}
	ck_assert_uint_eq(tsct_channel_dropped(t), 0);
}

TEST(test_too_large_payload)
{
	char bytes[BLOCK] = "";
	const size_t max = TSCT_PAYLOAD_MAX(BLOCK);

	ck_assert_int_eq(tsct_emit(t, id, bytes, max), 0);
	ck_assert_int_eq(tsct_emit(t, id, bytes, max + 1), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit(t, id, bytes, ~0UL), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit(t, id, bytes, 1UL << 32), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit_unordered(t, id, bytes, max), 0);
	ck_assert_int_eq(tsct_emit_unordered(t, id, bytes, max + 1), -EMSGSIZE);
	ck_assert_uint_eq(next().len, max);
	ck_assert_uint_eq(next().len, max);
	expect_none();
	ck_assert_uint_eq(lost(TSCT_LOST_TOO_BIG), 4);
	ck_assert_uint_eq(published(), 2);
}

/* Emits a payload that is split anywhere into an iovec array, which ends at the end of
 * its memory. */
TEST(test_iovec)
{
	unsigned char sent[300];
	struct tsct_event event;
	struct iovec iov[8];
	unsigned int turn, nr, at;

	for (turn = 0; turn < 5000; turn++) {
		fill(sent, sizeof(sent), turn);
		for (nr = at = 0; nr < 8 && at < sizeof(sent); nr++) {
			iov[nr].iov_len = any(4) ? any(12) : any(200);
			if (iov[nr].iov_len > sizeof(sent) - at)
				iov[nr].iov_len = sizeof(sent) - at;
			iov[nr].iov_base = iov[nr].iov_len ? sent + at : NULL;
			at += iov[nr].iov_len;
		}
		ck_assert_int_eq((turn % 2 ? tsct_emitv :
				  tsct_emitv_unordered)
				 (t, id, iov, nr), 0);
		event = next();
		ck_assert_uint_eq(event.len, at);
		ck_assert_mem_eq(event.payload, sent, at);
		tsct_reader_release(reader, cpu);
	}
	ck_assert_int_eq(tsct_emitv(t, id, NULL, 0), 0);
	ck_assert_uint_eq(next().len, 0);
	expect_none();
}

TEST(test_bad_iovec)
{
	struct iovec iov[2] = { { "1234", 4 }, { "", BLOCK } };

	ck_assert_int_eq(tsct_emitv(t, id, iov, 2), -EMSGSIZE);
	iov[1].iov_len = ~0UL - 3;	/* lengths whose sum wraps to 0 */
	ck_assert_int_eq(tsct_emitv(t, id, iov, 2), -EMSGSIZE);
	ck_assert_int_eq(tsct_emitv(t, 15, iov, 1), -EINVAL);
	ck_assert_int_eq(tsct_emitv_unordered(t, TSCT_ID_WIDE_MAX + 1, iov, 1),
			 -EINVAL);
	ck_assert_int_eq(tsct_emitv(t, TSCT_ID_MAX + 1, iov, 2), -EMSGSIZE);
	ck_assert_int_eq(tsct_emit_unordered(t, 15, "", 1), -EINVAL);
	ck_assert_uint_eq(lost(TSCT_LOST_TOO_BIG), 3);
	expect_none();
}

/* ---- headers and counts ------------------------------------------------- */

/* Checks the header of every block, over more events than the 16-bit event count in
 * head can hold. */
TEST(test_block_headers)
{
	const void *data = tsct_ring_data(t, cpu);
	struct tsct_producer *producer = tsct_ring_producer(t, cpu);
	char bytes[3000] = "";
	struct tsct_block block, last = { 0 };
	__u64 events, head;

	for (events = 1; events < 70000; events++) {
		if (t->geo.policy == TSCT_POLICY_DISCARD)
			tsct_ring_consumer(t, cpu)->tail = producer->head;
		ck_assert_int_eq(tsct_emit(t, id, bytes,
					   any(any(50) ? 40 : 3000)), 0);
		head = producer->head;
		if (TSCT_HEAD_EVENTS(head) != (__u16)events ||
		    published() != events)
			ck_abort_msg("%llu events, head %llx", events, head);
		ck_assert(tsct_ring_block(&t->geo, data, head, &block));
		if (block.pos == last.pos)
			continue;
		ck_assert_uint_eq(block.pos, last.pos + BLOCK);
		ck_assert_uint_eq(block.events, events - 1);
		ck_assert_uint_ge(block.cycles, last.cycles);
		last = block;
	}
	ck_assert_uint_gt(last.pos, 100 * BLOCK);
}

/* Emits across position 2^48 of the ring, where the position in head wraps to 0. */
TEST(test_positions_wrap)
{
	const __u64 start = 7ULL << 48 | ((1ULL << 48) - BLOCK);
	struct tsct_producer *producer = tsct_ring_producer(t, cpu);
	struct tsct_block *block = (void *)(tsct_ring_data(t, cpu) + 3 * BLOCK);
	char bytes[1000] = "";

	*block = (struct tsct_block) {
		.len = TSCT_BLOCK_HEADER, .id = TSCT_ID_BLOCK,
		.pos = start, .events = 0x1fffe,
	};
	producer->head = TSCT_HEAD_POS(start + TSCT_BLOCK_HEADER) |
		0xfffeULL << 48;
	/* bits above the 48 of a position, which readers ignore */
	tsct_ring_consumer(t, cpu)->tail = TSCT_HEAD_POS(start) | 123ULL << 50;
	for (unsigned int i = 0; i < 5; i++)
		ck_assert_int_eq(tsct_emit(t, id, bytes, 1000), 0);
	ck_assert(tsct_ring_block(&t->geo, tsct_ring_data(t, cpu),
				  producer->head, block));
	ck_assert_uint_eq(block->pos, 8ULL << 48);
	ck_assert_uint_eq(block->events, 0x20001);
	ck_assert_uint_eq(TSCT_HEAD_POS(producer->head),
			  TSCT_BLOCK_HEADER + 2 * 1016);
	ck_assert_uint_eq(published(), 0x20003);
}

TEST(test_bad_ids)
{
	struct tsct_event event;

	ck_assert_int_eq(tsct_emit(t, 0, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_PAD, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_FIRST - 1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_WIDE_MAX + 1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, -1, NULL, 0), -EINVAL);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_MAX, NULL, 0), 0);
	ck_assert_uint_eq(next().id, TSCT_ID_MAX);
	ck_assert_int_eq(tsct_emit(t, TSCT_ID_MAX + 1, "12345678", 8), 0);
	event = next();
	ck_assert_uint_eq(event.id, TSCT_ID_MAX + 1);
	ck_assert_uint_eq(event.len, 8);
	ck_assert_mem_eq(event.payload, "12345678", 8);
	ck_assert_int_eq(tsct_emit_unordered(t, TSCT_ID_WIDE_MAX, NULL, 0), 0);
	ck_assert_uint_eq(next().id, TSCT_ID_WIDE_MAX);
	expect_none();
	ck_assert_uint_eq(tsct_channel_dropped(t), 5);
}

TSCT_EVENT(typed, TSCT_KIND_INSTANT, TSCT_U64(a), TSCT_U64(b), TSCT_U64(c));

/* Emits an event through a randomly chosen emit function. */
static void emit_randomly(const char *bytes, unsigned int max)
{
	const struct iovec two[] = {
		{ (void *)bytes, any(50) }, { (void *)bytes, any(max) },
	};

	switch (any(4)) {
	case 0:
		typed_emit(~0ULL, ~0ULL, ~0ULL);
		return;
	case 1:
		tsct_emit_unordered(t, id, bytes, any(100));
		return;
	case 2:
		tsct_emitv(t, id, two, 2);
		return;
	}
	tsct_emit(t, id, bytes, any(any(2) ? 100 : max));
}

/* With random contents of head and tail, emit stores nothing outside the ring. */
TEST(test_random_head_and_tail)
{
	struct tsct_producer *producer = tsct_ring_producer(t, cpu);
	char *data = (char *)tsct_ring_data(t, cpu);
	const char *end = data + t->geo.data_size;
	__u64 bytes_after[2] = { 0 }, i;
	char bytes[4000] = "";

	if ((unsigned int)cpu + 1 < t->header.nr_cpus)
		memcpy(bytes_after, end, sizeof(bytes_after));
	seed_with(0);
	ck_assert_int_eq(tsct_event_bind(&typed_event, t), 0);
	for (i = 0; i < 40000; i++) {
		producer->head = (__u64)any(1 << 30) << 34 | any(1 << 30);
		if (any(2))
			producer->head = 4096 * any(9) - any(32);
		if (any(2))
			producer->head |= (__u64)any(1 << 16) << 48;
		if (any(2))
			memset(data + BLOCK * any(4), any(256),
			       TSCT_BLOCK_HEADER);
		tsct_ring_consumer(t, cpu)->tail = producer->head - any(40000);
		emit_randomly(bytes, sizeof(bytes));
	}
	if ((unsigned int)cpu + 1 < t->header.nr_cpus)
		ck_assert_mem_eq(bytes_after, end, sizeof(bytes_after));
	/* The producer page of a ring follows the end of the previous ring's data. */
	for (i = 0; i < 7; i++)
		ck_assert_uint_eq(producer->reserved0[i], 0);
}

TEST(test_roles)
{
	struct tsct_channel_options options = { .roles = TSCT_ROLE_WRITE };
	struct tsct_reader *none;
	struct tsct_channel *other;

	tsct_reader_close(reader);
	tsct_channel_close(t);
	options.roles = TSCT_ROLE_READ;
	t = serve_open(&options);
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), -EACCES);
	ck_assert_uint_eq(tsct_channel_dropped(t), 1);
	options.roles = TSCT_ROLE_WRITE;
	other = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(other, &none), -EACCES);
	ck_assert_int_eq(tsct_emit(other, id, NULL, 0), 0);
	tsct_channel_close(other);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	ck_assert_int_eq(tsct_reader_open(t, &none), -EBUSY);
	ck_assert_uint_eq(next().id, id);
}

TEST(test_no_provider)
{
	struct tsct_reader *none;
	struct tsct_channel *channel;

	ck_assert_int_eq(tsct_channel_open_at("/nowhere/s", NULL, &channel),
			 -ENODEV);
	ck_assert_int_eq(tsct_channel_provider(channel), TSCT_PROVIDER_NONE);
	ck_assert_ptr_nonnull(strstr(tsct_channel_error(channel), "/nowhere/s"));
	ck_assert_ptr_null(tsct_channel_info(channel));
	ck_assert_int_ge(tsct_event_define(channel, "e", 0, "a:u8"), TSCT_ID_FIRST);
	ck_assert_int_eq(tsct_event_define(channel, "e", 0, "a:"), -EINVAL);
	ck_assert_int_eq(tsct_event_define(channel, NULL, 0, "a:u8"), -EINVAL);
	ck_assert_int_eq(tsct_emit(channel, 16, "", 1), -ENODEV);
	ck_assert_int_eq(tsct_emit(channel, 16, NULL, ~0UL), -ENODEV);
	ck_assert_int_eq(tsct_emit(channel, 15, "", 1), -EINVAL);
	ck_assert_uint_eq(tsct_channel_dropped(channel), 3);
	ck_assert_int_eq(tsct_reader_open(channel, &none), -ENODEV);
	tsct_channel_close(channel);
	tsct_channel_close(NULL);
}

static const struct {
	struct tsct_channel_options options;
	const char *error_text;
} wrong[] = {
	{ { .name = "a/b" }, "'a/b' cannot be a channel's name" },
	{ { .name = "a b" }, "'a b' cannot be a channel's name" },
	{ { .name = "01234567890123456789012345678901" }, "1 to 31 characters of" },
	{ { .policy = 2 }, "policy" },
	{ { .channel_flags = 4 }, "channel_flags" },
	{ { .block_size = 5000 }, "block_size" },
	{ { .block_size = 131072 }, "block_size" },
	{ { .blocks = 3 }, "blocks;" },
	{ { .policy = TSCT_POLICY_OVERWRITE, .blocks = 2 }, "blocks;" },
	{ { .block_size = 65536, .blocks = 65536 }, "blocks;" },
};

LOOP_TEST(test_invalid_options, 0, ROWS(wrong))
{
	struct tsct_channel_options options = wrong[_i].options;
	struct tsct_channel *channel;

	if (!options.name)
		options.name = "wrong";
	ck_assert_int_eq(tsct_channel_open_at(serve_path, &options, &channel),
			 -EINVAL);
	ck_assert_msg(strstr(tsct_channel_error(channel), wrong[_i].error_text),
		      "%s",
		      tsct_channel_error(channel));
	tsct_channel_close(channel);
}

/* ---- rseq not available -------------------------------------------------- */

TEST(test_unknown_cpu)
{
	memset(t->fast.refs, 0, t->fast.nr_cpus * sizeof(*t->fast.refs));
	t->fast.nr_cpus = cpu;	/* the CPU number in rseq is beyond this table of
				 * CPUs */
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), -EAGAIN);
	ck_assert_uint_eq(lost(TSCT_LOST_ABORTED), 1);
	t->fast.nr_cpus = t->header.nr_cpus;
	ck_assert_int_eq(tsct_emit(t, id, NULL, 0), 0);
}

/* Sets the state of a CPU in the channel's header, as the provider does. Clients can
 * only read it. */
static void set_state(unsigned char state)
{
	const struct tsct_channel_header *h = &t->header;
	char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			 t->map_fd, 0);

	ck_assert_ptr_ne(map, MAP_FAILED);
	map[h->cpu_state_offset + cpu] = state;
	munmap(map, 4096);
}

/* A CPU that was never online has no ring pages. The pages are added while the channel
 * is open. */
TEST(test_absent_cpu)
{
	struct tsct_ring_stat stat;

	set_state(TSCT_CPU_ABSENT);
	ck_assert_int_eq(mprotect(tsct_ring_producer(t, cpu),
				  t->header.ring_stride, PROT_NONE), 0);
	ck_assert_int_eq(mprotect(tsct_ring_consumer(t, cpu), 4096,
				  PROT_NONE), 0);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), -EAGAIN);
	ck_assert_int_eq(tsct_emit(t, id, NULL, BLOCK), -EMSGSIZE);
	ck_assert_uint_eq(tsct_channel_dropped(t), 2);
	expect_none();
	tsct_reader_release(reader, cpu);
	ck_assert_int_eq(tsct_reader_stat(reader, cpu, &stat), 0);
	ck_assert_uint_eq(stat.bytes, 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 0);
	ck_assert_int_eq(mprotect(tsct_ring_producer(t, cpu),
				  t->header.ring_stride,
				  PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(mprotect(tsct_ring_consumer(t, cpu), 4096,
				  PROT_READ | PROT_WRITE), 0);
	set_state(TSCT_CPU_READY);
	ck_assert_int_eq(tsct_emit(t, id, "x", 1), 0);
	ck_assert_int_eq(tsct_reader_wait(reader, 0), 1);
	ck_assert_uint_eq(next().len, 1);
}

/* Installs a seccomp filter that forbids what a signal handler must not do: allocate,
 * lock */
static void allow_nothing_unsafe(void)
{
#define FORBID(nr)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),	\
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		FORBID(SYS_mmap), FORBID(SYS_brk), FORBID(SYS_madvise),
		FORBID(SYS_futex),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = ROWS(filter), .filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(9);
}

/* Emits an event in a child process, as the child's first one. Returns the child's wait
 * status, or -1. */
static int emit_first(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		allow_nothing_unsafe();
		_exit(tsct_emit(t, TSCT_ID_FIRST, "x", 1) != -EAGAIN);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Executes this program again with rseq disabled in glibc, see main(). */
static int without_rseq(const char *path)
{
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE,
	};
	struct tsct_ring_stat stat;
	struct tsct_reader *r;
	__u64 aborted = 0;

	if (tsct_channel_open_at(path, &options, &t) || tsct_rseq_offset() ||
	    !strstr(tsct_channel_error(t), "no rseq") || tsct_reader_open(t, &r))
		return 1;
	if (emit_first())
		return 2;
	for (unsigned int c = 0; !tsct_reader_stat(r, c, &stat); c++)
		aborted += stat.lost[TSCT_LOST_ABORTED];
	tsct_reader_close(r);
	tsct_channel_close(t);
	return aborted == 1 ? 0 : 3;
}

SUBCOMMAND("without-rseq", without_rseq);

TEST(test_rseq_off)
{
	pid_t pid;

	tsct_reader_close(reader);
	tsct_channel_close(t);
	reader = NULL;
	t = NULL;
	pid = fork();
	if (!pid) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execl("/proc/self/exe", "check_emit", "without-rseq",
		      serve_path, NULL);
		_exit(127);
	}
	expect_exit(pid, 0);
}

/* If the program forbids RDTSC, executing it raises SIGSEGV: emit must not execute it
 * then. */
TEST(test_tsc_forbidden)
{
	struct tsct_channel_options options = { .name = "forbidden" };
	struct tsct_channel *other;

	if (t->source != TSCT_SOURCE_TSC)
		return;
	ck_assert_int_eq(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
	other = serve_open(&options);
	ck_assert_ptr_nonnull(strstr(tsct_channel_error(other), "PR_SET_TSC"));
	ck_assert_int_eq(tsct_emit(other, id, NULL, 0), -EAGAIN);
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	tsct_channel_close(other);
}

/* ---- events written by the module ---------------------------------------- */

static struct {
	struct tsct_write write;
	unsigned char payload[BLOCK];
	int calls, result;
	int thread_calls, thread_result;
} kernel;

/* Replaces the ioctl of the module: records the write that the module would receive, and
 * knows the thread's id. */
static int fake_ctl(struct tsct_channel *, unsigned int cmd, void *arg)
{
	if (cmd == TSCT_IOC_THREAD) {
		((struct tsct_thread_info *)arg)->tid = gettid();
		kernel.thread_calls++;
		return kernel.thread_result;
	}
	ck_assert_uint_eq(cmd, TSCT_IOC_WRITE);
	kernel.write = *(const struct tsct_write *)arg;
	memcpy(kernel.payload, (const void *)(uintptr_t)kernel.write.payload,
	       kernel.write.len);
	kernel.calls++;
	return kernel.result;
}

static void expect_written(const unsigned char *sent, unsigned int len)
{
	ck_assert_uint_eq(kernel.write.id, id);
	ck_assert_uint_eq(kernel.write.len, len);
	ck_assert_uint_eq(kernel.write.flags, 0);
	ck_assert_mem_eq(kernel.payload, sent, len);
}

/* An id that the provider failed to report is requested again, after a second. */
static void *emit_from_new_thread(void *unused)
{
	struct timespec second = { .tv_sec = 1 }, begin, end;

	kernel.thread_calls = 0;
	kernel.thread_result = -EIO;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ck_assert_uint_eq(tsct_thread_id_slow(t), gettid());
	ck_assert_uint_eq(tsct_thread_id_slow(t), gettid());
	ck_assert_uint_eq(tsct_thread_id, 0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	/* A busy machine may stop this thread for a second: the id is requested twice then. */
	if (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9 < 1)
		ck_assert_int_eq(kernel.thread_calls, 1);
	kernel.thread_calls = 1;
	kernel.thread_result = 0;
	nanosleep(&second, NULL);
	ck_assert_uint_eq(tsct_thread_id_slow(t), gettid());
	ck_assert_uint_eq(tsct_thread_id, gettid());
	ck_assert_int_eq(kernel.thread_calls, 2);
	/* A provider that has no number for the thread will have none later. */
	kernel.thread_result = -ESRCH;
	tsct_thread_id = 0;
	ck_assert_uint_eq(tsct_thread_id_slow(t), gettid());
	ck_assert_uint_eq(tsct_thread_id, gettid());
	return unused;
}

TEST(test_thread_id_failure)
{
	int (*request)(struct tsct_channel *, unsigned int, void *) = t->request;
	const enum tsct_provider provider = t->provider;
	pthread_t thread;

	t->request = fake_ctl;
	t->provider = TSCT_PROVIDER_MODULE;
	ck_assert_int_eq(pthread_create(&thread, NULL, emit_from_new_thread, NULL), 0);
	pthread_join(thread, NULL);
	t->request = request;
	t->provider = provider;
}

/* Without rseq, the module writes the event. Its payload is passed in one buffer, or
 * joined from several buffers. */
TEST(test_written_by_module)
{
	int (*request)(struct tsct_channel *, unsigned int, void *) = t->request;
	const enum tsct_provider provider = t->provider;
	unsigned char sent[TSCT_PAYLOAD_MAX(BLOCK)];
	struct iovec two[] = { { sent, 100 }, { sent + 100, 0 } };
	unsigned int len;

	fill(sent, sizeof(sent), 1);
	t->request = fake_ctl;
	t->provider = TSCT_PROVIDER_MODULE;
	t->rseq = 0;
	tsct_emit_enable_fast(t);
	ck_assert_int_eq(tsct_emit(t, id, sent, sizeof(sent)), 0);
	expect_written(sent, sizeof(sent));
	for (len = 100; len <= sizeof(sent); len += 79) {
		two[1].iov_len = len - 100;
		ck_assert_int_eq(tsct_emitv(t, id, two, 2), 0);
		expect_written(sent, len);
	}
	ck_assert_int_eq(tsct_emit(t, id, sent, BLOCK), -EMSGSIZE);
	len = kernel.calls;
	kernel.result = -ENOSPC;	/* with -ENOSPC, the kernel has counted the lost
					 * event */
	ck_assert_int_eq(tsct_emit_unordered(t, id, sent, 1), -ENOSPC);
	ck_assert_uint_eq(tsct_channel_dropped(t), 0);
	kernel.result = -EIO;		/* with an error other than -ENOSPC, the library
					 * counts the lost event */
	ck_assert_int_eq(tsct_emit(t, id, sent, 1), -EIO);
	ck_assert_uint_eq(tsct_channel_dropped(t), 1);
	ck_assert_uint_eq(kernel.calls, len + 2);
	t->request = request;
	t->provider = provider;
}

/* ---- thread ids in events ------------------------------------------------ */

static int emit_tid(void)
{
	__u32 tid = syscall(SYS_gettid);

	return tsct_emit(t, id, &tid, sizeof(tid)) ? 1 : 0;
}

static void child_emits(pid_t pid)
{
	if (!pid)
		_exit(emit_tid());
	ck_assert_int_gt(pid, 0);
	expect_exit(pid, 0);
}

static void *thread_emits(void *arg)
{
	return (void *)(intptr_t)(emit_tid() + (arg ? 1 : 0));
}

TEST(test_thread_ids)
{
	struct tsct_event event;
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(emit_tid(), 0);
		child_emits(fork());
		child_emits(_Fork());
		child_emits(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
		ck_assert_int_eq(pthread_create(&thread, NULL, thread_emits,
						NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	for (int i = 0; i < 15; i++) {
		event = next();
		ck_assert_uint_eq(event.tid, *(const __u32 *)event.payload);
	}
	expect_none();
}

/* ---- channels with other clock sources ----------------------------------- */

LOOP_TEST(test_other_clocks, 1, TSCT_SOURCE_NR)
{
	static const clockid_t clocks[] = {
		0, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC, CLOCK_REALTIME,
	};
	struct timespec before, after;
	__u64 stamp;

	use_clock(_i);
	clock_gettime(clocks[_i], &before);
	ck_assert_int_eq(tsct_emit(t, id, "12345", 6), 0);
	clock_gettime(clocks[_i], &after);
	stamp = next().cycles;
	ck_assert_uint_ge(stamp, before.tv_sec * 1000000000ULL + before.tv_nsec);
	ck_assert_uint_le(stamp, after.tv_sec * 1000000000ULL + after.tv_nsec);
}

CASE("overwrite", setup_overwrite, teardown);
RUN_TEST(test_every_length);
RUN_TEST(test_too_large_payload);
RUN_TEST(test_iovec);
RUN_TEST(test_bad_iovec);
RUN_TEST(test_block_headers);
RUN_TEST(test_positions_wrap);
RUN_TEST(test_bad_ids);
RUN_TEST(test_random_head_and_tail);
RUN_TEST(test_thread_ids);
