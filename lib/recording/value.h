/* SPDX-License-Identifier: MIT */
/* The fields of an event as text; see tsctrace/trace.h for what they are. */
#ifndef TSCT_VALUE_H
#define TSCT_VALUE_H

#include <stdio.h>

#include "recording/trace.h"

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
