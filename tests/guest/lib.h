/* SPDX-License-Identifier: MIT */
/* Helpers of the tests t_lib_*.c, which use the module through libtsctrace. */
#ifndef TSCT_TEST_LIB_H
#define TSCT_TEST_LIB_H

#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tsctrace/tsctrace.h>

#include "t.h"

#define LIB_FN __attribute__((unused)) static

#define BOTH	(TSCT_ROLE_WRITE | TSCT_ROLE_READ)

/* Opens a channel of the module; exits on failure. */
LIB_FN struct tsct_channel *lib_open(const struct tsct_channel_options *options)
{
	struct tsct_channel *channel;
	int error = tsct_channel_open(options, &channel);

	if (error || tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE) {
		printf("tsct_channel_open: %s: %s\n", strerror(-error), tsct_channel_error(channel));
		exit(1);
	}
	return channel;
}

LIB_FN struct tsct_reader *lib_reader(struct tsct_channel *channel)
{
	struct tsct_reader *reader;
	int error = tsct_reader_open(channel, &reader);

	if (error) {
		printf("tsct_reader_open: %s\n", strerror(-error));
		exit(1);
	}
	return reader;
}

LIB_FN void lib_pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	t_check(!sched_setaffinity(0, sizeof(set), &set), "cpu %u: %m", cpu);
}

/* Returns the events lost by one cause on all CPUs; a corrupt ring fails the test. */
LIB_FN uint64_t lib_lost(struct tsct_reader *reader, unsigned int cause)
{
	struct tsct_ring_stat stat;
	unsigned int cpu;
	uint64_t sum = 0;

	for (cpu = 0; !tsct_reader_stat(reader, cpu, &stat); cpu++) {
		t_check(!stat.broken, "cpu %u: %lu corruptions", cpu, stat.broken);
		sum += stat.lost[cause];
	}
	return sum;
}

/* Reads the next event of any CPU. Returns false if there is none. */
LIB_FN bool lib_next(struct tsct_reader *reader, struct tsct_event *event)
{
	unsigned int cpu;
	int got;

	for (cpu = 0; ; cpu++) {
		got = tsct_reader_next(reader, cpu, event);
		if (got < 0)
			return false;
		if (got)
			return true;
	}
}

LIB_FN int lib_status_of(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

#endif /* TSCT_TEST_LIB_H */
