/* SPDX-License-Identifier: MIT */
/* The small files by which the kernel says how it is. */
#ifndef TSCT_SYSFILE_H
#define TSCT_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * tsct_sysfs_read - the beginning of a file, as a string
 * tsct_sysfs_read_line - its first line, without the newline
 *
 * Return its length, or -errno; @text is then as it was.
 */
ssize_t tsct_sysfs_read(const char *path, char *text, size_t size);
ssize_t tsct_sysfs_read_line(const char *path, char *text, size_t size);

/* Is @word one of the words of @text, which are parted by blanks? */
bool tsct_has_word(const char *text, const char *word);

#endif /* TSCT_SYSFILE_H */
