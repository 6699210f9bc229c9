// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clockpage.h"
#include "core/latch.h"
#include "core/scale.h"
#include "sample.h"
#include "usercheck.h"

const char *tsct_run_dir(void)
{
	const char *dir = secure_getenv("TSCTRACE_RUN_DIR");

	return dir && *dir ? dir : TSCT_RUN_DIR;
}

void tsct_clockpage_unmap(const struct tsct_clock_page *page)
{
	munmap((void *)page, TSCT_PAGE_SIZE);
}

int tsct_clockpage_fd_check(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* Touching a page beyond the end would raise SIGBUS. */
	if (!S_ISREG(st.st_mode) || st.st_size != TSCT_PAGE_SIZE)
		return -EINVAL;
	if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022)
		return -EACCES;
	return 0;
}

/* Does it say something now? The figures of another boot are not looked at. */
static int check_state(const struct tsct_clock_page *page)
{
	struct tsct_clock_state state;
	int err = tsct_latch_read(page, &state);

	if (err)
		return -EINVAL;		/* somebody scribbles over it */
	if (tsct_clock_state_check(&state))
		return -EINVAL;
	if (state.status == TSCT_STATUS_UNKNOWN || !state.real.mult)
		return -EAGAIN;
	if (state.source == TSCT_SOURCE_TSC && !tsct_tsc_readable())
		return -EOPNOTSUPP;
	if ((__s64)(tsct_stamp_read(state.source) -
		    state.real.void_after_tsc) > 0)
		return -ETIME;
	return 0;
}

static int map_page(int fd, off_t offset, const struct tsct_clock_page **ret)
{
	void *page = mmap(NULL, TSCT_PAGE_SIZE, PROT_READ, MAP_SHARED, fd,
			  offset);

	if (page == MAP_FAILED)
		return -errno;
	*ret = page;
	return 0;
}

static int explain(int err, const char *what, char *why, size_t size)
{
	const char *text;

	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
		text = "is not there";
		err = -ENOENT;
		break;
	case -EAGAIN:
		text = "holds no time yet; is tsctraced running?";
		break;
	case -ETIME:
		text = "holds a time too old to go by; is tsctraced running?";
		err = -EAGAIN;
		break;
	case -EOPNOTSUPP:
		text = "counts TSC, which this process may not read";
		break;
	case -ESTALE:
		text = "is of another boot";
		break;
	case -EINVAL:
		text = "is no clock page, or holds figures that cannot be true";
		break;
	default:
		text = strerror(-err);
		break;
	}
	snprintf(why, size, "%s %s", what, text);
	return err;
}

static int map_module(const struct tsct_clock_page **ret_page)
{
	const struct tsct_clock_page *page = NULL;
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = map_page(fd, TSCT_CLOCK_OFFSET, &page);
	close(fd);
	if (err)
		return err;
	/* A module cannot be of another boot. */
	err = tsct_clock_page_check(page, page->boot_id);
	if (!err)
		err = check_state(page);
	if (err) {
		tsct_clockpage_unmap(page);
		return err;
	}
	*ret_page = page;
	return 0;
}

int tsct_clockpage_module(const struct tsct_clock_page **ret_page, char *why,
			  size_t size)
{
	return explain(map_module(ret_page), TSCT_DEVICE_PATH, why, size);
}

static int check_file_page(const struct tsct_clock_page *page)
{
	__u8 boot_id[16];
	int err = tsct_boot_id(boot_id);

	if (!err)
		err = tsct_clock_page_check(page, boot_id);
	return err ? err : check_state(page);
}

static int map_file(const char *path, const struct tsct_clock_page **ret_page)
{
	const struct tsct_clock_page *page = NULL;
	/* O_NONBLOCK: a FIFO put in its place would have us wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int err;

	if (fd < 0)
		return -errno;
	err = tsct_clockpage_fd_check(fd);
	if (!err)
		err = map_page(fd, 0, &page);
	close(fd);
	if (err)
		return err;
	err = check_file_page(page);
	if (err) {
		tsct_clockpage_unmap(page);
		return err;
	}
	*ret_page = page;
	return 0;
}

int tsct_clockpage_file(const char *dir, const struct tsct_clock_page **ret_page,
			char *why, size_t size)
{
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, TSCT_CLOCK_FILE);
	err = map_file(path, ret_page);
	if (err == -EACCES)
		snprintf(why, size, "%s may not be read, or others than its "
			 "owner, root or you, may write it", path);
	else
		err = explain(err, path, why, size);
	return err;
}
