// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "lib/base/hash.h"
#include "call_event.h"

/* Time limit of a synchronization, s; "no": no synchronization; "mpi": only over MPI */
#define SYNC_ENV	"TSCTRACE_MPI_SYNC"
#define SYNC_SECONDS	10
#define SYNC_SECONDS_MAX	86400

TSCT_EVENT(mpi_rank, TSCT_KIND_INSTANT, TSCT_U64_HEX(job), TSCT_S32(rank),
	   TSCT_S32(size), TSCT_S32(thread_level), TSCT_STRING(library));
/* result: reason why the daemons or, if not used, MPI did not synchronize; "":
 * success. by: "daemons", "MPI", or "" if this node's clock was not compared */
TSCT_EVENT_AS(mpi_timesync_begin, mpi_timesync, TSCT_KIND_BEGIN);
TSCT_EVENT_AS(mpi_timesync_end, mpi_timesync, TSCT_KIND_END, TSCT_STRING(result),
	      TSCT_STRING(by));

/* Rank 0's settings of synchronization, which all processes use */
struct sync_wanted {
	int limit_ms;		/* time limit, ms; 0: no synchronization */
	int only_mpi;		/* flag: synchronize over MPI only, not by the daemons */
};

/* Reads this process's settings of synchronization. */
static struct sync_wanted read_settings(void)
{
	const char *text = secure_getenv(SYNC_ENV);
	struct sync_wanted wanted = { .limit_ms = SYNC_SECONDS * 1000 };
	long seconds;

	if (text && !strcmp(text, "mpi")) {
		wanted.only_mpi = 1;
	} else if (text && *text) {
		seconds = strtol(text, NULL, 10);	/* "no" gives 0 */
		wanted.limit_ms = seconds <= 0 ? 0 :
			(int)(seconds < SYNC_SECONDS_MAX ? seconds : SYNC_SECONDS_MAX) * 1000;
	}
	return wanted;
}

/* Returns the argument of tsct_timesync_join(): the number of processes on this node, or 0 to
 * use $TSCTRACE_TIMESYNC_PROCESSES (set for containers that share memory, but no daemon). */
static unsigned int count_local(MPI_Comm node)
{
	const char *declared = secure_getenv("TSCTRACE_TIMESYNC_PROCESSES");
	int size = 1;

	PMPI_Comm_size(node, &size);
	return declared && *declared ? 0 : (unsigned int)size;
}

/* Returns a hash of the timeline that this node's daemon publishes, or 0 if there is none. */
static __u64 daemon_timeline(void)
{
	struct tsct_clock_state state;
	__u64 words[2];

	if (tsct_clock_snapshot(tsct_clock_default(), &state) || !state.cluster_master)
		return 0;
	words[0] = state.cluster_master;
	words[1] = state.cluster_timeline;
	return tsct_hash(1, words, sizeof(words)) | 1;
}

/*
 * Returns NULL if the nodes are synchronized, else the reason why not: NULL in all
 * processes, or in none. Called in each process after tsct_timesync(), whose result
 * is @err. The nodes are synchronized if all these calls succeeded and all daemons
 * are on one timeline: otherwise each node may be in a cluster of its own.
 */
static const char *find_failure(int err)
{
	const __u64 timeline = daemon_timeline();
	const __u64 mine[] = { err != 0, timeline, ~timeline };
	__u64 most[3];

	PMPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
	return most[0] ? "the synchronization failed in another process" :
		!most[1] || most[1] != ~most[2] ? "the daemons have no timeline in common" :
		NULL;
}

/* Synchronizes the nodes by their daemons: calls tsct_timesync() in all
 * processes. No process waits if a node has no daemon. Returns true in all
 * processes, or false in all processes, with the reason in @why. */
static bool synchronize_daemons(MPI_Comm node, int limit_ms, char *why, size_t size)
{
	static bool gave_up;	/* an earlier synchronization did not complete */
	const char *failure = "another process cannot take part";
	int err, failed, any;

	err = tsct_timesync_join(count_local(node), why, size);
	failed = err || gave_up;
	PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (gave_up)
		failure = "not tried again, because an earlier synchronization did not complete";
	if (!any) {
		err = tsct_timesync(limit_ms, why, size);
		failure = find_failure(err);
		gave_up = err;
	}
	if (failure && !err)
		snprintf(why, size, "%s", failure);
	tsct_timesync_leave();
	return !failure;
}

/* Synchronizes the clocks of all nodes: by the daemons or, if that fails, over MPI.
 * Synchronization by the daemons also fails if a process has its own clock, without a
 * timeline. A merge then still uses the daemons' samples, if they are of one cluster. */
static void synchronize(__u32 number)
{
	struct sync_wanted wanted = read_settings();
	char why[256] = "", no[128] = "";
	const char *by = "daemons";
	MPI_Comm node;

	if (tsct_mpi.partial) {
		mpi_timesync_begin_emit();
		mpi_timesync_end_emit("not all ranks have loaded this library", "");
		return;
	}
	PMPI_Bcast(&wanted, 2, MPI_INT, 0, MPI_COMM_WORLD);
	if (!wanted.limit_ms)
		return;
	mpi_timesync_begin_emit();
	PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	if (wanted.only_mpi ||
	    !synchronize_daemons(node, wanted.limit_ms, why, sizeof(why)))
		by = tsct_mpi_exchange(node, number, wanted.limit_ms, no, sizeof(no)) ?
			"MPI" : "";
	PMPI_Comm_free(&node);
	mpi_timesync_end_emit(*why ? why : no, by);
}

/* ---- the ranks that have this library --------------------------------------- */

/* Tags of this library's messages in MPI_COMM_WORLD, which are sent before the
 * program sends messages there */
enum { TAG_PRESENT = 32617, TAG_JOB };

/* Message that rank 0 sends to the other ranks */
struct mpi_job {
	__u64 number;
	__u64 partial;
};

/* Prints which ranks have not loaded the library. @ranks: list such as "2-3,7" */
static void report_missing(const char *ranks, double limit_s)
{
	fprintf(stderr, TSCT_MPI_LIBRARY ": MPI_Init: of %d ranks, these have not loaded this"
		" library, after %.0f s: %s; clocks are not compared, and only one end of their"
		" messages is recorded; start all ranks with this library, by"
		" 'trace-ctl record --ranks' or 'mpirun -x LD_PRELOAD'\n", tsct_mpi.size, limit_s,
		ranks);
}

/* Writes the ranks that are not in @present, as a list of ranges. A list that
 * does not fit ends with "...". */
static void list_missing(const bool *present, char *text, size_t size)
{
	size_t len = 0;
	int i, first;

	for (i = 0; i < tsct_mpi.size; i++) {
		first = i;
		while (i < tsct_mpi.size && !present[i])
			i++;
		if (i == first)
			continue;
		if (len + 32 > size) {
			snprintf(text + len, size - len, ",...");
			return;
		}
		len += (size_t)snprintf(text + len, size - len, i - 1 > first ? "%s%d-%d" : "%s%d",
					len ? "," : "", first, i - 1);
	}
}

/* In rank 0: waits until all ranks have reported that they have this library,
 * or until the limit; then sends the job to the ranks that have reported. */
static void gather_ranks(struct mpi_job *job, double limit_s)
{
	const double end = PMPI_Wtime() + limit_s;
	bool *present = calloc((size_t)tsct_mpi.size, sizeof(*present));
	char text[256] = "";
	int from, nr = 1;

	if (!present)
		PMPI_Abort(MPI_COMM_WORLD, 1);	/* else the other ranks would wait */
	present[0] = true;
	while (nr < tsct_mpi.size &&
	       !tsct_mpi_receive(&from, sizeof(from), MPI_ANY_SOURCE, TAG_PRESENT,
				 MPI_COMM_WORLD, end)) {
		nr += from > 0 && from < tsct_mpi.size && !present[from];
		if (from > 0 && from < tsct_mpi.size)
			present[from] = true;
	}
	job->partial = nr < tsct_mpi.size;
	if (job->partial) {
		list_missing(present, text, sizeof(text));
		report_missing(text, limit_s);
	}
	for (from = 1; from < tsct_mpi.size; from++)
		if (present[from])
			PMPI_Send(job, sizeof(*job), MPI_BYTE, from, TAG_JOB, MPI_COMM_WORLD);
	free(present);
}

/* Gets the job's number, which rank 0 makes, by messages between ranks that
 * have this library. A collective call would wait forever for a rank without
 * the library, and that rank's program might mistake it for its own call. */
static void agree_on_job(void)
{
	const int limit_ms = read_settings().limit_ms;
	const double limit_s = 2e-3 * (limit_ms ? limit_ms : SYNC_SECONDS * 1000);
	struct mpi_job job;

	if (getrandom(&job.number, sizeof(job.number), 0) < 0 || !job.number)
		job.number = tsct_clock_cycles(tsct_clock_default()) | 1;
	if (!tsct_mpi.rank) {
		gather_ranks(&job, limit_s);
	} else {
		PMPI_Send(&tsct_mpi.rank, sizeof(tsct_mpi.rank), MPI_BYTE, 0, TAG_PRESENT,
			  MPI_COMM_WORLD);
		/* If a rank is missing, rank 0 answers only after its limit. */
		job.partial = 1;
		if (tsct_mpi_receive(&job, sizeof(job), 0, TAG_JOB, MPI_COMM_WORLD,
				     PMPI_Wtime() + 2 * limit_s))
			report_missing("0", 2 * limit_s);
	}
	tsct_mpi.job = job.number;
	tsct_mpi.partial = job.partial;
}

static void describe_rank(int thread_level)
{
	char library[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	char *at;
	int len;

	PMPI_Get_library_version(library, &len);
	library[strcspn(library, ",\n")] = '\0';
	for (at = strchr(library, '\t'); at; at = strchr(at, '\t'))
		*at = ' ';
	mpi_rank_emit(tsct_mpi.job, tsct_mpi.rank, tsct_mpi.size, thread_level, library);
}

void tsct_mpi_begin(int thread_level)
{
	MPI_Comm parent;
	int *tag_max;
	int has;

	tsct_mpi.threaded = thread_level == MPI_THREAD_MULTIPLE;
	PMPI_Comm_rank(MPI_COMM_WORLD, &tsct_mpi.rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &tsct_mpi.size);
	PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &has);
	tsct_mpi.tag_max = has ? *tag_max : INT32_MAX;
	agree_on_job();
	describe_rank(thread_level);
	tsct_mpi_comm_begin();
	PMPI_Comm_get_parent(&parent);
	tsct_mpi_comm_add(parent, 0, NULL, 0);
	synchronize(1);
}

void tsct_mpi_end(void)
{
	synchronize(2);
}
