// SPDX-License-Identifier: MIT
#include <math.h>

#include "link.h"

static uint64_t stamp(struct link *link, struct osc *osc, int64_t ps,
		      bool received)
{
	double off = stamp_off(&link->stamping, &link->dice, received) * 1e-6;

	osc_go_on(osc, ps);
	return osc_count(osc) + (uint64_t)llrint(off * osc->crystal.hz);
}

/* Known to what is said of it, and to one count: it was rounded down. */
static uint32_t error_of(const struct link *link, const struct osc *osc)
{
	double error = link->stamping.error * 1e-6 * osc->crystal.hz;

	return (uint32_t)ceil(error) + 1;
}

bool link_exchange(struct link *link, int64_t ps, struct tsct_exchange *ret_x,
		   int64_t *ret_end_ps)
{
	double go_us[PATH_COPIES], back_us[PATH_COPIES];
	double s = (double)ps / PS_PER_S;
	double serve_us = roll_between(&link->dice, 10, 50);

	*ret_end_ps = ps;
	ret_x->t1 = stamp(link, &link->here, ps, false);
	if (!path_send(&link->go, &link->dice, s, go_us))
		return false;
	ps += llrint(go_us[0] * PS_PER_US);
	ret_x->t2 = stamp(link, &link->there, ps, true);
	ps += llrint(serve_us * PS_PER_US);
	ret_x->t3 = stamp(link, &link->there, ps, false);
	*ret_end_ps = ps;
	if (!path_send(&link->back, &link->dice, s, back_us))
		return false;
	ps += llrint(back_us[0] * PS_PER_US);
	ret_x->t4 = stamp(link, &link->here, ps, true);
	ret_x->local_error = error_of(link, &link->here);
	ret_x->remote_error = error_of(link, &link->there);
	*ret_end_ps = ps;
	return true;
}

struct truth link_truth(struct link *link, int64_t ps)
{
	double behind;

	osc_go_on(&link->here, ps);
	osc_go_on(&link->there, ps);
	behind = osc_frac(&link->here) / osc_hz(&link->here);
	return (struct truth) {
		.local = osc_count(&link->here),
		.remote = osc_count(&link->there),
		.frac = osc_frac(&link->there) - behind * osc_hz(&link->there),
		.hz = osc_hz(&link->there),
	};
}
