/* SPDX-License-Identifier: MIT */
/* What recordings and exports say in TSDL (CTF 1.8) in the same words. */
#ifndef TSCT_RECORD_TSDL_H
#define TSCT_RECORD_TSDL_H

#include <stdio.h>

#include "lib/core/port.h"

/* A text in quotes, with escapes; NULL is the empty text. */
void tsct_tsdl_put_string(FILE *to, const char *text);

/* A line of `env`; NULL is the empty text. */
void tsct_tsdl_put_text(FILE *to, const char *key, const char *value);

void tsct_tsdl_put_uuid(FILE *to, const __u8 uuid[16]);

/* The types of fields, by the names tsct_event_define() gives them, and `trace` */
void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16]);

/* An event and its fields */
void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream);

/* The same by another id; with @context, unless that is NULL */
void tsct_tsdl_put_event_as(FILE *to, const struct tsct_event_def *def, __u32 stream,
			__u32 id, const char *context);

#endif /* TSCT_RECORD_TSDL_H */
