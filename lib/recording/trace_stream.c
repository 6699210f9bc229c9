// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/def.h"
#include "recording/trace_stream.h"

/* No writer of ours makes larger ones; what a header says is only a claim. */
#define PACKET_BYTES_MAX	(16ULL << 20)

__attribute__((format(printf, 3, 4)))
static void damage(struct tsct_stream_dir *file, const struct tsct_stream *s,
		   const char *format, ...)
{
	char what[160], sentence[256];
	va_list args;

	file->damage++;
	if (!file->report)
		return;
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(sentence, sizeof(sentence), "stream %s: %s", s->name, what);
	file->report(file->arg, sentence);
}

static void damage_cut(struct tsct_stream_dir *file, const struct tsct_stream *s,
		       __u64 at)
{
	damage(file, s, "cut off in packet %" PRIu64 " at byte %" PRIu64
	       "; everything before it is shown", (uint64_t)s->packets - 1,
	       (uint64_t)at);
}

/* Nothing behind this packet can be found any more. */
static int damage_head(struct tsct_stream_dir *file, struct tsct_stream *s,
		       const char *what)
{
	damage(file, s, "packet %" PRIu64 " at byte %" PRIu64
	       " is damaged (%s); the rest of the file is skipped",
	       (uint64_t)s->packets - 1, (uint64_t)s->pos, what);
	return 0;
}

static void damage_event(struct tsct_stream_dir *file, const struct tsct_stream *s,
			 const char *what)
{
	damage(file, s, "packet %" PRIu64 ", event at byte %" PRIu64
	       ": %s; the rest of the packet is skipped",
	       (uint64_t)s->packets - 1, (uint64_t)(s->pos + s->at), what);
}

/* ---- packets ----------------------------------------------------------- */

/* Reads up to @len bytes; how many there were, or -errno. */
static ssize_t read_at(int fd, void *to, size_t len, __u64 pos)
{
	size_t got = 0;
	ssize_t n;

	while (got < len) {
		n = pread(fd, (char *)to + got, len - got, pos + got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += n;
	}
	return got;
}

static const char *check_head(const struct tsct_stream_dir *file,
			      const struct tsct_stream *s)
{
	const struct tsct_packet *head = &s->head;

	if (head->magic != TSCT_CTF_MAGIC)
		return "no packet begins there";
	if (memcmp(head->uuid, file->rec->uuid, 16))
		return "it is of another recording";
	if (head->stream_id != s->stream || head->cpu != s->event.cpu)
		return "it is of another stream";
	if (head->content_bits > head->packet_bits ||
	    head->content_bits % 8 || head->packet_bits % 8 ||
	    head->content_bits < sizeof(*head) * 8 ||
	    head->packet_bits > PACKET_BYTES_MAX * 8)
		return "its size cannot be";
	if (head->end < head->begin || head->begin < s->last)
		return "its time cannot be";
	return NULL;
}

static int make_room(struct tsct_stream *s, size_t len)
{
	__u8 *packet;

	if (len <= s->room)
		return 0;
	packet = realloc(s->packet, len);
	if (!packet)
		return -ENOMEM;
	s->packet = packet;
	s->room = len;
	return 0;
}

static void check_seq(struct tsct_stream_dir *file, struct tsct_stream *s)
{
	if (s->head.seq != s->packets - 1)
		damage(file, s, "packet %" PRIu64 " stands where packet %"
		       PRIu64 " should; what was between them is missing",
		       (uint64_t)s->head.seq, (uint64_t)s->packets - 1);
	s->packets = s->head.seq + 1;
	s->discarded = s->head.discarded;
}

/*
 * A file that lost its end at a packet's, or is not there at all, looks whole:
 * only the count that the recorder left tells. It also sums up what damage
 * within the file cost.
 */
static void check_held(struct tsct_stream_dir *file, const struct tsct_stream *s)
{
	const struct tsct_held *held =
		&file->rec->streams[s->stream].held[s->location];

	if (s->events < held->events)
		damage(file, s, "%" PRIu64 " events are missing",
		       (uint64_t)(held->events - s->events));
	else if (s->packets < held->packets)
		damage(file, s, "%" PRIu64 " packets are missing",
		       (uint64_t)(held->packets - s->packets));
}

/* The packet's content, from @fd. 1, 0: unusable, -ENOMEM. */
static int load(struct tsct_stream_dir *file, struct tsct_stream *s, int fd)
{
	const char *what = check_head(file, s);
	size_t content;
	ssize_t got;

	if (what)
		return damage_head(file, s, what);
	check_seq(file, s);
	content = s->head.content_bits / 8;
	if (make_room(s, content))
		return -ENOMEM;
	got = read_at(fd, s->packet, content, s->pos);
	if (got < 0)
		return damage_head(file, s, strerror(-got));
	s->cut = (size_t)got < content;
	if (s->cut)
		damage_cut(file, s, s->pos + got);
	s->next = s->pos + s->head.packet_bits / 8;
	s->len = got;
	s->at = sizeof(s->head);
	return 1;
}

static int open_file(struct tsct_stream_dir *file, struct tsct_stream *s)
{
	struct stat st;
	int fd;

	/* Opened for every packet: there may be more CPUs than descriptors. */
	fd = openat(file->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		if (errno != ENOENT || s->packets)
			damage(file, s, "%s", strerror(errno));
		return -1;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	damage(file, s, "not a regular file");
	close(fd);
	return -1;
}

static int next_packet(struct tsct_stream_dir *file, struct tsct_stream *s)
{
	int fd = open_file(file, s), ret = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	s->pos = s->next;
	got = read_at(fd, &s->head, sizeof(s->head), s->pos);
	s->packets += got != 0;
	if (got == sizeof(s->head))
		ret = load(file, s, fd);
	else if (got < 0)
		damage_head(file, s, strerror(-got));
	else if (got)
		damage_cut(file, s, s->pos + got);
	close(fd);
	return ret;
}

/* ---- events ------------------------------------------------------------ */

void tsct_stream_sizes(const struct tsct_stream_class *c, __s32 *sizes)
{
	const struct tsct_event_def *def;
	__u32 i, f;
	long size;

	for (i = 0; i < c->nr_defs; i++) {
		def = c->defs[i];
		sizes[i] = 0;
		for (f = 0; def && f < def->nr_fields; f++) {
			if (def->fields[f].type == TSCT_TYPE_STRING) {
				sizes[i] = -1;
				break;
			}
			size = tsct_def_field_size(&def->fields[f], "", 65536);
			sizes[i] += size;
		}
	}
}

/* Bytes of the payload at @at, -EINVAL if it does not fit into @left. */
static long payload_size(const struct tsct_stream *s,
			 const struct tsct_event_def *def, const __u8 *at,
			 size_t left)
{
	__s32 fixed = s->sizes[def->id - TSCT_ID_FIRST];
	long sum = 0, size;
	int f;

	if (fixed >= 0)
		return (size_t)fixed <= left ? fixed : -EINVAL;
	for (f = 0; f < def->nr_fields; f++) {
		size = tsct_def_field_size(&def->fields[f], at + sum,
					   left - sum);
		if (size < 0)
			return -EINVAL;
		sum += size;
	}
	return sum;
}

/* NULL, or what is wrong. */
static const char *decode(const struct tsct_stream_dir *file, struct tsct_stream *s)
{
	const __u8 *at = s->packet + s->at;
	size_t left = s->len - s->at;
	struct tsct_packet_event head;
	long size;

	if (left < sizeof(head))
		return "it goes beyond its packet";
	memcpy(&head, at, sizeof(head));
	s->event.def = tsct_recording_def(file->rec, s->stream, head.id);
	if (!s->event.def)
		return "its id is not defined";
	if (head.stamp < s->last || head.stamp < s->head.begin ||
	    head.stamp > s->head.end)
		return "its time is out of order";
	size = payload_size(s, s->event.def, at + sizeof(head),
			    left - sizeof(head));
	if (size < 0)
		return "it goes beyond its packet";
	s->event.stamp = s->last = head.stamp;
	s->event.tid = head.tid;
	s->event.payload = at + sizeof(head);
	s->event.len = size;
	s->event.offset = s->pos + s->at;
	s->event.discarded = s->discarded;
	s->at += sizeof(head) + size;
	s->events++;
	return NULL;
}

static int next_event(struct tsct_stream_dir *file, struct tsct_stream *s)
{
	const char *what;
	int ret;

	for (;;) {
		while (s->at == s->len) {
			if (s->cut)
				return 0;
			ret = next_packet(file, s);
			if (ret <= 0)
				return ret;
		}
		what = decode(file, s);
		if (!what)
			return 1;
		/* An event that the end cut through is no further damage. */
		if (!s->cut)
			damage_event(file, s, what);
		s->at = s->len;
	}
}

int tsct_stream_next(struct tsct_stream_dir *file, struct tsct_stream *s)
{
	int ret = next_event(file, s);

	if (!ret)
		check_held(file, s);
	return ret;
}
