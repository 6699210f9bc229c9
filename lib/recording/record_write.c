// SPDX-License-Identifier: MIT
/* Events into packets, packets into files. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/def.h"
#include "core/scale.h"
#include "recording/ctf.h"
#include "recording/writer.h"

#define META		"metadata"
#define META_TMP	".metadata.tmp"	/* readers skip hidden files */
/* Unordered stamps may run behind their predecessors', by a few instructions */
#define RAISE_NS	1000

/* The file of one (stream, CPU), and the packet that it gets next. */
struct pen {
	__u8 *packet;		/* NULL: nothing yet */
	__u32 used;		/* with room for the header */
	__u64 in_packet;	/* events */
	__u64 begin, last;	/* stamps; last: of the file so far */
	__u64 first;		/* stamp of its first event */
	__u64 seq;
	__u64 discarded;	/* as the last packet said */
	__u64 size;		/* of the file: whole packets */
	__u64 events;
};

struct tsct_writer {
	int dirfd;
	int error;		/* the first that the disk gave */
	bool touched;
	struct tsct_recording *rec;
	struct tsct_written written;
	struct pen *pens;	/* stream * nr_cpus + cpu */
	__u64 raise;		/* ticks: what is late by less is moved */
};

static size_t nr_pens(const struct tsct_writer *w)
{
	return (size_t)tsct_recording_classes(w->rec) * w->rec->nr_locations;
}

/* Samples are no events of programs. */
static bool is_counted(const struct tsct_writer *w, __u32 stream)
{
	return stream < w->rec->nr_streams;
}

static struct pen *pen_of(const struct tsct_writer *w, __u32 stream, __u32 cpu)
{
	return &w->pens[(size_t)stream * w->rec->nr_locations + cpu];
}

static struct tsct_loss *loss_of(const struct tsct_writer *w, __u32 stream,
				 __u32 cpu)
{
	return &w->rec->streams[stream].loss[cpu];
}

/* ---- metadata ---------------------------------------------------------- */

static int fill_metadata(const struct tsct_recording *rec, int fd)
{
	FILE *to = fdopen(fd, "w");
	int err;

	if (!to) {
		err = -errno;
		close(fd);
		return err;
	}
	err = tsct_meta_write(rec, to);
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
	err = fill_metadata(w->rec, fd);
	if (!err && renameat(w->dirfd, META_TMP, w->dirfd, META))
		err = -errno;
	if (err)
		unlinkat(w->dirfd, META_TMP, 0);
	else
		w->touched = false;
	return err;
}

/* ---- packets ----------------------------------------------------------- */

static int write_all(int fd, const __u8 *at, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= n;
	}
	return 0;
}

/*
 * Files are opened anew for every packet: a descriptor for each CPU of a big
 * machine would be more than a process may have.
 */
static int append(struct tsct_writer *w, struct pen *pen, const char *name)
{
	int fd, err;

	fd = openat(w->dirfd, name,
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, pen->packet, pen->used);
	/* Half a packet is of no use to anybody: take it back. */
	if (err && ftruncate(fd, pen->size))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

static void seal(struct tsct_writer *w, struct pen *pen, __u32 stream,
		 __u32 cpu, __u64 discarded)
{
	struct tsct_packet head = {
		.magic = TSCT_CTF_MAGIC,
		.stream_id = stream,
		.begin = pen->begin,
		.end = pen->last,
		.content_bits = pen->used * 8ULL,
		.packet_bits = pen->used * 8ULL,
		.seq = pen->seq,
		.discarded = discarded,
		.cpu = cpu,
	};

	memcpy(head.uuid, w->rec->uuid, 16);
	memcpy(pen->packet, &head, sizeof(head));
}

static void give_up(struct tsct_writer *w, __u32 stream, __u32 cpu, int err)
{
	struct tsct_loss *loss = loss_of(w, stream, cpu);
	struct pen *pen = pen_of(w, stream, cpu);

	if (!w->error)
		w->error = err;
	loss->cause[TSCT_LOSS_UNWRITTEN] += pen->in_packet;
	pen->events -= pen->in_packet;
	if (is_counted(w, stream))
		w->written.events -= pen->in_packet;
	pen->in_packet = 0;
	pen->used = sizeof(struct tsct_packet);
}

static int write_packet(struct tsct_writer *w, __u32 stream, __u32 cpu,
			__u64 discarded)
{
	struct pen *pen = pen_of(w, stream, cpu);
	char name[TSCT_NAME_MAX + 16];
	int err = 0;

	/* No event reaches the disk before the metadata that names it. */
	if (w->touched)
		err = write_metadata(w);
	if (!err) {
		seal(w, pen, stream, cpu, discarded);
		snprintf(name, sizeof(name), "%s_%u",
			 w->rec->streams[stream].name, cpu);
		err = append(w, pen, name);
	}
	if (err) {
		give_up(w, stream, cpu, err);
		return err;
	}
	pen->size += pen->used;
	w->written.bytes += pen->used;
	pen->seq++;
	pen->discarded = discarded;
	pen->begin = pen->last;
	pen->used = sizeof(struct tsct_packet);
	pen->in_packet = 0;
	return 0;
}

/*
 * A file begins with an empty packet, stamped with the beginning: readers
 * count losses between packets, so that those before the second packet count.
 * Samples may be older than that.
 */
static int start_file(struct tsct_writer *w, __u32 stream, __u32 cpu,
		      __u64 stamp)
{
	struct pen *pen = pen_of(w, stream, cpu);

	if (pen->packet)
		return 0;
	pen->packet = malloc(TSCT_PACKET_MAX);
	if (!pen->packet)
		return -ENOMEM;
	pen->used = sizeof(struct tsct_packet);
	pen->begin = pen->last = stamp;
	return write_packet(w, stream, cpu, 0);
}

/* ---- events ------------------------------------------------------------ */

static int refuse(struct tsct_loss *loss, enum tsct_loss_cause cause)
{
	loss->cause[cause]++;
	return 0;
}

static void put_event(struct pen *pen, const struct tsct_event *event,
		      __u64 stamp)
{
	struct tsct_packet_event head = {
		.id = event->id, .stamp = stamp, .tid = event->tid,
	};

	if (!pen->in_packet++)
		pen->begin = stamp;
	if (!pen->events)
		pen->first = stamp;
	memcpy(pen->packet + pen->used, &head, sizeof(head));
	pen->used += sizeof(head);
	memcpy(pen->packet + pen->used, event->payload, event->len);
	pen->used += event->len;
	pen->last = stamp;
	pen->events++;
}

int tsct_writer_event(struct tsct_writer *w, __u32 stream,
		      const struct tsct_event *event)
{
	struct tsct_loss *loss = loss_of(w, stream, event->cpu);
	struct pen *pen = pen_of(w, stream, event->cpu);
	const __u64 begin = is_counted(w, stream) ||
		event->tsc > w->rec->begin ? w->rec->begin : event->tsc;
	const __u64 least = pen->packet ? pen->last : begin;
	const struct tsct_event_def *def;
	int err;

	if (w->error) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error;
	}
	def = tsct_recording_def(w->rec, stream, event->id);
	if (!def)
		return refuse(loss, TSCT_LOSS_UNDEFINED);
	if (event->len > TSCT_PACKET_MAX - TSCT_PACKET_FULL -
	    sizeof(struct tsct_packet_event) ||
	    tsct_def_payload(def, event->payload, event->len))
		return refuse(loss, TSCT_LOSS_MALFORMED);
	if (event->tsc < least && least - event->tsc >= w->raise)
		return refuse(loss, TSCT_LOSS_DISORDER);
	err = start_file(w, stream, event->cpu, begin);
	if (err) {
		loss->cause[TSCT_LOSS_UNWRITTEN]++;
		return w->error = err;
	}
	put_event(pen, event, event->tsc < least ? least : event->tsc);
	w->written.events += is_counted(w, stream);
	if (pen->used < TSCT_PACKET_FULL)
		return 0;
	return write_packet(w, stream, event->cpu, tsct_loss_total(loss));
}

/* Also a loss that no event followed gets its packet. */
static int flush_pen(struct tsct_writer *w, __u32 stream, __u32 cpu)
{
	__u64 discarded = tsct_loss_total(loss_of(w, stream, cpu));
	struct pen *pen = pen_of(w, stream, cpu);
	int err;

	if (!pen->in_packet && discarded == pen->discarded)
		return 0;
	err = start_file(w, stream, cpu, w->rec->begin);
	return err ? err : write_packet(w, stream, cpu, discarded);
}

int tsct_writer_flush(struct tsct_writer *w)
{
	__u32 stream, cpu;
	int err;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (cpu = 0; cpu < w->rec->nr_locations && !w->error; cpu++) {
			err = flush_pen(w, stream, cpu);
			if (err && !w->error)
				w->error = err;
		}
	if (w->touched && !w->error)
		w->error = write_metadata(w);
	return w->error;
}

/* ---- the writer -------------------------------------------------------- */

int tsct_writer_open(int dirfd, struct tsct_recording *rec,
		     struct tsct_writer **ret_writer)
{
	struct tsct_writer *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return err;
	w->dirfd = dirfd;
	w->rec = rec;
	w->raise = tsct_ns_ticks(rec->real.mult, RAISE_NS);
	w->pens = calloc(nr_pens(w) + 1, sizeof(*w->pens));
	if (!w->pens)
		goto free_writer;
	err = write_metadata(w);
	if (err)
		goto free_pens;
	*ret_writer = w;
	return 0;

free_pens:
	free(w->pens);
free_writer:
	free(w);
	return err;
}

void tsct_writer_touch(struct tsct_writer *w)
{
	w->touched = true;
}

/* Whoever reads can then tell that the end of a file is gone. */
static void note_held(struct tsct_writer *w)
{
	struct tsct_held *held;
	__u32 stream, cpu;

	for (stream = 0; stream < tsct_recording_classes(w->rec); stream++)
		for (cpu = 0; cpu < w->rec->nr_locations; cpu++) {
			held = &w->rec->streams[stream].held[cpu];
			held->packets = pen_of(w, stream, cpu)->seq;
			held->events = pen_of(w, stream, cpu)->events;
		}
}

/* What a full disk did not take is in the metadata, if that has room. */
int tsct_writer_finish(struct tsct_writer *w)
{
	int err = tsct_writer_flush(w), err2;
	__u32 cpus = w->rec->nr_locations;
	size_t i;

	for (i = 0; err && i < nr_pens(w); i++)
		if (w->pens[i].in_packet)
			give_up(w, i / cpus, i % cpus, err);
	note_held(w);
	w->rec->complete = 1;
	err2 = write_metadata(w);
	return err ? err : err2;
}

void tsct_writer_close(struct tsct_writer *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < nr_pens(w); i++)
		free(w->pens[i].packet);
	free(w->pens);
	free(w);
}

int tsct_writer_error(const struct tsct_writer *w)
{
	return w->error;
}

void tsct_writer_written(const struct tsct_writer *w,
			 struct tsct_written *ret_written)
{
	*ret_written = w->written;
}

__u64 tsct_writer_cpu_events(const struct tsct_writer *w, __u32 stream,
			     __u32 cpu)
{
	return pen_of(w, stream, cpu)->events;
}

bool tsct_writer_cpu_span(const struct tsct_writer *w, __u32 stream, __u32 cpu,
			  __u64 *ret_first, __u64 *ret_last)
{
	const struct pen *pen = pen_of(w, stream, cpu);

	if (!pen->events)
		return false;
	*ret_first = pen->first;
	*ret_last = pen->last;
	return true;
}
