// SPDX-License-Identifier: MIT
/*
 * tsct_timesync(): the daemon does the work, we wait for it. What is asked and
 * answered, the head of daemon/sync/collective.c says. A daemon that was there may go
 * and come back: it is told the number that the one before it gave us.
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
#include "lib/clock/clock_page.h"
#include "gettime.h"

#define LOOK_NS		20000000L	/* from one question to the next */
#define ASK_NS		1000000000LL	/* for an answer, whatever the timeout */

struct waiting {
	char path[256];
	char state[16];			/* waiting, session, done; "": no answer yet */
	unsigned int number;		/* of the collective; 0: not told yet */
	char missing[1024];
	char *why;
	size_t size;
};

__attribute__((format(printf, 3, 4)))
static int explain(struct waiting *w, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(w->why, w->size, format, args);
	va_end(args);
	return err;
}

/* An answer: a word, a number, and names where it is "waiting". */
static int understand(struct waiting *w, char *answer)
{
	const size_t error_len = strlen(TSCT_CONTROL_ERROR);
	int used = 0;

	answer[strcspn(answer, "\n")] = '\0';
	if (!strncmp(answer, TSCT_CONTROL_ERROR, error_len))
		return explain(w, -EOPNOTSUPP, "%s: %s", w->path,
			       answer + error_len);
	if (sscanf(answer, "%15s %u %n", w->state, &w->number, &used) != 2)
		return explain(w, -EPROTO, "%s: not understood: %.64s; is "
			       "tsctraced of another version?", w->path, answer);
	snprintf(w->missing, sizeof(w->missing), "%s",
		 !strcmp(w->state, "waiting") ? answer + used : "");
	return 0;
}

/*
 * It had no room for us and hung up, has stopped for a while, or is being restarted.
 * That there is one at all, the first answer shows.
 */
static bool may_pass(const struct waiting *w, int err)
{
	return err == -ECONNRESET || err == -EPIPE || err == -ETIMEDOUT ||
		(err == -ENOENT && *w->state);
}

/* 1: it did not answer, and may do so when it is asked again. */
static int ask(struct waiting *w, __s64 until)
{
	char request[32], *answer;
	__s64 patience = tsct_monotonic_ns() + ASK_NS;
	size_t len;
	int err;

	snprintf(request, sizeof(request), "timesync %u", w->number);
	err = tsct_control_request_until(w->path, request,
				     until > patience ? until : patience,
				     &answer, &len);
	if (err == -ECONNREFUSED)
		err = -ENOENT;
	if (err) {
		explain(w, err, "%s: %s", w->path, err == -ENOENT ?
			"no daemon is there; start tsctraced" :
			err == -ETIMEDOUT ? "no answer; is tsctraced stopped?" :
			strerror(-err));
		return may_pass(w, err) ? 1 : err;
	}
	err = understand(w, answer);
	free(answer);
	return err;
}

/* Who was in the session has called; a daemon that knows nothing of it is new. */
static bool was_cut(const char *before, const struct waiting *w)
{
	return !strcmp(before, "session") && !strcmp(w->state, "waiting");
}

static int give_up(struct waiting *w, int err)
{
	if (err)
		return -ETIMEDOUT;	/* why is said already */
	if (!strcmp(w->state, "session"))
		return explain(w, -ETIMEDOUT, "all have called, but the session is"
			       " not over yet");
	return explain(w, -ETIMEDOUT, "not all have called: %s %s missing",
		       w->missing, strchr(w->missing, ',') ? "are" : "is");
}

/* 0, a negative errno, or 1: not yet */
static int look(struct waiting *w, __s64 until)
{
	char before[sizeof(w->state)];
	int err;

	memcpy(before, w->state, sizeof(before));
	err = ask(w, until);
	if (err < 0)
		return err;
	if (was_cut(before, w))
		return explain(w, -ECONNRESET, "all have called, but tsctraced "
			       "was restarted before the session was over");
	if (!err && !strcmp(w->state, "done"))
		return explain(w, 0, "%s", "");
	return tsct_monotonic_ns() >= until ? give_up(w, err) : 1;
}

int tsct_timesync(int timeout_ms, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	__s64 until = timeout_ms < 0 ? INT64_MAX :
		tsct_monotonic_ns() + timeout_ms * 1000000LL;
	struct waiting w = { .why = why, .size = size };
	int err;

	if ((size_t)snprintf(w.path, sizeof(w.path), "%s/" TSCT_CONTROL_SOCKET,
			     tsct_run_dir()) >= sizeof(w.path))
		return explain(&w, -ENAMETOOLONG, "%s: too long; set "
			       "$TSCTRACE_RUN_DIR to tsctraced's --run-dir",
			       tsct_run_dir());
	for (;;) {
		err = look(&w, until);
		if (err <= 0)
			return err;
		if (nanosleep(&pause, NULL))
			return explain(&w, -EINTR, "interrupted by a signal");
	}
}
