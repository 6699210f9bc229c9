/* SPDX-License-Identifier: MIT */
/* Sends a recording from one node to another: each file as one zlib stream */
#ifndef TSCT_TOOLS_SEND_FILES_H
#define TSCT_TOOLS_SEND_FILES_H

#include <linux/types.h>

#include "tools/shared/message.h"

struct send_files;

/* Counts the files in the directory @dir that are to be sent, and their total
 * size in bytes. Returns 0; -ENOENT: no such directory; -ESTALE: a file disappeared; or another
 * -errno. */
int send_files_count(const char *dir, unsigned int *ret_files, __u64 *ret_bytes);

/* Opens the directory @dir in order to send its files. Returns 0 or -errno. */
int send_files_open(const char *dir, struct send_files **ret);
void send_files_close(struct send_files *s);

/*
 * send_files_step - append the next messages to a queue
 *
 * Message "file" begins a file; "data" has compressed bytes of the file; "gathered" follows
 * the last file. Returns 1 if more messages follow, 0 after "gathered", or -errno.
 */
int send_files_step(struct send_files *s, struct byte_queue *out);

struct receive_files;

/* Begins to receive a recording into @path, a new directory. Returns 0 or -errno. */
int receive_files_open(const char *path, struct receive_files **ret);

/* Begins a file of @size bytes. The previous file must be complete. Returns 0 or -errno. */
int receive_files_begin(struct receive_files *r, const char *name, __u64 size);

/* Adds compressed bytes to the file. Returns 0 or -errno; -EPROTO if the bytes are
 * not a zlib stream, or if the file becomes longer than its announced size. */
int receive_files_data(struct receive_files *r, const void *data, size_t len);

/* Completes the recording and renames the directory to @path. Returns 0 or -errno. */
int receive_files_commit(struct receive_files *r, const char *path);

/* Removes the directory, unless the recording was completed, and releases @r. */
void receive_files_close(struct receive_files *r);

/* Removes a directory and the files in it, but no subdirectories. */
void remove_recording(const char *dir);

#endif /* TSCT_TOOLS_SEND_FILES_H */
