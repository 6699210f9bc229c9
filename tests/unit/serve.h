/* SPDX-License-Identifier: MIT */
/* A server in the process of the test, and its channels */
#ifndef TESTS_SERVE_H
#define TESTS_SERVE_H

#include <sched.h>

#include "lib/client/channel.h"
#include "lib/clock/clock_source.h"
#include "lib/provider/server.h"
#include "suite.h"

static char serve_dir[32], serve_path[64];
static struct tsct_server *serve_server;

static inline void serve_name(void)
{
	strcpy(serve_dir, "/tmp/tsct-unit.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(serve_dir));
	snprintf(serve_path, sizeof(serve_path), "%s/s", serve_dir);
}

static inline void serve_start(void)
{
	serve_name();
	ck_assert_int_eq(tsct_server_start(serve_path, "embedded", tsct_source_choose(NULL, 0),
					   &serve_server), 0);
	ck_assert_int_eq(tsct_server_run(serve_server), 0);
}

/* Stops the server. Checks that no file is left in the server's directory. */
static inline void serve_stop(void)
{
	tsct_server_stop(serve_server);
	ck_assert_int_eq(rmdir(serve_dir), 0);
}

static inline struct tsct_channel *serve_open(const struct tsct_channel_options *options)
{
	struct tsct_channel *t;
	int err = tsct_channel_open_at(serve_path, options, &t);

	ck_assert_msg(!err, "tsct_channel_open_at: %d: %s", err,
		      tsct_channel_error(t));
	return t;
}

/* Returns the number of open descriptors of this process. */
static inline int open_fds(void)
{
	int nr = 0, i;

	for (i = 0; i < 512; i++)
		nr += fcntl(i, F_GETFD) >= 0;
	return nr;
}

static inline void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

#endif /* TESTS_SERVE_H */
