/* SPDX-License-Identifier: MIT */
/* TSDL, the language of CTF 1.8 metadata: writing it, and reading our own back */
#ifndef TSCT_TSDL_H
#define TSCT_TSDL_H

#include <stdio.h>

#include "lib/core/port.h"

/* ---- writer, in metadata_write.c ------------------------------------------ */

/* A text in quotes, with escapes; NULL is the empty text. */
void tsct_tsdl_put_string(FILE *to, const char *text);

/* A line of the block `env` with a text; NULL is the empty text. */
void tsct_tsdl_put_text(FILE *to, const char *key, const char *value);

/* 8-4-4-4-12 hexadecimal digits, without quotes */
void tsct_tsdl_put_uuid(FILE *to, const __u8 uuid[16]);

/* The types of fields, named as in tsct_event_define(), and the block `trace` */
void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16]);

/* The block `event` of a definition */
void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream);

/* The same with another ID, and a context field unless @context is NULL */
void tsct_tsdl_put_event_as(FILE *to, const struct tsct_event_def *def, __u32 stream,
			__u32 id, const char *context);

/* ---- parser --------------------------------------------------------------- */

/* Of the lines in the block `env`: <tab>key = "text"; or <tab>key = 123; */
struct tsct_tsdl_parser {
	const char *at;		/* begin of the next line */
	unsigned int line;	/* its number, from 1, for error texts */
	char *err_text;
	size_t err_size;
};

/* One line */
struct tsct_tsdl_entry {
	char key[64];
	char *value;		/* malloc'ed; unescaped; digits of a number */
	bool is_string;
};

/* Writes "metadata, line N: " and the text to @err_text. Returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int tsct_tsdl_error(struct tsct_tsdl_parser *p, const char *format, ...);

/*
 * Parses a line and moves to the next. @e->value is to be freed in any case.
 * 0; -EINVAL with an error text; -ENOMEM.
 */
int tsct_tsdl_entry(struct tsct_tsdl_parser *p, struct tsct_tsdl_entry *e);

/* A decimal number at *at, which moves behind it; false: there is none, or it does
 * not fit. */
bool tsct_tsdl_parse_u64(const char **at, __u64 *ret_number);
bool tsct_tsdl_parse_s64(const char **at, __s64 *ret_number);

/* "name=" at *at, which moves behind it */
bool tsct_tsdl_parse_name(const char **at, const char *name);

/* The whole text is a number of at most @max. */
bool tsct_tsdl_parse_number(const char *text, __u64 max, __u64 *ret_number);

/* The whole text is 8-4-4-4-12 lower-case hexadecimal digits. */
bool tsct_tsdl_parse_uuid(const char *text, __u8 uuid[16]);

#endif /* TSCT_TSDL_H */
