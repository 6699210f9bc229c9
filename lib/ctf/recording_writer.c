// SPDX-License-Identifier: MIT
/* A recording's directory being written: metadata, packets, how far it is. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/core/clock_params.h"
#include "write_progress.h"
#include "recording_writer_private.h"

#define META		"metadata"
#define META_TMP	".metadata.tmp"	/* readers skip hidden files */
/* Unordered stamps may run behind their predecessors', by a few instructions */
#define RAISE_NS	1000

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

int tsct_writer_end_packet(struct tsct_writer *w, __u32 stream, __u32 location,
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

int tsct_writer_start(struct tsct_writer *w, __u32 stream, __u32 location,
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

/* ---- flushing ---------------------------------------------------------- */

/* Also a loss that no event followed gets its packet. */
static int flush_place(struct tsct_writer *w, __u32 stream, __u32 location)
{
	struct tsct_stream_writer *pen = &place_of(w, stream, location)->pen;
	int err = 0;

	if (!tsct_stream_writer_started(pen)) {
		if (!tsct_loss_total(loss_of(w, stream, location)))
			return 0;
		err = tsct_writer_start(w, stream, location, w->rec->begin);
	}
	return err ? err : tsct_writer_end_packet(w, stream, location,
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
	struct tsct_held *held;
	__u32 stream, at;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (at = 0; at < w->rec->nr_locations; at++) {
			held = &w->rec->streams[stream].held[at];
			pen = &place_of(w, stream, at)->pen;
			held->packets = pen->packets;
			held->events = tsct_stream_writer_events(pen);
			held->on_tick = w->untimed ? 0 : pen->most;
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
		err2 = tsct_writer_end_packet(w, i / locations,
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
