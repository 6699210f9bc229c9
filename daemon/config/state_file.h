/* SPDX-License-Identifier: MIT */
/* Files of the state directory, and the identity of this node and of its host */
#ifndef TSCTRACED_STATE_FILE_H
#define TSCTRACED_STATE_FILE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * state_file_read - read a file as text; returns the length of @text or -errno. -EACCES:
 *	not readable, or other users can write the file; -ELOOP: a symbolic link
 *
 * state_file_replace - write @text to a new file, and rename the new file to @path;
 *	returns 0 or -errno. @sync: write the new file to disk before it is renamed
 */
ssize_t state_file_read(const char *path, char *text, size_t size);
int state_file_replace(const char *path, const char *text, size_t len, bool sync);

/* Returns the node's id: random, never 0, saved in @state_dir over restarts if
 * possible */
__u64 node_id(const char *state_dir);

/* Returns the host's id: never 0, and equal for all daemons on this boot
 * of the kernel, because these share a counter */
__u64 node_host_id(void);

#endif /* TSCTRACED_STATE_FILE_H */
