/* SPDX-License-Identifier: MIT */
/*
 * libtsctrace: recording events, reading them back, converting their cycles to time.
 *
 * Functions that can fail return 0 (or a count, or an id), or a negative errno value;
 * `errno` is not used. Outputs are named ret_* and are unchanged on failure unless
 * stated otherwise. Any number of threads may use a handle at once unless stated
 * otherwise. "Signal safe" means async-signal-safe.
 *
 * "Cycles" are raw values of the counter that is the clock's source: the TSC if it is
 * trusted, else a kernel clock in nanoseconds (TSCT_SOURCE_*).
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

/* Provider: the holder of a channel's memory */
enum tsct_provider {
	TSCT_PROVIDER_NONE,	/* no provider: events are dropped */
	TSCT_PROVIDER_MODULE,	/* kernel module tsctrace.ko, opened as /dev/tsctrace */
	TSCT_PROVIDER_DAEMON,	/* daemon tsctraced, reached through its Unix socket */
	TSCT_PROVIDER_EMBEDDED,	/* the process of trace-ctl that started this program */
};

struct tsct_channel;			/* an open channel */

/* Options of tsct_channel_open(); all zero: the channel that `trace-ctl record` records */
struct tsct_channel_options {
	const char *name;	/* name, 1 to 31 of A-Z a-z 0-9 _ . -
				 * NULL: $TSCTRACE_CHANNEL, else "default" */
	uint32_t policy;	/* TSCT_POLICY_* of a new channel */
	uint32_t block_size;	/* bytes of a block, power of two, 4096 to 65536; 0: 16384 */
	uint32_t blocks;	/* blocks per CPU, power of two, 2 (overwrite: 4) to
				 * 65536; 0: 64. At most 256 MiB per CPU */
	uint32_t roles;		/* TSCT_ROLE_* of the handle; 0: TSCT_ROLE_WRITE */
	uint32_t flags;		/* TSCT_OPEN_* flags */
	uint32_t channel_flags;	/* TSCT_CHANNEL_* of a new channel */
	uint64_t reserved[4];	/* must be zero */
};

/* open the channel only if it exists, else return -ENOENT */
#define TSCT_OPEN_ATTACH	0x1
/* open the channel only if it is new, else return -EEXIST */
#define TSCT_OPEN_CREATE	0x2
/* start no helper thread for this handle, see tsct_channel_open() */
#define TSCT_OPEN_NO_THREAD	0x4

/*
 * tsct_channel_open - open a channel, creating it if it does not exist
 * @options: options of the channel; NULL: all defaults
 * @ret_channel: the handle; on failure, a handle that drops and counts every
 *	event, so that a program runs in the same way without a tracer
 *
 * A handle with TSCT_ROLE_WRITE that has no provider is connected to a provider that starts
 * later. After a restart of the daemon, the handle is connected again, with its rings and
 * all their events. A helper thread does this: it sleeps in poll(), has all signals blocked,
 * and is started by the first such handle whose provider is none or the daemon, or by
 * tsct_events_enable(). A forked child has its own helper thread. With TSCT_OPEN_NO_THREAD
 * or $TSCTRACE_THREAD=no there is no such thread, and the handle remains as it is.
 *
 * Tries the trace-ctl that runs the program ($TSCTRACE_SOCKET), then the module, then the
 * daemon's socket. Tries only $TSCTRACE_PROVIDER if set (module, daemon,
 * embedded, none).
 *
 * Returns 0; -ENODEV: no provider; -EINVAL: an invalid option; -ENOENT, -EEXIST: see
 * TSCT_OPEN_*; -EACCES, -EPERM: another user's channel, or a missing permission;
 * -EBUSY: the channel has its one reader already; -EDQUOT: a limit of the provider
 * is exceeded; -EOPNOTSUPP: TSCT_CHANNEL_KERNEL without the module; -EPROTO: an
 * invalid answer; -ENOMEM; or another -errno of the connection. If several providers
 * fail, returns the first error other than -ENODEV. Thread safe, not signal safe.
 */
int tsct_channel_open(const struct tsct_channel_options *options,
		      struct tsct_channel **ret_channel);

/*
 * tsct_channel_close - close a channel; NULL is allowed
 *
 * Disables the typed events on the channel. No other thread may use the handle, or emit
 * typed events on it, at that time. Not signal safe.
 */
void tsct_channel_close(struct tsct_channel *channel);

/* Returns the provider that holds the channel's memory. Signal safe. */
enum tsct_provider tsct_channel_provider(const struct tsct_channel *channel);

/*
 * Returns the name of a provider: "module", "daemon", "embedded", "none"; "?": unknown
 * provider. Signal safe.
 */
const char *tsct_provider_name(enum tsct_provider provider);

/*
 * tsct_channel_error - reason and remedy of a failure of tsct_channel_open();
 * after success, the provider in use, and why other providers were not used
 *
 * One line without a full stop, valid as long as @channel. Signal safe.
 */
const char *tsct_channel_error(const struct tsct_channel *channel);

/*
 * tsct_channel_info - the channel's description when it was opened; NULL: no provider
 *
 * Valid as long as @channel; defs_used and lost_no_ring are not updated. Signal safe.
 */
const struct tsct_channel_header *
tsct_channel_info(const struct tsct_channel *channel);

/* Returns the number of events that this process dropped and no ring counts, because a
 * provider, TSCT_ROLE_WRITE or a ring was missing or the module failed; plus the number of
 * events without a definition, which rings also count (TSCT_LOST_REFUSED). Signal safe. */
uint64_t tsct_channel_dropped(const struct tsct_channel *channel);

/* ---- events ------------------------------------------------------------ */

/*
 * C and C++ programs use TSCT_EVENT() of tsctrace/event.h. The functions below are for
 * other languages, and for events that are known only at run time.
 */

/*
 * tsct_event_define - define an event in the channel
 * @name: name of the event, a C identifier of at most 63 characters
 * @kind: kind of the event, TSCT_KIND_*
 * @fields: payload fields such as "worker:u32, bytes:u64, what:string"; types u8 u16
 *	u32 u64 s8 s16 s32 s64 f32 f64 string bytes[N] chars[N]; suffix /x: hexadecimal.
 *	"": no fields.
 *
 * The same definition has the same id in every process. Returns the id (16..1048575;
 * without a provider, an id that tsct_emit() drops); -EINVAL: malformed; -ENOSPC: the
 * channel's definition area is full; or an -errno of the provider. Thread safe, not
 * signal safe.
 */
int tsct_event_define(struct tsct_channel *channel, const char *name,
		      unsigned int kind, const char *fields);

/*
 * tsct_emit - record one event in the ring of the current CPU
 * @id: event id, from tsct_event_define()
 * @payload: values of the fields in order, packed, little endian; strings with their
 *	NUL
 * @len: bytes of @payload
 *
 * The event's cycles are an ordered read of the counter and never decrease within a
 * CPU's ring. Wait-free except for restarts after preemption. With rseq, uses
 * no system call and no lock. Thread safe, signal safe, fork safe; the process
 * may be killed at any instruction.
 *
 * Returns 0, or, with the event counted as lost: -ENOSPC: ring full; -EMSGSIZE: @len is
 * larger than TSCT_PAYLOAD_MAX, less 8 if @id is above 65535; -ENODEV: no provider;
 * -EACCES: no WRITE role; -EAGAIN: restarted too often, and there is no module
 * to write the event; -EINVAL: @id is out of range. Programs may pass an error of
 * tsct_event_define() as @id, and so need not check for it.
 */
int tsct_emit(struct tsct_channel *channel, unsigned int id, const void *payload,
	      size_t len);

/*
 * tsct_emit_unordered - like tsct_emit(), but a few nanoseconds faster: the CPU
 * may read the counter before earlier loads of the program
 *
 * Within a ring, cycles may decrease by less than a microsecond; in a
 * recording, such cycles are raised to those of the event before.
 */
int tsct_emit_unordered(struct tsct_channel *channel, unsigned int id,
			const void *payload, size_t len);

/*
 * tsct_emitv - like tsct_emit(), with a payload that is gathered from @nr buffers
 * tsct_emitv_unordered - like tsct_emit_unordered(), with such a payload
 * @iov: buffers in order, copied directly into the ring. iov_base is not read if
 *	iov_len is 0
 * @nr: at most 64 if @id is above 65535, else the result is -EMSGSIZE
 */
int tsct_emitv(struct tsct_channel *channel, unsigned int id,
	       const struct iovec *iov, unsigned int nr);
int tsct_emitv_unordered(struct tsct_channel *channel, unsigned int id,
			 const struct iovec *iov, unsigned int nr);

/* ---- reading ----------------------------------------------------------- */

struct tsct_reader;

/* Flags of an event, struct tsct_event.flags */
/* the event is earlier than another event that tsct_reader_next_ordered() returned before */
#define TSCT_EVENT_LATE		0x1

/* One event, as read. `payload` is valid until the next call on the reader. */
struct tsct_event {
	uint64_t cycles;	/* time of the event: raw value of the counter
				 * that the channel's header names (`source`) */
	uint32_t cpu;
	uint32_t tid;		/* id of the thread */
	uint32_t id;		/* id of the event's definition, see tsct_reader_def() */
	uint32_t len;		/* bytes of payload */
	const void *payload;	/* private copy of the payload */
	uint32_t flags;		/* TSCT_EVENT_* flags */
	uint32_t reserved;
};

/*
 * Counters of one ring; all but `bytes` are numbers of events unless stated. As long as
 * writers are honest, these equations hold exactly:
 *
 *	published = before + read + overrun + broken + unread
 *	events that writers tried to write = published + lost[0] + lost[1] + ...
 *
 * `published` is the ring's own count (in its head, and in the header of the
 * head's block); the right side of the first equation is the reader's count. If a
 * hostile writer falsifies counts, both sides differ, without any other effect.
 */
struct tsct_ring_stat {
	uint64_t published;	/* events published since the ring was created */
	uint64_t before;	/* events published before the reader began, or
				 * skipped by tsct_reader_seek_end() */
	uint64_t read;		/* events that this reader returned */
	uint64_t overrun;	/* events overwritten before this reader read them */
	uint64_t broken;	/* events missing because a record was not valid */
	uint64_t unread;	/* events published and not read yet */
	uint64_t lost[TSCT_LOST_MAX];	/* events never published, by TSCT_LOST_* */
	uint64_t overruns;	/* number of times that writers overtook the reader */
	uint64_t broken_places;	/* number of places in the ring where a record was not
				 * valid, or the ring's number of events was wrong */
	uint64_t bytes;		/* bytes written, with headers and padding */
};

/*
 * tsct_reader_open - read a channel that was opened with TSCT_ROLE_READ
 * @channel: must not be closed before the reader
 *
 * A discard channel has one consumer: one handle with TSCT_ROLE_READ, and one reader on
 * it, which begins where the previous consumer stopped. An overwrite channel has any
 * number of readers in any number of processes; each has its own position, and begins
 * at the oldest event in the ring.
 *
 * Returns 0; -EACCES: no READ role; -ENODEV: no provider; -EBUSY: @channel has its
 * reader already; -ENOMEM. A reader is for one thread at a time. No function on a
 * reader is signal safe.
 */
int tsct_reader_open(struct tsct_channel *channel, struct tsct_reader **ret_reader);

/* Closes a reader; NULL is allowed. Unreleased events remain for the next reader. */
void tsct_reader_close(struct tsct_reader *reader);

/*
 * tsct_reader_next - the next event of one CPU's ring
 *
 * All data in the ring is taken as hostile; the event lies wholly within a private
 * copy. Returns 1 with *ret_event set, 0: none now, -EINVAL: no such CPU.
 */
int tsct_reader_next(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_event *ret_event);

/*
 * tsct_reader_next_ordered - the event with the lowest cycles of all CPUs
 * @until: cycles; no event with higher cycles is returned. UINT64_MAX: no limit
 *
 * Writers read the counter a moment before they publish the event. To follow a live
 * channel in strict order, pass now - 1 ms; an event that arrives later is returned
 * with TSCT_EVENT_LATE. The reader holds one event per CPU, at most one block of memory
 * each. Calls may be mixed with those of tsct_reader_next().
 *
 * Returns 1 with *ret_event set, 0: none now, -ENOMEM.
 */
int tsct_reader_next_ordered(struct tsct_reader *reader, uint64_t until,
			     struct tsct_event *ret_event);

/*
 * tsct_reader_seek_end - skip all published events of all CPUs, and release their room
 * (discard policy)
 */
void tsct_reader_seek_end(struct tsct_reader *reader);

/*
 * tsct_reader_release - return to the writers the room of all events that were
 * read from @cpu's ring so far (discard policy; otherwise no effect)
 */
void tsct_reader_release(struct tsct_reader *reader, unsigned int cpu);

/* tsct_reader_stat - counters of one CPU's ring. Returns 0 or -EINVAL: no such CPU. */
int tsct_reader_stat(struct tsct_reader *reader, unsigned int cpu,
		     struct tsct_ring_stat *ret_stat);

/* Returns the definition of an event id, valid until the reader is closed; NULL: no such id. */
const struct tsct_event_def *tsct_reader_def(struct tsct_reader *reader,
					     unsigned int id);

/*
 * tsct_reader_watermark - let tsct_reader_wait() sleep until @bytes bytes are unread
 * @bytes: unread bytes in all rings together; 0 and 1 (the default): any event
 *
 * A half-full ring or the timeout also ends the sleep. Returns 0 or -errno of the
 * module.
 */
int tsct_reader_watermark(struct tsct_reader *reader, uint64_t bytes);

/*
 * tsct_reader_wait - sleep until there are events to read
 * @timeout_ms: limit of the sleep, ms; 0: do not sleep; negative: no limit
 *
 * Returns 1: there are events; 0: timeout; -EINTR: interrupted by a signal.
 */
int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms);

/* ---- clock ------------------------------------------------------------- */

/*
 * Cycles are converted to time by the parameters in a clock page, with the formulas in
 * section 4 of tsctrace/abi_clock.h. In short, cycles t_cycles are converted to time
 *
 *	t_sys = T_sys + (t_cycles - T_cycles) / R
 *
 * in 128-bit integers. R is the counter's rate, in cycles per ns; T_sys is the time at
 * cycles T_cycles. R, T_sys and T_cycles are those in force at t_cycles, so
 * both past and present cycles can be converted. All times are CLOCK_REALTIME
 * in ns since the Unix epoch. Functions on a clock are wait-free, thread safe
 * and signal safe, also in a child after fork(), unless stated otherwise.
 */
struct tsct_clock {
	const struct tsct_clock_page *page;
	uint32_t source;	/* TSCT_SOURCE_* of the clock's cycles */
	uint32_t flags;		/* flags; none is defined yet */
	/* count of disruptions, as in struct tsct_disruption_page: params hold
	 * if they were made with the same count; changes at any moment */
	const uint64_t *disruptions;
	/* private members of the library follow */
};

/* A time with its error bound */
struct tsct_time {
	int64_t ns;		/* time of CLOCK_REALTIME, since the Unix epoch */
	uint64_t error_ns;	/* the true time is within ns +- error_ns */
	uint32_t status;	/* TSCT_STATUS_* of the time */
	uint32_t epoch;		/* epoch of the clock; times of different epochs do not compare */
};

/* CPU number if the CPU of the cycles is unknown or does not matter */
#define TSCT_CPU_ANY	0xffffffffU

/* Cycles, and the CPU on which they were read */
struct tsct_time_point {
	uint64_t cycles;
	uint32_t cpu;		/* number of the CPU, or TSCT_CPU_ANY */
	uint32_t reserved;
};

/* Flags of an interval, struct tsct_interval.flags */
/* the interval's ends were read on CPUs whose counters differ, or on unknown CPUs */
#define TSCT_INTERVAL_SKEWED	0x1
/* the interval's ends are in different epochs */
#define TSCT_INTERVAL_EPOCHS	0x2
#define TSCT_INTERVAL_DISRUPTED	0x4	/* the clock was disrupted at an end of the
					 * interval or within it: cycles may be missing */
#define TSCT_INTERVAL_GUESSED	0x8	/* the clock's rate has no known error bound */

struct tsct_interval {
	int64_t ns;		/* length of the interval in ns; negative if `to` is
				 * before `from` */
	/* the interval's true length is within ns +- error_ns */
	uint64_t error_ns;
	uint32_t flags;		/* TSCT_INTERVAL_* flags */
	uint32_t reserved;
};

/*
 * tsct_clock_open - open the best clock available: the daemon's, else a clock
 * that this process calibrates, which takes up to 20 ms
 *
 * If the daemon uses the module, this process also needs TSCT_DISRUPTIONS_PATH,
 * where the module counts disruptions, and which every user may read. Without
 * this device, the daemon's clock is not used.
 *
 * Returns 0 or -ENOMEM. Thread safe, not signal safe, not wait-free.
 */
int tsct_clock_open(struct tsct_clock **ret_clock);

/* Closes a clock; NULL is allowed. No other thread may be using the clock. Not signal safe. */
void tsct_clock_close(struct tsct_clock *clock);

/*
 * tsct_clock_default - the clock of this process; never NULL, never closed
 *
 * A constructor opens the clock when the library is loaded. With $TSCTRACE_CALIBRATE=lazy
 * the first call opens it, and is then neither signal safe nor wait-free.
 */
struct tsct_clock *tsct_clock_default(void);

/* Returns the origin of the clock's parameters: "daemon" or "in-process". */
const char *tsct_clock_origin(const struct tsct_clock *clock);

/*
 * Returns a text with the reasons for the clock's origin and source. The clock uses the
 * daemon's parameters if they are available, else in-process parameters. The text states
 * why the daemon's parameters are not used, if so, and why the clock uses its source.
 */
const char *tsct_clock_reason(const struct tsct_clock *clock);

/*
 * tsct_clock_cycles - an ordered read of the source: by RDTSCP, or by clock_gettime() if the
 * TSC cannot be used
 * tsct_clock_time_point - an ordered read of the source and of the CPU's number:
 * TSCT_CPU_ANY if the source is not the TSC
 */
uint64_t tsct_clock_cycles(const struct tsct_clock *clock);
void tsct_clock_time_point(const struct tsct_clock *clock,
			   struct tsct_time_point *ret_point);

/*
 * tsct_clock_cycles_to_time - convert cycles to a time and its error bound
 * @cycles: past or present cycles of this boot
 *
 * Returns 0; -EAGAIN: nothing is published yet; -ESTALE: the parameters are too old, or
 * were not updated since a disruption, or the source has changed; -ERANGE: @cycles are older than
 * the stored history; -EXDEV: the CPUs' counters differ, so the CPU of @cycles has to be known.
 */
int tsct_clock_cycles_to_time(const struct tsct_clock *clock, uint64_t cycles,
			      struct tsct_time *ret_time);

/*
 * tsct_clock_cycles_to_time_on - convert cycles that were read on a known CPU. -EXDEV:
 * the offset of that CPU's counter is not known.
 */
int tsct_clock_cycles_to_time_on(const struct tsct_clock *clock, uint64_t cycles,
				 uint32_t cpu, struct tsct_time *ret_time);

/*
 * tsct_clock_now - the present time and its error bound. Returns 0 or an error of
 * tsct_clock_cycles_to_time().
 */
int tsct_clock_now(const struct tsct_clock *clock, struct tsct_time *ret_time);

/*
 * The cluster's timeline is common to all nodes of a cluster (tsctraced.conf(5)): the
 * counter of a master node, in ns since the Unix epoch. The timeline is not
 * steered: it differs from CLOCK_REALTIME by all corrections of CLOCK_REALTIME
 * since the timeline began. tsct_clock_snapshot() reports the master.
 *
 * tsct_clock_now_cluster - the present time on the cluster's timeline, and its error bound
 * tsct_clock_cycles_to_cluster_time - convert cycles to the cluster's time
 * tsct_clock_cycles_to_cluster_time_on - convert cycles that were read on a known CPU
 *
 * ret_time->ns is within error_ns of the master's time. ret_time->epoch increases when
 * the master's time may have jumped, independently of the system clock's epoch.
 * Only the parameters in force and the previous ones are available; older
 * cycles need a recording.
 *
 * Return 0 or an error of tsct_clock_cycles_to_time(). Here, -EAGAIN means that no cluster
 * time was published, and -ERANGE that @cycles are before the previous parameters.
 */
int tsct_clock_now_cluster(const struct tsct_clock *clock,
			   struct tsct_time *ret_time);
int tsct_clock_cycles_to_cluster_time(const struct tsct_clock *clock,
				      uint64_t cycles, struct tsct_time *ret_time);
int tsct_clock_cycles_to_cluster_time_on(const struct tsct_clock *clock,
					 uint64_t cycles, uint32_t cpu,
					 struct tsct_time *ret_time);

/*
 * tsct_clock_time_to_cycles - the first cycles whose time is @ns or later
 * @ns: time of CLOCK_REALTIME, past or future. If @ns occurred twice because
 *	the clock was set back, the later occurrence is found.
 *
 * If the CPUs' counters differ, the result is a counter value of the reference
 * CPU. Returns 0; -ENOENT: the clock jumped over @ns; -EAGAIN: nothing is
 * published yet; -ESTALE: @ns is later than the parameters are valid, or the
 * source has changed; -ERANGE: @ns is older than the stored history.
 */
int tsct_clock_time_to_cycles(const struct tsct_clock *clock, int64_t ns,
			      uint64_t *ret_cycles);

/*
 * tsct_clock_delta_to_ns - convert a number of cycles to ns
 * tsct_clock_ns_to_delta - convert ns to a number of cycles
 *
 * Both use the counter's rate relative to CLOCK_MONOTONIC_RAW. Results are
 * rounded towards minus infinity, and saturate.
 */
int64_t tsct_clock_delta_to_ns(const struct tsct_clock *clock, int64_t cycles);
int64_t tsct_clock_ns_to_delta(const struct tsct_clock *clock, int64_t ns);

/*
 * tsct_clock_interval - the time between two time points, with its error bound
 *
 * Uses the counter's rate alone: steering or setting the system clock does not change the
 * result. ret_interval->flags states why the result may be wrong. Returns 0;
 * -EAGAIN: nothing is published yet; -ESTALE: the source has changed.
 */
int tsct_clock_interval(const struct tsct_clock *clock,
			const struct tsct_time_point *from,
			const struct tsct_time_point *to,
			struct tsct_interval *ret_interval);

/*
 * tsct_clock_snapshot - a consistent copy of the published state. Returns 0 or -EAGAIN:
 * nothing is published yet. The statuses are those at the time of the call:
 * TSCT_STATUS_HOLDOVER or TSCT_STATUS_UNKNOWN if the state was not renewed in time.
 */
int tsct_clock_snapshot(const struct tsct_clock *clock,
			struct tsct_clock_state *ret_state);

/* Bound on CLOCK_REALTIME's error against UTC at the time of the call */
struct tsct_utc {
	uint64_t error_ns;	/* CLOCK_REALTIME is within error_ns of UTC; UINT64_MAX:
				 * no bound is known */
	uint32_t source;	/* source of the bound, TSCT_UTC_* */
	uint32_t growth_ppb;	/* growth of error_ns from now on, ns per s */
};

/*
 * tsct_clock_utc - the bound on CLOCK_REALTIME's error against UTC, as the
 * ClockBound daemon or the kernel (adjtimex(2)) states it now
 *
 * A time (struct tsct_time) is within its error_ns of CLOCK_REALTIME, so it differs
 * from UTC by at most the sum of its error_ns and ret_utc->error_ns. Thread safe, not
 * signal safe. Returns 0. If no bound is known, sets ret_utc->error_ns to UINT64_MAX
 * and returns the reason: -ENODATA: no daemon keeps CLOCK_REALTIME (STA_UNSYNC);
 * -EBUSY: the kernel slews CLOCK_REALTIME by more than 500 ppm, as chronyd requests to
 * remove an offset; -ESTALE: no daemon is known to have set CLOCK_REALTIME since the
 * virtual machine was restored; -EPERM or -ENOSYS: adjtimex(2) is not allowed here.
 */
int tsct_clock_utc(const struct tsct_clock *clock, struct tsct_utc *ret_utc);

/*
 * tsct_clock_segments - the clock's segments, oldest first; the last one is of the params in force
 * @ret_segments: room for @nr segments; receives the latest. TSCT_SEGMENTS_MAX + 2 suffice.
 *
 * Takes 8 KiB of stack. Returns the number of segments, which may exceed @nr, or
 * -EAGAIN: nothing is published yet.
 */
int tsct_clock_segments(const struct tsct_clock *clock,
			struct tsct_clock_segment *ret_segments, unsigned int nr);

/*
 * tsct_clock_wait_synced - sleep until the clock is synchronized
 * @timeout_ms: limit of the sleep, ms; 0: do not sleep; negative: no limit
 * @max_error_ns: required error bound; 0: any bound with status synchronized
 *
 * Returns 0; -ETIMEDOUT; -EINTR: interrupted by a signal. Not wait-free, not signal
 * safe.
 */
int tsct_clock_wait_synced(const struct tsct_clock *clock, int timeout_ms,
			   uint64_t max_error_ns);

/*
 * tsct_timesync - synchronize the clocks of all nodes of a cluster now
 * @timeout_ms: limit of the wait for the other nodes, ms; negative: no limit
 * @why: on failure, the reason as text, such as the missing nodes; may be NULL with
 *	@size 0
 *
 * A collective call: it blocks until a program on every node of the cluster has called
 * it. Several callers on a node count as one. If processes of a node have joined, the call
 * blocks until all of these wait, see tsct_timesync_join(). Then all nodes exchange packets
 * with their masters, and the call returns when the cluster's time
 * (tsct_clock_now_cluster()) has been published. A daemon waits for the children that its
 * configuration names or, if it names none, for the nodes that sent it requests within the
 * last minute; with a key, within two of their poll intervals, if that is longer.
 *
 * Returns 0; -ETIMEDOUT; -EINTR: interrupted by a signal; -ENOENT: no daemon;
 * -ECONNRESET: the daemon was restarted meanwhile; -EOPNOTSUPP: no network is
 * configured; -EPROTO: an invalid answer; -EALREADY: this process has joined, and
 * another of its threads waits; -EINVAL: see tsct_timesync_join(); or another
 * -errno of the connection. Blocks and allocates. Thread safe, not signal safe.
 */
int tsct_timesync(int timeout_ms, char *why, size_t size);

/*
 * tsct_timesync_join - make tsct_timesync() collective over the processes of this node
 * @nr_processes: number of processes of this node that join; the same in all of them.
 *	0: the value of $TSCTRACE_TIMESYNC_PROCESSES
 * @why: on failure, the reason as text; may be NULL with @size 0
 *
 * From now on, tsct_timesync() waits on all nodes until @nr_processes processes of this
 * node have joined and all of them wait. A process takes part until it calls
 * tsct_timesync_leave() or ends in any way; after that, tsct_timesync() does not wait for
 * this process. A forked child does not take part. To join again with the same number has
 * no effect. If $TSCTRACE_TIMESYNC_PROCESSES is set, tsct_timesync() joins automatically.
 *
 * Returns 0; -EINVAL: @nr_processes is invalid, differs from that of other processes, or that
 * many have joined already; -EALREADY: this process has joined with another number; or an error
 * of tsct_timesync(). Blocks and allocates. Thread safe, not signal safe.
 *
 * tsct_timesync_leave - undo tsct_timesync_join(); no effect if this process has not joined
 */
int tsct_timesync_join(unsigned int nr_processes, char *why, size_t size);
void tsct_timesync_leave(void);

/*
 * Slow paths of the inline functions of tsctrace/clock.h; not for programs.
 *
 * tsct_clock_now_slow() never fails: without a trusted time it returns the time of
 * clock_gettime(CLOCK_REALTIME). The other functions return 0 with *ret_ns set, or an
 * error: tsct_clock_cycles_to_ns_slow() an error of tsct_clock_cycles_to_time(),
 * tsct_clock_now_cluster_slow() and tsct_clock_cycles_to_cluster_ns_slow() an error
 * of tsct_clock_now_cluster(). If the status is DISRUPTED, they return -ESTALE.
 */
int64_t tsct_clock_now_slow(const struct tsct_clock *clock);
int tsct_clock_now_cluster_slow(const struct tsct_clock *clock,
				int64_t *ret_ns);
int tsct_clock_cycles_to_cluster_ns_slow(const struct tsct_clock *clock,
					 uint64_t cycles, int64_t *ret_ns);
int tsct_clock_cycles_to_ns_slow(const struct tsct_clock *clock, uint64_t cycles,
				 int64_t *ret_ns);

/* Return the names of TSCT_SOURCE_*, TSCT_STATUS_*, TSCT_CAUSE_* and TSCT_UTC_*; "?": no
 * such value. Signal safe. */
const char *tsct_source_name(unsigned int source);
const char *tsct_status_name(unsigned int status);
const char *tsct_cause_name(unsigned int cause);
const char *tsct_utc_source_name(unsigned int source);

/* Returns the version of the library at run time, such as "1.2.3". Signal safe. */
const char *tsct_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include <tsctrace/clock.h>

#endif /* TSCTRACE_H */
