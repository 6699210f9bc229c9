/* SPDX-License-Identifier: MIT */
/* The fields of an event, one by one. */
#ifndef TSCT_VALUE_H
#define TSCT_VALUE_H

#include <stdio.h>

#include "recording/trace.h"

struct tsct_value {
	const struct tsct_field *field;
	const __u8 *at;
	size_t size;
};

/* The next field, in order; *nr and *pos start at 0. False after the last. */
bool tsct_value_next(const struct tsct_trace_event *event, unsigned int *nr,
		     size_t *pos, struct tsct_value *ret_value);

/* The field of that name; false if the event has none. */
bool tsct_value_find(const struct tsct_trace_event *event, const char *name,
		     struct tsct_value *ret_value);

static inline bool tsct_value_is_integer(const struct tsct_value *value)
{
	return value->field->type <= TSCT_TYPE_S64;
}

static inline bool tsct_value_is_real(const struct tsct_value *value)
{
	return value->field->type == TSCT_TYPE_F32 ||
		value->field->type == TSCT_TYPE_F64;
}

static inline bool tsct_value_is_text(const struct tsct_value *value)
{
	return value->field->type == TSCT_TYPE_STRING ||
		value->field->type == TSCT_TYPE_CHARS;
}

/* An integer field's value; u64 as its bits. */
__s64 tsct_value_integer(const struct tsct_value *value);

/* Is it an unsigned one, beyond what the above can say? */
bool tsct_value_is_huge(const struct tsct_value *value);

/* f32 or f64 */
double tsct_value_real(const struct tsct_value *value);

/* Text: what of its bytes is before a NUL */
size_t tsct_value_text_len(const struct tsct_value *value);

/* The system call that an integer field of that format names, or NULL. */
const char *tsct_value_syscall(const struct tsct_value *value);

/* As a person reads it; text in quotes, escaped where it is not plain. */
void tsct_value_print(FILE *to, const struct tsct_value *value);

/* Raw bytes in hexadecimal */
void tsct_value_print_bytes(FILE *to, const struct tsct_value *value);

/* Text escaped where it is not plain UTF-8 or has a character of @special */
void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special);

/* All behind the time of a line of `dump`: CPU, thread, event, fields */
void tsct_value_print_line(FILE *to, const struct tsct_trace_event *event);

#endif /* TSCT_VALUE_H */
