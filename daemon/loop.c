// SPDX-License-Identifier: MIT
/*
 * ppoll() below is where the daemon waits. A calibration, at the start and after a
 * disruption, sleeps for 15 ms on top; and where the kernel does not keep time by the
 * TSC every CPU is visited before the start, for two seconds at most.
 *
 * The sockets of the network are not watched by epoll: that would be called back
 * within each send, between the stamps of the way there, and for requests longer than
 * for answers.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "daemon/control/control_socket.h"
#include "lib/core/latch.h"
#include "daemon/clock/kernel_events.h"
#include "daemon/config/log.h"
#include "loop.h"
#include "daemon/control/metrics.h"
#include "lib/client/gettime.h"
#include "daemon/sync/peers.h"
#include "lib/provider/server.h"
#include "daemon/config/run_dir.h"

#define NS_PER_S	1000000000LL

enum who {
	WHO_TIMER,
	WHO_CLOCK_SET,
	WHO_SIGNAL,
	WHO_SERVER,
	WHO_CONTROL,
	WHO_KERNEL,
	WHO_VISITED,
};

struct loop {
	struct timekeeper *keeper;
	struct platform *real;
	struct tsct_server *server;
	struct control *control;
	struct peers *peers;
	struct kernel_events kernel;
	int interval_ms;
	int epoll, timer, signals;
	bool stop;
	int err;			/* of the keeper: the end */
};

static int watch(struct loop *loop, int fd, enum who who)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = who };

	if (fd < 0)
		return -errno;
	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- ticks ---------------------------------------------------------------- */

/* From now on: ticks that were missed (we were stopped, say) are not made up. */
static int arm(const struct loop *loop)
{
	int ms = timekeeper_wait_ms(loop->keeper, loop->interval_ms);
	const struct itimerspec once = {
		.it_value = {
			.tv_sec = ms / 1000,
			.tv_nsec = ms % 1000 * 1000000L,
		},
	};

	return timerfd_settime(loop->timer, 0, &once, NULL) ? -errno : 0;
}

/* The keeper did something: when it wants to go on, and what to say of it. */
static void after(struct loop *loop, int err)
{
	char text[256];

	if (err)
		loop->err = err;
	timekeeper_describe(loop->keeper, text, sizeof(text));
	sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s", text);
	arm(loop);
	peers_tick(loop->peers);
}

/* What other nodes say may have to be published before the next tick. */
static void see_to_peers(struct loop *loop)
{
	int err;

	if (!peers_urgent(loop->peers))
		return;
	err = timekeeper_publish_cluster(loop->keeper);
	if (err)
		loop->err = err;
	peers_tick(loop->peers);
}

static void tick(struct loop *loop)
{
	control_tick(loop->control);
	after(loop, timekeeper_tick(loop->keeper));
}

static void on_timer(struct loop *loop)
{
	uint64_t expired;

	if (read(loop->timer, &expired, sizeof(expired)) > 0)
		tick(loop);
}

static void on_kernel(struct loop *loop)
{
	if (kernel_events_read(&loop->kernel, loop->keeper->est.state.epoch))
		tick(loop);
}

static void on_visited(struct loop *loop)
{
	struct cpu_survey_result look;
	int err = platform_take_survey(loop->real, &look);

	if (err == -EAGAIN)
		return;
	if (err)
		log_warning("the CPUs could not be looked at: %s",
			    strerror(-err));
	after(loop, timekeeper_survey_done(loop->keeper, err ? NULL : &look));
}

/* ---- control --------------------------------------------------------------- */

static __u32 count_segments(const struct loop *loop)
{
	const struct tsct_clock_page *page = loop->real->publisher.file.page;
	struct tsct_clock_copy copy;

	return page && !tsct_latch_read_copy(page, &copy) ? copy.nr_segments :
		0;
}

static void print_metrics(void *ctx, FILE *to)
{
	struct loop *loop = ctx;
	struct metrics metrics = {
		.version = tsct_version(),
		.module = !loop->real->publisher.module.result,
		.segments = count_segments(loop),
	};

	metrics_from_timekeeper(loop->keeper, &metrics);
	tsct_server_count(loop->server, &metrics.channels, &metrics.bytes);
	metrics_print(&metrics, to);
}

static int disrupt(void *ctx, FILE *to)
{
	struct loop *loop = ctx;
	int err = timekeeper_disrupt(loop->keeper, TSCT_CAUSE_FAKE,
				 "a fake disruption was asked for");

	if (err)
		fprintf(to, "error: %s\n", strerror(-err));
	else
		fprintf(to, "epoch %u began\n", loop->keeper->est.state.epoch);
	after(loop, err);
	return err;
}

static bool answer_of_peers(void *ctx, const char *request, FILE *to)
{
	struct loop *loop = ctx;

	return peers_answer(loop->peers, request, to);
}

/* ---- signals ---------------------------------------------------------------- */

static int open_signals(struct loop *loop)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch(loop, loop->signals, WHO_SIGNAL);
}

static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			peers_reload(loop->peers);
			continue;
		}
		log_info("%s: stopping", strsignal((int)info.ssi_signo));
		loop->stop = true;
	}
}

/* ---- the loop ----------------------------------------------------------------- */

static void dispatch(struct loop *loop, const struct epoll_event *event)
{
	switch (event->data.u32) {
	case WHO_TIMER:
		on_timer(loop);
		return;
	case WHO_CLOCK_SET:
		tick(loop);		/* which takes it from there */
		return;
	case WHO_SIGNAL:
		on_signal(loop);
		return;
	case WHO_CONTROL:
		control_dispatch(loop->control);
		return;
	case WHO_KERNEL:
		on_kernel(loop);
		return;
	case WHO_VISITED:
		on_visited(loop);
		return;
	default:
		tsct_server_dispatch(loop->server);
	}
}

static void dispatch_all(struct loop *loop)
{
	struct epoll_event events[8];
	int i, nr = epoll_wait(loop->epoll, events, 8, 0);

	for (i = 0; i < nr && !loop->err; i++)
		dispatch(loop, &events[i]);
}

/* fds[0] is the loop's own, the others are of peers. */
static int wait_for(struct pollfd *fds, unsigned int nr, __s64 until_ns)
{
	bool forever = until_ns == INT64_MAX;
	__s64 ns = forever ? 0 : until_ns - tsct_monotonic_ns();
	struct timespec timeout = { 0 };

	if (ns > 0) {
		timeout.tv_sec = ns / NS_PER_S;
		timeout.tv_nsec = ns % NS_PER_S;
	}
	return ppoll(fds, nr, forever ? NULL : &timeout, NULL) < 0 ? -errno : 0;
}

static int turn(struct loop *loop)
{
	struct pollfd fds[1 + PEERS_FDS_MAX];
	unsigned int nr;
	__s64 until_ns;
	int err;

	while (!loop->stop && !loop->err) {
		fds[0] = (struct pollfd) { .fd = loop->epoll,
					   .events = POLLIN };
		nr = 1 + peers_wants(loop->peers, fds + 1, &until_ns);
		err = wait_for(fds, nr, until_ns);
		if (err == -EINTR)
			continue;
		if (err)
			return err;
		/* First: the clock may have been set, or the counter disrupted. */
		if (fds[0].revents)
			dispatch_all(loop);
		peers_dispatch(loop->peers, fds + 1);
		see_to_peers(loop);
	}
	return loop->err;
}

static int open_timer(struct loop *loop)
{
	int err;

	loop->timer = timerfd_create(CLOCK_MONOTONIC,
				     TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(loop, loop->timer, WHO_TIMER);
	return err ? err : arm(loop);
}

static int open_control(struct loop *loop, const char *run_dir)
{
	const struct control_ops ops = { loop, print_metrics, disrupt,
					 answer_of_peers };
	int err = control_open(run_dir, &ops, &loop->control);

	if (!err)
		return watch(loop, control_fd(loop->control), WHO_CONTROL);
	log_error("%s/" CONTROL_SOCKET ": %s; %s", run_dir, strerror(-err),
		  err == -EADDRINUSE ? "it is no socket: remove it" :
		  run_dir_fix(err));
	return err;
}

/* Without it everything is found out, too, but a tick later. */
static int open_kernel(struct loop *loop)
{
	int err = kernel_events_open(&loop->kernel);

	if (!err)
		return watch(loop, kernel_events_fd(&loop->kernel), WHO_KERNEL);
	log_info("no messages from the module: generic netlink: %s",
		 strerror(-err));
	return 0;
}

static int open_all(struct loop *loop, const char *run_dir)
{
	int err = loop->epoll < 0 ? -errno : open_timer(loop);

	if (!err)
		err = watch(loop, loop->real->signs.clock_set, WHO_CLOCK_SET);
	if (!err)
		err = watch(loop, loop->real->visited, WHO_VISITED);
	if (!err)
		err = open_signals(loop);
	if (!err)
		err = watch(loop, tsct_server_fd(loop->server), WHO_SERVER);
	if (!err)
		err = open_control(loop, run_dir);
	if (!err)
		err = open_kernel(loop);
	return err;
}

static void close_all(struct loop *loop)
{
	kernel_events_close(&loop->kernel);
	control_close(loop->control);
	if (loop->signals >= 0)
		close(loop->signals);
	if (loop->timer >= 0)
		close(loop->timer);
	if (loop->epoll >= 0)
		close(loop->epoll);
}

int loop_run(struct timekeeper *k, struct platform *real, struct tsct_server *server,
	     struct peers *peers, const struct loop_options *options)
{
	struct loop loop = {
		.keeper = k, .real = real, .server = server,
		.peers = peers, .interval_ms = options->interval_ms,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.timer = -1, .signals = -1,
	};
	int err = open_all(&loop, options->run_dir);

	/* Turns in a session are half a millisecond: 50 us later is a lot. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	if (err) {
		log_error("cannot start: %s", strerror(-err));
	} else {
		sd_notify(0, "READY=1");
		err = turn(&loop);
		sd_notify(0, "STOPPING=1");
	}
	close_all(&loop);
	return err;
}
