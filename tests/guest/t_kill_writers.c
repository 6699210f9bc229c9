// SPDX-License-Identifier: MIT
/*
 * Thousands of writers of one channel are killed at any instant, while they write
 * by rseq or by a request. The ring stays consistent: every event counted as
 * published is read, once and in order for each writer; no event is missing
 * except the last one of a killed writer; and other writers, of this channel, of
 * another and in the kernel, have no loss that is not counted.
 *
 * TSCT_KILLS is the number of writers, 600 or, of all repeats, 2500.
 * guest-test: parallel=yes timeout=600 rt=yes
 */
#include <tsctrace/tsctrace.h>

#include "../unit/seed.h"
#include "modules.h"
#include "ring.h"

#define CPUS	2
#define VICTIMS	2
#define HONEST	2
#define KILLS_MAX 100000

/* A writer's own counts; `tried` includes the event being written. */
struct writer {
	volatile uint64_t tried, written, lost;
};

static struct {
	volatile bool stop;
	struct writer honest[HONEST], other;
	struct writer victim[KILLS_MAX + VICTIMS];
} *shared;

/* Events that were read, per writer */
struct seen {
	uint32_t nr, next[CPUS];
};

static struct seen honest_seen[HONEST], victim_seen[KILLS_MAX + VICTIMS];
static struct tsct_channel *t;
static int fd, other, kernel;
static struct dev_maps m, other_maps, kernel_maps;
static struct ring_reader mine[CPUS], others[CPUS], kernels[CPUS];
static unsigned int kills;

/* The upper half of the event's number identifies the writer. */
static void write_one(struct writer *w, uint32_t who, unsigned int *own)
{
	unsigned char payload[100];
	unsigned int len = 8 + (unsigned int)rand_r(own) % 90;
	int err;

	pattern_fill(payload, len, (uint64_t)who << 32 | w->tried);
	w->tried++;
	if (rand_r(own) % 4)
		err = tsct_emit(t, 16, payload, len);
	else
		err = dev_write(fd, 16, payload, len) ? -errno : 0;
	if (!err)
		w->written++;
	else if (err == -ENOSPC)
		w->lost++;
	else
		_exit(3);
}

/* The writer also moves between CPUs, which restarts the rseq critical section. */
static pid_t start_victim(uint32_t nr)
{
	unsigned int own = seed_of(nr);
	pid_t pid = t_fork();

	if (pid)
		return pid;
	for (;;) {
		if (rand_r(&own) % 64 == 0)
			dev_pin((unsigned int)rand_r(&own) % CPUS);
		write_one(&shared->victim[nr], nr, &own);
	}
}

static pid_t start_honest(uint32_t nr)
{
	unsigned int own = seed_of(nr);
	pid_t pid = t_fork();

	if (pid)
		return pid;
	dev_pin(nr % CPUS);
	while (!shared->stop) {
		write_one(&shared->honest[nr], 0x80000000 + nr, &own);
		usleep(200);
	}
	_exit(0);
}

static pid_t start_other(void)
{
	struct writer *w = &shared->other;
	unsigned char payload[50];
	pid_t pid = t_fork();

	if (pid)
		return pid;
	while (!shared->stop) {
		pattern_fill(payload, sizeof(payload), w->tried++);
		if (!dev_write(other, 16, payload, sizeof(payload)))
			w->written++;
		else if (errno == ENOSPC)
			w->lost++;
		else
			_exit(3);
		usleep(300);
	}
	_exit(0);
}

/* ---- reading ----------------------------------------------------------- */

static void count_record(struct ring_reader *r, const struct tsct_record *rec)
{
	struct seen *seen;
	uint32_t who;
	uint64_t nr;

	memcpy(&nr, rec->payload, 8);
	who = (uint32_t)(nr >> 32);
	if (who >= 0x80000000 + HONEST ||
	    (who < 0x80000000 && who >= kills + VICTIMS)) {
		ring_wrong(r, "an event without a writer");
		return;
	}
	seen = who < 0x80000000 ? &victim_seen[who] :
		&honest_seen[who - 0x80000000];
	if ((uint32_t)nr < seen->next[r->cpu])
		ring_wrong(r, "out of order or duplicate");
	seen->next[r->cpu] = (uint32_t)nr + 1;
	seen->nr++;
}

static void drain_all(void)
{
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		ring_drain_each(&mine[cpu], count_record);
		ring_drain(&others[cpu]);
		ring_drain(&kernels[cpu]);
	}
}

/* ---- counts ------------------------------------------------------------ */

/* Checks that the events published in each CPU's ring equal the events read. Returns
 * the number of events lost because a ring was full. */
static uint64_t check_ring(int ring_fd, struct ring_reader *r)
{
	struct tsct_channel_cpu arg;
	uint64_t full = 0;

	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		arg = dev_cpu(ring_fd, r[cpu].maps->header->id, cpu);
		t_check(r[cpu].wrong == 0, "cpu %u: %lu", cpu, r[cpu].wrong);
		t_check(arg.events == r[cpu].records, "cpu %u: %llu, read %lu",
			cpu, arg.events, r[cpu].records);
		t_check(arg.unread == 0);
		t_check(!arg.lost[TSCT_LOST_TOO_BIG] &&
			!arg.lost[TSCT_LOST_ABORTED] &&
			!arg.lost[TSCT_LOST_NESTED]);
		full += arg.lost[TSCT_LOST_FULL];
	}
	return full;
}

static void check_writers(void)
{
	uint64_t full = check_ring(fd, mine), lost = 0, unknown = 0, tried = 0;
	uint64_t read = mine[0].records + mine[1].records, written = 0;

	for (unsigned int i = 0; i < HONEST; i++) {
		const struct writer *w = &shared->honest[i];

		t_check(w->written == honest_seen[i].nr, "%lu, read %u",
			w->written, honest_seen[i].nr);
		t_check(w->tried == w->written + w->lost && w->written > 10,
			"%lu %lu", w->tried, w->written);
		tried += w->tried;
		written += w->written;
		lost += w->lost;
	}
	for (unsigned int i = 0; i < kills + VICTIMS; i++) {
		const struct writer *w = &shared->victim[i];
		uint64_t counted = w->written + w->lost;

		/* A killed writer may have tried one event more than it counted. */
		t_check(w->tried - counted <= 1, "victim %u: %lu of %lu", i, counted,
			w->tried);
		t_check(victim_seen[i].nr - w->written <= w->tried - counted,
			"victim %u: %lu of %lu written, read %u", i, w->written,
			w->tried, victim_seen[i].nr);
		unknown += w->tried - counted;
		tried += w->tried;
		written += w->written;
		lost += w->lost;
	}
	t_check(read - written + (full - lost) <= unknown,
		"%lu read, %lu written; %lu full, %lu lost; %lu killed during a write",
		read, written, full, lost, unknown);
	t_check(tried - read - full <= unknown);
	printf("%lu tried, %lu read, %lu full, %lu killed during a write: %lu of those neither\n",
	       tried, read, full, unknown, tried - read - full);
	t_check(read > kills && unknown > 0);
}

static void check_kernel(void)
{
	struct mod_nest reported[CPUS];
	uint64_t full = 0;

	mod_nest_results(reported, NULL, CPUS);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		t_check(reported[cpu].written == kernels[cpu].records,
			"%lu, read %lu", reported[cpu].written,
			kernels[cpu].records);
		t_check(!reported[cpu].nested && !reported[cpu].other);
		full += reported[cpu].full;
	}
	t_check(check_ring(kernel, kernels) == full);
	t_check(reported[0].written + reported[1].written > 100);
}

/* ---- channels, and kills of writers ------------------------------------- */

static void open_all(void)
{
	struct tsct_channel_create arg = dev_request("kills");
	const struct tsct_channel_options options = {
		.name = "kills", .flags = TSCT_OPEN_ATTACH,
	};

	arg.blocks = 64;
	fd = dev_create(&arg);
	m = dev_map(fd);
	strcpy(arg.name, "other");
	arg.id = 0;
	arg.blocks = 1024;
	other = dev_create(&arg);
	other_maps = dev_map(other);
	mod_load("/lib/modules/tsct-nest.ko", "roam=1");
	kernel = dev_open();
	t_check(!dev_attach_name(kernel, "nest", TSCT_ROLE_READ), "%m");
	kernel_maps = dev_map_rings(kernel, PROT_READ);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		mine[cpu] = (struct ring_reader){ .maps = &m, .cpu = cpu };
		others[cpu] = (struct ring_reader){
			.maps = &other_maps, .cpu = cpu,
		};
		kernels[cpu] = (struct ring_reader){
			.maps = &kernel_maps, .cpu = cpu, .kernel = true,
		};
	}
	if (tsct_channel_open(&options, &t) ||
	    tsct_channel_provider(t) != TSCT_PROVIDER_MODULE) {
		printf("tsct_open: %s\n", tsct_channel_error(t));
		exit(1);
	}
}

static void kill_many(void)
{
	pid_t victims[VICTIMS];
	unsigned int i, nr, status;

	for (nr = 0; nr < VICTIMS; nr++)
		victims[nr] = start_victim(nr);
	for (; nr < kills + VICTIMS; nr++) {
		i = any(VICTIMS);
		if (any(4))
			usleep(any(400));
		kill(victims[i], SIGKILL);
		waitpid(victims[i], (int *)&status, 0);
		t_check(status == SIGKILL, "victim ended with %#x", status);
		victims[i] = start_victim(nr);
		drain_all();
	}
	for (i = 0; i < VICTIMS; i++) {
		kill(victims[i], SIGKILL);
		waitpid(victims[i], NULL, 0);
	}
}

static void end_all(pid_t *honest)
{
	int status;

	shared->stop = true;
	for (unsigned int i = 0; i < HONEST + 2; i++) {
		while (!waitpid(honest[i], &status, WNOHANG)) {
			drain_all();
			usleep(1000);
		}
		t_check(status == 0, "writer %u ended with %#x", i, status);
	}
	drain_all();
}

int main(void)
{
	pid_t honest[HONEST + 2];
	char text[32];

	print_seed();
	kills = t_repeats("TSCT_KILLS", 600, 2500);
	if (!kills || kills > KILLS_MAX)
		kills = KILLS_MAX;
	shared = mmap(NULL, sizeof(*shared), RW, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	open_all();
	seed_with(99);
	for (unsigned int i = 0; i < HONEST; i++)
		honest[i] = start_honest(i);
	honest[HONEST] = start_other();
	sprintf(text, "%u", kills);
	honest[HONEST + 1] = mod_set_apart(MOD_NEST "run", text);
	kill_many();
	end_all(honest);
	check_writers();
	t_check(check_ring(other, others) == shared->other.lost, "%lu",
		shared->other.lost);
	t_check(others[0].records + others[1].records == shared->other.written,
		"%lu %lu of %lu", others[0].records, others[1].records,
		shared->other.written);
	check_kernel();
	t_check(!mod_unload("tsct_nest"), "%m");
	return t_status();
}
