/* SPDX-License-Identifier: MIT */
/*
 * Writer of a recording: copies events from rings to a directory in CTF.
 *
 * The directory can be read at any moment: packets are appended whole, a packet of which only a
 * part could be written is removed again, and the metadata is replaced by rename() before an event
 * that needs the new metadata is written. So the recording survives a killed recorder. rec->fsync
 * determines the recording's state after a power failure.
 *
 * Not thread-safe: only one thread at a time may use a writer and its drains.
 */
#ifndef TSCT_RECORDING_WRITER_H
#define TSCT_RECORDING_WRITER_H

#include <tsctrace/tsctrace.h>

#include "recording.h"

struct tsct_recording_writer;

/*
 * tsct_recording_writer_open - create the files of the recording @rec, with its
 * metadata, in the directory @dirfd
 * @rec: description of the recording with all streams. The caller owns @rec, keeps it
 *	until the writer is closed, and may change the clock and the end in @rec. The
 *	writer counts lost events in @rec.
 *
 * Returns 0 or -errno.
 */
int tsct_recording_writer_open(int dirfd, struct tsct_recording *rec,
		     struct tsct_recording_writer **ret_writer);

/* Uses the params and segments of @clock for the system time of later events, see
 * tsct_tick_encoder_follow(). If this changes the description, the metadata is out of date. */
void tsct_recording_writer_follow(struct tsct_recording_writer *writer,
				  const struct tsct_clock_copy *clock);

/* Set of threads whose events were written. The writer adds an event's thread if the
 * previous event has another thread; the caller takes threads out of the set. */
#define TSCT_TID_NOTES_TIDS	(1U << 22) /* thread IDs of Linux are below this limit */
#define TSCT_TID_NOTES_MAX	8192

struct tsct_tid_notes {
	__u32 tids[TSCT_TID_NOTES_MAX];
	__u32 nr;
	__u64 seen[TSCT_TID_NOTES_TIDS / 64];	/* bit by thread ID: the ID is in `tids` */
};

/* Adds a thread; no effect if there is no room, so a later event of the thread may add it. */
static inline void tsct_tid_note(struct tsct_tid_notes *notes, __u32 tid)
{
	const __u64 bit = 1ULL << tid % 64;

	if (!tid || tid >= TSCT_TID_NOTES_TIDS || notes->seen[tid / 64] & bit ||
	    notes->nr == TSCT_TID_NOTES_MAX)
		return;
	notes->seen[tid / 64] |= bit;
	notes->tids[notes->nr++] = tid;
}

/* Takes the thread that was added last. Returns its thread ID; 0: there is no thread. */
static inline __u32 tsct_tid_note_take(struct tsct_tid_notes *notes)
{
	__u32 tid;

	if (!notes->nr)
		return 0;
	tid = notes->tids[--notes->nr];
	notes->seen[tid / 64] &= ~(1ULL << tid % 64);
	return tid;
}

/* From now on adds the threads of channels' events to @notes; NULL: adds no more threads. */
void tsct_recording_writer_note(struct tsct_recording_writer *writer,
				struct tsct_tid_notes *notes);

/* Marks the metadata as out of date, so that it is written before the next packet. */
void tsct_recording_writer_touch(struct tsct_recording_writer *writer);

/*
 * tsct_recording_writer_renew - write the metadata now, after a change of rec->end,
 * rec->until and the clock.
 * So a killed recorder leaves metadata with recent clock params. Errors are ignored, because
 * the previous metadata is still valid.
 */
void tsct_recording_writer_renew(struct tsct_recording_writer *writer);

/*
 * Events get IDs in the files in the order of calls of tsct_recording_writer_define(), as the
 * first 32 IDs take less space. Without this call an event keeps the ID of its definition in
 * the recording.
 *
 * tsct_recording_writer_define - add the definition of events that are appended with ID @id;
 *	returns 0, -ENOMEM, or -EINVAL: too many definitions
 * @is_rare: flag: the events leave the first 32 IDs to other events
 * tsct_recording_writer_knows - return true if events with ID @id were defined or appended
 */
int tsct_recording_writer_define(struct tsct_recording_writer *writer, __u32 stream,
				 __u32 id, const struct tsct_event_def *def,
				 bool is_rare);
bool tsct_recording_writer_knows(const struct tsct_recording_writer *writer, __u32 stream,
				 __u32 id);

/*
 * tsct_recording_writer_event - append an event
 * @stream: index of the event's stream class
 *
 * An event that is undefined, malformed or out of order is counted as lost. An event
 * less than 1 us before the previous event in the file gets the previous event's time,
 * as unordered reads of the counter cause such disorder. Returns 0, or the -errno of
 * writing; this event and all later events are then counted as unwritten.
 */
int tsct_recording_writer_event(struct tsct_recording_writer *writer, __u32 stream,
		      const struct tsct_event *event);

/* Records of a ring, for tsct_recording_writer_records() */
struct tsct_record_batch {
	__u32 stream;		/* index of the stream class */
	__u32 cpu;
	const char *from;	/* the first record, aligned to 8; other programs may be
				 * able to change the memory at any time */
	size_t len;	/* size of the records, bytes; the last record may be cut off */
	__u64 until;		/* highest counter value of an event to append */
};

/* The records that were appended, from the beginning of a batch */
struct tsct_records_done {
	__u64 events;		/* number of records */
	size_t bytes;		/* size of the records, bytes */
	__u64 last;		/* counter value of the file's last event */
};

/*
 * tsct_recording_writer_records - append the first events of a batch, up to an event that is
 *	undefined, malformed, out of order or after @batch->until, or begins a file or packet
 *
 * Has the effect of tsct_recording_writer_event() for each appended event, in a small part of the
 * time. The caller passes the next event to tsct_recording_writer_event(). If the open packet is
 * full after the last appended event, the packet is ended. Returns 0, or the -errno of writing.
 */
int tsct_recording_writer_records(struct tsct_recording_writer *writer,
				  const struct tsct_record_batch *batch,
				  struct tsct_records_done *ret_done);

/*
 * tsct_recording_writer_settle - state that no later event is expected before counter value
 *	@cycles; UINT64_MAX is ignored.
 * The next flush publishes @cycles to readers of the live recording, which return the events
 * before this limit in order.
 */
void tsct_recording_writer_settle(struct tsct_recording_writer *writer, __u64 cycles);

/* From now on each flush publishes the limit of tsct_recording_writer_settle(), even if there
 * are no new events, because readers that follow several nodes wait for the limit. */
void tsct_recording_writer_idle_progress(struct tsct_recording_writer *writer);

/* Writes all collected events, and the metadata if out of date. Returns 0 or -errno. */
int tsct_recording_writer_flush(struct tsct_recording_writer *writer);

/*
 * tsct_recording_writer_finish - flush, and mark the recording complete. No events may
 * follow. Returns 0, or the first -errno of writing. If this call fails, but
 * tsct_recording_writer_error() returns 0, all events are in the files, and only the
 * metadata is incomplete.
 */
int tsct_recording_writer_finish(struct tsct_recording_writer *writer);

/* Frees the writer; NULL is allowed. Without tsct_recording_writer_finish() the
 * recording stays incomplete. */
void tsct_recording_writer_close(struct tsct_recording_writer *writer);

/* Returns the first -errno of writing; 0: no error. */
int tsct_recording_writer_error(const struct tsct_recording_writer *writer);

/* Returns the largest error bound of the recording's times, as the metadata states it, ns. */
__u64 tsct_recording_writer_error_ns(const struct tsct_recording_writer *writer);

/* Amount of data written so far */
struct tsct_written {
	__u64 events;
	__u64 bytes;		/* size of the files on disk, bytes */
};

void tsct_recording_writer_written(const struct tsct_recording_writer *writer,
			 struct tsct_written *ret_written);

/* Returns the number of events of a CPU in a stream class, in the file and in memory. */
__u64 tsct_recording_writer_cpu_events(const struct tsct_recording_writer *writer, __u32 stream,
			     __u32 cpu);

/* Gets the counter values of a CPU's first and last event. Returns false if there is none. */
bool tsct_recording_writer_cpu_span(const struct tsct_recording_writer *writer, __u32 stream,
			  __u32 cpu, __u64 *ret_first, __u64 *ret_last);

/* ---- the clock --------------------------------------------------------- */

/*
 * tsct_clock_pairing_make - set rec->real to one straight clock for the whole recording,
 *	rec->segments to the clock's segments, and rec->errors to their bounds
 * @state: the clock's state, read immediately before the call
 *
 * rec->real holds from rec->begin, or from the start of the clock's last epoch if that is
 * later, to rec->end. rec->end may be provisional: after rec->end, the bound of rec->real
 * grows like the clock's bound. On an error rec->real is unchanged. Returns 0; -EAGAIN: the
 * clock's history does not cover this time; -EINVAL: impossible clock params; or -ENOMEM.
 */
int tsct_clock_pairing_make(struct tsct_recording *rec,
		       const struct tsct_clock *clock,
		       const struct tsct_clock_state *state);

/*
 * tsct_clock_pairing_note - store the clock's present segments in rec->segments
 *
 * Call it after each sample of the clock: later, the clock has larger bounds for the present time,
 * as the clock keeps one bound per segment, and joins old segments. Returns 0, -EAGAIN or -ENOMEM.
 */
int tsct_clock_pairing_note(struct tsct_recording *rec, const struct tsct_clock *clock,
			    const struct tsct_clock_state *state);

/* ---- draining ---------------------------------------------------------- */

struct tsct_drain;

/*
 * tsct_drain_open - begin to copy the rings of a channel to a stream class
 * @channel: channel with TSCT_ROLE_READ; the caller closes it after the drain
 * @clock: an event more than 1 ms after the present time of @clock is counted as
 *	TSCT_LOSS_DISORDER
 *
 * Events before rec->begin are dropped, and losses before rec->begin are not counted, as neither
 * belongs to the recording. With rec->snapshot nothing is dropped. From now on the counts in
 * rec->streams[stream] (published_begin, published_end, losses) are kept up to date, so that these
 * counts balance after each flush of the writer. Returns 0 or -errno.
 */
int tsct_drain_open(struct tsct_channel *channel, const struct tsct_clock *clock,
		    struct tsct_recording_writer *writer, struct tsct_recording *rec,
		    __u32 stream, struct tsct_drain **ret_drain);

/*
 * tsct_drain_losses - return the losses of the rings so far, malloc'ed; NULL: out of memory
 * tsct_drain_count_since - count losses since tsct_drain_losses(), not since tsct_drain_open()
 */
struct tsct_ring_stat *tsct_drain_losses(struct tsct_channel *channel);
void tsct_drain_count_since(struct tsct_drain *drain, const struct tsct_ring_stat *losses);
void tsct_drain_close(struct tsct_drain *drain);

/*
 * tsct_drain_pass - copy the events that are in the rings, a bounded number per CPU
 * @until: highest counter value of an event to copy; UINT64_MAX: no limit
 * @ret_taken: number of events taken from the rings
 *
 * Returns 0, or the -errno of writing; the events are taken even if writing fails.
 */
int tsct_drain_pass(struct tsct_drain *drain, __u64 until, __u64 *ret_taken);

/*
 * tsct_drains_pass - call tsct_drain_pass() for all drains of a recording. Then
 * calls tsct_recording_writer_settle() with the counter value before which the
 * drains have taken all events. Returns 0, or the -errno of writing.
 */
int tsct_drains_pass(struct tsct_drain *const *drains, unsigned int nr, __u64 until,
		     __u64 *ret_taken);

/*
 * tsct_drain_oldest - get the counter value of the oldest event in a channel's rings
 * @ret_cycles: unchanged if all rings are empty
 *
 * The caller sets rec->begin of a snapshot to that value, then opens the recording
 * writer. Returns 0 or -errno.
 */
int tsct_drain_oldest(struct tsct_channel *channel, __u64 *ret_cycles);

/*
 * tsct_drain_snapshot - copy the present contents of an overwrite channel
 * @until: highest counter value of an event to copy; UINT64_MAX: no limit
 *
 * Call it for a new drain, instead of tsct_drain_pass(). Each ring is copied to memory
 * at once, then read from its oldest valid event up to its head at the time of the
 * copy. So copying ends however fast programs write, and programs are neither stopped
 * nor slowed. Events overwritten before the copy are counted in published_begin: they
 * are older than the snapshot, so they are not lost.
 *
 * Returns 0; -EINVAL: not an overwrite channel; -ENOMEM; or the -errno of writing.
 */
int tsct_drain_snapshot(struct tsct_drain *drain, __u64 until);

/* Returns the lowest counter value, cycles, that is expected of events which later
 * calls of tsct_drain_pass() will take. */
__u64 tsct_drain_settled(const struct tsct_drain *drain);

/* Returns the drain's reader of the channel; do not close it. */
struct tsct_reader *tsct_drain_reader(struct tsct_drain *drain);

/* Returns the size of the events taken so far, as records in the rings, bytes. */
__u64 tsct_drain_bytes(const struct tsct_drain *drain);

#endif /* TSCT_RECORDING_WRITER_H */
