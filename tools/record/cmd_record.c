// SPDX-License-Identifier: MIT
/* trace-ctl record: the main loop, and the steps from start to summary */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/common/cmd.h"
#include "cmd_record.h"
#include "lib/client/channel_admin.h"
#include "lib/client/gettime.h"
#include "record_child.h"
#include "record_mpi.h"
#include "record_statedump.h"
#include "record_sync.h"
#include "tools/common/prerequisites.h"
#include "tools/common/error.h"
#include "tools/common/stop.h"

#define IDLE_US		5000	/* sleep between passes over rings without events, us */
/* sleep between passes over the rings if there were events in the last BUSY_NS, us */
#define BUSY_US		1000
#define BUSY_NS		100000000LL
/* the recorder does not sleep after a pass with at least this number of events */
#define MANY_EVENTS	4096
/* sleep of a flight recorder, which drains the rings only at the end, us */
#define FLIGHT_US	50000
#define KERNEL_MS	50	/* timeout of poll(), which lets the periodic work run, ms */
/* time between flushes of the files, ns; more if --sync-every permits longer packets */
#define FLUSH_NS	1000000000LL
#define LIVE_NS		100000000LL	/* time between flushes of the files with --live, ns */
#define RENEW_NS	1000000000LL	/* time between updates of the clock's state, ns */
/* time between progress lines on a terminal, ns; elsewhere FLUSH_NS */
#define PROGRESS_NS	200000000LL
#define WATCH_NS	100000000LL	/* time between checks whether tsctraced has ended, ns */

/* ---- main loop --------------------------------------------------------- */

/* Forwards to the command a signal that another process sent to the recorder. A signal of
 * the terminal (Ctrl-C) is not forwarded: the terminal sends it to the command, too. */
static void forward_signal(const struct record_child *child)
{
	if (stop_sent && child->running) {
		kill(child->pid, stop_sent);
		stop_sent = 0;
	}
}

/*
 * Returns true if the recording must end. Without a command, a signal or --duration ends
 * it. With a command, the first signal is forwarded to the command, and the recording
 * ends with the command; a second signal ends the recording even if the command still
 * runs. If another process controls the recorder, as for a recording of several nodes, the
 * recording goes on after the command's end until that process ends it. With --ranks, the
 * recording goes on until the last rank of this host has ended; the launcher ends all ranks.
 */
static bool is_over(struct record_child *child, __s64 end_ns, const struct record_options *o)
{
	bool timeout = tsct_monotonic_ns() >= end_ns;

	if (record_child_ended) {
		record_child_ended = 0;
		record_child_reap(child);
	}
	if (!child->pid)
		return stop_signals || timeout;
	forward_signal(child);
	if (timeout && child->running)
		kill(child->pid, SIGTERM);
	if (o->control)
		return stop_signals && (!child->running || child->gate >= 0 || stop_signals > 1);
	return (!child->running && !(o->ranks && record_ranks_running(o->ranks, child->status))) ||
		(stop_signals > 1 && !o->ranks) || timeout;
}

/* State of the wait for events. Rings of kernel events wake poll() at their watermark. Rings that
 * programs write do not wake poll(), so the recorder checks these rings at intervals. */
struct ring_waiter {
	bool by_kernel;
	struct pollfd fds[RECORD_CHANNELS];
	unsigned int nr;
	__s64 last_event_ns;	/* CLOCK_MONOTONIC of the last pass with events */
};

/* Sleeps until events may have been written, or a signal comes. */
static void wait_for_events(struct ring_waiter *waiter, __u64 taken)
{
	const __s64 now = tsct_monotonic_ns();
	unsigned int i;

	if (taken)
		waiter->last_event_ns = now;
	if (taken >= MANY_EVENTS)
		return;
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

struct periodic_work {
	bool tty;
	__s64 flush_ns;		/* time between flushes of the files, ns */
	/* CLOCK_MONOTONIC of the last flush, progress line, check of the provider, and update
	 * of the clock's state */
	__s64 written, shown, watched, renewed;
};

/* Does the work that would need too many system calls in every pass over the rings, if it is due.
 * Returns 0, or -errno of a write. */
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
	if (now - last->renewed >= RENEW_NS) {
		/* A clock that runs in this process takes its samples in this call. */
		tsct_clock_now(s->clock, &time);
		record_clock_renew(s);
		last->renewed = now;
	}
	if (now - last->written >= last->flush_ns) {
		err = tsct_recording_writer_flush(s->writer);
		last->written = now;
	}
	if (now - last->shown >= (last->tty ? PROGRESS_NS : FLUSH_NS)) {
		record_show_progress(s, false);
		last->shown = now;
	}
	return err;
}

/* Drains the rings until the recording must end. Returns 0, or -errno of a write. */
static int run_loop(struct record_session *s, struct record_child *child)
{
	const __s64 begin = tsct_monotonic_ns();
	const __s64 end = s->o->duration_s > 0 ?
		begin + (__s64)(s->o->duration_s * 1e9) : INT64_MAX;
	const __s64 limit_ns = (__s64)s->o->sync_every.ns;
	struct periodic_work last = {
		.tty = isatty(STDERR_FILENO),
		.flush_ns = s->o->live ? LIVE_NS : limit_ns > FLUSH_NS ? limit_ns : FLUSH_NS,
		.written = begin, .shown = begin, .watched = begin, .renewed = begin,
	};
	struct ring_waiter waiter = { .by_kernel = true, .nr = s->nr_channels };
	const struct tsct_channel *channel;
	__u64 taken = 0;
	unsigned int i;
	int err = 0;
	bool more;		/* records are left in the statedump's ring buffer */

	if (!s->o->flight)
		record_priority_raise();
	if (s->o->live && s->writer)
		tsct_recording_writer_idle_progress(s->writer);
	/* Make the module wake poll() when a quarter of a ring is full. */
	for (i = 0; !s->o->flight && i < s->nr_channels; i++) {
		channel = s->channels[i];
		waiter.fds[i].fd = tsct_channel_fd(channel);
		waiter.fds[i].events = POLLIN;
		if (tsct_channel_provider(channel) != TSCT_PROVIDER_MODULE ||
		    !(tsct_channel_info(channel)->flags & TSCT_CHANNEL_KERNEL) ||
		    tsct_reader_watermark(tsct_drain_reader(s->drains[i]),
					  tsct_channel_info(channel)->data_size / 4))
			waiter.by_kernel = false;
	}
	while (!err && !is_over(child, end, s->o)) {
		if (s->source)
			err = record_kernel_pump(s);
		if (!err && !s->o->flight)
			err = tsct_drains_pass(s->drains, s->nr_channels, UINT64_MAX, &taken);
		more = record_statedump_pass(s, taken < MANY_EVENTS, false);
		if (s->o->control)
			record_control_poll(s, child);
		if (!err)
			err = do_periodic_work(s, &last);
		if (!err && !more && s->o->flight)
			usleep(FLIGHT_US);
		else if (!err && !more)
			wait_for_events(&waiter, taken);
		if (child->running && (!taken || record_child_ended))
			record_child_look(s, child->pid);
	}
	if (s->writer)
		record_show_progress(s, true);
	return err;
}

/* ---- from start to summary ----------------------------------------------- */

/* Checks command, output directory and kernel events before any file is created. Prints the
 * first error. *ret_path: the command's file, malloc'ed. Returns the exit status. */
static int check_prerequisites(struct record_options *o, char **ret_path)
{
	const char *only = getenv("TSCTRACE_PROVIDER"), *why;

	if (o->command) {
		*ret_path = record_child_find(o->command[0]);
		if (!*ret_path)
			return EXIT_FAILED;
	}
	if ((o->mpi || o->by_ranks) && !record_mpi_prepare)
		return ctl_fail(EXIT_FAILED, "--mpi and --ranks: " TSCT_WING_MISSING("mpi"));
	if (o->stacks && !record_stacks_open)
		return ctl_fail(EXIT_FAILED, "--stack: " TSCT_WING_MISSING("stacks"));
	if ((o->by_ranks && record_ranks_start(o, *ret_path)) || record_dir_check(o->dir))
		return EXIT_FAILED;
	why = o->nr_events ? prerequisites_check() : NULL;
	if (o->nr_events && !why && only && !strcmp(only, "module"))
		why = prerequisites_check_module(o->events, o->nr_events);
	return why ? ctl_fail(EXIT_FAILED, "kernel events: %s", why) : EXIT_DONE;
}

static int finish_recording(struct record_session *s, struct record_child *child, int err)
{
	int err2 = record_session_end(s), ret;
	__s64 end;

	if (!err)
		err = err2;
	if (!s->writer)		/* record_session_end() has printed the error */
		return EXIT_FAILED;
	/* If the recording writer has no error, all events are written, but not the final
	 * metadata: the file still says that the recording is incomplete. */
	if (err && !tsct_recording_writer_error(s->writer))
		ctl_error("%s: %s; all events are written, but the metadata"
			     " is incomplete: readers report a killed recorder,"
			     " and merge needs --salvage; %s", s->dir,
			     strerror(-err), record_dir_fix(err));
	else if (err)
		ctl_error("%s: %s; the recording ends here, the events"
			     " written so far are readable; %s%s", s->dir,
			     strerror(-err), record_dir_fix(err),
			     child->running ? "; waiting for the command" : "");
	/*
	 * If the command still runs, wait until it ends or a second signal comes:
	 * without limit after a write error, else at most 2 s (--duration sends SIGTERM
	 * to the command at its end).
	 */
	end = tsct_monotonic_ns() + (err ? INT64_MAX / 2 : 2000000000LL);
	while (child->running && stop_signals < 2 && tsct_monotonic_ns() < end) {
		usleep(10000);
		if (s->o->control)
			record_control_poll(s, child);
		forward_signal(child);
		record_child_reap(child);
	}
	if (s->embedded)
		tsct_server_unread(s->server, &s->unread);
	ret = record_show_summary(s, child->pid ? child : NULL);
	if (err)
		return EXIT_FAILED;
	if (!s->o->pass_status || !child->pid || child->running || ret != EXIT_DONE)
		return ret;
	return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) :
		WEXITSTATUS(child->status);
}

static int run_recording(struct record_session *s, struct record_child *child,
			 const char *path, char **command)
{
	int err;

	/* Fetch sync samples and run the sync session before the recording's directory
	 * and the command's process exist, so that an error needs to undo neither. */
	if (record_sync_open(s) || record_sync_start(s) ||
	    (s->o->ranks && record_ranks_await(s->o->ranks)))
		return EXIT_FAILED;
	if (command) {
		child->group = s->o->group;
		err = record_child_hold(child, path, command);
		if (err)
			return ctl_fail(EXIT_FAILED, "%s: %s", command[0], strerror(-err));
	}
	if (record_session_begin(s, child->pid)) {
		record_session_undo(s);
		return EXIT_FAILED;
	}
	if (s->o->control) {
		record_control_send(s->o->control, json_pack("{ss sI}", "type", "ready",
			"recording", (json_int_t)tsct_recording_id(s->rec.uuid)));
		err = run_loop(s, child);
		record_child_drop(child);
		return finish_recording(s, child, err);
	}
	if (!command)
		return finish_recording(s, child, run_loop(s, child));
	err = s->o->ranks ? record_ranks_release(s->o->ranks) : 0;
	if (!err)
		err = record_child_release(child);
	if (err) {
		ctl_error("%s: %s; %s", command[0], strerror(-err),
				err == -ENOENT ? "check that its interpreter exists" :
				"check the file");
		record_session_undo(s);
		return EXIT_FAILED;
	}
	return finish_recording(s, child, run_loop(s, child));
}

static int cmd_record(int argc, char **argv)
{
	struct record_child child = { .gate = -1, .exec_error = -1 };
	struct record_options o = { 0 };
	struct record_session session;
	char *path = NULL;
	int ret, request;

	o.events = calloc(argc + 1, sizeof(*o.events));
	o.channels = calloc(argc + 1, sizeof(*o.channels));
	if (!o.events || !o.channels)
		return EXIT_FAILED;
	ret = record_options_parse(argc, argv, &o) ? EXIT_USAGE : check_prerequisites(&o, &path);
	if (!ret) {
		record_signals_catch();
		ret = EXIT_FAILED;
		if (!record_session_open(&session, &o))
			ret = run_recording(&session, &child, path, o.command);
		record_child_drop(&child);
		record_session_close(&session);
	}
	if (o.ranks)
		record_ranks_close(o.ranks);
	if (o.control)
		record_control_close(o.control);
	free(path);
	free(o.events);
	free(o.pids);
	free(o.where);
	for (request = 0; request < TSCT_REQUEST_NR; request++)
		free(o.requests[request].at);
	free(o.cpus.range);
	free(o.channels);
	return ret;
}

COMMAND(120, record, "record events while a command runs, or until interrupted");
