/* SPDX-License-Identifier: MIT */
/* The fields of an event as text; see tsctrace/trace.h for what they are. */
#ifndef TSCT_VALUE_H
#define TSCT_VALUE_H

#include <stdio.h>

#include "lib/ctf/trace_reader.h"

/* As a person reads it; text in quotes, escaped where it is not plain. */
void tsct_value_print(FILE *to, const struct tsct_value *value);

/* Raw bytes in hexadecimal */
void tsct_value_print_bytes(FILE *to, const struct tsct_value *value);

/* Text escaped where it is not plain UTF-8 or has a character of @special */
void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special);

/*
 * The same into memory, without a NUL; return where it ends. A value takes at most
 * TSCT_VALUE_ROOM bytes and what tsct_value_escape() may take for its own.
 */
#define TSCT_VALUE_ROOM	64
#define TSCT_VALUE_ESCAPED(len)	(4 * (size_t)(len))	/* at most */
char *tsct_value_format(char *at, const struct tsct_value *value);
/* @special: quotes, backslashes */
char *tsct_value_escape(char *at, const char *text, size_t len,
			const char *special);

#endif /* TSCT_VALUE_H */
