/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The latch under the clock page: one writer, any number of readers, none of
 * whom ever waits for the other. See section 4 of tsctrace/abi.h.
 */
#ifndef TSCT_CORE_LATCH_H
#define TSCT_CORE_LATCH_H

#include "port.h"

/*
 * tsct_latch_init - make an empty page: magic, size, boot id, status UNKNOWN.
 * For a page that nobody reads yet.
 */
void tsct_latch_init(struct tsct_clock_page *page, const __u8 boot_id[16],
		     __u32 source);

/*
 * tsct_latch_repair - what a new writer does first: bring a page whose last
 * writer died anywhere in tsct_latch_write() to an even seq with two equal,
 * good copies. Readers may be reading.
 */
void tsct_latch_repair(struct tsct_clock_page *page);

/* tsct_latch_write - publish. One writer at a time; readers may be reading. */
void tsct_latch_write(struct tsct_clock_page *page,
		      const struct tsct_clock_state *state);

/*
 * tsct_latch_read - a consistent copy of what is published.
 *
 * Returns 0, or -EAGAIN after having been overtaken 1000 times (a hostile or
 * broken writer). Lock-free, NMI safe, signal safe.
 */
int tsct_latch_read(const struct tsct_clock_page *page,
		    struct tsct_clock_state *ret_state);

/*
 * tsct_latch_read_real - the same, of the real pair and the state's own fields
 * only, all that it takes to convert a stamp; reserved fields and the cluster
 * pair are left as they are in *ret_state.
 */
int tsct_latch_read_real(const struct tsct_clock_page *page,
			 struct tsct_clock_state *ret_state);

/*
 * tsct_clock_page_check - is this a clock page, of this boot?
 * Returns 0, -EINVAL: not a clock page, -ESTALE: another boot's.
 */
int tsct_clock_page_check(const struct tsct_clock_page *page,
			  const __u8 boot_id[16]);

#endif /* TSCT_CORE_LATCH_H */
