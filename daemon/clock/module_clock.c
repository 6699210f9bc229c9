// SPDX-License-Identifier: MIT
/* Requests to the kernel module's clock */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/core/latch.h"
#include "lib/core/clock_segments.h"
#include "daemon/config/log.h"
#include "module_clock.h"
#include "lib/clock/clock_sample.h"

#define MODULE_LOCK	"/run/tsctraced-module.lock"

void module_clock_close(struct module_clock *m)
{
	if (m->lock >= 0)
		close(m->lock);
	m->lock = -1;
}

static int open_device(struct module_clock *m)
{
	int fd;

	if (!m->use || m->absent)
		return -ENOENT;
	fd = open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	m->absent = errno == ENXIO || errno == ENODEV || errno == ENOENT;
	return m->absent ? -ENOENT : -errno;
}

/* The mapping of the module's clock is removed immediately: a mapping prevents
 * unloading of the module, as an open descriptor does. */
static int read_state(int fd, struct tsct_clock_state *state)
{
	const __u64 size = TSCT_CLOCK_SIZE(1);
	struct tsct_clock_page *page;
	int err;

	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, TSCT_CLOCK_OFFSET);
	if (page == MAP_FAILED)
		return -errno;
	err = page->magic == TSCT_CLOCK_MAGIC && page->size >= size ? 0 :
		-EPROTO;
	if (!err)
		err = tsct_latch_read(page, state);
	munmap(page, size);
	return err;
}

int module_clock_last(struct module_clock *m,
		      struct tsct_clock_state *ret_state)
{
	int fd = open_device(m);
	int err;

	if (fd < 0)
		return fd;
	err = read_state(fd, ret_state);
	close(fd);
	return err;
}

/*
 * Locks a file in /run, to exclude other daemons: only one daemon at a time may set the
 * module's clock, whatever their --run-dir is. A lock on the device itself would keep the
 * module from being unloaded. A daemon that cannot write to /run, but has CAP_SYS_TIME,
 * continues without the lock.
 */
static int lock_module(struct module_clock *m)
{
	int fd;

	if (m->lock >= 0)
		return 0;
	fd = open(MODULE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -EBUSY;
	}
	m->lock = fd;
	return 0;
}

static int set_state(struct module_clock *m,
		     const struct tsct_clock_state *state)
{
	struct tsct_clock_set request = { .state = *state };
	struct tsct_clock_state last;
	int fd = open_device(m);
	int err;

	if (fd < 0)
		return fd;
	err = read_state(fd, &last);
	if (!err)
		err = lock_module(m);
	/* The module makes these checks of a state, too, but reports one error for all
	 * of them. */
	if (!err && last.source != state->source)
		err = -ESTALE;
	if (!err) {
		err = tsct_segments_check(&last, state,
					  tsct_cycles_read(state->source));
		err = err == -EINVAL ? -EXDEV : err;
	}
	if (!err && ioctl(fd, TSCT_IOC_CLOCK_SET, &request))
		err = -errno;
	close(fd);
	return err;
}

int module_clock_set(struct module_clock *m, const char *instead,
		     const struct tsct_clock_state *state)
{
	int err = set_state(m, state);

	if (err == m->result || err == -ESTALE || err == -ETIME ||
	    err == -EXDEV || err == -EAGAIN)
		return err;
	m->result = err;
	if (!err)
		log_info("publishing to %s", TSCT_DEVICE_PATH);
	else if (err == -ENOENT)
		log_info("%s: the module is no longer available; publishing to %s only",
			 TSCT_DEVICE_PATH, instead);
	else if (err == -EBUSY)
		log_error("%s: another tsctraced publishes to this device; this "
			  "tsctraced publishes to %s only; stop one of the two",
			  TSCT_DEVICE_PATH, instead);
	else if (err == -EPERM || err == -EACCES)
		log_error("%s: cannot set the module's clock: %s; run as root "
			  "(CAP_SYS_TIME is needed), or with --no-module",
			  TSCT_DEVICE_PATH, strerror(-err));
	else
		log_error("%s: the module rejected the clock state: %s; publishing to "
			  "%s only", TSCT_DEVICE_PATH, strerror(-err), instead);
	return err;
}

/* ---- requests to the module: snapshot and CPU check ---------------------- */

static int module_request(struct module_clock *m, unsigned long number,
			  void *arg)
{
	int fd = open_device(m);
	int err;

	if (fd < 0)
		return fd;
	err = ioctl(fd, number, arg) ? -errno : 0;
	close(fd);
	return err;
}

int module_clock_snapshot(struct module_clock *m,
			  struct tsct_clock_snapshot *ret)
{
	memset(ret, 0, sizeof(*ret));
	return module_request(m, TSCT_IOC_CLOCK_SNAPSHOT, ret);
}

int module_clock_check(struct module_clock *m, struct tsct_check *check)
{
	return module_request(m, TSCT_IOC_CHECK, check);
}
