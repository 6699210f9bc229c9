// SPDX-License-Identifier: MIT
/*
 * Reads the events of a recording in the order of their ticks: a merge of its stream
 * files, complete or live.
 *
 * The recorder of a live recording publishes a progress tick: all events before that
 * tick are in the files (struct tsct_progress_record). The trace reader returns the
 * events before the progress tick in order, and later events after the recorder has
 * published a later tick. Correctness rests on the order of reading: the progress tick
 * first, then the metadata, then the files. The recorder writes the definitions of a
 * packet's events to the metadata before it appends the packet, so the trace reader has
 * the definitions of all events in packets that begin before the progress tick.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/base/array.h"
#include "lib/base/order.h"
#include "whole_io.h"
#include "stream.h"
#include "trace_reader.h"

#define META_BYTES_MAX	(64U << 20)

/* Longest accepted time, ns, from the end that the metadata of an incomplete recording
 * states to the end of a file's last packet; later ends are not used as the recording's end. */
#define CUT_OFF_NS	(30 * 86400 * 1000000000LL)

/* State of following a live recording */
struct tsct_trace_follower {
	/* tick before which all events are in the files */
	__u64 until;
	int notify;			/* descriptor of inotify */
	struct stat meta;	/* result of stat() for the metadata that was read */
	/* flags by stream: the stream's next event is in the heap */
	bool *in_order;
};

struct tsct_trace {
	struct tsct_stream_reader_dir file;
	struct tsct_recording rec;
	/* arrays of event classes, by stream class */
	struct tsct_stream_reader_kind **kinds;
	/* readers of files, by class, then by location */
	struct tsct_stream_reader *streams;
	__u32 nr_streams;
	struct tsct_order order;
	struct tsct_order_cursor *heap;
	unsigned int which;		/* events to read: mask of TSCT_TRACE_* */
	bool started;
	/* the heap's first stream, if its event was returned; and the tick before which no other
	 * stream has an event: up to that tick the first stream's key in the heap is not updated.
	 * 0: always update the key, as in a live recording */
	struct tsct_stream_reader *first;
	__u64 alone_until;
	/* which of the recording's error bounds was used last; a pointer, so that functions
	 * with a const trace can change it */
	struct tsct_error_cursor *error_at;
	/* state of following a live recording; NULL: not followed */
	struct tsct_trace_follower *follow;
};

/* ---- opening ----------------------------------------------------------- */

/* Reads the whole file and appends a NUL. @ret_text is malloc'ed. */
static int read_text(int fd, char **ret_text, size_t *ret_len)
{
	struct stat st;
	ssize_t got;
	char *text;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOMSG;
	if (st.st_size > META_BYTES_MAX)
		return -EFBIG;
	text = malloc(st.st_size + 1);
	if (!text)
		return -ENOMEM;
	got = tsct_pread_all(fd, text, st.st_size, 0);
	if (got < 0) {
		free(text);
		return (int)got;
	}
	text[got] = '\0';
	*ret_text = text;
	*ret_len = (size_t)got;
	return 0;
}

/* Parses the metadata into @rec, which the caller frees even after an error. Returns 0 or
 * -errno. */
static int read_metadata(const struct tsct_trace *t, struct tsct_recording *rec,
			 char *err_text, size_t err_size)
{
	char *text = NULL;
	size_t len = 0;
	int fd, err;

	fd = openat(t->file.dirfd, "metadata", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		snprintf(err_text, err_size,
			 "not a tsctrace recording; it has no file 'metadata'");
		return -ENOMSG;
	}
	err = fd < 0 ? -errno : read_text(fd, &text, &len);
	if (fd >= 0)
		close(fd);
	if (err == -ENOMSG || err == -ENXIO) {
		snprintf(err_text, err_size, "metadata: not a regular file");
		return -ENOMSG;
	}
	if (err) {
		snprintf(err_text, err_size, "metadata: %s", strerror(-err));
		return err;
	}
	err = tsct_meta_parse(text, len, rec, err_text, err_size);
	free(text);
	return err;
}

/* Sets the end of an incomplete recording to the end of its last packet: the end in the
 * metadata is older, and error bounds grow with time. Returns 0 or -ENOMEM. */
static int find_end(struct tsct_trace *t)
{
	const __u64 max = t->rec.end +
		(__u64)tsct_ns_cycles(t->rec.real.mult, CUT_OFF_NS);
	__u64 end;
	__u8 *tail;
	__u32 i;

	if (t->rec.complete)
		return 0;
	tail = malloc(TSCT_TAIL_BYTES);
	if (!tail)
		return -ENOMEM;
	for (i = 0; i < t->nr_streams; i++) {
		end = tsct_stream_reader_last_tick(&t->file, &t->streams[i], max, tail);
		if (end > t->rec.end) {
			t->rec.unstated += end - t->rec.end;
			t->rec.end = end;
		}
	}
	free(tail);
	return 0;
}

static bool is_sample_class(const struct tsct_trace *t, __u32 class)
{
	return class == tsct_recording_plain_classes(&t->rec);
}

static int make_streams(struct tsct_trace *t)
{
	const __u32 classes = tsct_recording_classes(&t->rec);
	__u32 total = classes * t->rec.nr_locations, files, i, at;

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
		/* Sync samples belong to no location: they are in one file. */
		files = is_sample_class(t, i) ? 1 : t->rec.nr_locations;
		for (at = 0; at < files; at++)
			tsct_stream_reader_init(&t->streams[t->nr_streams++], &t->rec,
						t->kinds[i], i, at);
	}
	return 0;
}

int tsct_trace_open(const char *dir, tsct_trace_report *report, void *arg,
		    struct tsct_trace **ret_trace, char *err_text, size_t err_size)
{
	struct tsct_trace *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->file.rec = &t->rec;
	t->which = TSCT_TRACE_EVENTS;
	t->file.report = report;
	t->file.arg = arg;
	t->file.dirfd = -1;
	t->error_at = calloc(1, sizeof(*t->error_at));
	if (t->error_at)
		t->file.dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = !t->error_at ? -ENOMEM : t->file.dirfd < 0 ? -errno : 0;
	if (!err) {
		err = read_metadata(t, &t->rec, err_text, err_size);
		if (err)
			goto close_trace;
		err = make_streams(t);
	}
	if (!err)
		err = find_end(t);
	if (!err) {
		*ret_trace = t;
		return 0;
	}
	snprintf(err_text, err_size, "%s", strerror(-err));
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
	free(t->error_at);
	if (t->follow) {
		if (t->follow->notify >= 0)
			close(t->follow->notify);
		free(t->follow->in_order);
		free(t->follow);
	}
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

void tsct_trace_seek(struct tsct_trace *t, __u64 tick)
{
	__u32 i;

	for (i = 0; i < t->nr_streams; i++)
		if (t->which & tsct_trace_class_flag(&t->rec, t->streams[i].class))
			tsct_stream_reader_seek(&t->file, &t->streams[i], tick);
}

/* Adds the next event of each selected stream that has no event in t->order. Called
 * before the first event, and after a live recording grew. Returns 0 or -ENOMEM. */
static int add_streams(struct tsct_trace *t)
{
	struct tsct_order_cursor cursor = { .index = 0 };
	struct tsct_stream_reader *s;
	int ret;

	t->started = true;
	for (; cursor.index < t->nr_streams; cursor.index++) {
		s = &t->streams[cursor.index];
		if (!(t->which & tsct_trace_class_flag(&t->rec, s->class)) ||
		    (t->follow && t->follow->in_order[cursor.index]))
			continue;
		ret = tsct_stream_reader_next(&t->file, s);
		if (ret < 0)
			return ret;
		if (!ret)
			continue;
		cursor.key = s->event.tick;
		cursor.rank = s->location;
		tsct_order_add(&t->order, &cursor);
		if (t->follow)
			t->follow->in_order[cursor.index] = true;
	}
	return 0;
}

/* Slow path of tsct_trace_step(), for any event. @is_read: t->first has read its next event. Not
 * inline, so that the usual case needs few registers. */
static __attribute__((noinline)) const struct tsct_trace_event *
change_stream(struct tsct_trace *t, bool is_read, int *ret_err)
{
	const struct tsct_order_cursor *first;
	int ret = is_read;

	if (!t->started)
		ret = add_streams(t);
	else if (t->first && !ret)
		ret = tsct_stream_reader_next(&t->file, t->first);
	if (t->first && ret > 0) {
		tsct_order_advance(&t->order, t->first->event.tick);
	} else if (t->first && !ret) {
		if (t->follow)
			t->follow->in_order[tsct_order_first(&t->order)->index] = false;
		tsct_order_drop(&t->order);
	}
	t->first = NULL;
	*ret_err = ret < 0 ? ret : 0;
	if (ret < 0)
		return NULL;
	first = tsct_order_first(&t->order);
	/* In a live recording, an event with file tick `until` or later is not returned
	 * yet: the recorder may still write an event that is earlier than this one. */
	if (!first || (t->file.live_until &&
		       t->streams[first->index].event.file_tick >= t->follow->until)) {
		*ret_err = t->file.live_until ? -EAGAIN : 0;
		return NULL;
	}
	t->first = &t->streams[first->index];
	t->alone_until = t->file.live_until ? 0 : tsct_order_alone(&t->order);
	return &t->first->event;
}

const struct tsct_trace_event *tsct_trace_step(struct tsct_trace *t, int *ret)
{
	const bool is_read = t->first && tsct_stream_reader_next_narrow_(t->first);

	if (unlikely(!is_read || t->first->event.tick >= t->alone_until))
		return change_stream(t, is_read, ret);
	return &t->first->event;
}

int tsct_trace_next(struct tsct_trace *t, struct tsct_trace_event *ret_event)
{
	int ret;
	const struct tsct_trace_event *e = tsct_trace_step(t, &ret);

	if (e)
		*ret_event = *e;
	return e ? 1 : ret;
}

void tsct_trace_report_text(const struct tsct_trace *t, const char *sentence)
{
	if (t->file.report)
		t->file.report(t->file.arg, sentence);
}

void tsct_trace_refuse(struct tsct_trace *t, const struct tsct_trace_event *e,
		       const char *reason)
{
	char name[TSCT_FILE_NAME_MAX], sentence[256];

	t->file.damage++;
	tsct_recording_file(&t->rec, e->stream, e->location, name);
	snprintf(sentence, sizeof(sentence), "stream %s: event at byte %"
		 PRIu64 ": %s; skipped", name, (uint64_t)e->offset, reason);
	tsct_trace_report_text(t, sentence);
}

/* ---- live recordings --------------------------------------------------------- */

enum tsct_progress_state tsct_trace_progress(int dirfd, __u64 *ret_tick)
{
	enum tsct_progress_state state = TSCT_PROGRESS_LIVE;
	struct tsct_progress_record record;
	int fd;

	*ret_tick = 0;
	fd = openat(dirfd, TSCT_PROGRESS_FILE,
		    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return TSCT_PROGRESS_NONE;
	/* The recorder's lock on the progress file is checked before the tick is read:
	 * if no recorder holds the lock, the tick that is read then is the last one. */
	if (!flock(fd, LOCK_SH | LOCK_NB))
		state = TSCT_PROGRESS_DEAD;
	if (pread(fd, &record, sizeof(record), 0) == sizeof(record) &&
	    record.tick == ~record.inverse)
		*ret_tick = record.tick;
	close(fd);
	return state;
}

/* Returns true if @fresh, read later than @old, describes the same recording. Event
 * definitions may have been added, but not changed. */
static bool is_same_recording(const struct tsct_recording *old,
			      const struct tsct_recording *fresh)
{
	const struct tsct_stream_class *a, *b;
	__u32 i, j;

	if (memcmp(old->uuid, fresh->uuid, 16) ||
	    old->merged != fresh->merged ||
	    old->nr_locations != fresh->nr_locations ||
	    memcmp(old->locations, fresh->locations,
		   old->nr_locations * sizeof(*old->locations)) ||
	    old->timestamps != fresh->timestamps ||
	    tsct_recording_classes(old) != tsct_recording_classes(fresh))
		return false;
	for (i = 0; i < tsct_recording_classes(old); i++) {
		a = &old->streams[i];
		b = &fresh->streams[i];
		if (strcmp(a->name, b->name) || a->nr_defs > b->nr_defs)
			return false;
		for (j = 0; j < a->nr_defs; j++)
			if (a->defs[j] && (!b->defs[j] ||
					   !tsct_event_def_equal(a->defs[j], b->defs[j])))
				return false;
	}
	return true;
}

/* Moves the definitions of @old to @fresh, as events that callers hold point at them. */
static void keep_defs(struct tsct_recording *old, struct tsct_recording *fresh)
{
	struct tsct_event_def *def;
	__u32 i, j;

	for (i = 0; i < tsct_recording_classes(old); i++)
		for (j = 0; j < old->streams[i].nr_defs; j++) {
			def = old->streams[i].defs[j];
			if (!def)
				continue;
			old->streams[i].defs[j] = fresh->streams[i].defs[j];
			fresh->streams[i].defs[j] = def;
		}
}

/* Rereads the metadata if its file was replaced. Returns 1: replaced; 0: unchanged; -errno. */
static int update_metadata(struct tsct_trace *t, char *err_text, size_t err_size)
{
	struct stat *old = &t->follow->meta, now;
	struct tsct_recording fresh = { 0 };
	struct tsct_stream_reader_kind *kinds;
	__u32 class, i;
	int err;

	if (fstatat(t->file.dirfd, "metadata", &now, AT_SYMLINK_NOFOLLOW)) {
		err = -errno;
		snprintf(err_text, err_size, "metadata: %s", strerror(-err));
		return err;
	}
	if (now.st_ino == old->st_ino && now.st_dev == old->st_dev &&
	    now.st_size == old->st_size &&
	    now.st_mtim.tv_sec == old->st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == old->st_mtim.tv_nsec)
		return 0;
	*old = now;
	err = read_metadata(t, &fresh, err_text, err_size);
	if (!err && !is_same_recording(&t->rec, &fresh)) {
		snprintf(err_text, err_size, "replaced by another recording");
		err = -ESTALE;
	}
	if (err) {
		tsct_recording_free(&fresh);
		return err;
	}
	keep_defs(&t->rec, &fresh);
	tsct_recording_free(&t->rec);
	t->rec = fresh;
	for (class = 0; class < tsct_recording_classes(&t->rec); class++) {
		kinds = tsct_stream_reader_kinds(&t->rec.streams[class]);
		if (!kinds)
			return -ENOMEM;
		for (i = 0; i < t->nr_streams; i++)
			if (t->streams[i].class == class)
				tsct_stream_reader_update(&t->streams[i], &t->rec,
							  kinds);
		free(t->kinds[class]);
		t->kinds[class] = kinds;
	}
	return 1;
}

/* Checks whether a live recording has progressed. Returns 1 if its metadata changed; 0:
 * only events may have been added; -EAGAIN: nothing changed; or -errno. */
static int update_recording(struct tsct_trace *t, char *err_text, size_t err_size)
{
	enum tsct_progress_state state;
	__u64 tick;
	int ret, err;

	state = tsct_trace_progress(t->file.dirfd, &tick);
	ret = update_metadata(t, err_text, err_size);
	if (ret < 0)
		return ret;
	if (state != TSCT_PROGRESS_LIVE || t->rec.complete)
		t->file.live_until = NULL; /* nothing more will be appended to files */
	else if (tick <= t->follow->until)
		return ret ? ret : -EAGAIN;
	else
		t->follow->until = tick;
	err = t->started ? add_streams(t) : 0;
	if (err)
		snprintf(err_text, err_size, "%s", strerror(-err));
	return err ? err : ret;
}

int tsct_trace_poll(struct tsct_trace *t, char *err_text, size_t err_size)
{
	return t->file.live_until ? update_recording(t, err_text, err_size) : 0;
}

__u64 tsct_trace_settled(const struct tsct_trace *t)
{
	return t->file.live_until ? t->follow->until : UINT64_MAX;
}

int tsct_trace_wait(struct tsct_trace *t, const sigset_t *mask, char *err_text,
		    size_t err_size)
{
	struct pollfd fd = { .events = POLLIN };
	char notes[4096];
	int ret;

	if (!t->file.live_until)
		return 0;
	fd.fd = t->follow->notify;
	for (;;) {
		/* Old inotify events are read before the recording is checked, so that
		 * each later change queues a new inotify event. */
		while (read(t->follow->notify, notes, sizeof(notes)) > 0)
			;
		ret = update_recording(t, err_text, err_size);
		if (ret != -EAGAIN)
			return ret;
		if (ppoll(&fd, 1, NULL, mask) < 0) {
			ret = -errno;
			snprintf(err_text, err_size, "%s", strerror(-ret));
			return ret;
		}
	}
}

bool tsct_trace_is_live(const struct tsct_trace *t)
{
	__u64 tick;

	return !t->rec.complete && tsct_trace_progress(t->file.dirfd, &tick) ==
		TSCT_PROGRESS_LIVE;
}

int tsct_trace_follow(struct tsct_trace *t, const char *dir)
{
	struct tsct_trace_follower *follow;
	char *name;
	int err = 0;

	if (t->rec.complete)
		return 0;
	follow = t->follow = calloc(1, sizeof(*t->follow));
	if (!follow)
		return -ENOMEM;
	follow->in_order = calloc(t->nr_streams + 1, sizeof(*follow->in_order));
	follow->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (follow->notify < 0)
		return -errno;
	if (!follow->in_order || asprintf(&name, "%s/" TSCT_PROGRESS_FILE, dir) < 0)
		return -ENOMEM;
	/* The progress file is modified at each flush, and closed when the recorder
	 * dies. */
	if (inotify_add_watch(follow->notify, name, IN_MODIFY | IN_CLOSE_WRITE) < 0)
		err = errno == ENOENT ? 0 : -errno;
	/* The progress file is removed after the metadata of the complete recording was
	 * written. */
	if (!err && inotify_add_watch(follow->notify, dir, IN_DELETE |
				      IN_MOVED_TO | IN_ONLYDIR) < 0)
		err = -errno;
	free(name);
	if (!err)
		t->file.live_until = &follow->until;
	return err;
}

/* ---- counts and description of a trace ---------------------------------------- */

int tsct_trace_dirfd(const struct tsct_trace *t)
{
	return t->file.dirfd;
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
		if (t->streams[i].class < t->rec.nr_streams)
			sum += t->streams[i].next;
	return sum;
}

__u64 tsct_trace_file_bytes(const struct tsct_trace *t)
{
	struct stat st;
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < t->nr_streams; i++)
		if (t->streams[i].class < t->rec.nr_streams &&
		    !fstatat(t->file.dirfd, t->streams[i].name, &st, 0))
			sum += (__u64)st.st_size;
	return sum;
}

__u64 tsct_trace_event_bytes(const struct tsct_trace *t)
{
	return t->first ? t->first->pos + t->first->at - t->first->event.offset : 0;
}

__u64 tsct_trace_discarded(const struct tsct_trace *t)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < t->nr_streams; i++)
		if (t->streams[i].class < t->rec.nr_streams)
			sum += t->streams[i].discarded;
	return sum;
}

__u32 tsct_trace_nodes(const struct tsct_trace *t)
{
	return t->rec.nr_nodes;
}

__u32 tsct_trace_channels(const struct tsct_trace *t)
{
	return t->rec.nr_streams;
}

int tsct_trace_node(const struct tsct_trace *t, __u32 node,
		    struct tsct_trace_node *ret)
{
	const struct tsct_recorded_node *n;

	if (node >= t->rec.nr_nodes)
		return -EINVAL;
	n = &t->rec.nodes[node];
	*ret = (struct tsct_trace_node) {
		.name = tsct_recording_node_name(&t->rec, node), .host = n->host,
		.kernel = n->kernel, .command = n->command,
		.boot_id = n->boot_id,
	};
	return 0;
}

const char *tsct_trace_channel(const struct tsct_trace *t, __u32 stream)
{
	return stream < t->rec.nr_streams ? t->rec.streams[stream].name : NULL;
}

bool tsct_trace_is_merged(const struct tsct_trace *t)
{
	return t->rec.merged;
}

bool tsct_trace_is_complete(const struct tsct_trace *t)
{
	return t->rec.complete;
}

__u64 tsct_trace_lost(const struct tsct_trace *t)
{
	const __u64 discarded = tsct_trace_discarded(t);
	struct tsct_loss loss;
	__u64 sum;

	tsct_recording_loss(&t->rec, -1, &loss);
	sum = tsct_loss_total(&loss);
	return discarded > sum ? discarded : sum;
}

void tsct_trace_span(const struct tsct_trace *t, __u64 *ret_begin, __u64 *ret_end)
{
	*ret_begin = t->rec.begin;
	*ret_end = t->rec.end;
}

__s64 tsct_trace_ns(const struct tsct_trace *t, __u64 tick)
{
	return tsct_clock_params_ns(&t->rec.real, tick);
}

__u64 tsct_trace_error_ns(const struct tsct_trace *t, __u32 node, __u64 tick)
{
	return tsct_recording_error_at(&t->rec, t->error_at, node, tick);
}

__u64 tsct_trace_error_of(const struct tsct_trace *t, enum tsct_error_of of, __u32 node,
			  __u64 tick)
{
	return tsct_recording_error_of(&t->rec, t->error_at, of, node, tick);
}
