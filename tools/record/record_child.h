/* SPDX-License-Identifier: MIT */
/* The command that is recorded */
#ifndef RECORD_CHILD_H
#define RECORD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct record_session;

struct record_child {
	pid_t pid;		/* process id of the command; 0: no process */
	int gate;		/* write end of a pipe; a byte in the pipe lets the child exec */
	pid_t group;		/* process group that the command joins; 0: the recorder's */
	int exec_error; /* read end of a pipe, which has the errno of a failed exec, or EOF */
	bool running;
	/* wait status of the command, from waitpid(), after its end */
	int status;
};

extern volatile sig_atomic_t record_child_ended;	/* 1: SIGCHLD was received */

/* Catches SIGCHLD and the signals that end the recording; stop_signals counts the
 * latter. Ignores SIGPIPE and SIGXFSZ. The command gets the previous signal actions. */
void record_signals_catch(void);

/* Finds a command in $PATH. Prints errors. Returns the path, malloc'ed, or NULL. */
char *record_child_find(const char *name);

/* Forks a child process that waits for record_child_release() before it executes the command.
 * Returns 0 or -errno. */
int record_child_hold(struct record_child *child, const char *path,
		      char **command);

/* Lets the child process execute the command. Returns 0, or -errno of the failed exec. */
int record_child_release(struct record_child *child);

/* Reaps all child processes that have ended, without blocking. Updates @child, unless it is
 * NULL. Returns true if a child process (the command or one of its descendants) still runs. */
bool record_child_reap(struct record_child *child);

/* Closes the pipes to the child process, which then ends if it has not executed the command. */
void record_child_drop(struct record_child *child);

/* ---- why there are no events: record_why.c ------------------------------- */

/* Stores in s->owner whether the command, process @pid, has another user or root directory. */
void record_child_look(struct record_session *s, pid_t pid);

/* Prints that there are no events, and why. @left_some: descendants of the command still run */
void record_print_why(const struct record_session *s, const struct record_child *child,
		      bool left_some);

#endif /* RECORD_CHILD_H */
