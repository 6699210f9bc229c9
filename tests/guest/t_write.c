// SPDX-License-Identifier: MIT
/*
 * TSCT_IOC_WRITE on all CPUs while their rings are read: every payload arrives
 * complete, cycles never decrease, and the events written are those read
 * plus the lost ones.
 * guest-test: parallel=yes timeout=60 boot=default,unstable rt=yes
 */
#include "../unit/seed.h"
#include "ring.h"

#define WRITES	30000
#define THREADS	2	/* number of writing threads per CPU */

static int fd;
static struct dev_maps m;
static atomic_ulong accepted, full, too_big, other;
static atomic_int running;

static void *write_many(void *arg)
{
	unsigned char *payload = malloc(8192);
	unsigned int own = seed_of((uintptr_t)arg), len;

	dev_pin((uintptr_t)arg % m.header->nr_cpus);
	for (uint64_t nr = 0; nr < WRITES; nr++) {
		len = rand_r(&own) % (nr % 16 ? 100 : 4200);
		pattern_fill(payload, len, nr);
		if (!dev_write(fd, TSCT_ID_FIRST + nr % 7, payload, len))
			accepted++;
		else if (errno == ENOSPC)
			full++;
		else if (errno == EMSGSIZE && len > 4040)
			too_big++;
		else
			other++;
	}
	running--;
	free(payload);
	return NULL;
}

/* Checks the statistics of each CPU's ring. */
static void count_cpus(const struct ring_reader *r, uint32_t id,
		       uint64_t written)
{
	struct tsct_channel_cpu arg;
	uint64_t sum = 0;

	for (unsigned int cpu = 0; cpu < m.header->nr_cpus; cpu++) {
		arg = dev_cpu(fd, id, cpu);
		t_check(arg.state == TSCT_CPU_READY);
		t_check(arg.events == r[cpu].records, "%llu %lu", arg.events,
			r[cpu].records);
		t_check(arg.written == r[cpu].pos, "%llu %lu", arg.written,
			r[cpu].pos);
		t_check(arg.unread == 0 && arg.overwritten == 0);
		t_check(arg.lost[0] == dev_producer(&m, cpu)->lost[0]);
		sum += arg.written;
	}
	t_check(sum == written, "%lu %lu", sum, written);
}

static void count(struct ring_reader *r)
{
	unsigned long records = 0, lost = 0, big = 0, pads = 0, wrong = 0;
	struct tsct_channel_info info;

	for (unsigned int cpu = 0; cpu < m.header->nr_cpus; cpu++) {
		struct tsct_producer *p = dev_producer(&m, cpu);

		t_check(r[cpu].records > 0, "nothing from CPU %u", cpu);
		t_check(p->lost[TSCT_LOST_NESTED] == 0);
		t_check(p->lost[TSCT_LOST_ABORTED] == 0);
		records += r[cpu].records;
		pads += r[cpu].pads;
		wrong += r[cpu].wrong;
		lost += p->lost[TSCT_LOST_FULL];
		big += p->lost[TSCT_LOST_TOO_BIG];
	}
	t_check(wrong == 0, "%lu records are wrong", wrong);
	t_check(pads > 0, "no pad was read");
	t_check(full > 0 && too_big > 0, "%lu %lu", full, too_big);
	t_check(other == 0, "%lu other errors", other);
	t_check(records == accepted, "%lu read, %lu accepted", records, accepted);
	t_check(lost == full, "%lu lost, %lu rejected", lost, full);
	t_check(big == too_big, "%lu %lu", big, too_big);
	t_check(records + lost + big == (unsigned long)THREADS * WRITES *
		m.header->nr_cpus);

	info = dev_next(fd, 0);
	t_check(info.lost[TSCT_LOST_FULL] == lost, "%llu", info.lost[0]);
	t_check(info.unread == 0, "%llu", info.unread);
	t_check(info.events == records, "%llu", info.events);
	t_check(info.nr_cpus_ready == m.header->nr_cpus);
	t_check(info.written >= records * 16);
	count_cpus(r, info.id, info.written);
	printf("%lu read, %lu lost, %lu too big, %lu pads\n", records, lost,
	       big, pads);
}

static void try_all_cpus(void)
{
	struct ring_reader *r;
	unsigned int nr, cpu, i;
	pthread_t *threads;

	fd = dev_new("write");
	m = dev_map(fd);
	nr = m.header->nr_cpus;
	r = calloc(nr, sizeof(*r));
	threads = calloc(nr * THREADS, sizeof(*threads));
	running = (int)(nr * THREADS);
	for (i = 0; i < nr * THREADS; i++)
		pthread_create(&threads[i], NULL, write_many, (void *)(uintptr_t)i);
	for (cpu = 0; cpu < nr; cpu++)
		r[cpu] = (struct ring_reader){ .maps = &m, .cpu = cpu };
	/* Nobody reads until a ring is full. */
	while (running && !full)
		usleep(300);
	while (running) {
		for (cpu = 0; cpu < nr; cpu++)
			ring_drain(&r[cpu]);
		usleep(300);
	}
	for (i = 0; i < nr * THREADS; i++)
		pthread_join(threads[i], NULL);
	for (cpu = 0; cpu < nr; cpu++)
		ring_drain(&r[cpu]);
	count(r);
	dev_close(fd, &m);
}

static void try_one_record(void)
{
	const struct tsct_record *rec;
	unsigned char payload[13];

	fd = dev_new("one");
	m = dev_map(fd);
	dev_pin(1);
	pattern_fill(payload, sizeof(payload), 5);
	t_check(!dev_write(fd, 99, payload, sizeof(payload)), "%m");
	rec = (const void *)(dev_data(&m, 1) + 32);
	t_check(rec->len == 16 + 13);
	t_check(rec->id == 99);
	t_check(rec->tid == (__u32)getpid());
	t_check(!memcmp(rec->payload, payload, sizeof(payload)));
	t_check(dev_pos(&m, 1) == 32 + 32);
	t_check(dev_pos(&m, 0) == 32);
	/* A record without payload may have a null pointer. */
	t_check(!dev_write(fd, 65535, NULL, 0), "%m");
	t_check(dev_pos(&m, 1) == 32 + 48);
	t_errno(dev_write(fd, 16, NULL, 1), EFAULT);
	t_errno(dev_write(fd, 16, (void *)-4096L, 100), EFAULT);
	t_errno(dev_write(fd, 0, payload, 8), EINVAL);
	t_errno(dev_write(fd, TSCT_ID_PAD, payload, 8), EINVAL);
	t_errno(dev_write(fd, 15, payload, 8), EINVAL);
	t_check(dev_pos(&m, 1) == 32 + 48);
	t_check(dev_producer(&m, 1)->lost[0] == 0);
	t_errno(dev_write(fd, 16, NULL, 0xffffffff), EMSGSIZE);
	t_errno(dev_write(fd, 16, NULL, 4041), EMSGSIZE);
	t_check(dev_producer(&m, 1)->lost[TSCT_LOST_TOO_BIG] == 2);
	dev_close(fd, &m);
}

/* The largest payload in the largest channel */
static void try_large(void)
{
	struct tsct_channel_create arg = dev_request("large");
	struct ring_reader r = { .maps = &m, .cpu = 1 };
	unsigned char *payload = malloc(65536);

	arg.block_size = 65536;
	arg.blocks = 2;
	fd = dev_create(&arg);
	m = dev_map(fd);
	dev_pin(1);
	pattern_fill(payload, 65480, 3);
	for (int i = 0; i < 5; i++) {
		t_check(!dev_write(fd, 16, payload, 65480), "%m");
		t_errno(dev_write(fd, 16, payload, 65481), EMSGSIZE);
		ring_drain(&r);
	}
	t_check(r.records == 5 && r.wrong == 0);
	t_check(dev_producer(&m, 1)->lost[TSCT_LOST_TOO_BIG] == 5);
	free(payload);
	dev_close(fd, &m);
}

int main(void)
{
	print_seed();
	try_one_record();
	try_large();
	try_all_cpus();
	return t_status();
}
