/* SPDX-License-Identifier: MIT */
/* Build ids of programs and libraries, as bytes and as text */
#ifndef TSCT_BUILD_ID_H
#define TSCT_BUILD_ID_H

#include <linux/types.h>
#include <stddef.h>

#define TSCT_BUILD_ID_MAX	20	/* size of a build id, bytes */
#define TSCT_BUILD_ID_TEXT	(2 * TSCT_BUILD_ID_MAX + 1)

/* Converts a build id from hexadecimal text. Returns its length in bytes. */
size_t tsct_build_id_bytes(const char *text, __u8 build_id[TSCT_BUILD_ID_MAX]);

/*
 * Converts a build id to text. The kernel gives 20 bytes, and pads shorter ids with zeros;
 * but the last bytes of an id may be zeros themselves. So the text ends at the last byte
 * that is not zero, or at the next usual length (8, 16 or 20 bytes) if that is less than 4
 * bytes more. Two ids that differ only in zeros at their end have the same text.
 */
void tsct_build_id_text(const __u8 *build_id, size_t len, char text[TSCT_BUILD_ID_TEXT]);

#endif /* TSCT_BUILD_ID_H */
