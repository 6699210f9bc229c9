// SPDX-License-Identifier: MIT
/* Writes a recording's directory: metadata, stream files, and how far they are. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/core/clock_params.h"
#include "lib/core/event_def.h"
#include "recording_writer.h"
#include "stream_reader.h"
#include "stream_writer.h"
#include "ticks.h"
#include "write_progress.h"

#define META		"metadata"
#define META_TMP	".metadata.tmp"	/* readers skip hidden files */
/* Unordered stamps may run behind their predecessors', by a few instructions */
#define RAISE_NS	1000

/* The file of one (stream, location) */
struct place {
	struct tsct_stream_writer pen;
	struct tsct_tick_resolution grain;
	__u64 first, last;	/* stamps; last: none may be before it */
	char name[TSCT_FILE_NAME_MAX];
};

struct tsct_writer {
	int dirfd;
	int error;		/* the first that the disk gave */
	bool touched;
	bool untimed;
	struct tsct_recording *rec;
	struct tsct_written written;
	struct tsct_tick_encoder ticker;
	struct place *places;	/* stream * nr_locations + location */
	/* By stream class: its definitions, as the last time that one was new */
	struct tsct_stream_reader_kind **kinds;
	__u32 *nr_kinds;
	__u64 raise;		/* ticks: what is late by less is moved */
	__u64 span;		/* ticks: packets without times last no longer */
	int flushed;		/* see flushed.h; negative: none */
	__u64 settled;		/* stamp: none that comes is before it */
	__u64 told;		/* what was told last */
};

static inline size_t nr_places(const struct tsct_writer *w)
{
	return (size_t)tsct_recording_classes(w->rec) * w->rec->nr_locations;
}

/* Samples are no events of programs. */
static inline bool is_counted(const struct tsct_writer *w, __u32 stream)
{
	return stream < w->rec->nr_streams;
}

static inline struct place *place_of(const struct tsct_writer *w, __u32 stream,
			      __u32 location)
{
	return &w->places[(size_t)stream * w->rec->nr_locations + location];
}

static inline struct tsct_loss *loss_of(const struct tsct_writer *w, __u32 stream,
				 __u32 location)
{
	return &w->rec->streams[stream].loss[location];
}

/* ---- metadata ---------------------------------------------------------- */

static int fill_metadata(const struct tsct_writer *w, int fd)
{
	FILE *to = fdopen(fd, "w");
	struct tsct_tick_figures view;
	int err;

	if (!to) {
		err = -errno;
		close(fd);
		return err;
	}
	tsct_tick_encoder_describe(&w->ticker, w->rec, &view);
	err = tsct_meta_write(&view.rec, to);
	if (!err && fflush(to))
		err = -errno;
	if (!err && w->rec->fsync)
		err = tsct_fsync(fd);
	if (fclose(to) && !err)
		err = -errno;
	return err;
}

static int write_metadata(struct tsct_writer *w)
{
	int fd, err;

	fd = openat(w->dirfd, META_TMP,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = fill_metadata(w, fd);
	if (!err && renameat(w->dirfd, META_TMP, w->dirfd, META))
		err = -errno;
	if (!err && w->rec->fsync)
		err = tsct_fsync(w->dirfd);
	if (err)
		unlinkat(w->dirfd, META_TMP, 0);
	else
		w->touched = false;
	return err;
}

/* ---- packets ----------------------------------------------------------- */

static void give_up(struct tsct_writer *w, __u32 stream, __u32 location, int err)
{
	struct tsct_stream_writer *pen = &place_of(w, stream, location)->pen;
	const __u64 lost = tsct_stream_writer_unwritten(pen);

	if (!w->error)
		w->error = err;
	loss_of(w, stream, location)->cause[TSCT_LOSS_UNWRITTEN] += lost;
	if (is_counted(w, stream))
		w->written.events -= lost;
	tsct_stream_writer_drop(pen);
}

static int end_packet(struct tsct_writer *w, __u32 stream, __u32 location,
		      int (*end)(struct tsct_stream_writer *pen, __u64 discarded))
{
	__u64 discarded = tsct_loss_total(loss_of(w, stream, location));
	struct tsct_stream_writer *pen = &place_of(w, stream, location)->pen;
	const __u64 size = pen->size;
	int err = 0;

	/* No event reaches the disk before the metadata that names it. */
	if (w->touched)
		err = write_metadata(w);
	if (!err)
		err = end(pen, discarded);
	w->written.bytes += pen->size - size;
	if (err)
		give_up(w, stream, location, err);
	return err;
}

static int start_file(struct tsct_writer *w, __u32 stream, __u32 location,
		      __u64 begin)
{
	struct place *p = place_of(w, stream, location);
	const struct tsct_location *l = &w->rec->locations[location];
	const struct tsct_stream_writer_file file = {
		.dirfd = w->dirfd, .name = p->name, .uuid = w->rec->uuid,
		.stream_id = stream, .cpu = l->cpu, .node = l->node,
	};
	const struct tsct_stream_writer_options options = {
		.every = w->rec->sync_every, .fsync = w->rec->fsync,
	};

	tsct_recording_file(w->rec, stream, location, p->name);
	tsct_stream_writer_init(&p->pen, &file, &options);
	tsct_tick_resolution_init(&p->grain, w->ticker.bits);
	p->last = begin;
	return tsct_stream_writer_start(&p->pen, tsct_tick_encoder_moment(&w->ticker, begin));
}

/* ---- definitions ------------------------------------------------------- */

/* One that is new. Those between are found when they are there. */
static const struct tsct_stream_reader_kind *learn(struct tsct_writer *w, __u32 stream,
					    __u32 id)
{
	const struct tsct_event_def *def = tsct_recording_def(w->rec, stream, id);
	const __u32 at = id - TSCT_ID_FIRST;
	struct tsct_stream_reader_kind *kinds = w->kinds[stream];
	__u32 i;

	if (!def)
		return NULL;
	if (at >= w->nr_kinds[stream]) {
		kinds = realloc(kinds, ((size_t)at + 1) * sizeof(*kinds));
		if (!kinds)
			return NULL;
		for (i = w->nr_kinds[stream]; i <= at; i++)
			kinds[i] = tsct_stream_reader_kind_of(NULL);
		w->kinds[stream] = kinds;
		w->nr_kinds[stream] = at + 1;
	}
	kinds[at] = tsct_stream_reader_kind_of(def);
	return &kinds[at];
}

static inline const struct tsct_stream_reader_kind *
kind_of(struct tsct_writer *w, __u32 stream, __u32 id)
{
	const __u32 at = id - TSCT_ID_FIRST;

	if (likely(at < w->nr_kinds[stream] && w->kinds[stream][at].def))
		return &w->kinds[stream][at];
	return learn(w, stream, id);
}

/* ---- events ------------------------------------------------------------ */

static int refuse(struct tsct_loss *loss, enum tsct_loss_cause cause)
{
	loss->cause[cause]++;
	return 0;
}

static bool is_malformed(const struct tsct_stream_reader_kind *kind,
			 const struct tsct_event *event)
{
	if (likely(kind->size == (__s32)event->len))
		return false;
	return event->len > TSCT_CTF_PAYLOAD_MAX ||
		tsct_event_def_check_payload(kind->def, event->payload, event->len);
}

/* Samples may be older than the recording. */
static __u64 begin_of(const struct tsct_writer *w, __u32 stream, __u64 stamp)
{
	return is_counted(w, stream) || stamp > w->rec->begin ?
		w->rec->begin : stamp;
}

/* Without times all have their packet's, which must not last too long. */
static int put_untimed(struct tsct_writer *w, __u32 stream,
		       const struct tsct_event *event, __u64 stamp)
{
	struct tsct_stream_writer *pen = &place_of(w, stream, event->cpu)->pen;
	int err;

	if (pen->delta.events && stamp - pen->begin >= w->span) {
		err = end_packet(w, stream, event->cpu, tsct_stream_writer_end_packet);
		if (err)
			return err;
	}
	err = tsct_stream_writer_put(pen, event->id, pen->delta.events ? pen->begin : stamp,
			   event->tid, event->payload, event->len);
	tsct_stream_writer_lasts(pen, stamp);
	return err;
}

static int put_event(struct tsct_writer *w, __u32 stream,
		     const struct tsct_event *event, __u64 stamp)
{
	struct place *p = place_of(w, stream, event->cpu);
	__u64 tick;

	if (w->untimed)
		return put_untimed(w, stream, event, stamp);
	if (tsct_tick_encoder_event(&w->ticker, &p->grain, tsct_stream_writer_last(&p->pen),
			      stamp, &tick))
		return -EINVAL;
	return tsct_stream_writer_put(&p->pen, event->id, tick, event->tid,
			    event->payload, event->len);
}

static void count_event(struct tsct_writer *w, __u32 stream, struct place *p,
			__u64 stamp)
{
	if (tsct_stream_writer_events(&p->pen) == 1)
		p->first = stamp;
	p->last = stamp;
	w->written.events += is_counted(w, stream);
}

int tsct_writer_event(struct tsct_writer *w, __u32 stream,
		      const struct tsct_event *event)
{
	struct tsct_loss *loss = loss_of(w, stream, event->cpu);
	struct place *p = place_of(w, stream, event->cpu);
	const struct tsct_stream_reader_kind *kind;
	__u64 stamp = event->cycles, least;
	int ret = 0;

	if (unlikely(w->error)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error;
	}
	kind = kind_of(w, stream, event->id);
	if (unlikely(!kind))
		return refuse(loss, TSCT_LOSS_UNDEFINED);
	if (unlikely(is_malformed(kind, event)))
		return refuse(loss, TSCT_LOSS_MALFORMED);
	least = tsct_stream_writer_started(&p->pen) ? p->last :
		begin_of(w, stream, stamp);
	if (unlikely(stamp < least)) {
		if (least - stamp >= w->raise)
			return refuse(loss, TSCT_LOSS_DISORDER);
		stamp = least;
	}
	if (unlikely(!tsct_stream_writer_started(&p->pen)))
		ret = start_file(w, stream, event->cpu, least);
	if (unlikely(ret)) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error = ret;
	}
	ret = put_event(w, stream, event, stamp);
	if (unlikely(ret < 0))
		return w->error ? refuse(loss, TSCT_LOSS_UNWRITTEN), w->error :
			refuse(loss, TSCT_LOSS_DISORDER);
	count_event(w, stream, p, stamp);
	return ret ? end_packet(w, stream, event->cpu,
					    tsct_stream_writer_end_packet) : 0;
}

/* ---- flushing ---------------------------------------------------------- */

/* Also a loss that no event followed gets its packet. */
static int flush_place(struct tsct_writer *w, __u32 stream, __u32 location)
{
	struct tsct_stream_writer *pen = &place_of(w, stream, location)->pen;
	int err = 0;

	if (!tsct_stream_writer_started(pen)) {
		if (!tsct_loss_total(loss_of(w, stream, location)))
			return 0;
		err = start_file(w, stream, location, w->rec->begin);
	}
	return err ? err : end_packet(w, stream, location,
						  tsct_stream_writer_flush);
}

void tsct_writer_settle(struct tsct_writer *w, __u64 stamp)
{
	if (stamp > w->settled && stamp != UINT64_MAX)
		w->settled = stamp;
}

/* The stamp of the latest event */
static __u64 latest(const struct tsct_writer *w)
{
	__u64 last = 0;
	size_t i;

	for (i = 0; i < nr_places(w); i++)
		if (w->places[i].last > last)
			last = w->places[i].last;
	return last;
}

/* Who follows is not woken up for nothing. */
static void tell(struct tsct_writer *w)
{
	if (w->flushed < 0 || w->settled <= w->told || latest(w) < w->told)
		return;
	tsct_write_progress_publish(w->flushed, tsct_tick_encoder_settle(&w->ticker, w->settled));
	w->told = w->settled;
}

int tsct_writer_flush(struct tsct_writer *w)
{
	__u32 stream, at;
	int err;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (at = 0; at < w->rec->nr_locations && !w->error; at++) {
			err = flush_place(w, stream, at);
			if (err && !w->error)
				w->error = err;
		}
	if (w->touched && !w->error)
		w->error = write_metadata(w);
	if (!w->error)
		tell(w);
	return w->error;
}

/* ---- the writer -------------------------------------------------------- */

static int allocate(struct tsct_writer *w)
{
	const size_t classes = tsct_recording_classes(w->rec) + 1;

	w->places = calloc(nr_places(w) + 1, sizeof(*w->places));
	w->kinds = calloc(classes, sizeof(*w->kinds));
	w->nr_kinds = calloc(classes, sizeof(*w->nr_kinds));
	return w->places && w->kinds && w->nr_kinds ? 0 : -ENOMEM;
}

int tsct_writer_open(int dirfd, struct tsct_recording *rec,
		     struct tsct_writer **ret_writer)
{
	struct tsct_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->dirfd = dirfd;
	w->flushed = -1;
	w->rec = rec;
	w->raise = tsct_ns_cycles(rec->real.mult, RAISE_NS);
	w->untimed = tsct_recording_is_untimed(rec);
	w->span = tsct_recording_uncertainty(rec);
	tsct_tick_encoder_init(&w->ticker, rec);
	err = allocate(w);
	if (!err) {
		/* Before there is a recording that says that it is incomplete. */
		w->flushed = tsct_write_progress_open(dirfd);
		err = write_metadata(w);
	}
	if (err)
		tsct_writer_close(w);
	else
		*ret_writer = w;
	return err;
}

void tsct_writer_touch(struct tsct_writer *w)
{
	w->touched = true;
}

void tsct_writer_renew(struct tsct_writer *w)
{
	/* Where there is no room, the one before it still holds what it says. */
	if (!w->error)
		write_metadata(w);
}

void tsct_writer_follow(struct tsct_writer *w, const struct tsct_clock_params *line,
			__u64 at)
{
	tsct_tick_encoder_follow(&w->ticker, line, at);
}

/* Whoever reads can then tell that the end of a file is gone. */
static void note_held(struct tsct_writer *w)
{
	const struct tsct_stream_writer *pen;
	struct tsct_file_counts *counts;
	__u32 stream, at;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (at = 0; at < w->rec->nr_locations; at++) {
			counts = &w->rec->streams[stream].counts[at];
			pen = &place_of(w, stream, at)->pen;
			counts->packets = pen->packets;
			counts->events = tsct_stream_writer_events(pen);
			counts->max_per_tick = w->untimed ? 0 : pen->max_per_tick;
		}
}

static int finish_files(struct tsct_writer *w)
{
	const __u32 locations = w->rec->nr_locations;
	int err = tsct_writer_flush(w), err2;
	size_t i;

	for (i = 0; i < nr_places(w); i++) {
		if (!tsct_stream_writer_started(&w->places[i].pen))
			continue;
		if (err) {
			give_up(w, i / locations, i % locations, err);
			continue;
		}
		err2 = end_packet(w, i / locations,
					      i % locations,
					      tsct_stream_writer_finish);
		err = err ? err : err2;
	}
	return err;
}

/* Nothing comes any more. */
static void end_flushed(struct tsct_writer *w)
{
	if (w->flushed < 0)
		return;
	tsct_write_progress_remove(w->dirfd);
	close(w->flushed);
	w->flushed = -1;
}

/*
 * What a full disk did not take is in the metadata, if that has room. Where it has
 * not, the room of what only those need who follow may be enough.
 */
int tsct_writer_finish(struct tsct_writer *w)
{
	int err = finish_files(w), err2;

	note_held(w);
	w->rec->complete = 1;
	err2 = write_metadata(w);
	end_flushed(w);
	if (err2)
		err2 = write_metadata(w);
	return err ? err : err2;
}

void tsct_writer_close(struct tsct_writer *w)
{
	size_t i;

	if (!w)
		return;
	if (w->flushed >= 0)
		close(w->flushed);
	for (i = 0; w->places && i < nr_places(w); i++)
		tsct_stream_writer_free(&w->places[i].pen);
	for (i = 0; w->kinds && i < tsct_recording_classes(w->rec); i++)
		free(w->kinds[i]);
	free(w->kinds);
	free(w->nr_kinds);
	free(w->places);
	free(w);
}

int tsct_writer_error(const struct tsct_writer *w)
{
	return w->error;
}

__u64 tsct_writer_error_ns(const struct tsct_writer *w)
{
	struct tsct_tick_figures view;

	tsct_tick_encoder_describe(&w->ticker, w->rec, &view);
	return tsct_recording_worst_ns(&view.rec, view.rec.end);
}

void tsct_writer_written(const struct tsct_writer *w,
			 struct tsct_written *ret_written)
{
	*ret_written = w->written;
}

__u64 tsct_writer_cpu_events(const struct tsct_writer *w, __u32 stream,
			     __u32 cpu)
{
	return tsct_stream_writer_events(&place_of(w, stream, cpu)->pen);
}

bool tsct_writer_cpu_span(const struct tsct_writer *w, __u32 stream, __u32 cpu,
			  __u64 *ret_first, __u64 *ret_last)
{
	const struct place *p = place_of(w, stream, cpu);

	if (!tsct_stream_writer_events(&p->pen))
		return false;
	*ret_first = p->first;
	*ret_last = p->last;
	return true;
}
