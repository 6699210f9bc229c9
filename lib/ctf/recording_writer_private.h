/* SPDX-License-Identifier: MIT */
/* A writer as its own files see it: record_write.c, record_writer.c. */
#ifndef TSCT_WRITER_PRIVATE_H
#define TSCT_WRITER_PRIVATE_H

#include "stream_writer.h"
#include "ticks.h"
#include "stream_reader.h"
#include "recording_writer.h"

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

/* Before the first event of a place. 0 or -errno. */
int tsct_writer_start(struct tsct_writer *w, __u32 stream, __u32 location,
		      __u64 begin);

/* What pens do with packets: seal them, or more. 0 or -errno. */
int tsct_writer_end_packet(struct tsct_writer *w, __u32 stream, __u32 location,
			   int (*end)(struct tsct_stream_writer *pen, __u64 discarded));

#endif /* TSCT_WRITER_PRIVATE_H */
