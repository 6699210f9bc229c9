/* SPDX-License-Identifier: MIT */
/* Values of event fields (struct tsct_value of tsctrace/trace.h) as text and as JSON */
#ifndef TSCT_VALUE_TEXT_H
#define TSCT_VALUE_TEXT_H

#include <stdio.h>

#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/ctf/trace_reader.h"

/* ---- values ---------------------------------------------------------------- */

/* Prints a value for people: text in quotes, with escapes where it is not printable. */
void tsct_value_print(FILE *to, const struct tsct_value *value);

/*
 * The functions below write to @at without a NUL and return the end of the text. A value
 * of n bytes takes at most TSCT_VALUE_ROOM + TSCT_TEXT_ESCAPED(n) bytes.
 */
#define TSCT_VALUE_ROOM	64
char *tsct_value_format(char *at, const struct tsct_value *value);
/* Writes a value as JSON: integers beyond 2^53, infinities and NaN are strings. A value of n
 * bytes takes at most TSCT_VALUE_ROOM + TSCT_JSON_TEXT(n) bytes. */
char *tsct_value_put_json(char *at, const struct tsct_value *value);

/* Gets an integer field of an event. Returns false if it has none of that name. */
static inline bool tsct_value_find_integer(const struct tsct_trace_event *e, const char *name,
					   __s64 *ret)
{
	struct tsct_value v;

	if (!tsct_value_find(e, name, &v) || !tsct_value_is_integer(&v))
		return false;
	*ret = tsct_value_integer(&v);
	return true;
}

/* Returns the value of an integer field; 0: no such field */
static inline __s64 tsct_value_integer_of(const struct tsct_trace_event *e, const char *name)
{
	__s64 value = 0;

	tsct_value_find_integer(e, name, &value);
	return value;
}

#endif /* TSCT_VALUE_TEXT_H */
