// SPDX-License-Identifier: MIT
/* tsct_timesync() with a daemon that closes, is silent, ends, restarts without state */
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <tsctrace/tsctrace.h>

#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "suite.h"

#define MS		1000000LL

/* Entries of answers[] that are not text to send. The simulated daemon uses one entry
 * of answers[] per request, and repeats the last entry. */
#define HANG_UP		""		/* the simulated daemon closes the connection
					 * without an answer */
#define SILENCE		NULL		/* the simulated daemon does not answer, and
					 * keeps the connection open */
#define LEAVE		"leave"		/* the daemon ends before accept() */

static char dir[] = "/tmp/check_timesync.XXXXXX";
static struct sockaddr_un at = { .sun_family = AF_UNIX };
static const char *const *answers;
static unsigned int nr_answers, nr_requests;
static char requests[64][32];
static int listener;
static pthread_t thread;
static char why[256];
static bool keep_open;	/* the simulated daemon keeps its connections open */
static int kept;	/* descriptor of the last connection that was kept open */

static void answer(int fd)
{
	unsigned int i = nr_requests < nr_answers ? nr_requests : nr_answers - 1;
	ssize_t len = read(fd, requests[nr_requests % 64], sizeof(requests[0]) - 1);

	requests[nr_requests % 64][len > 0 ? len : 0] = '\0';
	nr_requests++;
	if (answers[i] == SILENCE)
		return;			/* no answer: the connection stays open */
	/* Before the answer: the test goes on as soon as it has the answer. */
	if (keep_open)
		__atomic_store_n(&kept, fd, __ATOMIC_RELEASE);
	/* Fails if the client waits no longer: a busy machine may stop this thread. */
	if (*answers[i])
		send(fd, answers[i], strlen(answers[i]), MSG_NOSIGNAL);
	if (!keep_open)
		close(fd);
}

static void *serve(void *)
{
	int fd;

	for (;;) {
		if (nr_requests < nr_answers && answers[nr_requests] &&
		    !strcmp(answers[nr_requests], LEAVE))
			break;
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			break;
		answer(fd);
	}
	close(listener);
	unlink(at.sun_path);
	return NULL;
}

static void begin(const char *const *texts, unsigned int nr)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/" TSCT_CONTROL_SOCKET,
		 dir);
	setenv("TSCTRACE_RUN_DIR", dir, 1);
	answers = texts;
	nr_answers = nr;
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (void *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 16), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end(void)
{
	shutdown(listener, SHUT_RDWR);
	if (thread)
		pthread_join(thread, NULL);
	thread = 0;
	rmdir(dir);
}

#define BEGIN(...) \
	static const char *const texts[] = { __VA_ARGS__ }; \
	begin(texts, ROWS(texts))

static int call(int timeout_ms)
{
	strcpy(why, "not written");
	return tsct_timesync(timeout_ms, why, sizeof(why));
}

/* Calls until the daemon's answer is in time: a busy machine may stop its thread for
 * longer than a call waits. */
static int call_until_answered(int timeout_ms)
{
	int tries = 0, err;

	do
		err = call(timeout_ms);
	while (strstr(why, "no answer") && ++tries < 10);
	return err;
}

CASE("timesync", NULL, end);

TEST(test_completes)
{
	BEGIN("waiting 7 a, b\n", "waiting 7 a\n", "session 7\n", "done 7\n");
	ck_assert_int_eq(call(-1), 0);
	ck_assert_str_eq(why, "");
	ck_assert_uint_eq(nr_requests, 4);
	ck_assert_str_eq(requests[0], "timesync 0\n");
	ck_assert_str_eq(requests[1], "timesync 7\n");
}

TEST(test_missing_nodes)
{
	BEGIN("waiting 7 a, b (below c)\n");
	ck_assert_int_eq(call_until_answered(100), -ETIMEDOUT);
	ck_assert_str_eq(why, "not all nodes have called tsct_timesync(): a, b (below c) are missing");
	ck_assert_int_eq(tsct_timesync(0, NULL, 0), -ETIMEDOUT);
}

TEST(test_timeout_in_session)
{
	BEGIN("session 7\n");
	ck_assert_int_eq(call_until_answered(50), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(why, "synchronization is not complete"));
}

/* The daemon closes some connections without an answer, among these the first one. */
TEST(test_connections_closed)
{
	BEGIN(HANG_UP, HANG_UP, "waiting 7 a\n", HANG_UP, "session 7\n", HANG_UP,
	      "done 7\n");
	ck_assert_int_eq(call(5000), 0);
	ck_assert_uint_eq(nr_requests, 7);
	ck_assert_str_eq(requests[3], "timesync 7\n");
	ck_assert_str_eq(requests[6], "timesync 7\n");
}

/* A restarted daemon answers with another barrier number, which the next request
 * contains. */
TEST(test_restart_with_other_number)
{
	BEGIN("waiting 7 a\n", HANG_UP, "waiting 9 a\n", "done 9\n");
	ck_assert_int_eq(call(5000), 0);
	ck_assert_str_eq(requests[2], "timesync 7\n");
	ck_assert_str_eq(requests[3], "timesync 9\n");
}

/* The daemon restarts after all nodes have called tsct_timesync(), so no other node
 * will call again. */
TEST(test_restart_after_all_called)
{
	BEGIN("session 7\n", HANG_UP, "waiting 9 a\n");
	ck_assert_int_eq(call(-1), -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(why, "all nodes have called"));
}

TEST(test_daemon_ends)
{
	BEGIN("waiting 7 a\n", LEAVE);
	ck_assert_int_eq(call(3000), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(why, "no daemon; start"));
	/* If no daemon runs when tsct_timesync() is called, the call fails at once. */
	ck_assert_int_eq(call(-1), -ENOENT);
}

/* If the daemon sends no answer, tsct_timesync() ends soon after its timeout. */
TEST(test_no_answer)
{
	__s64 took = INT64_MAX;

	BEGIN(SILENCE);
	/* A busy machine may stop this process for seconds, but not each time. Without
	 * the timeout, each call takes the 5 s that any request may take. */
	for (int tries = 0; tries < 4 && took > 3500 * MS; tries++) {
		took = -tsct_monotonic_ns();
		ck_assert_int_eq(call(1500), -ETIMEDOUT);
		took += tsct_monotonic_ns();
		ck_assert_int_ge(took, 1500 * MS);
	}
	ck_assert_int_le(took, 3500 * MS);
}

TEST(test_error_answers)
{
	BEGIN("error: no network is configured\n", "what\n", "waiting x\n");
	ck_assert_int_eq(call(-1), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why, "no network is configured"));
	ck_assert_int_eq(call(-1), -EPROTO);
	ck_assert_int_eq(call(-1), -EPROTO);
	ck_assert_ptr_nonnull(strstr(why, "of one release"));
}

/* ---- participants --------------------------------------------------------- */

static int join(unsigned int processes)
{
	strcpy(why, "not written");
	return tsct_timesync_join(processes, why, sizeof(why));
}

CASE("participants", NULL, end);

/* Requests of a participant have its id and the number of the call. */
TEST(test_joined)
{
	BEGIN("joined 5\n", "waiting 7 a\n", "done 7\n", "done 8\n", "done 9\n");
	ck_assert_int_eq(join(2), 0);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(join(2), 0);
	ck_assert_int_eq(call(-1), 0);
	ck_assert_int_eq(call(-1), 0);
	tsct_timesync_leave();
	tsct_timesync_leave();
	ck_assert_int_eq(call(-1), 0);
	ck_assert_uint_eq(nr_requests, 5);
	ck_assert_str_eq(requests[0], "join 2\n");
	ck_assert_str_eq(requests[1], "timesync 0 5 1\n");
	ck_assert_str_eq(requests[2], "timesync 7 5 1\n");
	ck_assert_str_eq(requests[3], "timesync 0 5 2\n");
	ck_assert_str_eq(requests[4], "timesync 0\n");
}

TEST(test_joins_by_environment)
{
	BEGIN("joined 5\n", "done 7\n", "joined 6\n");
	setenv("TSCTRACE_TIMESYNC_PROCESSES", "4", 1);
	ck_assert_int_eq(call(-1), 0);
	ck_assert_str_eq(requests[0], "join 4\n");
	ck_assert_str_eq(requests[1], "timesync 0 5 1\n");
	tsct_timesync_leave();
	ck_assert_int_eq(join(0), 0);
	ck_assert_str_eq(requests[2], "join 4\n");
}

TEST(test_invalid_numbers)
{
	static const char *const wrong[] = { "0", "two", "-1", " 2", "2x",
					     "99999999999" };

	BEGIN("refused: 3 processes: other processes of this node declared 2; "
	      "declare the same number in all of them\n");
	ck_assert_int_eq(join(0), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "set TSCTRACE_TIMESYNC_PROCESSES"));
	for (unsigned int i = 0; i < ROWS(wrong); i++) {
		setenv("TSCTRACE_TIMESYNC_PROCESSES", wrong[i], 1);
		ck_assert_int_eq(join(0), -EINVAL);
		ck_assert_int_eq(call(-1), -EINVAL);
		ck_assert_ptr_nonnull(strstr(why, wrong[i]));
	}
	ck_assert_uint_eq(nr_requests, 0);
	setenv("TSCTRACE_TIMESYNC_PROCESSES", "", 1);
	ck_assert_int_eq(join(3), -EINVAL);
	ck_assert_str_eq(why, "3 processes: other processes of this node declared 2; "
			 "declare the same number in all of them");
}

TEST(test_join_fails)
{
	BEGIN("error: no network is configured\n", "joined x\n", HANG_UP,
	      "joined 5\n", LEAVE);
	ck_assert_int_eq(join(2), -EOPNOTSUPP);
	ck_assert_int_eq(join(2), -EPROTO);
	ck_assert_int_eq(join(2), -ETIMEDOUT);
	ck_assert_int_eq(join(2), 0);
	ck_assert_int_eq(join(3), -EALREADY);
	ck_assert_ptr_nonnull(strstr(why, "one of 2 processes"));
	tsct_timesync_leave();
	end();	/* the socket must be gone before the next call, or that call waits at it */
	ck_assert_int_eq(join(2), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "no daemon; start"));
}

/* A daemon that was restarted while the call waited does not know the participant: the
 * process joins again, and its call goes on in the same collective. */
TEST(test_joins_again)
{
	BEGIN("joined 5\n", "waiting 7 a\n", "unknown 0\n", HANG_UP, "unknown 0\n",
	      "joined 1\n", "done 7\n");
	ck_assert_int_eq(join(2), 0);
	ck_assert_int_eq(call(-1), 0);
	ck_assert_str_eq(requests[2], "timesync 7 5 1\n");
	ck_assert_str_eq(requests[3], "join 2\n");
	ck_assert_str_eq(requests[4], "timesync 7 5 1\n");
	ck_assert_str_eq(requests[5], "join 2\n");
	ck_assert_str_eq(requests[6], "timesync 7 1 1\n");
}

/* A daemon that is restarted has answered a process that joined, though not its call. */
TEST(test_joined_before_restart)
{
	BEGIN("joined 5\n", LEAVE);
	ck_assert_int_eq(join(2), 0);
	ck_assert_int_eq(call(1000), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(why, "no daemon; start"));
}

static void *call_for_ever(void *)
{
	char text[256];

	return (void *)(long)tsct_timesync(-1, text, sizeof(text));
}

/* A participant calls from two threads: the second call fails, and the first one goes
 * on. Without joining, two threads may call. */
TEST(test_two_calls_at_once)
{
	static const char *const done[] = { "done 7\n", "done 7\n" };
	void *result;
	pthread_t other;
	__s64 until = tsct_monotonic_ns() + 20000 * MS;

	BEGIN("joined 5\n", "waiting 7 a\n");
	ck_assert_int_eq(join(2), 0);
	ck_assert_int_eq(pthread_create(&other, NULL, call_for_ever, NULL), 0);
	while (__atomic_load_n(&nr_requests, __ATOMIC_RELAXED) < 2 &&
	       tsct_monotonic_ns() < until)
		usleep(1000);
	ck_assert_int_eq(call(-1), -EALREADY);
	ck_assert_ptr_nonnull(strstr(why, "has not returned yet"));
	/* After that, this process leaves: it may call as often as it likes. */
	tsct_timesync_leave();
	ck_assert_int_eq(call(50), -ETIMEDOUT);
	__atomic_store_n(&answers, done, __ATOMIC_RELEASE);
	ck_assert_int_eq(pthread_join(other, &result), 0);
	ck_assert_int_eq((long)result, 0);
}

/* The connection of a participant is not kept open by a forked child. */
TEST(test_forked_child_does_not_take_part)
{
	struct pollfd fd = { .events = POLLIN | POLLRDHUP };
	int status;
	pid_t pid;

	BEGIN("joined 5\n", "done 1\n");
	keep_open = true;
	ck_assert_int_eq(join(2), 0);
	pid = fork();
	if (!pid) {
		alarm(20);
		pause();
	}
	tsct_timesync_leave();
	fd.fd = __atomic_load_n(&kept, __ATOMIC_ACQUIRE);
	ck_assert_int_eq(poll(&fd, 1, 10000), 1);
	ck_assert(fd.revents & POLLRDHUP);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(kept);
}
