// SPDX-License-Identifier: MIT
/* Sleeping until there is something to read. */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "gettime.h"
#include "reader.h"

#define CHECK_MS	10	/* rings of a socket provider do not wake us */

/* Sockets have no poll() for it: there we look ourselves, as often as ever. */
int tsct_reader_watermark(struct tsct_reader *reader, uint64_t bytes)
{
	struct tsct_watermark arg = { .bytes = bytes };
	int error = 0;

	if (reader->t->provider == TSCT_PROVIDER_MODULE)
		error = reader->t->ops->ctl(reader->t, TSCT_IOC_WATERMARK,
					    &arg);
	if (!error)
		reader->watermark = bytes;
	return error;
}

static bool is_enough(struct tsct_reader *reader)
{
	const __u64 half = reader->t->geo.data_size / 2;
	unsigned int cpu;
	__u64 sum = 0, bytes;

	if (reader->watermark <= 1)
		return true;
	for (cpu = 0; cpu < reader->t->header.nr_cpus; cpu++) {
		bytes = tsct_reader_unread(reader, cpu);
		if (bytes >= half)
			return true;
		sum += bytes;
	}
	return sum >= reader->watermark;
}

/* Is there an event? Without memory to look at it: perhaps, so look. */
static bool has_event(struct tsct_reader *reader)
{
	bool found = false;
	unsigned int cpu;

	for (cpu = 0; !found && cpu < reader->t->header.nr_cpus; cpu++)
		found = tsct_reader_fetch(reader, cpu) != 0;
	return found;
}

/*
 * The module's poll() looks at the rings itself, but by the tail it knows: as
 * long as something was read and not released it would not sleep. What is no
 * event (a block's header) is given back unasked.
 */
static bool can_poll(struct tsct_reader *reader)
{
	unsigned int cpu;

	if (reader->t->provider != TSCT_PROVIDER_MODULE ||
	    tsct_reader_overwrites(reader))
		return false;
	for (cpu = 0; cpu < reader->t->header.nr_cpus; cpu++) {
		if (reader->rings[cpu].unreleased)
			return false;
		if (tsct_ring_ready(reader->t, cpu))
			tsct_reader_release(reader, cpu);
	}
	return true;
}

static __s64 now_ms(void)
{
	struct timespec now;

	tsct_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/*
 * Returns 0 or -EINTR. *may_poll is false afterwards if the kernel saw data
 * where we see none that counts (a ring that lies): no busy loop.
 */
static int sleep_some(struct tsct_reader *reader, __s64 left, bool *may_poll)
{
	struct pollfd pollfd = { .fd = reader->t->fd, .events = POLLIN };
	bool by_kernel = *may_poll && can_poll(reader);
	int ms = left < 0 || left > 60000 ? 60000 : left, nr;

	if (!by_kernel && ms > CHECK_MS)
		ms = CHECK_MS;
	nr = poll(&pollfd, by_kernel, ms);
	*may_poll = nr == 0 || !by_kernel;
	return nr < 0 && errno == EINTR ? -EINTR : 0;
}

int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms)
{
	const __s64 end = now_ms() + timeout_ms;
	bool may_poll = true;
	__s64 left = -1;
	int error;

	for (;;) {
		if (has_event(reader) && is_enough(reader))
			return 1;
		if (timeout_ms >= 0) {
			left = end - now_ms();
			if (left <= 0)
				return 0;
		}
		error = sleep_some(reader, left, &may_poll);
		if (error)
			return error;
	}
}
