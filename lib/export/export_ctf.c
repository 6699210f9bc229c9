// SPDX-License-Identifier: MIT
/*
 * Exports CTF 1.8 at 1 GHz: a file for each channel and CPU, packet by packet.
 * Only one packet of each is in memory. Files are opened for each packet: a
 * descriptor for every CPU and channel would exceed the usual limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/ctf/recording.h"
#include "export_ctf.h"

/*
 * A packet is written when it holds this many bytes; an event has less than 64
 * KiB.
 */
#define FULL	65536

struct stream {
	__u32 stream, cpu, node;
	__u8 *packet;		/* NULL: no event yet */
	size_t len;
	struct tsct_ctf_out_packet head;
};

struct ctf {
	int dirfd;
	__u8 uuid[16];
	__s64 offset_s;
	struct stream *streams;	/* channel by channel, location by location */
	__u32 nr_streams;
};

/* ---- packets ----------------------------------------------------------- */

static void name_file(const struct tsct_export *x, const struct stream *s,
		      char *name, size_t size)
{
	const char *channel = x->rec->streams[s->stream].name;

	if (x->nr_nodes > 1)
		snprintf(name, size, "%s_%u_%u", channel, s->node, s->cpu);
	else
		snprintf(name, size, "%s_%u", channel, s->cpu);
}

static int write_whole(int fd, const __u8 *from, size_t len)
{
	ssize_t n;

	for (; len; from += n, len -= n) {
		n = write(fd, from, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int append(const struct tsct_export *x, const struct stream *s)
{
	const struct ctf *c = x->own;
	char name[TSCT_NAME_MAX + 32];
	int fd, err;

	name_file(x, s, name, sizeof(name));
	fd = openat(c->dirfd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return -errno;
	err = write_whole(fd, s->packet, s->len);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static int flush(const struct tsct_export *x, struct stream *s)
{
	int err;

	s->head.content_bits = s->head.packet_bits = s->len * 8;
	memcpy(s->packet, &s->head, sizeof(s->head));
	err = append(x, s);
	s->len = sizeof(s->head);
	s->head.seq++;
	return err;
}

/*
 * Begins a packet. The first one of a file is empty: readers count losses
 * between packets, so they count those before the first event, too.
 */
static int start(const struct tsct_export *x, struct stream *s, __u64 ns,
		 __u64 discarded)
{
	const struct ctf *c = x->own;
	__s64 first = x->begin_ns > x->from_ns ? x->begin_ns : x->from_ns;

	s->packet = malloc(FULL + UINT16_MAX + sizeof(struct tsct_ctf_out_event) +
			   sizeof(s->head));
	if (!s->packet)
		return -ENOMEM;
	s->head = (struct tsct_ctf_out_packet) {
		.magic = TSCT_CTF_MAGIC, .stream_id = s->stream, .cpu = s->cpu,
		.node = s->node,
		/* Events lost before the selected part do not count. */
		.discarded = x->from_ns > x->begin_ns ? discarded : 0,
	};
	memcpy(s->head.uuid, c->uuid, sizeof(c->uuid));
	first -= c->offset_s * NS_PER_S;
	if (first < 0 || (__u64)first > ns)
		first = ns;
	s->head.begin = s->head.end = first;
	s->len = sizeof(s->head);
	return flush(x, s);
}

static struct stream *stream_of(const struct tsct_export *x,
				const struct tsct_export_event *ev)
{
	const struct ctf *c = x->own;

	return &c->streams[ev->e->stream * x->rec->nr_locations +
			   ev->e->location];
}

static int event(struct tsct_export *x, const struct tsct_export_event *ev)
{
	const struct ctf *c = x->own;
	struct stream *s = stream_of(x, ev);
	struct tsct_ctf_out_event head = {
		.id = ev->e->def->id, .tid = ev->e->tid,
		.ns = ev->ns - c->offset_s * NS_PER_S,
	};
	int err = 0;

	if (!s->packet)
		err = start(x, s, head.ns, ev->e->discarded);
	else if (s->len >= FULL || (s->head.discarded != ev->e->discarded &&
				    s->len > sizeof(s->head)))
		err = flush(x, s);
	if (err)
		return err;
	if (s->len == sizeof(s->head))
		s->head.begin = head.ns;
	s->head.discarded = ev->e->discarded;
	s->head.end = head.ns;
	memcpy(s->packet + s->len, &head, sizeof(head));
	s->len += sizeof(head);
	memcpy(s->packet + s->len, ev->e->payload, ev->e->len);
	s->len += ev->e->len;
	return 0;
}

/* ---- the trace ------------------------------------------------------------ */

/*
 * The recorder's total for the whole recording, or the loss so far if the
 * selection ends earlier
 */
static __u64 lost_in_all(const struct tsct_export *x, const struct stream *s)
{
	__u64 lost = tsct_loss_total(&x->rec->streams[s->stream].loss[s->cpu]);

	return x->to_ns <= x->end_ns || lost < s->head.discarded ?
		s->head.discarded : lost;
}

/* Losses after the last event go into a last packet. */
static int finish(const struct tsct_export *x, struct stream *s)
{
	const struct ctf *c = x->own;
	const __u64 end = x->end_ns - c->offset_s * NS_PER_S;
	const __u64 lost = lost_in_all(x, s);
	bool more = lost > s->head.discarded;
	int err = 0;

	if (!s->packet && more)
		err = start(x, s, end, 0);
	else if (s->packet && s->len > sizeof(s->head))
		err = flush(x, s);
	if (err || !more)
		return err;
	s->head.discarded = lost;
	s->head.begin = s->head.end;
	if ((__s64)(end - s->head.end) > 0)
		s->head.begin = s->head.end = end;
	return flush(x, s);
}

static int write_metadata(const struct tsct_export *x)
{
	const struct ctf *c = x->own;
	int fd, err;
	FILE *to;

	fd = openat(c->dirfd, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return -errno;
	to = fdopen(fd, "w");
	if (!to) {
		close(fd);
		return -ENOMEM;
	}
	errno = 0;
	err = tsct_ctf_meta(x, c->uuid, c->offset_s, to);
	if (fclose(to) && !err)
		err = errno ? -errno : -EIO;
	return err == -EIO && errno ? -errno : err;
}

static int end(struct tsct_export *x)
{
	const struct ctf *c = x->own;
	__u32 i;
	int err = 0;

	for (i = 0; i < c->nr_streams && !err; i++)
		err = finish(x, &c->streams[i]);
	return err ? err : write_metadata(x);
}

static int make_streams(const struct tsct_export *x, struct ctf *c)
{
	const __u32 nr = x->rec->nr_locations;
	__u32 i;

	c->nr_streams = x->rec->nr_streams * nr;
	c->streams = calloc(c->nr_streams + 1, sizeof(*c->streams));
	if (!c->streams)
		return -ENOMEM;
	for (i = 0; i < c->nr_streams; i++) {
		c->streams[i].stream = i / nr;
		c->streams[i].cpu = x->rec->locations[i % nr].cpu;
		c->streams[i].node = x->rec->locations[i % nr].node;
	}
	return 0;
}

/* A random UUID by RFC 4122: an export is a trace of its own. */
static int make_uuid(__u8 uuid[16])
{
	if (getrandom(uuid, 16, 0) != 16)
		return -EIO;
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
	return 0;
}

static int begin(struct tsct_export *x)
{
	struct ctf *c = x->own = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->dirfd = open(x->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->dirfd < 0)
		return -errno;
	/* Small numbers, which readers that use doubles keep exactly */
	c->offset_s = x->begin_ns / NS_PER_S - (x->begin_ns % NS_PER_S < 0);
	err = make_uuid(c->uuid);
	return err ? err : make_streams(x, c);
}

static void free_ctf(struct tsct_export *x)
{
	struct ctf *c = x->own;
	__u32 i;

	if (!c)
		return;
	for (i = 0; c->streams && i < c->nr_streams; i++)
		free(c->streams[i].packet);
	free(c->streams);
	if (c->dirfd >= 0)
		close(c->dirfd);
	free(c);
}

const struct tsct_export_format tsct_export_ctf = {
	.name = "ctf", .suffix = ".ctf", .directory = true,
	.begin = begin, .event = event, .end = end, .free = free_ctf,
};
