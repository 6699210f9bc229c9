// SPDX-License-Identifier: MIT
/* Sends and receives the files of a recording */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "send_files.h"

#define CHUNK		(128 << 10)	/* size of the buffers for file data, bytes */
/* At level 1, zlib is as fast as a network of 1 Gbit/s. Higher levels hardly reduce the size. */
#define LEVEL		1

/* ---- sending ------------------------------------------------------------------ */

struct send_files {
	int dirfd, fd;		/* the directory; the file that is being sent, -1: none */
	struct dirent **names;
	int nr, at;		/* number of names; index of the next one to send */
	z_stream z;
	char in[CHUNK], out[CHUNK];
};

/* Selects the files to send: all except hidden ones, which only a running recorder needs. */
static int is_sent(const struct dirent *e)
{
	return *e->d_name != '.';
}

int send_files_open(const char *dir, struct send_files **ret)
{
	struct send_files *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return err;
	s->fd = -1;
	s->dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->nr = s->dirfd < 0 ? -1 : scandirat(s->dirfd, ".", &s->names, is_sent, alphasort);
	if (s->nr >= 0 && deflateInit(&s->z, LEVEL) == Z_OK) {
		*ret = s;
		return 0;
	}
	if (s->nr < 0)
		err = -errno;
	send_files_close(s);
	return err;
}

void send_files_close(struct send_files *s)
{
	int i;

	if (!s)
		return;
	deflateEnd(&s->z);
	for (i = 0; i < s->nr; i++)
		free(s->names[i]);
	free(s->names);
	if (s->fd >= 0)
		close(s->fd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s);
}

int send_files_count(const char *dir, unsigned int *ret_files, __u64 *ret_bytes)
{
	struct send_files *s;
	struct stat st;
	int i, err = send_files_open(dir, &s);

	*ret_files = 0;
	*ret_bytes = 0;
	if (err)
		return err;
	for (i = 0; i < s->nr; i++) {
		if (fstatat(s->dirfd, s->names[i]->d_name, &st, AT_SYMLINK_NOFOLLOW)) {
			/* ENOENT states that there is no recording, not that a file disappeared. */
			err = errno == ENOENT ? -ESTALE : -errno;
			break;
		}
		++*ret_files;
		*ret_bytes += (__u64)st.st_size;
	}
	send_files_close(s);
	return err;
}

/* Begins the next file, or appends "gathered" after the last file. See send_files_step(). */
static int next_file(struct send_files *s, struct byte_queue *out)
{
	const char *name;
	struct stat st;
	int err;

	if (s->at == s->nr)
		return message_add(out, json_pack("{ss}", "type", "gathered"), NULL, 0);
	name = s->names[s->at++]->d_name;
	s->fd = openat(s->dirfd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	deflateReset(&s->z);
	err = message_add(out, json_pack("{ss ss sI}", "type", "file", "name", name,
					 "size", (json_int_t)st.st_size), NULL, 0);
	return err ? err : 1;
}

int send_files_step(struct send_files *s, struct byte_queue *out)
{
	ssize_t n = 0;
	size_t len;
	int err, ret;

	if (s->fd < 0)
		return next_file(s, out);
	if (!s->z.avail_in) {
		n = read(s->fd, s->in, sizeof(s->in));
		if (n < 0)
			return -errno;
		s->z.next_in = (Bytef *)s->in;
		s->z.avail_in = (uInt)n;
	}
	s->z.next_out = (Bytef *)s->out;
	s->z.avail_out = sizeof(s->out);
	ret = deflate(&s->z, s->z.avail_in ? Z_NO_FLUSH : Z_FINISH);
	len = sizeof(s->out) - s->z.avail_out;
	if (ret == Z_STREAM_END) {
		close(s->fd);
		s->fd = -1;
	} else if (ret != Z_OK) {
		return -EIO;
	}
	err = len ? message_add(out, json_pack("{ss}", "type", "data"), s->out, len) : 0;
	return err ? err : 1;
}

/* ---- receiving ------------------------------------------------------------------ */

struct receive_files {
	char *path;		/* path of the directory; NULL: committed */
	int dirfd;
	FILE *file;		/* file that is being received; NULL: none */
	__u64 left;		/* number of bytes of the file that were not received yet */
	z_stream z;
	char out[CHUNK];
};

int receive_files_open(const char *path, struct receive_files **ret)
{
	struct receive_files *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (!r)
		return err;
	r->dirfd = -1;
	if (mkdir(path, 0700)) {
		err = -errno;
		free(r);
		return err;
	}
	r->path = strdup(path);
	r->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->path && r->dirfd >= 0 && inflateInit(&r->z) == Z_OK) {
		*ret = r;
		return 0;
	}
	err = r->path && r->dirfd < 0 ? -errno : -ENOMEM;
	receive_files_close(r);
	return err;
}

int receive_files_begin(struct receive_files *r, const char *name, __u64 size)
{
	int fd;

	if (r->file)
		return -EPROTO;
	fd = openat(r->dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? -EPROTO : -errno;
	r->file = fdopen(fd, "w");
	if (!r->file) {
		close(fd);
		return -ENOMEM;
	}
	r->left = size;
	inflateReset(&r->z);
	return 0;
}

int receive_files_data(struct receive_files *r, const void *data, size_t len)
{
	int ret = Z_OK, err;
	size_t n;

	if (!r->file)
		return -EPROTO;
	r->z.next_in = (Bytef *)data;
	r->z.avail_in = (uInt)len;
	do {
		r->z.next_out = (Bytef *)r->out;
		r->z.avail_out = sizeof(r->out);
		ret = inflate(&r->z, Z_NO_FLUSH);
		if (ret != Z_OK && ret != Z_STREAM_END && ret != Z_BUF_ERROR)
			return -EPROTO;
		n = sizeof(r->out) - r->z.avail_out;
		if (n > r->left)
			return -EPROTO;
		r->left -= n;
		if (fwrite(r->out, 1, n, r->file) != n)
			return -errno;
	} while (ret == Z_OK && (r->z.avail_in || !r->z.avail_out));
	if (ret != Z_STREAM_END)
		return 0;
	if (r->left || r->z.avail_in)
		return -EPROTO;
	err = fclose(r->file) ? -errno : 0;
	r->file = NULL;
	return err;
}

int receive_files_commit(struct receive_files *r, const char *path)
{
	if (r->file)
		return -EPROTO;
	if (rename(r->path, path))
		return -errno;
	free(r->path);
	r->path = NULL;
	return 0;
}

void receive_files_close(struct receive_files *r)
{
	if (!r)
		return;
	inflateEnd(&r->z);
	if (r->file)
		fclose(r->file);
	if (r->dirfd >= 0)
		close(r->dirfd);
	if (r->path)
		remove_recording(r->path);
	free(r->path);
	free(r);
}

void remove_recording(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}
