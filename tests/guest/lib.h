/* SPDX-License-Identifier: MIT */
/* Helpers of the tests t_lib_*.c, which use the module through libtsctrace. */
#ifndef TSCT_TEST_LIB_H
#define TSCT_TEST_LIB_H

#include <tsctrace/tsctrace.h>

#include "device.h"

/* Opens a channel of the module; exits on failure. */
T_FN struct tsct_channel *lib_open(const struct tsct_channel_options *options)
{
	struct tsct_channel *channel;
	int error = tsct_channel_open(options, &channel);

	if (error || tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE) {
		printf("tsct_channel_open: %s: %s\n", strerror(-error), tsct_channel_error(channel));
		exit(1);
	}
	return channel;
}

T_FN struct tsct_reader *lib_reader(struct tsct_channel *channel)
{
	struct tsct_reader *reader;

	errno = -tsct_reader_open(channel, &reader);
	if (errno)
		t_die("tsct_reader_open");
	return reader;
}

/* Returns the events lost by one cause on all CPUs; a corrupt ring fails the test. */
T_FN uint64_t lib_lost(struct tsct_reader *reader, unsigned int cause)
{
	struct tsct_ring_stat stat;
	uint64_t sum = 0;

	for (unsigned int cpu = 0; !tsct_reader_stat(reader, cpu, &stat); cpu++) {
		t_check(!stat.broken, "cpu %u: %lu corruptions", cpu, stat.broken);
		sum += stat.lost[cause];
	}
	return sum;
}

/* Reads the next event of any CPU. Returns false if there is none. */
T_FN bool lib_next(struct tsct_reader *reader, struct tsct_event *event)
{
	int got;

	for (unsigned int cpu = 0; ; cpu++) {
		got = tsct_reader_next(reader, cpu, event);
		if (got < 0)
			return false;
		if (got)
			return true;
	}
}

/* Starts the daemon, which logs to LIB_LOG. */
#define LIB_LOG	"/tmp/tsctraced.log"
T_FN pid_t lib_start_daemon(const char *interval_ms)
{
	pid_t pid = t_fork();

	if (pid)
		return pid;
	if (!freopen(LIB_LOG, "w", stderr))
		t_die(LIB_LOG);
	execl("/usr/bin/tsctraced", "tsctraced", "-v", "--interval-ms", interval_ms, NULL);
	t_die("tsctraced");
}

T_FN void lib_stop_daemon(pid_t pid)
{
	kill(pid, SIGTERM);
	t_check(!t_wait(pid), "the daemon failed");
}

T_FN bool lib_has_bound(const struct tsct_time *time)
{
	return time->status == TSCT_STATUS_SYNCHRONIZED || time->status == TSCT_STATUS_HOLDOVER;
}

/* Opens the clock again. Returns true if it is the daemon's. */
T_FN bool lib_open_clock(struct tsct_clock **clock)
{
	tsct_clock_close(*clock);
	*clock = NULL;
	return !tsct_clock_open(clock) && !strcmp(tsct_clock_origin(*clock), "daemon");
}

T_FN bool lib_is_synchronized(struct tsct_clock *clock)
{
	struct tsct_time now;

	return !tsct_clock_now(clock, &now) && now.status == TSCT_STATUS_SYNCHRONIZED;
}

#endif /* TSCT_TEST_LIB_H */
