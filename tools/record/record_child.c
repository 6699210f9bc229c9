// SPDX-License-Identifier: MIT
/* The recorded command: search in $PATH, signals, fork, delayed exec, reaping */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record_child.h"
#include "tools/common/error.h"
#include "tools/common/stop.h"

/* ---- search in $PATH --------------------------------------------------------- */

/* Returns 0 if the file @path can be executed, or a positive errno. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode) || eaccess(path, X_OK))
		return EACCES;
	return 0;
}

/* Finds a command in $PATH. Returns the path, malloc'ed, or NULL with a positive errno
 * value in *ret_err. */
static char *search_path(const char *name, int *ret_err)
{
	const char *path = getenv("PATH"), *end;
	char *full;
	int err;

	*ret_err = ENOENT;
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin";; path = end + 1) {
		end = strchrnul(path, ':');
		if (asprintf(&full, "%.*s%s%s", (int)(end - path), path,
			     end == path ? "./" : "/", name) < 0) {
			*ret_err = ENOMEM;
			return NULL;
		}
		err = check_executable(full);
		if (!err)
			return full;
		free(full);
		if (err == EACCES)
			*ret_err = err;
		if (!*end)
			return NULL;
	}
}

char *record_child_find(const char *name)
{
	const char *advice = "check the path";
	char *path;
	int err;

	if (*name && !strchr(name, '/')) {
		path = search_path(name, &err);
		if (path)
			return path;
		advice = "see 'ls -l' of its file in $PATH";
	} else {
		err = *name ? check_executable(name) : ENOENT;
		if (!err)
			return strdup(name);
		if (err == EACCES)
			advice = "make it executable with 'chmod +x'";
		if (err == EISDIR)
			advice = "name a program in it";
	}
	if (err == ENOENT && !strchr(name, '/'))
		ctl_error("%s: command not found; check its spelling and $PATH",
			     *name ? name : "''");
	else
		ctl_error("%s: %s; %s", name, strerror(err), advice);
	return NULL;
}

/* ---- signals -------------------------------------------------------------- */

volatile sig_atomic_t record_child_ended;

static void on_child(int)
{
	record_child_ended = 1;
}

/* Signals that record catches or ignores. `before` is the action that was set when record
 * started. The child process restores this action before it executes the command. */
static struct {
	int number;
	struct sigaction before;
} caught[] = {
	{ .number = SIGHUP }, { .number = SIGINT }, { .number = SIGQUIT },
	{ .number = SIGTERM }, { .number = SIGCHLD }, { .number = SIGPIPE },
	{ .number = SIGXFSZ },
};

void record_signals_catch(void)
{
	const struct sigaction child = { .sa_handler = on_child };
	int stop[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, 0 };
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i].number, NULL, &caught[i].before);
	/* nohup ignores SIGHUP: keep ignoring this signal. */
	if (caught[0].before.sa_handler == SIG_IGN)
		stop[3] = 0;
	stop_catch(stop, NULL);
	sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Restores the signal actions that were set when record started. Async-signal-safe. */
static void restore_signals(void)
{
	unsigned int i;

	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i].number, &caught[i].before, NULL);
}

/* ---- fork, exec, end ------------------------------------------------------- */

/* Runs in the child between fork and exec: only async-signal-safe calls are allowed. */
__attribute__((noreturn))
static void run_child(int gate, int exec_error, pid_t group, const char *path, char **command)
{
	int err;
	char go;

	if (group)
		setpgid(0, group);
	restore_signals();
	if (read(gate, &go, 1) != 1)
		_exit(0);	/* no byte came: the recorder ended or gave up */
	execvp(path, command);
	err = errno;
	if (write(exec_error, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int record_child_hold(struct record_child *child, const char *path,
		      char **command)
{
	int gate[2], exec_error[2], err;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(exec_error, O_CLOEXEC)) {
		err = -errno;
		goto close_gate;
	}
	/* Descendants that outlive the command become children of the recorder. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	child->pid = fork();
	if (child->pid < 0) {
		err = -errno;
		child->pid = 0;
		goto close_exec_error;
	}
	if (!child->pid) {
		close(gate[1]);
		run_child(gate[0], exec_error[1], child->group, path, command);
	}
	close(gate[0]);
	close(exec_error[1]);
	child->gate = gate[1];
	child->exec_error = exec_error[0];
	child->running = true;
	return 0;

close_exec_error:
	close(exec_error[0]);
	close(exec_error[1]);
close_gate:
	close(gate[0]);
	close(gate[1]);
	return err;
}

int record_child_release(struct record_child *child)
{
	int err;
	ssize_t n = write(child->gate, "", 1);

	close(child->gate);
	child->gate = -1;
	if (n == 1)
		do
			n = read(child->exec_error, &err, sizeof(err));
		while (n < 0 && errno == EINTR);
	close(child->exec_error);
	child->exec_error = -1;
	return n == sizeof(err) ? -err : 0;
}

bool record_child_reap(struct record_child *child)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (!child || pid != child->pid)
			continue;
		child->status = status;
		child->running = false;
	}
	return !pid;
}

void record_child_drop(struct record_child *child)
{
	if (child->gate >= 0)
		close(child->gate);
	if (child->exec_error >= 0)
		close(child->exec_error);
	/* The child waits for a byte from the pipe `gate` before it calls exec. If the
	 * pipe is still open here, no byte was sent: closing the pipe ends the child,
	 * which is then reaped. */
	if (child->pid && child->gate >= 0) {
		waitpid(child->pid, NULL, 0);
		child->pid = 0;
		child->running = false;
	}
	child->gate = child->exec_error = -1;
}
