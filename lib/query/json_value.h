/* SPDX-License-Identifier: MIT */
/* Text and fields of events as JSON values */
#ifndef TSCT_JSON_VALUE_H
#define TSCT_JSON_VALUE_H

#include <jansson.h>

#include "value_text.h"

/*
 * tsct_json_text - a text of any bytes as a JSON string
 * Bytes that are not UTF-8 become U+FFFD. NULL: no memory
 */
json_t *tsct_json_text(const char *text, size_t len);

/*
 * tsct_json_value - the value of a field
 * @exact: integers of a larger magnitude become strings, for readers that store numbers
 *	as double; 0: all signed 64-bit integers are numbers
 *
 * Integers from 2^63 on, infinities and NaNs become strings. NULL: no memory
 */
json_t *tsct_json_value(const struct tsct_value *value, __s64 exact);

#endif /* TSCT_JSON_VALUE_H */
