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
 * Return the length without the NUL, or -errno, leaving @text unchanged.
 */
ssize_t tsct_sysfs_read(const char *path, char *text, size_t size);
ssize_t tsct_sysfs_read_line(const char *path, char *text, size_t size);

/* True if @word is one of the words of @text, which are separated by blanks. */
bool tsct_has_word(const char *text, const char *word);

#endif /* TSCT_SYSFS_READ_H */
