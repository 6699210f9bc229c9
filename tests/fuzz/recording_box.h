/* SPDX-License-Identifier: MIT */
/*
 * Input of the fuzzer of recordings: a description of directories, which stays valid
 * after most changes. It is a sequence of sections: one byte of kind, two bytes of
 * length (cut to the end of the input), and then:
 *
 *	TEXT	lines of the metadata's environment
 *	PACKET	class and location of a stream file, error flags; begin (after the end
 *		of the previous packet), span (8 bytes each), lost events (2), events
 *	BYTES	class and location of a stream file, and bytes to append to the file
 *	NEXT	begins another recording: error flags of its metadata; in the first
 *		recording also whether and how all of them are merged
 *
 * The packet headers, and the metadata's text before and after the lines of its
 * environment, are generated, because a fuzzer would not find valid ones. The flags
 * below make them wrong.
 */
#ifndef TESTS_FUZZ_RECORDING_BOX_H
#define TESTS_FUZZ_RECORDING_BOX_H

#include "lib/core/port.h"

enum { SECTION_TEXT, SECTION_PACKET, SECTION_BYTES, SECTION_NEXT, SECTION_NR };

/* Error flags of a packet */
#define WRONG_MAGIC	0x01
#define WRONG_UUID	0x02
#define WRONG_STREAM	0x04
#define SKIPS		0x08	/* sequence numbers of packets have a gap */
#define PADDED		0x10
#define CUT		0x20
#define BEGINS_AT	0x40	/* the packet begins at the given tick, which is not
				 * relative to the previous packet */
#define ODD_SIZE	0x80

/* Flags of a recording */
#define BARE_TEXT	0x01	/* metadata has only the lines of its environment,
				 * without the generated text around them */
#define NO_TEXT		0x02
#define MERGE		0x04	/* all recordings of the input are merged */
#define FORCE		0x10
#define SALVAGE		0x20
#define FIT		0xc0

struct section {
	__u8 kind;
	__u16 len;
	const __u8 *at;
};

#define SECTIONS_MAX	96
#define PACKET_FIXED	21	/* size in bytes of a PACKET section before its
				 * events */
#define BOXES_MAX	3

/* Parses the sections of an input. Returns the number of sections; none extends beyond
 * the input. */
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

/* Writes sections to @to, skipping those that do not fit. Returns the size in bytes. */
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
