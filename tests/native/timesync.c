// SPDX-License-Identifier: MIT
/* timesync MS - tsct_timesync(), and what it said */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tsctrace/tsctrace.h>

int main(int argc, char **argv)
{
	char why[512];
	int err = tsct_timesync(argc > 1 ? atoi(argv[1]) : -1, why, sizeof(why));

	if (err)
		printf("%s: %s\n", strerrorname_np(-err), why);
	else
		puts("done");
	return err ? 1 : 0;
}
