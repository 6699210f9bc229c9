// SPDX-License-Identifier: MIT
/*
 * Each allocation of a request fails once, one after the other: the request
 * returns ENOMEM and leaves nothing behind. Needs a kernel with fault
 * injection (CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC).
 * guest-test: timeout=60
 */
#include <sys/mount.h>

#include "device.h"

#define DEBUG	"/sys/kernel/debug/"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		t_skip("no fault injection in this kernel: %s: %m", path);
	close(fd);
}

/* fd of fail-nth, opened before faults are armed, or opening would fail first */
static int fail_nth;

static void arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fail_nth, text, (size_t)len, 0) != len) {
		perror("fail-nth");
		exit(1);
	}
}

/* True if the nth allocation was reached. Disarms the fault. */
static bool injected(void)
{
	char text[16] = "";
	ssize_t len = pread(fail_nth, text, sizeof(text) - 1, 0);

	arm(0);
	return len > 0 && atoi(text) == 0;
}

/* Calls step(fd) until each of its allocations has failed once. */
static void all_fail(const char *what, int (*step)(int fd),
		     int (*prepare)(void))
{
	unsigned int nth, failures = 0;
	int err, error, fd;
	bool hit;

	for (nth = 1; nth < 1000; nth++) {
		fd = prepare();
		arm(nth);
		errno = 0;
		err = step(fd);
		error = errno;
		hit = injected();
		if (fd >= 0)
			close(fd);
		if (err) {
			failures++;
			t_check(error == ENOMEM, "%s, allocation %u: %s", what,
				nth, strerror(error));
		}
		if (!hit)
			break;
	}
	t_check(nth < 1000, "%s: too many allocations", what);
	t_check(!err, "%s without a fault: %s", what, strerror(error));
	fd = dev_open();
	t_check(dev_info(fd).channels == 0, "%s left channels", what);
	t_check(dev_info(fd).bytes == 0, "%s left memory", what);
	close(fd);
	printf("%s: %u allocations, %u of them needed\n", what, nth - 1,
	       failures);
}

static int nothing(void)
{
	return -1;
}

static int overwrite_channel(void)
{
	struct tsct_channel_create request = dev_request("faults");

	request.policy = TSCT_POLICY_OVERWRITE;
	return dev_create(&request);
}

static int step_open(int unused)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDWR);

	(void)unused;
	return fd < 0 ? -1 : close(fd);
}

static int step_create(int fd)
{
	struct tsct_channel_create request = dev_request("faults");

	return ioctl(fd, TSCT_IOC_CHANNEL_CREATE, &request);
}

static int step_check(int fd)
{
	struct tsct_cpu_check table[8];
	struct tsct_check check = { .nr = 8, .table = (uintptr_t)table };

	return ioctl(fd, TSCT_IOC_CHECK, &check);
}

static int step_write(int fd)
{
	static char payload[4000];

	return dev_write(fd, 16, payload, sizeof(payload));
}

static int step_define(int fd)
{
	struct tsct_event_def def = {
		.size = TSCT_EVENT_DEF_SIZE(0), .name = "event",
	};

	return ioctl(fd, TSCT_IOC_DEFINE, &def);
}

int main(void)
{
	mount("none", DEBUG, "debugfs", 0, NULL);
	write_file(DEBUG "failslab/ignore-gfp-wait", "N");
	write_file(DEBUG "fail_page_alloc/ignore-gfp-wait", "N");
	write_file(DEBUG "fail_page_alloc/min-order", "0");
	write_file(DEBUG "failslab/verbose", "0");
	write_file(DEBUG "fail_page_alloc/verbose", "0");

	fail_nth = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fail_nth < 0)
		t_skip("no fault injection in this kernel: fail-nth: %m");

	all_fail("open", step_open, nothing);
	all_fail("create", step_create, dev_open);
	all_fail("check", step_check, dev_open);
	all_fail("define", step_define, overwrite_channel);
	all_fail("write", step_write, overwrite_channel);
	return t_status();
}
