// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "world.h"

/* largest rounding error of a reading, us: the base of the published clock params is
 * rounded down to ns, and so is the time since the base */
#define ROUNDING_US	2e-3

double tally_rms(const struct tally *tally)
{
	return tally->readings ?
		sqrt(tally->squares / (double)tally->readings) : 0;
}

void tally_add(struct tally *to, const struct tally *from)
{
	to->readings += from->readings;
	to->unknown += from->unknown;
	to->beyond += from->beyond;
	to->squares += from->squares;
	to->sum += from->sum;
	to->bounds += from->bounds;
	to->max = fmax(to->max, from->max);
	to->bound_max = fmax(to->bound_max, from->bound_max);
	to->over = fmax(to->over, from->over);
}

/* Error of a reading in ns: its time minus the true time of the timeline. The true time
 * is taken when the node's counter reached its present count, slightly before now. */
static double error_ns(struct world *world, const struct node *node, int64_t ns,
		       const struct timeline *timeline)
{
	struct crystal *osc = &world->nodes[timeline->node].crystal;
	const struct tsct_remote_params *params = &timeline->params;
	double ns_per_count = ldexp((double)params->mult, -TSCT_CLOCK_SHIFT);
	double behind = crystal_frac(&node->crystal) / crystal_hz(&node->crystal);
	tsct_u128 phase, p;
	double frac;

	crystal_advance(osc, world->now_ps);
	phase = osc->osc.phase + timeline->shift;
	p = (tsct_u128)((uint64_t)(phase >> 64) - params->base) * params->mult;
	frac = ldexp((double)(uint64_t)(p & ((1ULL << TSCT_CLOCK_SHIFT) - 1)),
		     -TSCT_CLOCK_SHIFT);
	frac += ldexp((double)(uint64_t)phase, -64) * ns_per_count;
	frac -= behind * crystal_hz(osc) * ns_per_count;
	return (double)(ns - params->base_ns -
			(int64_t)(p >> TSCT_CLOCK_SHIFT)) - frac;
}

static void add_reading(struct world *world, const struct node *node,
			double off_us, double bound_us)
{
	struct tally one = {
		.readings = 1, .squares = off_us * off_us, .sum = off_us,
		.max = fabs(off_us), .bounds = bound_us,
		.bound_max = bound_us,
	};

	if (off_us > bound_us || off_us < -bound_us - ROUNDING_US) {
		one.beyond = 1;
		one.over = one.max - bound_us;
		world_violation(world, node, "reading off by %.4f us, bound %.4f us",
			       off_us, bound_us);
	}
	/* Before tally_from_s, only readings outside their bounds are counted. */
	if (world_s(world) < world->tally_from_s)
		one = (struct tally) { .beyond = one.beyond, .over = one.over };
	tally_add(&world->tally, &one);
	if (world->node_tally)
		tally_add(&world->node_tally[node - world->nodes], &one);
}

static void check_order(struct world *world, struct node *node, uint64_t cycles,
			int64_t ns, uint32_t epoch)
{
	if (node->read_epoch == epoch && node->read_cycles < cycles &&
	    ns < node->read_ns) {
		world_violation(world, node,
				"time ran backwards by %lld ns in epoch %u",
			       (long long)(node->read_ns - ns), epoch);
	}
	node->read_epoch = epoch;
	node->read_cycles = cycles;
	node->read_ns = ns;
}

void reading_take(struct world *world, uint32_t index)
{
	struct node *node = &world->nodes[index];
	uint64_t cycles = node_count(world, node);
	const struct published *published = node_published(node, cycles);
	int64_t ns;

	if (!published) {
		world->tally.unknown += world_s(world) >= world->tally_from_s;
		return;
	}
	ns = tsct_clock_params_ns(&published->params, cycles);
	check_order(world, node, cycles, ns, published->epoch);
	if (published->timeline < 0) {	/* The params belong to no timeline of the
					 * simulation: node_publish() has counted
					 * a violation. */
		world->tally.beyond++;
		return;
	}
	add_reading(world, node,
	      error_ns(world, node, ns, &world->timelines[published->timeline]) *
	      1e-3,
	      (double)tsct_clock_params_error_ps(&published->params, cycles) * 1e-6);
}

static void reading_again(struct world *world, struct event *event)
{
	double every_s = ldexp((double)event->ticks, -32);

	reading_take(world, event->node);
	world_at(world, world_s(world) + every_s *
		 random_uniform(&world->random, 0.1, 1.9), event);
}

void reading_every(struct world *world, uint32_t first, unsigned int nr,
		   double every_s)
{
	struct event event = {
		.handle = reading_again, .ticks = (uint64_t)ldexp(every_s, 32),
	};

	for (event.node = first; event.node < first + nr; event.node++)
		world_at(world, world_s(world) + every_s *
			 random_unit(&world->random), &event);
}
