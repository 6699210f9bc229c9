// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process.h"
#include "tools/common/error.h"

void process_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

ssize_t process_read(int *fd, char *buffer, size_t size)
{
	const ssize_t n = *fd < 0 ? 0 : read(*fd, buffer, size);

	if (n > 0)
		return n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	process_close_fd(fd);
	return -1;
}

/* Runs in the child, as run_child(): only async-signal-safe calls are allowed. */
static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
}

__attribute__((noreturn))
static void run_child(const char *path, char **argv, const int *inherit,
		      const int fds[3])
{
	int i;

	setpgid(0, 0);
	reset_signals();
	/* A shell lets its background processes ignore SIGINT, and the node SIGHUP. But both
	 * end recorded commands. */
	signal(SIGINT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	for (i = 0; i < 3; i++)
		dup2(fds[i], i);
	for (; inherit && *inherit >= 0; inherit++)
		fcntl(*inherit, F_SETFD, 0);
	execv(path, argv);
	_exit(127);
}

int process_start(struct process *p, const char *path, char **argv, const int *inherit,
		  bool input)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, ret = 0;

	memset(p, 0, sizeof(*p));
	p->in = p->out = p->err = -1;
	if ((input && pipe2(in, O_CLOEXEC)) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		ret = -errno;
	if (!ret && !input) {
		in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		ret = in[0] < 0 ? -errno : 0;
	}
	if (!ret) {
		p->pid = fork();
		ret = p->pid < 0 ? -errno : 0;
	}
	if (!ret && !p->pid)
		run_child(path, argv, inherit, (int[]){ in[0], out[1], err[1] });
	process_close_fd(&in[0]);
	process_close_fd(&out[1]);
	process_close_fd(&err[1]);
	p->in = in[1];
	p->out = out[0];
	p->err = err[0];
	if (ret) {
		p->pid = 0;
		process_close(p);
		return ret;
	}
	/* Also here: the caller may send a signal to the group before the child runs. */
	setpgid(p->pid, p->pid);
	if (input)
		fcntl(p->in, F_SETFL, O_NONBLOCK);
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	fcntl(p->err, F_SETFL, O_NONBLOCK);
	return 0;
}

pid_t process_spawn(const char *path, char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid < 0 ? -errno : pid;
	reset_signals();
	execvp(path, argv);
	ctl_error("%s: %s", path, strerror(errno));
	_exit(127);
}

bool process_ended(struct process *p)
{
	if (p->pid && waitpid(p->pid, &p->status, WNOHANG) == p->pid)
		p->pid = 0;
	return !p->pid;
}

void process_close(struct process *p)
{
	process_close_fd(&p->in);
	process_close_fd(&p->out);
	process_close_fd(&p->err);
}
