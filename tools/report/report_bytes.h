/* SPDX-License-Identifier: MIT */
/* Events as a page carries them: bytes that grow, and become text of base64 */
#ifndef REPORT_BYTES_H
#define REPORT_BYTES_H

#include <stdio.h>

#include "lib/core/port.h"

struct bytes {
	__u8 *at;
	size_t len, room;
	bool failed;		/* no memory: nothing more is put into it */
};

void bytes_put(struct bytes *bytes, const void *from, size_t len);

/* 7 bits in each byte, the low ones first; the top bit: there are more */
void bytes_varint(struct bytes *bytes, __u64 value);

/* 0, -1, 1, -2, ... as 0, 1, 2, 3, ... */
void bytes_zigzag(struct bytes *bytes, __s64 value);

void bytes_print(FILE *to, const struct bytes *bytes);
void bytes_free(struct bytes *bytes);

#endif /* REPORT_BYTES_H */
