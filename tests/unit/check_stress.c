// SPDX-License-Identifier: MIT
/* Threads, signal handlers and forked children write to one channel while they are
 * moved between CPUs. The result of each emit is kept in shared memory. The events that
 * are read must be exactly those reported as written, once, complete, and in the order
 * of their cycles. */

#include "seed.h"
#include "serve.h"
#include "suite.h"

#define WRITERS		32	/* number of writers: even numbers are threads, odd
				 * numbers the signal handlers of these threads */
#define EVENTS		60000	/* number of events that each writer emits */
#define LEN_MAX		200

struct payload {
	__u32 writer, seq;
	unsigned char fill[LEN_MAX];
};

enum { UNKNOWN, WRITTEN, FULL, ABORTED, ODD };

struct shared {
	__u32 next[WRITERS];	/* number of events begun by each writer */
	__u32 tids[WRITERS];
	unsigned char result[WRITERS][EVENTS];
};

static struct shared *shared;
static unsigned char seen[WRITERS][EVENTS];
static struct tsct_channel *t;
static struct tsct_reader *reader;
static __u64 last_stamp[TSCT_CPUS_MAX], nr_read;
static int id;
static __thread unsigned int me;	/* number of the signal handler that
					 * writes in this thread; 0: none */

static unsigned int length_of(__u32 writer, __u32 seq)
{
	return (writer * 31 + seq * 17) % (LEN_MAX + 1);
}

static unsigned char fill_of(__u32 writer, __u32 seq)
{
	return writer * 131 + seq * 7;
}

static int note_of(int error)
{
	switch (error) {
	case 0:
		return WRITTEN;
	case -ENOSPC:
		return FULL;
	case -EAGAIN:
		return ABORTED;
	}
	return ODD;
}

static bool emit_one(unsigned int w)
{
	__u32 seq = shared->next[w];
	struct payload payload = { w, seq, { 0 } };
	unsigned int len = length_of(w, seq);

	if (seq == EVENTS)
		return false;
	memset(payload.fill, fill_of(w, seq), len);
	shared->result[w][seq] = note_of(tsct_emit(t, id, &payload, 8 + len));
	shared->next[w] = seq + 1;
	return true;
}

static void on_signal(int)
{
	if (me)
		emit_one(me);	/* writer `me` is the handler of thread me - 1 */
}

static void tick(timer_t *ret_timer)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
	};
	struct itimerspec every = {
		.it_value.tv_nsec = 50000, .it_interval.tv_nsec = 150000,
	};

	event._sigev_un._tid = gettid();
	timer_create(CLOCK_MONOTONIC, &event, ret_timer);
	timer_settime(*ret_timer, 0, &every, NULL);
}

static void *work(void *arg)
{
	unsigned int w = (uintptr_t)arg, i;
	timer_t timer;

	me = w + 1;
	__atomic_store_n(&shared->tids[w], gettid(), __ATOMIC_RELAXED);
	tick(&timer);
	for (i = 0; emit_one(w); i++)
		if (shared->result[w][i] == FULL && i % 4)
			usleep(50);	/* gives the reader time to free room in the
					 * ring */
	timer_delete(timer);
	__atomic_store_n(&shared->tids[w], 0, __ATOMIC_RELAXED);
	return NULL;
}

/* Runs two threads, writers @first and @first + 2. The threads' signal handlers are
 * writers @first + 1 and @first + 3. */
static void work_twice(unsigned int first)
{
	pthread_t threads[2];
	uintptr_t i;

	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work,
			       (void *)(first + 2 * i));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

/* Moves the writers to other CPUs, until the test ends. */
static void *migrate(void *arg)
{
	unsigned int nr = sysconf(_SC_NPROCESSORS_ONLN), i = 0;
	cpu_set_t set;
	__u32 tid;

	while (!__atomic_load_n((int *)arg, __ATOMIC_RELAXED)) {
		CPU_ZERO(&set);
		CPU_SET(i++ % nr, &set);
		tid = __atomic_load_n(&shared->tids[i / 3 % WRITERS],
				      __ATOMIC_RELAXED);
		if (tid)
			sched_setaffinity(tid, sizeof(set), &set);
		if (i % 16 == 0)
			usleep(20);
	}
	return NULL;
}

/* Replaces libcheck's assertions, each of which makes system calls: too slow here. */
#define REQUIRE(cond)							\
	do {								\
		if (!(cond))						\
			ck_abort_msg("%s", #cond);			\
	} while (0)

static void check_event(const struct tsct_event *event)
{
	const struct payload *payload = event->payload;
	unsigned int i, len;

	REQUIRE(event->id == (__u32)id);
	REQUIRE(event->cycles >= last_stamp[event->cpu]);
	last_stamp[event->cpu] = event->cycles;
	REQUIRE(payload->writer < WRITERS && payload->seq < EVENTS);
	len = length_of(payload->writer, payload->seq);
	REQUIRE(event->len == 8 + len);
	for (i = 0; i < len; i++)
		REQUIRE(payload->fill[i] ==
			fill_of(payload->writer, payload->seq));
	REQUIRE(!seen[payload->writer][payload->seq]++);
	nr_read++;
}

static void drain(void)
{
	struct tsct_event event;

	for (unsigned int cpu = 0; cpu < t->header.nr_cpus; cpu++) {
		for (unsigned int i = 0; i < 500; i++) {
			if (tsct_reader_next(reader, cpu, &event) != 1)
				break;
			check_event(&event);
		}
		tsct_reader_release(reader, cpu);
	}
}

static __u64 sum_lost(unsigned int cause)
{
	struct tsct_ring_stat stat;
	__u64 sum = 0;

	for (unsigned int cpu = 0; !tsct_reader_stat(reader, cpu, &stat); cpu++) {
		ck_assert_uint_eq(stat.broken, 0);
		sum += stat.lost[cause];
	}
	return sum;
}

/* Returns the number of published events by the counts of the rings. */
static __u64 published(void)
{
	__u64 sum = 0, events;

	for (unsigned int cpu = 0; cpu < t->header.nr_cpus; cpu++) {
		if (!tsct_ring_ready(t, cpu))
			continue;
		ck_assert(tsct_ring_events(&t->geo, tsct_ring_data(t, cpu),
					   tsct_ring_producer(t, cpu)->head,
					   &events));
		sum += events;
	}
	return sum;
}

static __u64 count(unsigned char result)
{
	__u64 sum = 0;

	for (__u32 w = 0; w < WRITERS; w++)
		for (__u32 i = 0; i < shared->next[w]; i++)
			sum += shared->result[w][i] == result;
	return sum;
}

static void setup_policy(unsigned int policy, unsigned int blocks)
{
	struct sigaction action = {
		.sa_handler = on_signal, .sa_flags = SA_RESTART,
	};
	struct tsct_channel_options options = {
		.roles = TSCT_ROLE_READ | TSCT_ROLE_WRITE, .policy = policy,
		.block_size = 4096, .blocks = blocks,
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	serve_start();
	t = serve_open(&options);
	ck_assert_int_eq(tsct_reader_open(t, &reader), 0);
	id = tsct_event_define(t, "e", 0, "writer:u32 seq:u32 rest:string");
	sigaction(SIGUSR1, &action, NULL);
}

static void finish(void)
{
	tsct_reader_close(reader);
	tsct_channel_close(t);
	serve_stop();
}

static pid_t fork_writers(unsigned int first)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	work_twice(first);
	_exit(0);
}

static void *work_here(void *arg)
{
	work_twice(0);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* No children: the thread sanitizer allows no fork() in a program with threads */
#ifdef __SANITIZE_THREAD__
#define CHILDREN	0
#else
#define CHILDREN	2
#endif

/* Runs a reader, writers 0-3 in this process, writers 4-7 and 8-11 in children. */
static void run_all(void)
{
	unsigned int children = CHILDREN, i;
	int done = 0, stop = 0, status;
	pthread_t here, migrator;

	for (i = 0; i < children; i++)
		fork_writers(4 + 4 * i);
	pthread_create(&here, NULL, work_here, &done);
	pthread_create(&migrator, NULL, migrate, &stop);
	while (children || !__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		drain();
		if (children && waitpid(-1, &status, WNOHANG) > 0) {
			ck_assert_int_eq(status, 0);
			children--;
		}
	}
	pthread_join(here, NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(migrator, NULL);
	while (tsct_reader_wait(reader, 0))
		drain();
}

/* The number of events read plus the number lost equals exactly the number of emits. */
LOOP_TEST(test_exact_counts, 0, 3)
{
	__u32 w, i, tried = 0;

	setup_policy(TSCT_POLICY_DISCARD, 4 << _i * 2);
	run_all();
	for (w = 0; w < WRITERS; w++) {
		tried += shared->next[w];
		for (i = 0; i < shared->next[w]; i++)
			REQUIRE(seen[w][i] ==
				(shared->result[w][i] == WRITTEN));
	}
	ck_assert_uint_ge(tried, (2 + 2 * CHILDREN) * EVENTS);
	ck_assert_uint_gt(shared->next[1] + shared->next[5], 0);
	ck_assert_uint_eq(count(ODD), 0);
	ck_assert_uint_eq(count(WRITTEN), nr_read);
	ck_assert_uint_eq(published(), nr_read);
	ck_assert_uint_eq(count(FULL), sum_lost(TSCT_LOST_FULL));
	ck_assert_uint_eq(count(ABORTED), sum_lost(TSCT_LOST_ABORTED));
	ck_assert_uint_eq(nr_read + sum_lost(TSCT_LOST_FULL) +
			  sum_lost(TSCT_LOST_ABORTED) + tsct_channel_dropped(t), tried);
	printf("# %u events tried, %llu read, %llu lost (full), %llu lost (aborted)\n",
	       tried,
	       nr_read, count(FULL), count(ABORTED));
	finish();
}

/* A channel with overwrite policy: every event that is read is valid, was written, and
 * is read once. */
LOOP_TEST(test_overwrite, 0, 3)
{
	struct tsct_ring_stat stat;
	__u64 overruns = 0, overrun = 0;

	setup_policy(TSCT_POLICY_OVERWRITE, 4 << _i);
	run_all();
	for (__u32 w = 0; w < WRITERS; w++)
		for (__u32 i = 0; i < EVENTS; i++)
			REQUIRE(!seen[w][i] ||
				shared->result[w][i] == WRITTEN);
	for (__u32 i = 0; !tsct_reader_stat(reader, i, &stat); i++) {
		overruns += stat.overruns;
		overrun += stat.overrun;
		ck_assert_uint_eq(stat.broken, 0);
	}
	ck_assert_uint_eq(count(FULL) + count(ODD), 0);
	ck_assert_uint_gt(nr_read, 0);
	/* the reader's count of missed events is exact */
	ck_assert_uint_eq(nr_read + overrun, count(WRITTEN));
	ck_assert_uint_eq(published(), count(WRITTEN));
	printf("# %llu events read, reader overtaken %llu times, %llu missed\n",
	       nr_read,
	       overruns, overrun);
	finish();
}

/* If a writer is killed, it is uncertain whether the event that it was writing is in
 * the ring. */
LOOP_TEST(test_killed_writers, 0, CHILDREN)
{
	unsigned int turn, w, doubtful = 0;
	int status;
	pid_t pid;
	__u32 i;

	setup_policy(TSCT_POLICY_DISCARD, 16);
	seed_with(_i);
	for (turn = 0; turn < WRITERS / 4; turn++) {
		pid = fork_writers(turn * 4);
		for (i = any(200); i > 0; i--) {
			drain();
			usleep(any(100));
		}
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	}
	while (tsct_reader_wait(reader, 0))
		drain();
	for (w = 0; w < WRITERS; w++) {
		for (i = 0; i < shared->next[w]; i++)
			REQUIRE(seen[w][i] ==
				(shared->result[w][i] == WRITTEN));
		if (i < EVENTS)
			doubtful += seen[w][i++];
		for (; i < EVENTS; i++)
			REQUIRE(!seen[w][i]);
	}
	ck_assert_uint_eq(nr_read, count(WRITTEN) + doubtful);
	ck_assert_uint_eq(published(), nr_read);
	ck_assert_uint_ge(sum_lost(TSCT_LOST_FULL), count(FULL));
	ck_assert_uint_le(sum_lost(TSCT_LOST_FULL), count(FULL) + WRITERS);
	printf("# %llu events of killed writers read, %u uncertain\n", nr_read,
	       doubtful);
	finish();
}

/* A channel whose source is a kernel clock: head and clock are read before the
 * restartable section. */
TEST(test_other_clock)
{
	setup_policy(TSCT_POLICY_DISCARD, 64);
	t->source = TSCT_SOURCE_MONOTONIC_RAW;
	tsct_emit_enable_fast(t);
	run_all();
	ck_assert_uint_eq(count(WRITTEN), nr_read);
	ck_assert_uint_eq(count(FULL), sum_lost(TSCT_LOST_FULL));
	ck_assert_uint_eq(count(ABORTED), sum_lost(TSCT_LOST_ABORTED));
	printf("# %llu events read, %llu lost (full), %llu lost (aborted)\n",
	       nr_read, count(FULL),
	       count(ABORTED));
	finish();
}
