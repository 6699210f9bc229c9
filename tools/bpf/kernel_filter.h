/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Selects the threads whose events are recorded; a constant of each BPF program */
#ifndef TSCT_BPF_KERNEL_FILTER_H
#define TSCT_BPF_KERNEL_FILTER_H

#include "events.h"

#define KERNEL_FILTER_CPUS	8192

struct kernel_filter {
	u32 self_tgid;		/* the recorder, which is never recorded */
	u8 all_processes;	/* 0: only those in the map `tracked` */
	u8 by_cpu;		/* only CPUs in `cpus` */
	u8 by_name;		/* only threads with the name `name` */
	u8 by_cgroup;		/* only threads in the cgroup of the map `cgroup` */
	u64 name[2];		/* characters, padded with NULs */
	u64 cpus[KERNEL_FILTER_CPUS / 64];	/* bits by CPU */
};

#endif /* TSCT_BPF_KERNEL_FILTER_H */
