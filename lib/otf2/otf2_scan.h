/* SPDX-License-Identifier: MIT */
/*
 * A look at a file of an OTF2 archive before libotf2 has it. libotf2 (3.0.2)
 * takes what a read left undone for data: of a file that was cut off it makes
 * events of what was in memory. So records are counted here, by their lengths
 * alone, and no more than these are asked for.
 *
 * A file is chunks of a size that the anchor says, the last one shorter:
 *	u8 3, u8 byte order ('B': little endian, '#': big),
 *	u64 number of the first record, u64 number of the last; 0 in definitions
 *	records: u8 kind, u8 length or 0xff and u64 length, contents
 *	u8 0: the rest of the chunk is nothing; u8 2: so is the rest of the file
 * In event files kind 5 and a u64 is the time of what follows, 6 is a record
 * that belongs to the next, and some kinds have one packed number alone, whose
 * own length stands for theirs.
 */
#ifndef TSCT_OTF2_SCAN_H
#define TSCT_OTF2_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tsct_otf2_extent {
	uint64_t records;	/* whole ones, up to the first damage */
	uint64_t first, last;	/* their times, if there are records */
	uint64_t bytes;		/* where the last of them ends */
};

/*
 * tsct_otf2_scan - count the records of a file
 * @chunk: bytes of a chunk
 * @events: it is one of events, not of definitions
 * @beat: counts bytes, for somebody who looks on
 *
 * Returns 0, -EBADMSG: damaged, with @why (behind the file's name) and what is
 * before the damage in @ret_extent, or the -errno of reading it.
 */
int tsct_otf2_scan(const char *path, uint64_t chunk, bool events,
		   volatile uint64_t *beat, struct tsct_otf2_extent *ret_extent,
		   char *why, size_t why_size);

#endif /* TSCT_OTF2_SCAN_H */
