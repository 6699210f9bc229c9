// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clockpage.h"
#include "core/latch.h"
#include "core/scale.h"
#include "log.h"
#include "publish.h"
#include "rundir.h"
#include "sample.h"

#define NEW_NAME	".clock.new"
#define MODULE_LOCK	"/run/tsctraced-module.lock"

/* ---- the clock file ----------------------------------------------------- */

static int map_file(struct publisher *p, int fd)
{
	void *page;
	/* A full file system shows now, and not as SIGBUS later. */
	int err = -posix_fallocate(fd, 0, TSCT_PAGE_SIZE);

	if (err)
		return err;
	page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	p->file = fd;
	p->page = page;
	return 0;
}

static void unmap_file(struct publisher *p)
{
	munmap(p->page, TSCT_PAGE_SIZE);
	close(p->file);
	p->page = NULL;
	p->file = -1;
}

/* Is the mapped page one that its readers may go on with? */
static int check_page(const struct tsct_clock_page *page,
		      const __u8 boot_id[16])
{
	struct tsct_clock_state state;
	int err = tsct_clock_page_check(page, boot_id);

	if (!err)
		err = tsct_latch_read(page, &state);
	return err ? err : tsct_clock_state_check(&state);
}

/* A predecessor's file: readers that have it mapped stay with us. */
static int reuse_file(struct publisher *p, const __u8 boot_id[16])
{
	int fd = openat(p->dir, TSCT_CLOCK_FILE,
			O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int err;

	if (fd < 0)
		return -errno;
	err = tsct_clockpage_fd_check(fd);
	if (!err)
		err = map_file(p, fd);
	if (err) {
		close(fd);
		return err;
	}
	err = check_page(p->page, boot_id);
	if (err)
		unmap_file(p);
	else
		tsct_latch_repair(p->page);
	return err;
}

/*
 * Never truncated in place: that would raise SIGBUS in those who have the old
 * one mapped. They keep it, and see it grow old.
 */
static int make_file(struct publisher *p, const __u8 boot_id[16])
{
	int fd, err;

	unlinkat(p->dir, NEW_NAME, 0);
	fd = openat(p->dir, NEW_NAME,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0644) ? -errno : map_file(p, fd);
	if (err) {
		close(fd);
		goto unlink_new;
	}
	tsct_latch_init(p->page, boot_id, TSCT_SOURCE_TSC);
	if (renameat(p->dir, NEW_NAME, p->dir, TSCT_CLOCK_FILE)) {
		err = -errno;
		unmap_file(p);
		goto unlink_new;
	}
	return 0;
unlink_new:
	unlinkat(p->dir, NEW_NAME, 0);
	return err;
}

static int open_file(struct publisher *p)
{
	__u8 boot_id[16];
	int err = tsct_boot_id(boot_id);

	if (!err && reuse_file(p, boot_id))
		err = make_file(p, boot_id);
	return err;
}

/* Somebody removed the file: who comes now must find one, too. */
static void revive_file(struct publisher *p)
{
	struct stat st;
	int err;

	if (p->page && !fstat(p->file, &st) && st.st_nlink)
		return;
	if (p->page)
		unmap_file(p);
	err = open_file(p);
	if (err)
		log_warning("%s/%s: %s", p->dir_path, TSCT_CLOCK_FILE,
			    strerror(-err));
	else
		log_warning("%s/%s: was removed; made it again", p->dir_path,
			    TSCT_CLOCK_FILE);
}

/* ---- the module --------------------------------------------------------- */

/* The mapping pins the module, as the descriptor does: gone at once. */
static int read_module(int fd, struct tsct_clock_state *state)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, fd,
			  TSCT_CLOCK_OFFSET);
	int err;

	if (page == MAP_FAILED)
		return -errno;
	err = tsct_clock_page_check(page,
				    ((struct tsct_clock_page *)page)->boot_id);
	if (!err)
		err = tsct_latch_read(page, state);
	munmap(page, TSCT_PAGE_SIZE);
	return err;
}

static int open_module(struct publisher *p, struct tsct_clock_state *state)
{
	int fd = p->use_module ? open(TSCT_DEVICE_PATH, O_RDWR | O_CLOEXEC) :
		(errno = ENOENT, -1);
	int err;

	if (fd < 0)
		return errno == ENXIO || errno == ENODEV ? -ENOENT : -errno;
	err = read_module(fd, state);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * One daemon at a time sets the module's clock, whatever its --run-dir. The
 * device cannot be what they lock: a descriptor of it would pin the module.
 * Who has CAP_SYS_TIME and yet cannot write to /run goes without.
 */
static int lock_module(struct publisher *p)
{
	int fd;

	if (p->module_lock >= 0)
		return 0;
	fd = open(MODULE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -EBUSY;
	}
	p->module_lock = fd;
	return 0;
}

static int set_module(struct publisher *p, const struct tsct_clock_state *state)
{
	struct tsct_clock_set set = { .state = *state };
	struct tsct_clock_state last;
	int fd = open_module(p, &last);
	int err;

	if (fd < 0)
		return fd;
	err = lock_module(p);
	if (err)
		goto close_fd;
	if (last.source != state->source || last.epoch > state->epoch)
		err = -ESTALE;
	else if (ioctl(fd, TSCT_IOC_CLOCK_SET, &set))
		err = -errno;
close_fd:
	close(fd);
	return err;
}

/* Says what changed, and nothing where nothing did. */
static void note_module(struct publisher *p, int err)
{
	if (err == p->module || err == -ESTALE)
		return;
	p->module = err;
	if (!err)
		log_info("publishing to %s", TSCT_DEVICE_PATH);
	else if (err == -ENOENT)
		log_info("%s is gone; publishing to %s only", TSCT_DEVICE_PATH,
			 p->dir_path);
	else if (err == -EBUSY)
		log_error("another tsctraced publishes to %s, so this one does "
			  "to %s only; stop one of them", TSCT_DEVICE_PATH,
			  p->dir_path);
	else if (err == -EPERM || err == -EACCES)
		log_error("%s: %s; setting its clock takes CAP_SYS_TIME: run as "
			  "root, or with --no-module", TSCT_DEVICE_PATH,
			  strerror(-err));
	else
		log_error("%s: the module refuses the clock's state: %s",
			  TSCT_DEVICE_PATH, strerror(-err));
}

/* ---- both --------------------------------------------------------------- */

int publisher_open(struct publisher *p, int dir, const char *dir_path,
		   bool use_module)
{
	int err;

	*p = (struct publisher) {
		.dir_path = dir_path,
		.dir = dir,
		.file = -1,
		.use_module = use_module,
		.module = -ENOENT,
		.module_lock = -1,
	};
	err = open_file(p);
	if (err)
		log_error("%s/%s: %s; %s", dir_path, TSCT_CLOCK_FILE,
			  strerror(-err), rundir_fix(err));
	return err;
}

void publisher_close(struct publisher *p)
{
	if (p->page)
		unmap_file(p);
	if (p->module_lock >= 0)
		close(p->module_lock);
}

void publisher_last(struct publisher *p, struct tsct_clock_state *ret_state)
{
	struct tsct_clock_state module;
	__u32 epoch;
	int fd;

	memset(ret_state, 0, sizeof(*ret_state));
	if (p->page)
		tsct_latch_read(p->page, ret_state);
	fd = open_module(p, &module);
	if (fd < 0)
		return;
	close(fd);
	epoch = ret_state->epoch;
	if (module.epoch > epoch || module.source != ret_state->source)
		*ret_state = module;
	if (epoch > ret_state->epoch)
		ret_state->epoch = epoch;
}

int publisher_set(struct publisher *p, const struct tsct_clock_state *state)
{
	int err = set_module(p, state);

	note_module(p, err);
	if (err == -ESTALE)
		return err;
	if (err == -EPERM || err == -EACCES)
		return -EPERM;
	revive_file(p);
	if (p->page)
		tsct_latch_write(p->page, state);
	return 0;
}
