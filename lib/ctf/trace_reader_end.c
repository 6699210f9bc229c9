// SPDX-License-Identifier: MIT
/*
 * Where a recording ends that has no end yet, or whose recorder was killed: its
 * metadata was written some time ago, and bounds of times grow with time. The last
 * packets tell. They are looked for from the ends of files, as these may be large.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/clock_params.h"
#include "trace_reader_private.h"

/* Our writer's packets are smaller: so one begins in there, however it ends. */
#define TAIL_BYTES	(4U * TSCT_PACKET_FULL)
/* No metadata is older than that: what says so is damaged. */
#define CUT_OFF_NS	(30 * 86400 * 1000000000LL)

/* Could it be a packet of ours? What it is worth, reading will tell. */
static bool is_head(const struct tsct_trace *t, const struct tsct_stream_reader *s,
		    const struct tsct_packet *head)
{
	return head->magic == TSCT_CTF_MAGIC &&
		!memcmp(head->uuid, t->rec.uuid, sizeof(head->uuid)) &&
		head->stream_id == s->class && head->cpu == s->event.cpu &&
		head->node == s->event.node && head->begin <= head->end &&
		head->end << s->up >> s->up == head->end;
}

/* The stamp up to which the last of the packets that begin in @tail lasts; 0: none */
static __u64 look(const struct tsct_trace *t, const struct tsct_stream_reader *s,
		  const __u8 *tail, size_t len)
{
	struct tsct_packet head;
	size_t at;

	if (len < sizeof(head))
		return 0;
	for (at = len - sizeof(head) + 1; at-- > 0; ) {
		memcpy(&head, tail + at, sizeof(head));
		if (is_head(t, s, &head))
			return head.end << s->up >> s->down;
	}
	return 0;
}

static __u64 end_of(const struct tsct_trace *t, const struct tsct_stream_reader *s,
		    __u8 *tail)
{
	__u64 end = 0, from;
	struct stat st;
	ssize_t got;
	int fd;

	fd = openat(t->file.dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
		got = pread(fd, tail, TAIL_BYTES, from);
		end = got > 0 ? look(t, s, tail, got) : 0;
	}
	close(fd);
	return end;
}

int tsct_trace_find_end_(struct tsct_trace *t)
{
	const __u64 most = t->rec.end +
		(__u64)tsct_ns_cycles(t->rec.real.mult, CUT_OFF_NS);
	__u64 end;
	__u8 *tail;
	__u32 i;

	if (t->rec.complete)
		return 0;
	tail = malloc(TAIL_BYTES);
	if (!tail)
		return -ENOMEM;
	for (i = 0; i < t->nr_streams; i++) {
		end = end_of(t, &t->streams[i], tail);
		if (end > t->rec.end && end <= most)
			t->rec.end = end;
	}
	free(tail);
	return 0;
}
