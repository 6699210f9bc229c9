// SPDX-License-Identifier: MIT
/*
 * tsct_timesync() waits until the daemon has synchronized the node; tsct_timesync_join()
 * makes this process one of the processes that the daemon waits for. Requests and answers
 * are described in daemon/collective/collective.c. As the daemon may be restarted
 * meanwhile, each request repeats the number that the first answer gave to this collective.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tsctrace/tsctrace.h>
#include <unistd.h>

#include "control_client.h"
#include "gettime.h"
#include "lib/base/text.h"

#define POLL_NS		20000000L	/* time between two requests, ns */
/* shortest time to wait for an answer, ns, even if the caller's timeout is shorter */
#define ANSWER_NS	1000000000LL
#define PROCESSES_ENV	"TSCTRACE_TIMESYNC_PROCESSES"
/* Prefix of an answer that refuses a process as a participant */
#define REFUSED		"refused: "

struct collective {
	char path[256];
	char state[16];			/* state in the last answer: waiting, session or
					 * done; "": no answer yet */
	/* the daemon's number of this collective; 0: not known yet */
	unsigned int number;
	/* id of this process as a participant; 0: has not joined */
	unsigned int id;
	unsigned int call;		/* number of this call if this process
					 * is a participant, else 0 */
	char missing[1024];		/* names of the nodes on which no program has
					 * called tsct_timesync() yet */
	char *why;			/* the caller's buffer for an error message */
	size_t size;			/* size of the error buffer, bytes */
};

__attribute__((format(printf, 3, 4)))
static int explain(struct collective *c, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(c->why, c->size, format, args);
	va_end(args);
	return err;
}

static int set_path(struct collective *c)
{
	if ((size_t)snprintf(c->path, sizeof(c->path), "%s/" TSCT_CONTROL_SOCKET,
			     tsct_run_dir()) < sizeof(c->path))
		return 0;
	return explain(c, -ENAMETOOLONG, "%s: path too long; set $TSCTRACE_RUN_DIR to "
		       "tsctraced's --run-dir", tsct_run_dir());
}

/* Returns the time until which to wait for the daemon's answer: @until, the end of the
 * caller's own wait, but at least ANSWER_NS from now. */
static __s64 answer_limit(__s64 until)
{
	const __s64 answer_until = tsct_monotonic_ns() + ANSWER_NS;

	return until > answer_until ? until : answer_until;
}

/* Explains why there is no answer. Returns @err, or 1 if a later request may succeed:
 * the daemon had no room for the connection, is stopped, or, after its first answer to this
 * call or to a join, is restarting. */
static int explain_connection(struct collective *c, int err)
{
	if (err == -ECONNREFUSED)
		err = -ENOENT;
	explain(c, err, "%s: %s", c->path, err == -ENOENT ?
		"no daemon; start tsctraced" :
		err == -ETIMEDOUT ? "no answer; check that tsctraced is not stopped" :
		strerror(-err));
	return err == -ECONNRESET || err == -EPIPE || err == -ETIMEDOUT ||
		(err == -ENOENT && (*c->state || c->id)) ? 1 : err;
}

/* Explains an answer that is not the expected one. Returns -errno. */
static int explain_answer(struct collective *c, const char *answer)
{
	const size_t error_len = strlen(TSCT_CONTROL_ERROR);

	if (!strncmp(answer, TSCT_CONTROL_ERROR, error_len))
		return explain(c, -EOPNOTSUPP, "%s: %s", c->path,
			       answer + error_len);
	if (!strncmp(answer, REFUSED, strlen(REFUSED)))
		return explain(c, -EINVAL, "%s", answer + strlen(REFUSED));
	return explain(c, -EPROTO, "%s: invalid answer: %.64s; use library "
		       "and tsctraced of one release", c->path, answer);
}

/* ---- the process as a participant ----------------------------------------- */

/*
 * The connection to the daemon is open as long as this process takes part: the kernel
 * closes it when the process ends for any reason. A forked child closes its copy: else
 * the daemon would not detect the end of the parent.
 */
static struct {
	pthread_mutex_t lock;
	unsigned int declared;	/* number of processes declared for this node; 0: this
				 * process has not joined */
	unsigned int id;	/* the daemon's id of this process */
	int fd;			/* connection to the daemon; -1: none */
	unsigned int calls;	/* number of the last call of tsct_timesync() */
	bool calling;		/* true: the last call has not returned yet */
} self = { PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void leave_collectives(void)
{
	if (self.fd >= 0)
		close(self.fd);
	self.fd = -1;
	self.declared = 0;
}

static void leave_in_child(void)
{
	pthread_mutex_init(&self.lock, NULL);
	leave_collectives();
	self.calling = false;
}

static void leave_at_fork(void)
{
	pthread_atfork(NULL, NULL, leave_in_child);
}

/* Joins the collectives as a participant. The caller holds self.lock. Returns what
 * request_state() returns. */
static int join_collectives(struct collective *c, unsigned int declared, __s64 until)
{
	char request[32], *answer;
	unsigned int id;
	int err, fd;

	pthread_once(&fork_once, leave_at_fork);
	snprintf(request, sizeof(request), "join %u", declared);
	err = tsct_control_request(c->path, request, answer_limit(until), &answer, NULL, &fd);
	if (err)
		return explain_connection(c, err);
	answer[strcspn(answer, "\n")] = '\0';
	if (sscanf(answer, "joined %u", &id) == 1) {
		leave_collectives();
		self.declared = declared;
		self.id = id;
		self.fd = fd;
	} else {
		close(fd);
		err = explain_answer(c, answer);
	}
	free(answer);
	return err;
}

/* Reads the number of processes from the environment; 0: not set. Returns 0 or -EINVAL. */
static int declared_by_environment(struct collective *c, unsigned int *ret_declared)
{
	const char *text = secure_getenv(PROCESSES_ENV);
	__u64 number;

	*ret_declared = 0;
	if (!text || !*text)
		return 0;
	if (!tsct_digits_read_all(text, UINT_MAX, &number) || !number)
		return explain(c, -EINVAL, PROCESSES_ENV "=%.64s: invalid; set it to "
			       "the number of processes of this node that call "
			       "tsct_timesync()", text);
	*ret_declared = (unsigned int)number;
	return 0;
}

/* Begins a call of tsct_timesync(): joins if $TSCTRACE_TIMESYNC_PROCESSES is set, and stores
 * the number of the call in @c. Returns what request_state() returns. */
static int begin_call(struct collective *c, __s64 until)
{
	unsigned int declared = 0;
	int err = 0;

	pthread_mutex_lock(&self.lock);
	if (!self.declared) {
		err = declared_by_environment(c, &declared);
		if (!err && declared)
			err = join_collectives(c, declared, until);
	}
	if (!err && self.declared && self.calling)
		err = explain(c, -EALREADY, "another call of tsct_timesync() in this process "
			      "has not returned yet; make one call at a time");
	if (!err && self.declared) {
		self.calling = true;
		c->id = self.id;
		c->call = ++self.calls;
	}
	pthread_mutex_unlock(&self.lock);
	return err;
}

static void end_call(const struct collective *c)
{
	pthread_mutex_lock(&self.lock);
	if (c->call)
		self.calling = false;
	pthread_mutex_unlock(&self.lock);
}

/* Joins again, because the daemon was restarted and does not know this process. If another
 * thread has called tsct_timesync_leave() meanwhile, the call goes on without joining. */
static int join_again(struct collective *c, __s64 until)
{
	int err = 0;

	pthread_mutex_lock(&self.lock);
	if (self.declared)
		err = join_collectives(c, self.declared, until);
	c->id = self.declared ? self.id : 0;
	pthread_mutex_unlock(&self.lock);
	return err;
}

int tsct_timesync_join(unsigned int nr_processes, char *why, size_t size)
{
	struct collective c = { .why = why, .size = size };
	int err = set_path(&c);

	pthread_mutex_lock(&self.lock);
	if (!err && !nr_processes)
		err = declared_by_environment(&c, &nr_processes);
	if (!err && !nr_processes)
		err = explain(&c, -EINVAL, "the number of processes is not known; "
			      "pass it to tsct_timesync_join(), or set " PROCESSES_ENV);
	if (!err && self.declared && self.declared != nr_processes)
		err = explain(&c, -EALREADY, "this process has joined as one of %u "
			      "processes; call tsct_timesync_leave() first",
			      self.declared);
	if (!err && !self.declared)
		err = join_collectives(&c, nr_processes, INT64_MAX);
	pthread_mutex_unlock(&self.lock);
	if (!err)
		explain(&c, 0, "%s", "");
	return err > 0 ? -ETIMEDOUT : err;
}

void tsct_timesync_leave(void)
{
	pthread_mutex_lock(&self.lock);
	leave_collectives();
	pthread_mutex_unlock(&self.lock);
}

/* ---- calls of tsct_timesync() ---------------------------------------------- */

/* Requests the collective's state, and stores it in @c. Returns 0; 1: no answer, but a later
 * request may be answered; or -errno. */
static int request_state(struct collective *c, __s64 until)
{
	char request[48], state[sizeof(c->state)], *answer;
	unsigned int number;
	int err, used = 0;

	snprintf(request, sizeof(request), c->id ? "timesync %u %u %u" :
		 "timesync %u", c->number, c->id, c->call);
	err = tsct_control_request(c->path, request, answer_limit(until), &answer, NULL, NULL);
	if (err)
		return explain_connection(c, err);
	/* The daemon's answer to "timesync": "STATE NUMBER", or "waiting NUMBER NODES": NUMBER is
	 * the daemon's number of the collective, NODES are the missing nodes. "unknown 0": the
	 * daemon does not know this participant. */
	answer[strcspn(answer, "\n")] = '\0';
	if (sscanf(answer, "%15s %u %n", state, &number, &used) != 2) {
		err = explain_answer(c, answer);
	} else if (!strcmp(state, "unknown")) {
		err = join_again(c, until);
		err = err ? err : 1;
	} else {
		strcpy(c->state, state);
		c->number = number;
		snprintf(c->missing, sizeof(c->missing), "%s",
			 !strcmp(state, "waiting") ? answer + used : "");
	}
	free(answer);
	return err;
}

/* Sends one request. Returns 0: synchronized, 1: not yet, or -errno. */
static int poll_once(struct collective *c, __s64 until)
{
	char before[sizeof(c->state)];
	int err;

	memcpy(before, c->state, sizeof(before));
	err = request_state(c, until);
	if (err < 0)
		return err;
	/*
	 * The daemon was restarted during the session, and waits for calls on all nodes
	 * again. But programs on other nodes do not call tsct_timesync() again.
	 */
	if (!strcmp(before, "session") && !strcmp(c->state, "waiting"))
		return explain(c, -ECONNRESET, "all nodes have called, but tsctraced "
			       "was restarted before the synchronization was "
			       "complete; call tsct_timesync() on all nodes again");
	if (!err && !strcmp(c->state, "done"))
		return explain(c, 0, "%s", "");
	if (tsct_monotonic_ns() < until)
		return 1;
	if (err)
		return -ETIMEDOUT;	/* request_state() wrote the reason to `why` */
	if (!strcmp(c->state, "session"))
		return explain(c, -ETIMEDOUT, "all nodes have called, but the "
			       "synchronization is not complete yet; use a longer "
			       "timeout");
	return explain(c, -ETIMEDOUT, "not all nodes have called tsct_timesync(): %s %s missing",
		       c->missing, strchr(c->missing, ',') ? "are" : "is");
}

/* Waits before the next request, after a request that returned 1. Returns 1 or -errno. */
static int pause_call(struct collective *c)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };

	return nanosleep(&pause, NULL) ?
		explain(c, -EINTR, "the call was interrupted by a signal") : 1;
}

int tsct_timesync(int timeout_ms, char *why, size_t size)
{
	__s64 until = timeout_ms < 0 ? INT64_MAX :
		tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct collective c = { .why = why, .size = size };
	int err = set_path(&c);

	if (err)
		return err;
	do
		err = begin_call(&c, until);
	while (err > 0 && tsct_monotonic_ns() < until &&
	       (err = pause_call(&c)) > 0);
	if (err)
		return err > 0 ? -ETIMEDOUT : err;
	do
		err = poll_once(&c, until);
	while (err > 0 && (err = pause_call(&c)) > 0);
	end_call(&c);
	return err;
}
