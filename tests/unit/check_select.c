// SPDX-License-Identifier: MIT
/* Selection among nodes that are sources of each other: the order by hops and node id */
#include "cluster_world.h"
#include "suite.h"

/* The true cluster time: clock params for the master's counter */
static struct tsct_remote_params master_params;

#define SIBLINGS	6

static struct node master, sibling[SIBLINGS];
static unsigned int first, last;	/* siblings with the least and the greatest id */

static void begin(unsigned int turn)
{
	seed_with(turn);
	make_node(&master, 0);
	master_params = make_master(&master, 1, 7);
	first = last = 0;
	for (unsigned int i = 0; i < SIBLINGS; i++) {
		make_node(&sibling[i], 1 + SIBLINGS);
		first = sibling[i].id < sibling[first].id ? i : first;
		last = sibling[i].id > sibling[last].id ? i : last;
	}
}

static void end(void)
{
	for (unsigned int i = 0; i < SIBLINGS; i++)
		free_node(&sibling[i]);
	free_node(&master);
}

/* Each sibling polls the master and all other siblings, as it does every 2^@poll s, and
 * publishes its time. The master answers until @until_s. */
static void poll_siblings(double t, int poll, double until_s)
{
	for (unsigned int i = 0; i < SIBLINGS; i++) {
		double at = t + 0.1 * i;

		if (t < until_s)
			at = exchange(&sibling[i], 0, &master, &lan, at);
		for (unsigned int k = 0; k < SIBLINGS; k++) {
			if (k == i)
				continue;
			tsct_cluster_set_polled(sibling[k].cluster,
						node_ticks(&sibling[k], at), poll);
			at = exchange(&sibling[i], 1 + k, &sibling[k], &lan, at + 1e-3);
		}
		publish(&sibling[i], at);
	}
	/* The truth is known of the master's present timeline. */
	for (unsigned int i = 0; i < SIBLINGS; i++)
		if (sibling[i].state.cluster_timeline == make_remote(&master, t).epoch)
			read_time(&sibling[i], &master, &master_params, t + 0.7);
}

/* Returns the number of siblings that average the time of sibling @of, and checks that the
 * weights of each sibling's sources add up to 1. */
static unsigned int count_followers(unsigned int of, double t)
{
	unsigned int i, k, count = 0;

	for (i = 0; i < SIBLINGS; i++) {
		struct tsct_source_state s;
		double sum = 0;

		for (k = 0; k <= SIBLINGS; k++) {
			tsct_cluster_source(sibling[i].cluster, k,
					    node_ticks(&sibling[i], t), &s);
			sum += s.weight;
			count += k == of + 1 && s.weight > 0;
		}
		ck_assert_msg(fabs(sum - 1) < 1e-9, "%.12f", sum);
	}
	return count;
}

static double largest_bound_us(double t)
{
	double largest = 0;

	for (unsigned int i = 0; i < SIBLINGS; i++)
		largest = fmax(largest, (double)tsct_clock_params_error_ps(
			&sibling[i].state.cluster, node_ticks(&sibling[i], t)) * 1e-6);
	return largest;
}

CASE("select", NULL, end);

/*
 * Siblings that poll each other average each other's time, in one direction only: the one
 * with the least id is followed by all, the one with the greatest id by none. Their bounds
 * do not feed on each other, neither while the master answers nor after it.
 */
TEST(test_siblings)
{
	double t, with_master, without;

	begin(17);
	for (t = 2; t < 200; t++)
		poll_siblings(t, 0, 200);
	with_master = largest_bound_us(t);
	ck_assert_uint_eq(count_followers(first, t), SIBLINGS - 1);
	ck_assert_uint_eq(count_followers(last, t), 0);
	for (; t < 400; t++)
		poll_siblings(t, 0, 200);
	without = largest_bound_us(t);
	for (unsigned int i = 0; i < SIBLINGS; i++) {
		printf("# sibling %u: rms %.0f ns, worst %.0f\n", i,
		       sqrt(sibling[i].square_ns / sibling[i].readings),
		       sibling[i].worst_ns);
		ck_assert_uint_eq(tsct_cluster_epoch(sibling[i].cluster), 1);
	}
	printf("# bounds %.0f us with the master, %.0f us 200 s after it\n", with_master,
	       without);
	/* Half round trips of 50 us or more to the master, and from it by way of a sibling.
	 * In 200 s two crystals drift apart by 15 ppm at most, 3 ms; of siblings that have no
	 * master, most agree on an interval of twice that. */
	ck_assert_double_le(with_master, 250);
	ck_assert_double_le(without, 10000);
}

/* Returns the weight of its siblings in the time of a node. */
static double weight_of_siblings(const struct node *n, double t)
{
	struct tsct_source_state s;
	double sum = 0;

	for (unsigned int k = 1; k <= SIBLINGS; k++) {
		tsct_cluster_source(n->cluster, k, node_ticks(n, t), &s);
		sum += s.weight;
	}
	return sum;
}

/* The node with the least id averages none of its siblings while these poll it. When they
 * have missed eight of the polls that they announced, one a second, it averages them. */
TEST(test_polled_expires)
{
	double t, before = 0;

	begin(19);
	for (t = 2; t < 50; t++)
		poll_siblings(t, 0, 50);
	for (; t < 70; t++) {
		for (unsigned int i = 0; i < SIBLINGS; i++) {
			exchange(&sibling[i], 0, &master, &lan, t + 0.1);
			publish(&sibling[i], t + 0.2);
			if (i != first)
				exchange(&sibling[first], 1 + i, &sibling[i], &lan,
					 t + 0.3 + 0.01 * i);
		}
		if (t < 57)
			before += weight_of_siblings(&sibling[first], t + 0.5);
	}
	printf("# weight of the others: %.3f\n", weight_of_siblings(&sibling[first], t));
	ck_assert(before == 0);
	ck_assert_double_gt(weight_of_siblings(&sibling[first], t), 0.1);
}

/* The master's timeline begins anew while its children poll each other: they follow it one
 * after another, and none returns to the timeline before. */
TEST(test_siblings_master_restart)
{
	double t;

	begin(18);
	for (t = 2; t < 100; t++)
		poll_siblings(t, 0, HUGE_VAL);
	master_params = make_master(&master, t, 8);
	for (; t < 130; t++)
		poll_siblings(t, 0, HUGE_VAL);
	for (unsigned int i = 0; i < SIBLINGS; i++) {
		ck_assert_uint_eq(sibling[i].state.cluster_timeline, 8);
		ck_assert_uint_eq(tsct_cluster_epoch(sibling[i].cluster), 2);
	}
}

/*
 * The master dies for good, and its siblings poll each other for much longer than void_s, an
 * hour. When their exchanges with the master have expired, each takes the time of others, as
 * nodes of more and more hops, until the limit of hops. All that time they are in holdover,
 * and no reading is outside its bound (poll_siblings).
 */
TEST(test_siblings_without_root)
{
	struct tsct_remote sent;
	uint16_t depth = 0;
	double t, bound = 0;

	begin(20);
	for (t = 2; t < 8800; t += 32) {
		poll_siblings(t, 5, 600);
		for (unsigned int i = 0; i < SIBLINGS && t > 1200; i++) {
			sent = make_remote(&sibling[i], t);
			depth = sent.depth > depth ? sent.depth : depth;
			ck_assert(!tsct_status_has_time(sent.status) ||
				  sent.status == TSCT_STATUS_HOLDOVER);
		}
		bound = fmax(bound, largest_bound_us(t));
	}
	for (unsigned int i = 0; i < SIBLINGS; i++) {
		ck_assert_uint_gt(sibling[i].readings, 100);
		ck_assert_uint_le(tsct_cluster_epoch(sibling[i].cluster), 2);
	}
	printf("# without the master: %u hops at most, bounds up to %.0f us\n", depth, bound);
	ck_assert_uint_le(depth, TSCT_CLUSTER_DEPTH_MAX);
}
