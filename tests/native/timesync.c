// SPDX-License-Identifier: MIT
/* timesync MS - tsct_timesync(), what it said, and when: in us of CLOCK_MONOTONIC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tsctrace/tsctrace.h>

int main(int argc, char **argv)
{
	struct timespec now;
	char why[512];
	int err = tsct_timesync(argc > 1 ? atoi(argv[1]) : -1, why, sizeof(why));

	if (err)
		printf("%s: %s\n", strerrorname_np(-err), why);
	else
		puts("done");
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("at %lld\n", now.tv_sec * 1000000LL + now.tv_nsec / 1000);
	return err ? 1 : 0;
}
