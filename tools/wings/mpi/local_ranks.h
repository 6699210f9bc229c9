/* SPDX-License-Identifier: MIT */
/*
 * Ranks of a parallel program on one host, which a launcher (mpirun, srun) started as
 * "trace-ctl record --ranks". The lowest of them records; the others run their command
 * in its channel. They meet at an abstract Unix socket, whose name has the user and the
 * output directory.
 */
#ifndef TSCT_TOOLS_LOCAL_RANKS_H
#define TSCT_TOOLS_LOCAL_RANKS_H

#include <stdbool.h>
#include <sys/types.h>

struct rank_place {
	unsigned int local;	/* number among the ranks of this host, from 0 */
	unsigned int size;	/* number of ranks on this host */
};

/* Reads the place of this process from the launcher's environment. Returns 0; or
 * -ENOENT: there is none of a known launcher. */
int rank_place(struct rank_place *ret);

/*
 * rank_tasks - number of tasks of a node in Slurm's notation, such as "4(x2),3"
 * @node: number of the node, from 0
 *
 * Returns 0 if the text has no such node, or is not valid.
 */
unsigned int rank_tasks(const char *text, unsigned int node);

struct ranks;		/* the other ranks, as the one that records sees them */

/* Opens the socket. @dir: output directory. Returns 0 or -errno; -EADDRINUSE: another
 * run uses it. */
int ranks_listen(const char *dir, struct ranks **ret);

/*
 * ranks_await - wait until @nr ranks have connected
 * @interrupted: set after a signal; then the wait ends
 *
 * Returns 0; -ETIMEDOUT; -EINTR; or -errno.
 */
int ranks_await(struct ranks *ranks, unsigned int nr, const volatile int *interrupted);

/* Returns the process IDs of the ranks that have connected, and their number. */
const pid_t *ranks_pids(const struct ranks *ranks, unsigned int *ret_nr);

/* Lets the ranks run their commands, with the channel of this process's environment. */
int ranks_release(struct ranks *ranks);

/* Returns true if a rank still runs. Does not block. */
bool ranks_running(struct ranks *ranks);
void ranks_close(struct ranks *ranks);

/* On the other ranks: waits for the one that records, and takes over its channel.
 * Returns 0 or -errno. */
int ranks_join(const char *dir);

#endif /* TSCT_TOOLS_LOCAL_RANKS_H */
