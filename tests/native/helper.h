/* SPDX-License-Identifier: MIT */
/* Common parts of the helper programs */
#ifndef TESTS_NATIVE_HELPER_H
#define TESTS_NATIVE_HELPER_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(clockid_t clock_id)
{
	struct timespec now;

	clock_gettime(clock_id, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline double now_s(void)
{
	return (double)now_ns(CLOCK_MONOTONIC) / 1e9;
}

#endif /* TESTS_NATIVE_HELPER_H */
