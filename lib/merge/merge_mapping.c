// SPDX-License-Identifier: MIT
#include "merge_mapping.h"

_Static_assert(TSCT_CURVES_MAX >= TSCT_FIT_PIECES_MAX, "room for any fit");

int tsct_correct_fit(struct tsct_correct *ret, const struct tsct_fit *fit,
		     const struct tsct_frame *frame, __u64 begin, __u64 end)
{
	struct tsct_cubic piece[TSCT_FIT_PIECES_MAX];
	unsigned int k;

	if (fit->nr_pieces > TSCT_FIT_PIECES_MAX)
		return -EINVAL;
	for (k = 0; k < fit->nr_pieces; k++) {
		piece[k].from = fit->piece[k].from;
		piece[k].base = fit->piece[k].base;
		memcpy(piece[k].c, fit->piece[k].c, sizeof(piece[k].c));
	}
	return tsct_correct_make(ret, piece, fit->nr_pieces, frame, begin, end);
}

int tsct_correct_own(struct tsct_correct *ret, const struct tsct_frame *frame,
		     __u64 begin, __u64 end)
{
	const struct tsct_cubic same = {
		.from = begin, .base = begin, .c = { 0, 1, 0, 0 },
	};

	return tsct_correct_make(ret, &same, 1, frame, begin, end);
}
