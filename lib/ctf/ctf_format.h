/* SPDX-License-Identifier: MIT */
/*
 * A stream file as record_meta.c describes it to CTF readers, for our own
 * writer and reader. All little endian, nothing aligned. A file is packets,
 * back to back; a packet is struct tsct_packet, then events: what core/delta.h puts
 * in front, with ids from 0 on, and the payload as it was in the ring.
 */
#ifndef TSCT_CTF_H
#define TSCT_CTF_H

#include "lib/core/port.h"

#define TSCT_CTF_MAGIC		0xc1fc1fc1U

struct tsct_packet {
	__u32 magic;
	__u8 uuid[16];		/* of the recording */
	__u32 stream_id;
	__u64 begin;		/* ticks of the first and the last event */
	__u64 end;
	__u64 content_bits;
	__u64 packet_bits;
	__u64 seq;		/* from 0, per file */
	__u64 discarded;	/* events lost at this location, so far */
	__u32 cpu;
	__u32 node;		/* 0 where nothing was merged */
} __attribute__((packed));

_Static_assert(sizeof(struct tsct_packet) == 80, "as in the metadata");

/* A packet ends when it holds this much, in bytes. */
#define TSCT_PACKET_FULL	65536

/* No event's payload may be larger. */
#define TSCT_CTF_PAYLOAD_MAX	65536

struct tsct_ctf_type {
	char name[8];		/* as tsct_event_define() spells it */
	__u8 size;		/* 0: not a number */
	__u8 is_signed;
};

extern const struct tsct_ctf_type tsct_ctf_types[TSCT_TYPE_NR];

/* Names of the clocks, by TSCT_SOURCE_* */
extern const char *const tsct_ctf_sources[TSCT_SOURCE_NR];

/* Shown by name? Eight bits do not hold the numbers. */
static inline bool tsct_ctf_is_syscall(const struct tsct_field *field)
{
	return field->format == TSCT_FORMAT_SYSCALL &&
		field->type != TSCT_TYPE_U8 && field->type != TSCT_TYPE_S8;
}

#endif /* TSCT_CTF_H */
