// SPDX-License-Identifier: MIT
/*
 * epoll_wait() below is where the daemon waits. A calibration, at the start and
 * after a disruption, sleeps for 15 ms on top, and where the kernel does not
 * keep time by the TSC every CPU is visited first, for two seconds at most.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "log.h"
#include "loop.h"
#include "provider.h"

enum who {
	WHO_TIMER,
	WHO_CLOCK_SET,
	WHO_SIGNAL,
	WHO_SERVER,
};

struct loop {
	struct keeper *keeper;
	struct tsct_server *server;
	int epoll, timer, clock_set, signals;
	bool stop;
};

static int watch(struct loop *loop, int fd, enum who who)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = who };

	if (fd < 0)
		return -errno;
	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_timer(struct loop *loop, int interval_ms)
{
	struct itimerspec every = {
		.it_interval = {
			.tv_sec = interval_ms / 1000,
			.tv_nsec = interval_ms % 1000 * 1000000L,
		},
	};
	int err;

	every.it_value = every.it_interval;
	loop->timer = timerfd_create(CLOCK_MONOTONIC,
				     TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(loop, loop->timer, WHO_TIMER);
	if (!err && timerfd_settime(loop->timer, 0, &every, NULL))
		err = -errno;
	return err;
}

/*
 * A timer that nobody waits for: the kernel cancels it whenever CLOCK_REALTIME
 * is set, and so tells us at once. (Re-)arming it fails if that happened
 * meanwhile, and arms it all the same.
 */
static int arm_clock_set(const struct loop *loop)
{
	const struct itimerspec never = { .it_value.tv_sec = INT64_MAX / 2 };

	if (timerfd_settime(loop->clock_set, TFD_TIMER_ABSTIME |
			    TFD_TIMER_CANCEL_ON_SET, &never, NULL) &&
	    errno != ECANCELED)
		return -errno;
	return 0;
}

static int open_clock_set(struct loop *loop)
{
	int err;

	loop->clock_set = timerfd_create(CLOCK_REALTIME,
					 TFD_CLOEXEC | TFD_NONBLOCK);
	err = watch(loop, loop->clock_set, WHO_CLOCK_SET);
	return err ? err : arm_clock_set(loop);
}

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

static int tick(struct loop *loop)
{
	char text[256];
	int err = keeper_tick(loop->keeper);

	keeper_describe(loop->keeper, text, sizeof(text));
	sd_notifyf(0, "WATCHDOG=1\nSTATUS=%s", text);
	return err;
}

/* Ticks that were missed (we were stopped, say) are not made up for. */
static int on_timer(struct loop *loop)
{
	uint64_t expired;

	if (read(loop->timer, &expired, sizeof(expired)) < 0)
		return 0;
	return tick(loop);
}

static int on_clock_set(struct loop *loop)
{
	uint64_t expired;

	if (read(loop->clock_set, &expired, sizeof(expired)) >= 0 ||
	    errno != ECANCELED)
		return 0;
	log_debug("CLOCK_REALTIME was set just now");
	arm_clock_set(loop);
	return tick(loop);
}

static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			log_info("SIGHUP: there is nothing to reload");
			continue;
		}
		log_info("%s: stopping", strsignal((int)info.ssi_signo));
		loop->stop = true;
	}
}

static int dispatch(struct loop *loop, const struct epoll_event *event)
{
	switch (event->data.u32) {
	case WHO_TIMER:
		return on_timer(loop);
	case WHO_CLOCK_SET:
		return on_clock_set(loop);
	case WHO_SIGNAL:
		on_signal(loop);
		return 0;
	default:
		tsct_server_dispatch(loop->server);
		return 0;
	}
}

static int turn(struct loop *loop)
{
	struct epoll_event events[4];
	int err = 0;

	while (!loop->stop && !err) {
		int i, nr = epoll_wait(loop->epoll, events, 4, -1);

		if (nr < 0 && errno != EINTR)
			return -errno;
		for (i = 0; i < nr && !err; i++)
			err = dispatch(loop, &events[i]);
	}
	return err;
}

int loop_run(struct keeper *k, struct tsct_server *server, int interval_ms)
{
	struct loop loop = {
		.keeper = k, .server = server,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.timer = -1, .clock_set = -1, .signals = -1,
	};
	int err = loop.epoll < 0 ? -errno : open_timer(&loop, interval_ms);

	if (!err)
		err = open_clock_set(&loop);
	if (!err)
		err = open_signals(&loop);
	if (!err)
		err = watch(&loop, tsct_server_fd(server), WHO_SERVER);
	if (err) {
		log_error("cannot start: %s", strerror(-err));
	} else {
		sd_notify(0, "READY=1");
		err = turn(&loop);
		sd_notify(0, "STOPPING=1");
	}
	if (loop.signals >= 0)
		close(loop.signals);
	if (loop.clock_set >= 0)
		close(loop.clock_set);
	if (loop.timer >= 0)
		close(loop.timer);
	if (loop.epoll >= 0)
		close(loop.epoll);
	return err;
}
