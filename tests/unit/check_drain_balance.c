// SPDX-License-Identifier: MIT
/* Balance of a recording: events published = events recorded + events lost by cause,
 * exactly */
#include "drains.h"
#include "ring_writer.h"

static void finish_balanced(struct tsct_balance *ret_balance)
{
	struct tsct_recording *r = &rec, again;
	char text[65536], why[128];
	size_t len;

	tsct_drain_close(drain);
	drain = NULL;
	rec.end = tsct_clock_cycles(clock_);
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	tsct_recording_balance(r, -1, ret_balance);
	ck_assert(ret_balance->exact);
	ck_assert_uint_eq(ret_balance->published, ret_balance->recorded +
			  ret_balance->lost);
	check_readable();
	/* The event counts in the recording's metadata must balance, too: published =
	 * recorded + lost, for every ring. */
	len = load_file(dirfd_, "metadata", (__u8 *)text, sizeof(text) - 1);
	text[len] = '\0';
	ck_assert_int_eq(tsct_meta_parse(text, len, &again, why, sizeof(why)),
			 0);
	tsct_recording_balance(&again, -1, ret_balance);
	ck_assert(ret_balance->exact);
	tsct_recording_free(&again);
}

/* Parses a number printed by babeltrace2, with commas between thousands. */
static __u64 read_number(const char *at)
{
	__u64 number = 0;

	for (; (*at >= '0' && *at <= '9') || *at == ','; at++)
		if (*at != ',')
			number = number * 10 + (__u64)(*at - '0');
	return number;
}

static __u64 babeltrace_command(const char *what, const char *word)
{
	char line[512], *at;
	__u64 sum = 0;
	FILE *from;

	snprintf(line, sizeof(line), "babeltrace2 %s %s 2>/dev/null", dir_name,
		 what);
	from = popen(line, "r");
	ck_assert_ptr_nonnull(from);
	while (fgets(line, sizeof(line), from)) {
		at = strstr(line, word);
		if (at)
			sum += read_number(at + strlen(word));
	}
	ck_assert_int_eq(pclose(from), 0);
	return sum;
}

/* Checks that babeltrace2 finds as many recorded events and as many discarded events in
 * the recording as @balance states. */
static void expect_babeltrace(const struct tsct_balance *balance)
{
	char line[256];
	__u64 events = 0;
	FILE *from;

	snprintf(line, sizeof(line), "babeltrace2 %s -c sink.utils.counter",
		 dir_name);
	from = popen(line, "r");
	ck_assert_ptr_nonnull(from);
	while (fgets(line, sizeof(line), from))
		if (strstr(line, " Event message"))
			events = strtoull(line, NULL, 10);
	ck_assert_int_eq(pclose(from), 0);
	ck_assert_uint_eq(events, balance->recorded);
	ck_assert_uint_eq(babeltrace_command("-c sink.text.details",
					     "Discarded events ("),
			  balance->lost + balance->refused);
}

static __u64 attempts;

static bool write_one(__u32 id, __u32 len)
{
	__u64 payload[64] = { attempts++ };

	return ring_emit(writer, CPU, id, tsct_clock_cycles(clock_), payload,
			 len);
}

CASE("balance", NULL, teardown);

/* The number of published events is exactly that of recorded and lost events, with
 * valid and invalid records, full rings, and only occasional passes of the drain. */
LOOP_TEST(test_discard_balance, 0, 3)
{
	struct tsct_balance balance;

	attempts = 0;
	open_rings();
	for (int n = any(1000); n; n--)
		emit(n);
	begin();
	attempts = 0;
	for (int i = 0; i < 300; i++) {
		for (int n = any(500); n; n--)
			write_one(ev + (any(20) ? 0 : any(3)), any(20) ? 8 :
				  any(200));
		if (any(3))
			pass(UINT64_MAX);
		if (!any(20))
			tsct_recording_writer_flush(out);
	}
	while (pass(UINT64_MAX))
		;
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.published + balance.refused, attempts);
	ck_assert_uint_gt(balance.refused, 0);
	ck_assert_uint_gt(lost(TSCT_LOSS_MALFORMED), 0);
	ck_assert_uint_gt(lost(TSCT_LOSS_UNDEFINED), 0);
	expect_babeltrace(&balance);
}

LOOP_TEST(test_overwrite_balance, 0, 3)
{
	struct tsct_balance balance;

	open_rings_of(TSCT_POLICY_OVERWRITE, 8);
	for (int n = any(5000); n; n--)
		emit(n);
	begin();
	attempts = 0;
	for (int i = 0; i < 200; i++) {
		for (int n = any(any(4) ? 200 : 3000); n; n--)
			write_one(ev, 8);
		pass(UINT64_MAX);
	}
	while (pass(UINT64_MAX))
		;
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.published, attempts);
	ck_assert_uint_gt(lost(TSCT_LOSS_OVERRUN), 0);
	ck_assert_uint_eq(balance.lost, lost(TSCT_LOSS_OVERRUN));
	expect_babeltrace(&balance);
}

/* A recording that ends at a time between two events in the ring counts as published
 * only the events before that time, and records all of these events. */
LOOP_TEST(test_ends_between_events, 0, 5)
{
	struct tsct_balance balance;
	__u64 until;
	int i, n;

	open_rings_of(any(2) ? TSCT_POLICY_DISCARD : TSCT_POLICY_OVERWRITE, 8);
	begin();
	attempts = 0;
	for (i = 0; i < 20; i++) {
		for (n = any(100); n; n--)
			write_one(ev, 8);
		pass(UINT64_MAX);
	}
	for (n = any(100); n; n--)
		write_one(ev, 8);
	n = attempts;
	until = tsct_clock_cycles(clock_);
	for (i = any(100); i; i--)
		write_one(ev, 8);
	while (pass(until))
		;
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.published, n);
	ck_assert_uint_eq(balance.recorded, n);
}

/* The number of published events is exactly that of recorded and lost events, even if
 * some records in the ring are overwritten with zeros. */
LOOP_TEST(test_overwritten_records, 0, 2)
{
	struct tsct_balance balance;
	__u64 head;

	open_rings();
	begin();
	attempts = 0;
	for (int i = 0; i < 100; i++) {
		for (int n = any(50) + 1; n; n--)
			write_one(ev, 8);
		head = TSCT_HEAD_POS(tsct_ring_producer(writer, CPU)->head);
		write_one(ev, 8);
		if (!any(4))
			ring_store(writer, CPU, head, &(__u64){ 0 }, 8);
		pass(UINT64_MAX);
	}
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.published, attempts);
	ck_assert_uint_gt(lost(TSCT_LOSS_BROKEN), 0);
	ck_assert_uint_gt(balance.broken_places, 0);
}

/* ---- events of the library's writers ------------------------------------- */

#define THREADS		4
#define EACH		30000

static int running;

/* Emits events while moving between CPUs. Returns the number published. */
static void *emit_anywhere(void *arg)
{
	unsigned int own = seed_of((uintptr_t)arg);
	uintptr_t done = 0;
	int err;

	for (__u64 n = 0; n < EACH; n++) {
		err = tsct_emit(writer, ev, &n, sizeof(n));
		ck_assert(!err || err == -ENOSPC);
		done += !err;
		if (rand_r(&own) % 500 == 0)
			sched_yield();
	}
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return (void *)done;
}

LOOP_TEST(test_thread_writers, 0, 4)
{
	struct tsct_balance balance;
	pthread_t thread[THREADS];
	__u64 published = 0;
	uintptr_t i;
	cpu_set_t all;
	void *done;

	open_rings_of(_i % 2 ? TSCT_POLICY_OVERWRITE : TSCT_POLICY_DISCARD, 16);
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	begin();
	running = THREADS;
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, emit_anywhere, (void *)i);
	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		pass(UINT64_MAX);
		usleep(any(3000));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &done);
		published += (uintptr_t)done;
	}
	while (pass(UINT64_MAX))
		;
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.published, published);
	ck_assert_uint_eq(balance.published + balance.refused, THREADS * EACH);
	ck_assert_uint_eq(balance.broken_places, 0);
	expect_babeltrace(&balance);
}

/* ---- snapshots of overwrite channels ------------------------------------- */

static void begin_snapshot(void)
{
	__u64 oldest = 0;

	ck_assert_int_eq(tsct_drain_oldest(t, &oldest), 0);
	begin_at(oldest ? oldest : tsct_clock_cycles(clock_), 1);
}

LOOP_TEST(test_snapshot, 0, 4)
{
	struct tsct_balance balance;
	const struct tsct_ring_figures *ring;
	__u64 published;

	open_rings_of(TSCT_POLICY_OVERWRITE, 8);
	attempts = 0;
	for (int n = any(5000); n; n--)
		write_one(ev, 8);
	published = attempts;
	begin_snapshot();
	ck_assert_int_eq(tsct_drain_snapshot(drain, UINT64_MAX), 0);
	/* Events emitted after a snapshot are not in it. */
	for (int n = any(5000); n; n--)
		write_one(ev, 8);
	finish_balanced(&balance);
	ring = &rec.streams[0].ring[CPU];
	ck_assert_uint_eq(ring->published_end, published);
	ck_assert_uint_eq(balance.lost, 0);
	/* A snapshot of a ring of eight blocks contains at least six full blocks, of
	 * 169 events each. The writer may be writing to the block with the head, and to
	 * the next block. */
	ck_assert_uint_ge(balance.recorded, published < 1014 ? published : 1014);
	expect_babeltrace(&balance);
}

static int stop_writing;

static void *write_on(void *arg)
{
	while (!READ_ONCE(stop_writing))
		write_one(ev, 8);
	return arg;
}

/* A snapshot ends although a writer emits at full speed; its events are consecutive. */
TEST(test_snapshot_with_writer)
{
	struct tsct_trace_event event;
	struct tsct_balance balance;
	struct tsct_trace *trace;
	__u64 next = 0, nr = 0;
	pthread_t thread;
	char why[128];

	open_rings_of(TSCT_POLICY_OVERWRITE, 256);
	stop_writing = 0;
	attempts = 0;
	pthread_create(&thread, NULL, write_on, NULL);
	while (READ_ONCE(attempts) < 100000)
		usleep(1000);
	begin_snapshot();
	ck_assert_int_eq(tsct_drain_snapshot(drain, UINT64_MAX), 0);
	WRITE_ONCE(stop_writing, 1);
	pthread_join(thread, NULL);
	finish_balanced(&balance);
	ck_assert_uint_eq(balance.lost, 0);
	ck_assert_uint_gt(balance.recorded, 0);
	next = rec.streams[0].ring[CPU].published_begin;
	ck_assert_int_eq(tsct_trace_open(dir_name, NULL, NULL, &trace, why,
					 sizeof(why)), 0);
	while (tsct_trace_next(trace, &event) == 1) {
		ck_assert_mem_eq(event.payload, &next, 8);
		next++;
		nr++;
	}
	tsct_trace_close(trace);
	ck_assert_uint_eq(nr, balance.recorded);
	ck_assert_uint_eq(next, rec.streams[0].ring[CPU].published_end);
}

/* Begins a process that overwrites random parts of the channel's file. */
static pid_t overwrite_channel(void)
{
	const struct tsct_channel_header *h = tsct_channel_info(t);
	char *map = mmap(NULL, h->file_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, t->map_fd, 0);
	pid_t pid = fork();
	__u64 at;

	while (!pid) {
		at = any(h->file_size / 8) * 8;
		if (any(2))
			at = any(2) ? h->ring_offset : h->consumer_offset;
		*(__u64 *)(map + at) = any(4) ? (__u64)any(1 << 16) : any64();
	}
	munmap(map, h->file_size);
	return pid;
}

/* A ring with random contents can be recorded: the drain returns, and the recording is
 * readable. */
LOOP_TEST(test_random_ring, 0, 8)
{
	pid_t pid;

	open_rings_of(_i % 2 ? TSCT_POLICY_OVERWRITE : TSCT_POLICY_DISCARD, 8);
	for (int i = 0; i < 200; i++)
		emit(i);
	pid = overwrite_channel();
	usleep(10000);
	if (_i % 4 == 1)
		begin_snapshot();
	else
		begin();
	for (int i = 0; i < 2000 && _i % 4 != 1; i++) {
		write_one(ev, 8);
		emit(i);
		pass(i < 1900 ? UINT64_MAX : tsct_clock_cycles(clock_));
	}
	if (_i % 4 == 1)
		ck_assert_int_eq(tsct_drain_snapshot(drain, UINT64_MAX), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* rec.begin was read from the ring, which has random contents, so it may be
	 * later than rec.end. */
	if (rec.begin > rec.end)
		rec.begin = rec.end;
	ck_assert_int_eq(tsct_recording_writer_finish(out), 0);
	check_readable();
}

TEST(test_snapshot_refused)
{
	open_rings();
	begin();
	ck_assert_int_eq(tsct_drain_snapshot(drain, UINT64_MAX), -EINVAL);
}
