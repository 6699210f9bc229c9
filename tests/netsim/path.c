// SPDX-License-Identifier: MIT
#include "path.h"

static double delay(const struct path *path, struct dice *dice, double s,
		    bool warm)
{
	double us = path->exp * roll_exp(dice);

	if (path->gauss > 0)
		us += path->gauss * roll_gauss(dice);
	if (path->pareto > 0)
		us += path->pareto * roll_pareto(dice, path->alpha);
	if (roll_chance(dice, path->spike))
		us += roll_between(dice, 0, path->spike_max);
	if (s >= path->jam_from_s && s < path->jam_to_s)
		us += path->jam + path->jam_exp * roll_exp(dice);
	if (path->shift != 0 && s >= path->shift_at_s)
		us += path->shift;
	if (roll_chance(dice, path->late))
		us += path->late_by;
	us += warm ? path->warm : 0;
	us += path->floor;
	return us > 0 ? us : 0;
}

unsigned int path_send(struct path *path, struct dice *dice, double s,
		       double ret_us[PATH_COPIES])
{
	bool warm = path->sent_s > 0 && s < path->sent_s + path->warm_s;
	unsigned int copies = 1, i;

	path->sent_s = s;
	if (s >= path->gone_from_s && s < path->gone_to_s)
		return 0;
	if (roll_chance(dice, path->loss))
		return 0;
	if (roll_chance(dice, path->twice))
		copies = 2;
	for (i = 0; i < copies; i++)
		ret_us[i] = delay(path, dice, s, warm);
	return copies;
}

double stamp_off(const struct stamping *stamping, struct dice *dice,
		 bool received)
{
	double noise = received ? stamping->noise : stamping->noise_sent;
	double us = 0;

	if (noise > 0)
		us += noise * roll_gauss(dice);
	if (received && roll_chance(dice, stamping->early))
		us -= stamping->early_by;
	return us;
}
