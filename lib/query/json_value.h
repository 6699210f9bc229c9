/* SPDX-License-Identifier: MIT */
/* Text and fields of events as JSON has them. */
#ifndef TSCT_JSON_VALUE_H
#define TSCT_JSON_VALUE_H

#include <jansson.h>

#include "value_text.h"

/*
 * tsct_json_text - text from outside, which may be anything
 * JSON is UTF-8: bytes that are none become U+FFFD. NULL: no memory.
 */
json_t *tsct_json_text(const char *text, size_t len);

/*
 * tsct_json_value - a field
 * @exact: integers beyond this, either way, are text, as many a reader holds but a
 * double; 0: all of 64 bits with a sign are numbers
 *
 * JSON's numbers end at 2^63 here, and know no infinity: text beyond. NULL: no
 * memory.
 */
json_t *tsct_json_value(const struct tsct_value *value, __s64 exact);

#endif /* TSCT_JSON_VALUE_H */
