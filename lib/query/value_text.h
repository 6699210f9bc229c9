/* SPDX-License-Identifier: MIT */
/* Values of event fields (struct tsct_value of tsctrace/trace.h) as text and as JSON */
#ifndef TSCT_VALUE_TEXT_H
#define TSCT_VALUE_TEXT_H

#include <stdio.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/ctf/trace_reader.h"

/* ---- values ---------------------------------------------------------------- */

/*
 * The functions below write to @at without a NUL and return the end of the text.
 *
 * tsct_value_format() writes a value for people: text in quotes, with escapes for characters
 * that are not printable. A value of n bytes takes at most TSCT_VALUE_ROOM +
 * TSCT_TEXT_ESCAPED(n) bytes.
 */
#define TSCT_VALUE_ROOM	64
char *tsct_value_format(char *at, const struct tsct_value *value);
/* Writes a value as JSON: integers beyond 2^53, infinities and NaN are strings. A value of n
 * bytes takes at most TSCT_VALUE_ROOM + TSCT_JSON_TEXT(n) bytes. */
char *tsct_value_put_json(char *at, const struct tsct_value *value);

#endif /* TSCT_VALUE_TEXT_H */
