// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "write_progress.h"

/* Readers may come in between: half a figure is none. */
struct told {
	__u64 tick;
	__u64 inverse;
};

int tsct_write_progress_open(int dirfd)
{
	int fd = openat(dirfd, TSCT_WRITE_PROGRESS_FILE,
			O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	/* Without a lock it would look as if we were dead. */
	err = -errno;
	close(fd);
	unlinkat(dirfd, TSCT_WRITE_PROGRESS_FILE, 0);
	return err;
}

/* What it cannot write now, it can write the next time. */
void tsct_write_progress_publish(int fd, __u64 tick)
{
	const struct told told = { tick, ~tick };
	ssize_t n;

	do
		n = pwrite(fd, &told, sizeof(told), 0);
	while (n < 0 && errno == EINTR);
}

void tsct_write_progress_remove(int dirfd)
{
	unlinkat(dirfd, TSCT_WRITE_PROGRESS_FILE, 0);
}

static bool read_told(int fd, __u64 *ret_tick)
{
	struct told told;

	if (pread(fd, &told, sizeof(told), 0) != sizeof(told) ||
	    told.tick != ~told.inverse)
		return false;
	*ret_tick = told.tick;
	return true;
}

enum tsct_write_progress_state tsct_write_progress_read(int dirfd, __u64 *ret_tick)
{
	enum tsct_write_progress_state state = TSCT_WRITE_PROGRESS_LIVE;
	int fd;

	*ret_tick = 0;
	fd = openat(dirfd, TSCT_WRITE_PROGRESS_FILE,
		    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return TSCT_WRITE_PROGRESS_NONE;
	/* Before the figure: who died after it left none that is newer. */
	if (!flock(fd, LOCK_SH | LOCK_NB))
		state = TSCT_WRITE_PROGRESS_DEAD;
	read_told(fd, ret_tick);
	close(fd);
	return state;
}
