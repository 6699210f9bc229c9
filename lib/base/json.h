/* SPDX-License-Identifier: MIT */
/*
 * Text of JSON, for all that the tools print. Integers beyond 2^53 become strings, because
 * many readers store numbers as double; real numbers are the shortest text from which the
 * same number is read; bytes that are not UTF-8 become U+FFFD.
 */
#ifndef TSCT_BASE_JSON_H
#define TSCT_BASE_JSON_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Magnitude up to which all integers are exact as double */
#define TSCT_JSON_EXACT		(1LL << 53)

/*
 * These functions write to @at without a NUL, and return the end of the text. A number takes
 * at most TSCT_JSON_NUMBER bytes, a text of n bytes TSCT_JSON_TEXT(n).
 */
#define TSCT_JSON_NUMBER	32
#define TSCT_JSON_TEXT(n)	(6 * (size_t)(n) + 2)
char *tsct_json_put_text(char *at, const char *text, size_t len);
char *tsct_json_put_signed(char *at, __s64 value);
char *tsct_json_put_unsigned(char *at, __u64 value);
/* Infinities and NaN become strings. @single: the number was a float */
char *tsct_json_put_real(char *at, double value, bool single);

/* Makes a JSON string of any bytes. NULL: out of memory */
json_t *tsct_json_text(const char *text, size_t len);

/* Makes a number; from 2^63 on, which json_int_t has not, a string. NULL: out of memory */
json_t *tsct_json_count(__u64 value);

/* Returns the number that tsct_json_count() made; 0: @json is none. */
__u64 tsct_json_count_of(const json_t *json);

enum tsct_json_style {
	TSCT_JSON_LINE,		/* no blanks */
	TSCT_JSON_INDENTED,	/* a line per member, indented by 2 */
	TSCT_JSON_HTML,		/* no blanks; may stand in an HTML element: ASCII alone,
				 * without <, > and & */
};

/* Returns @json as text with a NUL, malloc'ed, or NULL: out of memory, also if @json is NULL. */
char *tsct_json_format(const json_t *json, enum tsct_json_style style);

#endif /* TSCT_BASE_JSON_H */
