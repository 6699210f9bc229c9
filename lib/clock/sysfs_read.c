// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sysfs_read.h"

ssize_t tsct_sysfs_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

ssize_t tsct_sysfs_read_line(const char *path, char *text, size_t size)
{
	ssize_t n = tsct_sysfs_read(path, text, size);

	if (n < 0)
		return n;
	text[strcspn(text, "\n")] = '\0';
	return (ssize_t)strlen(text);
}

bool tsct_has_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at;

	for (at = text; (at = strstr(at, word)); at += len)
		if ((at == text || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\0'))
			return true;
	return false;
}
