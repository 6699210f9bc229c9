// SPDX-License-Identifier: MIT
/*
 * The clock as CTF can say it: an integer frequency and an offset. The
 * calibration's best moment maps exactly; precision is the bound over the
 * whole recording, what the rounding of the frequency adds included, and what ticks
 * leave open that are longer than the source's, or no event's.
 */
#include "lib/core/clock_params.h"
#include "ticks.h"

#define NS_PER_S	1000000000LL
/* So much worse a clock may be that counts nanoseconds */
#define PLAIN_NS	1000

/* Of the ticks in the files, which may be longer or shorter than the source's. */
static __u64 scale_hz(const struct tsct_recording *rec, tsct_u128 num, __u64 den)
{
	const int bits = tsct_recording_tick_bits(rec);
	const tsct_u128 divisor = (tsct_u128)den << (bits < 0 ? -bits : 0);

	return ((num << (bits > 0 ? bits : 0)) + divisor / 2) / divisor;
}

static __u64 rate_hz(const struct tsct_recording *rec)
{
	return scale_hz(rec, (tsct_u128)NS_PER_S << TSCT_CLOCK_SHIFT,
			rec->real.mult);
}

static __u64 tick_of(const struct tsct_recording *rec, __u64 stamp)
{
	const int bits = tsct_recording_tick_bits(rec);

	return bits < 0 ? stamp >> -bits : stamp << bits;
}

/* As it comes out of the files again */
static __u64 rounded(const struct tsct_recording *rec, __u64 stamp)
{
	const int bits = tsct_recording_tick_bits(rec);

	return bits < 0 ? stamp >> -bits << -bits : stamp;
}

/* Where the calibration is best, within the recording. */
static __u64 anchor(const struct tsct_recording *rec)
{
	if (rec->real.as_of_cycles < rec->begin)
		return rec->begin;
	if (rec->real.as_of_cycles > rec->end)
		return rec->end;
	return rec->real.as_of_cycles;
}

static void place(const struct tsct_recording *rec, __u64 freq,
		  struct tsct_ctf_clock *clock)
{
	__u64 stamp = rounded(rec, anchor(rec));
	__s64 ns = tsct_clock_params_ns(&rec->real, stamp);
	tsct_s128 ticks = (tsct_s128)ns * freq, s;

	if (rec->merged) {
		/* Its ticks are since the Unix epoch, however long they are. */
		*clock = (struct tsct_ctf_clock) { .freq = rec->timeline.hz };
		return;
	}
	/* ns * freq / 1e9 rounded to the nearest tick, less the stamp */
	ticks += NS_PER_S / 2;
	s = ticks / NS_PER_S;
	if (ticks % NS_PER_S < 0)
		s--;
	ticks = s - tick_of(rec, stamp);
	s = ticks / (tsct_s128)freq;
	if (ticks % (tsct_s128)freq < 0)
		s--;
	clock->freq = freq;
	clock->offset_s = s;
	clock->offset = ticks - s * freq;
}

__s64 tsct_ctf_clock_ns(const struct tsct_ctf_clock *clock, __u64 tick)
{
	tsct_u128 ticks = (tsct_u128)clock->offset + tick;
	tsct_s128 ns = (ticks / clock->freq + clock->offset_s) * NS_PER_S;

	ns += ticks % clock->freq * NS_PER_S / clock->freq;
	if (ns > INT64_MAX)
		return INT64_MAX;
	return ns < INT64_MIN ? INT64_MIN : (__s64)ns;
}

/* How far a CTF reader may be from the true time at @stamp, in ns. */
static __u64 error_at(const struct tsct_recording *rec,
		      const struct tsct_ctf_clock *clock, __u64 stamp)
{
	tsct_s128 apart = (tsct_s128)
		tsct_ctf_clock_ns(clock, tick_of(rec, stamp)) -
		tsct_clock_params_ns(&rec->real, rounded(rec, stamp));

	return tsct_clock_params_error_ps(&rec->real, stamp) / 1000 + 1 +
		(__u64)(apart < 0 ? -apart : apart);
}

static void set_precision(const struct tsct_recording *rec,
			  struct tsct_ctf_clock *clock)
{
	const struct tsct_clock_params *real = &rec->real;
	const __u64 last = rec->complete || rec->until < rec->end ? rec->end :
		rec->until;
	const __u64 at[] = { rec->begin, rec->end, last, anchor(rec),
			     real->base_cycles, real->base_cycles + real->slew_cycles };
	__u64 worst = 0, error;
	unsigned int i;

	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		if (at[i] < rec->begin || at[i] > last)
			continue;
		error = error_at(rec, clock, at[i]);
		if (error > worst)
			worst = error;
	}
	worst += tsct_cycles_ns(real->mult, (__s64)tsct_recording_uncertainty(rec));
	clock->precision = (tsct_u128)worst * clock->freq / NS_PER_S + 1;
}

int tsct_ctf_clock(const struct tsct_recording *rec,
		   struct tsct_ctf_clock *ret_clock)
{
	struct tsct_ctf_clock plain;

	if (!rec->real.mult || rec->end < rec->begin ||
	    tsct_clock_params_check(&rec->real, rec->source))
		return -EINVAL;
	place(rec, rate_hz(rec), ret_clock);
	set_precision(rec, ret_clock);
	if (rec->source == TSCT_SOURCE_TSC)
		return 0;
	/* Viewers like nanoseconds: say 1 GHz where that costs under 1 us. */
	place(rec, scale_hz(rec, NS_PER_S, 1), &plain);
	set_precision(rec, &plain);
	if (plain.precision < ret_clock->precision +
	    (tsct_u128)plain.freq * PLAIN_NS / NS_PER_S + 1)
		*ret_clock = plain;
	return 0;
}
