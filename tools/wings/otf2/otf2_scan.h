/* SPDX-License-Identifier: MIT */
/*
 * Checks a file of an OTF2 archive before libotf2 reads it. libotf2 (3.0.2)
 * treats the rest of its buffer as data when a read was short: from a truncated
 * file it makes events out of old memory. So the records are counted here, by
 * their lengths alone, and no more than these are read.
 *
 * A file consists of chunks of the size in the anchor; the last one is shorter:
 *	u8 3, u8 byte order ('B': little endian, '#': big),
 *	u64 number of the first record, u64 number of the last; 0 in definitions
 *	records: u8 kind, u8 length or 0xff and u64 length, contents
 *	u8 0: end of the chunk; u8 2: end of the file
 * In event files, kind 5 and a u64 is the time of the following records. A record of
 * kind 6 has the attributes of the next record. Records of some kinds have no length:
 * after the kind comes one number, as u8 nr (0 to 8; 0xff means 0) and nr bytes.
 */
#ifndef TSCT_OTF2_SCAN_H
#define TSCT_OTF2_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsct_otf2_extent {
	uint64_t records;	/* number of complete records before the first damage */
	/* in an event file: time of the first and of the last complete record, ticks; 0
	 * if there is no record */
	uint64_t first, last;
	uint64_t bytes;		/* file offset of the end of the last complete record */
};

/*
 * tsct_otf2_scan - count the records of a file
 * @chunk: size of a chunk, bytes
 * @events: the file holds events, not definitions
 * @beat: counter of bytes, for a progress display
 *
 * Returns 0; -EBADMSG if the file is damaged, with the reason in @why (to follow
 * the file's name) and the part before the damage in @ret_extent; or the -errno
 * of reading it.
 */
int tsct_otf2_scan(const char *path, uint64_t chunk, bool events,
		   volatile uint64_t *beat, struct tsct_otf2_extent *ret_extent,
		   char *why, size_t why_size);

#endif /* TSCT_OTF2_SCAN_H */
