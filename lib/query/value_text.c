// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ctf/recording.h"
#include "value_text.h"

const char tsct_digits_two[] =
	"00010203040506070809"
	"10111213141516171819"
	"20212223242526272829"
	"30313233343536373839"
	"40414243444546474849"
	"50515253545556575859"
	"60616263646566676869"
	"70717273747576777879"
	"80818283848586878889"
	"90919293949596979899";

const __u64 tsct_digits_ten[20] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
	1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000,
	100000000000000, 1000000000000000, 10000000000000000,
	100000000000000000, 1000000000000000000, 10000000000000000000ULL,
};

/* ---- UTF-8 --------------------------------------------------------------- */

size_t tsct_utf8_decode(const char *text, size_t left, __u32 *ret_code)
{
	static const __u32 min_code[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const __u8 *c = (const __u8 *)text;
	__u32 code = c[0];
	size_t len = 1, i;

	if (c[0] >= 0x80) {
		if (c[0] < 0xc0 || c[0] > 0xf7)
			return 0;
		len = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
		code &= 0x7f >> len;
	}
	if (len > left)
		return 0;
	for (i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	if (len > 1 && (code < min_code[len] || code > 0x10ffff ||
			(code >= 0xd800 && code < 0xe000)))
		return 0;
	*ret_code = code;
	return len;
}

size_t tsct_utf8_plain(const char *text, size_t left)
{
	__u32 code = 0;
	size_t len = tsct_utf8_decode(text, left, &code);

	return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : len;
}

size_t tsct_utf8_clean(char *to, const char *from, size_t len)
{
	const char *end = from + len;
	char *at = to;
	size_t n;

	for (; from < end; from += n) {
		n = tsct_utf8_len(from, end - from);
		at = mempcpy(at, n ? from : "\xef\xbf\xbd", n ? n : 3);
		n = n ? n : 1;
	}
	*at = '\0';
	return at - to;
}

/* ---- text ---------------------------------------------------------------- */

/* Appends the character (or invalid byte) at @from to the text at *@at, escaped.
 * Returns the number of bytes read from @from. */
static size_t escape_one(char **at, const char *from, size_t left,
			 const char *special)
{
	size_t n = tsct_utf8_plain(from, left);

	if (!n) {
		*at = tsct_digits_bytes(stpcpy(*at, "\\x"), (const __u8 *)from, 1);
		return 1;
	}
	if (strchr(special, *from))
		*(*at)++ = '\\';
	*at = mempcpy(*at, from, n);
	return n;
}

char *tsct_value_escape(char *at, const char *text, size_t len,
			const char *special)
{
	const char *end = text + len;

	while (text < end) {
		/* Fast path for printable ASCII other than quote and backslash: these
		 * characters need no escape, as callers pass only quotes and
		 * backslashes in @special. */
		if (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
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

/* ---- values ------------------------------------------------------------------ */

char *tsct_value_format(char *at, const struct tsct_value *v)
{
	const char *call;
	__u64 bits = 0;
	__s64 value;

	switch (v->field->type) {
	case TSCT_TYPE_F32:
	case TSCT_TYPE_F64:
		return at + snprintf(at, TSCT_VALUE_ROOM, "%.*g",
				     v->field->type == TSCT_TYPE_F32 ? 9 : 17,
				     tsct_value_double(v));
	case TSCT_TYPE_STRING:
	case TSCT_TYPE_CHARS:
		*at++ = '"';
		at = tsct_value_escape(at, (const char *)v->at, tsct_value_text_len(v),
				       "\"\\");
		*at++ = '"';
		return at;
	case TSCT_TYPE_BYTES:
		return tsct_digits_bytes(at, v->at, v->size);
	}
	call = tsct_value_syscall(v);
	value = tsct_value_integer(v);
	if (call) {
		at = tsct_digits_signed(stpcpy(stpcpy(at, call), "("), value);
		*at++ = ')';
		return at;
	}
	if (v->field->format == TSCT_FORMAT_HEX) {
		/* Only the bytes of the value's type are shown: a negative int has no
		 * leading ffffffff. */
		memcpy(&bits, v->at, v->size);
		return tsct_digits_hex(at, bits);
	}
	return v->field->type == TSCT_TYPE_U64 ?
		tsct_digits_unsigned(at, (__u64)value) : tsct_digits_signed(at, value);
}

void tsct_value_print(FILE *to, const struct tsct_value *v)
{
	char room[TSCT_VALUE_ROOM];
	size_t i;

	if (tsct_value_is_text(v)) {
		putc_unlocked('"', to);
		tsct_value_print_escaped(to, (const char *)v->at,
					 tsct_value_text_len(v), "\"\\");
		putc_unlocked('"', to);
	} else if (v->field->type == TSCT_TYPE_BYTES) {
		for (i = 0; i < v->size; i++)
			fwrite_unlocked(room, 1, tsct_digits_bytes(room, v->at + i, 1) -
					room, to);
	} else {
		fwrite_unlocked(room, 1, tsct_value_format(room, v) - room, to);
	}
}

/* ---- JSON -------------------------------------------------------------------- */

json_t *tsct_json_text(const char *text, size_t len)
{
	json_t *json = json_stringn(text, len);
	char *clean;

	if (json)
		return json;
	clean = malloc(3 * len + 1);
	if (!clean)
		return NULL;
	json = json_stringn(clean, tsct_utf8_clean(clean, text, len));
	free(clean);
	return json;
}

json_t *tsct_json_value(const struct tsct_value *v, __s64 exact)
{
	const char *call;
	__s64 value;
	double real;
	json_t *json;
	char *hex;

	if (tsct_value_is_integer(v)) {
		call = tsct_value_syscall(v);
		value = tsct_value_integer(v);
		if (call)
			return json_string(call);
		if (tsct_value_exceeds_s64(v))
			return json_sprintf("%" PRIu64, (uint64_t)value);
		return exact && (value > exact || value < -exact) ?
			json_sprintf("%" PRId64, (int64_t)value) : json_integer(value);
	}
	if (tsct_value_is_float(v)) {
		real = tsct_value_double(v);
		return isfinite(real) ? json_real(real) :
			json_string(isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
	}
	if (tsct_value_is_text(v))
		return tsct_json_text((const char *)v->at, tsct_value_text_len(v));
	hex = malloc(2 * (size_t)v->size + 1);
	if (!hex)
		return NULL;
	json = json_stringn(hex, tsct_digits_bytes(hex, v->at, v->size) - hex);
	free(hex);
	return json;
}
