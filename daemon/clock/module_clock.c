// SPDX-License-Identifier: MIT
/* Requests about the clock to the kernel module */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <tsctrace/version.h>
#include <unistd.h>

#include "daemon/config/log.h"
#include "module_clock.h"

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

/* Refuses a module of an earlier release, which keeps a clock itself and counts no disruptions. */
static int refuse_module(struct module_clock *m)
{
	struct tsct_info info = { .version = "" };

	module_request(m, TSCT_IOC_INFO, &info);
	m->use = false;
	log_error("%s: the module is of version %.31s, and this tsctraced of version %s: the "
		  "module is not used; use module and tsctraced of one release, and restart "
		  "tsctraced", TSCT_DEVICE_PATH, info.version, TSCT_VERSION);
	return -ENOENT;
}

int module_clock_snapshot(struct module_clock *m,
			  struct tsct_clock_snapshot *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	err = module_request(m, TSCT_IOC_CLOCK_SNAPSHOT, ret);
	if (err == -EACCES || err == -EPERM) {
		log_error("%s: cannot read the module's count of disruptions: %s; disruptions that "
			  "the module counts are not detected; run as root, or with --no-module",
			  TSCT_DEVICE_PATH, strerror(-err));
		m->use = false;
		return -ENOENT;
	}
	if (err == -ENOTTY || ((!err || err == -EOPNOTSUPP) && !ret->disruptions))
		return refuse_module(m);
	return err;
}

void module_clock_store(struct module_clock *m, const struct tsct_clock_page *page)
{
	struct tsct_clock_store request = {
		.copy = (uintptr_t)&page->copy[1],
		.cpus = (uintptr_t)(page + 1),
		.nr_cpus = page->nr_cpus,
	};
	int err;

	memcpy(request.boot_id, page->boot_id, sizeof(request.boot_id));
	err = module_request(m, TSCT_IOC_CLOCK_STORE, &request);
	if (err == -ENOENT)	/* there is no module, or no reserved memory */
		err = 0;
	if (err && err != m->result)
		log_warning("%s: cannot store the clock in reserved memory: %s; after a panic, the "
			    "events in that memory will have no time", TSCT_DEVICE_PATH,
			    strerror(-err));
	m->result = err;
}

int module_clock_check(struct module_clock *m, struct tsct_check *check)
{
	return module_request(m, TSCT_IOC_CHECK, check);
}
