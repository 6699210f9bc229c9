/* SPDX-License-Identifier: MIT */
/*
 * Writes protobuf messages to a growing text: fields in the order of the calls. There is one pass:
 * a message's length has one byte, and more only if its contents need that.
 */
#ifndef PROTOBUF_H
#define PROTOBUF_H

#include "lib/base/text.h"
#include "lib/core/port.h"

#define PB_NUMBER_MAX	20	/* largest size of a tag and a number, bytes */

static inline __u8 *pb_varint_(__u8 *at, __u64 value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (__u8)value | 0x80;
	*at++ = (__u8)value;
	return at;
}

/* Returns room for a field's tag, a number and @len bytes; NULL: out of memory, see to->failed */
static inline __u8 *pb_room_(struct tsct_text *to, size_t len)
{
	return to->room - to->len >= PB_NUMBER_MAX + len ? (__u8 *)to->at + to->len :
		(__u8 *)tsct_text_reserve(to, PB_NUMBER_MAX + len);
}

static inline void pb_number(struct tsct_text *to, __u32 field, __u64 value)
{
	__u8 *at = pb_room_(to, 0);

	if (at)
		to->len = (size_t)(pb_varint_(pb_varint_(at, field << 3), value) - (__u8 *)to->at);
}

/* A field of type int32, of which negative values have 64 bits */
static inline void pb_int32(struct tsct_text *to, __u32 field, __s64 value)
{
	pb_number(to, field, (__u64)(__s32)value);
}

/* A field of type fixed64 or double */
static inline void pb_fixed64(struct tsct_text *to, __u32 field, const void *value)
{
	__u8 *at = pb_room_(to, 0);

	if (!at)
		return;
	at = pb_varint_(at, field << 3 | 1);
	memcpy(at, value, 8);
	to->len = (size_t)(at + 8 - (__u8 *)to->at);
}

static inline void pb_bytes(struct tsct_text *to, __u32 field, const void *bytes, size_t len)
{
	__u8 *at = pb_room_(to, len);

	if (!at)
		return;
	at = pb_varint_(pb_varint_(at, field << 3 | 2), len);
	memcpy(at, bytes, len);
	to->len = (size_t)(at + len - (__u8 *)to->at);
}

static inline void pb_string(struct tsct_text *to, __u32 field, const char *text)
{
	pb_bytes(to, field, text, strlen(text));
}

/* Begins a field that is a message. Returns its place, for pb_end(). */
static inline size_t pb_begin(struct tsct_text *to, __u32 field)
{
	__u8 *at = pb_room_(to, 0);

	if (at)
		to->len = (size_t)(pb_varint_(at, field << 3 | 2) + 1 - (__u8 *)to->at);
	return to->len;
}

static inline void pb_end(struct tsct_text *to, size_t begin)
{
	const size_t len = to->len - begin;
	__u8 digits[PB_NUMBER_MAX], *at;
	size_t more;

	if (to->failed)
		return;
	at = (__u8 *)to->at + begin;
	at[-1] = (__u8)len;
	if (likely(len < 0x80) || !pb_room_(to, 0))
		return;
	at = (__u8 *)to->at + begin;
	more = (size_t)(pb_varint_(digits, len) - digits) - 1;
	memmove(at + more, at, len);
	memcpy(at - 1, digits, more + 1);
	to->len += more;
}

/* A text of any bytes, as UTF-8 */
static inline void pb_text(struct tsct_text *to, __u32 field, const char *text, size_t len)
{
	const size_t begin = pb_begin(to, field);
	char *at = tsct_text_reserve(to, 3 * len + 1);

	if (at)
		to->len += tsct_utf8_clean(at, text, len);
	pb_end(to, begin);
}

#endif /* PROTOBUF_H */
