// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "report_bytes.h"

static bool make_room(struct bytes *b, size_t len)
{
	size_t room = b->room ? 2 * b->room : 4096;
	__u8 *more;

	if (b->failed || b->len + len <= b->room)
		return !b->failed;
	while (room < b->len + len)
		room *= 2;
	more = realloc(b->at, room);
	b->failed = !more;
	if (!more)
		return false;
	b->at = more;
	b->room = room;
	return true;
}

void bytes_put(struct bytes *b, const void *from, size_t len)
{
	if (!len || !make_room(b, len))
		return;
	memcpy(b->at + b->len, from, len);
	b->len += len;
}

void bytes_varint(struct bytes *b, __u64 value)
{
	__u8 out[10];
	size_t n = 0;

	do {
		out[n] = (value & 127) | (value > 127 ? 128 : 0);
		value >>= 7;
		n++;
	} while (value);
	bytes_put(b, out, n);
}

void bytes_zigzag(struct bytes *b, __s64 value)
{
	bytes_varint(b, (__u64)value << 1 ^ (value < 0 ? ~0ULL : 0));
}

void bytes_print(FILE *to, const struct bytes *b)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789+/";
	char four[4];
	size_t i, left;
	__u32 v;

	for (i = 0; i < b->len; i += 3) {
		left = b->len - i;
		v = (__u32)b->at[i] << 16 |
			(left > 1 ? (__u32)b->at[i + 1] << 8 : 0) |
			(left > 2 ? b->at[i + 2] : 0);
		four[0] = digits[v >> 18];
		four[1] = digits[v >> 12 & 63];
		four[2] = left > 1 ? digits[v >> 6 & 63] : '=';
		four[3] = left > 2 ? digits[v & 63] : '=';
		fwrite_unlocked(four, 1, sizeof(four), to);
	}
}

void bytes_free(struct bytes *b)
{
	free(b->at);
	*b = (struct bytes) { 0 };
}
