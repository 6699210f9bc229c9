// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "lib/ctf/ticks.h"
#include "unique_stamps.h"

int tsct_unique_stamps_init(struct tsct_unique_stamps *u, const struct tsct_recording *rec)
{
	const struct tsct_stamp_period period = tsct_recording_stamp_period(rec);
	const int bits = tsct_recording_tick_bits(rec);
	__u32 i;

	u->stampers = calloc(rec->nr_locations, sizeof(*u->stampers));
	if (!u->stampers)
		return -ENOMEM;
	u->rate = (struct tsct_stamp_rate) {
		.ns = period.mult, .ticks = 1ULL << (period.shift - TSCT_STAMP_EVENT_BITS),
	};
	for (i = 0; i < rec->nr_locations; i++)
		tsct_stamper_init(&u->stampers[i], bits < 0 ?
				  rec->begin >> -bits : rec->begin << bits);
	return 0;
}

void tsct_unique_stamps_free(struct tsct_unique_stamps *u)
{
	free(u->stampers);
	u->stampers = NULL;
}

void tsct_unique_stamps_next(struct tsct_unique_stamps *u, const struct tsct_trace_event *e,
		      struct tsct_unique_stamps_item *ret)
{
	struct tsct_stamper *stamper = &u->stampers[e->location];
	const __u64 last = stamper->origin + stamper->seen;
	__u64 tick = e->file_tick;
	struct tsct_stamp stamp;
	int begins;

	/* Ticks of events in two channels of a CPU are interpolated within one
	 * tick of the source, so they may be out of order: a tick below the
	 * tick of the CPU's previous event is raised to that tick. */
	if (tick < last && tick >= stamper->origin)
		tick = last;
	begins = tsct_stamper_next(stamper, tick, &stamp);
	*ret = (struct tsct_unique_stamps_item) { .known = begins >= 0 };
	if (begins < 0)
		return;
	ret->begins = begins;
	ret->segment = tsct_stamper_segment(stamper);
	ret->stamp = stamp;
	ret->legacy_ns = tsct_stamp_ns_legacy(ret->segment, stamp, &u->rate);
	ret->ns = tsct_stamp_ns(ret->segment, stamp, &u->rate);
}
