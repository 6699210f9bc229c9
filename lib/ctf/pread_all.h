/* SPDX-License-Identifier: MIT */
#ifndef TSCT_READAT_H
#define TSCT_READAT_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns bytes, fewer than @len only at the file's end, or -errno. */
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

#endif /* TSCT_READAT_H */
