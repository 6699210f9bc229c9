/* SPDX-License-Identifier: MIT */
/* A channel that threads of this process write all the time, on two CPUs */
#ifndef TSCT_TEST_BUSY_H
#define TSCT_TEST_BUSY_H

#include "ring.h"

#define BUSY_THREADS	3

struct busy {
	int fd;
	struct dev_maps maps;
	struct ring_reader readers[2];	/* by CPU */
	pthread_t threads[BUSY_THREADS];
	atomic_int stop;
	atomic_ulong accepted, refused;	/* number of events, by the device's answer */
};

static void *busy_write(void *arg)
{
	struct busy *b = arg;
	unsigned char payload[64];

	for (uint64_t nr = 0; !b->stop; nr++) {
		pattern_fill(payload, sizeof(payload), nr);
		if (!dev_write(b->fd, 16, payload, sizeof(payload)))
			b->accepted++;
		else
			b->refused++;
	}
	return NULL;
}

/* Makes the channel, and begins to write. *b is all zero. */
T_FN void busy_begin(struct busy *b)
{
	struct tsct_channel_create arg = dev_request("busy");

	arg.blocks = 1024;
	b->fd = dev_create(&arg);
	b->maps = dev_map(b->fd);
	for (int i = 0; i < 2; i++)
		b->readers[i] = (struct ring_reader) { .maps = &b->maps, .cpu = i };
	for (int i = 0; i < BUSY_THREADS; i++)
		pthread_create(&b->threads[i], NULL, busy_write, b);
}

T_FN void busy_drain(struct busy *b)
{
	ring_drain(&b->readers[0]);
	ring_drain(&b->readers[1]);
}

/* Ends the threads. All events that the device accepted are read, and all others are
 * counted as lost. */
T_FN void busy_end(struct busy *b)
{
	const struct ring_reader *r = b->readers;

	b->stop = 1;
	for (int i = 0; i < BUSY_THREADS; i++)
		pthread_join(b->threads[i], NULL);
	busy_drain(b);
	t_check(r[0].wrong + r[1].wrong == 0);
	t_check(r[0].records + r[1].records == b->accepted && b->accepted,
		"%lu %lu of %lu", r[0].records, r[1].records, b->accepted);
	t_check(dev_producer(&b->maps, 0)->lost[0] +
		dev_producer(&b->maps, 1)->lost[0] == b->refused);
	printf("%lu written, %lu lost\n", b->accepted, b->refused);
}

#endif /* TSCT_TEST_BUSY_H */
