// SPDX-License-Identifier: MIT
/*
 * The daemon's event loop. It blocks in ppoll() only, with two exceptions. A calibration
 * (at the start, and after a disruption) sleeps for 15 ms. If the kernel's clocksource is
 * not the TSC, the choice of the counter at the start compares the TSCs of all CPUs, which
 * takes two seconds at most.
 *
 * The network's sockets are not in the epoll set: epoll's callback would
 * run in each send, between the two transmit timestamps, and would take
 * longer for requests than for answers.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "daemon/control/control_socket.h"
#include "lib/clockpage/latch.h"
#include "daemon/config/log.h"
#include "tsctraced.h"
#include "lib/client/gettime.h"
#include "daemon/sync/peers.h"
#include "lib/provider/server.h"
#include "daemon/config/run_dir.h"

/* Kinds of descriptors in the epoll set */
enum event_kind {
	EVENT_CLOCK_SET,
	EVENT_SIGNAL,
	EVENT_SERVER,
	EVENT_CONTROL,
	EVENT_MODULE,
	EVENT_SURVEY,
};

struct loop {
	struct timekeeper *timekeeper;
	struct platform *platform;
	struct tsct_server *server;
	struct control *control;
	struct peers *peers;
	struct kernel_events module_events;
	int interval_ms;
	struct tick_schedule ticks;
	int epoll, signals;
	bool has_supervisor;		/* true: systemd, or another program,
					 * receives the messages of sd_notify() */
	bool stop;
};

/* Adds @fd to the epoll set. If @fd is -1, creating the descriptor
 * failed: returns -errno. */
static int watch_fd(struct loop *loop, int fd, enum event_kind kind)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = kind };

	if (fd < 0)
		return -errno;
	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- timekeeper ticks --------------------------------------------------- */

/* Schedules the timekeeper's next tick, counted from the present time.
 * Ticks that were missed while the process was stopped are skipped. */
static void schedule_tick(struct loop *loop)
{
	const __s64 ms = timekeeper_wait_ms(loop->timekeeper, loop->interval_ms);

	tick_schedule_ticked(&loop->ticks, tsct_monotonic_ns(), ms * NS_PER_S / 1000);
}

/* Called after each action of the timekeeper. Reports the status to
 * systemd, schedules the next tick, and updates the peers. */
static void timekeeper_acted(struct loop *loop)
{
	char text[256];

	if (loop->has_supervisor) {
		timekeeper_describe(loop->timekeeper, text, sizeof(text));
		sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s", text);
	}
	schedule_tick(loop);
	peers_tick(loop->peers);
}

static void tick_timekeeper(struct loop *loop)
{
	control_tick(loop->control);
	timekeeper_tick(loop->timekeeper);
	timekeeper_acted(loop);
}

static void on_survey(struct loop *loop)
{
	struct cpu_survey_result result;
	int err = platform_take_survey(loop->platform, &result);

	if (err == -EAGAIN)
		return;
	if (err)
		log_warning("survey of the CPUs failed: %s; the previous table "
			    "of skews stays in use", strerror(-err));
	timekeeper_survey_done(loop->timekeeper, err ? NULL : &result);
	timekeeper_acted(loop);
}

/* ---- requests of the control socket ------------------------------------- */

static void print_metrics(void *ctx, FILE *to)
{
	struct loop *loop = ctx;
	const struct platform *platform = loop->platform;
	struct metrics_counts counts = { .module = platform->disruption.last.has_module };
	struct tsct_clock_copy copy;

	if (!metrics_answer) {
		fputs("error: this tsctraced was built without daemon/metrics\n", to);
		return;
	}
	if (platform->file.page &&
	    !tsct_latch_read_copy(platform->file.page, &copy))
		counts.segments = copy.nr_segments;
	tsct_server_count(loop->server, &counts.channels, &counts.bytes);
	metrics_answer(loop->timekeeper, &counts, to);
}

static void fake_disruption(void *ctx, FILE *to)
{
	struct loop *loop = ctx;

	timekeeper_disrupt(loop->timekeeper, TSCT_CAUSE_FAKE,
			   "a fake disruption was requested");
	fprintf(to, "epoch %u began\n", timekeeper_state(loop->timekeeper)->epoch);
	timekeeper_acted(loop);
}

/* ---- signals ------------------------------------------------------------ */

static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			peers_reload(loop->peers);
			continue;
		}
		log_info("stopping: received %s",
			 strsignal((int)info.ssi_signo));
		loop->stop = true;
	}
}

/* ---- the loop ----------------------------------------------------------- */

static void dispatch_event(struct loop *loop, enum event_kind kind)
{
	switch (kind) {
	case EVENT_CLOCK_SET:
		disruption_rearm(&loop->platform->disruption);
		tick_timekeeper(loop);
		return;
	case EVENT_SIGNAL:
		on_signal(loop);
		return;
	case EVENT_SERVER:
		tsct_server_dispatch(loop->server);
		return;
	case EVENT_CONTROL:
		control_dispatch(loop->control);
		return;
	case EVENT_MODULE:
		if (kernel_events_read(&loop->module_events))
			tick_timekeeper(loop);
		return;
	case EVENT_SURVEY:
		on_survey(loop);
		return;
	}
}

/* Publishes the cluster's time without waiting for the next tick, if answers of other
 * nodes, or a new configuration, changed the cluster's time: see peers_urgent(). */
static void publish_urgent(struct loop *loop)
{
	if (!peers_urgent(loop->peers))
		return;
	timekeeper_publish_cluster(loop->timekeeper);
	peers_tick(loop->peers);
}

/* Waits for events, until @until_ns of CLOCK_MONOTONIC at the latest.
 * Returns 0 or -errno; after an error, the events in @fds are not set. */
static int wait_until(__s64 until_ns, struct pollfd *fds, unsigned int nr)
{
	__s64 ns = until_ns - tsct_monotonic_ns();
	struct timespec timeout = { 0 };

	if (ns > 0) {
		timeout.tv_sec = ns / NS_PER_S;
		timeout.tv_nsec = ns % NS_PER_S;
	}
	return ppoll(fds, nr, &timeout, NULL) < 0 ? -errno : 0;
}

/* Waits until an event occurs or a tick is due, and dispatches all events that have
 * occurred. */
static int run_once(struct loop *loop)
{
	struct pollfd fds[1 + PEERS_FDS_MAX];	/* descriptors: epoll set, then network
						 * sockets */
	struct epoll_event events[8];
	__s64 peers_ns, tick_ns = tick_schedule_due(&loop->ticks);
	unsigned int nr, i;
	int got, err;

	fds[0] = (struct pollfd) { .fd = loop->epoll, .events = POLLIN };
	nr = 1 + peers_wants(loop->peers, fds + 1, &peers_ns);
	err = wait_until(peers_ns < tick_ns ? peers_ns : tick_ns, fds, nr);
	if (err)
		return err == -EINTR ? 0 : err;
	/* Handles events of the epoll set before packets, because the
	 * clock may have been set, or the counter disrupted. */
	got = fds[0].revents ? epoll_wait(loop->epoll, events, 8, 0) : 0;
	for (i = 0; (int)i < got; i++)
		dispatch_event(loop, (enum event_kind)events[i].data.u32);
	peers_dispatch(loop->peers, fds + 1);
	for (i = 1; i < nr; i++)
		if (fds[i].revents)
			tick_schedule_packet(&loop->ticks, tsct_monotonic_ns(),
					     peers_expects(loop->peers));
	publish_urgent(loop);
	if (tsct_monotonic_ns() >= tick_schedule_due(&loop->ticks))
		tick_timekeeper(loop);
	return 0;
}

static int open_control(struct loop *loop, const char *run_dir)
{
	const struct control_ops ops = { loop, print_metrics, fake_disruption };
	int err = control_open(run_dir, &ops, loop->peers, &loop->control);

	if (!err)
		return watch_fd(loop, control_fd(loop->control), EVENT_CONTROL);
	log_error("%s/" CONTROL_SOCKET ": cannot create the socket: %s; %s",
		  run_dir, strerror(-err), err == -EADDRINUSE ?
		  "remove this file, which is not a socket" : run_dir_fix(err));
	return err;
}

/* The module's events are optional: without them, disruptions are
 * detected only at the next tick. */
static int open_module_events(struct loop *loop)
{
	int err = kernel_events_open(&loop->module_events);

	if (!err)
		return watch_fd(loop, kernel_events_fd(&loop->module_events),
				EVENT_MODULE);
	log_info("module events: generic netlink not available: %s; "
		 "disruptions of the clock are detected at the clock's next update",
		 strerror(-err));
	return 0;
}

static int open_all(struct loop *loop, const char *run_dir)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		return -errno;
	err = watch_fd(loop, loop->platform->disruption.clock_set_fd, EVENT_CLOCK_SET) ?:
		watch_fd(loop, loop->platform->survey_fd, EVENT_SURVEY);
	if (!err) {
		loop->signals = signalfd(-1, &signals,
					 SFD_CLOEXEC | SFD_NONBLOCK);
		err = watch_fd(loop, loop->signals, EVENT_SIGNAL);
	}
	if (!err)
		err = watch_fd(loop, tsct_server_fd(loop->server), EVENT_SERVER);
	if (!err)
		err = open_control(loop, run_dir);
	if (!err)
		err = open_module_events(loop);
	return err;
}

int loop_run(struct timekeeper *timekeeper, struct platform *platform,
	     struct tsct_server *server, struct peers *peers,
	     const char *run_dir, int interval_ms)
{
	struct loop loop = {
		.timekeeper = timekeeper, .platform = platform,
		.server = server, .peers = peers,
		.interval_ms = interval_ms,
		.epoll = -1, .signals = -1,
		.has_supervisor = getenv("NOTIFY_SOCKET"),
	};
	int err = open_all(&loop, run_dir);

	/*
	 * Sets the timer slack: exchanges of a burst are half a millisecond apart, for
	 * which the default slack of 50 us is too long.
	 */
	prctl(PR_SET_TIMERSLACK, 1UL);
	schedule_tick(&loop);
	if (err) {
		log_error("cannot start: %s", strerror(-err));
	} else {
		sd_notify(0, "READY=1");
		while (!err && !loop.stop)
			err = run_once(&loop);
		sd_notify(0, "STOPPING=1");
	}
	kernel_events_close(&loop.module_events);
	control_close(loop.control);
	if (loop.signals >= 0)
		close(loop.signals);
	if (loop.epoll >= 0)
		close(loop.epoll);
	return err;
}
