// SPDX-License-Identifier: MIT
/* Wait states of a program with MPI, for trace-ctl stat */
#include <stdio.h>

#include "lib/base/table.h"
#include "tools/read/stat.h"

int stat_mpi_add(struct stat_figures *s, const struct tsct_trace_event *e,
		 __u64 error_ns)
{
	double ticks;

	/* Converts the bound to ticks, rounded up. A bound of years becomes an unknown bound. */
	ticks = (double)error_ns * sync_samples_hz(s->rec) / 1e9 + 1;
	return tsct_mpi_waits_add(s->waits, e, !error_ns ? 0 : ticks < 1e18 ?
				  (__u64)ticks : UINT64_MAX);
}

/* Returns the ranks in which MPI_Finalize has not ended, in order. */
json_t *stat_mpi_unfinished(const struct stat_figures *s)
{
	json_t *list = json_array();
	const char *call;
	size_t next = 0, at;
	__s32 rank;

	while (s->waits && tsct_mpi_waits_unfinished(s->waits, &next, &rank, &call)) {
		at = json_array_size(list);
		while (at && json_integer_value(json_object_get(json_array_get(list, at - 1),
								"rank")) > rank)
			at--;
		json_array_insert_new(list, at, json_pack("{s:i,s:s?}", "rank", rank,
							  "call", call));
	}
	return list;
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

/* ---- waits ----------------------------------------------------------------------------- */

static const struct tsct_column wait_columns[] = {
	TSCT_COLUMN("rank", "rank", -6, .unknown = "?"),
	TSCT_COLUMN("waits in", "call", -24),
	TSCT_COLUMN("for", "for", -14),
	TSCT_COLUMN("waits", "waits", 10),
	TSCT_COLUMN("seconds", "total_ns", 12, .scale = 1e-9, .decimals = 6),
	TSCT_COLUMN("longest", "max_ns", 12, .scale = 1e-9, .decimals = 6),
	TSCT_COLUMN("unknown", "unknown", 10),
};
static const struct stat_list waits = STAT_LIST(wait_columns, NULL, STAT_TOP);

static const struct tsct_column unfinished_columns[] = {
	TSCT_COLUMN("rank", "rank", -6),
	TSCT_COLUMN("MPI_Finalize not ended; last in call", "call", -36, .unknown = "no call"),
};
static const struct stat_list unfinished = STAT_LIST(unfinished_columns, NULL, STAT_TOP);

void stat_mpi_print(const struct stat_figures *s, const json_t *all)
{
	json_int_t mismatched;
	const json_t *rows = json_object_get(all, "mpi_waits");

	if (json_array_size(rows))
		stat_list_print(s, &waits, rows, NULL);
	rows = json_object_get(all, "mpi_unfinished");
	if (json_array_size(rows))
		stat_list_print(s, &unfinished, rows, NULL);
	mismatched = json_integer_value(json_object_get(all, "mpi_mismatched"));
	if (mismatched)
		printf("%lld message%s of MPI: send and receive state different lengths, so they"
		       " may belong to different messages; see tsctrace-mpi(7)\n", mismatched,
		       view_plural(mismatched));
}
