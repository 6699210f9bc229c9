// SPDX-License-Identifier: MIT
/*
 * timesync MS [TIMES] - call tsct_timesync() up to TIMES times, until one fails
 *
 * Prints "done" or the error, the number of successful calls, and CLOCK_MONOTONIC in us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tsctrace/tsctrace.h>

int main(int argc, char **argv)
{
	int err = 0, done = 0, times = argc > 2 ? atoi(argv[2]) : 1;
	struct timespec now;
	char why[512];

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
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("at %lld\n", now.tv_sec * 1000000LL + now.tv_nsec / 1000);
	return err ? 1 : 0;
}
