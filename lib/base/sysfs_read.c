// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sysfs_read.h"

/* Reads the beginning of an open file, as a string. */
static ssize_t read_begin(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n;
}

/* Cuts a text of @n bytes after its first line, and returns the new length. Returns @n if @n
 * is -errno. */
static ssize_t cut_line(char *text, ssize_t n)
{
	if (n < 0)
		return n;
	text[strcspn(text, "\n")] = '\0';
	return (ssize_t)strlen(text);
}

ssize_t tsct_sysfs_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read_begin(fd, text, size);
	close(fd);
	return n;
}

ssize_t tsct_sysfs_read_line(const char *path, char *text, size_t size)
{
	return cut_line(text, tsct_sysfs_read(path, text, size));
}

ssize_t tsct_sysfs_file_line(struct tsct_sysfs_file *file, char *text, size_t size)
{
	ssize_t n;

	if (file->fd < 0)
		file->fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	n = read_begin(file->fd, text, size);
	if (n < 0)
		tsct_sysfs_file_close(file);
	return cut_line(text, n);
}

void tsct_sysfs_file_close(struct tsct_sysfs_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
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
