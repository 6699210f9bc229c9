// SPDX-License-Identifier: MIT
/* test-wing: mpi */
/* Ranks of one host: their place in the launcher's environment, and how they meet */
#include "tools/wings/mpi/record_ranks.c"
#include "tools/common/error.c"
#include "tools/shared/message.c"
#include "suite.h"

volatile sig_atomic_t stop_signals;	/* no signal has come */
static char dir[64];

static void begin(void)
{
	unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
	unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	unsetenv("MPI_LOCALRANKID");
	unsetenv("MPI_LOCALNRANKS");
	unsetenv("SLURM_LOCALID");
	unsetenv("SLURM_NODEID");
	unsetenv("SLURM_STEP_TASKS_PER_NODE");
	snprintf(dir, sizeof(dir), "/check_ranks.%d", getpid());
}

CASE("ranks", begin, NULL);

TEST(slurm_tasks)
{
	ck_assert_uint_eq(rank_tasks("4", 0), 4);
	ck_assert_uint_eq(rank_tasks("4", 1), 0);
	ck_assert_uint_eq(rank_tasks("4(x2),3", 0), 4);
	ck_assert_uint_eq(rank_tasks("4(x2),3", 1), 4);
	ck_assert_uint_eq(rank_tasks("4(x2),3", 2), 3);
	ck_assert_uint_eq(rank_tasks("4(x2),3", 3), 0);
	ck_assert_uint_eq(rank_tasks("1,2(x1000),5", 1001), 5);
	ck_assert_uint_eq(rank_tasks("", 0), 0);
	ck_assert_uint_eq(rank_tasks("0", 0), 0);
	ck_assert_uint_eq(rank_tasks("-4", 0), 0);
	ck_assert_uint_eq(rank_tasks("4(x", 1), 0);
	ck_assert_uint_eq(rank_tasks("4(x2", 1), 0);
	ck_assert_uint_eq(rank_tasks("4(x2),", 2), 0);
	ck_assert_uint_eq(rank_tasks("99999999999999999999", 0), 0);
}

/* Sets the variables, NULL-terminated pairs; checks the place, or that there is none. */
static void expect_place(int local, unsigned int size, const char *const *pairs)
{
	struct rank_place place;

	begin();
	for (; *pairs; pairs += 2)
		setenv(pairs[0], pairs[1], 1);
	if (local < 0) {
		ck_assert_int_eq(rank_place(&place), -ENOENT);
		return;
	}
	ck_assert_int_eq(rank_place(&place), 0);
	ck_assert_uint_eq(place.local, (unsigned int)local);
	ck_assert_uint_eq(place.size, size);
}

#define PLACE(local, size, ...) \
	expect_place(local, size, (const char *const[]){ __VA_ARGS__, NULL })

TEST(places)
{
	PLACE(3, 4, "OMPI_COMM_WORLD_LOCAL_RANK", "3", "OMPI_COMM_WORLD_LOCAL_SIZE", "4");
	PLACE(0, 2, "MPI_LOCALRANKID", "0", "MPI_LOCALNRANKS", "2");
	PLACE(1, 3, "SLURM_LOCALID", "1", "SLURM_NODEID", "2",
	      "SLURM_STEP_TASKS_PER_NODE", "4(x2),3");
	/* srun that starts a program of Open MPI's mpirun: the inner one counts */
	PLACE(0, 1, "OMPI_COMM_WORLD_LOCAL_RANK", "0", "OMPI_COMM_WORLD_LOCAL_SIZE", "1",
	      "SLURM_LOCALID", "1", "SLURM_NODEID", "0", "SLURM_STEP_TASKS_PER_NODE", "4");
	PLACE(-1, 0, NULL);
	PLACE(-1, 0, "OMPI_COMM_WORLD_LOCAL_RANK", "3");
	PLACE(-1, 0, "OMPI_COMM_WORLD_LOCAL_RANK", "4", "OMPI_COMM_WORLD_LOCAL_SIZE", "4");
	PLACE(-1, 0, "MPI_LOCALRANKID", "x", "MPI_LOCALNRANKS", "2");
	PLACE(-1, 0, "MPI_LOCALRANKID", "", "MPI_LOCALNRANKS", "2");
	PLACE(-1, 0, "SLURM_LOCALID", "0", "SLURM_NODEID", "9",
	      "SLURM_STEP_TASKS_PER_NODE", "4");
}

/* In a child process: joins, checks the variables, and ends after a byte came. */
static pid_t start_rank(int gate)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	setenv("TSCTRACE_EVENTS", "of the rank", 1);
	if (ranks_join(dir) || strcmp(getenv("TSCTRACE_CHANNEL"), "c") ||
	    strcmp(getenv("TSCTRACE_SOCKET"), "/s") || getenv("TSCTRACE_EVENTS"))
		_exit(1);
	_exit(read(gate, &byte, 1) == 1 ? 7 : 2);
}

/* Returns the ranks of a host, with @nr_others besides the one that records. */
static struct record_ranks *make_ranks(unsigned int nr_others)
{
	struct record_ranks *ranks = calloc(1, sizeof(*ranks));

	ck_assert_ptr_nonnull(ranks);
	*ranks = (struct record_ranks) { .listener = -1, .early = -1, .nr_others = nr_others };
	return ranks;
}

TEST(meet)
{
	struct record_ranks *ranks = make_ranks(2), other;
	int gate[2];
	const pid_t *pids;
	pid_t pid[2];

	ck_assert_int_eq(pipe(gate), 0);
	pid[0] = start_rank(gate[0]);	/* it waits for the socket */
	usleep(50000);
	ck_assert_int_eq(ranks_listen(ranks, dir), 0);
	ck_assert_int_eq(ranks_listen(&other, dir), -EADDRINUSE);
	pid[1] = start_rank(gate[0]);
	ck_assert_int_eq(ranks_await(ranks), 0);
	pids = ranks->pids;
	ck_assert_uint_eq(ranks->nr, 2);
	ck_assert((pids[0] == pid[0] && pids[1] == pid[1]) ||
		  (pids[0] == pid[1] && pids[1] == pid[0]));
	setenv("TSCTRACE_CHANNEL", "c", 1);
	setenv("TSCTRACE_SOCKET", "/s", 1);
	unsetenv("TSCTRACE_EVENTS");
	ck_assert_int_eq(record_ranks_release(ranks), 0);
	ck_assert(ranks_running(ranks));
	ck_assert_int_eq(write(gate[1], "12", 2), 2);
	expect_exit(pid[0], 7);
	expect_exit(pid[1], 7);
	ck_assert(!ranks_running(ranks));
	record_ranks_close(ranks);
}

/* The rank that records fails: the others end, too. */
TEST(recorder_fails)
{
	struct record_ranks *ranks = make_ranks(1);
	pid_t pid;

	ck_assert_int_eq(ranks_listen(ranks, dir), 0);
	pid = start_rank(-1);
	ck_assert_int_eq(ranks_await(ranks), 0);
	record_ranks_close(ranks);
	expect_exit(pid, 1);
}

TEST(interrupted)
{
	struct record_ranks *ranks = make_ranks(1);

	stop_signals = 1;
	ck_assert_int_eq(ranks_listen(ranks, dir), 0);
	ck_assert_int_eq(ranks_await(ranks), -EINTR);
	record_ranks_close(ranks);
}
