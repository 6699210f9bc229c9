/* SPDX-License-Identifier: MIT */
/* TSDL, the language of CTF 1.8 metadata: what recordings and exports have in common */
#ifndef TSCT_TSDL_H
#define TSCT_TSDL_H

#include <stdio.h>

#include "lib/core/port.h"

/* Writes a line of the block `env` with a text; NULL is the empty text. */
void tsct_tsdl_put_text(FILE *to, const char *key, const char *value);

/* Writes the block `trace`, and types of fields, named as in tsct_event_define(). */
void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16]);

/* Writes the block `event` of a definition; @context: its context field, NULL: none */
void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream,
			 __u32 id, const char *context);

#endif /* TSCT_TSDL_H */
