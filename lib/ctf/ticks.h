/* SPDX-License-Identifier: MIT */
/*
 * What the ticks in a recording's files are: `record --timestamps`. Stamps, as
 * programs see them, are ticks of the source whatever the files have.
 */
#ifndef TSCT_TICKS_H
#define TSCT_TICKS_H

#include "lib/core/delta.h"
#include "recording.h"

/* Events without a time of their own are in packets that last no longer. */
#define TSCT_UNTIMED_NS		100000000

/* Bits that a tick of the files has more than one of the source, or fewer */
int tsct_timestamps_bits(__u32 timestamps);

static inline int tsct_recording_tick_bits(const struct tsct_recording *rec)
{
	return tsct_timestamps_bits(rec->timestamps);
}

/* Have events no time but their packet's? */
static inline bool tsct_recording_is_untimed(const struct tsct_recording *rec)
{
	return rec->timestamps == TSCT_TIMESTAMPS_OFF;
}

/* How much later than its stamp an event may have happened, in ticks of stamps */
__u64 tsct_recording_uncertainty(const struct tsct_recording *rec);
__u64 tsct_recording_uncertainty_ns(const struct tsct_recording *rec);

/* ---- making them --------------------------------------------------------- */

/* A recording's, while it is written */
struct tsct_tick_encoder {
	__u32 timestamps;
	int bits;
	/* Times of the system, by the line that is in force */
	struct tsct_clock_params line;
	__u64 begin;		/* of the recording */
	__u64 error_ps;		/* the worst of all lines */
	__u64 held_ns;		/* and how long time stood still between two */
	__u64 floor;		/* no event's tick may be before it */
};

/* tsct_tick_encoder_init - by rec->timestamps, and by its line as it is known now */
void tsct_tick_encoder_init(struct tsct_tick_encoder *ticker,
		      const struct tsct_recording *rec);

/*
 * tsct_tick_encoder_follow - from stamp @at on @line is what the system's clock says
 * Does nothing where ticks are not its.
 */
void tsct_tick_encoder_follow(struct tsct_tick_encoder *ticker,
			const struct tsct_clock_params *line, __u64 at);

/* tsct_tick_encoder_moment - the tick of a stamp that no event has */
__u64 tsct_tick_encoder_moment(const struct tsct_tick_encoder *ticker, __u64 stamp);

/* tsct_tick_encoder_settle - the same, and no later event's tick will be before it */
__u64 tsct_tick_encoder_settle(struct tsct_tick_encoder *ticker, __u64 stamp);

/*
 * tsct_tick_encoder_event - the tick of the next event of a file
 * @grain: of that file
 * @last: tick of the one before
 * Stamps do not decrease. 0; -ERANGE: it is beyond what a tick can say.
 */
int tsct_tick_encoder_event(struct tsct_tick_encoder *ticker, struct tsct_tick_resolution *grain,
		      __u64 last, __u64 stamp, __u64 *ret_tick);

/* What is told of a recording in its own ticks; goes with it, is not to be freed */
struct tsct_tick_figures {
	struct tsct_recording rec;
	struct tsct_recorded_node node;
};

/* tsct_tick_encoder_describe - what the metadata is to say of @rec */
void tsct_tick_encoder_describe(const struct tsct_tick_encoder *ticker,
			  const struct tsct_recording *rec,
			  struct tsct_tick_figures *ret_view);

/* What a CTF reader is told about the clock; see record_clock.c. */
struct tsct_ctf_clock {
	__u64 freq;		/* Hz */
	__s64 offset_s;
	__u64 offset;		/* ticks, below freq */
	__u64 precision;	/* ticks */
};

/* Returns 0 or -EINVAL: the recording has no calibration. */
int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock);

/* The time a CTF reader gives to a tick of the files. */
__s64 tsct_ctf_clock_ns(const struct tsct_ctf_clock *clock, __u64 tick);

#endif /* TSCT_TICKS_H */
