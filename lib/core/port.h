/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Environment of the pure core: the binary interface, fixed-width types, memory functions,
 * errno values, relaxed and ordered memory accesses, 128-bit integers. In lib/core, only this
 * file, and the names of event kinds, differ between kernel and user space.
 */
#ifndef TSCT_CORE_PORT_H
#define TSCT_CORE_PORT_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/limits.h>
#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <asm/barrier.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <linux/types.h>
/* User space needs no barrier against speculation: a program may read all its memory. */
#define array_index_nospec(index, size)	(index)
#ifndef likely
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#endif
#ifndef READ_ONCE
#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
/* max() and min() of the kernel; @a and @b may differ in type. Return @a if @b is NaN. */
#define tsct_select_(a, op, b)						\
({									\
	__typeof__(1 ? (a) : (b)) select_a_ = (a), select_b_ = (b);	\
									\
	select_b_ op select_a_ ? select_b_ : select_a_;			\
})
#define max(a, b)	tsct_select_(a, >, b)
#define min(a, b)	tsct_select_(a, <, b)
#endif

#include <tsctrace/abi.h>

/*
 * Numbers of values of each kind in this version of the binary interface. The headers of
 * the interface do not have these numbers, because the numbers grow: a program compiled
 * with one of them would take the number for a constant.
 */
#define TSCT_SOURCE_NR		(TSCT_SOURCE_REALTIME + 1)
#define TSCT_LOST_NR		(TSCT_LOST_REFUSED + 1)
#define TSCT_KIND_NR		(TSCT_KIND_RECEIVE + 1)
#define TSCT_TYPE_NR		(TSCT_TYPE_CHARS + 1)
#define TSCT_FORMAT_NR		(TSCT_FORMAT_SYSCALL + 1)
#define TSCT_CAUSE_NR		(TSCT_CAUSE_FAKE + 1)
#ifndef __KERNEL__
#define TSCT_STATUS_NR		(TSCT_STATUS_DISRUPTED + 1)
#define TSCT_UTC_NR		(TSCT_UTC_CLOCKBOUND + 1)
#endif

#define NS_PER_S	1000000000LL

/* Maximum number of CPUs that an x86-64 kernel can be built for */
#define TSCT_CPUS_MAX	8192

typedef __int128 tsct_s128;
typedef unsigned __int128 tsct_u128;

/* Returns a + b, or U64_MAX if the sum overflows. */
static inline __u64 tsct_add_saturating(__u64 a, __u64 b)
{
	return a > ~0ULL - b ? ~0ULL : a + b;
}

/*
 * The functions below copy structures that another thread may write or read meanwhile.
 * Each word is copied by one relaxed atomic access, so a torn copy is no data race, only
 * a value to be discarded. The type of a word has the attribute may_alias, as a word may
 * hold several fields of narrower types.
 */
typedef __u64 __attribute__((may_alias)) tsct_word;

#define TSCT_WORDS(type)	(sizeof(type) / sizeof(tsct_word))

/* Copies @nr words from shared memory to private memory. */
static inline void tsct_load_relaxed(void *to, const void *from, size_t nr)
{
	tsct_word *dst = to;
	const tsct_word *src = from;
	size_t i;

	for (i = 0; i < nr; i++)
		dst[i] = READ_ONCE(src[i]);
}

/* Copies @nr words to shared memory. No other thread writes @from. */
static inline void tsct_store_relaxed(void *to, const void *from, size_t nr)
{
	tsct_word *dst = to;
	const tsct_word *src = from;
	size_t i;

	for (i = 0; i < nr; i++)
		WRITE_ONCE(dst[i], READ_ONCE(src[i]));
}

#endif /* TSCT_CORE_PORT_H */
