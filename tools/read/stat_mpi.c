// SPDX-License-Identifier: MIT
#include "stat.h"

int stat_mpi_add(struct stat_figures *s, const struct tsct_trace_event *e,
		 __u64 error_ns)
{
	double ticks;

	if (!s->waits)
		return 0;
	/* Rounded up; a bound of years is as good as none. */
	ticks = (double)error_ns * sync_samples_hz(s->rec) / 1e9 + 1;
	return tsct_mpi_waits_add(s->waits, e, !error_ns ? 0 : ticks < 1e18 ?
				  (__u64)ticks : UINT64_MAX);
}

json_t *stat_mpi_json(const struct stat_figures *s)
{
	const struct tsct_mpi_wait *w;
	json_t *list = json_array();
	__u32 nr = 0, i;

	w = s->waits ? tsct_mpi_waits_sort(s->waits, &nr) : NULL;
	for (i = 0; i < nr; i++, w++)
		json_array_append_new(list, json_pack("{s:o,s:s,s:s,s:I,s:I,s:I,s:I}",
			"rank", w->job ? json_integer(w->rank) : json_null(),
			"call", w->call, "for", tsct_mpi_wait_names[w->kind],
			"waits", (json_int_t)w->count,
			"total_ns", (json_int_t)stat_ticks_ns(s, w->total),
			"max_ns", (json_int_t)stat_ticks_ns(s, w->max),
			"unknown", (json_int_t)w->unknown));
	return list;
}
