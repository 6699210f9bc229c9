/* SPDX-License-Identifier: MIT */
/* Three tracepoints for LTTng-UST, with payloads of one integer, 64 and 256 bytes */
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

LTTNG_UST_TRACEPOINT_EVENT(tsct_bench, bytes_64,
	LTTNG_UST_TP_ARGS(const unsigned char *, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(unsigned char, bytes, bytes, 64)
	)
)

LTTNG_UST_TRACEPOINT_EVENT(tsct_bench, bytes_256,
	LTTNG_UST_TP_ARGS(const unsigned char *, bytes),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array(unsigned char, bytes, bytes, 256)
	)
)

#endif

#include <lttng/tracepoint-event.h>
