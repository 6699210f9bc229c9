// SPDX-License-Identifier: MIT
/*
 * Counts the primes below a number: a few workers take jobs (ranges) from a queue.
 * Work and result are the same with and without tracing; the lines that trace are
 * marked with "trace:".
 *
 *	jobs [NUMBER [WORKERS]]
 *	trace-ctl record -o out -- jobs 1000000 && trace-ctl dump out
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tsctrace/event.h>	/* trace: */

#define JOB_SIZE	10000
#define WORKERS_MAX	64

/* trace: the events; each defines a function NAME_emit() */
TSCT_EVENT_AS(job_begin, job, TSCT_KIND_BEGIN,
	      TSCT_U32(worker), TSCT_U64(first));
TSCT_EVENT_AS(job_end, job, TSCT_KIND_END, TSCT_U32(worker), TSCT_U32(primes));
TSCT_EVENT(queue_depth, TSCT_KIND_COUNTER, TSCT_U32(jobs));
TSCT_EVENT(note, TSCT_KIND_INSTANT, TSCT_STRING(text));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long next_first, limit, total;

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
	queue_depth_emit(depth);				/* trace: */
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
	uint32_t primes = 0;
	unsigned long n;

	job_begin_emit(worker, first);				/* trace: */
	for (n = first; n < first + JOB_SIZE && n < limit; n++)
		primes += is_prime(n);
	job_end_emit(worker, primes);				/* trace: */
	return primes;
}

static void *work(void *arg)
{
	uint32_t worker = (uintptr_t)arg, primes = 0;
	unsigned long first;
	char note[64];

	while (take_job(&first))
		primes += do_job(worker, first);
	snprintf(note, sizeof(note), "worker %u found %u", worker, primes);
	note_emit(note);					/* trace: */
	pthread_mutex_lock(&lock);
	total += primes;
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long workers = argc > 2 ? strtoul(argv[2], NULL, 0) : 2;
	pthread_t threads[WORKERS_MAX];
	struct tsct_channel *trace;					/* trace: */
	uintptr_t i;

	limit = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	if (!limit || limit > 1UL << 40 || !workers || workers > WORKERS_MAX) {
		fputs("usage: jobs [NUMBER [WORKERS]]; 2^40, 64 at most\n", stderr);
		return 2;
	}
	if (tsct_channel_open(NULL, &trace) < 0)			/* trace: */
		fprintf(stderr, "jobs: not traced: %s\n", tsct_channel_error(trace));
	tsct_events_enable(trace, NULL);				/* trace: */
	for (i = 0; i < workers; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	for (i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	printf("%lu primes below %lu\n", total, limit);
	tsct_channel_close(trace);					/* trace: */
	return 0;
}
