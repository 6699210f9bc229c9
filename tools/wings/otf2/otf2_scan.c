// SPDX-License-Identifier: MIT
/*
 * Checks a file of an OTF2 archive before libotf2 reads it. If a read returns too few
 * bytes, libotf2 (3.0.2) treats the rest of its buffer as data: from a truncated file, it
 * reads events that are old contents of memory. So this scan counts the complete records,
 * by their lengths alone, and libotf2 then reads only this number of records.
 *
 * A file consists of chunks of the size that the anchor file states; the last one is shorter:
 *	u8 3, u8 byte order ('B': little endian, '#': big),
 *	u64 number of the first record, u64 number of the last; 0 in definitions
 *	records: u8 kind, u8 length or 0xff and u64 length, contents
 *	u8 0: end of the chunk; u8 2: end of the file
 * In event files, kind 5 and a u64 is the time of the following records. A record of
 * kind 6 has the attributes of the next record. Records of some kinds have no length:
 * after the kind comes one number, as u8 nr (0 to 8; 0xff means 0) and nr bytes.
 */
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/ctf/whole_io.h"
#include "otf2_merge_work.h"

#define CHUNK_END	0
#define FILE_END	2
#define CHUNK_BEGIN	3
#define TIME		5
#define ATTRIBUTES	6
#define HEADER		18
#define ORDER_LITTLE	'B'
#define ORDER_BIG	'#'

struct scan {
	int fd;
	bool events;
	uint8_t *data;		/* contents of the current chunk */
	size_t len, at;
	uint64_t base;		/* offset of the current chunk in the file, bytes */
	bool swap;
	bool ended;
	uint64_t time;
	struct tsct_otf2_extent *extent;
	struct worker_status *status;
};

__attribute__((format(printf, 2, 3)))
static int damaged(struct scan *s, const char *format, ...)
{
	char what[256];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return worker_fail(s->status, -EBADMSG, "byte %" PRIu64 ": %s", s->base + s->at, what);
}

static int cut_off(struct scan *s)
{
	s->at = s->len;
	return damaged(s, "truncated after %s %" PRIu64, s->events ? "event" : "definition",
		       s->extent->records);
}

static uint64_t get64(const struct scan *s, size_t at)
{
	uint64_t v;

	memcpy(&v, s->data + at, sizeof(v));
	return s->swap ? bswap_64(v) : v;
}

/*
 * Returns true for the kinds of event records without a record length. The
 * contents of such a record are one integer, which begins with a byte for the
 * integer's length. The kinds are from OTF2's first version (2011): Enter,
 * Leave, MpiIsendComplete, MpiIrecvRequest, MpiRequestTest,
 * MpiRequestCancelled, OmpFork, OmpTaskCreate, OmpTaskSwitch, OmpTaskComplete
 */
static bool is_packed(uint8_t kind)
{
	static const uint8_t kinds[] = { 12, 13, 16, 17, 20, 21, 24, 28, 29, 30 };

	return memchr(kinds, kind, sizeof(kinds));
}

/* Skips the rest of a record, whose kind was already read. */
static int skip_record(struct scan *s, uint8_t kind)
{
	uint64_t len;

	if (s->len - s->at < 1)
		return cut_off(s);
	len = s->data[s->at++];
	if (s->events && is_packed(kind)) {
		if (len == 0xff)
			len = 0;
		if (len > 8)
			return damaged(s, "an integer of %" PRIu64 " bytes; at most 8 are valid",
				       len);
	} else if (len == 0xff) {
		if (s->len - s->at < 8)
			return cut_off(s);
		len = get64(s, s->at);
		s->at += 8;
	}
	if (s->len - s->at < len)
		return len > s->len ? damaged(s, "invalid record of %" PRIu64 " bytes",
					      len) :
		       cut_off(s);
	s->at += len;
	return 0;
}

static int take_time(struct scan *s)
{
	uint64_t time;

	if (s->len - s->at < 8)
		return cut_off(s);
	time = get64(s, s->at);
	if (time < s->time)
		return damaged(s, "time decreases from %" PRIu64 " to %" PRIu64, s->time, time);
	s->time = time;
	s->at += 8;
	return 0;
}

static int take_record(struct scan *s, uint8_t kind)
{
	struct tsct_otf2_extent *extent = s->extent;
	int err = skip_record(s, kind);

	if (err)
		return err;
	if (s->events && kind == ATTRIBUTES)
		return 0;
	if (!extent->records++)
		extent->first = s->time;
	extent->last = s->time;
	extent->bytes = s->base + s->at;
	return 0;
}

/* Reads a chunk's header. Checks that an event chunk's first record number continues the
 * numbering of the preceding chunk. */
static int take_header(struct scan *s)
{
	uint64_t first;

	if (s->len < HEADER)
		return cut_off(s);
	if (s->data[0] != CHUNK_BEGIN)
		return damaged(s, "no chunk header");
	if (s->data[1] != ORDER_LITTLE && s->data[1] != ORDER_BIG)
		return damaged(s, "invalid byte order 0x%02x", s->data[1]);
	s->swap = s->data[1] !=
		(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ORDER_LITTLE :
		 ORDER_BIG);
	first = get64(s, 2);
	if (s->events && first != s->extent->records + 1)
		return damaged(s, "the chunk begins with event %" PRIu64 ", but the previous one"
			       " ended with %" PRIu64, first, s->extent->records);
	s->at = HEADER;
	return 0;
}

static int scan_chunk(struct scan *s)
{
	bool attributes = false;
	uint8_t kind;
	int err = take_header(s);

	while (!err && s->at < s->len) {
		kind = s->data[s->at++];
		if (kind == CHUNK_END)
			return 0;
		if (kind == FILE_END) {
			s->ended = true;
			return 0;
		}
		if (s->events && kind == TIME) {
			err = take_time(s);
			continue;
		}
		/* Refuses two consecutive records of attributes: libotf2 reads each of them
		 * by a recursive call, so many in a row would overflow the stack. */
		if (attributes && s->events && kind == ATTRIBUTES)
			return damaged(s, "attributes without an event");
		attributes = kind == ATTRIBUTES;
		err = take_record(s, kind);
	}
	return err ? err : cut_off(s);
}

static int scan_all(struct scan *s, uint64_t chunk)
{
	ssize_t n;
	int err = 0;

	while (!s->ended && !err) {
		s->base += s->len;
		n = tsct_pread_all(s->fd, s->data, chunk, s->base);
		if (n < 0)
			return (int)n;
		s->len = (size_t)n;
		s->at = 0;
		s->status->beat += s->len;
		err = n ? scan_chunk(s) : cut_off(s);
	}
	return err;
}

int tsct_otf2_scan(const char *path, uint64_t chunk, bool events,
		   struct worker_status *status, struct tsct_otf2_extent *ret_extent)
{
	struct scan s = { .events = events, .extent = ret_extent, .status = status };
	struct stat st;
	int err;

	memset(ret_extent, 0, sizeof(*ret_extent));
	/* O_NONBLOCK, because otherwise opening a pipe would wait for a writer */
	s.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (s.fd < 0)
		return -errno;
	if (fstat(s.fd, &st) || !S_ISREG(st.st_mode)) {
		close(s.fd);
		return worker_fail(status, -EBADMSG, "not a regular file");
	}
	s.data = malloc(chunk);
	err = s.data ? scan_all(&s, chunk) : -ENOMEM;
	free(s.data);
	close(s.fd);
	return err;
}
