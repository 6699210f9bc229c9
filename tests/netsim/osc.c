// SPDX-License-Identifier: MIT
#include <math.h>

#include "osc.h"

static double temperature(const struct osc *osc, double s)
{
	const struct crystal *c = &osc->crystal;
	double rate = 0, lag = c->jump_lag_s > 0 ? c->jump_lag_s : 1e-3;

	if (c->temp_s > 0)
		rate += c->temp * sin(2 * M_PI * s / c->temp_s +
				      osc->temp_phase);
	if (c->jump != 0 && s > c->jump_at_s)
		rate += c->jump * -expm1((c->jump_at_s - s) / lag);
	return rate;
}

static void set_rate(struct osc *osc, int64_t ps)
{
	double s = (double)ps / PS_PER_S;
	double rate = osc->crystal.drift + osc->walk + temperature(osc, s);

	osc->rate = (uint64_t)ldexp(osc->crystal.hz * (1 + rate) / PS_PER_S, 64);
}

void osc_init(struct osc *osc, const struct crystal *crystal, uint64_t count,
	      struct dice dice)
{
	double cell_s = crystal->cell_s > 0 ? crystal->cell_s : 0.1;

	*osc = (struct osc) {
		.crystal = *crystal,
		.dice = dice,
		.phase = (tsct_u128)count << 64,
		.cell_ps = (int64_t)(cell_s * PS_PER_S),
	};
	osc->cell_end_ps = osc->cell_ps;
	osc->temp_phase = roll_between(&osc->dice, 0, 2 * M_PI);
	set_rate(osc, 0);
}

static void go_on_in_cell(struct osc *osc, int64_t ps)
{
	osc->phase += (tsct_u128)(uint64_t)(ps - osc->at_ps) * osc->rate;
	osc->at_ps = ps;
}

void osc_go_on(struct osc *osc, int64_t ps)
{
	while (ps >= osc->cell_end_ps) {
		double s = (double)osc->cell_ps / PS_PER_S;

		go_on_in_cell(osc, osc->cell_end_ps);
		if (osc->crystal.wander > 0)
			osc->walk += osc->crystal.wander * sqrt(s) *
				roll_gauss(&osc->dice);
		set_rate(osc, osc->at_ps);
		osc->cell_end_ps += osc->cell_ps;
	}
	if (ps > osc->at_ps)
		go_on_in_cell(osc, ps);
}

void osc_jump(struct osc *osc, uint64_t to)
{
	osc->phase = (tsct_u128)to << 64;
}

double osc_frac(const struct osc *osc)
{
	return ldexp((double)(uint64_t)osc->phase, -64);
}

double osc_hz(const struct osc *osc)
{
	return ldexp((double)osc->rate, -64) * PS_PER_S;
}
