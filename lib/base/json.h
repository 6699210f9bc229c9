/* SPDX-License-Identifier: MIT */
/*
 * JSON as text, for all output of the tools. Integers beyond 2^53 become strings, because
 * many readers store numbers as double. A real number becomes the shortest text that is read
 * as the same number. Bytes that are not UTF-8 become U+FFFD.
 */
#ifndef TSCT_BASE_JSON_H
#define TSCT_BASE_JSON_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Largest magnitude up to which a double represents every integer exactly */
#define TSCT_JSON_EXACT		(1LL << 53)

/*
 * These functions write to @at without a NUL, and return the end of the text. A number takes
 * at most TSCT_JSON_NUMBER bytes, a text of n bytes takes at most TSCT_JSON_TEXT(n).
 */
#define TSCT_JSON_NUMBER	32
#define TSCT_JSON_TEXT(n)	(6 * (size_t)(n) + 2)
char *tsct_json_put_text(char *at, const char *text, size_t len);
char *tsct_json_put_signed(char *at, __s64 value);
char *tsct_json_put_unsigned(char *at, __u64 value);
/* Infinities and NaN become strings. @single: @value was converted from a float */
char *tsct_json_put_real(char *at, double value, bool single);

/* Returns a JSON string that is made from any bytes; NULL: out of memory. */
json_t *tsct_json_text(const char *text, size_t len);

/* Returns a JSON number or, from 2^63 on, which json_int_t cannot hold, a JSON string; NULL:
 * out of memory. */
json_t *tsct_json_count(__u64 value);

/* Returns a JSON number; JSON null if @value is infinite or not a number. NULL: out of memory. */
json_t *tsct_json_real(double value);

/* Returns the number in @json, which tsct_json_count() made; 0: @json has no number. */
__u64 tsct_json_count_of(const json_t *json);

enum tsct_json_style {
	TSCT_JSON_LINE,		/* no blanks */
	TSCT_JSON_INDENTED,	/* one line per member, indented by 2 per level */
	TSCT_JSON_HTML,		/* no blanks; allowed in an HTML element: only ASCII, and
				 * no <, > and & */
};

/* Returns the NUL-terminated text of @json, malloc'ed; NULL: out of memory, or @json is NULL. */
char *tsct_json_format(const json_t *json, enum tsct_json_style style);

#endif /* TSCT_BASE_JSON_H */
