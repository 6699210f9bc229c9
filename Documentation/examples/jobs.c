// SPDX-License-Identifier: MIT
/*
 * Counts the primes below a number: a few workers take jobs (ranges) from a
 * queue. It does the same work and prints the same result whether anybody
 * traces it or not; the lines that trace are marked with "trace:".
 *
 *	jobs [NUMBER [WORKERS]]
 *	trace-ctl record -o out -- jobs 1000000 && trace-ctl dump out
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>	/* trace: */

#define JOB_SIZE	10000
#define WORKERS_MAX	64

/* trace: what the payloads look like; the same order as in the definitions */
struct job_begin { uint32_t worker; uint64_t first; } __attribute__((packed));
struct job_end { uint32_t worker, primes; } __attribute__((packed));

static struct tsct *trace;
static int ev_begin, ev_end, ev_depth, ev_note;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long next_first, limit, total;

/* trace: once, at the start. With no tracer, emit drops what it is given. */
static void start_trace(void)
{
	if (tsct_open(NULL, &trace) < 0)
		fprintf(stderr, "jobs: not traced: %s\n", tsct_why(trace));
	ev_begin = tsct_define(trace, "job", TSCT_KIND_BEGIN,
			       "worker:u32, first:u64");
	ev_end = tsct_define(trace, "job", TSCT_KIND_END,
			     "worker:u32, primes:u32");
	ev_depth = tsct_define(trace, "queue_depth", TSCT_KIND_COUNTER,
			       "jobs:u32");
	ev_note = tsct_define(trace, "note", TSCT_KIND_INSTANT, "text:string");
}

static int take_job(unsigned long *ret_first)
{
	uint32_t depth = 0;
	int have;

	pthread_mutex_lock(&lock);
	have = next_first < limit;
	*ret_first = next_first;
	if (have)
		next_first += JOB_SIZE;
	if (next_first < limit)
		depth = (limit - next_first + JOB_SIZE - 1) / JOB_SIZE;
	pthread_mutex_unlock(&lock);
	tsct_emit(trace, ev_depth, &depth, sizeof(depth));	/* trace: */
	return have;
}

static int is_prime(unsigned long n)
{
	unsigned long d;

	for (d = 2; d * d <= n; d++)
		if (n % d == 0)
			return 0;
	return n >= 2;
}

static uint32_t do_job(uint32_t worker, unsigned long first)
{
	struct job_begin begin = { worker, first };
	struct job_end end = { worker, 0 };
	unsigned long n;

	tsct_emit(trace, ev_begin, &begin, sizeof(begin));	/* trace: */
	for (n = first; n < first + JOB_SIZE && n < limit; n++)
		end.primes += is_prime(n);
	tsct_emit(trace, ev_end, &end, sizeof(end));		/* trace: */
	return end.primes;
}

static void *work(void *arg)
{
	uint32_t worker = (uintptr_t)arg, primes = 0;
	unsigned long first;
	char note[64];

	while (take_job(&first))
		primes += do_job(worker, first);
	snprintf(note, sizeof(note), "worker %u found %u", worker, primes);
	tsct_emit(trace, ev_note, note, strlen(note) + 1);	/* trace: */
	pthread_mutex_lock(&lock);
	total += primes;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long workers = argc > 2 ? strtoul(argv[2], NULL, 0) : 2;
	pthread_t threads[WORKERS_MAX];
	uintptr_t i;

	limit = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	if (!limit || limit > 1UL << 40 || !workers || workers > WORKERS_MAX) {
		fputs("usage: jobs [NUMBER [WORKERS]]; 2^40, 64 at most\n", stderr);
		return 2;
	}
	start_trace();						/* trace: */
	for (i = 0; i < workers; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	printf("%lu primes below %lu\n", total, limit);
	tsct_close(trace);					/* trace: */
	return 0;
}
