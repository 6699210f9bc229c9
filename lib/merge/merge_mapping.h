/* SPDX-License-Identifier: MIT */
/* From a fit to what makes a node's ticks global ones. */
#ifndef TSCT_MERGE_CORRECT_H
#define TSCT_MERGE_CORRECT_H

#include "lib/core/mapping.h"
#include "lib/sync/fit.h"

/*
 * tsct_correct_fit - of a node that was fitted to the master
 * @frame: global ticks by the counter that the fit gives
 * The rest as tsct_correct_make() has it.
 */
int tsct_correct_fit(struct tsct_correct *ret, const struct tsct_fit *fit,
		     const struct tsct_frame *frame, __u64 begin, __u64 end);

/*
 * tsct_correct_own - of the master itself, of a node that has the same counter, and
 * of a recording that is put on a timeline by its calibration (tsct_frame_pair())
 */
int tsct_correct_own(struct tsct_correct *ret, const struct tsct_frame *frame,
		     __u64 begin, __u64 end);

#endif /* TSCT_MERGE_CORRECT_H */
