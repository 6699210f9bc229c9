// SPDX-License-Identifier: MIT
/*
 * tsct_timesync() with a simulated daemon that closes connections, sends no answer,
 * ends, or restarts without its state
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <tsctrace/tsctrace.h>

#include "lib/client/control_client.h"
#include "lib/client/gettime.h"
#include "suite.h"

#define MS		1000000LL

/* Entries of answers[] that are not text to send. The simulated daemon uses one entry
 * of answers[] per request, and repeats the last entry. */
#define HANG_UP		""		/* closes the connection without an answer */
#define SILENCE		NULL		/* sends nothing; the connection stays open */
#define LEAVE		"leave"		/* the daemon ends before accept() */

static char dir[] = "/tmp/check_timesync.XXXXXX";
static struct sockaddr_un at = { .sun_family = AF_UNIX };
static const char *const *answers;
static unsigned int nr_answers, nr_requests;
static char requests[64][32];
static int listener;
static pthread_t thread;
static char why[256];

static void answer(int fd)
{
	unsigned int i = nr_requests < nr_answers ? nr_requests : nr_answers - 1;
	ssize_t len = read(fd, requests[nr_requests % 64], sizeof(requests[0]) - 1);

	requests[nr_requests % 64][len > 0 ? len : 0] = '\0';
	nr_requests++;
	if (answers[i] == SILENCE)
		return;			/* no answer: the connection stays open */
	if (*answers[i])
		ck_assert_int_gt(write(fd, answers[i], strlen(answers[i])), 0);
	close(fd);
}

static void *serve(void *arg)
{
	int fd;

	(void)arg;
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
	pthread_join(thread, NULL);
	rmdir(dir);
}

#define BEGIN(...) \
	static const char *const texts[] = { __VA_ARGS__ }; \
	begin(texts, sizeof(texts) / sizeof(*texts))

static int call(int timeout_ms)
{
	strcpy(why, "not written");
	return tsct_timesync(timeout_ms, why, sizeof(why));
}

START_TEST(test_completes)
{
	BEGIN("waiting 7 a, b\n", "waiting 7 a\n", "session 7\n", "done 7\n");
	ck_assert_int_eq(call(-1), 0);
	ck_assert_str_eq(why, "");
	ck_assert_uint_eq(nr_requests, 4);
	ck_assert_str_eq(requests[0], "timesync 0\n");
	ck_assert_str_eq(requests[1], "timesync 7\n");
	end();
}
END_TEST

START_TEST(test_missing_nodes)
{
	BEGIN("waiting 7 a, b (below c)\n");
	ck_assert_int_eq(call(100), -ETIMEDOUT);
	ck_assert_str_eq(why, "not all nodes have called: a, b (below c) are missing");
	ck_assert_int_eq(tsct_timesync(0, NULL, 0), -ETIMEDOUT);
	end();
}
END_TEST

START_TEST(test_timeout_in_session)
{
	BEGIN("session 7\n");
	ck_assert_int_eq(call(50), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(why, "synchronization is not complete"));
	end();
}
END_TEST

/* The daemon closes some connections without an answer, among these the first one. */
START_TEST(test_connections_closed)
{
	BEGIN(HANG_UP, HANG_UP, "waiting 7 a\n", HANG_UP, "session 7\n", HANG_UP,
	      "done 7\n");
	ck_assert_int_eq(call(5000), 0);
	ck_assert_uint_eq(nr_requests, 7);
	ck_assert_str_eq(requests[3], "timesync 7\n");
	ck_assert_str_eq(requests[6], "timesync 7\n");
	end();
}
END_TEST

/* A restarted daemon answers with another barrier number, which the next request
 * contains. */
START_TEST(test_restart_with_other_number)
{
	BEGIN("waiting 7 a\n", HANG_UP, "waiting 9 a\n", "done 9\n");
	ck_assert_int_eq(call(5000), 0);
	ck_assert_str_eq(requests[2], "timesync 7\n");
	ck_assert_str_eq(requests[3], "timesync 9\n");
	end();
}
END_TEST

/* The daemon restarts after all nodes have called tsct_timesync(), so no other node
 * will call again. */
START_TEST(test_restart_after_all_called)
{
	BEGIN("session 7\n", HANG_UP, "waiting 9 a\n");
	ck_assert_int_eq(call(-1), -ECONNRESET);
	ck_assert_ptr_nonnull(strstr(why, "all nodes have called"));
	end();
}
END_TEST

START_TEST(test_daemon_ends)
{
	BEGIN("waiting 7 a\n", LEAVE);
	ck_assert_int_eq(call(200), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(why, "no daemon; start"));
	/* If no daemon runs when tsct_timesync() is called, the call fails at once. */
	ck_assert_int_eq(call(-1), -ENOENT);
	end();
}
END_TEST

/* If the daemon sends no answer, tsct_timesync() ends soon after its timeout. */
START_TEST(test_no_answer)
{
	__s64 from = tsct_monotonic_ns();

	BEGIN(SILENCE);
	ck_assert_int_eq(call(1500), -ETIMEDOUT);
	ck_assert_int_ge(tsct_monotonic_ns() - from, 1500 * MS);
	ck_assert_int_le(tsct_monotonic_ns() - from, 3500 * MS);
	end();
}
END_TEST

START_TEST(test_error_answers)
{
	BEGIN("error: no network is configured\n", "what\n", "waiting x\n");
	ck_assert_int_eq(call(-1), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why, "no network is configured"));
	ck_assert_int_eq(call(-1), -EPROTO);
	ck_assert_int_eq(call(-1), -EPROTO);
	ck_assert_ptr_nonnull(strstr(why, "of one release"));
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timesync");
	TCase *tcase = add_case(suite, "timesync", NULL, NULL);

	tcase_add_test(tcase, test_completes);
	tcase_add_test(tcase, test_missing_nodes);
	tcase_add_test(tcase, test_timeout_in_session);
	tcase_add_test(tcase, test_connections_closed);
	tcase_add_test(tcase, test_restart_with_other_number);
	tcase_add_test(tcase, test_restart_after_all_called);
	tcase_add_test(tcase, test_daemon_ends);
	tcase_add_test(tcase, test_no_answer);
	tcase_add_test(tcase, test_error_answers);
	return run_suite(suite);
}
