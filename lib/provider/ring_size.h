/* SPDX-License-Identifier: MIT */
/* Sizes of rings, chosen by the memory that the process may use */
#ifndef TSCT_RING_SIZE_H
#define TSCT_RING_SIZE_H

#include <linux/types.h>
#include <stdbool.h>

/* ---- limits of memory: usable.c ---------------------------------------------- */

enum tsct_memory_limit_kind {
	TSCT_LIMIT_INSTALLED,	/* memory of the machine */
	TSCT_LIMIT_AVAILABLE,	/* memory that the machine has free, or can free */
	TSCT_LIMIT_CGROUP,	/* smallest limit of the memory cgroups of this process */
	TSCT_LIMIT_LOCKED,	/* RLIMIT_MEMLOCK of a process that locks its memory */
	TSCT_LIMIT_NR,
};

#define TSCT_LIMIT_NAME_MAX	320	/* largest size of a limit's name with its NUL, bytes */

struct tsct_memory_limit {
	__u64 bytes;		/* UINT64_MAX: no limit, or unknown */
	char name[TSCT_LIMIT_NAME_MAX];	/* such as "memory.max of /a/b" */
};

struct tsct_memory_limits {
	struct tsct_memory_limit at[TSCT_LIMIT_NR];
};

/* Reads the memory limits of this process: those in /proc, and those of its
 * memory cgroups (version 1 and 2), from its own cgroup up to the root. */
void tsct_memory_limits_read(struct tsct_memory_limits *ret_limits);

/* Returns the smaller one of installed memory and the limit of the memory cgroups, bytes. */
__u64 tsct_memory_usable(void);

/* ---- arithmetic: ring_size.c --------------------------------------------------- */

#define TSCT_RING_BYTES_MAX	(16U << 20)	/* largest ring if no size is given, bytes */
/* smallest ring if only the installed memory limits it, bytes */
#define TSCT_RING_BYTES_MIN	(1U << 20)
#define TSCT_RING_BYTES_LEAST	(64U << 10)	/* smallest ring under other limits, bytes */
#define TSCT_RINGS_BYTES_MAX	(64U << 20)	/* limit of all rings together, bytes */

struct tsct_ring_demand {
	__u32 cpus;		/* number of CPUs with whole rings */
	__u32 channels;		/* number of channels, each with a ring per CPU */
	__u32 copies;		/* number of BPF ring buffers per CPU, each of a ring's size */
	__u32 block_size, blocks;	/* as given by the user; 0: to be chosen */
};

struct tsct_ring_choice {
	__u32 block_size, blocks;
	__u64 bytes;		/* bytes of all rings together */
	/* the limit that made the rings smaller, or that the given size exceeds; NULL: none */
	const struct tsct_memory_limit *limit;
	/* rings may take 1 / part of the limit */
	__u32 part;
	bool refused;		/* the size that the user gave exceeds 1 / part of the limit */
};

/*
 * tsct_ring_choose - choose the size of the rings of new channels
 *
 * If the user gave no number of blocks, a ring has 16 MiB, halved as often as needed: until
 * all channels' rings together have at most 64 MiB and 1/64 of the installed memory, but not
 * below 1 MiB; and until rings and BPF ring buffers have at most 1/16 of the available and of
 * the lockable memory, and 1/8 of a cgroup's limit, but not below 64 KiB. A number that the
 * user gave is refused if rings and buffers would exceed half of the available or lockable
 * memory, or a quarter of a cgroup's limit.
 */
void tsct_ring_choose(const struct tsct_memory_limits *limits,
		      const struct tsct_ring_demand *demand, struct tsct_ring_choice *ret_choice);

#endif /* TSCT_RING_SIZE_H */
