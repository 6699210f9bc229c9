// SPDX-License-Identifier: MIT
/*
 * A reader sleeps on a kernel channel without events, or has registered it with epoll: the module
 * runs nothing to look for events. An event then wakes the reader soon. Few events, of which the
 * reader wants many, have the module run nothing either: else its work, where switches of tasks
 * are recorded, would cause itself.
 * guest-test: timeout=90 rt=yes
 */
#include "modules.h"

static unsigned int count_runs(void)
{
	return mod_count_runs(~0ULL);
}

static bool has_idle_seconds(unsigned int seconds)
{
	unsigned int before = count_runs();

	sleep(seconds);
	return count_runs() == before;
}

/* After a few runs, in which the module makes sure that all CPUs report events to it, there
 * are none. A module that looks for events does so far more often than every 5 s. */
static void check_idle(void)
{
	t_until(has_idle_seconds(5));
	printf("no run in 5 s, after %u\n", count_runs());
}

static void try_few_events(void)
{
	struct tsct_watermark many = { .bytes = ~0ULL };
	int fd = mod_channel(TSCT_POLICY_DISCARD), i;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	unsigned int before, runs;
	double begin;
	pid_t pid;

	t_check(!ioctl(fd, TSCT_IOC_WATERMARK, &many), "%m");
	pid = t_fork();
	if (!pid) {
		poll(&p, 1, -1);
		_exit(0);
	}
	check_idle();
	before = count_runs();
	begin = t_now();
	for (i = 0; i < 100; i++) {
		mod_emit(1);
		usleep(50000);
	}
	runs = count_runs() - before;
	t_check(runs < 2 * (t_now() - begin), "%u runs for 200 events in %.1f s", runs,
		t_now() - begin);
	kill(pid, SIGKILL);
	t_wait(pid);
	close(fd);
}

static void try_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	t_check(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), "%m");
	check_idle();
	close(ep);
}

static void *sleep_in_poll(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };
	double *woken = calloc(1, sizeof(*woken));

	poll(&p, 1, T_HANG_S * 1000);
	t_check(p.revents & POLLIN, "%#x", p.revents);
	*woken = t_now();
	return woken;
}

/* Starts a reader, and writes an event after a while. Returns true if the reader returned soon. */
static bool is_woken_soon(int *fd, const struct dev_maps *m)
{
	static unsigned int turn;
	double begin, took, *woken;
	pthread_t thread;

	dev_consume_all(m);
	pthread_create(&thread, NULL, sleep_in_poll, fd);
	usleep(200000 + 100000 * (turn++ % 4));
	begin = t_now();
	t_check(mod_set(MOD_NEST "run", "20") > 0, "%m");
	pthread_join(thread, (void **)&woken);
	took = *woken - begin;
	free(woken);
	printf("woken after %.1f ms\n", took * 1e3);
	return took < 0.3;
}

int main(void)
{
	pthread_t thread;
	int fd = dev_open();
	struct dev_maps m;

	mod_trace_runs(true);
	mod_load("/lib/modules/tsct-nest.ko", "roam=1");
	t_check(!dev_attach_name(fd, "nest", TSCT_ROLE_READ), "%m");
	m = dev_map_rings(fd, PROT_READ);
	mod_load("/lib/modules/tsct-fuzz.ko", "");
	try_few_events();
	t_check(!mod_unload("tsct_fuzz"), "%m");
	try_epoll(fd);
	pthread_create(&thread, NULL, sleep_in_poll, &fd);
	check_idle();
	mod_trace_runs(false);

	t_check(mod_set(MOD_NEST "run", "20") > 0, "%m");
	pthread_join(thread, NULL);
	/* A busy host delays a wake-up, but not all of them. */
	t_until(is_woken_soon(&fd, &m));
	dev_close(fd, &m);
	t_check(!mod_unload("tsct_nest"), "%m");
	return t_status();
}
