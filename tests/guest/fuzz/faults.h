/* SPDX-License-Identifier: MIT */
/*
 * Fault injection for one thread: the nth step that can fail (an allocation, or a copy
 * from or to user space) fails. Needs a kernel with CONFIG_FAULT_INJECTION.
 */
#ifndef TSCT_TEST_FAULTS_H
#define TSCT_TEST_FAULTS_H

#include "../device.h"

#define FAULTS_DEBUG	"/sys/kernel/debug/"

struct tsct_faults {
	int fd;			/* fail-nth of the thread; -1: no fault injection */
};

T_FN bool faults_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Lets all allocations fail, with no message. Returns false: not in this kernel. */
T_FN bool faults_setup(void)
{
	mount("none", FAULTS_DEBUG, "debugfs", 0, NULL);
	faults_write(FAULTS_DEBUG "fail_usercopy/verbose", "0");
	return faults_write(FAULTS_DEBUG "failslab/ignore-gfp-wait", "N") &&
		faults_write(FAULTS_DEBUG "fail_page_alloc/ignore-gfp-wait", "N") &&
		faults_write(FAULTS_DEBUG "fail_page_alloc/min-order", "0") &&
		faults_write(FAULTS_DEBUG "failslab/verbose", "0") &&
		faults_write(FAULTS_DEBUG "fail_page_alloc/verbose", "0");
}

/* Opens the calling thread's fail-nth before faults are armed. */
T_FN void faults_open(struct tsct_faults *faults)
{
	faults->fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

T_FN void faults_arm(const struct tsct_faults *faults, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (faults->fd < 0)
		return;
	/* A fault that is armed may strike this write. */
	if (pwrite(faults->fd, text, (size_t)len, 0) != len &&
	    pwrite(faults->fd, text, (size_t)len, 0) != len) {
		perror("fail-nth");
		exit(1);
	}
}

/* True if the nth step was reached. Disarms the fault. */
T_FN bool faults_injected(const struct tsct_faults *faults)
{
	char text[16] = "";
	ssize_t len;

	if (faults->fd < 0)
		return false;
	/* If the fault strikes this read, it had not struck before. */
	len = pread(faults->fd, text, sizeof(text) - 1, 0);
	faults_arm(faults, 0);
	return len > 0 && atoi(text) == 0;
}

#endif /* TSCT_TEST_FAULTS_H */
