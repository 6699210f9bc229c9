// SPDX-License-Identifier: MIT
/*
 * PID 1 of a test guest
 *
 * Reads /tests/plan, one item per line:
 *
 *   env NAME=VALUE
 *   module PATH                       file that the flag `module` loads
 *   test NAME SECONDS FLAGS COMMAND   FLAGS: `-`, or a comma list of
 *       module   load the module before the test and unload it after it
 *       live     pass the test's output on as it comes, unchanged
 *
 * and runs the tests one by one: own process group, time limit, no process left
 * alive afterwards. Exit status 0 is a pass, 77 a skip whose reason is
 * the last line of output, everything else a failure. A test also fails
 * when the kernel logged a warning meanwhile, or when the module cannot be
 * unloaded after it. Results are TAP on ttyS1 (and the console); the last line,
 * "# guest: end", marks a complete run.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init.h"

#define MAX_TESTS	512
#define PLAN		"/tests/plan"

struct test {
	const char *name;
	int seconds;
	bool module;
	bool live;
	const char *command;
};

static struct test tests[MAX_TESTS];
static int nr_tests;
static const char *module_path = "";

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void parse_test(char *line)
{
	struct test *test = &tests[nr_tests];
	const char *flags;

	if (nr_tests == MAX_TESTS) {
		tap_printf("# %s: more than %d tests, the rest is dropped\n", PLAN,
			   MAX_TESTS);
		return;
	}
	test->name = strtok(line, " ");
	test->seconds = atoi(strtok(NULL, " ") ?: "0");
	flags = strtok(NULL, " ") ?: "-";
	test->module = strstr(flags, "module");
	test->live = strstr(flags, "live");
	test->command = strtok(NULL, "");
	if (!test->command || test->seconds <= 0) {
		tap_printf("# %s: bad line for %s\n", PLAN, test->name ?: "a test");
		return;
	}
	nr_tests++;
}

static void parse_line(char *line)
{
	line[strcspn(line, "\n")] = 0;
	if (strncmp(line, "test ", 5) == 0)
		parse_test(line + 5);
	else if (strncmp(line, "env ", 4) == 0)
		putenv(line + 4);
	else if (strncmp(line, "module ", 7) == 0)
		module_path = line + 7;
	else if (line[0] && line[0] != '#')
		tap_printf("# %s: unknown line: %s\n", PLAN, line);
}

static void read_plan(void)
{
	FILE *plan = fopen(PLAN, "r");
	char *line = NULL;
	size_t size = 0;

	if (!plan) {
		tap_printf("# %s: %s\n", PLAN, strerror(errno));
		return;
	}
	/* The lines of the test plan are not freed: tests[], module_path and the
	 * environment keep pointers to the text. */
	while (getline(&line, &size, plan) > 0) {
		parse_line(line);
		line = NULL;
		size = 0;
	}
	fclose(plan);
}

static pid_t spawn(const struct test *test, int output)
{
	sigset_t none;
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGCHLD, SIG_DFL);
	dup2(open("/dev/null", O_RDWR), STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	if (chdir("/tmp"))
		_exit(126);
	execl("/bin/sh", "sh", "-c", test->command, NULL);
	dprintf(STDERR_FILENO, "/bin/sh: %s\n", strerror(errno));
	_exit(127);
}

/* Reaps all dead children. Returns true, with the status, if @pid is among them. */
static bool reap(pid_t pid, int *status)
{
	bool found = false;
	pid_t dead;
	int st;

	while ((dead = waitpid(-1, &st, WNOHANG)) > 0) {
		if (dead != pid)
			continue;
		*status = st;
		found = true;
	}
	return found;
}

/*
 * Waits for the test's end and collects its output and the kernel log. Does not
 * wait for processes that it left in the background: the caller kills them.
 */
static bool wait_for(const struct test *test, pid_t pid, int output, int *status)
{
	double end = now() + test->seconds;
	struct pollfd fds[2] = {
		{ .fd = output, .events = POLLIN },
		{ .fd = kmsg_fd(), .events = POLLIN },
	};
	struct timespec wait;
	sigset_t none;
	bool ended;

	sigemptyset(&none);
	for (;;) {
		double left = end - now();

		ended = reap(pid, status);
		output_collect(output, test->live);
		kmsg_collect();
		if (ended || left <= 0)
			return ended;
		wait.tv_sec = (time_t)left;
		wait.tv_nsec = (long)((left - (double)wait.tv_sec) * 1e9);
		/* SIGCHLD is unblocked only here, so no death is missed. */
		ppoll(fds, 2, &wait, &none);
		if (fds[0].revents & POLLHUP)
			fds[0].fd = -1;
	}
}

/* Kills all processes except PID 1. Returns false if a process cannot be killed. */
static bool kill_rest(void)
{
	double end = now() + 10;
	int st;

	for (;;) {
		kill(-1, SIGKILL);
		while (waitpid(-1, &st, WNOHANG) > 0)
			;
		if (waitpid(-1, &st, WNOHANG) < 0 && errno == ECHILD)
			return true;
		if (now() > end)
			return false;
		usleep(10000);
	}
}

struct result {
	bool failed;
	bool skipped;
	char why[256];
};

#define fail(v, ...) do {						\
	if (!(v)->failed)						\
		snprintf((v)->why, sizeof((v)->why), __VA_ARGS__);	\
	(v)->failed = true;						\
} while (0)

static void result_from_status(struct result *v, const struct test *test, bool ended,
			       int status)
{
	if (!ended)
		fail(v, "killed after %d s", test->seconds);
	else if (WIFSIGNALED(status))
		fail(v, "killed by signal %d (%s)", WTERMSIG(status),
		     strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == 77)
		v->skipped = true;
	else if (WEXITSTATUS(status))
		fail(v, "exit status %d", WEXITSTATUS(status));
}

static void run_child(struct result *v, const struct test *test)
{
	int output[2], status = 0;
	bool ended;
	pid_t pid;

	if (pipe2(output, O_CLOEXEC | O_NONBLOCK)) {
		fail(v, "no pipe: %s", strerror(errno));
		return;
	}
	/* The test needs a blocking standard output. */
	fcntl(output[1], F_SETFL, 0);
	pid = spawn(test, output[1]);
	close(output[1]);
	ended = pid > 0 && wait_for(test, pid, output[0], &status);
	result_from_status(v, test, ended, status);
	if (!kill_rest())
		fail(v, "left a process that cannot be killed");
	output_collect(output[0], test->live);
	close(output[0]);
}

static void run_test(struct result *v, const struct test *test)
{
	unsigned long taint = taint_read();
	int err;

	output_reset();
	kmsg_mark(test->name);
	err = test->module ? module_load(module_path) : 0;
	if (err)
		fail(v, "module: load failed: %s", strerror(-err));
	else
		run_child(v, test);
	if (test->module && !err) {
		err = module_unload();
		if (err)
			fail(v, "module: unload failed: %s", strerror(-err));
	}
	/* A failed test may have left the module loaded. */
	if (!test->module && v->failed)
		module_unload();
	kmsg_collect();
	if (kmsg_warnings())
		fail(v, "the kernel logged a warning");
	if (taint_read() != taint)
		fail(v, "kernel taint went from %lu to %lu", taint, taint_read());
}

static void report(const struct result *v, int nr, const char *name, double took)
{
	if (v->failed)
		tap_printf("not ok %d - %s # %s (%.1f s): %s\n", nr, name, v->why, took,
			   output_last_line());
	else if (v->skipped)
		tap_printf("ok %d - %s # SKIP %s\n", nr, name, output_last_line());
	else
		tap_printf("ok %d - %s # %.1f s\n", nr, name, took);
	output_print();
	if (v->failed)
		kmsg_print();
}

static void run_all(void)
{
	bool leaks = kmemleak_start();
	int nr;

	tap_printf("1..%d\n", nr_tests + leaks);
	for (nr = 0; nr < nr_tests; nr++) {
		struct result v = { 0 };
		double start = now();

		run_test(&v, &tests[nr]);
		report(&v, nr + 1, tests[nr].name, now() - start);
	}
	if (leaks) {
		bool clean;

		output_reset();
		clean = kmemleak_clean();
		tap_printf("%sok %d - kmemleak\n", clean ? "" : "not ", nr + 1);
		output_print();
	}
}

static void ignore(int signal)
{
}

int main(void)
{
	sigset_t child;

	if (getpid() != 1) {
		fputs("init: this is PID 1 of a test guest\n", stderr);
		return 2;
	}
	guest_setup();
	signal(SIGCHLD, ignore);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	read_plan();
	run_all();
	tap_printf("# guest: end\n");
	guest_power_off();
}
