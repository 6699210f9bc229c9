// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "call_event.h"
#include "session.h"

/* Limit of a synchronization, seconds: the default, or "no": none */
#define SYNC_ENV	"TSCTRACE_MPI_SYNC"
#define SYNC_SECONDS	10

/* Returns the limit of a synchronization, ms; 0: none is wanted. The same in all
 * processes: that of rank 0 */
static int sync_limit_ms(void)
{
	const char *text = secure_getenv(SYNC_ENV);
	int ms = SYNC_SECONDS * 1000;

	if (text && *text)
		ms = strcmp(text, "no") ? atoi(text) * 1000 : 0;
	if (ms < 0)
		ms = 0;
	PMPI_Bcast(&ms, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return ms;
}

/* Number of processes of MPI_COMM_WORLD on this node; 0: as $TSCTRACE_TIMESYNC_PROCESSES
 * says, for containers that share memory, but no daemon */
static int count_local(void)
{
	const char *declared = secure_getenv("TSCTRACE_TIMESYNC_PROCESSES");
	MPI_Comm node;
	int size = 1;

	PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	PMPI_Comm_size(node, &size);
	PMPI_Comm_free(&node);
	return declared && *declared ? 0 : size;
}

/*
 * Synchronizes the clocks of all nodes, by the daemons (tsct_timesync()): all processes
 * of a node take part, and none waits where one has no daemon. Sessions over MPI itself,
 * for nodes whose daemons do not reach each other, would be another branch here.
 */
static void synchronize(void)
{
	static int gave_up;	/* flag: a synchronization did not complete in time */
	const int limit_ms = sync_limit_ms();
	int err, failed, any;
	char why[256] = "";

	if (!limit_ms)
		return;
	tsct_mpi_describe_session(true, NULL);
	err = tsct_timesync_join(count_local(), why, sizeof(why));
	failed = err || gave_up;
	PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (!any)
		err = tsct_timesync(limit_ms, why, sizeof(why));
	else if (!err)
		snprintf(why, sizeof(why), gave_up ? "not tried again" :
			 "another process cannot take part");
	gave_up = !any && err;
	tsct_timesync_leave();
	tsct_mpi_describe_session(false, err || any ? why : "");
}

static void agree_on_job(void)
{
	if (getrandom(&tsct_mpi.job, sizeof(tsct_mpi.job), 0) < 0 || !tsct_mpi.job)
		tsct_mpi.job = tsct_clock_cycles(tsct_clock_default()) | 1;
	PMPI_Bcast(&tsct_mpi.job, sizeof(tsct_mpi.job), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void tsct_mpi_begin(int thread_level)
{
	MPI_Comm parent;

	tsct_mpi.threaded = thread_level == MPI_THREAD_MULTIPLE;
	PMPI_Comm_rank(MPI_COMM_WORLD, &tsct_mpi.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &tsct_mpi.size);
	agree_on_job();
	tsct_mpi_describe_rank(thread_level);
	tsct_mpi_comm_begin();
	PMPI_Comm_get_parent(&parent);
	tsct_mpi_comm_add(parent, 0, NULL, 0);
	synchronize();
}

void tsct_mpi_end(void)
{
	synchronize();
}
