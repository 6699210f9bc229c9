// SPDX-License-Identifier: MIT
/*
 * trace-ctl-merge-mpi: runs 'trace-ctl merge' in all ranks of an MPI program.
 * MPI is used only in this file, to exchange bytes between two ranks.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/merge/ranks.h"
#include "tools/common/cmd.h"
#include "tools/merge/cmd_merge.h"

/* Largest message, bytes: MPI functions take the length as an int. */
#define CHUNK		(1UL << 30)

/* Pauses of a rank that waits for another rank, ns. Without pauses, MPI would
 * use a CPU that the other rank may need. */
#define PAUSE_MIN_NS	10000
#define PAUSE_MAX_NS	1000000

static int my_stderr = STDERR_FILENO;

/* Waits until @nr operations (at most two) have completed. */
static void wait_for(MPI_Request request[2], int nr)
{
	MPI_Status status[2];	/* unused: if an operation fails, MPI ends the program */
	struct timespec pause = { .tv_nsec = PAUSE_MIN_NS };
	int done = 0, turn;

	for (turn = 0; ; turn++) {
		MPI_Testall(nr, request, &done, status);
		if (done)
			return;
		if (turn < 100)
			continue;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
}

static void abort_all(void *arg, int err)
{
	const struct tsct_ranks *ranks = arg;

	dprintf(my_stderr, "trace-ctl-merge-mpi: rank %u: %s; no result was written\n",
		ranks->rank, strerror(-err));
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

/* Sends bytes @at to @at + CHUNK of @out to rank @to, and receives the same range of
 * @in from rank @from. Does not send or receive if the rank is TSCT_RANK_NONE. */
static void trade_chunk(unsigned int to, const struct tsct_blob *out, unsigned int from,
			struct tsct_blob *in, size_t at)
{
	MPI_Request request[2];
	size_t size;
	int nr = 0;

	if (to != TSCT_RANK_NONE && at < out->size) {
		size = out->size - at < CHUNK ? out->size - at : CHUNK;
		MPI_Isend(out->data + at, (int)size, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD,
			  &request[nr++]);
	}
	if (from != TSCT_RANK_NONE && at < in->size) {
		size = in->size - at < CHUNK ? in->size - at : CHUNK;
		MPI_Irecv(in->data + at, (int)size, MPI_BYTE, (int)from, 0, MPI_COMM_WORLD,
			  &request[nr++]);
	}
	wait_for(request, nr);
}

static void trade(void *arg, unsigned int to, const struct tsct_blob *out,
		  unsigned int from, struct tsct_blob *ret_in)
{
	uint64_t out_size = 0, in_size = 0;
	MPI_Request request[2];
	size_t at;
	int nr = 0;

	if (to != TSCT_RANK_NONE) {
		out_size = out->size;
		MPI_Isend(&out_size, 1, MPI_UINT64_T, (int)to, 0, MPI_COMM_WORLD, &request[nr++]);
	}
	if (from != TSCT_RANK_NONE)
		MPI_Irecv(&in_size, 1, MPI_UINT64_T, (int)from, 0, MPI_COMM_WORLD, &request[nr++]);
	wait_for(request, nr);
	if (from != TSCT_RANK_NONE) {
		*ret_in = (struct tsct_blob) { in_size ? malloc(in_size) : NULL, in_size, 0 };
		if (in_size && !ret_in->data)
			abort_all(arg, -ENOMEM);
	}
	for (at = 0; at < out_size || at < in_size; at += CHUNK)
		trade_chunk(to, out, from, ret_in, at);
}

/* Discards the output of all ranks except 0, but keeps a copy of standard error for abort_all(). */
static void be_silent(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	my_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close(null);
}

/* Ends this process if it was started by the launcher of another MPI library: then each process is
 * alone in MPI_COMM_WORLD, and would write the same output. The first process prints the reason. */
static void check_world(void)
{
	/* Names of the environment variables for size and rank: Open MPI, MPICH, Slurm */
	static const char *const names[][2] = {
		{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" }, { "PMI_SIZE", "PMI_RANK" },
		{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID" },
	};
	const char *const *found = NULL;
	const char *size;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size = getenv(names[i][0]);
		if (!size || !getenv(names[i][1]))
			continue;
		if (atoi(size) == 1)	/* set by the inner one of two nested launchers */
			return;
		if (atoi(size) > 1)
			found = names[i];
	}
	if (!found)
		return;
	if (atoi(getenv(found[1])) == 0)
		fprintf(stderr, "trace-ctl-merge-mpi: the launcher started %s processes (%s), but"
			" each is alone in its MPI_COMM_WORLD: use the launcher of the MPI with"
			" which this program was built\n", getenv(found[0]), found[0]);
	MPI_Finalize();
	exit(EXIT_FAILED);
}

/* Called at exit, also if argp ends the program after --help or a wrong option */
static void finalize(void)
{
	MPI_Finalize();
}

int main(int argc, char **argv)
{
	static struct tsct_ranks ranks = { .arg = &ranks, .trade = trade, .abort = abort_all };
	int rank, nr, threads;
	sigset_t set;

	/* Blocks the signals that merge_recordings.c polls for, also in MPI's threads. */
	merge_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* MPI_THREAD_FUNNELED: only this thread of the process calls MPI. */
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &nr);
	ranks.rank = (unsigned int)rank;
	ranks.nr = (unsigned int)nr;
	if (nr == 1)
		check_world();
	if (rank)
		be_silent();
	if (threads < MPI_THREAD_FUNNELED) {
		fprintf(stderr, "trace-ctl-merge-mpi: this MPI library does not"
			" support MPI_THREAD_FUNNELED; use one with thread support\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	atexit(finalize);
	argp_err_exit_status = EXIT_USAGE;
	if (argc)
		argv[0] = "trace-ctl-merge-mpi";
	program_invocation_name = "trace-ctl merge";	/* name in messages */
	return merge_main(argc, argv, &ranks);
}
