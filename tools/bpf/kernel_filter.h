/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Selects the threads and events that are recorded; constants of the BPF programs */
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
	/* rate limit of each event: time per event, 0: no limit, and the time by which
	 * events may be early, ns */
	u64 rate_ns, rate_early_ns;
	u64 cpus[KERNEL_FILTER_CPUS / 64];	/* bits by CPU */
};

#define WHERE_MAX	8	/* conditions on the fields of events */
#define WHERE_TEXT_MAX	64

enum where_op {
	WHERE_EQUAL, WHERE_NOT_EQUAL, WHERE_LESS, WHERE_LESS_EQUAL, WHERE_GREATER,
	WHERE_GREATER_EQUAL, WHERE_BITS,
};

/* A condition on a field of an event: only events that satisfy it are recorded */
struct where_condition {
	u16 event_id;		/* built-in events: the event */
	u16 field;		/* index of the field */
	u16 offset;		/* of the field in a payload of fixed layout, bytes */
	u8 op;			/* WHERE_* */
	u8 size;		/* bytes of an integer; 0: text */
	u8 is_signed;		/* the field is signed */
	u8 negative;		/* `value` is negative, a number of 64 bits with a sign */
	u8 len;			/* characters of `text` that are compared */
	u64 value;
	char text[WHERE_TEXT_MAX];
};

#endif /* TSCT_BPF_KERNEL_FILTER_H */
