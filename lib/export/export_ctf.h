/* SPDX-License-Identifier: MIT */
/* The layout that export_ctf_meta.c describes and export_ctf.c writes. */
#ifndef TSCT_EXPORT_CTF_H
#define TSCT_EXPORT_CTF_H

#include "export.h"

struct tsct_ctf_out_packet {
	__u32 magic;
	__u8 uuid[16];
	__u32 stream_id;
	__u64 begin, end;	/* ns since the clock's offset */
	__u64 content_bits, packet_bits;
	__u64 seq, discarded;
	__u32 cpu, node;
} __attribute__((packed));

struct tsct_ctf_out_event {
	__u16 id;
	__u64 ns;
	__u32 tid;
} __attribute__((packed));

/*
 * Writes the metadata. Times are ns since @offset_s, which is seconds since the
 * Unix epoch.
 */
int tsct_ctf_meta(const struct tsct_export *x, const __u8 uuid[16],
		  __s64 offset_s, FILE *to);

#endif /* TSCT_EXPORT_CTF_H */
