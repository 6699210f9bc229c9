// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <string.h>

#include "utf8.h"

/* Returns the length of a character and its code point; 0: there is none. */
static size_t decode(const unsigned char *c, size_t left, uint32_t *ret_code)
{
	static const uint32_t min_code[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code = c[0];
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

size_t tsct_utf8_len(const char *text, size_t left)
{
	uint32_t code;

	return decode((const void *)text, left, &code);
}

size_t tsct_utf8_plain(const char *text, size_t left)
{
	uint32_t code = 0;
	size_t len = decode((const void *)text, left, &code);

	return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : len;
}

size_t tsct_utf8_clean(char *to, const char *from, size_t len)
{
	const char *end = from + len;
	char *at = to;
	size_t n;

	for (; from < end; from += n) {
		n = tsct_utf8_len(from, end - from);
		if (n) {
			memcpy(at, from, n);
			at += n;
		} else {
			memcpy(at, "\xef\xbf\xbd", 3);
			at += 3;
			n = 1;
		}
	}
	*at = '\0';
	return at - to;
}
