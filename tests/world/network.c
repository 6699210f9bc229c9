// SPDX-License-Identifier: MIT
#include <math.h>

#include "network.h"

/* ---- the queue of a direction -------------------------------------------- */

/* Number of relaxation times of an M/M/1 queue after which its state hardly depends on
 * the state before: exp(-10) */
#define RELAXATIONS	10

/* Simulates cross traffic of constant @load for @us. The time between two packets has no
 * memory, so any number of calls has the same result as one. */
static void pass(const struct network_path *path, struct network_queue *queue,
		 struct random *random, double load, double us)
{
	double settled_us = RELAXATIONS * path->cross /
		((1 - sqrt(load)) * (1 - sqrt(load)));
	double gap_us;

	if (load > 0 && us > settled_us) {	/* stationary distribution */
		queue->backlog_us = random_chance(random, load) ?
			path->cross / (1 - load) * random_exp(random) : 0;
		return;
	}
	while (load > 0) {
		gap_us = path->cross / load * random_exp(random);
		if (gap_us >= us)
			break;
		us -= gap_us;
		queue->backlog_us = fmax(queue->backlog_us - gap_us, 0) +
			path->cross * random_exp(random);
	}
	queue->backlog_us = fmax(queue->backlog_us - us, 0);
}

void network_advance(struct network_path *path, struct random *random, double s)
{
	struct network_queue *queue = &path->queue;

	while (path->burst_s > 0 && queue->phase_end_s < s) {
		pass(path, queue, random,
		     queue->bursts ? path->burst_load : path->load,
		     (queue->phase_end_s - queue->at_s) * 1e6);
		queue->at_s = queue->phase_end_s;
		queue->bursts = !queue->bursts;
		queue->phase_end_s += random_exp(random) *
			(queue->bursts ? path->burst_s : path->quiet_s);
	}
	if (s <= queue->at_s)
		return;
	pass(path, queue, random, queue->bursts ? path->burst_load : path->load,
	     (s - queue->at_s) * 1e6);
	queue->at_s = s;
}

/* Adds a packet to the queue at time @s. Returns the time until its service ends, us. */
static double queue_us(struct network_path *path, struct random *random, double s)
{
	bool paused = path->sent_s <= 0 || s >= path->sent_s + path->pause_s;

	path->sent_s = s;
	network_advance(path, random, s);
	path->queue.backlog_us += path->service + (paused ? path->cold : 0);
	return path->queue.backlog_us;
}

/* ---- one direction of a path ---------------------------------------------- */

static bool shifted(const struct network_path *path, double s)
{
	if (path->shift == 0 || s < path->shift_at_s)
		return false;
	return path->shift_every_s <= 0 ||
		fmod((s - path->shift_at_s) / path->shift_every_s, 2) < 1;
}

static double delay_us(const struct network_path *path, struct random *random,
		       double s)
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
	if (shifted(path, s))
		us += path->shift;
	if (random_chance(random, path->late))
		us += path->late_by;
	us += path->floor;
	return us;
}

unsigned int network_send(struct network_path *path, struct random *random,
			  double s, double ret_us[NETWORK_COPIES_MAX])
{
	double queued_us = queue_us(path, random, s);
	unsigned int copies = 1, i;

	if (s >= path->outage_from_s && s < path->outage_to_s)
		return 0;
	if (random_chance(random, path->loss))
		return 0;
	if (random_chance(random, path->duplicate))
		copies = 2;
	for (i = 0; i < copies; i++)
		ret_us[i] = fmax(queued_us + delay_us(path, random, s), 0);
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
	double serve_us = random_uniform(&link->random, 10, 50);

	*ret_end_ps = ps;
	ret_x->t1 = timestamp(link, &link->local, ps, false);
	if (!network_send(&link->request, &link->random, (double)ps / PS_PER_S,
			  request_us))
		return false;
	ps += llrint(request_us[0] * PS_PER_US);
	ret_x->t2 = timestamp(link, &link->remote, ps, true);
	ps += llrint(serve_us * PS_PER_US);
	ret_x->t3 = timestamp(link, &link->remote, ps, false);
	*ret_end_ps = ps;
	if (!network_send(&link->answer, &link->random, (double)ps / PS_PER_S,
			  answer_us))
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
