/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What is read while it is written: word by word, each by one relaxed atomic
 * access, so that something torn is a value to throw away and not a data race.
 */
#ifndef TSCT_CORE_WORDS_H
#define TSCT_CORE_WORDS_H

#include "port.h"

/* Some fields of what is copied are narrower. */
typedef __u64 __attribute__((may_alias)) tsct_word;

#define TSCT_WORDS(type)	(sizeof(type) / sizeof(tsct_word))

/* to: ours. from: shared. */
static inline void tsct_load_relaxed(void *to, const void *from, size_t nr)
{
	tsct_word *dst = to;
	const tsct_word *src = from;
	size_t i;

	for (i = 0; i < nr; i++)
		dst[i] = READ_ONCE(src[i]);
}

/* to: shared. from: ours, or shared and not written now. */
static inline void tsct_store_relaxed(void *to, const void *from, size_t nr)
{
	tsct_word *dst = to;
	const tsct_word *src = from;
	size_t i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(dst[i], READ_ONCE(src[i]));
}

#endif /* TSCT_CORE_WORDS_H */
