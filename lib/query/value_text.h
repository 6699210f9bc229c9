/* SPDX-License-Identifier: MIT */
/* Fields of an event (struct tsct_value of tsctrace/trace.h) as text */
#ifndef TSCT_VALUE_TEXT_H
#define TSCT_VALUE_TEXT_H

#include <stdio.h>

#include "lib/ctf/trace_reader.h"

/* For reading; text in quotes, with escapes where it is not printable. */
void tsct_value_print(FILE *to, const struct tsct_value *value);

/* Raw bytes in hexadecimal */
void tsct_value_print_bytes(FILE *to, const struct tsct_value *value);

/* Text with escapes for all but printable UTF-8, and for the characters of @special */
void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special);

/*
 * The same into memory, without a NUL; return the end of the text. A value takes at most
 * TSCT_VALUE_ROOM bytes and TSCT_VALUE_ESCAPED() of its size.
 */
#define TSCT_VALUE_ROOM	64
#define TSCT_VALUE_ESCAPED(len)	(4 * (size_t)(len))	/* its longest result */
char *tsct_value_format(char *at, const struct tsct_value *value);
/* @special: characters to put a backslash before, such as quotes */
char *tsct_value_escape(char *at, const char *text, size_t len,
			const char *special);

#endif /* TSCT_VALUE_TEXT_H */
