/* SPDX-License-Identifier: MIT */
/* One tracepoint with one integer, for LTTng-UST's own macros. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER tsct_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./bench_lttng_tp.h"

#if !defined(TESTS_BENCH_LTTNG_TP_H) || \
	defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_BENCH_LTTNG_TP_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(tsct_bench, event,
	LTTNG_UST_TP_ARGS(unsigned long, value),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(unsigned long, value, value)
	)
)

#endif

#include <lttng/tracepoint-event.h>
