// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_reader_private.h"

#define META_BYTES_MAX	(64U << 20)

/* ---- opening ----------------------------------------------------------- */

/* The whole file with a NUL behind it. */
static int slurp(int fd, char **ret_text, size_t *ret_len)
{
	struct stat st;
	char *text;
	ssize_t n = 1;
	size_t got = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOMSG;
	if (st.st_size > META_BYTES_MAX)
		return -EFBIG;
	text = malloc(st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (n && got < (size_t)st.st_size) {
		n = read(fd, text + got, st.st_size - got);
		if (n < 0) {
			n = -errno;
			free(text);
			return n;
		}
		got += n;
	}
	text[got] = '\0';
	*ret_text = text;
	*ret_len = got;
	return 0;
}

int tsct_trace_read_metadata_(const struct tsct_trace *t,
			      struct tsct_recording *rec, char *why,
			      size_t why_size)
{
	char *text = NULL;
	size_t len = 0;
	int fd, err;

	fd = openat(t->file.dirfd, "metadata", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		snprintf(why, why_size,
			 "not a tsctrace recording; it has no file 'metadata'");
		return -ENOMSG;
	}
	err = fd < 0 ? -errno : slurp(fd, &text, &len);
	if (fd >= 0)
		close(fd);
	if (err == -ENOMSG || err == -ENXIO) {
		snprintf(why, why_size, "metadata: not a regular file");
		return -ENOMSG;
	}
	if (err) {
		snprintf(why, why_size, "metadata: %s", strerror(-err));
		return err;
	}
	err = tsct_meta_parse(text, len, rec, why, why_size);
	free(text);
	return err;
}

/* A file for each location; for samples, which belong to none, the first. */
static __u32 files_of(const struct tsct_trace *t, __u32 class)
{
	return class < t->rec.nr_streams ? t->rec.nr_locations : 1;
}

static int make_streams(struct tsct_trace *t)
{
	const __u32 classes = tsct_recording_classes(&t->rec);
	__u32 total = classes * t->rec.nr_locations, i, at;

	t->kinds = calloc(classes + 1, sizeof(*t->kinds));
	t->streams = calloc(total + 1, sizeof(*t->streams));
	t->heap = calloc(total + 1, sizeof(*t->heap));
	if (!t->kinds || !t->streams || !t->heap)
		return -ENOMEM;
	tsct_order_init(&t->order, t->heap, total);
	for (i = 0; i < classes; i++) {
		t->kinds[i] = tsct_stream_reader_kinds(&t->rec.streams[i]);
		if (!t->kinds[i])
			return -ENOMEM;
		for (at = 0; at < files_of(t, i); at++)
			tsct_stream_reader_init(&t->streams[t->nr_streams++], &t->rec,
					 t->kinds[i], i, at);
	}
	return 0;
}

int tsct_trace_open(const char *dir, tsct_trace_report *report, void *arg,
		    struct tsct_trace **ret_trace, char *why, size_t why_size)
{
	struct tsct_trace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->file.rec = &t->rec;
	t->which = TSCT_TRACE_EVENTS;
	t->file.report = report;
	t->file.arg = arg;
	t->file.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->file.dirfd < 0) {
		err = -errno;
		snprintf(why, why_size, "%s", strerror(-err));
		goto close_trace;
	}
	err = tsct_trace_read_metadata_(t, &t->rec, why, why_size);
	if (err)
		goto close_trace;
	err = make_streams(t);
	if (!err)
		err = tsct_trace_find_end_(t);
	if (err) {
		snprintf(why, why_size, "%s", strerror(-err));
		goto close_trace;
	}
	*ret_trace = t;
	return 0;

close_trace:
	tsct_trace_close(t);
	return err;
}

void tsct_trace_close(struct tsct_trace *t)
{
	__u32 i;

	if (!t)
		return;
	for (i = 0; i < t->nr_streams; i++)
		tsct_stream_reader_free(&t->streams[i]);
	for (i = 0; t->kinds && i < tsct_recording_classes(&t->rec); i++)
		free(t->kinds[i]);
	free(t->kinds);
	free(t->streams);
	free(t->heap);
	tsct_follow_free_(t);
	if (t->file.dirfd >= 0)
		close(t->file.dirfd);
	tsct_recording_free(&t->rec);
	free(t);
}

const struct tsct_recording *tsct_trace_recording(const struct tsct_trace *t)
{
	return &t->rec;
}

/* ---- events ------------------------------------------------------------ */

void tsct_trace_select(struct tsct_trace *t, unsigned int which)
{
	t->which = which;
}

static bool is_sample(const struct tsct_trace *t, __u32 class)
{
	return class == t->rec.nr_streams;
}

static bool is_wanted(const struct tsct_trace *t, __u32 class)
{
	return t->which & (is_sample(t, class) ? TSCT_TRACE_SAMPLES :
			   TSCT_TRACE_EVENTS);
}

bool tsct_trace_wants_(const struct tsct_trace *t, __u32 index)
{
	return is_wanted(t, t->streams[index].class);
}

static void note_order(struct tsct_trace *t, __u32 index, bool in_order)
{
	if (t->follow)
		t->follow->in_order[index] = in_order;
}

int tsct_trace_enter_(struct tsct_trace *t, __u32 index)
{
	struct tsct_stream_reader *s = &t->streams[index];
	int ret = tsct_stream_reader_next(&t->file, s);
	const struct tsct_order_cursor head = {
		.key = s->event.tick, .rank = s->location, .index = index,
	};

	if (ret > 0) {
		tsct_order_add(&t->order, &head);
		note_order(t, index, true);
	}
	return ret;
}

static int start(struct tsct_trace *t)
{
	__u32 i;
	int ret;

	t->started = true;
	for (i = 0; i < t->nr_streams; i++) {
		if (!tsct_trace_wants_(t, i))
			continue;
		ret = tsct_trace_enter_(t, i);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The first stream's event was used up: let its next one find its place. */
static int advance(struct tsct_trace *t)
{
	const __u32 index = tsct_order_first(&t->order)->index;
	struct tsct_stream_reader *s = &t->streams[index];
	int ret;

	t->given = false;
	ret = tsct_stream_reader_next(&t->file, s);
	if (ret > 0) {
		tsct_order_advance(&t->order, s->event.tick);
	} else if (!ret) {
		tsct_order_drop(&t->order);
		note_order(t, index, false);
	}
	return ret;
}

int tsct_trace_next(struct tsct_trace *t, struct tsct_trace_event *ret_event)
{
	const struct tsct_order_cursor *first;
	int ret = 0;

	if (!t->started)
		ret = start(t);
	else if (t->given)
		ret = advance(t);
	if (ret < 0)
		return ret;
	first = tsct_order_first(&t->order);
	if (!first || !tsct_follow_may_give_(t, first->index))
		return t->file.live ? -EAGAIN : 0;
	*ret_event = t->streams[first->index].event;
	t->given = true;
	return 1;
}

void tsct_trace_refuse(struct tsct_trace *t,
		       const struct tsct_trace_event *e, const char *what)
{
	char name[TSCT_FILE_NAME_MAX], sentence[256];

	t->file.damage++;
	if (!t->file.report)
		return;
	tsct_recording_file(&t->rec, e->stream, e->location, name);
	snprintf(sentence, sizeof(sentence), "stream %s: event at byte %"
		 PRIu64 ": %s; it is left out", name, (uint64_t)e->offset, what);
	t->file.report(t->file.arg, sentence);
}

__u64 tsct_trace_corrupt_count(const struct tsct_trace *t)
{
	return t->file.damage;
}

__u64 tsct_trace_bytes(const struct tsct_trace *t)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < t->nr_streams; i++)
		if (!is_sample(t, t->streams[i].class))
			sum += t->streams[i].next;
	return sum;
}

__u64 tsct_trace_event_bytes(const struct tsct_trace *t)
{
	const struct tsct_stream_reader *s;

	if (!t->given)
		return 0;
	s = &t->streams[tsct_order_first(&t->order)->index];
	return s->pos + s->at - s->event.offset;
}

__u64 tsct_trace_discarded(const struct tsct_trace *t)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < t->nr_streams; i++)
		if (!is_sample(t, t->streams[i].class))
			sum += t->streams[i].discarded;
	return sum;
}
