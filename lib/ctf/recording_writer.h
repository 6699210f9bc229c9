/* SPDX-License-Identifier: MIT */
/*
 * Writing a recording: rings in, a CTF directory out.
 *
 * What is on disk can be read at any moment: packets are appended whole, a
 * packet that did not fit onto the disk is cut off again, and the metadata is
 * replaced by rename, before the first event that needs it is written. So it
 * survives the death of its recorder; what it is after a power cut, rec->fsync says.
 */
#ifndef TSCT_WRITER_H
#define TSCT_WRITER_H

#include <tsctrace/tsctrace.h>

#include "recording.h"

struct tsct_writer;

/*
 * tsct_writer_open - start to write @rec into the directory @dirfd
 * @rec: the caller's; its streams are complete, it outlives the writer. The
 *	writer adds to its losses; the caller may change its figures
 * Writes the metadata. Returns 0 or -errno.
 */
int tsct_writer_open(int dirfd, struct tsct_recording *rec,
		     struct tsct_writer **ret_writer);

/*
 * tsct_writer_follow - what the system's clock says from stamp @at on
 * For recordings whose ticks are its nanoseconds (TSCT_TIMESTAMPS_SYSTEM); does
 * nothing in others. It begins with rec->real.
 */
void tsct_writer_follow(struct tsct_writer *writer, const struct tsct_clock_params *line,
			__u64 at);

/* The metadata is out of date: write it before the next packet. */
void tsct_writer_touch(struct tsct_writer *writer);

/*
 * tsct_writer_renew - write the metadata now, as good as it is known by now
 * So that a recorder that is killed leaves a recording whose clock was looked at
 * lately: the caller changed rec->end, rec->until and what the clock says. Fails
 * silently: what is there still holds.
 */
void tsct_writer_renew(struct tsct_writer *writer);

/*
 * tsct_writer_event - append one event whose id is defined in @rec
 * @stream: index of its stream class
 *
 * An event that cannot be in a recording (malformed, out of order) is counted
 * as lost. One that is stamped less than 1 us before its predecessor in the
 * file gets that one's stamp: unordered reads of the counter do that. Returns
 * 0, or the -errno of the disk: then and from then on events are counted as
 * unwritten.
 */
int tsct_writer_event(struct tsct_writer *writer, __u32 stream,
		      const struct tsct_event *event);

/*
 * tsct_writer_settle - no event that comes from now on is stamped before @stamp
 * As far as anybody can tell: who reads the recording meanwhile has it from the next
 * flush, and takes it as the end of what is in order; an earlier event would be late.
 * UINT64_MAX: none comes at all.
 */
void tsct_writer_settle(struct tsct_writer *writer, __u64 stamp);

/* Write out what is collected, and the metadata if touched. 0 or -errno. */
int tsct_writer_flush(struct tsct_writer *writer);

/*
 * tsct_writer_finish - flush, and mark the recording complete
 * Returns 0, or the first -errno that writing met. No events after it. Where
 * tsct_writer_error() is 0 all the same, all events are in the files, and only the
 * metadata could not be completed.
 */
int tsct_writer_finish(struct tsct_writer *writer);

/* NULL is fine. An unfinished recording stays marked as such, as of a dead recorder. */
void tsct_writer_close(struct tsct_writer *writer);

/* The first -errno that writing met, 0 if none. */
int tsct_writer_error(const struct tsct_writer *writer);

/* How far its times may be off, as the metadata has it. */
__u64 tsct_writer_error_ns(const struct tsct_writer *writer);

/* How much there is so far. */
struct tsct_written {
	__u64 events;
	__u64 bytes;		/* on disk */
};

void tsct_writer_written(const struct tsct_writer *writer,
			 struct tsct_written *ret_written);
__u64 tsct_writer_cpu_events(const struct tsct_writer *writer, __u32 stream,
			     __u32 cpu);

/* Stamps of the first and the last event of a CPU; false: it has none. */
bool tsct_writer_cpu_span(const struct tsct_writer *writer, __u32 stream,
			  __u32 cpu, __u64 *ret_first, __u64 *ret_last);

/* ---- the clock --------------------------------------------------------- */

/*
 * tsct_clock_pairing_make - rec->real becomes the recording's own line, now that
 * begin and end are known
 * @state: of the clock, just read
 *
 * Also for an end that is one for now: its bound grows behind that as the clock's
 * does. It holds from rec->begin on, or from where the clock's last epoch began, if
 * that is later. Left as it was where the clock cannot tell. 0 or -errno.
 */
int tsct_clock_pairing_make(struct tsct_recording *rec,
		       const struct tsct_clock *clock,
		       const struct tsct_clock_state *state);

/* ---- draining ---------------------------------------------------------- */

struct tsct_drain;

/*
 * tsct_drain_open - one channel's rings into one stream class
 * @t: has TSCT_ROLE_READ, outlives the drain
 * @clock: what events may not be stamped ahead of
 *
 * Events stamped before rec->begin are dropped: they are not part of the
 * recording, and what was lost before it is not counted. Where rec->snapshot is
 * set it takes nothing yet. Keeps the figures of
 * the rings in rec->streams[stream] (published_begin, published_end, losses)
 * up to date from here on, so that they balance whenever the writer was
 * flushed. 0 or -errno.
 */
int tsct_drain_open(struct tsct_channel *t, const struct tsct_clock *clock,
		    struct tsct_writer *writer, struct tsct_recording *rec,
		    __u32 stream, struct tsct_drain **ret_drain);
void tsct_drain_close(struct tsct_drain *drain);

/*
 * tsct_drain_pass - take what is there, CPU by CPU, a bounded number each
 * @until: stop at events stamped later; UINT64_MAX: take all
 * @ret_taken: events taken
 *
 * Returns 0 or the -errno of the disk (events are taken all the same).
 */
int tsct_drain_pass(struct tsct_drain *drain, __u64 until, __u64 *ret_taken);

/*
 * tsct_drain_oldest - the lowest stamp that is in a channel's rings now
 * @ret_stamp: left alone where they are empty
 *
 * Where a snapshot begins: rec->begin is to be set before its writer is opened.
 */
int tsct_drain_oldest(struct tsct_channel *t, __u64 *ret_stamp);

/*
 * tsct_drain_snapshot - copy what an overwrite channel holds now
 * @until: none stamped later; UINT64_MAX: all
 *
 * On a new drain, instead of passes. Each ring is taken from its oldest event
 * that is still valid up to the head that it has when this begins, and no
 * further, so it ends however fast writers are; they are neither stopped nor
 * slowed. Each ring is copied in one go before any of it is looked at, so takes
 * memory for one ring. published_begin is what was overwritten before that copy:
 * older than all that is in it, and no loss.
 *
 * Returns 0, -EINVAL: not an overwrite channel, -ENOMEM, or the -errno of the
 * disk.
 */
int tsct_drain_snapshot(struct tsct_drain *drain, __u64 until);

/* No event that passes take from now on is stamped before that, as far as is known. */
__u64 tsct_drain_settled(const struct tsct_drain *drain);

struct tsct_reader *tsct_drain_reader(struct tsct_drain *drain);

/* Bytes that the events taken had in the rings, their headers included. */
__u64 tsct_drain_bytes(const struct tsct_drain *drain);

#endif /* TSCT_WRITER_H */
