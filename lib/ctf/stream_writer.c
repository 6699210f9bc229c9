// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "stream_writer.h"

/* Packets are collected up to FULL bytes; the last one may be FULL, and an event more. */
#define ROOM	(2 * TSCT_PACKET_FULL + TSCT_CTF_PAYLOAD_MAX + \
		 TSCT_DELTA_ROOM + sizeof(struct tsct_packet))

void tsct_stream_writer_init(struct tsct_stream_writer *w, const struct tsct_stream_writer_file *file,
		   const struct tsct_stream_writer_options *options)
{
	memset(w, 0, sizeof(*w));
	w->file = *file;
	w->every = options->every ? options->every : UINT64_MAX;
	w->fsync = options->fsync;
}

void tsct_stream_writer_free(struct tsct_stream_writer *w)
{
	free(w->buffer);
	w->buffer = NULL;
}

/* ---- packets ----------------------------------------------------------- */

static void open_packet(struct tsct_stream_writer *w)
{
	w->packet = w->used;
	w->full = w->used + TSCT_PACKET_FULL;
	w->used += sizeof(struct tsct_packet);
	w->begin = tsct_stream_writer_last(w);
	tsct_delta_begin(&w->delta, w->begin);
}

static void close_packet(struct tsct_stream_writer *w, __u64 discarded)
{
	const struct tsct_packet head = {
		.magic = TSCT_CTF_MAGIC,
		.stream_id = w->file.stream_id,
		.begin = w->begin,
		.end = tsct_stream_writer_last(w),
		.content_bits = (w->used - w->packet) * 8ULL,
		.packet_bits = (w->used - w->packet) * 8ULL,
		.seq = w->packets++,
		.discarded = discarded,
		.cpu = w->file.cpu,
		.node = w->file.node,
	};
	__u8 *at = w->buffer + w->packet;

	memcpy(at, &head, sizeof(head));
	memcpy(at + offsetof(struct tsct_packet, uuid), w->file.uuid, 16);
	w->packed_events += w->delta.events;
	w->discarded = discarded;
	open_packet(w);
}

int tsct_stream_writer_put_first_(struct tsct_stream_writer *w, __u32 id, __u64 tick, __u32 tid,
			const void *payload, __u32 len)
{
	__u8 *at = w->buffer + w->used;
	const __u64 last = tsct_stream_writer_last(w);
	struct tsct_delta delta;
	int head;

	if (tick < last || len > TSCT_CTF_PAYLOAD_MAX)
		return -EINVAL;
	tsct_delta_begin(&delta, tick);
	head = tsct_delta_put(&delta, at, id - TSCT_ID_FIRST, tick, tid);
	if (head < 0)
		return head;
	tsct_stream_writer_copy_(at + head, payload, len);
	w->used += (__u32)head + len;
	w->delta = delta;
	w->begin = tick;
	if (!w->packed_events)
		w->first = tick;
	w->run_length = w->packed_events && tick == last ? w->run_length + 1 : 0;
	if (w->run_length > w->max_per_tick)
		w->max_per_tick = w->run_length;
	return w->every == 1 || w->used >= w->full;
}

/* ---- the file ---------------------------------------------------------- */

static int write_all(int fd, const __u8 *at, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= n;
	}
	return 0;
}

int tsct_fsync(int fd)
{
	return !fsync(fd) || errno == EINVAL || errno == EROFS ? 0 : -errno;
}

/*
 * Opened for each write: a descriptor per CPU of a large machine would exceed
 * RLIMIT_NOFILE.
 */
static int open_file(const struct tsct_stream_writer *w)
{
	int fd = openat(w->file.dirfd, w->file.name,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

static int append(const struct tsct_stream_writer *w, size_t len)
{
	int fd = open_file(w), err;

	if (fd < 0)
		return fd;
	err = write_all(fd, w->buffer, len);
	if (!err && w->fsync == TSCT_FSYNC_PACKET)
		err = tsct_fsync(fd);
	/* The directory entry of a new file, too */
	if (!err && w->fsync == TSCT_FSYNC_PACKET && !w->size)
		err = tsct_fsync(w->file.dirfd);
	/* A partial packet is useless to readers. */
	if (err && ftruncate(fd, w->size))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Writes all completed packets; the open one is empty, with room for its header. */
static int write_out(struct tsct_stream_writer *w)
{
	const __u32 len = w->packet;
	int err = len ? append(w, len) : 0;

	if (err)
		return w->error = err;
	w->size += len;
	w->written_events = w->packed_events;
	w->written_packets = w->packets;
	w->used -= len;
	w->full -= len;
	w->packet = 0;
	return 0;
}

int tsct_stream_writer_start(struct tsct_stream_writer *w, __u64 begin)
{
	w->buffer = malloc(ROOM);
	if (!w->buffer)
		return -ENOMEM;
	w->end = begin;
	open_packet(w);
	close_packet(w, 0);
	return 0;
}

int tsct_stream_writer_end_packet(struct tsct_stream_writer *w, __u64 discarded)
{
	if (w->error)
		return w->error;
	close_packet(w, discarded);
	return w->packet < TSCT_PACKET_FULL &&
		w->fsync != TSCT_FSYNC_PACKET ? 0 : write_out(w);
}

int tsct_stream_writer_flush(struct tsct_stream_writer *w, __u64 discarded)
{
	if (w->error)
		return w->error;
	if (w->delta.events || discarded != w->discarded)
		close_packet(w, discarded);
	return write_out(w);
}

int tsct_stream_writer_finish(struct tsct_stream_writer *w, __u64 discarded)
{
	int err = tsct_stream_writer_flush(w, discarded), fd;

	if (err || w->fsync != TSCT_FSYNC_END || !w->size)
		return err;
	fd = open_file(w);
	if (fd < 0)
		return w->error = fd;
	err = tsct_fsync(fd);
	close(fd);
	return w->error = err;
}

void tsct_stream_writer_drop(struct tsct_stream_writer *w)
{
	w->packed_events = w->written_events;
	w->packets = w->written_packets;
	w->used = w->packet = 0;
	if (w->buffer)
		open_packet(w);
}
