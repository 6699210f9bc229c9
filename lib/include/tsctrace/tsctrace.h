/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace: stamp events, read them back, know what the stamps mean.
 *
 * Conventions: functions that can fail return 0 (or a count, or an id) and
 * negative errno values; `errno` is not used. Outputs are named ret_* and are
 * left alone on failure, save where said. Handles may be used by any number
 * of threads at once unless a function says otherwise. "Signal safe" means
 * async-signal-safe.
 */
#ifndef TSCTRACE_H
#define TSCTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tsctrace/abi.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- channels ---------------------------------------------------------- */

/* Who holds the memory of a channel. */
enum tsct_provider {
	TSCT_PROVIDER_NONE,	/* nobody: emit is a no-op */
	TSCT_PROVIDER_MODULE,	/* tsctrace.ko, /dev/tsctrace */
	TSCT_PROVIDER_DAEMON,	/* tsctraced, over its socket */
	TSCT_PROVIDER_EMBEDDED,	/* the trace-ctl that runs this program */
};

struct tsct_channel;			/* an open channel */

/*
 * How to open a channel. All zero is a good start: the channel that
 * `trace-ctl record` reads, made if it is not there yet.
 */
struct tsct_channel_options {
	const char *name;	/* NULL: $TSCTRACE_CHANNEL, else "default" */
	uint32_t policy;	/* TSCT_POLICY_* if it is made */
	uint32_t block_size;	/* bytes; 0: 16384 */
	uint32_t blocks;	/* per CPU, power of two; 0: 64 */
	uint32_t roles;		/* TSCT_ROLE_*; 0: TSCT_ROLE_WRITE */
	uint32_t flags;		/* TSCT_OPEN_* */
	uint32_t channel_flags;	/* TSCT_CHANNEL_* if it is made */
	uint64_t reserved[4];	/* zero */
};

#define TSCT_OPEN_ATTACH	0x1	/* do not make it: -ENOENT */
#define TSCT_OPEN_CREATE	0x2	/* must be new: -EEXIST */

/*
 * tsct_channel_open - open a channel
 * @options: NULL: all defaults
 * @ret_t: always set, also on failure: then to a handle that drops every
 *	event and counts it, so that a program runs the same with no tracer
 *
 * Tries the module, then the daemon's socket, then the trace-ctl that runs
 * the program ($TSCTRACE_SOCKET). $TSCTRACE_PROVIDER (module, daemon,
 * embedded or none) allows one of them only.
 *
 * Returns 0, or the negative errno of the most telling failure; tsct_channel_error()
 * has it as a sentence. -ENODEV: no provider. Not signal safe.
 */
int tsct_channel_open(const struct tsct_channel_options *options, struct tsct_channel **ret_t);

/*
 * tsct_channel_close - let a channel go. NULL is fine. No other thread may be using
 * the handle, nor be emitting typed events that are on it; those are switched
 * off. Not signal safe.
 */
void tsct_channel_close(struct tsct_channel *t);

/* Who holds the channel's memory. Signal safe. */
enum tsct_provider tsct_channel_provider(const struct tsct_channel *t);

/* "module", "daemon", "embedded", "none". Signal safe. */
const char *tsct_provider_name(enum tsct_provider provider);

/*
 * tsct_channel_error - why this provider, and why not those before it, as a sentence
 * without a full stop. Valid while @t is. Signal safe.
 */
const char *tsct_channel_error(const struct tsct_channel *t);

/*
 * tsct_channel_info - the channel's description as it was when it was opened, NULL
 * without a provider. Valid while @t is; defs_used and lost_no_ring do not
 * move in it. Signal safe.
 */
const struct tsct_channel_header *tsct_channel_info(const struct tsct_channel *t);

/* ---- events ------------------------------------------------------------ */

/*
 * C and C++ programs have tsctrace/event.h: TSCT_EVENT(). What follows is for
 * other languages, and for events that are known at run time only.
 *
 * tsct_event_define - make an event known to the channel
 * @name: C identifier, at most 63 characters
 * @kind: TSCT_KIND_*
 * @fields: "worker:u32, bytes:u64, what:string"; types u8 u16 u32 u64 s8 s16
 *	s32 s64 f32 f64 string bytes[N] chars[N]; suffix /x: hexadecimal.
 *	"" for no fields.
 *
 * The same definition gives the same id, in every process on the channel.
 * Returns the id (16..65535) or: -EINVAL: malformed, -ENOSPC: definition area
 * full. On a handle without provider it returns an id that tsct_emit()
 * drops. Not signal safe.
 */
int tsct_event_define(struct tsct_channel *t, const char *name, unsigned int kind,
		const char *fields);

/*
 * tsct_emit - stamp and record one event on the CPU we run on
 * @id: from tsct_event_define()
 * @payload: the fields in order, packed, little endian; strings with their NUL
 * @len: bytes of it
 *
 * Stamps are ordered counter reads and never decrease within a CPU's ring.
 * Wait-free but for restarts after preemption; no system call, no lock while
 * rseq is there. Signal safe, fork safe, may be killed at any instruction.
 *
 * Returns 0, or, the event being counted as lost: -ENOSPC: ring full,
 * -EMSGSIZE: over TSCT_PAYLOAD_MAX, -ENODEV: no provider, -EACCES: no WRITE role,
 * -EAGAIN: restarted too often and no kernel to help; and -EINVAL: @id out of
 * range, not counted.
 */
int tsct_emit(struct tsct_channel *t, unsigned int id, const void *payload, size_t len);

/*
 * tsct_emit_unordered - the same, with a stamp that the CPU may read early:
 * before loads of the program that stand before it, by some nanoseconds, so
 * that it costs some nanoseconds less. Within a ring stamps may decrease, by
 * less than a microsecond; a recording raises them to the one before.
 */
int tsct_emit_unordered(struct tsct_channel *t, unsigned int id, const void *payload,
			size_t len);

/*
 * tsct_emitv - tsct_emit() of a payload that is gathered from @nr buffers
 * @iov: the buffers, in order; they are copied straight into the ring. iov_base
 *	is not read where iov_len is 0
 *
 * tsct_emitv_unordered - the same as tsct_emit_unordered()
 */
int tsct_emitv(struct tsct_channel *t, unsigned int id,
		     const struct iovec *iov, unsigned int nr);
int tsct_emitv_unordered(struct tsct_channel *t, unsigned int id,
			       const struct iovec *iov,
			       unsigned int nr);

/* Events this process lost for want of a provider. Signal safe. */
uint64_t tsct_channel_dropped(const struct tsct_channel *t);

/* ---- reading ----------------------------------------------------------- */

struct tsct_reader;

/* struct tsct_event.flags */
#define TSCT_EVENT_LATE		0x1	/* stamped before one that
					 * tsct_reader_next_ordered() already gave
					 */

/* One event, as read. Pointers are valid until the next call on the reader. */
struct tsct_event {
	uint64_t cycles;		/* stamp, see header->source */
	uint32_t cpu;
	uint32_t tid;
	uint32_t id;
	uint32_t len;		/* of the payload */
	const void *payload;	/* a private copy */
	uint32_t flags;		/* TSCT_EVENT_* */
	uint32_t reserved;
};

/*
 * What a reader knows of one ring. As long as writers are honest, to the unit:
 *
 *	published = before + read + overrun + broken + unread
 *	events that writers tried to write = published + lost[0] + lost[1] + ...
 *
 * `published` is what the ring says of itself (its head, and the header of the
 * block that head is in); what is on the right is what the reader saw. Where a
 * hostile writer lies about counts, the two differ, and nothing else happens.
 */
struct tsct_ring_stat {
	uint64_t published;	/* events, since the ring was made */
	uint64_t before;	/* of them, those before the reader began, or
				 * that tsct_reader_seek_end() skipped
				 */
	uint64_t read;		/* those that were returned */
	uint64_t overrun;	/* overwrite: missed, as writers were faster */
	uint64_t broken;	/* lay where something was that is no record */
	uint64_t unread;	/* those still to come */
	uint64_t lost[TSCT_LOST_NR];	/* never published, by cause */
	uint64_t overruns;	/* times the reader was overtaken */
	uint64_t broken_places;	/* places that held no record, or a wrong count */
	uint64_t bytes;		/* ever written, headers and pads included */
};

/*
 * tsct_reader_open - read @t, which has TSCT_ROLE_READ, and outlives the
 * reader. One thread at a time.
 *
 * A discard channel has one consumer: one handle with TSCT_ROLE_READ, one
 * reader on it; it begins where the consumer before it stopped. An overwrite
 * channel has any number of both, in any number of processes, each reader with
 * its own position; it begins at the oldest event there is.
 *
 * Returns 0, -EACCES: no READ role, -ENODEV: no provider, -EBUSY: @t has its
 * reader already, -ENOMEM.
 */
int tsct_reader_open(struct tsct_channel *t, struct tsct_reader **ret_reader);
void tsct_reader_close(struct tsct_reader *reader);

/*
 * tsct_reader_next - the next event of one CPU's ring
 *
 * Everything in the ring is taken as hostile; what is returned lies wholly in
 * the event's copy. Returns 1 with *ret_event set, 0: none now, -EINVAL: no
 * such CPU.
 */
int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event);

/*
 * tsct_reader_next_ordered - of all CPUs, the event with the lowest stamp
 * @until: none stamped later; UINT64_MAX: whatever is there
 *
 * A writer takes the stamp a moment before it publishes the event, so what
 * comes last need not be stamped last. Who follows a running channel and wants
 * strict order passes the present stamp less a millisecond or so; an event that
 * is late all the same is returned, and flagged TSCT_EVENT_LATE. Keeps one
 * event per CPU: its memory is at most a block for each CPU. May be mixed with
 * tsct_reader_next().
 *
 * Returns 1 with *ret_event set, 0: none now, -ENOMEM.
 */
int tsct_reader_next_ordered(struct tsct_reader *reader, uint64_t until,
			 struct tsct_event *ret_event);

/*
 * tsct_reader_seek_end - skip what is there, on all CPUs: only events published
 * from now on are returned. Gives the room back, too (discard policy).
 */
void tsct_reader_seek_end(struct tsct_reader *reader);

/*
 * tsct_reader_release - give the room of all events returned so far from @cpu
 * back to the writers (discard policy; else it does nothing).
 */
void tsct_reader_release(struct tsct_reader *reader, unsigned int cpu);

/* Counters of one CPU's ring. Returns 0 or -EINVAL: no such CPU. */
int tsct_reader_stat(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_ring_stat *ret_stat);

/*
 * tsct_reader_def - the definition of an event id, NULL if there is none.
 * The copy is the reader's, and valid while it is.
 */
const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id);

/*
 * tsct_reader_watermark - let tsct_reader_wait() sleep until @bytes are there
 * @bytes: unread in all rings together; 0 and 1, the default: any event
 *
 * A ring that is half full ends the sleep as well, and so does the timeout:
 * what is there then may be read, as ever. Returns 0 or -errno.
 */
int tsct_reader_watermark(struct tsct_reader *reader, uint64_t bytes);

/*
 * tsct_reader_wait - sleep until there is something to read
 * @timeout_ms: 0: only look, negative: for ever
 *
 * Returns 1: there is, 0: timeout, -EINTR.
 */
int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms);

/* ---- clock ------------------------------------------------------------- */

/*
 * A stamp is a reading of a counter: the TSC where it can be trusted, else a
 * kernel clock in nanoseconds (TSCT_SOURCE_*). What it means is computed from
 * a clock page by the formulas in section 4 of tsctrace/abi_clock.h: with the rate R
 * and a pair of stamp and time that belong together, T_tsc and T_sys, it is
 *
 *	t_sys = T_sys + (t_tsc - T_tsc) / R
 *
 * in 128-bit integers, the pair and R being those of the stamp's time: past
 * stamps are as good as present ones. All times are CLOCK_REALTIME in ns since
 * the Unix epoch.
 *
 * Unless another word is said, functions on a clock are wait-free, signal
 * safe, and may be called by any number of threads at once, and in a child
 * after fork().
 */
struct tsct_clock {
	const struct tsct_clock_page *page;
	uint32_t source;	/* TSCT_SOURCE_*, what its stamps count */
	uint32_t flags;		/* none yet */
	/* more, of the library's own */
};

/* What a stamp means. */
struct tsct_time {
	int64_t ns;		/* CLOCK_REALTIME, since the Unix epoch */
	uint64_t error_ns;	/* the true time lies in ns -+ error_ns */
	uint32_t status;	/* TSCT_STATUS_* */
	uint32_t epoch;		/* times of different ones do not compare */
};

/* Which CPU a stamp is from is not known, or does not matter. */
#define TSCT_CPU_ANY	0xffffffffU

/* A stamp and where it was taken */
struct tsct_time_point {
	uint64_t cycles;
	uint32_t cpu;		/* or TSCT_CPU_ANY */
	uint32_t reserved;
};

/* struct tsct_interval.flags */
#define TSCT_INTERVAL_SKEWED	0x1	/* from CPUs not in step */
#define TSCT_INTERVAL_EPOCHS	0x2	/* ends lie in different epochs */
#define TSCT_INTERVAL_DISRUPTED	0x4	/* the clock was disrupted at an end,
					 * or between them: ticks may be missing
					 */
#define TSCT_INTERVAL_GUESSED	0x8	/* no bound of the rate is known */

struct tsct_interval {
	int64_t ns;		/* negative where `to` is before `from` */
	uint64_t error_ns;	/* the true length lies in ns -+ error_ns */
	uint32_t flags;		/* TSCT_INTERVAL_* */
	uint32_t reserved;
};

/*
 * tsct_clock_open - the best clock there is: the module's clock page, else the
 * daemon's, else a calibration of our own (takes up to 20 ms).
 * Returns 0 or -ENOMEM. Not signal safe, and not wait-free.
 */
int tsct_clock_open(struct tsct_clock **ret_clock);

/* NULL is fine. No other thread may be using it. Not signal safe. */
void tsct_clock_close(struct tsct_clock *clock);

/*
 * tsct_clock_default - the process's own clock, never NULL, never closed
 *
 * It is opened when the library is loaded, by a constructor; with
 * $TSCTRACE_CALIBRATE=lazy, by the first call, which then is neither signal
 * safe nor wait-free.
 */
struct tsct_clock *tsct_clock_default(void);

/* Where it comes from: "module", "daemon" or "in-process". */
const char *tsct_clock_origin(const struct tsct_clock *clock);

/* Why not an earlier origin, and why this source; a sentence. */
const char *tsct_clock_reason(const struct tsct_clock *clock);

/*
 * tsct_clock_cycles - an ordered read of the source (RDTSCP, or
 * clock_gettime() where the TSC cannot be used), the same that tsct_emit()
 * stamps with.
 * tsct_clock_time_point - the same, with the CPU that it is from. cpu is
 * TSCT_CPU_ANY where the source is not the TSC.
 */
uint64_t tsct_clock_cycles(const struct tsct_clock *clock);
void tsct_clock_time_point(const struct tsct_clock *clock,
			   struct tsct_time_point *ret_point);

/*
 * tsct_clock_cycles_to_time - what time was it, and how sure are we?
 * @cycles: of this boot, past or present
 *
 * Returns 0; -EAGAIN: nothing published yet; -ESTALE: nobody has looked after
 * the clock for too long, or since a disruption, or stamps are something else
 * by now; -ERANGE: older than what is remembered; -EXDEV: the counters of the
 * CPUs are apart, so the stamp's CPU has to be known.
 */
int tsct_clock_cycles_to_time(const struct tsct_clock *clock, uint64_t cycles,
		       struct tsct_time *ret_time);

/*
 * tsct_clock_cycles_to_time_on - the same, of a stamp of a known CPU (an event's; or
 * time_point.cpu). -EXDEV: how that CPU's counter is off is not known.
 */
int tsct_clock_cycles_to_time_on(const struct tsct_clock *clock, uint64_t cycles,
			  uint32_t cpu, struct tsct_time *ret_time);

/* tsct_clock_now - stamp and convert. Results as above. */
int tsct_clock_now(const struct tsct_clock *clock, struct tsct_time *ret_time);

/*
 * The cluster's timeline is one for all nodes of a cluster (tsctraced.conf(5)):
 * the counter of a master of theirs, in nanoseconds since the Unix epoch. Nobody
 * steers it, and it is off CLOCK_REALTIME by whatever that was steered by since
 * the timeline began. Whose it is tsct_clock_snapshot() says.
 *
 * tsct_clock_now_cluster - what time is it there, and how sure are we?
 * tsct_clock_cycles_to_cluster_time - what time was it when @cycles was taken?
 * tsct_clock_cycles_to_cluster_time_on - the same, of a stamp of a known CPU
 *
 * ret_time->ns is within error_ns of the master's time; epoch goes up, by itself,
 * whenever that time may have jumped. The line in force and most of the one before
 * are known; for stamps from longer ago there are recordings.
 *
 * Return 0; -EAGAIN: no time of a cluster was published; -ESTALE: nobody looked
 * after it for too long, or since a disruption, or stamps are something else by
 * now; -ERANGE: older than what is remembered; -EXDEV as tsct_clock_cycles_to_time().
 */
int tsct_clock_now_cluster(const struct tsct_clock *clock,
			   struct tsct_time *ret_time);
int tsct_clock_cycles_to_cluster_time(const struct tsct_clock *clock, uint64_t cycles,
			       struct tsct_time *ret_time);
int tsct_clock_cycles_to_cluster_time_on(const struct tsct_clock *clock,
				  uint64_t cycles, uint32_t cpu,
				  struct tsct_time *ret_time);

/*
 * tsct_clock_time_to_cycles - the stamp of a time: the first one whose time is @ns or
 * later
 * @ns: past or future; of a time that was there twice, as the clock was set
 *	back, the later one is found
 *
 * Where counters of CPUs are apart, the stamp is that of the CPU that the
 * others are compared with. Returns 0; -ENOENT: the clock jumped over @ns;
 * -EAGAIN, -ESTALE, -ERANGE as above.
 */
int tsct_clock_time_to_cycles(const struct tsct_clock *clock, int64_t ns,
			uint64_t *ret_cycles);

/*
 * tsct_clock_delta_to_ns, tsct_clock_ns_to_delta - lengths, by the rate of the counter
 * against CLOCK_MONOTONIC_RAW. Rounded towards minus infinity, saturating.
 */
int64_t tsct_clock_delta_to_ns(const struct tsct_clock *clock, int64_t ticks);
int64_t tsct_clock_ns_to_delta(const struct tsct_clock *clock, int64_t ns);

/*
 * tsct_clock_interval - how long was it?
 *
 * By the counter and its rate alone: that somebody steers or sets the system
 * clock meanwhile makes it neither longer nor shorter. Flags name what makes
 * it doubtful. Returns 0; -EAGAIN: nothing published yet; -ESTALE: stamps are
 * something else by now.
 */
int tsct_clock_interval(const struct tsct_clock *clock,
			const struct tsct_time_point *from,
			const struct tsct_time_point *to,
			struct tsct_interval *ret_interval);

/*
 * tsct_clock_snapshot - a consistent copy of what is published now.
 * Returns 0 or -EAGAIN: nothing yet.
 */
int tsct_clock_snapshot(const struct tsct_clock *clock,
			struct tsct_clock_state *ret_state);

/*
 * tsct_clock_segments - the lines of past stamps, oldest first, up to the one
 * in force, which comes last, as long as it is known to hold
 * @ret_segments: room for @nr; gets the latest ones
 *
 * TSCT_SEGMENTS_MAX + 2 are always enough. Takes 8 KiB of stack. Returns how
 * many there are, which may be more than @nr, or -EAGAIN: nothing yet.
 */
int tsct_clock_segments(const struct tsct_clock *clock,
			struct tsct_clock_segment *ret_segments, unsigned int nr);

/*
 * tsct_clock_wait_synced - sleep until the clock knows the time well
 * @timeout_ms: 0: only look, negative: for ever
 * @max_error_ns: how well; 0: whatever it calls synchronized
 *
 * Returns 0; -ETIMEDOUT; -EINTR: a signal came. Not wait-free, of course.
 */
int tsct_clock_wait_synced(const struct tsct_clock *clock, int timeout_ms,
			   uint64_t max_error_ns);

/*
 * tsct_timesync - have all nodes of a cluster compare their clocks, now
 * @timeout_ms: how long to wait for the others; negative: for ever
 * @why: on failure, a sentence: who is missing, say; may be NULL with @size 0
 *
 * A collective call: on every node that belongs to the cluster a program has to
 * call it, or it blocks; several callers of a node, one after the other or at
 * once, count as one. When all have, the nodes have a session of exchanges with
 * their masters, and the call returns when it is over: the cluster's time, see
 * tsct_clock_now_cluster(), has been published by then. A node's daemon knows who
 * belongs to it: the children that its configuration names, or else whoever
 * asked it within the last minute.
 *
 * Returns 0; -ETIMEDOUT; -EINTR: a signal came; -ENOENT: there is no daemon;
 * -EOPNOTSUPP: no network is configured; -EPROTO: it answers something else; or
 * -errno of speaking to it. Blocks, allocates; for any thread, not for signal
 * handlers.
 */
int tsct_timesync(int timeout_ms, char *why, size_t size);

/*
 * What the inline functions of tsctrace/clock.h call where the short cut does
 * not do. Call those.
 *
 * tsct_clock_now_slow never fails: where the clock cannot vouch for a time it
 * gives what clock_gettime() says. tsct_clock_cycles_to_ns_slow returns as
 * tsct_clock_cycles_to_time(), and -ESTALE for a stamp of a disruption.
 */
int64_t tsct_clock_now_slow(const struct tsct_clock *clock);
int tsct_clock_now_cluster_slow(const struct tsct_clock *clock,
				int64_t *ret_ns);
int tsct_clock_cycles_to_cluster_ns_slow(const struct tsct_clock *clock, uint64_t cycles,
			       int64_t *ret_ns);
int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t cycles,
		       int64_t *ret_ns);

/* Name of a TSCT_SOURCE_*, _STATUS_*, _CAUSE_*, "?" if unknown. */
const char *tsct_source_name(unsigned int source);
const char *tsct_status_name(unsigned int status);
const char *tsct_cause_name(unsigned int cause);

/* Version of the library at run time, "0.1.0". Signal safe. */
const char *tsct_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include <tsctrace/clock.h>

#endif /* TSCTRACE_H */
