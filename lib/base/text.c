// SPDX-License-Identifier: MIT
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "text.h"

char *tsct_text_reserve(struct tsct_text *text, size_t size)
{
	if (!text->failed)
		text->failed = tsct_array_reserve(&text->at, &text->room, text->len + size, 1);
	return text->failed ? NULL : text->at + text->len;
}

void tsct_text_add(struct tsct_text *text, const void *from, size_t len)
{
	char *to = tsct_text_reserve(text, len);

	if (!to)
		return;
	memcpy(to, from, len);
	text->len += len;
}

void tsct_text_varint(struct tsct_text *text, __u64 value)
{
	__u8 out[10];
	size_t nr = 0;

	for (; value > 127; value >>= 7)
		out[nr++] = (__u8)(value | 128);
	out[nr++] = (__u8)value;
	tsct_text_add(text, out, nr);
}

void tsct_text_vprint(struct tsct_text *text, const char *format, va_list args)
{
	va_list again;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	if (len >= 0 && tsct_text_reserve(text, (size_t)len + 1)) {
		vsnprintf(text->at + text->len, (size_t)len + 1, format, again);
		text->len += (size_t)len;
	}
	va_end(again);
}

void tsct_text_print(struct tsct_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tsct_text_vprint(text, format, args);
	va_end(args);
}

bool tsct_has_suffix(const char *text, const char *suffix)
{
	const size_t len = strlen(text), end = strlen(suffix);

	return len > end && !strcmp(text + len - end, suffix);
}

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

bool tsct_digits_read(const char **at, __u64 max, __u64 *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 10);
	*at = end;
	return !errno && *ret <= max;
}

bool tsct_digits_read_all(const char *text, __u64 max, __u64 *ret)
{
	return tsct_digits_read(&text, max, ret) && !*text;
}

bool tsct_uuid_read(const char *text, __u8 ret_uuid[16])
{
	int i;

	for (i = 0; i < 16; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
			return false;
		if (strspn(text, "0123456789abcdef") < 2 ||
		    sscanf(text, "%2hhx", &ret_uuid[i]) != 1)
			return false;
		text += 2;
	}
	return !*text;
}

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
		at = mempcpy(at, n ? from : TSCT_UTF8_REPLACEMENT, n ? n : 3);
		n = n ? n : 1;
	}
	*at = '\0';
	return at - to;
}

/* ---- escaping ------------------------------------------------------------ */

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

char *tsct_text_escape(char *at, const char *text, size_t len,
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

void tsct_text_print_escaped(FILE *to, const char *text, size_t len,
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

/* ---- real numbers ------------------------------------------------------------ */

/* Returns true if the number in @text is @value. */
static bool reads_as(const char *text, double value, bool single)
{
	return single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
}

char *tsct_digits_real(char *at, double value, bool single)
{
	/* Every value needs at most 17 digits (float: 9). A normal value is printed with at
	 * least 15 (float: 6): if fewer are enough, %g drops the zeros at the end. */
	int digits = fabs(value) < (single ? FLT_MIN : DBL_MIN) ? 1 : single ? 6 : 15;
	const int most = single ? 9 : 17;
	int len = sprintf(at, "%.*g", digits, value);

	while (digits < most && !reads_as(at, value, single))
		len = sprintf(at, "%.*g", ++digits, value);
	return at + len;
}
