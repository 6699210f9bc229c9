// SPDX-License-Identifier: MIT
/*
 * program EVENTS [FTRACE]: emits events of four tracers by turns: of tsctrace, of LTTng-UST, a line
 * of ftrace's text with CLOCK_MONOTONIC, which is appended to FTRACE, and an entry of journald.
 * Without FTRACE: of the first two. Prints "NUMBER BEFORE AFTER" for each: the counter, cycles.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <tsctrace/event.h>
#include <tsctrace/tsctrace.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"

TSCT_EVENT(own_step, TSCT_KIND_INSTANT, TSCT_U32(nr));

static void put_ftrace(FILE *to, int nr)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	fprintf(to, " program-7 [000] d..2. %lld.%06ld: tracing_mark_write: step-%d\n",
		(long long)t.tv_sec, t.tv_nsec / 1000, nr);
}

static int open_journal(void)
{
	struct sockaddr_un to = { AF_UNIX, "/run/systemd/journal/socket" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ? -1 : fd;
}

/* Sends an entry, and waits until journald has taken it: the time of the entry is before that. */
static int put_journal(int fd, int nr)
{
	char text[64];
	int left = 1;
	const int len = snprintf(text, sizeof(text), "PRIORITY=6\nMESSAGE=step-%d\n", nr);

	if (send(fd, text, (size_t)len, 0) != len)
		return -1;
	while (!ioctl(fd, SIOCOUTQ, &left) && left)
		sched_yield();
	return left;
}

int main(int argc, char **argv)
{
	static const int array[] = { 1, -2, 3, 4, 5, 6, 7, 8 };
	const int events = argc > 1 ? atoi(argv[1]) : 1000, kinds = argc > 2 ? 4 : 2;
	FILE *ftrace = argc > 2 ? fopen(argv[2], "a") : NULL;
	const int journal = argc > 2 ? open_journal() : 0;
	struct tsct_channel *channel;
	uint64_t before, after;
	int i, err = 0;

	if (tsct_channel_open(NULL, &channel) || tsct_events_enable(channel, NULL) != 1 ||
	    journal < 0 || (argc > 2 && !ftrace))
		return 1;
	if (ftrace)
		fputs("# tracer: nop\n", ftrace);
	for (i = 0; i < events && !err; i++) {
		before = tsct_clock_cycles(tsct_clock_default());
		if (i % kinds == 0) {
			own_step_emit((uint32_t)i);
		} else if (i % kinds == 1) {
			lttng_ust_tracepoint(test_program, step, i, i % 3 ? "escape \033[0m\"" : "x\\y",
					     array, i % 9);
			lttng_ust_tracepoint(test_program, types, i, i % 3 ? "\t\"\xc3\xbc" : "text",
					     array, i % 9);
		} else if (i % kinds == 2) {
			put_ftrace(ftrace, i);
		} else {
			err = put_journal(journal, i);
		}
		after = tsct_clock_cycles(tsct_clock_default());
		printf("%d %" PRIu64 " %" PRIu64 "\n", i, before, after);
	}
	tsct_channel_close(channel);
	return err || (ftrace && fclose(ftrace));
}
