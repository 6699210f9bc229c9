// SPDX-License-Identifier: MIT
/*
 * control SOCKET [SEED] - misuses the daemon's control socket: invalid requests,
 * huge lines, slow and silent clients. The daemon must answer a valid request
 * after each of them, and while many clients are connected.
 */
#include <sys/un.h>

#include "helper.h"

#define MANY	500

static const char *path;
static unsigned int seed;

static int reach(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err(1, "cannot connect");
	return fd;
}

/* total time in which this machine ran no program, s; time limits exclude it */
static volatile double stalled_s;

static void *watch(void *unused)
{
	double last = now_s(), at;

	for (;; last = at) {
		usleep(20000);
		at = now_s();
		if (at - last > 0.1)
			stalled_s += at - last;
	}
	return unused;
}

/* Returns CLOCK_MONOTONIC minus the time in which the machine was stalled, s. Sleeps
 * first, so that thread watch() can add a stall that has just ended to stalled_s. */
static double busy(void)
{
	usleep(50000);
	return now_s() - stalled_s;
}

/* Returns true if @fd becomes readable before time @until, s, on the clock that
 * busy() reads: CLOCK_MONOTONIC minus the time in which the machine was stalled. */
static bool comes(int fd, double until)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	do {
		if (poll(&poll_fd, 1, 200) > 0)
			return true;
	} while (busy() < until);
	return false;
}

/* Reads until end of file, for up to @s seconds. Returns the bytes read, or -1. */
static long drain(int fd, char *text, size_t size, double s)
{
	double until = now_s() - stalled_s + s;
	size_t used = 0;
	char dump[4096];

	for (;;) {
		ssize_t len;

		if (!comes(fd, until))
			return -1;
		len = used + 1 < size ? read(fd, text + used, size - used - 1) :
			read(fd, dump, sizeof(dump));
		if (len <= 0)
			break;
		if (used + 1 < size)
			used += (size_t)len;
	}
	if (size)
		text[used] = '\0';
	return (long)used;
}

static void expect(const char *after, double limit_s)
{
	static char text[65536];
	double began = now_s();
	int fd = reach();

	if (write(fd, "metrics\n", 8) != 8)
		err(1, "cannot request metrics");
	if (drain(fd, text, sizeof(text), limit_s) < 100 ||
	    strncmp(text, "# HELP ", 7))
		err(1, "%s", after);
	close(fd);
	printf("%s: answers in %.1f ms\n", after, (now_s() - began) * 1e3);
}

/* An invalid request gets an error line, or the connection is closed. */
static void refused(const void *request, size_t len)
{
	char text[256] = "";
	int fd = reach();
	long got;

	(void)!send(fd, request, len, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	got = drain(fd, text, sizeof(text), 10);
	if (got < 0)
		err(1, "invalid request: connection not closed");
	if (got > 0 && strncmp(text, "error: ", 7))
		err(1, "invalid request: answered without an error");
	close(fd);
}

static void garbage(void)
{
	static const char *const wrong[] = {
		"\n", "\r\n", "metric\n", "metrics \n", " metrics\n",
		"METRICS\n", "fake-disruption now\n", "metrics", "\0metrics\n",
		"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	char junk[300];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(wrong[i], *wrong[i] ? strlen(wrong[i]) : 9);
	for (size_t i = 0; i < 200; i++) {
		size_t len = 1 + (size_t)rand_r(&seed) % sizeof(junk);

		for (size_t j = 0; j < len; j++)
			junk[j] = (char)rand_r(&seed);
		refused(junk, len);
	}
	expect("garbage", 10);
}

/* The daemon must neither wait for the end of a line of 16 MiB nor store the line. */
static void huge(void)
{
	static char junk[1 << 20];
	int fd = reach(), i;
	char text[256];

	memset(junk, 'x', sizeof(junk));
	for (i = 0; i < 16; i++)
		if (send(fd, junk, sizeof(junk), MSG_NOSIGNAL) < 0)
			break;
	if (i == 16)
		err(1, "a huge line: all 16 MiB were read");
	if (drain(fd, text, sizeof(text), 10) < 0)
		err(1, "a huge line: connection not closed");
	close(fd);
	expect("a huge line", 10);
}

/* A client that sends one byte every 100 ms: the daemon's time limit is for the whole
 * request. */
static void drip(void)
{
	double began = now_s(), before = stalled_s;
	int fd = reach();
	char byte;

	while (send(fd, "m", 1, MSG_NOSIGNAL) == 1 && now_s() - began < 30)
		if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
			break;
		else
			usleep(100000);
	close(fd);
	if (busy() - began + before > 5)
		err(1, "a slow client: connection not closed");
	printf("a slow client: connection closed after %.1f s\n", now_s() - began);
	expect("a slow client", 10);
}

/*
 * Many clients that send nothing (empty @request), or send a request and do not
 * read the answer. @stay: wait for the daemon to close the connections; else the
 * clients close them at once.
 */
static void many(const char *request, bool stay)
{
	static int fds[MANY];
	double began;

	for (int i = 0; i < MANY; i++) {
		fds[i] = reach();
		if (*request)
			(void)!send(fds[i], request, strlen(request),
				    MSG_NOSIGNAL);
		if (!stay)
			close(fds[i]);
	}
	expect(*request ? "many clients that do not read" : "many silent clients",
	       10);
	began = now_s();
	for (int i = 0; stay && i < MANY; i++) {
		if (drain(fds[i], NULL, 0, 10) < 0)
			err(1, "many clients: a connection was not closed");
		close(fds[i]);
	}
	if (stay)
		printf("all connections closed after %.1f s\n", now_s() - began);
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	pthread_t watcher;

	if (argc < 2)
		return 2;
	path = argv[1];
	seed = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (pthread_create(&watcher, NULL, watch, NULL))
		return 2;
	expect("at first", 10);
	garbage();
	huge();
	drip();
	many("", true);
	many("metrics\n", true);
	many("metrics\n", false);
	many("", false);
	return 0;
}
