// SPDX-License-Identifier: MIT
/*
 * What an event costs its program, beside what nobody can do without (reading
 * the counter in order) and what anybody could do instead (a system call).
 * Records are 24 bytes: 16 of header, 8 of payload.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "handle.h"
#include "provider.h"

static struct tsct *recorder, *queue;
static int file;

static void counter(unsigned int turns)
{
	uint32_t low, high;

	while (turns--)
		__asm__ __volatile__ ("lfence\n\trdtsc"
				      : "=a" (low), "=d" (high) : : "memory");
}

static void counter_rdtscp(unsigned int turns)
{
	uint32_t low, high, aux;

	while (turns--)
		__asm__ __volatile__ ("rdtscp" : "=a" (low), "=d" (high),
				      "=c" (aux) : : "memory");
}

static void emit_overwrite(unsigned int turns)
{
	uint64_t value;

	for (value = 0; value < turns; value++)
		tsct_emit(recorder, TSCT_ID_FIRST, &value, sizeof(value));
}

/* Takes everything at once, so that the ring is never full. */
static void drain(void)
{
	unsigned int cpu = sched_getcpu();

	__atomic_store_n(&tsct_ring_consumer(queue, cpu)->tail,
			 tsct_ring_producer(queue, cpu)->head,
			 __ATOMIC_RELEASE);
}

static void emit_discard(unsigned int turns)
{
	uint64_t value;

	for (value = 0; value < turns; value++) {
		if (value % 1024 == 0)
			drain();
		tsct_emit(queue, TSCT_ID_FIRST, &value, sizeof(value));
	}
}

static void emit_64_bytes(unsigned int turns)
{
	char payload[64] = "";

	while (turns--)
		tsct_emit(recorder, TSCT_ID_FIRST, payload, sizeof(payload));
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

static struct tsct *open_channel(const char *path, const char *name,
				 unsigned int policy)
{
	struct tsct_options options = {
		.name = name, .policy = policy,
		.roles = TSCT_ROLE_WRITE | TSCT_ROLE_READ,
	};
	struct tsct *t;

	if (tsct_open_at(path, &options, &t)) {
		fprintf(stderr, "bench_emit: %s\n", tsct_why(t));
		exit(1);
	}
	return t;
}

/* A figure for events that were lost would be a lie. */
static void check_losses(struct tsct *t, const char *name)
{
	unsigned int cpu, i;
	unsigned long lost = tsct_dropped(t);

	for (cpu = 0; cpu < t->header.nr_cpus; cpu++)
		for (i = 0; i < TSCT_LOST_NR; i++)
			lost += tsct_ring_producer(t, cpu)->lost[i];
	if (lost) {
		fprintf(stderr, "bench_emit: %s lost %lu events, so its figure "
			"means nothing\n", name, lost);
		exit(1);
	}
}

static struct bench benches[] = {
	{ .name = "counter_ns", .run = counter },
	{ .name = "emit_user_ns", .run = emit_overwrite },
	{ .name = "emit_user_discard_ns", .run = emit_discard },
	{ .name = "emit_user_64_bytes_ns", .run = emit_64_bytes },
	{ .name = "counter_rdtscp_ns", .run = counter_rdtscp },
	{ .name = "clock_gettime_ns", .run = clock_gettime_monotonic },
	{ .name = "write_ns", .run = write_24_bytes },
};

int main(void)
{
	char dir[] = "/tmp/tsct-bench.XXXXXX", path[64];
	struct tsct_server *server;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/s", dir);
	if (tsct_server_start(path, "embedded", &server) ||
	    tsct_server_run(server))
		return 1;
	recorder = open_channel(path, "recorder", TSCT_POLICY_OVERWRITE);
	queue = open_channel(path, "queue", TSCT_POLICY_DISCARD);
	file = memfd_create("bench", 0);
	bench_pin();
	bench_all(benches, sizeof(benches) / sizeof(benches[0]));
	check_losses(recorder, "emit_user");
	check_losses(queue, "emit_user_discard");
	printf("emit_user_vs_counter %.3f ratio\n",
	       bench_median(&benches[1]) / bench_median(&benches[0]));
	printf("emit_user_vs_write %.3f ratio\n",
	       bench_median(&benches[1]) / bench_median(&benches[6]));
	tsct_close(recorder);
	tsct_close(queue);
	tsct_server_stop(server);
	rmdir(dir);
	return 0;
}
