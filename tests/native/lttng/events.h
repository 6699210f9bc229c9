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

LTTNG_UST_TRACEPOINT_ENUM(test_program, sign, LTTNG_UST_TP_ENUM_VALUES(
	lttng_ust_field_enum_value("LEAST", -128)
	lttng_ust_field_enum_range("BELOW", -3, -1)
	lttng_ust_field_enum_auto("NEXT")
	lttng_ust_field_enum_range("OVERLAP", -1, 1)))

/* The types that step has not */
LTTNG_UST_TRACEPOINT_EVENT(test_program, types,
	LTTNG_UST_TP_ARGS(int, nr, const char *, text, const int *, array, int, len),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int8_t, i8, (int8_t)-nr)
		lttng_ust_field_integer(uint8_t, u8, (uint8_t)nr)
		lttng_ust_field_integer(int16_t, i16, (int16_t)(nr * 77))
		lttng_ust_field_integer(uint16_t, u16, (uint16_t)(nr * 77))
		lttng_ust_field_integer(uint32_t, u32, (uint32_t)nr << 31)
		lttng_ust_field_integer(int64_t, i64, -(int64_t)nr << 40)
		lttng_ust_field_integer(uint64_t, u64, ~(uint64_t)nr)
		lttng_ust_field_integer_network(int32_t, net, (int32_t)htonl((uint32_t)-nr))
		lttng_ust_field_integer_network_hex(uint16_t, net_hex, htons((uint16_t)nr))
		lttng_ust_field_float(float, quarter, (float)nr * 0.3f)
		lttng_ust_field_array_text(char, four, text, 4)
		lttng_ust_field_array_hex(int, hexes, array, 2)
		lttng_ust_field_array_network(int, nets, array, 2)
		lttng_ust_field_sequence_hex(int, hex_seq, array, uint8_t, len)
		lttng_ust_field_sequence_network(int, net_seq, array, uint16_t, len)
		lttng_ust_field_sequence(char, bytes, text, uint32_t, len % 4)
		lttng_ust_field_string(empty, "")
		lttng_ust_field_enum(test_program, sign, int8_t, signed_enum, nr % 5 - 3)))

#endif

#include <lttng/tracepoint-event.h>
