// SPDX-License-Identifier: MIT
/* Packets of one stream file: assembled, appended, cut off again. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "stream_writer.h"

/* Packets are collected up to FULL, the last may be FULL, and one event more. */
#define ROOM	(2 * TSCT_PACKET_FULL + TSCT_CTF_PAYLOAD_MAX + \
		 TSCT_DELTA_ROOM + sizeof(struct tsct_packet))

void tsct_stream_writer_init(struct tsct_stream_writer *pen, const struct tsct_stream_writer_file *file,
		   const struct tsct_stream_writer_options *options)
{
	memset(pen, 0, sizeof(*pen));
	pen->file = *file;
	pen->every = options->every ? options->every : UINT64_MAX;
	pen->fsync = options->fsync;
}

void tsct_stream_writer_free(struct tsct_stream_writer *pen)
{
	free(pen->buffer);
	pen->buffer = NULL;
}

/* ---- packets ----------------------------------------------------------- */

static void open_packet(struct tsct_stream_writer *pen)
{
	pen->packet = pen->used;
	pen->full = pen->used + TSCT_PACKET_FULL;
	pen->used += sizeof(struct tsct_packet);
	pen->begin = tsct_stream_writer_last(pen);
	tsct_delta_begin(&pen->delta, pen->begin);
}

static void close_packet(struct tsct_stream_writer *pen, __u64 discarded)
{
	const struct tsct_packet head = {
		.magic = TSCT_CTF_MAGIC,
		.stream_id = pen->file.stream_id,
		.begin = pen->begin,
		.end = tsct_stream_writer_last(pen),
		.content_bits = (pen->used - pen->packet) * 8ULL,
		.packet_bits = (pen->used - pen->packet) * 8ULL,
		.seq = pen->packets++,
		.discarded = discarded,
		.cpu = pen->file.cpu,
		.node = pen->file.node,
	};
	__u8 *at = pen->buffer + pen->packet;

	memcpy(at, &head, sizeof(head));
	memcpy(at + offsetof(struct tsct_packet, uuid), pen->file.uuid, 16);
	pen->packed_events += pen->delta.events;
	pen->discarded = discarded;
	open_packet(pen);
}

int tsct_stream_writer_put_first_(struct tsct_stream_writer *pen, __u32 id, __u64 tick, __u32 tid,
			const void *payload, __u32 len)
{
	__u8 *at = pen->buffer + pen->used;
	const __u64 last = tsct_stream_writer_last(pen);
	struct tsct_delta delta;
	int head;

	if (tick < last || len > TSCT_CTF_PAYLOAD_MAX)
		return -EINVAL;
	tsct_delta_begin(&delta, tick);
	head = tsct_delta_put(&delta, at, id - TSCT_ID_FIRST, tick, tid);
	if (head < 0)
		return head;
	tsct_stream_writer_copy_(at + head, payload, len);
	pen->used += (__u32)head + len;
	pen->delta = delta;
	pen->begin = tick;
	if (!pen->packed_events)
		pen->first = tick;
	pen->run_length = pen->packed_events && tick == last ? pen->run_length + 1 : 0;
	if (pen->run_length > pen->max_per_tick)
		pen->max_per_tick = pen->run_length;
	return pen->every == 1 || pen->used >= pen->full;
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
 * Files are opened anew every time: a descriptor for each CPU of a big machine
 * would be more than a process may have.
 */
static int open_file(const struct tsct_stream_writer *pen)
{
	int fd = openat(pen->file.dirfd, pen->file.name,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

static int append(const struct tsct_stream_writer *pen, size_t len)
{
	int fd = open_file(pen), err;

	if (fd < 0)
		return fd;
	err = write_all(fd, pen->buffer, len);
	if (!err && pen->fsync == TSCT_FSYNC_PACKET)
		err = tsct_fsync(fd);
	/* So is its name. */
	if (!err && pen->fsync == TSCT_FSYNC_PACKET && !pen->size)
		err = tsct_fsync(pen->file.dirfd);
	/* Half a packet is of no use to anybody: take it back. */
	if (err && ftruncate(fd, pen->size))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Whole packets go; of the one that was begun there is a head's room so far. */
static int write_out(struct tsct_stream_writer *pen)
{
	const __u32 len = pen->packet;
	int err = len ? append(pen, len) : 0;

	if (err)
		return pen->error = err;
	pen->size += len;
	pen->written_events = pen->packed_events;
	pen->written_packets = pen->packets;
	pen->used -= len;
	pen->full -= len;
	pen->packet = 0;
	return 0;
}

int tsct_stream_writer_start(struct tsct_stream_writer *pen, __u64 begin)
{
	pen->buffer = malloc(ROOM);
	if (!pen->buffer)
		return -ENOMEM;
	pen->end = begin;
	open_packet(pen);
	close_packet(pen, 0);
	return 0;
}

int tsct_stream_writer_end_packet(struct tsct_stream_writer *pen, __u64 discarded)
{
	if (pen->error)
		return pen->error;
	close_packet(pen, discarded);
	return pen->packet < TSCT_PACKET_FULL &&
		pen->fsync != TSCT_FSYNC_PACKET ? 0 : write_out(pen);
}

int tsct_stream_writer_flush(struct tsct_stream_writer *pen, __u64 discarded)
{
	if (pen->error)
		return pen->error;
	if (pen->delta.events || discarded != pen->discarded)
		close_packet(pen, discarded);
	return write_out(pen);
}

int tsct_stream_writer_finish(struct tsct_stream_writer *pen, __u64 discarded)
{
	int err = tsct_stream_writer_flush(pen, discarded), fd;

	if (err || pen->fsync != TSCT_FSYNC_END || !pen->size)
		return err;
	fd = open_file(pen);
	if (fd < 0)
		return pen->error = fd;
	err = tsct_fsync(fd);
	close(fd);
	return pen->error = err;
}

void tsct_stream_writer_drop(struct tsct_stream_writer *pen)
{
	pen->packed_events = pen->written_events;
	pen->packets = pen->written_packets;
	pen->used = pen->packet = 0;
	if (pen->buffer)
		open_packet(pen);
}
