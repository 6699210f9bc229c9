/* SPDX-License-Identifier: MIT */
/* TSDL, the language of CTF 1.8 metadata: writing it, and parsing the block `env` */
#ifndef TSCT_TSDL_H
#define TSCT_TSDL_H

#include <stdio.h>

#include "lib/core/port.h"

/* ---- writer, in metadata_write.c ------------------------------------------ */

/* Writes a text in quotes, with escapes; NULL is written as the empty text. */
void tsct_tsdl_put_string(FILE *to, const char *text);

/* Writes a line of the block `env` with a text; NULL is the empty text. */
void tsct_tsdl_put_text(FILE *to, const char *key, const char *value);

/* Writes a UUID as 8-4-4-4-12 hexadecimal digits, without quotes. */
void tsct_tsdl_put_uuid(FILE *to, const __u8 uuid[16]);

/* Writes the block `trace`, and types of fields, named as in tsct_event_define(). */
void tsct_tsdl_put_head(FILE *to, const __u8 uuid[16]);

/* Writes the block `event` of a definition; @context: its context field, NULL: none */
void tsct_tsdl_put_event(FILE *to, const struct tsct_event_def *def, __u32 stream,
			 __u32 id, const char *context);

/* ---- parser --------------------------------------------------------------- */

/* Parser of the lines in the block `env`: <tab>key = "text"; or <tab>key = 123; */
struct tsct_tsdl_parser {
	/* unparsed text: the next line and all lines after it */
	const char *at;
	unsigned int line;	/* number of the next line, from 1, for error texts */
	char *err_text;
	size_t err_size;
};

/* A parsed line of the block `env` */
struct tsct_tsdl_entry {
	char key[64];
	/* value: unescaped text, or a number's digits; malloc'ed */
	char *value;
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

/* Parses a decimal number at *at, and moves *at behind the number. False: no number, or
 * too large */
bool tsct_tsdl_parse_u64(const char **at, __u64 *ret_number);
bool tsct_tsdl_parse_s64(const char **at, __s64 *ret_number);

/* Skips the text "name=" at *at. Returns false if *at is another text. */
bool tsct_tsdl_parse_name(const char **at, const char *name);

/* Parses a text that is a number of at most @max. False: any other text */
bool tsct_tsdl_parse_number(const char *text, __u64 max, __u64 *ret_number);

/* Parses 8-4-4-4-12 lower-case hexadecimal digits. False: the text differs */
bool tsct_tsdl_parse_uuid(const char *text, __u8 uuid[16]);

#endif /* TSCT_TSDL_H */
