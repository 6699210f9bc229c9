// SPDX-License-Identifier: MIT
/* Passes over the packets of a stream file that end before a time, without reading them */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

/* Size of the part of a file in which a packet header is searched, bytes. Nearly all packets are
 * smaller. A part without a header only makes the search longer. */
#define PART	(TSCT_PACKET_FULL + 4096)

enum packet_at { NO_PACKET, BEFORE, LATER };

/* Reads the packet header at offset @at. If the packet there ends before @tick, sets s->next to the
 * offset of the next packet. */
static enum packet_at look_at(const struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
			      __u64 at, __u64 tick)
{
	struct tsct_stream_reader_dir quiet = *dir;
	const struct tsct_stream_reader before = *s;
	bool is_packet;

	quiet.report = NULL;
	s->next = at;
	is_packet = tsct_stream_reader_skip(&quiet, s);
	if (is_packet && s->head.end << s->up >> s->down < tick) {
		s->packets = s->head.seq + 1;
		s->event.discarded = s->discarded = s->head.discarded;
		return BEFORE;
	}
	*s = before;
	return is_packet ? LATER : NO_PACKET;
}

/* Skips the first packet from offset @from on. Returns false if there is none, if it ends at @tick
 * or later, or if no packet follows it: the bytes may be payload that looks like a packet. */
static bool skip_to(const struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s, int fd,
		    __u64 from, __u64 tick, __u8 part[PART])
{
	struct tsct_packet head = { .magic = TSCT_CTF_MAGIC };
	const size_t key = offsetof(struct tsct_packet, uuid) + sizeof(head.uuid);
	const struct tsct_stream_reader before = *s;
	const ssize_t got = pread(fd, part, PART, (off_t)from);
	enum packet_at found = NO_PACKET;
	const __u8 *at = part;

	memcpy(head.uuid, dir->rec->uuid, sizeof(head.uuid));
	while (got > 0 && found == NO_PACKET &&
	       (at = memmem(at, (size_t)(part + got - at), &head, key))) {
		found = look_at(dir, s, from + (__u64)(at - part), tick);
		at++;
	}
	if (found != BEFORE)
		return false;
	if (pread(fd, part, key, (off_t)s->next) == (ssize_t)key && !memcmp(part, &head, key))
		return true;
	*s = before;
	return false;
}

void tsct_stream_reader_seek(const struct tsct_stream_reader_dir *dir,
			     struct tsct_stream_reader *s, __u64 tick)
{
	const int fd = openat(dir->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	__u8 *part = malloc(PART);
	__u64 to, middle;
	struct stat st;

	to = fd >= 0 && part && !fstat(fd, &st) && S_ISREG(st.st_mode) ? (__u64)st.st_size : 0;
	while (s->next + PART < to) {
		middle = s->next + (to - s->next) / 2;
		if (!skip_to(dir, s, fd, middle, tick, part))
			to = middle;
	}
	while (look_at(dir, s, s->next, tick) == BEFORE)
		;
	/* Thus the events that were skipped do not count as missing at the end of the file. */
	if (s->packets)
		s->events = dir->rec->streams[s->class].counts[s->location].events;
	free(part);
	if (fd >= 0)
		close(fd);
}
