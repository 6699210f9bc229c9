/* SPDX-License-Identifier: MIT */
/*
 * Unit of the ticks in the files of a recording (`record --timestamps`), and the clock
 * by which CTF readers other than tsctrace convert these ticks to time. Our trace
 * reader returns ticks in units of the recorded counter, not in those of the files.
 */
#ifndef TSCT_TICKS_H
#define TSCT_TICKS_H

#include <tsctrace/stamp.h>

#include "recording.h"

/* With TSCT_TIMESTAMPS_OFF: largest distance in time of an event from the first event
 * in its packet, ns; all events of a packet have the tick of the first event */
#define TSCT_UNTIMED_NS		100000000

/* Returns log2 of the file ticks per cycle, or per ns of system time; may be negative. */
int tsct_timestamps_bits(__u32 timestamps);

/* Returns true if ticks are system time. */
static inline bool tsct_timestamps_system(__u32 timestamps)
{
	return timestamps >= TSCT_TIMESTAMPS_SYSTEM &&
		timestamps <= TSCT_TIMESTAMPS_SYSTEM_INTERPOLATED;
}

static inline int tsct_recording_tick_bits(const struct tsct_recording *rec)
{
	return tsct_timestamps_bits(rec->timestamps);
}

/* Returns true if events have only the time of their packet. */
static inline bool tsct_recording_is_untimed(const struct tsct_recording *rec)
{
	return rec->timestamps == TSCT_TIMESTAMPS_OFF;
}

/* Returns the lowest tick with a time of at least @ns; UINT64_MAX, which no event has: none */
__u64 tsct_recording_tick_at(const struct tsct_recording *rec, __s64 ns);

/* Return the longest time from the start of a tick to an event on that tick: the first
 * function in cycles, the second in ns. */
__u64 tsct_recording_uncertainty(const struct tsct_recording *rec);
__u64 tsct_recording_uncertainty_ns(const struct tsct_recording *rec);

/* Nominal length of one unit of a recording's unique stamps (tsctrace/stamp.h), which are
 * taken as 64-bit numbers: mult / 2^shift ns. A tick of the files is as long as
 * 2^TSCT_STAMP_EVENT_BITS of these units. */
struct tsct_stamp_period {
	__u64 mult;
	__u32 shift;
};

struct tsct_stamp_period tsct_recording_stamp_period(const struct tsct_recording *rec);

/* ---- encoding ------------------------------------------------------------ */

/* Converter of counter values (cycles of the source) to file ticks, while recording */
struct tsct_tick_encoder {
	__u32 timestamps;
	int bits;
	__u64 begin_cycles;	/* counter value of the recording's start */
	__u64 begin;		/* time of the recording's start, ns or cycles */
	/* Fields that are used only if ticks are system time: */
	/* clock params in force, and the segments for events from before these */
	struct tsct_clock_copy clock;
	bool has_followed;	/* false: `clock` has the recording's params, and no segment */
	__u64 latest;		/* largest counter value so far; 0: no event yet */
	/* largest error bound of all times by params that are no longer in force, ps */
	__u64 error_ps;
	__u64 stopped_ns;	/* longest time for which ticks stood still, ns */
	__u64 floor;		/* lowest time that a later event may have, ns or cycles */
};

/* tsct_tick_encoder_init - initialize by rec->timestamps and rec->real */
void tsct_tick_encoder_init(struct tsct_tick_encoder *encoder,
			    const struct tsct_recording *rec);

/*
 * tsct_tick_encoder_follow - use the params and segments of @clock for CLOCK_REALTIME
 *
 * No effect if ticks are not system time. If @clock has another epoch than at the first call, the
 * params stay as they are, as times could go back, and the error bound is unknown from now on.
 * Returns true if the recording's description has changed: its start, at the first call, or its
 * bound, which became unknown.
 */
bool tsct_tick_encoder_follow(struct tsct_tick_encoder *encoder,
			      const struct tsct_clock_copy *clock);

/* tsct_tick_encoder_moment - get the file tick of a counter value that has no event */
__u64 tsct_tick_encoder_moment(const struct tsct_tick_encoder *encoder, __u64 cycles);

/* tsct_tick_encoder_settle - get a lower limit of the file ticks of all events that are
 * encoded later; @cycles: lower limit of the counter values of those events */
__u64 tsct_tick_encoder_settle(struct tsct_tick_encoder *encoder, __u64 cycles);

/*
 * tsct_tick_encoder_system - get the system time of a file's next event, ns
 * @cycles: must not decrease within a file
 * @last: result for the previous event; the result is never lower, even if new params give
 * earlier times
 */
__u64 tsct_tick_encoder_system(struct tsct_tick_encoder *encoder, __u64 cycles,
			       __u64 last);

/* Copy of a recording's description, in file ticks. The copy points into the original; do
 * not free the copy. */
struct tsct_tick_figures {
	struct tsct_recording rec;
	struct tsct_recorded_node node;
};

/* tsct_tick_encoder_describe - copy @rec, the description of a recording, and convert
 * the counter values and clock params in the copy to file ticks */
void tsct_tick_encoder_describe(const struct tsct_tick_encoder *encoder,
				const struct tsct_recording *rec,
				struct tsct_tick_figures *ret_figures);

/* ---- the clock of any CTF reader ------------------------------------------ */

/* Clock that the metadata describes to CTF readers; its frequency is an integer */
struct tsct_ctf_clock {
	__u64 freq;		/* ticks of the clock per second */
	__s64 offset_s;		/* time of tick 0 since the Unix epoch, whole seconds */
	__u64 offset;		/* fraction of a second to add to offset_s, ticks */
	__u64 precision;	/* error bound of the clock's times, ticks */
};

/* Makes the clock that the metadata describes to CTF readers. Returns 0; -EINVAL: the
 * recording's clock params are invalid. */
int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock);

/* Returns the time of file tick @tick by @clock, in ns since the Unix epoch. */
__s64 tsct_ctf_clock_ns(const struct tsct_ctf_clock *clock, __u64 tick);

#endif /* TSCT_TICKS_H */
