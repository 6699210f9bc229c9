// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock_page.h"
#include "lib/core/latch.h"
#include "lib/core/clock_params.h"
#include "clock_sample.h"
#include "clock_source.h"
#include "tsc_check.h"

void tsct_clock_area_unmap(const struct tsct_clock_area *area)
{
	munmap((void *)area->page, area->size);
}

/*
 * Root, us, or whom root has appointed: the owner of a directory that stands in
 * one which only root may change. That is how a service has one of its own.
 */
static bool is_trusted(uid_t owner, const char *dir)
{
	struct stat own, above;
	char path[4096];

	if (!owner || owner == geteuid())
		return true;
	snprintf(path, sizeof(path), "%s/..", dir);
	return !lstat(dir, &own) && S_ISDIR(own.st_mode) &&
		own.st_uid == owner && !(own.st_mode & 022) &&
		!stat(path, &above) && !above.st_uid && !(above.st_mode & 022);
}

/* Is an open clock file fit to be mapped, as far as can be told from outside? */
static int check_fd(int fd, const char *dir)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	/* Touching a page beyond the end would raise SIGBUS. */
	if (!S_ISREG(st.st_mode) || st.st_size % TSCT_PAGE_SIZE ||
	    st.st_size < (off_t)TSCT_CLOCK_SIZE(0) ||
	    st.st_size > (off_t)TSCT_CLOCK_SIZE(TSCT_CPUS_MAX))
		return -EINVAL;
	if (!is_trusted(st.st_uid, dir) || st.st_mode & 022)
		return -EACCES;
	return 0;
}

static int map(int fd, off_t offset, size_t size,
	       const struct tsct_clock_page **ret_page)
{
	void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);

	if (page == MAP_FAILED)
		return -errno;
	*ret_page = page;
	return 0;
}

/*
 * The first page says how much there is. What says so may lie, or change its
 * mind: it is read once, and what has been mapped is the measure from then on.
 */
static int read_size(int fd, off_t offset, struct tsct_clock_area *area)
{
	const struct tsct_clock_page *page = NULL;
	__u64 cpus_offset;
	int err = map(fd, offset, TSCT_PAGE_SIZE, &page);

	if (err)
		return err;
	area->size = READ_ONCE(page->size);
	area->nr_cpus = READ_ONCE(page->nr_cpus);
	cpus_offset = READ_ONCE(page->cpus_offset);
	if (READ_ONCE(page->magic) != TSCT_CLOCK_MAGIC ||
	    area->nr_cpus > TSCT_CPUS_MAX ||
	    area->size != TSCT_CLOCK_SIZE(area->nr_cpus) ||
	    cpus_offset != TSCT_CLOCK_CPUS_OFFSET)
		err = -EINVAL;
	munmap((void *)page, TSCT_PAGE_SIZE);
	return err;
}

static int check_figures(const struct tsct_clock_page *page)
{
	struct tsct_clock_copy *copy = malloc(sizeof(*copy));
	int err;

	if (!copy)
		return -ENOMEM;
	err = tsct_latch_read_copy(page, copy);
	/* Where it cannot be read, somebody scribbles over it. */
	if (err || tsct_segments_valid(copy))
		err = -EINVAL;
	free(copy);
	return err;
}

/* Does it say something now? The figures of another boot are not looked at. */
static int check_state(const struct tsct_clock_page *page)
{
	struct tsct_clock_state state;

	if (check_figures(page) || tsct_latch_read(page, &state))
		return -EINVAL;
	if (state.status == TSCT_STATUS_UNKNOWN || !state.real.mult)
		return -EAGAIN;
	if (state.source == TSCT_SOURCE_TSC && !tsct_tsc_readable())
		return -EOPNOTSUPP;
	if ((__s64)(tsct_cycles_read(state.source) -
		    state.real.void_after_cycles) > 0)
		return -ETIME;
	return 0;
}

/*
 * The rest of an area whose size is known.
 * @boot_id: NULL: a module cannot be of another boot.
 */
static int map_area(int fd, off_t offset, const __u8 *boot_id,
		    struct tsct_clock_area *area)
{
	int err = map(fd, offset, area->size, &area->page);

	if (err)
		return err;
	err = tsct_clock_page_check(area->page, area->size,
				    boot_id ? boot_id : area->page->boot_id);
	if (!err)
		err = check_state(area->page);
	if (err)
		tsct_clock_area_unmap(area);
	return err;
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
		text = "is of another boot; is tsctraced running?";
		break;
	case -ELOOP:
		text = "is a symbolic link; none is followed; remove it, and start"
			" tsctraced again";
		break;
	case -EINVAL:
		text = "is no clock page of this version, or holds figures that"
			" cannot be true";
		break;
	default:
		text = strerror(-err);
		break;
	}
	snprintf(why, size, "%s %s", what, text);
	return err;
}

static int map_module(struct tsct_clock_area *ret_area)
{
	int fd = open(TSCT_DEVICE_PATH, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = read_size(fd, TSCT_CLOCK_OFFSET, ret_area);
	if (!err)
		err = map_area(fd, TSCT_CLOCK_OFFSET, NULL, ret_area);
	close(fd);
	return err;
}

int tsct_clock_area_map_module(struct tsct_clock_area *ret_area, char *why,
			  size_t size)
{
	return explain(map_module(ret_area), TSCT_DEVICE_PATH, why, size);
}

static int check_length(int fd, const struct tsct_clock_area *area)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return (size_t)st.st_size == area->size ? 0 : -EINVAL;
}

static int map_file(const char *dir, const char *path,
		    struct tsct_clock_area *ret_area)
{
	/* O_NONBLOCK: a FIFO put in its place would have us wait. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	__u8 boot_id[16];
	int err;

	if (fd < 0)
		return -errno;
	err = check_fd(fd, dir);
	if (!err)
		err = tsct_boot_id(boot_id);
	/* Before anything behind the first page is touched */
	if (!err)
		err = read_size(fd, 0, ret_area);
	if (!err)
		err = check_length(fd, ret_area);
	if (!err)
		err = map_area(fd, 0, boot_id, ret_area);
	close(fd);
	return err;
}

int tsct_clock_area_map_file(const char *dir, struct tsct_clock_area *ret_area,
			char *why, size_t size)
{
	char path[4096];
	int err;

	snprintf(path, sizeof(path), "%s/%s", dir, TSCT_CLOCK_FILE);
	err = map_file(dir, path, ret_area);
	if (err == -EACCES)
		snprintf(why, size, "%s may not be read, or others than its "
			 "owner may write it, or who owns it was not appointed by"
			 " root", path);
	else
		err = explain(err, path, why, size);
	return err;
}
