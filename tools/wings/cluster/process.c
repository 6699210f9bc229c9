// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

int process_start(struct process *p, const char *path, char **argv, const int *inherit,
		  bool input)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 }, ret = 0;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t signals;

	if ((input && pipe2(in, O_CLOEXEC)) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		ret = -errno;
	posix_spawn_file_actions_init(&files);
	if (input)
		posix_spawn_file_actions_adddup2(&files, in[0], 0);
	else
		posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	posix_spawn_file_actions_adddup2(&files, err[1], 2);
	/* Duplicates each inherited descriptor to itself, so that exec() does not close it. */
	for (; inherit && *inherit >= 0; inherit++)
		posix_spawn_file_actions_adddup2(&files, *inherit, *inherit);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
				 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	sigemptyset(&signals);
	posix_spawnattr_setsigmask(&attributes, &signals);
	/* SIGINT and SIGHUP must be able to end recorded commands, but may be ignored here: a shell
	 * ignores SIGINT for background processes, and 'trace-ctl cluster node' ignores SIGHUP. */
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGPIPE);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	ret = ret ? ret : -posix_spawn(&p->pid, path, &files, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	process_close_fd(&in[0]);
	process_close_fd(&out[1]);
	process_close_fd(&err[1]);
	*p = (struct process){ .pid = ret ? 0 : p->pid, .in = in[1], .out = out[0],
			       .err = err[0] };
	if (ret) {
		process_close(p);
		return ret;
	}
	if (input)
		fcntl(p->in, F_SETFL, O_NONBLOCK);
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	fcntl(p->err, F_SETFL, O_NONBLOCK);
	return 0;
}

pid_t process_spawn(const char *path, char **argv)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid)
		return pid < 0 ? -errno : pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
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
