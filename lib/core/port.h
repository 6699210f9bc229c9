/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the pure core needs from its surroundings: fixed-width types, memcpy
 * and friends, errno values, 128-bit integers. The one place in the tree that
 * asks whether it is being compiled for the kernel.
 */
#ifndef TSCT_CORE_PORT_H
#define TSCT_CORE_PORT_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/limits.h>
#include <linux/compiler.h>
#include <asm/barrier.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>
#include <linux/types.h>
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
#endif

#include <tsctrace/abi.h>

/* The most CPUs that an x86-64 kernel can be built for */
#define TSCT_CPUS_MAX	8192

typedef __int128 tsct_s128;
typedef unsigned __int128 tsct_u128;

#endif /* TSCT_CORE_PORT_H */
