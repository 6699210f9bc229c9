// SPDX-License-Identifier: MIT
/*
 * Statistics of a ring that is written and read are of one moment: a ring from
 * which each record is consumed at once is never reported as full.
 * guest-test: parallel=yes timeout=60
 */
#include <pthread.h>
#include <stdatomic.h>

#include "ring.h"

#define QUESTIONS	500000

static int fd;
static struct dev_maps m;
static atomic_int stop;
static uint64_t written;

/* At most one record is unread at any time. */
static void *write_and_take(void *unused)
{
	struct ring_reader r = { .maps = &m, .cpu = 1 };
	unsigned char payload[48];

	(void)unused;
	dev_pin(1);
	while (!stop) {
		pattern_fill(payload, sizeof(payload), written);
		if (!dev_write(fd, 16, payload, sizeof(payload)))
			written++;
		ring_drain(&r);
	}
	t_check(r.records == written && r.wrong == 0);
	return NULL;
}

int main(void)
{
	struct tsct_channel_cpu arg;
	unsigned long i, full = 0;
	pthread_t thread;

	fd = dev_new("figures");
	m = dev_map(fd);
	pthread_create(&thread, NULL, write_and_take, NULL);
	dev_pin(0);
	for (i = 0; i < QUESTIONS; i++) {
		arg = (struct tsct_channel_cpu){ .id = m.header->id, .cpu = 1 };
		if (ioctl(fd, TSCT_IOC_CHANNEL_CPU, &arg))
			break;
		full += arg.unread == m.header->data_size;
	}
	stop = 1;
	pthread_join(thread, NULL);
	t_check(i == QUESTIONS, "%m");
	t_check(written > 1000, "%lu", written);
	t_check(full == 0, "%lu times full", full);
	printf("%lu written\n", written);
	return t_status();
}
