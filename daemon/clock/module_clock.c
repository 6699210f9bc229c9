// SPDX-License-Identifier: MIT
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

void module_clock_init(struct module_clock *m, bool use)
{
	*m = (struct module_clock) { .use = use, .result = -ENOENT, .lock = -1 };
}

void module_clock_close(struct module_clock *m)
{
	if (m->lock >= 0)
		close(m->lock);
	m->lock = -1;
}

static int open_device(const struct module_clock *m)
{
	int fd = m->use ? open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC) :
		(errno = ENOENT, -1);

	if (fd >= 0)
		return fd;
	return errno == ENXIO || errno == ENODEV ? -ENOENT : -errno;
}

/* The mapping pins the module, as the descriptor does: gone at once. */
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

int module_clock_last(const struct module_clock *m, struct tsct_clock_state *ret_state)
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
 * One daemon at a time sets the module's clock, whatever its --run-dir. The
 * device cannot be what they lock: a descriptor of it would pin the module.
 * Who has CAP_SYS_TIME and yet cannot write to /run goes without.
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

/* The module has the last word; this tells us which word it will be. */
static int check(const struct tsct_clock_state *last,
		 const struct tsct_clock_state *state)
{
	int err;

	if (last->source != state->source)
		return -ESTALE;
	err = tsct_segments_check(last, state, tsct_cycles_read(state->source));
	return err == -EINVAL ? -EXDEV : err;
}

static int set(struct module_clock *m, const struct tsct_clock_state *state)
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
	if (!err)
		err = check(&last, state);
	if (!err && ioctl(fd, TSCT_IOC_CLOCK_SET, &request))
		err = -errno;
	close(fd);
	return err;
}

/* What says nothing about how the two of us get on. */
static bool is_passing(int err)
{
	return err == -ESTALE || err == -ETIME || err == -EXDEV ||
		err == -EAGAIN;
}

static void note(struct module_clock *m, const char *instead, int err)
{
	if (err == m->result || is_passing(err))
		return;
	m->result = err;
	if (!err)
		log_info("publishing to %s", TSCT_DEVICE_PATH);
	else if (err == -ENOENT)
		log_info("%s is gone; publishing to %s only", TSCT_DEVICE_PATH,
			 instead);
	else if (err == -EBUSY)
		log_error("another tsctraced publishes to %s, so this one does "
			  "to %s only; stop one of them", TSCT_DEVICE_PATH,
			  instead);
	else if (err == -EPERM || err == -EACCES)
		log_error("%s: %s; setting its clock takes CAP_SYS_TIME: run as "
			  "root, or with --no-module", TSCT_DEVICE_PATH,
			  strerror(-err));
	else
		log_error("%s: the module refuses the clock's state: %s",
			  TSCT_DEVICE_PATH, strerror(-err));
}

int module_clock_set(struct module_clock *m, const char *instead,
	       const struct tsct_clock_state *state)
{
	int err = set(m, state);

	note(m, instead, err);
	return err;
}

/* ---- questions ----------------------------------------------------------- */

static int ask(const struct module_clock *m, unsigned long request, void *arg)
{
	int fd = open_device(m);
	int err;

	if (fd < 0)
		return fd;
	err = ioctl(fd, request, arg) ? -errno : 0;
	close(fd);
	return err;
}

int module_clock_snapshot(const struct module_clock *m, struct tsct_clock_snapshot *ret)
{
	memset(ret, 0, sizeof(*ret));
	return ask(m, TSCT_IOC_CLOCK_SNAPSHOT, ret);
}

int module_clock_check(const struct module_clock *m, struct tsct_check *check_arg)
{
	return ask(m, TSCT_IOC_CHECK, check_arg);
}
