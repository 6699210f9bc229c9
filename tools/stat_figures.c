// SPDX-License-Identifier: MIT
/* Figures of a recording, for those who show them. */
#include "core/scale.h"
#include "stat.h"

__u64 stat_end_of(const struct stat_figures *s)
{
	return s->rec->complete || s->last < s->rec->end ? s->rec->end : s->last;
}

__s64 stat_ticks_ns(const struct stat_figures *s, __u64 ticks)
{
	return tsct_ticks_ns(s->rec->real.mult,
			     ticks > INT64_MAX ? INT64_MAX : (__s64)ticks);
}

__u64 stat_error_ns(const struct stat_figures *s)
{
	return tsct_recording_worst_ns(s->rec, stat_end_of(s));
}

double stat_rate_hz(const struct stat_figures *s)
{
	return 0x1p56 / (double)s->rec->real.mult * 1e9;
}

__u64 stat_lost_on(const struct stat_figures *s, __u32 cpu)
{
	__u64 sum = 0;
	__u32 i;

	for (i = 0; i < s->rec->nr_streams; i++)
		sum += tsct_loss_total(&s->rec->streams[i].loss[cpu]);
	return sum;
}

__u64 stat_overwritten(const struct stat_figures *s)
{
	const struct tsct_stream_class *stream;
	__u64 sum = 0;
	__u32 i, cpu;

	if (!s->rec->snapshot)
		return 0;
	for (i = 0; i < s->rec->nr_streams; i++) {
		stream = &s->rec->streams[i];
		for (cpu = 0; cpu < s->rec->nr_locations; cpu++)
			sum += stream->ring[cpu].published_begin;
	}
	return sum;
}

bool stat_is_counted(const struct stat_figures *s, struct tsct_balance *ret_sum)
{
	tsct_recording_balance(s->rec, -1, ret_sum);
	return s->rec->complete && (ret_sum->published || !ret_sum->held);
}
