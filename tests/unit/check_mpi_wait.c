// SPDX-License-Identifier: MIT
/* test-wing: mpi */
/* Wait states of MPI: events by hand, with known waits, shorter and longer than bounds */
#include "lib/base/event_parse.h"
#include "lib/query/mpi_wait.h"
#include "define.h"
#include "suite.h"

/* Event definitions, by id - TSCT_ID_FIRST */
enum {
	RANK, COMM, SEND_BEGIN, SEND_END, RECV_BEGIN, RECV_END, BARRIER_BEGIN, BARRIER_END,
	SENT, START_BEGIN, START_END, WAIT_BEGIN, WAIT_END, ALLREDUCE_BEGIN, ALLREDUCE_END,
	FINALIZE_BEGIN, FINALIZE_END, RECEIVED, ISENT, COMPLETE, IBARRIER_BEGIN, IBARRIER_END,
	IALLREDUCE_BEGIN, PROBE_BEGIN, PROBE_END, PROBED_RECEIVED, MPROBE_BEGIN, MPROBE_END,
	REQUEST, REQUEST_RECEIVED, SENT_TO, TEST_BEGIN, TEST_END, IPROBE_BEGIN, IPROBE_END,
	WTIME_BEGIN, WTIME_END, EVENTS
};

/* Definitions of the begin and the end of a call, with their fields */
#define CALL(id, name, of_begin, of_end)				\
	[id##_BEGIN] = { name, TSCT_KIND_BEGIN, of_begin },		\
	[id##_END] = { name, TSCT_KIND_END, of_end }

#define RANKS_MAX	16
static struct tsct_location locations[RANKS_MAX];
static struct tsct_recording rec;
static struct tsct_mpi_waits *waits;
static __u64 error;
static const char *of_call;	/* call of which expect() checks the waits; NULL: any */

static void begin(void)
{
	static struct tsct_event_def *defs[EVENTS];
	static struct tsct_stream_class class;
	static const struct {
		const char *name;
		__u32 kind;
		const char *fields;
	} events[] = {
		[RANK] = { "mpi_rank", TSCT_KIND_INSTANT, "job:u64, rank:s32" },
		[COMM] = { "mpi_comm", TSCT_KIND_INSTANT, "comm:u64, size:s32" },
		CALL(SEND, "MPI_Send", "", ""),
		CALL(RECV, "MPI_Recv", "", ""),
		CALL(BARRIER, "MPI_Barrier", "number:u64, comm:u64", ""),
		[SENT] = { "mpi_message", TSCT_KIND_SEND, "number:u64, bytes:u64" },
		CALL(START, "MPI_Startall", "", ""),
		CALL(WAIT, "MPI_Waitall", "", ""),
		CALL(ALLREDUCE, "MPI_Allreduce_c", "number:u64, comm:u64", ""),
		CALL(FINALIZE, "MPI_Finalize", "", ""),
		[RECEIVED] = { "mpi_message", TSCT_KIND_RECEIVE, "number:u64, bytes:u64" },
		[ISENT] = { "mpi_message", TSCT_KIND_SEND, "number:u64, request:u64" },
		[COMPLETE] = { "mpi_complete", TSCT_KIND_INSTANT, "number:u64, request:u64" },
		CALL(IBARRIER, "MPI_Ibarrier", "number:u64, comm:u64", ""),
		[IALLREDUCE_BEGIN] = { "MPI_Iallreduce_c", TSCT_KIND_BEGIN,
				       "number:u64, comm:u64" },
		CALL(PROBE, "MPI_Probe", "comm:u64", "source:s32, tag:s32"),
		[PROBED_RECEIVED] = { "mpi_message", TSCT_KIND_RECEIVE,
				      "number:u64, source:s32, tag:s32" },
		CALL(MPROBE, "MPI_Mprobe", "comm:u64", "source:s32, tag:s32"),
		[SENT_TO] = { "mpi_message", TSCT_KIND_SEND, "number:u64, world:u64" },
		CALL(TEST, "MPI_Test", "", "count:u64"),
		CALL(IPROBE, "MPI_Iprobe", "comm:u64", "source:s32, tag:s32"),
		CALL(WTIME, "MPI_Wtime", "", ""),
		[REQUEST] = { "mpi_request", TSCT_KIND_INSTANT, "request:u64" },
		[REQUEST_RECEIVED] = { "mpi_message", TSCT_KIND_RECEIVE,
				       "number:u64, request:u64" },
	};

	for (__u32 i = 0; i < EVENTS; i++) {
		defs[i] = calloc(1, sizeof(*defs[i]));
		ck_assert_int_eq(tsct_event_def_parse(events[i].name, events[i].kind,
						      events[i].fields, defs[i], NULL), 0);
		defs[i]->id = TSCT_ID_FIRST + i;
	}
	class = (struct tsct_stream_class) { .defs = defs, .nr_defs = EVENTS };
	for (__u32 i = 0; i < RANKS_MAX; i++)
		locations[i].node = i;
	rec = (struct tsct_recording) {
		.streams = &class, .nr_streams = 1, .locations = locations,
		.nr_locations = RANKS_MAX,
	};
	error = 0;
	of_call = NULL;
	ck_assert_int_eq(tsct_mpi_waits_new(&rec, &waits), 0);
	ck_assert_ptr_nonnull(waits);
}

static void end(void)
{
	tsct_mpi_waits_free(waits);
	for (__u32 i = 0; i < rec.streams->nr_defs; i++)
		free(rec.streams->defs[i]);
}

/* An event of rank @rank, which is thread 100 + rank on node @rank */
static void add(__u64 tick, __u32 rank, __u32 id, __u64 a, __u64 b)
{
	const struct tsct_event_def *def = rec.streams->defs[id];
	__u8 payload[16];
	struct tsct_trace_event e = {
		.tick = tick, .node = rank, .location = rank, .tid = 100 + rank, .def = def,
		.payload = payload, .len = sizeof(payload),
	};
	__s32 small = (__s32)b;

	memcpy(payload, &a, sizeof(a));
	if (id == RANK || id == COMM)
		memcpy(payload + 8, &small, sizeof(small));
	else
		memcpy(payload + 8, &b, sizeof(b));
	ck_assert_int_eq(tsct_mpi_waits_add(waits, &e, error), 0);
}

/* A call that takes no time, with one event in it. The end of a call follows its begin in the
 * list of definitions. */
static void call(__u64 tick, __u32 rank, __u32 begin, __u32 id, __u64 a, __u64 b)
{
	add(tick, rank, begin, 0, 0);
	add(tick, rank, id, a, b);
	add(tick, rank, begin + 1, 0, 0);
}

static void start(__u32 ranks)
{
	for (__u32 i = 0; i < ranks; i++) {
		add(1, i, RANK, 7, i);
		add(2, i, COMM, 5, ranks);
	}
}

/* Checks the waits of a rank of a kind: calls that waited, ticks of all, and calls that may
 * have waited. All 0: none. Returns them. */
static struct tsct_mpi_wait expect(__s32 rank, enum tsct_mpi_wait_kind kind, __u64 count,
				   __u64 total, __u64 unknown)
{
	struct tsct_mpi_wait found = { 0 };
	__u32 nr, i;
	const struct tsct_mpi_wait *w = tsct_mpi_waits_sort(waits, &nr);

	for (i = 0; i < nr; i++)
		if (w[i].rank == rank && w[i].kind == kind &&
		    (!of_call || !strcmp(w[i].call, of_call)))
			found = w[i];
	ck_assert_uint_eq(found.count, count);
	ck_assert_uint_eq(found.total, total);
	ck_assert_uint_eq(found.unknown, unknown);
	return found;
}

static void message(__u64 sends, __u64 receives, __u64 sent_until, __u64 received)
{
	const __u64 ticks[] = { sends, sends + 1, receives, received, received + 1,
				sent_until };

	for (__u64 now = 0; now < 1000; now++)
		for (int i = 0; i < 6; i++)
			if (ticks[i] == now)
				add(now, i == 2 || i == 3 || i == 4,
				    (const __u32[]) { SEND_BEGIN, SENT, RECV_BEGIN, RECEIVED,
						      RECV_END, SEND_END }[i], 11, 5);
}

CASE("all", begin, end);

TEST(late_sender)
{
	struct tsct_mpi_wait w;

	start(2);
	message(100, 50, 110, 120);
	w = expect(1, TSCT_MPI_LATE_SENDER, 1, 50, 0);
	ck_assert_uint_eq(w.max, 50);
	ck_assert_uint_eq(w.job, 7);
	ck_assert_str_eq(w.call, "MPI_Recv");
	expect(0, TSCT_MPI_LATE_RECEIVER, 0, 0, 0);
}

TEST(late_receiver)
{
	start(2);
	message(50, 100, 200, 120);	/* the send ends after the receive event */
	expect(0, TSCT_MPI_LATE_RECEIVER, 1, 50, 0);
	message(350, 400, 410, 420);	/* before it */
	expect(0, TSCT_MPI_LATE_RECEIVER, 2, 100, 0);
	message(550, 600, 560, 620);	/* before the receive began */
	expect(0, TSCT_MPI_LATE_RECEIVER, 2, 100, 0);
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 0);
}

/* Two messages of one call that does not wait for their receives: nor does a later call. */
TEST(startall)
{
	start(2);
	add(50, 0, START_BEGIN, 0, 0);
	add(51, 0, SENT, 11, 5);
	add(52, 0, SENT, 12, 5);
	add(53, 0, START_END, 0, 0);
	add(60, 0, WAIT_BEGIN, 0, 0);
	add(70, 1, RECV_BEGIN, 0, 0);
	add(80, 1, RECEIVED, 11, 5);
	add(81, 1, RECV_END, 0, 0);
	add(90, 0, WAIT_END, 0, 0);
	expect(0, TSCT_MPI_LATE_RECEIVER, 0, 0, 0);
}

/* A call that receives several messages waits for all of them at the same time. */
TEST(waitall)
{
	start(2);
	add(100, 1, WAIT_BEGIN, 0, 0);
	add(190, 0, START_BEGIN, 0, 0);
	for (__u32 i = 0; i < 8; i++)
		add(191, 0, SENT, 20 + i, 5);
	add(192, 0, START_END, 0, 0);
	add(194, 0, SEND_BEGIN, 0, 0);
	add(195, 0, SENT, 28, 5);
	for (__u32 i = 0; i < 9; i++)
		add(200, 1, RECEIVED, 20 + (i + 3) % 9, 5);
	add(201, 1, WAIT_END, 0, 0);
	add(202, 0, SEND_END, 0, 0);
	ck_assert_uint_eq(expect(1, TSCT_MPI_LATE_SENDER, 1, 94, 0).max, 94);
}

/* One call with messages that may have waited is one call; another message decides it. */
TEST(waitall_bounds)
{
	start(2);
	error = 25;
	add(100, 1, WAIT_BEGIN, 0, 0);
	add(130, 0, START_BEGIN, 0, 0);
	for (__u32 i = 0; i < 3; i++)
		add(131, 0, SENT, 20 + i, 5);
	add(132, 0, START_END, 0, 0);
	call(170, 0, START_BEGIN, SENT, 23, 5);
	for (__u32 i = 0; i < 3; i++)
		add(200, 1, RECEIVED, 20 + i, 5);
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 1);
	add(200, 1, RECEIVED, 23, 5);
	add(201, 1, WAIT_END, 0, 0);
	expect(1, TSCT_MPI_LATE_SENDER, 1, 70, 0);
}

/* The wait for a nonblocking send began before the receive, and ended after it: in whichever order
 * the completion and the receive are recorded, and only once for all sends of a call. */
TEST(late_receiver_of_wait)
{
	start(2);
	for (__u32 i = 0; i < 3; i++)
		add(10 + i, 0, ISENT, 20 + i, 1 + i);	/* in no call: not examined */
	add(20, 0, START_BEGIN, 0, 0);
	for (__u32 i = 0; i < 4; i++)
		add(21, 0, ISENT, 30 + i, 11 + i);
	add(22, 0, START_END, 0, 0);
	add(25, 1, RECV_BEGIN, 0, 0);			/* before the wait */
	add(26, 1, RECEIVED, 30, 0);
	add(27, 1, RECV_END, 0, 0);
	add(30, 0, WAIT_BEGIN, 0, 0);
	for (__u32 i = 1; i < 4; i++) {
		add(30 + 10 * i, 1, RECV_BEGIN, 0, 0);
		add(35 + 10 * i, 1, RECEIVED, 30 + i, 0);
		add(36 + 10 * i, 1, RECV_END, 0, 0);
	}
	for (__u32 i = 0; i < 4; i++)
		add(70, 0, COMPLETE, 30 + i, 11 + i);
	add(71, 0, WAIT_END, 0, 0);
	ck_assert_uint_eq(expect(0, TSCT_MPI_LATE_RECEIVER, 1, 30, 0).max, 30);
	for (__u32 i = 0; i < 2; i++) {
		call(100 + i, 0, START_BEGIN, ISENT, 40 + i, 21 + i);
	}
	add(110, 0, WAIT_BEGIN, 0, 0);
	add(120, 1, WAIT_BEGIN, 0, 0);
	add(130, 0, COMPLETE, 40, 21);
	add(131, 0, COMPLETE, 41, 22);
	add(132, 0, WAIT_END, 0, 0);
	add(140, 1, RECEIVED, 40, 0);
	add(141, 1, WAIT_END, 0, 0);
	add(150, 1, RECV_BEGIN, 0, 0);			/* after the wait */
	add(151, 1, RECEIVED, 41, 0);
	add(152, 1, RECV_END, 0, 0);
	ck_assert_uint_eq(expect(0, TSCT_MPI_LATE_RECEIVER, 2, 40, 0).max, 30);
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 0);
}

/* One call that waits for a receive and for a send waits for the longer of the two. */
TEST(exchange)
{
	static const struct {
		__u64 receives, sends, late_receiver, late_sender;
	} turns[] = { { 50, 60, 0, 50 }, { 90, 30, 80, 0 } };
	__u64 at, sum[2] = { 0 };

	start(3);
	for (__u32 i = 0; i < 2; i++) {
		at = 1000 * (i + 1);
		call(at, 0, START_BEGIN, ISENT, 50 + i, 1 + i);
		add(at + 10, 0, WAIT_BEGIN, 0, 0);
		if (!i)
			add(at + turns[i].receives, 1, RECV_BEGIN, 0, 0);
		call(at + turns[i].sends, 2, SEND_BEGIN, SENT, 60 + i, 5);
		if (i)
			add(at + turns[i].receives, 1, RECV_BEGIN, 0, 0);
		add(at + 95, 0, RECEIVED, 60 + i, 5);
		add(at + 96, 0, COMPLETE, 50 + i, 1 + i);
		add(at + 97, 0, WAIT_END, 0, 0);
		add(at + 98, 1, RECEIVED, 50 + i, 0);
		add(at + 99, 1, RECV_END, 0, 0);
		sum[0] += turns[i].late_sender;
		sum[1] += turns[i].late_receiver;
	}
	expect(0, TSCT_MPI_LATE_SENDER, 1, sum[0], 0);
	expect(0, TSCT_MPI_LATE_RECEIVER, 1, sum[1], 0);
}

/* A wait in MPI_Probe and MPI_Mprobe is that of the probe, and not of the receive, which may be
 * of another call, and within the bounds. A probe of another message does not count. */
TEST(probe)
{
	const __u64 tag = 4ULL << 32;

	start(2);
	error = 5;
	add(50, 1, PROBE_BEGIN, 0, 0);
	call(100, 0, SEND_BEGIN, SENT, 11, 0);
	add(103, 1, PROBE_END, tag, 0);
	add(104, 1, PROBE_BEGIN, 0, 0);
	add(105, 1, PROBE_END, tag, 0);
	call(106, 1, RECV_BEGIN, PROBED_RECEIVED, 11, tag);
	of_call = "MPI_Recv";
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 0);
	of_call = "MPI_Probe";
	expect(1, TSCT_MPI_LATE_SENDER, 1, 50, 0);
	for (__u32 i = 0; i < 2; i++) {
		add(200 + 2 * i, 1, MPROBE_BEGIN, 0, 0);
		if (!i) {
			call(201, 0, SEND_BEGIN, SENT, 12, 0);
			call(201, 0, SEND_BEGIN, SENT, 13, 0);
		}
		add(201 + 2 * i, 1, REQUEST, 70 + i, 0);
		add(201 + 2 * i, 1, MPROBE_END, tag, 0);
	}
	add(300, 1, MPROBE_BEGIN, 0, 0);
	call(340, 0, SEND_BEGIN, SENT, 14, 0);
	add(345, 1, REQUEST, 72, 0);
	add(346, 1, MPROBE_END, tag, 0);
	add(350, 1, RECV_BEGIN, 0, 0);
	for (__u32 i = 0; i < 3; i++)
		add(360, 1, REQUEST_RECEIVED, 14 - i, 72 - i);
	add(361, 1, RECV_END, 0, 0);
	of_call = "MPI_Mprobe";
	ck_assert_uint_eq(expect(1, TSCT_MPI_LATE_SENDER, 1, 40, 2).max, 40);
	add(400, 1, PROBE_BEGIN, 0, 0);		/* message of another thread's receive */
	add(410, 1, PROBE_END, tag, 0);
	add(450, 1, RECV_BEGIN, 0, 0);
	call(500, 0, SEND_BEGIN, SENT, 15, 0);
	add(503, 1, PROBED_RECEIVED, 15, tag);
	add(504, 1, RECV_END, 0, 0);
	of_call = "MPI_Recv";
	expect(1, TSCT_MPI_LATE_SENDER, 1, 50, 0);
	of_call = "MPI_Probe";
	expect(1, TSCT_MPI_LATE_SENDER, 1, 50, 0);
}

static void poll_test(__u64 tick, __u64 received)
{
	add(tick, 1, TEST_BEGIN, 0, 0);
	if (received)
		add(tick + 9, 1, RECEIVED, received, 0);
	add(tick + 10, 1, TEST_END, !!received, 0);
}

static void poll_iprobe(__u64 tick, __s32 source)
{
	add(tick, 1, IPROBE_BEGIN, 0, 0);
	add(tick + 10, 1, IPROBE_END, 4ULL << 32 | (__u32)source, 0);
}

/* In a loop of calls that do not wait, the time inside of them counts, until the send of the
 * message that ends the loop began. Another call ends the loop, too, except MPI_Wtime. */
TEST(polls)
{
	start(2);
	of_call = "MPI_Test";
	poll_test(100, 0);
	add(112, 1, WTIME_BEGIN, 0, 0);
	add(113, 1, WTIME_END, 0, 0);
	poll_test(120, 0);
	add(140, 1, TEST_BEGIN, 0, 0);
	add(145, 0, SEND_BEGIN, 0, 0);
	add(150, 1, TEST_END, 0, 0);
	add(151, 0, SENT_TO, 11, 1);
	add(152, 0, SEND_END, 0, 0);
	poll_test(160, 11);
	ck_assert_uint_eq(expect(1, TSCT_MPI_LATE_SENDER, 1, 25, 0).max, 25);
	poll_test(200, 0);
	add(212, 1, START_BEGIN, 0, 0);
	add(213, 1, START_END, 0, 0);
	add(220, 1, TEST_BEGIN, 0, 0);
	call(225, 0, SEND_BEGIN, SENT_TO, 12, 1);
	add(229, 1, RECEIVED, 12, 0);
	add(230, 1, TEST_END, 1, 0);
	expect(1, TSCT_MPI_LATE_SENDER, 2, 30, 0);
	call(300, 0, SEND_BEGIN, SENT_TO, 13, 1);
	poll_test(310, 0);
	poll_test(330, 13);
	expect(1, TSCT_MPI_LATE_SENDER, 2, 30, 0);
	for (__u32 i = 0; i < 100; i++)
		poll_test(1000 + 20 * i, 0);
	call(2995, 0, SEND_BEGIN, SENT_TO, 14, 1);
	poll_test(3000, 14);
	expect(1, TSCT_MPI_LATE_SENDER, 3, 1030, 0);
	error = 8;
	poll_test(3100, 0);
	call(3115, 0, SEND_BEGIN, SENT_TO, 15, 1);
	poll_test(3120, 15);
	expect(1, TSCT_MPI_LATE_SENDER, 3, 1030, 1);

	of_call = "MPI_Iprobe";
	error = 0;
	poll_iprobe(4000, -2);
	poll_iprobe(4020, -2);
	call(4030, 0, SEND_BEGIN, SENT_TO, 16, 1);
	poll_iprobe(4040, 0);
	call(4060, 1, RECV_BEGIN, PROBED_RECEIVED, 16, 4ULL << 32);
	expect(1, TSCT_MPI_LATE_SENDER, 1, 20, 0);
	of_call = "MPI_Recv";
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 0);
}

/* A hostile program uses the number of a barrier again, for a nonblocking one. */
TEST(collective_number_again)
{
	start(3);
	add(10, 0, BARRIER_BEGIN, 9, 5);
	add(11, 1, BARRIER_BEGIN, 9, 5);
	add(12, 2, BARRIER_BEGIN, 9, 5);
	add(20, 2, BARRIER_END, 0, 0);
	add(30, 2, IBARRIER_BEGIN, 9, 5);
	add(40, 0, BARRIER_END, 0, 0);
	expect(0, TSCT_MPI_BARRIER, 1, 2, 0);
}

/* Nonblocking collective calls: the wait is that of the call that completes them, for the last
 * one to begin. */
TEST(nonblocking_collective)
{
	static const __u32 begins[] = { IBARRIER_BEGIN, IALLREDUCE_BEGIN };
	static const enum tsct_mpi_wait_kind kinds[] = { TSCT_MPI_BARRIER, TSCT_MPI_COLLECTIVE };

	start(3);
	for (__u32 k = 0; k < 2; k++) {
		for (__u32 i = 0; i < 2; i++) {
			add(1000 * k + 10 + i, i, begins[k], 80 + k, 5);
			add(1000 * k + 12 + i, i, IBARRIER_END, 0, 0);
		}
		add(1000 * k + 20, 0, WAIT_BEGIN, 0, 0);
		add(1000 * k + 50, 2, begins[k], 80 + k, 5);
		add(1000 * k + 51, 2, IBARRIER_END, 0, 0);
		add(1000 * k + 53, 0, COMPLETE, 80 + k, 0);
		add(1000 * k + 54, 0, WAIT_END, 0, 0);
		for (__u32 i = 1; i < 3; i++) {
			call(1000 * k + 60, i, WAIT_BEGIN, COMPLETE, 80 + k, 0);
		}
		ck_assert_str_eq(expect(0, kinds[k], 1, 30, 0).call, "MPI_Waitall");
		expect(1, kinds[k], 0, 0, 0);
		expect(2, kinds[k], 0, 0, 0);
	}
}

/* Threads that share a tag: two messages have each other's number. None waited for anything
 * that is known. */
TEST(mismatched)
{
	start(2);
	add(50, 1, WAIT_BEGIN, 0, 0);
	call(100, 0, SEND_BEGIN, SENT, 11, 8);
	add(103, 0, SEND_BEGIN, 0, 0);
	add(104, 0, SENT, 12, 16);
	add(110, 1, RECEIVED, 11, 16);
	add(110, 1, RECEIVED, 12, 8);
	add(111, 1, WAIT_END, 0, 0);
	add(120, 0, SEND_END, 0, 0);
	expect(1, TSCT_MPI_LATE_SENDER, 0, 0, 0);
	expect(0, TSCT_MPI_LATE_RECEIVER, 0, 0, 0);
	ck_assert_uint_eq(tsct_mpi_waits_mismatched(waits), 2);
}

/* Ranks that a signal or MPI_Abort ended, and the call that each was in */
TEST(unfinished)
{
	static const char *const calls[] = { NULL, "MPI_Finalize", NULL, "MPI_Recv" };
	const char *call;
	size_t next = 0;
	__s32 rank;

	start(4);
	add(10, 0, FINALIZE_BEGIN, 0, 0);
	add(11, 1, FINALIZE_BEGIN, 0, 0);
	add(12, 2, BARRIER_BEGIN, 99, 5);
	add(13, 2, BARRIER_END, 0, 0);
	add(14, 3, RECV_BEGIN, 0, 0);
	add(20, 0, FINALIZE_END, 0, 0);
	for (int i = 1; i < 4; i++) {
		ck_assert(tsct_mpi_waits_unfinished(waits, &next, &rank, &call));
		ck_assert_int_eq(rank, i);
		ck_assert_pstr_eq(call, calls[i]);
	}
	ck_assert(!tsct_mpi_waits_unfinished(waits, &next, &rank, &call));
}

/* A member that left a collective call before the last one began it did not wait for it. */
TEST(left_before)
{
	start(3);
	add(10, 0, ALLREDUCE_BEGIN, 98, 5);
	add(12, 0, ALLREDUCE_END, 0, 0);
	add(20, 1, ALLREDUCE_BEGIN, 98, 5);
	add(40, 2, ALLREDUCE_BEGIN, 98, 5);
	add(45, 1, ALLREDUCE_END, 0, 0);
	add(46, 2, ALLREDUCE_END, 0, 0);
	expect(0, TSCT_MPI_COLLECTIVE, 0, 0, 0);
	expect(1, TSCT_MPI_COLLECTIVE, 1, 20, 0);
}

TEST(large_counts)
{
	start(2);
	add(10, 0, ALLREDUCE_BEGIN, 98, 5);
	add(40, 1, ALLREDUCE_BEGIN, 98, 5);
	expect(0, TSCT_MPI_COLLECTIVE, 1, 30, 0);
}

TEST(barrier)
{
	start(3);
	for (__u32 i = 0; i < 3; i++)
		add(10 + 20 * i, i, BARRIER_BEGIN, 99, 5);
	expect(0, TSCT_MPI_BARRIER, 1, 40, 0);
	expect(1, TSCT_MPI_BARRIER, 1, 20, 0);
	expect(2, TSCT_MPI_BARRIER, 0, 0, 0);
}

/* A wait up to the sum of both bounds is unknown, and so is none that is as close. */
TEST(bounds)
{
	static const struct {
		__u64 error, sends, receives, sent_until, received, count, total, unknown;
	} messages[] = {
		{ 24, 100, 50, 110, 120, 1, 50, 0 },
		{ 25, 300, 250, 310, 320, 1, 50, 1 },
		{ 25, 500, 550, 505, 560, 1, 50, 2 },	/* 50 in order: may be a wait of 0 */
		{ 25, 700, 751, 705, 760, 1, 50, 2 },	/* surely in order */
		{ UINT64_MAX, 900, 800, 910, 920, 1, 50, 3 },
	};

	start(2);
	for (int i = 0; i < ROWS(messages); i++) {
		error = messages[i].error;
		message(messages[i].sends, messages[i].receives, messages[i].sent_until,
			messages[i].received);
		expect(1, TSCT_MPI_LATE_SENDER, messages[i].count, messages[i].total,
		       messages[i].unknown);
	}
}
