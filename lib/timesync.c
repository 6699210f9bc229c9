// SPDX-License-Identifier: MIT
/*
 * tsct_timesync(): the daemon does the work, we wait for it. What is asked and
 * answered, the head of daemon/peer_barrier.c says.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tsctrace/tsctrace.h>

#include "ask.h"
#include "clockpage.h"
#include "now.h"

#define LOOK_NS		20000000L	/* from one question to the next */

struct waiting {
	char path[256];
	char state[16];			/* waiting, session, done */
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

static int ask(struct waiting *w)
{
	char request[32], *answer;
	size_t len;
	int err;

	snprintf(request, sizeof(request), "timesync %u", w->number);
	err = tsct_control_ask(w->path, request, &answer, &len);
	if (err == -ECONNREFUSED)
		err = -ENOENT;
	if (err)
		return explain(w, err, "%s: %s", w->path, err == -ENOENT ?
			       "no daemon is there; start tsctraced" :
			       strerror(-err));
	err = understand(w, answer);
	free(answer);
	return err;
}

static int give_up(struct waiting *w)
{
	if (!strcmp(w->state, "session"))
		return explain(w, -ETIMEDOUT, "all have called, but the session is"
			       " not over yet");
	return explain(w, -ETIMEDOUT, "not all have called: %s %s missing",
		       w->missing, strchr(w->missing, ',') ? "are" : "is");
}

int tsct_timesync(int timeout_ms, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	__s64 until = tsct_now_ns() + timeout_ms * 1000000LL;
	struct waiting w = { .why = why, .size = size };
	int err;

	if (size)
		*why = '\0';
	if ((size_t)snprintf(w.path, sizeof(w.path), "%s/" TSCT_CONTROL_SOCKET,
			     tsct_run_dir()) >= sizeof(w.path))
		return explain(&w, -ENAMETOOLONG, "%s: too long; set "
			       "$TSCTRACE_RUN_DIR to tsctraced's --run-dir",
			       tsct_run_dir());
	for (;;) {
		err = ask(&w);
		if (err)
			return err;
		if (!strcmp(w.state, "done"))
			return 0;
		if (timeout_ms >= 0 && tsct_now_ns() >= until)
			return give_up(&w);
		if (nanosleep(&pause, NULL))
			return explain(&w, -EINTR, "interrupted by a signal");
	}
}
