/* SPDX-License-Identifier: MIT */
/* Values of event fields (struct tsct_value of tsctrace/trace.h) as text and as JSON */
#ifndef TSCT_VALUE_TEXT_H
#define TSCT_VALUE_TEXT_H

#include <stdio.h>

#include "lib/ctf/trace_reader.h"

/* ---- values ---------------------------------------------------------------- */

/* Prints a value for people: text in quotes, with escapes where it is not printable. */
void tsct_value_print(FILE *to, const struct tsct_value *value);

/* Prints text; escapes bytes that are no printable UTF-8, and characters of @special. */
void tsct_value_print_escaped(FILE *to, const char *text, size_t len,
			      const char *special);

/*
 * The functions below write to @at without a NUL and return the end of the text. A value
 * of n bytes takes at most TSCT_VALUE_ROOM + TSCT_VALUE_ESCAPED(n) bytes.
 */
#define TSCT_VALUE_ROOM	64
/* size of the longest escaped text of @len bytes, bytes */
#define TSCT_VALUE_ESCAPED(len)	(4 * (size_t)(len))
char *tsct_value_format(char *at, const struct tsct_value *value);
/* Escapes a text. @special: characters that get a backslash, such as quotes */
char *tsct_value_escape(char *at, const char *text, size_t len,
			const char *special);

/* ---- JSON; NULL: out of memory ------------------------------------------------ */

struct json_t;

/* Makes a JSON string of any bytes; bytes that are not UTF-8 become U+FFFD. */
struct json_t *tsct_json_text(const char *text, size_t len);

/*
 * tsct_json_value - get the value of a field as JSON
 * @exact: integers of a larger magnitude become strings, for readers that store numbers
 *	as double; 0: all signed 64-bit integers are numbers
 *
 * Integers from 2^63 on, infinities and NaNs become strings.
 */
struct json_t *tsct_json_value(const struct tsct_value *value, __s64 exact);

/* ---- UTF-8 of untrusted text ---------------------------------------------------- */

/*
 * Decodes the first character of @text, which has @left bytes. Returns the character's
 * length in bytes, and its code point; 0: @text does not begin with valid UTF-8.
 */
size_t tsct_utf8_decode(const char *text, size_t left, __u32 *ret_code);

static inline size_t tsct_utf8_len(const char *text, size_t left)
{
	__u32 code;

	return tsct_utf8_decode(text, left, &code);
}

/* Returns the same as tsct_utf8_len(), but 0 for control characters, which terminals
 * interpret. */
size_t tsct_utf8_plain(const char *text, size_t left);

/*
 * Copies @len bytes of text; each byte that is not part of a character becomes U+FFFD.
 * @to has room for 3 * @len + 1 bytes. Returns the length, without the NUL.
 */
size_t tsct_utf8_clean(char *to, const char *from, size_t len);

/* ---- numbers: write to @at without a NUL, return the end of the text ----------- */

/* two-digit numbers "00" to "99", one after another */
extern const char tsct_digits_two[];
extern const __u64 tsct_digits_ten[20];		/* powers of ten, by exponent */

/* Returns the number of decimal digits of @value. */
static inline unsigned int tsct_digits_count(__u64 value)
{
	unsigned int about = (64 - __builtin_clzll(value | 1)) * 1233 >> 12;

	return about + (value >= tsct_digits_ten[about]) + !value;
}

/* Writes the last @nr decimal digits of @value, padded with zeros. */
static inline char *tsct_digits_fixed(char *at, __u64 value, unsigned int nr)
{
	char *to = at + nr;

	while (to - at >= 2) {
		to -= 2;
		memcpy(to, &tsct_digits_two[value % 100 * 2], 2);
		value /= 100;
	}
	if (to > at)
		*at = (char)('0' + value % 10);
	return at + nr;
}

static inline char *tsct_digits_unsigned(char *at, __u64 value)
{
	if (value < 10) {
		*at = (char)('0' + value);
		return at + 1;
	}
	return tsct_digits_fixed(at, value, tsct_digits_count(value));
}

static inline char *tsct_digits_signed(char *at, __s64 value)
{
	if (value >= 0)
		return tsct_digits_unsigned(at, (__u64)value);
	*at = '-';
	return tsct_digits_unsigned(at + 1, -(__u64)value);
}

/* Writes a number as 0x and hexadecimal digits, without leading zeros. */
static inline char *tsct_digits_hex(char *at, __u64 value)
{
	unsigned int nr = (67 - (unsigned int)__builtin_clzll(value | 1)) / 4, i;

	*at++ = '0';
	*at++ = 'x';
	for (i = nr; i--; value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	return at + nr;
}

/* Writes two hexadecimal digits for each byte of @bytes. */
static inline char *tsct_digits_bytes(char *at, const __u8 *bytes, size_t len)
{
	for (; len--; bytes++) {
		*at++ = "0123456789abcdef"[*bytes >> 4];
		*at++ = "0123456789abcdef"[*bytes & 15];
	}
	return at;
}

/* Writes a decimal number, with spaces before the number to fill @width columns; @width
 * is at most 8. A number of more than @width digits is written in full. */
static inline char *tsct_digits_right(char *at, __u64 value, unsigned int width)
{
	const unsigned int nr = tsct_digits_count(value);

	if (width > nr) {
		memcpy(at, "        ", 8);
		at += width - nr;
	}
	return tsct_digits_fixed(at, value, nr);
}

#endif /* TSCT_VALUE_TEXT_H */
