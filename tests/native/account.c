// SPDX-License-Identifier: MIT
/*
 * account COUNTS user|calls|spans KEY=VALUE... - emit events, or make calls that a recorder traces,
 * and count them in the shared memory of the file COUNTS
 *
 *	threads, events	number of threads, and of events of each
 *	types, size	user: number of event types, and bytes of payload behind the number
 *	large		user: each event of this number has a payload that fits no block
 *	pause		microseconds of sleep after each 64 events; spans: longest sleep in a span
 *	kill		microseconds until the program kills itself, counted from its first event
 *	cpu		CPU on which all threads run; -1: all
 *	early		events that the first thread emits before it waits for the file "go" in
 *			the directory of COUNTS; while that is a FIFO, it makes no call
 *	seed, burst	spans: seed of random numbers, and number of calls after half of the spans
 *
 * A span is one of the program's own (outer, in which may be inner), a call of work(), or of the
 * kernel. Its begin has the field n, its end the field m, with the same value: a begin and an end
 * with other numbers do not belong together. Threads move between CPUs and rename themselves, and
 * the first one forks children, some of which execute another program.
 *
 * Each thread counts an event before and after it, so that a program that is killed has counted
 * all that happened but one of each thread.
 */
#include <tsctrace/tsctrace.h>

#include "helper.h"

#define THREADS_MAX	8
#define LARGE		(1 << 16)

enum { OK, FULL, TOO_LARGE, REFUSED, OTHER, RESULTS };

/* Contents of the file COUNTS */
struct counts {
	uint64_t started;	/* 1: events may follow; 2: the early ones have been emitted */
	uint64_t dropped;	/* tsct_channel_dropped() at the end */
	struct { uint64_t before, after, result[RESULTS]; } thread[THREADS_MAX];
};

static struct {
	long threads, events, types, size, large, pause, cpu, early, kill, seed, burst;
} o = { .threads = 1, .events = 1000, .types = 1, .cpu = -1 };

static struct counts *counts;
static struct tsct_channel *channel;
static char go[4096];
static __thread unsigned int random_state;
static bool is_user, is_spans;
static int ids[1000];	/* with spans: outer, its end, inner, its end */

/* Not static: tracers need the symbol. */
int work(int n);

__attribute__((noinline)) int work(int n)
{
	asm volatile("" : : : "memory");
	return n;
}

static int emit_one(long n)
{
	static char large[LARGE];
	struct { uint64_t n; char rest[4096]; } payload = { .n = (uint64_t)n };

	if (o.large && n % o.large == o.large - 1)
		return tsct_emit(channel, (unsigned int)ids[0], large, sizeof(large));
	return tsct_emit(channel, (unsigned int)ids[n % o.types], &payload,
			 sizeof(payload.n) + (size_t)o.size);
}

static void add(uint64_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

static unsigned int draw(unsigned int below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (random_state >> 8) % below;
}

static void nap(void)
{
	if (o.pause && !draw(4))
		usleep((useconds_t)draw((unsigned int)o.pause) + 1);
}

static void emit_span(int which, uint64_t n)
{
	tsct_emit(channel, (unsigned int)ids[which], &n, sizeof(n));
	nap();
	if (!which && draw(2))
		emit_span(2, n + 1);
	tsct_emit(channel, (unsigned int)ids[which + 1], &n, sizeof(n));
}

static void move(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(draw((unsigned int)sysconf(_SC_NPROCESSORS_ONLN)), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void fork_one(void)
{
	pid_t child = fork();

	if (!child && draw(2))
		execl("/bin/true", "true", (char *)NULL);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void span(long thread, long i)
{
	const long n = thread << 24 | i << 1;

	switch (draw(16)) {
	case 0 ... 5: emit_span(0, (uint64_t)n); break;
	case 6 ... 9: work((int)n); break;
	case 10 ... 11: lseek(-1, n, SEEK_SET); break;
	case 12 ... 13: nap(); break;
	case 14: draw(4) ? move() : prctl(PR_SET_NAME, draw(2) ? "account" : "other"); break;
	case 15:
		if (!thread && !draw(8))
			fork_one();
	}
	for (i = i == o.events / 2 ? o.burst : 0; i; i--)
		lseek(-1, i, SEEK_SET);
}

static void event(long thread, long n)
{
	int err = 0;

	add(&counts->thread[thread].before);
	if (is_spans)
		span(thread, n);
	else if (is_user)
		err = emit_one(n);
	else if (work((int)n) == n)
		syscall(SYS_getsid, 0);
	add(&counts->thread[thread].after);
	add(&counts->thread[thread].result[!err ? OK : err == -ENOSPC ? FULL :
		err == -EMSGSIZE ? TOO_LARGE : err == -EINVAL ? REFUSED : OTHER]);
	if (o.pause && !is_spans && n % 64 == 63)
		usleep((useconds_t)o.pause);
}

static void *run(void *arg)
{
	const long thread = (long)(intptr_t)arg;

	random_state = (unsigned int)(o.seed * THREADS_MAX + thread);
	for (long n = 0; n < o.events; n++)
		event(thread, n);
	return NULL;
}

static void *kill_later(void *unused)
{
	usleep((useconds_t)o.kill);
	kill(getpid(), SIGKILL);
	return NULL;
}

static void set(const char *word)
{
	const struct { const char *name; long *value; } keys[] = {
		{ "threads", &o.threads }, { "events", &o.events }, { "types", &o.types },
		{ "size", &o.size }, { "large", &o.large }, { "pause", &o.pause },
		{ "cpu", &o.cpu }, { "early", &o.early }, { "kill", &o.kill },
		{ "seed", &o.seed }, { "burst", &o.burst },
	};
	const size_t len = strcspn(word, "=");

	for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].name) == len && !strncmp(keys[i].name, word, len)) {
			*keys[i].value = atol(word + len + 1);
			return;
		}
	errx(2, "%s", word);
}

static void open_channel(void)
{
	char name[32], fields[64] = "n:u64";

	if (o.size)
		snprintf(fields, sizeof(fields), "n:u64,rest:bytes[%ld]", o.size);
	if (tsct_channel_open(NULL, &channel))
		warnx("%s", tsct_channel_error(channel));
	for (long i = 0; is_spans && i < 4; i++)
		ids[i] = tsct_event_define(channel, i < 2 ? "outer" : "inner", i % 2 ?
					   TSCT_KIND_END : TSCT_KIND_BEGIN, i % 2 ? "m:u64" : "n:u64");
	for (long i = 0; !is_spans && i < o.types; i++) {
		snprintf(name, sizeof(name), "type%ld", i);
		ids[i] = tsct_event_define(channel, name, TSCT_KIND_INSTANT, fields);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX], killer;
	cpu_set_t cpus;
	int fd;

	if (argc < 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*counts)))
		err(1, "%s", argv[1]);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	is_spans = !strcmp(argv[2], "spans");
	is_user = is_spans || !strcmp(argv[2], "user");
	for (long i = 3; i < argc; i++)
		set(argv[i]);
	if (counts == MAP_FAILED || o.threads > THREADS_MAX || o.types > 1000 || o.size > 4096)
		return 2;
	if (o.cpu >= 0) {
		CPU_ZERO(&cpus);
		CPU_SET((size_t)o.cpu, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			err(1, "CPU %ld", o.cpu);
	}
	if (is_user)
		open_channel();
	snprintf(go, sizeof(go), "%.*s/go", (int)(strrchr(argv[1], '/') - argv[1]), argv[1]);
	counts->started = 1;
	for (long i = 0; i < o.early; i++)
		event(0, i);
	counts->started = 2;
	while (o.early && open(go, O_RDONLY) < 0)
		usleep(1000);
	if (o.kill && pthread_create(&killer, NULL, kill_later, NULL))
		errx(1, "pthread_create");
	for (long i = 0; i < o.threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i))
			errx(1, "pthread_create");
	for (long i = 0; i < o.threads; i++)
		pthread_join(threads[i], NULL);
	if (is_user) {
		counts->dropped = tsct_channel_dropped(channel);
		tsct_channel_close(channel);
	}
	return 0;
}
