/* SPDX-License-Identifier: MIT */
/* A recording on its way between two nodes: its files, each as one zlib stream */
#ifndef TSCT_TOOLS_SEND_FILES_H
#define TSCT_TOOLS_SEND_FILES_H

#include <linux/types.h>

#include "tools/common/message.h"

struct send_files;

/* Counts the files of the directory @dir that are to be sent, and their bytes. Returns 0
 * or -errno. */
int send_files_count(const char *dir, unsigned int *ret_files, __u64 *ret_bytes);

/* Returns 0 or -errno */
int send_files_open(const char *dir, struct send_files **ret);
void send_files_close(struct send_files *s);

/*
 * send_files_step - append the next messages to a queue
 *
 * "file" begins a file; "data" have compressed bytes of it; "gathered" follows the last
 * file. Returns 1; 0: "gathered" was appended; -errno.
 */
int send_files_step(struct send_files *s, struct byte_queue *out);

struct receive_files;

/* Receives into @path, a new directory. Returns 0 or -errno. */
int receive_files_open(const char *path, struct receive_files **ret);

/* Begins a file; the file before must be complete. Returns 0 or -errno. */
int receive_files_begin(struct receive_files *r, const char *name, __u64 size);

/* Adds compressed bytes. Returns 0 or -errno; -EPROTO: not a zlib stream, or longer than
 * the size */
int receive_files_data(struct receive_files *r, const void *data, size_t len);

/* Completes the recording and renames the directory to @path. Returns 0 or -errno. */
int receive_files_commit(struct receive_files *r, const char *path);

/* Removes the directory, unless it was committed, and releases @r. */
void receive_files_close(struct receive_files *r);

/* Removes a directory and the files in it; it has no directories in it. */
void remove_recording(const char *dir);

#endif /* TSCT_TOOLS_SEND_FILES_H */
