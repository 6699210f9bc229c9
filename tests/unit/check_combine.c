/* SPDX-License-Identifier: MIT */
/* Combination of peers: known results, and errors of random peers */
#include "seed.h"
#include "suite.h"
#include "lib/sync/cluster_private.h"

#define PEERS	10
#define TURNS	20000

#define MUST_BE(a, b) \
	ck_assert_msg(fabs((a) - (double)(b)) < 1e-9, "%.12f, not %.12f", a, (double)(b))

/* Standard deviation of a measurement for which a peer has this variance */
static double sd_of(double variance)
{
	return sqrt(variance - TSCT_COMBINE_RESOLUTION_NS * TSCT_COMBINE_RESOLUTION_NS / 12);
}

TEST(test_one_peer)
{
	struct tsct_combine_peer peer = {
		.offset_ns = -7.5, .sd_ns = 3, .inherited_ns = 4, .rate = 0.3,
	};
	struct tsct_combined c = tsct_combine(&peer, 1);

	MUST_BE(peer.weight, 1);
	MUST_BE(c.offset_ns, -7.5);
	MUST_BE(c.rate, 0.3);
	MUST_BE(c.sd_ns, 5);
	MUST_BE(c.noise_ns, 3);
	MUST_BE(c.spread_ns, 0);
}

/* Results that were computed by hand, by the formulas in select.c */
TEST(test_known_results)
{
	struct tsct_combine_peer agree[] = {
		{ .offset_ns = 1, .sd_ns = sd_of(1), .rate = 1 },
		{ .offset_ns = 2, .sd_ns = sd_of(4), .rate = 2 },
	};
	struct tsct_combine_peer apart[] = {
		{ .offset_ns = 0, .sd_ns = sd_of(1) },
		{ .offset_ns = 10, .sd_ns = sd_of(4) },
	};
	struct tsct_combine_peer three[] = {
		{ .offset_ns = 0, .sd_ns = sd_of(4) },
		{ .offset_ns = 6, .sd_ns = sd_of(4) },
		{ .offset_ns = 12, .sd_ns = sd_of(4) },
	};
	struct tsct_combined c = tsct_combine(agree, 2);

	/* Q is 0.2, less than expected: the weights are those of the variances. */
	MUST_BE(agree[0].weight, 0.8);
	MUST_BE(agree[1].weight, 0.2);
	MUST_BE(c.offset_ns, 1.2);
	MUST_BE(c.rate, 1.2);
	MUST_BE(c.spread_ns, 0);
	/* Q is 20, and the variance that is not explained 19 / 0.4 */
	c = tsct_combine(apart, 2);
	MUST_BE(c.spread_ns, sqrt(47.5));
	MUST_BE(apart[0].weight, 0.515);
	MUST_BE(c.offset_ns, 4.85);
	/* Q is 18, and the variance that is not explained 16 / 0.5 */
	c = tsct_combine(three, 3);
	MUST_BE(c.spread_ns, sqrt(32));
	MUST_BE(c.offset_ns, 6);
	MUST_BE(c.sd_ns, sqrt((4 - 1.0 / 12 + 32) / 3));
	MUST_BE(c.noise_ns, sqrt((4 - 1.0 / 12) / 3));
}

/* A peer that states an error of seconds, and is off by more, beside one that states none:
 * the weights differ by more than the resolution of a double. */
TEST(test_weights_far_apart)
{
	struct tsct_combine_peer peers[] = {
		{ .offset_ns = 3, .sd_ns = 2, .rate = 0.5 },
		{ .offset_ns = 16e9, .sd_ns = 1e3, .inherited_ns = 15.9e9, .rate = 0.6 },
		{ .offset_ns = -4e15, .inherited_ns = 3e15, .rate = 0.4 },
	};

	for (unsigned int nr = 2; nr <= 3; nr++) {
		struct tsct_combined c = tsct_combine(peers, nr);

		ck_assert(c.rate >= 0.4 && c.rate <= 0.6);
		ck_assert(c.offset_ns >= -4e15 && c.offset_ns <= 16e9);
		ck_assert(isfinite(c.sd_ns) && isfinite(c.noise_ns));
		ck_assert(c.spread_ns > 0 && c.spread_ns < 1e16);
	}
}

/* The errors that peers inherit do not average out: the peers may have them in common. */
TEST(test_inherited_error)
{
	struct tsct_combine_peer peers[PEERS];
	struct tsct_combined c;

	for (unsigned int i = 0; i < PEERS; i++)
		peers[i] = (struct tsct_combine_peer) { .sd_ns = 4, .inherited_ns = 3 };
	c = tsct_combine(peers, PEERS);
	MUST_BE(c.sd_ns, sqrt(16.0 / PEERS + 9));
}

/* A peer with exact packet times does not have all of the weight. */
TEST(test_exact_peer)
{
	struct tsct_combine_peer peers[] = {
		{ .offset_ns = 0, .sd_ns = 0 }, { .offset_ns = 1, .sd_ns = 0.5 },
	};
	struct tsct_combined c = tsct_combine(peers, 2);

	ck_assert(isfinite(c.offset_ns) && c.offset_ns > 0.1 && c.offset_ns < 0.5);
	ck_assert(isfinite(c.sd_ns));
}

/* Errors of combinations of random peers, and of the best peer alone, ns */
struct errors {
	double combined, alone;	/* RMS */
	double stated;		/* root of the mean of sd_ns^2 */
};

/* @asymmetry: standard deviation of errors that no peer reports, ns */
static struct errors random_peers(double asymmetry)
{
	struct tsct_combine_peer peers[PEERS];
	struct errors sum = { 0 };

	for (unsigned int i = 0; i < TURNS; i++) {
		double alone = 0, least = HUGE_VAL;
		struct tsct_combined c;

		for (unsigned int k = 0; k < PEERS; k++) {
			double sd = random_uniform(&seed_random, 2, 10);

			peers[k] = (struct tsct_combine_peer) {
				.sd_ns = sd,
				.offset_ns = sd * random_gauss(&seed_random) +
					asymmetry * random_gauss(&seed_random),
			};
			if (sd > least)
				continue;
			least = sd;
			alone = peers[k].offset_ns;
		}
		c = tsct_combine(peers, PEERS);
		sum.combined += c.offset_ns * c.offset_ns / TURNS;
		sum.stated += c.sd_ns * c.sd_ns / TURNS;
		sum.alone += alone * alone / TURNS;
	}
	return (struct errors) {
		sqrt(sum.combined), sqrt(sum.alone), sqrt(sum.stated),
	};
}

/*
 * Ten peers with standard deviations of 2 to 10 ns: the expected error of the mean is
 * some 1.5 ns. With asymmetric paths, which no peer reports, it is that of equal weights,
 * 20 ns / sqrt(10), and a little more. */
LOOP_TEST(test_random_peers, 0, 2)
{
	static const double asymmetry_ns[] = { 0, 20 };
	struct errors e = random_peers(asymmetry_ns[_i]);

	printf("# asymmetry %.0f ns: RMS %.2f ns, stated %.2f, best peer alone "
	       "%.2f\n", asymmetry_ns[_i], e.combined, e.stated, e.alone);
	ck_assert(e.combined < 0.6 * e.alone);
	ck_assert(e.combined < 1.05 * e.stated && e.combined > 0.85 * e.stated);
	ck_assert(e.combined < (asymmetry_ns[_i] ? 7 : 1.7));
}
