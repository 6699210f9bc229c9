// SPDX-License-Identifier: MIT
/* While it is recorded: when to look, when to sleep, when it is over. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/channel_admin.h"
#include "lib/client/gettime.h"

#define IDLE_US		5000	/* between looks at rings that are quiet */
#define BUSY_US		1000	/* and at rings that were filled just now */
#define BUSY_NS		100000000LL
#define MANY		4096	/* events in a look: no sleep before the next */
#define FLIGHT_US	50000	/* nothing is taken before the end */
#define KERNEL_MS	50	/* the module wakes us; we have more to look at */
#define FLUSH_NS	1000000000LL
#define PROGRESS_NS	200000000LL	/* on a terminal; else as often as flushed */
#define WATCH_NS	100000000LL	/* is who serves the rings still there? */

/*
 * With a command: the first signal is the command's affair, which then ends;
 * the second ends the recording, whatever the command does.
 */
static bool is_over(struct record_child *child, __s64 end_ns)
{
	bool timeout = tsct_monotonic_ns() >= end_ns;

	if (record_children) {
		record_children = 0;
		record_child_reap(child);
	}
	if (!child->pid)
		return record_interrupts || timeout;
	if (record_forward && child->running) {
		kill(child->pid, record_forward);
		record_forward = 0;
	}
	if (timeout && child->running)
		kill(child->pid, SIGTERM);
	return !child->running || record_interrupts > 1 || timeout;
}

/* ---- sleeping ---------------------------------------------------------- */

/* Who wakes us: the module looks at its rings itself, a socket's nobody does. */
struct sleeper {
	bool by_kernel, flight;
	struct pollfd fds[RECORD_CHANNELS];
	unsigned int nr;
	__s64 busy;		/* when something was taken last */
};

/* A quarter of one ring is early enough; a ring half full ends a sleep, too. */
static void open_sleeper(struct sleeper *sleeper, const struct record_session *s)
{
	const struct tsct_channel_header *header;
	unsigned int i;

	*sleeper = (struct sleeper) { .by_kernel = true, .nr = s->nr_channels,
				      .flight = s->o->flight };
	if (sleeper->flight)
		return;
	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		sleeper->fds[i].fd = tsct_channel_fd(s->channels[i]);
		sleeper->fds[i].events = POLLIN;
		if (tsct_channel_provider(s->channels[i]) != TSCT_PROVIDER_MODULE ||
		    tsct_reader_watermark(tsct_drain_reader(s->drains[i]),
					  header->data_size / 4))
			sleeper->by_kernel = false;
	}
}

/* A signal ends it; one that comes right before it waits for its end. */
static void sleep_some(struct sleeper *sleeper, __u64 taken)
{
	const __s64 now = tsct_monotonic_ns();
	unsigned int i;

	if (taken)
		sleeper->busy = now;
	if (taken >= MANY)
		return;
	if (sleeper->flight) {
		usleep(FLIGHT_US);
		return;
	}
	if (!sleeper->by_kernel) {
		usleep(now - sleeper->busy < BUSY_NS ? BUSY_US : IDLE_US);
		return;
	}
	if (poll(sleeper->fds, sleeper->nr, KERNEL_MS) <= 0)
		return;
	for (i = 0; i < sleeper->nr; i++)
		if (sleeper->fds[i].revents & ~POLLIN)
			sleeper->by_kernel = false;
}

/* ---- the loop ---------------------------------------------------------- */

struct beat {
	bool tty;
	__s64 flushed, shown, watched;
};

/* What is done now and then: passes are many, and system calls are not free. */
static int beat(struct record_session *s, struct beat *last)
{
	const __s64 now = tsct_monotonic_ns();
	struct tsct_time time;
	int err = 0;

	if (now - last->watched >= WATCH_NS) {
		record_session_watch(s);
		record_clock_follow(s);
		last->watched = now;
	}
	record_sync_beat(s, now);
	if (!s->writer)
		return 0;
	if (now - last->flushed >= FLUSH_NS) {
		/* One of our own looks at the system's clock when it is asked. */
		tsct_clock_now(s->clock, &time);
		record_clock_renew(s);
		err = tsct_writer_flush(s->writer);
		last->flushed = now;
	}
	if (now - last->shown >= (last->tty ? PROGRESS_NS : FLUSH_NS)) {
		record_show_progress(s, false);
		last->shown = now;
	}
	return err;
}

int record_loop(struct record_session *s, struct record_child *child)
{
	const __s64 begin = tsct_monotonic_ns();
	const __s64 end = s->o->duration_s > 0 ?
		begin + (__s64)(s->o->duration_s * 1e9) : INT64_MAX;
	struct beat last = { isatty(STDERR_FILENO), begin, begin, begin };
	struct sleeper sleeper;
	__u64 taken = 0;
	int err = 0;

	open_sleeper(&sleeper, s);
	while (!err && !is_over(child, end)) {
		if (!s->o->flight)
			err = record_session_pass(s, UINT64_MAX, &taken);
		if (!err)
			err = beat(s, &last);
		if (!err)
			sleep_some(&sleeper, taken);
	}
	if (s->writer)
		record_show_progress(s, true);
	return err;
}

void record_loop_await(struct record_child *child, bool told)
{
	__s64 end = tsct_monotonic_ns() + (told ? 2000000000LL : INT64_MAX / 2);

	while (child->running && record_interrupts < 2 && tsct_monotonic_ns() < end) {
		usleep(10000);
		if (record_forward) {
			kill(child->pid, record_forward);
			record_forward = 0;
		}
		record_child_reap(child);
	}
}
