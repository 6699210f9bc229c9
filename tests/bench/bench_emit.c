// SPDX-License-Identifier: MIT
/*
 * Cost of an event for the program that emits it, compared with the minimum (a read of
 * the counter) and with alternatives: LTTng-UST, a system call. Short runs of all
 * functions alternate on one CPU; then two threads run on two CPUs.
 *
 *	bench_emit [OTHER]	OTHER: path of a program that measures an alternative
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tsctrace/event.h>

#include "bench.h"
#include "lib/client/channel.h"
#include "lib/clock/clock_source.h"
#include "lib/provider/server.h"

/* longest wait for a result of the compared program (argument OTHER), ms */
#define ANSWER_MS	20000

TSCT_EVENT(one, TSCT_KIND_COUNTER, TSCT_U64(value));
TSCT_EVENT(queued, TSCT_KIND_COUNTER, TSCT_U64(value));
TSCT_EVENT(off, TSCT_KIND_COUNTER, TSCT_U64(value));
TSCT_EVENT(bytes_64, TSCT_KIND_INSTANT, TSCT_BYTES(bytes, 64));
TSCT_EVENT(bytes_256, TSCT_KIND_INSTANT, TSCT_BYTES(bytes, 256));

static struct tsct_channel *recorder, *queue;
static int file;
static const unsigned char bytes[256];

static void counter(unsigned int turns)
{
	uint32_t low, high;

	while (turns--)
		__asm__ __volatile__ ("lfence\n\trdtsc"
				      : "=a" (low), "=d" (high) : : "memory");
}

static void counter_unordered(unsigned int turns)
{
	uint32_t low, high;

	while (turns--)
		__asm__ __volatile__ ("rdtsc"
				      : "=a" (low), "=d" (high) : : "memory");
}

static void emit(unsigned int turns)
{
	for (uint64_t value = 0; value < turns; value++)
		one_emit(value);
}

static void emit_unordered(unsigned int turns)
{
	for (uint64_t value = 0; value < turns; value++)
		one_emit_unordered(value);
}

static void emit_off(unsigned int turns)
{
	for (uint64_t value = 0; value < turns; value++) {
		off_emit(value);
		__asm__ __volatile__ ("" : : : "memory");
	}
}

static void emit_call(unsigned int turns)
{
	for (uint64_t value = 0; value < turns; value++)
		tsct_emit(recorder, TSCT_ID_FIRST, &value, sizeof(value));
}

static void emit_discard(unsigned int turns)
{
	const unsigned int cpu = sched_getcpu();

	for (uint64_t value = 0; value < turns; value++) {
		if (value % 1024 == 0)	/* empties the ring, so that it is never full */
			__atomic_store_n(&tsct_ring_consumer(queue, cpu)->tail,
					 tsct_ring_producer(queue, cpu)->head,
					 __ATOMIC_RELEASE);
		queued_emit(value);
	}
}

static void emit_64_bytes(unsigned int turns)
{
	while (turns--)
		bytes_64_emit(bytes);
}

static void emit_256_bytes(unsigned int turns)
{
	while (turns--)
		bytes_256_emit(bytes);
}

static void write_24_bytes(unsigned int turns)
{
	char record[24] = "";

	while (turns--)
		if (pwrite(file, record, sizeof(record), turns % 4096 * 24) < 0)
			abort();
}

static void clock_gettime_monotonic(unsigned int turns)
{
	struct timespec now;

	while (turns--)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

enum {
	COUNTER, EMIT, COUNTER_UNORDERED, EMIT_UNORDERED, EMIT_CALL,
	EMIT_DISCARD, EMIT_64, EMIT_256, EMIT_OFF, GETTIME, WRITE, NR_BENCHES
};

static struct bench benches[NR_BENCHES] = {
	[COUNTER] = { .name = "counter_ns", .run = counter },
	[EMIT] = { .name = "emit_user_ns", .run = emit },
	[COUNTER_UNORDERED] = { .name = "counter_unordered_ns",
				.run = counter_unordered },
	[EMIT_UNORDERED] = { .name = "emit_user_unordered_ns",
			     .run = emit_unordered },
	[EMIT_CALL] = { .name = "emit_user_call_ns", .run = emit_call },
	[EMIT_DISCARD] = { .name = "emit_user_discard_ns",
			   .run = emit_discard },
	[EMIT_64] = { .name = "emit_user_64_bytes_ns", .run = emit_64_bytes },
	[EMIT_256] = { .name = "emit_user_256_bytes_ns",
		       .run = emit_256_bytes },
	[EMIT_OFF] = { .name = "emit_off_ns", .run = emit_off },
	[GETTIME] = { .name = "clock_gettime_ns",
		      .run = clock_gettime_monotonic },
	[WRITE] = { .name = "write_ns", .run = write_24_bytes },
};

/* ---- the compared program: measures an alternative -------------------------- */

/*
 * Child process that runs the compared program (argument OTHER) on the same CPU, and
 * waits at a pipe while our functions run. The child writes one byte, 1, when it is
 * ready. Then, for each byte that it reads, it writes BENCH_OTHER_NR doubles: ns per
 * iteration with payloads of 8, 64 and 256 bytes.
 */
static struct {
	pid_t pid;		/* process id of the compared program; 0: the program
				 * does not run */
	int in, out;
	double ns[BENCH_OTHER_NR][BENCH_RUNS];
} other;

static bool other_read(void *buf, size_t size)
{
	struct pollfd fd = { .fd = other.in, .events = POLLIN };

	return poll(&fd, 1, ANSWER_MS) == 1 && read(other.in, buf, size) == (ssize_t)size;
}

static void other_stop(void)
{
	if (!other.pid)
		return;
	close(other.in);
	close(other.out);
	kill(other.pid, SIGKILL);
	waitpid(other.pid, NULL, 0);
	other.pid = 0;
}

static void other_start(const char *program)
{
	int to[2], from[2];
	char ready;

	if (!program || pipe(to) || pipe(from))
		return;
	signal(SIGPIPE, SIG_IGN);
	other.pid = fork();
	if (!other.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	other.out = to[1];
	other.in = from[0];
	if (other.pid < 0 || !other_read(&ready, 1) || !ready)
		other_stop();
}

/* ---- functions whose runs alternate ------------------------------------------ */

static double timed(void (*run)(unsigned int turns))
{
	run(100);		/* loads the code into the caches */
	return bench_time(run);
}

static void run_all(void)
{
	double ns[BENCH_OTHER_NR];

	for (unsigned int run = 0; run < BENCH_RUNS; run++) {
		for (unsigned int i = 0; i < NR_BENCHES; i++)
			benches[i].ns[run] = timed(benches[i].run);
		if (other.pid && (write(other.out, "", 1) != 1 ||
				  !other_read(ns, sizeof(ns))))
			other_stop();
		for (unsigned int i = 0; other.pid && i < BENCH_OTHER_NR; i++)
			other.ns[i][run] = ns[i];
	}
	for (unsigned int i = 0; i < NR_BENCHES; i++)
		printf("%s %.2f ns\n", benches[i].name,
		       bench_median(&benches[i]));
}

/* Returns the median of ours[i] / theirs[i], the times of two functions in run i. */
static double ratio(const double *ours, const double *theirs)
{
	static double ratios[BENCH_RUNS];

	for (unsigned int i = 0; i < BENCH_RUNS; i++)
		ratios[i] = ours[i] / theirs[i];
	return bench_quantile(ratios, BENCH_RUNS, 0.5);
}

static void compare(const char *name, unsigned int a, unsigned int b)
{
	printf("%s %.3f ratio\n", name, ratio(benches[a].ns, benches[b].ns));
}

static void compare_other(const char *program)
{
	static const char *const suffixes[BENCH_OTHER_NR] = {
		"", "_64_bytes", "_256_bytes",
	};
	static const unsigned int ours[BENCH_OTHER_NR] = {
		EMIT, EMIT_64, EMIT_256,
	};

	if (!other.pid) {
		printf("# lttng_ust_ns: not measured; %s\n",
		       program ? "its session did not start" :
		       "install lttng-tools and liblttng-ust-dev");
		return;
	}
	for (unsigned int i = 0; i < BENCH_OTHER_NR; i++) {
		printf("lttng_ust%s_ns %.2f ns\n", suffixes[i],
		       bench_quantile(other.ns[i], BENCH_RUNS, 0.5));
		printf("emit_user%s_vs_lttng_ust %.3f ratio\n", suffixes[i],
		       ratio(benches[ours[i]].ns, other.ns[i]));
	}
}

/* ---- two threads on two CPUs -------------------------------------------- */

enum { ALONE, TOGETHER, NR_PHASES };

static void (*const phased[])(unsigned int) = { counter, emit };

#define NR_PHASED	(sizeof(phased) / sizeof(phased[0]))

static struct {
	int cpu;
	double ns[NR_PHASED][NR_PHASES][BENCH_RUNS];
} threads[2];

static unsigned int arrived;

/* A barrier for both threads. It spins, because a wakeup takes too long. */
static void meet(unsigned int *meetings)
{
	*meetings += 2;
	__atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < *meetings)
		__builtin_ia32_pause();
}

/* Measures thread 0 alone, then thread 1 alone, then both threads together. */
static void *run_phases(void *arg)
{
	const unsigned int me = (uintptr_t)arg;
	unsigned int run, i, who, meetings = 0;

	bench_pin(threads[me].cpu);
	for (run = 0; run < BENCH_RUNS; run++) {
		for (i = 0; i < NR_PHASED; i++) {
			for (who = 0; who < 2; who++) {
				meet(&meetings);
				if (who == me)
					threads[me].ns[i][ALONE][run] =
						timed(phased[i]);
			}
			meet(&meetings);
			threads[me].ns[i][TOGETHER][run] = timed(phased[i]);
		}
	}
	return NULL;
}

/* Prints the time per iteration while both threads run: the mean of the two threads.
 * Also prints the ratio of a thread's time while both threads run to its time when it
 * runs alone: the larger one of the two threads' ratios. */
static void print_phase(const char *name, unsigned int i)
{
	double ns = 0, most = 0, one;

	for (unsigned int me = 0; me < 2; me++) {
		one = ratio(threads[me].ns[i][TOGETHER],
			    threads[me].ns[i][ALONE]);
		most = one > most ? one : most;
		ns += bench_quantile(threads[me].ns[i][TOGETHER], BENCH_RUNS,
				     0.5) / 2;
	}
	printf("%s_2_threads_ns %.2f ns\n%s_2_threads_vs_1 %.3f ratio\n",
	       name, ns, name, most);
}

static void run_two(const cpu_set_t *allowed)
{
	unsigned int nr = 0;
	pthread_t thread;

	for (int cpu = 0; cpu < CPU_SETSIZE && nr < 2; cpu++)
		if (CPU_ISSET(cpu, allowed))
			threads[nr++].cpu = cpu;
	if (nr < 2 || pthread_create(&thread, NULL, run_phases, NULL)) {
		puts("# emit_user_2_threads_ns: not measured; there is one CPU "
		     "only");
		return;
	}
	run_phases((void *)1);
	pthread_join(thread, NULL);
	print_phase("counter", 0);
	print_phase("emit_user", 1);
}

/* ---- channels ------------------------------------------------------------ */

static struct tsct_channel *open_channel(const char *path, const char *name,
				 unsigned int policy)
{
	struct tsct_channel_options options = {
		.name = name, .policy = policy,
		.roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ,
	};
	struct tsct_channel *t;

	if (tsct_channel_open_at(path, &options, &t)) {
		fprintf(stderr, "bench_emit: %s\n", tsct_channel_error(t));
		exit(1);
	}
	return t;
}

static void bind(struct tsct_event_type *event, struct tsct_channel *t)
{
	if (tsct_event_bind(event, t)) {
		fprintf(stderr, "bench_emit: %s cannot be enabled\n",
			event->name);
		exit(1);
	}
}

/* Fails if events were lost, because the result is then invalid. */
static void check_losses(struct tsct_channel *t, const char *name)
{
	unsigned long lost = tsct_channel_dropped(t);

	for (unsigned int cpu = 0; cpu < t->header.nr_cpus; cpu++)
		for (unsigned int i = 0; tsct_ring_ready(t, cpu) && i < TSCT_LOST_NR; i++)
			lost += tsct_ring_producer(t, cpu)->lost[i];
	if (lost) {
		fprintf(stderr, "bench_emit: %s lost %lu events: its result is "
			"not valid\n", name, lost);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/tsct-bench.XXXXXX", path[64];
	const char *program = argc > 1 ? argv[1] : NULL;
	struct tsct_server *server;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/s", dir);
	if (tsct_server_start(path, "embedded", tsct_source_choose(NULL, 0), &server) ||
	    tsct_server_run(server))
		return 1;
	recorder = open_channel(path, "recorder", TSCT_POLICY_OVERWRITE);
	queue = open_channel(path, "queue", TSCT_POLICY_DISCARD);
	bind(&one_event, recorder);
	bind(&bytes_64_event, recorder);
	bind(&bytes_256_event, recorder);
	bind(&queued_event, queue);
	if (tsct_channel_info(recorder)->source != TSCT_SOURCE_TSC) {
		fputs("bench_emit: the channel's source is not the TSC: "
		      "nothing to measure\n", stderr);
		return 1;
	}
	file = memfd_create("bench", 0);
	bench_pin(sched_getcpu());
	other_start(program);
	run_all();
	compare_other(program);
	other_stop();
	compare("emit_user_vs_counter", EMIT, COUNTER);
	compare("emit_user_unordered_vs_counter", EMIT_UNORDERED,
		COUNTER_UNORDERED);
	compare("emit_user_vs_write", EMIT, WRITE);
	run_two(&allowed);
	check_losses(recorder, "emit_user");
	check_losses(queue, "emit_user_discard");
	tsct_channel_close(recorder);
	tsct_channel_close(queue);
	tsct_server_stop(server);
	rmdir(dir);
	return 0;
}
