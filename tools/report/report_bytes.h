/* SPDX-License-Identifier: MIT */
/* Events in the page's format: a growing byte buffer, written as base64 */
#ifndef REPORT_BYTES_H
#define REPORT_BYTES_H

#include <stdio.h>

#include "lib/core/port.h"

struct bytes {
	__u8 *at;
	size_t len, room;
	bool failed;		/* out of memory: later bytes are dropped */
};

void bytes_put(struct bytes *bytes, const void *from, size_t len);

/* 7 bits in each byte, the low ones first; the top bit means that more follow */
void bytes_varint(struct bytes *bytes, __u64 value);

/* Writes 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
void bytes_zigzag(struct bytes *bytes, __s64 value);

void bytes_print(FILE *to, const struct bytes *bytes);
void bytes_free(struct bytes *bytes);

#endif /* REPORT_BYTES_H */
