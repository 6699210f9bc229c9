// SPDX-License-Identifier: MIT
/* In place of lib/reference in `make CORE=1`: there are no reference fits */
#include "fit_plane.h"

int tsct_fit_reference(struct tsct_plane *plane, enum tsct_fit_kind kind,
		       const struct tsct_exchange *x, unsigned int nr, bool *keep,
		       struct tsct_fit *fit)
{
	(void)plane, (void)kind, (void)x, (void)nr, (void)keep, (void)fit;
	return -EOPNOTSUPP;
}
