// SPDX-License-Identifier: MIT
/*
 * states - threads whose states have known causes
 *
 * `sleeper` sleeps for 100 ms. `spin_a` and `spin_b` share one CPU, and compute for 50 ms each.
 * `ping` and `pong` wake each other 100 times by pipes. Prints NAME TID CPU-TIME for each thread at
 * its end; CPU time in ns.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS	1000000LL

static int ping[2], pong[2];
static pthread_barrier_t both;

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void end(const char *name)
{
	printf("%s %ld %lld\n", name, syscall(SYS_gettid), cpu_ns());
}

static void *run_sleeper(void *arg)
{
	struct timespec t = { .tv_nsec = 100 * MS };

	pthread_setname_np(pthread_self(), "sleeper");
	while (nanosleep(&t, &t))
		;
	end("sleeper");
	return arg;
}

static void *run_spinner(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&both);
	while (cpu_ns() < 50 * MS)
		;
	end(name);
	return NULL;
}

static void *run_pinger(void *name)
{
	const int first = ((char *)name)[1] == 'i';
	char c = 0;

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 100; i++) {
		if (first && write(ping[1], &c, 1) != 1)
			exit(1);
		if (read(first ? pong[0] : ping[0], &c, 1) != 1)
			exit(1);
		if (!first && write(pong[1], &c, 1) != 1)
			exit(1);
	}
	end(name);
	return NULL;
}

int main(void)
{
	static const struct { void *(*run)(void *); const char *name; } all[] = {
		{ run_sleeper, "sleeper" }, { run_spinner, "spin_a" }, { run_spinner, "spin_b" },
		{ run_pinger, "ping" }, { run_pinger, "pong" },
	};
	pthread_t threads[5];
	cpu_set_t cpus, one;
	int i, cpu = 0;

	if (pipe(ping) || pipe(pong) || pthread_barrier_init(&both, NULL, 2) ||
	    sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	for (i = 0; i < 5; i++) {
		/* A thread begins with the CPUs of the one that creates it. */
		if (sched_setaffinity(0, sizeof(cpus), i == 1 || i == 2 ? &one : &cpus) ||
		    pthread_create(&threads[i], NULL, all[i].run, (void *)all[i].name))
			return 1;
	}
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
