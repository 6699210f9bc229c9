// SPDX-License-Identifier: MIT
#include <math.h>

#include "crystal.h"

static double temperature(const struct crystal *crystal, double s)
{
	const struct crystal_params *p = &crystal->params;
	double rate = 0, lag = p->jump_lag_s > 0 ? p->jump_lag_s : 1e-3;

	if (p->temp_s > 0)
		rate += p->temp * sin(2 * M_PI * s / p->temp_s +
				      crystal->temp_phase);
	if (p->jump != 0 && s > p->jump_at_s)
		rate += p->jump * -expm1((p->jump_at_s - s) / lag);
	return rate;
}

static void set_rate(struct crystal *crystal, int64_t ps)
{
	double s = (double)ps / PS_PER_S;
	double rate = crystal->params.drift + crystal->walk +
		temperature(crystal, s);

	crystal->osc.rate = oscillator_rate(crystal->params.hz * (1 + rate));
}

void crystal_init(struct crystal *crystal, const struct crystal_params *params,
		  uint64_t count, struct random random)
{
	double cell_s = params->cell_s > 0 ? params->cell_s : 0.1;

	*crystal = (struct crystal) {
		.params = *params,
		.random = random,
		.osc = { .phase = (tsct_u128)count << 64 },
		.cell_ps = (int64_t)(cell_s * PS_PER_S),
	};
	crystal->cell_end_ps = crystal->cell_ps;
	crystal->temp_phase = random_uniform(&crystal->random, 0, 2 * M_PI);
	set_rate(crystal, 0);
}

static void advance_in_cell(struct crystal *crystal, int64_t ps)
{
	struct oscillator *osc = &crystal->osc;

	oscillator_set(osc, ps, oscillator_phase(osc, ps), osc->rate);
}

void crystal_advance(struct crystal *crystal, int64_t ps)
{
	while (ps >= crystal->cell_end_ps) {
		double s = (double)crystal->cell_ps / PS_PER_S;

		advance_in_cell(crystal, crystal->cell_end_ps);
		if (crystal->params.wander > 0)
			crystal->walk += crystal->params.wander * sqrt(s) *
				random_gauss(&crystal->random);
		set_rate(crystal, crystal->osc.at_ps);
		crystal->cell_end_ps += crystal->cell_ps;
	}
	if (ps > crystal->osc.at_ps)
		advance_in_cell(crystal, ps);
}

void crystal_jump(struct crystal *crystal, uint64_t count)
{
	crystal->osc.phase = (tsct_u128)count << 64;
}

double crystal_frac(const struct crystal *crystal)
{
	return ldexp((double)(uint64_t)crystal->osc.phase, -64);
}

double crystal_hz(const struct crystal *crystal)
{
	return ldexp((double)crystal->osc.rate, -64) * PS_PER_S;
}
