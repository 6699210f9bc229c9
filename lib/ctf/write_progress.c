// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "write_progress.h"

/* Contents of the file. A value read while it is written fails the comparison. */
struct progress_record {
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
	/* Without a lock this recorder would seem to have been killed. */
	err = -errno;
	close(fd);
	unlinkat(dirfd, TSCT_WRITE_PROGRESS_FILE, 0);
	return err;
}

/* Errors are ignored, as the next flush publishes again. */
void tsct_write_progress_publish(int fd, __u64 tick)
{
	const struct progress_record record = { tick, ~tick };
	ssize_t n;

	do
		n = pwrite(fd, &record, sizeof(record), 0);
	while (n < 0 && errno == EINTR);
}

void tsct_write_progress_remove(int dirfd)
{
	unlinkat(dirfd, TSCT_WRITE_PROGRESS_FILE, 0);
}

static bool read_record(int fd, __u64 *ret_tick)
{
	struct progress_record record;

	if (pread(fd, &record, sizeof(record), 0) != sizeof(record) ||
	    record.tick != ~record.inverse)
		return false;
	*ret_tick = record.tick;
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
	/* Before reading the tick: a dead recorder publishes no newer one. */
	if (!flock(fd, LOCK_SH | LOCK_NB))
		state = TSCT_WRITE_PROGRESS_DEAD;
	read_record(fd, ret_tick);
	close(fd);
	return state;
}
