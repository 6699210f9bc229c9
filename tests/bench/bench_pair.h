/* SPDX-License-Identifier: MIT */
/*
 * Runs another program alternately with our functions: a child process on the same CPU,
 * which waits at a pipe. It writes one byte, 1, when it is ready. Then, for each byte that
 * it reads, it writes BENCH_PAIR_NR doubles: ns per turn with payloads of 8, 64 and 256
 * bytes.
 */
#ifndef TESTS_BENCH_PAIR_H
#define TESTS_BENCH_PAIR_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define BENCH_PAIR_NR	3
#define BENCH_PAIR_MS	20000	/* longest wait for an answer, ms */

struct bench_pair {
	pid_t pid;		/* the child; 0: none */
	int in, out;
	double ns[BENCH_PAIR_NR][BENCH_RUNS];
};

static inline bool bench_pair_read(struct bench_pair *pair, void *buf,
				   size_t size)
{
	struct pollfd fd = { .fd = pair->in, .events = POLLIN };

	return poll(&fd, 1, BENCH_PAIR_MS) == 1 &&
		read(pair->in, buf, size) == (ssize_t)size;
}

static inline void bench_pair_stop(struct bench_pair *pair)
{
	if (!pair->pid)
		return;
	close(pair->in);
	close(pair->out);
	kill(pair->pid, SIGKILL);
	waitpid(pair->pid, NULL, 0);
	pair->pid = 0;
}

/* @program: NULL: no child is started */
static inline void bench_pair_start(struct bench_pair *pair,
				    const char *program)
{
	int to[2], from[2];
	char ready;

	pair->pid = 0;
	if (!program || pipe(to) || pipe(from))
		return;
	signal(SIGPIPE, SIG_IGN);
	pair->pid = fork();
	if (!pair->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	pair->out = to[1];
	pair->in = from[0];
	if (pair->pid < 0 || !bench_pair_read(pair, &ready, 1) || !ready)
		bench_pair_stop(pair);
}

/* Gets the figures of one run from the child; stops it if that fails. */
static inline void bench_pair_run(struct bench_pair *pair, unsigned int run)
{
	double ns[BENCH_PAIR_NR];
	unsigned int i;

	if (!pair->pid)
		return;
	if (write(pair->out, "", 1) != 1 ||
	    !bench_pair_read(pair, ns, sizeof(ns))) {
		bench_pair_stop(pair);
		return;
	}
	for (i = 0; i < BENCH_PAIR_NR; i++)
		pair->ns[i][run] = ns[i];
}

#endif /* TESTS_BENCH_PAIR_H */
