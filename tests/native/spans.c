// SPDX-License-Identifier: MIT
/*
 * spans KEY=VALUE... - a load of random spans, each with a number at its begin and at its end
 *
 *	threads, loops	number of threads, and of loops of each
 *	pause		longest sleep inside a span, microseconds
 *	seed		seed of the random numbers
 *	kill		microseconds until the program kills itself; 0: never
 *	move		1: threads move between CPUs
 *	burst		number of calls that each thread makes in the middle, without anything else
 *
 * A loop is a span of the program's own (outer, in which others may be), or a call: of work(),
 * which returns its argument, or of the kernel. The begin of a span has the field n, its end the
 * field m, with the same value: a begin and an end with other numbers do not belong together.
 * The threads rename themselves; the first one also forks children, some of which execute
 * another program.
 */
#include <tsctrace/tsctrace.h>

#include "helper.h"

#define THREADS_MAX	8

static struct { long threads, loops, pause, seed, kill, move, burst; } o = {
	.threads = 1, .loops = 100, .seed = 1,
};

static struct tsct_channel *channel;
static int ids[4];	/* outer, its end, inner, its end */
static int zero;

/* Not static: tracers need the symbol. */
int work(int n);

__attribute__((noinline)) int work(int n)
{
	asm volatile("" : : : "memory");
	return n;
}

static unsigned int draw(unsigned int *state, unsigned int below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

static void emit(int which, uint64_t n)
{
	tsct_emit(channel, (unsigned int)ids[which], &n, sizeof(n));
}

static void nap(unsigned int *state)
{
	if (o.pause && !draw(state, 4))
		usleep((useconds_t)draw(state, (unsigned int)o.pause) + 1);
}

static void move(unsigned int *state)
{
	cpu_set_t cpus;
	unsigned int cpu = draw(state, (unsigned int)sysconf(_SC_NPROCESSORS_ONLN));

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void fork_one(unsigned int *state)
{
	pid_t child = fork();

	if (!child && draw(state, 2))
		execl("/bin/true", "true", (char *)NULL);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void loop(unsigned int *state, uint64_t n, bool first)
{
	char name[16], byte;

	switch (draw(state, first ? 9 : 8)) {
	case 0:
	case 1:
		emit(0, n);
		nap(state);
		if (draw(state, 2)) {
			emit(2, n + 1);
			nap(state);
			emit(3, n + 1);
		}
		emit(1, n);
		break;
	case 2:
	case 3: work((int)n); break;
	case 4: lseek(zero, (off_t)n, SEEK_SET); break;
	case 5: nap(state); break;
	case 6:
		if (o.move)
			move(state);
		break;
	case 7:
		if (read(zero, &byte, 1) == 1 && !draw(state, 20)) {
			snprintf(name, sizeof(name), draw(state, 2) ? "spans" : "other");
			prctl(PR_SET_NAME, name);
		}
		break;
	case 8:
		if (!draw(state, 8))
			fork_one(state);
	}
}

static void *run(void *arg)
{
	const uint64_t thread = (uint64_t)(intptr_t)arg;
	unsigned int state = (unsigned int)o.seed * 31 + (unsigned int)thread;
	long i, call;

	for (i = 0; i < o.loops; i++) {
		loop(&state, thread << 24 | (uint64_t)i << 1, !thread);
		for (call = 0; i == o.loops / 2 && call < o.burst; call++)
			lseek(zero, call, SEEK_SET);
	}
	return NULL;
}

static void *kill_later(void *unused)
{
	(void)unused;
	usleep((useconds_t)o.kill);
	kill(getpid(), SIGKILL);
	return NULL;
}

static void set(const char *word)
{
	const struct { const char *name; long *value; } keys[] = {
		{ "threads", &o.threads }, { "loops", &o.loops }, { "pause", &o.pause },
		{ "seed", &o.seed }, { "kill", &o.kill }, { "move", &o.move }, { "burst", &o.burst },
	};
	const size_t len = strcspn(word, "=");
	unsigned int i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strlen(keys[i].name) == len && !strncmp(keys[i].name, word, len)) {
			*keys[i].value = atol(word + len + 1);
			return;
		}
	errx(2, "%s", word);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX], killer;
	long i;

	for (i = 1; i < argc; i++)
		set(argv[i]);
	if (o.threads > THREADS_MAX)
		return 2;
	/* Without a provider, only the kernel's events are recorded. */
	tsct_channel_open(NULL, &channel);
	ids[0] = tsct_event_define(channel, "outer", TSCT_KIND_BEGIN, "n:u64");
	ids[1] = tsct_event_define(channel, "outer", TSCT_KIND_END, "m:u64");
	ids[2] = tsct_event_define(channel, "inner", TSCT_KIND_BEGIN, "n:u64");
	ids[3] = tsct_event_define(channel, "inner", TSCT_KIND_END, "m:u64");
	zero = open("/dev/zero", O_RDONLY);
	if (o.kill && pthread_create(&killer, NULL, kill_later, NULL))
		errx(1, "pthread_create");
	for (i = 1; i < o.threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i))
			errx(1, "pthread_create");
	run(NULL);
	for (i = 1; i < o.threads; i++)
		pthread_join(threads[i], NULL);
	tsct_channel_close(channel);
	return 0;
}
