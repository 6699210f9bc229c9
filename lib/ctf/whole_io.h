/* SPDX-License-Identifier: MIT */
/* Reads and writes that continue until all bytes are done: a system call may do only a part */
#ifndef TSCT_WHOLE_IO_H
#define TSCT_WHOLE_IO_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* Calls pread() until @len bytes are read. Returns the bytes read, fewer only at the
 * end of the file, or -errno. */
static inline ssize_t tsct_pread_all(int fd, void *to, size_t len, uint64_t pos)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = pread(fd, (char *)to + got, len - got, (off_t)(pos + got));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

/* Calls write() until @len bytes are written. Returns 0 or -errno. */
static inline int tsct_write_all(int fd, const void *from, size_t len)
{
	const char *at = from;
	ssize_t n;

	for (; len; at += n, len -= (size_t)n) {
		n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

#endif /* TSCT_WHOLE_IO_H */
