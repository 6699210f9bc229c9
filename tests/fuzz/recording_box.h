/* SPDX-License-Identifier: MIT */
/*
 * Input of the fuzzer of recordings: a description of directories, which stays valid
 * after most changes. It is a sequence of sections: a byte of the kind, two bytes of the
 * length (cut to the end of the input), and then:
 *
 *	TEXT	lines of the metadata's environment
 *	PACKET	class, location, flags of errors; begin (after the end of the packet
 *		before), span (8 bytes each), events lost (2), events
 *	BYTES	class, location, and other contents of that file
 *	NEXT	begins another recording: flags of errors of its metadata, and whether and
 *		how all of them are merged (by the first one)
 *
 * The frame of the metadata and the headers of packets are generated, as no fuzzer would
 * find valid ones. Flags make them wrong in the ways below.
 */
#ifndef TESTS_FUZZ_RECORDING_BOX_H
#define TESTS_FUZZ_RECORDING_BOX_H

#include "lib/core/port.h"

enum { SECTION_TEXT, SECTION_PACKET, SECTION_BYTES, SECTION_NEXT, SECTION_NR };

/* Of a packet */
#define WRONG_MAGIC	0x01
#define WRONG_UUID	0x02
#define WRONG_STREAM	0x04
#define SKIPS		0x08	/* numbers */
#define PADDED		0x10
#define CUT		0x20
#define BEGINS_AT	0x40	/* at that tick, not after the packet before */
#define ODD_SIZE	0x80

/* Of a recording */
#define BARE_TEXT	0x01	/* without a frame */
#define NO_TEXT		0x02
#define MERGE		0x04	/* and all of them are merged */
#define FORCE		0x10
#define SALVAGE		0x20
#define FIT		0xc0

struct section {
	__u8 kind;
	__u16 len;
	const __u8 *at;
};

#define SECTIONS_MAX	96
#define PACKET_FIXED	21	/* bytes of a PACKET before its events */
#define BOXES_MAX	3

/* Returns the number of sections; none extends beyond the input. */
static inline unsigned int read_sections(const __u8 *in, size_t size,
					 struct section s[SECTIONS_MAX])
{
	unsigned int nr = 0;

	for (; size >= 3 && nr < SECTIONS_MAX; nr++) {
		s[nr].kind = in[0] % SECTION_NR;
		s[nr].len = (__u16)(in[1] | in[2] << 8);
		if (s[nr].len > size - 3)
			s[nr].len = (__u16)(size - 3);
		s[nr].at = in + 3;
		in += 3 + s[nr].len;
		size -= 3U + s[nr].len;
	}
	return nr;
}

/* Returns its bytes; sections that do not fit are skipped. */
static inline size_t write_sections(const struct section *s, unsigned int nr,
				    __u8 *to, size_t room)
{
	size_t at = 0;

	for (; nr && at + 3 + s->len <= room; s++, nr--) {
		to[at] = s->kind;
		to[at + 1] = (__u8)s->len;
		to[at + 2] = (__u8)(s->len >> 8);
		if (s->len)
			memcpy(to + at + 3, s->at, s->len);
		at += 3U + s->len;
	}
	return at;
}

#endif /* TESTS_FUZZ_RECORDING_BOX_H */
