// SPDX-License-Identifier: MIT
/*
 * peak DIR COMMAND...: runs a command, and writes its CPU time, s, and its largest memory,
 * KiB, to a file in DIR named by its process id. A program that is larger than the command
 * cannot measure that: until exec(), its own memory counts.
 */
#include "helper.h"

int main(int argc, char **argv)
{
	struct rusage usage;
	char path[4096];
	int status;
	pid_t pid;
	FILE *to;

	if (argc < 3)
		return 2;
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	snprintf(path, sizeof(path), "%s/%d", argv[1], (int)pid);
	to = fopen(path, "w");
	if (!to)
		return 1;
	fprintf(to, "%.6f %ld\n", (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
		usage.ru_maxrss);
	fclose(to);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
