// SPDX-License-Identifier: MIT
/* The clock file: creation, takeover and publication */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock/clock_source.h"
#include "platform_linux.h"
#include "lib/clock/clock_page.h"
#include "lib/clockpage/latch.h"
#include "lib/clockpage/clock_params.h"
#include "lib/clockpage/clock_segments.h"
#include "daemon/config/log.h"
#include "lib/clock/clock_sample.h"
#include "lib/base/cpus.h"

#define NEW_NAME	".clock.new"

static int map_file(struct clock_file *file, int fd)
{
	void *page;
	/* Allocates blocks now: on a full disk, a write to the mapping would raise SIGBUS. */
	int err = -posix_fallocate(fd, 0, (off_t)file->size);

	if (err)
		return err;
	page = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (page == MAP_FAILED)
		return -errno;
	file->fd = fd;
	file->page = page;
	return 0;
}

void clock_file_close(struct clock_file *file)
{
	if (file->page)
		munmap(file->page, file->size);
	if (file->fd >= 0)
		close(file->fd);
	file->page = NULL;
	file->fd = -1;
}

/* ---- takeover and creation ---------------------------------------------- */

/*
 * Maps the existing clock file if it has the size of a new clock file, only this user or
 * root can write it, and its content is valid for this boot. Returns 0 or -errno.
 */
static int reuse_file(struct clock_file *file, const __u8 boot_id[16])
{
	int fd = openat(file->dir, TSCT_CLOCK_FILE,
			O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct tsct_clock_copy copy;
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || (__u64)st.st_size != file->size)
		err = -EINVAL;
	else if ((st.st_uid != 0 && st.st_uid != geteuid()) || st.st_mode & 022)
		err = -EACCES;
	if (!err)
		err = map_file(file, fd);
	if (err) {
		close(fd);
		return err;
	}
	err = tsct_clock_page_check(file->page, file->size, boot_id);
	if (!err && (file->page->size != file->size ||
		     file->page->nr_cpus != file->nr_cpus))
		err = -EINVAL;
	if (!err)
		err = tsct_latch_read_copy(file->page, &copy);
	if (!err)
		err = tsct_segments_valid(&copy);
	if (err)
		clock_file_close(file);
	else
		tsct_latch_repair(file->page);
	return err;
}

/*
 * Replaces the clock file by a new one, because truncation would raise
 * SIGBUS in processes that map the old file. These processes keep the old
 * file, whose clock goes into holdover.
 */
static int create_file(struct clock_file *file, const __u8 boot_id[16])
{
	int fd, err;

	unlinkat(file->dir, NEW_NAME, 0);
	fd = openat(file->dir, NEW_NAME,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0644) ? -errno : map_file(file, fd);
	if (err) {
		close(fd);
		goto unlink_new;
	}
	tsct_latch_init(file->page, boot_id, TSCT_SOURCE_TSC, file->nr_cpus);
	if (renameat(file->dir, NEW_NAME, file->dir, TSCT_CLOCK_FILE)) {
		err = -errno;
		clock_file_close(file);
		goto unlink_new;
	}
	return 0;
unlink_new:
	unlinkat(file->dir, NEW_NAME, 0);
	return err;
}

static int reuse_or_create(struct clock_file *file)
{
	__u8 boot_id[16];
	int err = tsct_boot_id(boot_id);

	if (!err && reuse_file(file, boot_id))
		err = create_file(file, boot_id);
	return err;
}

int clock_file_open(struct clock_file *file, int dir, const char *dir_path)
{
	__u32 nr_cpus = tsct_cpus_possible();

	*file = (struct clock_file) {
		.dir_path = dir_path,
		.dir = dir,
		.fd = -1,
		.nr_cpus = nr_cpus,
		.size = TSCT_CLOCK_SIZE(nr_cpus),
	};
	return reuse_or_create(file);
}

static void write_cpus(struct clock_file *file)
{
	__u32 cpu;

	for (cpu = 0; file->page && cpu < file->nr_cpus; cpu++)
		if (cpu < file->nr_known)
			tsct_latch_set_cpu(file->page, cpu,
					   file->cpus[cpu].skew_cycles,
					   file->cpus[cpu].error_cycles);
		else
			tsct_latch_set_cpu(file->page, cpu, 0,
					   TSCT_SKEW_UNKNOWN);
}

void clock_file_set_cpus(struct clock_file *file,
			const struct tsct_clock_cpu *cpus, __u32 nr)
{
	file->cpus = cpus;
	file->nr_known = nr;
	write_cpus(file);
}

__u64 clock_file_skew(const struct clock_file *file)
{
	return file->page ? tsct_skew_span((const void *)(file->page + 1),
					   file->nr_cpus) : 0;
}

void clock_file_revive(struct clock_file *file)
{
	struct stat st;
	int err;

	if (file->page && !fstat(file->fd, &st) && st.st_nlink)
		return;
	clock_file_close(file);
	err = reuse_or_create(file);
	if (!err)
		log_warning("%s/%s: the clock file was removed; it was created "
			    "again", file->dir_path, TSCT_CLOCK_FILE);
	else if (err != file->err)
		log_error("%s/%s: cannot create the clock file: %s; programs "
			  "find no clock there%s", file->dir_path,
			  TSCT_CLOCK_FILE, strerror(-err),
			  err == -ENOENT ? ": the directory was removed, "
			  "restart tsctraced" : "");
	file->err = err;
	write_cpus(file);
}

/* ---- publishing --------------------------------------------------------- */

/* Returns the committed state, copy 1 in the clock page. Only this process writes the page. */
static const struct tsct_clock_state *published(const struct clock_file *file)
{
	return &file->page->copy[1].state;
}

void clock_file_last(const struct clock_file *file,
		    struct tsct_clock_state *ret_state)
{
	if (file->page)
		*ret_state = *published(file);
	else
		memset(ret_state, 0, sizeof(*ret_state));
}

static int check_state(const struct clock_file *file,
		       const struct tsct_clock_state *state, __s64 margin_ns)
{
	__u64 now = tsct_cycles_read(state->source);
	int err;

	if (state->real.mult)
		now += (__u64)tsct_ns_cycles(state->real.mult, margin_ns);
	err = tsct_segments_check(published(file), state, now);
	return err && err != -ETIME ? -EXDEV : err;
}

int clock_file_stage(struct clock_file *file,
		    const struct tsct_clock_state *state)
{
	int err;

	if (!file->page)
		return 0;
	err = check_state(file, state, 0);
	if (!err)
		tsct_latch_stage(file->page, state);
	return err;
}

int clock_file_commit(struct clock_file *file,
		     const struct tsct_clock_state *state, __s64 margin_ns)
{
	int err;

	if (!file->page)
		return 0;
	err = check_state(file, state, margin_ns);
	if (!err)
		tsct_latch_commit(file->page);
	return err;
}
