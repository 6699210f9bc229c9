// SPDX-License-Identifier: MIT
#include <math.h>

#include "network.h"

static double delay_us(const struct network_path *path, struct random *random,
		       double s, bool warm)
{
	double us = path->exp * random_exp(random);

	if (path->gauss > 0)
		us += path->gauss * random_gauss(random);
	if (path->pareto > 0)
		us += path->pareto * random_pareto(random, path->alpha);
	if (random_chance(random, path->spike))
		us += random_uniform(random, 0, path->spike_max);
	if (s >= path->congestion_from_s && s < path->congestion_to_s)
		us += path->congestion + path->congestion_exp * random_exp(random);
	if (path->shift != 0 && s >= path->shift_at_s)
		us += path->shift;
	if (random_chance(random, path->late))
		us += path->late_by;
	us += warm ? path->warm : 0;
	us += path->floor;
	return us > 0 ? us : 0;
}

unsigned int network_send(struct network_path *path, struct random *random,
			  double s, double ret_us[NETWORK_COPIES_MAX])
{
	bool warm = path->sent_s > 0 && s < path->sent_s + path->warm_s;
	unsigned int copies = 1, i;

	path->sent_s = s;
	if (s >= path->outage_from_s && s < path->outage_to_s)
		return 0;
	if (random_chance(random, path->loss))
		return 0;
	if (random_chance(random, path->duplicate))
		copies = 2;
	for (i = 0; i < copies; i++)
		ret_us[i] = delay_us(path, random, s, warm);
	return copies;
}

double timestamp_error_us(const struct timestamping *timestamping,
			  struct random *random, bool received)
{
	double noise = received ? timestamping->noise : timestamping->noise_sent;
	double us = 0;

	if (noise > 0)
		us += noise * random_gauss(random);
	if (received && random_chance(random, timestamping->early))
		us -= timestamping->early_by;
	return us;
}

/* ---- exchanges over a simulated network ---------------------------------- */

static uint64_t timestamp(struct network_link *link, struct crystal *crystal,
			  int64_t ps, bool received)
{
	double off = timestamp_error_us(&link->timestamping, &link->random,
					received) * 1e-6;

	crystal_advance(crystal, ps);
	return crystal_count(crystal) +
		(uint64_t)llrint(off * crystal->params.hz);
}

/* Returns the reported error bound plus one count, as time stamps are rounded down. */
static uint32_t error_of(const struct network_link *link,
			 const struct crystal *crystal)
{
	double error = link->timestamping.error * 1e-6 * crystal->params.hz;

	return (uint32_t)ceil(error) + 1;
}

bool network_exchange(struct network_link *link, int64_t ps,
		      struct tsct_exchange *ret_x, int64_t *ret_end_ps)
{
	double request_us[NETWORK_COPIES_MAX], answer_us[NETWORK_COPIES_MAX];
	double s = (double)ps / PS_PER_S;
	double serve_us = random_uniform(&link->random, 10, 50);

	*ret_end_ps = ps;
	ret_x->t1 = timestamp(link, &link->local, ps, false);
	if (!network_send(&link->request, &link->random, s, request_us))
		return false;
	ps += llrint(request_us[0] * PS_PER_US);
	ret_x->t2 = timestamp(link, &link->remote, ps, true);
	ps += llrint(serve_us * PS_PER_US);
	ret_x->t3 = timestamp(link, &link->remote, ps, false);
	*ret_end_ps = ps;
	if (!network_send(&link->answer, &link->random, s, answer_us))
		return false;
	ps += llrint(answer_us[0] * PS_PER_US);
	ret_x->t4 = timestamp(link, &link->local, ps, true);
	ret_x->local_error = error_of(link, &link->local);
	ret_x->remote_error = error_of(link, &link->remote);
	*ret_end_ps = ps;
	return true;
}

struct network_truth network_truth(struct network_link *link, int64_t ps)
{
	double behind_s;	/* time from the local counter's last increment
				 * to @ps, s */

	crystal_advance(&link->local, ps);
	crystal_advance(&link->remote, ps);
	behind_s = crystal_frac(&link->local) / crystal_hz(&link->local);
	return (struct network_truth) {
		.local = crystal_count(&link->local),
		.remote = crystal_count(&link->remote),
		.frac = crystal_frac(&link->remote) -
			behind_s * crystal_hz(&link->remote),
		.hz = crystal_hz(&link->remote),
	};
}
