/* SPDX-License-Identifier: MIT */
/* Text from outside, which may be anything, where it has to be UTF-8. */
#ifndef TSCT_UTF8_H
#define TSCT_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at @text, of which @left remain; or 0. */
size_t tsct_utf8_len(const char *text, size_t left);

/* The same, 0 also where it would act on a terminal (C0, DEL, C1). */
size_t tsct_utf8_plain(const char *text, size_t left);

/*
 * Copies @len bytes; each that is not part of a character becomes U+FFFD.
 * @to has room for 3 * @len + 1 bytes. Returns the length, without the NUL.
 */
size_t tsct_utf8_clean(char *to, const char *from, size_t len);

#endif /* TSCT_UTF8_H */
