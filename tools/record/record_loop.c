// SPDX-License-Identifier: MIT
/* The main loop of a recording: draining, sleeping, periodic work, the end */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd_record.h"
#include "lib/client/channel_admin.h"
#include "lib/client/gettime.h"

#define IDLE_US		5000	/* sleep between passes over idle rings, */
#define BUSY_US		1000	/* and up to BUSY_NS after the last event */
#define BUSY_NS		100000000LL
#define MANY_EVENTS	4096	/* in a pass: no sleep before the next */
#define FLIGHT_US	50000	/* a flight recorder drains only at the end */
#define KERNEL_MS	50	/* poll() limit, for the periodic work */
#define FLUSH_NS	1000000000LL
#define PROGRESS_NS	200000000LL	/* interval of the progress line on a
					 * terminal; elsewhere FLUSH_NS */
#define WATCH_NS	100000000LL	/* between checks of the provider */

/*
 * Without a command, a signal or --duration ends the recording. With one, the first
 * signal is for the command, and the recording ends when the command does; the
 * second signal ends the recording even if the command still runs.
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

/*
 * The module's device wakes poll() at a watermark; the rings of a server do not,
 * and have to be polled at intervals.
 */
struct ring_waiter {
	bool by_kernel, flight;
	struct pollfd fds[RECORD_CHANNELS];
	unsigned int nr;
	__s64 last_event_ns;	/* CLOCK_MONOTONIC: the last pass with events */
};

/* Sets the watermark of the module's rings to a quarter of their size. */
static void open_waiter(struct ring_waiter *waiter, const struct record_session *s)
{
	const struct tsct_channel_header *header;
	unsigned int i;

	*waiter = (struct ring_waiter) { .by_kernel = true, .nr = s->nr_channels,
				      .flight = s->o->flight };
	if (waiter->flight)
		return;
	for (i = 0; i < s->nr_channels; i++) {
		header = tsct_channel_info(s->channels[i]);
		waiter->fds[i].fd = tsct_channel_fd(s->channels[i]);
		waiter->fds[i].events = POLLIN;
		if (tsct_channel_provider(s->channels[i]) != TSCT_PROVIDER_MODULE ||
		    tsct_reader_watermark(tsct_drain_reader(s->drains[i]),
					  header->data_size / 4))
			waiter->by_kernel = false;
	}
}

/* A signal ends the sleep; one just before it is noticed after the sleep. */
static void wait_for_events(struct ring_waiter *waiter, __u64 taken)
{
	const __s64 now = tsct_monotonic_ns();
	unsigned int i;

	if (taken)
		waiter->last_event_ns = now;
	if (taken >= MANY_EVENTS)
		return;
	if (waiter->flight) {
		usleep(FLIGHT_US);
		return;
	}
	if (!waiter->by_kernel) {
		usleep(now - waiter->last_event_ns < BUSY_NS ? BUSY_US : IDLE_US);
		return;
	}
	if (poll(waiter->fds, waiter->nr, KERNEL_MS) <= 0)
		return;
	for (i = 0; i < waiter->nr; i++)
		if (waiter->fds[i].revents & ~POLLIN)
			waiter->by_kernel = false;
}

/* ---- the loop ---------------------------------------------------------- */

struct periodic_work {
	bool tty;
	__s64 written, shown, watched;	/* last times, CLOCK_MONOTONIC ns */
};

/* Work at intervals, which would cost too many system calls in each pass */
static int do_periodic_work(struct record_session *s, struct periodic_work *last)
{
	const __s64 now = tsct_monotonic_ns();
	struct tsct_time time;
	int err = 0;

	if (now - last->watched >= WATCH_NS) {
		record_session_watch(s);
		record_clock_follow(s);
		last->watched = now;
	}
	record_sync_poll(s, now);
	if (!s->writer)
		return 0;
	if (now - last->written >= FLUSH_NS) {
		/* An in-process clock takes its samples in this call. */
		tsct_clock_now(s->clock, &time);
		record_clock_renew(s);
		err = tsct_writer_flush(s->writer);
		last->written = now;
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
	struct periodic_work last = { isatty(STDERR_FILENO), begin, begin, begin };
	struct ring_waiter waiter;
	__u64 taken = 0;
	int err = 0;

	open_waiter(&waiter, s);
	while (!err && !is_over(child, end)) {
		if (!s->o->flight)
			err = record_session_pass(s, UINT64_MAX, &taken);
		if (!err)
			err = do_periodic_work(s, &last);
		if (!err)
			wait_for_events(&waiter, taken);
	}
	if (s->writer)
		record_show_progress(s, true);
	return err;
}

void record_loop_await(struct record_child *child, bool signalled)
{
	__s64 end = tsct_monotonic_ns() +
		(signalled ? 2000000000LL : INT64_MAX / 2);

	while (child->running && record_interrupts < 2 && tsct_monotonic_ns() < end) {
		usleep(10000);
		if (record_forward) {
			kill(child->pid, record_forward);
			record_forward = 0;
		}
		record_child_reap(child);
	}
}
