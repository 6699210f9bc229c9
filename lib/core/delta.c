// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* What is not done for every event. */
#include "delta.h"

/* By the first three bytes */
static size_t size_of(const __u8 *from)
{
	__u32 extended = from[0] >> 2 & 1, other = from[2] >> 3 & extended;

	return 1 + 2 * extended + (1U << (from[0] & 3)) + 4 * other;
}

int tsct_delta_get_end(struct tsct_delta *delta, const __u8 *from, size_t len,
		       __u32 *ret_id)
{
	__u8 all[TSCT_DELTA_ROOM] = { 0 };

	if (len > sizeof(all))
		len = sizeof(all);
	if (len)
		memcpy(all, from, len);
	if (size_of(all) > len)
		return -ENODATA;
	return tsct_delta_take_(delta, all, ret_id);
}

int tsct_tick_resolution_init(struct tsct_tick_resolution *grain, int bits)
{
	if (bits > TSCT_GRAIN_MAX || bits < -TSCT_GRAIN_MAX)
		return -EINVAL;
	grain->seen = 0;
	grain->next = 0;
	grain->bits = bits;
	return 0;
}

int tsct_tick_resolution_tick(struct tsct_tick_resolution *grain, __u64 source, __u64 *ret_tick)
{
	__u64 tick;

	if (source < grain->seen)
		return -EINVAL;
	if (grain->bits <= 0) {
		tick = source >> -grain->bits;
	} else {
		tick = source << grain->bits;
		if (tick >> grain->bits != source)
			return -ERANGE;
		if (tick < grain->next)
			tick = grain->next;
		if (tick == ~0ULL)
			return -ERANGE;
		grain->next = tick + 1;
	}
	grain->seen = source;
	*ret_tick = tick;
	return 0;
}
