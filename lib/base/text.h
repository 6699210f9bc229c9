/* SPDX-License-Identifier: MIT */
/* Texts that grow, UTF-8 in untrusted bytes, and numbers as text */
#ifndef TSCT_BASE_TEXT_H
#define TSCT_BASE_TEXT_H

#include <linux/types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A text that grows. It is all zero at first; free(text.at) frees it. */
struct tsct_text {
	char *at;
	size_t len, room;
	bool failed;		/* true: memory was short, so the text is not complete */
};

/*
 * Makes room for @size bytes after the text. Returns the address of the room, or NULL if memory is
 * short, or was short in an earlier call. The caller adds the number of written bytes to text->len.
 */
char *tsct_text_reserve(struct tsct_text *text, size_t size);
void tsct_text_add(struct tsct_text *text, const void *from, size_t len);
/* Appends an integer, 7 bits per byte, low bits first; a byte's top bit: more bytes follow. */
void tsct_text_varint(struct tsct_text *text, __u64 value);
__attribute__((format(printf, 2, 3)))
void tsct_text_print(struct tsct_text *text, const char *format, ...);
__attribute__((format(printf, 2, 0)))
void tsct_text_vprint(struct tsct_text *text, const char *format, va_list args);

/* Returns true if @text ends with @suffix, and is longer than @suffix. */
bool tsct_has_suffix(const char *text, const char *suffix);

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

/* Returns the length of the first character as tsct_utf8_len() does, but 0 for a control
 * character, which a terminal would interpret. */
size_t tsct_utf8_plain(const char *text, size_t left);

/* U+FFFD, which stands for a byte that is not part of a character */
#define TSCT_UTF8_REPLACEMENT	"\xef\xbf\xbd"

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

/*
 * Writes the shortest decimal number that reads back as @value: at most 24 bytes, and a NUL.
 * @single: @value was converted from a float, and the text is read back as a float
 */
char *tsct_digits_real(char *at, double value, bool single);

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

/*
 * Reads a decimal number at *@at, and moves *@at past it. Unlike strtoull(), accepts neither
 * blanks nor a sign. Returns false if there is no number, or the number exceeds @max.
 */
bool tsct_digits_read(const char **at, __u64 max, __u64 *ret);

/* Reads a number like tsct_digits_read(); @text must have nothing else. */
bool tsct_digits_read_all(const char *text, __u64 max, __u64 *ret);

/* Reads a UUID: 8-4-4-4-12 lower-case hexadecimal digits. Returns false for any other text. */
bool tsct_uuid_read(const char *text, __u8 ret_uuid[16]);

/* ---- escaping ------------------------------------------------------------------ */

/* Largest size of a text of @len bytes after it is escaped, bytes */
#define TSCT_TEXT_ESCAPED(len)	(4 * (size_t)(len))
/*
 * Writes @text to @at, with escapes for bytes that are not printable UTF-8, and for the
 * characters in @special, such as quotes. Writes no NUL. Returns the end of the text.
 */
char *tsct_text_escape(char *at, const char *text, size_t len, const char *special);
void tsct_text_print_escaped(FILE *to, const char *text, size_t len,
			     const char *special);

#endif /* TSCT_BASE_TEXT_H */
