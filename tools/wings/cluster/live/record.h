/* SPDX-License-Identifier: MIT */
/* The data of a message "live": events as a node sends them, in its byte order, which is
 * that of x86-64 */
#ifndef TSCT_TOOLS_LIVE_RECORD_H
#define TSCT_TOOLS_LIVE_RECORD_H

#include <linux/types.h>

struct live_record {
	__s64 ns;		/* time on the timeline of all nodes, ns */
	__u64 error_ns;		/* bound of the time, ns; UINT64_MAX: unknown */
	__u32 cpu, tid;
	__u16 name;		/* number of the name that the node sent before, from 0 */
	__u8 kind;		/* TSCT_KIND_* */
	__u8 reserved[5];	/* 0 */
};

_Static_assert(sizeof(struct live_record) == 32, "records of all nodes have one size");

#define LIVE_RECORDS_MAX	4096	/* records in a message; 128 KiB */
#define LIVE_NAMES_MAX		65535	/* names of a node; later ones are "other" */
#define LIVE_NAME_MAX		256	/* size of a name, with its NUL */

#endif /* TSCT_TOOLS_LIVE_RECORD_H */
