// SPDX-License-Identifier: MIT
/* Figures of a recording, for those who show them. */
#include <inttypes.h>
#include <sys/resource.h>

#include "cmd_record.h"
#include "lib/core/clock_params.h"
#include "lib/client/gettime.h"

double record_figure_seconds(const struct record_session *s)
{
	const struct tsct_recording *rec = &s->rec;

	return tsct_cycles_ns(rec->real.mult, rec->end - rec->begin) / 1e9;
}

/* MB/s that came out of a channel's rings while we recorded. */
double record_figure_mb_per_s(const struct record_session *s, unsigned int i)
{
	double ns = tsct_cycles_ns(s->rec.real.mult, s->rec.end - s->started);

	return ns > 0 ? tsct_drain_bytes(s->drains[i]) * 1e3 / ns : 0;
}

__u64 record_figure_events(const struct record_session *s, unsigned int i)
{
	__u64 sum = 0;
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_locations; cpu++)
		sum += tsct_writer_cpu_events(s->writer, i, cpu);
	return sum;
}

/* By a flight recorder, before it was written: older than all of it. */
__u64 record_figure_overwritten(const struct record_session *s, unsigned int i)
{
	__u64 sum = 0;
	__u32 cpu;

	for (cpu = 0; cpu < s->rec.nr_locations; cpu++)
		sum += s->rec.streams[i].ring[cpu].published_begin;
	return sum;
}

__u64 record_figure_cpu_events(const struct record_session *s, __u32 cpu)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = 0; i < s->rec.nr_streams; i++)
		sum += tsct_writer_cpu_events(s->writer, i, cpu);
	return sum;
}

void record_figure_balance(const struct record_session *s,
			   struct tsct_balance *ret)
{
	tsct_recording_balance(&s->rec, -1, ret);
	if (!ret->exact)
		record_complain("the counts do not agree: %" PRIu64 " events were"
				" published, %" PRIu64 " are in the recording, %"
				PRIu64 " are known to be lost; %s",
				(uint64_t)ret->published, (uint64_t)ret->recorded,
				(uint64_t)ret->lost, ret->broken_places ?
				"a program wrote into the rings what is no event" :
				"this should not happen, please report it");
}

void record_figure_usage(const struct record_session *s,
			 struct record_usage *ret)
{
	double wall = (tsct_monotonic_ns() - s->opened_ns) / 1e9;
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	ret->cpu_s = r.ru_utime.tv_sec + r.ru_stime.tv_sec +
		(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
	ret->percent = wall > 0 ? 100 * ret->cpu_s / wall : 0;
	ret->peak_bytes = r.ru_maxrss * 1024ULL;
}
