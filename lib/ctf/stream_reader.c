// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/event_def.h"
#include "pread_all.h"
#include "ticks.h"
#include "stream_reader.h"

/* Larger than any packet of our writer; limits the memory that a header can claim */
#define PACKET_BYTES_MAX	(16ULL << 20)

__attribute__((format(printf, 3, 4)))
static void damage(struct tsct_stream_reader_dir *dir, const struct tsct_stream_reader *s,
		   const char *format, ...)
{
	char reason[160], sentence[256];
	va_list args;

	dir->damage++;
	if (!dir->report)
		return;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(sentence, sizeof(sentence), "stream %s: %s", s->name, reason);
	dir->report(dir->arg, sentence);
}

static void damage_cut(struct tsct_stream_reader_dir *dir, const struct tsct_stream_reader *s,
		       __u64 at)
{
	damage(dir, s, "cut off in packet %" PRIu64 " at byte %" PRIu64
	       "; everything before it is shown", (uint64_t)s->packets - 1,
	       (uint64_t)at);
}

static void damage_file(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
			const char *reason)
{
	s->spoiled = true;
	damage(dir, s, "%s", reason);
}

/* The rest of the file is lost, as the size of this packet is unknown. */
static int damage_head(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
		       const char *reason)
{
	damage(dir, s, "packet %" PRIu64 " at byte %" PRIu64
	       " is damaged (%s); the rest of the file is skipped",
	       (uint64_t)s->packets - 1, (uint64_t)s->pos, reason);
	s->cut = s->spoiled = true;
	return 0;
}

static void damage_event(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
			 const char *reason)
{
	s->spoiled = true;
	damage(dir, s, "packet %" PRIu64 ", event at byte %" PRIu64
	       ": %s; the rest of the packet is skipped",
	       (uint64_t)s->packets - 1, (uint64_t)(s->pos + s->at), reason);
}

/* ---- packets ----------------------------------------------------------- */

/* The shift to event.tick must not lose bits. */
static bool fits(const struct tsct_stream_reader *s, __u64 tick)
{
	return tick << s->up >> s->up == tick;
}

static const char *check_head(const struct tsct_stream_reader_dir *dir,
			      const struct tsct_stream_reader *s)
{
	const struct tsct_packet *head = &s->head;

	if (head->magic != TSCT_CTF_MAGIC)
		return "not a packet header";
	if (memcmp(head->uuid, dir->rec->uuid, 16))
		return "of another recording";
	if (head->stream_id != s->class || head->cpu != s->event.cpu ||
	    head->node != s->event.node)
		return "of another stream";
	if (head->content_bits > head->packet_bits ||
	    head->content_bits % 8 || head->packet_bits % 8 ||
	    head->content_bits < sizeof(*head) * 8 ||
	    head->packet_bits > PACKET_BYTES_MAX * 8)
		return "impossible size";
	if (head->end < head->begin || head->begin < s->last ||
	    !fits(s, head->end))
		return "impossible time";
	return NULL;
}

static int make_room(struct tsct_stream_reader *s, size_t len)
{
	__u8 *buffer;

	if (len > s->room) {
		buffer = realloc(s->buffer, len);
		if (!buffer)
			return -ENOMEM;
		s->buffer = buffer;
		s->room = len;
	}
	s->packet = s->buffer;
	return 0;
}

static void check_seq(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	if (s->head.seq != s->packets - 1) {
		s->spoiled = true;
		damage(dir, s, "packet %" PRIu64 " found instead of packet %"
		       PRIu64 "; the packets between them are missing",
		       (uint64_t)s->head.seq, (uint64_t)s->packets - 1);
	}
	s->packets = s->head.seq + 1;
	s->event.discarded = s->discarded = s->head.discarded;
}

/*
 * Compares with the recorder's counts: only they reveal a file that was cut off between
 * packets, or that is missing. They also give the events lost to damage within the file.
 */
static void check_counts(struct tsct_stream_reader_dir *dir, const struct tsct_stream_reader *s)
{
	const struct tsct_file_counts *counts =
		&dir->rec->streams[s->class].counts[s->location];
	const __u64 events = tsct_stream_reader_events(s);
	const char *how = s->spoiled ? "" : s->packets ? "ends early; " :
		"empty or missing; ";

	if (events < counts->events)
		damage(dir, s, "%s%" PRIu64 " events are missing", how,
		       (uint64_t)(counts->events - events));
	else if (s->packets < counts->packets)
		damage(dir, s, "%s%" PRIu64 " packets are missing", how,
		       (uint64_t)(counts->packets - s->packets));
}

/* The latest valid tick in a packet; untimed events all have the first one. */
static __u64 latest_tick(const struct tsct_stream_reader_dir *dir,
		    const struct tsct_stream_reader *s)
{
	return tsct_recording_is_untimed(dir->rec) ? s->head.begin : s->head.end;
}

static void begin_packet(const struct tsct_stream_reader_dir *dir,
			 struct tsct_stream_reader *s, size_t len)
{
	memset(s->buffer + len, 0, TSCT_DELTA_ROOM);
	s->len = len;
	s->at = sizeof(s->head);
	s->events += s->delta.events;
	s->last = s->head.end;
	s->latest = latest_tick(dir, s);
	tsct_delta_begin(&s->delta, s->head.begin);
}

/* File offset of the next packet. @len: bytes of this one that were read */
static __u64 end_of(const struct tsct_stream_reader *s, int fd, size_t len)
{
	const __u64 min = s->pos + len, end = s->pos + s->head.packet_bits / 8;
	struct stat st;

	/* Padding is not read, so it may end beyond the file: check. */
	if (s->cut)
		return min;
	if (end == min || fstat(fd, &st) || (__u64)st.st_size >= end)
		return end;
	return (__u64)st.st_size > min ? (__u64)st.st_size : min;
}

/* Reads the contents of a packet whose header was read. 1, 0: unusable, -ENOMEM */
static int read_packet(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s, int fd)
{
	const char *reason = check_head(dir, s);
	size_t content;
	ssize_t got;

	if (reason)
		return damage_head(dir, s, reason);
	check_seq(dir, s);
	content = s->head.content_bits / 8;
	if (make_room(s, content + TSCT_DELTA_ROOM))
		return -ENOMEM;
	got = tsct_pread_all(fd, s->buffer, content, s->pos);
	if (got < 0)
		return damage_head(dir, s, strerror(-got));
	s->cut = (size_t)got < content;
	if (s->cut)
		damage_cut(dir, s, s->pos + got);
	/* Its header could be read before: the file is being overwritten. */
	if ((size_t)got < sizeof(s->head))
		return 0;
	s->next = end_of(s, fd, got);
	begin_packet(dir, s, got);
	return 1;
}

static int open_file(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	struct stat st;
	int fd;

	/* Opened for each packet, as there may be more CPUs than descriptors */
	fd = openat(dir->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		if (errno != ENOENT || s->packets)
			damage_file(dir, s, strerror(errno));
		return -1;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	damage_file(dir, s, "not a regular file");
	close(fd);
	return -1;
}

/*
 * The next packet may be read. In a live recording a partial packet is being written, or
 * will be truncated because the disk is full.
 */
static bool is_readable(const struct tsct_stream_reader_dir *dir,
		   const struct tsct_stream_reader *s, int fd)
{
	struct tsct_packet head;
	struct stat st;

	if (likely(!dir->live))
		return true;
	return tsct_pread_all(fd, &head, sizeof(head), s->next) == sizeof(head) &&
		head.begin < dir->live->until && !fstat(fd, &st) &&
		head.packet_bits / 8 <= (__u64)st.st_size - s->next;
}

static int next_packet(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	int fd = open_file(dir, s), ret = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	if (!is_readable(dir, s, fd)) {
		close(fd);
		return 0;
	}
	s->pos = s->next;
	got = tsct_pread_all(fd, &s->head, sizeof(s->head), s->pos);
	s->packets += got != 0;
	if (got == sizeof(s->head))
		ret = read_packet(dir, s, fd);
	else if (got < 0)
		damage_head(dir, s, strerror(-got));
	else if (got)
		damage_cut(dir, s, s->pos + got);
	close(fd);
	return ret;
}

/* ---- events ------------------------------------------------------------ */

struct tsct_stream_reader_kind tsct_stream_reader_kind_of(const struct tsct_event_def *def)
{
	struct tsct_stream_reader_kind kind = { def, def ? 0 : -1 };
	__u32 f;

	for (f = 0; def && f < def->nr_fields; f++) {
		if (def->fields[f].type == TSCT_TYPE_STRING) {
			kind.size = -1;
			break;
		}
		kind.size += tsct_event_def_field_size(&def->fields[f], "", 65536);
	}
	/* No valid event is that large: decode() rejects it. */
	if (kind.size > TSCT_CTF_PAYLOAD_MAX)
		kind.size = -1;
	return kind;
}

struct tsct_stream_reader_kind *tsct_stream_reader_kinds(const struct tsct_stream_class *class)
{
	struct tsct_stream_reader_kind *kinds = calloc(class->nr_defs + 1,
						sizeof(*kinds));
	__u32 i;

	for (i = 0; kinds && i < class->nr_defs; i++)
		kinds[i] = tsct_stream_reader_kind_of(class->defs[i]);
	return kinds;
}

/* Bytes of the payload at @at; -EINVAL: it does not fit into @left. */
static long payload_size(const struct tsct_stream_reader_kind *kind, const __u8 *at,
			 size_t left)
{
	long sum = 0, size;
	int f;

	if (kind->size >= 0)
		return (size_t)kind->size <= left ? kind->size : -EINVAL;
	for (f = 0; f < kind->def->nr_fields; f++) {
		size = tsct_event_def_field_size(&kind->def->fields[f], at + sum,
					   left - sum);
		if (size < 0)
			return -EINVAL;
		sum += size;
	}
	return sum;
}

/* Decodes the next event of the packet. NULL, or the reason why it is invalid */
static const char *decode(struct tsct_stream_reader *s)
{
	const __u8 *at = s->packet + s->at;
	size_t left = s->len - s->at;
	struct tsct_delta delta = s->delta;
	__u32 id;
	long size;
	int head;

	head = tsct_delta_get_end(&delta, at, left, &id);
	if (head == -ENODATA)
		return "extends beyond its packet";
	if (head < 0)
		return "malformed header";
	if (id >= s->nr_kinds || !s->kinds[id].def)
		return "undefined ID";
	if (delta.tick > s->latest)
		return "time out of order";
	size = payload_size(&s->kinds[id], at + head, left - head);
	if (size < 0)
		return "extends beyond its packet";
	if (size > TSCT_CTF_PAYLOAD_MAX)
		return "payload too large";
	s->delta = delta;
	tsct_stream_reader_give_(s, at, head, size, s->kinds[id].def, id);
	return NULL;
}

static int next_event(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	const char *reason;
	int ret;

	for (;;) {
		while (s->at == s->len) {
			if (s->cut)
				return 0;
			ret = next_packet(dir, s);
			if (ret <= 0)
				return ret;
		}
		reason = decode(s);
		if (!reason)
			return 1;
		/* An event cut by the end of the file is no further damage. */
		if (!s->cut)
			damage_event(dir, s, reason);
		s->at = s->len;
	}
}

int tsct_stream_reader_next_slow(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	int ret = next_event(dir, s);

	if (!ret && !dir->live)
		check_counts(dir, s);
	return ret;
}

/* ---- the stream -------------------------------------------------------- */

/* Sets s->whole from the event classes. */
static void set_whole_sizes(struct tsct_stream_reader *s)
{
	unsigned int byte, id;
	size_t whole;

	for (byte = 0; byte < 256; byte++) {
		id = byte >> 3;
		if (byte & 4 || id >= s->nr_kinds || s->kinds[id].size < 0)
			continue;
		whole = 1 + (1U << (byte & 3)) + (size_t)s->kinds[id].size;
		s->whole[byte] = whole <= UINT16_MAX ? whole : 0;
	}
}

/* An empty packet, before the first one is read */
static const __u8 empty_packet[TSCT_DELTA_ROOM];

void tsct_stream_reader_init(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		      const struct tsct_stream_reader_kind *kinds, __u32 class,
		      __u32 location)
{
	const int bits = tsct_recording_tick_bits(rec);

	memset(s, 0, sizeof(*s));
	tsct_recording_file(rec, class, location, s->name);
	s->class = s->event.stream = class;
	s->location = s->event.location = location;
	s->event.node = rec->locations[location].node;
	s->event.cpu = rec->locations[location].cpu;
	s->kinds = kinds;
	s->nr_kinds = rec->streams[class].nr_defs;
	set_whole_sizes(s);
	s->packet = empty_packet;
	s->up = bits < 0 ? -bits : 0;
	s->down = bits > 0 ? bits : 0;
	tsct_delta_begin(&s->delta, 0);
}

void tsct_stream_reader_update(struct tsct_stream_reader *s, const struct tsct_recording *rec,
		       const struct tsct_stream_reader_kind *kinds)
{
	s->kinds = kinds;
	s->nr_kinds = rec->streams[s->class].nr_defs;
	set_whole_sizes(s);
}

void tsct_stream_reader_free(struct tsct_stream_reader *s)
{
	free(s->buffer);
	s->buffer = NULL;
	s->packet = empty_packet;
	s->at = s->len = 0;
}

/* ---- the end of an incomplete file ---------------------------------------- */

/* Could be a packet of this stream; its events may be damaged. */
static bool is_packet(const struct tsct_stream_reader_dir *dir,
		      const struct tsct_stream_reader *s, const struct tsct_packet *head)
{
	return head->magic == TSCT_CTF_MAGIC &&
		!memcmp(head->uuid, dir->rec->uuid, sizeof(head->uuid)) &&
		head->stream_id == s->class && head->cpu == s->event.cpu &&
		head->node == s->event.node && head->begin <= head->end &&
		fits(s, head->end);
}

__u64 tsct_stream_reader_last_tick(const struct tsct_stream_reader_dir *dir,
				   const struct tsct_stream_reader *s,
				   __u8 tail[TSCT_TAIL_BYTES])
{
	struct tsct_packet head;
	struct stat st;
	ssize_t got = 0;
	__u64 end = 0;
	size_t at;
	int fd;

	fd = openat(dir->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		got = pread(fd, tail, TSCT_TAIL_BYTES, st.st_size > TSCT_TAIL_BYTES ?
			    st.st_size - TSCT_TAIL_BYTES : 0);
	close(fd);
	if (got < (ssize_t)sizeof(head))
		return 0;
	for (at = got - sizeof(head) + 1; at-- > 0 && !end; ) {
		memcpy(&head, tail + at, sizeof(head));
		if (is_packet(dir, s, &head))
			end = head.end << s->up >> s->down;
	}
	return end;
}

/* ---- fields of an event ----------------------------------------------------- */

bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret)
{
	if (*nr == event->def->nr_fields)
		return false;
	ret->field = &event->def->fields[(*nr)++];
	ret->at = event->payload + *pos;
	/* tsct_stream_reader_next() has checked that every field fits. */
	ret->size = tsct_event_def_field_size(ret->field, ret->at, event->len - *pos);
	*pos += ret->size;
	return true;
}

bool tsct_value_find(const struct tsct_trace_event *event, const char *name,
		     struct tsct_value *ret)
{
	unsigned int nr = 0;
	size_t pos = 0;

	while (tsct_value_next(event, &nr, &pos, ret))
		if (!strcmp(ret->field->name, name))
			return true;
	return false;
}

__s64 tsct_value_integer(const struct tsct_value *v)
{
	const struct tsct_ctf_type *type = &tsct_ctf_types[v->field->type];
	unsigned int unused = 64 - 8 * type->size;
	__u64 bits = 0;

	memcpy(&bits, v->at, type->size);
	if (!type->is_signed)
		return bits;
	return (__s64)(bits << unused) >> unused;
}

bool tsct_value_exceeds_s64(const struct tsct_value *v)
{
	return v->field->type == TSCT_TYPE_U64 && tsct_value_integer(v) < 0;
}

double tsct_value_double(const struct tsct_value *v)
{
	double d;
	float s;

	if (v->field->type == TSCT_TYPE_F64) {
		memcpy(&d, v->at, sizeof(d));
		return d;
	}
	memcpy(&s, v->at, sizeof(s));
	return s;
}

size_t tsct_value_text_len(const struct tsct_value *v)
{
	return strnlen((const char *)v->at, v->size);
}

const char *tsct_value_syscall(const struct tsct_value *v)
{
	return tsct_ctf_is_syscall(v->field) ?
		tsct_syscall_name(tsct_value_integer(v)) : NULL;
}
