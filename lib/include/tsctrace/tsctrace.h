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

struct tsct;			/* an open channel */

/*
 * How to open a channel. All zero is a good start: the channel that
 * `trace-ctl record` reads, made if it is not there yet.
 */
struct tsct_options {
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
 * tsct_open - open a channel
 * @options: NULL: all defaults
 * @ret_t: always set, also on failure: then to a handle that drops every
 *	event and counts it, so that a program runs the same with no tracer
 *
 * Tries the module, then the daemon's socket, then the trace-ctl that runs
 * the program ($TSCTRACE_SOCKET). $TSCTRACE_PROVIDER (module, daemon,
 * embedded or none) allows one of them only.
 *
 * Returns 0, or the negative errno of the most telling failure; tsct_why()
 * has it as a sentence. -ENODEV: no provider. Not signal safe.
 */
int tsct_open(const struct tsct_options *options, struct tsct **ret_t);

/*
 * tsct_close - let a channel go. NULL is fine. No other thread may be using
 * the handle. Not signal safe.
 */
void tsct_close(struct tsct *t);

/* Who holds the channel's memory. Signal safe. */
enum tsct_provider tsct_provider_of(const struct tsct *t);

/* "module", "daemon", "embedded", "none". Signal safe. */
const char *tsct_provider_name(enum tsct_provider provider);

/*
 * tsct_why - why this provider, and why not those before it, as a sentence
 * without a full stop. Valid while @t is. Signal safe.
 */
const char *tsct_why(const struct tsct *t);

/*
 * tsct_header - the channel's description as it was when it was opened, NULL
 * without a provider. Valid while @t is; defs_used and lost_no_ring do not
 * move in it. Signal safe.
 */
const struct tsct_channel_header *tsct_header(const struct tsct *t);

/* ---- events ------------------------------------------------------------ */

/*
 * tsct_define - make an event known to the channel
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
int tsct_define(struct tsct *t, const char *name, unsigned int kind,
		const char *fields);

/*
 * tsct_emit - stamp and record one event on the CPU we run on
 * @id: from tsct_define()
 * @payload: the fields in order, packed, little endian; strings with their NUL
 * @len: bytes of it
 *
 * Stamps are ordered counter reads and never decrease within a CPU's ring.
 * Wait-free but for restarts after preemption; no system call, no lock while
 * rseq is there. Signal safe, fork safe, may be killed at any instruction.
 *
 * Returns 0, or, the event being counted as lost: -ENOSPC: ring full,
 * -EMSGSIZE: over the block size, -ENODEV: no provider, -EACCES: no WRITE role,
 * -EAGAIN: restarted too often and no kernel to help; and -EINVAL: @id out of
 * range, not counted.
 */
int tsct_emit(struct tsct *t, unsigned int id, const void *payload, size_t len);

/* Events this process lost for want of a provider. Signal safe. */
uint64_t tsct_dropped(const struct tsct *t);

/* ---- reading ----------------------------------------------------------- */

struct tsct_reader;

/* One event, as read. Pointers are valid until the next call on the reader. */
struct tsct_event {
	uint64_t tsc;		/* stamp, see header->source */
	uint32_t cpu;
	uint32_t tid;
	uint32_t id;
	uint32_t len;		/* of the payload */
	const void *payload;	/* a private copy */
};

/* What a reader knows of one ring. */
struct tsct_ring_stat {
	uint64_t read;		/* events returned */
	uint64_t head;		/* bytes ever written */
	uint64_t lost[TSCT_LOST_NR];	/* by cause, from the ring itself */
	uint64_t overruns;	/* overwrite: times the reader was overtaken */
	uint64_t overrun_bytes;	/* overwrite: bytes it never saw */
	uint64_t broken;	/* places that held no record */
};

/*
 * tsct_reader_open - read @t, which has TSCT_ROLE_READ, and outlives the
 * reader. A discard channel has one reader at a time. One thread at a time.
 * Returns 0, -EACCES: no READ role, -ENODEV: no provider, -EBUSY: @t has its
 * reader already, -ENOMEM.
 */
int tsct_reader_open(struct tsct *t, struct tsct_reader **ret_reader);
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
 * tsct_reader_wait - sleep until there is something to read
 * @timeout_ms: 0: only look, negative: for ever
 *
 * Returns 1: there is, 0: timeout, -EINTR.
 */
int tsct_reader_wait(struct tsct_reader *reader, int timeout_ms);

/* ---- clock ------------------------------------------------------------- */

struct tsct_clock;

/* What a stamp means. */
struct tsct_time {
	int64_t ns;		/* CLOCK_REALTIME, since the Unix epoch */
	uint64_t error_ns;	/* the true time lies in ns -+ error_ns */
	uint32_t status;	/* TSCT_STATUS_* */
	uint32_t epoch;
};

/*
 * tsct_clock_open - the best clock there is: the module's clock page, else the
 * daemon's, else a calibration of our own (takes up to 20 ms).
 * Returns 0 or -ENOMEM. Not signal safe.
 */
int tsct_clock_open(struct tsct_clock **ret_clock);
void tsct_clock_close(struct tsct_clock *clock);

/* Where it comes from: "module", "daemon" or "in-process". Signal safe. */
const char *tsct_clock_origin(const struct tsct_clock *clock);

/* Why not an earlier origin, and why this source; a sentence. Signal safe. */
const char *tsct_clock_why(const struct tsct_clock *clock);

/*
 * tsct_clock_stamp - an ordered read of the source (RDTSCP, or
 * clock_gettime() where the TSC cannot be used), the same that tsct_emit()
 * stamps with. Wait-free, signal safe.
 */
uint64_t tsct_clock_stamp(const struct tsct_clock *clock);

/*
 * tsct_clock_convert - what time was it, and how sure are we?
 * @stamp: of this boot, past or present
 *
 * Returns 0; -EAGAIN: nothing published yet; -ESTALE: @stamp lies behind
 * void_after. Wait-free readers' side of the latch; signal safe.
 */
int tsct_clock_convert(const struct tsct_clock *clock, uint64_t stamp,
		       struct tsct_time *ret_time);

/*
 * tsct_clock_snapshot - a consistent copy of what is published now.
 * Returns 0 or -EAGAIN: nothing yet. Signal safe.
 */
int tsct_clock_snapshot(const struct tsct_clock *clock,
			struct tsct_clock_state *ret_state);

/* Name of a TSCT_SOURCE_*, TSCT_STATUS_*, "?" if unknown. Signal safe. */
const char *tsct_source_name(unsigned int source);
const char *tsct_status_name(unsigned int status);

/* Version of the library at run time, "0.1.0". Signal safe. */
const char *tsct_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* TSCTRACE_H */
