// SPDX-License-Identifier: MIT
#include <string.h>

#include "lib/ctf/recording.h"
#include "number_text.h"
#include "value_text.h"
#include "utf8.h"

/* ---- text ---------------------------------------------------------------- */

/* Escapes one character of @from, or one invalid byte. Returns its length in bytes. */
static size_t escape_one(char **at, const char *from, size_t left,
			 const char *special)
{
	size_t n = tsct_utf8_plain(from, left);

	if (!n) {
		memcpy(*at, "\\x", 2);
		*at = tsct_digits_bytes(*at + 2, (const __u8 *)from, 1);
		return 1;
	}
	if (strchr(special, *from))
		*(*at)++ = '\\';
	memcpy(*at, from, n);
	*at += n;
	return n;
}

/* Never escaped, whatever is special: most text */
static inline bool is_simple(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

char *tsct_value_escape(char *at, const char *text, size_t len,
			const char *special)
{
	const char *end = text + len;

	while (text < end) {
		if (is_simple(*text))
			*at++ = *text++;
		else
			text += escape_one(&at, text, end - text, special);
	}
	return at;
}

void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special)
{
	const char *end = text + len;
	char room[8], *at;

	while (text < end) {
		at = room;
		text += escape_one(&at, text, end - text, special);
		fwrite_unlocked(room, 1, at - room, to);
	}
}

void tsct_value_print_bytes(FILE *to, const struct tsct_value *v)
{
	char room[2];
	size_t i;

	for (i = 0; i < v->size; i++) {
		tsct_digits_bytes(room, v->at + i, 1);
		fwrite_unlocked(room, 1, 2, to);
	}
}

static char *format_text(char *at, const struct tsct_value *v)
{
	*at++ = '"';
	at = tsct_value_escape(at, (const char *)v->at, tsct_value_text_len(v),
			       "\"\\");
	*at++ = '"';
	return at;
}

/* ---- numbers --------------------------------------------------------------- */

static char *format_call(char *at, const char *name, __s64 number)
{
	const size_t len = strlen(name);

	memcpy(at, name, len);
	at[len] = '(';
	at = tsct_digits_signed(at + len + 1, number);
	*at++ = ')';
	return at;
}

static char *format_integer(char *at, const struct tsct_value *v)
{
	const char *name = tsct_value_syscall(v);
	__s64 value = tsct_value_integer(v);
	__u64 bits = 0;

	if (name)
		return format_call(at, name, value);
	if (v->field->format == TSCT_FORMAT_HEX) {
		/* Of a negative number only the bits of its type */
		memcpy(&bits, v->at, v->size);
		return tsct_digits_hex(at, bits);
	}
	return v->field->type == TSCT_TYPE_U64 ?
		tsct_digits_unsigned(at, (__u64)value) :
		tsct_digits_signed(at, value);
}

static char *format_real(char *at, const struct tsct_value *v)
{
	const int digits = v->field->type == TSCT_TYPE_F32 ? 9 : 17;

	return at + snprintf(at, TSCT_VALUE_ROOM, "%.*g", digits,
			     tsct_value_double(v));
}

/* ---- values ------------------------------------------------------------------ */

char *tsct_value_format(char *at, const struct tsct_value *v)
{
	switch (v->field->type) {
	case TSCT_TYPE_F32:
	case TSCT_TYPE_F64:
		return format_real(at, v);
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		return format_text(at, v);
	case TSCT_TYPE_BYTES:
		return tsct_digits_bytes(at, v->at, v->size);
	default:
		return format_integer(at, v);
	}
}

void tsct_value_print(FILE *to, const struct tsct_value *v)
{
	char room[TSCT_VALUE_ROOM];

	if (tsct_value_is_text(v)) {
		putc_unlocked('"', to);
		tsct_value_print_escaped(to, (const char *)v->at,
					 tsct_value_text_len(v), "\"\\");
		putc_unlocked('"', to);
	} else if (v->field->type == TSCT_TYPE_BYTES) {
		tsct_value_print_bytes(to, v);
	} else {
		fwrite_unlocked(room, 1, tsct_value_format(room, v) - room, to);
	}
}
