// SPDX-License-Identifier: MIT
#include <errno.h>
#include <time.h>

#include "clock_private.h"
#include "lib/client/gettime.h"

#define POLL_NS		10000000
/* Who waits for our own clock may have its samples sooner. */
#define SAMPLE_POLLS	10

static bool synced(const struct tsct_clock *clock, uint64_t max_error_ns)
{
	struct tsct_time now;

	return !tsct_clock_now(clock, &now) &&
		now.status == TSCT_STATUS_SYNCHRONIZED &&
		(!max_error_ns || now.error_ns <= max_error_ns);
}

int tsct_clock_wait_synced(const struct tsct_clock *clock, int timeout_ms,
			   uint64_t max_error_ns)
{
	__s64 until = tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct tsct_clock_inprocess *own = tsct_clock_full(clock)->own;
	unsigned int polls = 0;

	while (!synced(clock, max_error_ns)) {
		struct timespec pause = { .tv_nsec = POLL_NS };
		__s64 left = until - tsct_monotonic_ns();

		if (timeout_ms >= 0 && left <= 0)
			return -ETIMEDOUT;
		if (timeout_ms >= 0 && left < POLL_NS)
			pause.tv_nsec = left;
		if (nanosleep(&pause, NULL))
			return -errno;
		if (own && ++polls % SAMPLE_POLLS == 0)
			tsct_clock_inprocess_sample(own);
	}
	return 0;
}
