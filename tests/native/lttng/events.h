/* SPDX-License-Identifier: MIT */
/* Events of LTTng-UST for program.c. LTTng includes this file several times. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER test_program
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./events.h"

#if !defined(TESTS_LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define TESTS_LTTNG_EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_ENUM(test_program, state, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("IDLE", 0)
	lttng_ust_field_enum_range("BUSY", 1, 5)))

LTTNG_UST_TRACEPOINT_EVENT(test_program, step,
	LTTNG_UST_TP_ARGS(int, nr, const char *, text, const int *, array, int, len),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, nr, nr)
		lttng_ust_field_integer_hex(unsigned long, hex, (unsigned long)nr * 77777)
		lttng_ust_field_string(text, text)
		lttng_ust_field_array(int, fixed, array, 3)
		lttng_ust_field_sequence(int, some, array, size_t, len)
		lttng_ust_field_sequence_text(char, chars, text, size_t, 2)
		lttng_ust_field_float(double, half, nr * 0.5)
		lttng_ust_field_enum(test_program, state, int, state, nr % 7)))

#endif

#include <lttng/tracepoint-event.h>
