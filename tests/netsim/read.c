// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

/* A line's two parts are rounded down to ns each. */
#define ROUNDING_US	2e-3

double tally_rms(const struct tally *tally)
{
	return tally->readings ?
		sqrt(tally->squares / (double)tally->readings) : 0;
}

void tally_add(struct tally *to, const struct tally *from)
{
	to->readings += from->readings;
	to->unclaimed += from->unclaimed;
	to->beyond += from->beyond;
	to->squares += from->squares;
	to->sum += from->sum;
	to->bounds += from->bounds;
	to->max = fmax(to->max, from->max);
	to->bound_max = fmax(to->bound_max, from->bound_max);
	to->over = fmax(to->over, from->over);
}

/*
 * How much later a time is than what the timeline had when our counter came to
 * its present count, ns: it did so a little before now.
 */
static double off_ns(struct world *world, const struct node *node, int64_t ns,
		     const struct timeline *timeline)
{
	struct osc *osc = &world->nodes[timeline->node].osc;
	const struct tsct_remote_params *line = &timeline->line;
	double ns_per_count = ldexp((double)line->mult, -TSCT_CLOCK_SHIFT);
	double behind = osc_frac(&node->osc) / osc_hz(&node->osc);
	tsct_u128 phase, p;
	double frac;

	osc_go_on(osc, world->now_ps);
	phase = osc->phase + timeline->shift;
	p = (tsct_u128)((uint64_t)(phase >> 64) - line->base) * line->mult;
	frac = ldexp((double)(uint64_t)(p & ((1ULL << TSCT_CLOCK_SHIFT) - 1)),
		     -TSCT_CLOCK_SHIFT);
	frac += ldexp((double)(uint64_t)phase, -64) * ns_per_count;
	frac -= behind * osc_hz(osc) * ns_per_count;
	return (double)(ns - line->base_ns -
			(int64_t)(p >> TSCT_CLOCK_SHIFT)) - frac;
}

static void count(struct world *world, const struct node *node, double off_us,
		  double bound_us)
{
	struct tally one = {
		.readings = 1, .squares = off_us * off_us, .sum = off_us,
		.max = fabs(off_us), .bounds = bound_us,
		.bound_max = bound_us,
	};

	if (off_us > bound_us || off_us < -bound_us - ROUNDING_US) {
		one.beyond = 1;
		one.over = one.max - bound_us;
		world_complain(world, node, "%.4f us off, bound %.4f us",
			       off_us, bound_us);
	}
	/* A bound has to hold from the first moment on. */
	if (world_s(world) < world->tally_from_s)
		one = (struct tally) { .beyond = one.beyond, .over = one.over };
	tally_add(&world->tally, &one);
	if (world->node_tally)
		tally_add(&world->node_tally[node - world->nodes], &one);
}

static void check_order(struct world *world, struct node *node, uint64_t stamp,
			int64_t ns, uint32_t epoch)
{
	if (node->read_epoch == epoch && node->read_stamp < stamp &&
	    ns < node->read_ns) {
		world->backward++;
		world_complain(world, node, "%lld ns backwards in epoch %u",
			       (long long)(node->read_ns - ns), epoch);
	}
	node->read_epoch = epoch;
	node->read_stamp = stamp;
	node->read_ns = ns;
}

void read_now(struct world *world, uint32_t index)
{
	struct node *node = &world->nodes[index];
	uint64_t stamp = node_count(world, node);
	const struct shown *shown = node_shown(node, stamp);
	int64_t ns;

	if (!shown) {
		world->tally.unclaimed += world_s(world) >= world->tally_from_s;
		return;
	}
	ns = tsct_clock_params_ns(&shown->pair, stamp);
	check_order(world, node, stamp, ns, shown->epoch);
	if (shown->timeline < 0) {	/* complained about already */
		world->tally.beyond++;
		return;
	}
	count(world, node,
	      off_ns(world, node, ns, &world->timelines[shown->timeline]) *
	      1e-3,
	      (double)tsct_clock_params_error_ps(&shown->pair, stamp) * 1e-6);
}

static void read_again(struct world *world, struct event *event)
{
	double every_s = ldexp((double)event->ticks, -32);

	read_now(world, event->node);
	world_at(world, world_s(world) + every_s *
		 roll_between(&world->dice, 0.1, 1.9), event);
}

void read_often(struct world *world, uint32_t first, unsigned int nr,
		double every_s)
{
	struct event event = {
		.happen = read_again, .ticks = (uint64_t)ldexp(every_s, 32),
	};

	for (event.node = first; event.node < first + nr; event.node++)
		world_at(world, world_s(world) + every_s *
			 roll_unit(&world->dice), &event);
}
