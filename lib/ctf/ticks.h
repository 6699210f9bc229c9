/* SPDX-License-Identifier: MIT */
/*
 * Ticks in the files of a recording (`record --timestamps`), and the clock by which other
 * CTF readers convert them. Programs see ticks of the source's unit in any case.
 */
#ifndef TSCT_TICKS_H
#define TSCT_TICKS_H

#include "recording.h"

/* Longest packet of events without times of their own */
#define TSCT_UNTIMED_NS		100000000

/* log2 of the ticks of a file per cycle of the source; negative: coarser */
int tsct_timestamps_bits(__u32 timestamps);

static inline int tsct_recording_tick_bits(const struct tsct_recording *rec)
{
	return tsct_timestamps_bits(rec->timestamps);
}

/* Events have no time but that of their packet. */
static inline bool tsct_recording_is_untimed(const struct tsct_recording *rec)
{
	return rec->timestamps == TSCT_TIMESTAMPS_OFF;
}

/* Longest time from a tick to the event that has it, in cycles or ns */
__u64 tsct_recording_uncertainty(const struct tsct_recording *rec);
__u64 tsct_recording_uncertainty_ns(const struct tsct_recording *rec);

/* ---- encoding ------------------------------------------------------------ */

/* Converts counter values (cycles of the source) to ticks while recording */
struct tsct_tick_encoder {
	__u32 timestamps;
	int bits;
	/* For TSCT_TIMESTAMPS_SYSTEM */
	struct tsct_clock_params params;	/* in force: CLOCK_REALTIME by cycles */
	__u64 begin;		/* tick of the recording's begin */
	__u64 error_ps;		/* largest error bound of all params so far */
	__u64 stopped_ns;	/* longest time for which ticks stood still */
	__u64 floor;		/* lowest tick that a later event may have */
};

/* tsct_tick_encoder_init - by rec->timestamps and rec->real */
void tsct_tick_encoder_init(struct tsct_tick_encoder *encoder,
			    const struct tsct_recording *rec);

/*
 * tsct_tick_encoder_follow - use @params for CLOCK_REALTIME from counter value @at on
 * For TSCT_TIMESTAMPS_SYSTEM; else no effect.
 */
void tsct_tick_encoder_follow(struct tsct_tick_encoder *encoder,
			      const struct tsct_clock_params *params, __u64 at);

/* tsct_tick_encoder_moment - the tick of a counter value that is not an event's */
__u64 tsct_tick_encoder_moment(const struct tsct_tick_encoder *encoder, __u64 cycles);

/* tsct_tick_encoder_settle - a moment's tick; later ticks of events are not before it */
__u64 tsct_tick_encoder_settle(struct tsct_tick_encoder *encoder, __u64 cycles);

/*
 * tsct_tick_encoder_system - the tick of a file's next event, with TSCT_TIMESTAMPS_SYSTEM
 * @cycles: must not decrease within a file
 * @last: tick of the event before; ticks stand still while new params are behind it
 */
__u64 tsct_tick_encoder_system(struct tsct_tick_encoder *encoder, __u64 cycles,
			       __u64 last);

/* Description of a recording in ticks of its files; shares its memory, so is not freed */
struct tsct_tick_figures {
	struct tsct_recording rec;
	struct tsct_recorded_node node;
};

/* tsct_tick_encoder_describe - convert the description of @rec for the metadata */
void tsct_tick_encoder_describe(const struct tsct_tick_encoder *encoder,
				const struct tsct_recording *rec,
				struct tsct_tick_figures *ret_figures);

/* ---- the clock of other CTF readers --------------------------------------- */

/* Clock in the metadata, of an integer frequency */
struct tsct_ctf_clock {
	__u64 freq;		/* Hz */
	__s64 offset_s;
	__u64 offset;		/* ticks, below freq */
	__u64 precision;	/* ticks */
};

/* 0; -EINVAL: the recording has no valid calibration */
int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock);

/* Time of a tick of the files by that clock, in ns since the Unix epoch */
__s64 tsct_ctf_clock_ns(const struct tsct_ctf_clock *clock, __u64 tick);

#endif /* TSCT_TICKS_H */
