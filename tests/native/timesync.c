// SPDX-License-Identifier: MIT
/*
 * timesync MS [TIMES [PROCESSES [late]]] - call tsct_timesync() up to TIMES times, until
 * one fails
 *
 * With PROCESSES, joins first as one of that many processes, and prints "joined". With
 * "late", then waits for SIGUSR1. Prints "done" or the error, the number of successful
 * calls, and CLOCK_MONOTONIC in us before the first call and after the last one.
 */
#include <tsctrace/tsctrace.h>

#include "helper.h"

static long long now_us(void)
{
	return now_ns(CLOCK_MONOTONIC) / 1000;
}

static int join(int argc, char **argv, char *why, size_t size)
{
	sigset_t usr1;
	int err, got;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	err = tsct_timesync_join((unsigned int)atoi(argv[3]), why, size);
	if (err)
		return err;
	puts("joined");
	fflush(stdout);
	if (argc > 4)
		sigwait(&usr1, &got);
	return 0;
}

int main(int argc, char **argv)
{
	int err = 0, done = 0, times = argc > 2 ? atoi(argv[2]) : 1;
	char why[512];

	if (argc > 3)
		err = join(argc, argv, why, sizeof(why));
	printf("called at %lld\n", now_us());
	fflush(stdout);
	while (!err && done < times) {
		err = tsct_timesync(argc > 1 ? atoi(argv[1]) : -1, why,
				    sizeof(why));
		done += !err;
	}
	if (err)
		printf("%s: %s\n", strerrorname_np(-err), why);
	else
		puts("done");
	printf("after %d\n", done);
	printf("at %lld\n", now_us());
	return err ? 1 : 0;
}
