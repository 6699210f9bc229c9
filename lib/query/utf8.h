/* SPDX-License-Identifier: MIT */
/* Validation and repair of UTF-8, for untrusted text. */
#ifndef TSCT_QUERY_UTF8_H
#define TSCT_QUERY_UTF8_H

#include <stddef.h>

/* Bytes of the well-formed character at @text, of @left bytes; 0: there is none */
size_t tsct_utf8_len(const char *text, size_t left);

/* The same; 0 also for control characters (C0, DEL, C1), which act on terminals */
size_t tsct_utf8_plain(const char *text, size_t left);

/*
 * Copies @len bytes; each that is not part of a character becomes U+FFFD.
 * @to has room for 3 * @len + 1 bytes. Returns the length, without the NUL.
 */
size_t tsct_utf8_clean(char *to, const char *from, size_t len);

#endif /* TSCT_QUERY_UTF8_H */
