/* SPDX-License-Identifier: MIT */
#ifndef TSCT_SAMPLES_WIRE_H
#define TSCT_SAMPLES_WIRE_H

#include "samples.h"

/* TSCT_SAMPLE_FIELDS; the source's name follows, with its NUL. */
struct sample_wire {
	__u64 number, t1, t2, t3, t4;
	__u32 local_error, remote_error, session, flags;
	__u8 fitted, kept;
	__u64 node, host, master;
	__u32 timeline;
	__u8 status, depth, has_line;
	__u64 line_base;
	__s64 line_base_ns;
	__u64 line_mult, line_as_of, line_error_ps, line_growth;
	__u32 clock_epoch, cluster_epoch;
} __attribute__((packed));

_Static_assert(sizeof(struct sample_wire) + TSCT_SAMPLE_SOURCE_MAX <=
	       TSCT_SAMPLE_BYTES_MAX, "there is room for a sample");

#endif /* TSCT_SAMPLES_WIRE_H */
