// SPDX-License-Identifier: MIT
/*
 * mpi_program MODE [ARGUMENT] - a program with a known number of calls of MPI, to be run
 * on an even number of processes. Messages of one stream have different lengths, so that
 * a receiver that gives them other numbers than the sender is found out.
 *
 * calls: all kinds of calls; order: receives of any source that complete in another order than
 * they were posted, and cancels; requests: those of sends and collective calls; freed: those of
 * receives; truncated: receives whose buffer is too short; threads: MPI_THREAD_MULTIPLE; sharing:
 * threads with one tag; groups: communicators and intercommunicators; abort: the last process
 * calls MPI_Abort; abort kill|exit [RANK]: it, or RANK, kills itself, or exits without
 * MPI_Finalize; error: sends that MPI refuses; spawn: one more process; ring N: N times around;
 * waits [US]: known waits of US us, or 200 ms, on 4 ranks; late US: others of them; polls FOLDER:
 * loops of polls; session: a session of MPI 4, without MPI_Init
 */
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM	4096

static int rank, size, left, right;
static int out[ROOM], in[ROOM], more[ROOM];

static void check(int is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- calls ------------------------------------------------------------------ */

static void blocking(void)
{
	char room[65536];
	MPI_Status status;
	int count, i;
	void *at;

	MPI_Buffer_attach(room, sizeof(room));
	for (i = 0; i < 10; i++) {
		MPI_Bsend(out, 1 + i, MPI_INT, right, 1, MPI_COMM_WORLD);
		MPI_Recv(in, ROOM, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_INT, &count);
		check(count == 1 + i, "length");
	}
	MPI_Buffer_detach(&at, &count);
	for (i = 0; i < 10; i++) {
		if (rank % 2) {
			MPI_Recv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			MPI_Ssend(out, 20 + i, MPI_INT, right, 2, MPI_COMM_WORLD);
		} else {
			MPI_Ssend(out, 20 + i, MPI_INT, right, 2, MPI_COMM_WORLD);
			MPI_Recv(in, ROOM, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		}
	}
	for (i = 0; i < 10; i++)
		MPI_Sendrecv(out, 40 + i, MPI_INT, right, 3, in, ROOM, MPI_INT, left, 3,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < 10; i++)
		MPI_Sendrecv_replace(out, 10, MPI_INT, right, 4, left, 4,
				     MPI_COMM_WORLD, &status);
	MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
	MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
	MPI_Sendrecv(out, 3, MPI_INT, right, 6, in, ROOM, MPI_INT,
		     rank ? left : MPI_PROC_NULL, 6, MPI_COMM_WORLD, &status);
	if (!rank)
		MPI_Recv(in, ROOM, MPI_INT, left, 6, MPI_COMM_WORLD, &status);
}

static void nonblocking(void)
{
	MPI_Request requests[40];
	int i, index, done, indices[40];

	for (i = 0; i < 20; i++)
		MPI_Irecv(in, ROOM, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[i]);
	for (i = 0; i < 20; i++)
		MPI_Isend(out, 1 + i, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[20 + i]);
	MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
	for (i = 0; i < 10; i++)
		MPI_Irecv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD,
			  &requests[i]);
	for (i = 0; i < 10; i++)
		MPI_Issend(out, 1 + i, MPI_INT, right, 8, MPI_COMM_WORLD,
			   &requests[10 + i]);
	for (i = 0; i < 10; i++)
		MPI_Waitany(20, requests, &index, MPI_STATUS_IGNORE);
	do
		MPI_Waitsome(20, requests, &done, indices, MPI_STATUSES_IGNORE);
	while (done != MPI_UNDEFINED);
	MPI_Irecv(in, ROOM, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[0]);
	MPI_Isend(out, 5, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[1]);
	do
		MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
	while (!done);
}

#if MPI_VERSION >= 4
/* True if MPI_Isendrecv gives the status of its receive: that of MPICH 4.0 is another's. */
static int has_isendrecv_status(void)
{
	MPI_Request request;
	MPI_Status status = { 0 };
	int n = 0;

	MPI_Isendrecv(out, 3, MPI_INT, 0, 33, in, ROOM, MPI_INT, 0, 33, MPI_COMM_SELF, &request);
	MPI_Wait(&request, &status);
	MPI_Get_count(&status, MPI_INT, &n);
	return n == 3 && status.MPI_TAG == 33;
}

/* Calls of MPI 4: 20 messages of each rank, 40 with MPI_Isendrecv, besides calls that have none */
static void four(int isendrecv)
{
	static int parts_in[8], parts_out[8];
	MPI_Count counts[64], total = 0;
	MPI_Aint places[64] = { 0 };
	MPI_Request requests[3];
	MPI_Session session;
	MPI_Status status;

	for (int i = 0; i < 10; i++) {
		MPI_Irecv_c(in, ROOM, MPI_INT, left, 30, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend_c(out, 40 + i, MPI_INT, right, 30, MPI_COMM_WORLD, &requests[1]);
		if (isendrecv)
			MPI_Isendrecv(out, 1 + i, MPI_INT, right, 30, in, ROOM, MPI_INT,
				      MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &requests[2]);
		MPI_Waitall(2 + isendrecv, requests, MPI_STATUSES_IGNORE);
		MPI_Sendrecv_c(out, 3, MPI_INT, right, 31, in, ROOM, MPI_INT, left, 31,
			       MPI_COMM_WORLD, &status);
		MPI_Get_count_c(&status, MPI_INT, &total);
		check(total == 3, "another count");
		if (!isendrecv)
			continue;
		MPI_Isendrecv_replace(in, 2, MPI_INT, right, 32, left, 32, MPI_COMM_WORLD,
				      &requests[0]);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	}
	MPI_Psend_init(parts_out, 2, 4, MPI_INT, right, 30, MPI_COMM_WORLD, MPI_INFO_NULL,
		       &requests[0]);
	MPI_Precv_init(parts_in, 2, 4, MPI_INT, left, 30, MPI_COMM_WORLD, MPI_INFO_NULL,
		       &requests[1]);
	MPI_Startall(2, requests);
	MPI_Pready_range(0, 1, requests[0]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	for (int i = 0; i < size; i++)
		counts[i] = 1 + i;
	MPI_Allgatherv_c(out, 1 + rank, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
	MPI_Allreduce_c(out, in, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	MPI_Start(&requests[0]);
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	MPI_Request_free(&requests[0]);
	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Session_finalize(&session);
}

static void session(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	int me, nr;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &nr);
	MPI_Sendrecv(out, 1, MPI_INT, (me + 1) % nr, 1, in, ROOM, MPI_INT, (me + nr - 1) % nr,
		     1, comm, MPI_STATUS_IGNORE);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
}
#else
static void session(void)
{
}

static int has_isendrecv_status(void)
{
	return 0;
}

static void four(int isendrecv)
{
	check(0, "no MPI 4");
}
#endif

static void persistent(void)
{
	MPI_Request requests[2];

	MPI_Recv_init(in, ROOM, MPI_INT, left, 10, MPI_COMM_WORLD, &requests[0]);
	MPI_Send_init(out, 6, MPI_INT, right, 10, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < 5; i++) {
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		MPI_Start(&requests[0]);
		MPI_Start(&requests[1]);
		MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
		MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
}

static void probes(void)
{
	MPI_Request request, sent[12];
	MPI_Message message[2];
	MPI_Status status;
	int found, i;

	for (i = 0; i < 12; i++)
		MPI_Isend(out, 1 + i, MPI_INT, right, 11, MPI_COMM_WORLD, &sent[i]);
	MPI_Probe(left, 11, MPI_COMM_WORLD, &status);
	MPI_Recv(in, ROOM, MPI_INT, status.MPI_SOURCE, 11, MPI_COMM_WORLD, &status);
	do
		MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &found, &status);
	while (!found);
	MPI_Recv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (i = 0; i < 4; i++) {
		/* The second message is received before the first. */
		MPI_Mprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &message[0], &status);
		do
			MPI_Improbe(left, 11, MPI_COMM_WORLD, &found, &message[1], &status);
		while (!found);
		MPI_Imrecv(more, ROOM, MPI_INT, &message[1], &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Mrecv(in, ROOM, MPI_INT, &message[0], MPI_STATUS_IGNORE);
	}
	for (i = 0; i < 2; i++)
		MPI_Recv(in, ROOM, MPI_INT, left, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Waitall(12, sent, MPI_STATUSES_IGNORE);
}

/* 8 messages of each process, of which the requests of 7 complete: short ones, for which an MPI
 * may give one handle, and long ones; 4 in MPI_Wait, 1 each in MPI_Testany, _Waitany, _Waitsome;
 * and two collective calls, in MPI_Waitall. */
static void requests(void)
{
	MPI_Request none, some[8], both[2];
	int i, done = 0, index;

	MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 12, MPI_COMM_WORLD, &none);
	for (i = 0; i < 8; i++)
		MPI_Isend(out, i < 5 ? 1 + i : ROOM - i, MPI_INT, right, 12, MPI_COMM_WORLD,
			  &some[i]);
	MPI_Wait(&none, MPI_STATUS_IGNORE);
	for (i = 0; i < 8; i++)
		MPI_Recv(in, ROOM, MPI_INT, left, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	while (!done)
		MPI_Request_get_status(some[0], &done, MPI_STATUS_IGNORE);
	MPI_Request_free(&some[4]);
	for (done = 0; !done; )
		MPI_Testany(1, &some[3], &index, &done, MPI_STATUS_IGNORE);
	MPI_Waitany(1, &some[7], &index, MPI_STATUS_IGNORE);
	MPI_Waitsome(1, &some[6], &index, &done, MPI_STATUSES_IGNORE);
	MPI_Wait(&some[5], MPI_STATUS_IGNORE);
	for (i = 0; i < 3; i++)
		MPI_Wait(&some[i], MPI_STATUS_IGNORE);
	MPI_Ibarrier(MPI_COMM_WORLD, &both[0]);
	MPI_Ibcast(out, 1, MPI_INT, 0, MPI_COMM_WORLD, &both[1]);
	MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

/* A receive whose request is freed, and which gets a message later */
static void freed(void)
{
	MPI_Request request;

	MPI_Irecv(more, ROOM, MPI_INT, left, 13, MPI_COMM_WORLD, &request);
	MPI_Request_free(&request);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Send(out, 1, MPI_INT, right, 13, MPI_COMM_WORLD);
}

/* 7 messages of each process, of which 3 are longer than the buffer of their receive. Those after
 * them, of the same stream, are not. */
static void truncated(void)
{
	MPI_Request both[2];
	MPI_Status statuses[2];
	int i;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (i = 0; i < 4; i++)
		check((i == 1) == (MPI_Sendrecv(out, 10 + i, MPI_INT, right, 14, in, i == 1 ? 2 : ROOM,
						MPI_INT, left, 14, MPI_COMM_WORLD,
						&statuses[0]) != MPI_SUCCESS), "MPI_Sendrecv");
	for (i = 0; i < 2; i++) {
		MPI_Irecv(in, 2, MPI_INT, i ? MPI_ANY_SOURCE : left, 14, MPI_COMM_WORLD, &both[1]);
		MPI_Isend(out, 20 + i, MPI_INT, right, 14, MPI_COMM_WORLD, &both[0]);
		if (i) {
			check(MPI_Wait(&both[1], MPI_STATUS_IGNORE) != MPI_SUCCESS, "MPI_Wait");
			MPI_Wait(&both[0], MPI_STATUS_IGNORE);
		} else {
			check(MPI_Waitall(2, both, statuses) != MPI_SUCCESS, "MPI_Waitall");
		}
	}
	MPI_Sendrecv(out, 30, MPI_INT, right, 14, in, ROOM, MPI_INT, left, 14, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void collective(void)
{
	int *counts = calloc(size, sizeof(int)), *places = calloc(size, sizeof(int)), i;
	int *many = calloc(size, 10 * sizeof(int)), *other = calloc(size, 10 * sizeof(int));
	MPI_Request request;

	for (i = 0; i < size; i++) {
		counts[i] = 1;
		places[i] = i;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Bcast(out, 10, MPI_INT, 1, MPI_COMM_WORLD);
	MPI_Gather(out, 1, MPI_INT, many, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Gatherv(out, 1, MPI_INT, many, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(many, 1, MPI_INT, rank ? in : MPI_IN_PLACE, 1, MPI_INT, 0,
		    MPI_COMM_WORLD);
	MPI_Scatterv(many, counts, places, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Allgatherv(out, 1, MPI_INT, many, counts, places, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoall(many, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_WORLD);
	MPI_Alltoallv(many, counts, places, MPI_INT, other, counts, places, MPI_INT,
		      MPI_COMM_WORLD);
	MPI_Reduce(out, in, 1, MPI_INT, MPI_SUM, 2 % size, MPI_COMM_WORLD);
	MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter(many, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Reduce_scatter_block(many, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Scan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Ibarrier(MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	free(counts);
	free(places);
	free(many);
	free(other);
}

static void one_sided(void)
{
	MPI_Datatype pair;
	MPI_Win win;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Win_create(more, sizeof(more), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	MPI_Win_fence(0, win);
	MPI_Put(out, 1, pair, right, 0, 1, pair, win);
	MPI_Win_fence(0, win);
	MPI_Win_free(&win);
	MPI_Type_free(&pair);
}

/* ---- order ------------------------------------------------------------------ */

/* Rank 0 receives of all others, and learns of the last posted receive first. */
static void out_of_order(int round)
{
	MPI_Request requests[30];
	int i, nr = 0;

	if (rank) {
		for (i = 0; i < 3; i++)
			MPI_Send(out, 1 + 3 * round + i, MPI_INT, 0, 5 + i % 2,
				 MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		return;
	}
	for (i = 0; i < 3 * (size - 1) && i < 30; i++, nr++)
		MPI_Irecv(in, ROOM, MPI_INT,
			  i % 3 ? MPI_ANY_SOURCE : 1 + i / 3,
			  i % 3 == 1 ? MPI_ANY_TAG : i % 3 ? 5 : 5, MPI_COMM_WORLD,
			  &requests[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = nr - 1; i >= 0; i--) {
		int done = 0, tries;

		for (tries = 0; tries < 100 && !done; tries++)
			MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
	}
	/* Tags may be short of messages: the rest is cancelled, and received by others. */
	for (i = 0; i < nr; i++)
		if (requests[i] != MPI_REQUEST_NULL) {
			MPI_Cancel(&requests[i]);
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
		}
	for (;;) {
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &i,
			   MPI_STATUS_IGNORE);
		if (!i)
			break;
		MPI_Recv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	}
}

static void two_unlike(void)
{
	MPI_Request any, one;

	if (rank == 1) {
		MPI_Send(out, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
		MPI_Send(out, 2, MPI_INT, 0, 3, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (!rank) {
		MPI_Irecv(in, ROOM, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &any);
		MPI_Irecv(in, ROOM, MPI_INT, 1, 3, MPI_COMM_WORLD, &one);
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Wait(&one, MPI_STATUS_IGNORE);
		usleep(20000);
		MPI_Wait(&any, MPI_STATUS_IGNORE);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* ---- threads ---------------------------------------------------------------- */

#define THREADS	4
#define EACH	200

static void *thread(void *number)
{
	const int tag = *(int *)number;
	MPI_Request request;
	int i, room = 0, mine = tag;

	for (i = 0; i < EACH; i++) {
		MPI_Send(&mine, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
		MPI_Recv(&room, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		/* The same tag in all threads */
		MPI_Isend(&mine, 1, MPI_INT, right, 99, MPI_COMM_WORLD, &request);
		MPI_Recv(&room, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, 99,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Irecv(&room, 1, MPI_INT, left, 98, MPI_COMM_WORLD, &request);
		MPI_Send(&mine, 1, MPI_INT, right, 98, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return NULL;
}

/* Messages of different lengths with one tag in all threads: which thread sends first, and which
 * one's receive MPI takes first, only MPI knows. */
static void *sharing(void *number)
{
	const int mine = *(int *)number;
	MPI_Request request;
	int room[THREADS * EACH], i;

	for (i = 0; i < EACH; i++) {
		MPI_Isend(out, 1 + mine * EACH + i, MPI_INT, right, 97, MPI_COMM_WORLD, &request);
		MPI_Recv(room, THREADS * EACH, MPI_INT, left, 97, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return NULL;
}

static void threads(void *(*body)(void *))
{
	pthread_t all[THREADS];
	int numbers[THREADS], i;

	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&all[i], NULL, body, &numbers[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
}

/* ---- groups ----------------------------------------------------------------- */

static void around(MPI_Comm comm)
{
	int me, nr, i;

	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &nr);
	for (i = 0; i < 3; i++)
		MPI_Sendrecv(out, 1 + i, MPI_INT, (me + 1) % nr, 1, in, ROOM, MPI_INT,
			     (me + nr - 1) % nr, 1, comm, MPI_STATUS_IGNORE);
	MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comm);
}

/* Collective calls whose root is the first process of one group: what they ignore in the
 * other group, or in the rest of the root's, is not valid. */
static void between_groups(MPI_Comm inter, int is_root_group)
{
	const MPI_Datatype ignored = (MPI_Datatype)0x123450;
	int counts[32], places[32] = { 0 }, root = 0, me, i;

	MPI_Comm_rank(inter, &me);
	if (is_root_group)
		root = me ? MPI_PROC_NULL : MPI_ROOT;
	for (i = 0; i < 32; i++)
		counts[i] = 1;
	MPI_Bcast(out, 3, MPI_INT, root, inter);
	if (is_root_group)
		MPI_Gatherv(NULL, 7, ignored, in, counts, places, MPI_INT, root, inter);
	else
		MPI_Gatherv(out, 1, MPI_INT, NULL, NULL, NULL, ignored, root, inter);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, inter);
}

/* A process that is spawned without the library, and its intercommunicators with the others */
static void with_child(MPI_Comm parent, char *program)
{
	char *args[] = { "-u", "LD_PRELOAD", program, "spawn", NULL };
	MPI_Comm child, merged, inter;
	int nr;

	if (parent == MPI_COMM_NULL)
		MPI_Comm_spawn("env", args, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child,
			       MPI_ERRCODES_IGNORE);
	else
		child = parent;
	MPI_Intercomm_merge(child, parent != MPI_COMM_NULL, &merged);
	MPI_Comm_size(merged, &nr);
	MPI_Intercomm_create(MPI_COMM_WORLD, 0, merged, parent == MPI_COMM_NULL ? nr - 1 : 0, 7,
			     &inter);
	MPI_Barrier(inter);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&merged);
}

static void groups(void)
{
	const int dims[2] = { 2, size / 2 }, periods[2] = { 1, 1 }, remain[2] = { 0, 1 };
	MPI_Comm dup, split, made, some, cart, sub, idup, inter, merged;
	MPI_Group world, half;
	MPI_Request request;
	int ranks[64], i;

	for (i = 0; i < size / 2; i++)
		ranks[i] = rank < size / 2 ? i : size / 2 + i;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, size / 2, ranks, &half);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_set_name(dup, "copy");
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
	MPI_Comm_create(MPI_COMM_WORLD, half, &made);
	MPI_Comm_create_group(split, MPI_GROUP_EMPTY, 1, &some);
	MPI_Comm_create_group(MPI_COMM_WORLD, half, 2, &some);
	MPI_Cart_create(dup, 2, dims, periods, 0, &cart);
	MPI_Cart_sub(cart, remain, &sub);
	MPI_Comm_idup(split, &idup, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	around(dup);
	around(split);
	around(made);
	around(some);
	around(cart);
	around(sub);
	around(idup);
	MPI_Intercomm_create(made, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 7,
			     &inter);
	for (i = 0; i < 5; i++)
		MPI_Sendrecv(out, 1 + i + (rank < size / 2) * 10, MPI_INT, rank % (size / 2),
			     3, in, ROOM, MPI_INT, rank % (size / 2), 3, inter,
			     MPI_STATUS_IGNORE);
	MPI_Barrier(inter);
	between_groups(inter, rank < size / 2);
	MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, cart);
	MPI_Intercomm_merge(inter, rank < size / 2, &merged);
	around(merged);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&sub);
	MPI_Comm_free(&dup);
	MPI_Comm_dup(split, &dup);
	around(dup);
	MPI_Group_free(&half);
	MPI_Group_free(&world);
}

/* ---- waits ------------------------------------------------------------------ */

static void waits(int long_us)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		usleep(long_us);
		MPI_Send(out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
	} else if (rank == 1) {
		MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 2) {
		MPI_Ssend(out, 1, MPI_INT, 3, 2, MPI_COMM_WORLD);
	} else if (rank == 3) {
		usleep(long_us);
		MPI_Recv(in, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 2)
		usleep(long_us);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		usleep(long_us);
	MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* The same for nonblocking sends, probes, and nonblocking collective calls */
static void late_ones(int long_us)
{
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;

	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank) {
		MPI_Issend(out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else if (rank == 1) {
		usleep(long_us);
		MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (rank == 2) {
		MPI_Probe(3, 2, MPI_COMM_WORLD, &status);
		MPI_Recv(in, 1, MPI_INT, 3, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Mprobe(3, 3, MPI_COMM_WORLD, &message, &status);
		MPI_Mrecv(in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	} else if (rank == 3) {
		for (int i = 2; i < 4; i++) {
			usleep(long_us);
			MPI_Send(out, 1, MPI_INT, 2, i, MPI_COMM_WORLD);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		if (rank == i)
			usleep(long_us);
		if (i)
			MPI_Iallreduce(out, in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
		else
			MPI_Ibarrier(MPI_COMM_WORLD, &request);
		MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
	}
}

static double polled;	/* time around calls that poll, s */

static int poll_once(MPI_Request *request)
{
	const double begin = MPI_Wtime();
	int found;

	if (request)
		MPI_Test(request, &found, MPI_STATUS_IGNORE);
	else
		MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
	polled += MPI_Wtime() - begin;
	return found;
}

/* In two loops, rank 1 polls at least 1000 times before rank 0 sends, which waits for a file of
 * each loop: a call of MPI would end the loop. Prints the time around the calls of each loop. */
static void polls(const char *folder)
{
	char path[4096];
	MPI_Request request;

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/polled-%d", folder, i);
		if (!rank) {
			while (access(path, F_OK))
				usleep(1000);
			MPI_Send(out, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
		} else if (rank == 1) {
			if (i)
				MPI_Irecv(in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &request);
			polled = 0;
			for (int n = 1; !poll_once(i ? &request : NULL); n++) {
				if (n == 1000)
					fclose(fopen(path, "w"));
				if (n > 1000)
					usleep(1000);
			}
			if (!i)
				MPI_Recv(in, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			printf("polled %.0f ns in MPI_%s\n", polled * 1e9, i ? "Test" : "Iprobe");
		}
	}
}

/* ---- the rest --------------------------------------------------------------- */

static void around_world(int times)
{
	for (int i = 0; i < times; i++) {
		if (!rank)
			MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
		MPI_Recv(in, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank)
			MPI_Send(out, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "calls";
	int provided, i, last;
	MPI_Comm parent;

	if (!strcmp(mode, "session")) {
		session();
		return 0;
	}
	if (!strcmp(mode, "threads") || !strcmp(mode, "sharing")) {
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		check(provided == MPI_THREAD_MULTIPLE, "no threads");
	} else {
		MPI_Init(&argc, &argv);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	right = (rank + 1) % size;
	left = (rank + size - 1) % size;
	if (!strcmp(mode, "spawn")) {
		MPI_Comm_get_parent(&parent);
		with_child(parent, argv[0]);
	} else if (!strcmp(mode, "calls")) {
		blocking();
		nonblocking();
		persistent();
		probes();
		collective();
		one_sided();
	} else if (!strcmp(mode, "requests")) {
		requests();
	} else if (!strcmp(mode, "freed")) {
		freed();
	} else if (!strcmp(mode, "truncated")) {
		truncated();
	} else if (!strcmp(mode, "order")) {
		two_unlike();
		for (i = 0; i < 20; i++)
			out_of_order(i);
	} else if (!strcmp(mode, "threads")) {
		threads(thread);
	} else if (!strcmp(mode, "sharing")) {
		threads(sharing);
	} else if (!strcmp(mode, "error")) {
		MPI_Datatype uncommitted;
		MPI_Request request;
		int *tag_max, has, sent;

		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		MPI_Type_contiguous(1, MPI_INT, &uncommitted);
		check(MPI_Send(out, 1, MPI_INT, size + 5, 1, MPI_COMM_WORLD) != MPI_SUCCESS,
		      "no error");
		/* Sends that fail, each before one of the same length that does not */
		check(MPI_Send(out, -1, MPI_INT, right, 1, MPI_COMM_WORLD) != MPI_SUCCESS &&
		      MPI_Isend(out, 1, MPI_DATATYPE_NULL, right, 1, MPI_COMM_WORLD,
				&request) != MPI_SUCCESS &&
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, -1, MPI_INT, left, 1,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_DATATYPE_NULL, left, 1,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, size + 3, 1,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, -77, 1,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, left, -5,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS &&
		      MPI_Send(out, 1, uncommitted, right, 1, MPI_COMM_WORLD) != MPI_SUCCESS,
		      "no error");
		MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_max, &has);
		check(!has || *tag_max == INT_MAX ||
		      MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, left, *tag_max + 1,
				   MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS, "no error");
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, ROOM, MPI_INT, left, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		/* Without a datatype, MPICH sends these, and Open MPI refuses them. */
		sent = (MPI_Send(NULL, 0, MPI_DATATYPE_NULL, right, 2, MPI_COMM_WORLD) ==
			MPI_SUCCESS) +
			(MPI_Sendrecv(out, 2, MPI_INT, right, 2, NULL, 0, MPI_DATATYPE_NULL,
				      MPI_PROC_NULL, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
			 MPI_SUCCESS);
		for (MPI_Send(out, 3, MPI_INT, right, 2, MPI_COMM_WORLD); sent >= 0; sent--)
			MPI_Recv(in, ROOM, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (!strcmp(mode, "status")) {
		check(has_isendrecv_status(), "another status");
	} else if (!strcmp(mode, "four")) {
		four(!strcmp(argv[2], "isendrecv"));
	} else if (!strcmp(mode, "groups")) {
		groups();
	} else if (!strcmp(mode, "waits")) {
		waits(argc > 2 ? atoi(argv[2]) : 200000);
	} else if (!strcmp(mode, "late")) {
		late_ones(atoi(argv[2]));
	} else if (!strcmp(mode, "polls")) {
		polls(argv[2]);
	} else if (!strcmp(mode, "ring")) {
		around_world(atoi(argv[2]));
	} else {
		last = argc > 3 ? atoi(argv[3]) : size - 1;
		around_world(100);
		if (rank == last && argc > 2 && !strcmp(argv[2], "exit"))
			_exit(0);
		if (rank == last && argc > 2)
			raise(SIGKILL);
		if (rank == last)
			MPI_Abort(MPI_COMM_WORLD, 3);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
