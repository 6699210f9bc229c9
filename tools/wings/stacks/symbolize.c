// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/export/symbolize.h"
#include "symbolize_protocol.h"
#include "code.h"

#define DEBUG_FILE	"/usr/lib/debug/.build-id/%.2s/%s.debug"

#define PROCESSES_MAX	32	/* processes that are kept */
#define FAILED_MAX	8	/* number of failed files after which no more files are read */
#define TIMEOUT_S	20 /* timeout of an answer, s: a hostile file may make the process sleep */
#define STACK_BYTES	(64 << 10)

/* A file, and the process that reads its symbols */
struct symbol_process {
	char *path;		/* NULL: this element is free */
	char build_id[TSCT_BUILD_ID_TEXT];
	int fd;			/* argument @fd of tsct_symbolizer_find() */
	int socket;		/* socket to the process; -1: no process, no names */
	int pidfd;
	__u64 used;		/* value of `uses` at the last use */
};

struct tsct_symbolizer {
	struct symbol_process processes[PROCESSES_MAX];
	__u64 uses;
	unsigned int failed;	/* number of files that failed */
	void (*warn)(void *arg, const char *sentence);
	void *arg;
	struct symbolize_answer answer;
};

/* ---- processes --------------------------------------------------------- */

struct symbol_start {
	int socket, file, debug;	/* descriptors; -1: none */
	char *build_id;
};

/* Main function of the new process, in a copy of the memory. Makes only system calls,
 * because other threads may have held locks when the memory was copied. */
static int run_reader(void *argument)
{
	const struct symbol_start *from = argument;
	char *argv[] = { "trace-ctl", TSCT_SYMBOLIZE_COMMAND, from->build_id, NULL };
	int null = open("/dev/null", O_RDWR);
	/* Duplicates get higher numbers than all descriptors that are set below. */
	int socket = fcntl(from->socket, F_DUPFD, SYMBOLIZE_DEBUG_FD + 1);
	int file = fcntl(from->file, F_DUPFD, SYMBOLIZE_DEBUG_FD + 1);
	int debug = fcntl(from->debug, F_DUPFD, SYMBOLIZE_DEBUG_FD + 1);

	if (dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    dup2(socket, SYMBOLIZE_SOCKET) < 0)
		_exit(1);
	close(SYMBOLIZE_FILE_FD);
	close(SYMBOLIZE_DEBUG_FD);
	dup2(file, SYMBOLIZE_FILE_FD);
	dup2(debug, SYMBOLIZE_DEBUG_FD);
	syscall(SYS_close_range, SYMBOLIZE_DEBUG_FD + 1, ~0U, 0);
	setsid();		/* so that the process gets no signals of the terminal */
	execv("/proc/self/exe", argv);
	_exit(1);
}

/* Starts the process for a file. Stores the pidfd, not the process id: the program may
 * wait for any child, after which the id may be used again. */
static void start_process(struct symbol_process *p, int file, int debug)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct symbol_start from = { -1, file, debug, p->build_id };
	char *stack = malloc(STACK_BYTES);
	int pair[2], pid;

	if (!stack || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		free(stack);
		return;
	}
	from.socket = pair[1];
	pid = clone(run_reader, stack + STACK_BYTES, CLONE_PIDFD | SIGCHLD, &from, &p->pidfd);
	free(stack);
	close(pair[1]);
	if (pid > 0 && !setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout,
				      sizeof(timeout)))
		p->socket = pair[0];
	else
		close(pair[0]);
}

/* Ends the process. Returns the signal by which the process had already ended; 0: none, unknown */
static int stop_process(struct symbol_process *p)
{
	siginfo_t info = { .si_status = 0 };
	int ret;

	close(p->socket);
	p->socket = -1;
	syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
	do
		ret = waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED);
	while (ret && errno == EINTR);
	close(p->pidfd);
	return !ret && info.si_code == CLD_KILLED && info.si_status != SIGKILL ?
		info.si_status : 0;
}

/* ---- files ------------------------------------------------------------- */

/* Opens a regular file, and checks that the file has the build id. Returns a
 * descriptor, or -1. */
static int open_file(const char *path, const char *build_id)
{
	/* Reject relative paths, which recorders do not write. */
	int fd = *path == '/' ? tsct_code_file_open(-1, path) : -1;
	char text[TSCT_BUILD_ID_TEXT];

	if (fd < 0 || (tsct_build_id_read(fd, text) && !strcmp(text, build_id)))
		return fd;
	close(fd);
	return -1;
}

static void start_file(struct symbol_process *p)
{
	char path[sizeof(DEBUG_FILE) + TSCT_BUILD_ID_TEXT];
	int file = p->fd >= 0 ? p->fd : open_file(p->path, p->build_id), debug = -1;

	if (p->build_id[0]) {
		snprintf(path, sizeof(path), DEBUG_FILE, p->build_id, p->build_id + 2);
		debug = tsct_code_file_open(-1, path);
	}
	if (file >= 0 || debug >= 0)
		start_process(p, file, debug);
	if (file >= 0 && file != p->fd)
		close(file);
	if (debug >= 0)
		close(debug);
}

static void free_process(struct symbol_process *p)
{
	if (p->socket >= 0 && p->path)
		stop_process(p);
	free(p->path);
	p->path = NULL;
}

/* Returns the process for a file, or NULL if out of memory. If there is no such process, starts one
 * in place of the least recently used process. */
static struct symbol_process *get_process(struct tsct_symbolizer *s, int fd,
					  const char *path, const char *build_id)
{
	struct symbol_process *p, *oldest = s->processes;

	for (p = s->processes; p < s->processes + PROCESSES_MAX; p++) {
		if (p->path && p->fd == fd && !strcmp(p->build_id, build_id) &&
		    !strcmp(p->path, path))
			return p;
		if (p->used < oldest->used)
			oldest = p;
	}
	free_process(oldest);
	*oldest = (struct symbol_process) { .path = strdup(path), .fd = fd, .socket = -1 };
	if (!oldest->path)
		return NULL;
	snprintf(oldest->build_id, sizeof(oldest->build_id), "%s", build_id);
	if (s->failed < FAILED_MAX)
		start_file(oldest);
	return oldest;
}

/* ---- interface --------------------------------------------------------- */

/* Ends a process that has failed, and warns. @is_late: the process did not answer in time */
static void drop_process(struct tsct_symbolizer *s, struct symbol_process *p, bool is_late)
{
	const int number = stop_process(p);
	char sentence[4096];

	s->failed++;
	is_late |= number == SIGXCPU;
	snprintf(sentence, sizeof(sentence), "%.3800s: functions have no names: reading the"
		 " symbols %s%s%s", p->path, is_late ? "takes too long" : "failed",
		 number && !is_late ? ": " : "", number && !is_late ? strsignal(number) : "");
	if (!s->warn)
		return;
	s->warn(s->arg, sentence);
	if (s->failed == FAILED_MAX)
		s->warn(s->arg, "reading symbols failed too often: no more files are read");
}

struct tsct_symbolizer *tsct_symbolizer_new(void (*warn)(void *arg, const char *sentence),
					    void *arg)
{
	struct tsct_symbolizer *s = calloc(1, sizeof(*s));

	if (s)
		*s = (struct tsct_symbolizer) { .warn = warn, .arg = arg };
	return s;
}

void tsct_symbolizer_free(struct tsct_symbolizer *s)
{
	size_t i;

	for (i = 0; s && i < PROCESSES_MAX; i++)
		free_process(&s->processes[i]);
	free(s);
}

const char *tsct_symbolizer_find(struct tsct_symbolizer *s, int fd, const char *path,
				 const char *build_id, __u64 offset, __u64 *ret_offset)
{
	struct symbol_process *p = get_process(s, fd, path, build_id);
	struct symbolize_answer *a = &s->answer;
	const size_t head = offsetof(struct symbolize_answer, name);
	ssize_t len;

	if (!p)
		return NULL;
	p->used = ++s->uses;
	if (p->socket < 0)
		return NULL;
	len = send(p->socket, &offset, sizeof(offset), MSG_NOSIGNAL);
	if (len == sizeof(offset))
		do
			len = recv(p->socket, a, sizeof(*a) - 1, 0);
		while (len < 0 && errno == EINTR);
	if (len < (ssize_t)head || a->offset != offset) {
		drop_process(s, p, len < 0 && errno == EAGAIN);
		return NULL;
	}
	((char *)a)[len] = '\0';
	*ret_offset = a->from;
	return a->name[0] ? a->name : NULL;
}
