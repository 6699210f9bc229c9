// SPDX-License-Identifier: MIT
/*
 * tsct_timesync(): waits until the daemon has synchronized. Requests and answers are
 * described in daemon/sync/collective.c. As the daemon may be restarted meanwhile, each
 * request repeats the number that the first answer gave to this collective.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#include "control_client.h"
#include "gettime.h"

#define POLL_NS		20000000L	/* time between two requests */
/* time limit of an answer, also if the caller's timeout is shorter */
#define ANSWER_NS	1000000000LL

struct collective {
	char path[256];
	char state[16];			/* state in the last answer: waiting, session or
					 * done; "": no answer yet */
	/* the daemon's number of this collective; 0: not known yet */
	unsigned int number;
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

/* Gets an answer. Returns 0; 1: none, but a later request may get one; or -errno. */
static int request_state(struct collective *c, __s64 until)
{
	const __s64 answer_until = tsct_monotonic_ns() + ANSWER_NS;
	const size_t error_len = strlen(TSCT_CONTROL_ERROR);
	char request[32], *answer;
	int err, used = 0;
	size_t len;

	snprintf(request, sizeof(request), "timesync %u", c->number);
	err = tsct_control_request_until(c->path, request,
					 until > answer_until ? until : answer_until,
					 &answer, &len);
	if (err == -ECONNREFUSED)
		err = -ENOENT;
	if (err) {
		explain(c, err, "%s: %s", c->path, err == -ENOENT ?
			"no daemon; start tsctraced" :
			err == -ETIMEDOUT ? "no answer; is tsctraced stopped?" :
			strerror(-err));
		/*
		 * The daemon may have no room for the connection, be stopped, or, after
		 * its first answer, be restarting.
		 */
		return err == -ECONNRESET || err == -EPIPE || err == -ETIMEDOUT ||
			(err == -ENOENT && *c->state) ? 1 : err;
	}
	/* The answer to "timesync": "STATE NUMBER", or "waiting NUMBER MISSING-NODES".
	 * NUMBER is the daemon's number of the collective. */
	answer[strcspn(answer, "\n")] = '\0';
	if (!strncmp(answer, TSCT_CONTROL_ERROR, error_len))
		err = explain(c, -EOPNOTSUPP, "%s: %s", c->path, answer + error_len);
	else if (sscanf(answer, "%15s %u %n", c->state, &c->number, &used) != 2)
		err = explain(c, -EPROTO, "%s: invalid answer: %.64s; use library "
			      "and tsctraced of one release", c->path, answer);
	else
		snprintf(c->missing, sizeof(c->missing), "%s",
			 !strcmp(c->state, "waiting") ? answer + used : "");
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
	 * again: in vain, as programs on other nodes do not call tsct_timesync() again.
	 */
	if (!strcmp(before, "session") && !strcmp(c->state, "waiting"))
		return explain(c, -ECONNRESET, "all nodes have called, but tsctraced "
			       "was restarted before the synchronization was "
			       "complete");
	if (!err && !strcmp(c->state, "done"))
		return explain(c, 0, "%s", "");
	if (tsct_monotonic_ns() < until)
		return 1;
	if (err)
		return -ETIMEDOUT;	/* request_state() wrote the reason to `why` */
	if (!strcmp(c->state, "session"))
		return explain(c, -ETIMEDOUT, "all nodes have called, but the "
			       "synchronization is not complete yet");
	return explain(c, -ETIMEDOUT, "not all nodes have called: %s %s missing",
		       c->missing, strchr(c->missing, ',') ? "are" : "is");
}

int tsct_timesync(int timeout_ms, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	__s64 until = timeout_ms < 0 ? INT64_MAX :
		tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct collective c = { .why = why, .size = size };
	int err;

	if ((size_t)snprintf(c.path, sizeof(c.path), "%s/" TSCT_CONTROL_SOCKET,
			     tsct_run_dir()) >= sizeof(c.path))
		return explain(&c, -ENAMETOOLONG, "%s: too long; set "
			       "$TSCTRACE_RUN_DIR to tsctraced's --run-dir",
			       tsct_run_dir());
	for (;;) {
		err = poll_once(&c, until);
		if (err <= 0)
			return err;
		if (nanosleep(&pause, NULL))
			return explain(&c, -EINTR, "interrupted by a signal");
	}
}
