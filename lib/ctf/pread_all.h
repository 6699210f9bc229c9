/* SPDX-License-Identifier: MIT */
#ifndef TSCT_PREAD_ALL_H
#define TSCT_PREAD_ALL_H

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

#endif /* TSCT_PREAD_ALL_H */
