// SPDX-License-Identifier: MIT
/*
 * Starts and kills the daemon repeatedly while four threads read its clock through
 * the same handle.
 *
 *   killer TSCTRACED RUN-DIR KILLS SEED
 *
 * Each time read must lie between two readings of CLOCK_REALTIME, within its error
 * bound. No reader may block or spin. Every 20th daemon is killed only once it is
 * synchronized, which must take no longer than 3 s.
 */
#include <tsctrace/tsctrace.h>

#include "lib/core/port.h"
#include "helper.h"

#define READERS		4
#define BATCH		1000
/* limit: 100 times the CPU time that a batch of reads usually takes */
#define BATCH_CPU_NS	1000000000LL
#define STILL_NS	10000000000LL
#define SYNC_NS		20000000000LL

struct reader {
	pthread_t thread;
	uint64_t reads;
	int64_t worst_cpu_ns;		/* longest CPU time of a batch of reads, ns */
	uint64_t worst_error_ns;
	uint64_t by_status[TSCT_STATUS_NR];
};

static struct tsct_clock *clk;
static struct reader readers[READERS];
static bool stop;
static const char *log_path;

static void read_once(struct reader *r)
{
	int64_t before = now_ns(CLOCK_REALTIME), after;
	struct tsct_time time;
	int err = tsct_clock_now(clk, &time);

	after = now_ns(CLOCK_REALTIME);
	if (err)
		errx(1, "no time: %s", strerror(-err));
	if (time.ns + (int64_t)time.error_ns < before ||
	    time.ns - (int64_t)time.error_ns > after)
		errx(1, "%lld +- %llu (%s, epoch %u) is not from %lld to %lld",
		     (long long)time.ns, (unsigned long long)time.error_ns,
		     tsct_status_name(time.status), time.epoch,
		     (long long)before, (long long)after);
	if (time.error_ns > r->worst_error_ns)
		r->worst_error_ns = time.error_ns;
	r->by_status[time.status]++;
}

static void *read_on(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		int64_t cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);

		for (unsigned int i = 0; i < BATCH; i++)
			read_once(r);
		cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
		if (cpu > r->worst_cpu_ns)
			r->worst_cpu_ns = cpu;
		if (cpu > BATCH_CPU_NS)
			errx(1, "%d reads took %lld ns of CPU time", BATCH,
			     (long long)cpu);
		__atomic_fetch_add(&r->reads, BATCH, __ATOMIC_RELAXED);
		/* the reader sleeps, so that the daemon gets CPU time */
		usleep(1000);
	}
	return NULL;
}

/* Checks every STILL_NS ns that each reader has read the clock since the last check. */
static void check_alive(void)
{
	static uint64_t seen[READERS];
	static int64_t since;
	int64_t now = now_ns(CLOCK_MONOTONIC);

	if (since && now - since < STILL_NS)
		return;
	for (unsigned int i = 0; i < READERS && since; i++)
		if (__atomic_load_n(&readers[i].reads, __ATOMIC_RELAXED) ==
		    seen[i])
			errx(1, "reader %u made no progress in 10 s", i);
	for (unsigned int i = 0; i < READERS; i++)
		seen[i] = __atomic_load_n(&readers[i].reads, __ATOMIC_RELAXED);
	since = now;
}

static pid_t start(const char *daemon, const char *run_dir)
{
	pid_t pid = fork();
	int log;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (log >= 0)
		dup2(log, STDERR_FILENO);
	execl(daemon, daemon, "--no-module", "--interval-ms", "100",
	      "--run-dir", run_dir, "--state-dir", run_dir, (char *)NULL);
	_exit(127);
}

/* Returns true if the clock was published after @since (cycles) and is synchronized. */
static bool synchronized_since(uint64_t since)
{
	struct tsct_clock_state state;

	return !tsct_clock_snapshot(clk, &state) &&
		(int64_t)(state.real.as_of_cycles - since) > 0 &&
		state.status == TSCT_STATUS_SYNCHRONIZED;
}

static int64_t await_synchronized(uint64_t since, int64_t from_ns)
{
	while (!synchronized_since(since)) {
		if (now_ns(CLOCK_MONOTONIC) - from_ns > SYNC_NS)
			errx(1, "not synchronized after 3 s; see %s", log_path);
		usleep(2000);
	}
	return now_ns(CLOCK_MONOTONIC) - from_ns;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!WIFSIGNALED(status))
		errx(1, "the daemon ended by itself: %x; see %s",
		     (unsigned int)status, log_path);
}

static void first_time(const char *daemon, const char *run_dir)
{
	int64_t from = now_ns(CLOCK_MONOTONIC);
	pid_t pid = start(daemon, run_dir);

	do {
		usleep(20000);
		if (now_ns(CLOCK_MONOTONIC) - from > 3 * SYNC_NS)
			errx(1, "no daemon's clock after 9 s; see %s", log_path);
		tsct_clock_close(clk);
		if (tsct_clock_open(&clk))
			errx(1, "out of memory");
	} while (strcmp(tsct_clock_origin(clk), "daemon"));
	await_synchronized(0, now_ns(CLOCK_MONOTONIC));
	end(pid);
}

static void report(unsigned int kills, int64_t worst_sync_ns)
{
	printf("%u kills, synchronized again after %.3f s at most\n", kills,
	       (double)worst_sync_ns / 1e9);
	for (unsigned int i = 0; i < READERS; i++) {
		printf("reader %u: %llu reads, bound %llu ns at most, %d of "
		       "them in %.3f ms of CPU time at most;", i,
		       (unsigned long long)readers[i].reads,
		       (unsigned long long)readers[i].worst_error_ns, BATCH,
		       (double)readers[i].worst_cpu_ns / 1e6);
		for (unsigned int s = 0; s < TSCT_STATUS_NR; s++)
			if (readers[i].by_status[s])
				printf(" %s %llu", tsct_status_name(s),
				       (unsigned long long)
				       readers[i].by_status[s]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	int64_t took, worst = 0;
	unsigned int kills, i;
	char path[4096];

	if (argc != 5)
		return 2;
	kills = (unsigned int)atoi(argv[3]);
	srand((unsigned int)atoi(argv[4]));
	snprintf(path, sizeof(path), "%s.log", argv[2]);
	log_path = path;
	setenv("TSCTRACE_RUN_DIR", argv[2], 1);
	first_time(argv[1], argv[2]);
	for (i = 0; i < READERS; i++)
		pthread_create(&readers[i].thread, NULL, read_on, &readers[i]);
	for (i = 0; i < kills; i++) {
		uint64_t since = tsct_clock_cycles(clk);
		int64_t from = now_ns(CLOCK_MONOTONIC);
		pid_t pid = start(argv[1], argv[2]);

		if (i % 20 == 19) {
			took = await_synchronized(since, from);
			worst = took > worst ? took : worst;
		} else {
			usleep((unsigned int)rand() % 60000);
		}
		end(pid);
		check_alive();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	report(kills, worst);
	tsct_clock_close(clk);
	return 0;
}
