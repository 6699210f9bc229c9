// SPDX-License-Identifier: MIT
/*
 * Programs write junk to every page of a channel that they can write, while the kernel
 * writes the records of TSCT_IOC_WRITE to that channel. Only records of that channel
 * may be lost: other channels stay consistent, calls return, and the kernel log stays
 * clean. In a kernel channel, a reader can write only the tails: its counts stay exact.
 * guest-test: parallel=yes timeout=90 rt=yes
 */
#include "../unit/seed.h"
#include "modules.h"
#include "ring.h"

static int fd, good;
static struct dev_maps m, good_maps;
static atomic_int stop;
static atomic_ulong written, lost, other, scribbles;

static uint64_t junk(unsigned int *own)
{
	uint64_t value = (uint64_t)rand_r(own) << 42 ^
		(uint64_t)rand_r(own) << 21 ^ (uint64_t)rand_r(own);

	switch (rand_r(own) % 9) {
	case 0: return 0;
	case 1: return ~0ULL;
	case 2: return value % 40000;
	case 3: return -(value % 40000);
	case 4: return value & ~7ULL;
	/* a count about to exceed its 48 bits */
	case 5: return (1ULL << 48) - value % 40000;
	/* a head with an arbitrary count */
	case 6: return value << 48 | value % 40000;
	/* the position of a block's beginning */
	case 7: return value << 12;
	default: return value;
	}
}

/* Writes a ring head that jumps, goes back or wraps, with a random event count */
static uint64_t move(uint64_t head, unsigned int *own)
{
	switch (rand_r(own) % 4) {
	case 0: return head + 4096;
	case 1: return head - 24 - (uint64_t)rand_r(own) % 20000;
	case 2: return head + (1ULL << 48) * (uint64_t)rand_r(own);
	default: return head ^ 1ULL << rand_r(own) % 64;
	}
}

/* Block headers with wrong positions and event counts */
static void corrupt_headers(void *data, uint64_t blocks, unsigned int *own)
{
	struct tsct_block *block = (void *)((char *)data +
		(uint64_t)rand_r(own) % blocks * 4096);

	block->len = rand_r(own) & 1 ? 32 : (__u16)junk(own);
	block->id = rand_r(own) & 1 ? TSCT_ID_BLOCK : (__u16)junk(own);
	block->pos = rand_r(own) & 1 ? junk(own) : move(block->pos, own);
	block->events = junk(own);
}

static void *scribble(void *arg)
{
	unsigned int own = seed_of((uintptr_t)arg), cpu;
	const struct tsct_channel_header *h = m.header;
	uint64_t *at;

	while (!stop) {
		cpu = (unsigned int)rand_r(&own) % h->nr_cpus;
		at = (void *)dev_producer(&m, cpu);
		switch (rand_r(&own) % 6) {
		case 4:
			at[0] = move(at[0], &own);
			break;
		case 5:
			corrupt_headers(dev_data(&m, cpu), h->blocks, &own);
			break;
		case 0:		/* the ring's head (write position) */
			at[0] = junk(&own);
			break;
		case 1:
			dev_consumer(&m, cpu)->tail = junk(&own);
			break;
		case 2:		/* the whole producer page */
			at[(unsigned int)rand_r(&own) % 512] = junk(&own);
			break;
		default:
			at = (void *)dev_data(&m, cpu);
			at[(unsigned long)rand_r(&own) % (h->data_size / 8)] =
				junk(&own);
		}
		scribbles++;
	}
	return NULL;
}

static void *write_bad(void *arg)
{
	unsigned int own = seed_of((uintptr_t)arg);
	static char payload[5000];
	struct tsct_watermark watermark;
	struct tsct_channel_info info;
	struct tsct_channel_cpu one;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	dev_pin((uintptr_t)arg % m.header->nr_cpus);
	while (!stop) {
		info = (struct tsct_channel_info){ 0 };
		if (!dev_write(fd, 16, payload,
			       (unsigned int)rand_r(&own) % sizeof(payload)))
			written++;
		else if (errno == ENOSPC || errno == EMSGSIZE)
			lost++;
		else
			other++;
		if (rand_r(&own) % 64)
			continue;
		ioctl(fd, TSCT_IOC_CHANNEL_NEXT, &info);
		one = (struct tsct_channel_cpu){
			.id = m.header->id, .cpu = (__u32)rand_r(&own) % 2,
		};
		if (ioctl(fd, TSCT_IOC_CHANNEL_CPU, &one) ||
		    one.unread > m.header->data_size)
			other++;
		watermark = (struct tsct_watermark){ .bytes = junk(&own) };
		ioctl(fd, TSCT_IOC_WATERMARK, &watermark);
		poll(&p, 1, 0);
	}
	return NULL;
}

/* Checks a channel whose rings nobody scribbles on: events are written and read. */
static void write_good(struct ring_reader *r, uint64_t *sent)
{
	unsigned char payload[100];

	pattern_fill(payload, sizeof(payload), *sent);
	if (t_check(!dev_write(good, 16, payload, sizeof(payload)), "%m"))
		(*sent)++;
	ring_drain(&r[0]);
	ring_drain(&r[1]);
}

/* The header and the definitions of the scribbled channel are unchanged, too. */
static void check_header(const struct tsct_channel_header *before)
{
	struct tsct_channel_header now = *m.header;

	now.lost_no_ring = before->lost_no_ring;
	t_check(!memcmp(&now, before, sizeof(now)), "the header changed");
}

static void run(uint32_t policy)
{
	struct tsct_channel_create arg = dev_request("bad");
	struct ring_reader r[2] = {
		{ .maps = &good_maps, .cpu = 0 }, { .maps = &good_maps, .cpu = 1 },
	};
	struct tsct_channel_header before;
	double end = t_now() + t_repeats("TSCT_SCRIBBLE_SECONDS", 1, 3);
	pthread_t threads[4];
	uint64_t sent = 0;
	uintptr_t i;

	arg.policy = policy;
	fd = dev_create(&arg);
	m = dev_map(fd);
	before = *m.header;
	good = dev_new("good");
	good_maps = dev_map(good);
	stop = 0;
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, i & 2 ? scribble : write_bad,
			       (void *)i);
	/* On a busy machine, all threads have not done enough by `end`. */
	while (t_now() < end || sent <= 100 || written <= 100 || lost <= 100 ||
	       scribbles <= 1000) {
		write_good(r, &sent);
		usleep(100);
	}
	stop = 1;
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	t_check(r[0].records + r[1].records == sent, "%lu %lu of %lu",
		r[0].records, r[1].records, sent);
	t_check(r[0].wrong + r[1].wrong == 0);
	check_header(&before);
	dev_unmap(&good_maps);
	dev_close(good, &m);
	close(fd);
}

/* The counts of written and lost events of a kernel channel stay exact, whatever values
 * a reader stores as the rings' tails. */
static void try_kernel(void)
{
	struct ring_reader r = { .maps = &m, .kernel = true };
	unsigned int own = seed_of(77);
	struct tsct_channel_cpu arg;
	struct mod_nest reported[2];
	uint64_t tails = 0;
	char events[16];
	int status = 0;
	pid_t pid;

	mod_load("/lib/modules/tsct-nest.ko", "roam=1");
	fd = dev_open();
	t_check(!dev_attach_name(fd, "nest", TSCT_ROLE_READ), "%m");
	m = dev_map_rings(fd, PROT_READ);
	snprintf(events, sizeof(events), "%u", t_repeats("TSCT_NEST_EVENTS", 20000, 50000));
	do {
		pid = mod_set_apart(MOD_NEST "run", events);
		while (!waitpid(pid, &status, WNOHANG)) {
			for (r.cpu = 0; r.cpu < 2; r.cpu++)
				dev_consumer(&m, r.cpu)->tail = rand_r(&own) & 1 ?
					move(dev_pos(&m, r.cpu), &own) : junk(&own);
			if (++tails % 256 == 0)
				usleep(50);
		}
		mod_nest_results(reported, NULL, 2);
	} while (!status && (tails <= 1000 || !(reported[0].full + reported[1].full)));
	t_check(status == 0, "%#x", status);
	for (r.cpu = 0; r.cpu < 2; r.cpu++) {
		arg = dev_cpu(fd, m.header->id, r.cpu);
		t_check(arg.events == reported[r.cpu].written, "%llu, not %lu",
			arg.events, reported[r.cpu].written);
		t_check(arg.lost[TSCT_LOST_FULL] == reported[r.cpu].full);
		t_check(!reported[r.cpu].other);
		/* The block that contains the head is consistent. */
		r.pos = arg.written / 4096 * 4096;
		r.records = ((struct tsct_block *)(dev_data(&m, r.cpu) +
			(r.pos & (m.header->data_size - 1))))->events;
		while (r.pos < arg.written)
			ring_step(&r, arg.written);
		t_check(r.records == arg.events && r.wrong == 0, "%lu",
			r.records);
		r.last_cycles = 0;
	}
	dev_close(fd, &m);
	t_check(!mod_unload("tsct_nest"), "%m");
}

int main(void)
{
	print_seed();
	try_kernel();
	run(TSCT_POLICY_DISCARD);
	run(TSCT_POLICY_OVERWRITE);
	t_check(other == 0, "%lu other errors", other);
	t_check(written > 100 && lost > 100, "%lu %lu", written, lost);
	t_check(scribbles > 1000, "%lu", scribbles);
	t_check(dev_info(dev_open()).bytes == 0);
	printf("%lu written, %lu lost, %lu scribbles\n", written, lost, scribbles);
	return t_status();
}
