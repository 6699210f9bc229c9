// SPDX-License-Identifier: MIT
/* Stream files: appending packets, and reading untrusted ones */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/core/event_def.h"
#include "whole_io.h"
#include "stream.h"
#include "ticks.h"

/* Size of the buffer, bytes: room for completed packets of less than TSCT_PACKET_FULL
 * bytes, and for an open packet that exceeds TSCT_PACKET_FULL by one event */
#define ROOM	(2 * TSCT_PACKET_FULL + TSCT_CTF_PAYLOAD_MAX + \
		 TSCT_DELTA_ROOM + sizeof(struct tsct_packet))

/* Largest accepted packet, bytes. tsctrace only writes smaller packets; a damaged
 * header must not cause a huge allocation. */
#define PACKET_BYTES_MAX	(16ULL << 20)

/* Size of the part of a file that is sent to the disk at once, and size of a file's end
 * that stays in the page cache, bytes */
#define WRITEBACK	(4ULL << 20)
#define CACHED		(16ULL << 20)
#define SYS_cachestat_	451		/* older headers lack SYS_cachestat */

void tsct_stream_writer_init(struct tsct_stream_writer *w,
			     const struct tsct_stream_writer_file *file)
{
	memset(w, 0, sizeof(*w));
	w->file = *file;
	w->every = file->limits.events ? file->limits.events : UINT64_MAX;
	w->packet_bytes = file->limits.bytes && file->limits.bytes < TSCT_PACKET_FULL ?
		(__u32)file->limits.bytes : TSCT_PACKET_FULL;
}

void tsct_stream_writer_free(struct tsct_stream_writer *w)
{
	free(w->buffer);
	w->buffer = NULL;
}

/* ---- writing packets ----------------------------------------------------------- */

static void open_packet(struct tsct_stream_writer *w)
{
	w->packet = w->used;
	w->full = w->used + w->packet_bytes;
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
	w->max_per_tick = max(w->max_per_tick, w->run_length);
	return w->every == 1 || w->used >= w->full;
}

/* ---- appending to the file ---------------------------------------------------------- */

int tsct_fsync(int fd)
{
	return !fsync(fd) || errno == EINVAL || errno == EROFS ? 0 : -errno;
}

/* Opens the file for one write only, because there may be more CPUs than descriptors. */
static int open_file(const struct tsct_stream_writer *w)
{
	int fd = openat(w->file.dirfd, w->file.name,
			O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

/* Returns true if no page of a part of a file is dirty or under writeback. Otherwise
 * posix_fadvise() would wait for kernel threads on all CPUs. Returns false on kernels
 * before 6.5, which have no cachestat(). */
static bool is_written(int fd, __u64 from, __u64 to)
{
	struct {
		__u64 from, len;
	} range = { from, to - from };
	struct {
		__u64 nr_cached, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
	} pages;

	return !syscall(SYS_cachestat_, fd, &range, &pages, 0) && !pages.nr_dirty &&
		!pages.nr_writeback;
}

/*
 * After a file grew from @from to @to bytes: begins to write each completed part to the disk,
 * and removes older parts that are on disk from the page cache. So a recording neither
 * displaces other files from memory, nor waits for the disk when the kernel's limit of
 * unwritten pages is reached. Errors are ignored: not all files and kernels support this.
 */
static void release_pages(int fd, __u64 from, __u64 to)
{
	const __u64 begin = from - from % WRITEBACK, end = to - to % WRITEBACK;
	const __u64 old = end > CACHED ? end - CACHED : 0, older = old > CACHED ? old - CACHED : 0;

	if (begin == end)
		return;
	sync_file_range(fd, (off_t)begin, (off_t)(end - begin), SYNC_FILE_RANGE_WRITE);
	if (old && is_written(fd, older, old))
		posix_fadvise(fd, (off_t)older, (off_t)(old - older), POSIX_FADV_DONTNEED);
}

/* Appends the first @len bytes of the buffer, which are whole packets, to the file. */
static int append_packets(const struct tsct_stream_writer *w, size_t len)
{
	int fd = open_file(w), err;

	if (fd < 0)
		return fd;
	err = tsct_write_all(fd, w->buffer, len);
	if (!err)
		release_pages(fd, w->size, w->size + len);
	if (!err && w->file.fsync == TSCT_FSYNC_PACKET)
		err = tsct_fsync(fd);
	/* Syncs the directory, too, so that the entry of a new file is on disk. */
	if (!err && w->file.fsync == TSCT_FSYNC_PACKET && !w->size)
		err = tsct_fsync(w->file.dirfd);
	/* A partial packet is removed, because it is useless to readers. */
	if (err && ftruncate(fd, w->size))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Writes all completed packets to the file. The open packet must have no events. */
static int write_out(struct tsct_stream_writer *w)
{
	const __u32 len = w->packet;
	int err = len ? append_packets(w, len) : 0;

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
		w->file.fsync != TSCT_FSYNC_PACKET ? 0 : write_out(w);
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

	if (err || w->file.fsync != TSCT_FSYNC_END || !w->size)
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

/* ---- reports of damage ---------------------------------------------------- */

__attribute__((format(printf, 3, 4)))
static void report_damage(struct tsct_stream_reader_dir *dir, const struct tsct_stream_reader *s,
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

static void damage_cut(struct tsct_stream_reader_dir *dir,
		       const struct tsct_stream_reader *s, __u64 at)
{
	report_damage(dir, s, "cut off in packet %" PRIu64 " at byte %" PRIu64
		      "; everything before it is shown", (uint64_t)s->packets - 1,
		      (uint64_t)at);
}

static void damage_file(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
			const char *reason)
{
	s->spoiled = true;
	report_damage(dir, s, "%s", reason);
}

/* Reports a damaged packet header. The rest of the file is lost, as the size of the
 * packet is unknown. */
static int damage_head(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
		       const char *reason)
{
	report_damage(dir, s, "packet %" PRIu64 " at byte %" PRIu64
		      " is damaged (%s); the rest of the file is skipped",
		      (uint64_t)s->packets - 1, (uint64_t)s->pos, reason);
	s->cut = s->spoiled = true;
	return 0;
}

/* ---- reading packets ------------------------------------------------------ */

/* Returns true if file tick @tick, shifted left by s->up bits to get the source's tick,
 * still fits in 64 bits. */
static bool tick_fits(const struct tsct_stream_reader *s, __u64 tick)
{
	return tick << s->up >> s->up == tick;
}

/* Returns the reason why s->head is not a packet header of this stream, or NULL. */
static const char *check_head(const struct tsct_stream_reader_dir *dir,
			      const struct tsct_stream_reader *s)
{
	const struct tsct_packet *head = &s->head;

	if (head->magic != TSCT_CTF_MAGIC)
		return "not a packet header";
	if (memcmp(head->uuid, dir->rec->uuid, 16))
		return "header of another recording";
	if (head->stream_id != s->class || head->cpu != s->event.cpu ||
	    head->node != dir->rec->locations[s->location].node)
		return "header of another stream";
	if (head->content_bits > head->packet_bits ||
	    head->content_bits % 8 || head->packet_bits % 8 ||
	    head->content_bits < sizeof(*head) * 8 ||
	    head->packet_bits > PACKET_BYTES_MAX * 8)
		return "impossible size";
	if (head->end < head->begin || head->begin < s->last ||
	    !tick_fits(s, head->end))
		return "impossible time";
	return NULL;
}

/* Returns the file offset of the end of the packet that begins at s->pos. @len: number
 * of bytes that the caller has read from that packet, without its padding */
static __u64 end_of(const struct tsct_stream_reader *s, int fd, size_t len)
{
	const __u64 min = s->pos + len, end = s->pos + s->head.packet_bits / 8;
	struct stat st;

	/* The padding of the packet was not read: the file may end within the padding. */
	if (s->cut)
		return min;
	if (end == min || fstat(fd, &st) || (__u64)st.st_size >= end)
		return end;
	return (__u64)st.st_size > min ? (__u64)st.st_size : min;
}

/* Reads the packet whose header is in s->head into s->buffer. Returns 1 if the packet
 * can be decoded; 0: the packet is unusable; or -ENOMEM. */
static int read_packet(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s,
		       int fd)
{
	const char *reason = check_head(dir, s);
	const size_t content = s->head.content_bits / 8;
	__u8 *buffer;
	ssize_t got;

	if (reason)
		return damage_head(dir, s, reason);
	if (s->head.seq != s->packets - 1) {
		s->spoiled = true;
		report_damage(dir, s, "packet %" PRIu64 " found instead of packet %"
			      PRIu64 "; the packets between them are missing",
			      (uint64_t)s->head.seq, (uint64_t)s->packets - 1);
	}
	s->packets = s->head.seq + 1;
	s->event.discarded = s->discarded = s->head.discarded;
	if (content + TSCT_DELTA_ROOM > s->room) {
		buffer = realloc(s->buffer, content + TSCT_DELTA_ROOM);
		if (!buffer)
			return -ENOMEM;
		s->buffer = buffer;
		s->room = content + TSCT_DELTA_ROOM;
	}
	s->packet = s->buffer;
	got = tsct_pread_all(fd, s->buffer, content, s->pos);
	if (got < 0)
		return damage_head(dir, s, strerror(-got));
	s->cut = (size_t)got < content;
	if (s->cut)
		damage_cut(dir, s, s->pos + got);
	/* The packet's whole header was read before, so the file has been truncated since. */
	if ((size_t)got < sizeof(s->head))
		return 0;
	s->next = end_of(s, fd, got);
	memset(s->buffer + got, 0, TSCT_DELTA_ROOM);
	s->len = got;
	s->at = sizeof(s->head);
	s->events += s->delta.events;
	s->last = s->head.end;
	/* All untimed events of a packet have the packet's first tick. */
	s->latest = tsct_recording_is_untimed(dir->rec) ? s->head.begin : s->head.end;
	tsct_delta_begin(&s->delta, s->head.begin);
	return 1;
}

/* Opens the stream file. Returns a descriptor, or -1. */
static int open_stream(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	struct stat st;
	int fd;

	/* Opens the file once per packet, as there may be more CPUs than descriptors. */
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

/* Returns true if the next packet of a live recording is in the file, and may be read.
 * A partial packet is still being written, or will be removed because the disk is full. */
static bool is_readable(const struct tsct_stream_reader_dir *dir,
			const struct tsct_stream_reader *s, int fd)
{
	struct tsct_packet head;
	struct stat st;

	return tsct_pread_all(fd, &head, sizeof(head), s->next) == sizeof(head) &&
		head.begin < *dir->live_until && !fstat(fd, &st) &&
		head.packet_bits / 8 <= (__u64)st.st_size - s->next;
}

bool tsct_stream_reader_skip(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	const int fd = openat(dir->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		got = tsct_pread_all(fd, &s->head, sizeof(s->head), s->next);
	close(fd);
	if (!got)
		return false;
	s->pos = s->next;
	s->next += s->head.packet_bits / 8;
	s->spoiled = got != sizeof(s->head) || check_head(dir, s) ||
		s->pos + s->head.content_bits / 8 > (__u64)st.st_size;
	s->last = s->head.end;
	return !s->spoiled;
}

static int next_packet(struct tsct_stream_reader_dir *dir, struct tsct_stream_reader *s)
{
	int fd = open_stream(dir, s), ret = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	if (unlikely(dir->live_until) && !is_readable(dir, s, fd)) {
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

/* ---- reading events ------------------------------------------------------- */

struct tsct_stream_reader_kind tsct_stream_reader_kind_of(const struct tsct_event_def *def)
{
	struct tsct_stream_reader_kind kind = {
		.def = def, .size = def ? 0 : -1, .id = def ? tsct_event_def_id(def) : 0,
	};
	__u32 f;

	for (f = 0; def && f < def->nr_fields; f++) {
		if (def->fields[f].type == TSCT_TYPE_STRING) {
			kind.size = -1;
			break;
		}
		kind.size += tsct_event_def_field_size(&def->fields[f], "", 65536);
	}
	/* An event of more than the largest payload is invalid: decode_event() rejects it. */
	if (kind.size > TSCT_CTF_PAYLOAD_MAX)
		kind.size = -1;
	return kind;
}

struct tsct_stream_reader_kind *
tsct_stream_reader_kinds(const struct tsct_stream_class *class)
{
	struct tsct_stream_reader_kind *kinds = calloc(class->nr_defs + 1,
						       sizeof(*kinds));
	__u32 i;

	for (i = 0; kinds && i < class->nr_defs; i++)
		kinds[i] = tsct_stream_reader_kind_of(class->defs[i]);
	return kinds;
}

/* Decodes the packet's next event. Returns NULL, or the reason why the event is invalid. */
static const char *decode_event(struct tsct_stream_reader *s)
{
	const __u8 *at = s->packet + s->at;
	size_t left = s->len - s->at;
	struct tsct_delta delta = s->delta;
	const struct tsct_event_def *def;
	long size = 0, field;
	int head, f;
	__u32 id;

	head = tsct_delta_get_end(&delta, at, left, &id);
	if (head == -ENODATA)
		return "event extends beyond the end of its packet";
	if (head < 0)
		return "malformed header";
	if (id >= s->nr_kinds || !s->kinds[id].def)
		return "undefined ID";
	if (delta.tick > s->latest)
		return "time out of order";
	def = s->kinds[id].def;
	at += head;
	left -= head;
	if (s->kinds[id].size >= 0)
		size = s->kinds[id].size;
	else
		for (f = 0; f < def->nr_fields; f++) {
			field = tsct_event_def_field_size(&def->fields[f], at + size,
							  left - size);
			if (field < 0)
				return "event extends beyond the end of its packet";
			size += field;
		}
	if ((size_t)size > left)
		return "event extends beyond the end of its packet";
	if (size > TSCT_CTF_PAYLOAD_MAX)
		return "payload too large";
	s->delta = delta;
	s->event.tid = (__u32)delta.tid;
	tsct_stream_reader_give_(s, at - head, head, size, &s->kinds[id]);
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
		reason = decode_event(s);
		if (!reason)
			return 1;
		/* A packet that the file's end cuts off was already reported. */
		if (!s->cut) {
			s->spoiled = true;
			report_damage(dir, s, "packet %" PRIu64 ", event at byte %" PRIu64
				      ": %s; the rest of the packet is skipped",
				      (uint64_t)s->packets - 1, (uint64_t)(s->pos + s->at),
				      reason);
		}
		s->at = s->len;
	}
}

int tsct_stream_reader_next_slow(struct tsct_stream_reader_dir *dir,
				 struct tsct_stream_reader *s)
{
	const struct tsct_file_counts *counts =
		&dir->rec->streams[s->class].counts[s->location];
	const char *how = "";
	int ret = next_event(dir, s);
	__u64 events;

	if (ret || dir->live_until)
		return ret;
	/* At the end of the file: compares the number of events with the recorder's
	 * counts. Only the counts reveal a file that was cut off between packets, or
	 * that is missing, and the number of events lost to damage within the file. */
	events = tsct_stream_reader_events(s);
	if (!s->spoiled)
		how = s->packets ? "ends early; " : "empty or missing; ";
	if (events < counts->events)
		report_damage(dir, s, "%smissing events: %" PRIu64, how,
			      (uint64_t)(counts->events - events));
	else if (s->packets < counts->packets)
		report_damage(dir, s, "%smissing packets: %" PRIu64, how,
			      (uint64_t)(counts->packets - s->packets));
	return 0;
}

/* ---- the stream reader ---------------------------------------------------- */

void tsct_stream_reader_update(struct tsct_stream_reader *s,
			       const struct tsct_recording *rec,
			       const struct tsct_stream_reader_kind *kinds)
{
	unsigned int byte, id;
	size_t whole;

	s->kinds = kinds;
	s->nr_kinds = rec->streams[s->class].nr_defs;
	for (byte = 0; byte < 256; byte++) {
		id = byte >> 3;
		if (byte & 4 || id >= s->nr_kinds || s->kinds[id].size < 0)
			continue;
		whole = 1 + (1U << (byte & 3)) + (size_t)s->kinds[id].size;
		s->whole[byte] = whole <= UINT16_MAX ? whole : 0;
	}
}

/* Packet of a stream reader that has not read any packet yet */
static const __u8 empty_packet[TSCT_DELTA_ROOM];

void tsct_stream_reader_init(struct tsct_stream_reader *s,
			     const struct tsct_recording *rec,
			     const struct tsct_stream_reader_kind *kinds, __u32 class,
			     __u32 location)
{
	const int bits = tsct_recording_tick_bits(rec);

	memset(s, 0, sizeof(*s));
	tsct_recording_file(rec, class, location, s->name);
	s->class = s->event.stream = class;
	s->location = s->event.location = location;
	s->event.node = tsct_recording_node_of(rec, rec->locations[location].node);
	s->event.cpu = rec->locations[location].cpu;
	tsct_stream_reader_update(s, rec, kinds);
	s->packet = empty_packet;
	s->up = bits < 0 ? -bits : 0;
	s->down = bits > 0 ? bits : 0;
	tsct_delta_begin(&s->delta, 0);
}

void tsct_stream_reader_free(struct tsct_stream_reader *s)
{
	free(s->buffer);
	s->buffer = NULL;
	s->packet = empty_packet;
	s->at = s->len = 0;
}

/* Returns the end, in source ticks, of the last packet whose header is in @bytes and whose end
 * is at most @max, even if its events are damaged; 0: there is no such packet. */
static __u64 last_end_in(const struct tsct_stream_reader_dir *dir,
			 const struct tsct_stream_reader *s, const __u8 *bytes, size_t len,
			 __u64 max)
{
	struct tsct_packet head;
	__u64 end = 0;
	size_t at;

	for (at = len - sizeof(head) + 1; at-- > 0 && !end; ) {
		memcpy(&head, bytes + at, sizeof(head));
		if (head.magic == TSCT_CTF_MAGIC &&
		    !memcmp(head.uuid, dir->rec->uuid, sizeof(head.uuid)) &&
		    head.stream_id == s->class && head.cpu == s->event.cpu &&
		    head.node == dir->rec->locations[s->location].node && head.begin <= head.end &&
		    tick_fits(s, head.end) && head.end << s->up >> s->down <= max)
			end = head.end << s->up >> s->down;
	}
	return end;
}

__u64 tsct_stream_reader_last_tick(const struct tsct_stream_reader_dir *dir,
				   const struct tsct_stream_reader *s, __u64 max,
				   __u8 part[TSCT_TAIL_BYTES])
{
	const off_t head = sizeof(struct tsct_packet);
	off_t from, to = 0;
	struct stat st;
	__u64 end = 0;
	int fd;

	fd = openat(dir->dirfd, s->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		to = st.st_size;
	/* Parts overlap by the size of a header minus 1: each header is whole in one part. */
	for (; to >= head && !end; to = from ? from + head - 1 : 0) {
		from = to > TSCT_TAIL_BYTES ? to - TSCT_TAIL_BYTES : 0;
		if (pread(fd, part, to - from, from) != to - from)
			break;
		end = last_end_in(dir, s, part, to - from, max);
	}
	close(fd);
	return end;
}
