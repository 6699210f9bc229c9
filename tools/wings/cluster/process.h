/* SPDX-License-Identifier: MIT */
/* Child processes with pipes, in process groups of their own */
#ifndef TSCT_TOOLS_PROCESS_H
#define TSCT_TOOLS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* A child process. The descriptors are the parent's ends of pipes; -1: closed */
struct process {
	pid_t pid;		/* 0: no child, or waitpid() has returned its status */
	int in, out, err;	/* pipes to stdin, from stdout and from stderr of the child */
	int status;		/* wait status, after the child has ended */
};

/*
 * process_start - start a program
 * @path: file to execute
 * @inherit: descriptors that the child keeps besides 0, 1 and 2; ended by -1; NULL: none
 * @input: true: the child reads from p->in; false: from /dev/null
 *
 * The child leads a process group of its own, so that Ctrl-C at the terminal does not
 * signal the child. All pipes of the parent are non-blocking. Returns 0 or -errno.
 */
int process_start(struct process *p, const char *path, char **argv, const int *inherit,
		  bool input);

/* Calls waitpid() without waiting. Returns true if the child has ended, or if there was none. */
bool process_ended(struct process *p);
void process_close(struct process *p);

/* Starts a program that uses the terminal of this process. Returns its pid or -errno. */
pid_t process_spawn(const char *path, char **argv);

/* Reads from a pipe. Returns the number of bytes; 0: no data can be read now;
 * -1: end of data or an error, after which *fd is closed and set to -1. */
ssize_t process_read(int *fd, char *buffer, size_t size);

/* Closes the descriptor *fd, unless it is -1, and sets *fd to -1. */
void process_close_fd(int *fd);

#endif /* TSCT_TOOLS_PROCESS_H */
