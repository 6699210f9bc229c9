// SPDX-License-Identifier: MIT
/* program EVENTS: emits an event of tsctrace and one of LTTng-UST by turns, and prints for each
 * "NUMBER BEFORE AFTER", CLOCK_REALTIME before and after it, ns; those of LTTng are odd */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tsctrace/event.h>
#include <tsctrace/tsctrace.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"

TSCT_EVENT(own_step, TSCT_KIND_INSTANT, TSCT_U32(nr));

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	static const int array[] = { 1, -2, 3, 4, 5, 6, 7, 8 };
	const int events = argc > 1 ? atoi(argv[1]) : 1000;
	struct tsct_channel *channel;
	long long before, after;
	int i;

	if (tsct_channel_open(NULL, &channel) || tsct_events_enable(channel, NULL) != 1)
		return 1;
	for (i = 0; i < events; i++) {
		before = now();
		if (i % 2)
			lttng_ust_tracepoint(test_program, step, i, i % 3 ? "escape \033[0m\"" : "x\\y",
					     array, i % 9);
		else
			own_step_emit((uint32_t)i);
		after = now();
		printf("%d %lld %lld\n", i, before, after);
	}
	tsct_channel_close(channel);
	return 0;
}
