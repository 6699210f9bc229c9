// SPDX-License-Identifier: MIT
/* Writes a recording's directory: metadata, stream files and progress file */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/clockpage/clock_params.h"
#include "lib/core/event_def.h"
#include "lib/core/ring.h"
#include "recording_writer.h"
#include "stream.h"
#include "ticks.h"

#define META		"metadata"
/* temporary name of the metadata, hidden from readers */
#define META_TMP	".metadata.tmp"
/* Accepted disorder, ns: an unordered read of the counter may be a few instructions late. */
#define RAISE_NS	1000

/* State of the stream file of one stream class and one location */
struct writer_file {
	struct tsct_stream_writer stream;
	struct tsct_tick_resolution resolution;
	__u64 first, last;	/* counter values of the file's first and last event */
	/* counter value from which on an event does not belong to the open packet */
	__u64 due;
	char name[TSCT_FILE_NAME_MAX];
};

struct tsct_recording_writer {
	int dirfd;
	int error;		/* first -errno of writing; 0: none */
	bool touched;		/* flag: the metadata on disk is out of date */
	bool untimed;		/* flag: all events of a packet have the same tick */
	struct tsct_recording *rec;
	struct tsct_written written;
	struct tsct_tick_encoder encoder;
	struct writer_file *files;	/* files, by stream * nr_locations + location */
	/* Event classes known so far and their numbers, by stream class */
	struct tsct_stream_reader_kind **kinds;
	__u32 *nr_kinds;
	__u32 *last_id;		/* ID in the file of the last frequent event, by stream class */
	/* accepted disorder, cycles: an event that is earlier than the file's previous
	 * event by less than `raise` gets the previous event's time */
	__u64 raise;
	/* time from the first event of a packet, cycles, after which an event begins a
	 * new packet; UINT64_MAX: no limit */
	__u64 span;
	struct tsct_tid_notes *notes;	/* set of written threads; NULL: not collected */
	int progress;		/* descriptor of the progress file; negative: none */
	bool idle_progress;	/* flag: publish `settled` even if there are no new events */
	__u64 settled;		/* counter value before which no more events come */
	/* value of `settled` whose tick was last written to the progress file */
	__u64 published;
};

static inline size_t nr_files(const struct tsct_recording_writer *w)
{
	return (size_t)tsct_recording_classes(w->rec) * w->rec->nr_locations;
}

/* Returns true for the events of channels: statedump and sync samples are not counted. */
static inline bool is_counted(const struct tsct_recording_writer *w, __u32 stream)
{
	return stream < w->rec->nr_streams;
}

static inline struct writer_file *file_of(const struct tsct_recording_writer *w,
					  __u32 stream, __u32 location)
{
	return &w->files[(size_t)stream * w->rec->nr_locations + location];
}

static inline struct tsct_loss *loss_of(const struct tsct_recording_writer *w,
					__u32 stream, __u32 location)
{
	return &w->rec->streams[stream].loss[location];
}

/* ---- metadata ---------------------------------------------------------- */

static int write_metadata(struct tsct_recording_writer *w)
{
	struct tsct_tick_figures figures;
	FILE *to;
	int fd, err;

	fd = openat(w->dirfd, META_TMP,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	to = fdopen(fd, "w");
	if (!to) {
		err = -errno;
		close(fd);
		goto unlink_file;
	}
	tsct_tick_encoder_describe(&w->encoder, w->rec, &figures);
	err = tsct_meta_write(&figures.rec, to);
	if (!err && fflush(to))
		err = -errno;
	if (!err && w->rec->fsync)
		err = tsct_fsync(fd);
	if (fclose(to) && !err)
		err = -errno;
	if (!err && renameat(w->dirfd, META_TMP, w->dirfd, META))
		err = -errno;
	if (!err && w->rec->fsync)
		err = tsct_fsync(w->dirfd);
	if (!err) {
		w->touched = false;
		return 0;
	}
unlink_file:
	unlinkat(w->dirfd, META_TMP, 0);
	return err;
}

/* ---- packets ----------------------------------------------------------- */

/* Counts as lost the events of a file that are not on disk. */
static void drop_unwritten(struct tsct_recording_writer *w, __u32 stream,
			   __u32 location, int err)
{
	struct tsct_stream_writer *sw = &file_of(w, stream, location)->stream;
	const __u64 lost = tsct_stream_writer_unwritten(sw);

	if (!w->error)
		w->error = err;
	loss_of(w, stream, location)->cause[TSCT_LOSS_UNWRITTEN] += lost;
	if (is_counted(w, stream))
		w->written.events -= lost;
	tsct_stream_writer_drop(sw);
}

/* Ends a packet by calling @end of the stream writer. Returns 0 or -errno. */
static int end_packet(struct tsct_recording_writer *w, __u32 stream, __u32 location,
		      int (*end)(struct tsct_stream_writer *sw, __u64 discarded))
{
	__u64 discarded = tsct_loss_total(loss_of(w, stream, location));
	struct tsct_stream_writer *sw = &file_of(w, stream, location)->stream;
	const __u64 size = sw->size;
	int err = 0;

	/* The metadata that defines an event is written before the event. */
	if (w->touched)
		err = write_metadata(w);
	if (err && !tsct_stream_writer_unwritten(sw))
		err = 0;	/* a packet without events needs no definitions */
	if (!err)
		err = end(sw, discarded);
	w->written.bytes += sw->size - size;
	if (err)
		drop_unwritten(w, stream, location, err);
	return err;
}

/* Starts a file, before the file's first event. Returns 0 or -errno. */
static int start_file(struct tsct_recording_writer *w, __u32 stream, __u32 location,
		      __u64 begin)
{
	struct writer_file *f = file_of(w, stream, location);
	const struct tsct_location *l = &w->rec->locations[location];
	const struct tsct_stream_writer_file file = {
		.dirfd = w->dirfd, .name = f->name, .uuid = w->rec->uuid,
		.stream_id = stream, .cpu = l->cpu, .node = l->node,
		.limits = w->rec->sync_every, .fsync = w->rec->fsync,
	};

	tsct_recording_file(w->rec, stream, location, f->name);
	tsct_stream_writer_init(&f->stream, &file);
	tsct_tick_resolution_init(&f->resolution, w->encoder.bits);
	f->last = begin;
	return tsct_stream_writer_start(&f->stream,
					tsct_tick_encoder_moment(&w->encoder, begin));
}

/* ---- events ------------------------------------------------------------ */

/* Makes @def the definition of events with ID @id. Returns NULL if out of memory. */
static const struct tsct_stream_reader_kind *add_kind(struct tsct_recording_writer *w,
						      __u32 stream, __u32 id,
						      const struct tsct_event_def *def)
{
	const __u32 at = id - TSCT_ID_FIRST;
	struct tsct_stream_reader_kind *kind;

	for (; w->nr_kinds[stream] <= at; w->nr_kinds[stream]++) {
		kind = tsct_array_next(&w->kinds[stream], w->nr_kinds[stream], sizeof(*kind));
		if (!kind)
			return NULL;
		*kind = tsct_stream_reader_kind_of(NULL);
	}
	kind = &w->kinds[stream][at];
	*kind = tsct_stream_reader_kind_of(def);
	return kind;
}

/* Returns the event class for writing events with ID @id; NULL: undefined, or no memory. */
static inline const struct tsct_stream_reader_kind *
kind_of(struct tsct_recording_writer *w, __u32 stream, __u32 id)
{
	const __u32 at = id - TSCT_ID_FIRST;
	const struct tsct_event_def *def;

	if (likely(at < w->nr_kinds[stream] && w->kinds[stream][at].def))
		return &w->kinds[stream][at];
	def = tsct_recording_def(w->rec, stream, id);
	return def ? add_kind(w, stream, id, def) : NULL;
}

bool tsct_recording_writer_knows(const struct tsct_recording_writer *w, __u32 stream,
				 __u32 id)
{
	const __u32 at = id - TSCT_ID_FIRST;

	return at < w->nr_kinds[stream] && w->kinds[stream][at].def;
}

int tsct_recording_writer_define(struct tsct_recording_writer *w, __u32 stream, __u32 id,
				 const struct tsct_event_def *def, bool is_rare)
{
	__u32 next = TSCT_ID_FIRST + (is_rare ? TSCT_DELTA_COMPACT : 0);
	struct tsct_event_def in_file;
	int err;

	/* All IDs below the last frequent event's ID are in use. */
	next = max(next, w->last_id[stream]);
	while (tsct_recording_def(w->rec, stream, next))
		next++;
	if (next > TSCT_ID_WIDE_MAX)
		return -EINVAL;
	if (!is_rare)
		w->last_id[stream] = next;
	memcpy(&in_file, def, def->size);
	tsct_event_def_set_id(&in_file, next);
	err = tsct_recording_add_def(w->rec, stream, &in_file);
	if (err)
		return err;
	w->touched = true;
	return add_kind(w, stream, id, tsct_recording_def(w->rec, stream, next)) ?
		0 : -ENOMEM;
}

static int count_loss(struct tsct_loss *loss, enum tsct_loss_cause cause)
{
	loss->cause[cause]++;
	return 0;
}

/* Untimed events all have the tick of their packet's first event. */
static int put_untimed(struct tsct_stream_writer *sw, const struct tsct_event *event,
		       __u32 id, __u64 cycles)
{
	int err = tsct_stream_writer_put(sw, id, sw->delta.events ? sw->begin :
					 cycles, event->tid, event->payload, event->len);

	tsct_stream_writer_extend(sw, cycles);
	return err;
}

/* Begins the packet of an event at @cycles, which is the first event of the open packet,
 * or is too late for the open packet. Returns 0 or -errno. */
static int begin_packet(struct tsct_recording_writer *w, __u32 stream, __u32 location,
			__u64 cycles)
{
	struct writer_file *f = file_of(w, stream, location);

	f->due = tsct_add_saturating(cycles, w->span);
	return f->stream.delta.events ?
		end_packet(w, stream, location, tsct_stream_writer_end_packet) : 0;
}

/* Converts the counter value of a file's next event to the tick of the event. @last: tick
 * of the file's previous event. Returns 0 or -errno. */
static inline int encode_tick(struct tsct_recording_writer *w,
			      struct tsct_tick_resolution *resolution, __u64 cycles,
			      __u64 last, __u64 *ret_tick)
{
	int err;

	if (likely(!tsct_timestamps_system(w->encoder.timestamps)))
		return tsct_tick_resolution_tick(resolution, cycles, ret_tick);
	err = tsct_tick_resolution_tick(resolution, tsct_tick_encoder_system(&w->encoder, cycles,
							resolution->seen), ret_tick);
	*ret_tick = max(*ret_tick, last);
	return err;
}

/* Writes one event to the event's file. @id: ID in the file. Returns 0 or an error of
 * tsct_stream_writer_put(). */
static int put_event(struct tsct_recording_writer *w, __u32 stream,
		     const struct tsct_event *event, __u32 id, __u64 cycles)
{
	struct writer_file *f = file_of(w, stream, event->cpu);
	__u64 tick;
	int err;

	if (unlikely(!f->stream.delta.events || cycles >= f->due)) {
		err = begin_packet(w, stream, event->cpu, cycles);
		if (err)
			return err;
	}
	if (unlikely(w->untimed))
		return put_untimed(&f->stream, event, id, cycles);
	if (unlikely(encode_tick(w, &f->resolution, cycles,
				 tsct_stream_writer_last(&f->stream), &tick)))
		return -EINVAL;
	return tsct_stream_writer_put(&f->stream, id, tick, event->tid, event->payload,
				      event->len);
}

int tsct_recording_writer_event(struct tsct_recording_writer *w, __u32 stream,
				const struct tsct_event *event)
{
	struct tsct_loss *loss = loss_of(w, stream, event->cpu);
	struct writer_file *f = file_of(w, stream, event->cpu);
	const struct tsct_stream_reader_kind *kind;
	__u64 cycles = event->cycles, min;
	int ret = 0;

	if (unlikely(w->error)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error;
	}
	kind = kind_of(w, stream, event->id);
	if (unlikely(!kind))
		return count_loss(loss, TSCT_LOSS_UNDEFINED);
	if (unlikely(kind->size != (__s32)event->len) &&
	    (event->len > TSCT_CTF_PAYLOAD_MAX ||
	     tsct_event_def_check_payload(kind->def, event->payload, event->len)))
		return count_loss(loss, TSCT_LOSS_MALFORMED);
	if (likely(tsct_stream_writer_started(&f->stream)))
		min = f->last;
	else	/* Sync samples may be older than the recording. */
		min = is_counted(w, stream) || cycles > w->rec->begin ?
			w->rec->begin : cycles;
	if (unlikely(cycles < min)) {
		if (min - cycles >= w->raise)
			return count_loss(loss, TSCT_LOSS_DISORDER);
		cycles = min;
	}
	if (unlikely(!tsct_stream_writer_started(&f->stream)))
		ret = start_file(w, stream, event->cpu, min);
	if (unlikely(ret)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error = ret;
	}
	ret = put_event(w, stream, event, kind->id, cycles);
	if (unlikely(ret < 0)) {
		loss->cause[w->error ? TSCT_LOSS_UNWRITTEN : TSCT_LOSS_DISORDER]++;
		return w->error;
	}
	if (unlikely(tsct_stream_writer_events(&f->stream) == 1))
		f->first = cycles;
	f->last = cycles;
	w->written.events += is_counted(w, stream);
	if (w->notes && is_counted(w, stream))
		tsct_tid_note(w->notes, event->tid);
	return ret ? end_packet(w, stream, event->cpu,
				tsct_stream_writer_end_packet) : 0;
}

/* ---- many events at a time ------------------------------------------------ */

/* Largest payload of an event with strings that is checked in a copy, bytes */
#define COPY_MAX	512
/* Distance from the present record at which memory is prefetched, bytes: records are
 * still in the cache of the CPU that wrote them, so loads are slow. */
#define PREFETCH	1024

/* Returns NULL if the payload at @from does not match @kind; else returns @from, or @copy for
 * a payload with strings, as other programs could change a string after the check. */
static inline const void *check_payload(const struct tsct_stream_reader_kind *kind,
					const void *from, __u32 len, void *copy)
{
	if (likely(kind->size == (__s32)len))
		return from;
	if (!kind->def || kind->size >= 0 || len > COPY_MAX)
		return NULL;
	memcpy(copy, from, len);
	return tsct_event_def_check_payload(kind->def, copy, len) ? NULL : copy;
}

/* Encodes records into the open packet of @f, up to the first record that needs
 * tsct_recording_writer_event(). `sw` and `resolution` are copies, which the compiler can
 * keep in registers. */
static struct tsct_records_done encode_records(struct tsct_recording_writer *w,
					       const struct tsct_record_batch *batch,
					       struct writer_file *f)
{
	const struct tsct_stream_reader_kind *kinds = w->kinds[batch->stream];
	const __u32 nr_kinds = w->nr_kinds[batch->stream];
	struct tsct_tick_resolution resolution = f->resolution;
	struct tsct_stream_writer sw = f->stream;
	struct tsct_records_done done = { .last = f->last };
	const __u64 until = batch->until < f->due ? batch->until : f->due - 1;
	const __u64 raise = w->raise;
	const size_t end = batch->len;
	__u64 copy[COPY_MAX / 8], word, cycles, tick;
	const void *payload;
	const __u64 *record;
	__u32 id, len, last_tid = 0;
	int ret = 0;

	while (!ret && done.bytes + sizeof(struct tsct_record) <= end) {
		record = (const void *)(batch->from + done.bytes);
		__builtin_prefetch((const char *)record + PREFETCH);
		word = READ_ONCE(record[0]);
		cycles = READ_ONCE(record[1]);
		id = (__u16)(word >> 16) - TSCT_ID_FIRST;
		len = (__u16)word - (__u32)sizeof(struct tsct_record);
		if (unlikely(id >= nr_kinds || len > UINT16_MAX ||
			     tsct_record_size(len) > end - done.bytes))
			break;
		if (unlikely(cycles < done.last)) {
			if (done.last - cycles >= raise)
				break;
			cycles = done.last;
		}
		payload = check_payload(&kinds[id], record + 2, len, copy);
		if (unlikely(!payload || cycles > until ||
			     encode_tick(w, &resolution, cycles,
					 tsct_stream_writer_last(&sw), &tick)))
			break;
		ret = tsct_stream_writer_put_next_(&sw, kinds[id].id, tick,
						   (__u32)(word >> 32), payload, len);
		if (unlikely(ret < 0))
			break;
		if (unlikely((__u32)(word >> 32) != last_tid)) {
			last_tid = (__u32)(word >> 32);
			if (w->notes)
				tsct_tid_note(w->notes, last_tid);
		}
		done.bytes += tsct_record_size(len);
		done.events++;
		done.last = cycles;
	}
	f->resolution = resolution;
	f->stream = sw;
	f->last = done.last;
	return done;
}

int tsct_recording_writer_records(struct tsct_recording_writer *w,
				  const struct tsct_record_batch *batch,
				  struct tsct_records_done *ret_done)
{
	struct writer_file *f = file_of(w, batch->stream, batch->cpu);
	struct tsct_stream_writer *sw = &f->stream;

	*ret_done = (struct tsct_records_done) { .events = 0 };
	/* A packet's first event is left to tsct_recording_writer_event(). */
	if (unlikely(w->error || w->untimed || !sw->delta.events))
		return w->error;
	*ret_done = encode_records(w, batch, f);
	w->written.events += is_counted(w, batch->stream) ? ret_done->events : 0;
	return sw->used >= sw->full || sw->delta.events >= sw->every ?
		end_packet(w, batch->stream, batch->cpu, tsct_stream_writer_end_packet) : 0;
}

/* ---- progress file ------------------------------------------------------ */

/* Creates the progress file. Returns its descriptor, or -errno: then readers cannot follow the
 * live recording. */
static int open_progress(int dirfd)
{
	int fd = openat(dirfd, TSCT_PROGRESS_FILE,
			O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err;

	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return fd;
	/* Without a lock on the file this recorder would seem to have been killed. */
	err = -errno;
	close(fd);
	unlinkat(dirfd, TSCT_PROGRESS_FILE, 0);
	return err;
}

/* Writes the value of `settled` to the progress file. Unless idle_progress is set, does so
 * only if there is an event at or after the value that was written before, because each
 * write wakes up trace readers. */
static void publish_progress(struct tsct_recording_writer *w)
{
	struct tsct_progress_record record;
	__u64 latest = 0;		/* counter value of the latest event */
	size_t i;

	for (i = 0; i < nr_files(w); i++)
		latest = max(latest, w->files[i].last);
	if (w->progress < 0 || w->settled <= w->published ||
	    (latest < w->published && !w->idle_progress))
		return;
	record.tick = tsct_tick_encoder_settle(&w->encoder, w->settled);
	record.inverse = ~record.tick;
	/* Ignores errors, as a later flush writes a newer tick. */
	(void)TEMP_FAILURE_RETRY(pwrite(w->progress, &record, sizeof(record), 0));
	w->published = w->settled;
}

void tsct_recording_writer_settle(struct tsct_recording_writer *w, __u64 cycles)
{
	if (cycles > w->settled && cycles != UINT64_MAX)
		w->settled = cycles;
}

void tsct_recording_writer_idle_progress(struct tsct_recording_writer *w)
{
	w->idle_progress = true;
}

int tsct_recording_writer_flush(struct tsct_recording_writer *w)
{
	__u32 stream, at;
	int err;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (at = 0; at < w->rec->nr_locations && !w->error; at++) {
			err = 0;
			/* A loss after a file's last event gets its own packet. */
			if (!tsct_stream_writer_started(&file_of(w, stream, at)->stream)) {
				if (!tsct_loss_total(loss_of(w, stream, at)))
					continue;
				err = start_file(w, stream, at, w->rec->begin);
			}
			if (!err)
				err = end_packet(w, stream, at, tsct_stream_writer_flush);
			if (err && !w->error)
				w->error = err;
		}
	/* If writing fails, the previous metadata stays, and is still valid. */
	if (w->touched && !w->error)
		write_metadata(w);
	if (!w->error)
		publish_progress(w);
	return w->error;
}

/* ---- the writer -------------------------------------------------------- */

/* Returns the time, in cycles from a packet's first event, after which an event begins a new
 * packet. Untimed events have the time of their packet; this uncertainty is a limit, too. */
static __u64 packet_span(const struct tsct_recording *rec)
{
	__u64 span = UINT64_MAX, limit;

	if (tsct_recording_is_untimed(rec))
		span = tsct_recording_uncertainty(rec);
	if (!rec->sync_every.ns)
		return span;
	limit = tsct_ns_cycles(rec->real.mult, (__s64)rec->sync_every.ns);
	return limit < span ? limit : span;
}

int tsct_recording_writer_open(int dirfd, struct tsct_recording *rec,
			       struct tsct_recording_writer **ret_writer)
{
	const size_t classes = tsct_recording_classes(rec) + 1;
	struct tsct_recording_writer *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return -ENOMEM;
	w->dirfd = dirfd;
	w->progress = -1;
	w->rec = rec;
	w->raise = tsct_ns_cycles(rec->real.mult, RAISE_NS);
	w->untimed = tsct_recording_is_untimed(rec);
	w->span = packet_span(rec);
	tsct_tick_encoder_init(&w->encoder, rec);
	w->files = calloc(nr_files(w) + 1, sizeof(*w->files));
	w->kinds = calloc(classes, sizeof(*w->kinds));
	w->nr_kinds = calloc(classes, sizeof(*w->nr_kinds));
	w->last_id = calloc(classes, sizeof(*w->last_id));
	if (w->files && w->kinds && w->nr_kinds && w->last_id) {
		/* The progress file is created first, so that readers never see metadata of
		 * an incomplete recording without a progress file. */
		w->progress = open_progress(dirfd);
		err = write_metadata(w);
	}
	if (err)
		tsct_recording_writer_close(w);
	else
		*ret_writer = w;
	return err;
}

void tsct_recording_writer_touch(struct tsct_recording_writer *w)
{
	w->touched = true;
}

void tsct_recording_writer_renew(struct tsct_recording_writer *w)
{
	/* If writing fails, the previous metadata stays, and is still valid. */
	if (!w->error)
		write_metadata(w);
}

void tsct_recording_writer_note(struct tsct_recording_writer *w,
				struct tsct_tid_notes *notes)
{
	w->notes = notes;
}

void tsct_recording_writer_follow(struct tsct_recording_writer *w,
				  const struct tsct_clock_copy *clock)
{
	w->touched |= tsct_tick_encoder_follow(&w->encoder, clock);
}

/* Completes all files, and sets the counts by which readers detect truncation. */
static int finish_files(struct tsct_recording_writer *w)
{
	int err = tsct_recording_writer_flush(w), err2;
	const struct tsct_stream_writer *sw;
	struct tsct_file_counts *counts;
	__u32 stream, at;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (at = 0; at < w->rec->nr_locations; at++) {
			sw = &file_of(w, stream, at)->stream;
			if (tsct_stream_writer_started(sw) && err) {
				drop_unwritten(w, stream, at, err);
			} else if (tsct_stream_writer_started(sw)) {
				err2 = end_packet(w, stream, at, tsct_stream_writer_finish);
				err = err ? err : err2;
			}
			counts = &w->rec->streams[stream].counts[at];
			counts->packets = sw->packets;
			counts->events = tsct_stream_writer_events(sw);
			counts->max_per_tick = w->untimed ? 0 : sw->max_per_tick;
		}
	return err;
}

/* The metadata has the number of events lost on a full disk. If there is no room for
 * the metadata, removing the progress file may free enough, so the metadata is written
 * again. */
int tsct_recording_writer_finish(struct tsct_recording_writer *w)
{
	int err = finish_files(w), err2;

	w->rec->complete = 1;
	err2 = write_metadata(w);
	if (w->progress >= 0) {
		unlinkat(w->dirfd, TSCT_PROGRESS_FILE, 0);
		close(w->progress);
		w->progress = -1;
	}
	if (err2)
		err2 = write_metadata(w);
	return err ? err : err2;
}

void tsct_recording_writer_close(struct tsct_recording_writer *w)
{
	size_t i;

	if (!w)
		return;
	if (w->progress >= 0)
		close(w->progress);
	for (i = 0; w->files && i < nr_files(w); i++)
		tsct_stream_writer_free(&w->files[i].stream);
	for (i = 0; w->kinds && i < tsct_recording_classes(w->rec); i++)
		free(w->kinds[i]);
	free(w->kinds);
	free(w->nr_kinds);
	free(w->last_id);
	free(w->files);
	free(w);
}

int tsct_recording_writer_error(const struct tsct_recording_writer *w)
{
	return w->error;
}

__u64 tsct_recording_writer_error_ns(const struct tsct_recording_writer *w)
{
	struct tsct_tick_figures figures;

	tsct_tick_encoder_describe(&w->encoder, w->rec, &figures);
	return tsct_recording_worst_ns(&figures.rec, figures.rec.end);
}

void tsct_recording_writer_written(const struct tsct_recording_writer *w,
				   struct tsct_written *ret_written)
{
	*ret_written = w->written;
}

__u64 tsct_recording_writer_cpu_events(const struct tsct_recording_writer *w,
				       __u32 stream, __u32 cpu)
{
	return tsct_stream_writer_events(&file_of(w, stream, cpu)->stream);
}

bool tsct_recording_writer_cpu_span(const struct tsct_recording_writer *w,
				    __u32 stream, __u32 cpu,
				    __u64 *ret_first, __u64 *ret_last)
{
	const struct writer_file *f = file_of(w, stream, cpu);

	if (!tsct_stream_writer_events(&f->stream))
		return false;
	*ret_first = f->first;
	*ret_last = f->last;
	return true;
}
