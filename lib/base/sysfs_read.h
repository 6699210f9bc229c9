/* SPDX-License-Identifier: MIT */
/* Reading of small text files in /sys and /proc. */
#ifndef TSCT_SYSFS_READ_H
#define TSCT_SYSFS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * tsct_sysfs_read - read the beginning of a file, as a string
 * tsct_sysfs_read_line - read the first line of a file, without the newline
 * @size: bytes of @text, with the NUL
 *
 * Return the length without the NUL; or -errno, and @text is unchanged.
 */
ssize_t tsct_sysfs_read(const char *path, char *text, size_t size);
ssize_t tsct_sysfs_read_line(const char *path, char *text, size_t size);

/*
 * A file that is read again and again. It stays open: in /sys, opening costs several times
 * as much as reading.
 */
struct tsct_sysfs_file {
	const char *path;
	int fd;		/* -1: not open */
};

/*
 * tsct_sysfs_file_line - read the first line of a file as it is now, without the newline
 * @file: opened if not open; closed if reading fails, so that the next call opens the path anew
 *
 * Returns the length without the NUL; or -errno, and @text is unchanged.
 */
ssize_t tsct_sysfs_file_line(struct tsct_sysfs_file *file, char *text, size_t size);
void tsct_sysfs_file_close(struct tsct_sysfs_file *file);

/* Returns true if @word is one of the words of @text, which are separated by blanks. */
bool tsct_has_word(const char *text, const char *word);

#endif /* TSCT_SYSFS_READ_H */
