// SPDX-License-Identifier: MIT
/*
 * A ring that is written and read at the same time: an overwrite channel accepts every
 * event, and its last blocks are consistent at any moment, for a reader that copies first and
 * loads head afterwards; and the module's statistics of a ring are of one moment.
 * guest-test: parallel=yes timeout=60 rt=yes
 */
#include "../unit/seed.h"
#include "ring.h"

static unsigned int writes;	/* number of events, more until the reader has seen enough */
static atomic_int enough;
static int fd;
static struct dev_maps m;
static atomic_int running;
static atomic_ulong failed;

static void *write_many(void *arg)
{
	unsigned char payload[400];
	unsigned int len;

	seed_with(0);
	dev_pin(1);
	for (uint64_t nr = 0; nr < writes || !enough; nr++) {
		len = 8 + any(390);
		pattern_fill(payload, len, nr);
		if (dev_write(fd, 16, payload, len))
			failed++;
		if (nr >= writes)
			writes = (unsigned int)nr + 1;
	}
	running = 0;
	return NULL;
}

static uint64_t oldest(uint64_t head)
{
	uint64_t block = m.header->block_size;
	uint64_t end = (head / block + 2) * block;

	return end > m.header->data_size ? end - m.header->data_size : 0;
}

/* Copies the valid blocks; checks the blocks that are still valid after the copy. */
static uint64_t check_valid_blocks(uint64_t *ret_last)
{
	static char copy[1 << 20];
	struct tsct_channel_header h = *m.header;
	uint64_t head = dev_pos(&m, 1), pos, from;
	uint64_t nr = 0, seen = 0, last = 0, next = 0;

	memcpy(copy, dev_data(&m, 1), h.data_size);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	from = oldest(dev_pos(&m, 1));
	for (pos = from; pos < head; ) {
		const struct tsct_record *rec = (const void *)
			(copy + (pos & (h.data_size - 1)));

		if (pos % h.block_size == 0) {
			const struct tsct_block *block = (const void *)rec;

			/* The payload of the nr-th event is nr. */
			t_check(block->id == TSCT_ID_BLOCK && block->pos == pos &&
				block->len == 32, "at %lu of %lu", pos, head);
			t_check(!seen || block->events == last + 1, "%llu %lu",
				block->events, last);
			next = block->events;
			pos += 32;
			continue;
		}
		if (rec->id == TSCT_ID_PAD) {
			pos += h.block_size - pos % h.block_size;
			continue;
		}
		if (!t_check(rec->id == 16 && rec->len >= 24 &&
			     pattern_holds(rec->payload, rec->len - 16U),
			     "at %lu of %lu", pos, head))
			return seen;
		memcpy(&nr, rec->payload, 8);
		t_check(nr == next, "%lu, not %lu", nr, next);
		next++;
		last = nr;
		seen++;
		pos += (rec->len + 7U) & ~7U;
	}
	*ret_last = last;
	return seen;
}

/* The module's statistics of the ring agree with what a reader finds. */
static void check_figures(uint32_t id)
{
	uint64_t last, seen = check_valid_blocks(&last);
	struct tsct_channel_cpu cpu = dev_cpu(fd, id, 1);

	t_check(cpu.events == writes, "%llu", cpu.events);
	t_check(cpu.overwritten == writes - seen, "%llu %lu", cpu.overwritten,
		seen);
	t_check(cpu.written == dev_pos(&m, 1) && cpu.unread == 0);
}

static void try_overwrite(void)
{
	struct tsct_channel_create arg = dev_request("overwrite");
	uint64_t last = 0, looks = 0, seen = 0;
	pthread_t thread;

	arg.policy = TSCT_POLICY_OVERWRITE;
	arg.blocks = 16;
	fd = dev_create(&arg);
	m = dev_map(fd);
	running = 1;
	pthread_create(&thread, NULL, write_many, NULL);
	while (running) {
		seen += check_valid_blocks(&last);
		enough = ++looks > 10 && seen > 100;
	}
	pthread_join(thread, NULL);
	t_check(failed == 0, "%lu events were rejected", failed);
	t_check(dev_pos(&m, 1) > 20 * m.header->data_size);
	t_check(check_valid_blocks(&last) > 100);
	t_check(last == writes - 1, "%lu", last);
	t_check(dev_producer(&m, 1)->lost[TSCT_LOST_FULL] == 0);
	t_check(dev_events(&m, 1) == writes % 65536);
	check_figures(arg.id);
	/* An overwrite channel ignores its consumer page. */
	dev_consumer(&m, 1)->tail = 12345;
	dev_pin(1);
	t_check(!dev_write(fd, 16, &last, 8), "%m");
	dev_close(fd, &m);
}

static atomic_ulong written;

/* At most one record is unread at any time. */
static void *write_and_take(void *unused)
{
	struct ring_reader r = { .maps = &m, .cpu = 1 };
	unsigned char payload[48];

	dev_pin(1);
	while (running) {
		pattern_fill(payload, sizeof(payload), written);
		if (!dev_write(fd, 16, payload, sizeof(payload)))
			written++;
		ring_drain(&r);
	}
	t_check(r.records == written && r.wrong == 0);
	return NULL;
}

/* A ring from which each record is consumed at once is never reported as full. */
static void try_figures(void)
{
	struct tsct_channel_cpu arg;
	const unsigned int questions = t_repeats("TSCT_QUESTIONS", 100000, 500000);
	unsigned long i, full = 0;
	pthread_t thread;

	fd = dev_new("figures");
	m = dev_map(fd);
	running = 1;
	pthread_create(&thread, NULL, write_and_take, NULL);
	dev_pin(0);
	for (i = 0; i < questions || written <= 1000; i++) {
		arg = (struct tsct_channel_cpu){ .id = m.header->id, .cpu = 1 };
		if (ioctl(fd, TSCT_IOC_CHANNEL_CPU, &arg))
			break;
		full += arg.unread == m.header->data_size;
	}
	running = 0;
	pthread_join(thread, NULL);
	t_check(i >= questions && written > 1000, "%m");
	t_check(full == 0, "%lu times full", full);
	printf("%lu written\n", written);
	dev_close(fd, &m);
}

int main(void)
{
	print_seed();
	writes = t_repeats("TSCT_OVERWRITES", 10000, 40000);
	try_overwrite();
	try_figures();
	return t_status();
}
