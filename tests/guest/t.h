/* SPDX-License-Identifier: MIT */
/*
 * Checks for the tests t_*.c: a failed check is printed and counted, the test goes
 * on, and ends with
 *
 *	return t_status();
 *
 * The macros add function and line; none of them changes the control flow.
 */
#ifndef TSCT_TEST_T_H
#define TSCT_TEST_T_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned int t_checks, t_failures;
static char t_failed[128];	/* functions whose checks failed first, and the last skip */
static bool t_skipped;

#define T_FN	__attribute__((unused)) static

__attribute__((format(printf, 5, 6), unused))
static bool t_note(bool ok, const char *where, int line, const char *what,
		   const char *format, ...)
{
	size_t used = strlen(t_failed);
	va_list args;

	t_checks++;
	if (ok)
		return true;
	t_failures++;
	if (!strstr(t_failed, where))
		snprintf(t_failed + used, sizeof(t_failed) - used, " %s", where);
	printf("%s, line %d: failed: %s", where, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return false;
}

/* t_check(n == 3, "n is %d", n) returns true if the condition holds; otherwise t_check
 * prints the message, counts a failure and returns false. */
#define t_check(cond, ...) \
	t_note(!!(cond), __func__, __LINE__, #cond, " " __VA_ARGS__)

T_FN bool t_wants(long ret, int err, int want, const char *call, const char *where,
		  int line)
{
	char found[64] = "success";

	if (ret == -1)
		snprintf(found, sizeof(found), "%s", strerror(err));
	return t_note(ret == -1 && err == want, where, line, call, " gave %s, not %s",
		      found, strerror(want));
}

/* t_errno(ioctl(fd, 0), ENOTTY): the call returns -1 with that errno */
#define t_errno(call, want) ({						\
	errno = 0;							\
	long t_ret = (long)(call);					\
	t_wants(t_ret, errno, want, #call, __func__, __LINE__);		\
})

__attribute__((format(printf, 1, 2), noreturn, unused))
static void t_skip(const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vprintf(why, args);
	va_end(args);
	putchar('\n');
	exit(77);
}

/* The test cannot go on: prints what failed, and errno. */
__attribute__((noreturn, unused))
static void t_die(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* A test that checked nothing did not pass; neither did one with a part that was skipped. */
T_FN int t_status(void)
{
	if (t_skipped && !t_failures) {
		printf("skipped:%s\n", t_failed);
		return 77;
	}
	printf("%u of %u checks failed%s%s\n", t_failures, t_checks,
	       t_failures ? ", in" : "", t_failed);
	return t_failures || !t_checks;
}

T_FN int64_t t_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

T_FN double t_now(void)
{
	return (double)t_ns(CLOCK_MONOTONIC) * 1e-9;
}

/* t_until(has_event()): waits until the condition holds. The limit detects a hang only, and
 * is never an assertion about time. */
#define T_HANG_S	100
#define t_until(cond) ({						\
	double t_end = t_now() + T_HANG_S;				\
	bool t_holds;							\
	while (!(t_holds = (cond)) && t_now() < t_end)			\
		usleep(5000);						\
	t_note(t_holds, __func__, __LINE__, #cond, " is never true");	\
})

/* Number of repeats: $@name; or @all if all repeats are wanted; or else @few */
T_FN unsigned int t_repeats(const char *name, unsigned int few, unsigned int all)
{
	const char *text = getenv(name), *tier = getenv("TSCT_TIER") ?: "";

	if (text)
		return (unsigned int)atoi(text);
	return strcmp(tier, "all") ? few : all;
}

/* Starts a process. fork() copies what is in the buffer of the output. */
T_FN pid_t t_fork(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		t_die("fork");
	if (!pid) {
		t_checks = t_failures = 0;
		t_failed[0] = '\0';
	}
	return pid;
}

/* Waits for a process. Returns its exit status; -1: a signal ended it. */
T_FN int t_wait(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/*
 * A part of a test that nothing but the module joins with the others: it runs in a
 * process of its own, whose files, maps and settings end with it.
 */
#define t_part(name) t_run_part(#name, name, __LINE__)
T_FN void t_run_part(const char *name, void (*part)(void), int line)
{
	pid_t pid = t_fork();
	int status;

	if (!pid) {
		part();
		printf("%s: ", name);
		exit(t_status());
	}
	status = t_wait(pid);
	t_note(!status || status == 77, name, line, "part", " ended with status %d", status);
	if (status != 77)
		return;
	t_skipped = true;
	snprintf(t_failed, sizeof(t_failed), " %s", name);
}

#endif
